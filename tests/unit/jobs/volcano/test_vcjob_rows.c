/* Rows of the tables of Volcano's Jobs that only a whole cluster shows: the status written out, what is said when, what is delayed and
 * what drops it, what stays at the end. SOURCE batch.volcano.sh/v1alpha1: Job.status, LifecyclePolicy, plugins; groups of lone pods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "vcjob_words.h"

static const char *printed(const struct json *v)
{
    _cleanup_buf_ struct buf out = {0};
    if (v)
        json_write(&out, v);
    return arena_text_n(w.a, out.data ? out.data : "", out.n);
}

static void order(const char *name, const char *action, const char *job, const char *job_uid)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"bus.volcano.sh/v1alpha1\",\"kind\":\"Command\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"action\":\"%s\",\"target\":{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"name\":\"%s\","
                        "\"uid\":\"%s\",\"controller\":true}}",
                        name, action, job, job_uid));
    run(5000);
    assert_null(get(arena_printf(w.a, "/apis/bus.volcano.sh/v1alpha1/namespaces/n/commands/%s", name)));
}

#define PODGROUP(name) "/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups/" name

/* Nobody new finds a place on the nodes, or again. */
static void cordon(bool is_closed)
{
    for (int i = 1; i <= 2; i++)
        patch(arena_printf(w.a, "/api/v1/nodes/n%d", i), is_closed ? "{\"spec\":{\"unschedulable\":true}}" : "{\"spec\":{\"unschedulable\":null}}");
}

/* ---- status ---- */

static const char *phases_of(const char *path)
{
    const char *phases = "";
    JSON_EACH (condition, json_path(get(path), "status", "conditions", NULL))
        phases = arena_printf(w.a, "%s %s", phases, json_get_text(condition, "status", ""));
    return phases;
}

static const char *status_of(const char *path, const char *field)
{
    return printed(json_path(get(path), "status", field, NULL));
}

