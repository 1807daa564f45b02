#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "gpu/mig.h"

#define SEED 42
enum { P_1G = 19, P_1G_ME = 20, P_1G_DOUBLE = 15, P_2G = 14, P_3G = 9, P_4G = 5, P_7G = 0 };

static struct mig_state on(void)
{
    return (struct mig_state){.mode = 1, .mode_pending = 1};
}

static const struct gpu_model *model(const char *key)
{
    const struct gpu_model *m = gpu_model_find(key);
    assert_non_null(m);
    return m;
}

static void test_mode(void **state)
{
    struct mig_state s = {0};
    uint8_t id;
    const struct gpu_model *h100 = model("h100-80gb"), *a100 = model("a100-40gb");
    assert_int_equal(mig_set_mode(&s, model("t4"), true, false), MIG_NOT_SUPPORTED);
    assert_int_equal(mig_create_instance(&s, h100, P_1G, -1, &id), MIG_NOT_SUPPORTED);
    assert_int_equal(mig_set_mode(&s, h100, true, false), MIG_OK);
    assert_int_equal(s.mode, 1);
    assert_int_equal(mig_create_instance(&s, h100, P_1G, -1, &id), MIG_OK);
    assert_int_equal(mig_set_mode(&s, h100, false, false), MIG_IN_USE);
    assert_int_equal(mig_destroy_instance(&s, id), MIG_OK);
    assert_int_equal(mig_set_mode(&s, h100, false, false), MIG_OK);
    assert_int_equal(s.mode, 0);
    assert_int_equal(mig_set_mode(&s, h100, true, true), MIG_OK); /* busy: waits */
    assert_int_equal(s.mode, 0);
    assert_int_equal(s.mode_pending, 1);
    s = (struct mig_state){0};
    assert_int_equal(mig_set_mode(&s, a100, true, false), MIG_OK); /* Ampere: needs a reset */
    assert_int_equal(s.mode, 0);
    mig_reset(&s, a100);
    assert_int_equal(s.mode, 1);
    assert_int_equal(mig_create_instance(&s, a100, P_7G, -1, &id), MIG_OK);
    mig_reset(&s, a100); /* instances do not outlive it, the mode does */
    assert_int_equal(s.mode, 1);
    assert_null(mig_find_instance(&s, id));
}

static void check_order(const char *key, uint8_t profile_id, const char *starts, const char *ids)
{
    struct mig_state s = on();
    uint8_t id = 0xff;
    for (; *starts; starts++, ids++) {
        assert_int_equal(mig_create_instance(&s, model(key), profile_id, -1, &id), MIG_OK);
        assert_int_equal(id, *ids - 'a');
        assert_int_equal(mig_find_instance(&s, id)->start, *starts - '0');
    }
    assert_int_equal(mig_create_instance(&s, model(key), profile_id, -1, &id), MIG_INSUFFICIENT_RESOURCES);
}

static void test_ids(void **state)
{
    check_order("a100-40gb", P_1G, "6450123", "nlmhijk"); /* 13, 11, 12, 7, 8, 9, 10 */
    check_order("a100-40gb", P_2G, "402", "fde");         /* 5, 3, 4 */
    check_order("a100-40gb", P_1G_DOUBLE, "6402", "gfde");
    check_order("h200-141gb", P_3G, "40", "cb");
    check_order("b200", P_4G, "0", "b");
    check_order("b200", P_7G, "0", "a");
    check_order("a30", 14, "0123", "defg"); /* the first 1g is 3 */
    check_order("a30", 5, "02", "bc");
    check_order("a30", 0, "0", "a");
    check_order("rtx-pro-6000", 14, "0369", "defg");
}

