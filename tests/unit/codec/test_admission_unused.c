/* Every field of the kinds of Kueue, Volcano and the makers of pod groups either works or brings a Warning. The fields are those of the
 * schema, so that one which is added there is asked for here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "../tree.h"
#include "codec/admission/admission_part.h"
#include "codec/schema/schema.h"

#define KUEUE "kueue.x-k8s.io"
#define VOLCANO "scheduling.volcano.sh"
#define VCJOB "batch.volcano.sh"
#define COSCHEDULING "scheduling.x-k8s.io"
#define NATIVE "scheduling.k8s.io"
#define KAI "scheduling.run.ai"
#define JOBSET "jobset.x-k8s.io"
#define KUBEFLOW "kubeflow.org"

/* Fields that do something, with all that stands below them. "" = the kind as a whole: none of its fields is looked at. NULL: all kinds of
 * the group. */
static const struct {
    const char *group, *plural, *path;
} works[] = {
    {KUEUE, "clusterqueues", "spec.resourceGroups"},
    {KUEUE, "clusterqueues", "spec.cohortName"},
    {KUEUE, "clusterqueues", "spec.queueingStrategy"},
    {KUEUE, "clusterqueues", "spec.namespaceSelector"},
    {KUEUE, "clusterqueues", "spec.flavorFungibility"},
    {KUEUE, "clusterqueues", "spec.preemption"},
    {KUEUE, "clusterqueues", "spec.stopPolicy"},
    {KUEUE, "clusterqueues", "spec.admissionChecksStrategy"},
    {KUEUE, "admissionchecks", ""},
    {KUEUE, "provisioningrequestconfigs", "spec"},
    {KUEUE, "cohorts", "spec.parentName"},
    {KUEUE, "cohorts", "spec.resourceGroups"},
    {KUEUE, "localqueues", "spec.clusterQueue"},
    {KUEUE, "localqueues", "spec.stopPolicy"},
    {KUEUE, "resourceflavors", "spec.nodeLabels"},
    {KUEUE, "resourceflavors", "spec.nodeTaints"},
    {KUEUE, "resourceflavors", "spec.tolerations"},
    {KUEUE, "resourceflavors", "spec.topologyName"},
    {KUEUE, "topologies", ""},
    {KUEUE, "workloads", "spec.podSets[].topologyRequest.required"},
    {KUEUE, "workloads", "spec.podSets[].topologyRequest.preferred"},
    {KUEUE, "workloads", "spec.podSets[].topologyRequest.unconstrained"},
    {KUEUE, "workloads", "spec.podSets[].topologyRequest.podSetGroupName"},
    {KUEUE, "workloads", "spec.podSets[].topologyRequest.podSetSliceRequiredTopology"},
    {KUEUE, "workloads", "spec.podSets[].topologyRequest.podSetSliceSize"},
    {KUEUE, "workloads", "spec.podSets[].topologyRequest.podsetSliceRequiredTopologyConstraints"},
    {KUEUE, "workloads", "spec.podSets[].name"},
    {KUEUE, "workloads", "spec.podSets[].template"},
    {KUEUE, "workloads", "spec.podSets[].count"},
    {KUEUE, "workloads", "spec.podSets[].minCount"},
    {KUEUE, "workloads", "spec.queueName"},
    {KUEUE, "workloads", "spec.priorityClassRef"},
    {KUEUE, "workloads", "spec.priority"},
    {KUEUE, "workloads", "spec.active"},
    {KUEUE, "workloads", "spec.maximumExecutionTimeSeconds"},
    {KUEUE, "workloadpriorityclasses", ""},
    {VOLCANO, "queues", "spec.capability"},
    {VOLCANO, "queues", "spec.dequeueStrategy"},
    {VOLCANO, "queues", "spec.priority"},
    {VOLCANO, "queues", "spec.parent"},
    {VOLCANO, "queues", "spec.weight"},
    {VOLCANO, "queues", "spec.deserved"},
    {VOLCANO, "queues", "spec.guarantee.resource"},
    {VOLCANO, "queues", "spec.reclaimable"},
    {VOLCANO, "podgroups", "spec.minMember"},
    {VOLCANO, "podgroups", "spec.minTaskMember"},
    {VOLCANO, "podgroups", "spec.queue"},
    {VOLCANO, "podgroups", "spec.priorityClassName"},
    {VOLCANO, "podgroups", "spec.minResources"},
    {VOLCANO, "podgroups", "spec.networkTopology"},
    {VOLCANO, "podgroups", "spec.subGroupPolicy"},
    {"scheduling.x-k8s.io", "podgroups", "spec.minResources"},
    {"topology.volcano.sh", "hypernodes", "spec.tier"},
    {"topology.volcano.sh", "hypernodes", "spec.tierName"},
    {"topology.volcano.sh", "hypernodes", "spec.members"},
    {VCJOB, "jobs", "spec.schedulerName"},
    {VCJOB, "jobs", "spec.minAvailable"},
    {VCJOB, "jobs", "spec.volumes"},
    {VCJOB, "jobs", "spec.networkTopology"},
    {VCJOB, "jobs", "spec.policies"},
    {VCJOB, "jobs", "spec.plugins"}, /* svc, ssh, env: admission_volcano.c tells of the others */
    {VCJOB, "jobs", "spec.queue"},
    {VCJOB, "jobs", "spec.maxRetry"},
    {VCJOB, "jobs", "spec.ttlSecondsAfterFinished"},
    {VCJOB, "jobs", "spec.priorityClassName"},
    {VCJOB, "jobs", "spec.minSuccess"},
    {VCJOB, "jobs", "spec.tasks[].name"},
    {VCJOB, "jobs", "spec.tasks[].replicas"},
    {VCJOB, "jobs", "spec.tasks[].minAvailable"},
    {VCJOB, "jobs", "spec.tasks[].template"},
    {VCJOB, "jobs", "spec.tasks[].policies"},
    {VCJOB, "jobs", "spec.tasks[].maxRetry"},
    {VCJOB, "jobs", "spec.tasks[].dependsOn"},
    {VCJOB, "jobs", "spec.tasks[].partitionPolicy.totalPartitions"}, /* must be replicas / partitionSize */
    {VCJOB, "jobs", "spec.tasks[].partitionPolicy.partitionSize"},
    {VCJOB, "jobs", "spec.tasks[].partitionPolicy.minPartitions"},
    {VCJOB, "jobs", "spec.tasks[].partitionPolicy.networkTopology"},
    {"bus.volcano.sh", "commands", ""},
    {VCJOB, "cronjobs", "spec.schedule"},
    {VCJOB, "cronjobs", "spec.timeZone"},
    {VCJOB, "cronjobs", "spec.startingDeadlineSeconds"},
    {VCJOB, "cronjobs", "spec.concurrencyPolicy"},
    {VCJOB, "cronjobs", "spec.suspend"},
    {VCJOB, "cronjobs", "spec.jobTemplate"},
    {VCJOB, "cronjobs", "spec.successfulJobsHistoryLimit"},
    {VCJOB, "cronjobs", "spec.failedJobsHistoryLimit"},
    {"flow.volcano.sh", "jobflows", "spec.jobRetainPolicy"},
    {"flow.volcano.sh", "jobflows", "spec.flows[].name"},
    {"flow.volcano.sh", "jobflows", "spec.flows[].dependsOn.targets"},
    {"flow.volcano.sh", "jobflows", "spec.flows[].dependsOn.probe.taskStatusList"},
    {"flow.volcano.sh", "jobflows", "spec.flows[].patch"},
    {"flow.volcano.sh", "jobtemplates", "spec"},
    {JOBSET, "jobsets", "spec.replicatedJobs[].name"},
    {JOBSET, "jobsets", "spec.replicatedJobs[].groupName"},
    {JOBSET, "jobsets", "spec.replicatedJobs[].template"},
    {JOBSET, "jobsets", "spec.replicatedJobs[].replicas"},
    {JOBSET, "jobsets", "spec.replicatedJobs[].dependsOn"},
    {JOBSET, "jobsets", "spec.network"},
    {JOBSET, "jobsets", "spec.volumeClaimPolicies"},
    {JOBSET, "jobsets", "spec.successPolicy"},
    {JOBSET, "jobsets", "spec.failurePolicy.maxRestarts"},
    {JOBSET, "jobsets", "spec.failurePolicy.rules[].name"},
    {JOBSET, "jobsets", "spec.failurePolicy.rules[].action"},
    {JOBSET, "jobsets", "spec.failurePolicy.rules[].onJobFailureReasons"},
    {JOBSET, "jobsets", "spec.failurePolicy.rules[].onJobFailureMessagePatterns"},
    {JOBSET, "jobsets", "spec.failurePolicy.rules[].targetReplicatedJobs"},
    {JOBSET, "jobsets", "spec.startupPolicy"},
    {JOBSET, "jobsets", "spec.suspend"},
    {JOBSET, "jobsets", "spec.coordinator"},
    {JOBSET, "jobsets", "spec.managedBy"},
    {JOBSET, "jobsets", "spec.ttlSecondsAfterFinished"},
    {KUBEFLOW, NULL, "spec.runPolicy.cleanPodPolicy"},
    {KUBEFLOW, NULL, "spec.runPolicy.ttlSecondsAfterFinished"},
    {KUBEFLOW, NULL, "spec.runPolicy.activeDeadlineSeconds"},
    {KUBEFLOW, NULL, "spec.runPolicy.backoffLimit"},
    {KUBEFLOW, NULL, "spec.runPolicy.suspend"},
    {KUBEFLOW, NULL, "spec.runPolicy.managedBy"},
    {KUBEFLOW, NULL, "spec.runPolicy.schedulingPolicy.minAvailable"},
    {KUBEFLOW, NULL, "spec.runPolicy.schedulingPolicy.minResources"},
    {KUBEFLOW, NULL, "spec.runPolicy.schedulingPolicy.priorityClass"},
    {KUBEFLOW, "pytorchjobs", "spec.pytorchReplicaSpecs"},
    {KUBEFLOW, "pytorchjobs", "spec.nprocPerNode"},
    {KUBEFLOW, "pytorchjobs", "spec.elasticPolicy.minReplicas"},
    {KUBEFLOW, "pytorchjobs", "spec.elasticPolicy.maxReplicas"},
    {KUBEFLOW, "pytorchjobs", "spec.elasticPolicy.rdzvBackend"},
    {KUBEFLOW, "pytorchjobs", "spec.elasticPolicy.rdzvPort"},
    {KUBEFLOW, "pytorchjobs", "spec.elasticPolicy.rdzvHost"},
    {KUBEFLOW, "pytorchjobs", "spec.elasticPolicy.rdzvId"},
    {KUBEFLOW, "pytorchjobs", "spec.elasticPolicy.rdzvConf"},
    {KUBEFLOW, "pytorchjobs", "spec.elasticPolicy.standalone"},
    {KUBEFLOW, "pytorchjobs", "spec.elasticPolicy.nProcPerNode"},
    {KUBEFLOW, "pytorchjobs", "spec.elasticPolicy.maxRestarts"},
    {KUBEFLOW, "tfjobs", "spec.tfReplicaSpecs"},
    {KUBEFLOW, "tfjobs", "spec.successPolicy"},
    {KUBEFLOW, "xgboostjobs", "spec.xgbReplicaSpecs"},
    {KUBEFLOW, "jaxjobs", "spec.jaxReplicaSpecs"},
    {KUBEFLOW, "paddlejobs", "spec.paddleReplicaSpecs"},
    {KUBEFLOW, "mpijobs", "spec.slotsPerWorker"},
    {KUBEFLOW, "mpijobs", "spec.runLauncherAsWorker"},
    {KUBEFLOW, "mpijobs", "spec.mpiReplicaSpecs"},
    {KUBEFLOW, "mpijobs", "spec.sshAuthMountPath"},
    {KUBEFLOW, "mpijobs", "spec.launcherCreationPolicy"},
    {KUBEFLOW, "mpijobs", "spec.mpiImplementation"},
    {COSCHEDULING, "podgroups", "spec.minMember"},
    {KAI, "queues", "spec.displayName"}, /* it is shown */
    {KAI, "queues", "spec.parentQueue"},
    {KAI, "queues", "spec.preemptMinRuntime"},
    {KAI, "queues", "spec.reclaimMinRuntime"},
    {KAI, "queues", "spec.priority"},
    {KAI, "queues", "spec.resources"},
    {KAI, "podgroups", "spec.minMember"},
    {KAI, "podgroups", "spec.queue"},
    {KAI, "podgroups", "spec.priorityClassName"},
    {KAI, "podgroups", "spec.preemptibility"},
    {KAI, "podgroups", "spec.topologyConstraint"},
    {KAI, "podgroups", "spec.stalenessGracePeriod"},
    {KAI, "podgroups", "spec.preemptionDelay"},
    {KAI, "podgroups", "spec.subGroups[].name"},
    {KAI, "podgroups", "spec.subGroups[].minMember"},
    {KAI, "podgroups", "spec.subGroups[].topologyConstraint"},
    {KAI, "podgroups", "spec.subGroups[].parent"},
    {KAI, "podgroups", "spec.subGroups[].minSubGroup"},
    {KAI, "podgroups", "spec.minSubGroup"},
    {NATIVE, "priorityclasses", ""},
    {NATIVE, "workloads", ""}, /* its groups, where pods name it; whoever makes PodGroups of it has made it, too */
    {NATIVE, "podgroups", "spec.schedulingPolicy"},
    {NATIVE, "podgroups", "spec.schedulingConstraints.topology"},
    {NATIVE, "podgroups", "spec.priorityClassName"},
    {NATIVE, "podgroups", "spec.priority"},
    {NATIVE, "podgroups", "spec.disruptionMode.single"},
    {NATIVE, "podgroups", "spec.disruptionMode.all"},
    {NATIVE, "podgroups", "spec.preemptionPolicy"},
    {NATIVE, "podgroups", "spec.parentCompositePodGroupName"},
    {NATIVE, "podgroups", "spec.workloadRef"}, /* who made the group: nobody reads it, in Kubernetes neither */
    {NATIVE, "compositepodgroups", "spec.parentCompositePodGroupName"},
    {NATIVE, "compositepodgroups", "spec.schedulingPolicy"},
    {NATIVE, "compositepodgroups", "spec.schedulingConstraints.topology"},
    {NATIVE, "compositepodgroups", "spec.priorityClassName"},
    {NATIVE, "compositepodgroups", "spec.priority"},
    {NATIVE, "compositepodgroups", "spec.disruptionMode.single"},
    {NATIVE, "compositepodgroups", "spec.disruptionMode.all"},
    {NATIVE, "compositepodgroups", "spec.preemptionPolicy"},
    {NATIVE, "compositepodgroups", "spec.workloadRef"}, /* a tree is of one */
};

