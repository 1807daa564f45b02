/* sim_jobs.c - capstan sim jobs: how long the jobs of a trace wait in a queue, on virtual time */
#include "cli/sim/sim_jobs.h"
#include <stdio.h>
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/sim/jobs_page.h"
#include "cli/sim/sim_part.h"
#include "sim/trace/job_replay.h"

#define NODES_MOST 10000
#define GPUS_MOST 1024 /* of a node */
#define HOUR_MS 3600000.0

static enum job_queue queue_of(const struct options *o)
{
#define X(name, text) text,
    static const char *const names[] = {JOB_QUEUES(X)};
#undef X
    const char *given = option_text(o, OPT_SIM_QUEUE);
    for (size_t i = 0; given && i < sizeof names / sizeof *names; i++)
        if (text_equal(given, names[i]))
            return (enum job_queue)i;
    return JOB_QUEUE_CAPSTAN;
}

/* "64x8" */
static bool read_cluster(const char *text, uint32_t *ret_nodes_n, uint32_t *ret_gpus_n)
{
    const char *x = strchr(text, 'x');
    int64_t nodes_n = 0, gpus_n = 0;
    if (!x || !bytes_int64((struct bytes){text, (size_t)(x - text)}, &nodes_n) || !bytes_int64(bytes_of(x + 1), &gpus_n) || nodes_n < 1 ||
        nodes_n > NODES_MOST || gpus_n < 1 || gpus_n > GPUS_MOST)
        return false;
    *ret_nodes_n = (uint32_t)nodes_n;
    *ret_gpus_n = (uint32_t)gpus_n;
    return true;
}

/* ---- result ---- */

static void set_times(struct arena *a, struct json *to, const char *key, const struct job_times *t)
{
    struct json *times = json_ensure_object(a, to, key);
    sim_set_number(a, times, "mean", t->mean_ms / HOUR_MS, 4);
    sim_set_number(a, times, "median", (double)t->median_ms / HOUR_MS, 4);
    sim_set_number(a, times, "p99", (double)t->p99_ms / HOUR_MS, 4);
    sim_set_number(a, times, "max", (double)t->most_ms / HOUR_MS, 4);
}

static void set_figures(struct arena *a, struct json *to, const struct job_figures *f)
{
    json_set_int64(a, to, "jobs", f->jobs_n);
    set_times(a, to, "wait_hours", &f->wait);
    set_times(a, to, "completion_hours", &f->completion);
    sim_set_number(a, to, "bounded_slowdown", f->bounded_slowdown, 3);
}

static struct json *result_json(struct arena *a, const struct options *o, double error, const struct job_trace *t,
                                const struct job_result *r)
{
    struct json *root = json_new(a, JSON_OBJECT);
    json_set_text(a, root, "queue", option_text(o, OPT_SIM_QUEUE));
    json_set_text(a, root, "cluster", option_text(o, OPT_SIM_CLUSTER));
    sim_set_number(a, root, "estimate_error", error, 2);
    set_figures(a, root, &r->all);
    struct json *large = json_ensure_object(a, root, "large");
    json_set_int64(a, large, "gpus", JOB_LARGE_GPUS);
    set_figures(a, large, &r->large);
    if (r->forecasts.jobs_n) {
        struct json *forecasts = json_ensure_object(a, root, "forecasts");
        json_set_int64(a, forecasts, "jobs", r->forecasts.jobs_n);
        sim_set_number(a, forecasts, "median_error_percent", r->forecasts.median_error, 2);
        sim_set_number(a, forecasts, "p90_error_percent", r->forecasts.p90_error, 2);
    }
    sim_set_number(a, root, "utilisation_percent", r->utilisation, 2);
    sim_set_number(a, root, "end_hours", (double)r->end_ms / HOUR_MS, 2);
    json_set_int64(a, root, "rows_out_of_order", t->late_n);
    json_set_int64(a, root, "rows_without_gpus", t->without_gpus_n);
    json_set_int64(a, root, "turns", (int64_t)r->turns_n);
    sim_set_number(a, root, "turns_per_cpu_second", r->worked_ns ? (double)r->turns_n * 1e9 / (double)r->worked_ns : 0, 0);
    return root;
}

