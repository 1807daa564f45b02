/* Events: one object for many repeats, and an end to floods. */
#include "base/limits.h"
#include "kube/event.h"
#include "script.h"

struct server {
    int posts_n, patches_n;
    struct buf last;
};

static void handler(void *ctx, struct http_exchange *x)
{
    struct server *s = ctx;
    s->posts_n += strcmp(x->request.method, "POST") == 0;
    s->patches_n += strcmp(x->request.method, "PATCH") == 0;
    buf_clear(&s->last);
    buf_printf(&s->last, "%s %.*s", x->request.path, (int)x->request.body.n, x->request.body.data);
    http_reply_text(x, 200, "application/json", "{}");
}

static const struct kube_object_ref pod = {"v1", "Pod", "ns", "p", "u-1"};

static void test_repeats_and_floods(void **state)
{
    struct server server = {0};
    _cleanup_arena_ struct arena *a = arena_new();
    struct loop *l = loop_new_virtual(1767225600000);
    struct kube_client *c = kube_client_wrap(l, http_local_client_new(l, handler, &server, NULL, 1));
    struct kube_recorder *r = kube_recorder_new(c, "capstan");
    kube_event(r, &pod, "Warning", "FailedScheduling", "no \"node\" has %d GPUs", 8);
    loop_run_for(l, 10, NULL);
    assert_int_equal(server.posts_n, 1);
    assert_true(text_starts(server.last.data, "/api/v1/namespaces/ns/events "));
    struct json *e = json_parse(a, bytes_of(strchr(server.last.data, ' ') + 1), NULL, NULL);
    assert_string_equal(json_get_text(e, "message", ""), "no \"node\" has 8 GPUs");
    assert_string_equal(json_text(json_path(e, "involvedObject", "uid", NULL), ""), "u-1");
    assert_string_equal(json_get_text(e, "firstTimestamp", ""), "2026-01-01T00:00:00Z");
    assert_true(text_starts(json_text(json_path(e, "metadata", "name", NULL), ""), "p."));
    for (int i = 0; i < 2; i++)
        kube_event(r, &pod, "Warning", "FailedScheduling", "no \"node\" has %d GPUs", 8);
    loop_run_for(l, 10, NULL);
    assert_int_equal(server.posts_n, 1);
    assert_int_equal(server.patches_n, 0); /* just written: the count waits */
    loop_run_for(l, 10000, NULL);
    kube_event(r, &pod, "Warning", "FailedScheduling", "no \"node\" has %d GPUs", 8);
    loop_run_for(l, 10, NULL);
    assert_int_equal(server.patches_n, 1);
    assert_non_null(strstr(server.last.data, "\"count\":4"));
    for (int i = 0; i < 100; i++)
        kube_event(r, &pod, "Normal", "Flood", "number %d", i);
    loop_run_for(l, 10, NULL);
    assert_int_equal(server.posts_n, 1 + 11); /* ten different ones, and one for all that are similar */
    assert_non_null(strstr(server.last.data, "(combined from similar events): number 10"));
    loop_run_for(l, 10000, NULL);
    kube_event(r, &pod, "Normal", "Flood", "number 100");
    loop_run_for(l, 10, NULL);
    assert_int_equal(server.posts_n, 1 + 11);
    assert_non_null(strstr(server.last.data, "\"count\":91"));
    assert_non_null(strstr(server.last.data, "number 100"));
    for (int i = 0; i < 100; i++) /* other reasons, the same object: it has had its share */
        kube_event(r, &pod, "Normal", i % 2 ? "A" : "B", "number %d", i);
    loop_run_for(l, 10, NULL);
    assert_int_equal(server.posts_n + server.patches_n, 25);
    loop_run_for(l, 11 * 60 * 1000, NULL); /* two writes come back, and the memory is over */
    for (int i = 0; i < 5; i++)
        kube_event(r, &pod, "Warning", "FailedScheduling", "no \"node\" has %d GPUs", i);
    loop_run_for(l, 10, NULL);
    assert_int_equal(server.posts_n + server.patches_n, 27);
    kube_recorder_free(r);
    kube_recorder_free(NULL);
    kube_client_free(c);
    loop_free(l);
    buf_free(&server.last);
}

static void tell(struct kube_recorder *r, int i, const char *type)
{
    char name[32];
    snprintf(name, sizeof name, "pod-%d", i);
    kube_event(r, &(struct kube_object_ref){"v1", "Node", NULL, name, NULL}, type, "A", "b");
}

/* Many objects at once: so many Events, then ten a second; warnings are counted apart. */
static void test_limit_of_all(void **state)
{
    struct server server = {0};
    struct loop *l = loop_new_virtual(1767225600000);
    struct kube_client *c = kube_client_wrap(l, http_local_client_new(l, handler, &server, NULL, 1));
    struct kube_recorder *r = kube_recorder_new(c, "capstan");
    for (int i = 0; i < 1000; i++)
        tell(r, i, "Normal");
    loop_run_for(l, 10, NULL);
    assert_int_equal(server.posts_n, LIMIT_EVENT_BURST);
    for (int i = 0; i < 20; i++)
        tell(r, i, "Warning");
    loop_run_for(l, 10000, NULL);
    assert_int_equal(server.posts_n, LIMIT_EVENT_BURST + 20);
    for (int i = 2000; i < 3000; i++)
        tell(r, i, "Normal");
    loop_run_for(l, 10, NULL);
    assert_int_equal(server.posts_n, LIMIT_EVENT_BURST + 20 + 10 * LIMIT_EVENTS_PER_S);
    kube_recorder_free(r);
    kube_client_free(c);
    loop_free(l);
    buf_free(&server.last);
}

static void test_many_objects_and_long_messages(void **state)
{
    struct server server = {0};
    struct loop *l = loop_new_virtual(1767225600000);
    struct kube_client *c = kube_client_wrap(l, http_local_client_new(l, handler, &server, NULL, 1));
    struct kube_recorder *r = kube_recorder_new(c, "capstan");
    char text[3000];
    for (int i = 0; i < 5000; i++) { /* more than are remembered */
        tell(r, i, "Normal");
        loop_run_for(l, 1000 / LIMIT_EVENTS_PER_S, NULL);
    }
    loop_run_for(l, 1000, NULL);
    assert_int_equal(server.posts_n, 5000);
    assert_true(text_starts(server.last.data, "/api/v1/namespaces/default/events "));
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    kube_event(r, &pod, "Normal", "Long", "%s", text);
    loop_run_for(l, 10, NULL);
    assert_true(server.last.n < 1600);
    assert_non_null(strstr(server.last.data, "xxx...\""));
    kube_recorder_free(r);
    kube_client_free(c);
    loop_free(l);
    buf_free(&server.last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_repeats_and_floods), cmocka_unit_test(test_limit_of_all),
                                       cmocka_unit_test(test_many_objects_and_long_messages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
