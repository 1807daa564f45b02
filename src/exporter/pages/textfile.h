/* textfile.h - gpu_sessions.prom for node-exporter: written whole or not at all, removed when the agent ends
 *
 *     <dir>/.gpu_sessions.prom.new ─ lock ─ write ─ fsync ─ rename ─▶ <dir>/gpu_sessions.prom
 *
 * The directory must be there: it is the host's, never made. The first name is always the same, so that what a crash leaves is written over
 * by the next; two writers (an agent and a cron job) are kept apart by its lock. It must be a plain file with one name: never a way to
 * another.
 * SOURCE node-exporter, textfile collector
 */
#ifndef EXPORTER_TEXTFILE_H
#define EXPORTER_TEXTFILE_H
#include "base/bytes.h"
#include "base/err.h"

struct textfile;
struct textfile_counts {
    uint64_t written_n, failed_n;
};
struct textfile *textfile_new(const char *path, bool keep); /* keep: not removed at the end */
void textfile_free(struct textfile *t);
/* -E_NOTFOUND directory missing, -E_AGAIN another one is writing, -E_INVALID something else has its name, -E_DENIED, -E_IO full or
 * read-only: the file is as it was. ret_other_writer: somebody else has replaced the file since the last write. */
int textfile_write(struct textfile *t, struct bytes page, bool *ret_other_writer, struct err *e);
struct textfile_counts textfile_counts(const struct textfile *t);

#endif
