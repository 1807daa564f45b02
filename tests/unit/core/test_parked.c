/* test_parked.c - a gang that nodes refused is tried again whenever room comes with which it could start, whatever refused it
 *
 * SHAPE  two nodes, in zones x and y, and one gang of two kinds of pods. It is refused; then one of the nodes gains GPUs. Whether it could
 *        start then is asked of a core that has never seen it refused, in the same cycle: no timer helps the one that has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "jobs.h"

struct kind_of_pods {
    int count, gpus;
    const char *zone; /* NULL: any */
};

/* How a gang comes, and so what a refusal of it looks like. */
enum way {
    WAY_PLANNED,   /* a Workload of two pod sets, one flavor */
    WAY_FLAVORS,   /* the same; each zone is a flavor, and each has quota for all */
    WAY_GROUP,     /* pods, all of which are its minimum */
    WAY_MINIMUM,   /* pods, all but one of which are */
    WAY_PREEMPTS,  /* WAY_PLANNED in a queue that may preempt, where nobody is */
    WAYS
};

struct setting {
    enum way way;
    struct kind_of_pods kinds[2];
    int free[2]; /* GPUs of the nodes */
};

static void put_node(struct world *w, int at, int gpus)
{
    char amounts[48];
    snprintf(amounts, sizeof amounts, "cpu=8000," GPU "=%d", gpus);
    node(w, at ? "ny" : "nx", amounts, at ? "zone=y,kind=b" : "zone=x,kind=a");
}

