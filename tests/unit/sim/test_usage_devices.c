/* Shares of a node's devices: whole GPUs, replicas, MPS shares, MIG devices of both strategies */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/arena.h"
#include "sim/usage/usage_sim_part.h"

static struct map *devices_of(struct arena *a, const char *product, const char *devices)
{
    _cleanup_buf_ struct buf text = {0};
    buf_text(&text, "{\"metadata\":{\"labels\":{\"nvidia.com/gpu.product\":");
    json_write_string(&text, bytes_of(product));
    buf_text(&text, "},\"annotations\":{\"capstan.dev/devices\":");
    json_write_string(&text, bytes_of(devices));
    buf_text(&text, "}}}");
    return usage_devices_read(json_parse(a, (struct bytes){arena_text_n(a, text.data, text.n), text.n}, NULL, NULL));
}

static void shares(void **state)
{
    (void)state;
    static const struct {
        const char *product, *devices, *key;
        double share, memory_mib;
        const char *kind;
    } cases[] = {
        {"NVIDIA-A100-SXM4-40GB", "[{\"r\":\"nvidia.com/gpu\",\"id\":\"GPU-a\",\"gpu\":0},{\"r\":\"nvidia.com/gpu\",\"id\":\"GPU-b\",\"gpu\":1}]",
         "nvidia.com/gpu=GPU-b", 1, 40960, "NVIDIA-A100-SXM4-40GB"},
        {"Tesla-T4-SHARED", "[{\"r\":\"nvidia.com/gpu\",\"id\":\"GPU-a::0\",\"gpu\":0},{\"r\":\"nvidia.com/gpu\",\"id\":\"GPU-a::1\",\"gpu\":0}]",
         "nvidia.com/gpu=GPU-a::1", 0.5, 7680, "Tesla-T4-SHARED"},
        {"NVIDIA-A100-SXM4-40GB", "[{\"r\":\"nvidia.com/mig-1g.5gb\",\"id\":\"MIG-a\",\"gpu\":0},{\"r\":\"nvidia.com/mig-3g.20gb\",\"id\":\"MIG-b\",\"gpu\":0}]",
         "nvidia.com/mig-3g.20gb=MIG-b", 3.0 / 7, -1, "3g.20gb"},
        {"NVIDIA-A100-SXM4-40GB-MIG-2g.10gb", "[{\"r\":\"nvidia.com/gpu\",\"id\":\"MIG-a\",\"gpu\":0},{\"r\":\"nvidia.com/gpu\",\"id\":\"MIG-b\",\"gpu\":0}]",
         "nvidia.com/gpu=MIG-a", 2.0 / 7, -1, "2g.10gb"},
        {"NVIDIA-A100-SXM4-40GB", "[{\"r\":\"nvidia.com/mig-1g.5gb.shared\",\"id\":\"MIG-a::0\",\"gpu\":0},{\"r\":\"nvidia.com/mig-1g.5gb.shared\",\"id\":\"MIG-a::1\",\"gpu\":0}]",
         "nvidia.com/mig-1g.5gb.shared=MIG-a::0", 1.0 / 14, -1, "1g.5gb"},
        {"A-GPU-of-2031", "[{\"r\":\"nvidia.com/gpu\",\"id\":\"GPU-a\"}]", "nvidia.com/gpu=GPU-a", 1, 0, "A-GPU-of-2031"},
        {"A-GPU-of-2031", "[{\"r\":\"nvidia.com/mig-xg\",\"id\":\"GPU-a\"}]", "nvidia.com/mig-xg=GPU-a", 1, 0, "xg"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct map *m = devices_of(a, cases[i].product, cases[i].devices);
        assert_non_null(m);
        const struct usage_device *d = map_find_text(m, cases[i].key);
        assert_non_null(d);
        assert_float_equal(d->share, cases[i].share, 1e-6);
        if (cases[i].memory_mib >= 0)
            assert_float_equal(d->memory_bytes, cases[i].memory_mib * 1048576.0, 1);
        assert_string_equal(d->kind, cases[i].kind);
        map_free(m);
    }
}

static void what_is_no_list_has_no_devices(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "[]", "{}", "[", "7"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        assert_null(devices_of(a, "x", texts[i]));
    }
    _cleanup_arena_ struct arena *a = arena_new();
    struct map *m = devices_of(a, "x", "[3,{},{\"r\":1,\"id\":[]}]"); /* survived */
    map_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares), cmocka_unit_test(what_is_no_list_has_no_devices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
