/* test_batch_job_plan.c - what a Job does next: one table of jobs and pods */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "jobs/batch/batch_job_plan.h"

struct setup {
    struct arena *arena;
    struct job_plan plan;
};

/* pods: one letter each: p pending, r running, s succeeded, f failed (exit 1), x failed with its node, d being deleted, g let go;
 * Indexed: numbers 0, 1, ... */
static struct job_plan plan_after(struct arena *a, const char *spec, const char *conditions, const char *pods,
                                  const struct job_history *history)
{
    struct job_history none = {0};
    struct job_plan plan;
    const char *text = arena_printf(a, "{\"metadata\":{\"name\":\"j\"},\"spec\":{%s},\"status\":{\"conditions\":[%s]}}", spec, conditions);
    struct json *job = json_parse(a, bytes_of(text), NULL, NULL);
    assert_non_null(job);
    uint32_t n = (uint32_t)strlen(pods);
    struct job_pod *records = arena_zero(a, n + 1, sizeof *records);
    const struct job_pod **list = arena_alloc(a, sizeof *list * (n + 1));
    for (uint32_t i = 0; i < n; i++) {
        enum job_pod_phase phase = pods[i] == 's'   ? JOB_POD_SUCCEEDED
                                   : pods[i] == 'f' || pods[i] == 'g' || pods[i] == 'x' ? JOB_POD_FAILED
                                   : pods[i] == 'p' ? JOB_POD_PENDING
                                                    : JOB_POD_RUNNING;
        records[i] = (struct job_pod){.ns = "d",
                                      .name = "p",
                                      .uid = "u",
                                      .phase = phase,
                                      .ready = pods[i] == 'r',
                                      .deleting = pods[i] == 'd' || pods[i] == 'g',
                                      .let_go = pods[i] == 'g',
                                      .disrupted = pods[i] == 'x',
                                      .index = (int32_t)i,
                                      .exit_code = pods[i] == 'f' ? 1 : pods[i] == 'g' ? 143 : -1,
                                      .exit_container = "c",
                                      .ended_ms = pods[i] == 'f' ? 700 : 0};
        list[i] = &records[i];
    }
    batch_job_plan(a, job, list, n, history ? history : &none, 1000, &plan);
    return plan;
}

static struct job_plan plan_of(struct arena *a, const char *spec, const char *pods, const struct job_history *history)
{
    return plan_after(a, spec, "", pods, history);
}

#define PLAIN "\"parallelism\":2,\"completions\":3,\"backoffLimit\":1"
#define INDEXED "\"parallelism\":2,\"completions\":3,\"completionMode\":\"Indexed\",\"backoffLimit\":6"

static void pods_are_created_up_to_parallelism(void **state)
{
    struct setup *s = *state;
    assert_int_equal(plan_of(s->arena, PLAIN, "", NULL).create_n, 2);
    assert_int_equal(plan_of(s->arena, PLAIN, "r", NULL).create_n, 1);
    assert_int_equal(plan_of(s->arena, PLAIN, "rp", NULL).create_n, 0);
    assert_int_equal(plan_of(s->arena, PLAIN, "ss", NULL).create_n, 1);
    assert_int_equal(plan_of(s->arena, PLAIN, "rrr", NULL).remove_n, 1);
}

/* LIMIT  a plan is bounded, whatever is asked for. */
static void pods_without_number_are_created_some_at_a_time(void **state)
{
    struct setup *s = *state;
    assert_int_equal(plan_of(s->arena, "\"parallelism\":2147483647", "", NULL).create_n, BATCH_JOB_CREATE_MAX);
    assert_int_equal(plan_of(s->arena, "\"parallelism\":2147483647,\"completions\":2147483647", "", NULL).create_n, BATCH_JOB_CREATE_MAX);
    assert_int_equal(
        plan_of(s->arena, "\"parallelism\":9223372036854775807,\"completions\":3,\"completionMode\":\"Indexed\"", "", NULL).create_n, 3);
}

