/* test_views.c - what is remembered of nodes for each shape is what one finds who looks anew, whatever happens to nodes and pods
 *
 * SHAPE  random clusters of nodes that are alike and such that are not, where pods come and go, and records change; after each step
 *        state_check looks at every node by every view again, and so does a sum of the definition, term by term, of capstan's scores.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/random.h"
#include "core/place/fit.h"
#include "core/place/view.h"
#include "core/score/score.h"
#include "core/score/target.h"
#include "../world.h"

#define GPU "nvidia.com/gpu"
#define PARTS "capstan.dev/gpu-milli"
enum { NODES = 24, PODS = 60, STEPS = 400, WORLDS = 4 };

static struct random dice;

static int drawn(int n)
{
    return (int)random_below(&dice, (uint64_t)n);
}

/* ---- what happens ---- */

static void change_node(struct world *w, int at)
{
    static const char *const labels[] = {"model=a", "model=a", "model=b", ""};
    static const int gpus[] = {0, 2, 4, 4, 8};
    char name[16], amounts[128];
    int gpus_n = gpus[drawn(5)], with_names = drawn(4);
    snprintf(name, sizeof name, "n%02d", (at * 7) % NODES);
    snprintf(amounts, sizeof amounts, "cpu=%d,memory=%d," GPU "=%d," PARTS "=%d", 8000 * (1 + drawn(3)), 100, gpus_n,
             with_names ? 1000 * gpus_n : 0);
    struct node_record r = a_node(w, name, amounts, labels[drawn(4)]);
    struct device *all = arena_zero(w->records, 2 * (size_t)gpus_n + 1, sizeof *all);
    bool all_healthy = drawn(3) != 0;
    for (int i = 0; i < gpus_n && with_names; i++) {
        const char text[2] = {(char)('a' + i), 0};
        all[r.devices_n] = (struct device){.resource = id(w, GPU),
                                           .id = id(w, text),
                                           .gpu = (uint16_t)i,
                                           .healthy = all_healthy || drawn(4),
                                           .memory_mib = drawn(2) ? 1000 : 0};
        all[r.devices_n + 1] = all[r.devices_n];
        all[r.devices_n + 1].resource = id(w, PARTS);
        all[r.devices_n + 1].parts = 1000;
        r.devices_n += 2;
    }
    r.devices = all;
    r.ready = drawn(12) != 0;
    node_record(w, r);
}

