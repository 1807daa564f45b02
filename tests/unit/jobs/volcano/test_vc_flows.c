/* JobFlows, JobTemplates and CronJobs of Volcano: what is made when, what they say of themselves, and what a stop in between leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "crash.h"
#include "jobs/volcano/flow/job_flow_plan.h"

#define FLOW_PATH "/apis/flow.volcano.sh/v1alpha1/namespaces/n/jobflows/f"
#define JOBS "/apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs"
#define CRON "/apis/batch.volcano.sh/v1alpha1/namespaces/n/cronjobs/c"

static const char *printed(const struct json *v)
{
    _cleanup_buf_ struct buf out;
    buf_init(&out);
    if (v)
        json_write(&out, v);
    return arena_text_n(w.a, out.data ? out.data : "", out.n);
}

/* A job of one task, whose pod runs for so long and ends with this code. */
static const char *spec(const char *seconds, int exit_code)
{
    return arena_printf(w.a,
                        "{\"schedulerName\":\"volcano\",\"queue\":\"default\",\"tasks\":[{\"name\":\"t\",\"replicas\":1,\"template\":{\"metadata\":{"
                        "\"annotations\":{\"capstan.dev/run-seconds\":\"%s\",\"capstan.dev/exit-code\":\"%d\"}},\"spec\":{\"restartPolicy\":"
                        "\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}]}",
                        seconds, exit_code);
}

static void job_template(const char *name, const char *seconds, int exit_code)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"flow.volcano.sh/v1alpha1\",\"kind\":\"JobTemplate\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"spec\":%s}",
                        name, spec(seconds, exit_code)));
}

static void job_flow(const char *policy, const char *flows)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"flow.volcano.sh/v1alpha1\",\"kind\":\"JobFlow\",\"metadata\":{\"name\":\"f\",\"namespace\":\"n\"},"
                        "\"spec\":{\"jobRetainPolicy\":\"%s\",\"flows\":[%s]}}",
                        policy, flows));
}

static const char *flow_phase(void)
{
    return json_text(json_path(get(FLOW_PATH), "status", "state", "phase", NULL), "");
}

static const char *names_of(const char *path)
{
    const char *names = "";
    JSON_EACH (item, json_get(get(path), "items"))
        names = arena_printf(w.a, "%s%s%s", names, *names ? " " : "", object_meta(item, "name"));
    return names;
}

#define AFTER(name, targets) "{\"name\":\"" name "\",\"dependsOn\":{\"targets\":[" targets "]}}"
#define DIAMOND "{\"name\":\"a\"}," AFTER("b", "\"a\"") "," AFTER("c", "\"a\"") "," AFTER("d", "\"b\",\"c\"")

static void templates(void)
{
    job_template("a", "3", 0);
    job_template("b", "3", 0);
    job_template("c", "8", 0);
    job_template("d", "3", 0);
}

static void a_flow_goes_step_by_step(void **state)
{
    (void)state;
    templates();
    job_flow("retain", DIAMOND);
    crash_run(2000);
    assert_string_equal(names_of(JOBS), "f-a");
    assert_string_equal(flow_phase(), "Running");
    const struct json *job = get(JOBS "/f-a");
    assert_string_equal(printed(json_path(job, "metadata", "labels", NULL)),
                        "{\"volcano.sh/createdByJobTemplate\":\"n.a\",\"volcano.sh/createdByJobFlow\":\"n.f\"}");
    assert_string_equal(printed(json_path(job, "metadata", "annotations", NULL)),
                        "{\"volcano.sh/createdByJobTemplate\":\"n.a\",\"volcano.sh/createdByJobFlow\":\"n.f\"}");
    assert_string_equal(object_controller(job, "kind"), "JobFlow");
    crash_run(3500);
    assert_string_equal(names_of(JOBS), "f-a f-b f-c");
    crash_run(4000);
    assert_string_equal(names_of(JOBS), "f-a f-b f-c"); /* c runs on */
    crash_run(12000);
    assert_string_equal(names_of(JOBS), "f-a f-b f-c f-d");
    assert_string_equal(flow_phase(), "Succeed");
    const struct json *status = json_get(get(FLOW_PATH), "status"), *first = json_item(json_get(status, "jobStatusList"), 0);
    assert_string_equal(printed(json_get(status, "completedJobs")), "[\"f-a\",\"f-b\",\"f-c\",\"f-d\"]");
    assert_null(json_get(status, "runningJobs"));
    assert_string_equal(json_get_text(first, "name", ""), "f-a");
    assert_string_equal(json_get_text(first, "state", ""), "Completed");
    assert_string_equal(json_get_text(first, "startTimestamp", ""), object_meta(get(JOBS "/f-a"), "creationTimestamp"));
    assert_string_equal(json_get_text(first, "endTimestamp", ""),
                        json_text(json_path(get(JOBS "/f-a"), "status", "state", "lastTransitionTime", NULL), "?"));
    const char *states = "";
    JSON_EACH (history, json_get(first, "runningHistories"))
        states = arena_printf(w.a, "%s %s", states, json_get_text(history, "state", ""));
    assert_string_equal(states, " Pending Running Completed");
    assert_string_equal(json_text(json_path(status, "conditions", "f-d", "phase", NULL), ""), "Completed");
    assert_string_equal(printed(json_path(get("/apis/flow.volcano.sh/v1alpha1/namespaces/n/jobtemplates/b"), "status", NULL)),
                        "{\"jobDependsOnList\":[\"f-b\"]}");
}

