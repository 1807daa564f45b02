/* doctor.c - capstan doctor; see doctor.h */
#include "cli/doctor/doctor.h"
#include <stdio.h>
#include "cli/cli.h"

static const struct output_column columns[] = {
    {"level", "LEVEL", .is_number = false},
    {"about", "ABOUT", .is_number = false},
    {"finding", "FINDING", .is_number = false},
    {"todo", "WHAT TO DO", .is_number = false},
};

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
    const uint32_t *n = d->levels_n;
    (void)fflush(stdout); /* the list stands before its sum; output_finish says what is wrong with it */
    fprintf(stderr, "capstan doctor: %u check%s well, %u note%s, %u not known, %u fault%s\n", n[DOCTOR_OK], n[DOCTOR_OK] == 1 ? "" : "s",
            n[DOCTOR_NOTE], n[DOCTOR_NOTE] == 1 ? "" : "s", n[DOCTOR_UNKNOWN], n[DOCTOR_FAULT], n[DOCTOR_FAULT] == 1 ? "" : "s");
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
