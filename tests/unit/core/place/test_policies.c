/* test_policies.c - placement policies on a few nodes: what is expected of the pods to come, and what is kept for them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../world.h"
#include "core/score/target.h"
#include "core/state/model.h"

#define GPU "nvidia.com/gpu"
#define PARTS "capstan.dev/gpu-milli"

static void node_of(struct world *w, const char *name, int gpus_n, int cpu)
{
    char amounts[96];
    snprintf(amounts, sizeof amounts, "cpu=%d," GPU "=%d," PARTS "=%d", cpu, gpus_n, gpus_n * 1000);
    struct node_record r = a_node(w, name, amounts, "");
    struct device *all = arena_zero(w->records, 2 * (size_t)gpus_n, sizeof *all);
    for (int i = 0; i < gpus_n; i++) {
        const char text[2] = {(char)('a' + i), 0};
        all[2 * i] = (struct device){.resource = id(w, GPU), .id = id(w, text), .gpu = (uint16_t)i, .healthy = true};
        all[2 * i + 1] = all[2 * i];
        all[2 * i + 1].resource = id(w, PARTS);
        all[2 * i + 1].parts = 1000;
    }
    r.devices = all;
    r.devices_n = 2 * (uint32_t)gpus_n;
    node_record(w, r);
}

/* Where the pod goes; "" nowhere, and then it is gone. */
static const char *placed(struct world *w, enum placement placement, const char *key, const char *requests)
{
    struct decide_config config = {.placement = placement, .placement_seed = 3, .no_counts = true, .keeps_whole = true};
    struct err e = {0};
    pod(w, key, NULL, requests);
    arena_reset(w->cycle);
    decide(w->s, &config, w->now_ms, w->cycle, &w->plan);
    if (!state_check(w->s, &e))
        fail_msg("%s", e.text);
    const struct plan_entry *entry = entry_of(w, EFFECT_BIND, key);
    if (!entry)
        gone(w, CHANGE_POD_GONE, key);
    return entry ? text_of(w, entry->node) : "";
}

static void without_targets(void **state)
{
    (void)state;
    static const enum placement all[] = {PLACEMENT_FGD, PLACEMENT_CAPSTAN};
    for (size_t i = 0; i < 2; i++) {
        struct world w = world_new();
        node_of(&w, "n0", 1, 8000);
        node_of(&w, "n1", 1, 8000);
        assert_string_equal(placed(&w, all[i], "ns/p1", PARTS "=500"), "n0");
        assert_string_equal(placed(&w, all[i], "ns/p2", PARTS "=500"), "n0");
        assert_string_equal(placed(&w, all[i], "ns/p3", "cpu=1000"), "n0");
        world_free(&w);
    }
}

/* Half a GPU is asked for by all: who asks for 0.4 goes where 0.4 or 0.9 are left, so that a half stays; and leaves GPUs with cpu alone. */
static void what_is_left_is_of_use(void **state)
{
    (void)state;
    static const enum placement all[] = {PLACEMENT_FGD, PLACEMENT_CAPSTAN};
    for (size_t i = 0; i < 2; i++) {
        struct world w = world_new();
        node_of(&w, "n0", 1, 8000);
        node_of(&w, "n1", 1, 8000);
        state_set_targets(w.s, &(struct target){.cpu_milli = 1000, .gpus_n = 1, .gpu_milli = 500, .count = 10}, 1, 10);
        assert_string_equal(placed(&w, all[i], "ns/p1", "cpu=1000," PARTS "=600"), "n0");
        assert_string_equal(placed(&w, all[i], "ns/p2", "cpu=1000," PARTS "=400"), "n0");
        int64_t lost, left;
        state_fragmentation(w.s, &lost, &left);
        assert_int_equal(left, 1000);
        assert_int_equal(lost, 0);
        assert_string_equal(placed(&w, all[i], "ns/p3", "cpu=1000," PARTS "=600"), "n1");
        state_fragmentation(w.s, &lost, &left);
        assert_int_equal(left, 400);
        assert_int_equal(lost, 400);
        state_set_targets(w.s, NULL, 0, 0);
        world_free(&w);
    }
}

