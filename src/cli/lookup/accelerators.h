/* accelerators.h - which resources are accelerators, and how many of them pods ask for */
#ifndef CLI_LOOKUP_ACCELERATORS_H
#define CLI_LOOKUP_ACCELERATORS_H
#include "wire/json.h"

/* What lists look at, for servers that can leave the rest out (apiserver/request/fields.h); others send all. */
#define LISTED_META "metadata(name,namespace,uid,creationTimestamp,deletionTimestamp,labels,annotations,ownerReferences)"
#define LISTED_REQUESTS "overhead,containers(resources),initContainers(resources,restartPolicy)"
#define LISTED_TEMPLATE "template(metadata(annotations),spec(" LISTED_REQUESTS "))"
#define JOBS_POD_FIELDS \
    "?fields=" LISTED_META ",spec(nodeName," LISTED_REQUESTS ",priority,schedulerName,schedulingGroup)," \
    "status(phase,conditions(type,status,lastTransitionTime,message))"
#define JOBS_WORKLOAD_FIELDS \
    "?fields=" LISTED_META ",spec(queueName,active,priority,podSets(count,minCount," LISTED_TEMPLATE "))," \
    "status(conditions,admissionChecks,admission(clusterQueue,podSetAssignments(count)))"
#define JOBS_JOB_FIELDS \
    "?fields=" LISTED_META ",spec(parallelism,completions,suspend," LISTED_TEMPLATE "),status(startTime,conditions)"
#define JOBS_FIELDS "?fields=" LISTED_META ",spec,status" /* of other kinds */
#define NODES_POD_FIELDS "?fields=" LISTED_META ",spec(nodeName," LISTED_REQUESTS "),status(phase)"
#define NODES_FIELDS \
    "?fields=metadata(name,labels,annotations(capstan.dev/gpu-feedback)),spec(unschedulable),status(allocatable,conditions(type,status))"

/* GPUs of any maker, whole or as a part that a device plugin offers: nvidia.com/gpu, nvidia.com/mig-1g.5gb, amd.com/gpu. */
bool is_accelerator(const char *resource);
/* A quantity as a whole number, rounded up; 0 where it is none. */
int64_t whole_number(const struct json *quantity);
/* Of all kinds together, as the scheduler counts the containers of one pod, or template; GPUs of which it has shares apart from others. */
struct accelerators {
    int64_t devices_n, shares_n;
};
struct accelerators accelerators_of(struct arena *a, const struct json *pod);
/* `n` times `each` more of them. */
void accelerators_add(struct accelerators *sum, int64_t n, struct accelerators each);

#endif
