/* test_decide.c - whole cycles, from changes to plans */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../pending.h"
#include "world.h"

#define GPU "nvidia.com/gpu"

static void check(struct world *w)
{
    struct err e = {0};
    if (!state_check(w->s, &e) || !pending_check(w->s, &e))
        fail_msg("state_check: %s", e.text);
}

static void step(struct world *w)
{
    run(w);
    check(w);
}

static void issue_queue(struct world *w)
{
    flavor(w, "a100-40gb", "product=a100");
    flavor(w, "t4", "product=t4");
    struct queue_words q;
    queue_begin(w, &q, "ml", NULL);
    q.r.strategy = QUEUE_STRICT_FIFO;
    queue_quota(w, &q, "a100-40gb", "cpu", 128000, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "a100-40gb", "memory", 512ll << 30, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "a100-40gb", GPU, 16, 4, NO_LIMIT);
    queue_quota(w, &q, "t4", GPU, 32, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/lq", "ml");
    for (int i = 0; i < 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "a100-%d", i);
        node(w, name, "cpu=96000,memory=1099511627776," GPU "=8", "product=a100");
        snprintf(name, sizeof name, "t4-%d", i);
        node(w, name, "cpu=32000,memory=137438953472," GPU "=4", "product=t4");
    }
}

static const char *job_requests = "cpu=8000,memory=34359738368," GPU "=1";

static void issue_example(void **state)
{
    (void)state;
    struct world w = world_new();
    issue_queue(&w);
    workload(&w, "big", "ns/lq", 1, "cpu=1000," GPU "=8");
    workload(&w, "big2", "ns/lq", 1, "cpu=1000," GPU "=5");
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 2);
    workload(&w, "job", "ns/lq", 4, job_requests);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 0);
    const struct reason *r = state_gang_reason(w.s, id(&w, "job"));
    const struct reason *gpu = reason_find(r, REASON_QUOTA_SHORT);
    assert_non_null(gpu);
    assert_int_equal(gpu->have, 3);
    assert_int_equal(gpu->need, 4);
    assert_int_equal(gpu->flavor, id(&w, "a100-40gb"));
    assert_string_equal(why(&w, "job"),
                        "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor a100-40gb, "
                        "1 more needed, insufficient quota for cpu in flavor t4, previously considered podsets requests (0) + current podset "
                        "request (32) > maximum capacity (0), "
                        "insufficient quota for memory in flavor t4, previously considered podsets requests (0) + current podset request "
                        "(128Gi) > maximum capacity (0)");
    assert_string_equal(explain_kueue_reason(r), "WaitingForQuota");
    assert_non_null(r->remedies);
    struct buf b;
    buf_init(&b);
    explain_tree(&b, r, w.names);
    assert_non_null(strstr(b.data, "would help:\n  the end of Workload ns/big2\n  the end of Workload ns/big\n"
                                   "  1 more nvidia.com/gpu of quota in flavor a100-40gb for queue ml and "
                                   "1 more nvidia.com/gpu free on node a100-0\n"));
    buf_clear(&b);
    explain_json(&b, r, w.names);
    assert_non_null(strstr(b.data, "{\"code\":\"quota-short\",\"queue\":\"ml\",\"flavor\":\"a100-40gb\""));
    buf_free(&b);

    /* StrictFIFO: what comes later waits behind, though it would fit. */
    workload(&w, "late", "ns/lq", 1, "cpu=1000," GPU "=1");
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 0);
    assert_string_equal(why(&w, "late"), "waits behind job in StrictFIFO queue ml");
    assert_int_equal(state_gang_position(w.s, id(&w, "late")), 1);
    step(&w);
    assert_int_equal(w.plan.entries_n, 0);

    struct gang_record done = a_workload(&w, "big2", "ns/lq", 1, "cpu=1000," GPU "=5");
    done.finished = true;
    gang_record(&w, done);
    assert_true(decide_has_work(w.s));
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 2);
    const struct plan_entry *e = entry_of(&w, EFFECT_ADMIT, "job");
    assert_int_equal(e->queue, id(&w, "ml"));
    assert_int_equal(e->choices_n, 3);
    assert_int_equal(e->choices[0].flavor, id(&w, "a100-40gb"));
    assert_int_equal(state_gang_phase(w.s, id(&w, "job")), GANG_RESERVED);

    /* Members are bound in one burst when all exist. */
    for (int i = 0; i < 4; i++) {
        char key[32];
        snprintf(key, sizeof key, "ns/job-%d", i);
        pod(&w, key, "job", job_requests);
        step(&w);
        assert_int_equal(effects(&w, EFFECT_BIND), i < 3 ? 0 : 4);
    }
    for (uint32_t i = 0; i < w.plan.entries_n; i++)
        assert_int_equal(strncmp(text_of(&w, w.plan.entries[i].node), "a100", 4), 0);
    assert_int_equal(state_gang_phase(w.s, id(&w, "job")), GANG_BOUND);
    struct queue_usage *rows;
    uint32_t n = state_queue_usage(w.s, id(&w, "ml"), w.cycle, &rows);
    assert_int_equal(n, 6);
    assert_int_equal(rows[2].resource, id(&w, GPU));
    assert_int_equal(rows[2].reserved, 8 + 4 + 1);
    pod(&w, "ns/job-4", "job", job_requests); /* one more than quota was taken for */
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 0);
    world_free(&w);
}

