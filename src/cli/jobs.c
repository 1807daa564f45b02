/* jobs.c - capstan jobs: every job of every kind as one list: gang, state, waiting time
 *
 * What runs is counted in the pods themselves: a status says "active" of pods that wait for a node, too.
 */
#include <stdio.h>
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/lookup/gang_size.h"
#include "cli/lookup/pod_counts.h"
#include "cli/lookup/reserved.h"
#include "kube/object.h"
#include "sched/figures/workload_wait.h"

static const struct output_column columns[] = {
    {"namespace", "NAMESPACE", .is_number = false},
    {"kind", "KIND", .is_number = false},
    {"name", "NAME", .is_number = false},
    {"gang", "GANG", .is_number = true, .place = OUTPUT_FOR_PEOPLE},
    {"gang", "GANG", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"gangAsked", "ASKED", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"gangFewest", "FEWEST", .is_number = true, .place = OUTPUT_FOR_PROGRAMS},
    {"running", "RUNNING", .is_number = true},
    {"state", "STATE", .is_number = false},
    {"wait", "WAIT", .is_number = false},
    {"waitSeconds", "WAIT S", .place = OUTPUT_FOR_PROGRAMS},
    {"queue", "QUEUE", .is_number = false},
    {"age", "AGE", .is_number = false},
    {"ageSeconds", "AGE S", .place = OUTPUT_FOR_PROGRAMS},
    {"message", "MESSAGE", .wide = true},
};
enum { COLUMNS_N = sizeof columns / sizeof *columns };

struct job_line {
    const char *kind, *name, *state, *queue, *message;
    int64_t gang_n, running_n;
    struct gang_size size;         /* of what may start with fewer than it asks for; else nothing */
    int64_t queued_ms, started_ms; /* wall; started 0 = not yet */
    bool idle;                     /* it waits for nothing: over, stopped by somebody */
};

struct jobs_view {
    struct output_table *t;
    struct pod_counts *pods;
    const struct json *workloads; /* items */
    const struct json *jobs;
    int64_t now_ms;
};

static int64_t time_of(const struct json *v)
{
    int64_t ms;
    return v && time_parse(json_bytes(v), &ms) ? ms : 0;
}

static int64_t time_of_text(const char *text)
{
    int64_t ms;
    return time_parse(bytes_of(text), &ms) ? ms : 0;
}

static int64_t transition_of(const struct json *object, const char *type)
{
    return object_condition_true(object, type) ? time_of(json_get(object_condition(object, type), "lastTransitionTime")) : 0;
}

static const char *or_null(const char *text)
{
    return text && *text ? text : NULL;
}

static void line_add(struct jobs_view *v, const struct json *object, const struct job_line *line)
{
    struct arena *a = v->t->arena;
    char wait[TIME_TEXT_MAX], age[TIME_TEXT_MAX];
    int64_t created_ms = time_of_text(object_meta(object, "creationTimestamp"));
    int64_t age_ms = created_ms && created_ms < v->now_ms ? v->now_ms - created_ms : 0; /* malformed: as if new */
    int64_t from_ms = line->queued_ms ? line->queued_ms : v->now_ms - age_ms, until_ms = line->started_ms ? line->started_ms : v->now_ms,
            waited_ms = until_ms > from_ms ? until_ms - from_ms : 0;
    bool known = line->started_ms || !line->idle, may_shrink = line->size.fewest_n < line->size.asked_n;
    const char *gang = arena_printf(a, "%lld", (long long)line->gang_n);
    const char *cells[COLUMNS_N] = {object_meta(object, "namespace"),
                                    line->kind,
                                    line->name ? line->name : object_meta(object, "name"),
                                    may_shrink ? gang_size_text(a, line->size) : gang,
                                    gang,
                                    may_shrink ? arena_printf(a, "%lld", (long long)line->size.asked_n) : gang,
                                    may_shrink ? arena_printf(a, "%lld", (long long)line->size.fewest_n) : gang,
                                    arena_printf(a, "%lld", (long long)line->running_n),
                                    line->state,
                                    known ? time_age(wait, waited_ms) : NULL,
                                    known ? arena_printf(a, "%lld", (long long)waited_ms / 1000) : NULL,
                                    or_null(line->queue),
                                    time_age(age, age_ms),
                                    arena_printf(a, "%lld", (long long)age_ms / 1000),
                                    or_null(line->message)};
    output_row(v->t, cells);
}

static const struct json *workload_of(const struct jobs_view *v, const struct json *job)
{
    const char *uid = object_meta(job, "uid");
    JSON_EACH (workload, v->workloads)
        if (strcmp(object_controller(workload, "uid"), uid) == 0)
            return workload;
    return NULL;
}

