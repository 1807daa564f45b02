/* The counters file: what dcgm-exporter reads, what a CSV writer makes of it, and what is wrong */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>
#include "exporter/pages/page.h"

struct parsed {
    int code;
    uint32_t n;
    struct page_counter *list;
    struct buf warnings;
    struct err e;
    struct arena *a;
};
static struct parsed parse(const char *text, bool strict)
{
    struct parsed p = {.a = arena_new()};
    p.code = page_counters_parse(p.a, bytes_of(text), strict, &p.list, &p.n, &p.warnings, &p.e);
    return p;
}
static void parsed_free(struct parsed *p)
{
    arena_free(p->a);
    buf_free(&p->warnings);
}

static void test_one_line(void **state)
{
    static const struct {
        const char *line, *name, *help;
        uint16_t id;
        enum prometheus_type type;
        bool is_label;
    } rows[] = {
        {"DCGM_FI_DEV_GPU_TEMP, gauge, t", "DCGM_FI_DEV_GPU_TEMP", "t", 150, PROMETHEUS_GAUGE, false},
        {"DCGM_FI_DEV_GPU_TEMP,gauge,t\n", "DCGM_FI_DEV_GPU_TEMP", "t", 150, PROMETHEUS_GAUGE, false},
        {"  DCGM_FI_DEV_DEC_UTIL ,   gauge,\tt \r\n", "DCGM_FI_DEV_DEC_UTIL", "t", 207, PROMETHEUS_GAUGE, false},
        {"DCGM_FI_DEV_GPU_TEMP,counter,", "DCGM_FI_DEV_GPU_TEMP", "", 150, PROMETHEUS_COUNTER, false},
        {"DCGM_FI_DEV_GPU_TEMP, histogram, t", "DCGM_FI_DEV_GPU_TEMP", "t", 150, PROMETHEUS_UNTYPED, false},
        {"DCGM_FI_DEV_SERIAL, label, t", "DCGM_FI_DEV_SERIAL", "t", 53, PROMETHEUS_GAUGE, true},
        {"DCGM_FI_DEV_GPU_TEMP, gauge, \"in C, hot\"", "DCGM_FI_DEV_GPU_TEMP", "in C, hot", 150, PROMETHEUS_GAUGE, false},
        {"\"DCGM_FI_DEV_GPU_TEMP\",\"gauge\",\"a \"\"b\"\"\"", "DCGM_FI_DEV_GPU_TEMP", "a \"b\"", 150, PROMETHEUS_GAUGE, false},
        {"DCGM_FI_DEV_GPU_TEMP, gauge, \"\"", "DCGM_FI_DEV_GPU_TEMP", "", 150, PROMETHEUS_GAUGE, false},
        {"DCGM_FI_DEV_GPU_TEMP, gauge, a \"b\" c", "DCGM_FI_DEV_GPU_TEMP", "a \"b\" c", 150, PROMETHEUS_GAUGE, false},
        {"dcgm_gpu_temp, gauge, t", "dcgm_gpu_temp", "t", 150, PROMETHEUS_GAUGE, false},
        {"DCGM_FI_DEV_GPU_TEMP_CELSIUS, gauge, t", "DCGM_FI_DEV_GPU_TEMP_CELSIUS", "t", 150, PROMETHEUS_GAUGE, false},
        {"DCGM_FI_PROF_TENSOR_UTIL_RATIO, gauge, t", "DCGM_FI_PROF_TENSOR_UTIL_RATIO", "t", 1004, PROMETHEUS_GAUGE, false},
        {"\xef\xbb\xbf" "DCGM_EXP_XID_ERRORS_COUNT, counter, t", "DCGM_EXP_XID_ERRORS_COUNT", "t", 9001, PROMETHEUS_COUNTER, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct parsed p = parse(rows[i].line, true);
        if (p.code < 0 || p.n != 1)
            fail_msg("%s: %s", rows[i].line, p.e.text);
        assert_string_equal(p.list[0].name, rows[i].name);
        assert_string_equal(p.list[0].help, rows[i].help);
        assert_int_equal(p.list[0].field->id, rows[i].id);
        assert_int_equal(p.list[0].type, rows[i].type);
        assert_int_equal(p.list[0].is_label, rows[i].is_label);
        parsed_free(&p);
    }
}

static void test_wrong_files(void **state)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"DCGM_FI_DEV_GPU_TEMP, gauge", "line 1: three fields"},
        {"DCGM_FI_DEV_GPU_TEMP", "line 1: three fields"},
        {"# c\n\nDCGM_FI_DEV_GPU_TEMP, gauge, a, b", "line 3: three fields"},
        {"DCGM_FI_DEV_GPU_TEMP, gauge, \"a", "line 1: three fields"},
        {"DCGM_FI_DEV_GPU_TEMP, gauge, \"a\" b", "line 1: three fields"},
        {"DCGM_FI_DEV_GPU_TEMP, \"gauge, t", "line 1: three fields"},
        {"DCGM_FI_DEV_GPU_TEMP, rate, t", "line 1: type 'rate'"},
        {"DCGM_FI_DEV_GPU_TEMP, GAUGE, t", "line 1: type 'GAUGE'"},
        {"DCGM_FI_DEV_GPU_TEMP,, t", "line 1: type ''"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct parsed p = parse(rows[i].text, false);
        assert_int_equal(p.code, -E_INVALID);
        if (!text_starts(p.e.text, rows[i].error))
            fail_msg("%s: %s", rows[i].text, p.e.text);
        parsed_free(&p);
    }
}