static bool does_work(const struct kind *k, const char *path)
{
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        if (text_equal(works[i].group, k->group) && (!works[i].plural || text_equal(works[i].plural, k->plural)) &&
            text_equal(works[i].path, path))
            return true;
    return false;
}

/* An object that has `value` at `path`. */
static struct json *object_with(const char *path, const char *value)
{
    _cleanup_buf_ struct buf head = {0}, tail = {0};
    for (const char *at = path; *at;) {
        size_t n = strcspn(at, ".[");
        buf_printf(&head, "{\"%.*s\":%s", (int)n, at, at[n] == '[' ? "[" : "");
        buf_printf(&tail, "%s}", at[n] == '[' ? "]" : "");
        at += n + strspn(at + n, "[].");
    }
    _cleanup_buf_ struct buf text = {0};
    buf_printf(&text, "%s%s", head.data, value);
    /* "]}" was added for each list in the order of the path: the inner ones close first */
    for (size_t end = tail.n; end > 0;) {
        size_t begin = end - 1;
        begin -= begin > 0 && tail.data[begin - 1] == ']';
        buf_add(&text, tail.data + begin, end - begin);
        end = begin;
    }
    return parse(text.data);
}

static uint32_t warnings(const struct kind *k, struct json *object, const struct json *old)
{
    struct admission x = {.arena = a, .object = object, .old = old};
    field_errors_init(&x.errors, a);
    admission_unused(&x, k);
    return x.warnings_n;
}

