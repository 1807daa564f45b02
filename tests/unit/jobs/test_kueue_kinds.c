/* What the kinds of jobs become as Workloads, written out; started, and as they were before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../tree.h"
#include "jobs/kueue/kueue_kind.h"
#include "jobs/kueue/kueue_served.h"
#include "wire/patch.h"

#define TEMPLATE(image) "\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"" image "\"}]}}"
#define SET(name, count, image) "{\"name\":\"" name "\",\"count\":" count "," TEMPLATE(image) "}"
/* By which labels its pods are told apart: of a role of Kubeflow's, of a JobSet's jobs. */
#define COUNTED(name, count, image, how) "{\"name\":\"" name "\",\"count\":" count "," TEMPLATE(image) ",\"topologyRequest\":{" how "}}"
#define ROLE(name, count, image) COUNTED(name, count, image, "\"podIndexLabel\":\"training.kubeflow.org/replica-index\"")
#define JOBS(name, count, image, jobs_n) \
    COUNTED(name, count, image, "\"podIndexLabel\":\"batch.kubernetes.io/job-completion-index\",\"subGroupIndexLabel\":" \
            "\"jobset.sigs.k8s.io/job-index\",\"subGroupCount\":" jobs_n)

static const struct {
    enum queued_kind_id kind;
    const struct kueue_kind *calls;
    const char *spec, *pod_sets, *priority_class;
} cases[] = {
    {QUEUED_PYTORCHJOB, &kueue_kubeflow_kind,
     "{\"runPolicy\":{\"schedulingPolicy\":{\"priorityClass\":\"high\"}},\"pytorchReplicaSpecs\":{\"Worker\":{\"replicas\":3," TEMPLATE("w")
     "},\"Master\":{" TEMPLATE("m") "}}}",
     "[" ROLE("master", "1", "m") "," ROLE("worker", "3", "w") "]", "high"},
    {QUEUED_PYTORCHJOB, &kueue_kubeflow_kind, "{\"pytorchReplicaSpecs\":{\"Worker\":{\"replicas\":0," TEMPLATE("w") "}}}",
     "[" ROLE("worker", "0", "w") "]", ""},
    {QUEUED_TFJOB, &kueue_kubeflow_kind,
     "{\"tfReplicaSpecs\":{\"Evaluator\":{" TEMPLATE("e") "},\"Worker\":{\"replicas\":2," TEMPLATE("w") "},\"PS\":{" TEMPLATE("p")
     "},\"Master\":{" TEMPLATE("m") "},\"Chief\":{" TEMPLATE("c") "}}}",
     "[" ROLE("chief", "1", "c") "," ROLE("master", "1", "m") "," ROLE("ps", "1", "p") "," ROLE("worker", "2", "w") ","
     ROLE("evaluator", "1", "e") "]", ""},
    {QUEUED_XGBOOSTJOB, &kueue_kubeflow_kind, "{\"xgbReplicaSpecs\":{\"Worker\":{" TEMPLATE("w") "},\"Master\":{" TEMPLATE("m") "}}}",
     "[" ROLE("master", "1", "m") "," ROLE("worker", "1", "w") "]", ""},
    {QUEUED_JAXJOB, &kueue_kubeflow_kind, "{\"jaxReplicaSpecs\":{\"Worker\":{\"replicas\":4," TEMPLATE("w") "}}}",
     "[" ROLE("worker", "4", "w") "]", ""},
    {QUEUED_PADDLEJOB, &kueue_kubeflow_kind, "{\"paddleReplicaSpecs\":{\"Worker\":{\"replicas\":2," TEMPLATE("w") "}}}",
     "[" ROLE("worker", "2", "w") "]", ""},
    {QUEUED_MPIJOB, &kueue_kubeflow_kind,
     "{\"mpiReplicaSpecs\":{\"Worker\":{\"replicas\":2," TEMPLATE("w") "},\"Launcher\":{\"replicas\":1," TEMPLATE("l") "}}}",
     "[" ROLE("launcher", "1", "l") "," ROLE("worker", "2", "w") "]", ""},
    {QUEUED_JOBSET, &kueue_jobset_kind,
     "{\"replicatedJobs\":[{\"name\":\"b\",\"replicas\":2,\"template\":{\"spec\":{\"parallelism\":3,\"completions\":4," TEMPLATE("x")
     "}}},{\"name\":\"a\",\"replicas\":1,\"template\":{\"spec\":{\"parallelism\":5,\"completions\":2," TEMPLATE("y")
     "}}},{\"name\":\"none\",\"replicas\":0,\"template\":{\"spec\":{" TEMPLATE("z") "}}}]}",
     "[" JOBS("b", "6", "x", "2") "," JOBS("a", "2", "y", "1") "," JOBS("none", "0", "z", "0") "]", NULL},
    {QUEUED_RAYCLUSTER, &kueue_raycluster_kind,
     "{\"headGroupSpec\":{" TEMPLATE("h") "},\"workerGroupSpecs\":[{\"groupName\":\"Big\",\"replicas\":2,\"numOfHosts\":4," TEMPLATE("b")
     "},{\"groupName\":\"small\"," TEMPLATE("s") "}]}",
     "[" SET("head", "1", "h") "," SET("big", "8", "b") "," SET("small", "1", "s") "]", NULL},
    {QUEUED_RAYJOB, &kueue_rayjob_kind,
     "{\"rayClusterSpec\":{\"headGroupSpec\":{" TEMPLATE("h") "},\"workerGroupSpecs\":[{\"groupName\":\"w\",\"replicas\":3," TEMPLATE("w")
     "}]},\"submitterPodTemplate\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"m\"}]}}}",
     "[" SET("head", "1", "h") "," SET("w", "3", "w") "," SET("submitter", "1", "m") "]", NULL},
    {QUEUED_RAYJOB, &kueue_rayjob_kind,
     "{\"submissionMode\":\"HTTPMode\",\"rayClusterSpec\":{\"headGroupSpec\":{" TEMPLATE("h") "}}}", "[" SET("head", "1", "h") "]", NULL},
    {QUEUED_RAYSERVICE, &kueue_rayservice_kind,
     "{\"rayClusterConfig\":{\"headGroupSpec\":{" TEMPLATE("h") "},\"workerGroupSpecs\":[{\"groupName\":\"w\",\"replicas\":2," TEMPLATE("w")
     "}]}}",
     "[" SET("head", "1", "h") "," SET("w", "2", "w") "]", NULL},
};

