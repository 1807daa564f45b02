/* Keys come back until their writes succeed, never two passes at once, and bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include "base/limits.h"
#include "base/log.h"
#include "kube/event.h"
#include "net/http_local.h"

struct desk {
    struct loop *loop;
    struct kube_client *client;
    struct workqueue *queue;
    int passes_n, requests_n, in_pass_n;
    int fail_n; /* answer that many requests with 500 */
    int status; /* else this */
    bool write, is_deaf, tells;
    struct kube_recorder *recorder;
    int events_n, done[2]; /* how often each of two that wait for the write was called */
    struct http_exchange *held[LIMIT_CALLS_STATUS];
    int held_n;
    const char *last_key;
};
static struct desk d;

static void handle(void *ctx, struct http_exchange *x)
{
    (void)ctx;
    if (strstr(x->request.path, "/events")) {
        d.events_n++;
        http_reply_text(x, 201, "application/json", "{}");
        return;
    }
    d.requests_n++;
    if (d.is_deaf) {
        d.held[d.held_n++] = x;
        return;
    }
    if (d.fail_n > 0) {
        d.fail_n--;
        http_reply_text(x, 500, "application/json",
                        "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no\",\"code\":500}");
        return;
    }
    if (d.status == 409)
        http_reply_text(x, 409, "application/json",
                        "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"AlreadyExists\",\"message\":\"is "
                        "there\",\"code\":409}");
    else
        http_reply_text(x, 201, "application/json", "{}");
}

static void count(void *arg)
{
    ++*(int *)arg;
}

static void pass(void *arg, struct work *w)
{
    (void)arg;
    d.passes_n++;
    if (d.tells) {
        work_then(w, count, &d.done[0]);
        work_then(w, count, &d.done[1]);
    }
    if (d.recorder)
        kube_event_then(d.recorder, w, &(struct kube_object_ref){"v1", "Pod", w->ns, w->name, "u"}, "Normal", "Created", "made %s", w->key);
    d.last_key = strcmp(w->ns, "a") == 0 && strcmp(w->name, "b") == 0 ? "a/b" : "other";
    if (d.write) {
        struct json *body = json_new(w->arena, JSON_OBJECT);
        work_create(w, "/api/v1/namespaces/a/pods", body);
        if (d.tells || d.recorder)
            work_create(w, "/api/v1/namespaces/a/services", body); /* of this one nobody waits to hear */
    }
}

