/* admission_unused.c - fields that are taken, kept and do nothing: who writes one is told
 *
 * One table. A row goes when its field begins to work: then the decoder reads it (decode_kueue.c, decode_group.c), or a controller.
 */
#include "base/clock.h"
#include "codec/admission/admission_part.h"
#include "codec/decode/decode.h"
#include "codec/kinds/placement_names.h"

struct unused {
    const char *group, *plural;
    const char *path;     /* dots between members, [] after a list: each item. "" = the kind as a whole */
    const char *harmless; /* values that ask for nothing, A|B; NULL = none */
    const char *instead;  /* what happens */
    unsigned unless;      /* ADMISSION_*_SHARES: it has an effect where these are on, as `instead` says; 0 = it never has */
};

#define KUEUE "kueue.x-k8s.io"
#define VOLCANO "scheduling.volcano.sh"
#define VCJOB "batch.volcano.sh"
#define NATIVE "scheduling.k8s.io"
#define KAI "scheduling.run.ai"
#define KUBEFLOW "kubeflow.org"
#define OF_VOLCANO "it is read of Volcano's jobs and PodGroups"
#define RECLAIMED_ANY_TIME "a queue that has more than it deserves may lose it whole at any time; volcano.sh/preemptable: 'false' keeps it"
#define NO_FAIR_SHARES "queues are served by priority and age, not by shares"
#define FAIR_SHARES "fairSharing is on in Kueue's Configuration (--config of capstan scheduler and capstan up)"
#define SHARES_BY_USE "admissionFairSharing is in Kueue's Configuration (--config of capstan scheduler and capstan up)"
#define NO_TOPOLOGY "pods are packed closely by the topology of their GPUs, but this is not enforced"
#define YUNIKORN "yunikorn.apache.org/"
#define NAMESPACE_QUOTA "write a ResourceQuota, or a Queue of Volcano's for its applications"
#define NO_RANKS "the pods of a set take its places in the order in which they come"
#define NO_CHECKS "Capstan answers no check of its own"
#define OF_GROUPS "it is read of pod groups; of what is queued the Kueue way waitForPodsReady.recoveryTimeout says it"
#define NOT_A_GROUPS "it is read of what is queued the Kueue way: jobs, pods, Workloads"
#define OF_THE_JOB "it is read of the job's own metadata"
#define TREE_BY_PARENT "the tree of queues is that of spec.parent, each with its spec.weight"
#define NO_PROBES "nobody connects to pods: the targets are waited for until they have completed; write taskStatusList"

#define NO_FLUX "nobody installs Flux in its pods: they run the trainer's command"
#define NOT_SCALED "the job keeps its number of pods"
/* They go into a PodGroup, which jobs have that no queue holds. */
#define OF_ALL_KUBEFLOW(plural) \
    {KUBEFLOW, plural, "spec.runPolicy.schedulingPolicy.queue", NULL, "a job is queued by its label kueue.x-k8s.io/queue-name"}, \
    {KUBEFLOW, plural, "spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds", NULL, "the job waits until it fits"}

