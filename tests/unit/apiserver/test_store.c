#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apiserver/store/store.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"

struct fixture {
    struct loop *loop;
    struct store *store;
    uint32_t pods;
    int durable_n, failed_n, woken_n, observed_n;
};

static void open_on(struct fixture *f, struct loop *l, const char *dir)
{
    struct err e = {0};
    *f = (struct fixture){.loop = l};
    if (store_open(f->loop, dir, &f->store, &e) < 0)
        fail_msg("%s", e.text);
    f->pods = store_kind(f->store, "", "pods");
}

static void open_at(struct fixture *f, const char *dir)
{
    open_on(f, loop_new_virtual(0), dir);
}

static void close_all(struct fixture *f)
{
    store_close(f->store);
    loop_free(f->loop);
}

static void turn(struct fixture *f)
{
    struct err e = {0};
    assert_int_equal(loop_run_for(f->loop, 0, &e), 0);
}

static int write_object(struct fixture *f, int what, const char *ns, const char *name)
{
    struct err e = {0};
    uint64_t rv = store_next_rv(f->store);
    char text[128];
    int n = snprintf(text, sizeof text, "{\"name\":\"%s\",\"rv\":%d}", name, (int)rv);
    struct blob *body = blob_new(text, (size_t)n);
    int r = what == STORE_ADDED      ? store_create(f->store, f->pods, ns, name, rv, body, &e)
            : what == STORE_MODIFIED ? store_update(f->store, f->pods, ns, name, 0, rv, body, &e)
                                     : store_delete(f->store, f->pods, ns, name, 0, rv, body, &e);
    blob_unref(body);
    return r;
}

static void on_durable(void *arg, bool ok)
{
    struct fixture *f = arg;
    f->durable_n += ok;
    f->failed_n += !ok;
}

static void on_wake(void *arg)
{
    ((struct fixture *)arg)->woken_n++;
}

static void on_change(void *arg, uint32_t kind, const struct store_event *event)
{
    ((struct fixture *)arg)->observed_n++;
}

static char *temporary(char path[64])
{
    memcpy(path, "/tmp/capstan-store-XXXXXX", sizeof "/tmp/capstan-store-XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}

static void temporary_remove(const char *dir)
{
    static const char *const names[] = {"capstan.db", "capstan.db-wal", "capstan.db-shm", "lock"};
    char path[128];
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)unlink(path); /* may not exist */
    }
    (void)rmdir(dir);
}

static void empty_store(void **state)
{
    struct fixture f;
    open_at(&f, NULL);
    assert_null(store_get(f.store, f.pods, "a", "b"));
    assert_int_equal(store_count(f.store, f.pods), 0);
    struct store_cursor *c = store_list(f.store, f.pods, NULL, NULL);
    assert_null(store_list_next(c));
    store_list_free(c);
    assert_int_equal(write_object(&f, STORE_MODIFIED, "a", "b"), -E_NOTFOUND);
    assert_int_equal(write_object(&f, STORE_DELETED, "a", "b"), -E_NOTFOUND);
    close_all(&f);
    store_close(NULL);
    store_list_free(NULL);
    store_watch_free(NULL);
}

static void conflicts(void **state)
{
    struct fixture f;
    struct err e = {0};
    open_at(&f, NULL);
    assert_int_equal(write_object(&f, STORE_ADDED, "a", "b"), 0);
    assert_int_equal(write_object(&f, STORE_ADDED, "a", "b"), -E_EXISTS);
    uint64_t rv = store_get(f.store, f.pods, "a", "b")->rv;
    struct blob *body = blob_new("{}", 2);
    assert_int_equal(store_update(f.store, f.pods, "a", "b", rv + 7, 9, body, &e), -E_CONFLICT);
    assert_int_equal(store_update(f.store, f.pods, "a", "b", rv, store_next_rv(f.store), body, &e), 0);
    blob_unref(body);
    close_all(&f);
}

static void listed(struct fixture *f, const char *ns, const char *after, const char *expect)
{
    char all[256] = "";
    struct store_cursor *c = store_list(f->store, f->pods, ns, after);
    const struct store_object *o;
    while ((o = store_list_next(c)))
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s/%s ", o->ns, o->name);
    store_list_free(c);
    assert_string_equal(all, expect);
}

