/* Pages of metrics: the two formats, escaping, numbers, negotiation */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include "base/memory.h"
#include "base/random.h"
#include "wire/prometheus.h"

static void page(struct buf *out, bool openmetrics)
{
    struct prometheus_page p;
    prometheus_begin(&p, out, openmetrics);
    prometheus_family(&p, "gpu_lost", PROMETHEUS_GAUGE, "Is it\nlost \"now\"? \\");
    prometheus_sample(&p, (struct prometheus_label[]){{"gpu", "0"}, {"pod", "a\"b\\c\nd"}}, 2, 1);
    prometheus_sample(&p, NULL, 0, 0.25);
    prometheus_family(&p, "empty", PROMETHEUS_GAUGE, "no sample, so nothing");
    prometheus_family(&p, "gpu_xid_errors_total", PROMETHEUS_COUNTER, "XIDs");
    prometheus_sample_rendered(&p, BYTES("{xid=\"79\"}"), 3);
    prometheus_family(&p, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", PROMETHEUS_COUNTER, "replays");
    prometheus_sample(&p, NULL, 0, 7);
    prometheus_family(&p, "d_seconds", PROMETHEUS_HISTOGRAM, "time");
    prometheus_sample_suffix(&p, "_bucket", &(struct prometheus_label){"le", "+Inf"}, 1, 2);
    prometheus_sample_suffix(&p, "_sum", NULL, 0, 0.5);
    prometheus_sample_suffix(&p, "_count", NULL, 0, 2);
    prometheus_end(&p);
    assert_int_equal(p.families_n, 4);
    assert_int_equal(p.samples_n, 7);
}

static void writes_text(void **state)
{
    _cleanup_buf_ struct buf out = {0};
    page(&out, false);
    assert_string_equal(out.data, "# HELP gpu_lost Is it\\nlost \"now\"? \\\\\n# TYPE gpu_lost gauge\n"
                                  "gpu_lost{gpu=\"0\",pod=\"a\\\"b\\\\c\\nd\"} 1\ngpu_lost 0.25\n"
                                  "# HELP gpu_xid_errors_total XIDs\n# TYPE gpu_xid_errors_total counter\n"
                                  "gpu_xid_errors_total{xid=\"79\"} 3\n"
                                  "# HELP DCGM_FI_DEV_PCIE_REPLAY_COUNTER replays\n"
                                  "# TYPE DCGM_FI_DEV_PCIE_REPLAY_COUNTER counter\nDCGM_FI_DEV_PCIE_REPLAY_COUNTER 7\n"
                                  "# HELP d_seconds time\n# TYPE d_seconds histogram\n"
                                  "d_seconds_bucket{le=\"+Inf\"} 2\nd_seconds_sum 0.5\nd_seconds_count 2\n");
}

static void writes_openmetrics(void **state)
{
    _cleanup_buf_ struct buf out = {0};
    page(&out, true);
    assert_non_null(strstr(out.data, "# TYPE gpu_xid_errors counter\ngpu_xid_errors_total{xid=\"79\"} 3\n"));
    assert_non_null(strstr(out.data, "# TYPE DCGM_FI_DEV_PCIE_REPLAY_COUNTER unknown\nDCGM_FI_DEV_PCIE_REPLAY_COUNTER 7\n"));
    assert_non_null(strstr(out.data, "lost \\\"now\\\"? \\\\\n")); /* quotes are escaped in HELP here, not in the text format */
    assert_true(text_ends(out.data, "\n# EOF\n"));
}

static void numbers_read_back(void **state)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0, "0"}, {1, "1"}, {-5, "-5"}, {0.1, "0.1"}, {1e21, "1e+21"}, {5e-7, "5e-07"}, {INFINITY, "+Inf"},
                {-INFINITY, "-Inf"}, {NAN, "NaN"}, {9007199254740991.0, "9007199254740991"}, {1.0 / 7, "0.14285714285714285"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_buf_ struct buf out = {0};
        prometheus_number(&out, rows[i].value);
        assert_string_equal(out.data, rows[i].text);
    }
    struct random r = {7};
    for (int i = 0; i < 20000; i++) {
        _cleanup_buf_ struct buf out = {0};
        double value = ldexp((double)random_next(&r), (int)random_below(&r, 200) - 130);
        prometheus_number(&out, value);
        assert_true(strtod(out.data, NULL) == value);
    }
}

static void cleans_hostile_names(void **state)
{
    static const struct {
        const char *text, *clean;
    } rows[] = {{"python", "python"},
                {"a\x01\x1f\x7f""b\r\n\t", "ab"},
                {"\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd"},
                {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},             /* overlong */
                {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
                {"x\xc3", "x\xef\xbf\xbd"},                               /* cut short */
                {"\xc2\x85", ""},                                         /* control of the second page */
                {"한글", "한글"},
                {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_buf_ struct buf out = {0};
        prometheus_clean(&out, bytes_of(rows[i].text), 64);
        assert_string_equal(out.data, rows[i].clean);
    }
    _cleanup_buf_ struct buf cut = {0}, name = {0};
    prometheus_clean(&cut, bytes_of("ab한"), 4); /* the character does not fit whole */
    assert_string_equal(cut.data, "ab");
    prometheus_label_name(&name, bytes_of("9app.kubernetes.io/name-x"));
    assert_string_equal(name.data, "_9app_kubernetes_io_name_x");
}

static void chooses_the_format(void **state)
{
    static const struct {
        const char *accept;
        bool openmetrics;
    } rows[] = {{"", false}, {"*/*", false}, {"text/plain", false}, {"application/openmetrics-text", true},
                {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", true},
                {"application/openmetrics-text; version=2.0.0, text/plain", false},
                {"application/openmetrics-text;q=0.3, text/plain;q=0.9", false},
                {"application/openmetrics-text;q=0", false}, {",;,q=,;;=", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(prometheus_accepts_openmetrics(bytes_of(rows[i].accept)), rows[i].openmetrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_text),          cmocka_unit_test(writes_openmetrics), cmocka_unit_test(numbers_read_back),
        cmocka_unit_test(cleans_hostile_names), cmocka_unit_test(chooses_the_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
