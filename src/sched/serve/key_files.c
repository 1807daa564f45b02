#include "sched/serve/key_files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/memory.h"

enum { TRIES_MAX = 5 };

/* Up to `room` bytes; *ret_n also where it fails. */
static int read_up_to(int fd, char *to, size_t room, size_t *ret_n)
{
    for (*ret_n = 0; *ret_n < room;) {
        ssize_t got = read(fd, to + *ret_n, room - *ret_n);
        if (got == 0)
            return 0;
        if (got < 0 && errno != EINTR)
            return -errno;
        *ret_n += got < 0 ? 0 : (size_t)got;
    }
    return 0;
}

/* WHY  room for all that may be there: room that grows would leave copies of the key behind. */
static int read_file(int fd, const char *path, char **ret_text, struct err *e)
{
    size_t n = 0;
    char *room = mem_alloc(KEY_FILES_MAX_BYTES + 1);
    int r = read_up_to(fd, room, KEY_FILES_MAX_BYTES + 1, &n);
    if (r < 0)
        r = err_errno(e, -r, "%s", path);
    else if (n > KEY_FILES_MAX_BYTES)
        r = err_set(e, E_LIMIT, "%s: larger than %u bytes", path, KEY_FILES_MAX_BYTES);
    else
        *ret_text = mem_text_n(room, strnlen(room, n));
    explicit_bzero(room, n);
    free(room);
    return r;
}

/* WHY  nothing but a file, whatever is put there meanwhile: opening a pipe would stop the scheduler until somebody writes into it. */
static int read_text(const char *path, char **ret_text, struct err *e)
{
    struct stat about;
    _cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) < 0)
        return err_errno(e, errno, "open %s", path);
    if (!S_ISREG(about.st_mode))
        return err_set(e, E_INVALID, "%s is no regular file", path);
    return read_file(fd, path, ret_text, e);
}

static int read_pair(const char *cert_path, const char *key_path, struct key_pair *ret_pair, bool *ret_same, struct err *e)
{
    struct key_pair pair = {0};
    char *again = NULL;
    int r = read_text(cert_path, &pair.cert_pem, e);
    if (r == 0)
        r = read_text(key_path, &pair.key_pem, e);
    if (r == 0)
        r = read_text(cert_path, &again, e);
    *ret_same = r == 0 && strcmp(again, pair.cert_pem) == 0;
    free(again);
    if (*ret_same)
        *ret_pair = pair;
    else
        key_pair_free(&pair);
    return r;
}

int key_files_read(const char *cert_path, const char *key_path, struct key_pair *ret_pair, struct err *e)
{
    bool same = false;
    int r = 0;
    for (int i = 0; i < TRIES_MAX && r == 0 && !same; i++)
        r = read_pair(cert_path, key_path, ret_pair, &same, e);
    return r < 0 || same ? r : err_set(e, E_IO, "%s changes all the time", cert_path);
}

void key_pair_free(struct key_pair *p)
{
    if (p->key_pem)
        explicit_bzero(p->key_pem, strlen(p->key_pem));
    free(p->key_pem);
    free(p->cert_pem);
    *p = (struct key_pair){0};
}