static void order_and_cursors(void **state)
{
    struct fixture f;
    open_at(&f, NULL);
    write_object(&f, STORE_ADDED, "b", "x");
    write_object(&f, STORE_ADDED, "a", "z");
    write_object(&f, STORE_ADDED, "a", "c");
    write_object(&f, STORE_ADDED, "ab", "a");
    listed(&f, NULL, NULL, "a/c a/z ab/a b/x ");
    listed(&f, "a", NULL, "a/c a/z ");
    listed(&f, NULL, "a/c", "a/z ab/a b/x ");
    listed(&f, NULL, "a/d", "a/z ab/a b/x ");
    listed(&f, "a", "a/z", "");
    /* changes behind and before a cursor neither repeat nor lose */
    struct store_cursor *c = store_list(f.store, f.pods, NULL, NULL);
    assert_string_equal(store_list_next(c)->name, "c");
    write_object(&f, STORE_DELETED, "a", "c");
    write_object(&f, STORE_ADDED, "a", "b");
    write_object(&f, STORE_ADDED, "a", "y");
    assert_string_equal(store_list_next(c)->name, "y");
    store_list_free(c);
    close_all(&f);
}

static void commit_order(void **state)
{
    struct fixture f;
    struct err e = {0};
    struct store_watch *w;
    int code;
    open_at(&f, NULL);
    store_observe(f.store, on_change, &f);
    assert_int_equal(store_watch_new(f.store, f.pods, store_rv(f.store), on_wake, &f, &w, &e), 0);
    write_object(&f, STORE_ADDED, "a", "b");
    write_object(&f, STORE_MODIFIED, "a", "b");
    store_when_durable(f.store, on_durable, &f);
    assert_true(store_dirty(f.store));
    assert_null(store_watch_next(w, &code)); /* not before the commit */
    turn(&f);
    assert_false(store_dirty(f.store));
    assert_int_equal(f.durable_n, 1);
    assert_int_equal(f.woken_n, 1);
    assert_int_equal(f.observed_n, 2);
    assert_int_equal(store_watch_next(w, &code)->type, STORE_ADDED);
    const struct store_event *event = store_watch_next(w, &code);
    assert_int_equal(event->type, STORE_MODIFIED);
    assert_non_null(event->old);
    assert_null(store_watch_next(w, &code));
    assert_int_equal(code, 0);
    assert_int_equal(store_watch_rv(w), store_rv(f.store));
    store_watch_free(w);
    close_all(&f);
}

static void ring_limit(void **state)
{
    struct fixture f;
    struct err e = {0};
    struct store_watch *slow;
    int code;
    open_at(&f, NULL);
    write_object(&f, STORE_ADDED, "a", "b");
    turn(&f);
    uint64_t start = store_rv(f.store);
    assert_int_equal(store_watch_new(f.store, f.pods, start, on_wake, &f, &slow, &e), 0);
    for (int i = 0; i < LIMIT_WATCH_RING + 5; i++)
        write_object(&f, STORE_MODIFIED, "a", "b");
    turn(&f);
    assert_null(store_watch_next(slow, &code));
    assert_int_equal(code, -E_GONE);
    store_watch_free(slow);
    assert_int_equal(store_watch_new(f.store, f.pods, start, on_wake, &f, &slow, &e), -E_GONE);
    close_all(&f);
}

static void snapshot(void **state)
{
    struct fixture f;
    struct err e = {0};
    _cleanup_arena_ struct arena *a = arena_new();
    open_at(&f, NULL);
    write_object(&f, STORE_ADDED, "a", "1");
    write_object(&f, STORE_ADDED, "a", "2");
    write_object(&f, STORE_ADDED, "a", "3");
    turn(&f);
    uint64_t rv = store_rv(f.store);
    write_object(&f, STORE_DELETED, "a", "2");
    write_object(&f, STORE_MODIFIED, "a", "3");
    turn(&f);
    write_object(&f, STORE_ADDED, "a", "0");
    struct store_object *items;
    size_t n;
    assert_int_equal(store_snapshot(f.store, f.pods, "a", NULL, rv, a, &items, &n, &e), 0);
    assert_int_equal(n, 3);
    assert_string_equal(items[1].name, "2");
    assert_non_null(strstr(items[2].body->data, "\"rv\":3"));
    for (size_t i = 0; i < n; i++)
        blob_unref(items[i].body);
    close_all(&f);
}

