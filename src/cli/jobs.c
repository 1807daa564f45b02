/* jobs.c - capstan jobs: every job of every kind as one list: gang, state, waiting time */
#include <stdio.h>
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "sched/object.h"

static const char help[] =
    "Usage: capstan jobs [OPTION]...\n"
    "Jobs (batch/v1), Volcano Jobs, TrainJobs and pod groups: gang size, state, how long they waited.\n\n" CONNECT_HELP
    "\nExample: capstan jobs --all-namespaces\n";

static const struct output_column columns[] = {
    {"namespace", "NAMESPACE", false, false},
    {"kind", "KIND", false, false},
    {"name", "NAME", false, false},
    {"gang", "GANG", true, false},
    {"running", "RUNNING", true, false},
    {"state", "STATE", false, false},
    {"wait", "WAIT", false, false},
    {"queue", "QUEUE", false, false},
    {"age", "AGE", false, false},
    {"message", "MESSAGE", false, true},
};
enum { COLUMNS_N = sizeof columns / sizeof *columns };

struct job_line {
    const char *kind, *state, *queue, *message;
    int64_t gang_n, running_n, started_ms; /* started_ms 0 = not yet */
};

static void line_add(struct output_table *t, const struct json *object, const struct job_line *line, int64_t now_ms)
{
    struct arena *a = t->arena;
    char wait[TIME_TEXT_MAX], age[TIME_TEXT_MAX];
    int64_t created_ms = now_ms;
    (void)time_parse(bytes_of(object_meta(object, "creationTimestamp")), &created_ms); /* malformed: as if new */
    int64_t waited_ms = (line->started_ms ? line->started_ms : now_ms) - created_ms;
    const char *cells[COLUMNS_N] = {object_meta(object, "namespace"),
                                    line->kind,
                                    object_meta(object, "name"),
                                    arena_printf(a, "%lld", (long long)line->gang_n),
                                    arena_printf(a, "%lld", (long long)line->running_n),
                                    line->state,
                                    time_age(wait, waited_ms),
                                    line->queue && *line->queue ? line->queue : NULL,
                                    time_age(age, now_ms - created_ms),
                                    line->message && *line->message ? line->message : NULL};
    output_row(t, cells);
}

static int64_t time_of(const struct json *v)
{
    int64_t ms;
    return v && time_parse(json_bytes(v), &ms) ? ms : 0;
}

static const struct json *workload_of(const struct json *workloads, const struct json *job)
{
    const char *uid = object_meta(job, "uid");
    JSON_EACH (workload, json_get(workloads, "items"))
        if (strcmp(object_controller(workload, "uid"), uid) == 0)
            return workload;
    return NULL;
}

static void batch_job(struct output_table *t, const struct json *job, const struct json *workloads, int64_t now_ms)
{
    const struct json *spec = json_get(job, "spec"), *status = json_get(job, "status");
    const char *owner = object_controller(job, "kind");
    if (strcmp(owner, "TrainJob") == 0 || strcmp(owner, "JobSet") == 0)
        return;
    struct job_line line = {.kind = "Job", .queue = object_label(job, "kueue.x-k8s.io/queue-name")};
    int64_t parallelism = json_get_int64(spec, "parallelism", 1),
            completions = json_get_int64(spec, "completions", parallelism);
    line.gang_n = completions < parallelism ? completions : parallelism;
    line.running_n = json_get_int64(status, "active", 0);
    line.started_ms = time_of(json_get(status, "startTime"));
    const struct json *workload = workload_of(workloads, job);
    line.message = json_get_text(object_condition(workload, "QuotaReserved"), "message", "");
    line.state = object_condition_true(job, "Complete")                         ? "Complete"
                 : object_condition_true(job, "Failed")                         ? "Failed"
                 : json_get_bool(spec, "suspend", false)                        ? (workload ? "Queued" : "Suspended")
                 : line.running_n > 0 && json_get_int64(status, "ready", 0) > 0 ? "Running"
                                                                                : "Pending";
    line_add(t, job, &line, now_ms);
}

