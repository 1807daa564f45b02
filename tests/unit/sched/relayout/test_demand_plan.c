/* test_demand_plan.c - which GPUs get which layout: by hand, and for one GPU against every layout that there is */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/bytes.h"
#include "base/random.h"
#include "gpu/mig.h"
#include "sched/relayout/demand_plan.h"

enum { NODES = 4, GPUS = 8, WANTS = 12 };

struct table {
    struct arena *a;
    struct demand_node nodes[NODES];
    struct demand_gpu gpus[NODES][GPUS];
    struct demand_want wants[WANTS];
    uint32_t rooms[WANTS][NODES];
    uint32_t nodes_n, wants_n;
    struct demand_change *changes;
    uint32_t changes_n;
};

static int setup(void **state)
{
    static struct table t;
    memset(&t, 0, sizeof t);
    t.a = arena_new();
    *state = &t;
    return 0;
}

static int teardown(void **state)
{
    arena_free(((struct table *)*state)->a);
    return 0;
}

/* Kind 1 is the model's first profile, and so on. */
static uint32_t kind(const struct gpu_model *m, const char *profile)
{
    return profile ? (uint32_t)(mig_profile_find(m, profile) - m->profiles) + 1 : 0;
}

static struct demand_node *add_node(struct table *t, const char *model)
{
    struct demand_node *n = &t->nodes[t->nodes_n];
    *n = (struct demand_node){.model = gpu_model_find(model), .gpus = t->gpus[t->nodes_n], .may_change = true};
    for (uint32_t k = 0; k < n->model->profiles_n && k + 1 < DEMAND_KINDS; k++)
        n->profiles[k + 1] = &n->model->profiles[k];
    t->nodes_n++;
    return n;
}

/* With so many of these (NULL: the whole GPU), `taken` of which somebody has. */
static struct demand_gpu *add_gpu(struct demand_node *n, const char *profile, uint8_t has, uint8_t taken)
{
    struct demand_gpu *g = &n->gpus[n->gpus_n];
    *g = (struct demand_gpu){.index = (uint16_t)n->gpus_n, .idle = taken == 0};
    g->has.n[kind(n->model, profile)] = has;
    g->free.n[kind(n->model, profile)] = (uint8_t)(has - taken);
    n->gpus_n++;
    return g;
}

static struct demand_want *add_want(struct table *t, const char *profile, uint8_t each, uint32_t pods, uint32_t gang)
{
    struct demand_want *w = &t->wants[t->wants_n];
    *w = (struct demand_want){.pods_n = pods, .gang = gang, .hungry = true, .room = t->rooms[t->wants_n]};
    w->asks[kind(t->nodes[0].model, profile)] = each;
    for (uint32_t i = 0; i < NODES; i++)
        t->rooms[t->wants_n][i] = 100;
    t->wants_n++;
    return w;
}

static void plan(struct table *t)
{
    t->changes_n = demand_plan(t->nodes, t->nodes_n, t->wants, t->wants_n, t->a, &t->changes);
}

static void expect(const struct table *t, const char *text)
{
    const char *is = "";
    for (uint32_t i = 0; i < t->changes_n; i++) {
        const struct demand_change *c = &t->changes[i];
        is = arena_printf(t->a, "%s%s%u/%u: %s", is, *is ? "; " : "", c->node, c->gpu,
                          demand_layout_text(t->a, &t->nodes[c->node], &c->to));
    }
    assert_string_equal(is, text);
}

static void test_nobody_waits(void **state)
{
    struct table *t = *state;
    plan(t);
    expect(t, "");
    add_gpu(add_node(t, "a100-40gb"), "1g.5gb", 7, 0);
    plan(t);
    expect(t, "");
}

static void test_an_idle_gpu_is_cut_anew(void **state)
{
    struct table *t = *state;
    struct demand_node *n = add_node(t, "a100-40gb");
    add_gpu(n, "1g.5gb", 7, 1);
    add_gpu(n, "1g.5gb", 7, 0);
    add_want(t, "3g.20gb", 1, 1, 0);
    plan(t);
    expect(t, "0/1: 4×1g.5gb + 1×3g.20gb"); /* what fits beside it stays */
    t->wants[0].pods_n = 2;
    plan(t);
    expect(t, "0/1: 2×3g.20gb");
    t->wants[0].pods_n = 5;
    plan(t);
    expect(t, "0/1: 2×3g.20gb"); /* others serve some, as far as it goes */
}

static void test_what_others_would_get_stays(void **state)
{
    struct table *t = *state;
    struct demand_node *n = add_node(t, "a100-40gb");
    add_gpu(n, "1g.5gb", 7, 0);
    add_want(t, "1g.5gb", 1, 4, 0)->hungry = false; /* for quota, say */
    add_want(t, "3g.20gb", 1, 2, 0);
    plan(t);
    expect(t, "0/0: 4×1g.5gb + 1×3g.20gb");
    t->wants[0].pods_n = 5;
    plan(t);
    expect(t, "");
}

