/* Which PodGroup of KAI's a pod gets: whose object says it, how many start together, subgroups, queue and class. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../decoder_world.h"
#include "base/limits.h"
#include "codec/groups/kai_grouping.h"

#define OWNED(version, kind, name) "\"ownerReferences\":[{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\",\"name\":\"" name "\",\"controller\":true}]"
#define POD(labels, owner) "{\"metadata\":{\"name\":\"p\",\"uid\":\"pu\",\"labels\":{" labels "}," owner "}}"

static const char *owner_more = ""; /* of its metadata */

static struct kai_grouping of(struct world *w, const char *pod_text, const char *owner_spec)
{
    struct kai_grouping g;
    enum kai_owner_id kind = KAI_OWNERS_N;
    const char *name = "";
    const struct json *pod = tree(w, pod_text);
    bool owned = kai_owner_of(pod, &kind, &name);
    assert_int_equal(owned, owner_spec != NULL);
    const char *object = "{\"metadata\":{\"name\":\"%s\",\"uid\":\"ou\"%s},\"spec\":%s}";
    const struct json *owner = owned ? tree(w, arena_printf(w->arena, object, name, owner_more, owner_spec)) : NULL;
    kai_grouping_make(w->arena, pod, kind, owner, &g);
    return g;
}

static void a_pod_alone(void **state)
{
    struct world *w = *state;
    struct kai_grouping g = of(w, POD("\"kai.scheduler/queue\":\"team\",\"kai.scheduler/preemptibility\":\"non-preemptible\"", OWNED("apps/v1", "StatefulSet", "j")), NULL);
    assert_string_equal(g.name, "pg-p-pu");
    assert_int_equal(g.min_member, 1);
    assert_string_equal(g.queue, "team");
    assert_string_equal(g.class_name, "train");
    assert_string_equal(g.preemptibility, "non-preemptible");
    assert_string_equal(json_get_text(g.owner, "kind", ""), "Pod");
    g = of(w, "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"kai.scheduler/topology\":\"t\",\"kai.scheduler/topology-required-placement\":\"rack\"}}}",
           NULL);
    assert_string_equal(g.topology, "t");
    assert_string_equal(g.required_level, "rack");
    assert_string_equal(g.preferred_level, "");
    assert_string_equal(g.staleness, "");
    g = of(w, "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"kai.scheduler/staleness-grace-period\":\"90s\"}}}", NULL);
    assert_string_equal(g.staleness, "90s");
    assert_string_equal(g.delay, "");
    g = of(w, "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"kai.scheduler/preemption-delay\":\"5m\"}}}", NULL);
    assert_string_equal(g.delay, "5m");
    g = of(w, "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"kai.scheduler/staleness-grace-period\":\"soon\"}}}", NULL);
    assert_string_equal(g.staleness, "");
    g = of(w, POD("\"project\":\"p1\",\"kai.scheduler/preemptibility\":\"often\"", OWNED("apps/v1", "ReplicaSet", "r")), NULL);
    assert_string_equal(g.queue, "p1");
    assert_string_equal(g.class_name, "inference");
    assert_string_equal(g.preemptibility, "");
    g = of(w, "{\"metadata\":{\"name\":\"p\",\"uid\":\"pu\"},\"spec\":{\"priorityClassName\":\"build\"}}", NULL);
    assert_string_equal(g.class_name, "build");
    assert_string_equal(g.queue, "");
    of(w, POD("", OWNED("else.org/v1", "PyTorchJob", "j")), NULL);
}

#define OF_JOB POD("\"jobset.sigs.k8s.io/jobset-name\":\"x\"", OWNED("batch/v1", "Job", "j"))
static void jobs_of_batch(void **state)
{
    static const struct {
        const char *annotation;
        int32_t least;
    } cases[] = {{"4", 4}, {"1", 1}, {"0", 1}, {"-3", 1}, {"many", 1}, {"", 1}, {"99999999999", LIMIT_GANG_MEMBERS}};
    struct world *w = *state;
    struct kai_grouping g = of(w, OF_JOB, "{\"parallelism\":4}");
    assert_string_equal(g.name, "pg-j-ou");
    assert_int_equal(g.min_member, 1);
    assert_int_equal(g.parts_n, 0);
    assert_string_equal(json_get_text(g.owner, "kind", ""), "Job");
    assert_string_equal(json_get_text(g.owner, "apiVersion", ""), "batch/v1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        owner_more = arena_printf(w->arena, ",\"annotations\":{\"kai.scheduler/batch-min-member\":\"%s\"}", cases[i].annotation);
        assert_int_equal(of(w, OF_JOB, "{\"parallelism\":4}").min_member, cases[i].least);
    }
    owner_more = ",\"annotations\":{\"kai.scheduler/staleness-grace-period\":\"-1s\"}";
    assert_string_equal(of(w, OF_JOB, "{}").staleness, "-1s");
    owner_more = "";
}

