/* jobs_page.c - figures ─ waits by size ─ GPUs in use over time ─ how many wait */
#include "cli/sim/jobs_page.h"
#include <stdlib.h>
#include "wire/html/chart.h"

enum { TIMES_N = 600 };
#define HOUR_MS 3600000.0

/* Jobs of so many GPUs and more, up to the next. */
static const uint32_t sizes[] = {1, 2, 4, 8, 16, 32, 64, 128};
enum { SIZES_N = sizeof sizes / sizeof *sizes };

static const char *hours(struct arena *a, double ms)
{
    return ms < HOUR_MS / 10 ? arena_printf(a, "%.1f min", ms / 60000) : arena_printf(a, "%.2f h", ms / HOUR_MS);
}

static void add_cards(struct buf *out, struct arena *a, const struct job_result *r)
{
    buf_text(out, "<div class=\"cards\">");
    html_card(out, "jobs", arena_printf(a, "%u", r->all.jobs_n));
    html_card(out, "mean wait", hours(a, r->all.wait.mean_ms));
    html_card(out, "median wait", hours(a, (double)r->all.wait.median_ms));
    html_card(out, "mean until it is done", hours(a, r->all.completion.mean_ms));
    if (r->large.jobs_n)
        html_card(out, arena_printf(a, "mean wait of %d GPUs and more", JOB_LARGE_GPUS), hours(a, r->large.wait.mean_ms));
    html_card(out, "of all GPU time used", arena_printf(a, "%.1f %%", r->utilisation));
    buf_text(out, "</div>\n");
}

/* ---- by size ---- */

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static uint32_t size_of(uint32_t gpus_n)
{
    uint32_t i = 0;
    while (i + 1 < SIZES_N && gpus_n >= sizes[i + 1])
        i++;
    return i;
}

static void add_sizes(struct buf *out, struct arena *a, const struct job_trace *t)
{
    struct chart_bar bars[SIZES_N];
    uint32_t n = 0;
    int64_t *waits = mem_alloc((t->jobs_n + 1) * sizeof *waits);
    for (uint32_t size = 0; size < SIZES_N; size++) {
        uint32_t waits_n = 0;
        double sum = 0;
        for (uint32_t i = 0; i < t->jobs_n; i++)
            if (size_of(t->jobs[i].gpus_n) == size && t->jobs[i].started_ms >= 0) {
                waits[waits_n] = t->jobs[i].started_ms - t->jobs[i].came_ms;
                sum += (double)waits[waits_n++];
            }
        if (!waits_n)
            continue;
        qsort(waits, waits_n, sizeof *waits, by_time);
        bool is_last = size + 1 == SIZES_N, is_one = !is_last && sizes[size + 1] == sizes[size] + 1;
        const char *name = is_last  ? arena_printf(a, "%u GPUs and more", sizes[size])
                           : is_one ? arena_printf(a, "%u GPU%s", sizes[size], sizes[size] == 1 ? "" : "s")
                                    : arena_printf(a, "%u to %u GPUs", sizes[size], sizes[size + 1] - 1);
        const char *text =
            arena_printf(a, "%s, median %s; %u jobs", hours(a, sum / waits_n), hours(a, (double)waits[waits_n / 2]), waits_n);
        bars[n++] = (struct chart_bar){.name = name, .text = text, .value = sum / waits_n};
    }
    free(waits);
    buf_text(out, "<h2>How long jobs wait, by size (mean)</h2>");
    chart_bars(out, "Mean wait by GPUs asked for", bars, n, 0);
}

/* ---- over time ---- */

/* Adds `amount` times the part of each time that [from, until) covers. */
static void spread(double *times, double width, double from, double until, double amount)
{
    from /= width;
    until /= width;
    for (int i = from < 0 ? 0 : (int)from; i < TIMES_N && i < until; i++)
        times[i] += amount * ((until < i + 1 ? until : i + 1) - (from > i ? from : i));
}

static void add_line(struct buf *out, struct arena *a, const char *heading, const char *y_title, const double *times, double width,
                     double y_most, uint32_t colour)
{
    struct chart_point *points = arena_alloc(a, TIMES_N * sizeof *points);
    for (int i = 0; i < TIMES_N; i++) {
        points[i] = (struct chart_point){(i + 0.5) * width, times[i]};
        y_most = times[i] > y_most ? times[i] : y_most;
    }
    const struct chart_line line = {.name = heading, .points = points, .points_n = TIMES_N, .colour = colour};
    struct chart c = {.label = heading,
                      .x_title = "time since the first job came",
                      .y_title = y_title,
                      .x_most = width * TIMES_N,
                      .y_most = y_most,
                      .x_is_time = true,
                      .y_is_count = true};
    buf_text(out, "<h2>");
    html_text(out, heading);
    buf_text(out, "</h2>");
    chart_lines(out, &c, &line, 1);
}

void jobs_page(struct buf *out, struct arena *a, const char *queue, const char *cluster, uint32_t gpus_n, const struct job_trace *t,
               const struct job_result *r)
{
    double *used = arena_zero(a, TIMES_N, sizeof *used), *waiting = arena_zero(a, TIMES_N, sizeof *waiting);
    double width = r->end_ms > 0 ? (double)r->end_ms / TIMES_N : 1;
    for (uint32_t i = 0; i < t->jobs_n; i++) {
        const struct job *j = &t->jobs[i];
        if (j->started_ms < 0)
            continue;
        spread(used, width, (double)j->started_ms, (double)(j->started_ms + j->runs_ms), j->gpus_n);
        spread(waiting, width, (double)j->came_ms, (double)j->started_ms, 1);
    }
    html_begin(out, "How long jobs wait", NULL, "");
    buf_text(out, "<p class=\"span\">capstan sim jobs: queue ");
    html_text(out, queue);
    buf_text(out, ", cluster ");
    html_text(out, cluster);
    buf_printf(out, "</p>\n");
    add_cards(out, a, r);
    add_sizes(out, a, t);
    add_line(out, a, "GPUs in use", "GPUs", used, width, gpus_n, 0);
    add_line(out, a, "Jobs that wait", "jobs", waiting, width, 0, 1);
    html_end(out);
}
