/* Lives of Volcano Jobs in a whole cluster: partitions that restart, actions that wait, jobs that are refused, pods of two owners. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include "vcjob_words.h"

static void a_partition_restarts_by_itself(void **state)
{
    (void)state;
    vcjob("p", "\"policies\":[{\"event\":\"PodEvicted\",\"action\":\"RestartPartition\"}],",
          arena_printf(w.a, "%s,%s", task("w", 4, "1000", 0, "\"partitionPolicy\":{\"totalPartitions\":2,\"partitionSize\":2},"),
                       task("m", 1, "1000", 0, "")));
    run(3000);
    assert_string_equal(state_of(JOB("p")), "Running 5 0 0");
    assert_string_equal(object_label(get(POD("p-w-3")), "volcano.sh/partition-id"), "1");
    const char *first = uid(POD("p-w-0")), *third = uid(POD("p-w-2")), *master = uid(POD("p-m-0"));
    evict(POD("p-w-3"));
    run(5000);
    assert_string_equal(state_of(JOB("p")), "Running 5 1 0"); /* counts as a retry; the PodGroup stays, so no new version */
    assert_string_equal(uid(POD("p-w-0")), first);
    assert_string_equal(uid(POD("p-m-0")), master);
    assert_string_not_equal(uid(POD("p-w-2")), third);
    evict(POD("p-m-0")); /* of no partition: nothing is restarted, it is made again */
    run(5000);
    assert_string_equal(state_of(JOB("p")), "Running 5 1 0");
    assert_string_not_equal(uid(POD("p-m-0")), master);
}

/* What is written with the phase says how many pods go for it: clients wait for that (Volcano's own suites do). */
static bool restarts_with_pods_that_go, aborts_with_pods_that_go;

static bool looks_at_status(struct http_exchange *x)
{
    if (strcmp(x->request.method, "PATCH") != 0 || !text_ends(x->request.path, "/jobs/r/status"))
        return false;
    const struct json *status = json_get(json_parse(w.a, x->request.body, NULL, NULL), "status");
    const char *phase = json_text(json_path(status, "state", "phase", NULL), "");
    restarts_with_pods_that_go |= strcmp(phase, "Restarting") == 0 && json_get_int64(status, "terminating", 0) == 1;
    aborts_with_pods_that_go |= strcmp(phase, "Aborting") == 0 && json_get_int64(status, "terminating", 0) == 2;
    return false;
}

static void a_phase_tells_the_pods_that_go(void **state)
{
    (void)state;
    w.takes = looks_at_status;
    vcjob("r", "\"policies\":[{\"event\":\"PodFailed\",\"action\":\"RestartPod\"},{\"event\":\"PodEvicted\",\"action\":\"AbortJob\"}],",
          arena_printf(w.a, "%s,%s", task("w", 2, "1000", 0, ""), task("fails", 1, "10", 1, "")));
    run(14000);
    assert_true(restarts_with_pods_that_go);
    assert_string_equal(state_of(JOB("r")), "Running 3 1 0");
    evict(POD("r-w-0"));
    run(5000);
    assert_string_equal(state_of(JOB("r")), "Aborted 0 1 1");
    assert_true(aborts_with_pods_that_go);
    w.takes = NULL;
}

static void an_eviction_waits_for_its_timeout(void **state)
{
    (void)state;
    vcjob("late", "\"policies\":[{\"event\":\"PodEvicted\",\"action\":\"AbortJob\",\"timeout\":\"30s\"}],", task("w", 2, "1000", 0, ""));
    run(60000); /* longer than the timeout: that counts from the deletion */
    evict(POD("late-w-1"));
    run(5000);
    assert_string_equal(state_of(JOB("late")), "Running 2 0 0");
    run(60000); /* the pod that came in its place runs: nothing happens any more */
    assert_string_equal(state_of(JOB("late")), "Running 2 0 0");
}

