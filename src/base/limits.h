/* limits.h - every maximum that a user or a peer can reach, with its reason. A test hits each one. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#define LIMIT_BODY_BYTES (3u << 20)        /* one request body; kube-apiserver's own limit for objects */
#define LIMIT_PENDING_ITEMS 100000         /* Workloads of one answer of the visibility API; Kueue's own limit */
#define LIMIT_JSON_DEPTH 128               /* nesting; Kubernetes objects reach about 20, CRD schemas about 60 */
#define LIMIT_JSON_NODES (2u << 20)        /* values in one document: 3 MiB of "[[[" cannot become 1 GB of tree */
#define LIMIT_OBJECT_DEPTH (LIMIT_JSON_DEPTH - 8) /* of a stored object: lists and events that hold it can still be read */
#define LIMIT_OBJECT_BYTES (8u << 20)      /* of a stored object: a body, and who owns each field of it; patches could add up to any size */
#define LIMIT_YAML_ALIASES 1000            /* anchors expanded in one document: no "billion laughs" */
#define LIMIT_YAML_ALIAS_BYTES (3u << 20)   /* text that aliases repeat in one document: a long text repeated often is a bomb too */
#define LIMIT_YAML_DOCUMENTS 10000         /* documents in one file */
#define LIMIT_PATCH_OPERATIONS 10000       /* JSON Patch operations; kube-apiserver's own limit */
#define LIMIT_PATCH_COPY_NODES (2u << 20)   /* values that the copy operations of one patch may add: each can double the document */
#define LIMIT_PATCH_COPY_BYTES (3u << 20)   /* and their text */
#define LIMIT_URL_BYTES 16384              /* request line: long label selectors are real */
#define LIMIT_HEADERS_BYTES (20u << 10)    /* all request headers together: tokens of many groups reach 10 KiB; less room
                                            * is left beside the longest URLs */
#define LIMIT_CONNECTIONS 4096             /* open HTTP connections of the embedded server */
/* Calls of one client to an API server. The first number of a pair: at once, whatever else goes on; the second: while no call of a lane
 * above waits. Together they are fewer than the 100 streams that a kube-apiserver gives to one HTTP/2 connection, watches included. */
