/* What a StatefulSet does next: pods as words, the plan as one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "jobs/apps/stateful_set_plan.h"

/* pods: "0r 1u 2p": a number, then r ready, u running but not ready, p pending, f failed, d being deleted, x expected, m ready just now;
 * capital letters have the update, the others the current revision.
 * Answer: "+3 +4u -2 again" (u: with the update) and the counts pods/ready/available/current/updated, "*" when it is rolled out. */
static const char *plan_of(struct arena *a, struct stateful_spec spec, const char *pods)
{
    spec.name = "web";
    spec.current = spec.current ? spec.current : "old";
    spec.update = spec.update ? spec.update : "new";
    const struct job_pod *list[16];
    uint32_t n = 0;
    for (char *at = arena_text(a, pods), *end; *at; at = end) {
        long number = strtol(at, &end, 10);
        bool is_new = *end >= 'A' && *end <= 'Z';
        char c = is_new ? (char)(*end - 'A' + 'a') : *end;
        struct job_pod *p = arena_zero(a, 1, sizeof *p);
        p->name = arena_printf(a, "web-%ld", number);
        p->revision = arena_text(a, is_new ? spec.update : spec.current);
        p->phase = c == 'f' ? JOB_POD_FAILED : c == 'p' || c == 'x' ? JOB_POD_PENDING : JOB_POD_RUNNING;
        p->ready = c == 'r' || c == 'd' || c == 'm';
        p->deleting = c == 'd';
        p->expected = c == 'x';
        p->ready_ms = c == 'm' ? 100000 : 50000;
        list[n++] = p;
        end += *end != 0;
    }
    struct stateful_plan plan;
    stateful_set_plan(a, &spec, list, n, 101000, &plan);
    _cleanup_buf_ struct buf out = {0};
    for (uint32_t i = 0; i < plan.create_n; i++)
        buf_printf(&out, "+%d%s ", (int)plan.create[i].ordinal, text_equal(plan.create[i].revision, "new") ? "u" : "");
    for (uint32_t i = 0; i < plan.remove_n; i++)
        buf_printf(&out, "-%s ", plan.remove[i]->name + 4);
    if (plan.again_ms)
        buf_printf(&out, "again ");
    buf_printf(&out, "%d/%d/%d/%d/%d%s", (int)plan.pods_n, (int)plan.ready_n, (int)plan.available_n, (int)plan.current_n,
               (int)plan.updated_n, plan.is_rolled_out ? "*" : "");
    return arena_text(a, out.data);
}

#define IS(text, pods, ...) assert_string_equal(plan_of(a, (struct stateful_spec){__VA_ARGS__}, pods), text)

static void ordinals_are_read_from_names(void **state)
{
    (void)state;
    assert_int_equal(stateful_set_ordinal("web", "web-0"), 0);
    assert_int_equal(stateful_set_ordinal("web", "web-12"), 12);
    assert_int_equal(stateful_set_ordinal("web", "web-2147483647"), 2147483647);
    static const char *const none[] = {"web", "web-", "web-a", "web-1a", "web-01", "web--1", "we-1", "webb-1", "web-4294967296", ""};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(stateful_set_ordinal("web", none[i]), -1);
}

static void pods_come_one_after_the_other(void **state)
{
    struct arena *a = *state;
    IS("0/0/0/0/0*", "", .replicas = 0, .update = "old");
    IS("+0 0/0/0/0/0", "", .replicas = 3, .update = "old");
    IS("0/0/0/0/0", "0x", .replicas = 3, .update = "old");
    IS("1/0/0/1/1", "0u", .replicas = 3, .update = "old");
    IS("+1 1/1/1/1/1", "0r", .replicas = 3, .update = "old");
    IS("3/3/3/3/3*", "0r1r2r", .replicas = 3, .update = "old");
    IS("+0 2/2/2/2/2", "1r2r", .replicas = 3, .update = "old"); /* a hole is filled first */
    IS("+5 0/0/0/0/0", "", .replicas = 3, .first = 5, .update = "old");
    IS("3/3/3/2/2", "0r1d2r", .replicas = 3, .update = "old"); /* its name is free again when it has gone */
}

