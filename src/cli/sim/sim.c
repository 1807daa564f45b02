/* sim.c - capstan sim trace: what a placement policy makes of a trace, through the core that schedules; and which verb it is */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "cli/sim/sim_jobs.h"
#include "cli/sim/sim_part.h"
#include "cli/sim/sim_run.h"
#include "cli/sim/sim_what_if.h"
#include "cli/sim/trace_page.h"
#include "codec/configuration/placement_policy.h"
#include "sim/trace/replay.h"

/* The policies that are given, or the default, each once and in their order. */
static uint32_t policies_of(const struct options *o, const char *ret_names[TRACE_POLICIES])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->given_n; i++) {
        bool again = o->given[i].id != OPT_SIM_POLICY;
        for (uint32_t k = 0; k < n && !again; k++)
            again = text_equal(ret_names[k], o->given[i].text);
        if (!again && n < TRACE_POLICIES)
            ret_names[n++] = o->given[i].text;
    }
    if (!n)
        ret_names[n++] = option_text(o, OPT_SIM_POLICY);
    return n;
}

/* ---- result ---- */

static void set_curve(struct arena *a, struct json *to, const char *key, const double points[REPLAY_POINTS])
{
    struct json *curve = json_ensure_object(a, to, key);
    for (int i = 0; i < REPLAY_POINTS; i++)
        sim_set_number(a, curve, arena_printf(a, "%d", replay_points[i]), points[i], 2);
}

static void set_accepted(struct arena *a, struct json *to, const struct replay_result *r)
{
    struct json *accepted = json_ensure_object(a, to, "accepted_by_gpus");
    if (r->parts_came_n)
        sim_set_number(a, accepted, "part", 100.0 * (double)r->parts_accepted_n / (double)r->parts_came_n, 2);
    for (int i = 0; i < REPLAY_GPUS; i++)
        if (r->came_n[i])
            sim_set_number(a, accepted, arena_printf(a, "%d", i), 100.0 * (double)r->accepted_n[i] / (double)r->came_n[i], 2);
}

static struct json *result_json(struct arena *a, const char *policy, const struct replay_options *given, const struct replay_result *r)
{
    struct json *root = json_new(a, JSON_OBJECT);
    json_set_text(a, root, "policy", policy);
    if (given->load > 0) {
        sim_set_number(a, root, "load", given->load, 3);
        sim_set_number(a, json_ensure_object(a, root, "allocation_percent"), "mean", r->allocation_mean, 2);
    } else {
        set_curve(a, root, "allocation_percent", r->allocation);
        sim_set_number(a, json_get(root, "allocation_percent"), "end", r->allocation_end, 3);
        set_curve(a, root, "fragmentation_percent", r->fragmentation);
        set_curve(a, root, "fragmentation_of_all_percent", r->fragmentation_of_all);
    }
    json_set_int64(a, root, "failed_pods", (int64_t)r->failed_n);
    json_set_int64(a, root, "decisions", (int64_t)r->decisions_n);
    sim_set_number(a, root, "decisions_per_second", r->decided_ns ? (double)r->decisions_n * 1e9 / (double)r->decided_ns : 0, 0);
    sim_set_number(a, root, "decisions_per_cpu_second", r->worked_ns ? (double)r->decisions_n * 1e9 / (double)r->worked_ns : 0, 0);
    struct json *latency = json_ensure_object(a, root, "latency_us");
    sim_set_number(a, latency, "p50", (double)r->p50_ns / 1000, 2);
    sim_set_number(a, latency, "p99", (double)r->p99_ns / 1000, 2);
    sim_set_number(a, latency, "max", (double)r->most_ns / 1000, 2);
    set_accepted(a, root, r);
    return root;
}

static void print_curve(const struct json *curve, const char *title)
{
    if (!curve)
        return;
    printf("%-34s", title);
    JSON_EACH (point, curve)
        if (point->type == JSON_NUMBER)
            printf("  %s: %s", point->key, point->text);
    printf("\n");
}