static const char *task_on(const char *name, const char *on)
{
    return arena_printf(w.a,
                        "{\"name\":\"%s\",\"replicas\":1,\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":"
                        "\"1000\"}},\"spec\":{\"restartPolicy\":\"Never\",\"nodeSelector\":{\"kubernetes.io/hostname\":\"%s\"},"
                        "\"containers\":[{"
                        "\"name\":\"c\",\"image\":\"i\"}]}}}",
                        name, on);
}

#define EITHER "\"policies\":[{\"event\":\"PodFailed\",\"action\":\"TerminateJob\"},{\"event\":\"PodEvicted\",\"action\":\"AbortJob\"}],"
#define ONE "\"policies\":[{\"event\":\"PodEvicted\",\"action\":\"AbortJob\"}],"

/* SOURCE Volcano: a pod whose node is removed fails, and then it is gone, which are two events: the first that has a policy is answered. */
static void a_pod_of_a_removed_node_has_failed(void **state)
{
    (void)state;
    const char *tasks = arena_printf(w.a, "%s,%s", task_on("a", "n1"), task_on("b", "n2"));
    vcjob("either", EITHER, tasks);
    vcjob("evicted", ONE, tasks);
    run(3000);
    assert_string_equal(state_of(JOB("either")), "Running 2 0 0");
    delete("/api/v1/nodes/n1");
    run(10000);
    assert_true(text_starts(state_of(JOB("either")), "Terminated "));
    assert_true(text_starts(state_of(JOB("evicted")), "Aborted "));
}

/* No pass of the job stands between. */
static void also_one_that_nobody_saw_fail(void **state)
{
    (void)state;
    vcjob("either", EITHER, task("a", 2, "1000", 0, ""));
    vcjob("evicted", ONE, task("a", 2, "1000", 0, ""));
    run(3000);
    kube_patch(w.client, KUBE_PATCH_MERGE, POD("either-a-0") "/status", BYTES("{\"status\":{\"phase\":\"Failed\"}}"), NULL, NULL);
    evict(POD("either-a-0"));
    evict(POD("evicted-a-0"));
    run(10000);
    assert_true(text_starts(state_of(JOB("either")), "Terminated "));
    assert_true(text_starts(state_of(JOB("evicted")), "Aborted "));
}

static void what_does_not_come_back_is_answered_in_time(void **state)
{
    (void)state;
    vcjob("gone", "\"policies\":[{\"event\":\"PodEvicted\",\"action\":\"AbortJob\",\"timeout\":\"30s\"}],", task("w", 2, "1000", 0, ""));
    run(40000);
    for (int i = 1; i <= 2; i++)
        patch(arena_printf(w.a, "/api/v1/nodes/n%d", i), "{\"spec\":{\"unschedulable\":true}}");
    evict(POD("gone-w-1"));
    run(25000);
    assert_string_equal(state_of(JOB("gone")), "Pending 1 0 0");
    run(10000);
    assert_string_equal(state_of(JOB("gone")), "Aborted 0 0 1");
}

static bool keeps_phases(struct http_exchange *x)
{
    if (strcmp(x->request.method, "PATCH") != 0 || !text_ends(x->request.path, "/jobs/short/status"))
        return false;
    http_reply_text(x, 503, "text/plain", "not now");
    return true;
}

/* Once it can be written that it runs its pods have ended, and nothing that comes later tells of that. */
static void a_job_whose_pods_have_ended_by_its_start_is_completed(void **state)
{
    (void)state;
    w.takes = keeps_phases;
    vcjob("short", "", task("w", 2, "1", 0, ""));
    run(10000);
    assert_string_equal(state_of(JOB("short")), " 0 0 0");
    w.takes = NULL;
    run(60000);
    assert_string_equal(state_of(JOB("short")), "Completed 0 0 0");
}

/* What else there is to do is done in the pass that writes that it runs. */
static void a_job_that_is_changed_before_its_start_follows(void **state)
{
    (void)state;
    w.takes = keeps_phases;
    vcjob("short", "\"minAvailable\":1,", task("w", 2, "1000", 0, ""));
    run(10000);
    patch(JOB("short"), arena_printf(w.a, "{\"spec\":{\"tasks\":[%s]}}", task("w", 3, "1000", 0, "")));
    run(10);
    w.takes = NULL;
    run(60000);
    assert_string_equal(state_of(JOB("short")), "Running 3 0 0");
}

