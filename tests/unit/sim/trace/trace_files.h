/* trace_files.h - files of a trace, as tests write them, in a folder of their own */
#ifndef TEST_TRACE_FILES_H
#define TEST_TRACE_FILES_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../../folder.h"

static char trace_folder[64];

static inline const char *trace_file(const char *name, const char *text)
{
    static char paths[4][128];
    static int at;
    char *path = paths[at++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", trace_folder, name);
    FILE *f = text ? fopen(path, "w") : NULL;
    if (text) {
        assert_non_null(f);
        assert_true(fputs(text, f) >= 0);
        assert_int_equal(fclose(f), 0);
    }
    return path;
}

static inline int trace_folder_open(void **state)
{
    (void)state;
    folder_make(trace_folder, sizeof trace_folder, "trace");
    return 0;
}

static inline int trace_folder_close(void **state)
{
    (void)state;
    folder_remove(trace_folder);
    return 0;
}

#endif