static const struct unused table[] = {
    {KUEUE, "clusterqueues", "spec.fairSharing", NULL, FAIR_SHARES, ADMISSION_FAIR_SHARES},
    {KUEUE, "clusterqueues", "spec.admissionScope.admissionMode", "NoAdmissionFairSharing", SHARES_BY_USE, ADMISSION_USAGE_SHARES},
    {KUEUE, "clusterqueues", "spec.concurrentAdmissionPolicy", NULL, "a job stays in the flavor that it was given"},
    {KUEUE, "cohorts", "spec.fairSharing", NULL, FAIR_SHARES, ADMISSION_FAIR_SHARES},
    {KUEUE, "localqueues", "spec.fairSharing", NULL, SHARES_BY_USE, ADMISSION_USAGE_SHARES},
    {KUEUE, "multikueueconfigs", "", NULL, NO_CHECKS},
    {KUEUE, "multikueueclusters", "", NULL, NO_CHECKS},
    {KUEUE, "workloads", "spec.podSets[].topologyRequest.podIndexLabel", NULL, NO_RANKS},
    {KUEUE, "workloads", "spec.podSets[].topologyRequest.subGroupIndexLabel", NULL, NO_RANKS},
    {KUEUE, "workloads", "spec.podSets[].topologyRequest.subGroupCount", NULL, NO_RANKS},
    {KUEUE, "workloads", "spec.preemptionGates", NULL, "it preempts others as soon as its queue lets it"},
    {VOLCANO, "queues", "spec.type", NULL, "all queues are served alike"},
    {VOLCANO, "queues", "spec.affinity", NULL, "its jobs go to any node"},
    {VOLCANO, "queues", "spec.extendClusters", NULL, "its jobs stay in this cluster"},
    {VCJOB, "jobs", "spec.runningEstimate", NULL, "no other job is let pass because of it"},
    {VCJOB, "jobs", "spec.tasks[].topologyPolicy", "none", NO_TOPOLOGY},
    {"flow.volcano.sh", "jobflows", "spec.flows[].dependsOn.probe.httpGetList", NULL, NO_PROBES},
    {"flow.volcano.sh", "jobflows", "spec.flows[].dependsOn.probe.tcpSocketList", NULL, NO_PROBES},
    {"trainer.kubeflow.org", "clustertrainingruntimes", "spec.mlPolicy.flux", NULL, NO_FLUX},
    {"trainer.kubeflow.org", "trainingruntimes", "spec.mlPolicy.flux", NULL, NO_FLUX},
    {"jobset.x-k8s.io", "jobsets", "spec.failurePolicy.restartStrategy", "Recreate|BlockingRecreate", "all jobs are made again"},
    {KUBEFLOW, "pytorchjobs", "spec.elasticPolicy.metrics", NULL, NOT_SCALED},
    {KUBEFLOW, "paddlejobs", "spec.elasticPolicy.metrics", NULL, NOT_SCALED},
    {KUBEFLOW, "paddlejobs", "spec.elasticPolicy.minReplicas", NULL, NOT_SCALED},
    {KUBEFLOW, "paddlejobs", "spec.elasticPolicy.maxReplicas", NULL, NOT_SCALED},
    {KUBEFLOW, "paddlejobs", "spec.elasticPolicy.maxRestarts", NULL, "write spec.runPolicy.backoffLimit"},
    {KUBEFLOW, "tfjobs", "spec.enableDynamicWorker", "false", "TF_CONFIG names all workers"},
    OF_ALL_KUBEFLOW("pytorchjobs"),
    OF_ALL_KUBEFLOW("tfjobs"),
    OF_ALL_KUBEFLOW("xgboostjobs"),
    OF_ALL_KUBEFLOW("jaxjobs"),
    OF_ALL_KUBEFLOW("paddlejobs"),
    OF_ALL_KUBEFLOW("mpijobs"),
    {"nodeinfo.volcano.sh", "numatopologies", "", NULL, NO_TOPOLOGY},
    {"scheduling.x-k8s.io", "podgroups", "spec.scheduleTimeoutSeconds", "60", "a group that waits holds nothing that it could give back"},
    {KAI, "podgroups", "spec.parallelism", NULL, "minMember counts"},
    {KAI, "podgroups", "spec.completions", NULL, "it is over when all its pods are"},
    {KAI, "podgroups", "spec.backoffLimit", NULL, "who makes its pods counts how often they fail"},
    {KAI, "podgroups", "spec.markUnschedulable", "false", "its pods are told Unschedulable where other nodes would help"},
    {KAI, "podgroups", "spec.schedulingBackoff", "-1", "the group waits until it fits"},
    {"scheduling.x-k8s.io", "elasticquotas", "", NULL, "no quota follows from it"},
    {NATIVE, "podgroups", "spec.resourceClaims", NULL, "no device is claimed for the group"},
};

