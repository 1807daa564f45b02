/* textfile.c - write beside, sync, rename; remember which inode is ours */
#include "exporter/textfile.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/memory.h"

struct textfile {
    char *path, *temporary;
    bool keep, is_written;
    dev_t device; /* of the file that we wrote last */
    ino_t inode;
    struct timespec modified;
};

struct textfile *textfile_new(const char *path, bool keep)
{
    struct textfile *t = mem_zero(1, sizeof *t);
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    struct buf temporary = {0};
    /* node-exporter reads every name that ends in .prom: the temporary one must not. */
    buf_printf(&temporary, "%.*s.%s.%ld", (int)(name - path), path, name, (long)getpid());
    t->path = mem_text(path);
    t->temporary = buf_take(&temporary, NULL);
    t->keep = keep;
    return t;
}

/* Is the file at our path the one that we put there? */
static bool is_ours(const struct textfile *t)
{
    struct stat s;
    return t->is_written && stat(t->path, &s) == 0 && s.st_dev == t->device && s.st_ino == t->inode &&
           s.st_mtim.tv_sec == t->modified.tv_sec && s.st_mtim.tv_nsec == t->modified.tv_nsec;
}

void textfile_free(struct textfile *t)
{
    if (!t)
        return;
    if (!t->keep && is_ours(t))
        (void)unlink(t->path); /* gone already is as good */
    free(t->path);
    free(t->temporary);
    free(t);
}

static int write_whole(int fd, struct bytes page)
{
    for (size_t at = 0; at < page.n;) {
        ssize_t n = write(fd, page.data + at, page.n - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        at += (size_t)n;
    }
    return fsync(fd);
}

static int write_temporary(struct textfile *t, struct bytes page, struct err *e)
{
    _cleanup_close_ int fd = open(t->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0 && errno == ENOENT)
        return err_set(e, E_NOTFOUND,
                       "%s: the directory is missing: make it, or point node-exporter's "
                       "--collector.textfile.directory and this at the same place",
                       t->path);
    if (fd < 0)
        return err_errno(e, errno, "write %s", t->temporary);
    struct stat s;
    /* WHY  0644 whatever the umask: node-exporter is another user */
    if (write_whole(fd, page) < 0 || fchmod(fd, 0644) < 0 || fstat(fd, &s) < 0) {
        int saved = errno;
        (void)unlink(t->temporary);
        return err_errno(e, saved, "write %s", t->temporary);
    }
    t->device = s.st_dev;
    t->inode = s.st_ino;
    t->modified = s.st_mtim;
    return 0;
}

int textfile_write(struct textfile *t, struct bytes page, bool *ret_other_writer, struct err *e)
{
    bool other = t->is_written && access(t->path, F_OK) == 0 && !is_ours(t);
    t->is_written = false;
    int r = write_temporary(t, page, e);
    if (r < 0)
        return r;
    if (rename(t->temporary, t->path) < 0) {
        r = err_errno(e, errno, "rename %s to %s", t->temporary, t->path);
        (void)unlink(t->temporary);
        return r;
    }
    t->is_written = true;
    *ret_other_writer = other;
    return 0;
}