/* Values that a field may have: one that differs from its default, all words of a list of words. The i-th as JSON text; NULL: no more. */
static const char *sample(const struct schema_field *f, uint32_t i)
{
    const struct schema *s = f->type;
    if (s->form == SCHEMA_STRING && f->values) {
        for (uint32_t n = 0; f->values[n]; n++)
            if (n == i)
                return arena_printf(a, "\"%s\"", f->values[n]);
        return NULL;
    }
    if (i > 0)
        return NULL;
    if (s->form == SCHEMA_INT32 || s->form == SCHEMA_INT64)
        return "7";
    if (s->form == SCHEMA_BOOL)
        return f->default_json && text_equal(f->default_json, "true") ? "false" : "true";
    if (s->form == SCHEMA_LIST)
        return s->item->form == SCHEMA_STRING ? "[\"x\"]" : "[{\"x\":\"y\"}]";
    return s->form == SCHEMA_MAP || s->form == SCHEMA_OBJECT ? "{\"x\":\"y\"}" : "\"3\"";
}

static int fields_n; /* that were looked at */

static void field_check(const struct kind *k, const struct schema_field *f, const char *path)
{
    bool silent = does_work(k, path);
    uint32_t told_n = 0;
    const char *value;
    for (uint32_t i = 0; (value = sample(f, i)); i++)
        told_n += warnings(k, object_with(path, value), NULL);
    if (silent ? told_n > 0 : told_n == 0)
        fail_msg("%s.%s %s: %s", k->plural, k->group, path, silent ? "works, and a Warning says that it does not" : "neither works nor warns");
    fields_n++;
}