/* Labels and annotations. `in_template`: of the pod template, else of the object. */
static const struct {
    const char *group, *plural;
    bool in_template;
    const char *key, *harmless, *instead;
} marks[] = {
    {"batch", "jobs", false, "kueue.x-k8s.io/elastic-job", "false", "a job that asks for more pods is stopped and queued again"},
    {KUEUE, "workloads", false, "kueue.x-k8s.io/elastic-job", "false", "it keeps the pods that it was given"},
    {KUEUE, "workloads", false, "kueue.x-k8s.io/workload-slice-replacement-for", NULL, "both Workloads count, each for itself"},
    {KUEUE, "workloads", false, "kueue.x-k8s.io/allowed-resource-flavor", NULL, "it may be given any flavor of its queue"},
    {KUEUE, "workloads", false, "kueue.x-k8s.io/priority-boost", "0", "spec.priority alone counts"},
    {VOLCANO, "queues", false, "volcano.sh/hierarchy", NULL, TREE_BY_PARENT},
    {VOLCANO, "queues", false, "volcano.sh/hierarchy-weights", NULL, TREE_BY_PARENT},
    {VCJOB, "jobs", false, "volcano.sh/cooldown-time", NULL, RECLAIMED_ANY_TIME},
    {VCJOB, "jobs", false, "volcano.sh/revocable-zone", NULL, "its pods go to any node"},
    {VCJOB, "jobs", false, "volcano.sh/jdb-min-available", NULL, RECLAIMED_ANY_TIME},
    {VCJOB, "jobs", false, "volcano.sh/jdb-max-unavailable", NULL, RECLAIMED_ANY_TIME},
    {"", "pods", false, "volcano.sh/jdb-min-available", NULL, RECLAIMED_ANY_TIME},
    {"", "pods", false, "volcano.sh/jdb-max-unavailable", NULL, RECLAIMED_ANY_TIME},
    {"", "namespaces", false, YUNIKORN "namespace.quota", NULL, NAMESPACE_QUOTA},
    {"", "namespaces", false, YUNIKORN "namespace.guaranteed", NULL, NAMESPACE_QUOTA},
    {"", "namespaces", false, YUNIKORN "namespace.max.cpu", NULL, NAMESPACE_QUOTA},
    {"", "namespaces", false, YUNIKORN "namespace.max.memory", NULL, NAMESPACE_QUOTA},
    {"", "namespaces", false, YUNIKORN "namespace.maxApps", NULL, "as many applications run as there is room for"},
    {"", "namespaces", false, YUNIKORN "parentqueue", NULL, "namespaces have no queues: an application names its own"},
    {"scheduling.k8s.io", "priorityclasses", false, YUNIKORN "allow-preemption", "true", "whether its pods end for others is up to their priority"},
    {KUEUE, "localqueues", false, DECODE_BACKFILL_ANNOTATION, "none", "it is read of the ClusterQueue"},
    {KUEUE, "cohorts", false, DECODE_BACKFILL_ANNOTATION, "none", "it is read of the ClusterQueue"},
    {KUEUE, "localqueues", false, DECODE_PLACEMENT_ANNOTATION, NULL, "it is read of the ClusterQueue"},
    {KUEUE, "cohorts", false, DECODE_PLACEMENT_ANNOTATION, NULL, "it is read of the ClusterQueue"},
    {KUEUE, "localqueues", false, DECODE_MOVE_COST_ANNOTATION, "0", "it is read of the ClusterQueue"},
    {KUEUE, "cohorts", false, DECODE_MOVE_COST_ANNOTATION, "0", "it is read of the ClusterQueue"},
    {VOLCANO, "queues", false, DECODE_MOVE_COST_ANNOTATION, "0", "it is read of ClusterQueues: jobs of other queues are not moved"},
    {"batch", "jobs", false, DECODE_REFILL_ANNOTATION, NULL, OF_GROUPS},
    {KUEUE, "workloads", false, DECODE_REFILL_ANNOTATION, NULL, OF_GROUPS},
    {"batch", "jobs", false, DECODE_SLA_ANNOTATION, NULL, OF_VOLCANO},
    {KUEUE, "workloads", false, DECODE_SLA_ANNOTATION, NULL, OF_VOLCANO},
    {"batch", "jobs", true, DECODE_MINIMUM_RUN_ANNOTATION, "0", OF_THE_JOB},
    {"batch", "jobs", true, DECODE_CHECKPOINT_ANNOTATION, NULL, OF_THE_JOB},
    {"batch", "jobs", true, DECODE_MOVABLE_ANNOTATION, NULL, OF_THE_JOB},
    {VCJOB, "jobs", false, DECODE_MOVABLE_ANNOTATION, "false", NOT_A_GROUPS},
    {VOLCANO, "podgroups", false, DECODE_MOVABLE_ANNOTATION, "false", NOT_A_GROUPS},
    {"batch", "jobs", true, DECODE_CHECKPOINT_WITHIN_ANNOTATION, NULL, OF_THE_JOB},
    {VCJOB, "jobs", true, DECODE_CHECKPOINT_WITHIN_ANNOTATION, NULL, OF_THE_JOB},
    {VCJOB, "jobs", false, DECODE_MINIMUM_RUN_ANNOTATION, "0", NOT_A_GROUPS},
    {VOLCANO, "podgroups", false, DECODE_MINIMUM_RUN_ANNOTATION, "0", NOT_A_GROUPS},
};

static bool is_minimum_run(const struct json *v)
{
    int32_t unused;
    return decode_minimum_run(json_bytes(v), &unused);
}

static bool is_refill(const struct json *v)
{
    int32_t unused;
    return decode_refill(json_bytes(v), &unused);
}

static bool is_hung_after(const struct json *v)
{
    int32_t unused;
    return decode_hung_after(json_bytes(v), &unused);
}

static bool is_truth(const struct json *v)
{
    bool unused;
    return decode_truth(json_bytes(v), &unused);
}

