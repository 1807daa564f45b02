/* A TrainJob resolved through its runtime. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../tree.h"
#include "jobs/kubeflow/trainjob_sets.h"
#include "kube/object.h"

static const char runtime_text[] =
    "{\"spec\":{\"mlPolicy\":{\"numNodes\":2,\"torch\":{}},\"template\":{\"spec\":{\"replicatedJobs\":["
    "{\"name\":\"dataset-initializer\",\"template\":{\"metadata\":{\"labels\":{\"trainer.kubeflow.org/"
    "trainjob-ancestor-step\":\"dataset-initializer\"}},"
    "\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"dataset-initializer\"}]}}}}},"
    "{\"name\":\"node\",\"dependsOn\":[{\"name\":\"dataset-initializer\",\"status\":\"Complete\"}],\"template\":{"
    "\"metadata\":{\"labels\":{\"trainer.kubeflow.org/trainjob-ancestor-step\":\"trainer\"}},"
    "\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"node\",\"image\":\"torch\",\"env\":[{\"name\":\"A\","
    "\"value\":\"1\"}],\"resources\":{\"limits\":{\"cpu\":\"1\"}}}]}}}}}]}}}}";

static struct json *equipped(const struct json *job, const char *runtime)
{
    const char *why = NULL;
    const struct json *parsed = parse(runtime);
    struct json *set = trainjob_jobset(a, job, parsed, &why);
    assert_non_null(set);
    trainjob_equip(a, job, parsed, set);
    return set;
}

static void test_merge(void **state)
{
    (void)state;
    struct json *job = parse("{\"metadata\":{\"name\":\"t\"},\"spec\":{\"trainer\":{\"numNodes\":3,\"image\":\"mine\","
                             "\"env\":[{\"name\":\"A\",\"value\":\"2\"}],"
                             "\"resourcesPerNode\":{\"limits\":{\"nvidia.com/"
                             "gpu\":8}}},\"runtimePatches\":[{\"manager\":\"m\",\"trainingRuntimeSpec\":{\"template\":{"
                             "\"spec\":{\"replicatedJobs\":"
                             "[{\"name\":\"node\",\"template\":{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{"
                             "\"x\":\"y\"}}}}}}]}}}}]}}");
    struct replicated_job *sets;
    const char *why = NULL;
    assert_int_equal(trainjob_sets(a, job, parse(runtime_text), &sets, &why), 2);
    assert_true(sets[0].is_initializer);
    assert_int_equal(sets[0].count, 1);
    assert_false(sets[1].is_initializer);
    assert_int_equal(sets[1].count, 3);
    assert_non_null(sets[1].depends_on);
    const struct json *spec = json_path(sets[1].job_spec, "template", "spec", NULL),
                      *container = json_item(json_get(spec, "containers"), 0);
    assert_string_equal(json_get_text(container, "image", ""), "mine");
    assert_string_equal(json_get_text(json_item(json_get(container, "env"), 0), "value", ""), "2");
    assert_non_null(json_path(container, "resources", "limits", "nvidia.com/gpu", NULL));
    assert_non_null(json_path(container, "resources", "limits", "cpu", NULL));
    assert_string_equal(json_text(json_path(spec, "nodeSelector", "x", NULL), ""), "y");

    struct json *set = equipped(job, runtime_text);
    container = trainjob_container(json_item(json_path(set, "spec", "replicatedJobs", NULL), 1));
    static const char *const names[] = {"PET_NNODES",      "PET_NPROC_PER_NODE", "PET_NODE_RANK",
                                        "PET_MASTER_ADDR", "PET_MASTER_PORT",    "A"};
    uint32_t i = 0;
    JSON_EACH (env, json_get(container, "env"))
        assert_string_equal(json_get_text(env, "name", ""), names[i++]);
    assert_string_equal(json_get_text(json_item(json_get(container, "env"), 3), "value", ""), "t-node-0-0.t");
}

static void test_defaults_and_missing(void **state)
{
    (void)state;
    struct replicated_job *sets;
    const char *why = NULL;
    struct json *job = parse("{\"metadata\":{\"name\":\"t\"},\"spec\":{}}");
    assert_int_equal(trainjob_sets(a, job, parse(runtime_text), &sets, &why), 2);
    assert_int_equal(sets[1].count, 2);
    assert_int_equal(trainjob_sets(a, job, NULL, &sets, &why), 0);
    assert_string_equal(why, "the runtime that spec.runtimeRef names does not exist");
}

#define STEP(step) "\"metadata\":{\"labels\":{\"trainer.kubeflow.org/trainjob-ancestor-step\":\"" step "\"}},"
#define JOB(name, meta, more) "{\"name\":\"" name "\"" more ",\"template\":{" meta "\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"node\"}]}}}}}"
#define RUNTIME(policy, jobs) "{\"spec\":{\"mlPolicy\":{" policy "},\"template\":{\"metadata\":{\"labels\":{\"l\":\"1\"}},\"spec\":{\"replicatedJobs\":[" jobs "]}}}}"

static const char mpi_text[] = RUNTIME("\"numNodes\":1,\"mpi\":{\"numProcPerNode\":1,\"sshAuthMountPath\":\"/home/m/.ssh\",\"runLauncherAsNode\":true}",
    JOB("node", "", "") "," JOB("launcher", STEP("trainer"), ",\"dependsOn\":[{\"name\":\"node\",\"status\":\"Ready\"}]"));

static const char *env_of(const struct json *container)
{
    const char *text = "";
    JSON_EACH (one, json_get(container, "env"))
        text = arena_printf(a, "%s%s=%s ", text, json_get_text(one, "name", ""), json_get_text(one, "value", "?"));
    return text;
}

/* Of three nodes one is the launcher: workers have the job's resources, and nobody else trains. */
static void test_mpi(void **state)
{
    (void)state;
    struct json *job = parse("{\"metadata\":{\"name\":\"m\"},\"spec\":{\"trainer\":{\"numNodes\":3,\"command\":[\"mpirun\"],"
                             "\"env\":[{\"name\":\"A\",\"value\":\"1\"}],\"resourcesPerNode\":{\"limits\":{\"nvidia.com/gpu\":2}}}}}");
    struct replicated_job *sets;
    const char *why = NULL;
    assert_int_equal(trainjob_sets(a, job, parse(mpi_text), &sets, &why), 2);
    assert_int_equal(sets[0].count, 2);
    assert_int_equal(sets[1].count, 1);
    assert_true(!sets[0].is_initializer && !sets[1].is_initializer);
    struct json *set = equipped(job, mpi_text), *node = json_item(json_path(set, "spec", "replicatedJobs", NULL), 0),
                *launcher = node->next;
    assert_string_equal(trainjob_hostfile(a, job, parse(mpi_text), set), "m-node-0-0.m slots=2\nm-node-0-1.m slots=2\nm-launcher-0-0.m slots=2\n");
    assert_string_equal(env_of(trainjob_container(node)), "A=1 ");
    assert_string_equal(env_of(trainjob_container(launcher)), "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile OMPI_MCA_orte_keep_fqdn_hostnames=true "
                        "OMPI_MCA_orte_set_default_slots=2 OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10 A=1 ");
    assert_null(json_get(trainjob_container(node), "command"));
    assert_non_null(json_path(trainjob_container(node), "resources", "limits", "nvidia.com/gpu", NULL));
    const struct json *mounts = json_get(trainjob_container(launcher), "volumeMounts");
    assert_string_equal(json_get_text(json_item(mounts, 0), "mountPath", ""), "/home/m/.ssh");
    assert_string_equal(json_get_text(json_item(mounts, 1), "mountPath", ""), "/etc/mpi");
    assert_string_equal(json_text(json_path(json_item(json_path(node, "template", "spec", "template", "spec", "volumes", NULL), 0), "secret",
                                            "secretName", NULL), ""), "m-mpi-ssh-auth");
    assert_string_equal(object_label(set, "l"), "1");
    assert_null(trainjob_gang(a, job, parse(mpi_text), set));
    struct json *grouped = parse(mpi_text);
    json_set(a, json_ensure_object(a, json_get(grouped, "spec"), "podGroupPolicy"), "volcano", json_new(a, JSON_OBJECT));
    const struct json *group = trainjob_gang(a, job, grouped, set); /* the launcher waits for the nodes: nobody waits for it */
    assert_int_equal(json_int64(json_path(group, "spec", "minMember", NULL), 0), 2);
    assert_string_equal(json_text(json_path(group, "spec", "minResources", "nvidia.com/gpu", NULL), ""), "4");
    assert_non_null(json_path(node, "template", "spec", "template", "metadata", "annotations", "scheduling.k8s.io/group-name", NULL));
    assert_null(json_path(launcher, "template", "spec", "template", "metadata", NULL));
}

