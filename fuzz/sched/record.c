/* record.c - changes as a recording holds them: refused, or a record that is written and read again to the same bytes */
#include <string.h>
#include "../fuzz.h"
#include "sched/record/change_io.h"

/* All that the bytes hold, one after the other; what was read is written to `out`. */
static size_t read_all(struct bytes text, struct buf *out)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct intern *names = intern_new();
    struct change_io in = {.reading = true, .names = names, .arena = a, .at = text.data, .end = text.data + text.n};
    struct change_io back = {.names = names, .out = out};
    size_t n = 0;
    while (in.at < in.end) {
        struct change c = {0};
        size_t before = out->n;
        change_io_change(&in, &c);
        if (in.bad)
            break;
        change_io_change(&back, &c);
        MUST_HOLD(out->n > before);
        n++;
    }
    change_io_fini(&in);
    change_io_fini(&back);
    intern_free(names);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_buf_ struct buf first = {0}, second = {0};
    size_t n = size ? read_all((struct bytes){(const char *)data, size}, &first) : 0;
    MUST_HOLD((first.n ? read_all(buf_view(&first), &second) : 0) == n);
    MUST_HOLD(first.n == second.n && (first.n == 0 || memcmp(first.data, second.data, first.n) == 0));
    return 0;
}
