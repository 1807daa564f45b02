#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/collections/arena_pool.h"

static void test_alignment_and_content(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    for (size_t n = 0; n < 3000; n += 7) {
        char *p = arena_alloc(a, n);
        assert_int_equal((uintptr_t)p % 16, 0);
        memset(p, 0xee, n);
    }
    int *zero = arena_zero(a, 100, sizeof *zero);
    for (int i = 0; i < 100; i++)
        assert_int_equal(zero[i], 0);
    assert_string_equal(arena_text_n(a, "abcdef", 3), "abc");
    assert_string_equal(arena_text_lower(a, "TrainJob @[`{ \xc3\x84"), "trainjob @[`{ \xc3\x84");
    assert_null(arena_text(a, NULL));
    assert_string_equal(arena_printf(a, "%d-%s", 5, "x"), "5-x");
    assert_string_equal(arena_joined(a, "batch", '/', "v1"), "batch/v1");
    assert_string_equal(arena_joined(a, "", '-', ""), "-");
    assert_int_equal(strlen(arena_printf(a, "%0300d", 5)), 300);
    assert_int_equal(strlen(arena_printf(a, "%0255d%s", 5, "")), 255);
    assert_int_equal(strlen(arena_printf(a, "%0256d", 5)), 256);
    assert_true(arena_used(a) > 3000 * 3000 / 14);
}

static void test_arrays_grow(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    int *items = NULL, copies_n = 0;
    uint32_t n = 0, cap = 0;
    while (n < 1000) {
        int *was = items;
        items = arena_grow(a, items, n, 1, &cap, sizeof *items);
        copies_n += items != was;
        items[n] = (int)n;
        n++;
        assert_true(cap >= n);
    }
    assert_int_equal(copies_n, 7); /* 16, 32, .. 1024 */
    items = arena_grow(a, items, n, 5000, &cap, sizeof *items);
    assert_true(cap >= n + 5000);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(items[i], i);
}

static void test_large_does_not_waste(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    char *small = arena_alloc(a, 16);
    char *large = arena_alloc(a, 5u << 20);
    memset(large, 1, 5u << 20);
    char *next = arena_alloc(a, 16);
    assert_ptr_equal(next, small + 16);
}

static void test_reset(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    arena_reset(a);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 10000; i++)
            memset(arena_alloc(a, 100), 1, 100);
        assert_int_equal(arena_used(a), 10000 * 112);
        arena_reset(a);
        assert_int_equal(arena_used(a), 0);
    }
    struct arena *none = NULL;
    arena_free(none);
}

/* What was given back last is taken first, empty; what is too much is freed. */
static void pooled(void **state)
{
    struct arena_pool p = {0};
    struct arena *taken[ARENA_SPARE_MAX + 2];
    arena_give(&p, NULL);
    for (size_t i = 0; i < ARENA_SPARE_MAX + 2; i++) {
        taken[i] = arena_take(&p);
        memset(arena_alloc(taken[i], 100), 'x', 100);
    }
    for (size_t i = 0; i < ARENA_SPARE_MAX + 2; i++)
        arena_give(&p, taken[i]);
    assert_int_equal(p.n, ARENA_SPARE_MAX);
    struct arena *last = arena_take(&p);
    assert_ptr_equal(last, taken[ARENA_SPARE_MAX - 1]);
    assert_int_equal(arena_used(last), 0);
    arena_give(&p, last);
    arena_pool_fini(&p);
    assert_int_equal(p.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_alignment_and_content), cmocka_unit_test(test_arrays_grow),
                                       cmocka_unit_test(test_large_does_not_waste), cmocka_unit_test(test_reset), cmocka_unit_test(pooled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