static void put_queue(struct world *w, enum way way)
{
    if (way == WAY_FLAVORS)
        two_flavors(w, GPU, 100, 100);
    else
        wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    if (way != WAY_PREEMPTS)
        return;
    struct queue_words q;
    queue_begin(w, &q, "q", NULL);
    q.r.within_queue = PREEMPT_LOWER_PRIORITY;
    queue_quota(w, &q, "any", "cpu", 1000000, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "any", GPU, 1000, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
}

static struct shape shape_of_kind(struct world *w, const struct kind_of_pods *k)
{
    return shape_of(w, arena_printf(w->records, GPU "=%d", k->gpus), k->zone ? arena_printf(w->records, "zone=%s", k->zone) : "");
}

static void put_gang(struct world *w, const struct setting *x)
{
    if (x->way != WAY_GROUP && x->way != WAY_MINIMUM) {
        struct pod_set *sets = arena_zero(w->records, 2, sizeof *sets);
        for (int i = 0; i < 2; i++) {
            sets[i] = a_set(w, i ? "b" : "a", x->kinds[i].count, "");
            sets[i].shape = shape_of_kind(w, &x->kinds[i]);
        }
        gang_record(w, workload_of(w, "job", sets, 2));
        return;
    }
    int pods_n = x->kinds[0].count + x->kinds[1].count;
    gang_record(w, a_group(w, "job", NULL, pods_n - (x->way == WAY_MINIMUM)));
    for (int i = 0; i < pods_n; i++) {
        bool is_b = i >= x->kinds[0].count;
        struct pod_record p = pod_in(w, arena_printf(w->records, "ns/job-%d", i), "job", is_b ? "b" : "a", "", "");
        p.shape = shape_of_kind(w, &x->kinds[is_b]);
        pod_record(w, p);
    }
}

/* One cycle of a cluster as it is; true: the gang starts in it. */
static bool starts(struct world *w)
{
    step(w);
    return effects(w, EFFECT_ADMIT) != 0;
}

static struct world world_of(const struct setting *x)
{
    struct world w = world_new();
    w.no_remedies = true;
    put_queue(&w, x->way);
    for (int i = 0; i < 2; i++)
        put_node(&w, i, x->free[i]);
    put_gang(&w, x);
    return w;
}

static bool would_start(const struct setting *x)
{
    struct world w = world_of(x);
    bool does = starts(&w);
    world_free(&w);
    return does;
}

static void miss(const struct setting *x, int at, int gpus)
{
    const struct kind_of_pods *k = x->kinds;
    fail_msg("way %d: %d pods of %d in %s and %d of %d in %s on nodes of %d and %d: not tried when the %s has %d", x->way, k[0].count,
             k[0].gpus, k[0].zone ? k[0].zone : "any", k[1].count, k[1].gpus, k[1].zone ? k[1].zone : "any", x->free[0], x->free[1],
             at ? "second" : "first", gpus);
}

static uint32_t refused_n, woken_n;

/* It is refused, gains on one node, then on the other, and starts when it can for the first time. */
static void try_gains(struct setting x, int first)
{
    struct world w = world_of(&x);
    if (!starts(&w)) {
        refused_n++;
        for (int gain = 0; gain < 2; gain++) {
            struct setting after = x;
            int at = gain ? !first : first;
            after.free[at] += 2;
            bool should = would_start(&after);
            put_node(&w, at, after.free[at]);
            if (should != starts(&w))
                miss(&x, at, after.free[at]);
            woken_n += should;
            x = after;
            if (should)
                break;
        }
    }
    world_free(&w);
}

static void try_way(enum way way)
{
    static const char *const zones_a[] = {NULL, "x"}, *const zones_b[] = {NULL, "y"};
    refused_n = woken_n = 0;
    for (int n = 0; n < 2 * 3 * 2 * 2 * 3 * 2; n++) {
        struct kind_of_pods a = {1 + n % 2, 1 + n / 2 % 3, zones_a[n / 6 % 2]}, b = {1 + n / 12 % 2, 1 + n / 24 % 3, zones_b[n / 72 % 2]};
        struct setting x = {.way = way, .kinds = {a, b}};
        for (int free = 0; free < 5 * 5 * 2; free++) {
            x.free[0] = free % 5;
            x.free[1] = free / 5 % 5;
            try_gains(x, free / 25);
        }
    }
    assert_true(refused_n > 1000);
    assert_true(woken_n > 500);
}

static void of_pod_sets(void **state)
{
    (void)state;
    try_way(WAY_PLANNED);
}

static void in_several_flavors(void **state)
{
    (void)state;
    try_way(WAY_FLAVORS);
}

static void of_pods_that_are_all_needed(void **state)
{
    (void)state;
    try_way(WAY_GROUP);
}

static void of_pods_any_of_which_make_up_the_minimum(void **state)
{
    (void)state;
    try_way(WAY_MINIMUM);
}

static void where_others_might_be_preempted(void **state)
{
    (void)state;
    try_way(WAY_PREEMPTS);
}

/* More shapes than a parking remembers: nine kinds that find no arrangement. Room for the last of them lets all in. */
static void of_more_kinds_than_are_remembered(void **state)
{
    (void)state;
    for (int gains = 0; gains < 9; gains++) {
        struct world w = world_new();
        struct pod_set sets[9];
        wide_queue(&w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
        node(&w, "n0", "cpu=8000," GPU "=8", "all=yes");
        for (int i = 0; i < 9; i++) {
            sets[i] = a_set(&w, arena_printf(w.records, "kind-%d", i), 1, "");
            sets[i].shape = shape_of(&w, arena_printf(w.records, "cpu=%d," GPU "=1", i + 1), "");
        }
        gang_record(&w, workload_of(&w, "job", sets, 9));
        assert_false(starts(&w));
        node(&w, "n1", arena_printf(w.records, "cpu=%d," GPU "=1", gains + 1), "");
        assert_true(starts(&w));
        world_free(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_pod_sets),
        cmocka_unit_test(in_several_flavors),
        cmocka_unit_test(of_pods_that_are_all_needed),
        cmocka_unit_test(of_pods_any_of_which_make_up_the_minimum),
        cmocka_unit_test(where_others_might_be_preempted),
        cmocka_unit_test(of_more_kinds_than_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
