/* snappy.h - snappy's block format, which remote-write wants */
#ifndef EXPORTER_SNAPPY_H
#define EXPORTER_SNAPPY_H
#include "base/bytes.h"

/* Append `in` as one block. SOURCE google/snappy "format description" */
void snappy_add(struct buf *out, struct bytes in);

#endif