#define WORKER POD("\"training.kubeflow.org/replica-type\":\"worker\"", OWNED("kubeflow.org/v1", "PyTorchJob", "ddp"))
static void jobs_of_kubeflow(void **state)
{
    struct world *w = *state;
    struct kai_grouping g = of(w, WORKER, "{\"pytorchReplicaSpecs\":{\"Master\":{},\"Worker\":{\"replicas\":3}}}");
    assert_string_equal(g.name, "pg-ddp-ou");
    assert_int_equal(g.min_member, 4);
    assert_int_equal(g.parts_n, 2);
    assert_string_equal(g.parts[0].name, "master");
    assert_int_equal(g.parts[1].min_member, 3);
    assert_string_equal(g.part, "worker");
    assert_string_equal(json_get_text(g.owner, "kind", ""), "PyTorchJob");
    g = of(w, WORKER, "{\"elasticPolicy\":{\"minReplicas\":2},\"pytorchReplicaSpecs\":{\"Worker\":{\"replicas\":8}}}");
    assert_int_equal(g.min_member, 2);
    assert_int_equal(g.parts_n, 0);
    assert_string_equal(g.part, "");
    g = of(w, WORKER, "{\"elasticPolicy\":{\"minReplicas\":2},\"runPolicy\":{\"schedulingPolicy\":{\"minAvailable\":5}},"
                      "\"pytorchReplicaSpecs\":{\"Master\":{},\"Worker\":{\"replicas\":8}}}");
    assert_int_equal(g.min_member, 5);
    assert_int_equal(g.parts[1].min_member, 4);
    g = of(w, POD("", OWNED("kubeflow.org/v1", "TFJob", "tf")), "{\"tfReplicaSpecs\":{\"PS\":{\"replicas\":2},\"Worker\":{\"replicas\":4}}}");
    assert_int_equal(g.min_member, 6);
    const char *mpi = "{\"mpiReplicaSpecs\":{\"Launcher\":{\"replicas\":1},\"Worker\":{\"replicas\":2}}}";
    assert_int_equal(of(w, POD("", OWNED("kubeflow.org/v2beta1", "MPIJob", "m")), mpi).min_member, 3);
    g = of(w, POD("\"training.kubeflow.org/operator-name\":\"mpi-operator\",\"training.kubeflow.org/job-name\":\"m\"", OWNED("batch/v1", "Job", "m-launcher")), mpi);
    assert_string_equal(g.name, "pg-m-ou");
    g = of(w, POD("", OWNED("kubeflow.org/v2beta1", "MPIJob", "m")), "{\"launcherCreationPolicy\":\"WaitForWorkersReady\",\"mpiReplicaSpecs\":{\"Launcher\":{},\"Worker\":{\"replicas\":2}}}");
    assert_int_equal(g.min_member, 2);
}

#define OF_SET POD("\"jobset.sigs.k8s.io/jobset-name\":\"s\",\"jobset.sigs.k8s.io/replicatedjob-name\":\"workers\",\"jobset.sigs.k8s.io/job-index\":\"1\"", OWNED("batch/v1", "Job", "s-workers-1"))
static void job_sets(void **state)
{
    struct world *w = *state;
    const char *jobs = "\"replicatedJobs\":[{\"name\":\"head\"},{\"name\":\"workers\",\"replicas\":2,\"template\":{\"spec\":{\"parallelism\":4,\"completions\":3}}}]";
    struct kai_grouping g = of(w, OF_SET, arena_printf(w->arena, "{%s}", jobs));
    static const struct {
        const char *name, *parent;
        int32_t pods, below;
    } parts[] = {{"head", "", 0, 1}, {"head-replica-0", "head", 1, 0}, {"workers", "", 0, 2}, {"workers-replica-0", "workers", 3, 0},
                 {"workers-replica-1", "workers", 3, 0}};
    assert_string_equal(g.name, "pg-s-ou");
    assert_string_equal(g.part, "workers-replica-1");
    assert_int_equal(g.min_sub_group, 2);
    assert_int_equal(g.parts_n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(g.parts[i].name, parts[i].name);
        assert_string_equal(g.parts[i].parent ? g.parts[i].parent : "", parts[i].parent);
        assert_int_equal(g.parts[i].min_member, parts[i].pods);
        assert_int_equal(g.parts[i].min_sub_group, parts[i].below);
    }
    g = of(w, OF_SET, arena_printf(w->arena, "{%s,\"startupPolicy\":{\"startupPolicyOrder\":\"InOrder\"}}", jobs));
    assert_int_equal(g.min_sub_group, 1);
    owner_more = ",\"annotations\":{\"kai.scheduler/batch-min-member\":\"9\"}";
    assert_int_equal(of(w, OF_SET, arena_printf(w->arena, "{%s}", jobs)).min_sub_group, 2);
    owner_more = ",\"annotations\":{\"kai.scheduler/batch-min-member\":\"1\"}";
    assert_int_equal(of(w, OF_SET, arena_printf(w->arena, "{%s}", jobs)).min_sub_group, 1);
    owner_more = "";
    jobs = "\"replicatedJobs\":[{\"name\":\"workers\",\"template\":{\"metadata\":{\"annotations\":{\"kai.scheduler/batch-min-member\":\"2\","
           "\"kai.scheduler/topology\":\"t\",\"kai.scheduler/topology-required-placement\":\"rack\"}},\"spec\":{\"parallelism\":4}}}]";
    g = of(w, OF_SET, arena_printf(w->arena, "{%s}", jobs));
    assert_string_equal(g.part, ""); /* it has one job only */
    assert_int_equal(g.parts[1].min_member, 2);
    const char *topology, *required, *preferred;
    assert_true(kai_grouping_topology(g.parts[1].by, &topology, &required, &preferred));
    assert_string_equal(topology, "t");
    assert_string_equal(required, "rack");
    g = of(w, OF_SET, "{\"replicatedJobs\":[{\"name\":\"workers\",\"replicas\":300}]}");
    assert_int_equal(g.parts_n, 0);
    assert_int_equal(g.min_member, 300);
    g = of(w, OF_SET, "{\"startupPolicy\":{\"startupPolicyOrder\":\"InOrder\"},\"replicatedJobs\":[{\"name\":\"workers\",\"replicas\":300}]}");
    assert_string_equal(g.name, "pg-s-ou-workers");
}