static struct json *job_of(size_t i)
{
    return parse(arena_printf(a, "{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\"},\"spec\":%s}", cases[i].spec));
}

static void test_pod_sets(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct queued_kind *k = &queued_kinds[cases[i].kind];
        const char *why = "";
        const struct json *is = cases[i].calls->pod_sets(NULL, a, k, job_of(i), &why);
        assert_non_null(is);
        assert_true(json_equal(is, parse(cases[i].pod_sets)));
        if (cases[i].priority_class)
            assert_string_equal(cases[i].calls->priority_class(k, job_of(i)), cases[i].priority_class);
        assert_null(cases[i].calls->pod_sets(NULL, a, k, parse("{\"spec\":{}}"), &why));
        assert_true(*why);
    }
}

/* The start of each pod set goes into its own template; undone, the job is what it was, but for suspend. */
static void test_started_and_stopped(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct queued_kind *k = &queued_kinds[cases[i].kind];
        struct json *before = job_of(i), *job = json_clone(a, before), *patch = json_new(a, JSON_OBJECT);
        struct json *workload = parse(arena_printf(a, "{\"spec\":{\"podSets\":%s}}", cases[i].pod_sets));
        const struct json *sets = json_path(workload, "spec", "podSets", NULL);
        struct kueue_start starts[8];
        uint32_t n = 0;
        bool status = false;
        struct err e = {0};
        JSON_EACH (set, sets)
            starts[n++] = (struct kueue_start){.pod_set = json_get_text(set, "name", ""), .workload = "wl", .cluster_queue = "cq",
                .local_queue = "lq", .node_labels = parse(arena_printf(a, "{\"set\":\"%s\"}", json_get_text(set, "name", ""))),
                .tolerations = parse("[{\"key\":\"gpu\",\"operator\":\"Exists\"}]")};
        assert_false(cases[i].calls->restore(a, k, job, workload, json_new(a, JSON_OBJECT), &status));
        assert_int_equal(cases[i].calls->start(a, k, job, starts, n, patch, &e), 0);
        patch_merge(a, &job, patch);
        const char *why;
        JSON_EACH (set, cases[i].calls->pod_sets(NULL, a, k, job, &why)) {
            const char *name = json_get_text(set, "name", "");
            const struct json *template = json_get(set, "template");
            assert_string_equal(json_text(json_path(template, "spec", "nodeSelector", "set", NULL), ""), name);
            assert_string_equal(object_label(template, KUEUE_PODSET_LABEL), name);
            assert_string_equal(object_annotation(template, KUEUE_WORKLOAD_ANNOTATION), "wl");
            assert_int_equal(json_path(template, "spec", "tolerations", NULL)->n, 1);
        }
        patch = json_new(a, JSON_OBJECT);
        assert_true(cases[i].calls->restore(a, k, job, workload, patch, &status));
        assert_false(status);
        patch_merge(a, &job, patch);
        JSON_EACH (set, cases[i].calls->pod_sets(NULL, a, k, job, &why)) { /* empty maps may stay */
            assert_null(json_path(set, "template", "metadata", "labels", KUEUE_PODSET_LABEL, NULL));
            assert_null(json_path(set, "template", "metadata", "annotations", KUEUE_WORKLOAD_ANNOTATION, NULL));
            assert_null(json_path(set, "template", "spec", "tolerations", NULL));
            assert_null(json_path(set, "template", "spec", "nodeSelector", NULL));
        }
        assert_false(cases[i].calls->restore(a, k, job, workload, json_new(a, JSON_OBJECT), &status));
    }
}

