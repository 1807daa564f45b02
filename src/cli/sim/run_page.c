/* run_page.c - figures ─ GPUs in use ─ who had which GPU ─ queues ─ how full each node was ─ what happened, in lines */
#include "cli/sim/run_page.h"
#include <stdio.h>
#include <stdlib.h>
#include "wire/html/chart.h"

enum { KEY_MOST = 60, FACTS_MOST = 2000, QUEUES_MOST = 2 * HTML_COLOURS, SHADES_N = 180 };
#define HOUR_MS 3600000.0

static const char style[] =
    "td,td:first-child{text-align:left;vertical-align:top}td:first-child{white-space:nowrap;font-variant-numeric:tabular-nums}"
    ".unmet{color:#d64545;font-weight:600}";

struct page {
    struct buf *out;
    struct arena *a;
    const struct timeline *t;
    const struct run_result *r;
    uint32_t *order;     /* nodes as they are shown: node-2 before node-10 */
    uint32_t *first_row; /* by node: the row of its first GPU */
    uint32_t rows_n;
};

static struct chart over_time(const struct page *p, const char *label, const char *y_title, double y_most)
{
    return (struct chart){.label = label,
                          .x_title = "time since the beginning",
                          .y_title = y_title,
                          .x_most = (double)p->r->end_ms,
                          .y_most = y_most,
                          .x_is_time = true,
                          .y_is_count = true};
}

static const char *time_text(struct arena *a, int64_t ms)
{
    return arena_printf(a, "%lld:%02lld:%02lld.%lld", (long long)(ms / 3600000), (long long)(ms / 60000 % 60), (long long)(ms / 1000 % 60),
                        (long long)(ms % 1000 / 100));
}

/* ---- figures ---- */

static void add_cards(const struct page *p)
{
    const struct timeline_line *g = &p->t->gpus;
    double there_ms = 0, used_ms = 0;
    uint32_t over_n = 0, stops_n = 0;
    for (size_t i = 0; i < g->n; i++) {
        double span = (double)((i + 1 < g->n ? g->points[i + 1].at_ms : p->r->end_ms) - g->points[i].at_ms);
        there_ms += span * g->points[i].waiting_n;
        used_ms += span * g->points[i].running_n;
    }
    for (uint32_t i = 0; i < p->t->jobs_n; i++) {
        over_n += p->t->jobs[i]->ended;
        stops_n += p->t->jobs[i]->starts_n > 1 ? p->t->jobs[i]->starts_n - 1 : 0;
    }
    buf_text(p->out, "<div class=\"cards\">");
    html_card(p->out, "until the end", time_text(p->a, p->r->end_ms));
    html_card(p->out, "jobs over", arena_printf(p->a, "%u of %u", over_n, p->t->jobs_n));
    html_card(p->out, "GPU-hours in use", arena_printf(p->a, "%.1f", used_ms / HOUR_MS));
    if (there_ms > 0)
        html_card(p->out, "of all GPU time", arena_printf(p->a, "%.0f %%", 100 * used_ms / there_ms));
    html_card(p->out, "starts anew", arena_printf(p->a, "%u", stops_n));
    if (p->r->met_n + p->r->unmet_n)
        html_card(p->out, "expectations met", arena_printf(p->a, "%u of %u", p->r->met_n, p->r->met_n + p->r->unmet_n));
    buf_text(p->out, "</div>\n");
}

/* ---- over time ---- */

static struct chart_point *points_of(struct arena *a, const struct timeline_line *l, bool first)
{
    struct chart_point *points = arena_alloc(a, (l->n + 1) * sizeof *points);
    for (size_t i = 0; i < l->n; i++)
        points[i] = (struct chart_point){(double)l->points[i].at_ms, first ? l->points[i].waiting_n : l->points[i].running_n};
    return points;
}

static double most_of(const struct timeline_line *l, bool first)
{
    double most = 0;
    for (size_t i = 0; i < l->n; i++) {
        double v = first ? l->points[i].waiting_n : l->points[i].running_n;
        most = v > most ? v : most;
    }
    return most;
}

