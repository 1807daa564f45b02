/* usage.c - three tables: what is known of a pod with its last totals, its increments by the hour, and what nodes had by the hour */
#include "exporter/account/usage.h"
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/memory.h"
#include "net/http.h"

#define FORMAT 1
#define HOUR_S 3600.0

/* The totals that become increments, in the order of the tables' columns. */
#define SUMS(X) X(allocated_s) X(active_s) X(energy_j) X(no_process_s) X(idle_s) X(low_s) X(throttled_s)
enum {
#define X(name) SUM_##name,
    SUMS(X)
#undef X
        SUMS_N
};

#define SUM_COLUMNS "allocated_s, active_s, energy_j, no_process_s, idle_s, low_s, throttled_s"
#define SUM_TYPES                                                                                                      \
    "allocated_s REAL NOT NULL, active_s REAL NOT NULL, energy_j REAL NOT NULL, no_process_s REAL NOT NULL, "          \
    "idle_s REAL NOT NULL, low_s REAL NOT NULL, throttled_s REAL NOT NULL"

static const char schema[] =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
    "CREATE TABLE IF NOT EXISTS pod(uid TEXT PRIMARY KEY, ns TEXT, pod TEXT, job TEXT, queue TEXT, user TEXT, node "
    "TEXT, "
    "device_kind TEXT, start_s REAL, end_s REAL, queue_wait_s REAL, memory_high REAL, memory_granted REAL, "
    "idle_tail_s REAL, " SUM_TYPES ") WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS slice(uid TEXT, hour INTEGER, " SUM_TYPES ", PRIMARY KEY(uid, hour)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS slice_hour ON slice(hour);"
    "CREATE TABLE IF NOT EXISTS capacity(hour INTEGER, node TEXT, model TEXT, gpu_s REAL NOT NULL, PRIMARY KEY(hour, node, model)) "
    "WITHOUT ROWID;";

enum statement { LAST, POD, SLICE, CAPACITY, SINCE, BEGIN, CAPACITY_SINCE, STATEMENTS_N };
static const char *const statement_sql[STATEMENTS_N] = {
    [LAST] = "SELECT " SUM_COLUMNS ", start_s FROM pod WHERE uid = ?1",
    /* Texts that are not known this time keep what was known. */
    [POD] =
        "INSERT INTO pod VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, "
        "?20, ?21) ON CONFLICT(uid) DO UPDATE SET ns = ifnull(nullif(?2, ''), ns), pod = ifnull(nullif(?3, ''), pod), "
        "job = ifnull(nullif(?4, ''), job), queue = ifnull(nullif(?5, ''), queue), user = ifnull(nullif(?6, ''), "
        "user), "
        "node = ifnull(nullif(?7, ''), node), device_kind = ifnull(nullif(?8, ''), device_kind), "
        "start_s = CASE WHEN ?9 > 0 THEN ?9 ELSE start_s END, end_s = ?10, queue_wait_s = CASE WHEN ?11 > 0 OR "
        "queue_wait_s < 0 THEN ?11 ELSE queue_wait_s END, "
        "memory_high = max(memory_high, ?12), memory_granted = max(memory_granted, ?13), idle_tail_s = ?14, "
        "allocated_s = ?15, active_s = ?16, energy_j = ?17, no_process_s = ?18, idle_s = ?19, low_s = ?20, "
        "throttled_s = ?21",
    [SLICE] = "INSERT INTO slice VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT(uid, hour) DO UPDATE SET "
              "allocated_s = allocated_s + ?3, active_s = active_s + ?4, energy_j = energy_j + ?5, "
              "no_process_s = no_process_s + ?6, idle_s = idle_s + ?7, low_s = low_s + ?8, "
              "throttled_s = throttled_s + ?9",
    [SINCE] = "SELECT p.uid, ns, pod, job, queue, user, node, device_kind, start_s, end_s, queue_wait_s, memory_high, "
              "memory_granted, idle_tail_s, sum(s.allocated_s), sum(s.active_s), sum(s.energy_j), sum(s.no_process_s), "
              "sum(s.idle_s), sum(s.low_s), sum(s.throttled_s) FROM slice s JOIN pod p ON p.uid = s.uid "
              "WHERE s.hour >= ?1 AND s.hour < ?2 GROUP BY p.uid ORDER BY ns, pod, p.uid",
    [CAPACITY] = "INSERT INTO capacity VALUES(?1, ?2, ?3, ?4) ON CONFLICT(hour, node, model) DO UPDATE SET gpu_s = gpu_s + ?4",
    [BEGIN] = "SELECT min(hour) FROM slice",
    [CAPACITY_SINCE] = "SELECT node, model, sum(gpu_s) FROM capacity WHERE hour >= ?1 AND hour < ?2 GROUP BY 1, 2 ORDER BY 1, 2",
};

