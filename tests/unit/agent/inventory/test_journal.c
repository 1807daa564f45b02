/* test_journal.c - records survive; a file cut at any byte loses only its end; damage elsewhere is said; one agent a directory */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../folder.h"
#include "agent/inventory/journal.h"
#include "base/memory.h"

struct world {
    char dir[64], path[96];
    struct buf seen; /* records, one a line */
};

static int collect(void *arg, struct bytes record, struct err *e)
{
    struct world *w = arg;
    (void)e;
    buf_bytes(&w->seen, record);
    buf_char(&w->seen, ';');
    return 0;
}

static int setup(void **state)
{
    struct world *w = mem_zero(1, sizeof *w);
    folder_make(w->dir, sizeof w->dir, "journal");
    (void)snprintf(w->path, sizeof w->path, "%s/state/journal", w->dir);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    char name[160];
    static const char *const files[] = {"/state/journal", "/state/journal.lock", "/state/journal.new", "/state", ""};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        (void)snprintf(name, sizeof name, "%s%s", w->dir, files[i]);
        (void)remove(name);
    }
    buf_free(&w->seen);
    free(w);
    return 0;
}

static struct journal *open_journal(struct world *w, uint64_t *cut)
{
    struct journal *j = NULL;
    struct err e = {0};
    buf_clear(&w->seen);
    buf_text(&w->seen, "");
    int r = journal_open(w->path, collect, w, cut, &j, &e);
    if (r < 0)
        fail_msg("%s", e.text);
    return j;
}

static void put(struct journal *j, const char *text, bool sync)
{
    struct err e = {0};
    if (journal_append(j, bytes_of(text), sync, &e) < 0)
        fail_msg("%s", e.text);
}

static void read_whole(const char *path, struct buf *out)
{
    int fd = open(path, O_RDONLY);
    char chunk[4096];
    assert_true(fd >= 0);
    for (ssize_t n; (n = read(fd, chunk, sizeof chunk)) > 0;)
        buf_add(out, chunk, (size_t)n);
    close(fd);
}

static void write_file(const char *path, const char *data, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    close(fd);
}

static void test_records_come_back(void **state)
{
    struct world *w = *state;
    uint64_t cut = 99;
    struct journal *j = open_journal(w, &cut);
    assert_int_equal(w->seen.n, 0);
    assert_int_equal(cut, 0);
    put(j, "one", false);
    put(j, "", true);
    put(j, "three\nlines\\n of \\ it", true);
    journal_close(j);
    j = open_journal(w, &cut);
    assert_string_equal(w->seen.data, "one;;three\nlines\\n of \\ it;");
    put(j, "four", false);
    journal_close(j);
    j = open_journal(w, &cut);
    assert_string_equal(w->seen.data, "one;;three\nlines\\n of \\ it;four;");
    journal_close(j);
}

/* Killed at every byte of every write: the file ends there. What is left is a prefix of the records, and new ones can be added. */
static void test_cut_at_every_byte(void **state)
{
    struct world *w = *state;
    static const char *const records[] = {"alpha", "beta 22", "gamma", "delta\nx"};
    struct journal *j = open_journal(w, NULL);
    for (int i = 0; i < 4; i++)
        put(j, records[i], i == 1);
    journal_close(j);
    struct buf whole = {0};
    read_whole(w->path, &whole);
    static const char *const prefixes[] = {"", "alpha;", "alpha;beta 22;", "alpha;beta 22;gamma;", "alpha;beta 22;gamma;delta\nx;"};
    int longest = 0;
    for (size_t n = 0; n <= whole.n; n++) {
        write_file(w->path, whole.data, n);
        uint64_t cut;
        j = open_journal(w, &cut);
        int k = 0;
        while (k < 5 && strcmp(w->seen.data, prefixes[k]) != 0)
            k++;
        assert_in_range(k, longest, 4);
        longest = k;
        put(j, "new", true);
        journal_close(j);
        char expected[128];
        (void)snprintf(expected, sizeof expected, "%snew;", prefixes[k]);
        j = open_journal(w, &cut);
        assert_string_equal(w->seen.data, expected);
        assert_int_equal(cut, 0);
        journal_close(j);
    }
    assert_int_equal(longest, 4);
    buf_free(&whole);
}

