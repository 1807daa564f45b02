/* What the scheduler counts, as it is written for Prometheus. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "sched/figures/metrics.h"

static struct buf text;

static void page(const struct metrics *m, bool openmetrics)
{
    struct prometheus_page p;
    buf_clear(&text);
    prometheus_begin(&p, &text, openmetrics);
    metrics_write(m, &p, "leader");
    prometheus_end(&p);
    buf_char(&text, '\0');
}

#define HAS(line) assert_non_null(strstr(text.data, line "\n"))
#define LACKS(part) assert_null(strstr(text.data, part))

static void test_counters_by_queue_and_class(void **state)
{
    struct metrics *m = *state;
    metrics_reserved(m, "a", "", 0.5);
    metrics_reserved(m, "a", "high", 3);
    metrics_reserved(m, "a", "high", 3);
    metrics_admitted(m, "a", "high", 3);
    metrics_evicted(m, "a", "high", "Preempted");
    metrics_preempted(m, "b", "InCohortReclamation");
    page(m, false);
    HAS("kueue_quota_reserved_workloads_total{cluster_queue=\"a\",priority_class=\"\",replica_role=\"leader\"} 1");
    HAS("kueue_quota_reserved_workloads_total{cluster_queue=\"a\",priority_class=\"high\",replica_role=\"leader\"} 2");
    HAS("kueue_admitted_workloads_total{cluster_queue=\"a\",priority_class=\"high\",replica_role=\"leader\"} 1");
    HAS("kueue_evicted_workloads_total{cluster_queue=\"a\",reason=\"Preempted\",underlying_cause=\"\",priority_class=\"high\","
        "replica_role=\"leader\"} 1");
    HAS("kueue_preempted_workloads_total{preempting_cluster_queue=\"b\",reason=\"InCohortReclamation\",replica_role=\"leader\"} 1");
}

/* A bound counts for its bucket; what is above all bounds only for +Inf. */
static void test_buckets_hold_all_below_them(void **state)
{
    struct metrics *m = *state;
    metrics_reserved(m, "a", "", 1);
    metrics_reserved(m, "a", "", 1.5);
    metrics_reserved(m, "a", "", 20000);
    page(m, false);
#define BUCKET(le, n) HAS("kueue_quota_reserved_wait_time_seconds_bucket{cluster_queue=\"a\",priority_class=\"\",replica_role=\"leader\",le=\"" le "\"} " n)
    BUCKET("1", "1");
    BUCKET("2.5", "2");
    BUCKET("10240", "2");
    BUCKET("+Inf", "3");
    HAS("kueue_quota_reserved_wait_time_seconds_sum{cluster_queue=\"a\",priority_class=\"\",replica_role=\"leader\"} 20002.5");
    HAS("kueue_quota_reserved_wait_time_seconds_count{cluster_queue=\"a\",priority_class=\"\",replica_role=\"leader\"} 3");
    LACKS("kueue_admission_wait_time_seconds");
}

static void test_decisions(void **state)
{
    struct metrics *m = *state;
    page(m, false);
    HAS("kueue_admission_attempts_total{result=\"success\",replica_role=\"leader\"} 0");
    metrics_decided(m, 0.00002, true);
    metrics_decided(m, 0.2, false);
    page(m, true);
    HAS("kueue_admission_attempts_total{result=\"success\",replica_role=\"leader\"} 1");
    HAS("kueue_admission_attempt_duration_seconds_bucket{result=\"success\",replica_role=\"leader\",le=\"0.0001\"} 1");
    HAS("kueue_admission_attempt_duration_seconds_bucket{result=\"inadmissible\",replica_role=\"leader\",le=\"0.1\"} 0");
    HAS("kueue_admission_attempt_duration_seconds_bucket{result=\"inadmissible\",replica_role=\"leader\",le=\"0.25\"} 1");
    HAS("# EOF");
}

/* Its series would stay for ever; those of a queue whose name only begins like it do. */
static void test_queue_that_is_gone_takes_its_series_along(void **state)
{
    struct metrics *m = *state;
    const char *names[] = {"a", "a-1", "a\"", "b"};
    for (int i = 0; i < 4; i++) {
        metrics_reserved(m, names[i], "", 1);
        metrics_evicted(m, names[i], "", "Preempted");
        metrics_preempted(m, names[i], "InClusterQueue");
    }
    metrics_forget_queue(m, "a");
    page(m, false);
    LACKS("queue=\"a\"");
    HAS("kueue_preempted_workloads_total{preempting_cluster_queue=\"a-1\",reason=\"InClusterQueue\",replica_role=\"leader\"} 1");
    HAS("kueue_quota_reserved_workloads_total{cluster_queue=\"a\\\"\",priority_class=\"\",replica_role=\"leader\"} 1");
    metrics_reserved(m, "a", "", 1);
    page(m, false);
    HAS("kueue_quota_reserved_workloads_total{cluster_queue=\"a\",priority_class=\"\",replica_role=\"leader\"} 1");
}

static int setup(void **state)
{
    *state = metrics_new();
    return 0;
}

static int teardown(void **state)
{
    metrics_free(*state);
    buf_free(&text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_counters_by_queue_and_class, setup, teardown),
        cmocka_unit_test_setup_teardown(test_buckets_hold_all_below_them, setup, teardown),
        cmocka_unit_test_setup_teardown(test_decisions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_queue_that_is_gone_takes_its_series_along, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
