/* file_text.c - see file_text.h */
#include "exporter/file_text.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "base/memory.h"

int file_text_read(const char *path, size_t max_bytes, struct buf *out, struct err *e)
{
    enum { STEP_BYTES = 8192 };
    size_t before = out->n;
    /* WHY  a pipe in the place of the file must not stop the agent */
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_errno(e, errno, "open %s", path);
    for (;;) {
        ssize_t n = read(fd, buf_reserve(out, STEP_BYTES), STEP_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, errno, "read %s", path);
        if (n == 0)
            break;
        out->n += (size_t)n;
        if (out->n - before > max_bytes)
            return err_set(e, E_LIMIT, "%s: longer than %zu bytes", path, max_bytes);
    }
    buf_text(out, "");
    return 0;
}

int file_text_write(int fd, struct bytes text)
{
    for (size_t at = 0; at < text.n;) {
        ssize_t n = write(fd, text.data + at, text.n - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        at += (size_t)n;
    }
    return fsync(fd);
}