static void test_other_policies(void **state)
{
    (void)state;
    static const char *const expected[][2] = {
        {RUNTIME("\"jax\":{}", JOB("node", STEP("trainer"), "")), "JAX_NUM_PROCESSES=2 JAX_PROCESS_ID=? JAX_COORDINATOR_ADDRESS=t-node-0-0.t:29500 "},
        {RUNTIME("\"xgboost\":{}", JOB("node", STEP("trainer"), "")),
         "DMLC_TRACKER_URI=t-node-0-0.t DMLC_TRACKER_PORT=29500 DMLC_TASK_ID=? DMLC_NUM_WORKER=8 "},
        {RUNTIME("\"torch\":{}", JOB("node", STEP("trainer"), "")),
         "PET_NNODES=2 PET_NPROC_PER_NODE=auto PET_NODE_RANK=? PET_MASTER_ADDR=t-node-0-0.t PET_MASTER_PORT=29500 "},
        {RUNTIME("\"numNodes\":1", JOB("node", "", "")), ""}}; /* no policy, no label: "node" trains */
    struct json *job = parse("{\"metadata\":{\"name\":\"t\"},\"spec\":{\"trainer\":{\"numNodes\":2,\"resourcesPerNode\":{\"requests\":{"
                             "\"nvidia.com/gpu\":4,\"cpu\":8}}}}}");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct json *set = equipped(job, expected[i][0]), *node = json_item(json_path(set, "spec", "replicatedJobs", NULL), 0);
        assert_string_equal(env_of(trainjob_container(node)), expected[i][1]);
        assert_int_equal(trainjob_pods_n(node), 2);
    }
    struct json *many = parse("{\"metadata\":{\"name\":\"t\"},\"spec\":{\"trainer\":{\"numNodes\":2,\"resourcesPerNode\":{\"limits\":{"
                             "\"nvidia.com/gpu\":\"5000000000000000000\"}}}}}");
    const struct json *of_many = json_item(json_path(equipped(many, expected[1][0]), "spec", "replicatedJobs", NULL), 0);
    assert_non_null(strstr(env_of(trainjob_container(of_many)), "DMLC_NUM_WORKER=9223372036854775807 "));
    struct json *plain = parse("{\"metadata\":{\"name\":\"t\"},\"spec\":{\"trainer\":{\"resourcesPerNode\":{\"requests\":{\"cpu\":\"7500m\"}}}}}");
    const struct json *set = equipped(plain, expected[2][0]);
    assert_non_null(strstr(env_of(trainjob_container(json_item(json_path(set, "spec", "replicatedJobs", NULL), 0))), "PET_NPROC_PER_NODE=8 "));
}

