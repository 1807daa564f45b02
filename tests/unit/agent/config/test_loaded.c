/* test_loaded.c - configs that several agents share: one for the same text and settings, as long as somebody uses it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "agent/config/loaded.h"

#define SLICES(n) "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: " #n "}]}}\n"

static const struct config_setting single = {"flags.migStrategy", "single", "--mig-strategy"};
static const struct config_setting weak = {"flags.migStrategy", "single", "a default", true};

static struct agent_loaded *get(struct config_cache *c, const char *text, const struct config_setting *s)
{
    struct agent_loaded *l = NULL;
    struct err e = {0};
    if (agent_loaded_make(c, text, s, s ? 1 : 0, &l, NULL, &e) < 0)
        fail_msg("%s", e.text);
    return l;
}

static void the_same_text_and_settings_are_one_config(void **state)
{
    (void)state;
    struct config_cache *c = config_cache_new();
    struct agent_loaded *a = get(c, SLICES(4), NULL), *b = get(c, SLICES(4), NULL);
    assert_ptr_equal(a, b);
    struct agent_loaded *others[] = {get(c, SLICES(2), NULL), get(c, SLICES(4), &single), get(c, SLICES(4), &weak)};
    for (int i = 0; i < 3; i++) {
        assert_ptr_not_equal(others[i], a);
        assert_int_not_equal(others[i]->number, a->number);
    }
    agent_loaded_unref(b);
    assert_int_equal(a->config.time_slicing.resources[0].replicas, 4); /* somebody has it still */
    uint64_t number = a->number;
    agent_loaded_unref(a);
    struct agent_loaded *other = get(c, "", NULL); /* on the way what nobody uses goes */
    struct agent_loaded *again = get(c, SLICES(4), NULL);
    assert_int_not_equal(again->number, number);
    agent_loaded_unref(again);
    agent_loaded_unref(other);
    config_cache_free(c);
    for (int i = 0; i < 3; i++)
        agent_loaded_unref(others[i]); /* outlives the cache */
}

static void what_is_wrong_is_kept_by_nobody(void **state)
{
    (void)state;
    struct config_cache *c = config_cache_new();
    struct agent_loaded *l = NULL;
    struct err e = {0};
    assert_int_equal(agent_loaded_make(c, "version: v9\n", NULL, 0, &l, NULL, &e), -E_INVALID);
    assert_null(l);
    config_cache_free(c);
    config_cache_free(NULL);
}

static void a_weak_setting_gives_way_to_the_file(void **state)
{
    (void)state;
    static const char none[] = "version: v1\nflags: {migStrategy: none}\n";
    struct agent_loaded *file = get(NULL, none, &weak), *flag = get(NULL, none, &single), *silent = get(NULL, "", &weak);
    assert_int_equal(file->config.mig_strategy, MIG_STRATEGY_NONE);
    assert_int_equal(flag->config.mig_strategy, MIG_STRATEGY_SINGLE);
    assert_int_equal(silent->config.mig_strategy, MIG_STRATEGY_SINGLE);
    agent_loaded_unref(file);
    agent_loaded_unref(flag);
    agent_loaded_unref(silent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_text_and_settings_are_one_config),
                                       cmocka_unit_test(what_is_wrong_is_kept_by_nobody),
                                       cmocka_unit_test(a_weak_setting_gives_way_to_the_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