static void jobs_complete_and_fail(void **state)
{
    struct setup *s = *state;
    struct job_plan done = plan_of(s->arena, PLAIN, "sss", NULL);
    assert_int_equal(done.verdict, JOB_COMPLETE);
    assert_int_equal(done.succeeded_n, 3);
    assert_int_equal(plan_of(s->arena, PLAIN, "fr", NULL).verdict, JOB_GO_ON);
    struct job_plan failed = plan_of(s->arena, PLAIN, "ffr", NULL);
    assert_int_equal(failed.verdict, JOB_FAIL);
    assert_string_equal(failed.reason, "BackoffLimitExceeded");
    assert_int_equal(failed.remove_n, 1);
    struct job_history history = {.succeeded_n = 2};
    assert_int_equal(plan_of(s->arena, PLAIN, "s", &history).verdict, JOB_COMPLETE);
}

/* WHY  what ended it was counted in a pod that is gone by now: one that was begun again too often. */
static void what_is_decided_stays_so(void **state)
{
    struct setup *s = *state;
    static const char fails[] =
        "{\"type\":\"FailureTarget\",\"status\":\"True\",\"reason\":\"BackoffLimitExceeded\",\"message\":\"Job has reached the limit\"}";
    static const char succeeds[] =
        "{\"type\":\"SuccessCriteriaMet\",\"status\":\"True\",\"reason\":\"CompletionsReached\",\"message\":\"Reached\"}";
    struct job_plan failed = plan_after(s->arena, PLAIN, fails, "r", NULL);
    assert_int_equal(failed.verdict, JOB_FAIL);
    assert_true(failed.is_decided);
    assert_string_equal(failed.reason, "BackoffLimitExceeded");
    assert_string_equal(failed.message, "Job has reached the limit");
    assert_int_equal(failed.remove_n, 1);
    assert_int_equal(failed.create_n, 0);
    assert_int_equal(plan_after(s->arena, PLAIN, fails, "sss", NULL).verdict, JOB_FAIL);
    struct job_plan done = plan_after(s->arena, PLAIN ",\"podFailurePolicy\":{\"rules\":[{\"action\":\"FailJob\",\"onExitCodes\":{"
                                      "\"operator\":\"In\",\"values\":[1]}}]}", succeeds, "f", NULL);
    assert_int_equal(done.verdict, JOB_COMPLETE);
    assert_string_equal(done.reason, "CompletionsReached");
    assert_int_equal(plan_after(s->arena, PLAIN, "{\"type\":\"FailureTarget\",\"status\":\"False\"}", "r", NULL).verdict, JOB_GO_ON);
    assert_false(plan_of(s->arena, PLAIN, "ffr", NULL).is_decided);
}

static void suspended_jobs_keep_no_pods(void **state)
{
    struct setup *s = *state;
    struct job_plan plan = plan_of(s->arena, PLAIN ",\"suspend\":true", "rp", NULL);
    assert_int_equal(plan.remove_n, 2);
    assert_int_equal(plan.create_n, 0);
}

static void pods_that_were_let_go_are_no_failures(void **state)
{
    struct setup *s = *state;
    assert_int_equal(plan_of(s->arena, PLAIN ",\"suspend\":true", "ggg", NULL).verdict, JOB_GO_ON);
    struct job_plan again = plan_of(s->arena, PLAIN, "gggf", NULL);
    assert_int_equal(again.verdict, JOB_GO_ON);
    assert_int_equal(again.failed_n, 1);
    assert_int_equal(again.create_n, 2);
    assert_int_equal(plan_of(s->arena, INDEXED, "gg", NULL).create[0].index, 0);
}

static void work_queues_end_with_the_first_success(void **state)
{
    struct setup *s = *state;
    assert_int_equal(plan_of(s->arena, "\"parallelism\":3", "srr", NULL).verdict, JOB_GO_ON);
    assert_int_equal(plan_of(s->arena, "\"parallelism\":3", "srr", NULL).create_n, 0);
    assert_int_equal(plan_of(s->arena, "\"parallelism\":3", "sss", NULL).verdict, JOB_COMPLETE);
}

