/* folder.c - see folder.h */
#include "sim/folder.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/memory.h"

#define WALK_FDS 16

int folder_make(const char *path, mode_t mode, struct err *e)
{
    _cleanup_free_ char *part = mem_text(path);
    for (char *slash = *part ? strchr(part + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0777) < 0 && errno != EEXIST)
            return err_errno(e, errno, "make directory %s", part);
        *slash = '/';
    }
    if (mkdir(path, mode) < 0 && errno != EEXIST)
        return err_errno(e, errno, "make directory %s", path);
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    (void)remove(path); /* what stays keeps the folders above it */
    return 0;
}

void folder_remove(const char *path)
{
    (void)nftw(path, remove_entry, WALK_FDS, FTW_DEPTH | FTW_PHYS); /* not there: nothing to remove */
}

int folder_write_file(const char *path, mode_t mode, struct bytes text, struct err *e)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0 || write(fd, text.data, text.n) != (ssize_t)text.n)
        return err_errno(e, errno, "write %s", path);
    return 0;
}
