/* file.h - whole files of bounded size into memory */
#ifndef BASE_FILE_H
#define BASE_FILE_H
#include "base/bytes.h"
#include "base/err.h"

/* Adds what the file holds to `out`, with a NUL behind it that is not counted. `out` is the caller's, also after an error; then it may hold
 * a part. 0; -E_LIMIT: more than max_bytes; -E_NOTFOUND, -E_DENIED, -E_IO as open and read say. Blocks; not for files that may stand still. */
int file_read(const char *path, size_t max_bytes, struct buf *out, struct err *e);
/* The same; "-" is standard input. For commands. */
int file_read_input(const char *path, size_t max_bytes, struct buf *out, struct err *e);

#endif
