/* doctor_say.c - findings, and lists that checks look at */
#include <stdarg.h>
#include "cli/doctor/doctor.h"

static const char *const level_words[] = {"ok", "note", "unknown", "fault"};

void doctor_say(struct doctor *d, enum doctor_level level, const char *about, const char *todo, const char *format, ...)
{
    _cleanup_buf_ struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    d->levels_n[level]++;
    if (level == DOCTOR_OK && !d->all)
        return;
    const char *cells[] = {level_words[level], about, text.data, todo};
    output_row(&d->table, cells);
}

const struct json *doctor_items(struct doctor *d, const char *about, const char *path)
{
    struct err e = {0};
    const struct json *list = connection_get(&d->c, d->a, path, &e);
    if (e.code && e.code != E_NOTFOUND)
        doctor_say(d, DOCTOR_UNKNOWN, about, e.code == E_DENIED ? "ask as somebody who may, or have the rights given" : NULL, "%s", e.text);
    return list ? json_get(list, "items") : NULL;
}
