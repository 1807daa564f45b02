#include "sched/serve/key_files.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/memory.h"

enum { TRIES_MAX = 5 };

/* WHY  nothing but a file: opening a pipe would stop the scheduler until somebody writes into it. */
static int read_text(const char *path, char **ret_text, struct err *e)
{
    struct stat about;
    struct buf text = {0};
    if (stat(path, &about) < 0)
        return err_errno(e, errno, "open %s", path);
    if (!S_ISREG(about.st_mode))
        return err_set(e, E_INVALID, "%s is no regular file", path);
    int r = file_read(path, KEY_FILES_MAX_BYTES, &text, e);
    char *taken = buf_take(&text, NULL);
    if (r < 0)
        free(taken);
    else
        *ret_text = taken;
    return r;
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
