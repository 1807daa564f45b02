/* Field errors print as Kubernetes prints them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "codec/schema/field_errors.h"

static void prints_one_and_many(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf text = {0};
    struct field_errors f;
    field_errors_init(&f, a);
    field_errors_text(&text, &f);
    assert_int_equal(text.n, 0);
    field_error_add(&f, FIELD_INVALID, "spec.replicas", "-1", "must be %s than or equal to 0", "greater");
    field_errors_text(&text, &f);
    assert_string_equal(text.data, "spec.replicas: Invalid value: -1: must be greater than or equal to 0");
    field_error_add(&f, FIELD_REQUIRED, "metadata.name", NULL, "%s", "");
    field_error_add(&f, FIELD_DUPLICATE, "spec.a[1]", "\"x\"", "%s", "");
    buf_clear(&text);
    field_errors_text(&text, &f);
    assert_string_equal(text.data, "[spec.replicas: Invalid value: -1: must be greater than or equal to 0, metadata.name: Required value, spec.a[1]: Duplicate value: \"x\"]");
    assert_string_equal(field_error_reason(FIELD_TOO_LONG), "FieldValueTooLong");
    assert_string_equal(field_error_reason(FIELD_NOT_SUPPORTED), "FieldValueNotSupported");
}

static void keeps_64_and_counts_all(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf text = {0};
    struct field_errors f;
    uint32_t kept = 0;
    field_errors_init(&f, a);
    for (int i = 0; i < 100; i++)
        field_error_add(&f, FIELD_FORBIDDEN, "spec", NULL, "number %d", i);
    for (const struct field_error *e = f.first; e; e = e->next)
        kept++;
    assert_int_equal(kept, 64);
    assert_int_equal(f.n, 100);
    field_errors_text(&text, &f);
    assert_true(text_ends(text.data, ", and 36 more]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(prints_one_and_many), cmocka_unit_test(keeps_64_and_counts_all)};
    return cmocka_run_group_tests_name("field_errors", tests, NULL, NULL);
}
