/* jobs.c - capstan jobs: every job of every kind as one list: gang, accelerators, state, waiting time; those that somebody wants to see */
#include "cli/lookup/job_list.h"
#include <stdio.h>
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/history/finished_jobs.h"
#include "cli/history/usage_read.h"
#include "cli/live/lists.h"
#include "cli/lookup/start_text.h"
#include "cli/lookup/why_until.h"

static const struct output_column columns[] = {
    {"namespace", "NAMESPACE", .is_key = true},
    {"kind", "KIND", .is_key = true},
    {"name", "NAME", .is_key = true},
    {"gang", "GANG", .is_number = true, .place = OUTPUT_FOR_PEOPLE},
    {"gang", "GANG", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"gangAsked", "ASKED", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"gangFewest", "FEWEST", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"running", "RUNNING", .is_number = true},
    {"gpus", "GPUS", .is_number = true},
    {"state", "STATE", .is_number = false},
    {"wait", "WAIT", .ticks = true},
    {"waitSeconds", "WAIT S", .is_number = true, .ticks = true, .place = OUTPUT_FOR_PROGRAMS},
    {"queue", "QUEUE", .is_number = false},
    {"age", "AGE", .ticks = true},
    {"ageSeconds", "AGE S", .is_number = true, .ticks = true, .place = OUTPUT_FOR_PROGRAMS},
    {"priority", "PRIORITY", .is_number = true, .wide = true},
    {"user", "USER", .wide = true},
    {"nodes", "NODES", .wide = true, .place = OUTPUT_FOR_PEOPLE},
    {"nodes", "NODES", .place = OUTPUT_FOR_PROGRAMS},
    {"starts", "STARTS", .wide = true},
    {"startsBy", "STARTS BY", .wide = true},
    {"promised", "PROMISED", .wide = true},
    {"message", "MESSAGE", .wide = true},
    {"gpuShares", "GPU SHARES", .is_number = true, .wide = true},
};
enum { COLUMNS_N = sizeof columns / sizeof *columns };

struct jobs_view {
    struct connection *c;
    struct output_table *t;
    const struct options *o;
    int64_t now_ms, left_out_n; /* left_out_n: not as asked */
    struct json *left_out;      /* their states */
};

static const char *or_null(const char *text)
{
    return text && *text ? text : NULL;
}

static const char *number(struct arena *a, int64_t n)
{
    return arena_printf(a, "%lld", (long long)n);
}

static bool is_on_wanted_node(const char *patterns, const struct json *nodes)
{
    JSON_EACH (node, nodes)
        if (option_picks(patterns, node->key))
            return true;
    return !patterns;
}

static bool line_wanted(const struct jobs_view *v, const struct job_line *line)
{
    return option_picks(option_text(v->o, OPT_JOBS_NAME), line->name) && option_picks(option_text(v->o, OPT_JOBS_STATE), line->state) &&
           option_picks(option_text(v->o, OPT_JOBS_QUEUE), line->queue) && option_picks(option_text(v->o, OPT_JOBS_USER), line->user) &&
           is_on_wanted_node(option_text(v->o, OPT_JOBS_NODE), line->nodes);
}

/* Why it waits, as the scheduler has written it, where a column of that is shown; else NULL. */
static struct json *tree_of(const struct jobs_view *v, const struct job_line *line)
{
    bool asked = v->t->format != OUTPUT_TABLE && v->t->format != OUTPUT_NAME && line->reason && *line->reason;
    return asked ? json_parse(v->t->arena, bytes_of(line->reason), NULL, NULL) : NULL;
}

/* When a job that waits starts, as the scheduler expects it; NULL: not known. */
static const char *starts(const struct jobs_view *v, const struct job_line *line)
{
    return json_get_text(json_get(tree_of(v, line), "start"), "about", NULL);
}

/* From when on it has nodes and quota of its own; else NULL. */
static const char *promised(const struct jobs_view *v, const struct job_line *line)
{
    return json_get_text(start_promised(tree_of(v, line)), "about", NULL);
}

/* When a job that waits starts at the latest, where that is known; else NULL.
 * WHY  not for the short table: it asks for whoever holds what the job needs. Of each queue only the first one is told what would help. */
