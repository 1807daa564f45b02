/* Every row of the Volcano Job state machine, and that nothing else moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "jobs/volcano/vcjob_state.h"
#include "jobs/volcano/vcjob_status.h"

struct row {
    struct vcjob_view view;
    enum vcjob_action action;
    enum vcjob_phase next;
    bool retry, whole;
};

static void check(const struct row *row)
{
    struct vcjob_step step = vcjob_state_next(&row->view, row->action);
    assert_string_equal(vcjob_phase_name(step.next), vcjob_phase_name(row->next));
    assert_int_equal(step.retry, row->retry);
    assert_int_equal(step.whole, row->whole);
    assert_int_equal(step.kill, vcjob_phase_kill(row->next));
}

#define VIEW(p, ...)                                                                                                   \
    {                                                                                                                  \
        .phase = VCJOB_##p, .replicas = 4, .min_available = 4, .max_retry = 3, __VA_ARGS__                             \
    }

static void test_actions(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {VIEW(PENDING), VCJOB_DO_RESTART, VCJOB_RESTARTING, true, true},
        {VIEW(RUNNING), VCJOB_DO_RESTART, VCJOB_RESTARTING, true, true},
        {VIEW(RUNNING), VCJOB_DO_RESTART_TASK, VCJOB_RESTARTING, true, false},
        {VIEW(RUNNING), VCJOB_DO_RESTART_POD, VCJOB_RESTARTING, true, false},
        {VIEW(RUNNING), VCJOB_DO_RESTART_PARTITION, VCJOB_RESTARTING, true, false},
        {VIEW(PENDING), VCJOB_DO_RESTART_TASK, VCJOB_RESTARTING, true, false},
        {VIEW(PENDING), VCJOB_DO_RESTART_POD, VCJOB_RESTARTING, true, false},
        {VIEW(PENDING), VCJOB_DO_RESTART_PARTITION, VCJOB_RESTARTING, true, false},
        {VIEW(PENDING), VCJOB_DO_TERMINATE, VCJOB_TERMINATING, false, true},
        {VIEW(PENDING), VCJOB_DO_ABORT, VCJOB_ABORTING, false, true},
        {VIEW(RUNNING), VCJOB_DO_ABORT, VCJOB_ABORTING, false, true},
        {VIEW(RUNNING), VCJOB_DO_TERMINATE, VCJOB_TERMINATING, false, true},
        {VIEW(PENDING), VCJOB_DO_COMPLETE, VCJOB_COMPLETING, false, true},
        {VIEW(RUNNING), VCJOB_DO_COMPLETE, VCJOB_COMPLETING, false, true},
        {VIEW(ABORTED), VCJOB_DO_RESUME, VCJOB_RESTARTING, true, true},
        {VIEW(ABORTING), VCJOB_DO_RESUME, VCJOB_RESTARTING, true, true},
        /* and where they do nothing */
        {VIEW(RUNNING), VCJOB_DO_RESUME, VCJOB_RUNNING, false, false},
        {VIEW(RESTARTING), VCJOB_DO_RESTART, VCJOB_RESTARTING, false, false},
        {VIEW(ABORTED), VCJOB_DO_RESTART, VCJOB_ABORTED, false, false},
        {VIEW(COMPLETED), VCJOB_DO_RESTART, VCJOB_COMPLETED, false, false},
        {VIEW(FAILED), VCJOB_DO_ABORT, VCJOB_FAILED, false, false},
        {VIEW(TERMINATED), VCJOB_DO_RESUME, VCJOB_TERMINATED, false, false},
        {VIEW(COMPLETING), VCJOB_DO_TERMINATE, VCJOB_COMPLETING, false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(&rows[i]);
}