static void test_places(void **state)
{
    struct mig_state s = on();
    const struct gpu_model *m = model("a100-40gb");
    uint8_t id;
    assert_int_equal(mig_create_instance(&s, m, 77, -1, &id), MIG_INVALID_ARGUMENT);
    assert_int_equal(mig_create_instance(&s, m, P_2G, 1, &id), MIG_INVALID_ARGUMENT);
    assert_int_equal(mig_create_instance(&s, m, P_2G, 99, &id), MIG_INVALID_ARGUMENT);
    assert_int_equal(mig_create_instance(&s, m, P_3G, 4, &id), MIG_OK);
    assert_int_equal(mig_create_instance(&s, m, P_3G, 4, &id), MIG_INSUFFICIENT_RESOURCES);
    assert_int_equal(mig_free_starts(&s, m, mig_profile_by_id(m, P_1G)), 0xf);
    assert_int_equal(mig_free_starts(&s, m, mig_profile_by_id(m, P_7G)), 0);
    assert_int_equal(mig_create_instance(&s, m, P_4G, -1, &id), MIG_OK);
    for (uint32_t i = 0; i < m->profiles_n; i++)
        assert_int_equal(mig_remaining(&s, m, &m->profiles[i]), 0);
    assert_int_equal(mig_destroy_instance(&s, 9), MIG_NOT_FOUND);
    assert_int_equal(mig_destroy_instance(&s, 1), MIG_OK);
    /* 3g + 3g fills the memory: the seventh compute slice is stranded. */
    assert_int_equal(mig_create_instance(&s, m, P_3G, -1, &id), MIG_OK);
    assert_int_equal(mig_create_instance(&s, m, P_1G, -1, &id), MIG_INSUFFICIENT_RESOURCES);
}

static void test_engines(void **state)
{
    struct mig_state s = on();
    const struct gpu_model *m = model("a100-40gb"), *rtx = model("rtx-pro-6000");
    uint8_t id;
    assert_int_equal(mig_create_instance(&s, m, P_1G_ME, -1, &id), MIG_OK);
    assert_int_equal(mig_create_instance(&s, m, P_1G_ME, -1, &id), MIG_INSUFFICIENT_RESOURCES);
    assert_int_equal(mig_remaining(&s, m, mig_profile_by_id(m, P_1G)), 6);
    s = on();
    assert_int_equal(mig_create_instance(&s, rtx, 65, 0, &id), MIG_OK); /* 1g.24gb+me.all takes every engine */
    assert_int_equal(mig_create_instance(&s, rtx, 14, -1, &id), MIG_INSUFFICIENT_RESOURCES);
    assert_int_equal(mig_create_instance(&s, rtx, 66, -1, &id), MIG_OK); /* 2g.48gb-me needs none */
    assert_int_equal(mig_remaining(&s, rtx, mig_profile_by_id(rtx, 67)), 1);
}

static void test_computes(void **state)
{
    struct mig_state s = on();
    const struct gpu_model *m = model("h100-80gb");
    uint8_t gi, ci, uuid[16];
    assert_int_equal(mig_create_instance(&s, m, P_7G, -1, &gi), MIG_OK);
    assert_int_equal(mig_create_compute(&s, m, 99, 1, -1, SEED, &ci), MIG_NOT_FOUND);
    assert_int_equal(mig_create_compute(&s, m, gi, 5, -1, SEED, &ci), MIG_INVALID_ARGUMENT);
    assert_int_equal(mig_create_compute(&s, m, gi, 2, 1, SEED, &ci), MIG_INVALID_ARGUMENT);
    assert_int_equal(mig_create_compute(&s, m, gi, 3, 4, SEED, &ci), MIG_OK);
    assert_int_equal(ci, 0);
    memcpy(uuid, mig_find_compute(&s, gi, 0)->uuid, 16);
    assert_int_equal(mig_create_compute(&s, m, gi, 4, -1, SEED, &ci), MIG_OK);
    assert_int_equal(ci, 1);
    assert_int_equal(mig_create_compute(&s, m, gi, 1, -1, SEED, &ci), MIG_INSUFFICIENT_RESOURCES);
    assert_int_equal(mig_destroy_instance(&s, gi), MIG_IN_USE);
    mig_find_compute(&s, gi, 1)->busy_n = 1;
    assert_int_equal(mig_destroy_compute(&s, gi, 1), MIG_IN_USE);
    mig_find_compute(&s, gi, 1)->busy_n = 0;
    assert_int_equal(mig_destroy_compute(&s, gi, 1), MIG_OK);
    assert_int_equal(mig_destroy_compute(&s, gi, 1), MIG_NOT_FOUND);
    assert_int_equal(mig_destroy_compute(&s, gi, 0), MIG_OK);
    assert_int_equal(mig_create_compute(&s, m, gi, 3, 4, SEED, &ci), MIG_OK);
    assert_int_equal(ci, 0);
    assert_memory_not_equal(mig_find_compute(&s, gi, 0)->uuid, uuid, 16); /* a new device */
}

