#include "apiserver/store/store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apiserver/store/store_wal.h"
#include "base/memory.h"

#define FILE_NAME "capstan.db"
#define FORMAT 1
#define CHECKPOINT_PAGES 2000

enum statement { BEGIN, COMMIT, ROLLBACK, PUT, REMOVE, KIND, COUNTER, STATEMENTS_N };
static const char *const statement_sql[STATEMENTS_N] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [PUT] = "INSERT OR REPLACE INTO object(id, kind, ns, name, rv, body) VALUES(?, ?, ?, ?, ?, ?)",
    [REMOVE] = "DELETE FROM object WHERE id = ?",
    [KIND] = "INSERT OR REPLACE INTO kind(id, name) VALUES(?, ?)",
    [COUNTER] = "INSERT OR REPLACE INTO meta(key, value) VALUES('counter', ?)",
};

struct store_file {
    char *dir;
    int lock_fd;
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENTS_N];
};

/* The lock is an advisory lock on the file "lock"; the kernel drops it when the holder dies, however it dies. */
static int lock_take(struct store_file *f, struct err *e)
{
    _cleanup_buf_ struct buf path = {0};
    buf_printf(&path, "%s/lock", f->dir);
    f->lock_fd = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (f->lock_fd < 0)
        return err_errno(e, errno, "open %s", path.data);
    if (flock(f->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        char pid[32] = "";
        ssize_t n = pread(f->lock_fd, pid, sizeof pid - 1, 0);
        pid[n > 0 ? n : 0] = 0;
        pid[strcspn(pid, "\n")] = 0;
        return err_set(e, E_AGAIN,
                       "data directory %s is in use by pid %s: stop that process or name another --data-dir", f->dir,
                       *pid ? pid : "(unknown)");
    }
    char text[32];
    int n = snprintf(text, sizeof text, "%d\n", (int)getpid());
    if (ftruncate(f->lock_fd, 0) < 0 || pwrite(f->lock_fd, text, (size_t)n, 0) != n)
        return err_errno(e, errno, "write %s", path.data);
    return 0;
}

static int file_err(struct store_file *f, struct err *e, const char *what)
{
    int code = f->db ? sqlite3_errcode(f->db) : SQLITE_CANTOPEN;
    const char *text = f->db ? sqlite3_errmsg(f->db) : "out of memory";
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        return err_set(e, E_IO, "%s/" FILE_NAME " is damaged (%s): move it away to start empty, or put a copy back",
                       f->dir, text);
    if (code == SQLITE_FULL)
        return err_set(e, E_IO, "%s/" FILE_NAME ": %s: disk is full: make room and try again", f->dir, what);
    return err_set(e, E_IO, "%s/" FILE_NAME ": %s: %s", f->dir, what, text);
}

static int exec(struct store_file *f, const char *sql, struct err *e)
{
    return sqlite3_exec(f->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : file_err(f, e, "prepare the file");
}

static int check_integrity(struct store_file *f, struct err *e)
{
    sqlite3_stmt *st = NULL;
    int r = 0;
    if (sqlite3_prepare_v2(f->db, "PRAGMA quick_check(1)", -1, &st, NULL) != SQLITE_OK ||
        sqlite3_step(st) != SQLITE_ROW)
        r = file_err(f, e, "check");
    else if (strcmp((const char *)sqlite3_column_text(st, 0), "ok") != 0)
        r = err_set(e, E_IO, "%s/" FILE_NAME " is damaged (%s): move it away to start empty, or put a copy back",
                    f->dir, (const char *)sqlite3_column_text(st, 0));
    sqlite3_finalize(st);
    return r;
}

static int number_read(struct store_file *f, const char *sql, int64_t *ret_value, struct err *e)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(f->db, sql, -1, &st, NULL) != SQLITE_OK)
        return file_err(f, e, "read");
    int step = sqlite3_step(st);
    if (step == SQLITE_ROW)
        *ret_value = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return step == SQLITE_ROW || step == SQLITE_DONE ? 0 : file_err(f, e, "read");
}

