/* admission_part.h - what the admission_*.c files share; nobody else includes it */
#ifndef CODEC_ADMISSION_PART_H
#define CODEC_ADMISSION_PART_H
#include "base/limits.h"
#include "base/quantity.h"
#include "codec/admission/admission.h"
#include "codec/kinds/queued_kinds.h"
#include "codec/schema/validate_name.h"

#define AT(x, ...) arena_printf((x)->arena, __VA_ARGS__) /* a field path */
/* "PATH.MEMBER". WHY  a path is made for most checks, wanted for few of them, and formats cost ten times as much. */
static inline const char *admission_below(struct admission *x, const char *path, const char *member)
{
    size_t path_n = strlen(path), member_n = strlen(member);
    char *text = arena_alloc(x->arena, path_n + member_n + 2);
    memcpy(text, path, path_n);
    text[path_n] = '.';
    memcpy(text + path_n + 1, member, member_n + 1);
    return text;
}
#define IMMUTABLE "field is immutable"
#define QUEUE_NAME_LABEL "kueue.x-k8s.io/queue-name"

/* Add an error unless one of the same type stands at the path already (the schema reports missing and unsupported values too). */
void admission_error(struct admission *x, enum field_error_type type, const char *path, const struct json *value, const char *format, ...)
    PRINTF_LIKE(5, 6);
/* A plugin of Kubernetes says no, in these words: 403. Other errors go before it. */
void admission_refuse(struct admission *x, const char *text);
/* Like admission_error for a text that is no value of the tree (keys). */
void admission_error_text(struct admission *x, enum field_error_type type, const char *path, struct bytes value, const char *rule);
/* What follows (or no longer follows) is what Kueue's webhook looks at: with strict_kueue it is refused as by a webhook. */
static inline void admission_as_webhook(struct admission *x, bool on)
{
    x->errors.denying = on && x->strict_kueue;
}
/* Those of the object's namespace; NULL = none. */
const struct json *admission_limit_ranges(struct admission *x);
bool admission_absent(const struct json *v);                       /* missing, null, or empty text */
bool admission_is_one_of(struct bytes text, const char *const *names); /* their list ends with NULL */
void admission_require(struct admission *x, const struct json *object, const char *path, const char *key, const char *detail);
void admission_not_negative(struct admission *x, const struct json *object, const char *path, const char *key);
/* The value under key, set to the default when missing. */
void admission_default_text(struct admission *x, struct json *object, const char *key, const char *value);
/* Old and new value of spec.KEY differ: Invalid, field is immutable. */
void admission_immutable(struct admission *x, const char *section, const char *key);
/* Value of key in the list's items occurs twice: Duplicate at path[i].key. */
void admission_unique(struct admission *x, const struct json *list, const char *path, const char *key);
void admission_unique_as(struct admission *x, const struct json *list, const char *path, const char *key, const char *detail);
bool admission_quantity(struct admission *x, const struct json *v, const char *path, struct quantity *ret_q); /* checked, >= 0 */
void admission_labels(struct admission *x, const struct json *labels, const char *path);
void admission_annotation_keys(struct admission *x, const struct json *annotations, const char *path);
void admission_label_selector(struct admission *x, const struct json *selector, const char *path);
const char *admission_label(const struct json *object, const char *key);      /* metadata.labels[key] or "" */
const char *admission_annotation(const struct json *object, const char *key);
static inline uint32_t admission_list_n(const struct json *list)
{
    return json_is(list, JSON_ARRAY) ? list->n : 0;
}

/* Pods and their templates. `path` is the path of the spec ("spec", "spec.template.spec"). */
void admission_pod_defaults(struct admission *x, struct json *spec);
enum admission_pod_use { ADMISSION_POD, ADMISSION_TEMPLATE_ALWAYS, ADMISSION_TEMPLATE_FINITE, ADMISSION_TEMPLATE_ANY };
void admission_pod_spec(struct admission *x, const struct json *spec, const char *path, enum admission_pod_use use);
/* metadata.labels/annotations and spec of a template at path ("spec.template"); defaults first. */
void admission_template(struct admission *x, struct json *pod_template, const char *path, enum admission_pod_use use);
/* Shares of GPUs; paths: "metadata" and "spec" of it. */
void admission_share(struct admission *x, const struct json *metadata, const struct json *spec, const char *metadata_path,
                     const char *spec_path);
/* YuniKorn's annotations of a new one; the path of its metadata. */
void admission_task_groups(struct admission *x, const struct json *metadata, const struct json *spec, const char *path);
bool admission_pod_spec_fix(struct admission *x, struct json *spec); /* true when changed */
void admission_containers(struct admission *x, const struct json *spec, const char *path);
/* Of a pod that is created: the overhead, node selector and tolerations of its RuntimeClass. */
void admission_runtime_class(struct admission *x, struct json *spec);
void admission_container_defaults(struct admission *x, struct json *container, bool host_network);
void admission_pod_update(struct admission *x);
void admission_taints(struct admission *x, const struct json *list, const char *path);
void admission_tolerations(struct admission *x, const struct json *list, const char *path);