static void walk(const struct kind *k, const struct schema *s, const char *path)
{
    for (uint32_t i = 0; i < s->fields_n; i++) {
        const struct schema_field *f = &s->fields[i];
        const char *at = arena_printf(a, "%s%s%s", path, *path ? "." : "", f->name);
        bool list = f->type->form == SCHEMA_LIST && f->type->item->form == SCHEMA_OBJECT;
        const struct schema *below = list ? f->type->item : f->type;
        if (!*path && !text_equal(at, "spec"))
            continue;
        if (below->form == SCHEMA_OBJECT && below->fields_n && !does_work(k, at))
            walk(k, below, list ? arena_printf(a, "%s[]", at) : at);
        else
            field_check(k, f, at);
    }
}

static void test_every_field_works_or_warns(void **state)
{
    (void)state;
    static const char *const groups[] = {KUEUE, VOLCANO, VCJOB, COSCHEDULING, KAI, NATIVE, "bus.volcano.sh", "flow.volcano.sh",
                                         "topology.volcano.sh", "nodeinfo.volcano.sh", JOBSET, KUBEFLOW, NULL};
    struct kind_table *kinds = kind_table_new();
    uint32_t kinds_n = 0;
    fields_n = 0;
    for (uint32_t at = 0; at < kind_count(kinds); at++) {
        const struct kind *k = kind_at(kinds, at);
        bool ours = false;
        for (size_t i = 0; groups[i]; i++)
            ours = ours || text_equal(groups[i], k->group);
        if (!ours || does_work(k, ""))
            continue;
        kinds_n++;
        if (warnings(k, parse("{\"spec\":{}}"), NULL) == 0) /* else the kind as a whole does nothing, and that is said */
            walk(k, k->versions[k->storage].schema, "");
    }
    kind_table_free(kinds);
    assert_in_range(kinds_n, 20, 40);
    assert_in_range(fields_n, 80, 1000);
}