/* dcgm-exporter ends at a name that it does not know; its list for 1.x names two fields twice. */
static void test_left_out(void **state)
{
    static const char text[] = "# c\n DCGM_FI_DEV_NO_SUCH, gauge, x\nDCGM_FI_DEV_GPU_UTIL, gauge, x\n"
                               "DCGM_FI_DEV_GPU_TEMP, gauge, x\ndcgm_gpu_utilization, gauge, x\n";
    struct parsed p = parse(text, false);
    assert_int_equal(p.code, 0);
    assert_int_equal(p.n, 2);
    assert_string_equal(p.list[0].name, "DCGM_FI_DEV_GPU_TEMP"); /* by field id */
    assert_string_equal(p.warnings.data, "line 2: 'DCGM_FI_DEV_NO_SUCH' is not known here: left out\n"
                                         "line 5: dcgm_gpu_utilization stands twice: left out\n");
    parsed_free(&p);
    p = parse(text, true);
    assert_int_equal(p.code, -E_INVALID);
    assert_string_equal(p.e.text, "line 2: 'DCGM_FI_DEV_NO_SUCH' is no field that is known here");
    parsed_free(&p);
    p = parse("", true);
    assert_int_equal(p.code + (int)p.n, 0);
    parsed_free(&p);
}

/* What counters files of clusters name beside dcgm-exporter's own list. */
static void test_fields_of_others(void **state)
{
    static const char *const names[] = {
        "PCIE_LINK_GEN", "PCIE_LINK_WIDTH", "PCIE_MAX_LINK_GEN", "PCIE_MAX_LINK_WIDTH", "BAR1_TOTAL", "BAR1_USED", "BAR1_FREE",
        "ENFORCED_POWER_LIMIT", "POWER_MGMT_LIMIT", "POWER_MGMT_LIMIT_DEF", "POWER_MGMT_LIMIT_MIN", "POWER_MGMT_LIMIT_MAX",
        "MAX_SM_CLOCK", "MAX_MEM_CLOCK", "MAX_VIDEO_CLOCK", "APP_SM_CLOCK", "APP_MEM_CLOCK", "MIG_MODE", "MIG_MAX_SLICES",
        "ECC_CURRENT", "ECC_PENDING", "PERSISTENCE_MODE", "COMPUTE_MODE", "CUDA_COMPUTE_CAPABILITY", "GPU_MAX_OP_TEMP",
        "MEM_MAX_OP_TEMP", "FABRIC_MANAGER_STATUS", "MINOR_NUMBER", "NVML_INDEX", "COUNT", "PCI_BUSID",
        "TOTAL_APP_CLOCKS_VIOLATION", "TOTAL_BASE_CLOCKS_VIOLATION", "BOARD_POWER_LIMIT_ENFORCED_WATTS", "PCI_BUS_ID"};
    static const char *const whole[] = {
        "DCGM_FI_CUDA_DRIVER_VERSION", "DCGM_FI_CUDA_GPU_COMPUTE_CAPABILITY", "DCGM_FI_PROF_PIPE_TENSOR_IMMA_ACTIVE",
        "DCGM_FI_PROF_PIPE_TENSOR_HMMA_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_DFMA_ACTIVE", "DCGM_FI_PROF_NVDEC0_ACTIVE",
        "DCGM_FI_PROF_NVDEC7_ACTIVE", "DCGM_FI_PROF_NVJPG7_ACTIVE", "DCGM_FI_PROF_NVOFA1_ACTIVE"};
    const size_t names_n = sizeof names / sizeof *names, whole_n = sizeof whole / sizeof *whole;
    for (size_t i = 0; i < names_n + whole_n; i++) {
        struct buf line = {0};
        buf_printf(&line, "%s%s, gauge, t\n", i < names_n ? "DCGM_FI_DEV_" : "", i < names_n ? names[i] : whole[i - names_n]);
        struct parsed p = parse(line.data, true);
        if (p.code < 0 || p.n != 1)
            fail_msg("%s: %s", line.data, p.e.text);
        assert_false(p.list[0].field->is_default);
        parsed_free(&p);
        buf_free(&line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_line), cmocka_unit_test(test_wrong_files),
                                       cmocka_unit_test(test_left_out), cmocka_unit_test(test_fields_of_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