/* State, wait and message of what Kueue's queues admit; `suspended`: the job itself says so. */
static void queued_state(const struct jobs_view *v, struct job_line *line, const struct json *job, const struct json *workload,
                         bool suspended, const struct pod_count *pods)
{
    const char *awaited = workload ? reserved_text(v->t->arena, workload) : NULL,
               *reserved = awaited ? awaited : json_get_text(object_condition(workload, "QuotaReserved"), "message", "");
    line->queued_ms = workload ? time_of_text(workload_queued_since(workload)) : 0;
    line->started_ms = workload ? transition_of(workload, "Admitted") : pods->bound_ms;
    line->message = *reserved ? reserved : pods->message;
    if (object_condition_true(job, "Complete") || object_condition_true(job, "Failed")) {
        const char *type = object_condition_true(job, "Complete") ? "Complete" : "Failed";
        line->state = type;
        line->message = json_get_text(object_condition(job, type), "message", "");
    } else if (suspended) {
        line->state = !json_get_bool(json_get(workload, "spec"), "active", true) ? "Deactivated" : workload ? "Queued" : "Suspended";
    } else {
        line->state = pods->running_n > 0 ? "Running" : "Pending";
        line->message = pods->message ? pods->message : line->message;
    }
    line->idle = !text_equal(line->state, "Queued") && !text_equal(line->state, "Pending");
}

static void batch_job(struct jobs_view *v, const struct json *job)
{
    const struct json *spec = json_get(job, "spec"), *status = json_get(job, "status");
    const char *owner = object_controller(job, "kind");
    if (strcmp(owner, "TrainJob") == 0 || strcmp(owner, "JobSet") == 0)
        return;
    struct job_line line = {.kind = "Job", .queue = object_label(job, "kueue.x-k8s.io/queue-name")};
    int64_t parallelism = json_get_int64(spec, "parallelism", 1),
            completions = json_get_int64(spec, "completions", parallelism);
    struct pod_count pods = pod_counts_of(v->pods, object_meta(job, "uid"));
    const struct json *workload = workload_of(v, job);
    line.gang_n = completions < parallelism ? completions : parallelism;
    line.size = gang_size_of(workload);
    line.running_n = pods.running_n;
    queued_state(v, &line, job, workload, json_get_bool(spec, "suspend", false), &pods);
    if (!workload) { /* its controller took it up then, at the latest when it was resumed */
        line.queued_ms = time_of(json_get(status, "startTime"));
        line.started_ms = line.started_ms ? line.started_ms : line.idle ? line.queued_ms : 0;
    }
    line_add(v, job, &line);
}

/* SHAPE  one condition a phase, the newest at the tail. A wait begins with Restarting, or with the Pending after a start or a creation. */
static void volcano_times(struct job_line *line, const struct json *status)
{
    const char *before = "";
    JSON_EACH (condition, json_get(status, "conditions")) {
        const char *phase = json_get_text(condition, "status", "");
        int64_t ms = time_of(json_get(condition, "lastTransitionTime"));
        if (strcmp(phase, "Running") == 0) {
            line->started_ms = ms;
        } else if (strcmp(phase, "Restarting") == 0 || (strcmp(phase, "Pending") == 0 && strcmp(before, "Restarting") != 0)) {
            line->queued_ms = ms;
            line->started_ms = 0;
        }
        before = phase;
    }
}

static void volcano_job(struct jobs_view *v, const struct json *job)
{
    const struct json *status = json_get(job, "status");
    struct job_line line = {.kind = "vcjob", .queue = json_text(json_path(job, "spec", "queue", NULL), "default")};
    struct pod_count pods = pod_counts_of(v->pods, object_meta(job, "uid"));
    line.gang_n = json_int64(json_path(job, "spec", "minAvailable", NULL), 0);
    line.running_n = pods.running_n;
    line.state = json_text(json_path(status, "state", "phase", NULL), "Pending");
    line.message = json_text(json_path(status, "state", "message", NULL), "");
    line.idle = !text_equal(line.state, "Pending") && !text_equal(line.state, "Restarting");
    if (!*line.message && !line.idle && pods.message)
        line.message = pods.message;
    volcano_times(&line, status);
    line_add(v, job, &line);
}

/* Its pods are those of its jobs, which a JobSet of its name may stand between. */
static struct pod_count train_pods(const struct jobs_view *v, const struct json *train)
{
    struct pod_count all = {0};
    JSON_EACH (job, v->jobs) {
        const char *kind = object_controller(job, "kind");
        bool by_set = strcmp(kind, "JobSet") == 0 && strcmp(object_controller(job, "name"), object_meta(train, "name")) == 0 &&
                      strcmp(object_meta(job, "namespace"), object_meta(train, "namespace")) == 0;
        if (by_set || strcmp(object_controller(job, "uid"), object_meta(train, "uid")) == 0)
            pod_counts_sum(&all, pod_counts_of(v->pods, object_meta(job, "uid")));
    }
    return all;
}

static void train_job(struct jobs_view *v, const struct json *job)
{
    const struct json *workload = workload_of(v, job);
    struct job_line line = {.kind = "TrainJob", .queue = object_label(job, "kueue.x-k8s.io/queue-name")};
    struct pod_count pods = train_pods(v, job);
    line.gang_n = gang_size_of(workload).asked_n;
    if (line.gang_n == 0)
        line.gang_n = json_int64(json_path(job, "spec", "trainer", "numNodes", NULL), 1);
    line.running_n = pods.running_n;
    queued_state(v, &line, job, workload, json_get_bool(json_get(job, "spec"), "suspend", false), &pods);
    line_add(v, job, &line);
}

