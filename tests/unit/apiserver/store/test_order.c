/* In whatever order objects come, a list has them in that of their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "apiserver/store/store.h"

enum { N = 101 };

static void add(struct store *s, uint32_t kind, int number)
{
    char name[16];
    struct blob *body = blob_new("{}", 2);
    (void)snprintf(name, sizeof name, "%03d", number);
    assert_int_equal(store_create(s, kind, number % 2 ? "a" : "b", name, store_next_rv(s), body, NULL), 0);
    blob_unref(body);
}

static void all_are_in_order(struct store *s, uint32_t kind)
{
    struct store_cursor *c = store_list(s, kind, NULL, NULL);
    const struct store_object *o;
    int64_t number;
    int n = 0;
    for (; (o = store_list_next(c)); n++) {
        bool first_half = n < N / 2; /* odd ones: namespace a */
        assert_true(bytes_int64(bytes_of(o->name), &number));
        assert_int_equal(number, first_half ? 2 * n + 1 : 2 * (n - N / 2));
        assert_string_equal(o->ns, first_half ? "a" : "b");
        assert_ptr_equal(store_get(s, kind, o->ns, o->name), o);
    }
    assert_int_equal(n, N);
    store_list_free(c);
}

static void any_order(void **state)
{
    static const int steps[] = {1, N - 1, 37, 2, 60}; /* up, down, all over: each prime to N */
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct loop *l = loop_new_virtual(0);
        struct store *s;
        assert_int_equal(store_open(l, NULL, &s, NULL), 0);
        uint32_t kind = store_kind(s, "", "pods");
        for (int k = 0; k < N; k++)
            add(s, kind, k * steps[i] % N);
        all_are_in_order(s, kind);
        store_close(s);
        loop_free(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
