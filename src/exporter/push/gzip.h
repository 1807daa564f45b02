/* gzip.h - bodies of text, packed */
#ifndef EXPORTER_GZIP_H
#define EXPORTER_GZIP_H
#include "base/bytes.h"

/* Append `in` as a gzip file. False: zlib has no memory; nothing is appended. */
bool gzip_add(struct buf *out, struct bytes in);

#endif