static bool is_move_cost(const struct json *v)
{
    int32_t unused;
    return decode_move_cost(json_bytes(v), &unused);
}

static bool is_checkpoint(const struct json *v)
{
    int64_t unused;
    return decode_checkpoint(json_bytes(v), &unused);
}

static bool is_checkpoint_within(const struct json *v)
{
    int32_t unused;
    return decode_checkpoint_within(json_bytes(v), &unused);
}

static bool is_backfill(const struct json *v)
{
    enum queue_backfill unused;
    return decode_backfill(json_bytes(v), &unused);
}

static bool is_placement(const struct json *v)
{
    enum placement unused;
    return decode_placement(v, &unused) || (json_is(v, JSON_STRING) && !json_bytes(v).n);
}

static bool is_duration(const struct json *v)
{
    int64_t ms;
    return json_is(v, JSON_STRING) && duration_parse(json_bytes(v), &ms) && ms > 0;
}

/* Annotations whose values must be of a form, and are left out of account where they are not. */
static const struct {
    const char *key, *form;
    bool (*is_read)(const struct json *v);
} forms[] = {
    {DECODE_MINIMUM_RUN_ANNOTATION, "seconds, from 0 to 86400", is_minimum_run},
    {DECODE_REFILL_ANNOTATION, "seconds, from 1 to 86400", is_refill},
    {DECODE_HUNG_AFTER_ANNOTATION, "seconds, from 10 to 604800", is_hung_after},
    {DECODE_HUNG_RESTART_ANNOTATION, "\"true\" or \"false\"", is_truth},
    {DECODE_SLA_ANNOTATION, "a duration as in 1h30m", is_duration},
    {DECODE_CHECKPOINT_ANNOTATION, "a time as in 2026-01-31T12:00:00Z", is_checkpoint},
    {DECODE_CHECKPOINT_WITHIN_ANNOTATION, "seconds, from 1 to 3600", is_checkpoint_within},
    {DECODE_BACKFILL_ANNOTATION, "easy, conservative or none", is_backfill},
    {DECODE_MOVE_COST_ANNOTATION, "GPU-seconds, from 0 to 604800", is_move_cost},
    {DECODE_MOVABLE_ANNOTATION, "\"true\" or \"false\"", is_truth},
    {DECODE_PLACEMENT_ANNOTATION, PLACEMENT_WORDS, is_placement},
};

/* Does it ask for something? */
static bool is_meant(const struct json *v, const char *harmless)
{
    if (admission_absent(v) || (v->type >= JSON_ARRAY && !v->n))
        return false;
    if (!harmless)
        return v->type != JSON_BOOL || json_bool(v, true);
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, v);
    struct bytes value = v->type == JSON_STRING ? json_bytes(v) : buf_view(&text);
    for (size_t n; *harmless; harmless += n + (harmless[n] == '|')) {
        n = strcspn(harmless, "|");
        if (value.n == n && memcmp(value.data, harmless, n) == 0)
            return false;
    }
    return true;
}

/* Does a value at `path` below v ask for something? WHY  most do not, and no path has to be put together for them. */
static bool is_asked_for(const struct json *v, const char *path, const char *harmless)
{
    size_t n = strcspn(path, ".[");
    const struct json *member = json_get_n(v, (struct bytes){path, n});
    const char *rest = path + n;
    if (!member || !*rest)
        return is_meant(member, harmless);
    if (*rest == '.')
        return is_asked_for(member, rest + 1, harmless);
    JSON_EACH (item, admission_list_n(member) ? member : NULL)
        if (is_asked_for(item, rest + strlen("[]."), harmless))
            return true;
    return false;
}

/* The first value at `path` below v that asks for something; its path with indexes in *ret_path. */
static const struct json *find(struct admission *x, const struct json *v, const char *path, const char *harmless,
                               const char *so_far, const char **ret_path)
{
    size_t n = strcspn(path, ".[");
    const struct json *member = json_get(v, AT(x, "%.*s", (int)n, path));
    const char *name = AT(x, "%s%s%.*s", so_far, so_far[0] ? "." : "", (int)n, path), *rest = path + n;
    bool each = rest[0] == '[';
    uint32_t at = 0;
    if (!each && rest[0] == '\0') {
        *ret_path = name;
        return is_meant(member, harmless) ? member : NULL;
    }
    if (!each)
        return find(x, member, rest + 1, harmless, name, ret_path);
    JSON_EACH (item, admission_list_n(member) ? member : NULL) {
        const struct json *found = find(x, item, rest + strlen("[]."), harmless, AT(x, "%s[%u]", name, at++), ret_path);
        if (found)
            return found;
    }
    return NULL;
}