static const char *starts_by(const struct jobs_view *v, const struct job_line *line)
{
    struct arena *a = v->t->arena;
    char time[TIME_TEXT_MAX];
    struct json *remedies = json_get(tree_of(v, line), "remedies");
    why_until(v->c, a, remedies);
    int64_t ms = why_until_comes_ms(remedies);
    return ms ? arena_text(a, time_format(time, ms)) : NULL;
}

static void line_add(void *context, const struct job_line *line)
{
    struct jobs_view *v = context;
    struct arena *a = v->t->arena;
    char wait[TIME_TEXT_MAX], age[TIME_TEXT_MAX];
    if (!line_wanted(v, line)) {
        v->left_out_n++;
        if (line->state)
            json_set_bool(a, v->left_out, line->state, true);
        return;
    }
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
                                    number(a, line->asked.devices_n),
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
                                    starts(v, line),
                                    starts_by(v, line),
                                    promised(v, line),
                                    or_null(line->message),
                                    number(a, line->asked.shares_n)};
    output_row(v->t, cells);
}

static const char *none_as_asked(const struct jobs_view *v)
{
    struct arena *a = v->t->arena;
    const char *states = "", *jobs = arena_printf(a, "%lld job%s there, and none is as asked", (long long)v->left_out_n,
                                                  v->left_out_n == 1 ? " is" : "s are");
    JSON_EACH (state, v->left_out)
        states = arena_printf(a, "%s%s%s", states, *states ? ", " : "", state->key);
    return option_text(v->o, OPT_JOBS_STATE) ? arena_printf(a, "%s: their states are %s", jobs, states) : jobs;
}

static void job_rows(struct connection *c, struct output_table *t, const struct options *o, struct err *e)
{
    /* ORDER of the words of --sort: the columns by whose numbers or texts rows are put in order. */
    static const char *const keys[] = {"name", "state", "gpus", "waitSeconds", "ageSeconds", "priority", "queue", "user", "running"};
    struct jobs_view v = {.c = c, .t = t, .o = o, .now_ms = loop_wall_ms(c->loop), .left_out = json_new(t->arena, JSON_OBJECT)};
    const char *unread = job_list_find(c, t->arena, line_add, &v, e);
    if (unread)
        t->note = arena_printf(t->arena, "not shown, since you may not list them: %s", unread);
    if (!t->rows_n && v.left_out_n)
        t->empty = none_as_asked(&v);
    int sort = option_word(o, OPT_JOBS_SORT);
    if (sort >= 0)
        output_sort(t, keys[sort], option_flag(o, OPT_JOBS_REVERSE));
}

const struct live_list jobs_list = {columns, COLUMNS_N, job_rows};

/* ---- those that are over, from the usage store ---- */

static const struct output_column finished_columns[] = {
    {"namespace", "NAMESPACE", .is_number = false},
    {"kind", "KIND", .is_number = false},
    {"name", "NAME", .is_number = false},
    {"pods", "PODS", .is_number = true},
    {"allocatedHours", "GPU-H GIVEN", .is_number = true},
    {"activeHours", "GPU-H USED", .is_number = true},
    {"wait", "WAIT", .is_number = false},
    {"waitSeconds", "WAIT S", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"ran", "RAN", .is_number = false},
    {"runSeconds", "RAN S", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"ended", "ENDED", .is_number = false},
    {"queue", "QUEUE", .is_number = false},
    {"user", "USER", .is_number = false},
    {"started", "STARTED", .wide = true},
    {"nodes", "NODES", .wide = true, .place = OUTPUT_FOR_PEOPLE},
    {"nodes", "NODES", .place = OUTPUT_FOR_PROGRAMS},
};
enum { FINISHED_COLUMNS_N = sizeof finished_columns / sizeof *finished_columns };

static bool finished_wanted(const struct options *o, const struct finished_job *j, const char *ns)
{
    return (!ns || text_equal(j->ns, ns)) && option_picks(option_text(o, OPT_JOBS_NAME), j->name) &&
           option_picks(option_text(o, OPT_JOBS_QUEUE), j->queue) && option_picks(option_text(o, OPT_JOBS_USER), j->user) &&
           is_on_wanted_node(option_text(o, OPT_JOBS_NODE), j->nodes);
}