static void print_times(const char *title, const struct json *times)
{
    printf("%-34s", title);
    JSON_EACH (one, times)
        printf("  %s: %s", one->key, one->text);
    printf("\n");
}

static void print_table(const struct json *root)
{
    const struct json *large = json_get(root, "large");
    printf("queue %s, cluster %s: %s jobs, %s %% of all GPU time used until the last ends after %s hours\n",
           json_get_text(root, "queue", ""), json_get_text(root, "cluster", ""), json_get(root, "jobs")->text,
           json_get(root, "utilisation_percent")->text, json_get(root, "end_hours")->text);
    print_times("waits, hours", json_get(root, "wait_hours"));
    print_times("until it is done, hours", json_get(root, "completion_hours"));
    printf("%-34s  mean: %s\n", "slowdown, runs of 10 s at least", json_get(root, "bounded_slowdown")->text);
    const struct json *forecasts = json_get(root, "forecasts");
    if (forecasts)
        printf("%-34s  median: %s %%  p90: %s %%, of how long %s jobs waited\n", "starts forecast when they came, off",
               json_get(forecasts, "median_error_percent")->text, json_get(forecasts, "p90_error_percent")->text,
               json_get(forecasts, "jobs")->text);
    if (text_equal(json_get(large, "jobs")->text, "0"))
        return;
    printf("of these %s jobs of %d GPUs and more\n", json_get(large, "jobs")->text, JOB_LARGE_GPUS);
    print_times("  wait, hours", json_get(large, "wait_hours"));
    print_times("  until done, hours", json_get(large, "completion_hours"));
    printf("%-34s  mean: %s\n", "  slowdown", json_get(large, "bounded_slowdown")->text);
}

static void print_page(struct arena *a, const struct options *o, const struct job_options *given, const struct job_trace *t,
                       const struct job_result *r)
{
    _cleanup_buf_ struct buf page = {0};
    jobs_page(&page, a, option_text(o, OPT_SIM_QUEUE), option_text(o, OPT_SIM_CLUSTER), given->nodes_n * given->gpus_n, t, r);
    fwrite(page.data, 1, page.n, stdout);
}

/* ---- command ---- */

int sim_jobs_main(const struct options *o)
{
    struct err e = {0};
    struct job_trace t;
    struct job_result result;
    struct job_options given = {.queue = queue_of(o)};
    double error = 1;
    const char *path = option_text(o, OPT_SIM_JOBS), *cluster = option_text(o, OPT_SIM_CLUSTER);
    const char *given_error = option_text(o, OPT_SIM_ESTIMATE_ERROR);
    if (!path || !cluster)
        return options_wrong(o, "want --jobs FILE and --cluster NODESxGPUS");
    if (!read_cluster(cluster, &given.nodes_n, &given.gpus_n))
        return options_wrong(o, "--cluster %s: want NODESxGPUS as in 64x8, up to %d nodes of up to %d GPUs", cluster, NODES_MOST,
                             GPUS_MOST);
    if (!sim_read_factor(given_error, &error) || error < 1)
        return options_wrong(o, "--estimate-error %s: want a number from 1 to %d", given_error, SIM_FACTOR_MOST);
    int r = job_trace_load(&t, path, (int64_t)given.nodes_n * given.gpus_n, &e);
    if (r < 0) {
        fprintf(stderr, "capstan sim: %s\n", e.text);
        return e.code == E_NOTFOUND ? EXIT_NOT_FOUND : EXIT_FAILED;
    }
    job_trace_expect(&t, error, (uint64_t)option_number(o, OPT_SIM_SEED, 1));
    given.forecasts_n = (uint32_t)option_number(o, OPT_SIM_FORECASTS, 0);
    given.progress = sim_progress("jobs");
    job_replay(&t, &given, &result);
    sim_progress_end();
    struct arena *a = arena_new();
    struct json *root = result_json(a, o, error, &t, &result);
    if (output_format_of(o) == OUTPUT_HTML)
        print_page(a, o, &given, &t, &result);
    else if (output_format_of(o) == OUTPUT_TABLE)
        print_table(root);
    else
        output_json(root, output_format_of(o));
    arena_free(a);
    job_trace_fini(&t);
    return EXIT_OK;
}
