/* jobset_plan.c - see jobset_plan.h */
#include "jobs/kubeflow/jobset_plan.h"
#include "codec/schema/schema_checks.h"
#include "kube/object.h"

/* NULL: its pods have no host names. */
static const char *subdomain_of(struct arena *a, const struct json *jobset)
{
    const struct json *network = json_path(jobset, "spec", "network", NULL);
    const char *given = json_get_text(network, "subdomain", "");
    if (!json_get_bool(network, "enableDNSHostnames", true))
        return NULL;
    return arena_text(a, *given ? given : object_meta(jobset, "name"));
}

/* Where it is found; NULL: there is none. */
static const char *coordinator_of(struct arena *a, const struct json *jobset)
{
    const struct json *coordinator = json_path(jobset, "spec", "coordinator", NULL);
    const char *domain = json_text(json_path(jobset, "spec", "network", "subdomain", NULL), "");
    if (!coordinator)
        return NULL;
    return arena_printf(a, "%s-%s-%lld-%lld.%s", object_meta(jobset, "name"), json_get_text(coordinator, "replicatedJob", ""),
                        (long long)json_get_int64(coordinator, "jobIndex", 0), (long long)json_get_int64(coordinator, "podIndex", 0),
                        *domain ? domain : object_meta(jobset, "name"));
}

static const char *claim_name(struct arena *a, const struct json *jobset, const struct json *claim)
{
    return arena_printf(a, "%s-%s", object_meta(claim, "name"), object_meta(jobset, "name"));
}

static bool is_mounted(const struct json *pod_spec, const char *volume)
{
    static const char *const lists[] = {"containers", "initContainers"};
    for (int i = 0; i < 2; i++)
        JSON_EACH (container, json_get(pod_spec, lists[i]))
            JSON_EACH (mount, json_get(container, "volumeMounts"))
                if (strcmp(json_get_text(mount, "name", ""), volume) == 0)
                    return true;
    return false;
}

/* Claims are volumes of those pods that mount them. */
static void add_claims(struct arena *a, const struct json *jobset, struct json *pod_spec)
{
    JSON_EACH (policy, json_path(jobset, "spec", "volumeClaimPolicies", NULL))
        JSON_EACH (claim, json_get(policy, "templates")) {
            struct json *volume = json_new(a, JSON_OBJECT);
            if (!is_mounted(pod_spec, object_meta(claim, "name")))
                continue;
            json_set_text(a, volume, "name", object_meta(claim, "name"));
            json_set_text(a, json_ensure_object(a, volume, "persistentVolumeClaim"), "claimName", claim_name(a, jobset, claim));
            json_append(json_ensure_array(a, pod_spec, "volumes"), volume);
        }
}

/* {metadata: {name, labels, annotations}, spec, retained} of each claim, which the Jobs mount. */
static struct json *claims_of(struct arena *a, const struct json *jobset)
{
    struct json *list = json_new(a, JSON_ARRAY);
    JSON_EACH (policy, json_path(jobset, "spec", "volumeClaimPolicies", NULL)) {
        bool retained = strcmp(json_get_text(json_get(policy, "retentionPolicy"), "whenDeleted", "Delete"), "Retain") == 0;
        JSON_EACH (claim, json_get(policy, "templates")) {
            struct json *own = json_clone(a, claim);
            json_set_text(a, json_ensure_object(a, own, "metadata"), "name", claim_name(a, jobset, claim));
            json_set_bool(a, own, "retained", retained);
            json_append(list, own);
        }
    }
    return list;
}

uint32_t jobset_jobs(struct arena *a, const struct json *jobset, struct replicated_job **ret_jobs)
{
    const struct json *list = json_path(jobset, "spec", "replicatedJobs", NULL);
    struct replicated_job *jobs = arena_zero(a, (list ? list->n : 0) + 1u, sizeof *jobs);
    uint32_t n = 0;
    JSON_EACH (replicated, list) {
        const struct json *template = json_get(replicated, "template"), *spec = json_get(template, "spec"),
                          *meta = json_get(template, "metadata");
        struct replicated_job *job = &jobs[n++];
        int64_t parallelism = json_get_int64(spec, "parallelism", 1), completions = json_get_int64(spec, "completions", parallelism);
        job->name = json_get_text(replicated, "name", "");
        job->group = json_get_text(replicated, "groupName", "default");
        job->replicas = child_jobs_bound(json_get_int64(replicated, "replicas", 1));
        job->count = completions < parallelism ? completions : parallelism;
        job->job_spec = json_is(spec, JSON_OBJECT) ? json_clone(a, spec) : json_new(a, JSON_OBJECT);
        job->labels = json_get(meta, "labels");
        job->annotations = json_get(meta, "annotations");
        job->depends_on = json_get(replicated, "dependsOn");
        (void)json_remove(job->job_spec, "suspend");
        if (strcmp(json_get_text(job->job_spec, "completionMode", ""), "Indexed") == 0 && !json_get(job->job_spec, "completions"))
            json_set_int64(a, job->job_spec, "completions", parallelism);
        struct json *pods = json_ensure_object(a, job->job_spec, "template");
        add_claims(a, jobset, json_ensure_object(a, pods, "spec"));
    }
    *ret_jobs = jobs;
    return n;
}

