/* demo.c - capstan demo: a story (cli/story), or with --output the examples on an embedded cluster and a table of what happened
 *
 *   examples (in the binary) --POST--> cluster <--watch-- pods, jobs, workloads, pod groups: first seen, bound, finished
 *
 * Exit 0 when every example ended as it should (jobs complete, services run), 1 otherwise.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/collections/map.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/lookup/pod_group.h"
#include "cli/output.h"
#include "cli/story/story.h"
#include "codec/configuration/configuration.h"
#include "codec/kinds/kind.h"
#include "codec/kinds/queued_kinds.h"
#include "example_files.h"
#include "kube/object.h"
#include "sim/cluster.h"
#include "sim/folder.h"
#include "sim/job_watches.h"
#include "wire/yaml.h"

#define DEMO_TIMEOUT_MS 120000
#define SETTLE_MS 3000 /* at most so long the next example waits until those before it run, or are told why they do not */
#define GANGS_MAX 64
#define SHAPES_MAX 16

/* One applied object that makes pods. */
struct gang {
    const char *ns, *name, *kind;
    char state[32];
    char why[ERR_TEXT_MAX], stopped[ERR_TEXT_MAX];
    uint32_t pods_n, bound_n, done_n, failed_n, running_n;
    int64_t wanted_n; /* pods that run when it serves */
    const char *path; /* of a set that holds quota: it goes when it serves; else NULL */
    int64_t applied_ms, first_bound_ms, last_bound_ms, ended_ms;
    char nodes[200];
    bool serves; /* runs until deleted: running is its end */
    bool stops; /* it was preempted, and its pods may still be ending */
    bool ended, failed;
};

struct pod_seen {
    int32_t gang;
    bool bound, done, failed, running;
};

struct demo {
    struct loop *loop;
    struct cluster *cluster;
    struct kube_client *client;
    struct arena *arena, *scratch;
    struct kind_table *kinds;
    struct gang gangs[GANGS_MAX];
    uint32_t gangs_n, asked_n, refused_n;
    struct map *pods; /* "ns/name" -> struct pod_seen */
    struct map *shares; /* name of a ClusterQueue -> int64_t: its share, as it was told last */
    struct configuration configuration;
    struct job_watches watches;
    int64_t start_ms;
    bool done;
};

static void say(const struct demo *d, const char *format, ...) PRINTF_LIKE(2, 3);
static void say(const struct demo *d, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "%6.1fs  ", (double)(loop_now_ms(d->loop) - d->start_ms) / 1000);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

/* ---- applying ---- */

