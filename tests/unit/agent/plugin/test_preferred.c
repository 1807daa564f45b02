/* test_preferred.c - which slots are chosen: nearness of GPUs against trying every set, shares spread or packed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "agent/plugin/allocate.h"
#include "base/clock.h"
#include "base/random.h"
#include "reading.h"

static struct test_node *node;
static struct err error;
static const char **chosen;
static uint32_t chosen_n;

static int end(void **state)
{
    (void)state;
    node_free(node);
    node = NULL;
    return 0;
}

static const struct resource *only(const char *yaml)
{
    node_config(node, yaml);
    if (node_table(node, NULL, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(node->table.resources_n, 1);
    return &node->table.resources[0];
}

static int choose(const char *const *available, uint32_t n, const char *const *must, uint32_t must_n, uint32_t size)
{
    return preferred_choose(node->arena, &node->snapshot, &node->config, &node->table.resources[0], available, n, must, must_n, size,
                            &chosen, &chosen_n, &error);
}

/* The slots whose bits are set. */
static uint32_t pick(uint32_t set, const char **ret)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < node->table.resources[0].slots_n && i < 32; i++)
        if (set & (1u << i))
            ret[n++] = node->table.resources[0].slots[i].id;
    return n;
}

static uint32_t choose_set(uint32_t available, uint32_t must, uint32_t size)
{
    const char *a[32] = {0}, *m[32] = {0};
    uint32_t set = 0, n = pick(available, a), must_n = pick(must, m);
    if (choose(a, n, m, must_n, size) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(chosen_n, size);
    for (uint32_t i = 0; i < chosen_n; i++)
        set |= 1u << (resource_find_slot(&node->table.resources[0], chosen[i]) - node->table.resources[0].slots);
    assert_int_equal((uint32_t)__builtin_popcount(set), size);
    assert_int_equal(set & must, must);
    assert_int_equal(set & ~(available | must), 0);
    return set;
}

static int score(uint32_t a, uint32_t b)
{
    static const int levels[] = {60, 50, 40, 30, 20, 10};
    const struct driver_link *l = &node->reading.links[a * node->reading.gpus_n + b];
    return (l->ancestor > 50 ? 0 : levels[l->ancestor / 10]) + 100 * l->nvlinks_n;
}

static int inside(uint32_t set)
{
    int sum = 0;
    for (uint32_t a = 0; a < node->reading.gpus_n; a++)
        for (uint32_t b = a + 1; b < node->reading.gpus_n; b++)
            if ((set & (1u << a)) && (set & (1u << b)))
                sum += score(a, b);
    return sum;
}

/* What the module promises, by trying all sets. */
static uint32_t best_of_all(uint32_t available, uint32_t must, uint32_t size)
{
    uint32_t best = 0;
    bool found = false;
    for (uint32_t set = 0; set < 1u << node->reading.gpus_n; set++) {
        if ((uint32_t)__builtin_popcount(set) != size || (set & must) != must || (set & ~available))
            continue;
        int more = !found ? 1 : inside(set) - inside(best);
        if (more == 0)
            more = inside(available & ~set) - inside(available & ~best);
        if (more == 0)
            more = (set & ((set ^ best) & (~(set ^ best) + 1))) ? 1 : -1;
        best = more > 0 ? set : best;
        found = true;
    }
    return best;
}

static void random_links(struct random *random)
{
    static const uint8_t levels[] = {10, 20, 30, 40, 50, 255};
    for (uint32_t a = 0; a < node->reading.gpus_n; a++)
        for (uint32_t b = a + 1; b < node->reading.gpus_n; b++)
            node_link(node, a, b, levels[random_below(random, 6)], (uint8_t)(random_below(random, 3) ? 0 : random_below(random, 4)));
}

static void aligned_exact(void **state)
{
    (void)state;
    struct random random = {7};
    node = node_new("t4", 9);
    only("");
    for (int round = 0; round < 400; round++) {
        random_links(&random);
        uint32_t available = (uint32_t)random_below(&random, 512);
        uint32_t must = available & (uint32_t)random_below(&random, 512) & (uint32_t)random_below(&random, 512);
        uint32_t n = (uint32_t)__builtin_popcount(available), least = (uint32_t)__builtin_popcount(must);
        uint32_t size = least + (uint32_t)random_below(&random, n - least + 1);
        assert_int_equal(choose_set(available, must, size), best_of_all(available, must, size));
    }
}

/* Two pairs over NVLink on each socket: a pair, then a whole socket, and what is left stays usable. */
static void aligned_pairs(void **state)
{
    (void)state;
    node = node_new("t4", 8);
    for (uint32_t i = 0; i < 8; i += 2)
        node_link(node, i, i + 1, 40, 4);
    only("");
    assert_int_equal(choose_set(0xff, 0, 2), 0x03);
    assert_int_equal(choose_set(0xfe, 0, 2), 0x0c);
    assert_int_equal(choose_set(0xff, 0, 4), 0x0f);
    assert_int_equal(choose_set(0xf5, 0, 1), 0x01); /* 0 and 2 have lost their partners: the pairs stay whole */
    assert_int_equal(choose_set(0xff, 0x80, 2), 0xc0);
    assert_int_equal(choose_set(0xff, 0, 8), 0xff);
    assert_int_equal(choose_set(0xff, 0, 0), 0);
}

static void aligned_lost(void **state)
{
    (void)state;
    node = node_new("a100-40gb", 4);
    node->reading.gpus[0].lost = true;
    only("");
    assert_int_equal(choose_set(0xf, 0, 2), 0xc);
    assert_int_equal(choose_set(0xf, 0, 4), 0xf);
    const char *available[] = {"GPU-unknown", node->reading.gpus[2].uuid, node->reading.gpus[2].uuid};
    assert_int_equal(choose(available, 3, NULL, 0, 1), 0);
    assert_string_equal(chosen[0], node->reading.gpus[2].uuid);
    assert_int_equal(choose(available, 3, NULL, 0, 2), -E_INVALID);
    assert_int_equal(choose(available, 3, available, 1, 1), -E_NOTFOUND);
    assert_int_equal(choose(available, 3, available + 1, 1, 0), -E_INVALID);
}

/* More than 16 GPUs: islands of 4 are found from any of them. */
static void aligned_many(void **state)
{
    (void)state;
    node = node_new("t4", 32);
    for (uint32_t a = 0; a < 32; a++)
        for (uint32_t b = a + 1; b < 32; b++)
            node_link(node, a, b, 50, a % 8 == b % 8 ? 2 : 0);
    only("");
    assert_int_equal(choose_set(0xffffffff, 0, 4), 0x01010101);
    assert_int_equal(choose_set(0xffffffff, 0x20, 4), 0x20202020);
    assert_int_equal(choose_set(0xfefefefe, 0, 8), 0x06060606);
    assert_int_equal((uint32_t)__builtin_popcount(choose_set(0xffffffff, 0, 31)), 31);
}

static void shared(void **state)
{
    (void)state;
    node = node_new("t4", 3);
    only("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}"); /* bits 0-3 GPU 0, 4-7 GPU 1, 8-11 GPU 2 */
    assert_int_equal(choose_set(0xfff, 0, 3), 0x111);
    assert_int_equal(choose_set(0xfff, 0, 4), 0x113);
    assert_int_equal(choose_set(0xff8, 0, 1), 0x010); /* GPU 0 has one left: the emptiest first */
    assert_int_equal(choose_set(0xce8, 0, 1), 0x020);
    assert_int_equal(choose_set(0xff8, 0x008, 2), 0x018);
    assert_int_equal(choose_set(0x00f, 0, 3), 0x007);
    only("flags: {plugin: {sharedDevicesAllocationPolicy: packed}}\nsharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}");
    assert_int_equal(choose_set(0xff8, 0, 1), 0x008);
    assert_int_equal(choose_set(0xf38, 0, 1), 0x008);
    assert_int_equal(choose_set(0xf30, 0, 2), 0x030); /* the fuller GPU takes both */
    assert_int_equal(choose_set(0xf30, 0, 3), 0x130);
    assert_int_equal(choose_set(0xfff, 0, 1), 0x001);
    assert_int_equal(choose_set(0xfff, 0, 4), 0x00f);
    assert_int_equal(choose_set(0xfff, 0, 5), 0x01f);
    assert_int_equal(choose_set(0xfff, 0x100, 3), 0x700); /* beside what the container has */
    node->reading.gpus[0].lost = true;
    only("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}");
    assert_int_equal(choose_set(0xfff, 0, 2), 0x110);
    assert_int_equal(choose_set(0x00f, 0, 2), 0x003);
}

static void mig(void **state)
{
    (void)state;
    node = node_new("a100-40gb", 2);
    node_mig(node, 0, "1g.5gb", 0, 7);
    node_mig(node, 1, "1g.5gb", 0, 7);
    only("flags: {migStrategy: mixed}");
    assert_int_equal(choose_set(0x3fff, 0, 1), 0x0001);
    assert_int_equal(choose_set(0x3ffe, 0, 1), 0x0080); /* the emptier GPU */
    assert_int_equal(choose_set(0x3fff, 0, 2), 0x0081);
    only("flags: {migStrategy: mixed, plugin: {sharedDevicesAllocationPolicy: packed}}");
    assert_int_equal(choose_set(0x3ffe, 0, 1), 0x0002); /* whole GPUs stay free for larger instances */
    assert_int_equal(choose_set(0x3fff, 0, 2), 0x0003);
}

/* Never exponential: the largest calls take no more than some milliseconds, also in slow builds. */
static void bounded(void **state)
{
    (void)state;
    static const struct { uint32_t gpus; const char *yaml; uint32_t size; } calls[] = {
        {16, "", 8}, {17, "", 8}, {64, "", 32}, {16, "sharing: {mps: {resources: [{name: gpu, replicas: 48}]}}", 16}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (node)
            node_free(node);
        node = node_new("t4", calls[i].gpus);
        const struct resource *r = only(calls[i].yaml);
        const char **all = arena_zero(node->arena, r->slots_n, sizeof *all);
        for (uint32_t k = 0; k < r->slots_n; k++)
            all[k] = r->slots[k].id;
        int64_t before = clock_monotonic_us();
        assert_int_equal(choose(all, r->slots_n, NULL, 0, calls[i].size), 0);
        int64_t us = clock_monotonic_us() - before;
        print_message("%u GPUs, %u of %u slots: %lld us\n", calls[i].gpus, calls[i].size, r->slots_n, (long long)us);
        assert_true(us < 1000000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(aligned_exact, end), cmocka_unit_test_teardown(aligned_pairs, end),
        cmocka_unit_test_teardown(aligned_lost, end),  cmocka_unit_test_teardown(aligned_many, end),
        cmocka_unit_test_teardown(shared, end),        cmocka_unit_test_teardown(mig, end),
        cmocka_unit_test_teardown(bounded, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