/* What pods ask for and nodes have may be as much as there are numbers: other API servers let it through. */
static void amounts_without_measure(void **state)
{
    (void)state;
    struct world w = world_new();
    node_of(&w, "huge", 1, INT32_MAX);
    node_of(&w, "n0", 1, 8000);
    const struct target targets[] = {{.cpu_milli = INT64_MAX, .gpus_n = 1, .gpu_milli = 1000, .count = 2},
                                     {.cpu_milli = 1, .gpus_n = 1, .gpu_milli = 500, .count = 2}};
    state_set_targets(w.s, targets, 2, 4);
    assert_true(w.s->targets->cpu == INT64_MAX);
    assert_string_not_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/p1", "cpu=1000," PARTS "=600"), "");
    state_set_targets(w.s, &targets[1], 1, 2);
    assert_string_not_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/p2", "cpu=1000," PARTS "=600"), "");
    world_free(&w);
}

/* Half of the pods take GPUs of one model alone: others leave these to them, though a node with those comes first. */
static void scarce_models_are_left(void **state)
{
    (void)state;
    struct world w = world_new();
    char key[16];
    for (int i = 0; i < 4; i++) {
        snprintf(key, sizeof key, "n%d", i);
        node_of(&w, key, 1, 8000);
    }
    struct node_record r = a_node(&w, "n0", "cpu=8000," GPU "=1," PARTS "=1000", "model=rare");
    struct device devices[] = {{.resource = id(&w, GPU), .id = id(&w, "a"), .healthy = true},
                               {.resource = id(&w, PARTS), .id = id(&w, "a"), .healthy = true, .parts = 1000}};
    r.devices = devices;
    r.devices_n = 2;
    node_record(&w, r);
    const struct target targets[] = {{.cpu_milli = 1000, .gpus_n = 1, .gpu_milli = 1000, .count = 10},
                                     {.cpu_milli = 1000, .gpus_n = 1, .gpu_milli = 1000, .count = 10,
                                      .on = shape_of(&w, "", "model=rare")}};
    state_set_targets(w.s, targets, 2, 20);
    assert_string_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/p1", "cpu=1000," GPU "=1"), "n1");
    assert_string_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/p2", "cpu=1000," PARTS "=1000"), "n2");
    assert_string_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/p3", "cpu=1000," GPU "=1"), "n3");
    assert_string_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/p4", "cpu=1000," GPU "=1"), "n0"); /* rather than nowhere */
    world_free(&w);
}

/* A node is kept for pods that take all of its GPUs, but not when the cpu of all of them is taken: nobody would use it. */
static void nodes_without_cpu_are_not_kept(void **state)
{
    (void)state;
    struct world w = world_new();
    char key[16];
    node_of(&w, "full", 4, 4000);
    node_of(&w, "n0", 4, 64000);
    const struct target targets[] = {{.cpu_milli = 1000, .gpus_n = 1, .gpu_milli = 1000, .count = 4},
                                     {.cpu_milli = 9000, .gpus_n = 4, .gpu_milli = 1000, .count = 10},
                                     {.cpu_milli = 4000, .gpus_n = 4, .gpu_milli = 1000, .count = 10}};
    state_set_targets(w.s, targets, 3, 24);
    for (int i = 0; i < 4; i++) {
        snprintf(key, sizeof key, "ns/p%d", i);
        assert_string_equal(placed(&w, PLACEMENT_CAPSTAN, key, "cpu=1000," GPU "=1"), "full");
    }
    assert_string_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/cpu", "cpu=60000"), "n0");
    assert_string_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/q", "cpu=1," GPU "=1"), ""); /* 4,000 are left */
    assert_string_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/more", "cpu=1"), "n0");
    assert_string_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/q", "cpu=1," GPU "=1"), "n0");
    gone(&w, CHANGE_POD_GONE, "ns/q");
    gone(&w, CHANGE_POD_GONE, "ns/more");
    assert_string_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/q", "cpu=1," GPU "=1"), "");
    world_free(&w);
}