static bool makes_pods(const char *kind)
{
    static const char *const kinds[] = {"Pod", "Deployment", "StatefulSet", "LeaderWorkerSet", "PodGroup", "CronJob"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (text_equal(kind, kinds[i]))
            return true;
    return queued_kind_named(kind) != NULL;
}

/* The PodGroup of an example that a pod names, whoever's it is; NULL: none. */
static struct gang *gang_of_group(struct demo *d, const struct json *pod)
{
    for (int maker = 0; maker < POD_GROUP_MAKERS_N; maker++) {
        const char *name = pod_group_name(d->scratch, pod, (enum pod_group_maker)maker), *ns = object_meta(pod, "namespace");
        for (uint32_t i = 0; *name && i < d->gangs_n; i++) {
            struct gang *g = &d->gangs[i];
            if (text_equal(g->kind, "PodGroup") && text_equal(g->name, name) && text_equal(g->ns, *ns ? ns : "default"))
                return g;
        }
    }
    return NULL;
}

static void gang_add(struct demo *d, const struct json *object, const char *path)
{
    const struct json *metadata = json_get(object, "metadata");
    const char *kind = json_get_text(object, "kind", ""), *api = json_get_text(object, "apiVersion", "");
    if (d->gangs_n == GANGS_MAX || !makes_pods(kind) || gang_of_group(d, object))
        return;
    struct gang *g = &d->gangs[d->gangs_n++];
    *g = (struct gang){.ns = json_get_text(metadata, "namespace", "default"),
                       .name = json_get_text(metadata, "name", ""),
                       .kind = kind};
    g->applied_ms = loop_now_ms(d->loop);
    const struct json *annotations = json_get(metadata, "annotations");
    const char *policy = json_get_text(json_get(object, "spec"), "restartPolicy", "Always");
    bool is_set = text_equal(kind, "StatefulSet") || text_equal(kind, "LeaderWorkerSet"), stays = is_set || text_equal(kind, "Deployment");
    const struct json *spec = json_get(object, "spec");
    g->wanted_n = is_set ? json_get_int64(spec, "replicas", 1) * json_get_int64(json_get(spec, "leaderWorkerTemplate"), "size", 1) : 1;
    g->path = is_set ? path : NULL;
    g->serves = stays || (text_equal(kind, "Pod") && text_equal(policy, "Always") && !json_get(annotations, "capstan.dev/run-seconds"));
    if (text_starts(api, "batch.volcano.sh/"))
        g->kind = "vcjob";
}

static void on_applied(void *arg, const struct kube_answer *answer)
{
    struct demo *d = arg;
    d->asked_n--;
    if (answer->code != 0 && answer->code != -E_EXISTS) {
        d->refused_n++;
        fprintf(stderr, "refused: %s\n", answer->error.text);
    }
    loop_stop(d->loop);
}

/* POST one object and wait for the answer, as `kubectl apply` would. */
static void apply(struct demo *d, const struct json *object)
{
    const char *api = json_get_text(object, "apiVersion", ""), *slash = strchr(api, '/');
    const char *group = slash ? arena_text_n(d->arena, api, (size_t)(slash - api)) : "";
    const struct kind *k = kind_find_kind(d->kinds, group, json_get_text(object, "kind", ""));
    if (!k) {
        fprintf(stderr, "no such kind: %s %s\n", api, json_get_text(object, "kind", ""));
        d->refused_n++;
        return;
    }
    const char *ns =
        k->flags & KIND_NAMESPACED ? json_get_text(json_get(object, "metadata"), "namespace", "default") : NULL;
    struct buf body = {0};
    json_write(&body, object);
    d->asked_n++;
    const char *name = json_get_text(json_get(object, "metadata"), "name", "");
    gang_add(d, object, kube_path(d->arena, group, slash ? slash + 1 : api, k->plural, ns, name, NULL));
    kube_create(d->client, kube_path(d->arena, group, slash ? slash + 1 : api, k->plural, ns, NULL, NULL),
                buf_view(&body), on_applied, d);
    buf_free(&body);
    while (d->asked_n > 0)
        loop_run(d->loop, NULL);
}

static void apply_file(struct demo *d, const struct example_file *file)
{
    struct err e = {0};
    struct json *docs;
    if (yaml_parse(d->arena, bytes_of(file->text), &docs, NULL, &e) < 0) {
        fprintf(stderr, "%s: %s\n", file->name, e.text);
        d->refused_n++;
        return;
    }
    say(d, "apply %s", file->name);
    JSON_EACH (doc, docs)
        apply(d, doc);
}

/* ---- watching ---- */

static struct gang *gang_of_pod(struct demo *d, const struct json *pod)
{
    const char *ns = object_meta(pod, "namespace"), *name = object_meta(pod, "name");
    struct gang *best = gang_of_group(d, pod);
    if (best)
        return best;
    for (uint32_t i = 0; i < d->gangs_n; i++) {
        struct gang *g = &d->gangs[i];
        size_t n = strlen(g->name);
        bool match = strncmp(name, g->name, n) == 0 && (name[n] == '\0' || name[n] == '-');
        if (match && text_equal(g->ns, ns) && (!best || n > strlen(best->name)))
            best = g;
    }
    return best;
}

static void note_node(struct gang *g, const char *node)
{
    size_t n = strlen(g->nodes);
    if (!strstr(g->nodes, node) && n + strlen(node) + 3 < sizeof g->nodes)
        snprintf(g->nodes + n, sizeof g->nodes - n, "%s%s", n ? " " : "", node);
}

static void gang_end(struct demo *d, struct gang *g, bool failed, const char *state)
{
    if (g->ended)
        return;
    g->ended = true;
    g->failed = failed;
    g->ended_ms = loop_now_ms(d->loop);
    snprintf(g->state, sizeof g->state, "%s", state);
    say(d, "%s %s/%s: %s", g->kind, g->ns, g->name, state);
    if (g->path) /* WHY  it would keep its quota from who comes after it */
        kube_delete(d->client, g->path, (struct bytes){0}, NULL, NULL);
}

static void gang_bound(struct demo *d, struct gang *g, const char *node)
{
    g->last_bound_ms = loop_now_ms(d->loop);
    g->stops = false;
    if (g->bound_n++ == 0)
        g->first_bound_ms = g->last_bound_ms;
    note_node(g, node);
    if (g->bound_n == g->pods_n && g->pods_n > 1)
        say(d, "%s %s/%s: %u pods bound within %lld ms", g->kind, g->ns, g->name, g->bound_n,
            (long long)(g->last_bound_ms - g->first_bound_ms));
}

/* A pod is gone that had not succeeded: its gang was stopped, and may start again. */
static void pod_gone(struct demo *d, struct gang *g, const char *uid)
{
    struct pod_seen *p = map_find(d->pods, bytes_of(uid));
    if (!p || !p->bound || p->done || g->ended)
        return;
    g->pods_n--;
    if (--g->bound_n > 0)
        return;
    g->nodes[0] = '\0';
}

static void on_pod(void *arg, enum kube_event event, struct bytes raw)
{
    struct demo *d = arg;
    struct json *pod = json_parse(d->scratch, raw, NULL, NULL);
    const struct json *metadata = json_get(pod, "metadata");
    struct gang *g = gang_of_pod(d, pod);
    if (g && event == KUBE_DELETED) {
        pod_gone(d, g, json_get_text(metadata, "uid", ""));
    } else if (g) {
        bool is_new;
        struct pod_seen *p = map_put(d->pods, bytes_of(json_get_text(metadata, "uid", "")), &is_new);
        g->pods_n += is_new;
        const char *node = json_get_text(json_get(pod, "spec"), "nodeName", ""),
                   *phase = json_get_text(json_get(pod, "status"), "phase", "");
        if (*node && !p->bound) {
            p->bound = true;
            gang_bound(d, g, node);
        }
        bool done = text_equal(phase, "Succeeded"), failed = text_equal(phase, "Failed");
        g->done_n += done && !p->done;
        g->failed_n += failed && !p->failed;
        p->done |= done;
        p->failed |= failed;
        bool running = text_equal(phase, "Running");
        g->running_n += running && !p->running;
        p->running |= running;
        if (g->serves && g->running_n >= g->wanted_n)
            gang_end(d, g, false, "Running");
        if ((text_equal(g->kind, "Pod") || text_equal(g->kind, "PodGroup")) && g->done_n + g->failed_n == g->pods_n &&
            g->bound_n > 0)
            gang_end(d, g, g->failed_n > 0, g->failed_n ? "Failed" : "Succeeded");
    }
    arena_reset(d->scratch);
}

/* Jobs of any dialect: ended by a condition or a phase. */
static void on_job(void *arg, enum kube_event event, struct bytes raw)
{
    struct demo *d = arg;
    struct json *job = json_parse(d->scratch, raw, NULL, NULL);
    const struct json *metadata = json_get(job, "metadata"), *status = json_get(job, "status");
    for (uint32_t i = 0; event != KUBE_DELETED && i < d->gangs_n; i++) {
        struct gang *g = &d->gangs[i];
        if (!text_equal(g->name, json_get_text(metadata, "name", "")) ||
            !text_equal(g->ns, json_get_text(metadata, "namespace", "")))
            continue;
        JSON_EACH (c, json_get(status, "conditions")) {
            const char *type = json_get_text(c, "type", "");
            if (text_equal(json_get_text(c, "status", ""), "True") &&
                (queued_kind_succeeded(type) || text_equal(type, "Failed")))
                gang_end(d, g, text_equal(type, "Failed"), type);
        }
        const char *phase = json_get_text(json_get(status, "state"), "phase", "");
        if (text_equal(phase, "Completed") || text_equal(phase, "Failed") || text_equal(phase, "Terminated"))
            gang_end(d, g, !text_equal(phase, "Completed"), phase);
    }
    arena_reset(d->scratch);
}

/* "Preempted to accommodate a workload (UID: ..., JobUID: ...) due to ...", without what nobody wants to read. */
static void tell_preemption(struct demo *d, struct gang *g, const struct json *object)
{
    const struct json *preempted = object_condition_true(object, "Preempted") ? object_condition(object, "Preempted") : NULL;
    const char *message = json_get_text(preempted, "message", ""), *from = strstr(message, " (UID"), *to = strchr(message, ')');
    if (!preempted || strncmp(g->stopped, message, sizeof g->stopped - 1) == 0)
        return;
    snprintf(g->stopped, sizeof g->stopped, "%s", message);
    g->stops = true;
    g->why[0] = '\0';
    bool cut = from && to && from < to;
    say(d, "%s %s/%s stops: %.*s%s", g->kind, g->ns, g->name, cut ? (int)(from - message) : (int)strlen(message), message, cut ? to + 1 : "");
}

/* Why nobody goes for it where borrowed quota is shared fairly: both shares. NULL: that is not why. */
static const char *shares_text(const struct json *reason)
{
    const char *text = text_equal(json_get_text(reason, "code", ""), "shares") ? json_get_text(reason, "message", NULL) : NULL;
    JSON_EACH (child, json_get(reason, "children"))
        text = text ? text : shares_text(child);
    return text;
}

/* Workloads and pod groups carry the reason why their job waits, and why it had to stop. */
static void on_reason(void *arg, enum kube_event event, struct bytes raw)
{
    struct demo *d = arg;
    struct json *object = json_parse(d->scratch, raw, NULL, NULL);
    const struct json *metadata = json_get(object, "metadata");
    const char *text = object_waiting(object);
    const char *owner =
        json_get_text(json_item(json_get(metadata, "ownerReferences"), 0), "name", json_get_text(metadata, "name", ""));
    struct json *reason = *text && event != KUBE_DELETED ? json_parse(d->scratch, bytes_of(text), NULL, NULL) : NULL;
    const char *message = json_get_text(reason, "message", ""), *shares = shares_text(reason);
    if (shares)
        message = arena_printf(d->scratch, "%s; %s", message, shares);
    for (uint32_t i = 0; event != KUBE_DELETED && i < d->gangs_n; i++) {
        struct gang *g = &d->gangs[i];
        if (!text_equal(g->name, owner) || !text_equal(g->ns, json_get_text(metadata, "namespace", "")))
            continue;
        tell_preemption(d, g, object);
        if (!*message || (g->bound_n > 0 && !g->stops) || strncmp(g->why, message, sizeof g->why - 1) == 0)
            continue;
        snprintf(g->why, sizeof g->why, "%s", message);
        say(d, "%s %s/%s waits: %s", g->kind, g->ns, g->name, g->why);
    }
    arena_reset(d->scratch);
}

/* What is shared fairly: how much of it each queue has, as that changes. */
static void on_queue(void *arg, enum kube_event event, struct bytes raw)
{
    struct demo *d = arg;
    struct json *queue = json_parse(d->scratch, raw, NULL, NULL);
    const char *name = object_meta(queue, "name"), *cohort = json_text(json_path(queue, "spec", "cohortName", NULL), "");
    const struct json *share = json_path(queue, "status", "fairSharing", NULL);
    int64_t now = json_get_int64(share, "weightedShare", 0), *told = map_put(d->shares, bytes_of(name), NULL);
    if (event != KUBE_DELETED && share && now != *told) {
        *told = now;
        if (now)
            say(d, "ClusterQueue %s borrows %lld/1000 of what cohort %s has", name, (long long)now, cohort);
        else
            say(d, "ClusterQueue %s borrows nothing any more", name);
    }
    arena_reset(d->scratch);
}

/* ---- the end ---- */

static bool all_ended(const struct demo *d)
{
    for (uint32_t i = 0; i < d->gangs_n; i++)
        if (!d->gangs[i].ended)
            return false;
    return true;
}

static const char *seconds(struct arena *a, int64_t ms)
{
    return ms < 0 ? NULL : arena_printf(a, "%.1f", (double)ms / 1000);
}

static void print_table(struct demo *d, enum output_format format)
{
    static const struct output_column columns[] = {
        {"kind", "KIND", false, false},           {"namespace", "NAMESPACE", false, false},
        {"name", "NAME", false, false},           {"pods", "PODS", true, false},
        {"waitSeconds", "WAITED s", true, false}, {"burstMs", "BOUND WITHIN ms", true, false},
        {"runSeconds", "RAN s", true, false},     {"result", "RESULT", false, false},
        {"nodes", "NODES", false, false},         {"waitedFor", "WAITED FOR", false, true},
    };
    struct output_table t;
    struct arena *a = d->arena;
    output_init(&t, a, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < d->gangs_n; i++) {
        const struct gang *g = &d->gangs[i];
        bool bound = g->bound_n > 0;
        const char *cells[] = {g->kind,
                               g->ns,
                               g->name,
                               arena_printf(a, "%u", g->pods_n),
                               seconds(a, bound ? g->first_bound_ms - g->applied_ms : -1),
                               bound ? arena_printf(a, "%lld", (long long)(g->last_bound_ms - g->first_bound_ms))
                                     : NULL,
                               seconds(a, bound && g->ended ? g->ended_ms - g->first_bound_ms : -1),
                               g->ended ? g->state : "waiting",
                               g->nodes[0] ? g->nodes : NULL,
                               g->why[0] ? g->why : NULL};
        output_row(&t, cells);
    }
    output_print(&t, format);
    output_fini(&t);
}

/* Whoever reads along sees the effect of one example before the next is applied. */
static bool is_settled(const struct demo *d)
{
    for (uint32_t i = 0; i < d->gangs_n; i++)
        if (!d->gangs[i].bound_n && !d->gangs[i].ended && !d->gangs[i].why[0])
            return false;
    return true;
}

static void settle(struct demo *d)
{
    int64_t end_ms = loop_now_ms(d->loop) + SETTLE_MS;
    while (!d->done && !is_settled(d) && loop_now_ms(d->loop) < end_ms)
        if (loop_run_for(d->loop, 50, NULL) < 0)
            break;
}

static int run(struct demo *d, enum output_format format, bool keep)
{
    job_watches_init(&d->watches, d->client, d);
    job_watches_add_all(&d->watches, &(struct job_receivers){on_job, on_pod, on_reason, on_queue});
    for (unsigned i = 0; i < example_files_n && !d->done; i++) {
        apply_file(d, &example_files[i]);
        settle(d);
    }
    while (!d->done && !all_ended(d) && loop_now_ms(d->loop) - d->start_ms < DEMO_TIMEOUT_MS)
        if (loop_run_for(d->loop, 100, NULL) < 0)
            break;
    fputc('\n', stderr);
    print_table(d, format);
    int failed = d->refused_n > 0 || d->gangs_n == 0;
    for (uint32_t i = 0; i < d->gangs_n; i++)
        failed |= !d->gangs[i].ended || d->gangs[i].failed;
    if (keep && !d->done) {
        fprintf(stderr, "\nThe cluster stays:  export KUBECONFIG=%s   (Ctrl-C ends it)\n",
                cluster_kubeconfig(d->cluster));
        while (!d->done && loop_run_for(d->loop, 1000, NULL) == 0)
            ;
    }
    return failed ? EXIT_FAILED : EXIT_OK;
}

static void on_signal(void *arg)
{
    struct demo *d = arg;
    d->done = true;
    loop_stop(d->loop);
}

/* That of the examples: the last of them is about what it turns on. */
static int configure(struct demo *d, struct err *e)
{
    _cleanup_buf_ struct buf warnings = {0}, problems = {0};
    configuration_default(&d->configuration);
    int r = configuration_parse(d->arena, bytes_of(example_configuration), &d->configuration, &warnings, &problems);
    return r < 0 ? err_set(e, -r, "the examples' configuration: %s", problems.data) : 0;
}

static int start(struct demo *d, const char *dir, double speed, struct err *e)
{
    struct node_shape shapes[SHAPES_MAX];
    int32_t nodes_n[SHAPES_MAX];
    if (configure(d, e) < 0)
        return -e->code;
    for (uint32_t i = 0; i < cluster_default_nodes_n; i++)
        if (node_shape_parse(cluster_default_nodes[i], &nodes_n[i], &shapes[i], e) < 0)
            return -E_INVALID;
    struct cluster_config config = {.data_dir = dir,
                                    .listen = "127.0.0.1:0",
                                    .shapes = shapes,
                                    .nodes_n = nodes_n,
                                    .shapes_n = cluster_default_nodes_n,
                                    .speed = speed,
                                    .policy = d->configuration.policy,
                                    .charge = &d->configuration.charge,
                                    .metrics = &d->configuration.metrics,
                                    .workloads = &d->configuration.workloads};
    int r = cluster_start(d->loop, &config, &d->cluster, e);
    if (r < 0)
        return r;
    d->client = cluster_client(d->cluster);
    d->start_ms = loop_now_ms(d->loop);
    say(d, "cluster of %u simulated nodes at %s", cluster_nodes(d->cluster), cluster_url(d->cluster));
    return 0;
}

static int demo_run(double speed, enum output_format format, bool keep)
{
    struct err e = {0};
    char dir[] = "/tmp/capstan-demo-XXXXXX";
    if (!mkdtemp(dir)) {
        fprintf(stderr, "capstan demo: make %s: %s\n", dir, strerror(errno));
        return EXIT_FAILED;
    }
    struct demo *d = mem_zero(1, sizeof *d);
    d->loop = loop_new();
    d->arena = arena_new();
    d->scratch = arena_new();
    d->kinds = kind_table_new();
    d->pods = map_new(sizeof(struct pod_seen));
    d->shares = map_new(sizeof(int64_t));
    struct loop_signal *stop = loop_signal_new(d->loop, SIGINT, on_signal, d),
                       *term = loop_signal_new(d->loop, SIGTERM, on_signal, d);
    int r = start(d, dir, speed, &e);
    if (r < 0)
        fprintf(stderr, "capstan demo: %s\n", e.text);
    r = r < 0 ? EXIT_FAILED : run(d, format, keep);
    job_watches_end(&d->watches);
    cluster_stop(d->cluster);
    loop_signal_free(stop);
    loop_signal_free(term);
    map_free(d->pods);
    map_free(d->shares);
    kind_table_free(d->kinds);
    arena_free(d->arena);
    arena_free(d->scratch);
    loop_free(d->loop);
    free(d);
    folder_remove(dir);
    return r;
}

int demo_main(const struct options *o)
{
    double speed;
    log_set_level(LOG_WARNING);
    if (!cluster_speed_parse(option_text(o, OPT_DEMO_SPEED), &speed))
        return options_wrong(o, "--speed: a number from 0.001 to 1000000");
    if (!option_text(o, OPT_DEMO_OUTPUT))
        return story_main(speed, option_flag(o, OPT_DEMO_KEEP));
    return demo_run(speed, output_format_of(o), option_flag(o, OPT_DEMO_KEEP));
}
