/* sim_run.c - capstan sim run: a scenario on virtual time, and what came of it as lines, as JSON or as a page */
#include "cli/sim/sim_run.h"
#include <stdio.h>
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/sim/run_page.h"
#include "codec/configuration/configuration.h"
#include "sim/run/run.h"

/* "0:10:00.2": hours, minutes, seconds */
static void print_time(int64_t ms)
{
    printf("%3lld:%02lld:%02lld.%lld  ", (long long)(ms / 3600000), (long long)(ms / 60000 % 60), (long long)(ms / 1000 % 60),
           (long long)(ms % 1000 / 100));
}

static void on_fact(void *arg, const struct timeline_fact *f)
{
    (void)arg;
    print_time(f->at_ms);
    printf("%s%s\n", f->kind == TIMELINE_UNMET ? "NOT AS EXPECTED: " : "", f->text);
}

static const char *result_of(const struct timeline_job *j)
{
    return scenario_states[run_job_state(j)];
}

/* ---- lines ---- */

static const char *seconds(struct arena *a, int64_t ms)
{
    return ms < 0 ? NULL : arena_printf(a, "%lld.%lld", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
}

static void print_jobs(struct arena *a, const struct timeline *t, int64_t end_ms)
{
    static const struct output_column columns[] = {
        {"job", "JOB", false, false},  {"kind", "KIND", false, false},    {"queue", "QUEUE", false, false},
        {"pods", "PODS", true, false}, {"gpus", "GPUS", true, false},     {"waited", "WAITED s", true, false},
        {"ran", "RAN s", true, false}, {"starts", "STARTS", true, false}, {"result", "RESULT", false, false},
    };
    struct output_table table;
    output_init(&table, a, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < t->jobs_n; i++) {
        const struct timeline_job *j = t->jobs[i];
        int64_t until_ms = j->ended_ms < 0 ? end_ms : j->ended_ms;
        const char *cells[] = {j->key,
                               j->kind,
                               *j->queue ? j->queue : NULL,
                               arena_printf(a, "%u", j->pods_most_n),
                               arena_printf(a, "%u", j->gpus_most_n),
                               seconds(a, (j->started_ms < 0 ? until_ms : j->started_ms) - j->came_ms),
                               seconds(a, j->started_ms < 0 ? -1 : until_ms - j->started_ms),
                               arena_printf(a, "%u", j->starts_n),
                               result_of(j)};
        output_row(&table, cells);
    }
    output_print(&table, OUTPUT_TABLE);
    output_fini(&table);
}

static void print_lines(struct arena *a, const struct timeline *t, const struct run_result *r)
{
    print_time(r->end_ms);
    printf("the end%s\n", r->all_over ? "" : "; not all jobs are over");
    if (t->jobs_n) {
        putchar('\n');
        print_jobs(a, t, r->end_ms);
    }
    if (r->met_n + r->unmet_n)
        printf("\n%u of %u expectations met\n", r->met_n, r->met_n + r->unmet_n);
}

/* ---- JSON ---- */

static void set_seconds(struct arena *a, struct json *to, const char *key, int64_t ms)
{
    struct json *v = json_new_text(a, arena_printf(a, "%lld.%03lld", (long long)(ms / 1000), (long long)(ms % 1000)));
    v->type = ms < 0 ? JSON_NULL : JSON_NUMBER;
    json_set(a, to, key, v);
}

static struct json *append_object(struct arena *a, struct json *array)
{
    struct json *o = json_new(a, JSON_OBJECT);
    json_append(array, o);
    return o;
}

static void set_facts(struct arena *a, struct json *root, const struct timeline *t)
{
    struct json *facts = json_ensure_array(a, root, "facts");
    for (size_t i = 0; i < t->facts_n; i++) {
        struct json *o = append_object(a, facts);
        set_seconds(a, o, "at", t->facts[i].at_ms);
        json_set_text(a, o, "what", timeline_kinds[t->facts[i].kind]);
        json_set_text(a, o, "object", t->facts[i].object);
        json_set_text(a, o, "text", t->facts[i].text);
    }
}

static void set_jobs(struct arena *a, struct json *root, const struct timeline *t)
{
    struct json *jobs = json_ensure_array(a, root, "jobs");
    for (uint32_t i = 0; i < t->jobs_n; i++) {
        const struct timeline_job *j = t->jobs[i];
        struct json *o = append_object(a, jobs);
        json_set_text(a, o, "job", j->key);
        json_set_text(a, o, "kind", j->kind);
        json_set_text(a, o, "queue", j->queue);
        set_seconds(a, o, "came", j->came_ms);
        set_seconds(a, o, "started", j->started_ms);
        set_seconds(a, o, "ended", j->ended_ms);
        json_set_int64(a, o, "pods", j->pods_most_n);
        json_set_int64(a, o, "gpus", j->gpus_most_n);
        json_set_int64(a, o, "starts", j->starts_n);
        set_seconds(a, o, "gpuSeconds", j->gpu_ms);
        json_set_text(a, o, "result", result_of(j));
        if (*j->why && !j->pods_n && !j->ended)
            json_set_text(a, o, "reason", j->why);
    }
}

static void set_nodes(struct arena *a, struct json *root, const struct timeline *t)
{
    struct json *nodes = json_ensure_array(a, root, "nodes"), *spans = json_ensure_array(a, root, "spans");
    for (uint32_t i = 0; i < t->nodes_n; i++) {
        struct json *o = append_object(a, nodes);
        json_set_text(a, o, "node", t->nodes[i].name);
        json_set_int64(a, o, "gpus", t->nodes[i].gpus_n);
        set_seconds(a, o, "came", t->nodes[i].came_ms);
        set_seconds(a, o, "gone", t->nodes[i].gone_ms);
    }
    for (size_t i = 0; i < t->spans_n; i++) {
        const struct timeline_span *s = &t->spans[i];
        struct json *o = append_object(a, spans);
        json_set_text(a, o, "node", t->nodes[s->node].name);
        json_set_int64(a, o, "gpu", s->gpu);
        if (s->job == TIMELINE_DOWN)
            json_set_bool(a, o, "down", true);
        else
            json_set_text(a, o, "job", t->jobs[s->job]->key);
        set_seconds(a, o, "from", s->from_ms);
        set_seconds(a, o, "until", s->until_ms);
    }
}

static void set_line(struct arena *a, struct json *array, const struct timeline_line *l, const char *first, const char *second)
{
    for (size_t i = 0; i < l->n; i++) {
        struct json *o = append_object(a, array);
        set_seconds(a, o, "at", l->points[i].at_ms);
        json_set_int64(a, o, first, l->points[i].waiting_n);
        json_set_int64(a, o, second, l->points[i].running_n);
    }
}

static struct json *result_json(struct arena *a, const struct scenario *s, const struct timeline *t, const struct run_result *r)
{
    struct json *root = json_new(a, JSON_OBJECT);
    json_set_text(a, root, "title", s->title);
    set_seconds(a, root, "end", r->end_ms);
    json_set_bool(a, root, "allOver", r->all_over);
    json_set_int64(a, root, "met", r->met_n);
    json_set_int64(a, root, "unmet", r->unmet_n);
    json_set_int64(a, root, "leftOut", (int64_t)t->left_out_n);
    set_facts(a, root, t);
    set_jobs(a, root, t);
    set_nodes(a, root, t);
    set_line(a, json_ensure_array(a, root, "gpus"), &t->gpus, "there", "used");
    struct json *queues = json_ensure_object(a, root, "queues");
    for (uint32_t i = 0; i < t->queues_n; i++)
        set_line(a, json_ensure_array(a, queues, t->queues[i].name), &t->queues[i], "waiting", "running");
    return root;
}

static void print_page(struct arena *a, const struct scenario *s, const struct timeline *t, const struct run_result *r)
{
    _cleanup_buf_ struct buf page = {0};
    run_page(&page, a, s->title, t, r);
    fwrite(page.data, 1, page.n, stdout);
}

/* ---- command ---- */

/* What is wrong with it was said, and what does nothing. */
static bool read_config(struct arena *a, const struct scenario *s, struct configuration *c, struct err *e)
{
    _cleanup_buf_ struct buf text = {0}, warnings = {0}, problems = {0};
    const struct scenario_place *p = &s->config_place;
    configuration_default(c);
    if (!s->config)
        return true;
    if (file_read(s->config, CONFIGURATION_MAX_BYTES, &text, e) < 0)
        return err_wrap(e, "%s: line %u, column %u", p->file, p->line, p->column) == 0;
    int r = configuration_parse(a, buf_view(&text), c, &warnings, &problems);
    if (warnings.n)
        fprintf(stderr, "%s: %s", s->config, warnings.data);
    return r == 0 || err_set(e, E_INVALID, "%s: line %u, column %u: %s: %s", p->file, p->line, p->column, s->config, problems.data) == 0;
}

static int run(const struct options *o, struct arena *a, const struct scenario *s, struct timeline *t, struct err *e)
{
    struct configuration c;
    struct run_result r;
    enum output_format format = output_format_of(o);
    if (!read_config(a, s, &c, e))
        return -E_INVALID;
    if (format == OUTPUT_TABLE) {
        t->told = on_fact;
        if (*s->title)
            printf("%s\n\n", s->title);
    }
    int code =
        run_scenario(s, &(struct virtual_cluster_config){c.policy, &c.charge, &c.workloads, option_text(o, OPT_SIM_RECORD)}, t, &r, e);
    if (code < 0)
        return code;
    if (format == OUTPUT_TABLE)
        print_lines(a, t, &r);
    else if (format == OUTPUT_HTML)
        print_page(a, s, t, &r);
    else
        output_json(result_json(a, s, t, &r), format);
    if (t->left_out_n)
        fprintf(stderr, "capstan sim: %llu facts and times are left out: the scenario is too long for all\n",
                (unsigned long long)t->left_out_n);
    return r.unmet_n ? EXIT_FAILED : EXIT_OK;
}

int sim_run_main(const struct options *o)
{
    struct err e = {0};
    struct scenario s;
    struct timeline t = {0};
    if (o->arguments_n != 2)
        return options_wrong(o, "want run SCENARIO.yaml");
    log_set_level(LOG_ERROR);
    _cleanup_arena_ struct arena *a = arena_new();
    int code = scenario_read(a, o->arguments[1], &s, &e);
    if (code == 0)
        code = run(o, a, &s, &t, &e);
    timeline_free(&t);
    if (code >= 0)
        return code;
    (void)fflush(stdout);
    fprintf(stderr, "capstan sim: %s\n", e.text);
    return e.code == E_NOTFOUND ? EXIT_NOT_FOUND : EXIT_FAILED;
}
