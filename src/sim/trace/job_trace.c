#include "sim/trace/job_trace.h"
#include <math.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/random.h"
#include "sim/trace/csv.h"

#define SECONDS_MOST 1000000000000 /* as a time of day: some 30,000 years */
#define RUN_MOST_S 1000000000      /* 31 years */
#define EXPECTED_MOST_MS 1e13

enum column { TIMESTAMP, DURATION, NUM_GPUS };

/* ---- cells ---- */

/* "12", "12.5": thousandths are kept, the rest is cut off. */
static int read_seconds(const struct csv *c, enum column column, struct bytes cell, int64_t most_s, int64_t *ret_ms, struct err *e)
{
    int64_t n = 0, scale = 1000;
    size_t at = 0;
    int shown = cell.n < 40 ? (int)cell.n : 40;
    if (cell.n && cell.data[0] == '-')
        return csv_wrong(c, column, e, "\"%.*s\" is less than 0", shown, cell.data);
    for (; at < cell.n && cell.data[at] >= '0' && cell.data[at] <= '9' && n <= most_s; at++)
        n = n * 10 + (cell.data[at] - '0');
    bool is_number = at > 0;
    if (n > most_s)
        return csv_wrong(c, column, e, "\"%.*s\": at most %lld is taken", shown, cell.data, (long long)most_s);
    n *= 1000;
    if (is_number && at < cell.n && cell.data[at] == '.')
        for (at++; at < cell.n && cell.data[at] >= '0' && cell.data[at] <= '9'; at++)
            n += (cell.data[at] - '0') * (scale /= 10);
    if (!is_number || at < cell.n)
        return csv_wrong(c, column, e, "\"%.*s\": want seconds, 0 or more%s", shown, cell.data,
                         column == TIMESTAMP ? ", or a time as 2017-10-09 07:01:55" : "");
    *ret_ms = n;
    return 0;
}

/* Seconds, or a time of day, which without a zone is UTC. */
static int read_time(const struct csv *c, struct bytes cell, bool *ret_is_date, int64_t *ret_ms, struct err *e)
{
    char text[TIME_TEXT_MAX];
    *ret_is_date = cell.n >= 10 && cell.data[4] == '-' && cell.data[7] == '-';
    if (!*ret_is_date)
        return read_seconds(c, TIMESTAMP, cell, SECONDS_MOST, ret_ms, e);
    size_t n = cell.n < sizeof text - 2 ? cell.n : 0;
    memcpy(text, cell.data, n);
    if (n > 10 && text[10] == ' ')
        text[10] = 'T';
    if (n && !memchr(text + 10, 'Z', n - 10) && !memchr(text + 10, '+', n - 10) && !memchr(text + 10, '-', n - 10))
        text[n++] = 'Z';
    if (!time_parse((struct bytes){text, n}, ret_ms))
        return csv_wrong(c, TIMESTAMP, e, "\"%.*s\": want seconds, or a time as 2017-10-09 07:01:55", cell.n < 40 ? (int)cell.n : 40,
                         cell.data);
    return 0;
}

static int read_gpus(const struct csv *c, struct bytes cell, int64_t most, int64_t *ret_n, struct err *e)
{
    int shown = cell.n < 40 ? (int)cell.n : 40;
    if (cell.n && cell.data[0] == '-')
        return csv_wrong(c, NUM_GPUS, e, "\"%.*s\" is less than 0", shown, cell.data);
    int r = csv_number(c, NUM_GPUS, cell, INT32_MAX, ret_n, e);
    if (r >= 0 && *ret_n > most)
        return csv_wrong(c, NUM_GPUS, e, "\"%.*s\": the cluster has %lld GPUs: leave the job out, or name a larger --cluster", shown,
                         cell.data, (long long)most);
    return r;
}

/* ---- rows ---- */

