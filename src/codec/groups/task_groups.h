/* task_groups.h - YuniKorn's gangs: task groups of an application, as annotations of its pods say; no object has them
 *
 *   yunikorn.apache.org/app-id            label, or annotation; else label applicationId or spark-app-selector: the application
 *   yunikorn.apache.org/task-groups       of one of its pods, or all: [{"name": "worker", "minMember": 4, "minResource": {"cpu": 1}}]
 *   yunikorn.apache.org/task-group-name   the task group that a pod is of
 *
 * All pods of an application that are of a task group are members of Volcano's PodGroup application_group(), which jobs/yunikorn makes;
 * their task is their task group.
 * SOURCE YuniKorn's k8shim, pkg/common/utils and pkg/cache. Names of fields are read in any case, as Go does.
 */
#ifndef CODEC_TASK_GROUPS_H
#define CODEC_TASK_GROUPS_H
#include "wire/json.h"

#define YUNIKORN_SCHEDULER "yunikorn" /* spec.schedulerName of its pods; others are not read as YuniKorn's */
#define YUNIKORN "yunikorn.apache.org/"
#define YUNIKORN_APP YUNIKORN "app-id"
#define YUNIKORN_QUEUE YUNIKORN "queue"
#define YUNIKORN_TASK_GROUPS YUNIKORN "task-groups"
#define YUNIKORN_TASK_GROUP YUNIKORN "task-group-name"
#define YUNIKORN_PARAMETERS YUNIKORN "schedulingPolicyParameters"
#define YUNIKORN_APP_LABEL "applicationId"
#define YUNIKORN_QUEUE_LABEL "queue"
#define YUNIKORN_SPARK_LABEL "spark-app-selector"
#define YUNIKORN_CONFIGS "yunikorn-configs" /* ConfigMap with the tree of its queues */
#define YUNIKORN_QUEUES_FILE "queues.yaml"
#define YUNIKORN_QUEUES_UNUSED "the queues that it describes have no effect: pods of task groups count in the Queue of Volcano's that is " \
                               "called like the last part of their queue: write a Queue (scheduling.volcano.sh) for each that has quota"
#define SPARK_ROLE_LABEL "spark-role" /* its pod "driver" makes the other pods of its application when it runs */

/* A pod's application by the four places where its name can stand, NULL or "" where there is none; "": it has none, or one for itself. */
const char *application_of(const char *label, const char *annotation, const char *other_label, const char *spark_label);
/* A pod's queue by the three places where its name can stand, "" where there is none. */
const char *application_queue(const char *label, const char *annotation, const char *other_label);
bool is_queue_meant(const char *queue); /* it is neither "" nor the default queue of some level */
/* Name of the PodGroup of an application: a DNS name, another one for each application. */
const char *application_group(struct arena *a, const char *application);
/* YuniKorn has made this pod to keep a place for others: an annotation of this name is "true". */
bool is_placeholder_note(struct bytes annotation);

struct task_group {
    const char *name;
    int32_t min_member;              /* from 1 */
    const struct json *min_resource; /* of each member: resource -> quantity */
};
struct task_groups {
    const struct task_group *all; /* names differ */
    uint32_t n;
    int32_t members; /* of all together. LIMIT_GANG_MEMBERS */
    const char *unused; /* what is written in them and does nothing here, "worker.nodeSelector, ..."; NULL: nothing */
};
/* The annotation's text, in the arena. -E_INVALID: e says where, and what to write. LIMIT_TASK_GROUPS, LIMIT_ANNOTATIONS_BYTES. */
int task_groups_read(struct arena *a, struct bytes text, struct task_groups *ret_groups, struct err *e);
/* What the text of YUNIKORN_PARAMETERS asks for that does nothing here, in the arena; NULL: nothing. */
const char *scheduling_parameters_unused(struct arena *a, const char *text);

#endif
