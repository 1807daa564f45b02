/* view_files.c - the page's own files, as they stand in the program: compressed when it was built, and named by their contents
 *
 * SOURCE web/, by scripts/embed-web.
 */
#include <zlib.h>
#include "base/memory.h"
#include "sched/view/view_part.h"
#include "web_files.h"

static const struct web_file *file_find(const char *name)
{
    for (unsigned i = 0; i < web_files_n; i++)
        if (text_equal(web_files[i].name, name))
            return &web_files[i];
    return NULL;
}

/* "gzip", "*", not "gzip;q=0". */
static bool takes_gzip(const struct http_request *r)
{
    const char *accepts = http_header(r, "accept-encoding"), *at = accepts ? strstr(accepts, "gzip") : NULL;
    return at && strncmp(at + strspn(at, "gzip "), ";q=0", 4) != 0;
}

static struct blob *unpacked(const struct web_file *f)
{
    struct buf out = {0};
    z_stream z = {.next_in = (Bytef *)f->packed, .avail_in = f->packed_n, .next_out = (Bytef *)buf_reserve(&out, f->n), .avail_out = f->n};
    struct blob *all = NULL;
    if (inflateInit2(&z, 15 + 16) == Z_OK && inflate(&z, Z_FINISH) == Z_STREAM_END)
        all = blob_new(out.data, f->n);
    (void)inflateEnd(&z);
    buf_free(&out);
    return all;
}

bool view_files_answer(struct http_exchange *x, const char *name)
{
    const struct web_file *f = file_find(*name ? name : "index.html");
    const char *known = http_header(&x->request, "if-none-match");
    if (!f)
        return false;
    http_set_header(x, "ETag", f->etag);
    http_set_header(x, "Cache-Control", "no-cache"); /* asked each time, answered with 304 */
    http_set_header(x, "Vary", "Accept-Encoding");
    if (known && strstr(known, f->etag)) {
        http_reply(x, 304, NULL, NULL);
    } else if (takes_gzip(&x->request)) {
        http_set_header(x, "Content-Encoding", "gzip");
        http_reply(x, 200, f->type, blob_new(f->packed, f->packed_n));
    } else {
        http_reply(x, 200, f->type, unpacked(f));
    }
    return true;
}
