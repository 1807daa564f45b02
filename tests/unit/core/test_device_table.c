#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include "core/place/device_table.h"

struct bench {
    struct intern *names;
    struct device_table t;
    name_id gpu, mig;
};

static struct bench begin(void)
{
    struct bench b = {.names = intern_new()};
    b.gpu = intern_text_id(b.names, "nvidia.com/gpu");
    b.mig = intern_text_id(b.names, "nvidia.com/mig-1g.5gb");
    return b;
}

static void end(struct bench *b)
{
    device_table_fini(&b->t);
    intern_free(b->names);
}

/* n GPUs, `per_group` to a link group. */
static void gpus(struct bench *b, int n, int per_group)
{
    struct device all[LIMIT_DEVICES_PER_NODE + 8];
    char text[16];
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%03d", i);
        all[n - 1 - i] = (struct device){b->gpu, intern_text_id(b->names, text), (uint16_t)i, (uint16_t)(i / per_group), true};
    }
    device_table_set(&b->t, all, (uint32_t)n, b->names);
}

static const char *choose(struct bench *b, name_id resource, int64_t n)
{
    static char text[256];
    struct device_bits bits = {0};
    struct buf out;
    const struct device_span *span = device_table_span(&b->t, resource);
    if (!span || !device_choose(&b->t, span, n, &bits))
        return "none";
    device_take(&b->t, &bits, 0);
    buf_init(&out);
    device_text(&out, &b->t, &bits, b->names);
    snprintf(text, sizeof text, "%s", out.data);
    buf_free(&out);
    return text;
}

static void anonymous(void **state)
{
    (void)state;
    struct bench b = begin();
    device_table_set(&b.t, NULL, 0, b.names);
    assert_null(device_table_span(&b.t, b.gpu));
    assert_false(device_table_differs(&b.t, NULL, 0, b.names));
    end(&b);
}

static void fewest_link_groups(void **state)
{
    (void)state;
    struct bench b = begin();
    gpus(&b, 8, 4);
    assert_string_equal(choose(&b, b.gpu, 1), "nvidia.com/gpu=000");
    assert_string_equal(choose(&b, b.gpu, 4), "nvidia.com/gpu=004,005,006,007"); /* the whole other group, not a mix */
    assert_string_equal(choose(&b, b.gpu, 2), "nvidia.com/gpu=001,002");
    assert_string_equal(choose(&b, b.gpu, 2), "none");
    assert_string_equal(choose(&b, b.gpu, 1), "nvidia.com/gpu=003");
    end(&b);
    b = begin();
    gpus(&b, 8, 4);
    assert_string_equal(choose(&b, b.gpu, 6), "nvidia.com/gpu=000,001,002,003,004,005");
    end(&b);
}

static void broken_gpus_first(void **state)
{
    (void)state;
    struct bench b = begin();
    struct device all[8];
    for (int i = 0; i < 8; i++) {
        char text[16];
        snprintf(text, sizeof text, "m%d", i);
        all[i] = (struct device){b.mig, intern_text_id(b.names, text), (uint16_t)(i / 4), 0, i != 7};
    }
    device_table_set(&b.t, all, 8, b.names);
    assert_int_equal(device_table_span(&b.t, b.mig)->free_n, 7); /* one is not healthy */
    assert_string_equal(choose(&b, b.mig, 1), "nvidia.com/mig-1g.5gb=m4"); /* GPU 1 has fewer left */
    assert_string_equal(choose(&b, b.mig, 2), "nvidia.com/mig-1g.5gb=m5,m6");
    assert_string_equal(choose(&b, b.mig, 1), "nvidia.com/mig-1g.5gb=m0");
    end(&b);
}

static void text_round_trip(void **state)
{
    (void)state;
    struct bench b = begin();
    gpus(&b, 4, 2);
    struct device_bits bits = {0};
    device_parse(&b.t, BYTES("nvidia.com/gpu=001,003,999;other=1"), b.names, &bits);
    assert_true(device_bit(&bits, 1) && device_bit(&bits, 3) && !device_bit(&bits, 0));
    device_parse(&b.t, BYTES(""), b.names, &bits);
    device_parse(&b.t, BYTES(";;=,=,x"), b.names, &bits);
    device_take(&b.t, &bits, 0);
    device_give(&b.t, &bits, 0);
    assert_int_equal(device_table_span(&b.t, b.gpu)->free_n, 4);
    end(&b);
}

static void limit(void **state)
{
    (void)state;
    struct bench b = begin();
    gpus(&b, LIMIT_DEVICES_PER_NODE + 4, 8);
    assert_int_equal(b.t.n, LIMIT_DEVICES_PER_NODE);
    assert_string_not_equal(choose(&b, b.gpu, 8), "none");
    end(&b);
}

/* Two GPUs; the first has two MIG instances, a and b, the second one, c; each is shared by three. */
static void shares_of_one_pod_come_from_different_units(void **state)
{
    (void)state;
    struct bench b = begin();
    struct device all[9];
    for (uint16_t i = 0; i < 9; i++) {
        char text[16];
        snprintf(text, sizeof text, "%c::%d", 'a' + i / 3, i % 3);
        all[i] = (struct device){b.mig, intern_text_id(b.names, text), i / 6, 0, true, (uint16_t)(1 + i / 3)};
    }
    device_table_set(&b.t, all, 9, b.names);
    assert_string_equal(choose(&b, b.mig, 1), "nvidia.com/mig-1g.5gb=a::0");
    assert_string_equal(choose(&b, b.mig, 1), "nvidia.com/mig-1g.5gb=a::1"); /* of different pods: whole ones stay whole */
    assert_string_equal(choose(&b, b.mig, 2), "nvidia.com/mig-1g.5gb=a::2,b::0");
    assert_string_equal(choose(&b, b.mig, 3), "nvidia.com/mig-1g.5gb=b::1,b::2,c::0");
    assert_string_equal(choose(&b, b.mig, 2), "nvidia.com/mig-1g.5gb=c::1,c::2");
    assert_string_equal(choose(&b, b.mig, 1), "none");
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(anonymous),
                                       cmocka_unit_test(fewest_link_groups),
                                       cmocka_unit_test(broken_gpus_first),
                                       cmocka_unit_test(text_round_trip),
                                       cmocka_unit_test(limit),
                                       cmocka_unit_test(shares_of_one_pod_come_from_different_units)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
