/* sim_what_if.c - capstan sim what-if: who starts when, as things are and with a change */
#include "cli/sim/sim_what_if.h"
#include <stdio.h>
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/sim/what_if_objects.h"
#include "sched/ahead/what_if.h"

enum { TIMEOUT_MS = 60000, AT_ONCE_MS = 1000 };

static const struct output_column columns[] = {
    {"kind", "KIND", .is_key = true},
    {"namespace", "NAMESPACE", .is_key = true},
    {"name", "NAME", .is_key = true},
    {"before", "AS IT IS", .place = OUTPUT_FOR_PEOPLE},
    {"after", "THEN", .place = OUTPUT_FOR_PEOPLE},
    {"sooner", "SOONER", .place = OUTPUT_FOR_PEOPLE},
    {"before", "BEFORE", .place = OUTPUT_FOR_PROGRAMS},
    {"after", "AFTER", .place = OUTPUT_FOR_PROGRAMS},
    {"soonerSeconds", "SOONER S", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"new", "NEW", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
};
enum { COLUMNS_N = sizeof columns / sizeof *columns };

static const char *kind_of(const char *key)
{
    return text_starts(key, "workload/") ? "Workload" : text_starts(key, "pod/") ? "Pod" : "PodGroup";
}

static const char *in_words(struct arena *a, const struct what_if_start *s, bool is_there, int64_t now_ms)
{
    char age[TIME_TEXT_MAX];
    if (!is_there)
        return "-";
    if (!s->ms)
        return "not known";
    return s->ms <= now_ms + AT_ONCE_MS ? "at once" : arena_printf(a, "in %s", time_age(age, s->ms - now_ms));
}

static const char *as_time(struct arena *a, const struct what_if_start *s)
{
    char text[TIME_TEXT_MAX];
    return s->ms ? arena_printf(a, "\"%s\"", time_format(text, s->ms)) : "null";
}

static const char *difference(struct arena *a, int64_t ms)
{
    char age[TIME_TEXT_MAX];
    if (ms > -AT_ONCE_MS && ms < AT_ONCE_MS)
        return "-";
    return ms > 0 ? arena_text(a, time_age(age, ms)) : arena_printf(a, "later by %s", time_age(age, -ms));
}

static void add_row(struct output_table *t, const struct what_if_row *r, int64_t now_ms)
{
    struct arena *a = t->arena;
    const char *ns = strchr(r->key, '/') + 1, *name = strchr(ns, '/') + 1;
    bool both = r->before.ms && r->after.ms;
    int64_t sooner_ms = both ? r->before.ms - r->after.ms : 0;
    const char *cells[COLUMNS_N] = {kind_of(r->key),
                                    arena_text_n(a, ns, (size_t)(name - ns - 1)),
                                    name,
                                    in_words(a, &r->before, !r->is_new, now_ms),
                                    in_words(a, &r->after, true, now_ms),
                                    r->is_new ? "new" : both ? difference(a, sooner_ms) : NULL,
                                    as_time(a, &r->before),
                                    as_time(a, &r->after),
                                    both ? arena_printf(a, "%lld", (long long)sooner_ms / 1000) : NULL,
                                    r->is_new ? "true" : "false"};
    output_row(t, cells);
}

static int tell(const struct options *o, struct arena *a, const struct what_if *w)
{
    struct output_table t;
    output_init(&t, a, columns, COLUMNS_N);
    for (uint32_t i = 0; i < w->rows_n; i++)
        add_row(&t, &w->rows[i], w->now_ms);
    if (!w->rows_n && output_format_of(o) == OUTPUT_TABLE)
        fprintf(stderr, "nothing waits, as it is and then\n");
    output_print(&t, output_format_of(o));
    output_fini(&t);
    return EXIT_OK;
}

int sim_what_if_main(const struct options *o)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const char *file = option_text(o, OPT_SIM_CHANGE);
    struct connection c;
    struct err e = {0};
    struct what_if w;
    if (!file)
        return options_wrong(o, "want --change FILE: objects as for kubectl apply");
    int code = connection_open(&c, o, true);
    if (code != EXIT_OK)
        return code;
    const struct json *objects = what_if_objects(&c, a, file, &e);
    if (objects && what_if_run(c.loop, c.client, NULL, NULL, objects, TIMEOUT_MS, a, &w, &e) == 0)
        code = tell(o, a, &w);
    else
        code = connection_fail("sim", &e);
    connection_close(&c);
    return code;
}