static void indexed_jobs_fill_the_gaps(void **state)
{
    struct setup *s = *state;
    struct job_plan plan = plan_of(s->arena, INDEXED, "sfs", NULL);
    assert_string_equal(plan.completed_indexes, "0,2");
    assert_int_equal(plan.create_n, 1);
    assert_int_equal(plan.create[0].index, 1);
    struct job_history history = {.completed_indexes = "1"};
    assert_int_equal(plan_of(s->arena, INDEXED, "s", &history).create[0].index, 2);
}

static void a_failure_policy_decides_first(void **state)
{
    struct setup *s = *state;
    const char *rules = PLAIN
        ",\"podFailurePolicy\":{\"rules\":[{\"action\":\"%s\",\"onExitCodes\":{\"operator\":\"In\",\"values\":[1]}}]}";
    struct job_plan fail_job = plan_of(s->arena, arena_printf(s->arena, rules, "FailJob"), "fr", NULL);
    assert_int_equal(fail_job.verdict, JOB_FAIL);
    assert_string_equal(fail_job.reason, "PodFailurePolicy");
    assert_int_equal(plan_of(s->arena, arena_printf(s->arena, rules, "Ignore"), "fff", NULL).failed_n, 0);
}

#define ON_DISRUPTION(action) \
    ",\"podFailurePolicy\":{\"rules\":[{\"action\":\"FailJob\",\"onExitCodes\":{\"operator\":\"In\",\"values\":[42]}}," \
    "{\"action\":\"" action "\",\"onPodConditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\"}]}]}"

static void a_pod_whose_node_goes_is_what_its_policy_says(void **state)
{
    struct setup *s = *state;
    assert_int_equal(plan_of(s->arena, PLAIN, "xxr", NULL).verdict, JOB_FAIL);
    assert_int_equal(plan_of(s->arena, PLAIN ON_DISRUPTION("Count"), "xxr", NULL).verdict, JOB_FAIL);
    struct job_plan ignored = plan_of(s->arena, PLAIN ON_DISRUPTION("Ignore"), "xxxfr", NULL);
    assert_int_equal(ignored.verdict, JOB_GO_ON);
    assert_int_equal(ignored.failed_n, 1);
    assert_int_equal(ignored.create_n, 1);
    struct job_plan failed = plan_of(s->arena, PLAIN ON_DISRUPTION("FailJob"), "xr", NULL);
    assert_int_equal(failed.verdict, JOB_FAIL);
    assert_string_equal(failed.reason, "PodFailurePolicy");
    assert_string_equal(failed.message, "Pod d/p has condition DisruptionTarget matching FailJob rule at index 1");
}

/* What was seen of them counts when they are gone. */
static void pods_that_are_gone_have_failed_all_the_same(void **state)
{
    struct setup *s = *state;
    struct job_history of_job = {.failure = "Pod d/p has condition DisruptionTarget"};
    struct job_plan failed = plan_of(s->arena, PLAIN, "r", &of_job);
    assert_int_equal(failed.verdict, JOB_FAIL);
    assert_string_equal(failed.reason, "PodFailurePolicy");
    assert_string_equal(failed.message, of_job.failure);
    const struct job_create gone[] = {{.index = 1, .failures_n = 2, .last_failure_ms = 300}, {.index = 9, .failures_n = 9}};
    struct job_history of_indexes = {.failed_n = 2, .index_failures = gone, .index_failures_n = 2};
    const char *spec = "\"parallelism\":2,\"completions\":2,\"completionMode\":\"Indexed\",\"backoffLimitPerIndex\":";
    struct job_plan plan = plan_of(s->arena, arena_printf(s->arena, "%s2", spec), "r", &of_indexes);
    assert_int_equal(plan.create_n, 1);
    assert_int_equal(plan.create[0].failures_n, 2);
    assert_int_equal(plan.create[0].last_failure_ms, 300);
    plan = plan_of(s->arena, arena_printf(s->arena, "%s1", spec), "r", &of_indexes);
    assert_int_equal(plan.create_n, 0);
    assert_string_equal(plan.failed_indexes, "1");
}