static void add_gpus(const struct page *p)
{
    const struct timeline_line *g = &p->t->gpus;
    struct chart c = over_time(p, "GPUs in use over time", "GPUs", most_of(g, true));
    const struct chart_line lines[] = {
        {.name = "there", .points = points_of(p->a, g, true), .points_n = g->n, .colour = 7, .is_level = true, .is_dashed = true},
        {.name = "in use", .points = points_of(p->a, g, false), .points_n = g->n, .is_level = true},
    };
    static const char *const names[] = {"in use", "there"};
    static const uint32_t colours[] = {0, 7};
    buf_text(p->out, "<h2>GPUs in use</h2>");
    chart_lines(p->out, &c, lines, 2);
    chart_key(p->out, names, colours, 2);
}

static void add_queues(const struct page *p)
{
    uint32_t n = p->t->queues_n < QUEUES_MOST ? p->t->queues_n : QUEUES_MOST, colours[QUEUES_MOST];
    struct chart_line lines[QUEUES_MOST];
    const char *names[QUEUES_MOST];
    double most = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct timeline_line *l = &p->t->queues[i];
        names[i] = *l->name ? l->name : "no queue";
        colours[i] = i;
        lines[i] = (struct chart_line){.name = names[i],
                                       .points = points_of(p->a, l, true),
                                       .points_n = l->n,
                                       .colour = i,
                                       .is_level = true,
                                       .is_dashed = i >= HTML_COLOURS};
        most = most_of(l, true) > most ? most_of(l, true) : most;
    }
    struct chart c = over_time(p, "Jobs that wait, by queue", "jobs", most);
    buf_text(p->out, "<h2>Jobs that wait</h2>");
    if (most > 0) {
        chart_lines(p->out, &c, lines, n);
        chart_key(p->out, names, colours, n);
    } else {
        buf_text(p->out, "<p>Nobody waits longer than a moment.</p>");
    }
    if (n < p->t->queues_n)
        buf_printf(p->out, "<p class=\"span\">%u of %u queues are drawn.</p>", n, p->t->queues_n);
}

/* ---- who had which GPU ---- */

static int by_version(const void *a, const void *b, void *arg)
{
    const struct timeline *t = arg;
    const uint32_t *x = a, *y = b;
    return strverscmp(t->nodes[*x].name, t->nodes[*y].name);
}

static void order_nodes(struct page *p)
{
    p->order = arena_alloc(p->a, (p->t->nodes_n + 1) * sizeof *p->order);
    for (uint32_t i = 0; i < p->t->nodes_n; i++)
        p->order[i] = i;
    qsort_r(p->order, p->t->nodes_n, sizeof *p->order, by_version, (void *)(uintptr_t)p->t);
}

static const char **name_rows(struct page *p)
{
    p->first_row = arena_alloc(p->a, (p->t->nodes_n + 1) * sizeof *p->first_row);
    p->rows_n = 0;
    for (uint32_t i = 0; i < p->t->nodes_n; i++) {
        p->first_row[p->order[i]] = p->rows_n;
        p->rows_n += p->t->nodes[p->order[i]].gpus_n;
    }
    const char **rows = arena_alloc(p->a, (p->rows_n + 1) * sizeof *rows);
    for (uint32_t i = 0; i < p->rows_n; i++)
        rows[i] = "";
    for (uint32_t i = 0; i < p->t->nodes_n; i++)
        if (p->t->nodes[i].gpus_n)
            rows[p->first_row[i]] = p->t->nodes[i].name;
    return rows;
}