static void lone_pods(void **state)
{
    (void)state;
    struct world w = world_new();
    node(&w, "n1", "cpu=4000," GPU "=2", "zone=a");
    node(&w, "n2", "cpu=4000", "zone=b");
    pod(&w, "ns/cpu", NULL, "cpu=1000");
    pod(&w, "ns/gpu", NULL, "cpu=1000," GPU "=2");
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 2);
    assert_int_equal(effects(&w, EFFECT_BIND), 2);
    assert_int_equal(entry_of(&w, EFFECT_BIND, "ns/cpu")->node, id(&w, "n2")); /* keeps off the GPU node */
    assert_int_equal(entry_of(&w, EFFECT_BIND, "ns/gpu")->node, id(&w, "n1"));
    pod(&w, "ns/gpu2", NULL, GPU "=1");
    struct pod_record picky = a_pod(&w, "ns/picky", NULL, "cpu=1000");
    picky.shape = shape_of(&w, "cpu=1000", "zone=c");
    pod_record(&w, picky);
    step(&w);
    assert_string_equal(why(&w, "pod/ns/gpu2"), "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. preemption: 0/2 nodes are available: "
                        "1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.");
    assert_string_equal(why(&w, "pod/ns/picky"), "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. "
                        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.");
    /* The same pod again says nothing new. */
    pod_record(&w, picky);
    assert_false(decide_has_work(w.s) && (run(&w), w.plan.entries_n > 0));
    /* A bind that failed is tried again; a pod that ends gives its room to the next. */
    outcome(&w, EFFECT_BIND, "pod/ns/cpu", "ns/cpu", OUTCOME_FAILED);
    step(&w);
    assert_non_null(entry_of(&w, EFFECT_BIND, "ns/cpu"));
    struct pod_record ended = a_pod(&w, "ns/gpu", NULL, "cpu=1000," GPU "=2");
    ended.phase = POD_SUCCEEDED;
    ended.node = id(&w, "n1");
    pod_record(&w, ended);
    step(&w);
    assert_non_null(entry_of(&w, EFFECT_BIND, "ns/gpu2"));
    assert_int_equal(state_gang_phase(w.s, id(&w, "pod/ns/gpu")), GANG_OVER);
    gone(&w, CHANGE_POD_GONE, "ns/gpu");
    assert_int_equal(state_gang_phase(w.s, id(&w, "pod/ns/gpu")), GANG_UNKNOWN);
    node(&w, "n3", "cpu=4000", "zone=c");
    step(&w);
    assert_int_equal(entry_of(&w, EFFECT_BIND, "ns/picky")->node, id(&w, "n3"));
    world_free(&w);
}

