#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "base/bytes.h"
#include "gpu/mig.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static void test_find(void **state)
{
    assert_null(gpu_model_find(NULL));
    assert_null(gpu_model_find(""));
    assert_null(gpu_model_find("a100"));
    const struct gpu_model *m = gpu_model_find("a100-40gb");
    assert_non_null(m);
    assert_ptr_equal(gpu_model_find("NVIDIA A100-SXM4-40GB"), m);
    assert_int_equal(m->pci_device_id, 0x20B010DE);
    assert_int_equal(m->compute_major, 8);
    assert_int_equal(m->compute_minor, 0);
    assert_int_equal(m->power_default_mw, 400000);
    assert_string_equal(mig_profile_find(m, "3g.20gb")->name, "3g.20gb");
    assert_null(mig_profile_find(m, "3g.40gb"));
    assert_string_equal(mig_profile_by_id(m, 20)->name, "1g.5gb+me");
    assert_string_equal(mig_profile_by_nvml_index(m, 9)->name, "1g.10gb");
    assert_null(mig_profile_by_id(m, 1));
    assert_null(mig_profile_by_nvml_index(m, 5));
    assert_string_equal(mig_profile_find(gpu_model_find("rtx-pro-6000"), "2g.48gb-me")->name, "2g.48gb-me");
    assert_null(mig_profile_by_id(gpu_model_find("t4"), 0));
    assert_string_equal(gpu_model_keys(), "t4, l4, a10, l40s, a30, a100-40gb, a100-80gb, h100-80gb, h100-nvl, h200-141gb, b200, gb200, "
                                          "rtx-pro-6000");
    assert_string_equal(gpu_model_keys() + 2, ", l4, a10, l40s, a30, a100-40gb, a100-80gb, h100-80gb, h100-nvl, h200-141gb, b200, gb200, "
                                              "rtx-pro-6000"); /* the second call gives the same text */
}

/* The products and sizes that node shapes have always had. */
static void test_shapes(void **state)
{
    static const struct {
        const char *key, *name;
        uint32_t memory_mib;
    } rows[] = {{"a100-40gb", "NVIDIA A100-SXM4-40GB", 40960}, {"a100-80gb", "NVIDIA A100-SXM4-80GB", 81920},
                {"h100-80gb", "NVIDIA H100 80GB HBM3", 81559}, {"h200-141gb", "NVIDIA H200", 143771},
                {"t4", "Tesla T4", 15360},                     {"l4", "NVIDIA L4", 23034}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct gpu_model *m = gpu_model_find(rows[i].key);
        assert_non_null(m);
        assert_string_equal(m->name, rows[i].name);
        assert_int_equal(m->memory_mib, rows[i].memory_mib);
    }
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* SOURCE nvidia-mig-parted: f = ceil(8 * memory / total) / 8; gigabytes = round half up (f * ceil(total in GiB)). */
static uint64_t name_gigabytes(uint32_t memory_mib, uint32_t total_mib)
{
    uint64_t eighths = ceil_div(8ull * memory_mib, total_mib);
    return (2 * eighths * ceil_div(total_mib * MIB, GIB) + 8) / 16;
}

static void test_names(void **state)
{
    uint32_t names_n = 0;
    for (uint32_t i = 0; i < gpu_models_n; i++)
        for (uint32_t k = 0; k < gpu_models[i].profiles_n; k++) {
            const struct mig_profile *p = &gpu_models[i].profiles[k];
            char start[32];
            snprintf(start, sizeof start, "%ug.%llugb", (unsigned)p->slices,
                     (unsigned long long)name_gigabytes(p->memory_mib, gpu_models[i].memory_mib));
            assert_true(text_starts(p->name, start));
            assert_true(!p->name[strlen(start)] || strchr("+-", p->name[strlen(start)]));
            names_n++;
        }
    assert_int_equal(names_n, 5 + 7 * 7 + 11);
}

static void check_profile(const struct gpu_model *m, const struct mig_profile *p)
{
    struct mig_state s = {.mode = 1, .mode_pending = 1};
    assert_int_equal(mig_remaining(&s, m, p), p->max_n);
    assert_true(p->memory_mib < m->memory_mib && p->sm_n <= m->sm_n);
    assert_true(p->max_n <= 7 && p->slices <= m->mig_slices && p->units <= m->mig_units);
    assert_true(p->copy_n <= m->copy_n && p->decoder_n <= m->decoder_n && p->jpeg_n <= m->jpeg_n && p->ofa_n <= m->ofa_n);
    assert_ptr_equal(mig_profile_by_id(m, p->id), p); /* ids and indexes are unique */
    assert_ptr_equal(mig_profile_by_nvml_index(m, p->nvml_index), p);
    assert_ptr_equal(mig_profile_find(m, p->name), p);
    /* NVML's index says the width and the kind of a profile. */
    static const uint8_t width[0x11] = {1, 2, 3, 4, 7, 0, 0, 1, 2, 1, 1, 2, 4, 1, 2, 1, 2};
    assert_int_equal(width[p->nvml_index], p->slices);
    assert_int_equal(p->graphics, strstr(p->name, "+gfx") != NULL);
}

static void test_profiles(void **state)
{
    for (uint32_t i = 0; i < gpu_models_n; i++) {
        const struct gpu_model *m = &gpu_models[i];
        assert_int_equal(m->profiles_n > 0, m->mig_slices > 0);
        assert_ptr_equal(gpu_model_find(m->key), m);
        for (uint32_t k = 0; k < m->profiles_n; k++)
            check_profile(m, &m->profiles[k]);
        struct mig_engines all = mig_model_engines(m);
        if (m->profiles_n) {
            assert_int_equal(all.decoder_n, m->decoder_n);
            assert_int_equal(all.encoder_n, m->encoder_n);
            assert_int_equal(all.jpeg_n, m->jpeg_n);
            assert_int_equal(all.ofa_n, m->ofa_n);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