struct usage_store {
    char *path;
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENTS_N];
};

static int store_err(const struct usage_store *u, struct err *e, const char *what)
{
    return err_set(e, E_IO, "usage store %s: %s: %s", u->path, what, u->db ? sqlite3_errmsg(u->db) : "out of memory");
}

/* 0: nothing has been written yet; -E_* of what cannot be read. */
static int read_format(struct usage_store *u, struct err *e)
{
    sqlite3_stmt *st = NULL;
    int format = -1;
    if (sqlite3_prepare_v2(u->db, "PRAGMA user_version", -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        format = sqlite3_column_int(st, 0);
    sqlite3_finalize(st);
    if (format < 0)
        return store_err(u, e, "read");
    if (format != 0 && format != FORMAT)
        return err_set(e, E_INVALID,
                       "usage store %s has format %d, this program knows %d: use the newer program, or another file",
                       u->path, format, FORMAT);
    return format;
}

/* WHY  a store of before has no capacity, and who only reads cannot make the table. */
static int prepare(struct usage_store *u, enum statement first, struct err *e)
{
    for (int i = (int)first; i < STATEMENTS_N; i++)
        if (sqlite3_prepare_v2(u->db, statement_sql[i], -1, &u->statements[i], NULL) != SQLITE_OK &&
            (i != CAPACITY_SINCE || first != SINCE))
            return store_err(u, e, "prepare");
    return 0;
}

static int open_file(struct usage_store *u, const char *name, int flags, struct err *e)
{
    if (sqlite3_open_v2(name, &u->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return store_err(u, e, "open");
    sqlite3_busy_timeout(u->db, 5000); /* a report may read while the agent writes */
    return 0;
}

static int open_to_write(struct usage_store *u, struct err *e)
{
    int r = open_file(u, u->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, e);
    if (r == 0 && (r = read_format(u, e)) >= 0)
        r = sqlite3_exec(u->db, schema, NULL, NULL, NULL) == SQLITE_OK &&
                    sqlite3_exec(u->db, "PRAGMA user_version = 1", NULL, NULL, NULL) == SQLITE_OK
                ? prepare(u, LAST, e)
                : store_err(u, e, "prepare");
    return r;
}

/* WHY  immutable: a file that nobody has open, in a folder that is not ours to write into, can be read in no other way: it is a log
 *      (WAL), and the log's index would have to be made. While the agent has it open, the index is there. */
static int open_to_read(struct usage_store *u, bool immutable, struct err *e)
{
    _cleanup_buf_ struct buf uri = {0};
    buf_text(&uri, "file:");
    http_escape(&uri, u->path);
    buf_text(&uri, immutable ? "?immutable=1" : "");
    int r = open_file(u, uri.data, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, e);
    if (r == 0 && (r = read_format(u, e)) == 0)
        return err_set(e, E_INVALID, "%s is empty: it is no usage store", u->path);
    return r < 0 ? r : prepare(u, SINCE, e);
}

static struct usage_store *store_new(const char *path)
{
    struct usage_store *u = mem_zero(1, sizeof *u);
    u->path = mem_text(path);
    return u;
}

int usage_open(const char *path, struct usage_store **ret_u, struct err *e)
{
    struct usage_store *u = store_new(path);
    int r = open_to_write(u, e);
    if (r < 0) {
        usage_close(u);
        return r;
    }
    *ret_u = u;
    return 0;
}

int usage_open_to_read(const char *path, struct usage_store **ret_u, struct err *e)
{
    if (access(path, R_OK) < 0)
        return err_errno(e, errno, "usage store %s", path);
    struct usage_store *u = store_new(path);
    int r = open_to_read(u, false, e);
    int said = r < 0 ? sqlite3_errcode(u->db) : SQLITE_OK;
    if (said == SQLITE_CANTOPEN || said == SQLITE_READONLY) {
        usage_close(u);
        u = store_new(path);
        r = open_to_read(u, true, e);
    }
    if (r < 0) {
        usage_close(u);
        return r;
    }
    *ret_u = u;
    return 0;
}

void usage_close(struct usage_store *u)
{
    if (!u)
        return;
    for (int i = 0; i < STATEMENTS_N; i++)
        sqlite3_finalize(u->statements[i]);
    sqlite3_close(u->db);
    free(u->path);
    free(u);
}

/* ---- writing ---- */

static void bind_text(sqlite3_stmt *st, int at, const char *text)
{
    sqlite3_bind_text(st, at, text ? text : "", -1, SQLITE_STATIC);
}

static bool run(sqlite3_stmt *st)
{
    bool ok = sqlite3_step(st) == SQLITE_DONE;
    (void)sqlite3_reset(st); /* repeats the error of step, which is taken already */
    return ok;
}

/* What one writing of totals adds, and the totals that the next one is compared with. */
struct step {
    double more[SUMS_N], totals[SUMS_N];
};

/* A second is what two texts of one time may differ by. Without starting times, a total that goes back has begun again. */
static bool began_again(double started_s, double start_s, bool went_back)
{
    return started_s > 0 && start_s > 0 ? start_s > started_s + 1 : went_back;
}

static struct step step_of(struct usage_store *u, const struct usage_record *r)
{
    const double now[SUMS_N] = {
#define X(name) r->name,
        SUMS(X)
#undef X
    };
    struct step step;
    double last[SUMS_N] = {0}, started_s = 0;
    sqlite3_stmt *st = u->statements[LAST];
    bind_text(st, 1, r->uid);
    if (sqlite3_step(st) == SQLITE_ROW) {
        for (int i = 0; i < SUMS_N; i++)
            last[i] = sqlite3_column_double(st, i);
        started_s = sqlite3_column_double(st, SUMS_N);
    }
    (void)sqlite3_reset(st);
    for (int i = 0; i < SUMS_N; i++) {
        double from = began_again(started_s, r->start_s, now[i] < last[i]) ? 0 : last[i];
        step.totals[i] = now[i] > from ? now[i] : from;
        step.more[i] = step.totals[i] - from;
    }
    return step;
}

static bool put_slice(struct usage_store *u, const char *uid, const struct step *step, int64_t hour)
{
    bool any = false;
    sqlite3_stmt *st = u->statements[SLICE];
    bind_text(st, 1, uid);
    sqlite3_bind_int64(st, 2, hour);
    for (int i = 0; i < SUMS_N; i++) {
        sqlite3_bind_double(st, 3 + i, step->more[i]);
        any |= step->more[i] > 0;
    }
    return !any || run(st);
}

static bool put_pod(struct usage_store *u, const struct usage_record *r, const struct step *step)
{
    const char *const texts[] = {r->uid, r->ns, r->pod, r->job, r->queue, r->user, r->node, r->device_kind};
    const double numbers[] = {r->start_s, r->end_s, r->queue_wait_s, r->memory_high_bytes, r->memory_granted_bytes, r->idle_tail_s};
    enum { TEXTS_N = sizeof texts / sizeof *texts, NUMBERS_N = sizeof numbers / sizeof *numbers };
    sqlite3_stmt *st = u->statements[POD];
    for (int i = 0; i < TEXTS_N; i++)
        bind_text(st, 1 + i, texts[i]);
    for (int i = 0; i < NUMBERS_N; i++)
        sqlite3_bind_double(st, 1 + TEXTS_N + i, numbers[i]);
    for (int i = 0; i < SUMS_N; i++)
        sqlite3_bind_double(st, 1 + TEXTS_N + NUMBERS_N + i, step->totals[i]);
    return run(st);
}

int usage_put(struct usage_store *u, const struct usage_record *records, uint32_t n, double now_s, struct err *e)
{
    if (n == 0)
        return 0;
    if (sqlite3_exec(u->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return store_err(u, e, "begin");
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++) {
        struct step step = step_of(u, &records[i]);
        ok = put_slice(u, records[i].uid, &step, (int64_t)floor(now_s / HOUR_S)) && put_pod(u, &records[i], &step);
    }
    if (ok && sqlite3_exec(u->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    int r = store_err(u, e, "write");
    (void)sqlite3_exec(u->db, "ROLLBACK", NULL, NULL, NULL); /* the write has failed: that is said */
    return r;
}

static bool put_capacity(struct usage_store *u, const struct usage_capacity *c, int64_t hour)
{
    sqlite3_stmt *st = u->statements[CAPACITY];
    sqlite3_bind_int64(st, 1, hour);
    bind_text(st, 2, c->node);
    bind_text(st, 3, c->model);
    sqlite3_bind_double(st, 4, c->gpu_s);
    return !(c->gpu_s > 0) || run(st);
}

int usage_put_capacity(struct usage_store *u, const struct usage_capacity *more, uint32_t n, double now_s, struct err *e)
{
    if (n == 0)
        return 0;
    if (sqlite3_exec(u->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return store_err(u, e, "begin");
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++)
        ok = put_capacity(u, &more[i], (int64_t)floor(now_s / HOUR_S));
    if (ok && sqlite3_exec(u->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    int r = store_err(u, e, "write");
    (void)sqlite3_exec(u->db, "ROLLBACK", NULL, NULL, NULL); /* the write has failed: that is said */
    return r;
}

int usage_prune(struct usage_store *u, double before_s, struct err *e)
{
    _cleanup_buf_ struct buf sql = {0};
    long long hour = (long long)floor(before_s / HOUR_S);
    buf_printf(&sql,
               "BEGIN; DELETE FROM slice WHERE hour < %lld; DELETE FROM pod WHERE uid NOT IN (SELECT uid FROM slice); "
               "DELETE FROM capacity WHERE hour < %lld; COMMIT",
               hour, hour);
    if (sqlite3_exec(u->db, sql.data, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    int r = store_err(u, e, "prune");
    (void)sqlite3_exec(u->db, "ROLLBACK", NULL, NULL, NULL); /* else nothing could be written any more */
    return r;
}

/* ---- reading ---- */

static const char *column_text(sqlite3_stmt *st, struct arena *a, int at)
{
    const char *text = (const char *)sqlite3_column_text(st, at);
    return arena_text_n(a, text ? text : "", text ? strlen(text) : 0);
}

static void read_record(sqlite3_stmt *st, struct arena *a, struct usage_record *r)
{
    const char **const texts[] = {&r->uid, &r->ns, &r->pod, &r->job, &r->queue, &r->user, &r->node, &r->device_kind};
    double *const numbers[] = {
        &r->start_s, &r->end_s, &r->queue_wait_s, &r->memory_high_bytes, &r->memory_granted_bytes, &r->idle_tail_s,
#define X(name) &r->name,
        SUMS(X)
#undef X
    };
    for (int i = 0; i < 8; i++)
        *texts[i] = column_text(st, a, i);
    for (int i = 0; i < (int)(sizeof numbers / sizeof *numbers); i++)
        *numbers[i] = sqlite3_column_double(st, 8 + i);
}

int usage_since(struct usage_store *u, struct arena *a, double since_s, double until_s,
                struct usage_record **ret_records, uint32_t *ret_n, struct err *e)
{
    struct usage_record *found = NULL;
    uint32_t n = 0, cap = 0;
    sqlite3_stmt *st = u->statements[SINCE];
    sqlite3_bind_int64(st, 1, (int64_t)floor(since_s / HOUR_S));
    sqlite3_bind_int64(st, 2, (int64_t)ceil(until_s / HOUR_S));
    int step;
    while ((step = sqlite3_step(st)) == SQLITE_ROW) {
        MEM_RESERVE(found, cap, n + 1);
        found[n] = (struct usage_record){0};
        read_record(st, a, &found[n++]);
    }
    (void)sqlite3_reset(st);
    int r = step == SQLITE_DONE ? 0 : store_err(u, e, "read");
    if (r == 0) {
        *ret_records = arena_alloc(a, (n ? n : 1) * sizeof *found);
        if (n)
            memcpy(*ret_records, found, n * sizeof *found);
        *ret_n = n;
    }
    free(found);
    return r;
}

int usage_capacity_since(struct usage_store *u, struct arena *a, double since_s, double until_s, struct usage_capacity **ret_rows,
                         uint32_t *ret_n, struct err *e)
{
    struct usage_capacity *found = NULL;
    uint32_t n = 0, cap = 0;
    int step = SQLITE_DONE;
    sqlite3_stmt *st = u->statements[CAPACITY_SINCE];
    if (st) {
        sqlite3_bind_int64(st, 1, (int64_t)floor(since_s / HOUR_S));
        sqlite3_bind_int64(st, 2, (int64_t)ceil(until_s / HOUR_S));
        while ((step = sqlite3_step(st)) == SQLITE_ROW) {
            MEM_RESERVE(found, cap, n + 1);
            const char *node = column_text(st, a, 0), *model = column_text(st, a, 1);
            found[n++] = (struct usage_capacity){node, model, sqlite3_column_double(st, 2)};
        }
        (void)sqlite3_reset(st);
    }
    int r = step == SQLITE_DONE ? 0 : store_err(u, e, "read");
    if (r == 0) {
        *ret_rows = arena_alloc(a, (n ? n : 1) * sizeof *found);
        if (n)
            memcpy(*ret_rows, found, n * sizeof *found);
        *ret_n = n;
    }
    free(found);
    return r;
}

bool usage_begin(struct usage_store *u, double *ret_s)
{
    sqlite3_stmt *st = u->statements[BEGIN];
    bool known = sqlite3_step(st) == SQLITE_ROW && sqlite3_column_type(st, 0) != SQLITE_NULL;
    if (known)
        *ret_s = (double)sqlite3_column_int64(st, 0) * HOUR_S;
    (void)sqlite3_reset(st);
    return known;
}
