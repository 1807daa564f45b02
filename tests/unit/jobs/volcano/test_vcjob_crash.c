/* A Volcano Job whose controller is stopped at each of its writes, before and after it: the job ends as it would have, and nothing of
 * what was made for it is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "crash.h"

#define JOB "/apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs/v"

static void make_job(const char *more)
{
    create(arena_printf(
        w.a,
        "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"v\",\"namespace\":\"n\"},\"spec\":{"
        "\"schedulerName\":\"volcano\",%s\"plugins\":{\"svc\":[],\"ssh\":[\"--ssh-private-key=k\",\"--ssh-public-key=p\"],\"env\":[],"
        "\"ray\":[]},\"tasks\":[{\"name\":\"head\",\"replicas\":1,\"policies\":[{\"event\":\"TaskCompleted\",\"action\":\"CompleteJob\"}],"
        "\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"20\"}},\"spec\":{\"restartPolicy\":\"Never\","
        "\"containers\":[{\"name\":\"head\",\"image\":\"i\"}]}}},{\"name\":\"worker\",\"replicas\":2,\"template\":{\"metadata\":{"
        "\"annotations\":{\"capstan.dev/run-seconds\":\"1000\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
        "\"image\":\"i\"}]}}}]}}",
        more));
}

static const char *phase(void)
{
    return json_text(json_path(get(JOB), "status", "state", "phase", NULL), "");
}

static int items_n(const char *path)
{
    const struct json *items = json_get(get(path), "items");
    return items ? (int)items->n : -1;
}

static void nothing_is_left(void)
{
    assert_int_equal(items_n("/api/v1/namespaces/n/services"), 0);
    assert_null(get("/api/v1/namespaces/n/configmaps/v-svc"));
    assert_int_equal(items_n("/api/v1/namespaces/n/secrets"), 0);
    assert_int_equal(items_n("/apis/networking.k8s.io/v1/namespaces/n/networkpolicies"), 0);
    assert_int_equal(items_n("/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups"), 0);
    assert_null(json_path(get(JOB), "status", "controlledResources", NULL));
}

static void all_is_there(void)
{
    assert_string_equal(phase(), "Running");
    assert_int_equal(pods_n("volcano.sh/job-name=v", "Running"), 3);
    assert_int_equal(items_n("/api/v1/namespaces/n/services"), 2);
    assert_non_null(get("/api/v1/namespaces/n/configmaps/v-svc"));
    assert_int_equal(items_n("/api/v1/namespaces/n/secrets"), 1);
    assert_int_equal(items_n("/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups"), 1);
}

static void lives_and_completes(void)
{
    make_job("");
    crash_run(6000);
    all_is_there();
    crash_run(24000);
    assert_string_equal(phase(), "Completed");
    assert_int_equal(pods_n("volcano.sh/job-name=v", ""), 1); /* the head's, for its log */
    nothing_is_left();
}

static void a_life_stopped_anywhere(void **state)
{
    (void)state;
    crash_everywhere(lives_and_completes, 60);
}

static void order(const char *name, const char *action)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"bus.volcano.sh/v1alpha1\",\"kind\":\"Command\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"action\":\"%s\",\"target\":{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"name\":\"v\","
                        "\"uid\":\"%s\",\"controller\":true}}",
                        name, action, object_meta(get(JOB), "uid")));
    crash_run(5000);
    assert_null(get(arena_printf(w.a, "/apis/bus.volcano.sh/v1alpha1/namespaces/n/commands/%s", name)));
}

static void is_suspended_and_resumed(void)
{
    make_job("");
    crash_run(5000);
    order("c1", "AbortJob");
    assert_string_equal(phase(), "Aborted");
    assert_int_equal(pods_n("volcano.sh/job-name=v", ""), 0);
    nothing_is_left();
    order("c2", "ResumeJob");
    all_is_there();
}

static void suspended_and_resumed_stopped_anywhere(void **state)
{
    (void)state;
    crash_everywhere(is_suspended_and_resumed, 80);
}

