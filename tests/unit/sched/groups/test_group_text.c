/* What of a PodGroup's text is news to the core. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdint.h>
#include <string.h>
#include "sched/groups/group_text.h"

static char phase[GROUP_PHASE_MAX];

static uint64_t hash_of(const char *text)
{
    return group_text_hash(bytes_of(text), phase);
}

#define GROUP(version, labels, spec, status)                                                                                       \
    "{\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\",\"resourceVersion\":\"" version "\",\"generation\":1,\"labels\":{" labels "}}," \
    "\"spec\":{" spec "}" status "}"

static void test_status_is_no_news(void **state)
{
    (void)state;
    uint64_t first = hash_of(GROUP("7", "", "\"minMember\":1", ""));
    assert_true(first != 0);
    assert_string_equal(phase, "");
    assert_true(hash_of(GROUP("1234", "", "\"minMember\":1", ",\"status\":{\"running\":1,\"phase\":\"Inqueue\"}")) == first);
    assert_string_equal(phase, "Inqueue");
    assert_true(hash_of(GROUP("9", "", "\"minMember\":1", ",\"status\":{}")) != 0);
    assert_string_equal(phase, "");
}

static void test_all_else_is(void **state)
{
    (void)state;
    uint64_t first = hash_of(GROUP("7", "", "\"minMember\":1", ",\"status\":{\"phase\":\"Running\"}"));
    const char *const others[] = {GROUP("7", "", "\"minMember\":2", ",\"status\":{\"phase\":\"Running\"}"),
                                  GROUP("7", "\"a\":\"b\"", "\"minMember\":1", ",\"status\":{\"phase\":\"Running\"}"),
                                  GROUP("7", "", "\"minMember\":1", ",\"status\":{\"phase\":\"Completed\"}")};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(hash_of(others[i]) != first && hash_of(others[i]) != 0);
}

static void test_nobody_can_tell(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "null", "[]", "{", "{\"metadata\":{\"name\":\"g\"},\"status\":{}}", "{\"metadata\":7}", "{\"metadata\":{\"resourceVersion\":\"7\"}",
        GROUP("7", "", "", ",\"status\":{\"phase\":\"\\u0041\"}"), GROUP("7", "", "", ",\"status\":{\"phase\":7}"),
        GROUP("7", "", "", ",\"status\":{\"phase\":\"abcdefghijklmnopqrstuvwxyz\"}"), GROUP("7", "", "", ",\"status\":{},\"spec\":{\"minMember\":7}"),
        "{\"status\":{},\"metadata\":{\"resourceVersion\":\"7\"}}",
        GROUP("7", "\"capstan.dev/restart-when-hung\":\"true\"", "", "")};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (hash_of(texts[i]) != 0)
            fail_msg("%s", texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_status_is_no_news), cmocka_unit_test(test_all_else_is),
                                       cmocka_unit_test(test_nobody_can_tell)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
