/* Groups of coscheduling: what of minResources all nodes together must have free, and which of them are over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../decoder_world.h"

static const char *floor_of(struct world *w, const char *min_resources)
{
    struct gang_record g;
    struct err e = {0};
    const char *text = "", *spec = arena_printf(w->arena, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{\"minMember\":3%s}}",
                                                min_resources);
    assert_int_equal(decode_coscheduling_pod_group(&w->d, tree(w, spec), &g, &e), 0);
    assert_int_equal(g.min_members, 3);
    assert_int_equal(g.least_is_free, g.least_n > 0);
    for (uint32_t i = 0; i < g.least_n; i++)
        text = arena_printf(w->arena, "%s%s=%lld ", text, intern_name(w->names, g.least[i].resource), (long long)g.least[i].value);
    return text;
}

/* Zeros ask for nothing, each pod needs a place as one pod anyhow, parts of GPUs have no such names on nodes, and what cannot be read keeps
 * nobody out. */
static void floors(void **state)
{
    struct world *w = *state;
    assert_string_equal(floor_of(w, ""), "");
    assert_string_equal(floor_of(w, ",\"minResources\":{}"), "");
    assert_string_equal(floor_of(w, ",\"minResources\":{\"cpu\":\"2\"}"), "cpu=2000 ");
    assert_string_equal(floor_of(w, ",\"minResources\":{\"memory\":\"1Ki\",\"cpu\":0,\"pods\":9}"), "memory=1024 ");
    assert_string_equal(floor_of(w, ",\"minResources\":{\"nvidia.com/gpu\":4,\"nvidia.com/gpumem\":4,\"capstan.dev/gpu-milli\":4}"),
                        "nvidia.com/gpu=4 ");
    assert_string_equal(floor_of(w, ",\"minResources\":{\"example.com/none\":1}"), "example.com/none=1 ");
    assert_string_equal(floor_of(w, ",\"minResources\":{\"cpu\":-1}"), "");
    assert_string_equal(floor_of(w, ",\"minResources\":{\"cpu\":\"two\",\"memory\":1}"), "");
    assert_string_equal(floor_of(w, ",\"minResources\":7"), "");
}

static bool is_over(struct world *w, const char *phase)
{
    struct gang_record g;
    struct err e = {0};
    const char *text = arena_printf(w->arena, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"status\":{\"phase\":\"%s\"}}", phase);
    assert_int_equal(decode_coscheduling_pod_group(&w->d, tree(w, text), &g, &e), 0);
    return g.finished;
}

/* In the stead of pods that failed others may come. */
static void who_failed_is_not_over(void **state)
{
    assert_false(is_over(*state, "Running"));
    assert_false(is_over(*state, "Failed"));
    assert_true(is_over(*state, "Finished"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(floors, world_open, world_close),
        cmocka_unit_test_setup_teardown(who_failed_is_not_over, world_open, world_close),
    };
    return cmocka_run_group_tests_name("coscheduling_groups", tests, NULL, NULL);
}