static void its_status_is_written_out(void **state)
{
    (void)state;
    vcjob("s", "\"plugins\":{\"svc\":[],\"env\":[]},\"volumes\":[{\"mountPath\":\"/d\",\"volumeClaim\":{\"accessModes\":[\"ReadWriteOnce\"],"
               "\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}],",
          arena_printf(w.a, "%s,%s", task("w", 2, "1000", 0, ""), task("m", 1, "8", 0, "")));
    run(4000);
    const struct json *status = json_get(get(JOB("s")), "status"), *conditions = json_get(status, "conditions");
    const char *claim = json_text(json_path(json_item(json_get(get("/api/v1/namespaces/n/persistentvolumeclaims"), "items"), 0), "metadata",
                                            "name", NULL), "");
    assert_string_equal(phases_of(JOB("s")), " Pending Running");
    assert_string_equal(json_get_text(json_item(conditions, 1), "lastTransitionTime", "?"),
                        json_text(json_path(status, "state", "lastTransitionTime", NULL), ""));
    assert_string_equal(printed(json_get(status, "taskStatusCount")), "{\"w\":{\"phase\":{\"Running\":2}},\"m\":{\"phase\":{\"Running\":1}}}");
    assert_string_equal(printed(json_get(status, "controlledResources")),
                        arena_printf(w.a, "{\"plugin-svc\":\"svc\",\"plugin-env\":\"env\",\"volume-pvc-%s\":\"%s\"}", claim, claim));
    assert_int_equal(json_get_int64(status, "minAvailable", 0), 3);
    assert_int_equal(json_get_int64(status, "running", 0), 3);
    static const char *const absent[] = {"pending", "succeeded", "failed", "terminating", "unknown", "version", "retryCount", "runningDuration"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_null(json_get(status, absent[i]));
    run(10000);
    assert_string_equal(status_of(JOB("s"), "taskStatusCount"),
                        "{\"w\":{\"phase\":{\"Running\":2}},\"m\":{\"phase\":{\"Succeeded\":1}}}");
    assert_string_equal(status_of(JOB("s"), "succeeded"), "1");
}

/* One entry a phase, and the one that is entered again moves to the tail. */
static void a_phase_that_comes_again_is_the_last(void **state)
{
    (void)state;
    vcjob("c", "", task("w", 1, "1000", 0, ""));
    run(3000);
    order("stop", "AbortJob", "c", uid(JOB("c")));
    assert_string_equal(phases_of(JOB("c")), " Pending Running Aborting Aborted");
    assert_string_equal(status_of(JOB("c"), "version"), "1");
    order("go", "ResumeJob", "c", uid(JOB("c")));
    assert_string_equal(phases_of(JOB("c")), " Aborting Aborted Restarting Pending Running");
    assert_string_equal(state_of(JOB("c")), "Running 1 1 2");
}

/* ---- what happened ---- */

/* It is for another Job of this name, which is gone. */
static void a_command_for_another_job_is_consumed(void **state)
{
    (void)state;
    vcjob("c", "", task("w", 1, "1000", 0, ""));
    run(3000);
    const char *first = uid(POD("c-w-0"));
    order("c1", "RestartJob", "c", "00000000-0000-0000-0000-000000000000");
    assert_string_equal(state_of(JOB("c")), "Running 1 0 0");
    assert_string_equal(uid(POD("c-w-0")), first);
}

/* The second deletion is one of a version that the first has ended. All pods come again by their names, in a PodGroup that is a new one. */
static void two_evictions_are_one_restart(void **state)
{
    (void)state;
    vcjob("e", "\"policies\":[{\"event\":\"PodEvicted\",\"action\":\"RestartJob\"}],", task("w", 3, "1000", 0, ""));
    run(3000);
    const char *group = arena_printf(w.a, PODGROUP("e-%s"), uid(JOB("e"))), *first = uid(group), *stayed = uid(POD("e-w-1"));
    evict(POD("e-w-0"));
    evict(POD("e-w-2"));
    run(10000);
    assert_string_equal(state_of(JOB("e")), "Running 3 1 1");
    assert_true(*uid(group) && strcmp(uid(group), first) != 0);
    assert_string_equal(object_annotation(get(group), "volcano.sh/job-version"), "1");
    for (int i = 0; i < 3; i++) {
        const struct json *pod = get(arena_printf(w.a, POD("e-w-%d"), i));
        assert_string_equal(object_annotation(pod, "volcano.sh/job-version"), "1");
        assert_string_equal(object_annotation(pod, "volcano.sh/job-retry-count"), "1");
    }
    assert_string_not_equal(uid(POD("e-w-1")), stayed);
}

static void who_leaves_pending_is_not_too_late(void **state)
{
    (void)state;
    cordon(true);
    vcjob("p", "\"policies\":[{\"event\":\"PodPending\",\"action\":\"AbortJob\",\"timeout\":\"30s\"}],", task("w", 2, "1000", 0, ""));
    run(20000);
    assert_string_equal(state_of(JOB("p")), "Pending 0 0 0");
    cordon(false);
    run(60000);
    assert_string_equal(state_of(JOB("p")), "Running 2 0 0");
    cordon(true);
    evict(POD("p-w-0")); /* another pod of the same name waits anew */
    run(25000);
    assert_string_equal(state_of(JOB("p")), "Pending 1 0 0");
    run(10000);
    assert_string_equal(state_of(JOB("p")), "Aborted 0 0 1");
}

/* Its time counts from then, not from when the pod was made. */
static void a_failure_waits_from_when_it_failed(void **state)
{
    (void)state;
    vcjob("t", "\"policies\":[{\"event\":\"PodFailed\",\"action\":\"AbortJob\",\"timeout\":\"30s\"}],",
          arena_printf(w.a, "%s,%s", task("w", 1, "1000", 0, ""), task("bad", 1, "40", 1, "")));
    run(65000);
    assert_string_equal(json_text(json_path(get(POD("t-bad-0")), "status", "phase", NULL), ""), "Failed");
    assert_string_equal(state_of(JOB("t")), "Running 1 0 0");
    run(10000);
    assert_string_equal(state_of(JOB("t")), "Aborted 0 0 1");
}

/* A pod that fails is made again, at once and alone; one that somebody takes away has ten minutes to come back, else all begin anew. */
static void first_the_pod_then_the_job(void **state)
{
    (void)state;
    vcjob("f", "\"policies\":[{\"event\":\"PodFailed\",\"action\":\"RestartPod\"},{\"event\":\"PodEvicted\",\"action\":\"RestartJob\","
               "\"timeout\":\"10m\"}],",
          arena_printf(w.a, "%s,%s", task("w", 2, "100000", 0, ""), task("m", 1, "1300", 1, "")));
    run(3000);
    const char *first = uid(POD("f-w-0")), *failing = uid(POD("f-m-0"));
    run(1310000);
    assert_string_equal(state_of(JOB("f")), "Running 3 1 0"); /* the pod's own removal is no eviction */
    assert_string_equal(uid(POD("f-w-0")), first);
    assert_string_not_equal(uid(POD("f-m-0")), failing);
    cordon(true);
    evict(POD("f-w-1"));
    run(590000);
    assert_string_equal(uid(POD("f-w-0")), first);
    cordon(false);
    run(60000); /* in time */
    assert_string_equal(state_of(JOB("f")), "Running 3 1 0");
    cordon(true);
    evict(POD("f-w-1"));
    run(599000);
    assert_string_equal(uid(POD("f-w-0")), first);
    run(5000);
    assert_string_equal(state_of(JOB("f")), "Pending 0 2 1");
    cordon(false);
    run(10000);
    assert_string_equal(state_of(JOB("f")), "Running 3 2 1");
}

/* Part of it has lost its place, and nobody is there to take it: its PodGroup is Unknown. */
static void a_group_that_is_broken_is_an_event(void **state)
{
    (void)state;
    vcjob("u", "\"policies\":[{\"event\":\"Unknown\",\"action\":\"AbortJob\"}],", task("w", 2, "1000", 0, ""));
    run(3000);
    cordon(true);
    evict(POD("u-w-1"));
    run(10000);
    assert_string_equal(state_of(JOB("u")), "Aborted 0 0 1");
    assert_string_equal(json_text(json_path(json_item(json_path(get(JOB("u")), "status", "conditions", NULL), 2), "status", NULL), ""),
                        "Aborting");
    assert_true(event_seen("ExecuteAction", "Start to execute action AbortJob: Unknown"));
}

/* A container that begins again and again. */
static const char *restless(const char *more)
{
    return arena_printf(w.a,
                        "{\"name\":\"r\",\"replicas\":1,%s\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"1\","
                        "\"capstan.dev/exit-code\":\"1\"}},\"spec\":{\"restartPolicy\":\"OnFailure\",\"containers\":[{\"name\":\"c\","
                        "\"image\":\"i\"}]}}}", more);
}

static void a_task_fails_by_its_own_limit(void **state)
{
    (void)state;
    static const char fails[] = "\"policies\":[{\"event\":\"TaskFailed\",\"action\":\"AbortJob\"}],";
    vcjob("never", fails, restless("\"maxRetry\":-1,"));
    vcjob("three", fails, restless(""));
    vcjob("twenty", fails, restless("\"maxRetry\":20,"));
    run(120000);
    assert_true(text_starts(state_of(JOB("never")), "Running "));
    assert_true(text_starts(state_of(JOB("twenty")), "Running "));
    assert_string_equal(state_of(JOB("three")), "Aborted 0 0 1");
    assert_true(event_seen("ExecuteAction", "Start to execute action AbortJob: TaskFailed of task r"));
}

/* ---- on a node whose kubelet is played here ---- */

static const char *by_hand(const char *more)
{
    return arena_printf(w.a,
                        "{\"name\":\"h\",\"replicas\":1,%s\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"nodeSelector\":{\"mine\":\"yes\"},"
                        "\"containers\":[{\"name\":\"a\",\"image\":\"i\"},{\"name\":\"b\",\"image\":\"i\"}]}}}", more);
}

static void own_node(void)
{
    create("{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"mine\",\"labels\":{\"mine\":\"yes\"}},\"status\":{"
           "\"allocatable\":{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\"},\"capacity\":{\"cpu\":\"64\",\"memory\":\"256Gi\","
           "\"pods\":\"110\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
}

static void is_now(const char *pod, const char *status)
{
    patch(arena_printf(w.a, POD("%s/status"), pod), arena_printf(w.a, "{\"status\":%s}", status));
    run(3000);
}

static void who_depends_waits_until_the_other_is_ready(void **state)
{
    (void)state;
    own_node();
    vcjob("d", "\"minAvailable\":1,",
          arena_printf(w.a, "%s,%s", by_hand(""), task("w", 2, "1000", 0, "\"dependsOn\":{\"name\":[\"h\"]},")));
    run(3000);
    is_now("d-h-0", "{\"phase\":\"Running\"}");
    assert_int_equal(pods_n("volcano.sh/task-spec=w", ""), 0);
    is_now("d-h-0", "{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}");
    assert_int_equal(pods_n("volcano.sh/task-spec=w", ""), 2);
    vcjob("e", "\"minAvailable\":1,",
          arena_printf(w.a, "%s,%s", by_hand(""), task("w", 2, "1000", 0, "\"dependsOn\":{\"name\":[\"h\"]},")));
    run(3000);
    is_now("e-h-0", "{\"phase\":\"Succeeded\"}"); /* it was ready once, or did not have to be */
    assert_int_equal(pods_n("volcano.sh/job-name=e,volcano.sh/task-spec=w", ""), 2);
}

#define ENDED(a, b)                                                                                                       \
    "{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"a\",\"state\":{\"terminated\":{\"exitCode\":" #a "}}},{\"name\":\"b\"," \
    "\"state\":{\"terminated\":{\"exitCode\":" #b "}}}]}"

static void the_code_is_that_of_the_first_container(void **state)
{
    (void)state;
    static const char codes[] = "\"policies\":[{\"exitCode\":3,\"action\":\"AbortJob\"},{\"event\":\"PodFailed\",\"action\":\"TerminateJob\"}],";
    own_node();
    vcjob("first", codes, by_hand(""));
    vcjob("second", codes, by_hand(""));
    run(3000);
    is_now("first-h-0", ENDED(3, 0));
    is_now("second-h-0", ENDED(1, 3));
    assert_string_equal(state_of(JOB("first")), "Aborted 0 0 1");
    assert_string_equal(state_of(JOB("second")), "Terminated 0 0 1");
}

/* ---- the end ---- */

/* Of the last restart that it has, which fails it, finished pods stay for their logs; of those before all go. */
static void the_last_pods_stay_for_their_logs(void **state)
{
    (void)state;
    vcjob("l", "\"maxRetry\":2,\"policies\":[{\"event\":\"PodFailed\",\"action\":\"RestartJob\"}],",
          arena_printf(w.a, "%s,%s", task("bad", 1, "5", 1, ""), task("good", 1, "2", 0, "")));
    run(3000);
    const char *first = uid(POD("l-bad-0"));
    run(7000);
    assert_string_equal(status_of(JOB("l"), "retryCount"), "1");
    assert_string_not_equal(uid(POD("l-bad-0")), first);
    run(20000);
    assert_string_equal(state_of(JOB("l")), "Failed 0 2 2");
    assert_string_equal(json_text(json_path(get(POD("l-bad-0")), "status", "phase", NULL), ""), "Failed");
    assert_string_equal(json_text(json_path(get(POD("l-good-0")), "status", "phase", NULL), ""), "Succeeded");
    assert_string_equal(phases_of(JOB("l")), " Pending Running Restarting Failed");
}

/* Who is over goes after that time; who is only stopped may be resumed. */
static void what_is_over_goes_in_time(void **state)
{
    (void)state;
    static const char *const ends[] = {"Completed", "Failed", "Terminated", "Aborted"};
    vcjob("completed", "\"ttlSecondsAfterFinished\":60,", task("w", 1, "2", 0, ""));
    vcjob("failed", "\"ttlSecondsAfterFinished\":60,", task("w", 1, "2", 1, ""));
    for (size_t i = 2; i < 4; i++)
        vcjob(i == 2 ? "terminated" : "aborted", "\"ttlSecondsAfterFinished\":60,", task("w", 1, "1000", 0, ""));
    run(2000);
    order("t", "TerminateJob", "terminated", uid(JOB("terminated")));
    order("a", "AbortJob", "aborted", uid(JOB("aborted")));
    for (size_t i = 0; i < 4; i++) {
        const char *name = (const char *const[]){"completed", "failed", "terminated", "aborted"}[i];
        assert_true(text_starts(state_of(arena_printf(w.a, JOB("%s"), name)), ends[i]));
    }
    run(40000);
    assert_non_null(get(JOB("completed")));
    run(40000);
    assert_null(get(JOB("completed")));
    assert_null(get(JOB("failed")));
    assert_null(get(JOB("terminated")));
    assert_non_null(get(JOB("aborted")));
}

static void one_that_is_scaled_to_nothing_runs_on(void **state)
{
    (void)state;
    vcjob("z", "", task("w", 2, "1000", 0, ""));
    run(3000);
    patch(JOB("z"), arena_printf(w.a, "{\"spec\":{\"minAvailable\":0,\"tasks\":[%s]}}", task("w", 0, "1000", 0, "\"minAvailable\":0,\"maxRetry\":3,")));
    run(10000);
    assert_string_equal(state_of(JOB("z")), "Running 0 0 0");
    assert_int_equal(pods_n("volcano.sh/job-name=z", ""), 0);
}

/* ---- gangs that lack room ---- */

static const char *gpus_task(int replicas, int gpus, const char *more)
{
    return arena_printf(w.a,
                        "{\"name\":\"w\",\"replicas\":%d,%s\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"1000\"}},"
                        "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{"
                        "\"nvidia.com/gpu\":\"%d\"}}}]}}}", replicas, more, gpus);
}

/* Each of its pods is what autoscalers look for, and none holds or hides anything. */
static void waits_whole(const char *job, int pods_n)
{
    for (int i = 0; i < pods_n; i++) {
        const struct json *pod = get(arena_printf(w.a, POD("%s-w-%d"), job, i)), *condition = object_condition(pod, "PodScheduled");
        assert_string_equal(json_get_text(condition, "status", ""), "False");
        assert_string_equal(json_get_text(condition, "reason", ""), "Unschedulable");
        assert_null(json_path(pod, "spec", "nodeName", NULL));
        assert_null(json_path(pod, "status", "nominatedNodeName", NULL));
    }
    const char *group = arena_printf(w.a, PODGROUP("%s-%s"), job, uid(arena_printf(w.a, JOB("%s"), job)));
    const struct json *told = object_condition(get(group), "Unschedulable");
    assert_string_equal(json_get_text(told, "status", ""), "True");
    assert_string_equal(json_get_text(told, "reason", ""), "NotEnoughResources");
    assert_true(text_starts(json_get_text(told, "message", ""), arena_printf(w.a, "%d/%d tasks in gang unschedulable: ", pods_n, pods_n)));
    assert_string_equal(status_of(group, "phase"), "\"Inqueue\"");
}

static void one_node_too_few(void **state)
{
    (void)state;
    vcjob("g", "", gpus_task(3, 4, ""));
    run(8000);
    waits_whole("g", 3);
    assert_string_equal(state_of(JOB("g")), "Pending 0 0 0");
    node("n3", 4);
    run(5000);
    assert_string_equal(state_of(JOB("g")), "Running 3 0 0");
}

static void of_two_with_room_for_one_the_other_holds_nothing(void **state)
{
    (void)state;
    vcjob("a", "", gpus_task(2, 3, ""));
    vcjob("b", "", gpus_task(2, 3, ""));
    run(8000);
    bool first = strcmp(state_of(JOB("a")), "Running 2 0 0") == 0;
    assert_string_equal(state_of(first ? JOB("a") : JOB("b")), "Running 2 0 0");
    waits_whole(first ? "b" : "a", 2);
    delete(first ? JOB("a") : JOB("b"));
    run(40000);
    assert_string_equal(state_of(first ? JOB("b") : JOB("a")), "Running 2 0 0");
}

/* ---- queues ---- */

#define QUEUE(name) "/apis/scheduling.volcano.sh/v1beta1/queues/" name

static void two_queues_are_there(void **state)
{
    (void)state;
    const struct json *root = json_get(get(QUEUE("root")), "spec"), *other = json_get(get(QUEUE("default")), "spec");
    assert_string_equal(printed(json_get(root, "reclaimable")), "false");
    assert_string_equal(json_get_text(other, "parent", "root"), "root");
    assert_int_equal(json_get_int64(other, "weight", 0), 1);
    assert_true(json_get_bool(other, "reclaimable", true));
    assert_string_equal(status_of(QUEUE("default"), "state"), "\"Open\"");
}

static const struct json *lone(const char *name, const char *metadata, const char *spec);

/* One group in each phase. */
static void a_queue_counts_its_groups(void **state)
{
    (void)state;
    static const char in_q[] = "\"queue\":\"q\",";
    create("{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"q\"},\"spec\":{\"weight\":1}}");
    vcjob("runs", in_q, gpus_task(1, 1, ""));
    vcjob("breaks", in_q, gpus_task(2, 1, ""));
    lone("ends", ",\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"q\",\"capstan.dev/run-seconds\":\"1\"}",
         ",\"restartPolicy\":\"Never\"");
    vcjob("large", in_q, gpus_task(3, 4, ""));
    run(3000);
    cordon(true);
    evict(POD("breaks-w-0"));
    patch(QUEUE("q"), "{\"spec\":{\"capability\":{\"nvidia.com/gpu\":\"4\"}}}");
    run(3000);
    vcjob("waits", in_q, gpus_task(2, 4, ""));
    run(8000);
    const struct json *status = json_get(get(QUEUE("q")), "status");
    assert_string_equal(json_get_text(status, "state", ""), "Open");
    static const char *const counts[] = {"pending", "inqueue", "running", "unknown", "completed"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (json_get_int64(status, counts[i], 0) != 1)
            fail_msg("%s: %s", counts[i], printed(status));
    assert_string_equal(printed(json_path(status, "allocated", "nvidia.com/gpu", NULL)), "\"2\"");
}

/* ---- pods of no Job ---- */

static const struct json *lone(const char *name, const char *metadata, const char *spec)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"%s},\"spec\":{"
                        "\"schedulerName\":\"volcano\"%s,\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{"
                        "\"nvidia.com/gpu\":\"1\"}}}]}}", name, metadata, spec));
    run(3000);
    const char *group = object_annotation(get(arena_printf(w.a, POD("%s"), name)), "scheduling.k8s.io/group-name");
    return get(arena_printf(w.a, "/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups/%s", group));
}