static void test_sync(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {VIEW(PENDING, .running_n = 3), VCJOB_DO_SYNC, VCJOB_PENDING, false, false},
        {VIEW(PENDING, .running_n = 4), VCJOB_DO_SYNC, VCJOB_RUNNING, false, false},
        {VIEW(PENDING, .running_n = 2, .succeeded_n = 1, .failed_n = 1), VCJOB_DO_SYNC, VCJOB_RUNNING, false, false},
        {VIEW(RUNNING, .running_n = 4), VCJOB_DO_SYNC, VCJOB_RUNNING, false, false},
        {VIEW(RUNNING, .running_n = 2, .succeeded_n = 2, .min_success = 2), VCJOB_DO_SYNC, VCJOB_COMPLETED, false,
         false},
        {VIEW(RUNNING, .succeeded_n = 4), VCJOB_DO_SYNC, VCJOB_COMPLETED, false, false},
        {VIEW(RUNNING, .succeeded_n = 3, .failed_n = 1), VCJOB_DO_SYNC, VCJOB_FAILED, false, false},
        {VIEW(RUNNING, .succeeded_n = 1, .failed_n = 3, .min_success = 2), VCJOB_DO_SYNC, VCJOB_FAILED, false, false},
        {VIEW(RUNNING, .running_n = 3, .pending_n = 1), VCJOB_DO_SYNC, VCJOB_PENDING, false, false},
        {VIEW(RESTARTING, .retry_count = 3), VCJOB_DO_SYNC, VCJOB_FAILED, false, false},
        {VIEW(RESTARTING, .retry_count = 1, .terminating_n = 1), VCJOB_DO_SYNC, VCJOB_RESTARTING, false, false},
        {VIEW(RESTARTING, .retry_count = 2), VCJOB_DO_SYNC, VCJOB_PENDING, false, false},
        {VIEW(ABORTING, .terminating_n = 1), VCJOB_DO_SYNC, VCJOB_ABORTING, false, false},
        {VIEW(ABORTING, .succeeded_n = 1), VCJOB_DO_SYNC, VCJOB_ABORTED, false, false},
        {VIEW(TERMINATING), VCJOB_DO_SYNC, VCJOB_TERMINATED, false, false},
        {VIEW(COMPLETING, .running_n = 1), VCJOB_DO_SYNC, VCJOB_COMPLETING, false, false},
        {VIEW(COMPLETING, .succeeded_n = 1), VCJOB_DO_SYNC, VCJOB_COMPLETED, false, false},
        {VIEW(ABORTED), VCJOB_DO_SYNC, VCJOB_ABORTED, false, false},
        {VIEW(COMPLETED), VCJOB_DO_SYNC, VCJOB_COMPLETED, false, false},
        {VIEW(TERMINATED), VCJOB_DO_SYNC, VCJOB_TERMINATED, false, false},
        {VIEW(FAILED), VCJOB_DO_SYNC, VCJOB_FAILED, false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(&rows[i]);
}

/* Fewer needed than there are: minAvailable 2 of 4. */
static void test_elastic(void **state)
{
    (void)state;
    struct vcjob_view v = {.phase = VCJOB_RUNNING,
                           .replicas = 4,
                           .min_available = 2,
                           .max_retry = 3,
                           .running_n = 2,
                           .pending_n = 2,
                           .tasks_n = 1};
    v.tasks[0].min_available = 4;
    assert_int_equal(vcjob_state_next(&v, VCJOB_DO_SYNC).next, VCJOB_RUNNING);
    v.running_n = 1;
    v.pending_n = 3;
    assert_int_equal(vcjob_state_next(&v, VCJOB_DO_SYNC).next, VCJOB_PENDING);
    v = (struct vcjob_view){
        .phase = VCJOB_RUNNING, .replicas = 4, .min_available = 2, .succeeded_n = 2, .failed_n = 2, .tasks_n = 1};
    v.tasks[0].min_available = 4; /* the job asks for less than its tasks: only its own minimum counts */
    assert_int_equal(vcjob_state_next(&v, VCJOB_DO_SYNC).next, VCJOB_COMPLETED);
    v.tasks[0].min_available = 2;
    v.tasks[0].succeeded_n = 1;
    assert_int_equal(vcjob_state_next(&v, VCJOB_DO_SYNC).next, VCJOB_FAILED);
}

static void test_scaled_to_nothing(void **state)
{
    (void)state;
    struct vcjob_view v = {.phase = VCJOB_RUNNING, .max_retry = 3};
    assert_int_equal(vcjob_state_next(&v, VCJOB_DO_SYNC).next, VCJOB_RUNNING);
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < VCJOB_PHASES_N; i++)
        assert_int_equal(vcjob_phase_of(vcjob_phase_name((enum vcjob_phase)i)), i);
    assert_int_equal(vcjob_phase_of(""), VCJOB_PENDING);
    assert_int_equal(vcjob_phase_of(NULL), VCJOB_PENDING);
    enum vcjob_action action;
    for (int i = 0; i < VCJOB_ACTIONS_N; i++) {
        assert_true(vcjob_action_of(vcjob_action_name((enum vcjob_action)i), &action));
        assert_int_equal(action, i);
    }
    assert_false(vcjob_action_of("Restart", &action));
    assert_int_equal(vcjob_phase_kill(VCJOB_RESTARTING), VCJOB_KILL_HARD);
    assert_int_equal(vcjob_phase_kill(VCJOB_COMPLETING), VCJOB_KILL_SOFT);
    assert_int_equal(vcjob_phase_kill(VCJOB_RUNNING), VCJOB_KILL_NONE);
}

#define POD_HEAD "{\"metadata\":{\"name\":\"j-w-0\",\"uid\":\"u1\",\"labels\":{\"volcano.sh/job-name\":\"j\"}," \
                 "\"ownerReferences\":[{\"kind\":\"Job\",\"uid\":\"o\",\"controller\":true}]"

/* A pod that was bound is as before to its Job; one that runs, is ready, goes, or is another one is not. */
static void test_news(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool same;
    } rows[] = {
        {POD_HEAD "},\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\"}]}}", true},
        {POD_HEAD "},\"status\":{\"phase\":\"Running\"}}", false},
        {POD_HEAD "},\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}", false},
        {POD_HEAD ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"status\":{\"phase\":\"Pending\"}}", false},
        {POD_HEAD ",\"annotations\":{\"volcano.sh/job-version\":\"1\"}},\"status\":{\"phase\":\"Pending\"}}", false},
        {POD_HEAD "},\"status\":{\"phase\":\"Pending\",\"containerStatuses\":[{\"restartCount\":1}]}}", false},
    };
    _cleanup_arena_ struct arena *a = arena_new();
    struct vcjob_pod *first = vcjob_pod_read(json_parse(a, bytes_of(POD_HEAD "},\"status\":{\"phase\":\"Pending\"}}"), NULL, NULL), 1);
    assert_non_null(first);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct vcjob_pod *p = vcjob_pod_read(json_parse(a, bytes_of(rows[i].text), NULL, NULL), 2);
        assert_non_null(p);
        assert_int_equal(vcjob_pod_is_as(p, first), rows[i].same);
        vcjob_pod_free(p);
    }
    vcjob_pod_free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_actions), cmocka_unit_test(test_sync),
                                       cmocka_unit_test(test_elastic), cmocka_unit_test(test_scaled_to_nothing),
                                       cmocka_unit_test(test_names), cmocka_unit_test(test_news)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
