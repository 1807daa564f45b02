/* test_config_choice.c - label, default, "default", the only entry, none: in this order */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "agent/config/config_choice.h"

static void test_order(void **state)
{
    (void)state;
    static const char *const three[] = {"any", "default", "few"};
    static const struct {
        uint32_t first, n; /* of `three` */
        struct config_wish wish;
        enum config_choice choice;
        const char *is;    /* key, or what is missing */
    } cases[] = {
        {0, 3, {"few", "any"}, CONFIG_CHOICE_ENTRY, "few"},      {0, 3, {NULL, "any"}, CONFIG_CHOICE_ENTRY, "any"},
        {0, 3, {"", "any"}, CONFIG_CHOICE_ENTRY, "any"},         {0, 3, {NULL, NULL}, CONFIG_CHOICE_ENTRY, "default"},
        {0, 3, {"", ""}, CONFIG_CHOICE_ENTRY, "default"},        {2, 1, {NULL, NULL}, CONFIG_CHOICE_ENTRY, "few"},
        {0, 1, {"", NULL}, CONFIG_CHOICE_ENTRY, "any"},          {0, 0, {NULL, NULL}, CONFIG_CHOICE_NONE, NULL},
        {0, 3, {"gone", "any"}, CONFIG_CHOICE_MISSING, "gone"},  {0, 3, {NULL, "gone"}, CONFIG_CHOICE_MISSING, "gone"},
        {0, 0, {"any", NULL}, CONFIG_CHOICE_MISSING, "any"},     {2, 1, {"any", "few"}, CONFIG_CHOICE_MISSING, "any"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *keys = three + cases[i].first, *wanted = NULL;
        uint32_t at = 99;
        assert_int_equal(config_choose(keys, cases[i].n, cases[i].wish, &at, &wanted), cases[i].choice);
        if (cases[i].choice == CONFIG_CHOICE_ENTRY)
            assert_string_equal(keys[at], cases[i].is);
        else if (cases[i].choice == CONFIG_CHOICE_MISSING)
            assert_string_equal(wanted, cases[i].is);
    }
    static const char *const two[] = {"a", "b"}; /* none stands out */
    uint32_t at;
    const char *wanted;
    assert_int_equal(config_choose(two, 2, (struct config_wish){NULL, NULL}, &at, &wanted), CONFIG_CHOICE_NONE);
    assert_int_equal(config_entry_find(two, 2, "b"), 1);
    assert_int_equal(config_entry_find(two, 2, "c"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