#define SPARK \
    "{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\"},\"spec\":{\"mode\":\"cluster\",\"nodeSelector\":{\"zone\":\"a\"},\"driver\":{" \
    "\"coreRequest\":\"500m\",\"memory\":\"512m\",\"labels\":{\"l\":\"d\"},\"template\":{\"metadata\":{\"labels\":{\"t\":\"d\"}}}}," \
    "\"executor\":{\"instances\":3,\"cores\":4,\"coreRequest\":\"2\",\"coreLimit\":\"4\",\"memory\":\"8Gi\",\"memoryLimit\":\"9gb\"," \
    "\"gpu\":{\"name\":\"nvidia.com/gpu\",\"quantity\":1},\"sidecars\":[{\"name\":\"log\",\"image\":\"i\"}]," \
    "\"tolerations\":[{\"key\":\"own\",\"operator\":\"Exists\"}],\"priorityClassName\":\"high\"}}}"

/* Of a role's members a template is made, and back again. */
static void test_spark_application(void **state)
{
    const struct queued_kind *k = &queued_kinds[QUEUED_SPARKAPPLICATION];
    const struct kueue_kind *calls = &kueue_sparkapplication_kind;
    const char *why = "", *message = "";
    bool status = false, well = false;
    struct err e = {0};
    (void)state;
    struct json *job = parse(SPARK), *sets = calls->pod_sets(NULL, a, k, job, &why);
    assert_true(json_equal(sets, parse("[{\"name\":\"driver\",\"count\":1,\"template\":{\"metadata\":{\"labels\":{\"t\":\"d\",\"l\":\"d\"}},"
        "\"spec\":{\"containers\":[{\"name\":\"spark-kubernetes-driver\",\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":\"512Mi\"}}}],"
        "\"nodeSelector\":{\"zone\":\"a\"}}}},{\"name\":\"executor\",\"count\":3,\"template\":{\"metadata\":{},\"spec\":{\"containers\":["
        "{\"name\":\"spark-kubernetes-executor\",\"resources\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"8Gi\"},\"limits\":{\"cpu\":\"4\","
        "\"memory\":\"9Gi\",\"nvidia.com/gpu\":\"1\"}}},{\"name\":\"log\",\"image\":\"i\"}],\"nodeSelector\":{\"zone\":\"a\"},"
        "\"tolerations\":[{\"key\":\"own\",\"operator\":\"Exists\"}],\"priorityClassName\":\"high\"}}}]")));
    struct json *workload = json_new(a, JSON_OBJECT), *patch = json_new(a, JSON_OBJECT);
    json_set(a, json_ensure_object(a, workload, "spec"), "podSets", sets);
    assert_false(calls->restore(a, k, job, workload, json_new(a, JSON_OBJECT), &status));
    struct kueue_start starts[2] = {{.pod_set = "driver", .workload = "wl", .cluster_queue = "cq", .local_queue = "lq"},
                                    {.pod_set = "executor", .workload = "wl", .cluster_queue = "cq", .local_queue = "lq"}};
    for (int i = 0; i < 2; i++) {
        starts[i].node_labels = parse("{\"gpu\":\"a100\"}");
        starts[i].tolerations = parse("[{\"key\":\"gpu\",\"operator\":\"Exists\"}]");
    }
    assert_int_equal(calls->start(a, k, job, starts, 2, patch, &e), 0);
    patch_merge(a, &job, patch);
    assert_null(json_path(job, "spec", "nodeSelector", NULL)); /* Spark takes one or the others */
    assert_true(json_equal(json_path(job, "spec", "driver", "nodeSelector", NULL), parse("{\"zone\":\"a\",\"gpu\":\"a100\"}")));
    assert_int_equal(json_path(job, "spec", "executor", "tolerations", NULL)->n, 2);
    assert_string_equal(json_text(json_path(job, "spec", "executor", "annotations", KUEUE_WORKLOAD_ANNOTATION, NULL), ""), "wl");
    assert_string_equal(json_text(json_path(job, "spec", "driver", "labels", "l", NULL), ""), "d");
    patch = json_new(a, JSON_OBJECT);
    assert_true(calls->restore(a, k, job, workload, patch, &status));
    patch_merge(a, &job, patch);
    assert_true(json_equal(json_path(job, "spec", "driver", "labels", NULL), parse("{\"l\":\"d\"}")));
    assert_int_equal(json_path(job, "spec", "executor", "tolerations", NULL)->n, 1);
    assert_true(json_equal(calls->pod_sets(NULL, a, k, job, &why), sets)); /* it asks for what it asked for */
    assert_false(calls->restore(a, k, job, workload, json_new(a, JSON_OBJECT), &status));
    assert_null(calls->pod_sets(NULL, a, k, parse("{\"spec\":{\"mode\":\"client\"}}"), &why));
    assert_non_null(strstr(why, "write cluster"));
    assert_null(calls->pod_sets(NULL, a, k, parse("{\"spec\":{\"dynamicAllocation\":{\"enabled\":true}}}"), &why));
    assert_non_null(strstr(why, "spec.executor.instances"));
    assert_false(calls->over_well(parse("{\"status\":{\"applicationState\":{\"state\":\"RUNNING\"}}}"), &well, &message));
    const char *failed = "{\"status\":{\"applicationState\":{\"state\":\"SUBMISSION_FAILED\",\"errorMessage\":\"no image\"}}}";
    assert_true(calls->over_well(parse(failed), &well, &message) && !well);
    assert_string_equal(message, "no image");
    assert_true(calls->over_well(parse("{\"status\":{\"applicationState\":{\"state\":\"COMPLETED\"}}}"), &well, &message) && well);
    assert_false(calls->all_ready(NULL, a, parse("{\"spec\":{\"executor\":{\"instances\":2}},\"status\":{\"applicationState\":{\"state\":"
                                                 "\"RUNNING\"},\"executorState\":{\"e1\":\"RUNNING\",\"e2\":\"PENDING\"}}}")));
    assert_true(calls->all_ready(NULL, a, parse("{\"spec\":{\"executor\":{\"instances\":2}},\"status\":{\"applicationState\":{\"state\":"
                                                "\"RUNNING\"},\"executorState\":{\"e1\":\"RUNNING\",\"e2\":\"COMPLETED\"}}}")));
}

