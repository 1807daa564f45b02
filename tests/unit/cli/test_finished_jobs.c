/* Jobs that are over, out of records of pods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/history/finished_jobs.h"
#include "cli/history/usage_read.h"

static struct usage_record record(const char *ns, const char *job, const char *pod, double start_s, double end_s)
{
    return (struct usage_record){.ns = ns, .job = job, .pod = pod, .uid = pod, .queue = "", .user = "", .node = "n", .start_s = start_s,
                                 .end_s = end_s, .queue_wait_s = -1, .allocated_s = 3600, .active_s = 1800};
}

static void jobs_of_pods(void **state)
{
    struct usage_record r[] = {record("a", "train", "train-0", 100, 200), record("a", "train", "train-1", 90, 300),
                               record("b", "train", "train-0", 100, 400), record("a", "runs", "runs-0", 100, 150),
                               record("a", "runs", "runs-1", 100, 0),     record("a", "", "lone", 100, 250),
                               record("a", "old", "old-0", 1, 99)};
    struct finished_job *jobs;
    _cleanup_arena_ struct arena *a = arena_new();
    (void)state;
    r[1].queue_wait_s = 7;
    r[1].queue = "day";
    r[1].node = "m";
    assert_int_equal(finished_jobs(a, r, 0, 0, 1000, &jobs), 0);
    assert_int_equal(finished_jobs(a, r, 7, 100, 1000, &jobs), 3); /* one runs yet, one ended before */
    assert_true(strcmp(jobs[0].ns, "b") == 0 && jobs[0].pods_n == 1 && jobs[0].wait_s < 0);
    assert_true(strcmp(jobs[1].name, "train") == 0 && jobs[1].pods_n == 2 && jobs[1].wait_s > 6.9 && strcmp(jobs[1].queue, "day") == 0);
    assert_true(jobs[1].start_s < 91 && jobs[1].end_s > 299 && jobs[1].allocated_h > 1.99 && jobs[1].active_h < 1.01);
    assert_true(json_get(jobs[1].nodes, "n") && json_get(jobs[1].nodes, "m"));
    assert_true(jobs[2].is_pod && strcmp(jobs[2].name, "lone") == 0);
}

static void since_when(void **state)
{
    static const char *const wrong[] = {"", "x", "7", "-7d", "7y", "2026-13-01", "99999w", "1e9d", "nan"};
    double s;
    (void)state;
    assert_true(usage_when("7d", 1e6 * 86400, &s) && s > (1e6 - 7.1) * 86400 && s < (1e6 - 6.9) * 86400);
    assert_true(usage_when("2026-01-31", 0, &s) && s > 1769817599 && s < 1769817601);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(usage_when(wrong[i], 1e9, &s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(jobs_of_pods), cmocka_unit_test(since_when)};
    return cmocka_run_group_tests_name("cli/finished_jobs", tests, NULL, NULL);
}