static void pod_group(void **state)
{
    (void)state;
    struct world w = world_new();
    node(&w, "n1", GPU "=2", "");
    pod(&w, "ns/g-0", "group", GPU "=1");
    step(&w);
    assert_int_equal(w.plan.entries_n, 0); /* no record of the group yet */
    gang_record(&w, a_group(&w, "group", NULL, 3));
    step(&w);
    assert_string_equal(why(&w, "group"), "1 of 3 pods exist");
    pod(&w, "ns/g-1", "group", GPU "=1");
    pod(&w, "ns/g-2", "group", GPU "=1");
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 0); /* none, not two */
    assert_string_equal(why(&w, "group"), "only 2 of 3 pods can be placed; for the 3rd, 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.");
    pod(&w, "ns/g-3", "group", GPU "=1");
    step(&w);
    node(&w, "n2", GPU "=1", "");
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 1);
    assert_int_equal(effects(&w, EFFECT_BIND), 3); /* the first three; the surplus waits for room */
    assert_null(entry_of(&w, EFFECT_BIND, "ns/g-3"));
    node(&w, "n3", GPU "=1", "");
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 1);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 0);
    assert_int_equal(state_gang_phase(w.s, id(&w, "group")), GANG_BOUND);
    world_free(&w);
}

static void volcano_quota(void **state)
{
    (void)state;
    struct world w = world_new();
    node(&w, "n1", "cpu=64000", "");
    struct quota_record quota = {.resource = id(&w, "cpu"), .nominal = 4000, .borrowing_limit = NO_LIMIT, .lending_limit = NO_LIMIT};
    struct queue_record q = {.name = id(&w, "volcano:q"), .unlimited = true, .quotas = &quota, .quotas_n = 1};
    state_apply(w.s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
    gang_record(&w, a_group(&w, "g", "volcano:q", 2));
    pod(&w, "ns/a", "g", "cpu=2000");
    pod(&w, "ns/b", "g", "cpu=2000");
    pod(&w, "ns/c", "g", "cpu=2000");
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 2);
    assert_string_equal(why(&w, "g"), "insufficient unused quota for cpu in queue volcano:q, 2 more needed");
    gone(&w, CHANGE_POD_GONE, "ns/a");
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 1);
    struct queue_usage *rows;
    assert_int_equal(state_queue_usage(w.s, id(&w, "volcano:q"), w.cycle, &rows), 1);
    assert_int_equal(rows[0].reserved, 4000);
    world_free(&w);
}

static void flavor_fallback(void **state)
{
    (void)state;
    struct world w = world_new();
    flavor(&w, "one", "kind=one");
    flavor(&w, "two", "kind=two");
    struct queue_words q;
    queue_begin(&w, &q, "q", NULL);
    queue_quota(&w, &q, "one", GPU, 8, NO_LIMIT, NO_LIMIT);
    queue_quota(&w, &q, "two", GPU, 8, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    local_queue(&w, "ns/lq", "q");
    node(&w, "n1", GPU "=2", "kind=one"); /* quota says 8, nodes have 2 */
    node(&w, "n2", GPU "=4", "kind=two");
    workload(&w, "a", "ns/lq", 4, GPU "=1");
    workload(&w, "b", "ns/lq", 3, GPU "=1");
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 1);
    assert_int_equal(entry_of(&w, EFFECT_ADMIT, "a")->choices[0].flavor, id(&w, "two"));
    assert_string_equal(why(&w, "b"), "only 2 of 3 pods of pod set main in flavor one can be placed; for the 3rd, 0/2 nodes are available: "
                                      "1 Insufficient nvidia.com/gpu, 1 node(s) didn't match Pod's node affinity/selector, "
                                      "only 0 of 3 pods of pod set main in flavor two can be placed: 0/2 nodes are available: "
                                      "1 Insufficient nvidia.com/gpu, 1 node(s) didn't match Pod's node affinity/selector");
    assert_string_equal(explain_kueue_reason(state_gang_reason(w.s, id(&w, "b"))), "TopologyPlacementFailed");
    node(&w, "n3", GPU "=1", "kind=one");
    step(&w);
    assert_int_equal(entry_of(&w, EFFECT_ADMIT, "b")->choices[0].flavor, id(&w, "one"));
    /* Its node goes before the pods come: the places move, or the gang says why not. */
    gone(&w, CHANGE_NODE_GONE, "n3");
    step(&w);
    for (int i = 0; i < 3; i++) {
        char key[32];
        snprintf(key, sizeof key, "ns/b-%d", i);
        pod(&w, key, "b", GPU "=1");
    }
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 0);
    assert_string_equal(why(&w, "b"), "only 2 of 3 pods of pod set main in flavor one can be placed; for the 3rd, 0/2 nodes are available: "
                                      "1 Insufficient nvidia.com/gpu, 1 node(s) didn't match Pod's node affinity/selector, "
                                      "only 0 of 3 pods of pod set main in flavor two can be placed: 0/2 nodes are available: "
                                      "1 Insufficient nvidia.com/gpu, 1 node(s) didn't match Pod's node affinity/selector");
    node(&w, "n4", GPU "=1", "kind=one");
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 3);
    world_free(&w);
}