/* A label of the role's template counts as one of its own: what contradicts it is told, and not written over it. */
static void test_a_label_of_sparks_template(void **state)
{
    (void)state;
    struct kueue_start s = {.pod_set = "driver", .workload = "w", .cluster_queue = "c", .local_queue = "l", .node_labels = parse("{}"),
                            .tolerations = parse("[]"), .labels = parse("{\"t\":\"other\"}")};
    struct err e = {0};
    int r = kueue_sparkapplication_kind.start(a, &queued_kinds[QUEUED_SPARKAPPLICATION], parse(SPARK), &s, 1, json_new(a, JSON_OBJECT), &e);
    assert_int_equal(r, -E_CONFLICT);
    assert_non_null(strstr(e.text, "driver"));
}

/* What KubeRay adds to what is written is counted. */
static void test_what_ray_adds(void **state)
{
    (void)state;
    const struct queued_kind *k = &queued_kinds[QUEUED_RAYJOB];
    const char *why;
    const struct json *job = parse("{\"metadata\":{\"annotations\":{\"ray.io/ft-enabled\":\"true\"}},\"spec\":{\"submissionMode\":\"SidecarMode\","
                                   "\"rayClusterSpec\":{\"enableInTreeAutoscaling\":true,\"headGroupSpec\":{\"template\":{\"spec\":{"
                                   "\"containers\":[{\"name\":\"h\",\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":\"1Gi\"}}}]}}}}}}");
    const struct json *sets = kueue_rayjob_kind.pod_sets(NULL, a, k, job, &why);
    assert_int_equal(sets->n, 1);
    assert_true(json_equal(json_path(json_first(sets), "template", "spec", "containers", NULL),
        parse("[{\"name\":\"h\",\"resources\":{\"requests\":{\"cpu\":\"200m\",\"memory\":\"1Gi\"}}},"
              "{\"name\":\"autoscaler\",\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":\"512Mi\"},\"limits\":{\"cpu\":\"500m\","
              "\"memory\":\"512Mi\"}}},{\"name\":\"ray-job-submitter\",\"resources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},"
              "\"requests\":{\"cpu\":\"500m\",\"memory\":\"200Mi\"}}}]")));
    job = parse("{\"spec\":{\"rayClusterSpec\":{\"headGroupSpec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"h\",\"image\":\"ray\"}]}}}}}}");
    const struct json *submitter = json_item(kueue_rayjob_kind.pod_sets(NULL, a, k, job, &why), 1);
    assert_string_equal(json_text(json_path(submitter, "template", "spec", "restartPolicy", NULL), ""), "Never");
    assert_string_equal(json_get_text(json_first(json_path(submitter, "template", "spec", "containers", NULL)), "image", ""), "ray");
    assert_string_equal(kueue_rayjob_kind.later(NULL, a, k, job), "submitter");
}