static void an_update_is_answered_once(void **state)
{
    (void)state;
    vcjob("u", "\"policies\":[{\"event\":\"JobUpdated\",\"action\":\"RestartJob\",\"timeout\":\"10s\"}],", task("w", 2, "1000", 0, ""));
    run(3000);
    patch(JOB("u"), "{\"spec\":{\"minAvailable\":1}}");
    run(5000);
    assert_string_equal(state_of(JOB("u")), "Running 2 0 0");
    run(10000);
    assert_string_equal(state_of(JOB("u")), "Running 2 1 1");
    run(30000);
    assert_string_equal(state_of(JOB("u")), "Running 2 1 1");
}

static int64_t members_of_group(const char *path)
{
    return json_int64(json_path(get(path), "spec", "minMember", NULL), 0);
}

/* Whoever changed which, and whatever of both was looked at before; and one that goes is made again. */
static void a_group_follows_its_job(void **state)
{
    (void)state;
    vcjob("g", "", task("w", 3, "1000", 0, ""));
    run(3000);
    const char *group = arena_printf(w.a, "/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups/g-%s", uid(JOB("g")));
    assert_int_equal(members_of_group(group), 3);
    patch(JOB("g"), "{\"spec\":{\"minAvailable\":2}}");
    run(3000);
    assert_int_equal(members_of_group(group), 2);
    for (int i = 4; i < 6; i++) {
        patch(group, arena_printf(w.a, "{\"spec\":{\"minMember\":%d}}", i));
        run(3000);
        assert_int_equal(members_of_group(group), 2);
    }
    const char *first = uid(group);
    kube_delete(w.client, group, (struct bytes){0}, NULL, NULL);
    run(3000);
    assert_string_not_equal(uid(group), first);
    assert_int_equal(members_of_group(group), 2);
}

/* What it was made from is no longer what the job says, or it is not as it was made, before it is looked at. */
static void a_group_that_is_new_follows_its_job(void **state)
{
    (void)state;
    for (int ms = 0; ms < 60; ms += 3) {
        const char *name = arena_printf(w.a, "e%d", ms), *job = arena_printf(w.a, JOB("%s"), name);
        vcjob(name, "", task("w", 3, "1000", 0, ""));
        run(ms);
        const char *group = arena_printf(w.a, "/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups/%s-%s", name, uid(job));
        patch(ms % 2 ? job : group, ms % 2 ? "{\"spec\":{\"minAvailable\":2}}" : "{\"spec\":{\"minMember\":7}}");
        run(3000);
        assert_int_equal(members_of_group(group), ms % 2 ? 2 : 3);
        evict(job);
        run(1000);
    }
}

static char group_phases[200];

static bool counts_groups(struct http_exchange *x)
{
    if (strcmp(x->request.method, "PATCH") != 0 || !strstr(x->request.path, "/podgroups/"))
        return false;
    const struct json *status = json_get(json_parse(w.a, x->request.body, NULL, NULL), "status");
    size_t n = strlen(group_phases);
    snprintf(group_phases + n, sizeof group_phases - n, "%s:%lld ", json_get_text(status, "phase", ""),
             (long long)json_get_int64(status, "running", 0));
    return false;
}

static void phases_of_group(const char *name, const char *annotation, int64_t ms, const char *expect)
{
    group_phases[0] = '\0';
    w.takes = counts_groups;
    vcjob(name, "",
          arena_printf(w.a,
                       "{\"name\":\"w\",\"replicas\":2,\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"4\"%s}},"
                       "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}",
                       annotation));
    run(ms);
    w.takes = NULL;
    assert_string_equal(group_phases, expect);
}