static int setup(void **state)
{
    (void)state;
    log_set_level(LOG_ERROR);
    d = (struct desk){.loop = loop_new_virtual(1000000)};
    d.client = kube_client_wrap(d.loop, http_local_client_new(d.loop, handle, NULL, NULL, 1));
    d.queue = workqueue_new(d.client, pass, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    workqueue_free(d.queue);
    for (d.is_deaf = false; d.held_n > 0;)
        http_reply_text(d.held[--d.held_n], 200, "application/json", "{}");
    loop_run_for(d.loop, 100, NULL); /* all that was asked is answered */
    kube_client_free(d.client);
    loop_free(d.loop);
    return 0;
}

static void run(int64_t ms)
{
    assert_int_equal(loop_run_for(d.loop, ms, NULL), 0);
}

static void test_once(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        workqueue_add(d.queue, "a/b");
    run(10);
    assert_int_equal(d.passes_n, 1);
    assert_string_equal(d.last_key, "a/b");
    assert_true(workqueue_idle(d.queue));
}

static void test_later(void **state)
{
    (void)state;
    workqueue_add_after(d.queue, "a/b", 200);
    workqueue_add_after(d.queue, "a/b", 500); /* the earlier appointment stands */
    run(150);
    assert_int_equal(d.passes_n, 0);
    run(100);
    assert_int_equal(d.passes_n, 1);
    run(1000);
    assert_int_equal(d.passes_n, 1);
}

static void test_failure_comes_back(void **state)
{
    (void)state;
    d.write = true;
    d.fail_n = 3;
    workqueue_add(d.queue, "a/b");
    run(60000);
    assert_true(d.passes_n >= 2);
    assert_int_equal(d.fail_n, 0);
    assert_true(workqueue_idle(d.queue));
    int settled = d.passes_n;
    run(60000);
    assert_int_equal(d.passes_n, settled);
}

static void test_there_already_is_success(void **state)
{
    (void)state;
    d.write = true;
    d.status = 409;
    workqueue_add(d.queue, "a/b");
    run(5000);
    assert_int_equal(d.passes_n, 1);
}

/* Who is told what a write has done hears it after the answer, and only of what it did. */
static void test_then(void **state)
{
    (void)state;
    d.write = d.tells = d.is_deaf = true;
    workqueue_add(d.queue, "a/b");
    run(10);
    assert_int_equal(d.held_n, 2);
    assert_int_equal(d.done[0], 0); /* not answered yet */
    http_reply_text(d.held[1], 201, "application/json", "{}");
    run(1);
    assert_int_equal(d.done[0], 0); /* the other's answer */
    http_reply_text(d.held[0], 201, "application/json", "{}");
    d.held_n = 0;
    run(1);
    assert_int_equal(d.done[0], 1);
    assert_int_equal(d.done[1], 1);
    d.is_deaf = false;
    d.status = 409; /* it is there already: somebody else has made it */
    run(100);
    workqueue_add(d.queue, "a/b");
    run(100);
    assert_int_equal(d.passes_n, 2);
    assert_int_equal(d.done[0], 1);
    d.status = 0;
    d.fail_n = 2; /* both of one pass: the next says it */
    workqueue_add(d.queue, "a/b");
    run(60000);
    assert_int_equal(d.passes_n, 4);
    assert_int_equal(d.done[0], 2);
    d.write = false; /* nothing is written */
    workqueue_add(d.queue, "a/b");
    run(100);
    assert_int_equal(d.passes_n, 5);
    assert_int_equal(d.done[0], 2);
    assert_int_equal(d.done[1], 2);
}

static void test_event_then(void **state)
{
    (void)state;
    d.write = d.is_deaf = true;
    d.recorder = kube_recorder_new(d.client, "test");
    workqueue_add(d.queue, "a/b");
    run(100);
    assert_int_equal(d.held_n, 2);
    assert_int_equal(d.events_n, 0);
    http_reply_text(d.held[0], 201, "application/json", "{}");
    d.held[0] = d.held[1];
    d.held_n = 1;
    kube_client_halt(d.client, KUBE_FAREWELL); /* what is done is told even so */
    run(100);
    assert_int_equal(d.events_n, 1);
    kube_client_halt(d.client, KUBE_GO);
    kube_recorder_free(d.recorder);
}

/* What was written comes back by the watch: until then the key is not looked at again, however often it is added. */
static void test_rest_after_a_write(void **state)
{
    (void)state;
    d.write = true;
    workqueue_add(d.queue, "a/b");
    run(5);
    assert_int_equal(d.passes_n, 1);
    for (int i = 0; i < 10; i++, run(1))
        workqueue_add(d.queue, "a/b");
    assert_int_equal(d.passes_n, 1);
    d.write = false;
    run(100);
    assert_int_equal(d.passes_n, 2);
    assert_true(workqueue_idle(d.queue));
    run(1000);
    workqueue_add(d.queue, "a/b");
    run(1);
    assert_int_equal(d.passes_n, 3); /* not at all held up */
}

#define VERSION(rv) "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"" rv "\"}}"

static void answer_held(const char *body)
{
    assert_int_equal(d.held_n, 1);
    http_reply_text(d.held[--d.held_n], 200, "application/json", body);
    run(5);
}

/* What the key itself has written is no news, whether the watch tells of it before the answer or after; what others wrote is. */
static void test_own_changes_are_no_news(void **state)
{
    (void)state;
    d.write = d.is_deaf = true;
    workqueue_add_change(d.queue, "a/b", BYTES("6"));
    run(5);
    assert_int_equal(d.passes_n, 1);
    workqueue_add_change(d.queue, "a/b", BYTES("7")); /* before the answer */
    answer_held(VERSION("7"));
    workqueue_add_change(d.queue, "a/b", BYTES("7")); /* and after it */
    run(10);
    d.write = false;
    run(200);
    assert_int_equal(d.passes_n, 1);
    assert_true(workqueue_idle(d.queue));

    for (int other = 0; other < 4; other++) {
        int passes_n = d.passes_n;
        d.write = true;
        workqueue_add_change(d.queue, "a/b", BYTES("8"));
        run(5);
        assert_int_equal(d.passes_n, passes_n + 1);
        d.write = false;
        if (other < 2) /* another's came alone, or before ours, */
            workqueue_add_change(d.queue, "a/b", BYTES("9"));
        if (other == 1 || other == 2)
            workqueue_add_change(d.queue, "a/b", BYTES("10"));
        if (other == 2) /* after it, */
            workqueue_add_change(d.queue, "a/b", BYTES("11"));
        answer_held(VERSION("10"));
        if (other == 3) /* after the answer */
            workqueue_add_change(d.queue, "a/b", BYTES("11"));
        run(200);
        assert_int_equal(d.passes_n, passes_n + 2);
    }
    d.write = true;
    workqueue_add_change(d.queue, "a/b", BYTES("12"));
    run(5);
    d.write = false;
    workqueue_add_change(d.queue, "a/b", BYTES("13"));
    int passes_n = d.passes_n;
    answer_held("{}"); /* does not say what it made */
    run(200);
    assert_int_equal(d.passes_n, passes_n + 1);
    assert_true(workqueue_idle(d.queue));
}

/* Nothing is looked at that cannot be written soon. */
static void test_halted_and_full(void **state)
{
    (void)state;
    d.write = true;
    kube_client_halt(d.client, KUBE_HALT);
    workqueue_add(d.queue, "a/b");
    run(10000);
    assert_int_equal(d.passes_n, 0);
    kube_client_halt(d.client, KUBE_GO);
    run(1000);
    assert_int_equal(d.passes_n, 1);
    d.is_deaf = true;
    char key[32];
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "n/%d", i);
        workqueue_add(d.queue, key);
    }
    run(1000);
    assert_int_equal(d.passes_n, 1 + LIMIT_CALLS_STATUS + LIMIT_WAITING_STATUS);
}