static const struct json *metadata_of(const struct json *object, bool in_template)
{
    return json_get(in_template ? json_path(object, "spec", "template", NULL) : object, "metadata");
}

/* Every mark is a word of Kueue, Volcano or our own: most objects have none. */
static bool has_marks(const struct json *metadata)
{
    static const char *const maps[] = {"labels", "annotations"};
    for (int i = 0; i < 2; i++)
        JSON_EACH (m, json_get(metadata, maps[i]))
            if (text_starts(m->key, "kueue.x-k8s.io/") || text_starts(m->key, "alpha.jobset.sigs.k8s.io/") ||
                text_starts(m->key, "leaderworkerset.sigs.k8s.io/") || text_starts(m->key, "volcano.sh/") ||
                text_starts(m->key, "capstan.dev/") ||
                text_starts(m->key, YUNIKORN) || text_equal(m->key, DECODE_SLA_ANNOTATION))
                return true;
    return false;
}

/* As nearly every write leaves it: what it says was said when it was written. */
static bool is_as_it_was(const struct json *was, const struct json *is)
{
    return json_equal(json_get(was, "labels"), json_get(is, "labels")) &&
           json_equal(json_get(was, "annotations"), json_get(is, "annotations"));
}

static void warn_of_marks(struct admission *x, const struct kind *k)
{
    static const char *const maps[] = {"labels", "annotations"};
    if (x->old && is_as_it_was(metadata_of(x->old, false), metadata_of(x->object, false)) &&
        is_as_it_was(metadata_of(x->old, true), metadata_of(x->object, true)))
        return;
    if (!has_marks(metadata_of(x->object, false)) && !has_marks(metadata_of(x->object, true)))
        return;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (*marks[i].group != *k->group || !text_equal(marks[i].group, k->group) || !text_equal(marks[i].plural, k->plural))
            continue;
        const struct json *is_on = metadata_of(x->object, marks[i].in_template), *was_on = metadata_of(x->old, marks[i].in_template);
        for (int m = 0; m < 2; m++) {
            const struct json *is = json_path(is_on, maps[m], marks[i].key, NULL), *was = json_path(was_on, maps[m], marks[i].key, NULL);
            if (is_meant(is, marks[i].harmless) && !(was && json_equal(was, is)))
                admission_warn(x, "%smetadata.%s[%s]: has no effect yet: %s", marks[i].in_template ? "spec.template." : "", maps[m],
                               marks[i].key, marks[i].instead);
        }
    }
}

static void warn_of_fields(struct admission *x, const struct kind *k)
{
    const struct json *was = json_get(x->old, "spec"), *is = json_get(x->object, "spec");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct unused *u = &table[i];
        const char *path = "";
        if (*u->group != *k->group || !text_equal(u->group, k->group) || !text_equal(u->plural, k->plural))
            continue;
        if (was && is && json_equal(was, is))
            return; /* said when it was written */
        if (text_equal(u->instead, NO_RANKS) && json_path(x->object, "metadata", "ownerReferences", NULL))
            continue; /* whoever controls the owner writes that of all of them, and nobody asked for it */
        if (!u->path[0])
            admission_warn(x, "%s: has no effect yet: %s", k->kind, u->instead);
        else if (!(x->shares & u->unless) && is_asked_for(x->object, u->path, u->harmless) &&
                 find(x, x->object, u->path, u->harmless, "", &path))
            admission_warn(x, u->unless ? "%s: has an effect only where %s" : "%s: has no effect yet: %s", path, u->instead);
    }
}

static void warn_of_forms(struct admission *x)
{
    const struct json *now = json_path(x->object, "metadata", "annotations", NULL);
    const struct json *before = json_path(x->old, "metadata", "annotations", NULL);
    for (size_t i = 0; now && i < sizeof forms / sizeof *forms; i++) {
        const struct json *is = json_get(now, forms[i].key), *was = is ? json_get(before, forms[i].key) : NULL;
        if (is && !forms[i].is_read(is) && !(was && json_equal(was, is)))
            admission_warn(x, "metadata.annotations[%s]: has no effect: write %s", forms[i].key, forms[i].form);
    }
}

void admission_unused(struct admission *x, const struct kind *k)
{
    if (x->metadata_rests && (x->status_only || x->spec_rests))
        return; /* said when it was written */
    if (!x->status_only && !x->spec_rests) /* they have none of them */
        warn_of_fields(x, k);
    warn_of_marks(x, k);
    warn_of_forms(x);
}
