#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include <signal.h>
#include <sys/resource.h>

#include "../folder.h"
#include "api.h"
#include "apiserver/server.h"
#include "base/limits.h"
#include "base/log.h"

#define PODS "/api/v1/namespaces/default/pods"
#define MAPS "/api/v1/namespaces/default/configmaps"

static int setup(void **state)
{
    api_setup(state);
    return api_delete(*state, MAPS "/kube-root-ca.crt", NULL) != 200;
}

static void make(struct api *api, const char *name, const char *label)
{
    char body[200];
    snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"l\":\"%s\"}}}", name, label);
    assert_int_equal(api_post(api, MAPS, body), 201);
}

static void starts(const char *event, const char *prefix)
{
    if (strncmp(event, prefix, strlen(prefix)) != 0)
        fail_msg("expected \"%s...\", got \"%s\"", prefix, event);
}

static void from_now_and_from_a_version(void **state)
{
    struct api *api = *state;
    make(api, "a", "x");
    struct api_watch *all = api_watch_open(api, MAPS "?watch=True");
    starts(api_watch_next(all), "ADDED a ");
    assert_string_equal(api_watch_next(all), "");
    char target[200];
    api_get(api, MAPS);
    snprintf(target, sizeof target, MAPS "?watch=1&resourceVersion=%s", api_text(api, "metadata.resourceVersion"));
    struct api_watch *since = api_watch_open(api, target);
    assert_string_equal(api_watch_next(since), "");
    make(api, "b", "x");
    api_patch(api, MAPS "/b", "merge", "{\"data\":{\"k\":\"v\"}}");
    api_delete(api, MAPS "/b", NULL);
    for (int i = 0; i < 2; i++) {
        struct api_watch *w = i ? since : all;
        starts(api_watch_next(w), "ADDED b ");
        starts(api_watch_next(w), "MODIFIED b ");
        starts(api_watch_next(w), "DELETED b ");
        assert_string_equal(api_watch_next(w), "");
    }
    api_watch_close(all);
    api_watch_close(since);
}

static void selector_transitions(void **state)
{
    struct api *api = *state;
    struct api_watch *w = api_watch_open(api, MAPS "?watch=1&labelSelector=l=x");
    make(api, "a", "y");
    assert_string_equal(api_watch_next(w), "");
    api_patch(api, MAPS "/a", "merge", "{\"metadata\":{\"labels\":{\"l\":\"x\"}}}");
    starts(api_watch_next(w), "ADDED a ");
    api_patch(api, MAPS "/a", "merge", "{\"metadata\":{\"labels\":{\"l\":\"z\"}}}");
    char expect[64];
    snprintf(expect, sizeof expect, "DELETED a %s", api_text(api, "metadata.resourceVersion"));
    assert_string_equal(api_watch_next(w), expect);
    assert_string_equal(json_get_text(json_path(api_watch_object(w), "metadata", "labels", NULL), "l", ""), "x");
    api_delete(api, MAPS "/a", NULL);
    assert_string_equal(api_watch_next(w), "");
    api_watch_close(w);
    w = api_watch_open(api, MAPS "?watch=1&fieldSelector=metadata.name=b&resourceVersion=0");
    make(api, "a", "x");
    make(api, "b", "x");
    starts(api_watch_next(w), "ADDED b ");
    assert_string_equal(api_watch_next(w), "");
    api_watch_close(w);
}

static void streaming_list(void **state)
{
    struct api *api = *state;
    make(api, "a", "x");
    struct api_watch *w = api_watch_open( /* WHY the label: kube-root-ca.crt is in every namespace */
        api, MAPS
        "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=90&labelSelector=l");
    starts(api_watch_next(w), "ADDED a ");
    starts(api_watch_next(w), "BOOKMARK - ");
    assert_string_equal(
        json_get_text(json_path(api_watch_object(w), "metadata", "annotations", NULL), "k8s.io/initial-events-end", ""),
        "true");
    assert_string_equal(api_watch_next(w), "");
    api_run(api, 62000);
    starts(api_watch_next(w), "BOOKMARK - ");
    assert_string_equal(api_watch_next(w), "");
    api_run(api, 30000);
    starts(api_watch_next(w), "BOOKMARK - ");
    assert_string_equal(api_watch_next(w), "end");
    api_watch_close(w);
    assert_int_equal(api_get(api, MAPS "?watch=1&sendInitialEvents=true"), 422);
    assert_int_equal(api_get(api, MAPS "?sendInitialEvents=true"), 422);
    assert_int_equal(api_get(api, MAPS "?watch=1&labelSelector=a in"), 400);
}

