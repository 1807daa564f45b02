/* doctor.c - capstan doctor; see doctor.h */
#include "cli/doctor/doctor.h"
#include <stdarg.h>
#include <stdio.h>
#include "cli/cli.h"

static const char *const level_words[] = {"ok", "note", "unknown", "fault"};
static const struct output_column columns[] = {
    {"level", "LEVEL", .is_number = false},
    {"about", "ABOUT", .is_number = false},
    {"finding", "FINDING", .is_number = false},
    {"todo", "WHAT TO DO", .is_number = false},
};

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

static void look_at_cluster(struct doctor *d)
{
    if (!doctor_server(d))
        return;
    doctor_kinds(d);
    doctor_scheduler(d);
    doctor_nodes(d);
    doctor_rivals(d);
    doctor_queues(d);
    doctor_rights(d);
}

static int tell(struct doctor *d, const struct options *o)
{
    enum output_format format = output_format_of(o);
    if (d->table.rows_n || format > OUTPUT_WIDE)
        output_print(&d->table, format);
    fprintf(stderr, "capstan doctor: %u checks well, %u notes, %u not known, %u faults\n", d->levels_n[DOCTOR_OK], d->levels_n[DOCTOR_NOTE],
            d->levels_n[DOCTOR_UNKNOWN], d->levels_n[DOCTOR_FAULT]);
    return d->levels_n[DOCTOR_FAULT] ? EXIT_FAILED : EXIT_OK;
}

int doctor_main(const struct options *o)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct doctor d = {.a = a, .all = option_flag(o, OPT_DOCTOR_ALL)};
    bool node = option_flag(o, OPT_DOCTOR_NODE);
    if (o->on_line[OPT_DOCTOR_ROOT] && !node)
        return options_wrong(o, "--root goes with --node");
    int code = node ? EXIT_OK : connection_open(&d.c, o, true);
    if (code != EXIT_OK)
        return code;
    output_init(&d.table, a, columns, sizeof columns / sizeof *columns);
    if (node)
        doctor_host(&d, option_text(o, OPT_DOCTOR_ROOT));
    else
        look_at_cluster(&d);
    code = tell(&d, o);
    output_fini(&d.table);
    if (!node)
        connection_close(&d.c);
    return code;
}
