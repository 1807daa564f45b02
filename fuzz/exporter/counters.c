/* counters.c - a counters file: refused with a line and a reason, or fields in order, each once, that mean the same when they are written
 * again */
#include <string.h>
#include "exporter/pages/page.h"
#include "../fuzz.h"

/* As CSV. The quotes of a cell are doubled. */
static void cell(struct buf *out, const char *text, char end)
{
    buf_char(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            buf_char(out, '"');
        buf_char(out, *text);
    }
    buf_char(out, '"');
    buf_char(out, end);
}

static const char *type_of(const struct page_counter *c)
{
    return c->is_label                     ? "label"
           : c->type == PROMETHEUS_GAUGE   ? "gauge"
           : c->type == PROMETHEUS_COUNTER ? "counter"
                                           : "summary";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf again = {0}, warnings = {0};
    struct page_counter *list, *second;
    uint32_t n, second_n;
    struct err e = {0};
    if (page_counters_parse(a, (struct bytes){(const char *)data, size}, false, &list, &n, &warnings, &e) < 0) {
        MUST_HOLD(text_starts(e.text, "line "));
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        MUST_HOLD(i == 0 || list[i - 1].field->id < list[i].field->id);
        cell(&again, list[i].name, ',');
        cell(&again, type_of(&list[i]), ',');
        cell(&again, list[i].help, '\n');
    }
    MUST_HOLD(page_counters_parse(a, buf_view(&again), true, &second, &second_n, NULL, &e) == 0 && second_n == n);
    for (uint32_t i = 0; i < n; i++)
        MUST_HOLD(second[i].field == list[i].field && second[i].type == list[i].type &&
                  second[i].is_label == list[i].is_label && strcmp(second[i].name, list[i].name) == 0 &&
                  strcmp(second[i].help, list[i].help) == 0);
    return 0;
}