static void expired(void **state)
{
    struct api *api = *state;
    struct api_watch *slow = api_watch_open(api, MAPS "?watch=1&resourceVersion=0");
    char body[100];
    make(api, "a", "x");
    for (int i = 0; i < LIMIT_WATCH_RING + 10; i++) {
        snprintf(body, sizeof body, "{\"data\":{\"k\":\"%d\"}}", i);
        api_patch(api, MAPS "/a", "merge", body);
    }
    starts(api_watch_next(slow), "ERROR ");
    assert_int_equal(json_get_int64(api_watch_object(slow), "code", 0), 410);
    assert_string_equal(api_watch_next(slow), "end");
    api_watch_close(slow);
    struct api_watch *old = api_watch_open(api, MAPS "?watch=1&resourceVersion=2");
    assert_int_equal(api_watch_status(old), 200);
    starts(api_watch_next(old), "ERROR ");
    assert_string_equal(json_get_text(api_watch_object(old), "reason", ""), "Expired");
    assert_string_equal(api_watch_next(old), "end");
    api_watch_close(old);
    struct api_watch *future = api_watch_open(api, MAPS "?watch=1&resourceVersion=999999999");
    starts(api_watch_next(future), "ERROR ");
    api_watch_close(future);
}

/* Opened in a turn with writes that the disk does not take: it begins with what there is after the turn, and they never were. */
static void begins_after_the_turn(void **state)
{
    (void)state;
    char dir[64];
    struct api api = {0};
    struct rlimit before, small = {1, RLIM_INFINITY};
    const char *secrets = "/api/v1/namespaces/default/secrets";
    folder_make(dir, sizeof dir, "capstan-watch");
    api_open(&api, dir);
    struct store *store = api.server->store;
    struct blob *phantom = blob_new("{\"metadata\":{\"name\":\"phantom\"}}", 31);
    signal(SIGXFSZ, SIG_IGN);
    log_set_level(LOG_ERROR + 1);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(store_create(store, store_kind(store, "", "secrets"), "default", "phantom", store_next_rv(store), phantom, NULL), 0);
    blob_unref(phantom);
    struct api_watch *all = api_watch_open(&api, arena_printf(api.arena, "%s?watch=1", secrets));
    assert_string_equal(api_watch_next(all), "");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    log_set_level(LOG_INFO);
    assert_int_equal(api_get(&api, arena_printf(api.arena, "%s/phantom", secrets)), 404);
    assert_int_equal(api_post(&api, secrets, "{\"metadata\":{\"name\":\"real\"}}"), 201);
    starts(api_watch_next(all), "ADDED real ");
    api_watch_close(all);
    api_close(&api);
    folder_remove(dir);
}

/* Many watchers share what is encoded once, and each sees all of it in order. */
static void fan_out(void **state)
{
    struct api *api = *state;
    struct api_watch *watches[50];
    for (size_t i = 0; i < 50; i++)
        watches[i] = api_watch_open(api, i % 2 ? MAPS "?watch=1"
                                               : "/api/v1/configmaps?watch=1&fieldSelector=metadata.namespace=default");
    make(api, "a", "x");
    make(api, "b", "x");
    for (size_t i = 0; i < 50; i++) {
        starts(api_watch_next(watches[i]), "ADDED a ");
        starts(api_watch_next(watches[i]), "ADDED b ");
        assert_string_equal(api_watch_next(watches[i]), "");
        api_watch_close(watches[i]);
    }
}

/* Watchers that ask different things of the same objects, some of them the same: each is told by its own selector, also after a pause. */
static void each_by_its_own_selector(void **state)
{
    static const struct {
        const char *query, *to_y, *to_x; /* what a change of l from x to y shows, and back again */
    } cases[] = {
        {"labelSelector=l=x", "DELETED a ", "ADDED a "},
        {"labelSelector=l=y", "ADDED a ", "DELETED a "},
        {"labelSelector=l=x", "DELETED a ", "ADDED a "},
        {"labelSelector=l", "MODIFIED a ", "MODIFIED a "},
        {"labelSelector=!l&fieldSelector=metadata.name!=kube-root-ca.crt", "", ""},
        {"labelSelector=l=x&fieldSelector=metadata.name!=a", "", ""},
        {"labelSelector=l=x&fieldSelector=metadata.name!=b", "DELETED a ", "ADDED a "},
    };
    enum { N = sizeof cases / sizeof *cases };
    struct api *api = *state;
    struct api_watch *watches[N];
    char target[200];
    make(api, "a", "x");
    api_get(api, MAPS);
    for (size_t i = 0; i < N; i++) {
        snprintf(target, sizeof target, MAPS "?watch=1&resourceVersion=%s&%s", api_text(api, "metadata.resourceVersion"), cases[i].query);
        watches[i] = api_watch_open(api, target);
    }
    for (int round = 0; round < 6; round++) {
        api_patch(api, MAPS "/a", "merge", round % 2 ? "{\"metadata\":{\"labels\":{\"l\":\"x\"}}}" : "{\"metadata\":{\"labels\":{\"l\":\"y\"}}}");
        for (size_t i = 0; i < N; i++) {
            const char *wanted = round % 2 ? cases[i].to_x : cases[i].to_y;
            if (*wanted)
                starts(api_watch_next(watches[i]), wanted);
            assert_string_equal(api_watch_next(watches[i]), "");
        }
        if (round == 3)
            loop_run_for(api->loop, 2500, NULL);
    }
    for (size_t i = 0; i < N; i++)
        api_watch_close(watches[i]);
}

