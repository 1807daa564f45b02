/* store_wal.h - SQLite's log (WAL), written once a commit
 *
 * WHY    SQLite writes header and body of each page on its own: some twenty calls for a commit of ten objects, each with the file
 *        system's whole way of writing. They lie one behind the other.
 * SHAPE  a VFS over the default one. Of a log, what is written in sequence waits in memory until SQLite asks to sync it, reads it, or
 *        WAL_BUFFER_BYTES are together. It is asked to sync at each commit (synchronous=FULL), which hands the bytes to the system and no
 *        further, as synchronous=NORMAL would; where that syncs, so does this: a new log's header, and the log before a checkpoint.
 */
#ifndef APISERVER_STORE_WAL_H
#define APISERVER_STORE_WAL_H
#include <sqlite3.h>
#include <stdbool.h>

/* The name to open a database with; registered at the first call. */
const char *store_wal_vfs(void);
/* While on, each sync of db's log reaches the disk. */
void store_wal_sync(sqlite3 *db, bool on);

#endif