static void parallel_pods_come_at_once(void **state)
{
    struct arena *a = *state;
    IS("+0 +1 +2 0/0/0/0/0", "", .replicas = 3, .is_parallel = true, .update = "old");
    IS("+2 2/1/1/2/2", "0u1r", .replicas = 3, .is_parallel = true, .update = "old");
    IS("-3 -2 -1 4/4/4/4/4", "0r1r2r3r", .replicas = 1, .is_parallel = true, .update = "old");
    struct stateful_spec many = {.replicas = 100000, .is_parallel = true, .update = "old"};
    assert_non_null(strstr(plan_of(a, many, ""), "+499 again 0/"));
}

static void pods_end_from_the_highest(void **state)
{
    struct arena *a = *state;
    IS("-3 4/4/4/4/4", "0r1r2r3r", .replicas = 1, .update = "old");
    IS("4/4/4/3/3", "0r1r2r3d", .replicas = 1, .update = "old"); /* the next when that has gone */
    IS("3/2/2/3/3", "0u1r2r", .replicas = 1, .update = "old");   /* first all that stay must be well */
    IS("-3 4/3/3/4/4", "0r1r2r3u", .replicas = 1, .update = "old");
    IS("-1 4/4/4/4/4", "0r1r5r6r", .replicas = 2, .first = 5, .update = "old"); /* below the first is surplus, too */
    IS("-0 1/1/1/1/1", "0r", .replicas = 0, .update = "old");
}

static void failed_pods_are_replaced(void **state)
{
    struct arena *a = *state;
    IS("-1 2/1/1/2/2", "0r1f", .replicas = 3, .update = "old");
    IS("-0 -2 3/1/1/3/3", "0f1r2f", .replicas = 3, .is_parallel = true, .update = "old");
}

static void an_update_goes_down_one_by_one(void **state)
{
    struct arena *a = *state;
    IS("-2 3/3/3/3/0", "0r1r2r", .replicas = 3);
    IS("3/3/3/2/0", "0r1r2d", .replicas = 3);
    IS("+2u 2/2/2/2/0", "0r1r", .replicas = 3);
    IS("3/2/2/2/1", "0r1r2U", .replicas = 3);
    IS("-1 3/3/3/2/1", "0r1r2R", .replicas = 3);
    IS("3/3/3/3/3*", "0R1R2R", .replicas = 3);
    IS("-2 3/3/3/3/0", "0r1r2r", .replicas = 3, .is_parallel = true);
}

static void a_partition_keeps_the_lower_ones(void **state)
{
    struct arena *a = *state;
    IS("-2 3/3/3/3/0", "0r1r2r", .replicas = 3, .partition = 2);
    IS("3/3/3/2/1", "0r1r2R", .replicas = 3, .partition = 2);
    IS("+1 2/2/2/1/1", "0r2R", .replicas = 3, .partition = 2); /* one below it comes back as it was */
    IS("-6 2/2/2/2/0", "5r6r", .replicas = 2, .first = 5, .partition = 1);
    IS("2/2/2/1/1", "5r6R", .replicas = 2, .first = 5, .partition = 1);
}

static void on_delete_leaves_pods_alone(void **state)
{
    struct arena *a = *state;
    IS("3/3/3/3/0", "0r1r2r", .replicas = 3, .is_on_delete = true);
    IS("+1u 2/2/2/2/0", "0r2r", .replicas = 3, .is_on_delete = true);
    IS("3/3/3/0/3", "0R1R2R", .replicas = 3, .is_on_delete = true);
}

static void a_pod_counts_when_it_has_been_ready_for_long(void **state)
{
    struct arena *a = *state;
    IS("again 1/1/0/1/1", "0m", .replicas = 2, .min_ready_ms = 5000, .update = "old");
    IS("+1 1/1/1/1/1", "0r", .replicas = 2, .min_ready_ms = 5000, .update = "old");
    IS("+1 1/1/1/1/1", "0m", .replicas = 2, .min_ready_ms = 1000, .update = "old");
}

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinals_are_read_from_names), TEST(pods_come_one_after_the_other),
        TEST(parallel_pods_come_at_once),               TEST(pods_end_from_the_highest),
        TEST(failed_pods_are_replaced),                 TEST(an_update_goes_down_one_by_one),
        TEST(a_partition_keeps_the_lower_ones),         TEST(on_delete_leaves_pods_alone),
        TEST(a_pod_counts_when_it_has_been_ready_for_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