#define ONE_GPU                                                                                                                    \
    "\"minResources\":{\"nvidia.com/gpu\":\"1\",\"requests.nvidia.com/gpu\":\"1\",\"pods\":\"1\",\"count/pods\":\"1\"}"

static void a_lone_pods_group_is_written_out(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"q\"},\"spec\":{\"weight\":1}}");
    create("{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"high\"},\"value\":5}");
    const struct json *group = lone("plain", "", "");
    assert_string_equal(object_meta(group, "name"), arena_printf(w.a, "podgroup-%s", uid(POD("plain"))));
    assert_string_equal(object_controller(group, "kind"), "Pod");
    assert_string_equal(printed(json_get(group, "spec")), "{\"minMember\":1,\"queue\":\"default\"," ONE_GPU "}");
    assert_string_equal(json_text(json_path(group, "status", "phase", NULL), ""), "Running");
    group = lone("says", ",\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"q\",\"volcano.sh/network-topology-mode\":\"soft\","
                         "\"volcano.sh/network-topology-highest-tier\":\"2\",\"volcano.sh/preemptable\":\"true\"}",
                 ",\"priorityClassName\":\"high\"");
    assert_string_equal(printed(json_get(group, "spec")), "{\"minMember\":1,\"queue\":\"q\",\"priorityClassName\":\"high\"," ONE_GPU
                                                          ",\"networkTopology\":{\"mode\":\"soft\",\"highestTierAllowed\":2}}");
    assert_string_equal(object_annotation(group, "volcano.sh/preemptable"), "true");
    group = lone("tier", ",\"annotations\":{\"volcano.sh/network-topology-highest-tier\":\"1\"}", "");
    assert_string_equal(printed(json_path(group, "spec", "networkTopology", NULL)), "{\"mode\":\"hard\",\"highestTierAllowed\":1}");
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {ROW(its_status_is_written_out),
                                       ROW(a_phase_that_comes_again_is_the_last),
                                       ROW(a_command_for_another_job_is_consumed),
                                       ROW(two_evictions_are_one_restart),
                                       ROW(who_leaves_pending_is_not_too_late),
                                       ROW(a_failure_waits_from_when_it_failed),
                                       ROW(first_the_pod_then_the_job),
                                       ROW(a_group_that_is_broken_is_an_event),
                                       ROW(a_task_fails_by_its_own_limit),
                                       ROW(who_depends_waits_until_the_other_is_ready),
                                       ROW(the_code_is_that_of_the_first_container),
                                       ROW(the_last_pods_stay_for_their_logs),
                                       ROW(what_is_over_goes_in_time),
                                       ROW(one_that_is_scaled_to_nothing_runs_on),
                                       ROW(one_node_too_few),
                                       ROW(of_two_with_room_for_one_the_other_holds_nothing),
                                       ROW(two_queues_are_there),
                                       ROW(a_queue_counts_its_groups),
                                       ROW(a_lone_pods_group_is_written_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
