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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_life_stopped_anywhere), cmocka_unit_test(suspended_and_resumed_stopped_anywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