/* The first questions are answered once for an object, the others each time: nobody sees what another asked for. */
static void many_selectors(void **state)
{
    enum { N = 40 };
    struct api *api = *state;
    struct api_watch *w[N];
    char target[100], name[16], label[16];
    for (int i = 0; i < N; i++) {
        snprintf(target, sizeof target, MAPS "?watch=1&labelSelector=l%s=v%d", i % 3 ? "" : "!", i / 2);
        w[i] = api_watch_open(api, target);
    }
    for (int i = 0; i < N / 2; i++) {
        snprintf(name, sizeof name, "m%02d", i);
        snprintf(label, sizeof label, "v%d", i);
        make(api, name, label);
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N / 2; j++) {
            snprintf(name, sizeof name, "ADDED m%02d ", j);
            if ((i % 3 != 0) == (j == i / 2))
                starts(api_watch_next(w[i]), name);
        }
    api_patch(api, MAPS "/m05", "merge", "{\"metadata\":{\"labels\":{\"l\":\"v19\"}}}");
    for (int i = 0; i < N; i++) {
        bool saw = (i % 3 != 0) == (i / 2 == 5), sees = (i % 3 != 0) == (i / 2 == 19);
        const char *expect = saw && sees ? "MODIFIED m05 " : saw ? "DELETED m05 " : sees ? "ADDED m05 " : "";
        starts(api_watch_next(w[i]), expect);
        assert_string_equal(api_watch_next(w[i]), "");
        api_watch_close(w[i]);
    }
}

/* A pod is bound while its spec stays text: who asks for its node, for the rest of its spec, for both or for more sees it come and go, also
 * where the pod was made with an empty name of a node. */
static void bound_by_selector(void **state)
{
    static const struct {
        const char *query, *event; /* of the binding */
    } cases[] = {
        {"spec.nodeName!=", "ADDED"},
        {"spec.nodeName=", "DELETED"},
        {"spec.nodeName=n1", "ADDED"},
        {"spec.nodeName=n2", ""},
        {"spec.restartPolicy=Never", "MODIFIED"},
        {"spec.restartPolicy=Always", ""},
        {"spec.nodeName=n1,spec.restartPolicy=Never", "ADDED"},
        {"spec.nodeName=n1,spec.restartPolicy=Always", ""},
        {"spec.nodeName=n1,status.phase=Pending", "ADDED"},
        {"status.phase=Pending", "MODIFIED"},
    };
    enum { N = sizeof cases / sizeof *cases };
    static const char *const nodes[] = {"", "\"nodeName\":\"\","};
    struct api *api = *state;
    struct api_watch *w[N];
    char target[200], body[400];
    for (size_t i = 0; i < N; i++) {
        snprintf(target, sizeof target, PODS "?watch=1&fieldSelector=%s", cases[i].query);
        w[i] = api_watch_open(api, target);
    }
    for (size_t pod = 0; pod < 2; pod++) {
        snprintf(body, sizeof body,
                 "{\"metadata\":{\"name\":\"p%zu\"},\"spec\":{%s\"restartPolicy\":\"Never\","
                 "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
                 pod, nodes[pod]);
        assert_int_equal(api_post(api, PODS, body), 201);
        for (size_t i = 0; i < N; i++)
            while (*api_watch_next(w[i]))
                ;
        snprintf(target, sizeof target, PODS "/p%zu/binding", pod);
        assert_int_equal(api_post(api, target, "{\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}"), 201);
        for (size_t i = 0; i < N; i++) {
            const char *event = api_watch_next(w[i]);
            if (strncmp(event, cases[i].event, strlen(cases[i].event)) != 0 || !*event != !*cases[i].event)
                fail_msg("%s: \"%s\"", cases[i].query, event);
            if (*event && *event != 'D')
                assert_string_equal(json_text(json_path(api_watch_object(w[i]), "spec", "nodeName", NULL), ""), "n1");
        }
        assert_int_equal(api_post(api, target, "{\"target\":{\"kind\":\"Node\",\"name\":\"n2\"}}"), 409);
    }
    for (size_t i = 0; i < N; i++)
        api_watch_close(w[i]);
}

static void server_goes_first(void **state)
{
    struct api api;
    api_open(&api, NULL);
    struct api_watch *w = api_watch_open(&api, MAPS "?watch=1");
    starts(api_watch_next(w), "ADDED kube-root-ca.crt ");
    apiserver_free(api.server);
    assert_string_equal(api_watch_next(w), "end");
    api_watch_close(w);
    loop_free(api.loop);
    arena_free(api.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, api_teardown)
        T(from_now_and_from_a_version),      T(selector_transitions), T(streaming_list), T(expired), T(fan_out),
        T(each_by_its_own_selector),         T(many_selectors),   T(bound_by_selector),
        cmocka_unit_test(server_goes_first), cmocka_unit_test(begins_after_the_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