static void backoff_per_index_fails_only_that_index(void **state)
{
    struct setup *s = *state;
    const char *spec = "\"parallelism\":3,\"completions\":3,\"completionMode\":\"Indexed\",\"backoffLimitPerIndex\":0";
    struct job_plan plan = plan_of(s->arena, spec, "fss", NULL);
    assert_int_equal(plan.verdict, JOB_FAIL);
    assert_string_equal(plan.reason, "FailedIndexes");
    assert_string_equal(plan.failed_indexes, "0");
}

static void indexes_wait_for_their_own_failures(void **state)
{
    struct setup *s = *state;
    const char *spec = "\"parallelism\":4,\"completions\":4,\"completionMode\":\"Indexed\"";
    struct job_plan plan = plan_of(s->arena, arena_printf(s->arena, "%s,\"backoffLimitPerIndex\":2", spec), "fsf", NULL);
    assert_int_equal(plan.create_n, 3);
    for (uint32_t i = 0; i < 3; i++) { /* 0 and 2 have failed once, 3 not at all */
        assert_int_equal(plan.create[i].failures_n, plan.create[i].index == 3 ? 0 : 1);
        assert_int_equal(plan.create[i].last_failure_ms, plan.create[i].index == 3 ? 0 : 700);
    }
    plan = plan_of(s->arena, arena_printf(s->arena, "%s,\"backoffLimit\":6", spec), "fsf", NULL);
    assert_int_equal(plan.create_n, 3);
    for (uint32_t i = 0; i < 3; i++) /* else the failures of all indexes count for each */
        assert_int_equal(plan.create[i].failures_n, 2);
}

static void success_policies_end_early(void **state)
{
    struct setup *s = *state;
    const char *spec = INDEXED ",\"successPolicy\":{\"rules\":[{\"succeededIndexes\":\"0\"}]}";
    struct job_plan plan = plan_of(s->arena, spec, "sr", NULL);
    assert_int_equal(plan.verdict, JOB_COMPLETE);
    assert_string_equal(plan.reason, "SuccessPolicy");
    assert_int_equal(plan.remove_n, 1);
}

static void index_lists_read_and_print(void **state)
{
    struct setup *s = *state;
    uint8_t bits[10] = {0};
    assert_true(job_indexes_parse("0-2,5,7-8", bits, 10));
    assert_string_equal(job_indexes_format(s->arena, bits, 10), "0-2,5,7,8");
    assert_false(job_indexes_parse("3-1", bits, 10));
    assert_false(job_indexes_parse("10", bits, 10));
    assert_false(job_indexes_parse("a", bits, 10));
}

static int set_up(void **state)
{
    struct setup *s = mem_zero(1, sizeof *s);
    s->arena = arena_new();
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct setup *s = *state;
    arena_free(s->arena);
    free(s);
    return 0;
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {T(pods_are_created_up_to_parallelism),
                                       T(pods_without_number_are_created_some_at_a_time),
                                       T(jobs_complete_and_fail),
                                       T(what_is_decided_stays_so),
                                       T(suspended_jobs_keep_no_pods),
                                       T(pods_that_were_let_go_are_no_failures),
                                       T(work_queues_end_with_the_first_success),
                                       T(indexed_jobs_fill_the_gaps),
                                       T(a_failure_policy_decides_first),
                                       T(a_pod_whose_node_goes_is_what_its_policy_says),
                                       T(pods_that_are_gone_have_failed_all_the_same),
                                       T(backoff_per_index_fails_only_that_index),
                                       T(indexes_wait_for_their_own_failures),
                                       T(success_policies_end_early),
                                       T(index_lists_read_and_print)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