/* Half of the GPUs are asked for by pods that take a whole node: of three nodes one is kept for them (two thirds of 1.5). */
static void whole_nodes_are_kept(void **state)
{
    (void)state;
    struct world w = world_new();
    char key[16];
    for (int i = 0; i < 3; i++) {
        snprintf(key, sizeof key, "n%d", i);
        node_of(&w, key, 4, 64000);
    }
    const struct target targets[] = {{.cpu_milli = 1000, .gpus_n = 1, .gpu_milli = 1000, .count = 40},
                                     {.cpu_milli = 4000, .gpus_n = 4, .gpu_milli = 1000, .count = 10}};
    state_set_targets(w.s, targets, 2, 50);
    for (int i = 0; i < 8; i++) {
        snprintf(key, sizeof key, "ns/p%d", i);
        assert_string_not_equal(placed(&w, PLACEMENT_CAPSTAN, key, "cpu=1000," GPU "=1"), "");
    }
    assert_string_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/q", "cpu=1000," GPU "=1"), "");
    assert_string_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/q", "cpu=1000," PARTS "=10"), "");
    assert_string_not_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/cpu", "cpu=1000"), ""); /* takes no GPU */
    const char *node = placed(&w, PLACEMENT_CAPSTAN, "ns/whole", "cpu=4000," GPU "=4");
    assert_string_not_equal(node, "");
    gone(&w, CHANGE_POD_GONE, "ns/whole");
    assert_string_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/q", "cpu=1000," GPU "=1"), "");
    gone(&w, CHANGE_POD_GONE, "ns/p0");
    assert_string_not_equal(placed(&w, PLACEMENT_CAPSTAN, "ns/q", "cpu=1000," GPU "=1"), ""); /* where p0 was */
    assert_string_not_equal(placed(&w, PLACEMENT_BINPACK, "ns/r", "cpu=1000," GPU "=1"), ""); /* others keep nothing */
    world_free(&w);
}

/* Nodes that tell of no devices: what is left of their GPUs is asked of the kind that a pod wants. Where it goes does not depend on whether
 * a pod that wants none was looked at before. */
static void who_was_looked_at_before_makes_no_difference(void **state)
{
    (void)state;
    const struct target targets[] = {{.cpu_milli = 4000, .gpus_n = 1, .gpu_milli = 1000, .count = 10},
                                     {.cpu_milli = 2000, .gpus_n = 2, .gpu_milli = 1000, .count = 10}};
    for (int i = 0; i < 4 * 4 * 4; i++) {
        char to[2][2][8]; /* by who was looked at, by pod */
        for (int bound = 0; bound < 2; bound++) {
            struct world w = world_new();
            char amounts[64];
            for (int n = 0; n < 2; n++) {
                snprintf(amounts, sizeof amounts, "cpu=%d," GPU "=%d", 8000 + 4000 * (n ? i % 4 : i / 4 % 4), n ? 1 + i / 16 : 2);
                node(&w, n ? "n1" : "n0", amounts, "");
            }
            state_set_targets(w.s, targets, 2, 20);
            struct pod_record p = a_pod(&w, "ns/plain", NULL, "cpu=1000");
            p.node = bound ? id(&w, to[0][0]) : 0;
            p.phase = bound ? POD_RUNNING : POD_PENDING;
            if (bound)
                pod_record(&w, p);
            snprintf(to[bound][0], sizeof to[bound][0], "%s", bound ? to[0][0] : placed(&w, PLACEMENT_CAPSTAN, "ns/plain", "cpu=1000"));
            snprintf(to[bound][1], sizeof to[bound][1], "%s", placed(&w, PLACEMENT_CAPSTAN, "ns/p", "cpu=2000," GPU "=1"));
            world_free(&w);
        }
        assert_string_equal(to[0][1], to[1][1]);
    }
}

static void random_goes_anywhere(void **state)
{
    (void)state;
    struct world w = world_new();
    char key[16];
    int seen[4] = {0};
    for (int i = 0; i < 4; i++) {
        snprintf(key, sizeof key, "n%d", i);
        node_of(&w, key, 8, 640000);
    }
    for (int i = 0; i < 40; i++) {
        snprintf(key, sizeof key, "ns/p%d", i);
        const char *node = placed(&w, PLACEMENT_RANDOM, key, PARTS "=300");
        assert_string_not_equal(node, "");
        seen[node[1] - '0']++;
    }
    for (int i = 0; i < 4; i++)
        assert_true(seen[i] >= 3);
    world_free(&w);
}

/* More kinds and more demands on nodes than are looked at. */
static void bounded(void **state)
{
    (void)state;
    static struct target all[700];
    struct world w = world_new();
    node_of(&w, "n0", 2, 64000);
    for (int i = 0; i < 700; i++) {
        char label[16];
        snprintf(label, sizeof label, "model=m%d", i % 100);
        all[i] = (struct target){.on = shape_of(&w, "", label), .cpu_milli = i, .gpus_n = (uint32_t)i % 90, .gpu_milli = (uint32_t)i * 7,
                                 .count = 1};
    }
    state_set_targets(w.s, all, 700, 700);
    for (int p = 0; p <= PLACEMENT_CAPSTAN; p++) {
        char key[16];
        snprintf(key, sizeof key, "ns/p%d", p);
        assert_string_equal(placed(&w, (enum placement)p, key, PARTS "=100"), "n0");
    }
    world_free(&w);
}