/* Everything that is told of, written beside the field that Kubernetes gives by itself. */
static void test_defaults_are_silent(void **state)
{
    (void)state;
    static const struct {
        const char *group, *plural;
    } silent[] = {{KUEUE, "clusterqueues"}, {KUEUE, "cohorts"}, {KUEUE, "localqueues"}, {KUEUE, "resourceflavors"}, {KUEUE, "workloads"},
                  {VOLCANO, "queues"}, {VOLCANO, "podgroups"}, {VCJOB, "jobs"}, {COSCHEDULING, "podgroups"}, {KAI, "podgroups"}, {NATIVE, "podgroups"}};
    struct kind_table *kinds = kind_table_new();
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
        const struct kind *k = kind_find(kinds, silent[i].group, silent[i].plural);
        struct json *object = parse("{\"spec\":{\"preemption\":{\"borrowWithinCohort\":{}},\"flavorFungibility\":{},\"guarantee\":{}}}");
        schema_default(a, k->versions[k->storage].schema, object);
        if (warnings(k, object, NULL))
            fail_msg("%s.%s", k->plural, k->group);
    }
    kind_table_free(kinds);
}

struct mark {
    const char *group, *plural, *map, *key, *value;
    bool in_template, told;
};

static struct json *marked(const struct mark *m)
{
    return parse(arena_printf(a, "{\"spec\":{%s\"metadata\":{\"%s\":{\"%s\":\"%s\"}}%s}", m->in_template ? "\"template\":{" : "},",
                              m->map, m->key, m->value, m->in_template ? "}}" : ""));
}