static void restart(void **state)
{
    (void)state;
    struct world w = world_new();
    issue_queue(&w);
    struct gang_record r = a_workload(&w, "job", "ns/lq", 4, job_requests);
    name_id resources[3] = {id(&w, "cpu"), id(&w, "memory"), id(&w, GPU)};
    struct flavor_choice choices[3];
    for (int i = 0; i < 3; i++)
        choices[i] = (struct flavor_choice){0, resources[i], id(&w, "a100-40gb")};
    r.admitted = true;
    r.admitted_queue = id(&w, "ml");
    r.choices = choices;
    r.choices_n = 3;
    for (int i = 0; i < 4; i++) {
        char key[32];
        snprintf(key, sizeof key, "ns/job-%d", i);
        struct pod_record p = a_pod(&w, key, "job", job_requests);
        p.node = i < 2 ? id(&w, "a100-0") : 0;
        if (i < 3)
            pod_record(&w, p);
    }
    gang_record(&w, r);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 0);
    assert_int_equal(effects(&w, EFFECT_BIND), 1); /* the burst was cut short: what is there goes on */
    struct queue_counts counts;
    assert_true(state_queue_counts(w.s, id(&w, "ml"), &counts));
    assert_int_equal(counts.admitted_n, 1);
    pod(&w, "ns/job-3", "job", job_requests);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 1);
    /* Taken back outside: quota is free again. */
    r.admitted = false;
    gang_record(&w, r);
    check(&w);
    assert_true(state_queue_counts(w.s, id(&w, "ml"), &counts));
    assert_int_equal(counts.admitted_n, 0);
    assert_int_equal(counts.pending_n, 1);
    world_free(&w);
}

static void evictions(void **state)
{
    (void)state;
    struct world w = world_new();
    issue_queue(&w);
    struct gang_record r = a_workload(&w, "job", "ns/lq", 2, job_requests);
    gang_record(&w, r);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 1);
    r.admitted = true;
    gang_record(&w, r);
    r.active = false;
    gang_record(&w, r);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_EVICT), 1);
    assert_int_equal(entry_of(&w, EFFECT_EVICT, "job")->reason->code, REASON_DEACTIVATED);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_EVICT), 0);
    r.admitted = false;
    gang_record(&w, r);
    step(&w);
    assert_string_equal(why(&w, "job"), "The workload is deactivated");
    r.active = true;
    gang_record(&w, r);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 1);
    struct queue_words q;
    queue_begin(&w, &q, "ml", NULL);
    q.r.stop = STOP_HOLD_AND_DRAIN;
    queue_quota(&w, &q, "a100-40gb", GPU, 16, 4, NO_LIMIT);
    queue_done(&w, &q);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_EVICT), 1);
    assert_int_equal(entry_of(&w, EFFECT_EVICT, "job")->reason->code, REASON_STOPPED_QUEUE);
    outcome(&w, EFFECT_EVICT, "job", NULL, OUTCOME_DONE);
    gang_record(&w, r);
    step(&w);
    assert_int_equal(state_gang_phase(w.s, id(&w, "job")), GANG_WAITING);
    assert_string_equal(why(&w, "job"), "ClusterQueue ml is stopped");
    world_free(&w);
}