static void a_flow_that_is_done_deletes_its_jobs(void **state)
{
    (void)state;
    templates();
    job_flow("delete", DIAMOND);
    crash_run(30000);
    assert_string_equal(flow_phase(), "Succeed");
    assert_string_equal(names_of(JOBS), "");
    assert_string_equal(names_of("/api/v1/namespaces/n/pods"), "");
    assert_string_equal(printed(json_path(get(FLOW_PATH), "status", "completedJobs", NULL)), "[\"f-a\",\"f-b\",\"f-c\",\"f-d\"]");
}

static void a_flow_fails_with_its_job(void **state)
{
    (void)state;
    job_template("a", "2", 3);
    job_template("b", "2", 0);
    job_flow("retain", "{\"name\":\"a\"},{\"name\":\"b\",\"dependsOn\":{\"targets\":[\"a\"]}}");
    crash_run(10000);
    assert_string_equal(flow_phase(), "Failed");
    assert_string_equal(printed(json_path(get(FLOW_PATH), "status", "failedJobs", NULL)), "[\"f-a\"]");
    assert_string_equal(names_of(JOBS), "f-a");
    delete(FLOW_PATH);
    crash_run(20000);
    assert_string_equal(names_of(JOBS), "");
}

static void a_flow_waits_for_its_template(void **state)
{
    (void)state;
    job_flow("retain", "{\"name\":\"a\"}");
    const char *made = object_meta(get(FLOW_PATH), "resourceVersion");
    crash_run(500);
    assert_string_equal(object_meta(get(FLOW_PATH), "resourceVersion"), made); /* who created it may write it once more */
    crash_run(2500);
    assert_string_equal(flow_phase(), "Pending");
    assert_true(event_seen("TemplateMissing", "no JobTemplate of namespace n is called a: create it, and Job f-a is made"));
    job_template("a", "2", 0);
    crash_run(8000);
    assert_string_equal(flow_phase(), "Succeed");
}

/* As Volcano takes them: of one name there is one Job, and the flow comes to its end. */
static void a_name_that_is_there_twice_is_one_job(void **state)
{
    (void)state;
    templates();
    job_flow("retain", "{\"name\":\"a\"},{\"name\":\"a\"}," AFTER("b", "\"a\"") "," AFTER("c", "\"a\"") "," AFTER("c", "\"b\""));
    crash_run(4500);
    assert_string_equal(names_of(JOBS), "f-a f-b f-c"); /* c as the first of its name says */
    crash_run(20000);
    assert_string_equal(flow_phase(), "Succeed");
    const struct json *status = json_get(get(FLOW_PATH), "status");
    assert_string_equal(printed(json_get(status, "completedJobs")), "[\"f-a\",\"f-b\",\"f-c\"]");
    assert_int_equal(json_get(status, "jobStatusList")->n, 3);
}

/* Of a job that runs on: its task is Running, and that is enough. */
static void a_probe_looks_at_tasks(void **state)
{
    (void)state;
    job_template("a", "1000", 0);
    job_template("b", "2", 0);
    job_flow("retain", "{\"name\":\"a\"},{\"name\":\"b\",\"dependsOn\":{\"targets\":[\"a\"],\"probe\":{\"taskStatusList\":[{\"taskName\":\"t\","
                       "\"phase\":\"Running\"}]}}}");
    crash_run(10000);
    assert_string_equal(names_of(JOBS), "f-a f-b");
    assert_string_equal(printed(json_path(get(FLOW_PATH), "status", "runningJobs", NULL)), "[\"f-a\"]");
    assert_string_equal(printed(json_path(get(FLOW_PATH), "status", "completedJobs", NULL)), "[\"f-b\"]");
}

