/* jobs.c - capstan jobs: every job of every kind as one list: gang, accelerators, state, waiting time; those that somebody wants to see */
#include "cli/lookup/job_list.h"
#include <fnmatch.h>
#include <stdio.h>
#include "base/clock.h"
#include "cli/cli.h"

static const struct output_column columns[] = {
    {"namespace", "NAMESPACE", .is_number = false},
    {"kind", "KIND", .is_number = false},
    {"name", "NAME", .is_number = false},
    {"gang", "GANG", .is_number = true, .place = OUTPUT_FOR_PEOPLE},
    {"gang", "GANG", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"gangAsked", "ASKED", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"gangFewest", "FEWEST", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"running", "RUNNING", .is_number = true},
    {"gpus", "GPUS", .is_number = true},
    {"state", "STATE", .is_number = false},
    {"wait", "WAIT", .is_number = false},
    {"waitSeconds", "WAIT S", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"queue", "QUEUE", .is_number = false},
    {"age", "AGE", .is_number = false},
    {"ageSeconds", "AGE S", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"priority", "PRIORITY", .is_number = true, .wide = true},
    {"user", "USER", .wide = true},
    {"nodes", "NODES", .wide = true, .place = OUTPUT_FOR_PEOPLE},
    {"nodes", "NODES", .place = OUTPUT_FOR_PROGRAMS},
    {"message", "MESSAGE", .wide = true},
};
enum { COLUMNS_N = sizeof columns / sizeof *columns };

struct jobs_view {
    struct output_table *t;
    const struct options *o;
    int64_t now_ms;
};

static const char *or_null(const char *text)
{
    return text && *text ? text : NULL;
}

static const char *number(struct arena *a, int64_t n)
{
    return arena_printf(a, "%lld", (long long)n);
}

/* One of `patterns`, by commas, as file names are matched, whatever the case; NULL: all are wanted. */
static bool is_wanted(struct arena *a, const char *patterns, const char *text)
{
    for (const char *end; patterns; patterns = *end ? end + 1 : NULL) {
        end = strchrnul(patterns, ',');
        if (fnmatch(arena_text_n(a, patterns, (size_t)(end - patterns)), text ? text : "", FNM_CASEFOLD) == 0)
            return true;
        if (!*end)
            return false;
    }
    return true;
}

static bool is_on_wanted_node(struct arena *a, const char *patterns, const struct json *nodes)
{
    JSON_EACH (node, nodes)
        if (is_wanted(a, patterns, node->key))
            return true;
    return !patterns;
}

static bool line_wanted(const struct jobs_view *v, const struct job_line *line)
{
    struct arena *a = v->t->arena;
    return is_wanted(a, option_text(v->o, OPT_JOBS_NAME), line->name) && is_wanted(a, option_text(v->o, OPT_JOBS_STATE), line->state) &&
           is_wanted(a, option_text(v->o, OPT_JOBS_QUEUE), line->queue) && is_wanted(a, option_text(v->o, OPT_JOBS_USER), line->user) &&
           is_on_wanted_node(a, option_text(v->o, OPT_JOBS_NODE), line->nodes);
}

static void line_add(void *context, const struct job_line *line)
{
    struct jobs_view *v = context;
    struct arena *a = v->t->arena;
    char wait[TIME_TEXT_MAX], age[TIME_TEXT_MAX];
    if (!line_wanted(v, line))
        return;
    int64_t age_ms = line->created_ms && line->created_ms < v->now_ms ? v->now_ms - line->created_ms : 0; /* malformed: as if new */
    int64_t from_ms = line->queued_ms ? line->queued_ms : v->now_ms - age_ms, until_ms = line->started_ms ? line->started_ms : v->now_ms,
            waited_ms = until_ms > from_ms ? until_ms - from_ms : 0;
    bool known = line->started_ms || !line->idle, may_shrink = line->size.fewest_n < line->size.asked_n;
    const char *gang = number(a, line->gang_n);
    const char *cells[COLUMNS_N] = {line->ns,
                                    line->kind,
                                    line->name,
                                    may_shrink ? gang_size_text(a, line->size) : gang,
                                    gang,
                                    may_shrink ? number(a, line->size.asked_n) : gang,
                                    may_shrink ? number(a, line->size.fewest_n) : gang,
                                    number(a, line->running_n),
                                    number(a, line->devices_n),
                                    line->state,
                                    known ? time_age(wait, waited_ms) : NULL,
                                    known ? number(a, waited_ms / 1000) : NULL,
                                    or_null(line->queue),
                                    time_age(age, age_ms),
                                    number(a, age_ms / 1000),
                                    line->priority_known ? number(a, line->priority) : NULL,
                                    or_null(line->user),
                                    output_keys_text(a, line->nodes),
                                    output_keys_json(a, line->nodes),
                                    or_null(line->message)};
    output_row(v->t, cells);
}

static void job_rows(struct connection *c, struct output_table *t, const struct options *o, struct err *e)
{
    /* ORDER of the words of --sort: the columns by whose numbers or texts rows are put in order. */
    static const char *const keys[] = {"name", "state", "gpus", "waitSeconds", "ageSeconds", "priority", "queue", "user", "running"};
    struct jobs_view v = {.t = t, .o = o, .now_ms = loop_wall_ms(c->loop)};
    const char *unread = job_list_find(c, t->arena, line_add, &v, e);
    if (unread && !e->code)
        fprintf(stderr, "capstan jobs: not shown, since you may not list them: %s\n", unread);
    int sort = option_word(o, OPT_JOBS_SORT);
    if (sort >= 0)
        output_sort(t, keys[sort], option_flag(o, OPT_JOBS_REVERSE));
}

int jobs_main(const struct options *o)
{
    return connection_print_table(o, columns, COLUMNS_N, job_rows);
}