static void kept_on_disk(void **state)
{
    char dir[64];
    struct fixture f;
    temporary(dir);
    open_at(&f, dir);
    write_object(&f, STORE_ADDED, "a", "1");
    write_object(&f, STORE_ADDED, "a", "2");
    write_object(&f, STORE_DELETED, "a", "1");
    turn(&f);
    write_object(&f, STORE_MODIFIED, "a", "2");
    uint64_t rv = store_rv(f.store);
    close_all(&f); /* commits what waits */
    open_at(&f, dir);
    assert_int_equal(store_rv(f.store), rv + STORE_START_JUMP);
    assert_int_equal(store_count(f.store, f.pods), 1);
    assert_int_equal(store_get(f.store, f.pods, "a", "2")->rv, rv);
    struct err e = {0};
    struct store_watch *w;
    assert_int_equal(store_watch_new(f.store, f.pods, rv - 1, on_wake, &f, &w, &e), -E_GONE);
    /* a version that this start may have lost in a power cut, or given to another change */
    assert_int_equal(store_watch_new(f.store, f.pods, rv, on_wake, &f, &w, &e), -E_GONE);
    assert_int_equal(store_watch_new(f.store, f.pods, rv + 1, on_wake, &f, &w, &e), -E_GONE);
    assert_int_equal(store_watch_new(f.store, f.pods, rv + STORE_START_JUMP, on_wake, &f, &w, &e), 0);
    store_watch_free(w);
    close_all(&f);
    temporary_remove(dir);
}

/* A child that is killed in the middle: every write that it acknowledged by a byte on the pipe is there afterwards. */
static void killed(void **state)
{
    char dir[64];
    int ends[2];
    temporary(dir);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct fixture f;
        open_at(&f, dir);
        for (int i = 0;; i++) {
            char name[16];
            snprintf(name, sizeof name, "p%d", i);
            write_object(&f, STORE_ADDED, "a", name);
            turn(&f);
            if (write(ends[1], "x", 1) != 1)
                _exit(1);
        }
    }
    char bytes[200];
    ssize_t acknowledged = 0;
    while (acknowledged < 150)
        acknowledged += read(ends[0], bytes, sizeof bytes);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], bytes, sizeof bytes)) > 0;)
        acknowledged += n;
    close(ends[0]);
    struct fixture f;
    open_at(&f, dir);
    assert_true(store_count(f.store, f.pods) >= (size_t)acknowledged);
    assert_true(store_count(f.store, f.pods) <= (size_t)acknowledged + 1);
    close_all(&f);
    temporary_remove(dir);
}

#define LARGE_N 300

/* The bytes say their length and resourceVersion at every place. */
static void large_text(struct buf *out, uint64_t rv)
{
    buf_printf(out, "{\"rv\":\"%llu\",\"x\":\"", (unsigned long long)rv);
    for (uint64_t i = 0, n = rv * 7919 % 20000; i < n; i++)
        buf_char(out, (char)('a' + (rv + i * i) % 23));
    buf_text(out, "\"}");
}

static void large_write(struct fixture *f, uint64_t random)
{
    _cleanup_buf_ struct buf text = {0};
    char name[16];
    uint64_t rv = store_next_rv(f->store);
    snprintf(name, sizeof name, "%llu", (unsigned long long)(random % LARGE_N));
    large_text(&text, rv);
    struct blob *body = blob_new(text.data, text.n);
    const struct store_object *known = store_get(f->store, f->pods, "a", name);
    if (!known)
        assert_int_equal(store_create(f->store, f->pods, "a", name, rv, body, NULL), 0);
    else if (random % 11 == 0)
        assert_int_equal(store_delete(f->store, f->pods, "a", name, 0, rv, body, NULL), 0);
    else
        assert_int_equal(store_update(f->store, f->pods, "a", name, 0, rv, body, NULL), 0);
    blob_unref(body);
}

/* Commits from a byte to more than the log's buffer and the page cache hold, some of them cut off by a disk that fills up. Tells at
 * the end which version of each object stands, and dies. */