static void volcano_job(struct output_table *t, const struct json *job, int64_t now_ms)
{
    const struct json *status = json_get(job, "status");
    struct job_line line = {.kind = "vcjob", .queue = json_text(json_path(job, "spec", "queue", NULL), "default")};
    line.gang_n = json_int64(json_path(job, "spec", "minAvailable", NULL), 0);
    line.running_n = json_get_int64(status, "running", 0);
    line.state = json_text(json_path(status, "state", "phase", NULL), "Pending");
    line.message = json_text(json_path(status, "state", "message", NULL), "");
    JSON_EACH (condition, json_get(status, "conditions"))
        if (strcmp(json_get_text(condition, "status", ""), "Running") == 0)
            line.started_ms = time_of(json_get(condition, "lastTransitionTime"));
    line_add(t, job, &line, now_ms);
}

static void train_job(struct output_table *t, const struct json *job, const struct json *workloads, int64_t now_ms)
{
    const struct json *workload = workload_of(workloads, job);
    struct job_line line = {.kind = "TrainJob", .queue = object_label(job, "kueue.x-k8s.io/queue-name")};
    JSON_EACH (set, json_path(workload, "spec", "podSets", NULL))
        line.gang_n += json_get_int64(set, "count", 1);
    if (line.gang_n == 0)
        line.gang_n = json_int64(json_path(job, "spec", "trainer", "numNodes", NULL), 1);
    int64_t active_n = 0;
    JSON_EACH (one, json_path(job, "status", "jobsStatus", NULL))
        active_n += json_get_int64(one, "active", 0);
    line.running_n = active_n > 0 ? line.gang_n : 0;
    line.message = json_get_text(object_condition(workload, "QuotaReserved"), "message", "");
    line.started_ms = time_of(json_get(object_condition(workload, "Admitted"), "lastTransitionTime"));
    line.state = object_condition_true(job, "Complete")                   ? "Complete"
                 : object_condition_true(job, "Failed")                   ? "Failed"
                 : json_get_bool(json_get(job, "spec"), "suspend", false) ? (workload ? "Queued" : "Suspended")
                 : active_n > 0                                           ? "Running"
                                                                          : "Pending";
    line_add(t, job, &line, now_ms);
}

static void pod_group(struct output_table *t, const struct json *group, int64_t now_ms)
{
    const struct json *status = json_get(group, "status");
    const char *owner = object_controller(group, "kind");
    if (strcmp(owner, "Job") == 0 || strcmp(owner, "TrainJob") == 0)
        return; /* shown as its job */
    struct job_line line = {.kind = "PodGroup", .queue = json_text(json_path(group, "spec", "queue", NULL), "")};
    line.gang_n = json_int64(json_path(group, "spec", "minMember", NULL), 1);
    line.running_n = json_get_int64(status, "running", 0);
    line.state = json_get_text(status, "phase", "Pending");
    line.started_ms = strcmp(line.state, "Running") == 0 ? now_ms : 0;
    line_add(t, group, &line, now_ms);
}

static const struct json *list_get(struct connection *c, struct arena *a, const char *group, const char *version,
                                   const char *plural, struct err *e)
{
    return connection_get_list(c, a, kube_path(a, group, version, plural, c->ns, NULL, NULL), e);
}

static void job_rows(struct connection *c, struct output_table *t, struct err *e)
{
    struct arena *a = t->arena;
    int64_t now_ms = loop_wall_ms(c->loop);
    const struct json *workloads = list_get(c, a, "kueue.x-k8s.io", "v1beta2", "workloads", e);
    const struct json *list = list_get(c, a, "batch", "v1", "jobs", e);
    JSON_EACH (job, json_get(list, "items"))
        batch_job(t, job, workloads, now_ms);
    list = list_get(c, a, "batch.volcano.sh", "v1alpha1", "jobs", e);
    JSON_EACH (job, json_get(list, "items"))
        volcano_job(t, job, now_ms);
    list = list_get(c, a, "trainer.kubeflow.org", "v1alpha1", "trainjobs", e);
    JSON_EACH (job, json_get(list, "items"))
        train_job(t, job, workloads, now_ms);
    static const char *const makers[][2] = {{"scheduling.volcano.sh", "v1beta1"}, {"scheduling.x-k8s.io", "v1alpha1"}};
    for (int i = 0; i < 2; i++) {
        list = list_get(c, a, makers[i][0], makers[i][1], "podgroups", e);
        JSON_EACH (group, json_get(list, "items"))
            pod_group(t, group, now_ms);
    }
}

int jobs_main(int argc, char **argv)
{
    return connection_print_table(argc, argv, help, columns, COLUMNS_N, job_rows);
}