/* What follows within a second is one write: pods that run at once, and the end of a group that its job takes away. */
static void a_group_is_not_written_twice_in_a_second(void **state)
{
    (void)state;
    phases_of_group("quick", "", 20000, "Inqueue:0 Running:2 ");
    phases_of_group("slow", ",\"capstan.dev/start-seconds\":\"3\"", 2000, "Inqueue:0 Running:0 ");
    run(30000);
    assert_string_equal(state_of(JOB("slow")), "Completed 0 0 0");
}

static int pods_asked_for_n;
static bool is_late;

static bool watch_is_late(struct http_exchange *x)
{
    const char *labels = http_query(&x->request, "labelSelector");
    pods_asked_for_n += strcmp(x->request.method, "POST") == 0 && text_ends(x->request.path, "/namespaces/n/pods");
    if (!is_late || !http_query(&x->request, "watch") || !labels || strcmp(labels, "volcano.sh/job-name") != 0)
        return false;
    http_reply_text(x, 503, "text/plain", "not now");
    return true;
}

/* What the server has taken is there, whenever the watch comes to it. */
static void pods_are_asked_for_once(void **state)
{
    (void)state;
    jobs_free(w.jobs);
    w.takes = watch_is_late;
    is_late = true;
    pods_asked_for_n = 0;
    w.jobs = jobs_new(w.client, &(struct jobs_config){.embedded = true});
    run(1000);
    vcjob("once", "", task("w", 3, "1000", 0, ""));
    run(2000);
    for (int i = 0; i < 5; i++) { /* something else that the job is looked at for */
        patch(JOB("once"), arena_printf(w.a, "{\"metadata\":{\"labels\":{\"round\":\"%d\"}}}", i));
        run(200);
    }
    assert_int_equal(pods_asked_for_n, 3);
    assert_string_equal(state_of(JOB("once")), "Pending 0 0 0");
    is_late = false;
    run(15000);
    assert_string_equal(state_of(JOB("once")), "Running 3 0 0");
    assert_int_equal(pods_asked_for_n, 3);
    evict(POD("once-w-1")); /* made again at once */
    run(2000);
    assert_string_equal(state_of(JOB("once")), "Running 3 0 0");
    w.takes = NULL;
}

/* It was let in by then: who looks when the pod runs does not read Pending. */
static void a_group_of_a_lone_pod_is_not_pending_while_it_runs(void **state)
{
    (void)state;
    group_phases[0] = '\0';
    w.takes = counts_groups;
    kube_create(w.client, "/api/v1/namespaces/n/pods",
                BYTES("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"lone\"},\"spec\":{\"schedulerName\":\"volcano\","
                      "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"), NULL, NULL);
    run(5000);
    w.takes = NULL;
    assert_string_equal(group_phases, "Running:0 :1 ");
}

/* ---- what the server refuses ---- */

static int refused_n;

static bool refuses_pods(struct http_exchange *x)
{
    if (strcmp(x->request.method, "POST") != 0 || !text_ends(x->request.path, "/namespaces/n/pods"))
        return false;
    refused_n++;
    http_reply_text(x, 403, "application/json",
                    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"exceeded quota: q\",\"reason\":\"Forbidden\",\"code\":403}");
    return true;
}

static bool is_down(struct http_exchange *x)
{
    if (strcmp(x->request.method, "POST") != 0 || !text_ends(x->request.path, "/namespaces/n/pods"))
        return false;
    http_reply_text(x, 503, "text/plain", "not now");
    return true;
}

static void a_job_that_is_refused_is_terminated(void **state)
{
    (void)state;
    w.takes = refuses_pods;
    refused_n = 0;
    vcjob("no", "\"plugins\":{\"svc\":[]},", task("w", 1, "1000", 0, ""));
    run(10000);
    assert_string_equal(state_of(JOB("no")), "Pending 0 0 0");
    assert_non_null(get("/api/v1/namespaces/n/services/no"));
    assert_true(event_seen("FailedCreate", "POST /api/v1/namespaces/n/pods: exceeded quota: q"));
    run(600000);
    assert_string_equal(state_of(JOB("no")), "Terminated 0 0 1");
    assert_int_equal(refused_n, 15);
    assert_null(get("/api/v1/namespaces/n/services/no"));
    w.takes = NULL;
}