static int by_time(const void *left, const void *right)
{
    const struct job *a = left, *b = right;
    if (a->came_ms != b->came_ms)
        return a->came_ms < b->came_ms ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

struct reading {
    struct csv *csv;
    const char *path;
    int64_t gpus_most, last_ms;
    bool has_rows, are_dates;
};

static int take_row(struct job_trace *t, struct reading *r, const struct bytes *cells, struct err *e)
{
    struct job j = {.started_ms = -1, .row = t->jobs_n};
    int64_t gpus_n = 0;
    bool is_date = false;
    int code = read_time(r->csv, cells[TIMESTAMP], &is_date, &j.came_ms, e);
    if (code >= 0 && r->has_rows && is_date != r->are_dates)
        code = csv_wrong(r->csv, TIMESTAMP, e, "is %s, where the rows before have %s: want one of the two throughout",
                         is_date ? "a time of day" : "seconds", is_date ? "seconds" : "times of day");
    if (code >= 0)
        code = read_seconds(r->csv, DURATION, cells[DURATION], RUN_MOST_S, &j.runs_ms, e);
    if (code >= 0)
        code = read_gpus(r->csv, cells[NUM_GPUS], r->gpus_most, &gpus_n, e);
    if (code >= 0 && t->jobs_n == LIMIT_TRACE_JOBS)
        code =
            csv_wrong(r->csv, TIMESTAMP, e, "is of one job more than the %d that are taken: replay a part of the trace", LIMIT_TRACE_JOBS);
    if (code < 0)
        return code;
    t->late_n += r->has_rows && j.came_ms < r->last_ms;
    r->are_dates = is_date;
    r->last_ms = j.came_ms;
    r->has_rows = true;
    if (!gpus_n) {
        t->without_gpus_n++;
        return 0;
    }
    j.gpus_n = (uint32_t)gpus_n;
    j.expected_ms = j.runs_ms;
    MEM_RESERVE(t->jobs, t->cap, t->jobs_n + 1);
    t->jobs[t->jobs_n++] = j;
    return 0;
}

int job_trace_load(struct job_trace *t, const char *path, int64_t gpus_most, struct err *e)
{
    static const char *const columns[] = {"timestamp", "duration", "num_gpus", NULL};
    struct reading r = {.path = path, .gpus_most = gpus_most};
    struct bytes cells[CSV_ASKED_MAX];
    *t = (struct job_trace){0};
    int code = csv_open(path, columns, &r.csv, e);
    if (code < 0)
        return code;
    while ((code = csv_next(r.csv, cells, e)) > 0 && (code = take_row(t, &r, cells, e)) >= 0)
        ;
    csv_close(r.csv);
    if (code >= 0 && !t->jobs_n)
        code = err_set(e, E_INVALID, "%s: %s", path, r.has_rows ? "no row asks for a GPU" : "no rows below line 1: want one for each job");
    if (code < 0) {
        job_trace_fini(t);
        return code;
    }
    qsort(t->jobs, t->jobs_n, sizeof *t->jobs, by_time);
    int64_t first_ms = t->jobs[0].came_ms;
    for (uint32_t i = 0; i < t->jobs_n; i++)
        t->jobs[i].came_ms -= first_ms;
    return 0;
}

void job_trace_fini(struct job_trace *t)
{
    free(t->jobs);
    *t = (struct job_trace){0};
}

void job_trace_expect(struct job_trace *t, double error, uint64_t seed)
{
    struct random random = {seed};
    double width = log(error);
    for (uint32_t i = 0; i < t->jobs_n; i++) {
        double drawn = 2 * ((double)(random_next(&random) >> 11) / 9007199254740992.0) - 1; /* -1 to 1 */
        double expected = (double)t->jobs[i].runs_ms * exp(drawn * width);
        t->jobs[i].expected_ms = error > 1 ? (int64_t)fmin(expected, EXPECTED_MOST_MS) : t->jobs[i].runs_ms;
    }
}
