/* test_cliffs.c - what one change costs the core, counted in what is looked at: as much among many as among few */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "core/place/fit.h"
#include "core/place/try.h"
#include "core/place/view.h"
#include "core/state/model.h"
#include "../jobs.h"

enum { FEW = 20, MANY = 400 };

/* ---- counting: the linker puts these before the real ones ---- */

static long tries_n, selectors_n, fits_n;
bool __real_try_gang(struct cycle *c, struct gang *g, struct refusal *refusal);
bool __wrap_try_gang(struct cycle *c, struct gang *g, struct refusal *refusal);
bool __real_selector_matches(const struct selector *sel, struct label_list labels, name_id node_name, const struct intern *names);
bool __wrap_selector_matches(const struct selector *sel, struct label_list labels, name_id node_name, const struct intern *names);
uint32_t __real_fit_room(const struct state *s, const struct shape_class *c, uint32_t node);
uint32_t __wrap_fit_room(const struct state *s, const struct shape_class *c, uint32_t node);

bool __wrap_try_gang(struct cycle *c, struct gang *g, struct refusal *refusal)
{
    tries_n++;
    return __real_try_gang(c, g, refusal);
}

bool __wrap_selector_matches(const struct selector *sel, struct label_list labels, name_id node_name, const struct intern *names)
{
    selectors_n++;
    return __real_selector_matches(sel, labels, node_name, names);
}

uint32_t __wrap_fit_room(const struct state *s, const struct shape_class *c, uint32_t node)
{
    fits_n++;
    return __real_fit_room(s, c, node);
}

static void count_from_here(void)
{
    tries_n = selectors_n = fits_n = 0;
}

static const char *numbered(struct world *w, const char *name, int i)
{
    return arena_printf(w->records, "%s-%d", name, i);
}

/* ---- one pod that wants no others near it ---- */

static struct pod_record with_labels(struct world *w, const char *key, const char *labels)
{
    struct pod_record p = a_pod(w, key, NULL, "cpu=1");
    p.shape.labels = labels_of(w, labels, &p.shape.labels_n);
    return p;
}

/* What it takes to place a pod among so many others, one of which keeps some of them off its zone. */
static long selectors_among(int pods_n)
{
    struct world w = world_new();
    struct requirement is_shy = {.key = id(&w, "app"), .op = REQUIRE_IN, .values = (name_id[]){id(&w, "shy")}, .values_n = 1};
    struct pod_affinity apart = {.pods = {.all = &is_shy, .all_n = 1}, .topology_key = id(&w, "zone"), .anti = true};
    node(&w, "a", "cpu=8000,pods=10000", "zone=a");
    node(&w, "b", "cpu=8000,pods=10000", "zone=b");
    struct pod_record shy = with_labels(&w, "ns/shy", "app=shy");
    shy.shape.affinities = &apart;
    shy.shape.affinities_n = 1;
    pod_record(&w, shy);
    step(&w);
    for (int i = 0; i < pods_n; i++)
        pod_record(&w, with_labels(&w, numbered(&w, "ns/other", i), "app=other"));
    step(&w);
    assert_int_equal(effects(&w, EFFECT_BIND), pods_n);
    count_from_here();
    pod_record(&w, with_labels(&w, "ns/last", "app=last"));
    run(&w);
    assert_non_null(entry_of(&w, EFFECT_BIND, "ns/last"));
    assert_true(selectors_n > 0);
    world_free(&w);
    return selectors_n;
}

static void a_pod_that_stands_alone_does_not_make_others_look_at_all_pods(void **state)
{
    (void)state;
    assert_int_equal(selectors_among(FEW), selectors_among(MANY));
}

/* ---- namespaces ---- */

static void say_of_namespace(struct world *w, const char *name, const char *labels)
{
    struct namespace_record r = {.name = id(w, name)};
    r.labels = labels_of(w, labels, &r.labels_n);
    state_apply(w->s, &(struct change){.type = CHANGE_NAMESPACE, .ns = r});
}

static void a_namespace_that_changes_wakes_only_who_is_in_it(void **state)
{
    struct world *w = *state;
    wide_cluster(w, 1);
    say_of_namespace(w, "ns", "team=a");
    for (int i = 0; i < FEW; i++) {
        gang_record(w, a_workload(w, numbered(w, "job", i), "ns/lq", 1, arena_printf(w->records, "cpu=%d", 9000 + i)));
    }
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
    count_from_here();
    say_of_namespace(w, "other", "team=b");
    step(w);
    say_of_namespace(w, "other", "team=c");
    step(w);
    say_of_namespace(w, "ns", "team=a"); /* nothing new */
    step(w);
    gone(w, CHANGE_NAMESPACE_GONE, "other");
    step(w);
    assert_int_equal(tries_n, 0);
    say_of_namespace(w, "ns", "team=d");
    step(w);
    assert_int_equal(tries_n, FEW);
}

