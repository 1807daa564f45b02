/* test_csv.c - tables row by row: what is read, and where it is said that something is wrong */
#include "trace_files.h"
#include <zlib.h>
#include "base/limits.h"
#include "sim/trace/csv.h"

static const char *const columns[] = {"a", "b", "?c", NULL};

/* All cells of the columns, rows with ';' between; or what is wrong, after the path. */
static const char *all(const char *path)
{
    static char text[512];
    struct csv *c;
    struct bytes cells[CSV_ASKED_MAX];
    struct err e = {0};
    int n = 0, r = csv_open(path, columns, &c, &e);
    if (r >= 0) {
        text[0] = 0;
        while ((r = csv_next(c, cells, &e)) > 0)
            n += snprintf(text + n, sizeof text - (size_t)n, "%.*s/%.*s/%.*s;", (int)cells[0].n, cells[0].data, (int)cells[1].n,
                          cells[1].data, (int)cells[2].n, cells[2].data);
        csv_close(c);
    }
    if (r < 0)
        snprintf(text, sizeof text, "%s", strstr(e.text, ": ") ? strstr(e.text, ": ") + 2 : e.text);
    return text;
}

static void columns_in_any_order(void **state)
{
    (void)state;
    assert_string_equal(all(trace_file("t.csv", "b,x,a\n1,2,3\n\n4,5,6\r\n")), "3/1/;6/4/;");
    assert_string_equal(all(trace_file("t.csv", "c,b,a\n,,\n1,2,")), "//;/2/1;");
    assert_string_equal(all(trace_file("t.csv", "a,b\n")), "");
}

static void compressed(void **state)
{
    (void)state;
    const char *path = trace_file("t.csv.gz", NULL);
    gzFile f = gzopen(path, "wb");
    assert_true(gzputs(f, "a,b\n") > 0);
    for (int i = 0; i < 3; i++)
        assert_true(gzprintf(f, "%d,x\n", i) > 0);
    gzclose(f);
    assert_string_equal(all(path), "0/x/;1/x/;2/x/;");
    assert_int_equal(truncate(path, 25), 0); /* cut off in the middle */
    assert_non_null(strstr(all(path), "unexpected end of file"));
}

static void what_is_wrong(void **state)
{
    (void)state;
    static char line[LIMIT_TRACE_LINE + 8];
    assert_string_equal(all(trace_file("t.csv", "")), "is empty: want a line that names the columns");
    assert_string_equal(all(trace_file("t.csv", "a,c\n1,2\n")), "line 1: no column b");
    assert_string_equal(all(trace_file("t.csv", "a,b,a\n")), "line 1: column a is there twice");
    assert_string_equal(all(trace_file("t.csv", "a,b\n1,2\n3\n")), "line 3: fewer cells than line 1 names columns (2)");
    assert_string_equal(all(trace_file("t.csv", "a,b\n1,2,3\n")), "line 2: more cells than line 1 names columns (2)");
    assert_non_null(strstr(all("/nowhere/t.csv"), "No such file"));
    memset(line, 'x', sizeof line - 1);
    assert_string_equal(all(trace_file("t.csv", line)), "line 1: longer than a line may be");
    memset(line, ',', 300);
    line[300] = 0;
    assert_string_equal(all(trace_file("t.csv", line)), "line 1: more columns than a table may have");
    const char *path = trace_file("t.csv", "a,b\n1,2\n");
    FILE *f = fopen(path, "a");
    assert_int_equal(fwrite("3\0,4\n5,6\n", 1, 9, f), 9);
    fclose(f);
    assert_string_equal(all(path), "line 3: holds a byte 0: this is no text");
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wrong;
        int64_t n;
    } cases[] = {
        {"0", NULL, 0},
        {"12", NULL, 12},
        {"12.00", NULL, 12},
        {"100", NULL, 100},
        {"101", "line 2, column b: \"101\": at most 100 is taken", 0},
        {"99999999999999999999999999", "line 2, column b: \"99999999999999999999999999\": at most 100 is taken", 0},
        {"-1", "line 2, column b: \"-1\": want a whole number, 0 or more", 0},
        {"", "line 2, column b: \"\": want a whole number, 0 or more", 0},
        {"1.5", "line 2, column b: \"1.5\": want a whole number, 0 or more", 0},
        {"1e3", "line 2, column b: \"1e3\": want a whole number, 0 or more", 0},
        {"nan", "line 2, column b: \"nan\": want a whole number, 0 or more", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct csv *c;
        struct bytes cells[CSV_ASKED_MAX];
        struct err e = {0};
        char text[64];
        int64_t n = -1;
        snprintf(text, sizeof text, "a,b\n1,%s\n", cases[i].text);
        assert_int_equal(csv_open(trace_file("t.csv", text), columns, &c, &e), 0);
        assert_int_equal(csv_next(c, cells, &e), 1);
        int r = csv_number(c, 1, cells[1], 100, &n, &e);
        csv_close(c);
        assert_int_equal(r < 0, cases[i].wrong != NULL);
        if (r < 0)
            assert_non_null(strstr(e.text, cases[i].wrong));
        else
            assert_int_equal(n, cases[i].n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_in_any_order), cmocka_unit_test(compressed),
                                       cmocka_unit_test(what_is_wrong), cmocka_unit_test(numbers)};
    return cmocka_run_group_tests(tests, trace_folder_open, trace_folder_close);
}
