#include "apiserver/store/store_wal.h"

#include <string.h>

#include "base/bytes.h"

#define VFS_NAME "capstan-wal"
#define WAL_BUFFER_BYTES (120u << 10) /* SQLite for Unix cannot write 128 KiB at once */

struct wal {
    sqlite3_file base;
    struct buf waiting; /* of the file from `at` on, not yet handed to the system */
    sqlite3_int64 at;
    bool is_new;   /* the header was written: the next sync reaches the disk */
    bool syncs;    /* all do */
    sqlite3_file *real; /* behind this struct */
};

static struct wal *wal_of(sqlite3_file *file)
{
    return (struct wal *)file;
}

/* What could not be written is not tried again: SQLite takes the commit back and writes other bytes there. */
static int flush(struct wal *w)
{
    struct bytes waiting = buf_view(&w->waiting);
    int r = waiting.n ? w->real->pMethods->xWrite(w->real, waiting.data, (int)waiting.n, w->at) : SQLITE_OK;
    buf_clear(&w->waiting);
    return r;
}

static int wal_write(sqlite3_file *file, const void *data, int n, sqlite3_int64 at)
{
    struct wal *w = wal_of(file);
    int r = SQLITE_OK;
    if (w->waiting.n && (at != w->at + (sqlite3_int64)w->waiting.n || w->waiting.n + (size_t)n > WAL_BUFFER_BYTES))
        r = flush(w);
    if (r != SQLITE_OK)
        return r;
    if (!w->waiting.n)
        w->at = at;
    w->is_new = w->is_new || at == 0;
    buf_add(&w->waiting, data, (size_t)n);
    return SQLITE_OK;
}

static int wal_read(sqlite3_file *file, void *out, int n, sqlite3_int64 at)
{
    struct wal *w = wal_of(file);
    int r = w->waiting.n && at + n > w->at ? flush(w) : SQLITE_OK;
    return r == SQLITE_OK ? w->real->pMethods->xRead(w->real, out, n, at) : r;
}

static int wal_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct wal *w = wal_of(file);
    int r = flush(w);
    return r == SQLITE_OK ? w->real->pMethods->xTruncate(w->real, size) : r;
}

static int wal_sync(sqlite3_file *file, int flags)
{
    struct wal *w = wal_of(file);
    int r = flush(w);
    if (r != SQLITE_OK || !(w->syncs || w->is_new))
        return r;
    w->is_new = false;
    return w->real->pMethods->xSync(w->real, flags);
}

static int wal_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
    struct wal *w = wal_of(file);
    int r = flush(w);
    return r == SQLITE_OK ? w->real->pMethods->xFileSize(w->real, ret_size) : r;
}

static int wal_close(sqlite3_file *file)
{
    struct wal *w = wal_of(file);
    int flushed = flush(w), closed = w->real->pMethods->xClose(w->real);
    buf_free(&w->waiting);
    return flushed != SQLITE_OK ? flushed : closed;
}

static int wal_lock(sqlite3_file *file, int level)
{
    return wal_of(file)->real->pMethods->xLock(wal_of(file)->real, level);
}

static int wal_unlock(sqlite3_file *file, int level)
{
    return wal_of(file)->real->pMethods->xUnlock(wal_of(file)->real, level);
}

static int wal_is_reserved(sqlite3_file *file, int *ret_reserved)
{
    return wal_of(file)->real->pMethods->xCheckReservedLock(wal_of(file)->real, ret_reserved);
}

static int wal_control(sqlite3_file *file, int op, void *arg)
{
    return wal_of(file)->real->pMethods->xFileControl(wal_of(file)->real, op, arg);
}

static int wal_sector_size(sqlite3_file *file)
{
    return wal_of(file)->real->pMethods->xSectorSize(wal_of(file)->real);
}

static int wal_characteristics(sqlite3_file *file)
{
    return wal_of(file)->real->pMethods->xDeviceCharacteristics(wal_of(file)->real);
}

static const sqlite3_io_methods wal_methods = {
    .iVersion = 1,
    .xClose = wal_close,
    .xRead = wal_read,
    .xWrite = wal_write,
    .xTruncate = wal_truncate,
    .xSync = wal_sync,
    .xFileSize = wal_size,
    .xLock = wal_lock,
    .xUnlock = wal_unlock,
    .xCheckReservedLock = wal_is_reserved,
    .xFileControl = wal_control,
    .xSectorSize = wal_sector_size,
    .xDeviceCharacteristics = wal_characteristics,
};

/* Other files are the default VFS's own. */
static int vfs_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *ret_flags)
{
    sqlite3_vfs *real = vfs->pAppData;
    if (!(flags & SQLITE_OPEN_WAL))
        return real->xOpen(real, name, file, flags, ret_flags);
    struct wal *w = wal_of(file);
    *w = (struct wal){.real = (sqlite3_file *)(w + 1)};
    int r = real->xOpen(real, name, w->real, flags, ret_flags);
    if (r == SQLITE_OK)
        w->base.pMethods = &wal_methods;
    else if (w->real->pMethods)
        (void)w->real->pMethods->xClose(w->real); /* the failure to open is the one to tell */
    return r;
}

const char *store_wal_vfs(void)
{
    static sqlite3_vfs vfs;
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    if (!real)
        return NULL;
    if (!vfs.zName) {
        vfs = *real; /* all but opening is as it is there: it asks nothing of the VFS that it is given but its files' size */
        vfs.zName = VFS_NAME;
        vfs.pNext = NULL;
        vfs.pAppData = real;
        vfs.szOsFile = (int)sizeof(struct wal) + real->szOsFile;
        vfs.xOpen = vfs_open;
        if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK)
            vfs.zName = NULL;
    }
    return vfs.zName;
}

void store_wal_sync(sqlite3 *db, bool on)
{
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) == SQLITE_OK && file && file->pMethods == &wal_methods)
        wal_of(file)->syncs = on;
}