static void large_child(const char *dir, int end)
{
    struct fixture f;
    struct random random = {7};
    struct rlimit before, small;
    open_at(&f, dir);
    log_set_level(LOG_ERROR + 1);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    for (int i = 0; i < 150; i++) {
        for (uint64_t n = 1 + random_below(&random, i % 10 ? 20 : 150); n-- > 0;)
            large_write(&f, random_next(&random) >> 8);
        small = (struct rlimit){random_below(&random, 20u << 20), before.rlim_max};
        if (i % 7 == 3)
            setrlimit(RLIMIT_FSIZE, &small);
        turn(&f);
        setrlimit(RLIMIT_FSIZE, &before);
    }
    for (int i = 0; i < LARGE_N; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        const struct store_object *o = store_get(f.store, f.pods, "a", name);
        uint64_t rv = o ? o->rv : 0;
        if (write(end, &rv, sizeof rv) != sizeof rv)
            _exit(1);
    }
    kill(getpid(), SIGKILL);
}

static void large_commits(void **state)
{
    char dir[64];
    int ends[2];
    temporary(dir);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0)
        large_child(dir, ends[1]);
    close(ends[1]);
    uint64_t rvs[LARGE_N];
    for (size_t n = 0; n < sizeof rvs;) {
        ssize_t part = read(ends[0], (char *)rvs + n, sizeof rvs - n);
        assert_true(part > 0);
        n += (size_t)part;
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    struct fixture f;
    open_at(&f, dir);
    for (int i = 0; i < LARGE_N; i++) {
        _cleanup_buf_ struct buf text = {0};
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        const struct store_object *o = store_get(f.store, f.pods, "a", name);
        assert_int_equal(o ? o->rv : 0, rvs[i]);
        large_text(&text, rvs[i]);
        assert_true(!o || bytes_equal((struct bytes){o->body->data, o->body->n}, buf_view(&text)));
    }
    close_all(&f);
    temporary_remove(dir);
}

/* A turn that asked for a commit ends after the store is gone. */
static void closed_in_a_turn(void **state)
{
    char dir[64];
    struct fixture f;
    temporary(dir);
    open_at(&f, dir);
    write_object(&f, STORE_ADDED, "a", "1");
    store_when_durable(f.store, on_durable, &f);
    store_close(f.store);
    assert_int_equal(f.durable_n, 1);
    turn(&f);
    loop_free(f.loop);
    open_at(&f, dir);
    assert_int_equal(store_count(f.store, f.pods), 1);
    close_all(&f);
    temporary_remove(dir);
}

/* The file cannot grow: the turn's writes are refused and undone, and later ones work again. */
static void disk_full(void **state)
{
    char dir[64];
    struct fixture f;
    struct rlimit before, small = {1, RLIM_INFINITY};
    temporary(dir);
    open_at(&f, dir);
    write_object(&f, STORE_ADDED, "a", "1");
    write_object(&f, STORE_ADDED, "a", "2");
    turn(&f);
    uint64_t rv = store_get(f.store, f.pods, "a", "1")->rv;
    signal(SIGXFSZ, SIG_IGN);
    log_set_level(LOG_ERROR + 1);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    write_object(&f, STORE_MODIFIED, "a", "1");
    write_object(&f, STORE_DELETED, "a", "2");
    write_object(&f, STORE_ADDED, "a", "3");
    write_object(&f, STORE_DELETED, "a", "3");
    write_object(&f, STORE_ADDED, "a", "4");
    store_when_durable(f.store, on_durable, &f);
    turn(&f);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(f.failed_n, 1);
    listed(&f, NULL, NULL, "a/1 a/2 ");
    assert_int_equal(store_get(f.store, f.pods, "a", "1")->rv, rv);
    write_object(&f, STORE_ADDED, "a", "5");
    store_when_durable(f.store, on_durable, &f);
    turn(&f);
    assert_int_equal(f.durable_n, 1);
    close_all(&f);
    open_at(&f, dir);
    listed(&f, NULL, NULL, "a/1 a/2 a/5 ");
    close_all(&f);
    temporary_remove(dir);
}

static void in_use(void **state)
{
    char dir[64], want[64];
    struct fixture f;
    struct err e = {0};
    struct store *second;
    temporary(dir);
    open_at(&f, dir);
    assert_int_equal(store_open(f.loop, dir, &second, &e), -E_AGAIN);
    snprintf(want, sizeof want, "in use by pid %d", (int)getpid());
    assert_non_null(strstr(e.text, want));
    close_all(&f);
    temporary_remove(dir);
}

