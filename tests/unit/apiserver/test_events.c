/* Events of both groups are the same objects: what is written in one is seen in the other, in its own words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "../folder.h"
#include "api.h"
#include "base/limits.h"

#define OLD "/api/v1/namespaces/default/events"
#define NEW "/apis/events.k8s.io/v1/namespaces/default/events"
#define REGARDING "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"namespace\":\"default\",\"uid\":\"u1\"}"
#define OLD_BODY                                                                                                                      \
    "{\"metadata\":{\"name\":\"old\"},\"involvedObject\":" REGARDING ",\"type\":\"Normal\",\"reason\":\"Made\",\"message\":\"it is\"," \
    "\"firstTimestamp\":\"2026-01-02T03:04:05Z\",\"lastTimestamp\":\"2026-01-02T03:04:06Z\",\"count\":3,\"source\":{"                 \
    "\"component\":\"maker\",\"host\":\"h\"}}"
#define NEW_HEAD "{\"metadata\":{\"name\":\"new\"},\"regarding\":" REGARDING ",\"type\":\"Warning\",\"reason\":\"Broke\",\"note\":\"it was\","
#define NEW_BODY                                                                                                              \
    NEW_HEAD "\"action\":\"Look\",\"eventTime\":\"2026-01-02T03:04:05.000001Z\",\"reportingController\":\"x.io/looker\"," \
             "\"reportingInstance\":\"looker-1\"}"

static void text_is(const struct api *api, const char *path, const char *want)
{
    if (strcmp(api_text(api, path), want) != 0)
        fail_msg("%s is \"%s\", not \"%s\"", path, api_text(api, path), want);
}

static void is_all(const struct api *api, const char *const (*rows)[2])
{
    for (; (*rows)[0]; rows++)
        text_is(api, (*rows)[0], (*rows)[1]);
}

static void names_are(struct api *api, const char *target, const char *want)
{
    char names[200] = "";
    if (api_get(api, target) != 200)
        fail_msg("%s: %d %s", target, api->status, api_text(api, "message"));
    JSON_EACH (item, json_get(api->body, "items"))
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s ", json_text(json_path(item, "metadata", "name", NULL), ""));
    if (strcmp(names, want) != 0)
        fail_msg("%s: \"%s\", not \"%s\"", target, names, want);
}

static void both(struct api *api)
{
    assert_int_equal(api_post(api, OLD, OLD_BODY), 201);
    assert_int_equal(api_post(api, NEW, NEW_BODY), 201);
}

static void each_group_reads_the_other(void **state)
{
    struct api *api = *state;
    both(api);
    text_is(api, "apiVersion", "events.k8s.io/v1");
    text_is(api, "note", "it was");
    assert_int_equal(api_get(api, NEW "/old"), 200);
    is_all(api, (const char *[][2]){{"apiVersion", "events.k8s.io/v1"}, {"kind", "Event"}, {"regarding.name", "p"}, {"note", "it is"},
                                    {"deprecatedSource.component", "maker"}, {"deprecatedSource.host", "h"}, {"deprecatedCount", "3"},
                                    {"deprecatedFirstTimestamp", "2026-01-02T03:04:05Z"}, {"deprecatedLastTimestamp", "2026-01-02T03:04:06Z"},
                                    {"involvedObject.name", ""}, {"message", ""}, {"count", ""}, {"source.component", ""}, {NULL, NULL}});
    assert_int_equal(api_get(api, OLD "/new"), 200);
    is_all(api, (const char *[][2]){{"apiVersion", "v1"}, {"involvedObject.uid", "u1"}, {"message", "it was"}, {"action", "Look"},
                                    {"eventTime", "2026-01-02T03:04:05.000001Z"}, {"reportingComponent", "x.io/looker"},
                                    {"reportingInstance", "looker-1"}, {"regarding.name", ""}, {"note", ""}, {"reportingController", ""},
                                    {NULL, NULL}});
    names_are(api, OLD, "new old ");
    names_are(api, NEW, "new old ");
    text_is(api, "items.1.apiVersion", "events.k8s.io/v1");
    assert_int_equal(api_post(api, NEW, "{\"metadata\":{\"name\":\"old\"}}"), 409);
    assert_int_equal(api_delete(api, NEW "/old", NULL), 200);
    assert_int_equal(api_get(api, OLD "/old"), 404);
    assert_int_equal(api_delete(api, OLD, NULL), 200);
    names_are(api, NEW, "");
}

static void each_group_changes_the_other(void **state)
{
    struct api *api = *state;
    both(api);
    assert_int_equal(api_patch(api, NEW "/new", "merge", "{\"series\":{\"count\":2,\"lastObservedTime\":\"2026-01-02T03:05:05.000000Z\"}}"), 200);
    text_is(api, "regarding.name", "p");
    assert_int_equal(api_get(api, OLD "/new"), 200);
    text_is(api, "series.count", "2");
    assert_int_equal(api_patch(api, OLD "/old", "strategic", "{\"count\":4,\"message\":\"it was\"}"), 200);
    assert_int_equal(api_get(api, NEW "/old"), 200);
    text_is(api, "deprecatedCount", "4");
    text_is(api, "note", "it was");
    assert_int_equal(api_patch(api, NEW "/new", "json", "[{\"op\":\"test\",\"path\":\"/note\",\"value\":\"it was\"}]"), 200);
    assert_int_equal(api_get(api, NEW "/new"), 200);
    struct json *again = json_copy(api->arena, api->body);
    json_set_text(api->arena, json_ensure_object(api->arena, json_get(again, "metadata"), "labels"), "l", "x");
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, again);
    assert_int_equal(api_put(api, NEW "/new", text.data), 200);
    names_are(api, OLD "?labelSelector=l=x", "new ");
}

static void watches_of_both_groups_see_each_write(void **state)
{
    struct api *api = *state;
    struct api_watch *watches[] = {api_watch_open(api, OLD "?watch=1"), api_watch_open(api, NEW "?watch=1"),
                                   api_watch_open(api, NEW "?watch=1&fieldSelector=regarding.uid=u1,reportingController=x.io/looker"),
                                   api_watch_open(api, OLD "?watch=1")};
    static const char *const version[] = {"v1", "events.k8s.io/v1", "events.k8s.io/v1", "v1"}, *const said[] = {"message", "note", "note", "message"};
    assert_int_equal(api_post(api, NEW, NEW_BODY), 201);
    assert_int_equal(api_patch(api, OLD "/new", "merge", "{\"metadata\":{\"labels\":{\"l\":\"x\"}}}"), 200);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 2; k++) {
            const char *event = api_watch_next(watches[i]);
            if (strncmp(event, k ? "MODIFIED new " : "ADDED new ", k ? 13 : 10) != 0)
                fail_msg("watch %d: \"%s\"", i, event);
            assert_string_equal(json_get_text(api_watch_object(watches[i]), "apiVersion", ""), version[i]);
            assert_string_equal(json_get_text(api_watch_object(watches[i]), said[i], ""), "it was");
        }
        api_watch_close(watches[i]);
    }
}

static void fields_select_in_the_words_of_their_group(void **state)
{
    struct api *api = *state;
    both(api);
    names_are(api, OLD "?fieldSelector=source=maker", "old ");
    names_are(api, OLD "?fieldSelector=source=x.io/looker", "new "); /* an Event without a source has its reporting component for one */
    names_are(api, OLD "?fieldSelector=source!=", "new old ");
    names_are(api, OLD "?fieldSelector=reportingComponent=x.io/looker,type=Warning", "new ");
    names_are(api, OLD "?fieldSelector=involvedObject.name=p,reason=Made", "old ");
    names_are(api, NEW "?fieldSelector=reportingController=x.io/looker", "new ");
    names_are(api, NEW "?fieldSelector=regarding.kind=Pod,regarding.namespace=default,regarding.name=p,regarding.uid=u1", "new old ");
    names_are(api, NEW "?fieldSelector=regarding.apiVersion=v1,regarding.fieldPath=,regarding.resourceVersion=,reason=Broke", "new ");
    assert_int_equal(api_get(api, OLD "?fieldSelector=regarding.name=p"), 400);
    assert_int_equal(api_get(api, OLD "?fieldSelector=reportingController=x"), 400);
    assert_int_equal(api_get(api, NEW "?fieldSelector=involvedObject.name=p"), 400);
    assert_int_equal(api_get(api, NEW "?fieldSelector=source=p"), 400);
}