static void admit_failed(void **state)
{
    (void)state;
    struct world w = world_new();
    issue_queue(&w);
    workload(&w, "job", "ns/lq", 2, job_requests);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 1);
    outcome(&w, EFFECT_ADMIT, "job", NULL, OUTCOME_FAILED);
    check(&w);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 1);
    outcome(&w, EFFECT_ADMIT, "job", NULL, OUTCOME_FAILED);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 0); /* the second time it waits a little */
    assert_true(w.plan.wake_ms > w.now_ms);
    w.now_ms = w.plan.wake_ms;
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 1);
    world_free(&w);
}

static void missing_things(void **state)
{
    (void)state;
    struct world w = world_new();
    node(&w, "n", "cpu=64000," GPU "=8", "product=a100");
    workload(&w, "job", "ns/lq", 1, GPU "=1");
    step(&w);
    assert_string_equal(why(&w, "job"), "LocalQueue lq doesn't exist");
    local_queue(&w, "ns/lq", "q");
    step(&w);
    assert_string_equal(why(&w, "job"), "ClusterQueue q doesn't exist");
    struct queue_words q;
    queue_begin(&w, &q, "q", NULL);
    queue_quota(&w, &q, "f", GPU, 1, NO_LIMIT, NO_LIMIT);
    q.r.namespaces.matches_nothing = true;
    queue_done(&w, &q);
    step(&w);
    assert_string_equal(why(&w, "job"), "ClusterQueue q is inactive");
    flavor(&w, "f", "product=a100");
    step(&w);
    assert_string_equal(why(&w, "job"), "Workload namespace ns doesn't match ClusterQueue q selector");
    q.r.namespaces.matches_nothing = false;
    queue_done(&w, &q);
    workload(&w, "uncovered", "ns/lq", 1, "cpu=1," GPU "=1");
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 1);
    assert_string_equal(why(&w, "uncovered"), "couldn't assign flavors to pod set main: resource cpu unavailable in ClusterQueue");
    gone(&w, CHANGE_QUEUE_GONE, "q");
    step(&w);
    assert_string_equal(why(&w, "uncovered"), "ClusterQueue q doesn't exist");
    world_free(&w);
}