static void damaged(void **state)
{
    char dir[64], path[128];
    struct fixture f;
    struct err e = {0};
    struct store *s;
    temporary(dir);
    open_at(&f, dir);
    for (int i = 0; i < 2000; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        write_object(&f, STORE_ADDED, "a", name);
    }
    close_all(&f);
    snprintf(path, sizeof path, "%s/capstan.db", dir);
    int fd = open(path, O_WRONLY);
    char junk[8192];
    memset(junk, 0x5a, sizeof junk);
    assert_int_equal(pwrite(fd, junk, sizeof junk, 16384), sizeof junk);
    close(fd);
    struct loop *l = loop_new_virtual(0);
    assert_int_equal(store_open(l, dir, &s, &e), -E_IO);
    assert_non_null(strstr(e.text, "is damaged"));
    fd = open(path, O_WRONLY | O_TRUNC);
    assert_int_equal(write(fd, junk, sizeof junk), sizeof junk);
    close(fd);
    assert_int_equal(store_open(l, dir, &s, &e), -E_IO);
    assert_non_null(strstr(e.text, "move it away"));
    loop_free(l);
    temporary_remove(dir);
}

/* Whoever looks ahead: binds what he sees, as a scheduler would. */
struct binder {
    struct fixture *f;
    struct store_watch *w;
    char seen[200]; /* types and resourceVersions */
    int uncommitted_n, code;
    bool binds;
};

static void binder_looks(void *arg)
{
    struct binder *b = arg;
    const struct store_event *e;
    while ((e = store_watch_next(b->w, &b->code))) {
        bool added = e->type == STORE_ADDED;
        char name[8];
        snprintf(name, sizeof name, "%s", e->name);
        size_t n = strlen(b->seen);
        snprintf(b->seen + n, sizeof b->seen - n, "%c%s ", "AMD"[e->type], name);
        b->uncommitted_n += store_dirty(b->f->store);
        if (added && b->binds)
            write_object(b->f, STORE_MODIFIED, "a", name);
    }
}

static void binder_wakes(void *arg)
{
    struct binder *b = arg;
    loop_defer(b->f->loop, binder_looks, b);
}

static void binder_open(struct binder *b, struct fixture *f, bool ahead)
{
    struct err e = {0};
    *b = (struct binder){.f = f, .binds = ahead};
    assert_int_equal(store_watch_new(f->store, f->pods, store_rv(f->store), binder_wakes, b, &b->w, &e), 0);
    if (ahead)
        store_watch_ahead(b->w);
}

/* Inside, a change is seen before its commit, and once; outside after it. What follows from it is committed with it, in one row. */
static void looked_at_ahead(void **state)
{
    char dir[64];
    struct fixture f;
    struct binder inside, outside;
    temporary(dir);
    open_at(&f, dir);
    write_object(&f, STORE_ADDED, "a", "0");
    turn(&f);
    binder_open(&inside, &f, true);
    binder_open(&outside, &f, false);
    for (int round = 1; round < 3; round++) {
        char name[8];
        snprintf(name, sizeof name, "%d", round);
        write_object(&f, STORE_ADDED, "a", name);
        store_when_durable(f.store, on_durable, &f);
        turn(&f);
        assert_int_equal(f.durable_n, round);
    }
    write_object(&f, STORE_DELETED, "a", "1");
    write_object(&f, STORE_ADDED, "a", "1");
    write_object(&f, STORE_MODIFIED, "a", "0");
    write_object(&f, STORE_DELETED, "a", "0");
    write_object(&f, STORE_ADDED, "a", "3");
    write_object(&f, STORE_DELETED, "a", "3");
    inside.binds = false;
    turn(&f);
    assert_false(store_dirty(f.store));
    assert_string_equal(inside.seen, "A1 M1 A2 M2 D1 A1 M0 D0 A3 D3 ");
    assert_string_equal(outside.seen, inside.seen);
    assert_true(inside.uncommitted_n >= 8 && inside.code == 0);
    assert_int_equal(outside.uncommitted_n, 0);
    assert_int_equal(store_watch_rv(inside.w), store_watch_rv(outside.w));
    uint64_t one = store_get(f.store, f.pods, "a", "1")->rv, two = store_get(f.store, f.pods, "a", "2")->rv;
    store_watch_free(inside.w);
    store_watch_free(outside.w);
    close_all(&f);
    open_at(&f, dir);
    listed(&f, NULL, NULL, "a/1 a/2 ");
    assert_int_equal(store_get(f.store, f.pods, "a", "1")->rv, one);
    assert_int_equal(store_get(f.store, f.pods, "a", "2")->rv, two);
    char body[40];
    snprintf(body, sizeof body, "\"rv\":%d}", (int)two); /* the row is as it was last */
    assert_non_null(strstr(store_get(f.store, f.pods, "a", "2")->body->data, body));
    close_all(&f);
    temporary_remove(dir);
}