static const char *const kinds[] = {
    "cpu=1000",
    "cpu=3000,memory=10",
    "cpu=1000," GPU "=1",
    "cpu=4000," GPU "=2",
    "cpu=8000," GPU "=4",
    "cpu=8000," GPU "=8",
    "cpu=500," PARTS "=190",
    "cpu=2000," PARTS "=500",
    "cpu=3150," PARTS "=810",
    "cpu=100," PARTS "=1000",
    "cpu=1000," PARTS "=400,memory=7",
    "cpu=9000",
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static struct shape kind_shape(struct world *w, int kind, int where)
{
    return shape_of(w, kinds[kind], where == 0 ? "model=a" : where == 1 ? "model=b" : "");
}

static void expect(struct world *w)
{
    struct target all[6] = {{.count = 0}};
    uint64_t total = 0;
    for (int i = 0; i < 6; i++) {
        int part = drawn(3) != 0;
        all[i] = (struct target){.cpu_milli = 500 * drawn(9),
                                 .gpus_n = part ? 1 : (uint32_t)drawn(9),
                                 .gpu_milli = part ? 100 * (uint32_t)(1 + drawn(10)) : 1000,
                                 .count = (uint32_t)(60 - 9 * i),
                                 .on = kind_shape(w, 0, drawn(4))};
        total += all[i].count;
    }
    state_set_targets(w->s, all, 6, total);
}

static void come_or_go(struct world *w)
{
    char key[16];
    snprintf(key, sizeof key, "ns/p%d", drawn(PODS));
    if (drawn(3) == 0) {
        gone(w, CHANGE_POD_GONE, key);
        return;
    }
    struct pod_record r = a_pod(w, key, NULL, "");
    int few = drawn(3) ? 4 : KINDS; /* some kinds are long in coming again */
    r.shape = kind_shape(w, drawn(few), drawn(5));
    r.preempts_nobody = true;
    if (drawn(8) == 0) { /* others have bound it, and given it what somebody may have already */
        char name[16];
        snprintf(name, sizeof name, "n%02d", drawn(NODES));
        r.node = id(w, name);
        r.devices = id(w, drawn(2) ? GPU "=a" : GPU "=b,c");
        r.phase = POD_RUNNING;
    }
    pod_record(w, r);
}

static void something_happens(struct world *w)
{
    int what = drawn(40);
    if (what == 0)
        expect(w);
    else if (what < 4)
        change_node(w, drawn(NODES));
    else if (what == 4) {
        char name[16];
        snprintf(name, sizeof name, "n%02d", drawn(NODES));
        gone(w, CHANGE_NODE_GONE, name);
    } else {
        come_or_go(w);
    }
}

/* ---- the definition ---- */

struct left {
    int64_t cpu, all;
    uint32_t n;
    int64_t of[NODE_GPUS];
};

static int64_t useless(const struct targets *t, uint64_t accepted, const struct left *l)
{
    int64_t lost = 0, gap = l->all - (t->cpu > 0 ? l->cpu * t->gpu / t->cpu : l->all);
    for (uint32_t i = 0; i < t->kinds_n; i++) {
        const struct target_kind *k = &t->kinds[i];
        uint32_t enough_n = 0;
        for (uint32_t g = 0; g < l->n; g++)
            enough_n += l->of[g] >= k->each;
        bool takes = k->n && k->term < TARGET_TERMS && (accepted >> k->term & 1) && l->cpu >= k->cpu && enough_n >= k->n;
        for (uint32_t g = 0; g < l->n; g++)
            lost += !takes || l->of[g] < k->each ? l->of[g] * k->count : 0;
    }
    return lost + t->weight * (gap > 0 ? gap : -gap / 2);
}

static bool has_devices(const struct state *s, uint32_t node)
{
    bool any = false;
    for (uint32_t i = 0; i < s->device_columns_n; i++)
        any |= node_allocatable(&s->nodes, node)[s->device_columns[i]] > 0;
    return any;
}

static uint32_t score_by_definition(struct state *s, const struct shape_class *c, uint32_t node)
{
    const struct targets *t = s->targets;
    const struct gpu_ask ask = gpu_ask_of(s, c);
    const uint64_t accepted = target_terms(s, node);
    struct node_gpus g;
    (void)node_gpus_of(s, c, node, &g);
    struct left now = {.cpu = node_free(&s->nodes, node)[s->column_cpu], .n = g.n};
    for (uint32_t i = 0; i < g.n; i++)
        now.all += now.of[i] = g.left[i];
    int64_t before = useless(t, accepted, &now), after = INT64_MAX;
    uint32_t idle_n = 0; /* that stay so */
    bool breaks = false;
    struct left then = now;
    then.cpu -= ask.cpu;
    for (uint32_t i = 0, n = 0; i < g.n && !gpu_ask_is_part(&ask) && n < ask.n; i++)
        if (then.of[i] == GPU_WHOLE && ask.each == GPU_WHOLE) {
            then.of[i] = 0;
            then.all -= GPU_WHOLE;
            n++;
        }
    for (uint32_t i = 0; i < g.n && !gpu_ask_is_part(&ask); i++)
        idle_n += then.of[i] == GPU_WHOLE;
    if (!gpu_ask_is_part(&ask))
        after = useless(t, accepted, &then);
    for (uint32_t i = 0; i < g.n && gpu_ask_is_part(&ask); i++) {
        if (now.of[i] < ask.each)
            continue;
        then.of[i] -= ask.each;
        then.all -= ask.each;
        int64_t lost = useless(t, accepted, &then);
        breaks = lost < after ? now.of[i] == GPU_WHOLE : breaks;
        after = lost < after ? lost : after;
        then.of[i] += ask.each;
        then.all += ask.each;
    }
    int64_t wanted = !gpu_ask_is_part(&ask) ? (int64_t)ask.n * ask.each : breaks ? 1000 : ask.each / 2;
    int64_t scarce = wanted * (target_price(s, target_node_of(s, node)->class) - 1000) / 1000;
    int64_t gain = before - after - t->weight * scarce, bucket = 20 * t->weight;
    bool opens = gpu_ask_is_part(&ask) ? breaks : idle_n >= ask.n;
    uint32_t score = (uint32_t)((1 << 20) + gain / bucket - (gain % bucket < 0) + 1) * 4 - (now.all == now.n * GPU_WHOLE ? 2 : 0) - opens;
    return (c->device_demand < 0 && has_devices(s, node) ? 0 : 1u << 28) + score; /* who asks for no devices takes nodes without first */
}

static void check_definition(struct world *w)
{
    struct state *s = w->s;
    struct shape shape = kind_shape(w, drawn(KINDS), 2);
    uint32_t id_of_shape = shape_class_id(&s->shapes, &s->nodes, &shape, w->names);
    struct view *v = view_scored(s, id_of_shape, PLACEMENT_CAPSTAN);
    const struct shape_class *c = &s->shapes.classes[id_of_shape];
    for (uint32_t slot = 1; slot < v->n && s->targets; slot++)
        if (v->room[slot])
            assert_int_equal(v->score[slot], score_by_definition(s, c, slot));
    shape_release(s, id_of_shape);
}

/* Counted by what was touched since, and anew. */
static void check_fragmentation(struct state *s)
{
    int64_t lost, left, all_lost, all_left;
    state_fragmentation(s, &lost, &left);
    if (!s->targets)
        return;
    free(s->targets->sum_of);
    s->targets->sum_of = NULL;
    state_fragmentation(s, &all_lost, &all_left);
    assert_int_equal(lost, all_lost);
    assert_int_equal(left, all_left);
}

/* ---- */

static void looked_at_again_nothing_is_another(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < WORLDS * (PLACEMENT_CAPSTAN + 1u); n++) {
        const uint32_t by = n / WORLDS;
        struct world w = world_new();
        dice = (struct random){n + 1};
        w.placement = (enum placement)by;
        w.no_remedies = true;
        for (int i = 0; i < NODES / 2; i++)
            change_node(&w, i);
        expect(&w);
        for (int step = 0; step < STEPS; step++) {
            struct err e = {0};
            something_happens(&w);
            w.now_ms += 1000;
            run(&w);
            if (by == PLACEMENT_CAPSTAN && step % 4 == 0) {
                check_definition(&w);
                check_fragmentation(w.s);
            }
            if (!state_check(w.s, &e))
                fail_msg("policy %u, world %u, step %d: %s", by, n, step, e.text);
        }
        world_free(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looked_at_again_nothing_is_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
