/* intent.h - advice for work that is not in the cluster yet: each workload of a file, answered question by question
 *
 *   file ──intent_read──▶ workloads ──each question──▶ a finding each: answer, evidence, what to do
 *                           └───────changed──────▶ the file as it should be, whole
 *
 * SHAPE  a question is a function and a row of `questions` (intent.c). It changes the documents themselves: the next one sees the work as
 *        it was advised before, and the manifests of all its findings agree.
 * WHY    the same file read again has nothing to change: what was added (a PodGroup, a LocalQueue) is among its documents then.
 */
#ifndef CLI_ADVISE_INTENT_H
#define CLI_ADVISE_INTENT_H
#include "cli/advise/advise.h"
#include "codec/kinds/queued_kinds.h"

#define INTENT_NOTHING "nothing"
#define INTENT_GROUP_LABEL "scheduling.x-k8s.io/pod-group"

/* Pods of one template. */
struct intent_pods {
    int64_t n;
    struct json *pod; /* the template in the document, or the Pod; of a TrainJob's trainer a copy */
    struct intent_pods *next;
};
/* What earlier jobs of that name, without what numbers them, had and used: by the usage store. */
struct intent_past {
    const char *name;             /* "ns/stem" */
    uint32_t pods_n, over_n;      /* over_n: jobs that have ended */
    double longest_s;             /* of these */
    double allocated_s, active_s; /* GPU-seconds */
    int64_t memory_mib;           /* the most that one pod had in use; 0 not known */
    int memory_permille;          /* of what it was given */
};
/* QUEUED: also the Jobs of a CronJob; SET: Deployments and their like; GROUP: pods of a PodGroup */
enum intent_kind { INTENT_QUEUED, INTENT_VCJOB, INTENT_SET, INTENT_POD, INTENT_GROUP };
struct intent_work {
    enum intent_kind kind;
    const struct queued_kind *queued; /* of INTENT_QUEUED */
    struct json *document;            /* of the file; of INTENT_GROUP the PodGroup */
    struct json *object;              /* the same; of a CronJob what its Jobs are made of */
    const char *each;                 /* it makes more of them as time goes, each of which starts by itself: "group"; NULL: it does not */
    const char *ns, *name, *about;
    struct intent_pods *pods, **last;
    int64_t pods_n, devices_n;        /* pods_n: of all groups; devices_n: accelerators that one pod asks for, the most */
    int64_t together_n;               /* pods that may need each other: of one group */
    const char *resource;             /* the first accelerator; NULL: it asks for none */
    struct intent_past past;
    struct intent_work *next;
};
struct intent {
    struct advise *x;
    const char *ns;          /* of documents that name none */
    int64_t memory_mib;      /* that each pod needs of a GPU, as its owner says; 0: he does not */
    struct json *documents;  /* those that are added stand first */
    struct intent_work *first, **last;
    const char *left_out;    /* what is neither a workload that is known here nor an object of queues, by commas; NULL: nothing */
    uint32_t changes_n;
};

/* capstan advise FILE */
int intent_main(struct advise *x, const struct options *o);

/* A copy as it stands in its file: without the name that the server gives it where it has generateName. */
struct json *intent_as_written(struct intent *p, const struct json *document);
/* intent_read.c: the documents of a file, added to those before; then all of them as workloads. -E_INVALID, and what files say. */
int intent_read(struct intent *p, const char *path, struct err *e);
int intent_works(struct intent *p, struct err *e);
const char *intent_ns(const struct intent *p, const struct json *document);
/* The document of this kind; ns NULL: of none. NULL: it is not in the file. */
struct json *intent_document(const struct intent *p, const char *kind, const char *ns, const char *name);
const char *intent_queue_of(const struct intent_work *w); /* label of a LocalQueue; "" none */
bool intent_has_share(const struct intent_work *w);        /* it asks for a part of a GPU (codec/share/share.h) */
bool intent_needs_all(const struct intent_work *w);       /* its pods need each other */
/* The ClusterQueue in which it stands, or would, if that has no quota of the resource; NULL: it has, or there is no queue. */
const char *intent_lacks_quota(struct intent *p, const struct intent_work *w, const char *resource);
/* Into metadata.labels of the document, or template. */
void intent_label(struct intent *p, struct json *of, const char *key, const char *value);
void intent_past_find(struct intent *p, struct intent_work *w, const struct usage_record *records, uint32_t n);

/* The questions. intent_changed: the finding's manifests are the work, and what goes with it (NULL: nothing). */
void intent_sharing(struct intent *p, struct intent_work *w);
void intent_queue(struct intent *p, struct intent_work *w);
void intent_gang(struct intent *p, struct intent_work *w);
void intent_time(struct intent *p, struct intent_work *w);
void intent_start(struct intent *p, struct intent_work *w);
void intent_changed(struct intent *p, struct intent_work *w, struct advise_finding *f, struct json *added);

#endif
