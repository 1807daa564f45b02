/* trace_page.c - figures ─ how full the GPUs get ─ what is left and of no use ─ who was accepted; a line a policy */
#include "cli/sim/trace_page.h"
#include "wire/html/chart.h"

/* What a moment is drawn by. */
enum curve { CURVE_ALLOCATION, CURVE_LOST_OF_LEFT, CURVE_LOST_OF_ALL };

static double value_of(const struct replay_moment *m, enum curve which)
{
    return which == CURVE_ALLOCATION ? m->allocation : which == CURVE_LOST_OF_LEFT ? m->fragmentation : m->fragmentation_of_all;
}

static struct chart_line line_of(struct arena *a, const struct trace_run *run, uint32_t colour, enum curve which, double *x_most,
                                 double *y_most)
{
    struct chart_point *points = arena_alloc(a, (REPLAY_CURVE + 1) * sizeof *points);
    size_t n = 0;
    for (int i = 0; i <= REPLAY_CURVE; i++) {
        const struct replay_moment *m = &run->result.curve[i];
        if (!m->seen)
            continue;
        points[n++] = (struct chart_point){i, value_of(m, which)};
        *x_most = i > *x_most ? i : *x_most;
        *y_most = value_of(m, which) > *y_most ? value_of(m, which) : *y_most;
    }
    return (struct chart_line){.name = run->policy, .points = points, .points_n = n, .colour = colour, .is_dashed = colour >= HTML_COLOURS};
}

static void add_curves(struct buf *out, struct arena *a, double load, const struct trace_run *runs, uint32_t n, enum curve which,
                       const char *heading, const char *label)
{
    struct chart_line lines[TRACE_POLICIES];
    const char *names[TRACE_POLICIES];
    uint32_t colours[TRACE_POLICIES];
    double x_most = 0, y_most = 0;
    for (uint32_t i = 0; i < n; i++) {
        lines[i] = line_of(a, &runs[i], i, which, &x_most, &y_most);
        names[i] = runs[i].policy;
        colours[i] = i;
    }
    struct chart c = {.label = label,
                      .x_title = load > 0 ? "arrivals, % of all" : "asked for, % of the cluster's GPUs",
                      .y_title = "%",
                      .x_most = x_most,
                      .y_most = which == CURVE_LOST_OF_ALL ? y_most : 100};
    buf_text(out, "<h2>");
    html_text(out, heading);
    buf_text(out, "</h2>");
    chart_lines(out, &c, lines, n);
    chart_key(out, names, colours, n);
}

static void add_number(struct buf *out, double value)
{
    if (value < 0)
        buf_text(out, "<td>–</td>");
    else
        buf_printf(out, "<td>%.2f</td>", value);
}

static void add_table(struct buf *out, double load, const struct trace_run *runs, uint32_t n)
{
    buf_text(out, "<h2>In numbers</h2><div class=\"table\"><table><thead><tr><th>policy</th><th>");
    buf_text(out, load > 0 ? "allocated, mean %" : "allocated at the end, %");
    if (load <= 0)
        buf_text(out, "</th><th>allocated at 100 %</th><th>useless at 100 %, of what is left");
    buf_text(out, "</th><th>found no place</th><th>decisions</th><th>median, µs</th></tr></thead><tbody>");
    for (uint32_t i = 0; i < n; i++) {
        const struct replay_result *r = &runs[i].result;
        int at = 0;
        for (int k = 0; k < REPLAY_POINTS; k++)
            at = replay_points[k] == 100 ? k : at;
        buf_text(out, "<tr><td>");
        html_text(out, runs[i].policy);
        buf_text(out, "</td>");
        add_number(out, load > 0 ? r->allocation_mean : r->allocation_end);
        if (load <= 0) {
            add_number(out, r->allocation[at]);
            add_number(out, r->fragmentation[at]);
        }
        buf_printf(out, "<td>%llu</td><td>%llu</td><td>%.1f</td></tr>", (unsigned long long)r->failed_n, (unsigned long long)r->decisions_n,
                   (double)r->p50_ns / 1000);
    }
    buf_text(out, "</tbody></table></div>\n");
}

static void add_accepted(struct buf *out, const struct trace_run *runs, uint32_t n)
{
    buf_text(out, "<h2>Accepted, %, by GPUs asked for</h2><div class=\"table\"><table><thead><tr><th>policy</th><th>part</th>");
    for (int gpus = 0; gpus < REPLAY_GPUS; gpus++)
        if (runs[0].result.came_n[gpus])
            buf_printf(out, "<th>%d</th>", gpus);
    buf_text(out, "</tr></thead><tbody>");
    for (uint32_t i = 0; i < n; i++) {
        const struct replay_result *r = &runs[i].result;
        buf_text(out, "<tr><td>");
        html_text(out, runs[i].policy);
        buf_text(out, "</td>");
        add_number(out, r->parts_came_n ? 100.0 * (double)r->parts_accepted_n / (double)r->parts_came_n : -1);
        for (int gpus = 0; gpus < REPLAY_GPUS; gpus++)
            if (r->came_n[gpus])
                add_number(out, 100.0 * (double)r->accepted_n[gpus] / (double)r->came_n[gpus]);
        buf_text(out, "</tr>");
    }
    buf_text(out, "</tbody></table></div>\n");
}

void trace_page(struct buf *out, struct arena *a, const struct trace *t, double load, const struct trace_run *runs, uint32_t n)
{
    html_begin(out, "What policies make of a trace", NULL, "");
    buf_printf(out, "<p class=\"span\">capstan sim trace: %u nodes, %.0f GPUs, %u pods in the trace", t->nodes_n,
               (double)t->gpu_milli / 1000, t->pods_n);
    if (load > 0)
        buf_printf(out, "; they come and go, and ask for %.0f %% of the GPUs at any time", load * 100);
    buf_text(out, "</p>\n");
    add_curves(out, a, load, runs, n, CURVE_ALLOCATION, "Allocated, % of all GPUs", "GPUs allocated by what has been asked for");
    add_curves(out, a, load, runs, n, CURVE_LOST_OF_LEFT, "Of no use to who may come, % of what is left",
               "GPUs that are left and of no use, of those that are left");
    add_curves(out, a, load, runs, n, CURVE_LOST_OF_ALL, "Of no use, % of all GPUs", "GPUs that are left and of no use, of all");
    add_table(out, load, runs, n);
    add_accepted(out, runs, n);
    html_end(out);
}