/* Users read the names that they wrote; what a queue is found by is nobody's business, whatever is in it. */
static void queues_are_called_as_they_were_written(void **state)
{
    (void)state;
    struct world w = world_new();
    struct gang_record g = a_group(&w, "g", "volcano:race/1", 1);
    g.queue_title = id(&w, "race");
    gang_record(&w, g);
    pod(&w, "ns/g-0", "g", GPU "=1");
    step(&w);
    assert_string_equal(why(&w, "g"), "queue race doesn't exist");
    struct queue_record q = {
        .name = id(&w, "volcano:race/1"), .title = id(&w, "race"), .kind = QUEUE_VOLCANO, .unlimited = true, .closed = true};
    state_apply(w.s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
    step(&w);
    assert_string_equal(why(&w, "g"), "queue race is inactive");
    q.closed = false;
    q.stop = STOP_HOLD;
    state_apply(w.s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
    step(&w);
    assert_string_equal(why(&w, "g"), "queue race is stopped");
    world_free(&w);
}

static const char *kept_out(struct world *w)
{
    static struct buf text;
    buf_clear(&text);
    const struct reason *r = state_gang_kept_out(w->s, id(w, "g"), w->cycle);
    if (r)
        explain_sentence(&text, r, w->names);
    return r ? text.data : "";
}

static struct queue_record volcano_queue(struct world *w, const char *key, int32_t priority, const struct quota_record *quota)
{
    return (struct queue_record){.name = id(w, key), .title = id(w, key + strlen("volcano:")), .kind = QUEUE_VOLCANO, .unlimited = true,
                                 .quotas = quota, .quotas_n = quota ? 1 : 0, .priority = priority};
}

static void group_of(struct world *w, const char *name, const char *queue, int gpus)
{
    char key[32], requests[64];
    snprintf(key, sizeof key, "ns/%s-0", name);
    snprintf(requests, sizeof requests, GPU "=%d", gpus);
    gang_record(w, a_group(w, name, queue, 1));
    pod(w, key, name, requests);
}

/* Any member makes it whole: the first asks for more than the queue has, though there is a place for it. */
static void a_group_starts_with_a_member_that_quota_holds(void **state)
{
    (void)state;
    struct world w = world_new();
    struct quota_record quota = {.resource = id(&w, GPU), .nominal = 1, .borrowing_limit = NO_LIMIT, .lending_limit = NO_LIMIT};
    node(&w, "n0", "cpu=8000," GPU "=8", "");
    state_apply(w.s, &(struct change){.type = CHANGE_QUEUE, .queue = volcano_queue(&w, "volcano:v", 0, &quota)});
    gang_record(&w, a_group(&w, "g", "volcano:v", 1));
    pod(&w, "ns/a", "g", GPU "=3");
    pod(&w, "ns/b", "g", "cpu=500");
    run(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 1);
    assert_non_null(entry_of(&w, EFFECT_BIND, "ns/b"));
    world_free(&w);
}

/* All of the queue that comes first, then the next one; a ClusterQueue's heads take part as ever. */
static void volcano_queues_are_served_by_their_priority(void **state)
{
    (void)state;
    struct world w = world_new();
    const char *const keys[] = {"volcano:low", "volcano:high", "volcano:middle"};
    const int32_t priorities[] = {0, 2000000000, 1};
    const char *const first[] = {"ns/h1-0", "ns/h2-0", "ns/m1-0"};
    for (int i = 0; i < 3; i++) {
        struct queue_record q = volcano_queue(&w, keys[i], priorities[i], NULL);
        state_apply(w.s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
    }
    node(&w, "n0", GPU "=3", "");
    group_of(&w, "l1", "volcano:low", 1);
    group_of(&w, "l2", "volcano:low", 1);
    group_of(&w, "m1", "volcano:middle", 1);
    group_of(&w, "m2", "volcano:middle", 1);
    group_of(&w, "large", "volcano:high", 8);
    group_of(&w, "h1", "volcano:high", 1);
    group_of(&w, "h2", "volcano:high", 1);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 3);
    for (int i = 0; i < 3; i++)
        assert_non_null(entry_of(&w, EFFECT_BIND, first[i]));
    struct queue_record q = volcano_queue(&w, keys[0], 5, NULL);
    state_apply(w.s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
    gone(&w, CHANGE_POD_GONE, "ns/m1-0");
    step(&w);
    assert_non_null(entry_of(&w, EFFECT_BIND, "ns/l1-0"));
    world_free(&w);
}

/* dequeueStrategy fifo: who is refused, or not let in, keeps those behind it waiting; those before it not, nor those of other queues. */
static void a_fifo_queue_waits_for_its_first(void **state)
{
    (void)state;
    struct world w = world_new();
    struct quota_record quota = {.resource = id(&w, GPU), .nominal = 8, .borrowing_limit = NO_LIMIT, .lending_limit = NO_LIMIT};
    struct queue_record q = volcano_queue(&w, "volcano:v", 0, &quota);
    q.strategy = QUEUE_STRICT_FIFO;
    state_apply(w.s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
    node(&w, "n0", GPU "=16", "");
    group_of(&w, "runs", "volcano:v", 4);
    step(&w);
    struct gang_record large = a_group(&w, "large", "volcano:v", 1), g = a_group(&w, "g", "volcano:v", 1);
    struct amount six = {id(&w, GPU), 6}, one = {id(&w, GPU), 1};
    large.least = &six;
    g.least = &one;
    large.least_n = g.least_n = 1;
    gang_record(&w, large);
    gang_record(&w, g);
    assert_string_equal(kept_out(&w), "waits behind large in queue v, whose dequeueStrategy is fifo");
    assert_string_equal(text_of(&w, state_queue_front(w.s, q.name, w.cycle)), "large");
    six.value = 4;
    gang_record(&w, large);
    assert_string_equal(kept_out(&w), "");
    assert_int_equal(state_queue_front(w.s, q.name, w.cycle), 0);
    pod(&w, "ns/large-0", "large", GPU "=6");
    pod(&w, "ns/g-0", "g", GPU "=1");
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), 0);
    assert_string_equal(why(&w, "g"), "waits behind large in queue v, whose dequeueStrategy is fifo");
    q.strategy = QUEUE_BEST_EFFORT_FIFO;
    state_apply(w.s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
    step(&w);
    assert_non_null(entry_of(&w, EFFECT_BIND, "ns/g-0"));
    world_free(&w);
}

/* Volcano makes the pods of a job only when the queue could hold the least that it asks for. */
static void a_group_without_pods_is_let_in_when_its_queue_could_hold_it(void **state)
{
    (void)state;
    struct world w = world_new();
    struct quota_record quota = {.resource = id(&w, GPU), .nominal = 8, .borrowing_limit = NO_LIMIT, .lending_limit = NO_LIMIT};
    struct queue_record q = {
        .name = id(&w, "volcano:v"), .title = id(&w, "v"), .kind = QUEUE_VOLCANO, .unlimited = true, .quotas = &quota, .quotas_n = 1};
    struct gang_record g = a_group(&w, "g", "volcano:v", 1);
    struct amount least[2] = {{id(&w, GPU), 6}, {id(&w, "cpu"), 1000000}}; /* what the queue does not name is not counted */
    g.queue_title = id(&w, "v");
    g.least = least;
    g.least_n = 2;
    assert_string_equal(kept_out(&w), "not tried yet");
    gang_record(&w, g);
    assert_string_equal(kept_out(&w), "queue v doesn't exist");
    state_apply(w.s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
    assert_string_equal(kept_out(&w), "");
    node(&w, "n0", "cpu=64000," GPU "=8", "");
    gang_record(&w, a_group(&w, "other", "volcano:v", 1));
    pod(&w, "ns/other-0", "other", GPU "=4");
    step(&w);
    assert_string_equal(kept_out(&w), "insufficient unused quota for " GPU " in queue v, 2 more needed");
    q.closed = true;
    q.closed_text = id(&w, "it is Closing");
    state_apply(w.s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
    assert_string_equal(kept_out(&w), "queue v is inactive: it is Closing");
    q.closed = false;
    state_apply(w.s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
    gone(&w, CHANGE_POD_GONE, "ns/other-0");
    step(&w);
    assert_string_equal(kept_out(&w), "");
    least[0].value = 9;
    gang_record(&w, g);
    assert_string_equal(kept_out(&w), "insufficient quota for " GPU " in queue v, request > maximum capacity (9 > 8)");
    pod(&w, "ns/g-0", "g", GPU "=1");
    assert_string_equal(kept_out(&w), "");
    world_free(&w);
}

/* Held: nobody comes in, nobody is evicted for others, what must end does, and there is nothing left to try. */
static void held(struct world *w)
{
    arena_reset(w->cycle);
    decide(w->s, &(struct decide_config){.hold = true}, w->now_ms, w->cycle, &w->plan);
    check(w);
    assert_true(!decide_has_work(w->s) || effects(w, EFFECT_EVICT)); /* who has to go is told first, and then why others wait */
}

static void held_a_scheduler_only_looks_after_what_runs(void **state)
{
    (void)state;
    struct world w = world_new();
    issue_queue(&w);
    struct gang_record r = a_workload(&w, "runs", "ns/lq", 1, "cpu=1000," GPU "=8");
    gang_record(&w, r);
    step(&w);
    assert_int_equal(effects(&w, EFFECT_ADMIT), 1);
    workload(&w, "waits", "ns/lq", 1, "cpu=1000," GPU "=1");
    pod(&w, "ns/alone", NULL, "cpu=1000");
    held(&w);
    assert_int_equal(w.plan.entries_n, 0);
    node(&w, "t4-2", "cpu=32000," GPU "=4", "product=t4");
    r.admitted = true;
    gang_record(&w, r);
    r.active = false;
    gang_record(&w, r);
    held(&w);
    assert_int_equal(effects(&w, EFFECT_EVICT), 1);
    assert_int_equal(w.plan.entries_n, 1);
    step(&w); /* let go */
    assert_non_null(entry_of(&w, EFFECT_ADMIT, "waits"));
    assert_non_null(entry_of(&w, EFFECT_BIND, "ns/alone"));
    world_free(&w);
}

/* Of those that are held back: by a queue that is missing, which is told at once, and by one that is stopped, told at the end. */
static void gangs_that_are_held_back_are_told_in_the_order_in_which_they_came(void **state)
{
    (void)state;
    static const char *const names[] = {"z", "a", "m", "zz", "aa", "mm"};
    struct world w = world_new();
    struct queue_words q;
    queue_begin(&w, &q, "q", NULL);
    q.r.stop = STOP_HOLD;
    queue_done(&w, &q);
    local_queue(&w, "ns/stopped", "q");
    for (size_t i = 0; i < 6; i++)
        workload(&w, names[i], i < 3 ? "ns/missing" : "ns/stopped", 1, "cpu=1");
    step(&w);
    assert_int_equal(w.plan.entries_n, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(w.plan.entries[i].effect, EFFECT_EXPLAIN);
        assert_string_equal(text_of(&w, w.plan.entries[i].gang), names[i]);
    }
    world_free(&w);
}

/* A workload that was told to go leaves its place while the cycle runs, so that node is asked about in the next one only. */
static void what_comes_free_in_a_cycle_helps_in_the_next(void **state)
{
    (void)state;
    struct world w = world_new();
    struct queue_words q;
    flavor(&w, "f", "zone=x");
    queue_begin(&w, &q, "q", NULL);
    queue_quota(&w, &q, "f", GPU, 8, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    local_queue(&w, "ns/lq", "q");
    node(&w, "x", GPU "=8", "zone=x");
    node(&w, "y", GPU "=8", "zone=y");
    struct gang_record holds = a_workload(&w, "holds", "ns/lq", 1, GPU "=8");
    gang_record(&w, holds);
    pod(&w, "ns/ends", NULL, GPU "=8");
    step(&w);
    assert_non_null(entry_of(&w, EFFECT_BIND, "ns/ends"));
    struct pod_record first = a_pod(&w, "ns/first", NULL, "");
    first.shape = shape_of(&w, GPU "=8", "zone=y");
    pod_record(&w, first);
    pod(&w, "ns/second", NULL, GPU "=8");
    holds.active = false;
    gang_record(&w, holds);
    step(&w);
    assert_non_null(entry_of(&w, EFFECT_EVICT, "holds"));
    outcome(&w, EFFECT_EVICT, "holds", NULL, OUTCOME_DONE);
    gone(&w, CHANGE_POD_GONE, "ns/ends");
    step(&w);
    assert_string_equal(text_of(&w, entry_of(&w, EFFECT_BIND, "ns/first")->node), "y");
    if (!entry_of(&w, EFFECT_BIND, "ns/second"))
        step(&w);
    assert_string_equal(text_of(&w, entry_of(&w, EFFECT_BIND, "ns/second")->node), "x");
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(issue_example), cmocka_unit_test(lone_pods),  cmocka_unit_test(pod_group),    cmocka_unit_test(volcano_quota),
        cmocka_unit_test(flavor_fallback), cmocka_unit_test(restart), cmocka_unit_test(evictions),    cmocka_unit_test(admit_failed),
        cmocka_unit_test(missing_things),
        cmocka_unit_test(queues_are_called_as_they_were_written),
        cmocka_unit_test(held_a_scheduler_only_looks_after_what_runs),
        cmocka_unit_test(a_group_starts_with_a_member_that_quota_holds),
        cmocka_unit_test(volcano_queues_are_served_by_their_priority),
        cmocka_unit_test(a_fifo_queue_waits_for_its_first),
        cmocka_unit_test(a_group_without_pods_is_let_in_when_its_queue_could_hold_it),
        cmocka_unit_test(gangs_that_are_held_back_are_told_in_the_order_in_which_they_came),
        cmocka_unit_test(what_comes_free_in_a_cycle_helps_in_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
