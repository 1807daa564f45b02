/* advise_queues.c - queues in which somebody waits who need not: quota that is lent for good, heads that block, jobs without an end */
#include "base/amount.h"
#include "base/clock.h"
#include "cli/advise/advise.h"
#include "cli/lookup/accelerators.h"
#include "cli/lookup/local_share.h"
#include "codec/decode/decode.h"
#include "kube/object.h"

enum { DAY_S = 86400, HOUR_S = 3600, JOBS_MOST = 20 };

/* Of accelerators, in status.flavorsReservation of a ClusterQueue: "total" or "borrowed". */
static int64_t reserved_of(const struct json *queue, const char *what)
{
    int64_t n = 0;
    JSON_EACH (flavor, json_path(queue, "status", "flavorsReservation", NULL))
        JSON_EACH (amount, json_get(flavor, "resources"))
            if (is_accelerator(json_get_text(amount, "name", "")))
                n = amount_plus(n, whole_number(json_get(amount, what)));
    return n;
}

/* Of accelerators. */
static int64_t nominal_of(const struct json *queue)
{
    int64_t n = 0;
    JSON_EACH (group, json_path(queue, "spec", "resourceGroups", NULL))
        JSON_EACH (flavor, json_get(group, "flavors"))
            JSON_EACH (quota, json_get(flavor, "resources"))
                if (is_accelerator(json_get_text(quota, "name", "")))
                    n = amount_plus(n, whole_number(json_get(quota, "nominalQuota")));
    return n;
}

static int64_t pending_of(const struct json *queue)
{
    return json_int64(json_path(queue, "status", "pendingWorkloads", NULL), 0);
}

/* Of Workloads: the ClusterQueue in whose line it stands; "" none. */
static const char *line_of(const struct advise *x, const struct json *workload)
{
    return json_text(json_path(local_queue_of(workload, x->local_queues), "spec", "clusterQueue", NULL), "");
}

static bool waits(const struct json *workload)
{
    return json_get_bool(json_get(workload, "spec"), "active", true) && !object_condition_true(workload, "QuotaReserved") &&
           !object_condition_true(workload, "Finished");
}

static int64_t accelerators_asked(struct advise *x, const struct json *workload)
{
    struct accelerators sum = {0};
    JSON_EACH (set, json_path(workload, "spec", "podSets", NULL))
        accelerators_add(&sum, json_get_int64(set, "count", 1), accelerators_of(x->a, json_get(set, "template")));
    return sum.devices_n;
}

/* ---- quota that is lent and does not come back ---- */

static void no_reclaim_look(struct advise *x, const struct json *queue)
{
    const char *name = object_meta(queue, "name"), *cohort = json_text(decode_queue_cohort(json_get(queue, "spec")), ""),
               *reclaim = json_text(json_path(queue, "spec", "preemption", "reclaimWithinCohort", NULL), "Never"), *borrowers = NULL;
    int64_t pending_n = pending_of(queue), nominal_n = nominal_of(queue), reserved_n = reserved_of(queue, "total"), borrowed_n = 0;
    if (!*cohort || !pending_n || reserved_n >= nominal_n || !text_equal(reclaim, "Never"))
        return;
    JSON_EACH (other, x->cluster_queues) {
        int64_t n = reserved_of(other, "borrowed");
        if (!n || !text_equal(cohort, json_text(decode_queue_cohort(json_get(other, "spec")), "")))
            continue;
        borrowed_n = amount_plus(borrowed_n, n);
        borrowers =
            arena_printf(x->a, "%s%s%s %lld", borrowers ? borrowers : "", borrowers ? ", " : "", object_meta(other, "name"), (long long)n);
    }
    if (!borrowed_n)
        return;
    struct advise_finding *f =
        advise_find(x, arena_printf(x->a, "ClusterQueue %s", name), "let it take back its own: preemption.reclaimWithinCohort: Any",
                    "%lld wait below its own quota, which others of cohort %s have borrowed and may keep", (long long)pending_n, cohort);
    advise_evidence(x, f, arena_printf(x->a, "ClusterQueue %s, status", name), "%lld of its %lld GPUs reserved, %lld pending",
                    (long long)reserved_n, (long long)nominal_n, (long long)pending_n);
    advise_evidence(x, f, "ClusterQueues, status.flavorsReservation", "borrowed: %s", borrowers);
    advise_evidence(x, f, arena_printf(x->a, "ClusterQueue %s, spec.preemption", name), "reclaimWithinCohort: %s", reclaim);
    struct json *object = advise_object(x, queue, "kueue.x-k8s.io/v1beta2", "ClusterQueue");
    json_set_text(x->a, json_ensure_object(x->a, json_get(object, "spec"), "preemption"), "reclaimWithinCohort", "Any");
    json_append(f->manifests, object);
}

void advise_no_reclaim(struct advise *x)
{
    JSON_EACH (queue, x->cluster_queues)
        no_reclaim_look(x, queue);
}

/* ---- a head that blocks ---- */

