/* Calls: what comes back as which code, what is sent again, and who is told. */
#include "base/limits.h"
#include "kube/client.h"
#include "script.h"

struct seen {
    int n, code, status;
    char text[ERR_TEXT_MAX];
    struct kube_client *free_me;
};

static void on_answer(void *arg, const struct kube_answer *a)
{
    struct seen *s = arg;
    s->n++;
    s->code = a->code;
    s->status = a->status;
    snprintf(s->text, sizeof s->text, "%s", a->error.text);
    kube_client_free(take_ptr(s->free_me));
}

static void on_unsent(void *arg, const struct kube_answer *a)
{
    assert_true(a->is_unsent || a->code != -E_AGAIN);
    on_answer(arg, a);
}

static void test_codes(void **state)
{
    static const struct step steps[] = {
        {"GET /p", 200, "{}"},
        {"GET /p", 404, "{\"kind\":\"Status\",\"message\":\"pods \\\"x\\\" not found\",\"reason\":\"NotFound\"}"},
        {"GET /p", 409, "{\"reason\":\"AlreadyExists\"}"},
        {"GET /p", 409, "{\"reason\":\"Conflict\"}"},
        {"GET /p", 410, ""},
        {"GET /p", 422, "{\"message\":\"bad\"}"},
        {"GET /p", 403, "{}"},
        {"GET /p", 401, "not json"},
        {"GET /p", 413, "{}"},
        {"GET /p", 429, "{}"},
        {"GET /p", 500, "{}"},
        {0},
    };
    static const int codes[] = {0,         -E_NOTFOUND, -E_EXISTS, -E_CONFLICT, -E_GONE, -E_INVALID,
                                -E_DENIED, -E_DENIED,   -E_LIMIT,  -E_AGAIN,    -E_IO};
    struct script s;
    script_init(&s, steps);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct seen seen = {0};
        kube_get(s.c, "/p", on_answer, &seen);
        assert_int_equal(seen.n, 0);
        loop_run_for(s.l, 100, NULL);
        assert_int_equal(seen.n, 1);
        assert_int_equal(seen.code, codes[i]);
        assert_int_equal(seen.status, steps[i].status);
        if (i == 1)
            assert_string_equal(seen.text, "GET /p: pods \"x\" not found");
        if (i == 10)
            assert_string_equal(seen.text, "GET /p: HTTP status 500");
    }
    assert_int_equal(kube_client_counts(s.c).failures_n, 10);
    script_fini(&s);
}

static void test_verbs_and_content_types(void **state)
{
    static const struct step steps[] = {
        {"POST /p? {\"a\":1}", 201, "{}"}, {"PUT /p? {\"b\":1}", 200, "{}"},    {"PATCH /p? {\"c\":1}", 200, "{}"},
        {"DELETE /p? ", 200, "{}"},        {"DELETE /p? {\"d\":1}", 200, "{}"}, {0},
    };
    struct script s;
    script_init(&s, steps);
    kube_create(s.c, "/p", BYTES("{\"a\":1}"), NULL, NULL);
    kube_update(s.c, "/p", BYTES("{\"b\":1}"), NULL, NULL);
    kube_patch(s.c, KUBE_PATCH_MERGE, "/p", BYTES("{\"c\":1}"), NULL, NULL);
    kube_delete(s.c, "/p", (struct bytes){0}, NULL, NULL);
    kube_delete(s.c, "/p", BYTES("{\"d\":1}"), NULL, NULL);
    loop_run_for(s.l, 100, NULL);
    assert_int_equal(s.at, 5);
    assert_int_equal(kube_client_counts(s.c).calls_n, 5);
    script_fini(&s);
}

struct parts {
    struct seen seen;
    struct buf text;
    bool enough;
};

static bool part_came(void *arg, struct bytes chunk)
{
    struct parts *p = arg;
    buf_bytes(&p->text, chunk);
    return !p->enough;
}

static void parts_answered(void *arg, const struct kube_answer *a)
{
    struct parts *p = arg;
    on_answer(&p->seen, a);
}