static void test_what_ray_tells(void **state)
{
    (void)state;
    bool well;
    const char *message;
    assert_false(kueue_rayjob_kind.over_well(parse("{\"status\":{\"jobDeploymentStatus\":\"Running\"}}"), &well, &message));
    const char *done = "{\"status\":{\"jobDeploymentStatus\":\"Complete\",\"jobStatus\":\"SUCCEEDED\",\"message\":\"done\"}}";
    assert_true(kueue_rayjob_kind.over_well(parse(done), &well, &message) && well);
    assert_string_equal(message, "done");
    assert_true(kueue_rayjob_kind.over_well(parse("{\"status\":{\"jobDeploymentStatus\":\"Failed\"}}"), &well, &message) && !well);
    assert_false(kueue_rayjob_kind.active(parse("{}")));
    assert_false(kueue_rayjob_kind.active(parse("{\"status\":{\"jobDeploymentStatus\":\"Suspended\"}}")));
    assert_true(kueue_rayjob_kind.active(parse("{\"status\":{\"jobDeploymentStatus\":\"Running\"}}")));
    const char *spoilt = "{\"status\":{\"jobDeploymentStatus\":\"ValidationFailed\"%s}}", *running = ",\"rayClusterName\":\"c\"";
    assert_true(kueue_rayjob_kind.is_invalid(parse(arena_printf(a, spoilt, ""))));
    assert_false(kueue_rayjob_kind.active(parse(arena_printf(a, spoilt, ""))));
    assert_false(kueue_rayjob_kind.is_invalid(parse(arena_printf(a, spoilt, running))));
    assert_true(kueue_rayjob_kind.active(parse(arena_printf(a, spoilt, running))));
    assert_true(kueue_rayjob_kind.is_skipped(parse("{\"spec\":{\"clusterSelector\":{\"ray.io/cluster\":\"x\"}}}")));
    assert_true(kueue_raycluster_kind.active(parse("{\"status\":{\"state\":\"ready\"}}")));
    assert_true(kueue_raycluster_kind.all_ready(NULL, a, parse("{\"status\":{\"state\":\"ready\"}}")));
}

static void test_a_selector_that_contradicts(void **state)
{
    (void)state;
    const struct json *job = parse("{\"spec\":{\"mpiReplicaSpecs\":{\"Worker\":{\"template\":{\"spec\":{\"nodeSelector\":{\"x\":\"1\"}}}}}}}");
    struct kueue_start s = {.pod_set = "worker", .workload = "w", .cluster_queue = "c", .local_queue = "l", .node_labels = parse("{\"x\":\"2\"}")};
    struct err e = {0};
    int r = kueue_kubeflow_kind.start(a, &queued_kinds[QUEUED_MPIJOB], job, &s, 1, json_new(a, JSON_OBJECT), &e);
    assert_int_equal(r, -E_CONFLICT);
    assert_non_null(strstr(e.text, "pod set worker: nodeSelector x=1 contradicts 2"));
}

