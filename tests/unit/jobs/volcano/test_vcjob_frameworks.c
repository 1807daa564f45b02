/* What pytorch, mpi, tensorflow, ray and hcclrank inject: every container, port, variable and Service, written out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../../tree.h"
#include "jobs/volcano/vcjob_plugins.h"

struct world {
    struct json *job;
    struct vcjob_task *tasks;
    uint32_t tasks_n;
    struct vcjob_plugins plugins;
};

/* Only the frameworks' part: svc, ssh and env have tests of their own. */
static void load(struct world *w, const char *plugins, const char *tasks)
{
    w->job = parse(arena_printf(a, "{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"u\"},\"spec\":{\"plugins\":{%s},\"tasks\":[%s]}}",
                                plugins, tasks));
    w->tasks_n = vcjob_tasks(a, w->job, &w->tasks);
    vcjob_plugins_parse(a, w->job, w->tasks, w->tasks_n, &w->plugins);
}

static struct json *pod_of(struct world *w, const char *task, int64_t index)
{
    for (uint32_t i = 0; i < w->tasks_n; i++) {
        if (strcmp(w->tasks[i].name, task) != 0)
            continue;
        struct json *pod = vcjob_pod(a, w->job, &w->tasks[i], index, 0, 0);
        vcjob_frameworks_pod(a, w->job, &w->plugins.frameworks, w->tasks, w->tasks_n, task, index, pod);
        return pod;
    }
    fail_msg("no task %s", task);
    return NULL;
}

static const char *printed(const struct json *v)
{
    _cleanup_buf_ struct buf out;
    buf_init(&out);
    if (v)
        json_write(&out, v);
    return arena_text_n(a, out.data ? out.data : "", out.n);
}

/* Fails when the one container of the pod is not this. */
static void has_container(struct world *w, const char *task, int64_t index, const char *expected)
{
    assert_string_equal(printed(json_item(json_path(pod_of(w, task, index), "spec", "containers", NULL), 0)), expected);
}

#define TASK(name, n) TASK_OF(name, n, "\"c\"", "")
#define TASK_OF(name, n, container, more)                                                                                          \
    "{\"name\":\"" name "\",\"replicas\":" #n ",\"template\":{\"spec\":{" more "\"containers\":[{\"name\":" container "}]}}}"
#define ENV(name, value) "{\"name\":\"" name "\",\"value\":\"" value "\"}"

static void pytorch_tells_ranks_and_master(void **state)
{
    (void)state;
    struct world w;
    load(&w, "\"pytorch\":[]", TASK("master", 1) "," TASK("worker", 2) "," TASK("board", 1));
    assert_true(w.plugins.svc);
    assert_false(w.plugins.ssh);
    has_container(&w, "master", 0,
                  "{\"name\":\"c\",\"ports\":[{\"name\":\"pytorchjob-port\",\"containerPort\":23456}],\"env\":["
                  ENV("NODE_RANK", "0") "," ENV("PET_NNODES", "3") "," ENV("PET_NODE_RANK", "0") "," ENV("PET_MASTER_ADDR", "j-master-0.j") ","
                  ENV("PET_MASTER_PORT", "23456") "," ENV("MASTER_ADDR", "j-master-0.j") "," ENV("MASTER_PORT", "23456") ","
                  ENV("WORLD_SIZE", "3") "," ENV("RANK", "0") "]}");
    has_container(&w, "worker", 1,
                  "{\"name\":\"c\",\"ports\":[{\"name\":\"pytorchjob-port\",\"containerPort\":23456}],\"env\":["
                  ENV("NODE_RANK", "2") "," ENV("PET_NNODES", "3") "," ENV("PET_NODE_RANK", "2") "," ENV("PET_MASTER_ADDR", "j-master-0.j") ","
                  ENV("PET_MASTER_PORT", "23456") "," ENV("MASTER_ADDR", "j-master-0.j") "," ENV("MASTER_PORT", "23456") ","
                  ENV("WORLD_SIZE", "3") "," ENV("RANK", "2") "]}");
    has_container(&w, "board", 0, /* it may talk to the master, and has no rank */
                  "{\"name\":\"c\",\"ports\":[{\"name\":\"pytorchjob-port\",\"containerPort\":23456}],\"env\":["
                  ENV("MASTER_ADDR", "j-master-0.j") "," ENV("MASTER_PORT", "23456") "," ENV("WORLD_SIZE", "3") "]}");
    assert_null(json_path(pod_of(&w, "worker", 0), "spec", "initContainers", NULL));
}

