/* test_moves.c - who would have to stand elsewhere for a gang to start, and at what cost: as stories */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "core/cycle.h"
#include "core/state/model.h"
#include "../jobs.h"

#define HOUR_MS 3600000

static const char *remedies(struct world *w, const char *gang)
{
    struct buf b;
    buf_init(&b);
    explain_json(&b, state_gang_reason(w->s, id(w, gang)), w->names);
    const char *text = arena_text(w->records, b.data ? b.data : ""), *at = strstr(text, "\"remedies\"");
    buf_free(&b);
    return at ? at : text;
}

static void says(struct world *w, const char *gang, const char *text)
{
    const char *all = remedies(w, gang);
    if (!strstr(all, text))
        fail_msg("%s: %s\nlacks %s", gang, all, text);
}

static void says_not(struct world *w, const char *gang, const char *text)
{
    const char *all = remedies(w, gang);
    if (strstr(all, text))
        fail_msg("%s: %s\nhas %s", gang, all, text);
}

static const char *move_of(struct world *w, int job)
{
    return arena_printf(w->records, "\"change\":\"move\",\"kind\":\"Workload\",\"namespace\":\"ns\",\"name\":\"job-%d\"", job);
}

/* Nodes n0, n1, ... of eight GPUs; the queue "q" of which so much may be moved. */
static void cluster(struct world *w, int nodes_n, int32_t move_cost_s)
{
    struct queue_words q;
    wide_cluster(w, nodes_n);
    queue_begin(w, &q, "q", NULL);
    q.r.title = q.r.name;
    queue_quota(w, &q, "any", "cpu", 1000000, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "any", GPU, 1000, NO_LIMIT, NO_LIMIT);
    q.r.move_cost_s = move_cost_s;
    queue_done(w, &q);
}

static void cordon(struct world *w, int node_nth, bool closed)
{
    char name[16];
    snprintf(name, sizeof name, "n%d", node_nth);
    struct node_record r = a_node(w, name, "cpu=8000," GPU "=8", "");
    r.unschedulable = closed;
    node_record(w, r);
}

/* It has run on that node for so long. The others are closed while it is let in. */
static void runs(struct world *w, struct gang_record r, int nodes_n, int node_nth, int64_t since_ms)
{
    for (int i = 0; i < nodes_n; i++)
        cordon(w, i, i != node_nth);
    gang_record(w, r);
    step(w);
    outcome(w, EFFECT_ADMIT, text_of(w, r.key), NULL, OUTCOME_DONE);
    for (int i = 0; i < r.pod_sets[0].count; i++) {
        struct pod_record p = a_pod(w, arena_printf(w->records, "ns/%s-%d", text_of(w, r.key), i), text_of(w, r.key), "");
        p.shape = r.pod_sets[0].shape;
        p.pod_set = id(w, "main");
        p.node = id(w, arena_printf(w->records, "n%d", node_nth));
        p.phase = POD_RUNNING;
        p.started_ms = w->now_ms;
        pod_record(w, p);
    }
    step(w);
    for (int i = 0; i < nodes_n; i++)
        cordon(w, i, false);
    struct gang *g = gang_find(w->s, r.key);
    assert_true(g->phase == GANG_ADMITTED || g->phase == GANG_BOUND);
    assert_int_equal(g->bound_n, r.pod_sets[0].count);
    g->reserved_ms = w->now_ms - since_ms;
}

/* On n0 four jobs that have run for hours, on n1 four that have for minutes. */
static void two_halves(struct world *w, int32_t move_cost_s)
{
    char name[16];
    cluster(w, 2, move_cost_s);
    w->now_ms += 100 * (int64_t)HOUR_MS;
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "job-%d", i);
        runs(w, a_workload(w, name, "ns/lq", 1, "cpu=100," GPU "=1"), 2, i / 4, i < 4 ? 10 * HOUR_MS : HOUR_MS / 10);
    }
}

static void late(struct world *w, int32_t count, const char *requests)
{
    workload(w, "late", "ns/lq", count, requests);
    step(w);
    assert_null(entry_of(w, EFFECT_ADMIT, "late"));
}