/* What a job leaves when it is gone by its time to live: it was completed, and stays so. */
static void what_was_completed_is_not_made_again(void **state)
{
    (void)state;
    templates();
    patch("/apis/flow.volcano.sh/v1alpha1/namespaces/n/jobtemplates/a", "{\"spec\":{\"ttlSecondsAfterFinished\":1}}");
    job_flow("retain", DIAMOND);
    crash_run(25000);
    assert_string_equal(flow_phase(), "Succeed");
    assert_string_equal(names_of(JOBS), "f-b f-c f-d");
}

static void patches_are_merged(void **state)
{
    (void)state;
    const struct json *was = json_parse(w.a,
                                        BYTES("{\"queue\":\"gpu\",\"maxRetry\":5,\"plugins\":{\"svc\":[]},\"tasks\":[{\"name\":\"a\",\"replicas\":1,"
                                              "\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i:1\",\"env\":[{\"name\":\"A\","
                                              "\"value\":\"1\"},{\"name\":\"B\",\"value\":\"2\"}],\"command\":[\"x\",\"y\"]}]}}},"
                                              "{\"name\":\"b\",\"replicas\":2}],\"volumes\":[{\"mountPath\":\"/a\",\"volumeClaimName\":\"v\"}]}"),
                                        NULL, NULL);
    const struct json *change = json_parse(w.a,
                                           BYTES("{\"queue\":\"default\",\"maxRetry\":3,\"minAvailable\":2,\"plugins\":{\"env\":[]},\"tasks\":[{\"name\":"
                                                 "\"a\",\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i:2\",\"env\":[{\"name\":"
                                                 "\"B\",\"value\":\"3\"}],\"command\":[\"z\"]},{\"name\":\"side\"}]}}},{\"name\":\"n\",\"replicas\":3}],"
                                                 "\"volumes\":[{\"mountPath\":\"/b\",\"volumeClaimName\":\"u\"}]}"),
                                           NULL, NULL);
    assert_string_equal(printed(job_flow_patched(w.a, was, change)),
                        "{\"queue\":\"gpu\",\"maxRetry\":5,\"plugins\":{\"svc\":[],\"env\":[]},\"tasks\":[{\"name\":\"a\",\"replicas\":1,\"template\":{"
                        "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i:2\",\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\","
                        "\"value\":\"3\"}],\"command\":[\"z\"]},{\"name\":\"side\"}]}}},{\"name\":\"b\",\"replicas\":2},{\"name\":\"n\","
                        "\"replicas\":3}],\"volumes\":[{\"mountPath\":\"/a\",\"volumeClaimName\":\"v\"},{\"mountPath\":\"/b\","
                        "\"volumeClaimName\":\"u\"}],\"minAvailable\":2}");
    assert_string_equal(printed(job_flow_patched(w.a, was, NULL)), printed(was));
}

/* What a controller that begins anew finds in another order is no reason to write. */
static void a_restart_writes_nothing(void **state)
{
    (void)state;
    templates();
    static const char *const flows[] = {"z", "b"};
    for (size_t i = 0; i < 2; i++) {
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"flow.volcano.sh/v1alpha1\",\"kind\":\"JobFlow\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                            "\"spec\":{\"jobRetainPolicy\":\"retain\",\"flows\":[{\"name\":\"a\"}]}}",
                            flows[i]));
        crash_run(10000);
    }
    assert_string_equal(printed(json_path(get("/apis/flow.volcano.sh/v1alpha1/namespaces/n/jobtemplates/a"), "status", NULL)),
                        "{\"jobDependsOnList\":[\"b-a\",\"z-a\"]}");
    crash.writes_n = 0;
    crash.is_down = true;
    crash_run(5000);
    assert_int_equal(crash.writes_n, 2); /* the queues root and default, which are there */
}

/* ---- CronJobs ---- */

static void cron_job(const char *more, const char *seconds)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"CronJob\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"},"
                        "\"spec\":{\"schedule\":\"* * * * *\",%s\"jobTemplate\":{\"metadata\":{\"labels\":{\"team\":\"x\"}},\"spec\":%s}}}",
                        more, spec(seconds, 0)));
}

static int jobs_n(void)
{
    return (int)json_get(get(JOBS), "items")->n;
}