/* Deleted after so long, in whatever phase it is then: running, being stopped, stopped, started again, at its end. */
static void deleted_whenever(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *arena_of_phases = arena_new();
    const char *phases = "";
    for (int64_t at = 20; at < 26000; at += at < 9000 ? 130 : 700) {
        void *unused = NULL;
        assert_int_equal(crash_setup(&unused), 0);
        make_job("\"volumes\":[{\"mountPath\":\"/data\",\"volumeClaim\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":"
                 "{\"storage\":\"1Gi\"}}}}],");
        for (int64_t ms = 0; ms < at; ms += 10) {
            if (ms == 2000 || ms == 4000)
                create(arena_printf(w.a,
                                    "{\"apiVersion\":\"bus.volcano.sh/v1alpha1\",\"kind\":\"Command\",\"metadata\":{\"name\":\"c%lld\","
                                    "\"namespace\":\"n\"},\"action\":\"%s\",\"target\":{\"apiVersion\":\"batch.volcano.sh/v1alpha1\","
                                    "\"kind\":\"Job\",\"name\":\"v\",\"uid\":\"\",\"controller\":true}}",
                                    (long long)ms, ms == 2000 ? "AbortJob" : "ResumeJob"));
            run(10);
        }
        if (!strstr(phases, phase()))
            phases = arena_printf(arena_of_phases, "%s %s", phases, phase());
        kube_delete(w.client, JOB, (struct bytes){0}, NULL, NULL);
        run(40000);
        assert_null(get(JOB));
        static const char *const left[] = {"/api/v1/namespaces/n/pods",
                                           "/api/v1/namespaces/n/services",
                                           "/api/v1/namespaces/n/secrets",
                                           "/api/v1/namespaces/n/persistentvolumeclaims",
                                           "/apis/networking.k8s.io/v1/namespaces/n/networkpolicies",
                                           "/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups",
                                           "/apis/bus.volcano.sh/v1alpha1/namespaces/n/commands"};
        for (size_t i = 0; i < sizeof left / sizeof *left; i++)
            if (items_n(left[i]) != 0)
                fail_msg("deleted after %lld ms: %d of %s are left", (long long)at, items_n(left[i]), left[i]);
        assert_null(get("/api/v1/namespaces/n/configmaps/v-svc"));
        assert_int_equal(crash_teardown(&unused), 0);
    }
    assert_string_equal(phases, " Pending Running Aborting Aborted Completing Completed");
}

#define QUEUE "/apis/scheduling.volcano.sh/v1beta1/queues/q"

static void queue_order(const char *name, const char *queue, const char *action)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"bus.volcano.sh/v1alpha1\",\"kind\":\"Command\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"action\":\"%s\",\"target\":{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\","
                        "\"name\":\"%s\",\"uid\":\"x\"}}",
                        name, action, queue));
    crash_run(4000);
    assert_null(get(arena_printf(w.a, "/apis/bus.volcano.sh/v1alpha1/namespaces/n/commands/%s", name)));
}

static const char *queue_state(const char *path)
{
    return json_text(json_path(get(path), "status", "state", NULL), "");
}

static void queue_is_closed_and_opened(void)
{
    create("{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"q\"},\"spec\":{\"weight\":1}}");
    crash_run(2000);
    queue_order("c1", "q", "CloseQueue");
    assert_string_equal(queue_state(QUEUE), "Closed");
    queue_order("c2", "q", "OpenQueue");
    assert_string_equal(queue_state(QUEUE), "Open");
}

static void a_queue_stopped_anywhere(void **state)
{
    (void)state;
    crash_everywhere(queue_is_closed_and_opened, 30);
}

static void what_no_queue_can_do_is_consumed(void **state)
{
    (void)state;
    void *unused = NULL;
    assert_int_equal(crash_setup(&unused), 0);
    for (int i = 0; i < 3; i++) /* several at once do not hinder each other */
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"bus.volcano.sh/v1alpha1\",\"kind\":\"Command\",\"metadata\":{\"name\":\"many%d\",\"namespace\":"
                            "\"n\"},\"action\":\"CloseQueue\",\"target\":{\"kind\":\"Queue\",\"apiVersion\":\"scheduling.volcano.sh/v1beta1\","
                            "\"name\":\"default\",\"uid\":\"x\"}}",
                            i));
    crash_run(5000);
    assert_string_equal(queue_state("/apis/scheduling.volcano.sh/v1beta1/queues/default"), "Closed");
    assert_int_equal(items_n("/apis/bus.volcano.sh/v1alpha1/namespaces/n/commands"), 0);
    queue_order("c1", "gone", "CloseQueue");
    queue_order("c2", "root", "CloseQueue");
    assert_string_equal(queue_state("/apis/scheduling.volcano.sh/v1beta1/queues/root"), "Open");
    assert_int_equal(crash_teardown(&unused), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_life_stopped_anywhere), cmocka_unit_test(suspended_and_resumed_stopped_anywhere),
                                       cmocka_unit_test(deleted_whenever), cmocka_unit_test(a_queue_stopped_anywhere),
                                       cmocka_unit_test(what_no_queue_can_do_is_consumed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