/* Eight GPUs are free and no node has them: the four that have run for minutes would go where the others are. */
static void a_whole_node_of_two_halves(void **state)
{
    struct world *w = *state;
    two_halves(w, 0);
    late(w, 1, "cpu=100," GPU "=8");
    says(w, "late", "{\"change\":\"move\",\"kind\":\"Workload\",\"namespace\":\"ns\",\"name\":\"job-7\",\"to\":[{\"node\":\"n0\",\"pods\":1}],"
                    "\"lostGpuSeconds\":360,\"allowed\":false,\"policy\":\"QueueDoesNotAllow\"}");
    for (int i = 4; i < 8; i++)
        says(w, "late", move_of(w, i));
    says(w, "late", "Workload ns/job-7 moved to node n0 (6 GPU-minutes of its work lost; ClusterQueue q has no "
                    "capstan.dev/move-cost-seconds, which would allow it)");
    for (int i = 0; i < 4; i++)
        says_not(w, "late", move_of(w, i));
}

/* Four jobs lose 1,440 GPU-seconds for eight GPUs: 180 for each. */
static void the_bound_is_on_what_all_lose(void **state)
{
    (void)state;
    for (int32_t cost_s = 180; cost_s >= 179; cost_s--) {
        struct world w = world_new();
        two_halves(&w, cost_s);
        late(&w, 1, "cpu=100," GPU "=8");
        says(&w, "late", cost_s == 180 ? "\"allowed\":true,\"policy\":\"Allowed\"" : "\"allowed\":false,\"policy\":\"TooCostly\"");
        world_free(&w);
    }
}

/* One of the four says that it is not to be moved: the others are, and of n0 none can take its place; so those of n0 would go, at their
 * cost. WHY  who forbids it is told only where nobody else would do. */
static void who_may_not_be_moved_stays(void **state)
{
    struct world *w = *state;
    two_halves(w, 100000);
    struct gang_record r = a_workload(w, "job-7", "ns/lq", 1, "cpu=100," GPU "=1");
    const struct gang *g = gang_find(w->s, id(w, "job-7"));
    r.created_ms = g->created_ms;
    r.admitted = true;
    r.admitted_queue = id(w, "q");
    r.reserved_ms = g->reserved_ms;
    r = admitted_in(w, r, "any");
    r.stays = true;
    gang_record(w, r);
    step(w);
    late(w, 1, "cpu=100," GPU "=8");
    for (int i = 0; i < 4; i++)
        says(w, "late", move_of(w, i));
    says(w, "late", "\"lostGpuSeconds\":36000,\"allowed\":true");
    says_not(w, "late", "\"change\":\"move\",\"kind\":\"Workload\",\"namespace\":\"ns\",\"name\":\"job-7\"");
}

/* A checkpoint of a minute ago makes the ten hours cheaper than six minutes. */
static void work_that_was_saved_is_not_lost(void **state)
{
    struct world *w = *state;
    two_halves(w, 0);
    for (int i = 0; i < 4; i++) {
        struct gang *g = gang_find(w->s, id(w, arena_printf(w->records, "job-%d", i)));
        struct gang_record r = a_workload(w, text_of(w, g->key), "ns/lq", 1, "cpu=100," GPU "=1");
        r.created_ms = g->created_ms;
        r.reserved_ms = g->reserved_ms;
        r = admitted_in(w, r, "any");
        r.checkpoint_ms = w->now_ms - 60000;
        gang_record(w, r);
    }
    step(w);
    late(w, 1, "cpu=100," GPU "=8");
    says(w, "late", "\"name\":\"job-0\",\"to\":[{\"node\":\"n1\",\"pods\":1}],\"lostGpuSeconds\":60");
}

/* Each would have a place but the last: nobody is moved into the street. */
static void nobody_without_a_place(void **state)
{
    struct world *w = *state;
    two_halves(w, 100000);
    runs(w, a_workload(w, "more", "ns/lq", 1, "cpu=100," GPU "=1"), 2, 0, HOUR_MS);
    late(w, 1, "cpu=100," GPU "=8");
    says_not(w, "late", "\"change\":\"move\"");
}