/* SOURCE Kubernetes, pkg/apis/core/validation/events.go */
static void each_group_has_its_rules(void **state)
{
    struct api *api = *state;
    static const struct {
        const char *target, *body, *want;
    } rows[] = {
        {OLD, "{\"metadata\":{\"name\":\"a\"},\"involvedObject\":{\"namespace\":\"other\"}}", "involvedObject.namespace: Invalid value"},
        {OLD, "{\"metadata\":{\"name\":\"a\"},\"involvedObject\":{},\"eventTime\":\"2026-01-02T03:04:05.000001Z\"}",
         "reportingComponent: Required value"},
        {NEW, "{\"metadata\":{\"name\":\"a\"},\"regarding\":" REGARDING ",\"type\":\"Normal\"}", "eventTime: Required value"},
        {NEW, NEW_HEAD "\"eventTime\":\"2026-01-02T03:04:05.000001Z\"}", "reportingInstance: Required value"},
        {NEW, NEW_HEAD "\"eventTime\":\"2026-01-02T03:04:05.000001Z\"}", "reportingController: Required value"},
        {NEW, NEW_HEAD "\"eventTime\":\"2026-01-02T03:04:05.000001Z\",\"deprecatedCount\":1}", "count: Invalid value: \\\"\\\": needs to be unset"},
        {NEW, NEW_HEAD "\"eventTime\":\"2026-01-02T03:04:05.000001Z\",\"deprecatedSource\":{\"host\":\"h\"}}", "source: Invalid value"},
        {NEW, NEW_HEAD "\"eventTime\":\"2026-01-02T03:04:05.000001Z\",\"series\":{\"count\":1,\"lastObservedTime\":\"2026-01-02T03:04:05.000001Z\"}}",
         "series.count: Invalid value"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (api_post(api, rows[i].target, rows[i].body) != 422)
            fail_msg("row %zu: %d", i, api->status);
        _cleanup_buf_ struct buf text = {0};
        json_write(&text, api->body);
        if (!strstr(text.data, rows[i].want))
            fail_msg("row %zu: %s", i, text.data);
    }
    assert_int_equal(api_post(api, OLD, "{\"metadata\":{\"name\":\"node\"},\"involvedObject\":{\"kind\":\"Node\",\"name\":\"n\"}}"), 201);
    assert_int_equal(api_post(api, "/api/v1/namespaces/kube-system/events", "{\"metadata\":{\"name\":\"node\"},\"involvedObject\":{\"name\":\"n\"}}"), 422);
    both(api);
    assert_int_equal(api_patch(api, NEW "/new", "merge", "{\"note\":\"otherwise\"}"), 422); /* all but the series stays */
    assert_int_equal(api_patch(api, OLD "/new", "merge", "{\"message\":\"otherwise\"}"), 200);
}

static void an_event_expires_once(void **state)
{
    struct api *api = *state;
    both(api);
    struct api_watch *w = api_watch_open(api, NEW "?watch=1&timeoutSeconds=7200");
    while (*api_watch_next(w))
        ;
    api_run(api, 3600 * 1000 + 5000);
    assert_memory_equal(api_watch_next(w), "DELETED ", 8);
    assert_memory_equal(api_watch_next(w), "DELETED ", 8);
    assert_string_equal(api_watch_next(w), "");
    names_are(api, OLD, "");
    api_watch_close(w);
}

/* Builds before this one kept the Events of events.k8s.io beside those of core/v1. */
static void older_data_folders_open(void **state)
{
    (void)state;
    char dir[64];
    folder_make(dir, sizeof dir, "capstan-events");
    struct api api;
    api_open(&api, dir);
    struct store *store = api.server->store;
    static const char *const names[] = {"a", "b"};
    assert_int_equal(api_post(&api, OLD, "{\"metadata\":{\"name\":\"b\"},\"involvedObject\":{},\"message\":\"core's\"}"), 201);
    for (int i = 0; i < 2; i++) {
        uint64_t rv = store_next_rv(store);
        char text[300];
        int n = snprintf(text, sizeof text,
                         "{\"kind\":\"Event\",\"apiVersion\":\"events.k8s.io/v1\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                         "\"uid\":\"u%d\",\"resourceVersion\":\"%llu\"},\"note\":\"kept\"}",
                         names[i], i, (unsigned long long)rv);
        struct blob *body = blob_new(text, (size_t)n);
        assert_int_equal(store_create(store, store_kind(store, "events.k8s.io", "events"), "default", names[i], rv, body, NULL), 0);
        blob_unref(body);
    }
    api_close(&api);
    for (int i = 0; i < 2; i++) {
        api_open(&api, dir);
        names_are(&api, OLD, "a b ");
        assert_int_equal(api_get(&api, OLD "/a"), 200);
        text_is(&api, "apiVersion", "v1");
        text_is(&api, "message", "kept");
        text_is(&api, "metadata.uid", "u0");
        assert_int_equal(api_get(&api, NEW "/b"), 200);
        text_is(&api, "note", "core's");
        assert_int_equal(store_count(api.server->store, store_kind(api.server->store, "events.k8s.io", "events")), 0);
        api_close(&api);
    }
    folder_remove(dir);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_API(each_group_reads_the_other),
        WITH_API(each_group_changes_the_other),
        WITH_API(watches_of_both_groups_see_each_write),
        WITH_API(fields_select_in_the_words_of_their_group),
        WITH_API(each_group_has_its_rules),
        WITH_API(an_event_expires_once),
        cmocka_unit_test(older_data_folders_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
