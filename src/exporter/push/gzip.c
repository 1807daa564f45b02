/* gzip.c - see gzip.h */
#include "exporter/push/gzip.h"
#include <zlib.h>

bool gzip_add(struct buf *out, struct bytes in)
{
    enum { WINDOW_GZIP = 15 + 16, MEMORY_LEVEL = 8 };
    z_stream z = {0};
    /* WHY  level 1: labels repeat so much that it makes a tenth of a page, in a quarter of the time of level 6 */
    if (deflateInit2(&z, 1, Z_DEFLATED, WINDOW_GZIP, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    size_t bound = deflateBound(&z, in.n);
    z.next_in = (unsigned char *)(uintptr_t)in.data;
    z.avail_in = (unsigned)in.n;
    z.next_out = (unsigned char *)buf_reserve(out, bound);
    z.avail_out = (unsigned)bound;
    bool whole = deflate(&z, Z_FINISH) == Z_STREAM_END;
    (void)deflateEnd(&z); /* says only whether all was read */
    out->n += whole ? bound - z.avail_out : 0;
    return whole;
}
