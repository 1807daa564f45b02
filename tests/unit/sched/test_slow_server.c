/* The scheduler with a lease against an API server that is slow, silent for a while, or led by another meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include "stage.h"
#include "base/collections/map.h"
#include "base/limits.h"
#include "base/memory.h"

#define LEASE "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/capstan-scheduler"

static struct {
    /* what the scheduler asked of the server */
    int64_t lease_ms, lease_gap_ms; /* last write of the lease, longest time between two */
    int binds_n, lists_n, writes_n; /* writes: all but those of the lease */
    bool is_silent;                 /* requests arrive and are not answered */
    struct http_exchange **held;
    size_t held_n, held_cap;
} seen;

static void gate(void *ctx, struct http_exchange *x)
{
    const struct http_request *r = &x->request;
    bool is_get = strcmp(r->method, "GET") == 0, is_lease = strcmp(r->path, LEASE) == 0;
    int64_t now_ms = loop_now_ms(w.loop);
    (void)ctx;
    if (seen.is_silent && !http_query(r, "watch")) {
        MEM_RESERVE(seen.held, seen.held_cap, seen.held_n + 1);
        seen.held[seen.held_n++] = x;
        return;
    }
    if (is_lease && !is_get) {
        if (seen.lease_ms && now_ms - seen.lease_ms > seen.lease_gap_ms)
            seen.lease_gap_ms = now_ms - seen.lease_ms;
        seen.lease_ms = now_ms;
    }
    seen.writes_n += !is_get && !is_lease;
    seen.binds_n += !is_get && strstr(r->path, "/binding") != NULL;
    seen.lists_n += is_get && strcmp(r->path, "/api/v1/pods") == 0 && !http_query(r, "watch") && !http_query(r, "continue");
    apiserver_handle(w.server, x);
}

static void nodes(int n)
{
    for (int i = 0; i < n; i++)
        node(arena_printf(w.a, "n%d", i), "nvidia.com/gpu", 8);
    arena_reset(w.a);
}

static void pods(const char *given, int n)
{
    char prefix[32];
    snprintf(prefix, sizeof prefix, "%s", given); /* it may be of the arena that is reset */
    for (int i = 0; i < n; i++) {
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s%d\",\"namespace\":\"n\"},\"spec\":{\"containers\":"
                            "[{\"name\":\"main\",\"image\":\"x\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}",
                            prefix, i));
        arena_reset(w.a);
    }
}

static int setup(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    stage_open(gate);
    w.scheduler = scheduler_new(w.loop, w.client,
                                &(struct scheduler_config){.default_scheduler = true, .leader_elect = true, .identity = "us"});
    run(3000);
    assert_true(scheduler_counts(w.scheduler).leading);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    clients_close();
    while (seen.held_n > 0)
        http_reply_text(seen.held[--seen.held_n], 200, "application/json", "{}"); /* to nobody: it frees them */
    free(seen.held);
    server_close();
    return 0;
}

/* Bound pods; no node has more than its eight. */
static int bound_n(void)
{
    int n = 0;
    struct map *by_node = map_new(sizeof(int));
    JSON_EACH (pod, json_get(get("/api/v1/namespaces/n/pods"), "items")) {
        const char *node = json_text(json_path(pod, "spec", "nodeName", NULL), "");
        int *used = *node ? map_put(by_node, bytes_of(node), NULL) : NULL;
        n += used != NULL;
        assert_true(!used || ++*used <= 8);
    }
    map_free(by_node);
    arena_reset(w.a);
    return n;
}

static void the_lease_holds_through_a_burst(void **state)
{
    (void)state;
    const int pods_n = 20000;
    nodes(pods_n / 8);
    w.faults.latency_ms_max = 100; /* there, and back again */
    for (int i = 0; i < 10; i++) { /* within a second: more than the watch would keep in one piece */
        pods(arena_printf(w.a, "p%d-", i), pods_n / 10);
        run(100);
    }
    for (int s = 0; s < 900 && seen.binds_n < pods_n; s++) {
        run(1000);
        assert_true(scheduler_counts(w.scheduler).leading);
    }
    run(5000);
    assert_int_equal(bound_n(), pods_n);
    assert_int_equal(seen.binds_n, pods_n);
    assert_true(seen.lease_gap_ms > 0 && seen.lease_gap_ms < 4000);
    assert_int_equal(seen.lists_n, 1);
}

/* The server is silent for so long that the lease is lost: nothing is written until it is won back, and then all goes on. */
static void a_lost_lease_is_won_back(void **state)
{
    (void)state;
    nodes(50);
    w.faults.latency_ms_max = 50;
    pods("a", 200);
    while (seen.binds_n == 0)
        run(5);
    seen.is_silent = true; /* in the middle of the burst */
    assert_true(seen.binds_n > 0 && seen.binds_n < 200);
    run(11000);
    assert_false(scheduler_counts(w.scheduler).leading);
    pods("b", 100);
    seen.is_silent = false;
    int writes_n = seen.writes_n;
    for (int i = 0; i < 800 && !scheduler_counts(w.scheduler).leading; i++) {
        run(10);
        assert_true(seen.writes_n == writes_n || scheduler_counts(w.scheduler).leading);
    }
    assert_true(scheduler_counts(w.scheduler).leading);
    run(70000); /* those that were never answered end after a minute */
    assert_int_equal(bound_n(), 300);
    assert_int_equal(seen.lists_n, 1); /* it has not forgotten anything */
    assert_true(scheduler_quiet(w.scheduler));
}