struct child_jobs jobset_children(struct arena *a, const struct json *jobset)
{
    const struct json *spec = json_get(jobset, "spec");
    struct child_jobs c = {.subdomain = subdomain_of(a, jobset), .coordinator = coordinator_of(a, jobset), .claims = claims_of(a, jobset)};
    c.hides_unready = !json_get_bool(json_get(spec, "network"), "publishNotReadyAddresses", true);
    c.in_order = strcmp(json_get_text(json_get(spec, "startupPolicy"), "startupPolicyOrder", ""), "InOrder") == 0;
    c.n = jobset_jobs(a, jobset, &c.jobs);
    return c;
}

static bool has_name(const struct json *list, const char *name)
{
    bool found = !list || !list->n; /* who names none means all */
    JSON_EACH (one, list)
        found = found || strcmp(json_text(one, ""), name) == 0;
    return found;
}

static bool succeeded(const struct json *jobset, const struct replicated_job *jobs, uint32_t n, const struct child_counts *counts)
{
    const struct json *policy = json_path(jobset, "spec", "successPolicy", NULL), *targets = json_get(policy, "targetReplicatedJobs");
    bool any = strcmp(json_get_text(policy, "operator", "All"), "Any") == 0;
    int64_t wanted = 0, done = 0;
    for (uint32_t i = 0; i < n; i++)
        if (has_name(targets, jobs[i].name)) {
            wanted += jobs[i].replicas;
            done += counts[i].succeeded;
        }
    return any ? done > 0 : done >= wanted;
}

static bool says(const struct json *patterns, const char *message)
{
    bool found = !patterns || !patterns->n, one;
    JSON_EACH (pattern, patterns) /* one that cannot be understood is found nowhere */
        found = found || (schema_pattern_finds(json_text(pattern, ""), &message, 1, &one) && one);
    return found;
}

static bool fits(const struct json *rule, const struct child_failure *f)
{
    const struct json *condition = object_condition(f->job, "Failed");
    return has_name(json_get(rule, "targetReplicatedJobs"), f->of->name) &&
           has_name(json_get(rule, "onJobFailureReasons"), json_get_text(condition, "reason", "")) &&
           says(json_get(rule, "onJobFailureMessagePatterns"), json_get_text(condition, "message", ""));
}

/* The first of them, by time, that the rule is for; rule NULL: it is for all. NULL: it is for none. */
static const struct child_failure *first_of(const struct json *rule, const struct child_failure *failures, uint32_t n)
{
    const struct child_failure *first = NULL;
    const char *first_at = "";
    for (uint32_t i = 0; i < n; i++) {
        const char *at = json_get_text(object_condition(failures[i].job, "Failed"), "lastTransitionTime", "");
        if ((rule && !fits(rule, &failures[i])) || (first && strcmp(at, first_at) >= 0))
            continue;
        first = &failures[i];
        first_at = at;
    }
    return first;
}

static struct jobset_decision failed_for(struct arena *a, const char *reason, const char *why, const struct child_failure *first)
{
    return (struct jobset_decision){.verdict = JOBSET_FAILED, .reason = reason, .failed = first->job,
        .message = arena_printf(a, "%s (first failed job: %s)", why, object_meta(first->job, "name"))};
}

/* The first rule that is for one of them decides; without one the set is restarted. SOURCE JobSet */
static struct jobset_decision after_failure(struct arena *a, const struct json *jobset, const struct child_failure *failures, uint32_t n)
{
    const struct json *policy = json_path(jobset, "spec", "failurePolicy", NULL);
    const struct child_failure *first = NULL;
    const char *action = "RestartJobSet", *rule_name = NULL;
    if (!policy)
        return failed_for(a, "FailedJobs", "jobset failed due to one or more job failures", first_of(NULL, failures, n));
    JSON_EACH (rule, json_get(policy, "rules"))
        if (!first && (first = first_of(rule, failures, n))) {
            action = json_get_text(rule, "action", action);
            rule_name = json_get_text(rule, "name", "");
        }
    first = first ? first : first_of(NULL, failures, n);
    const char *reason = arena_printf(a, "%sFailurePolicyAction", action),
               *why = arena_printf(a, "applying %s failure policy action", action);
    if (strcmp(action, "FailJobSet") == 0)
        return failed_for(a, reason, why, first);
    bool counts = strstr(action, "IgnoreMaxRestarts") == NULL;
    if (counts && json_int64(json_path(jobset, "status", "restartsCountTowardsMax", NULL), 0) >= json_get_int64(policy, "maxRestarts", 0))
        return failed_for(a, "ReachedMaxRestarts", "jobset failed due to reaching max number of restarts", first);
    struct jobset_decision d = failed_for(a, reason, why, first);
    d.verdict = JOBSET_RESTARTS;
    d.counts = counts;
    d.alone = text_starts(action, "RestartJob") && !text_starts(action, "RestartJobSet");
    d.rule = rule_name;
    return d;
}

struct jobset_decision jobset_decide(struct arena *a, const struct json *jobset, const struct replicated_job *jobs, uint32_t n,
                                     const struct child_counts *counts, const struct child_failure *failures, uint32_t failures_n)
{
    if (failures_n)
        return after_failure(a, jobset, failures, failures_n);
    if (n && succeeded(jobset, jobs, n, counts))
        return (struct jobset_decision){.verdict = JOBSET_COMPLETED, .reason = "AllJobsCompleted",
                                        .message = "jobset completed successfully"};
    return (struct jobset_decision){.verdict = JOBSET_GOES_ON};
}
