#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "base/collections/map.h"
#include "base/random.h"

#define KEYS 500

static struct bytes key_text(char text[16], unsigned i)
{
    return (struct bytes){text, (size_t)snprintf(text, 16, "key-%u", i)};
}

static void test_empty(void **state)
{
    struct map *m = map_new(0);
    size_t at = 0;
    assert_null(map_find(m, BYTES("x")));
    assert_false(map_remove(m, BYTES("x")));
    assert_null(map_next(m, &at, NULL));
    bool is_new = false;
    assert_non_null(map_put(m, (struct bytes){0}, &is_new));
    assert_true(is_new);
    assert_non_null(map_find_text(m, ""));
    map_clear(m);
    assert_int_equal(map_count(m), 0);
    assert_null(map_find_text(m, ""));
    map_free(m);
    map_free(NULL);
}

/* Who knows the hash makes all his keys stand in one place; with a key that he does not know they do not. */
static void test_keyed(void **state)
{
    char text[16];
    unsigned chosen_n = 0, still_n = 0;
    struct bytes first = key_text(text, 0);
    hash_key_set(0, 0);
    uint32_t place = hash_for_table(first) & 255;
    hash_key_set(0x123456789abcdef, 0xfedcba987654321);
    uint32_t place_now = hash_for_table(first) & 255;
    for (unsigned i = 0; i < 256 * 200; i++) {
        struct bytes key = key_text(text, i);
        hash_key_set(0, 0);
        if ((hash_for_table(key) & 255) != place)
            continue;
        chosen_n++;
        hash_key_set(0x123456789abcdef, 0xfedcba987654321);
        still_n += (hash_for_table(key) & 255) == place_now;
    }
    hash_key_set(0, 0);
    assert_true(chosen_n > 100);
    assert_true(still_n < 10);
    assert_true(hash_bytes("content", 7, 0) == hash_bytes("content", 7, 0));
}

static void test_order(void **state)
{
    struct map *m = map_new(sizeof(int));
    char text[16];
    for (unsigned i = 0; i < 100; i++)
        *(int *)map_put(m, key_text(text, i), NULL) = (int)i;
    for (unsigned i = 0; i < 100; i += 2)
        assert_true(map_remove(m, key_text(text, i)));
    *(int *)map_put(m, key_text(text, 0), NULL) = 1000;
    size_t at = 0;
    int expected = 1, *value;
    struct bytes key;
    while ((value = map_next(m, &at, &key)) && *value < 1000) {
        assert_int_equal(*value, expected);
        assert_true(bytes_equal(key, key_text(text, (unsigned)expected)));
        assert_true(map_key(value).data == key.data && map_key(value).n == key.n);
        expected += 2;
    }
    assert_non_null(value);
    assert_null(map_next(m, &at, NULL));
    map_free(m);
}

/* Against a plain array, long enough for growth, holes and squeezing. */
static void test_random_against_array(void **state)
{
    struct map *m = map_new(sizeof(uint64_t));
    struct random r = {1};
    uint64_t model[KEYS] = {0};
    size_t live = 0;
    for (int step = 0; step < 200000; step++) {
        unsigned i = (unsigned)random_below(&r, KEYS);
        char text[16];
        struct bytes key = key_text(text, i);
        uint64_t *value = map_find(m, key);
        assert_int_equal(value ? *value : 0, model[i]);
        if (random_permille(&r, step % 20000 < 10000 ? 700 : 300)) {
            bool is_new;
            value = map_put(m, key, &is_new);
            assert_int_equal(is_new, model[i] == 0);
            live += is_new;
            *value = model[i] = random_next(&r) | 1;
        } else {
            assert_int_equal(map_remove(m, key), model[i] != 0);
            live -= model[i] != 0;
            model[i] = 0;
        }
        assert_int_equal(map_count(m), live);
    }
    size_t at = 0, seen = 0;
    while (map_next(m, &at, NULL))
        seen++;
    assert_int_equal(seen, live);
    map_free(m);
}

static void test_remove_while_iterating(void **state)
{
    struct map *m = map_new(sizeof(int));
    char text[16];
    for (unsigned i = 0; i < 50; i++)
        map_put(m, key_text(text, i), NULL);
    size_t at = 0, seen = 0;
    struct bytes key;
    while (map_next(m, &at, &key)) {
        seen++;
        assert_true(map_remove(m, key));
    }
    assert_int_equal(seen, 50);
    assert_int_equal(map_count(m), 0);
    map_free(m);
}

static void test_hash_is_stable(void **state)
{
    /* These values are written to disk: a change here is a change of format. */
    assert_true(hash_bytes("", 0, 0) == hash_bytes(NULL, 0, 0));
    assert_true(hash_bytes("a", 1, 0) != hash_bytes("b", 1, 0));
    assert_true(hash_bytes("a", 1, 0) != hash_bytes("a", 1, 1));
    assert_true(hash_bytes("a\0", 2, 0) != hash_bytes("a", 1, 0));
    char text[64] = {0};
    for (size_t n = 1; n < sizeof text; n++)
        assert_true(hash_bytes(text, n, 0) != hash_bytes(text, n - 1, 0));
    assert_true(hash_bytes("capstan", 7, 0) == 0x26ef5830d2f709a6u);
    assert_true(hash_bytes("nvidia.com/gpu.product=A100-SXM4", 32, 7) == 0x571b0c01329ce4fdu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_empty), cmocka_unit_test(test_keyed), cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_random_against_array), cmocka_unit_test(test_remove_while_iterating),
                                       cmocka_unit_test(test_hash_is_stable)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