static int load_kinds(struct store_file *f, const struct store_file_load *load, struct err *e)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(f->db, "SELECT id, name FROM kind ORDER BY id", -1, &st, NULL) != SQLITE_OK)
        return file_err(f, e, "read kinds");
    int step;
    while ((step = sqlite3_step(st)) == SQLITE_ROW)
        load->kind(load->arg, (uint32_t)sqlite3_column_int64(st, 0), (const char *)sqlite3_column_text(st, 1));
    sqlite3_finalize(st);
    return step == SQLITE_DONE ? 0 : file_err(f, e, "read kinds");
}

static int load_objects(struct store_file *f, const struct store_file_load *load, struct err *e)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(f->db, "SELECT id, kind, ns, name, rv, body FROM object", -1, &st, NULL) != SQLITE_OK)
        return file_err(f, e, "read objects");
    int step, r = 0;
    while (r == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
        struct store_row row = {
            .id = sqlite3_column_int64(st, 0),
            .kind = (uint32_t)sqlite3_column_int64(st, 1),
            .ns = (const char *)sqlite3_column_text(st, 2),
            .name = (const char *)sqlite3_column_text(st, 3),
            .rv = (uint64_t)sqlite3_column_int64(st, 4),
        };
        row.body.data = sqlite3_column_blob(st, 5);
        row.body.n = (size_t)sqlite3_column_bytes(st, 5);
        r = load->object(load->arg, &row, e);
    }
    sqlite3_finalize(st);
    if (r < 0)
        return err_wrap(e, "%s/" FILE_NAME, f->dir);
    return step == SQLITE_DONE ? 0 : file_err(f, e, "read objects");
}

static int file_prepare(struct store_file *f, struct err *e)
{
    int r = exec(f,
                 "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
                 "CREATE TABLE IF NOT EXISTS kind(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
                 "CREATE TABLE IF NOT EXISTS object(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, ns TEXT NOT NULL, "
                 "name TEXT NOT NULL,"
                 " rv INTEGER NOT NULL, body BLOB NOT NULL);",
                 e);
    if (r < 0)
        return r;
    int64_t format = FORMAT;
    r = number_read(f, "SELECT value FROM meta WHERE key = 'format'", &format, e);
    if (r < 0)
        return r;
    if (format != FORMAT)
        return err_set(e, E_INVALID,
                       "%s/" FILE_NAME " has format %lld, this program reads %d: use the program that wrote it", f->dir,
                       (long long)format, FORMAT);
    r = exec(f, "INSERT OR IGNORE INTO meta(key, value) VALUES('format', 1)", e);
    if (r < 0)
        return r;
    for (int i = 0; i < STATEMENTS_N; i++)
        if (sqlite3_prepare_v3(f->db, statement_sql[i], -1, SQLITE_PREPARE_PERSISTENT, &f->statements[i], NULL) !=
            SQLITE_OK)
            return file_err(f, e, "prepare");
    return 0;
}

/* The log is copied into the file when it is long. One that fails is tried again at the next commit: the log has it all. */
static int committed(void *arg, sqlite3 *db, const char *name, int pages_n)
{
    (void)arg;
    if (pages_n < CHECKPOINT_PAGES)
        return SQLITE_OK;
    store_wal_sync(db, true);
    (void)sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    store_wal_sync(db, false);
    return SQLITE_OK;
}

