/* test_scale_up.c - the admission check for machines that come: what its entry in a Workload says, and when */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "sched/checks/scale_up.h"

#define AT_MS INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */
#define CHECK(more) "{\"metadata\":{\"name\":\"m\"" more "},\"spec\":{\"controllerName\":\"capstan.dev/scale-up\"}}"
#define SETS "\"spec\":{\"podSets\":[{\"name\":\"a\"},{\"name\":\"b\",\"template\":{\"metadata\":{\"annotations\":{\"karpenter.sh/do-not-disrupt\":\"no\"}}}}]}"
#define ADMITTED "\"conditions\":[{\"type\":\"Admitted\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]"
#define READY "{\"name\":\"m\",\"state\":\"Ready\"}"

struct asked {
    struct arena *a;
    const char *check;
    int64_t again_ms;
    bool unsettled;
};

static const struct json *find(void *ctx, const char *name, struct arena *a)
{
    struct asked *x = ctx;
    return strcmp(name, "m") == 0 ? json_parse(a, bytes_of(x->check), NULL, NULL) : NULL;
}

/* The list of a Workload with this status after so many ms, as text; "": as it is. */
static const char *list_after(struct asked *x, const char *status, int64_t ms, bool stands, int64_t bound_ms)
{
    const struct json *workload = json_parse(x->a, bytes_of(arena_printf(x->a, "{" SETS ",\"status\":{%s}}", status)), NULL, NULL);
    assert_non_null(workload);
    const struct scale_up u = {
        .workload = workload, .stands = stands, .bound_ms = bound_ms, .is_settled = !x->unsettled, .now_ms = AT_MS + ms,
                               .find = find, .ctx = x};
    struct buf text = {0};
    x->again_ms = 0;
    struct json *now = scale_up_followed(x->a, &u, json_path(workload, "status", "admissionChecks", NULL), &x->again_ms);
    if (now)
        json_write(&text, now);
    const char *copy = arena_text(x->a, now ? text.data : "");
    buf_free(&text);
    return copy;
}

static void quota_is_enough(void **state)
{
    (void)state;
    struct asked x = {arena_new(), CHECK(""), 0};
    assert_string_equal(
        list_after(&x, "\"admissionChecks\":[{\"name\":\"other\",\"state\":\"Pending\"},{\"name\":\"m\",\"state\":\"Pending\",\"retryCount\":1}]", 0,
                   false, 0),
        "[{\"name\":\"other\",\"state\":\"Pending\"},{\"name\":\"m\",\"state\":\"Ready\",\"retryCount\":1,\"message\":\"machines for its pods have 15m to "
        "come\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"podSetUpdates\":[{\"annotations\":{\"capstan.dev/scale-up\":\"15m\","
        "\"karpenter.sh/do-not-disrupt\":\"true\"},\"name\":\"a\"},{\"annotations\":{\"capstan.dev/scale-up\":\"15m\"},\"name\":\"b\"}]}]");
    assert_string_equal(list_after(&x, "\"admissionChecks\":[{\"name\":\"m\",\"state\":\"Rejected\"}]", 0, false, 0), "");
    assert_string_equal(list_after(&x, "\"admissionChecks\":7", 0, false, 0), "");
    arena_free(x.a);
}

static void machines_have_their_time(void **state)
{
    (void)state;
    struct asked x = {arena_new(), CHECK(",\"annotations\":{\"capstan.dev/scale-up-timeout\":\"10m\"}"), 0};
    const char *status = ADMITTED ",\"admissionChecks\":[" READY "]";
    assert_string_equal(list_after(&x, "\"admissionChecks\":[" READY "]", 900000, false, 0), ""); /* not admitted yet */
    assert_int_equal(x.again_ms, 0);
    assert_string_equal(list_after(&x, status, 60000, false, 0), "");
    assert_int_equal(x.again_ms, 540000);
    assert_string_equal(list_after(&x, status, 60000, true, 0), ""); /* they have come: nothing to write before it matters */
    assert_string_equal(list_after(&x, status, 900000, false, AT_MS + 800000), ""); /* had, a moment ago: a node has failed */
    assert_int_equal(x.again_ms, 500000);
    assert_non_null(strstr(list_after(&x, status, 600000, false, 0),
                           "\"state\":\"Retry\",\"message\":\"the machines for its pods did not come within 10m\""));
    arena_free(x.a);
}

/* Who stands when the time is over has them, for good: a scheduler that begins anew meets gangs of which a pod is being replaced. */
static void machines_come_once(void **state)
{
    (void)state;
    struct asked x = {arena_new(), CHECK(""), 0};
    const char *came = list_after(&x, ADMITTED ",\"admissionChecks\":[" READY "]", 900000, true, 0);
    assert_string_equal(came, "[{\"name\":\"m\",\"state\":\"Ready\",\"message\":\"the machines for its pods have come\"}]");
    const char *status = arena_printf(x.a, ADMITTED ",\"admissionChecks\":%s", came);
    assert_string_equal(list_after(&x, status, 900000000, false, 0), "");
    assert_int_equal(x.again_ms, 0);
    x.unsettled = true; /* its pods are not known yet */
    assert_string_equal(list_after(&x, ADMITTED ",\"admissionChecks\":[" READY "]", 900000, false, 0), "");
    assert_int_equal(x.again_ms, 1000);
    arena_free(x.a);
}

/* 1, 2, 4 minutes and so on, half an hour at most. */
static void pauses_grow(void **state)
{
    (void)state;
    static const int counts[] = {0, 1, 4, 5, 1000, -1}, pauses[] = {60, 120, 960, 1800, 1800, 1800};
    struct asked x = {arena_new(), CHECK(""), 0};
    for (int i = 0; i < 6; i++) {
        const char *status =
            arena_printf(x.a, ADMITTED ",\"admissionChecks\":[{\"name\":\"m\",\"state\":\"Ready\",\"retryCount\":%d}]", counts[i]);
        assert_non_null(strstr(list_after(&x, status, 900000, false, 0), arena_printf(x.a, "\"requeueAfterSeconds\":%d}", pauses[i])));
    }
    arena_free(x.a);
}

static void what_is_wrong_with_it(void **state)
{
    (void)state;
    static const char *const bad[] = {"soon", "-5m", "0s", "500ms", "169h", "99999999999999999999h"};
    struct arena *a = arena_new();
    assert_null(scale_up_wrong(a, json_parse(a, bytes_of(CHECK("")), NULL, NULL)));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct asked x = {a, arena_printf(a, CHECK(",\"annotations\":{\"capstan.dev/scale-up-timeout\":\"%s\"}"), bad[i]), 0};
        const char *wrong = scale_up_wrong(a, json_parse(a, bytes_of(x.check), NULL, NULL));
        assert_non_null(wrong);
        assert_non_null(strstr(wrong, "is no time from 1s to 168h; write one like 15m"));
        assert_string_equal(list_after(&x, "\"admissionChecks\":[{\"name\":\"m\",\"state\":\"Pending\"}]", 0, false, 0), "");
    }
    assert_non_null(strstr(scale_up_wrong(a, json_parse(a, bytes_of("{\"spec\":{\"parameters\":{\"name\":\"x\"}}}"), NULL, NULL)), "takes none"));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(quota_is_enough), cmocka_unit_test(machines_have_their_time),
                                       cmocka_unit_test(machines_come_once), cmocka_unit_test(pauses_grow),
                                       cmocka_unit_test(what_is_wrong_with_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
