/* textfile.c - write beside, sync, rename; remember which inode is ours */
#include "exporter/pages/textfile.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/memory.h"
#include "exporter/file_text.h"

enum { OPEN_TRIES = 3 };

struct textfile {
    char *path, *temporary;
    bool keep, is_written;
    dev_t device; /* of the file that we wrote last */
    ino_t inode;
    struct timespec modified;
    struct textfile_counts counts;
};

struct textfile *textfile_new(const char *path, bool keep)
{
    struct textfile *t = mem_zero(1, sizeof *t);
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    struct buf temporary = {0};
    /* node-exporter reads every name that ends in .prom: the temporary one must not. */
    buf_printf(&temporary, "%.*s.%s.new", (int)(name - path), path, name);
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

/* Does the name still stand for the file that is open? */
static bool is_named(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

/* 1: locked and empty, 0: another writer has renamed it meanwhile. */
static int temporary_take(const struct textfile *t, int fd, struct err *e)
{
    struct stat s;
    if (fstat(fd, &s) < 0 || !S_ISREG(s.st_mode) || s.st_nlink > 1)
        return err_set(e, E_INVALID, "%s: not a plain file with one name: remove it", t->temporary);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return err_set(e, E_AGAIN, "%s: another program is writing it", t->temporary);
    if (!is_named(fd, t->temporary))
        return 0;
    return ftruncate(fd, 0) == 0 ? 1 : err_errno(e, errno, "write %s", t->temporary);
}

static int temporary_open(const struct textfile *t, int *ret_fd, struct err *e)
{
    for (int i = 0; i < OPEN_TRIES; i++) {
        _cleanup_close_ int fd = open(t->temporary, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (fd < 0 && errno == ENOENT)
            return err_set(e, E_NOTFOUND,
                           "%s: the directory is missing: make it, or point node-exporter's "
                           "--collector.textfile.directory and this at the same place",
                           t->path);
        if (fd < 0)
            return err_errno(e, errno, "write %s", t->temporary);
        int r = temporary_take(t, fd, e);
        if (r < 0)
            return r;
        if (r > 0) {
            *ret_fd = fd;
            fd = -1;
            return 0;
        }
    }
    return err_set(e, E_AGAIN, "%s: another program is writing it", t->temporary);
}

static int write_and_rename(struct textfile *t, struct bytes page, struct err *e)
{
    _cleanup_close_ int fd = -1;
    struct stat s;
    int r = temporary_open(t, &fd, e);
    if (r < 0)
        return r;
    /* WHY  0644 whatever the umask: node-exporter is another user */
    if (file_text_write(fd, page) < 0 || fchmod(fd, 0644) < 0 || fstat(fd, &s) < 0 ||
        rename(t->temporary, t->path) < 0) {
        int saved = errno;
        (void)unlink(t->temporary);
        return err_errno(e, saved, "write %s", t->path);
    }
    t->device = s.st_dev;
    t->inode = s.st_ino;
    t->modified = s.st_mtim;
    return 0;
}

int textfile_write(struct textfile *t, struct bytes page, bool *ret_other_writer, struct err *e)
{
    bool other = t->is_written && access(t->path, F_OK) == 0 && !is_ours(t);
    int r = write_and_rename(t, page, e);
    if (r < 0) {
        t->counts.failed_n++;
        return r;
    }
    t->is_written = true;
    t->counts.written_n++;
    *ret_other_writer = other;
    return 0;
}

struct textfile_counts textfile_counts(const struct textfile *t)
{
    return t->counts;
}
