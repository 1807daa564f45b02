/* file.h - whole files: of bounded size into memory, and back */
#ifndef BASE_FILE_H
#define BASE_FILE_H
#include <sys/types.h>
#include "base/bytes.h"
#include "base/err.h"

/* Adds what the file holds to `out`, with a NUL behind it that is not counted. `out` is the caller's, also after an error; then it may hold
 * a part. 0; -E_LIMIT: more than max_bytes; -E_NOTFOUND, -E_DENIED, -E_IO as open and read say. Blocks; not for files that may stand
 * still. */
int file_read(const char *path, size_t max_bytes, struct buf *out, struct err *e);
/* The same; "-" is standard input. For commands. */
int file_read_input(const char *path, size_t max_bytes, struct buf *out, struct err *e);
/* Puts `text` where the file is, or will be: readers see the old or the new file, whole. mode: whatever the umask says. It is written as
 * ".NAME.new" beside it first, so one writer at a time; after an error that is gone. After a power cut the file is the old or the
 * new one: it waits for the disk, so not for what is written often. */
int file_replace(const char *path, struct bytes text, mode_t mode, struct err *e);

#endif