static void pytorch_keeps_what_the_user_wrote(void **state)
{
    (void)state;
    struct world w;
    load(&w, "\"pytorch\":[\"--master=chef\",\"--worker=hand\",\"--port=29500\"]",
         TASK_OF("chef", 1,
                 "\"c\",\"ports\":[{\"containerPort\":29500}],\"env\":[" ENV("A", "$(PET_NNODES)") "],"
                 "\"resources\":{\"limits\":{\"nvidia.com/gpu\":8}}", "\"hostname\":\"boss\",\"subdomain\":\"lab\",")
         "," TASK("hand", 1));
    has_container(&w, "chef", 0,
                  "{\"name\":\"c\",\"ports\":[{\"containerPort\":29500}],\"env\":[" ENV("NODE_RANK", "0") "," ENV("PET_NNODES", "2") ","
                  ENV("PET_NODE_RANK", "0") "," ENV("PET_MASTER_ADDR", "boss.lab") "," ENV("PET_MASTER_PORT", "29500") ","
                  ENV("PET_NPROC_PER_NODE", "8") "," ENV("A", "$(PET_NNODES)") "," ENV("MASTER_ADDR", "boss.lab") ","
                  ENV("MASTER_PORT", "29500") "," ENV("WORLD_SIZE", "2") "," ENV("RANK", "0") "],"
                  "\"resources\":{\"limits\":{\"nvidia.com/gpu\":8}}}");
}

/* The name of a task that is an argument's name, too. */
static void arguments_in_two_words(void **state)
{
    (void)state;
    struct world w;
    load(&w, "\"pytorch\":[\"--worker\",\"master\",\"--master\",\"worker\",\"-port\",\"29500\"]", TASK("worker", 1) "," TASK("master", 2));
    assert_string_equal(w.plugins.frameworks.pytorch.master, "worker");
    assert_string_equal(w.plugins.frameworks.pytorch.worker, "master");
    assert_int_equal(w.plugins.frameworks.pytorch.port, 29500);
    load(&w, "\"pytorch\":[\"port=29500\"]", TASK("worker", 1)); /* no dash: none to Go's flags */
    assert_int_equal(w.plugins.frameworks.pytorch.port, 23456);
}

static void pytorch_without_a_master_has_the_first_worker(void **state)
{
    (void)state;
    struct world w;
    load(&w, "\"pytorch\":[]", TASK("worker", 2));
    has_container(&w, "worker", 1,
                  "{\"name\":\"c\",\"ports\":[{\"name\":\"pytorchjob-port\",\"containerPort\":23456}],\"env\":["
                  ENV("NODE_RANK", "1") "," ENV("PET_NNODES", "2") "," ENV("PET_NODE_RANK", "1") "," ENV("PET_MASTER_ADDR", "j-worker-0.j") ","
                  ENV("PET_MASTER_PORT", "23456") "," ENV("MASTER_ADDR", "j-worker-0.j") "," ENV("MASTER_PORT", "23456") ","
                  ENV("WORLD_SIZE", "2") "," ENV("RANK", "1") "]}");
    load(&w, "\"pytorch\":[]", TASK("a", 2));
    has_container(&w, "a", 1, "{\"name\":\"c\"}");
    load(&w, "\"pytorch\":[]", TASK("master", 2) "," TASK("worker", 1)); /* each has its own rank */
    const struct json *container = json_item(json_path(pod_of(&w, "worker", 0), "spec", "containers", NULL), 0);
    assert_string_equal(printed(json_item(json_get(container, "env"), 8)), ENV("RANK", "2"));
}

