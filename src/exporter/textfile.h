/* textfile.h - gpu_sessions.prom for node-exporter: written whole or not at all, removed when the agent ends
 *
 * <dir>/.gpu_sessions.prom.<pid> ─ fsync ─ rename ─▶ <dir>/gpu_sessions.prom. The directory must be there: it is the host's, never made.
 * SOURCE monitoring.md 7.1
 */
#ifndef EXPORTER_TEXTFILE_H
#define EXPORTER_TEXTFILE_H
#include "base/bytes.h"
#include "base/err.h"

struct textfile;
struct textfile *textfile_new(const char *path, bool keep); /* keep: not removed at the end */
void textfile_free(struct textfile *t);
/* -E_NOTFOUND directory missing, -E_IO full or read-only. A file that somebody else replaced since the last write is said once (warning). */
int textfile_write(struct textfile *t, struct bytes page, bool *ret_other_writer, struct err *e);

#endif