/* A gang of two pods of two GPUs, of which one finds its place: the job of one GPU makes room for the other. */
static void one_place_of_two_is_missing(void **state)
{
    struct world *w = *state;
    cluster(w, 2, 1000);
    w->now_ms += 100 * (int64_t)HOUR_MS;
    runs(w, a_workload(w, "two", "ns/lq", 1, "cpu=100," GPU "=2"), 2, 0, HOUR_MS);
    runs(w, a_workload(w, "one", "ns/lq", 1, "cpu=100," GPU "=1"), 2, 0, HOUR_MS / 60);
    runs(w, a_workload(w, "big", "ns/lq", 1, "cpu=100," GPU "=7"), 2, 1, HOUR_MS / 60);
    runs(w, a_workload(w, "pair", "ns/lq", 1, "cpu=100," GPU "=2"), 2, 0, HOUR_MS);
    late(w, 2, "cpu=100," GPU "=2");
    says(w, "late", "{\"all\":[{\"change\":\"move\",\"kind\":\"Workload\",\"namespace\":\"ns\",\"name\":\"one\",\"to\":[{\"node\":\"n1\",");
}

/* Quota is what is missing: moves do not help. */
static void not_where_quota_is_short(void **state)
{
    struct world *w = *state;
    struct queue_words q;
    two_halves(w, 1000);
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "any", "cpu", 1000000, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "any", GPU, 15, NO_LIMIT, NO_LIMIT);
    q.r.move_cost_s = 1000;
    queue_done(w, &q);
    late(w, 1, "cpu=100," GPU "=8");
    says_not(w, "late", "\"change\":\"move\"");
}

/* ---- carried out ---- */

/* Its pods have ended, and its object says that it waits again. */
static void has_left(struct world *w, const char *name)
{
    struct gang_record r = a_workload(w, name, "ns/lq", 1, "cpu=100," GPU "=1");
    r.created_ms = gang_find(w->s, id(w, name))->created_ms;
    outcome(w, EFFECT_EVICT, name, NULL, OUTCOME_DONE);
    gone(w, CHANGE_POD_GONE, arena_printf(w->records, "ns/%s-0", name));
    gang_record(w, r);
}

static const char *held_on(struct world *w, const char *name)
{
    const struct gang *g = gang_find(w->s, id(w, name));
    return g->own->seats_n ? text_of(w, w->s->nodes.nodes[w->s->seats[g->own->seats[0]].node].name) : "";
}

static void begins(struct world *w)
{
    two_halves(w, 1000);
    late(w, 1, "cpu=100," GPU "=8");
    assert_true(w->plan.wake_ms && w->plan.wake_ms <= w->now_ms);
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 4);
    assert_non_null(strstr(why(w, "late"), "pending the move of 4 workload(s) to other nodes"));
    for (int i = 4; i < 8; i++) {
        const struct reason *r = entry_of(w, EFFECT_EVICT, arena_printf(w->records, "job-%d", i))->reason;
        assert_int_equal(r->code, REASON_PREEMPTED);
        assert_int_equal(r->have, PREEMPTION_MOVED);
        assert_true(r->name == id(w, "late"));
    }
}

/* Nobody passes meanwhile, of whatever priority, and each has the place that was kept for it; then the gang starts. */
static void places_are_kept_for_all(void **state)
{
    struct world *w = *state;
    begins(w);
    struct gang_record thief = a_workload(w, "thief", "ns/lq", 1, "cpu=100," GPU "=1");
    thief.priority = 100;
    gang_record(w, thief);
    step(w);
    assert_null(entry_of(w, EFFECT_ADMIT, "thief"));
    has_left(w, "job-4");
    has_left(w, "job-5");
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 2);
    assert_string_equal(held_on(w, "job-4"), "n0");
    assert_string_equal(held_on(w, "job-5"), "n0");
    w->now_ms += 1000;
    step(w);
    assert_int_equal(w->plan.entries_n, effects(w, EFFECT_EXPLAIN));
    has_left(w, "job-6");
    has_left(w, "job-7");
    pod(w, "ns/lone", NULL, "cpu=100," GPU "=1");
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 3);
    assert_int_equal(effects(w, EFFECT_BIND), 0);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "late"));
    assert_string_equal(held_on(w, "late"), "n1");
    w->now_ms += 1000;
    step(w);
    assert_int_equal(effects(w, EFFECT_EVICT), 0);
}