/* The body of a success comes in parts; what says no, once again or for good, does not. */
static void test_parts(void **state)
{
    static const struct step steps[] = {
        {"GET /p", 200, "[1,2]"},
        {"GET /p", 404, "{\"message\":\"no such page\"}"},
        {"GET /p", 429, "{\"message\":\"too many\"}", "1"},
        {"GET /p", 200, "[3]"},
        {"GET /p", 200, "[4]"},
        {0},
    };
    struct script s;
    script_init(&s, steps);
    struct kube_call call = {.lane = KUBE_LANE_READ, .method = "GET", .path = "/p", .on_chunk = part_came, .on_answer = parts_answered};
    static const struct {
        const char *text, *error;
        int code;
    } wanted[] = {{"[1,2]", "", 0}, {"", "GET /p: no such page", -E_NOTFOUND}, {"[3]", "", 0}, {"[4]", "", 0}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct parts parts = {.enough = i == 3};
        call.arg = &parts;
        kube_send(s.c, &call);
        loop_run_for(s.l, 2000, NULL);
        assert_int_equal(parts.seen.n, 1);
        assert_int_equal(parts.seen.code, wanted[i].code);
        assert_string_equal(parts.seen.text, wanted[i].error);
        assert_true(bytes_is(buf_view(&parts.text), wanted[i].text));
        buf_free(&parts.text);
    }
    script_fini(&s);
}

static void test_retry_after(void **state)
{
    static const struct step steps[] = {
        {"POST", 429, "{}", "2"}, {"POST", 503, "{}", "1"}, {"POST /p? {\"a\":1}", 201, "{}"},
        {"POST", 429, "{}", "0"}, {"POST", 429, "{}", "0"}, {"POST", 429, "{}", "0"},
        {"POST", 429, "{}", "0"}, {"POST", 429, "{}", "0"}, {0},
    };
    struct script s;
    struct seen seen = {0};
    script_init(&s, steps);
    kube_create(s.c, "/p", BYTES("{\"a\":1}"), on_answer, &seen);
    loop_run_for(s.l, 1900, NULL);
    assert_int_equal(s.at, 1);
    loop_run_for(s.l, 1200, NULL);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.code, 0);
    assert_int_equal(kube_client_counts(s.c).retries_n, 2);
    kube_create(s.c, "/p", BYTES("{\"a\":1}"), on_answer, &seen);
    loop_run_for(s.l, 5000, NULL); /* patience ends after five tries */
    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.code, -E_AGAIN);
    assert_int_equal(s.unexpected_n, 0);
    script_fini(&s);
}

static void hold_all(void *ctx, struct http_exchange *x)
{
    struct http_exchange **held = ctx;
    while (*held)
        held++;
    *held = x;
}

/* Their client is gone: an answer frees them. */
static void let_go(struct http_exchange **held)
{
    for (; *held; held++)
        http_reply_text(*held, 200, "application/json", "{}");
}

static void test_writes_leave_room_for_reads(void **state)
{
    struct http_exchange *held[64] = {0};
    struct loop *l = loop_new_virtual(0);
    struct kube_client *c = kube_client_wrap(l, http_local_client_new(l, hold_all, held, NULL, 1));
    struct seen seen = {0};
    for (int i = 0; i < 30; i++)
        kube_create(c, "/w", BYTES("{}"), on_answer, &seen);
    kube_get(c, "/r", on_answer, &seen);
    loop_run_for(l, 10, NULL);
    int n = 0;
    while (held[n])
        n++;
    assert_int_equal(n, LIMIT_CALLS_STATUS + 1); /* writes, and the read */
    for (int i = 0; i < 60 && seen.n < 31; i++) {
        if (held[i])
            http_reply_text(held[i], 200, "application/json", "{}");
        loop_run_for(l, 5, NULL);
    }
    assert_int_equal(seen.n, 31);
    kube_client_free(c);
    loop_free(l);
}

static void send_in(struct kube_client *c, enum kube_lane lane, const char *path, struct seen *seen)
{
    kube_send(c,
              &(struct kube_call){.lane = lane, .method = "POST", .path = path, .body = BYTES("{}"), .on_answer = on_unsent, .arg = seen});
}

