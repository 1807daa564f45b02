/* A TrainJob resolved through its runtime. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../tree.h"
#include "jobs/kubeflow/trainjob_sets.h"

static const char runtime_text[] =
    "{\"spec\":{\"mlPolicy\":{\"numNodes\":2,\"torch\":{}},\"template\":{\"spec\":{\"replicatedJobs\":["
    "{\"name\":\"dataset-initializer\",\"template\":{\"metadata\":{\"labels\":{\"trainer.kubeflow.org/"
    "trainjob-ancestor-step\":\"dataset-initializer\"}},"
    "\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"dataset-initializer\"}]}}}}},"
    "{\"name\":\"node\",\"dependsOn\":[{\"name\":\"dataset-initializer\",\"status\":\"Complete\"}],\"template\":{"
    "\"metadata\":{\"labels\":{\"trainer.kubeflow.org/trainjob-ancestor-step\":\"trainer\"}},"
    "\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"node\",\"image\":\"torch\",\"env\":[{\"name\":\"A\","
    "\"value\":\"1\"}],\"resources\":{\"limits\":{\"cpu\":\"1\"}}}]}}}}}]}}}}";

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
    assert_false(sets[0].is_trainer);
    assert_int_equal(sets[0].count, 1);
    assert_true(sets[1].is_trainer);
    assert_int_equal(sets[1].count, 3);
    assert_non_null(sets[1].depends_on);
    const struct json *spec = json_path(sets[1].job_spec, "template", "spec", NULL),
                      *container = json_item(json_get(spec, "containers"), 0);
    assert_string_equal(json_get_text(container, "image", ""), "mine");
    assert_string_equal(json_get_text(json_item(json_get(container, "env"), 0), "value", ""), "2");
    assert_non_null(json_path(container, "resources", "limits", "nvidia.com/gpu", NULL));
    assert_non_null(json_path(container, "resources", "limits", "cpu", NULL));
    assert_string_equal(json_text(json_path(spec, "nodeSelector", "x", NULL), ""), "y");

    trainjob_env(a, job, parse(runtime_text), &sets[1], json_get(sets[1].job_spec, "template"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_merge), cmocka_unit_test(test_defaults_and_missing)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
