/* The usage store: totals in, hours out */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/memory.h"
#include "base/random.h"
#include "exporter/account/usage.h"

static char path[96];

static int setup(void **state)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/usage.XXXXXX", tmp && strlen(tmp) < 64 ? tmp : "/tmp");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
    char more[128];
    for (int i = 0; i < 2; i++) {
        snprintf(more, sizeof more, "%s%s", path, i ? "-wal" : "-shm");
        unlink(more);
    }
    return unlink(path);
}

static struct usage_record record(const char *uid, double allocated_s, double active_s)
{
    return (struct usage_record){.uid = uid,
                                 .ns = "ml",
                                 .pod = uid,
                                 .job = "train",
                                 .queue = "team-a",
                                 .node = "n1",
                                 .allocated_s = allocated_s,
                                 .active_s = active_s};
}

static double sum_since(struct usage_store *u, double since_s, double until_s)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct usage_record *records;
    uint32_t n;
    double sum = 0;
    assert_int_equal(usage_since(u, a, since_s, until_s, &records, &n, NULL), 0);
    for (uint32_t i = 0; i < n; i++)
        sum += records[i].allocated_s;
    return sum;
}

static void totals_become_hours(void **state)
{
    struct usage_store *u;
    assert_int_equal(usage_open(path, &u, NULL), 0);
    struct usage_record r = record("a", 100, 40);
    assert_int_equal(usage_put(u, &r, 1, 10 * 3600 + 5, NULL), 0);
    assert_int_equal(usage_put(u, &r, 1, 10 * 3600 + 9, NULL), 0); /* twice counts once */
    r.allocated_s = 700;
    assert_int_equal(usage_put(u, &r, 1, 11 * 3600, NULL), 0);
    usage_close(u);
    assert_int_equal(usage_open(path, &u, NULL), 0); /* and after a restart */
    r.allocated_s = 1000;
    assert_int_equal(usage_put(u, &r, 1, 11 * 3600 + 600, NULL), 0);
    assert_true(sum_since(u, 10 * 3600, 11 * 3600) == 100);
    assert_true(sum_since(u, 11 * 3600, 12 * 3600) == 900);
    assert_true(sum_since(u, 0, 1e9) == 1000);
    r.allocated_s = 50; /* begun again */
    assert_int_equal(usage_put(u, &r, 1, 12 * 3600, NULL), 0);
    assert_true(sum_since(u, 0, 1e9) == 1050);
    assert_int_equal(usage_prune(u, 11 * 3600, NULL), 0);
    assert_true(sum_since(u, 0, 1e9) == 950);
    assert_int_equal(usage_prune(u, 99 * 3600, NULL), 0);
    assert_true(sum_since(u, 0, 1e9) == 0);
    usage_close(u);
}

/* A crash may leave a writer with the totals of a minute ago; a name may be used again while the old one's totals are known. */
static void older_totals_and_another_start(void **state)
{
    struct usage_store *u;
    assert_int_equal(usage_open(path, &u, NULL), 0);
    struct usage_record r = record("a", 100000, 0);
    r.start_s = 5000;
    assert_int_equal(usage_put(u, &r, 1, 200000, NULL), 0);
    r.allocated_s = 99950; /* older: what it adds is known */
    r.start_s = 5000.4;
    assert_int_equal(usage_put(u, &r, 1, 200060, NULL), 0);
    assert_true(sum_since(u, 0, 1e9) == 100000);
    r.allocated_s = 100010;
    assert_int_equal(usage_put(u, &r, 1, 200120, NULL), 0);
    assert_true(sum_since(u, 0, 1e9) == 100010);
    r.start_s = 200130; /* another one of that name, already beyond the first */
    r.allocated_s = 200000;
    assert_int_equal(usage_put(u, &r, 1, 400130, NULL), 0);
    assert_true(sum_since(u, 0, 1e9) == 300010);
    usage_close(u);
}