static void a_server_that_is_down_is_no_fault_of_the_job(void **state)
{
    (void)state;
    w.takes = is_down;
    vcjob("ok", "", task("w", 1, "1000", 0, ""));
    run(1800000);
    assert_string_equal(state_of(JOB("ok")), "Pending 0 0 0");
    w.takes = NULL;
    run(60000);
    assert_string_equal(state_of(JOB("ok")), "Running 1 0 0");
}

/* Job a, task b-c and job a-b, task c: both call a pod a-b-c-0. */
static void a_pod_of_another_job_is_told_of(void **state)
{
    (void)state;
    vcjob("a", "", task("b-c", 1, "1000", 0, ""));
    run(3000);
    const char *first = uid(POD("a-b-c-0"));
    vcjob("a-b", "", task("c", 1, "1000", 0, ""));
    run(3000);
    assert_string_equal(state_of(JOB("a")), "Running 1 0 0");
    run(20000);
    assert_string_equal(state_of(JOB("a-b")), "Pending 0 0 0");
    assert_true(event_seen("PodNameTaken", "pod a-b-c-0 is there already and belongs to Job a: pods are called <job>-<task>-<index>; "
                                           "rename the job or its task, or delete that pod"));
    assert_string_equal(uid(POD("a-b-c-0")), first);
    kube_delete(w.client, JOB("a"), (struct bytes){0}, NULL, NULL);
    run(65000);
    assert_string_equal(state_of(JOB("a-b")), "Running 1 0 0");
}

#define FLOW(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
static void group_of_eight(const char *name, const char *class)
{
    create(arena_printf(w.a, "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                             "\"spec\":{\"minMember\":1%s}}", name, class));
    create(arena_printf(w.a, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"annotations\":{"
                             "\"scheduling.k8s.io/group-name\":\"%s\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
                             "\"limits\":{\"nvidia.com/gpu\":\"8\"}}}]}}", name, name));
    run(2000);
}

/* What comes by a watch of its own may come later than who names it. */
static void a_class_counts_for_groups_that_came_before_it(void **state)
{
    (void)state;
    group_of_eight("first", "");
    group_of_eight("second", ",\"priorityClassName\":\"urgent\"");
    create("{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"urgent\"},\"value\":1000}");
    run(2000);
    node("n3", 8);
    run(5000);
    assert_non_null(json_path(get("/api/v1/namespaces/n/pods/second"), "spec", "nodeName", NULL));
    assert_null(json_path(get("/api/v1/namespaces/n/pods/first"), "spec", "nodeName", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {FLOW(a_partition_restarts_by_itself),
                                       FLOW(a_phase_tells_the_pods_that_go),
                                       FLOW(an_eviction_waits_for_its_timeout),
                                       FLOW(a_pod_of_a_removed_node_has_failed),
                                       FLOW(also_one_that_nobody_saw_fail),
                                       FLOW(what_does_not_come_back_is_answered_in_time),
                                       FLOW(a_job_whose_pods_have_ended_by_its_start_is_completed),
                                       FLOW(a_job_that_is_changed_before_its_start_follows),
                                       FLOW(an_update_is_answered_once),
                                       FLOW(a_group_follows_its_job),
                                       FLOW(a_group_that_is_new_follows_its_job),
                                       FLOW(a_group_is_not_written_twice_in_a_second),
                                       FLOW(a_group_of_a_lone_pod_is_not_pending_while_it_runs),
                                       FLOW(a_class_counts_for_groups_that_came_before_it),
                                       FLOW(pods_are_asked_for_once),
                                       FLOW(a_pod_of_another_job_is_told_of),
                                       FLOW(a_job_that_is_refused_is_terminated),
                                       FLOW(a_server_that_is_down_is_no_fault_of_the_job)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