static void finished_row(struct output_table *t, const struct finished_job *j)
{
    struct arena *a = t->arena;
    char wait[TIME_TEXT_MAX], ran[TIME_TEXT_MAX], started[TIME_TEXT_MAX], ended[TIME_TEXT_MAX];
    bool known = j->wait_s >= 0;
    int64_t ran_ms = j->end_s > j->start_s ? (int64_t)((j->end_s - j->start_s) * 1000) : 0;
    const char *cells[FINISHED_COLUMNS_N] = {j->ns,
                                             j->is_pod ? "Pod" : "Job",
                                             j->name,
                                             number(a, j->pods_n),
                                             arena_printf(a, "%.3f", j->allocated_h),
                                             arena_printf(a, "%.3f", j->active_h),
                                             known ? time_age(wait, (int64_t)(j->wait_s * 1000)) : NULL,
                                             known ? number(a, (int64_t)j->wait_s) : NULL,
                                             time_age(ran, ran_ms),
                                             number(a, ran_ms / 1000),
                                             time_format(ended, (int64_t)(j->end_s * 1000)),
                                             or_null(j->queue),
                                             or_null(j->user),
                                             time_format(started, (int64_t)(j->start_s * 1000)),
                                             output_keys_text(a, j->nodes),
                                             output_keys_json(a, j->nodes)};
    output_row(t, cells);
}

/* ORDER of the words of --sort; NULL: it is nothing that the store keeps. Of a job that is over the age is since its end. */
enum { SORT_AGE = 4 };
static const char *const finished_keys[] = {"name", NULL, "allocatedHours", "waitSeconds", "ended", NULL, "queue", "user", NULL};

static int finished_print(const struct options *o, const char *ns, double since_s, double now_s)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct output_table t;
    struct err e = {0};
    struct usage_record *records;
    struct finished_job *jobs;
    const char *read_from, *store = option_text(o, OPT_JOBS_STORE);
    uint32_t records_n;
    int sort = option_word(o, OPT_JOBS_SORT), r = usage_read(store, a, since_s, now_s, &records, &records_n, &read_from, &e);
    if (r < 0) {
        fprintf(stderr, "capstan jobs: %s\n", e.text);
        return r == -E_NOTFOUND ? EXIT_NOT_FOUND : EXIT_FAILED;
    }
    output_init(&t, a, finished_columns, FINISHED_COLUMNS_N);
    uint32_t n = finished_jobs(a, records, records_n, since_s, now_s, &jobs);
    for (uint32_t i = 0; i < n; i++)
        if (finished_wanted(o, &jobs[i], ns))
            finished_row(&t, &jobs[i]);
    if (sort >= 0) /* who ended last is the youngest */
        output_sort(&t, finished_keys[sort], option_flag(o, OPT_JOBS_REVERSE) != (sort == SORT_AGE));
    output_print(&t, output_format_of(o));
    output_fini(&t);
    return EXIT_OK;
}

static int finished(const struct options *o)
{
    double now_s = (double)clock_wall_us() / 1e6, since_s;
    const char *since = option_text(o, OPT_JOBS_SINCE);
    int sort = option_word(o, OPT_JOBS_SORT);
    struct connection c;
    if (option_text(o, OPT_JOBS_STATE))
        return options_wrong(o, "--state: how a job ended is not in the usage store");
    if (option_flag(o, OPT_JOBS_WATCH))
        return options_wrong(o, "--watch: what is over does not change");
    if (sort >= 0 && !finished_keys[sort])
        return options_wrong(o, "--sort: with --finished use name, gpus, wait, age, queue or user");
    if (!usage_when(since, now_s, &since_s))
        return options_wrong(o, "--since: " USAGE_WHEN_WRONG);
    if (since_s >= now_s)
        return options_wrong(o, "--since lies in the future");
    int code = connection_open(&c, o, true); /* it says which namespace */
    if (code != EXIT_OK)
        return code;
    code = finished_print(o, c.ns, since_s, now_s);
    connection_close(&c);
    return code;
}

int jobs_main(const struct options *o)
{
    if (option_flag(o, OPT_JOBS_FINISHED))
        return finished(o);
    if (o->on_line[OPT_JOBS_SINCE] || o->on_line[OPT_JOBS_STORE])
        return options_wrong(o, "--since and --store go with --finished");
    return live_print_table(o, &jobs_list);
}