/* Who saw what the disk then did not take begins anew; who had seen none of it goes on. */
static void looked_at_in_vain(void **state)
{
    char dir[64];
    struct fixture f;
    struct binder inside, outside;
    struct rlimit before, small = {1, RLIM_INFINITY};
    temporary(dir);
    open_at(&f, dir);
    write_object(&f, STORE_ADDED, "a", "0");
    turn(&f);
    binder_open(&inside, &f, true);
    binder_open(&outside, &f, false);
    signal(SIGXFSZ, SIG_IGN);
    log_set_level(LOG_ERROR + 1);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    write_object(&f, STORE_ADDED, "a", "1");
    store_when_durable(f.store, on_durable, &f);
    turn(&f);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(f.failed_n, 1);
    listed(&f, NULL, NULL, "a/0 ");
    assert_string_equal(inside.seen, "A1 M1 ");
    assert_null(store_watch_next(inside.w, &inside.code));
    assert_int_equal(inside.code, -E_GONE);
    store_watch_free(inside.w);
    binder_open(&inside, &f, true);
    write_object(&f, STORE_ADDED, "a", "2");
    turn(&f);
    assert_string_equal(inside.seen, "A2 M2 ");
    assert_string_equal(outside.seen, "A2 M2 ");
    store_watch_free(inside.w);
    store_watch_free(outside.w);
    close_all(&f);
    open_at(&f, dir);
    listed(&f, NULL, NULL, "a/0 a/2 ");
    close_all(&f);
    temporary_remove(dir);
}

/* ---- in real time: commits of more than a few changes are written by a thread while the loop goes on ---- */

enum { NAMES_N = 40 };

/* What a watcher knows by the events that it was shown. */
struct knower {
    struct store_watch *w;
    uint64_t rv, rvs[NAMES_N];
    int code;
};

static void knower_open(struct knower *k, struct fixture *f, bool ahead)
{
    struct err e = {0};
    *k = (struct knower){0};
    assert_int_equal(store_watch_new(f->store, f->pods, store_rv(f->store), on_wake, f, &k->w, &e), 0);
    if (ahead)
        store_watch_ahead(k->w);
}

static void knower_look(struct knower *k)
{
    const struct store_event *e;
    while ((e = store_watch_next(k->w, &k->code))) {
        int64_t at = 0;
        assert_true(e->rv > k->rv && bytes_int64(bytes_of(e->name), &at)); /* in order, none twice */
        k->rv = e->rv;
        k->rvs[at] = e->type == STORE_DELETED ? 0 : e->rv;
    }
    assert_int_equal(k->code, 0);
}

static void stored_as(struct fixture *f, const uint64_t rvs[NAMES_N])
{
    for (int i = 0; i < NAMES_N; i++) {
        char name[8];
        snprintf(name, sizeof name, "%d", i);
        const struct store_object *o = store_get(f->store, f->pods, "a", name);
        assert_int_equal(o ? o->rv : 0, rvs[i]);
    }
}

/* Until nothing waits for its commit. */
static void settle(struct fixture *f)
{
    for (int i = 0; i < 2000 && store_dirty(f->store); i++)
        assert_int_equal(loop_run_for(f->loop, 1, NULL), 0);
    assert_false(store_dirty(f->store));
}

