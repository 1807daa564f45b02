/* The ring of changes: order, growth, what age and size take away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "apiserver/store/ring.h"
#include "base/limits.h"

static struct ring_event event_of(uint64_t rv, size_t old_n, int64_t at_ms)
{
    static const char zeros[RING_BYTES_MAX / 1024];
    struct ring_key *key = ring_key_new("ns", "name");
    return (struct ring_event){.event = {.type = STORE_MODIFIED,
                                         .rv = rv,
                                         .ns = key->ns,
                                         .name = key->name,
                                         .body = blob_new("{}", 2),
                                         .old = blob_new(zeros, old_n)},
                               .key = key,
                               .at_ms = at_ms};
}

static void empty_ring(void **state)
{
    struct ring r = {0};
    size_t total = 0;
    ring_age(&r, 1000000, &total);
    ring_shrink(&r, &total);
    assert_int_equal(ring_place(&r, 5), 0);
    assert_int_equal(ring_count(&r), 0);
    ring_clear(&r, &total);
    ring_key_unref(NULL);
}

static void full_ring_drops_the_first(void **state)
{
    struct ring r = {0};
    size_t total = 0;
    for (uint64_t rv = 1; rv <= LIMIT_WATCH_RING + 10; rv++)
        ring_add(&r, event_of(rv * 2, 3, 0), &total);
    assert_int_equal(ring_count(&r), LIMIT_WATCH_RING);
    assert_int_equal(total, LIMIT_WATCH_RING * 3);
    assert_int_equal(r.bytes, total);
    assert_int_equal(r.dropped_rv, 20);
    assert_int_equal(ring_at(&r, ring_place(&r, 20))->event.rv, 22);
    assert_int_equal(ring_at(&r, ring_place(&r, 101))->event.rv, 102);
    assert_int_equal(ring_place(&r, UINT64_MAX), r.next_seq);
    ring_clear(&r, &total);
    assert_int_equal(total, 0);
}

static void old_events_go(void **state)
{
    struct ring r = {0};
    size_t total = 0;
    for (uint64_t rv = 1; rv <= 1000; rv++)
        ring_add(&r, event_of(rv, 1, (int64_t)rv * 1000), &total);
    assert_int_equal(ring_count(&r), RING_AGE_MS / 1000 + 1);
    assert_int_equal(r.dropped_rv, 1000 - RING_AGE_MS / 1000 - 1);
    ring_age(&r, INT64_MAX, &total);
    assert_int_equal(ring_count(&r), RING_AGED_MIN);
    assert_int_equal(total, RING_AGED_MIN);
    ring_clear(&r, &total);
}

static void large_rings_give(void **state)
{
    struct ring r = {0};
    size_t total = 0, each = RING_BYTES_MAX / 1024;
    for (uint64_t rv = 1; rv <= 1100; rv++)
        ring_add(&r, event_of(rv, each, 0), &total);
    ring_shrink(&r, &total);
    assert_int_equal(ring_count(&r), RING_EVENTS_MIN); /* above the limit still, but few */
    total += 5 * each;
    ring_shrink(&r, &total);
    assert_int_equal(ring_count(&r), RING_EVENTS_MIN);
    total -= 5 * each;
    ring_clear(&r, &total);
    assert_int_equal(total, 0);
}

static void huge_objects_give_more(void **state)
{
    struct ring r = {0};
    size_t total = 0, each = RING_BYTES_HARD / 100;
    static char zeros[RING_BYTES_HARD / 100];
    for (uint64_t rv = 1; rv <= 300; rv++) {
        struct ring_event e = event_of(rv, 0, 0);
        blob_unref(e.event.old);
        e.event.old = blob_new(zeros, each);
        ring_add(&r, e, &total);
        ring_shrink(&r, &total);
        assert_true(total <= RING_BYTES_HARD);
    }
    assert_int_equal(ring_count(&r), 100);
    total += 2 * (size_t)RING_BYTES_HARD; /* other kinds' */
    ring_shrink(&r, &total);
    assert_int_equal(ring_count(&r), RING_LARGE_MIN);
    total -= 2 * (size_t)RING_BYTES_HARD;
    ring_clear(&r, &total);
    assert_int_equal(total, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_ring),
        cmocka_unit_test(full_ring_drops_the_first),
        cmocka_unit_test(old_events_go),
        cmocka_unit_test(large_rings_give),
        cmocka_unit_test(huge_objects_give_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