static void pytorch_waits_for_its_master(void **state)
{
    (void)state;
    struct world w;
    load(&w, "\"pytorch\":[\"--wait-master-enabled=true\",\"--wait-master-timeout=60\",\"--wait-master-image=box:1\"]",
         TASK("master", 1) "," TASK("worker", 1));
    assert_null(json_path(pod_of(&w, "master", 0), "spec", "initContainers", NULL));
    assert_string_equal(printed(json_path(pod_of(&w, "worker", 0), "spec", "initContainers", NULL)),
                        "[{\"name\":\"wait-for-master\",\"image\":\"box:1\",\"command\":[\"sh\",\"-c\",\"left=60\\n"
                        "until nc -z j-master-0.j 23456 2>/dev/null || (echo >/dev/tcp/j-master-0.j/23456) 2>/dev/null; do\\n"
                        "    [ $left -gt 0 ] || { echo 'no master at j-master-0.j:23456 within 60 s'; exit 1; }\\n"
                        "    sleep 2\\n    left=$((left - 2))\\ndone\\n\"]}]");
    load(&w, "\"pytorch\":[\"--wait-master-enabled=true\"]", TASK("worker", 2));
    assert_null(json_path(pod_of(&w, "worker", 0), "spec", "initContainers", NULL)); /* for itself it does not */
    assert_non_null(json_path(pod_of(&w, "worker", 1), "spec", "initContainers", NULL));
}

static void mpi_tells_the_master_its_workers(void **state)
{
    (void)state;
    struct world w;
    load(&w, "\"mpi\":[\"--master=launcher\",\"--port=2222\"]",
         TASK_OF("launcher", 1, "\"c\"", "\"initContainers\":[{\"name\":\"i\"}],") "," TASK("worker", 2));
    assert_true(w.plugins.svc);
    assert_true(w.plugins.ssh);
    has_container(&w, "launcher", 0,
                  "{\"name\":\"c\",\"ports\":[{\"name\":\"mpijob-port\",\"containerPort\":2222}],\"env\":["
                  ENV("MPI_HOST", "j-worker-0.j,j-worker-1.j") "]}");
    assert_string_equal(printed(json_path(pod_of(&w, "launcher", 0), "spec", "initContainers", NULL)),
                        "[{\"name\":\"i\",\"ports\":[{\"name\":\"mpijob-port\",\"containerPort\":2222}],\"env\":["
                        ENV("MPI_HOST", "j-worker-0.j,j-worker-1.j") "]}]");
    has_container(&w, "worker", 1, "{\"name\":\"c\",\"ports\":[{\"name\":\"mpijob-port\",\"containerPort\":2222}]}");
}

static void tensorflow_tells_the_cluster(void **state)
{
    (void)state;
    struct world w;
    load(&w, "\"tensorflow\":[\"--port=5000\",\"--worker=hand\"]",
         TASK("chief", 1) "," TASK("hand", 2) "," TASK("ps", 1) "," TASK("evaluator", 1) "," TASK("other", 1));
#define CLUSTER                                                                                                                    \
    "{\\\"cluster\\\":{\\\"ps\\\":[\\\"j-ps-0.j:5000\\\"],\\\"worker\\\":[\\\"j-hand-0.j:5000\\\",\\\"j-hand-1.j:5000\\\"],"              \
    "\\\"chief\\\":[\\\"j-chief-0.j:5000\\\"],\\\"evaluator\\\":[\\\"j-evaluator-0.j:5000\\\"]},"
    has_container(&w, "hand", 1,
                  "{\"name\":\"c\",\"env\":[" ENV("TF_CONFIG", CLUSTER "\\\"task\\\":{\\\"type\\\":\\\"worker\\\",\\\"index\\\":1}}") "]}");
    has_container(&w, "other", 0,
                  "{\"name\":\"c\",\"env\":[" ENV("TF_CONFIG", CLUSTER "\\\"task\\\":{\\\"type\\\":\\\"other\\\",\\\"index\\\":0}}") "]}");
    load(&w, "\"tensorflow\":[]", TASK("worker", 1));
    has_container(&w, "worker", 0, "{\"name\":\"c\"}");
}