/* What is only read needs no right to write, and stays as it is. */
static void reads_what_it_may_not_write(void **state)
{
    char folder[] = "/tmp/usage-XXXXXX", file[64], empty[64];
    struct usage_store *u;
    struct usage_record r = record("a", 100, 40);
    struct err e = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/us?ge %%41#.db", folder); /* characters that mean something in a URI */
    snprintf(empty, sizeof empty, "%s/empty", folder);
    assert_int_equal(usage_open_to_read(file, &u, &e), -E_NOTFOUND);
    assert_int_equal(usage_open(file, &u, NULL), 0);
    assert_int_equal(usage_put(u, &r, 1, 0, NULL), 0);
    struct usage_store *reader; /* while it is written */
    assert_int_equal(usage_open_to_read(file, &reader, NULL), 0);
    assert_true(sum_since(reader, 0, 10) == 100);
    assert_true(usage_put(reader, &r, 1, 0, &e) < 0);
    usage_close(reader);
    usage_close(u);
    assert_int_equal(chmod(file, 0444), 0);
    assert_int_equal(chmod(folder, 0555), 0);
    bool is_root = geteuid() == 0;
    if (is_root)
        assert_int_equal(seteuid(65534), 0);
    assert_int_equal(chmod(file, 0600), is_root ? -1 : 0); /* really somebody else's */
    if (usage_open_to_read(file, &u, &e) < 0)
        fail_msg("%s", e.text);
    assert_true(sum_since(u, 0, 10) == 100);
    usage_close(u);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    int fd = creat(empty, 0600);
    assert_true(fd >= 0 && close(fd) == 0);
    assert_int_equal(usage_open_to_read(empty, &u, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "no usage store"));
    assert_int_equal(unlink(empty), 0);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void a_failed_prune_is_taken_back(void **state)
{
    struct usage_store *u;
    struct err e;
    sqlite3 *other;
    assert_int_equal(usage_open(path, &u, &e), 0);
    struct usage_record r = record("u1", 100, 50);
    assert_int_equal(usage_put(u, &r, 1, 3600, &e), 0);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "CREATE TRIGGER t BEFORE DELETE ON slice BEGIN SELECT RAISE(ABORT, 'no'); END", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(usage_prune(u, 7200, &e), -E_IO);
    assert_int_equal(sqlite3_exec(other, "DROP TRIGGER t", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    r = record("u1", 150, 60);
    assert_int_equal(usage_put(u, &r, 1, 3600, &e), 0);
    assert_true(fabs(sum_since(u, 0, 7200) - 150) < 1e-9);
    assert_int_equal(usage_prune(u, 7200, &e), 0);
    assert_true(fabs(sum_since(u, 0, 7200)) < 1e-9);
    usage_close(u);
}

static void known_texts_stay(void **state)
{
    struct usage_store *u;
    _cleanup_arena_ struct arena *a = arena_new();
    struct usage_record *records, first = record("a", 10, 1),
                                  second = {.uid = "a", .ns = "ml", .pod = "a", .allocated_s = 20};
    uint32_t n;
    assert_int_equal(usage_open(path, &u, NULL), 0);
    assert_int_equal(usage_put(u, &first, 1, 0, NULL), 0);
    assert_int_equal(usage_put(u, &second, 1, 0, NULL), 0);
    assert_int_equal(usage_since(u, a, 0, 10, &records, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_string_equal(records[0].queue, "team-a");
    assert_string_equal(records[0].user, "");
    assert_true(records[0].allocated_s == 20);
    usage_close(u);
}

static void refuses_what_it_does_not_know(void **state)
{
    struct usage_store *u;
    struct err e = {0};
    FILE *file = fopen(path, "w");
    fputs("this is no database, but it is long enough to be looked at as one by anybody who tries", file);
    fclose(file);
    assert_true(usage_open(path, &u, &e) < 0);
    assert_non_null(strstr(e.text, path));
    assert_true(usage_open("/nonexistent/x.db", &u, &e) < 0);
}

/* Random totals: the sum over any hours equals the sum of the increments in them. */
static void hours_add_up(void **state)
{
    struct usage_store *u;
    struct random r = {11};
    double total[5] = {0}, expected[24] = {0}, now_s = 0;
    assert_int_equal(usage_open(path, &u, NULL), 0);
    for (int step = 0; step < 400; step++) {
        static const char *const uids[] = {"a", "b", "c", "d", "e"};
        uint32_t pod = (uint32_t)random_below(&r, 5), more = (uint32_t)random_below(&r, 100);
        now_s += (double)random_below(&r, 200);
        total[pod] += more;
        expected[(int)(now_s / 3600)] += more;
        struct usage_record put = record(uids[pod], total[pod], 0);
        assert_int_equal(usage_put(u, &put, 1, now_s, NULL), 0);
    }
    for (int from = 0; from < 24; from++)
        for (int to = from + 1; to <= 24; to++) {
            double sum = 0;
            for (int h = from; h < to; h++)
                sum += expected[h];
            assert_true(sum_since(u, from * 3600.0, to * 3600.0) == sum);
        }
    usage_close(u);
}

static double capacity_since(struct usage_store *u, double since_s, double until_s, const char *node, uint32_t *ret_n)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct usage_capacity *rows;
    double sum = 0;
    assert_int_equal(usage_capacity_since(u, a, since_s, until_s, &rows, ret_n, NULL), 0);
    for (uint32_t i = 0; i < *ret_n; i++)
        sum += !node || !strcmp(rows[i].node, node) ? rows[i].gpu_s : 0;
    return sum;
}

static void capacity_is_kept_by_the_hour(void **state)
{
    struct usage_store *u;
    uint32_t n;
    double begin_s;
    const struct usage_capacity two[] = {{"n1", "A100", 80}, {"n2", "T4", 40}}, more = {"n1", "A100", 20}, other = {"n1", "T4", 5},
                                none = {"n1", "A100", 0};
    assert_int_equal(usage_open(path, &u, NULL), 0);
    assert_false(usage_begin(u, &begin_s));
    assert_int_equal(usage_put_capacity(u, two, 2, 10 * 3600 + 5, NULL), 0);
    assert_int_equal(usage_put_capacity(u, &more, 1, 10 * 3600 + 3599, NULL), 0);
    assert_int_equal(usage_put_capacity(u, &other, 1, 11 * 3600, NULL), 0);
    assert_int_equal(usage_put_capacity(u, &none, 1, 12 * 3600, NULL), 0);
    assert_true(capacity_since(u, 10 * 3600, 11 * 3600, NULL, &n) == 140 && n == 2);
    assert_true(capacity_since(u, 10 * 3600, 12 * 3600, "n1", &n) == 105 && n == 3);
    assert_true(capacity_since(u, 12 * 3600, 99 * 3600, NULL, &n) == 0 && n == 0);
    struct usage_record r = record("a", 100, 40);
    assert_int_equal(usage_put(u, &r, 1, 11 * 3600 + 5, NULL), 0);
    assert_true(usage_begin(u, &begin_s) && begin_s == 11 * 3600);
    usage_close(u);
    assert_int_equal(usage_open_to_read(path, &u, NULL), 0);
    assert_true(capacity_since(u, 0, 99 * 3600, NULL, &n) == 145);
    usage_close(u);
    assert_int_equal(usage_open(path, &u, NULL), 0);
    assert_int_equal(usage_prune(u, 11 * 3600, NULL), 0);
    assert_true(capacity_since(u, 0, 99 * 3600, NULL, &n) == 5 && n == 1);
    usage_close(u);
}

/* Written before capacity was kept: read as it is, and who writes adds the table. */
static void a_store_of_before_has_no_capacity(void **state)
{
    struct usage_store *u;
    sqlite3 *db;
    uint32_t n = 7;
    const struct usage_capacity one = {"n1", "A100", 80};
    struct usage_record r = record("a", 100, 40);
    assert_int_equal(usage_open(path, &u, NULL), 0);
    assert_int_equal(usage_put(u, &r, 1, 3600, NULL), 0);
    usage_close(u);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DROP TABLE capacity", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(usage_open_to_read(path, &u, NULL), 0);
    assert_true(sum_since(u, 0, 1e9) == 100);
    assert_true(capacity_since(u, 0, 1e9, NULL, &n) == 0 && n == 0);
    usage_close(u);
    assert_int_equal(usage_open(path, &u, NULL), 0);
    assert_int_equal(usage_put_capacity(u, &one, 1, 3600, NULL), 0);
    assert_true(capacity_since(u, 0, 1e9, NULL, &n) == 80);
    usage_close(u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(totals_become_hours, setup, teardown),
        cmocka_unit_test_setup_teardown(older_totals_and_another_start, setup, teardown),
        cmocka_unit_test(reads_what_it_may_not_write),
        cmocka_unit_test_setup_teardown(a_failed_prune_is_taken_back, setup, teardown),
        cmocka_unit_test_setup_teardown(known_texts_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_what_it_does_not_know, setup, teardown),
        cmocka_unit_test_setup_teardown(hours_add_up, setup, teardown),
        cmocka_unit_test_setup_teardown(capacity_is_kept_by_the_hour, setup, teardown),
        cmocka_unit_test_setup_teardown(a_store_of_before_has_no_capacity, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