static void a_local_queue_that_comes_wakes_only_who_names_it(void **state)
{
    struct world *w = *state;
    struct queue_counts counts;
    wide_cluster(w, 1);
    for (int i = 0; i < FEW; i++)
        gang_record(w, a_workload(w, numbered(w, "job", i), i ? "ns/lq" : "ns/late", 1, arena_printf(w->records, "cpu=%d", 9000 + i)));
    step(w);
    count_from_here();
    local_queue(w, "ns/other", "q");
    step(w);
    assert_int_equal(tries_n, 0);
    local_queue(w, "ns/late", "q");
    step(w);
    assert_int_equal(tries_n, 1);
    assert_true(state_queue_counts(w->s, id(w, "q"), &counts));
    assert_int_equal(counts.pending_n, FEW);
}

/* ---- quota that comes back ---- */

static void quota_that_comes_back_wakes_only_its_own_tree(void **state)
{
    struct world *w = *state;
    node(w, "n", "cpu=1000000," GPU "=1000", "");
    for (int q = 0; q < FEW; q++) {
        const char *local = numbered(w, "ns/lq", q), *name = numbered(w, "q", q);
        gpu_queue(w, name, NULL, local, 1);
        workload(w, numbered(w, "runs", q), local, 1, GPU "=1");
        step(w);
        workload(w, numbered(w, "waits", q), local, 1, GPU "=1");
        workload(w, numbered(w, "waits-too", q), local, 1, GPU "=1");
        workload(w, numbered(w, "is-wider", q), local, 2, GPU "=1");
    }
    step(w);
    count_from_here();
    gone(w, CHANGE_GANG_GONE, "runs-0");
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 1);
    assert_true(tries_n <= 3); /* of 3 * FEW */
}

/* ---- cohorts ---- */

static void cohort(struct world *w, const char *name, const char *parent, int64_t gpus)
{
    struct quota_record quota = {id(w, "any"), id(w, GPU), .nominal = gpus, .borrowing_limit = NO_LIMIT, .lending_limit = NO_LIMIT};
    struct cohort_record r = {.name = id(w, name), .parent = id(w, parent), .quotas = &quota, .quotas_n = 1};
    state_apply(w->s, &(struct change){.type = CHANGE_COHORT, .cohort = r});
}

/* One queue in each, in which somebody waits. */
static void cohorts(struct world *w)
{
    node(w, "n", "cpu=1000000," GPU "=1000", "");
    for (int q = 0; q < FEW; q++) {
        cohort(w, numbered(w, "c", q), NULL, 0);
        gpu_queue(w, numbered(w, "q", q), numbered(w, "c", q), numbered(w, "ns/lq", q), 0);
        workload(w, numbered(w, "waits", q), numbered(w, "ns/lq", q), 1, GPU "=1");
    }
    step(w);
    assert_int_equal(effects(w, EFFECT_ADMIT), 0);
}

static void a_cohort_that_changes_wakes_only_its_own_tree(void **state)
{
    struct world *w = *state;
    cohorts(w);
    count_from_here();
    cohort(w, "c-3", NULL, 1);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, "waits-3"));
    assert_true(tries_n <= 2); /* of FEW */
}

static void a_cohort_that_moves_wakes_only_the_tree_that_it_leaves_and_the_one_that_it_joins(void **state)
{
    struct world *w = *state;
    cohorts(w);
    cohort(w, "c-4", "c-5", 0);
    step(w);
    count_from_here();
    cohort(w, "c-4", "c-6", 0);
    step(w);
    assert_in_range(tries_n, 3, 6); /* q-5, and both that are below c-6 now */
    count_from_here();
    gone(w, CHANGE_COHORT_GONE, "c-4");
    step(w);
    assert_in_range(tries_n, 2, 4);
}

/* ---- many shapes ---- */

static void look_at_all(struct world *w, const uint32_t *shapes)
{
    for (int i = 0; i < MANY; i++)
        (void)view_sync(w->s, shapes[i]);
}

static void many_shapes_look_only_at_nodes_that_changed(void **state)
{
    struct world *w = *state;
    uint32_t shapes[MANY];
    for (int i = 0; i < FEW; i++)
        node(w, numbered(w, "n", i), "cpu=1000", "");
    for (int i = 0; i < MANY; i++) {
        struct shape shape = shape_of(w, arena_printf(w->records, "cpu=%d", 1 + i), "");
        shapes[i] = shape_class_id(&w->s->shapes, &w->s->nodes, &shape, w->names);
    }
    look_at_all(w, shapes);
    count_from_here();
    node(w, "n-0", "cpu=2000", "");
    look_at_all(w, shapes);
    assert_int_equal(fits_n, MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_that_stands_alone_does_not_make_others_look_at_all_pods),
        in_a_world(a_namespace_that_changes_wakes_only_who_is_in_it),
        in_a_world(a_local_queue_that_comes_wakes_only_who_names_it),
        in_a_world(quota_that_comes_back_wakes_only_its_own_tree),
        in_a_world(a_cohort_that_changes_wakes_only_its_own_tree),
        in_a_world(a_cohort_that_moves_wakes_only_the_tree_that_it_leaves_and_the_one_that_it_joins),
        in_a_world(many_shapes_look_only_at_nodes_that_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