#define LWS_POD(index) POD("\"leaderworkerset.sigs.k8s.io/name\":\"l\",\"leaderworkerset.sigs.k8s.io/group-index\":\"2\",\"leaderworkerset.sigs.k8s.io/worker-index\":\"" index "\"", OWNED("apps/v1", "StatefulSet", "l"))
static void leader_worker_sets(void **state)
{
    struct world *w = *state;
    struct kai_grouping g = of(w, LWS_POD("3"), "{\"leaderWorkerTemplate\":{\"size\":4}}");
    assert_string_equal(g.name, "pg-l-ou-group-2");
    assert_int_equal(g.min_member, 4);
    assert_string_equal(g.part, "workers");
    assert_int_equal(g.parts[1].min_member, 3);
    g = of(w, LWS_POD("0"), "{\"startupPolicy\":\"LeaderReady\",\"leaderWorkerTemplate\":{\"size\":4}}");
    assert_int_equal(g.min_member, 1);
    assert_int_equal(g.parts_n, 1);
    assert_string_equal(g.part, "leader");
    assert_int_equal(of(w, LWS_POD("1"), "{\"startupPolicy\":\"LeaderReady\",\"leaderWorkerTemplate\":{\"size\":4}}").min_member, 4);
}

static void ray_clusters(void **state)
{
    struct world *w = *state;
    struct kai_grouping g = of(w, POD("\"ray.io/group\":\"small\"", OWNED("ray.io/v1", "RayCluster", "r")),
                               "{\"workerGroupSpecs\":[{\"groupName\":\"small\",\"replicas\":4,\"minReplicas\":2,\"numOfHosts\":2},{\"replicas\":1},"
                               "{\"groupName\":\"off\",\"replicas\":9,\"suspended\":true}]}");
    assert_int_equal(g.min_member, 6);
    assert_int_equal(g.parts_n, 3);
    assert_string_equal(g.parts[2].name, "worker-group-1");
    assert_string_equal(g.part, "small");
}

static void bears_what_is_hostile(void **state)
{
    static const char *const pods[] = {WORKER, OF_SET, LWS_POD("0"), POD("", OWNED("ray.io/v1", "RayCluster", "r")), POD("", OWNED("kubeflow.org/v1", "JAXJob", "r"))};
    static const char *const specs[] = {
        "null", "7", "[]", "{\"pytorchReplicaSpecs\":[],\"replicatedJobs\":{},\"leaderWorkerTemplate\":7,\"workerGroupSpecs\":\"x\"}",
        ("{\"pytorchReplicaSpecs\":{\"Master\":7,\"Worker\":{\"replicas\":99999999999}},\"replicatedJobs\":[null,7,{\"name\":\"workers\",\"replicas\":-4}],"
        "\"leaderWorkerTemplate\":{\"size\":1e99},\"workerGroupSpecs\":[null,{\"replicas\":2147483647,\"numOfHosts\":2147483647}]}")};
    struct world *w = *state;
    for (size_t i = 0; i < sizeof pods / sizeof *pods; i++)
        for (size_t k = 0; k < sizeof specs / sizeof *specs; k++) {
            struct kai_grouping g = of(w, pods[i], specs[k]);
            assert_in_range(g.min_member, 1, LIMIT_GANG_MEMBERS);
        }
    of(w, "{}", NULL);
    of(w, "{\"metadata\":{\"labels\":[],\"ownerReferences\":{}}}", NULL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_open, world_close)
    const struct CMUnitTest tests[] = {TEST(a_pod_alone),        TEST(jobs_of_batch), TEST(jobs_of_kubeflow), TEST(job_sets),
                                       TEST(leader_worker_sets), TEST(ray_clusters),     TEST(bears_what_is_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
