/* Lists with less of each object. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "apiserver/request/fields.h"
#include "base/memory.h"

static void less_is(const char *fields, const char *object, const char *want)
{
    struct fields f;
    struct err e = {0};
    _cleanup_buf_ struct buf out = {0};
    if (fields_parse(bytes_of(fields), &f, &e) < 0)
        fail_msg("%s", e.text);
    assert_true(fields_write(&out, &f, bytes_of(object)));
    assert_string_equal(out.data, want);
}

static void what_is_named(void **state)
{
    (void)state;
    less_is("a", "{}", "{}");
    less_is("a", "{\"b\":1}", "{}");
    less_is("a", "{\"b\":1,\"a\":{\"c\":[1,2]},\"d\":{}}", "{\"a\":{\"c\":[1,2]}}");
    less_is("a(x,y.z/w),b", "{\"b\":null,\"a\":{\"x\":\"}\\\"\",\"q\":0,\"y.z/w\":{}}}", "{\"b\":null,\"a\":{\"x\":\"}\\\"\",\"y.z/w\":{}}}");
    less_is("s(c(r))", "{\"s\":{\"c\":[{\"n\":1,\"r\":2},{\"n\":3},{}],\"d\":1}}", "{\"s\":{\"c\":[{\"r\":2},{},{}]}}");
    less_is("s(c(r))", "{\"s\":{\"c\":[]}}", "{\"s\":{\"c\":[]}}");
    less_is("a(b)", "{\"a\":7}", "{\"a\":7}"); /* it has no members: as it is */
    less_is("a,a(b)", "{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":1,\"c\":2}}");
}

static void what_is_wrong(void **state)
{
    static const char *const wrong[] = {"", ",", "a,", "a(", "a()", "a)", "a(b", "a(b))", "a(b)c", "(a)", "a((b))", "a(b),,c"};
    struct fields f;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err e = {0};
        assert_int_equal(fields_parse(bytes_of(wrong[i]), &f, &e), -E_INVALID);
        assert_non_null(strstr(e.text, "as metadata(name,labels),status(phase)"));
        assert_int_equal(fields_parse(bytes_of(wrong[i]), &f, NULL), -E_INVALID);
    }
}

static void limits(void **state)
{
    struct fields f;
    struct err e = {0};
    _cleanup_buf_ struct buf many = {0};
    (void)state;
    buf_text(&many, "n");
    for (int i = 1; i < FIELDS_MAX; i++)
        buf_text(&many, ",n");
    assert_int_equal(fields_parse(buf_view(&many), &f, &e), 0);
    buf_text(&many, ",n");
    assert_int_equal(fields_parse(buf_view(&many), &f, &e), -E_LIMIT);
    assert_int_equal(fields_parse(bytes_of("a(a(a(a(a(a(a(a)))))))"), &f, &e), 0);
    assert_int_equal(fields_parse(bytes_of("a(a(a(a(a(a(a(a(a))))))))"), &f, &e), -E_LIMIT);
}

static void no_json(void **state)
{
    static const char *const texts[] = {"", "{", "{\"a\":", "{\"a\":{\"b\":1}"};
    struct fields f;
    (void)state;
    assert_int_equal(fields_parse(bytes_of("a(b)"), &f, NULL), 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        _cleanup_buf_ struct buf out = {0};
        assert_false(fields_write(&out, &f, bytes_of(texts[i])));
        assert_int_equal(out.n, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_named), cmocka_unit_test(what_is_wrong), cmocka_unit_test(limits),
                                       cmocka_unit_test(no_json)};
    return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