/* ---- queues with a policy of their own ---- */

static void queue_by(struct world *w, const char *name, struct queue_placement by)
{
    struct queue_record r = {.name = id(w, name), .kind = QUEUE_VOLCANO, .unlimited = true, .placement = by};
    state_apply(w->s, &(struct change){.type = CHANGE_QUEUE, .queue = r});
}

#define OWN(policy) ((struct queue_placement){.own = true, .by = PLACEMENT_##policy})
static const struct queue_placement no_name = {.unread = true};

/* Onto which of eight nodes a group of one GPU goes, by its queue; it stays there. */
static int node_for(struct world *w, const char *queue)
{
    static int serial;
    char name[32], key[48];
    snprintf(name, sizeof name, "ns/g%d", serial++);
    snprintf(key, sizeof key, "%s-0", name);
    gang_record(w, a_group(w, name, queue, 1));
    pod(w, key, name, "cpu=1000," GPU "=1");
    run(w);
    const struct plan_entry *entry = entry_of(w, EFFECT_BIND, key);
    assert_non_null(entry);
    return text_of(w, entry->node)[1] - '0';
}

static struct world of_queues(enum placement all)
{
    struct world w = world_new();
    char name[16];
    w.placement = all;
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "n%d", i);
        node(&w, name, "cpu=64000,memory=1073741824,pods=110," GPU "=8", "");
    }
    return w;
}

static void each_queue_by_its_own(void **state)
{
    (void)state;
    struct world w = of_queues(PLACEMENT_BINPACK);
    queue_by(&w, "packs", (struct queue_placement){0});
    queue_by(&w, "spreads", OWN(SPREAD));
    assert_int_equal(node_for(&w, "packs"), 0);
    assert_int_equal(node_for(&w, "spreads"), 1); /* the same shape, in turns */
    assert_int_equal(node_for(&w, "packs"), 0);
    assert_int_equal(node_for(&w, "spreads"), 2);
    assert_int_equal(node_for(&w, "packs"), 0);
    pod(&w, "ns/alone", NULL, "cpu=1000," GPU "=1"); /* in no queue */
    run(&w);
    assert_string_equal(text_of(&w, entry_of(&w, EFFECT_BIND, "ns/alone")->node), "n0");
    struct queue_placement is;
    assert_true(state_queue_placement(w.s, id(&w, "spreads"), &is) && is.own && is.by == PLACEMENT_SPREAD);
    assert_true(state_queue_placement(w.s, id(&w, "packs"), &is) && !is.own);
    assert_false(state_queue_placement(w.s, id(&w, "none"), &is));
    world_free(&w);
}

/* Changed while it runs, to a name that is none, and back; the policy of all changes meanwhile. */
static void a_queues_own_changes(void **state)
{
    (void)state;
    struct world w = of_queues(PLACEMENT_BINPACK);
    struct queue_placement is;
    queue_by(&w, "q", OWN(SPREAD));
    assert_int_equal(node_for(&w, "q"), 0);
    assert_int_equal(node_for(&w, "q"), 1);
    queue_by(&w, "q", no_name);
    assert_true(state_queue_placement(w.s, id(&w, "q"), &is) && is.own && is.by == PLACEMENT_SPREAD && !is.unread);
    assert_int_equal(node_for(&w, "q"), 2);
    queue_by(&w, "q", OWN(BINPACK));
    assert_int_equal(node_for(&w, "q"), 0);
    queue_by(&w, "q", (struct queue_placement){0});
    w.placement = PLACEMENT_SPREAD;
    assert_int_equal(node_for(&w, "q"), 3);
    queue_by(&w, "q", no_name); /* it had none of its own: that of all */
    assert_int_equal(node_for(&w, "q"), 4);
    w.placement = PLACEMENT_BINPACK;
    assert_int_equal(node_for(&w, "q"), 0);
    gone(&w, CHANGE_QUEUE_GONE, "q");
    queue_by(&w, "q", (struct queue_placement){.own = true, .unread = true, .by = PLACEMENT_SPREAD}); /* as its condition said */
    assert_true(state_queue_placement(w.s, id(&w, "q"), &is) && is.own && is.by == PLACEMENT_SPREAD);
    world_free(&w);
}