#define LIMIT_CALLS_READ 12                /* lists and watches are not among them */
#define LIMIT_CALLS_LEASE 2                /* a renewal, and one that hangs */
#define LIMIT_CALLS_BIND 32                /* 320 a second where an answer takes 100 ms; more wins little on any server that was tried */
#define LIMIT_CALLS_STATUS_LEAST 4
#define LIMIT_CALLS_STATUS 16
#define LIMIT_CALLS_HERE_TIMES 4           /* so many binds and statuses where the server is in the process: there are no streams */
#define LIMIT_CALLS_EVENT_LEAST 1
#define LIMIT_CALLS_EVENT 4
#define LIMIT_WAITING_BINDS 40000          /* a gang of LIMIT_GANG_MEMBERS and as much again; 700 bytes each */
#define LIMIT_WAITING_CALLS 16384          /* of every other lane; who asks for more is told to come back */
#define LIMIT_WAITING_EVENTS 1024          /* newer ones are dropped: the objects say it too */
/* Events of one writer and type at once, and a second for long: they say what objects say too, and */
#define LIMIT_EVENT_BURST 100
#define LIMIT_EVENTS_PER_S 5               /* one for each of 5,000 pods would be half of all that is written */
/* gangs that are told at once why they wait, and a second for long: each is a write, and a backlog */
#define LIMIT_TELLING_BURST 200
#define LIMIT_TELLING_PER_S 10             /* of thousands has the same few reasons. Pods are told at once: who makes nodes reads that */
/* from then on a work queue looks at no further key: what is looked at late is written as it is then */
#define LIMIT_WAITING_STATUS 64
#define LIMIT_IDLE_SECONDS 90              /* a connection is closed that is idle, or whose request has not come whole in this time */
#define LIMIT_HELD_BYTES (256u << 20)      /* bodies that have not come whole and answers that are not read, of all connections together */
#define LIMIT_ANNOTATIONS_BYTES (256u << 10) /* metadata.annotations together; Kubernetes' own limit */
#define LIMIT_GRACE_SECONDS 2147483647     /* that a pod's deletion waits: 68 years, which a time of day can still be told of */
#define LIMIT_NAME 253                     /* DNS-1123 subdomain */
#define LIMIT_LABEL 63                     /* DNS-1123 label, label values */
#define LIMIT_WATCH_RING 16384             /* events kept for watchers per resource before 410 Expired */
#define LIMIT_RESOURCES 64                 /* distinct resource names that the scheduler counts; a cluster has about 10 */
#define LIMIT_GANG_MEMBERS 20000           /* pods of one gang */
#define LIMIT_TASK_GROUPS 1000             /* of one application of YuniKorn's: as many as 256 KiB of annotations hold */
#define LIMIT_SUBGROUP_POLICIES 256        /* of a pod group: each pod is asked for by all of them; a Volcano Job has one a task at most */
#define LIMIT_SUBGROUP_KEYS 8              /* labels whose values tell subgroups apart */
#define LIMIT_VCJOB_TASKS 256              /* of a Volcano Job, 16 bytes each in a pass; jobs have a few */
#define LIMIT_FLOWS 512                    /* of a JobFlow */
#define LIMIT_FLOW_TARGETS 4096            /* what they wait for, together */
#define LIMIT_PODSETS 18                   /* Kueue's own limit */
#define LIMIT_CONDITION_MESSAGE 32768      /* bytes of a condition's message: as many characters as definitions take */
#define LIMIT_STATUS_FLAVORS 64            /* flavors that a queue's status lists: Kueue's definitions take no more; a queue may have 256 */
#define LIMIT_COHORT_DEPTH 32              /* levels of cohorts; deeper is taken for a cycle */
#define LIMIT_REASON_BYTES 4096            /* one explanation written to the API */
#define LIMIT_DEVICES_TEXT_BYTES (64u << 10) /* what a pod's annotation says of its devices: as many as a node has, 80 bytes each */
#define LIMIT_DEVICES_PER_NODE 768         /* 16 GPUs x 48 MPS clients, the most that one GPU takes */
#define LIMIT_NODE_PODS 16384               /* pods of one node that its agent keeps, ended ones too; the garbage collector of ended pods
                                            * begins at 12500 in the whole cluster */
#define LIMIT_AGENT_CONFIG_BYTES (1u << 20) /* a node's device plugin config; what a ConfigMap can hold */
#define LIMIT_AGENT_CONFIG_ENTRIES 1024    /* entries of one list in it: 64 GPUs with 7 MIG devices each are 448 */
/* Traces that `capstan sim` reads. What is kept of a pod is 4 bytes, of a node 1 KB. */
#define LIMIT_TRACE_LINE 65536             /* bytes of a line */
#define LIMIT_TRACE_COLUMNS 256
#define LIMIT_TRACE_NODES 1000000
#define LIMIT_TRACE_PODS 20000000          /* the largest public trace has 3.4 million jobs */
#define LIMIT_TRACE_JOBS 5000000           /* the same; 40 bytes each */
#define LIMIT_TRACE_KINDS 65536            /* of pods that differ in what they ask for; public traces have some hundreds */
#define LIMIT_TRACE_MODELS 64              /* of GPUs, and so many sets of them that pods accept */
/* Scenarios that `capstan sim run` plays. */
#define LIMIT_SCENARIO_BYTES (1u << 20)    /* of the file itself: people write it */
#define LIMIT_SCENARIO_FILES_BYTES (16 << 20) /* of all files that it names */
#define LIMIT_SCENARIO_STEPS 10000
#define LIMIT_SCENARIO_OBJECTS 20000       /* applied or deleted; each may be as large as a file */
#define LIMIT_SCENARIO_SHAPES 64           /* of nodes at the beginning */
#define LIMIT_SCENARIO_NODES 5000          /* of one step, and at the beginning */
#define LIMIT_SCENARIO_PODS 10000          /* of a job in short */
#define LIMIT_SCENARIO_MS (366ll * 24 * 3600 * 1000) /* a year on virtual time */
#define LIMIT_SCENARIO_FACTS 100000        /* lines of the timeline; what comes later is counted */
#define LIMIT_SCENARIO_SPANS 200000        /* times that a pod had a GPU, 24 bytes each; likewise */
#define LIMIT_SCENARIO_JOBS 20000          /* told apart; likewise */

#endif