static void test_whole_gpus_go_and_come_back(void **state)
{
    struct table *t = *state;
    struct demand_node *n = add_node(t, "h100-80gb");
    add_gpu(n, NULL, 1, 0);
    add_gpu(n, NULL, 1, 0);
    add_want(t, "3g.40gb", 1, 1, 0);
    plan(t);
    expect(t, "0/0: 2×3g.40gb");
    add_want(t, NULL, 2, 1, 0);
    plan(t);
    expect(t, ""); /* somebody would have them as they are */
    t->gpus[0][0].idle = false;
    t->gpus[0][0].free = (struct demand_layout){0};
    plan(t);
    expect(t, ""); /* the same, once the other one is free */
    t->wants[0] = t->wants[1];
    t->wants_n = 1;
    t->gpus[0][0] = (struct demand_gpu){.idle = true};
    t->gpus[0][0].has.n[kind(n->model, "1g.10gb")] = t->gpus[0][0].free.n[kind(n->model, "1g.10gb")] = 7;
    plan(t);
    expect(t, "0/0: no MIG"); /* two whole ones, with the one that is there */
}

static void test_gangs_whole_or_not_at_all(void **state)
{
    struct table *t = *state;
    struct demand_node *n = add_node(t, "a100-40gb");
    for (int i = 0; i < 3; i++)
        add_gpu(n, "7g.40gb", 1, 0);
    add_want(t, "1g.5gb", 1, 14, 1);
    plan(t);
    expect(t, "0/0: 7×1g.5gb; 0/1: 7×1g.5gb");
    t->wants[0].pods_n = 22;
    plan(t);
    expect(t, "");
    add_want(t, "2g.10gb", 1, 4, 0); /* another one, which is served beside it */
    plan(t);
    expect(t, "0/0: 3×2g.10gb; 0/1: 3×2g.10gb");
    t->wants[0].pods_n = 14;
    plan(t);
    expect(t, "0/0: 7×1g.5gb; 0/1: 7×1g.5gb; 0/2: 3×2g.10gb");
}

static void test_room_and_where_it_may_change(void **state)
{
    struct table *t = *state;
    for (int i = 0; i < 3; i++)
        add_gpu(add_node(t, "a100-40gb"), "1g.5gb", 7, 0);
    t->nodes[0].may_change = false;
    add_want(t, "7g.40gb", 1, 1, 0);
    t->rooms[0][1] = 0; /* no cpu left there, or another label */
    plan(t);
    expect(t, "2/0: 1×7g.40gb");
    t->gpus[2][0].idle = false;
    plan(t);
    expect(t, "");
}

static void test_a_pod_with_several(void **state)
{
    struct table *t = *state;
    struct demand_node *n = add_node(t, "a100-40gb");
    add_gpu(n, "1g.5gb", 7, 0);
    add_gpu(n, "1g.5gb", 7, 0);
    add_want(t, "3g.20gb", 2, 1, 0);
    plan(t);
    expect(t, "0/0: 2×3g.20gb");
    t->wants[0].asks[kind(n->model, "3g.20gb")] = 3; /* no GPU has so many: more than one GPU at a time is not looked for */
    plan(t);
    expect(t, "");
}

static void test_the_higher_priority_first(void **state)
{
    struct table *t = *state;
    struct demand_node *n = add_node(t, "a100-40gb");
    add_gpu(n, "2g.10gb", 3, 0);
    add_want(t, "1g.5gb", 1, 1, 0)->priority = 5;
    add_want(t, "7g.40gb", 1, 1, 0);
    plan(t);
    expect(t, "0/0: 1×1g.5gb + 3×2g.10gb"); /* and nothing is lost for it */
    t->wants[0].priority = 0;
    plan(t);
    expect(t, "0/0: 1×7g.40gb");
}

/* Two who want different cuts of one GPU: whoever got it is not taken from, as long as he would use it. */
static void test_no_turn_about(void **state)
{
    struct table *t = *state;
    struct demand_node *n = add_node(t, "a100-40gb");
    struct demand_gpu *g = add_gpu(n, "7g.40gb", 1, 0);
    add_want(t, "3g.20gb", 1, 2, 0);
    add_want(t, "2g.10gb", 1, 3, 0);
    plan(t);
    expect(t, "0/0: 2×2g.10gb + 1×3g.20gb");
    g->has = g->free = t->changes[0].to;
    plan(t);
    expect(t, "");
}

/* ---- one GPU against every layout ---- */

struct reference {
    const struct table *t;
    const struct gpu_model *m;
    struct demand_layout kept;
    uint32_t left[WANTS];
    uint32_t best[WANTS], best_n; /* slices by priority; sum */
};

