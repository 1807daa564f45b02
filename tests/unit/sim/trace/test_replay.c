/* test_replay.c - policies on a small trace: published ones decide as an independent reference did, line by line (tests/traces/small) */
#include "trace_files.h"
#include "sim/trace/replay.h"

static struct trace small;

static int load_small(void **state)
{
    struct err e = {0};
    char nodes[256], pods[256], order[256];
    const char *traces = getenv("TRACES");
    traces = traces ? traces : "tests/traces";
    snprintf(nodes, sizeof nodes, "%s/small/nodes.csv", traces);
    snprintf(pods, sizeof pods, "%s/small/pods.csv", traces);
    snprintf(order, sizeof order, "%s/small/order", traces);
    if (trace_load(&small, nodes, pods, &e) < 0 || trace_order(&small, order, &e) < 0)
        fail_msg("%s", e.text);
    return trace_folder_open(state);
}

static int drop_small(void **state)
{
    trace_fini(&small);
    return trace_folder_close(state);
}

static char *whole(const char *path)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *text = calloc(1, 65536);
    assert_true(fread(text, 1, 65535, f) > 0);
    fclose(f);
    return text;
}

static void as_the_reference(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum placement placement;
    } policies[] = {{"bestfit", PLACEMENT_BESTFIT}, {"dotproduct", PLACEMENT_DOTPRODUCT}, {"packing", PLACEMENT_PACKING},
                    {"clustering", PLACEMENT_CLUSTERING}, {"fgd", PLACEMENT_FGD}};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        struct replay_result r;
        char expected[256];
        const char *path = trace_file("decisions", "");
        struct replay_options o = {.placement = policies[i].placement, .decisions = fopen(path, "w")};
        trace_replay(&small, &o, &r);
        fclose(o.decisions);
        snprintf(expected, sizeof expected, "%s/small/%s.decisions", getenv("TRACES"), policies[i].name);
        char *got = whole(path), *wanted = whole(expected);
        if (strcmp(got, wanted) != 0)
            fail_msg("%s decides otherwise than the reference", policies[i].name);
        free(got);
        free(wanted);
    }
}

static void all_are_counted(void **state)
{
    (void)state;
    for (int policy = 0; policy <= PLACEMENT_CAPSTAN; policy++) {
        struct replay_result r, again;
        struct replay_options o = {.placement = (enum placement)policy, .seed = 5};
        trace_replay(&small, &o, &r);
        trace_replay(&small, &o, &again);
        uint64_t came_n = r.parts_came_n, accepted_n = r.parts_accepted_n;
        for (int i = 0; i < REPLAY_GPUS; i++) {
            came_n += r.came_n[i];
            accepted_n += r.accepted_n[i];
        }
        assert_int_equal(came_n, small.arrivals_n);
        assert_int_equal(accepted_n + r.failed_n, came_n);
        assert_int_equal(r.decisions_n, came_n);
        assert_true(r.allocation_end > 85 && r.allocation_end <= 100);
        assert_true(r.fragmentation[0] >= 0 && r.fragmentation[0] <= 100);
        assert_true(r.allocation_end == again.allocation_end && r.failed_n == again.failed_n); /* the same to the bit */
    }
}

/* Where a tenth of the GPUs is asked for all find a place, but such as the cluster could not hold if it were empty. */
static void who_leaves_makes_room(void **state)
{
    (void)state;
    struct replay_result r;
    struct replay_options o = {.placement = PLACEMENT_CAPSTAN, .seed = 5, .load = 0.1, .arrivals_n = 20000};
    trace_replay(&small, &o, &r);
    assert_int_equal(r.failed_n, 0);
    assert_true(r.allocation_mean > 8.5 && r.allocation_mean < 11.5);
    o.load = 2;
    trace_replay(&small, &o, &r);
    assert_true(r.failed_n > 2000);
    assert_true(r.allocation_mean > 85 && r.allocation_mean < 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_reference), cmocka_unit_test(all_are_counted),
                                       cmocka_unit_test(who_leaves_makes_room)};
    return cmocka_run_group_tests(tests, load_small, drop_small);
}