static void strict_look(struct advise *x, const struct json *queue)
{
    const char *name = object_meta(queue, "name"), *head = NULL, *why = "";
    int64_t free_n = nominal_of(queue) - reserved_of(queue, "total"), behind_n = 0, fit_n = 0, head_n = 0;
    if (!text_equal(json_text(json_path(queue, "spec", "queueingStrategy", NULL), ""), "StrictFIFO") || free_n <= 0)
        return;
    JSON_EACH (workload, x->workloads) {
        if (!waits(workload) || !text_equal(line_of(x, workload), name))
            continue;
        const struct json *tree = json_parse(x->a, bytes_of(object_waiting(workload)), NULL, NULL);
        if (text_equal(json_get_text(tree, "code", ""), "behind-in-queue")) {
            int64_t asked_n = accelerators_asked(x, workload);
            behind_n++;
            fit_n += asked_n > 0 && asked_n <= free_n;
        } else if (tree) {
            head = object_key(x->a, workload);
            head_n = accelerators_asked(x, workload);
            why = json_get_text(tree, "message", "");
        }
    }
    if (!head || !fit_n)
        return;
    struct advise_finding *f =
        advise_find(x, arena_printf(x->a, "ClusterQueue %s", name),
                    "let those that fit go past it: queueingStrategy: BestEffortFIFO (the head is tried again with each change)",
                    "its first one does not fit, and %lld of the %lld behind it would", (long long)fit_n, (long long)behind_n);
    advise_evidence(x, f, arena_printf(x->a, "Workload %s", head), "asks for %lld GPUs: %s", (long long)head_n, why);
    advise_evidence(x, f, arena_printf(x->a, "ClusterQueue %s, status", name), "%lld GPUs of its quota are free", (long long)free_n);
    struct json *object = advise_object(x, queue, "kueue.x-k8s.io/v1beta2", "ClusterQueue");
    json_set_text(x->a, json_get(object, "spec"), "queueingStrategy", "BestEffortFIFO");
    json_append(f->manifests, object);
}

void advise_strict_head(struct advise *x)
{
    JSON_EACH (queue, x->cluster_queues)
        strict_look(x, queue);
}

/* ---- jobs without an end ---- */

static const struct json *job_of(const struct advise *x, const struct json *workload)
{
    const struct json *const *found = map_find_text(x->jobs_by_uid, object_controller(workload, "uid"));
    return found ? *found : NULL;
}

static bool has_limit(const struct json *workload, const struct json *job)
{
    return json_path(workload, "spec", "maximumExecutionTimeSeconds", NULL) || json_path(job, "spec", "activeDeadlineSeconds", NULL) ||
           *object_label(job, "kueue.x-k8s.io/max-exec-time-seconds");
}

/* Twice as long as it has run, in whole hours, a day at least. WHY  a limit that is generous tells as much, and ends nothing that works. */
static int64_t limit_for(const struct advise *x, const struct json *job)
{
    int64_t started_ms = x->now_ms;
    (void)time_parse(bytes_of(json_text(json_path(job, "status", "startTime", NULL), "")), &started_ms);
    int64_t twice_s = (x->now_ms - started_ms) / 500;
    return twice_s > DAY_S ? (twice_s + HOUR_S - 1) / HOUR_S * HOUR_S : DAY_S;
}

static void no_limit_look(struct advise *x, const struct json *queue)
{
    const char *name = object_meta(queue, "name");
    int64_t running_n = 0, without_n = 0, gpus_n = 0;
    struct json *manifests = json_new(x->a, JSON_ARRAY);
    const char *names = NULL;
    if (!pending_of(queue))
        return;
    JSON_EACH (workload, x->workloads) {
        const struct json *job = job_of(x, workload);
        if (!object_condition_true(workload, "Admitted") || object_condition_true(workload, "Finished") || !job ||
            !text_equal(json_text(json_path(workload, "status", "admission", "clusterQueue", NULL), ""), name))
            continue;
        running_n++;
        if (has_limit(workload, job))
            continue;
        gpus_n = amount_plus(gpus_n, accelerators_asked(x, workload));
        if (without_n++ >= JOBS_MOST)
            continue;
        names = arena_printf(x->a, "%s%s%s", names ? names : "", names ? ", " : "", object_key(x->a, job));
        struct json *object = advise_object(x, job, "batch/v1", "Job");
        json_set_int64(x->a, json_get(object, "spec"), "activeDeadlineSeconds", limit_for(x, job));
        json_append(manifests, object);
    }
    if (!without_n)
        return;
    struct advise_finding *f =
        advise_find(x, arena_printf(x->a, "ClusterQueue %s", name),
                    "write generous limits of time: nothing that works is ended, and those that wait are told when they start",
                    "%lld wait, and %lld of %lld running Jobs have no limit of time: nobody can say when they give back their %lld GPUs",
                    (long long)pending_of(queue), (long long)without_n, (long long)running_n, (long long)gpus_n);
    advise_evidence(x, f, "Jobs, spec.activeDeadlineSeconds", "without: %s%s", names, without_n > JOBS_MOST ? " and others" : "");
    advise_evidence(x, f, arena_printf(x->a, "ClusterQueue %s, status.pendingWorkloads", name), "%lld", (long long)pending_of(queue));
    f->manifests = manifests;
}

void advise_no_limit(struct advise *x)
{
    JSON_EACH (queue, x->cluster_queues)
        no_limit_look(x, queue);
}