static void serve(const struct reference *r, const struct demand_layout *l, uint32_t levels[WANTS])
{
    uint32_t have[DEMAND_KINDS], level = 0;
    for (uint32_t k = 0; k < DEMAND_KINDS; k++)
        have[k] = l->n[k] - r->kept.n[k];
    memset(levels, 0, WANTS * sizeof *levels);
    for (uint32_t i = 0; i < r->t->wants_n; i++) {
        const struct demand_want *w = &r->t->wants[i];
        level += i && w->priority != r->t->wants[i - 1].priority;
        for (uint32_t k = 0; k < DEMAND_KINDS; k++) {
            uint32_t n = w->asks[k] && w->hungry ? (have[k] < r->left[i] ? have[k] : r->left[i]) : 0;
            have[k] -= n;
            levels[level] += n == 0 ? 0 : n * (k ? r->m->profiles[k - 1].slices : r->m->mig_slices);
        }
    }
}

static void judge(struct reference *r, const struct demand_layout *l)
{
    uint32_t levels[WANTS];
    for (uint32_t k = 0; k < DEMAND_KINDS; k++)
        if (l->n[k] < r->kept.n[k])
            return;
    serve(r, l, levels);
    for (uint32_t i = 0; i < WANTS; i++) {
        if (levels[i] < r->best[i])
            return;
        if (levels[i] > r->best[i])
            break;
    }
    memcpy(r->best, levels, sizeof levels);
}

/* Every set of instances at every place that the rules of the hardware allow. */
static void place(struct reference *r, const struct mig_state *s, uint32_t unit, const struct demand_layout *l)
{
    judge(r, l);
    for (; unit < r->m->mig_units; unit++)
        for (uint32_t k = 0; k < r->m->profiles_n && k + 1 < DEMAND_KINDS; k++) {
            struct mig_state more = *s;
            struct demand_layout with = *l;
            uint8_t id;
            if (!(r->m->profiles[k].starts >> unit & 1) ||
                mig_create_instance(&more, r->m, r->m->profiles[k].id, (int)unit, &id) != MIG_OK)
                continue;
            with.n[k + 1]++;
            place(r, &more, unit + 1, &with);
        }
}

static void random_table(struct table *t, struct random *rnd)
{
    const struct gpu_model *m;
    do
        m = &gpu_models[random_below(rnd, gpu_models_n)];
    while (!m->mig_slices);
    t->nodes_n = t->wants_n = 0;
    struct demand_node *n = add_node(t, m->key);
    struct demand_gpu *g = add_gpu(n, NULL, 1, 0);
    if (random_below(rnd, 3)) { /* a layout of its own */
        g->has = (struct demand_layout){0};
        for (int i = 0; i < 6; i++) {
            struct demand_layout more = g->has;
            more.n[1 + random_below(rnd, m->profiles_n)]++;
            g->has = demand_layout_fits(n, &more) ? more : g->has;
        }
        g->free = g->has;
    }
    int32_t priority = 3;
    for (uint32_t i = 1 + random_below(rnd, 6); i > 0; i--) {
        uint32_t k = random_below(rnd, m->profiles_n + 1);
        priority -= priority > 0 && random_below(rnd, 3) == 0;
        struct demand_want *w = add_want(t, NULL, 0, 1 + random_below(rnd, 4), 0);
        w->asks[k] = 1;
        w->priority = priority;
        w->hungry = random_below(rnd, 4) > 0;
    }
}

static void test_most_of_the_demand(void **state)
{
    struct table *t = *state;
    struct random rnd = {11};
    uint32_t changed_n = 0;
    for (int i = 0; i < 1500; i++) {
        static const struct mig_state empty = {.mode = 1, .mode_pending = 1};
        static const struct demand_layout nothing;
        struct demand_layout whole = {{1}};
        uint32_t levels[WANTS] = {0}, none[WANTS] = {0};
        random_table(t, &rnd);
        struct reference r = {.t = t, .m = t->nodes[0].model};
        for (uint32_t w = 0; w < t->wants_n; w++) {
            r.left[w] = t->wants[w].pods_n;
            for (uint32_t k = 0; k < DEMAND_KINDS; k++)
                for (; t->wants[w].asks[k] && r.left[w] && r.kept.n[k] < t->gpus[0][0].free.n[k]; r.kept.n[k]++)
                    r.left[w]--;
        }
        if (!r.kept.n[0])
            place(&r, &empty, 0, &nothing);
        judge(&r, &whole);
        plan(t);
        if (t->changes_n) {
            serve(&r, &t->changes[0].to, levels);
            assert_true(demand_layout_fits(&t->nodes[0], &t->changes[0].to));
        }
        changed_n += t->changes_n;
        assert_memory_equal(levels, r.best, sizeof levels);
        assert_int_equal(t->changes_n, memcmp(r.best, none, sizeof none) != 0);
        arena_reset(t->a);
    }
    assert_in_range(changed_n, 500, 1499);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nobody_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_idle_gpu_is_cut_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_others_would_get_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_whole_gpus_go_and_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gangs_whole_or_not_at_all, setup, teardown),
        cmocka_unit_test_setup_teardown(test_room_and_where_it_may_change, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_pod_with_several, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_higher_priority_first, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_turn_about, setup, teardown),
        cmocka_unit_test_setup_teardown(test_most_of_the_demand, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