static void ray_starts_head_and_workers(void **state)
{
    (void)state;
    struct world w;
    load(&w, "\"ray\":[\"--headContainer=c\",\"--workerContainer=c\",\"--dashboardPort=9000\"]", TASK("head", 1) "," TASK("worker", 1));
    has_container(&w, "head", 0,
                  "{\"name\":\"c\",\"ports\":[{\"name\":\"gcs\",\"containerPort\":6379},{\"name\":\"dashboard\",\"containerPort\":9000},"
                  "{\"name\":\"client-server\",\"containerPort\":10001}],\"command\":[\"sh\",\"-c\","
                  "\"ray start --head --block --dashboard-host=0.0.0.0 --port=6379 --dashboard-port=9000 --ray-client-server-port=10001\"]}");
    has_container(&w, "worker", 0, "{\"name\":\"c\",\"command\":[\"sh\",\"-c\",\"ray start --block --address=j-head-0.j:6379\"]}");
    const struct json *objects = vcjob_plugin_objects(a, w.job, &w.plugins, w.tasks, w.tasks_n, NULL, NULL);
    assert_string_equal(printed(json_item(objects, objects->n - 1)),
                        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"j-head-svc\",\"namespace\":\"n\","
                        "\"ownerReferences\":[{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"u\","
                        "\"controller\":true,\"blockOwnerDeletion\":true}]},\"spec\":{\"selector\":{\"volcano.sh/job-name\":\"j\","
                        "\"volcano.sh/job-namespace\":\"n\",\"volcano.sh/task-spec\":\"head\"},\"ports\":["
                        "{\"name\":\"gcs\",\"protocol\":\"TCP\",\"port\":6379,\"targetPort\":\"gcs\"},"
                        "{\"name\":\"dashboard\",\"protocol\":\"TCP\",\"port\":9000,\"targetPort\":\"dashboard\"},"
                        "{\"name\":\"client-server\",\"protocol\":\"TCP\",\"port\":10001,\"targetPort\":\"client-server\"}]}}");
    load(&w, "\"ray\":[]", TASK("head", 1)); /* no container of that name */
    has_container(&w, "head", 0, "{\"name\":\"c\"}");
}

static const char *rank_index(struct world *w, const char *task, int64_t index)
{
    return json_text(json_path(pod_of(w, task, index), "metadata", "annotations", "hccl/rankIndex", NULL), "(none)");
}

static void hcclrank_numbers_pods(void **state)
{
    (void)state;
    struct world w;
    load(&w, "\"hcclrank\":[\"-worker\",\"hand\"]",
         TASK("master", 2) "," TASK("hand", 2) "," TASK("a", 1) "," TASK_OF("own", 1, "\"c\",\"env\":[" ENV("RANK", "7") "]", ""));
    assert_string_equal(rank_index(&w, "master", 1), "1");
    assert_string_equal(rank_index(&w, "hand", 1), "3");
    assert_string_equal(rank_index(&w, "a", 0), "(none)");
    assert_string_equal(rank_index(&w, "own", 0), "7");
    load(&w, "\"hcclrank\":[],\"pytorch\":[]", TASK("master", 1) "," TASK("worker", 2));
    assert_string_equal(rank_index(&w, "worker", 1), "2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pytorch_tells_ranks_and_master), cmocka_unit_test(arguments_in_two_words),
        cmocka_unit_test(pytorch_keeps_what_the_user_wrote),
        cmocka_unit_test(pytorch_without_a_master_has_the_first_worker), cmocka_unit_test(pytorch_waits_for_its_master),
        cmocka_unit_test(mpi_tells_the_master_its_workers), cmocka_unit_test(tensorflow_tells_the_cluster),
        cmocka_unit_test(ray_starts_head_and_workers), cmocka_unit_test(hcclrank_numbers_pods)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