/* One function per group: kinds that it does not know pass. */
void admission_pod(struct admission *x, const struct kind *k);
void admission_core(struct admission *x, const struct kind *k);
void admission_event(struct admission *x, const struct kind *k);
void admission_limits(struct admission *x, const struct kind *k);   /* ResourceQuota, LimitRange */
void admission_batch(struct admission *x, const struct kind *k);
/* A CronJob, of whatever group, but for its template: schedule, name, limits. */
void admission_cron(struct admission *x);
void admission_apps(struct admission *x, const struct kind *k);
void admission_cluster(struct admission *x, const struct kind *k);  /* scheduling.k8s.io, coordination, policy, rbac, apiextensions */
void admission_composite(struct admission *x, const struct kind *k); /* scheduling.k8s.io: CompositePodGroup; the parent of a PodGroup */
void admission_kueue(struct admission *x, const struct kind *k);
void admission_kueue_repair(struct admission *x, const struct kind *k);
struct json *admission_kueue_fix(struct admission *x, const struct kind *k);
void admission_resource_groups(struct admission *x, const struct json *spec, bool is_cohort, bool has_cohort);
void admission_workload(struct admission *x);
void admission_provisioning(struct admission *x, const struct kind *k); /* autoscaling.x-k8s.io */
/* What annotations of a pod, or of a template of `count` pods (0: not known), ask of a topology; path: "spec.template.metadata.annotations". */
void admission_topology_annotations(struct admission *x, const struct json *annotations, const char *path, int64_t count);
void admission_volcano(struct admission *x, const struct kind *k);
void admission_volcano_repair(struct admission *x, const struct kind *k);
void admission_volcano_guide(struct admission *x, const struct json *spec); /* warnings on a Volcano Job */
/* A Volcano Job: x->object is one. */
void admission_vcjob(struct admission *x);
/* The names, with ',' between, of items that wait for each other by dependsOn.TARGETS, or for such; "" when there are none. */
const char *admission_circle(struct admission *x, const struct json *list, const char *targets);
bool admission_few_targets(struct admission *x, const struct json *list, const char *targets, const char *path); /* else told */
void admission_vc_flow(struct admission *x, const struct kind *k); /* flow.volcano.sh, and Volcano's CronJobs */
void admission_vc_queue(struct admission *x); /* Volcano's: its amounts, and where it stands in the tree */
/* Of a pod that Volcano schedules: how many of its group may be gone at a time. */
void admission_vc_budget(struct admission *x, const struct json *spec);
/* Of a Volcano Job, which passes the first of them to its pods: warns where these would be refused. */
void admission_vc_budget_of_job(struct admission *x);
/* Plugins of a Volcano Job: names, arguments, roles. */
void admission_vcjob_plugins(struct admission *x, const struct json *spec);
void admission_volcano_policies(struct admission *x, const struct json *policies, const char *path);
struct json *admission_pod_fix(struct admission *x, const struct kind *k);   /* Pod */
struct json *admission_batch_fix(struct admission *x, const struct kind *k); /* Job, CronJob, and what has spec.template */
struct json *admission_volcano_fix(struct admission *x, const struct kind *k);
struct json *admission_trainer_fix(struct admission *x, const struct kind *k);
void admission_unused(struct admission *x, const struct kind *k); /* of every group: warns of what does nothing */
void admission_trainer(struct admission *x, const struct kind *k);  /* trainer.kubeflow.org, scheduling.x-k8s.io */
/* Jobs of any kind with a queue name start suspended; a namespace's LocalQueue "default" takes jobs that name none. */
void admission_queue_name(struct admission *x, struct json *policy); /* policy: what has `suspend` */
/* The name of its queue, and when it may change. */
void admission_queue_rules(struct admission *x, const struct queued_kind *k);
/* Who runs it: `controller` (NULL: anybody may), or another cluster; it stays so. */
void admission_managed_by(struct admission *x, const struct queued_kind *k, const char *controller);
/* Sets that are queued by their pods (codec/kinds/queued_sets.h): their namespace's default queue; how their templates say so; name of the
 * queue and class; what their pods ask for, which stays; numbers of pods. */
struct queued_set;
bool admission_set_is_queued(const struct admission *x);
void admission_set_default_queue(struct admission *x);
void admission_set_template(struct admission *x, const struct queued_set *s, struct json *pod_template, bool names_queue);
void admission_set_rules(struct admission *x);
/* Of a kind whose label nobody reads (codec/kinds/queued_sets.h): who names a queue in vain is told where to write it. */
void admission_queue_unread(struct admission *x, const char *kind);
void admission_set_shape(struct admission *x, const struct json *was, const struct json *is, const char *path);
void admission_set_replicas(struct admission *x);
void admission_kubeflow(struct admission *x, const struct kind *k); /* kubeflow.org */
void admission_jobset(struct admission *x, const struct kind *k);   /* jobset.x-k8s.io */
void admission_kai(struct admission *x, const struct kind *k);      /* scheduling.run.ai */
void admission_kai_queue(struct admission *x);
void admission_kai_duration(struct admission *x, const struct json *spec, const char *member); /* what is there is one */
void admission_lws(struct admission *x, const struct kind *k);      /* leaderworkerset.x-k8s.io */
/* Of a pod that a LeaderWorkerSet has made, as it is created: in which group it is, and what its containers find of that. */
void admission_lws_pod(struct admission *x, struct json *spec);
/* The pod stands in one domain with those that have this value of the label, and in none with others that have the label. Of one priority,
 * and then of all namespaces, or NULL: of all, in its namespace. */
void admission_keep_apart(struct admission *x, struct json *spec, const char *domain, const char *label, const char *value,
                          const char *priority);
void admission_jobset_pod(struct admission *x, struct json *spec); /* its priority is known */

#endif