static void who_looks_at_kinds_is_known(void **state)
{
    (void)state;
    struct world w = of_queues(PLACEMENT_BINPACK);
    assert_false(state_placed_by_kinds(w.s));
    queue_by(&w, "a", OWN(SPREAD));
    assert_false(state_placed_by_kinds(w.s));
    queue_by(&w, "b", OWN(CAPSTAN));
    assert_true(state_placed_by_kinds(w.s));
    queue_by(&w, "b", no_name);
    assert_true(state_placed_by_kinds(w.s));
    queue_by(&w, "b", (struct queue_placement){0});
    assert_false(state_placed_by_kinds(w.s));
    world_free(&w);
}

/* ---- what agents measured ---- */

#define LOADED(policy) ((enum placement)(PLACEMENT_##policy | PLACEMENT_BY_LOAD))

/* "a=busy b=hot ...": of the node's GPUs, measured at that time. */
static void measured(struct world *w, const char *name, int gpus_n, const char *what, int64_t at_ms)
{
    char amounts[96];
    snprintf(amounts, sizeof amounts, "cpu=64000," GPU "=%d," PARTS "=%d", gpus_n, gpus_n * 1000);
    struct node_record r = a_node(w, name, amounts, "");
    struct device *all = arena_zero(w->records, 2 * (size_t)gpus_n, sizeof *all);
    struct device_feedback *feedback = arena_zero(w->records, (size_t)gpus_n, sizeof *feedback);
    for (int i = 0; i < gpus_n; i++) {
        const char text[] = {(char)('a' + i), '=', 0};
        char gpu[16];
        snprintf(gpu, sizeof gpu, "%c", 'a' + i);
        all[2 * i] = (struct device){.resource = id(w, GPU), .id = id(w, gpu), .gpu = (uint16_t)i, .healthy = true};
        all[2 * i + 1] = all[2 * i];
        all[2 * i + 1].resource = id(w, PARTS);
        all[2 * i + 1].parts = 1000;
        const char *is = strstr(what, text) ? strstr(what, text) + 2 : "";
        struct device_feedback f = {.id = id(w, gpu), .margin_c = 30, .memory_total_mib = 1000};
        f.activity_permille = text_starts(is, "busy") ? 500 : 499;
        f.memory_used_mib = text_starts(is, "full") ? 500 : 0;
        f.margin_c = text_starts(is, "hot") ? 9 : text_starts(is, "unknown") ? INT16_MIN : 10;
        f.throttled = text_starts(is, "slowed");
        f.xid = text_starts(is, "fault") || text_starts(is, "old") ? 79 : text_starts(is, "app") ? 31 : 0;
        f.xid_ms = at_ms - (text_starts(is, "old") ? 3600000 : 1000);
        feedback[i] = f;
    }
    r.devices = all;
    r.devices_n = 2 * (uint32_t)gpus_n;
    r.feedback = what[0] ? feedback : NULL;
    r.feedback_n = what[0] ? (uint32_t)gpus_n : 0;
    r.feedback_ms = at_ms;
    r.feedback_period_ms = 15000;
    node_record(w, r);
}

static const char *tried_on(struct world *w, enum placement placement, const char *requests)
{
    w->now_ms--; /* a pod that comes puts it forward */
    const char *node = placed(w, placement, "ns/p", requests);
    if (*node)
        gone(w, CHANGE_POD_GONE, "ns/p");
    return node;
}

static void strained_nodes_come_last(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second, *to; /* of n0, which comes first where both are alike, and of n1 */
    } cases[] = {{"a=calm", "a=calm", "n0"}, {"a=busy", "a=calm", "n1"},   {"a=full", "a=calm", "n1"},  {"a=hot", "a=busy", "n1"},
                 {"a=busy", "a=hot", "n0"},  {"a=slowed", "a=hot", "n1"},  {"a=fault", "a=hot", "n1"},  {"a=old", "a=busy", "n0"},
                 {"a=app", "a=busy", "n0"},  {"a=fault", "a=fault", "n0"}, {"a=busy", "", "n1"},        {"", "a=calm", "n0"},
                 {"a=unknown", "a=hot", "n0"}, {"a=busy b=calm", "a=busy", "n0"}};
    static const enum placement by[] = {LOADED(BINPACK), LOADED(FGD), LOADED(CAPSTAN), LOADED(BESTFIT)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof by / sizeof *by; k++)
            for (int part = 0; part < 2; part++) {
                struct world w = world_new();
                measured(&w, "n0", strstr(cases[i].first, "b=") ? 2 : 1, cases[i].first, w.now_ms);
                measured(&w, "n1", strstr(cases[i].first, "b=") ? 2 : 1, cases[i].second, w.now_ms);
                assert_string_equal(tried_on(&w, by[k], part ? PARTS "=100" : GPU "=1"), cases[i].to);
                assert_string_equal(tried_on(&w, placement_alone(by[k]), part ? PARTS "=100" : GPU "=1"), "n0"); /* who does not ask */
                assert_string_equal(tried_on(&w, by[k], "cpu=1000"), "n0");                                  /* takes no GPU */
                world_free(&w);
            }
}