static void print_table(const struct json *root)
{
    static const struct {
        const char *key, *title;
    } rows[] = {{"allocation_percent", "allocated, % of all GPUs"},
                {"fragmentation_percent", "useless, % of what is left"},
                {"fragmentation_of_all_percent", "useless, % of all GPUs"},
                {"accepted_by_gpus", "accepted, %, by GPUs asked for"},
                {"latency_us", "time of a decision, us"}};
    printf("policy %s: %s decisions, %s a second (%s a second of CPU time), %s pods found no place\n", json_get_text(root, "policy", ""),
           json_get(root, "decisions")->text, json_get(root, "decisions_per_second")->text,
           json_get(root, "decisions_per_cpu_second")->text, json_get(root, "failed_pods")->text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        print_curve(json_get(root, rows[i].key), rows[i].title);
}

/* ---- command ---- */

/* With each policy. runs: as many, zero. */
static int replay(const struct options *o, struct trace *t, struct replay_options *given, struct trace_run *runs, uint32_t n)
{
    const char *path = option_text(o, OPT_SIM_DECISIONS);
    given->decisions = path ? fopen(path, "we") : NULL;
    if (path && !given->decisions) {
        fprintf(stderr, "capstan sim: cannot write %s: %s\n", path, strerror(errno));
        return EXIT_FAILED;
    }
    for (uint32_t i = 0; i < n; i++) {
        given->progress = sim_progress(n > 1 ? arena_printf(t->arena, "pods, %s", runs[i].policy) : "pods");
        (void)placement_named(runs[i].policy, &given->placement); /* the parser lets no other name through */
        trace_replay(t, given, &runs[i].result);
        sim_progress_end();
    }
    bool written = !path || (!ferror(given->decisions) && !fflush(given->decisions));
    if (path && (fclose(given->decisions) || !written)) {
        fprintf(stderr, "capstan sim: cannot write %s\n", path);
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

/* Of several policies: a list of them, or one table after the other. */
static void print_runs(const struct options *o, const struct trace *t, const struct replay_options *given, const struct trace_run *runs,
                       uint32_t n)
{
    enum output_format format = output_format_of(o);
    _cleanup_buf_ struct buf page = {0};
    if (format == OUTPUT_HTML) {
        trace_page(&page, t->arena, t, given->load, runs, n);
        fwrite(page.data, 1, page.n, stdout);
        return;
    }
    struct json *all = json_new(t->arena, JSON_ARRAY);
    for (uint32_t i = 0; i < n; i++) {
        struct json *root = result_json(t->arena, runs[i].policy, given, &runs[i].result);
        if (format == OUTPUT_TABLE)
            print_table(root);
        else
            json_append(all, root);
    }
    if (format != OUTPUT_TABLE)
        output_json(n == 1 ? all->first : all, format);
}

static int trace_run_all(const struct options *o, struct trace *t, struct replay_options *given, const char *const *policies, uint32_t n)
{
    struct trace_run *runs = mem_zero(n, sizeof *runs);
    for (uint32_t i = 0; i < n; i++)
        runs[i].policy = policies[i];
    int code = replay(o, t, given, runs, n);
    if (code == EXIT_OK)
        print_runs(o, t, given, runs, n);
    free(runs);
    return code;
}

static int trace_main(const struct options *o)
{
    struct err e = {0};
    struct trace t;
    double inflate = 0;
    const char *policies[TRACE_POLICIES];
    uint32_t policies_n = policies_of(o, policies);
    struct replay_options given = {.seed = (uint64_t)option_number(o, OPT_SIM_SEED, 1),
                                   .arrivals_n = (uint64_t)option_number(o, OPT_SIM_EVENTS, 200000)};
    const char *nodes = option_text(o, OPT_SIM_NODES), *pods = option_text(o, OPT_SIM_PODS), *order = option_text(o, OPT_SIM_ORDER);
    const char *churn = option_text(o, OPT_SIM_CHURN);
    if (!nodes || !pods)
        return options_wrong(o, "want --nodes FILE and --pods FILE");
    if (!sim_read_factor(option_text(o, OPT_SIM_INFLATE), &inflate))
        return options_wrong(o, "--inflate %s: want a number above 0, up to %d", option_text(o, OPT_SIM_INFLATE), SIM_FACTOR_MOST);
    if (churn && !sim_read_factor(churn, &given.load))
        return options_wrong(o, "--churn %s: want a number above 0, up to %d", churn, SIM_FACTOR_MOST);
    if (order && churn)
        return options_wrong(o, "--order says who comes when: not together with --churn");
    if (policies_n > 1 && option_text(o, OPT_SIM_DECISIONS))
        return options_wrong(o, "--decisions are those of one policy");
    int r = trace_load(&t, nodes, pods, &e);
    if (r >= 0 && order && (r = trace_order(&t, order, &e)) < 0)
        trace_fini(&t);
    if (r < 0) {
        fprintf(stderr, "capstan sim: %s\n", e.text);
        return e.code == E_NOTFOUND ? EXIT_NOT_FOUND : EXIT_FAILED;
    }
    if (!order)
        trace_draw(&t, given.seed, (int64_t)(inflate * 1000 + 0.5));
    int code = trace_run_all(o, &t, &given, policies, policies_n);
    trace_fini(&t);
    return code;
}

int sim_main(const struct options *o)
{
    const char *verb = o->arguments[0];
    if (text_equal(verb, "what-if") && output_format_of(o) == OUTPUT_HTML)
        return options_wrong(o, "--output html: what-if has no page: write table, json or yaml");
    if (o->arguments_n > 1 && !text_equal(verb, "run"))
        return options_wrong(o, "%s: only run takes a file without an option before it", o->arguments[1]);
    if (text_equal(verb, "run"))
        return sim_run_main(o);
    return text_equal(verb, "jobs") ? sim_jobs_main(o) : text_equal(verb, "what-if") ? sim_what_if_main(o) : trace_main(o);
}