static void test_compute_widths(void **state)
{
    static const struct {
        uint8_t instance_slices, slices, starts;
    } rows[] = {{7, 1, 0x7f}, {7, 2, 0x15}, {7, 3, 0x11}, {7, 4, 1}, {7, 7, 1}, {7, 5, 0}, {7, 0, 0}, {4, 1, 0xf}, {4, 2, 5},
                {4, 3, 0},    {4, 4, 1},    {3, 1, 7},    {3, 2, 1}, {3, 3, 1}, {3, 4, 0}, {2, 1, 3}, {2, 2, 1},   {1, 1, 1},
                {1, 2, 0},    {7, 200, 0}};
    struct mig_instance gi = {.used = 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(mig_compute_starts(rows[i].instance_slices, rows[i].slices), rows[i].starts);
        assert_int_equal(mig_remaining_computes(&gi, rows[i].instance_slices, rows[i].slices),
                         __builtin_popcount(rows[i].starts));
    }
}

/* Layouts of a 7-slice part, the one without instances included. All of them were tried out: 723 over 192 masks. */
struct count {
    uint32_t layouts_n;
    uint8_t seen[256];
};

static void count_from(struct count *c, const struct gpu_model *m, uint32_t at, uint16_t mask)
{
    c->layouts_n++;
    c->seen[mask] = 1;
    for (uint32_t i = at; i < m->profiles_n * 8; i++) {
        const struct mig_profile *p = &m->profiles[i / 8];
        uint16_t more = (uint16_t)(((1u << p->units) - 1) << i % 8);
        if (p->id != P_1G_ME && (p->starts & 1u << i % 8) && !(mask & more))
            count_from(c, m, i + 1, mask | more);
    }
}

/* Layouts to which nothing can be added, without 1g of double memory: those that NVIDIA's user guide draws. */
static uint32_t count_maximal(const struct gpu_model *m, uint32_t at, uint16_t mask)
{
    uint32_t n = 0;
    bool more_fits = false;
    for (uint32_t i = 0; i < m->profiles_n * 8; i++) {
        const struct mig_profile *p = &m->profiles[i / 8];
        uint16_t more = (uint16_t)(((1u << p->units) - 1) << i % 8);
        if (p->id == P_1G_ME || p->id == P_1G_DOUBLE || !(p->starts & 1u << i % 8) || (mask & more))
            continue;
        more_fits = true;
        if (i >= at)
            n += count_maximal(m, i + 1, mask | more);
    }
    return more_fits ? n : 1;
}

static void test_layouts(void **state)
{
    struct count c = {0};
    uint32_t masks_n = 0;
    count_from(&c, model("a100-40gb"), 0, 0);
    for (int i = 0; i < 256; i++)
        masks_n += c.seen[i];
    assert_int_equal(c.layouts_n, 723);
    assert_int_equal(masks_n, 192);
    assert_int_equal(count_maximal(model("a100-40gb"), 0, 0), 19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mode),    cmocka_unit_test(test_ids),      cmocka_unit_test(test_places),
        cmocka_unit_test(test_engines), cmocka_unit_test(test_computes), cmocka_unit_test(test_compute_widths),
        cmocka_unit_test(test_layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