static void test_garbage_behind_the_end_is_cut(void **state)
{
    struct world *w = *state;
    struct journal *j = open_journal(w, NULL);
    put(j, "good", true);
    put(j, "not synced", false);
    journal_close(j);
    struct buf whole = {0};
    read_whole(w->path, &whole);
    size_t good_n = whole.n;
    buf_add(&whole, "\0\0\0\0\n\0\0zzz\nzz", 14);
    write_file(w->path, whole.data, whole.n);
    uint64_t cut;
    journal_close(open_journal(w, &cut));
    assert_int_equal(cut, 14);
    assert_string_equal(w->seen.data, "good;not synced;");
    struct stat st;
    assert_int_equal(stat(w->path, &st), 0);
    assert_int_equal(st.st_size, good_n);
    buf_free(&whole);
}

static void test_damage_in_the_middle_is_refused(void **state)
{
    struct world *w = *state;
    struct journal *j = open_journal(w, NULL);
    put(j, "first", false);
    put(j, "second", false);
    put(j, "third", true);
    journal_close(j);
    struct buf whole = {0};
    read_whole(w->path, &whole);
    char *second = strstr(whole.data, "second");
    second[2] ^= 1;
    write_file(w->path, whole.data, whole.n);
    struct err e = {0};
    assert_int_equal(journal_open(w->path, collect, w, NULL, &j, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "line 3"));
    struct buf after = {0};
    read_whole(w->path, &after);
    assert_true(bytes_equal(buf_view(&whole), buf_view(&after)));
    write_file(w->path, "something else entirely\n", 24);
    assert_int_equal(journal_open(w->path, collect, w, NULL, &j, &e), -E_INVALID);
    buf_free(&whole);
    buf_free(&after);
}

static void test_one_agent_a_directory(void **state)
{
    struct world *w = *state;
    struct journal *j = open_journal(w, NULL), *other = NULL;
    struct err e = {0};
    assert_int_equal(journal_open(w->path, collect, w, NULL, &other, &e), -E_CONFLICT);
    assert_non_null(strstr(e.text, "another agent"));
    journal_close(j);
    journal_close(open_journal(w, NULL));
}

static void write_two(void *arg, struct journal *j)
{
    (void)arg;
    journal_rewrite_add(j, BYTES("kept a"));
    journal_rewrite_add(j, BYTES("kept b"));
}

static void test_rewrite(void **state)
{
    struct world *w = *state;
    struct journal *j = open_journal(w, NULL);
    assert_false(journal_has_grown(j));
    for (int i = 0; i < 3000; i++)
        put(j, "some record of usual length", false);
    assert_true(journal_has_grown(j));
    assert_int_equal(journal_rewrite(j, write_two, NULL, NULL), 0);
    assert_false(journal_has_grown(j));
    put(j, "after", true);
    journal_close(j);
    journal_close(open_journal(w, NULL));
    assert_string_equal(w->seen.data, "kept a;kept b;after;");
}

/* A file that many starts have found long is not taken for one that has to be so long. */
static void test_grown_before_the_start(void **state)
{
    struct world *w = *state;
    struct journal *j = open_journal(w, NULL);
    for (int i = 0; i < 3000; i++)
        put(j, "some record of usual length", false);
    journal_close(j);
    j = open_journal(w, NULL);
    assert_true(journal_has_grown(j));
    assert_int_equal(journal_rewrite(j, write_two, NULL, NULL), 0);
    assert_false(journal_has_grown(j));
    journal_close(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_records_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cut_at_every_byte, setup, teardown),
        cmocka_unit_test_setup_teardown(test_garbage_behind_the_end_is_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damage_in_the_middle_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_agent_a_directory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rewrite, setup, teardown),
        cmocka_unit_test_setup_teardown(test_grown_before_the_start, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