/* A sample counts for twelve periods before and after its time, whatever was looked at in between. */
static void old_measurements_do_not_count(void **state)
{
    (void)state;
    struct world w = world_new();
    const int64_t began_ms = w.now_ms = 1000000000, most_ms = 12 * 15000;
    measured(&w, "n0", 2, "a=hot b=hot", began_ms);
    measured(&w, "n1", 2, "a=calm", began_ms);
    w.now_ms--;
    assert_string_equal(placed(&w, LOADED(SPREAD), "ns/stays", GPU "=1"), "n1"); /* so that what is known of the shape is kept */
    assert_string_equal(tried_on(&w, LOADED(SPREAD), GPU "=1"), "n1");
    w.now_ms = began_ms + most_ms;
    assert_string_equal(tried_on(&w, LOADED(SPREAD), GPU "=1"), "n1");
    w.now_ms++;
    assert_string_equal(tried_on(&w, LOADED(SPREAD), GPU "=1"), "n0");
    w.now_ms = began_ms - most_ms - 1; /* the clock goes back */
    assert_string_equal(tried_on(&w, LOADED(SPREAD), GPU "=1"), "n0");
    w.now_ms++;
    assert_string_equal(tried_on(&w, LOADED(SPREAD), GPU "=1"), "n1");
    measured(&w, "n0", 2, "a=calm", began_ms); /* it has cooled down */
    assert_string_equal(tried_on(&w, LOADED(SPREAD), GPU "=1"), "n0");
    world_free(&w);
}

static const char *devices_of(struct world *w, enum placement by, const char *key, const char *requests)
{
    assert_string_equal(placed(w, by, key, requests), "n0");
    return entry_of(w, EFFECT_BIND, key)->devices;
}

/* Of a node's GPUs those with less strain are taken first, and others where these are not enough. */
static void strained_gpus_are_taken_last(void **state)
{
    (void)state;
    struct world w = world_new();
    measured(&w, "n0", 4, "a=fault b=busy c=calm d=busy", w.now_ms);
    assert_non_null(strstr(devices_of(&w, LOADED(BINPACK), "ns/one", GPU "=1"), "c"));
    const char *two = devices_of(&w, LOADED(BINPACK), "ns/two", GPU "=2");
    assert_true(strchr(strchr(two, '='), 'b') && strchr(strchr(two, '='), 'd'));
    assert_non_null(strchr(strchr(devices_of(&w, LOADED(BINPACK), "ns/last", GPU "=1"), '='), 'a'));
    world_free(&w);
    w = world_new();
    measured(&w, "n0", 2, "a=hot b=calm", w.now_ms);
    assert_non_null(strchr(strchr(devices_of(&w, PLACEMENT_FGD, "ns/p0", PARTS "=500"), '='), 'a'));
    assert_non_null(strchr(strchr(devices_of(&w, LOADED(FGD), "ns/p1", PARTS "=300"), '='), 'b')); /* though a is begun */
    assert_non_null(strchr(strchr(devices_of(&w, LOADED(BINPACK), "ns/p2", PARTS "=300"), '='), 'b'));
    assert_non_null(strchr(strchr(devices_of(&w, LOADED(BINPACK), "ns/p3", PARTS "=500"), '='), 'a')); /* b has not enough left */
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_targets),      cmocka_unit_test(what_is_left_is_of_use),
                                       cmocka_unit_test(whole_nodes_are_kept), cmocka_unit_test(random_goes_anywhere),
                                       cmocka_unit_test(bounded),              cmocka_unit_test(scarce_models_are_left),
                                       cmocka_unit_test(amounts_without_measure), cmocka_unit_test(nodes_without_cpu_are_not_kept),
                                       cmocka_unit_test(who_was_looked_at_before_makes_no_difference),
                                       cmocka_unit_test(each_queue_by_its_own), cmocka_unit_test(a_queues_own_changes),
                                       cmocka_unit_test(who_looks_at_kinds_is_known), cmocka_unit_test(strained_nodes_come_last),
                                       cmocka_unit_test(old_measurements_do_not_count), cmocka_unit_test(strained_gpus_are_taken_last)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
