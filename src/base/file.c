/* file.c - open, read to the end or to the limit; write beside and rename */
#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
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

static int write_all(int fd, struct bytes text)
{
    while (text.n) {
        ssize_t n = write(fd, text.data, text.n);
        if (n < 0 && errno != EINTR)
            return -1;
        text.data += n < 0 ? 0 : n;
        text.n -= n < 0 ? 0 : (size_t)n;
    }
    return 0;
}

int file_replace(const char *path, struct bytes text, mode_t mode, struct err *e)
{
    _cleanup_buf_ struct buf temporary = {0};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    buf_printf(&temporary, "%.*s.%s.new", (int)(name - path), path, name);
    _cleanup_close_ int fd = open(temporary.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return err_errno(e, errno, "write %s", path);
    if (write_all(fd, text) == 0 && fchmod(fd, mode) == 0 && fsync(fd) == 0 && rename(temporary.data, path) == 0)
        return 0;
    int saved = errno;
    (void)unlink(temporary.data); /* a disk that is full needs the room */
    return err_errno(e, saved, "write %s", path);
}