/* The gang goes while others leave for it: they come back, wherever it is best, and nobody else is told. */
static void the_gang_goes_meanwhile(void **state)
{
    struct world *w = *state;
    begins(w);
    has_left(w, "job-4");
    gone(w, CHANGE_GANG_GONE, "late");
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "job-4"));
    for (int i = 5; i < 8; i++)
        has_left(w, arena_printf(w->records, "job-%d", i));
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 3);
    assert_int_equal(w->s->promised_n, 0);
}

/* One of them is gone for good, another one does not want to start any more: the gang waits for neither. */
static void who_does_not_come_back_is_not_waited_for(void **state)
{
    struct world *w = *state;
    begins(w);
    for (int i = 4; i < 8; i++)
        has_left(w, arena_printf(w->records, "job-%d", i));
    gone(w, CHANGE_GANG_GONE, "job-7");
    struct gang_record r = a_workload(w, "job-6", "ns/lq", 1, "cpu=100," GPU "=1");
    r.active = false;
    gang_record(w, r);
    step(w);
    w->now_ms += 1000;
    step(w);
    assert_int_equal(gang_find(w->s, id(w, "late"))->phase, GANG_RESERVED);
}

/* A node goes on which one was to begin again: it waits, and the gang for ten minutes at most. */
static void a_place_that_is_lost(void **state)
{
    struct world *w = *state;
    begins(w);
    gone(w, CHANGE_NODE_GONE, "n0");
    for (int i = 4; i < 8; i++)
        has_left(w, arena_printf(w->records, "job-%d", i));
    step(w);
    assert_int_equal(gang_find(w->s, id(w, "late"))->phase, GANG_WAITING);
    for (int i = 0; i < 700 && gang_find(w->s, id(w, "late"))->phase == GANG_WAITING; i++) {
        w->now_ms += 1000;
        step(w);
    }
    assert_int_equal(gang_find(w->s, id(w, "late"))->phase, GANG_RESERVED);
}

/* Who has been moved stays for ten minutes. */
static void nobody_is_moved_twice_at_once(void **state)
{
    struct world *w = *state;
    begins(w);
    for (int i = 4; i < 8; i++)
        has_left(w, arena_printf(w->records, "job-%d", i));
    step(w);
    for (int i = 4; i < 8; i++)
        outcome(w, EFFECT_ADMIT, arena_printf(w->records, "job-%d", i), NULL, OUTCOME_DONE);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "late"));
    gone(w, CHANGE_GANG_GONE, "late");
    gone(w, CHANGE_GANG_GONE, "job-0");
    gone(w, CHANGE_POD_GONE, "ns/job-0-0");
    node(w, "n2", "cpu=8000," GPU "=2", "");
    cordon(w, 1, true);
    workload(w, "next", "ns/lq", 1, "cpu=100," GPU "=3");
    step(w);
    says(w, "next", "\"change\":\"move\",\"kind\":\"Workload\",\"namespace\":\"ns\",\"name\":\"job-");
    for (int i = 4; i < 8; i++)
        says_not(w, "next", move_of(w, i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {in_a_world(a_whole_node_of_two_halves), cmocka_unit_test(the_bound_is_on_what_all_lose),
                                       in_a_world(who_may_not_be_moved_stays), in_a_world(work_that_was_saved_is_not_lost),
                                       in_a_world(nobody_without_a_place), in_a_world(one_place_of_two_is_missing),
                                       in_a_world(not_where_quota_is_short), in_a_world(places_are_kept_for_all),
                                       in_a_world(the_gang_goes_meanwhile), in_a_world(who_does_not_come_back_is_not_waited_for),
                                       in_a_world(a_place_that_is_lost), in_a_world(nobody_is_moved_twice_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