static int file_open(struct store_file *f, struct err *e)
{
    if (mkdir(f->dir, 0700) < 0 && errno != EEXIST)
        return err_errno(e, errno, "make data directory %s", f->dir);
    int r = lock_take(f, e);
    if (r < 0)
        return r;
    _cleanup_buf_ struct buf path = {0};
    buf_printf(&path, "%s/" FILE_NAME, f->dir);
    /* WHY  Secrets are in it, and SQLite would make it readable for everybody; its log takes the file's mode. */
    int fd = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(e, errno, "open %s", path.data);
    (void)close(fd); /* before SQLite opens it: a later close would drop SQLite's locks; fails for nothing written */
    if (sqlite3_open_v2(path.data, &f->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, store_wal_vfs()) !=
        SQLITE_OK)
        return file_err(f, e, "open");
    r = exec(f,
             "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-1024;"
             "PRAGMA temp_store=MEMORY; PRAGMA locking_mode=EXCLUSIVE;",
             e);
    if (r < 0)
        return r;
    (void)sqlite3_wal_hook(f->db, committed, f);
    r = check_integrity(f, e);
    return r < 0 ? r : file_prepare(f, e);
}

int store_file_open(const char *dir, const struct store_file_load *load, uint64_t *ret_counter,
                    struct store_file **ret_f, struct err *e)
{
    struct store_file *f = mem_zero(1, sizeof *f);
    f->dir = mem_text(dir);
    f->lock_fd = -1;
    int64_t counter = 0;
    int r = file_open(f, e);
    if (r == 0)
        r = number_read(f, "SELECT value FROM meta WHERE key = 'counter'", &counter, e);
    if (r == 0)
        r = load_kinds(f, load, e);
    if (r == 0)
        r = load_objects(f, load, e);
    if (r < 0) {
        store_file_close(f);
        return r;
    }
    *ret_counter = (uint64_t)counter;
    *ret_f = f;
    return 0;
}

void store_file_close(struct store_file *f)
{
    if (!f)
        return;
    for (int i = 0; i < STATEMENTS_N; i++)
        sqlite3_finalize(f->statements[i]);
    if (f->db)
        store_wal_sync(f->db, true); /* it copies the log, and removes it */
    sqlite3_close(f->db);
    fd_close_p(&f->lock_fd);
    free(f->dir);
    free(f);
}

static int run(struct store_file *f, enum statement which, const char *what, struct err *e)
{
    sqlite3_stmt *st = f->statements[which];
    int step = sqlite3_step(st);
    int r = step == SQLITE_DONE ? 0 : file_err(f, e, what);
    (void)sqlite3_reset(st); /* repeats the error of step, which is taken already */
    return r;
}

int store_file_begin(struct store_file *f, struct err *e)
{
    return run(f, BEGIN, "begin", e);
}

int store_file_kind(struct store_file *f, uint32_t id, const char *name, struct err *e)
{
    sqlite3_stmt *st = f->statements[KIND];
    sqlite3_bind_int64(st, 1, id);
    sqlite3_bind_text(st, 2, name, -1, SQLITE_STATIC);
    return run(f, KIND, "write kind", e);
}

int store_file_put(struct store_file *f, const struct store_row *row, struct err *e)
{
    sqlite3_stmt *st = f->statements[PUT];
    sqlite3_bind_int64(st, 1, row->id);
    sqlite3_bind_int64(st, 2, row->kind);
    sqlite3_bind_text(st, 3, row->ns, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 4, row->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 5, (sqlite3_int64)row->rv);
    sqlite3_bind_blob64(st, 6, row->body.data, row->body.n, SQLITE_STATIC);
    return run(f, PUT, "write object", e);
}

int store_file_remove(struct store_file *f, int64_t id, struct err *e)
{
    sqlite3_bind_int64(f->statements[REMOVE], 1, id);
    return run(f, REMOVE, "remove object", e);
}

int store_file_commit(struct store_file *f, uint64_t counter, struct err *e)
{
    sqlite3_bind_int64(f->statements[COUNTER], 1, (sqlite3_int64)counter);
    int r = run(f, COUNTER, "write counter", e);
    return r < 0 ? r : run(f, COMMIT, "commit", e);
}

void store_file_rollback(struct store_file *f)
{
    (void)run(f, ROLLBACK, "roll back", NULL); /* fails when SQLite rolled back by itself already */
}
