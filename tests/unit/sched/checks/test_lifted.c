/* test_lifted.c - a check asks for another try, and whoever reserves quota himself does so again before the first has been given back
 *
 * The Workload has no job that would stop, so nobody gives anything back but he who reserves.
 */
#include <stdio.h>
#include "../stage.h"
#include "kube/object.h"

#define W WORKLOADS "/w"
#define CHECK_IS(state) \
    "\"admissionChecks\":[{\"name\":\"c\",\"state\":\"" state "\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]"
#define CONDITION(type, is, reason) \
    "{\"type\":\"" type "\",\"status\":\"" is "\",\"reason\":\"" reason "\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}"

static int setup(void **state)
{
    (void)state;
    stage_open(NULL);
    node("n0", "nvidia.com/gpu", 4);
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"AdmissionCheck\",\"metadata\":{\"name\":\"c\"},\"spec\":{\"controllerName\":\"x/y\"},"
           "\"status\":{\"conditions\":[" CONDITION("Active", "True", "Active") "]}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},"
           "\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"c\"}]},"
           "\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"nvidia.com/gpu\","
           "\"nominalQuota\":\"4\"}]}]}]}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"n\"},\"spec\":{"
           "\"clusterQueue\":\"cq\"}}");
    scheduler_start_with((struct scheduler_config){.hold = true});
    return 0;
}

static void patch(const char *status)
{
    kube_patch(w.user, KUBE_PATCH_MERGE, W "/status", bytes_of(arena_printf(w.a, "{\"status\":{%s}}", status)), NULL, NULL);
}

/* Its quota is reserved: of what is said of it only this is kept, and that it is no longer told to leave. */
static void reserve(const char *conditions)
{
    patch(arena_printf(w.a,
                       "\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":\"main\",\"count\":1,\"flavors\":{\"nvidia.com/gpu\":\"f\"},"
                       "\"resourceUsage\":{\"nvidia.com/gpu\":\"1\"}}]},\"conditions\":[" CONDITION("QuotaReserved", "True", "QuotaReserved") "%s]",
                       conditions));
}

static bool is_evicted(void)
{
    return object_condition_true(get(W), "Evicted");
}

static const char *check_state(void)
{
    return json_get_text(json_item(json_path(get(W), "status", "admissionChecks", NULL), 0), "state", "");
}

/* Whenever he comes between: what he reserves stays, and the check is asked again. */
static void quota_that_is_reserved_again_is_not_taken_for_the_first(void **state)
{
    (void)state;
    w.faults.latency_ms_max = 3;
    for (int after_ms = 0; after_ms < 60; after_ms++) {
        create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"w\",\"namespace\":\"n\"},\"spec\":{"
               "\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
               "\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}]}}");
        run(1000);
        reserve("");
        run(1000);
        patch(CHECK_IS("Retry"));
        for (int ms = 0; ms < 2000 && !is_evicted(); ms++)
            run(1);
        assert_true(is_evicted());
        run(after_ms);
        reserve("," CONDITION("Evicted", "False", "QuotaReserved"));
        run(2000);
        if (is_evicted())
            fail_msg("reserved again %d ms after it was evicted: it is evicted again", after_ms);
        assert_string_equal(check_state(), "Pending");
        patch(CHECK_IS("Retry"));
        run(2000);
        assert_true(is_evicted());
        kube_delete(w.user, W, BYTES(""), NULL, NULL);
        run(1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(quota_that_is_reserved_again_is_not_taken_for_the_first, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