static bool is_held_at(struct http_exchange *const *held, const char *path)
{
    for (int i = 0; held[i]; i++)
        if (strcmp(held[i]->request.path, path) == 0)
            return true;
    return false;
}

/* Ten thousand binds, statuses and Events wait: the lease is sent at once. */
static void test_the_lease_waits_for_nobody(void **state)
{
    struct http_exchange *held[128] = {0};
    struct loop *l = loop_new_virtual(0);
    struct kube_client *c = kube_client_wrap(l, http_local_client_new(l, hold_all, held, NULL, 1));
    struct seen seen = {0}, full = {0};
    for (int i = 0; i < 10000; i++) {
        send_in(c, KUBE_LANE_EVENT, "/event", &full);
        send_in(c, KUBE_LANE_STATUS, "/status", &seen);
        send_in(c, KUBE_LANE_BIND, "/bind", &seen);
    }
    send_in(c, KUBE_LANE_LEASE, "/lease", &seen);
    loop_run_for(l, 10, NULL);
    assert_true(is_held_at(held, "/lease"));
    assert_int_equal(seen.n, 0);
    assert_int_equal(full.n, 10000 - LIMIT_WAITING_EVENTS - LIMIT_CALLS_EVENT); /* told at once that they are too many */
    assert_int_equal(full.code, -E_AGAIN);
    assert_int_equal(full.status, 0);
    kube_client_free(c);
    let_go(held);
    loop_free(l);
}

static void test_halted(void **state)
{
    struct http_exchange *held[128] = {0};
    struct loop *l = loop_new_virtual(0);
    struct kube_client *c = kube_client_wrap(l, http_local_client_new(l, hold_all, held, NULL, 1));
    struct seen seen = {0}, later = {0}, read = {0};
    for (int i = 0; i < 100; i++)
        send_in(c, KUBE_LANE_BIND, "/bind", &seen);
    loop_run_for(l, 10, NULL);
    kube_client_halt(c, KUBE_HALT);
    assert_int_equal(kube_client_room(c, KUBE_LANE_STATUS), 0);
    send_in(c, KUBE_LANE_STATUS, "/status", &later);
    send_in(c, KUBE_LANE_LEASE, "/lease", &seen);
    kube_get(c, "/read", on_answer, &read);
    assert_int_equal(seen.n, 0); /* never inside a call */
    loop_run_for(l, 10, NULL);
    assert_int_equal(seen.n, 100 - LIMIT_CALLS_BIND); /* those that were sent are awaited */
    assert_int_equal(later.n, 1);
    assert_string_equal(later.text, "POST /status: not sent, this process does not lead");
    assert_true(is_held_at(held, "/lease") && is_held_at(held, "/read"));
    let_go(held);
    memset(held, 0, sizeof held);
    loop_run_for(l, 10, NULL);
    assert_false(is_held_at(held, "/bind") || is_held_at(held, "/status"));
    kube_client_halt(c, KUBE_GO);
    assert_int_equal(kube_client_room(c, KUBE_LANE_STATUS), LIMIT_WAITING_STATUS);
    send_in(c, KUBE_LANE_STATUS, "/status", &later);
    loop_run_for(l, 10, NULL);
    assert_true(is_held_at(held, "/status"));
    kube_client_free(c);
    let_go(held);
    loop_free(l);
}

