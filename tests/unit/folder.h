/* folder.h - a folder of a test's own. Include after cmocka.h. */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A new one under TMPDIR, or under /tmp where TMPDIR is too long for the path of a socket in it. 64 bytes are room for a name of 15. */
static inline void folder_make(char *ret_path, size_t size, const char *name)
{
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(ret_path, size, "%s/%s-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp", name);
    assert_non_null(mkdtemp(ret_path));
}

static inline int folder_remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

/* With all that is in it. */
static inline void folder_remove(const char *path)
{
    assert_int_equal(nftw(path, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

#endif