static void written_beside(void **state)
{
    char dir[64];
    struct fixture f;
    struct knower inside, outside;
    struct random random = {7};
    int dirty_n = 0;
    open_on(&f, loop_new(), temporary(dir));
    knower_open(&inside, &f, true);
    knower_open(&outside, &f, false);
    for (int round = 0; round < 400; round++) {
        for (uint64_t n = random_below(&random, 20); n > 0; n--) {
            char name[8];
            snprintf(name, sizeof name, "%d", (int)random_below(&random, NAMES_N));
            if (write_object(&f, STORE_ADDED, "a", name) < 0)
                (void)write_object(&f, random_below(&random, 4) ? STORE_MODIFIED : STORE_DELETED, "a", name);
        }
        store_when_durable(f.store, on_durable, &f);
        assert_int_equal(loop_run_for(f.loop, 0, NULL), 0);
        dirty_n += store_dirty(f.store); /* the turn has ended, and the commit goes on */
        knower_look(&inside);
        knower_look(&outside);
        stored_as(&f, inside.rvs);
    }
    settle(&f);
    assert_true(dirty_n > 0);
    (void)loop_run_for(f.loop, 1, NULL);
    assert_int_equal(f.durable_n, 400);
    knower_look(&outside);
    stored_as(&f, outside.rvs);
    for (int i = 0; i < 20; i++) { /* closing lands what flies, and writes what waits */
        char name[8];
        snprintf(name, sizeof name, "%d", i);
        if (i == 10)
            assert_int_equal(loop_run_for(f.loop, 0, NULL), 0);
        if (write_object(&f, STORE_ADDED, "a", name) < 0)
            assert_int_equal(write_object(&f, STORE_MODIFIED, "a", name), 0);
    }
    knower_look(&inside);
    store_watch_free(inside.w);
    store_watch_free(outside.w);
    close_all(&f);
    open_at(&f, dir);
    stored_as(&f, inside.rvs);
    close_all(&f);
    temporary_remove(dir);
}

/* The disk does not take what is being written: what was written meanwhile goes as well, and what comes after is kept. */
static void refused_beside(void **state)
{
    char dir[64], name[8];
    struct fixture f;
    struct knower inside, outside;
    struct rlimit before, small = {1, RLIM_INFINITY};
    open_on(&f, loop_new(), temporary(dir));
    write_object(&f, STORE_ADDED, "a", "0");
    settle(&f);
    knower_open(&inside, &f, true);
    knower_open(&outside, &f, false);
    signal(SIGXFSZ, SIG_IGN);
    log_set_level(LOG_ERROR + 1);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 1; i <= 12; i++) {
        snprintf(name, sizeof name, "%d", i);
        write_object(&f, STORE_ADDED, "a", name);
        if (i % 6)
            continue;
        write_object(&f, i < 12 ? STORE_MODIFIED : STORE_DELETED, "a", "0");
        store_when_durable(f.store, on_durable, &f);
        if (i < 12)
            for (int turns = 0; turns < 3; turns++)
                assert_int_equal(loop_run_for(f.loop, 0, NULL), 0);
    }
    knower_look(&inside);
    settle(&f);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(f.failed_n, 2);
    listed(&f, NULL, NULL, "a/0 ");
    assert_null(store_watch_next(inside.w, &inside.code));
    assert_int_equal(inside.code, -E_GONE);
    for (int i = 1; i <= 6; i++) {
        snprintf(name, sizeof name, "%d", i);
        write_object(&f, STORE_ADDED, "a", name);
    }
    write_object(&f, STORE_MODIFIED, "a", "0");
    settle(&f);
    knower_look(&outside);
    stored_as(&f, outside.rvs);
    store_watch_free(inside.w);
    store_watch_free(outside.w);
    close_all(&f);
    open_at(&f, dir);
    stored_as(&f, outside.rvs);
    close_all(&f);
    temporary_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_store),  cmocka_unit_test(conflicts),  cmocka_unit_test(order_and_cursors),
        cmocka_unit_test(commit_order), cmocka_unit_test(ring_limit), cmocka_unit_test(snapshot),
        cmocka_unit_test(kept_on_disk), cmocka_unit_test(killed),     cmocka_unit_test(closed_in_a_turn),
        cmocka_unit_test(large_commits), cmocka_unit_test(looked_at_ahead), cmocka_unit_test(looked_at_in_vain),
        cmocka_unit_test(written_beside), cmocka_unit_test(refused_beside),
        cmocka_unit_test(disk_full),    cmocka_unit_test(in_use),     cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