/* Of what waits and what is asked for later, what tells what was done still leaves, in its order. */
static void test_farewell(void **state)
{
    struct http_exchange *held[128] = {0};
    struct loop *l = loop_new_virtual(0);
    struct kube_client *c = kube_client_wrap(l, http_local_client_new(l, hold_all, held, NULL, 1));
    struct seen told = {0}, others = {0};
    (void)state;
    for (int i = 0; i < 20; i++)
        kube_send(c, &(struct kube_call){.lane = KUBE_LANE_EVENT, .method = "POST", .path = i % 2 ? "/done" : "/other", .tells_done = i % 2,
                                         .on_answer = on_answer, .arg = i % 2 ? &told : &others});
    loop_run_for(l, 10, NULL);
    kube_client_halt(c, KUBE_FAREWELL);
    kube_send(c, &(struct kube_call){.lane = KUBE_LANE_EVENT, .method = "POST", .path = "/late", .tells_done = true, .on_answer = on_answer,
                                     .arg = &told});
    send_in(c, KUBE_LANE_EVENT, "/other", &others);
    send_in(c, KUBE_LANE_STATUS, "/status", &others);
    loop_run_for(l, 10, NULL);
    assert_int_equal(others.n, 8 + 1 + 1); /* all but the two that had left */
    assert_int_equal(told.n, 0);
    assert_int_equal(kube_client_untold_n(c), 2 + 10 + 1);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(told.n < 11, kube_client_untold_n(c) > 0);
        let_go(held);
        memset(held, 0, sizeof held);
        loop_run_for(l, 10, NULL);
        assert_false(is_held_at(held, "/other") || is_held_at(held, "/status"));
    }
    assert_int_equal(told.n, 11);
    assert_int_equal(kube_client_untold_n(c), 0);
    kube_client_free(c);
    loop_free(l);
}

/* What is told "unsent" may end the client. */
static void test_freed_when_halted(void **state)
{
    struct http_exchange *held[128] = {0};
    struct loop *l = loop_new_virtual(0);
    struct kube_client *c = kube_client_wrap(l, http_local_client_new(l, hold_all, held, NULL, 1));
    struct seen first = {.free_me = c}, second = {0};
    kube_client_halt(c, KUBE_HALT);
    kube_create(c, "/a", BYTES("{}"), on_answer, &first);
    kube_create(c, "/b", BYTES("{}"), on_answer, &second);
    loop_run_for(l, 10, NULL);
    assert_int_equal(first.n, 1);
    assert_int_equal(second.n, 0);
    loop_free(l);
}

static void test_freed_in_callback_and_forgotten(void **state)
{
    static const struct step steps[] = {{"GET", 200, "{}"}, {0}};
    struct script s;
    struct seen first = {0}, second = {0};
    script_init(&s, steps);
    first.free_me = s.c;
    kube_get(s.c, "/a", on_answer, &second);
    kube_client_forget(s.c, on_answer, &second);
    kube_get(s.c, "/a", on_answer, &first);
    kube_get(s.c, "/a", on_answer, &first);
    loop_run_for(s.l, 10, NULL);
    assert_int_equal(first.n, 1);
    assert_int_equal(second.n, 0);
    s.c = NULL;
    script_fini(&s);
}

static void test_transport_failure(void **state)
{
    static const struct step steps[] = {{0}};
    struct script s;
    struct seen seen = {0};
    script_init(&s, steps);
    s.faults.refuse_permille = 1000;
    kube_get(s.c, "/a", on_answer, &seen);
    loop_run_for(s.l, 10, NULL);
    assert_int_equal(seen.code, -E_IO);
    assert_int_equal(seen.status, 0);
    assert_string_equal(seen.text, "GET /a: connection refused");
    script_fini(&s);
}

static void test_paths(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    assert_string_equal(kube_path(a, "", "v1", "pods", "ns", "p", "binding"), "/api/v1/namespaces/ns/pods/p/binding");
    assert_string_equal(kube_path(a, "", "v1", "nodes", NULL, NULL, NULL), "/api/v1/nodes");
    assert_string_equal(kube_path(a, "batch", "v1", "jobs", "n", "j", "status"),
                        "/apis/batch/v1/namespaces/n/jobs/j/status");
    assert_string_equal(kube_path(a, "", "v1", "pods", "a/../b", "x?y", NULL),
                        "/api/v1/namespaces/a%2F..%2Fb/pods/x%3Fy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_verbs_and_content_types),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_writes_leave_room_for_reads),
        cmocka_unit_test(test_the_lease_waits_for_nobody),
        cmocka_unit_test(test_halted),
        cmocka_unit_test(test_farewell),
        cmocka_unit_test(test_freed_when_halted),
        cmocka_unit_test(test_freed_in_callback_and_forgotten),
        cmocka_unit_test(test_transport_failure),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