/* Of an MPIJob's worker's template, started; NULL: it has no such annotation. */
static const char *index_offset(const char *spec)
{
    struct json *patch = json_new(a, JSON_OBJECT);
    struct err e = {0};
    const struct json *job = parse(arena_printf(a, "{\"spec\":{%s}}", spec));
    assert_int_equal(kueue_kubeflow_kind.start(a, &queued_kinds[QUEUED_MPIJOB], job, NULL, 0, patch, &e), 0);
    return json_text(json_path(patch, "spec", "mpiReplicaSpecs", "Worker", "template", "metadata", "annotations",
                               "kueue.x-k8s.io/pod-index-offset", NULL), NULL);
}

static void test_a_launcher_that_works_is_counted_first(void **state)
{
    (void)state;
    static const char replicas[] = "\"mpiReplicaSpecs\":{\"Launcher\":{\"template\":{\"metadata\":{\"annotations\":{%s}}}},\"Worker\":{}}";
    const char *both = arena_printf(a, replicas, ""), *grouped = arena_printf(a, replicas, "\"kueue.x-k8s.io/podset-group-name\":\"g\"");
    assert_string_equal(index_offset(arena_printf(a, "\"runLauncherAsWorker\":true,%s", both)), "1");
    assert_null(index_offset(both));
    assert_null(index_offset(arena_printf(a, "\"runLauncherAsWorker\":true,%s", grouped)));
    assert_null(index_offset("\"runLauncherAsWorker\":true,\"mpiReplicaSpecs\":{\"Launcher\":{}}"));
}

static void test_topology_requests(void **state)
{
    (void)state;
    const char *why;
    const struct json *job = parse("{\"spec\":{\"replicatedJobs\":[{\"name\":\"r\",\"replicas\":3,\"template\":{\"spec\":{\"template\":{"
                                   "\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/podset-required-topology\":\"rack\"}}}}}}]}}");
    const struct json *set = json_first(kueue_jobset_kind.pod_sets(NULL, a, &queued_kinds[QUEUED_JOBSET], job, &why));
    assert_true(json_equal(json_get(set, "topologyRequest"),
                           parse("{\"required\":\"rack\",\"podIndexLabel\":\"batch.kubernetes.io/job-completion-index\","
                                 "\"subGroupIndexLabel\":\"jobset.sigs.k8s.io/job-index\",\"subGroupCount\":3}")));
    job = parse("{\"spec\":{\"replicatedJobs\":[{\"name\":\"r\",\"replicas\":0,\"template\":{\"spec\":{\"template\":{}}}}]}}");
    set = json_first(kueue_jobset_kind.pod_sets(NULL, a, &queued_kinds[QUEUED_JOBSET], job, &why));
    assert_true(json_equal(json_get(set, "topologyRequest"),
                           parse("{\"podIndexLabel\":\"batch.kubernetes.io/job-completion-index\","
                                 "\"subGroupIndexLabel\":\"jobset.sigs.k8s.io/job-index\",\"subGroupCount\":0}")));
    job = parse("{\"spec\":{\"jaxReplicaSpecs\":{\"Worker\":{\"template\":{\"metadata\":{\"annotations\":{"
                "\"kueue.x-k8s.io/podset-preferred-topology\":\"rack\"}}}}}}}");
    set = json_first(kueue_kubeflow_kind.pod_sets(NULL, a, &queued_kinds[QUEUED_JAXJOB], job, &why));
    assert_true(json_equal(json_get(set, "topologyRequest"),
                           parse("{\"preferred\":\"rack\",\"podIndexLabel\":\"training.kubeflow.org/replica-index\"}")));
}