static void add_who(struct page *p)
{
    const struct timeline *t = p->t;
    const char **rows = name_rows(p), *names[KEY_MOST];
    uint32_t colours[KEY_MOST], key_n = t->jobs_n < KEY_MOST ? t->jobs_n : KEY_MOST;
    struct chart_span *spans = arena_alloc(p->a, (t->spans_n + 1) * sizeof *spans);
    for (size_t i = 0; i < t->spans_n; i++) {
        const struct timeline_span *s = &t->spans[i];
        bool down = s->job == TIMELINE_DOWN;
        const char *text = "";
        if (i < CHART_SPANS)
            text = arena_printf(p->a, "%s, GPU %u of %s, %s to %s", down ? "not there" : t->jobs[s->job]->key, s->gpu,
                                t->nodes[s->node].name, time_text(p->a, s->from_ms), time_text(p->a, s->until_ms));
        spans[i] = (struct chart_span){p->first_row[s->node] + s->gpu, down ? CHART_HATCHED : s->job, (double)s->from_ms,
                                       (double)s->until_ms, text};
    }
    buf_text(p->out, "<h2>Who had which GPU</h2>");
    struct chart c = over_time(p, "Which job had which GPU, a row a GPU", "", 0);
    chart_spans(p->out, &c, rows, p->rows_n, spans, t->spans_n);
    for (uint32_t i = 0; i < key_n; i++) {
        names[i] = t->jobs[i]->key;
        colours[i] = i;
    }
    chart_key(p->out, names, colours, key_n);
    if (key_n < t->jobs_n)
        buf_printf(p->out, "<p class=\"span\">%u of %u jobs are named; colours repeat.</p>", key_n, t->jobs_n);
}

/* ---- how full ---- */

/* Adds the part of each of the SHADES_N times of a node that the span covers, by `share`. */
static void shade(double *row, const struct page *p, const struct timeline_span *s, double share)
{
    double width = (double)p->r->end_ms / SHADES_N, from = (double)s->from_ms / width, until = (double)s->until_ms / width;
    for (int i = (int)from; i < SHADES_N && i < until; i++) {
        double begin = from > i ? from : i, end = until < i + 1 ? until : i + 1;
        row[i] += (end - begin) * share;
    }
}

static void add_shades(const struct page *p)
{
    const struct timeline *t = p->t;
    uint32_t n = 0, *row_of = arena_alloc(p->a, (t->nodes_n + 1) * sizeof *row_of);
    const char **rows = arena_alloc(p->a, (t->nodes_n + 1) * sizeof *rows);
    for (uint32_t i = 0; i < t->nodes_n; i++) {
        const struct timeline_node *node = &t->nodes[p->order[i]];
        row_of[p->order[i]] = n;
        if (node->gpus_n)
            rows[n++] = node->name;
    }
    double *shades = mem_zero((size_t)n * SHADES_N + 1, sizeof *shades);
    for (size_t i = 0; i < t->spans_n && p->r->end_ms > 0; i++)
        if (t->spans[i].job != TIMELINE_DOWN)
            shade(shades + (size_t)row_of[t->spans[i].node] * SHADES_N, p, &t->spans[i], 1.0 / t->nodes[t->spans[i].node].gpus_n);
    struct chart c = over_time(p, "How much of each node's GPUs is in use, the darker the more", "", 0);
    buf_text(p->out, "<h2>How full each node is</h2>");
    chart_shades(p->out, &c, rows, n, shades, SHADES_N);
    free(shades);
}

/* ---- lines ---- */

static void add_facts(const struct page *p)
{
    size_t n = p->t->facts_n < FACTS_MOST ? p->t->facts_n : FACTS_MOST;
    buf_text(p->out, "<h2>What happened</h2><div class=\"table\"><table><tbody>");
    for (size_t i = 0; i < n; i++) {
        const struct timeline_fact *f = &p->t->facts[i];
        buf_printf(p->out, "<tr><td>%s</td><td%s>", time_text(p->a, f->at_ms), f->kind == TIMELINE_UNMET ? " class=\"unmet\"" : "");
        html_text(p->out, f->text);
        buf_text(p->out, "</td></tr>\n");
    }
    buf_text(p->out, "</tbody></table></div>");
    if (n < p->t->facts_n)
        buf_printf(p->out, "<p class=\"span\">%zu of %zu lines; --output json has all.</p>", n, p->t->facts_n);
}

void run_page(struct buf *out, struct arena *a, const char *title, const struct timeline *t, const struct run_result *r)
{
    struct page p = {.out = out, .a = a, .t = t, .r = r};
    html_begin(out, *title ? title : "A scenario", NULL, style);
    buf_printf(out, "<p class=\"span\">capstan sim run, on virtual time: %u nodes, %u jobs</p>", t->nodes_n, t->jobs_n);
    order_nodes(&p);
    add_cards(&p);
    add_gpus(&p);
    add_who(&p);
    add_queues(&p);
    add_shades(&p);
    add_facts(&p);
    html_end(out);
}
