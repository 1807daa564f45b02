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

static struct metrics_whose of(const char *queue, const char *class)
{
    return (struct metrics_whose){.queue = queue, .ns = "team", .name = "local", .class = class, .reason = "", .cause = ""};
}

static void reserve(struct metrics *m, const char *queue, const char *class, double waited_s)
{
    struct metrics_whose whose = of(queue, class);
    metrics_count(m, METRICS_RESERVED, &whose);
    metrics_time(m, METRICS_RESERVED_WAIT, &whose, waited_s);
}

static void evict(struct metrics *m, const char *queue, const char *class, const char *reason, const char *cause)
{
    struct metrics_whose whose = of(queue, class);
    whose.reason = reason;
    whose.cause = cause;
    metrics_count(m, METRICS_EVICTED, &whose);
}

static void test_counters_by_queue_and_class(void **state)
{
    struct metrics *m = *state;
    reserve(m, "a", "", 0.5);
    reserve(m, "a", "high", 3);
    reserve(m, "a", "high", 3);
    evict(m, "a", "high", "Deactivated", "AdmissionCheck");
    metrics_preempted(m, "b", "InCohortReclamation");
    metrics_cohort_admitted(m, "root", "high");
    metrics_ungated(m, "kueue.x-k8s.io/topology", "a", false, 0.02);
    metrics_ungated(m, "kueue.x-k8s.io/topology", "a", false, -3);
    page(m, false);
    HAS("kueue_pod_scheduling_gate_removal_seconds_bucket{cluster_queue=\"a\",is_group=\"false\",name=\"kueue.x-k8s.io/topology\","
        "replica_role=\"leader\",le=\"0.01\"} 1");
    HAS("kueue_pod_scheduling_gate_removal_seconds_count{cluster_queue=\"a\",is_group=\"false\",name=\"kueue.x-k8s.io/topology\","
        "replica_role=\"leader\"} 2");
    HAS("kueue_quota_reserved_workloads_total{cluster_queue=\"a\",priority_class=\"\",replica_role=\"leader\"} 1");
    HAS("kueue_quota_reserved_workloads_total{cluster_queue=\"a\",priority_class=\"high\",replica_role=\"leader\"} 2");
    HAS("kueue_evicted_workloads_total{cluster_queue=\"a\",reason=\"Deactivated\",underlying_cause=\"AdmissionCheck\","
        "priority_class=\"high\",replica_role=\"leader\"} 1");
    HAS("kueue_preempted_workloads_total{preempting_cluster_queue=\"b\",reason=\"InCohortReclamation\",replica_role=\"leader\"} 1");
    HAS("kueue_cohort_subtree_admitted_workloads_total{cohort=\"root\",priority_class=\"high\",replica_role=\"leader\"} 1");
}

/* Each is counted for the LocalQueue as well, where there is such a family. Who lacks a queue has no series of it. */
static void test_local_queues_have_series_of_their_own(void **state)
{
    struct metrics *m = *state;
    struct metrics_whose whose = of("a", "");
    reserve(m, "a", "", 1);
    metrics_count(m, METRICS_EVICTED_ONCE, &whose);
    whose.queue = "";
    metrics_count(m, METRICS_FINISHED, &whose);
    whose = of("b", "");
    whose.name = "";
    metrics_count(m, METRICS_ADMITTED, &whose);
    page(m, false);
#define LOCAL "name=\"local\",namespace=\"team\","
    HAS("kueue_local_queue_quota_reserved_workloads_total{" LOCAL "priority_class=\"\",replica_role=\"leader\"} 1");
    HAS("kueue_local_queue_quota_reserved_wait_time_seconds_count{" LOCAL "priority_class=\"\",replica_role=\"leader\"} 1");
    HAS("kueue_local_queue_finished_workloads_total{" LOCAL "priority_class=\"\",replica_role=\"leader\"} 1");
    LACKS("kueue_finished_workloads_total");
    LACKS("kueue_local_queue_admitted_workloads_total");
    LACKS("kueue_local_queue_evicted_workloads_once_total");
    metrics_forget_local_queue(m, "team", "other");
    page(m, false);
    HAS("kueue_local_queue_finished_workloads_total{" LOCAL "priority_class=\"\",replica_role=\"leader\"} 1");
    metrics_forget_local_queue(m, "team", "local");
    page(m, false);
    LACKS("kueue_local_queue");
    HAS("kueue_quota_reserved_workloads_total{cluster_queue=\"a\",priority_class=\"\",replica_role=\"leader\"} 1");
}

/* A bound counts for its bucket; what is above all bounds only for +Inf. */
static void test_buckets_hold_all_below_them(void **state)
{
    struct metrics *m = *state;
    reserve(m, "a", "", 1);
    reserve(m, "a", "", 1.5);
    reserve(m, "a", "", 20000);
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
        reserve(m, names[i], "", 1);
        evict(m, names[i], "", "Preempted", "");
        metrics_cohort_admitted(m, names[i], "");
        metrics_preempted(m, names[i], "InClusterQueue");
    }
    metrics_ungated(m, "kueue.x-k8s.io/admission", "a", true, 1);
    metrics_forget_queue(m, "a");
    metrics_forget_cohort(m, "b");
    page(m, false);
    LACKS("queue=\"a\"");
    LACKS("cohort=\"b\"");
    HAS("kueue_cohort_subtree_admitted_workloads_total{cohort=\"a-1\",priority_class=\"\",replica_role=\"leader\"} 1");
    HAS("kueue_preempted_workloads_total{preempting_cluster_queue=\"a-1\",reason=\"InClusterQueue\",replica_role=\"leader\"} 1");
    HAS("kueue_quota_reserved_workloads_total{cluster_queue=\"a\\\"\",priority_class=\"\",replica_role=\"leader\"} 1");
    reserve(m, "a", "", 1);
    page(m, false);
    HAS("kueue_quota_reserved_workloads_total{cluster_queue=\"a\",priority_class=\"\",replica_role=\"leader\"} 1");
}

static bool is_a(const void *arg, struct bytes name)
{
    (void)arg;
    return bytes_is(name, "a");
}

static void test_cohorts_that_are_gone_take_their_series_along(void **state)
{
    struct metrics *m = *state;
    static const char *const names[] = {"a", "a-1", "b"};
    for (int i = 0; i < 3; i++)
        metrics_cohort_admitted(m, names[i], "high");
    metrics_keep_cohorts(m, is_a, NULL);
    page(m, false);
    HAS("kueue_cohort_subtree_admitted_workloads_total{cohort=\"a\",priority_class=\"high\",replica_role=\"leader\"} 1");
    LACKS("cohort=\"a-1\"");
    LACKS("cohort=\"b\"");
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
        cmocka_unit_test_setup_teardown(test_local_queues_have_series_of_their_own, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cohorts_that_are_gone_take_their_series_along, setup, teardown),
        cmocka_unit_test_setup_teardown(test_buckets_hold_all_below_them, setup, teardown),
        cmocka_unit_test_setup_teardown(test_decisions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_queue_that_is_gone_takes_its_series_along, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