static void test_bounded_turns(void **state)
{
    (void)state;
    char key[32];
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "n/%d", i);
        workqueue_add(d.queue, key);
    }
    run(50);
    assert_int_equal(d.passes_n, 1000);
}

static void test_freed_with_writes_in_flight(void **state)
{
    (void)state;
    d.write = d.tells = d.is_deaf = true;
    workqueue_add(d.queue, "a/b");
    workqueue_add(d.queue, "a/c");
    run(10);
    assert_int_equal(d.held_n, 4);
    workqueue_free(d.queue);
    d.queue = NULL;
    while (d.held_n > 0)
        http_reply_text(d.held[--d.held_n], 200, "application/json", "{}");
    run(100);
    assert_int_equal(d.done[0], 0); /* who would hear it may be gone */
}

/* Nobody is left who could free them with the answer: the sanitizers would see it. */
static void test_freed_with_its_client_before_the_answers(void **state)
{
    (void)state;
    d.write = d.is_deaf = true;
    workqueue_add(d.queue, "a/b");
    run(10);
    assert_true(d.held_n > 0);
    workqueue_free(d.queue);
    kube_client_free(d.client);
    d.queue = NULL;
    d.client = NULL;
    while (d.held_n > 0)
        http_reply_text(d.held[--d.held_n], 200, "application/json", "{}");
    run(100);
}

#define DESK(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {DESK(test_once),
                                       DESK(test_later),
                                       DESK(test_failure_comes_back),
                                       DESK(test_there_already_is_success),
                                       DESK(test_then),
                                       DESK(test_event_then),
                                       DESK(test_rest_after_a_write),
                                       DESK(test_own_changes_are_no_news),
                                       DESK(test_halted_and_full),
                                       DESK(test_bounded_turns),
                                       DESK(test_freed_with_writes_in_flight), DESK(test_freed_with_its_client_before_the_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
