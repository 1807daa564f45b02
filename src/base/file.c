/* file.c - open, read to the end or to the limit */
#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "base/memory.h"

#define READ_BYTES 16384

static int read_all(int fd, const char *path, size_t max_bytes, struct buf *out, struct err *e)
{
    size_t before_n = out->n;
    for (;;) {
        ssize_t n = read(fd, buf_reserve(out, READ_BYTES), READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, errno, "%s", path);
        out->n += (size_t)n;
        *buf_reserve(out, 1) = '\0';
        if (n == 0)
            return 0;
        if (out->n - before_n > max_bytes)
            return err_set(e, E_LIMIT, "%s: larger than %zu bytes", path, max_bytes);
    }
}

int file_read(const char *path, size_t max_bytes, struct buf *out, struct err *e)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? err_errno(e, errno, "%s", path) : read_all(fd, path, max_bytes, out, e);
}

int file_read_input(const char *path, size_t max_bytes, struct buf *out, struct err *e)
{
    if (path[0] == '-' && !path[1])
        return read_all(STDIN_FILENO, "standard input", max_bytes, out, e);
    return file_read(path, max_bytes, out, e);
}
