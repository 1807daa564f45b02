/* table_columns_workload.c - batch and apps */
#include "apiserver/tables/table_columns.h"
#include "base/clock.h"

static const struct json *spec_of(const struct json *object, const char *field)
{
    return json_path(object, "spec", field, NULL);
}

static int64_t status_int(const struct json *object, const char *field)
{
    return json_int64(json_path(object, "status", field, NULL), 0);
}

static void template_cells(struct table_cells *c, const struct json *object)
{
    cell_containers(c, json_path(object, "spec", "template", "spec", NULL));
}

static bool has_condition(const struct json *object, const char *type)
{
    JSON_EACH (condition, json_path(object, "status", "conditions", NULL)) {
        if (strcmp(json_get_text(condition, "type", ""), type) == 0 &&
            strcmp(json_get_text(condition, "status", ""), "True") == 0)
            return true;
    }
    return false;
}

/* ---- Job ---- */

static const char *job_word(const struct json *job)
{
    if (has_condition(job, "Complete"))
        return "Complete";
    if (has_condition(job, "Failed"))
        return "Failed";
    if (json_path(job, "metadata", "deletionTimestamp", NULL))
        return "Terminating";
    static const char *const types[] = {"Suspended", "FailureTarget", "SuccessCriteriaMet"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (has_condition(job, types[i]))
            return types[i];
    return "Running";
}

static void job_completions(struct table_cells *c, const struct json *job)
{
    long long done = (long long)status_int(job, "succeeded");
    const struct json *completions = spec_of(job, "completions");
    int64_t parallelism = json_int64(spec_of(job, "parallelism"), 0);
    if (json_is(completions, JSON_NUMBER))
        cell_printf(c, "%lld/%lld", done, (long long)json_int64(completions, 0));
    else if (parallelism > 1)
        cell_printf(c, "%lld/1 of %lld", done, (long long)parallelism);
    else
        cell_printf(c, "%lld/1", done);
}

static void job_duration(struct table_cells *c, const struct json *job)
{
    char text[TIME_TEXT_MAX];
    int64_t start_ms, end_ms = c->now_ms;
    const char *start = json_text(json_path(job, "status", "startTime", NULL), "");
    const char *end = json_text(json_path(job, "status", "completionTime", NULL), "");
    if (*end && !time_parse(bytes_of(end), &end_ms))
        end_ms = c->now_ms;
    cell_text(c, time_parse(bytes_of(start), &start_ms) ? time_age(text, end_ms - start_ms) : "");
}

static void job_cells(struct table_cells *c, const struct json *job)
{
    cell_name(c, job);
    cell_text(c, job_word(job));
    job_completions(c, job);
    job_duration(c, job);
    cell_age(c, job);
    template_cells(c, job);
    cell_text(c, cell_selector(c, spec_of(job, "selector")));
}
static const struct table_column job_columns[] = {
    COLUMN_NAME,
    {"Status", "string", "", 0, "Running, Suspended, Complete, Failed."},
    {"Completions", "string", "", 0, "Pods that succeeded, of those wanted."},
    {"Duration", "string", "", 0, "Time from start to completion, or until now."},
    COLUMN_AGE,
    COLUMNS_CONTAINERS,
    COLUMN_SELECTOR,
};

static void cron_job_cells(struct table_cells *c, const struct json *cron)
{
    const struct json *suspend = spec_of(cron, "suspend"), *active = json_path(cron, "status", "active", NULL);
    const struct json *job = json_path(cron, "spec", "jobTemplate", "spec", NULL);
    cell_name(c, cron);
    cell_text(c, json_text(spec_of(cron, "schedule"), ""));
    cell_text_or_none(c, json_text(spec_of(cron, "timeZone"), ""));
    cell_text(c, !suspend ? "<unset>" : json_bool(suspend, false) ? "True" : "False");
    cell_int(c, active ? active->n : 0);
    cell_since(c, json_text(json_path(cron, "status", "lastScheduleTime", NULL), NULL), "<none>");
    cell_age(c, cron);
    cell_containers(c, json_path(job, "template", "spec", NULL));
    cell_text(c, cell_selector(c, json_get(job, "selector")));
}
static const struct table_column cron_job_columns[] = {
    COLUMN_NAME,
    {"Schedule", "string", "", 0, "When jobs start, in cron form."},
    {"Timezone", "string", "", 0, "Time zone of the schedule."},
    {"Suspend", "boolean", "", 0, "Whether new jobs are held back."},
    {"Active", "integer", "", 0, "Jobs that run now."},
    {"Last Schedule", "string", "", 0, "When a job was last started."},
    COLUMN_AGE,
    COLUMNS_CONTAINERS,
    COLUMN_SELECTOR,
};

/* ---- apps ---- */

static void deployment_cells(struct table_cells *c, const struct json *deployment)
{
    cell_name(c, deployment);
    cell_printf(c, "%lld/%lld", (long long)status_int(deployment, "readyReplicas"),
                (long long)json_int64(spec_of(deployment, "replicas"), 0));
    cell_int(c, status_int(deployment, "updatedReplicas"));
    cell_int(c, status_int(deployment, "availableReplicas"));
    cell_age(c, deployment);
    template_cells(c, deployment);
    cell_text(c, cell_selector(c, spec_of(deployment, "selector")));
}
static const struct table_column deployment_columns[] = {
    COLUMN_NAME,
    {"Ready", "string", "", 0, "Ready pods, of those wanted."},
    {"Up-to-date", "string", "", 0, "Pods made from the newest template."},
    {"Available", "string", "", 0, "Pods that have been ready for long enough."},
    COLUMN_AGE,
    COLUMNS_CONTAINERS,
    COLUMN_SELECTOR,
};

static void replicas_cells(struct table_cells *c, const struct json *set, const char *selector)
{
    cell_name(c, set);
    cell_int(c, json_int64(spec_of(set, "replicas"), 0));
    cell_int(c, status_int(set, "replicas"));
    cell_int(c, status_int(set, "readyReplicas"));
    cell_age(c, set);
    template_cells(c, set);
    cell_text(c, selector);
}

static void replica_set_cells(struct table_cells *c, const struct json *set)
{
    replicas_cells(c, set, cell_selector(c, spec_of(set, "selector")));
}

/* A ReplicationController's selector is a plain map of labels. */
static void replication_controller_cells(struct table_cells *c, const struct json *set)
{
    replicas_cells(c, set, cell_labels(c, spec_of(set, "selector")));
}
static const struct table_column replica_set_columns[] = {
    COLUMN_NAME,
    {"Desired", "integer", "", 0, "Pods wanted."},
    {"Current", "integer", "", 0, "Pods that exist."},
    {"Ready", "integer", "", 0, "Pods that are ready."},
    COLUMN_AGE,
    COLUMNS_CONTAINERS,
    COLUMN_SELECTOR,
};

static void stateful_set_cells(struct table_cells *c, const struct json *set)
{
    cell_name(c, set);
    cell_printf(c, "%lld/%lld", (long long)status_int(set, "readyReplicas"),
                (long long)json_int64(spec_of(set, "replicas"), 0));
    cell_age(c, set);
    template_cells(c, set);
}
static const struct table_column stateful_set_columns[] = {
    COLUMN_NAME,
    {"Ready", "string", "", 0, "Ready pods, of those wanted."},
    COLUMN_AGE,
    COLUMNS_CONTAINERS,
};

static void daemon_set_cells(struct table_cells *c, const struct json *set)
{
    static const char *const counts[] = {"desiredNumberScheduled", "currentNumberScheduled", "numberReady",
                                         "updatedNumberScheduled", "numberAvailable"};
    cell_name(c, set);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        cell_int(c, status_int(set, counts[i]));
    cell_text(c, cell_labels(c, json_path(set, "spec", "template", "spec", "nodeSelector", NULL)));
    cell_age(c, set);
    template_cells(c, set);
    cell_text(c, cell_selector(c, spec_of(set, "selector")));
}
static const struct table_column daemon_set_columns[] = {
    COLUMN_NAME,
    {"Desired", "integer", "", 0, "Nodes that should run the pod."},
    {"Current", "integer", "", 0, "Nodes that have the pod."},
    {"Ready", "integer", "", 0, "Nodes where the pod is ready."},
    {"Up-to-date", "integer", "", 0, "Nodes with the newest pod."},
    {"Available", "integer", "", 0, "Nodes where the pod is available."},
    {"Node Selector", "string", "", 0, "Labels that nodes must have."},
    COLUMN_AGE,
    COLUMNS_CONTAINERS,
    COLUMN_SELECTOR,
};

static void revision_cells(struct table_cells *c, const struct json *revision)
{
    const struct json *owner = json_item(json_path(revision, "metadata", "ownerReferences", NULL), 0);
    cell_name(c, revision);
    cell_printf(c, "%s/%s", json_get_text(owner, "kind", "<none>"), json_get_text(owner, "name", ""));
    cell_int(c, json_get_int64(revision, "revision", 0));
    cell_age(c, revision);
}
static const struct table_column revision_columns[] = {
    COLUMN_NAME,
    {"Controller", "string", "", 0, "Object that it is a state of."},
    {"Revision", "integer", "", 0, "Number of the state."},
    COLUMN_AGE,
};

/* ---- autoscaling ---- */

static void autoscaler_cells(struct table_cells *c, const struct json *scaler)
{
    const struct json *target = spec_of(scaler, "scaleTargetRef");
    cell_name(c, scaler);
    cell_printf(c, "%s/%s", json_get_text(target, "kind", ""), json_get_text(target, "name", ""));
    cell_text(c, "<none>");
    cell_text(c, arena_printf(c->arena, "%lld", (long long)json_int64(spec_of(scaler, "minReplicas"), 1)));
    cell_int(c, json_int64(spec_of(scaler, "maxReplicas"), 0));
    cell_int(c, status_int(scaler, "currentReplicas"));
    cell_age(c, scaler);
}
static const struct table_column autoscaler_columns[] = {
    COLUMN_NAME,
    {"Reference", "string", "", 0, "What is scaled."},
    {"Targets", "string", "", 0, "Measured and wanted values."},
    {"MinPods", "string", "", 0, "Fewest pods."},
    {"MaxPods", "string", "", 0, "Most pods."},
    {"Replicas", "string", "", 0, "Pods now."},
    COLUMN_AGE,
};

const struct table_layout table_layouts_workload[] = {
    {"batch", "Job", TABLE_COLUMNS(job_columns), job_cells},
    {"batch", "CronJob", TABLE_COLUMNS(cron_job_columns), cron_job_cells},
    {"apps", "Deployment", TABLE_COLUMNS(deployment_columns), deployment_cells},
    {"apps", "ReplicaSet", TABLE_COLUMNS(replica_set_columns), replica_set_cells},
    {"apps", "StatefulSet", TABLE_COLUMNS(stateful_set_columns), stateful_set_cells},
    {"apps", "DaemonSet", TABLE_COLUMNS(daemon_set_columns), daemon_set_cells},
    {"apps", "ControllerRevision", TABLE_COLUMNS(revision_columns), revision_cells},
    {"", "ReplicationController", TABLE_COLUMNS(replica_set_columns), replication_controller_cells},
    {"autoscaling", "HorizontalPodAutoscaler", TABLE_COLUMNS(autoscaler_columns), autoscaler_cells},
    {0},
};
