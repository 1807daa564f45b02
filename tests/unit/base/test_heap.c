#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/collections/heap.h"
#include "base/random.h"

struct item {
    uint64_t key;
    size_t heap_at;
};

static bool before(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return x->key != y->key ? x->key < y->key : x < y;
}

static void test_empty(void **state)
{
    struct heap h;
    heap_init(&h, offsetof(struct item, heap_at), before);
    struct item one = {1, 0};
    assert_null(heap_first(&h));
    assert_null(heap_pop(&h));
    heap_remove(&h, &one);
    heap_moved(&h, &one);
    heap_add(&h, &one);
    heap_add(&h, &one);
    assert_int_equal(h.n, 1);
    heap_fini(&h);
    assert_int_equal(one.heap_at, 0);
}

static int64_t key_of(const void *item)
{
    return (int64_t)((const struct item *)item)->key;
}

/* Several have one rank: the order tells them apart. */
static int64_t tens_of(const void *item)
{
    return key_of(item) / 10;
}

static void one_alone_moves(void **state)
{
    struct heap h;
    struct item one = {5, 0}, other = {4, 0};
    heap_init_ranked(&h, offsetof(struct item, heap_at), key_of, before);
    heap_add(&h, &one);
    one.key = 1;
    heap_moved(&h, &one);
    heap_add(&h, &other);
    assert_ptr_equal(heap_pop(&h), &one);
    heap_fini(&h);
}

/* The first one is always the smallest of those inside, whatever was added, removed and moved. */
static void any_changes(int64_t (*rank)(const void *))
{
    enum { ITEMS = 60 };
    struct heap h;
    struct item items[ITEMS] = {0};
    struct random r = {3};
    heap_init_ranked(&h, offsetof(struct item, heap_at), rank, before);
    for (int step = 0; step < 50000; step++) {
        struct item *item = &items[random_below(&r, ITEMS)];
        uint64_t act = random_below(&r, 4);
        if (act == 0) {
            heap_remove(&h, item);
        } else if (act == 1) {
            item->key = random_below(&r, 20);
            heap_moved(&h, item);
        } else if (act == 2 && !item->heap_at) {
            item->key = random_below(&r, 20);
            heap_add(&h, item);
        } else if (act == 3 && random_permille(&r, 100)) {
            heap_pop(&h);
        }
        const struct item *least = NULL;
        for (int i = 0; i < ITEMS; i++)
            if (items[i].heap_at && (!least || before(&items[i], least)))
                least = &items[i];
        assert_ptr_equal(heap_first(&h), least);
    }
    const struct item *last = NULL;
    for (struct item *item; (item = heap_pop(&h)); last = item)
        assert_true(!last || before(last, item));
    heap_fini(&h);
}

static void test_random(void **state)
{
    any_changes(NULL);
    any_changes(key_of);
    any_changes(tens_of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_empty), cmocka_unit_test(one_alone_moves), cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