/* `tune run` alone is made a whole command. */
static void test_tune(void **state)
{
    (void)state;
    static const char runtime[] = "{\"spec\":{\"mlPolicy\":{\"torch\":{}},\"template\":{\"spec\":{\"replicatedJobs\":[{\"name\":\"node\",\"template\":{"
        STEP("trainer") "\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"node\",\"command\":[\"tune\",\"x\",\"output_dir=/o\"]}]}}}}}]}}}}";
    static const struct {
        const char *nodes, *args, *command;
    } cases[] = {
        {"1", "", "tune run full_finetune_single_device --config llama3_2/1B_full_single_device output_dir=/o"},
        {"1", "\"model.lora_attn_modules=[q]\",\"model.quantize_base=True\"",
         "tune run lora_finetune_single_device --config llama3_2/1B_qlora_single_device output_dir=/o"},
        {"1", "\"model.lora_attn_modules=[q]\",\"model.quantize_base=True\",\"model.use_dora=true\"",
         "tune run lora_finetune_single_device --config llama3_2/1B_lora_single_device output_dir=/o"},
        {"2", "", "tune run --rdzv_endpoint=t-node-0-0.t:29500 full_finetune_distributed --config llama3_2/1B_full_multinode output_dir=/o"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json *job = parse(arena_printf(a, "{\"metadata\":{\"name\":\"t\"},\"spec\":{\"runtimeRef\":{\"name\":\"torchtune-llama3.2-1b\"},\"trainer\":{"
            "\"numNodes\":%s,\"command\":[\"tune\",\"run\"],\"args\":[%s],"
            "\"resourcesPerNode\":{\"limits\":{\"nvidia.com/gpu\":1}}}}}", cases[i].nodes, cases[i].args));
        const char *said = "";
        JSON_EACH (word, json_get(trainjob_container(json_item(json_path(equipped(job, runtime), "spec", "replicatedJobs", NULL), 0)), "command"))
            said = arena_printf(a, "%s%s%s", said, *said ? " " : "", json_text(word, ""));
        assert_string_equal(said, cases[i].command);
    }
}

static void test_initializers(void **state)
{
    (void)state;
    struct json *job = parse("{\"metadata\":{\"name\":\"t\"},\"spec\":{\"initializer\":{\"dataset\":{\"storageUri\":\"hf://x\",\"env\":[{\"name\":\"E\",\"value\":\"1\"}],"
                             "\"secretRef\":{\"name\":\"s\"}}}}}");
    const struct json *set = equipped(job, runtime_text), *first = json_item(json_path(set, "spec", "replicatedJobs", NULL), 0),
                      *container = json_item(json_path(first, "template", "spec", "template", "spec", "containers", NULL), 0);
    assert_string_equal(env_of(container), "STORAGE_URI=hf://x E=1 ");
    assert_string_equal(json_text(json_path(json_item(json_get(container, "envFrom"), 0), "secretRef", "name", NULL), ""), "s");
}

/* Lists with keys are merged, others replaced; what a patch says of the whole goes onto the JobSet. */
static void test_patches(void **state)
{
    (void)state;
    struct json *job = parse("{\"metadata\":{\"name\":\"t\"},\"spec\":{\"runtimePatches\":[{\"manager\":\"a/b\",\"trainingRuntimeSpec\":{\"template\":{"
        "\"metadata\":{\"labels\":{\"team\":\"ml\"}},\"spec\":{\"replicatedJobs\":[{\"name\":\"node\",\"template\":{\"metadata\":{\"labels\":{\"j\":\"1\"}},\"spec\":{\"template\":{\"spec\":{"
        "\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}],\"serviceAccountName\":\"sa\",\"containers\":[{\"name\":\"node\",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/v\"}]}]}}}}}]}}}}]}}");
    const char *why = NULL;
    const struct json *set = trainjob_jobset(a, job, parse(runtime_text), &why), *jobs = json_path(set, "spec", "replicatedJobs", NULL),
                      *node = json_item(jobs, 1), *spec = json_path(node, "template", "spec", "template", "spec", NULL);
    assert_string_equal(object_label(set, "team"), "ml");
    assert_string_equal(json_get_text(json_item(jobs, 0), "name", ""), "dataset-initializer"); /* in the runtime's order */
    assert_string_equal(json_text(json_path(node, "template", "metadata", "labels", "j", NULL), ""), "1");
    assert_string_equal(json_get_text(spec, "serviceAccountName", ""), "sa");
    assert_int_equal(json_get(spec, "containers")->n, 1);
    assert_string_equal(json_get_text(trainjob_container(node), "image", ""), "torch");
    assert_string_equal(json_get_text(json_item(json_get(trainjob_container(node), "volumeMounts"), 0), "mountPath", ""), "/v");
    /* no server takes it; patches do not multiply it */
    struct json *twice = parse(RUNTIME("", JOB("node", "", "") "," JOB("node", "", "")));
    assert_int_equal(json_path(trainjob_jobset(a, job, twice, &why), "spec", "replicatedJobs", NULL)->n, 2);
    struct json *odd = parse("{\"metadata\":{\"name\":\"t\"},\"spec\":{\"runtimePatches\":[{\"manager\":\"a/b\",\"trainingRuntimeSpec\":{\"template\":{\"spec\":{\"replicatedJobs\":[{}]}}}}]}}");
    assert_null(trainjob_jobset(a, odd, parse(runtime_text), &why));
    static const char *const nothing[] = {"null", "\"x\"", "[]", "{\"replicatedJobs\":null}", "{\"replicatedJobs\":3}"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) /* whatever is left of it, nobody comes to harm */
        (void)trainjob_jobset(a, parse(arena_printf(a, "{\"metadata\":{\"name\":\"t\"},\"spec\":{\"runtimePatches\":[{\"trainingRuntimeSpec\":{\"template\":{\"spec\":%s}}}]}}",
                                                    nothing[i])), parse(runtime_text), &why);
    assert_non_null(strstr(why, "spec.runtimePatches of manager \"a/b\": "));
}

#define HUGE(name) "{\"name\":\"" name "\",\"replicas\":2147483647,\"template\":{\"spec\":{\"parallelism\":2147483647,\"template\":{}}}}"

/* More pods than there are numbers for are not a few. */
static void test_gangs_of_any_size(void **state)
{
    (void)state;
    const struct json *job = parse("{\"metadata\":{\"name\":\"t\"},\"spec\":{}}"),
                      *runtime = parse("{\"spec\":{\"podGroupPolicy\":{\"volcano\":{}},\"template\":{\"spec\":{\"replicatedJobs\":["
                                       HUGE("a") "," HUGE("b") "," HUGE("c") "]}}}}");
    const char *why = NULL;
    const struct json *group = trainjob_gang(a, job, runtime, trainjob_jobset(a, job, runtime, &why));
    assert_true(json_int64(json_path(group, "spec", "minMember", NULL), 0) == INT64_MAX);
}

/* On clusters whose definitions say less anything may stand anywhere. */
static void test_odd_runtimes(void **state)
{
    (void)state;
    static const char *const jobs[] = {"1", "\"x\"", "[]", "{}", "{\"name\":7}", "{\"name\":\"node\",\"template\":[]}",
        "{\"name\":\"node\",\"template\":{\"spec\":3}}", "{\"name\":\"launcher\",\"template\":{\"spec\":{\"template\":\"x\"}}}",
        "{\"name\":\"node\",\"replicas\":-3,\"template\":{\"spec\":{\"parallelism\":\"x\",\"template\":{\"spec\":{\"containers\":[1,\"node\"]}}}}}",
        ("{\"name\":\"node\",\"dependsOn\":[3],\"template\":{\"spec\":{\"template\":{\"spec\":{\"volumes\":3,\"containers\":[{\"name\":\"node\",\"env\":[1],"
        "\"command\":\"x\",\"resources\":{\"limits\":[2],\"requests\":\"x\"}}]}}}}}")};
    static const char *const policies[] = {"\"torch\":{\"envInjection\":{\"targets\":[1,{\"jobName\":\"node\",\"containerNames\":[{}]}]}}", "\"mpi\":3", "\"mpi\":{}",
                                           "\"jax\":[]", "\"xgboost\":{}"};
    struct json *job = parse("{\"metadata\":{\"name\":\"t\"},\"spec\":{\"trainer\":{\"numNodes\":2,\"command\":[\"tune\",\"run\"],\"env\":[2,{\"name\":\"A\"}],"
                             "\"resourcesPerNode\":{\"limits\":{\"cpu\":\"x\"}}},\"initializer\":{\"dataset\":3}}}");
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++)
        for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
            struct json *runtime = parse(arena_printf(a, "{\"spec\":{\"mlPolicy\":{%s},\"podGroupPolicy\":{\"volcano\":{}},\"template\":{\"spec\":{"
                                                         "\"replicatedJobs\":[%s]}}}}", policies[p], jobs[i]));
            struct replicated_job *sets;
            const char *why = NULL;
            struct json *set = trainjob_jobset(a, job, runtime, &why);
            assert_non_null(set);
            trainjob_equip(a, job, runtime, set);
            assert_non_null(trainjob_gang(a, job, runtime, set));
            (void)trainjob_hostfile(a, job, runtime, set);
            assert_int_equal(trainjob_sets(a, job, runtime, &sets, &why), 1);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge), cmocka_unit_test(test_defaults_and_missing), cmocka_unit_test(test_mpi),
        cmocka_unit_test(test_other_policies), cmocka_unit_test(test_tune), cmocka_unit_test(test_initializers),
        cmocka_unit_test(test_patches), cmocka_unit_test(test_gangs_of_any_size), cmocka_unit_test(test_odd_runtimes)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