static void lease_set(const char *holder)
{
    kube_patch(w.user, KUBE_PATCH_MERGE, LEASE,
               bytes_of(arena_printf(w.a, "{\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":15}}", holder)), NULL, NULL);
    run(10);
}

static void bind(const char *pod, const char *node)
{
    kube_create(w.user, arena_printf(w.a, "/api/v1/namespaces/n/pods/%s/binding", pod),
                bytes_of(arena_printf(w.a, "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"%s\"},\"target\":{\"kind\":\"Node\","
                                           "\"name\":\"%s\"}}", pod, node)), NULL, NULL);
}

/* Another leads meanwhile and uses places that we had decided about: they are not used twice. */
static void what_another_leader_did_is_kept(void **state)
{
    (void)state;
    nodes(40);
    w.faults.latency_ms_max = 20;
    pods("a", 320);
    run(60);
    seen.is_silent = true;
    int before_n = seen.binds_n;
    assert_true(before_n < 200);
    lease_set("them");
    run(61000); /* long enough for all that was under way to end */
    assert_false(scheduler_counts(w.scheduler).leading);
    pods("b", 100);
    for (int i = 0; i < 80; i++) /* ten whole nodes, as far as they are not taken */
        bind(arena_printf(w.a, "b%d", i), arena_printf(w.a, "n%d", 39 - i / 8));
    run(100);
    bool taken_by_us = before_n > 8 * 30;
    assert_false(taken_by_us);
    seen.is_silent = false;
    for (int i = 0; i < 5; i++) {
        lease_set("them");
        run(1500);
        assert_false(scheduler_counts(w.scheduler).leading);
        assert_int_equal(seen.binds_n, before_n);
        kube_patch(w.user, KUBE_PATCH_MERGE, LEASE, bytes_of(arena_printf(w.a, "{\"spec\":{\"leaseTransitions\":%d}}", i + 5)), NULL, NULL);
    }
    lease_set("");
    run(60000);
    assert_true(scheduler_counts(w.scheduler).leading);
    assert_int_equal(bound_n(), 320); /* all GPUs, none twice */
    assert_int_equal(seen.lists_n, 1);
}

/* Another scheduler of this process stands by, and ends: that is nothing to who leads over the same client. */
static void a_standby_ends(void **state)
{
    (void)state;
    nodes(1);
    struct scheduler *standby =
        scheduler_new(w.loop, w.client, &(struct scheduler_config){.default_scheduler = true, .leader_elect = true, .identity = "standby"});
    run(5000);
    assert_false(scheduler_counts(standby).leading);
    scheduler_free(standby);
    pods("a", 8);
    run(1000);
    assert_int_equal(bound_n(), 8);
}

static const char *lease_holder(void)
{
    run(1000);
    return json_text(json_path(get(LEASE), "spec", "holderIdentity", NULL), "");
}

static void begin_to_bind(void)
{
    nodes(50);
    w.faults.latency_ms_max = 200;
    pods("a", 400);
    while (seen.binds_n == 0)
        run(5);
    assert_true(kube_client_unanswered_n(w.client) > 0);
}

static void end(void)
{
    scheduler_free(w.scheduler);
    w.scheduler = NULL;
}

/* Who leads next could not know of a bind that is on its way, and would use its place. */
static void the_lease_runs_out_when_a_bind_may_still_land(void **state)
{
    (void)state;
    begin_to_bind();
    end();
    assert_string_equal(lease_holder(), "us");
}

static void the_lease_is_given_back_when_all_that_was_sent_is_answered(void **state)
{
    (void)state;
    begin_to_bind();
    scheduler_stop(w.scheduler);
    for (int i = 0; i < 500 && kube_client_unanswered_n(w.client) > 0; i++)
        run(10);
    int binds_n = seen.binds_n;
    assert_true(binds_n < 400); /* those that waited were not sent */
    end();
    assert_string_equal(lease_holder(), "");
    assert_int_equal(seen.binds_n, binds_n);
}

static int told_n(const char *reason)
{
    int n = 0;
    JSON_EACH (event, json_get(get("/api/v1/namespaces/n/events"), "items"))
        n += strcmp(json_get_text(event, "reason", ""), reason) == 0;
    arena_reset(w.a);
    return n;
}

/* Nobody else knows that it was we who did it. */
static void what_was_done_is_told_at_the_end(void **state)
{
    (void)state;
    begin_to_bind();
    scheduler_stop(w.scheduler);
    for (int i = 0; i < 500 && kube_client_unanswered_n(w.client) > 0; i++)
        run(10);
    end();
    for (int i = 0; i < 500 && kube_client_untold_n(w.client) > 0; i++)
        run(10);
    assert_true(bound_n() > LIMIT_CALLS_EVENT);
    assert_int_equal(told_n("Scheduled"), bound_n());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_lease_holds_through_a_burst, setup, close_all),
        cmocka_unit_test_setup_teardown(a_lost_lease_is_won_back, setup, close_all),
        cmocka_unit_test_setup_teardown(what_another_leader_did_is_kept, setup, close_all),
        cmocka_unit_test_setup_teardown(a_standby_ends, setup, close_all),
        cmocka_unit_test_setup_teardown(the_lease_runs_out_when_a_bind_may_still_land, setup, close_all),
        cmocka_unit_test_setup_teardown(the_lease_is_given_back_when_all_that_was_sent_is_answered, setup, close_all),
        cmocka_unit_test_setup_teardown(what_was_done_is_told_at_the_end, setup, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