static void test_what_a_jobset_tells(void **state)
{
    (void)state;
#define SPEC "\"spec\":{\"replicatedJobs\":[{\"name\":\"a\",\"replicas\":2,\"template\":{\"spec\":{\"parallelism\":3}}}," \
             "{\"name\":\"b\",\"replicas\":1,\"template\":{\"spec\":{}}}]}"
    struct json *over = json_new(a, JSON_OBJECT);
    const struct json *job = parse("{" SPEC ",\"status\":{\"replicatedJobsStatus\":[{\"name\":\"a\",\"ready\":1,\"succeeded\":1,\"active\":1},"
                                   "{\"name\":\"b\",\"ready\":0,\"active\":1}]}}");
    kueue_jobset_kind.over(a, job, NULL, over);
    assert_int_equal(json_get_int64(over, "a", 0), 3);
    assert_int_equal(json_get_int64(over, "b", 0), 0);
    assert_true(kueue_jobset_kind.active(job));
    assert_false(kueue_jobset_kind.all_ready(NULL, a, job));
    job = parse("{" SPEC ",\"status\":{\"replicatedJobsStatus\":[{\"name\":\"a\",\"ready\":1,\"succeeded\":1},{\"name\":\"b\",\"ready\":1}]}}");
    assert_true(kueue_jobset_kind.all_ready(NULL, a, job));
    assert_false(kueue_jobset_kind.active(job));
    assert_false(kueue_jobset_kind.active(parse("{" SPEC "}")));
}

static void test_what_kubeflow_tells(void **state)
{
    (void)state;
    assert_true(kueue_kubeflow_kind.active(parse("{\"status\":{\"replicaStatuses\":{\"Master\":{},\"Worker\":{\"active\":1}}}}")));
    assert_false(kueue_kubeflow_kind.active(parse("{\"status\":{\"replicaStatuses\":{\"Worker\":{\"succeeded\":1}}}}")));
    const struct json *running = parse("{\"status\":{\"conditions\":[{\"type\":\"Running\",\"status\":\"True\"}]}}");
    assert_true(kueue_kubeflow_kind.all_ready(NULL, a, running));
    assert_false(kueue_kubeflow_kind.all_ready(NULL, a, parse("{}")));
}

/* ---- which of those that others make, too, are looked at ---- */

static void test_what_is_kept(void **state)
{
#define LABELS(text) "{\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"labels\":{" text "}},\"spec\":{}}"
#define OWNERS(text) "{\"spec\":{},\"metadata\":{\"managedFields\":[{\"f:labels\":{}}],\"ownerReferences\":[" text "],\"name\":\"j\"}}"
    static const struct {
        const char *object;
        bool kept;
    } jobs[] = {
        {LABELS("\"kueue.x-k8s.io/queue-name\":\"q\""), true},
        {LABELS("\"a\":\"kueue.x-k8s.io/queue-name\",\"kueue.x-k8s.io/queue-name\":\"q\",\"z\":\"\""), true},
        {LABELS("\"kueue.x-k8s.io/queue-name\":\"\""), false},
        {LABELS("\"kueue.x-k8s.io/queue-name\":7"), false},
        {LABELS(""), false},
        {OWNERS("{\"kind\":\"JobSet\",\"name\":\"s\",\"controller\":true}"), true},
        {OWNERS("{\"kind\":\"CronJob\",\"controller\":false},{\"controller\":true,\"kind\":\"RayJob\"}"), true},
        {OWNERS("{\"kind\":\"JobSet\",\"controller\":false}"), false},
        {OWNERS("{\"kind\":\"JobSet\"}"), false},
        {OWNERS("{\"kind\":\"CronJob\",\"controller\":true}"), false},
        {OWNERS("7,null,{}"), false},
        {"{\"metadata\":{\"labels\":null,\"ownerReferences\":{}}}", false},
        {"{\"spec\":{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}}}}", false},
        {"{\"metadata\":[]}", false}, {"[]", false}, {"{", false}, {"", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        const struct json *tree = json_parse(a, bytes_of(jobs[i].object), NULL, NULL);
        if (kueue_owners_keep(bytes_of(jobs[i].object)) != jobs[i].kept)
            fail_msg("%s", jobs[i].object);
        assert_int_equal(*object_label(tree, KUEUE_QUEUE_LABEL) || queued_kind_named(object_controller(tree, "kind")), jobs[i].kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pod_sets),
        cmocka_unit_test(test_started_and_stopped),
        cmocka_unit_test(test_spark_application), cmocka_unit_test(test_a_label_of_sparks_template), cmocka_unit_test(test_what_ray_adds),
        cmocka_unit_test(test_what_ray_tells),
        cmocka_unit_test(test_a_selector_that_contradicts),
        cmocka_unit_test(test_a_launcher_that_works_is_counted_first),
        cmocka_unit_test(test_topology_requests),
        cmocka_unit_test(test_what_a_jobset_tells),
        cmocka_unit_test(test_what_kubeflow_tells),
        cmocka_unit_test(test_what_is_kept),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