static void a_cron_job_makes_jobs(void **state)
{
    (void)state;
    cron_job("\"successfulJobsHistoryLimit\":2,", "5");
    crash_run(62000);
    assert_string_equal(names_of(JOBS), "c-29453761"); /* minutes since 1970 */
    const struct json *job = get(JOBS "/c-29453761");
    assert_string_equal(printed(json_path(job, "metadata", "annotations", NULL)),
                        "{\"volcano.sh/cronjob-scheduled-timestamp\":\"2026-01-01T00:01:00Z\"}");
    assert_string_equal(printed(json_path(job, "metadata", "labels", NULL)), "{\"team\":\"x\"}");
    assert_string_equal(object_controller(job, "kind"), "CronJob");
    const struct json *status = json_get(get(CRON), "status");
    assert_string_equal(json_get_text(json_item(json_get(status, "active"), 0), "name", ""), "c-29453761");
    assert_string_equal(json_get_text(status, "lastScheduleTime", ""), "2026-01-01T00:01:00Z");
    crash_run(260000);
    assert_int_equal(jobs_n(), 2); /* finished ones that are kept */
    status = json_get(get(CRON), "status");
    assert_int_equal(json_get(status, "active")->n, 0);
    assert_true(text_starts(json_get_text(status, "lastSuccessfulTime", ""), "2026-01-01T00:05:0"));
    patch(CRON, "{\"spec\":{\"suspend\":true}}");
    crash_run(130000);
    assert_string_equal(json_text(json_path(get(CRON), "status", "lastScheduleTime", NULL), ""), "2026-01-01T00:05:00Z");
}

static void a_cron_job_in_its_time_zone(void **state)
{
    (void)state;
    cron_job("\"timeZone\":\"Nowhere/City\",", "5");
    crash_run(130000);
    assert_int_equal(jobs_n(), 0);
    assert_true(event_seen("InvalidTimeZone", "unknown time zone Nowhere/City: there is no file /usr/share/zoneinfo/Nowhere/City; no job is "
                                              "made before spec.timeZone is changed"));
    patch(CRON, "{\"spec\":{\"timeZone\":\"UTC\"}}");
    crash_run(130000);
    assert_true(jobs_n() > 0);
}

/* Suspended since 1970, with all the time in the world to catch up: the last minute counts, and is found at once. */
static void a_cron_job_that_missed_much(void **state)
{
    (void)state;
    cron_job("\"suspend\":true,\"startingDeadlineSeconds\":9223372036854775807,", "5");
    patch(CRON "/status", "{\"status\":{\"lastScheduleTime\":\"1970-01-01T00:00:00Z\"}}");
    patch(CRON, "{\"spec\":{\"suspend\":false}}");
    crash_run(10000);
    assert_string_equal(names_of(JOBS), "c-29453760");
    assert_string_equal(json_text(json_path(get(CRON), "status", "lastScheduleTime", NULL), ""), "2026-01-01T00:00:00Z");
}

static void concurrency_policies(void **state)
{
    (void)state;
    cron_job("\"concurrencyPolicy\":\"Forbid\",", "90");
    crash_run(125000);
    assert_string_equal(names_of(JOBS), "c-29453761");
    crash_run(60000); /* the one of minute 2 is made up for */
    assert_string_equal(names_of(JOBS), "c-29453761 c-29453762");
    patch(CRON, "{\"spec\":{\"concurrencyPolicy\":\"Replace\"}}");
    crash_run(60000);
    assert_string_equal(names_of(JOBS), "c-29453761 c-29453764");
}

/* ---- stopped anywhere ---- */

static void flow_succeeds(void)
{
    templates();
    job_flow("delete", DIAMOND);
    crash_run(45000);
    assert_string_equal(flow_phase(), "Succeed");
    assert_string_equal(names_of(JOBS), "");
    assert_string_equal(names_of("/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups"), "");
}

static void a_flow_stopped_anywhere(void **state)
{
    (void)state;
    crash_everywhere(flow_succeeds, 90);
}

static void cron_runs_twice(void)
{
    cron_job("\"successfulJobsHistoryLimit\":1,", "5");
    crash_run(150000);
    assert_string_equal(names_of(JOBS), "c-29453762");
    assert_string_equal(json_text(json_path(get(CRON), "status", "lastScheduleTime", NULL), ""), "2026-01-01T00:02:00Z");
}

static void a_cron_job_stopped_anywhere(void **state)
{
    (void)state;
    crash_everywhere(cron_runs_twice, 60);
}

#define FLOW(test) cmocka_unit_test_setup_teardown(test, crash_setup, crash_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {FLOW(a_flow_goes_step_by_step),      FLOW(a_flow_that_is_done_deletes_its_jobs),
                                       FLOW(a_flow_fails_with_its_job),     FLOW(a_flow_waits_for_its_template),
                                       FLOW(a_name_that_is_there_twice_is_one_job),
                                       FLOW(a_probe_looks_at_tasks),        FLOW(what_was_completed_is_not_made_again),
                                       FLOW(patches_are_merged),            FLOW(a_cron_job_makes_jobs),
                                       FLOW(a_cron_job_in_its_time_zone),   FLOW(concurrency_policies),
                                       FLOW(a_cron_job_that_missed_much),   FLOW(a_restart_writes_nothing),
                                       cmocka_unit_test(a_flow_stopped_anywhere),
                                       cmocka_unit_test(a_cron_job_stopped_anywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
