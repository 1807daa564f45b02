/* file_text.h - a small file as text */
#ifndef EXPORTER_FILE_TEXT_H
#define EXPORTER_FILE_TEXT_H
#include "base/bytes.h"

/* Append the whole file. -E_NOTFOUND, -E_DENIED, -E_IO; -E_LIMIT: it is longer than max_bytes. */
int file_text_read(const char *path, size_t max_bytes, struct buf *out, struct err *e);
/* Write all of it, to the disk. 0, or -1 with errno. */
int file_text_write(int fd, struct bytes text);

#endif
