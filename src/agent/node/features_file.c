/* features_file.c - one file, one timer that runs while the file is not what was asked for */
#include "agent/node/features_file.h"
#include <stdlib.h>
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"

#define WAIT_FIRST_MS 1000
#define WAIT_LONGEST_MS 60000

struct features_file {
    struct loop_timer *timer;
    char *path; /* NULL: no file is wanted */
    struct buf text;
    bool written;
    int64_t wait_ms; /* after a try that fails */
    struct err error; /* of the last try, as it was logged */
};

static void try_now(void *arg)
{
    struct features_file *f = arg;
    struct err e = {0};
    f->written = file_replace(f->path, buf_view(&f->text), 0644, &e) == 0;
    if (f->written && f->error.code)
        log_info("features file written again path=%s", f->path);
    if (!f->written) {
        if (!text_equal(f->error.text, e.text))
            log_warning("features file not written, trying again error=\"%s\"", e.text);
        loop_timer_start(f->timer, f->wait_ms, 0);
        f->wait_ms = f->wait_ms * 2 > WAIT_LONGEST_MS ? WAIT_LONGEST_MS : f->wait_ms * 2;
    }
    f->error = e;
}

struct features_file *features_file_new(struct loop *l)
{
    struct features_file *f = mem_zero(1, sizeof *f);
    f->timer = loop_timer_new(l, try_now, f);
    return f;
}

void features_file_free(struct features_file *f)
{
    if (!f)
        return;
    loop_timer_free(f->timer);
    buf_free(&f->text);
    free(f->path);
    free(f);
}

void features_file_set(struct features_file *f, const char *path, struct bytes text)
{
    char *copy = mem_text(path);
    free(f->path);
    f->path = copy;
    buf_clear(&f->text);
    buf_bytes(&f->text, text);
    f->wait_ms = WAIT_FIRST_MS;
    loop_timer_stop(f->timer);
    try_now(f);
}

void features_file_unset(struct features_file *f)
{
    loop_timer_stop(f->timer);
    free(f->path);
    f->path = NULL;
    f->error = (struct err){0};
}

bool features_file_written(const struct features_file *f)
{
    return !f->path || f->written;
}
