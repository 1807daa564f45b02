/* Policies: task before job, first match, exit codes, timeouts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../tree.h"
#include "jobs/volcano/vcjob_policy.h"

static struct vcjob_verdict ask(const char *job, const char *task, enum vcjob_event event, int32_t exit_code)
{
    struct vcjob_happened h = {event, exit_code};
    return vcjob_policy(parse(job), task ? parse(task) : NULL, &h);
}

static void test_nothing_said(void **state)
{
    (void)state;
    assert_int_equal(ask("{}", NULL, VCJOB_ON_POD_FAILED, 1).action, VCJOB_DO_SYNC);
    assert_int_equal(ask("{}", "{}", VCJOB_ON_POD_EVICTED, 0).action, VCJOB_DO_SYNC);
}

static void test_task_before_job(void **state)
{
    (void)state;
    const char *job = "{\"policies\":[{\"event\":\"PodFailed\",\"action\":\"AbortJob\"}]}";
    const char *task = "{\"policies\":[{\"event\":\"PodFailed\",\"action\":\"RestartTask\"}]}";
    assert_int_equal(ask(job, task, VCJOB_ON_POD_FAILED, 1).action, VCJOB_DO_RESTART_TASK);
    assert_int_equal(ask(job, "{}", VCJOB_ON_POD_FAILED, 1).action, VCJOB_DO_ABORT);
    assert_int_equal(ask(job, task, VCJOB_ON_POD_EVICTED, 0).action, VCJOB_DO_SYNC);
}

static void test_first_match_and_any(void **state)
{
    (void)state;
    const char *job = "{\"policies\":[{\"events\":[\"PodEvicted\",\"TaskFailed\"],\"action\":\"RestartJob\"},{"
                      "\"event\":\"*\",\"action\":\"TerminateJob\"}]}";
    assert_int_equal(ask(job, NULL, VCJOB_ON_POD_EVICTED, 0).action, VCJOB_DO_RESTART);
    assert_int_equal(ask(job, NULL, VCJOB_ON_TASK_FAILED, 0).action, VCJOB_DO_RESTART);
    assert_int_equal(ask(job, NULL, VCJOB_ON_TASK_COMPLETED, 0).action, VCJOB_DO_TERMINATE);
}

static void test_exit_code(void **state)
{
    (void)state;
    const char *job =
        "{\"policies\":[{\"exitCode\":3,\"action\":\"RestartJob\"},{\"event\":\"PodFailed\",\"action\":\"AbortJob\"}]}";
    assert_int_equal(ask(job, NULL, VCJOB_ON_POD_FAILED, 3).action, VCJOB_DO_RESTART);
    assert_int_equal(ask(job, NULL, VCJOB_ON_POD_FAILED, 4).action, VCJOB_DO_ABORT);
    assert_int_equal(ask(job, NULL, VCJOB_ON_POD_EVICTED, 3).action, VCJOB_DO_SYNC);
}

static void test_timeout(void **state)
{
    (void)state;
    const char *job = "{\"policies\":[{\"event\":\"PodPending\",\"action\":\"AbortJob\"},{\"event\":\"PodEvicted\","
                      "\"action\":\"RestartJob\",\"timeout\":\"10m\"}]}";
    assert_int_equal(ask(job, NULL, VCJOB_ON_POD_PENDING, 0).action, VCJOB_DO_SYNC); /* only "for so long" counts */
    struct vcjob_verdict v = ask(job, NULL, VCJOB_ON_POD_EVICTED, 0);
    assert_int_equal(v.action, VCJOB_DO_RESTART);
    assert_int_equal(v.delay_ms, 600000);
    const char *timed = "{\"policies\":[{\"event\":\"PodPending\",\"action\":\"RestartJob\",\"timeout\":\"30s\"}]}";
    assert_int_equal(ask(timed, NULL, VCJOB_ON_POD_PENDING, 0).delay_ms, 30000);
}

static void test_malformed(void **state)
{
    (void)state;
    assert_int_equal(
        ask("{\"policies\":[{\"event\":\"PodFailed\",\"action\":\"Explode\"}]}", NULL, VCJOB_ON_POD_FAILED, 1).action,
        VCJOB_DO_SYNC);
    assert_int_equal(ask("{\"policies\":7}", NULL, VCJOB_ON_POD_FAILED, 1).action, VCJOB_DO_SYNC);
    assert_true(vcjob_action_whole(VCJOB_DO_COMPLETE));
    assert_false(vcjob_action_whole(VCJOB_DO_RESTART_POD));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_said),
                                       cmocka_unit_test(test_task_before_job),
                                       cmocka_unit_test(test_first_match_and_any),
                                       cmocka_unit_test(test_exit_code),
                                       cmocka_unit_test(test_timeout),
                                       cmocka_unit_test(test_malformed)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