static void test_labels_and_annotations(void **state)
{
    (void)state;
    static const struct mark cases[] = {
        {"batch", "jobs", "annotations", KUEUE "/elastic-job", "true", false, true},
        {"batch", "jobs", "annotations", KUEUE "/elastic-job", "false", false, false},
        {"batch", "jobs", "annotations", KUEUE "/job-min-parallelism", "2", false, false},
        {KUEUE, "workloads", "annotations", KUEUE "/elastic-job", "true", false, true},
        {KUEUE, "workloads", "annotations", KUEUE "/workload-slice-replacement-for", "ns/w", false, true},
        {KUEUE, "workloads", "annotations", KUEUE "/allowed-resource-flavor", "spot", false, true},
        {KUEUE, "workloads", "annotations", KUEUE "/priority-boost", "5", false, true},
        {KUEUE, "workloads", "annotations", KUEUE "/priority-boost", "0", false, false},
        {KUEUE, "workloads", "annotations", KUEUE "/admission-gated-by", "example.com/gate", false, false},
        {"batch", "jobs", "labels", KUEUE "/prebuilt-workload-name", "w", false, false},
        {"batch", "jobs", "labels", KUEUE "/max-exec-time-seconds", "9", false, false},
        {"batch", "jobs", "annotations", KUEUE "/podset-required-topology", "rack", true, false},
        {"batch", "jobs", "annotations", KUEUE "/podset-preferred-topology", "rack", true, false},
        {"batch", "jobs", "annotations", KUEUE "/podset-unconstrained-topology", "true", true, false},
        {"batch", "jobs", "annotations", KUEUE "/podset-slice-required-topology", "rack", true, false},
        {"batch", "jobs", "annotations", KUEUE "/podset-slice-size", "2", true, false},
        {"batch", "jobs", "annotations", KUEUE "/podset-group-name", "g", true, false},
        {"apps", "deployments", "labels", KUEUE "/queue-name", "q", false, false},
        {"", "pods", "annotations", KUEUE "/pod-group-fast-admission", "true", false, false},
        {"", "pods", "annotations", KUEUE "/podset-required-topology", "rack", false, false},
        {"", "pods", "annotations", KUEUE "/podset-preferred-topology", "rack", false, false},
        {"", "pods", "annotations", KUEUE "/podset-unconstrained-topology", "true", false, false},
        {"", "pods", "annotations", KUEUE "/podset-slice-required-topology", "rack", false, false},
        {"", "pods", "annotations", KUEUE "/podset-slice-size", "2", false, false},
        {"", "pods", "annotations", KUEUE "/podset-group-name", "g", false, false},
        {VCJOB, "jobs", "annotations", "volcano.sh/preemptable", "true", false, false},
        {VCJOB, "jobs", "annotations", "volcano.sh/preemptable", "false", false, false},
        {VCJOB, "jobs", "annotations", "sla-waiting-time", "1h30m", false, false},
        {VCJOB, "jobs", "annotations", "sla-waiting-time", "soon", false, true},
        {VCJOB, "jobs", "annotations", "sla-waiting-time", "0s", false, true},
        {VOLCANO, "podgroups", "annotations", "sla-waiting-time", "-1h", false, true},
        {"batch", "jobs", "annotations", "sla-waiting-time", "1h", false, true},
        {VCJOB, "jobs", "annotations", "volcano.sh/cooldown-time", "600s", false, true},
        {VCJOB, "jobs", "annotations", "volcano.sh/revocable-zone", "rz1", false, true},
        {VCJOB, "jobs", "annotations", "volcano.sh/jdb-min-available", "50%", false, true},
        {VCJOB, "jobs", "annotations", "volcano.sh/jdb-max-unavailable", "50%", false, true},
        {"", "pods", "annotations", "volcano.sh/jdb-min-available", "2", false, true},
        {"", "pods", "annotations", "volcano.sh/jdb-max-unavailable", "50%", false, true},
        {VOLCANO, "queues", "annotations", "volcano.sh/hierarchy", "root/sci", false, true},
        {VOLCANO, "queues", "annotations", "volcano.sh/hierarchy-weights", "1/2", false, true},
    };
    struct kind_table *kinds = kind_table_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct mark *m = &cases[i];
        const struct kind *k = kind_find(kinds, m->group, m->plural);
        if (warnings(k, marked(m), NULL) != m->told)
            fail_msg("%s: %s of %s", m->key, m->value, m->plural);
        /* One that comes later is told of as well, the same spec or not; one that stays is not. */
        if (!m->in_template)
            assert_int_equal(warnings(k, marked(m), parse("{\"spec\":{}}")), m->told);
        assert_int_equal(warnings(k, marked(m), marked(m)), 0);
    }
    kind_table_free(kinds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_field_works_or_warns, setup, teardown),
        cmocka_unit_test_setup_teardown(test_defaults_are_silent, setup, teardown),
        cmocka_unit_test_setup_teardown(test_labels_and_annotations, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