static void pod_group(struct jobs_view *v, const struct json *group, enum pod_group_maker maker)
{
    const struct json *spec = json_get(group, "spec");
    const char *owner = object_controller(group, "kind");
    if (strcmp(owner, "Job") == 0 || strcmp(owner, "TrainJob") == 0)
        return; /* shown as its job */
    struct job_line line = {.kind = "PodGroup", .queue = json_get_text(spec, "queue", "")};
    struct pod_count pods = pod_counts_of_group(v->pods, maker, object_meta(group, "namespace"), object_meta(group, "name"));
    int64_t count = json_int64(json_path(spec, "schedulingPolicy", "gang", "minCount", NULL), 1);
    line.gang_n = json_get_int64(spec, "minMember", count);
    line.running_n = pods.running_n;
    line.state = json_text(json_path(group, "status", "phase", NULL), pods.running_n ? "Running" : "Pending");
    line.started_ms = pods.waiting_n && pods.running_n < line.gang_n ? 0 : pods.bound_ms;
    line.message = pods.message;
    line.idle = text_equal(line.state, "Finished") || text_equal(line.state, "Failed") || text_equal(line.state, "Completed");
    line_add(v, group, &line);
}

/* Pods that stand in a queue of Kueue by themselves, one or a group: the Workload is all that there is of them. */
static void queued_pods(struct jobs_view *v, const struct json *workload)
{
    const struct json *owner = json_item(json_path(workload, "metadata", "ownerReferences", NULL), 0);
    if (strcmp(json_get_text(owner, "kind", ""), "Pod") != 0)
        return;
    struct job_line line = {.queue = json_text(json_path(workload, "spec", "queueName", NULL), "")};
    struct pod_count pods =
        pod_counts_of_group(v->pods, POD_GROUP_KUEUE, object_meta(workload, "namespace"), object_meta(workload, "name"));
    bool single = !pods.all_n;
    if (single)
        pods = pod_counts_of(v->pods, json_get_text(owner, "uid", ""));
    line.kind = single ? "Pod" : "PodGroup";
    line.name = single ? json_get_text(owner, "name", "") : NULL;
    line.size = gang_size_of(workload);
    line.gang_n = line.size.asked_n;
    line.running_n = pods.running_n;
    queued_state(v, &line, NULL, workload, !object_condition_true(workload, "Admitted"), &pods);
    const struct json *finished = object_condition(workload, "Finished");
    if (object_condition_true(workload, "Finished")) {
        line.state = text_equal(json_get_text(finished, "reason", ""), "Failed") ? "Failed" : "Complete";
        line.message = json_get_text(finished, "message", "");
        line.idle = true;
    }
    line_add(v, workload, &line);
}

static const struct json *items_get(struct connection *c, struct arena *a, const char *group, const char *version, const char *plural,
                                    struct err *e)
{
    return json_get(connection_get_list(c, a, kube_path(a, group, version, plural, c->ns, NULL, NULL), e), "items");
}

static void job_rows(struct connection *c, struct output_table *t, struct err *e)
{
    struct arena *a = t->arena;
    struct jobs_view v = {.t = t, .pods = pod_counts_new(), .now_ms = loop_wall_ms(c->loop)};
    JSON_EACH (pod, items_get(c, a, "", "v1", "pods", e))
        pod_counts_add(v.pods, pod);
    v.workloads = items_get(c, a, "kueue.x-k8s.io", "v1beta2", "workloads", e);
    v.jobs = items_get(c, a, "batch", "v1", "jobs", e);
    JSON_EACH (job, v.jobs)
        batch_job(&v, job);
    JSON_EACH (job, items_get(c, a, "batch.volcano.sh", "v1alpha1", "jobs", e))
        volcano_job(&v, job);
    JSON_EACH (job, items_get(c, a, "trainer.kubeflow.org", "v1alpha1", "trainjobs", e))
        train_job(&v, job);
    static const struct {
        const char *group, *version;
        enum pod_group_maker maker;
    } makers[] = {{"scheduling.volcano.sh", "v1beta1", POD_GROUP_VOLCANO},
                  {"scheduling.x-k8s.io", "v1alpha1", POD_GROUP_COSCHEDULING},
                  {"scheduling.k8s.io", "v1beta1", POD_GROUP_NATIVE}};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        JSON_EACH (group, items_get(c, a, makers[i].group, makers[i].version, "podgroups", e))
            pod_group(&v, group, makers[i].maker);
    JSON_EACH (workload, v.workloads)
        queued_pods(&v, workload);
    pod_counts_free(v.pods);
}

int jobs_main(const struct options *o)
{
    return connection_print_table(o, columns, COLUMNS_N, job_rows);
}
