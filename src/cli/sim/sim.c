/* sim.c - capstan sim trace: what a placement policy makes of a trace, through the core that schedules; and which verb it is */
#include <errno.h>
#include <stdio.h>
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "cli/sim/sim_jobs.h"
#include "cli/sim/sim_part.h"
#include "cli/sim/sim_run.h"
#include "cli/sim/sim_what_if.h"
#include "codec/configuration/placement_policy.h"
#include "sim/trace/replay.h"

static enum placement placement_of(const struct options *o)
{
    enum placement placement = PLACEMENT_CAPSTAN;
    (void)placement_named(option_text(o, OPT_SIM_POLICY), &placement); /* the parser lets no other name through */
    return placement;
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

static struct json *result_json(struct arena *a, const struct options *o, const struct replay_options *given, const struct replay_result *r)
{
    struct json *root = json_new(a, JSON_OBJECT);
    json_set_text(a, root, "policy", option_text(o, OPT_SIM_POLICY));
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

static int replay(const struct options *o, struct trace *t, struct replay_options *given)
{
    struct replay_result result;
    const char *path = option_text(o, OPT_SIM_DECISIONS);
    given->decisions = path ? fopen(path, "we") : NULL;
    if (path && !given->decisions) {
        fprintf(stderr, "capstan sim: cannot write %s: %s\n", path, strerror(errno));
        return EXIT_FAILED;
    }
    given->progress = sim_progress("pods");
    trace_replay(t, given, &result);
    sim_progress_end();
    bool written = !path || (!ferror(given->decisions) && !fflush(given->decisions));
    if (path && (fclose(given->decisions) || !written)) {
        fprintf(stderr, "capstan sim: cannot write %s\n", path);
        return EXIT_FAILED;
    }
    struct json *root = result_json(t->arena, o, given, &result);
    if (output_format_of(o) == OUTPUT_TABLE)
        print_table(root);
    else
        output_json(root, output_format_of(o));
    return EXIT_OK;
}

static int trace_main(const struct options *o)
{
    struct err e = {0};
    struct trace t;
    double inflate = 0;
    struct replay_options given = {.placement = placement_of(o),
                                   .seed = (uint64_t)option_number(o, OPT_SIM_SEED, 1),
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
    int r = trace_load(&t, nodes, pods, &e);
    if (r >= 0 && order && (r = trace_order(&t, order, &e)) < 0)
        trace_fini(&t);
    if (r < 0) {
        fprintf(stderr, "capstan sim: %s\n", e.text);
        return e.code == E_NOTFOUND ? EXIT_NOT_FOUND : EXIT_FAILED;
    }
    if (!order)
        trace_draw(&t, given.seed, (int64_t)(inflate * 1000 + 0.5));
    int code = replay(o, &t, &given);
    trace_fini(&t);
    return code;
}

int sim_main(const struct options *o)
{
    const char *verb = o->arguments[0];
    if (o->arguments_n > 1 && !text_equal(verb, "run"))
        return options_wrong(o, "%s: only run takes a file without an option before it", o->arguments[1]);
    if (text_equal(verb, "run"))
        return sim_run_main(o);
    return text_equal(verb, "jobs") ? sim_jobs_main(o) : text_equal(verb, "what-if") ? sim_what_if_main(o) : trace_main(o);
}
