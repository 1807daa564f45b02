/* store_file.h - the SQLite file under a data directory: rows of objects, and the lock that keeps a second process out
 *
 * SHAPE  object(id, kind, ns, name, rv, body): id is the resourceVersion of the creation, unique and rising. kind(id, name).
 *        meta(key, value): "counter" = newest resourceVersion, "format" = 1.
 * WHY    WAL as with synchronous=NORMAL (store_wal.h): a commit survives the death of the process at any moment without an fsync a write.
 */
#ifndef APISERVER_STORE_FILE_H
#define APISERVER_STORE_FILE_H
#include <stdbool.h>
#include <stdint.h>
#include "base/bytes.h"
#include "base/err.h"

struct store_file;
struct store_row {
    int64_t id;
    uint32_t kind;
    const char *ns, *name;
    uint64_t rv;
    struct bytes body;
};
struct store_file_load {
    void (*kind)(void *arg, uint32_t id, const char *name);
    int (*object)(void *arg, const struct store_row *row, struct err *e);
    void *arg;
};
int store_file_open(const char *dir, const struct store_file_load *load, uint64_t *ret_counter,
                    struct store_file **ret_f, struct err *e);
void store_file_close(struct store_file *f); /* NULL-safe */
/* One transaction: begin, any number of put/remove/kind, commit or rollback. */
int store_file_begin(struct store_file *f, struct err *e);
int store_file_kind(struct store_file *f, uint32_t id, const char *name, struct err *e);
/* WHY  whole, also where one is there already: what it holds is not read first. */
int store_file_put(struct store_file *f, const struct store_row *row, struct err *e);
int store_file_remove(struct store_file *f, int64_t id, struct err *e); /* no error where there is none */
int store_file_commit(struct store_file *f, uint64_t counter, struct err *e);
void store_file_rollback(struct store_file *f);

#endif
