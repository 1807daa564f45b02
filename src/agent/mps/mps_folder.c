/* mps_folder.c - directories and logs of one MPS control daemon */
#include "agent/mps/mps_folder.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/log.h"
#include "base/memory.h"

/* What unprivileged containers may use. SOURCE NVIDIA's plugin gives its pipe directories the same. */
static const char container_label[] = "system_u:object_r:container_file_t:s0";

static void label_set(const char *path)
{
    if (lsetxattr(path, "security.selinux", container_label, sizeof container_label, 0) < 0 && errno != ENOENT)
        log_warning("mps_selinux path=%s error=\"%s\"", path, strerror(errno));
}

/* The directory, for what comes into it, and what an earlier daemon has left there. */
static void open_to_containers(const char *path)
{
    if (access("/sys/fs/selinux/enforce", F_OK) < 0)
        return;
    label_set(path);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        char name[4400];
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        label_set(name);
    }
    if (d)
        (void)closedir(d);
}

int mps_folder_make(const char *path, bool for_containers, struct err *e)
{
    _cleanup_free_ char *copy = mem_text(path);
    for (char *at = copy + 1;; at++) {
        char was = *at;
        if (was && was != '/')
            continue;
        *at = '\0';
        if (mkdir(copy, 0755) < 0 && errno != EEXIST)
            return err_errno(e, errno, "make directory %s", copy);
        *at = was;
        if (!was)
            break;
    }
    if (for_containers)
        open_to_containers(path);
    return 0;
}

static int file_open(const char *path, int mode)
{
    struct stat s;
    int fd = open(path, mode | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd >= 0 && (fstat(fd, &s) < 0 || !S_ISREG(s.st_mode))) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

ssize_t mps_file_read(const char *path, char *to, size_t room)
{
    _cleanup_close_ int fd = file_open(path, O_RDONLY);
    size_t n = 0;
    while (fd >= 0 && n < room) {
        ssize_t got = read(fd, to + n, room - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    return fd < 0 ? -1 : (ssize_t)n;
}

static int log_open(const char *directory, const char *name, int mode, struct stat *ret_stat)
{
    char path[4400];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = file_open(path, mode);
    if (fd >= 0)
        (void)fstat(fd, ret_stat); /* it could be before */
    return fd;
}

off_t mps_log_bytes(const char *directory)
{
    struct stat s = {0};
    _cleanup_close_ int fd = log_open(directory, "control.log", O_RDONLY, &s);
    return fd < 0 ? 0 : s.st_size;
}

void mps_log_last(const char *directory, off_t from, char ret_line[MPS_LOG_LINE])
{
    struct stat s = {0};
    char text[1024];
    _cleanup_close_ int fd = log_open(directory, "control.log", O_RDONLY, &s);
    ret_line[0] = '\0';
    if (fd < 0 || s.st_size <= from)
        return;
    off_t start = s.st_size - from > (off_t)sizeof text ? s.st_size - (off_t)sizeof text : from;
    ssize_t n = pread(fd, text, sizeof text, start);
    while (n > 0 && (unsigned char)text[n - 1] <= ' ')
        n--;
    ssize_t line = n;
    while (line > 0 && text[line - 1] != '\n')
        line--;
    size_t length = n > line ? (size_t)(n - line) : 0;
    if (length > MPS_LOG_LINE - 1)
        length = MPS_LOG_LINE - 1;
    for (size_t i = 0; i < length; i++)
        ret_line[i] = (unsigned char)text[line + (ssize_t)i] < ' ' ? ' ' : text[line + (ssize_t)i];
    ret_line[length] = '\0';
}

/* WHY  Blocks, not size: a daemon that does not append leaves a hole where it was cut. */
void mps_log_trim(const char *directory)
{
    static const char *const names[] = {"control.log", "server.log"};
    for (size_t i = 0; i < 2; i++) {
        struct stat s = {0};
        _cleanup_close_ int fd = log_open(directory, names[i], O_WRONLY, &s);
        if (fd >= 0 && s.st_blocks > (blkcnt_t)(LIMIT_MPS_LOG_BYTES / 512) && ftruncate(fd, 0) < 0)
            log_warning("mps_log path=%s/%s error=\"%s\"", directory, names[i], strerror(errno));
    }
}
