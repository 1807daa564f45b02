/* intent_queue.c - in which queue the work should stand: one of its namespace that has quota of what it asks for; how long it may take */
#include <math.h>
#include "base/amount.h"
#include "cli/advise/intent/intent.h"
#include "cli/lookup/accelerators.h"
#include "cli/lookup/node_models.h"
#include "codec/kinds/label_selector.h"
#include "codec/kinds/queued_sets.h"
#include "jobs/kueue/kueue_kind.h"
#include "kube/object.h"

enum { HOUR_S = 3600, DAY_S = 86400 };

static const struct json *cluster_queue_named(const struct intent *p, const char *name)
{
    const struct json *own = intent_document(p, "ClusterQueue", NULL, name);
    JSON_EACH (queue, p->x->cluster_queues)
        if (!own && text_equal(object_meta(queue, "name"), name))
            return queue;
    return own;
}

static const struct json *local_queue_named(const struct intent *p, const char *ns, const char *name)
{
    const struct json *own = intent_document(p, "LocalQueue", ns, name);
    JSON_EACH (queue, p->x->local_queues)
        if (!own && text_equal(object_meta(queue, "name"), name) && text_equal(object_meta(queue, "namespace"), ns))
            return queue;
    return own;
}

/* Of the resource, in all flavors of the queue. */
struct room {
    bool covered;
    int64_t nominal_n, reserved_n;
    const char *flavors; /* NULL none */
};

static struct room room_of(struct intent *p, const struct json *queue, const char *resource)
{
    struct room r = {0};
    JSON_EACH (group, json_path(queue, "spec", "resourceGroups", NULL))
        JSON_EACH (flavor, json_get(group, "flavors"))
            JSON_EACH (quota, json_get(flavor, "resources"))
                if (text_equal(json_get_text(quota, "name", ""), resource)) {
                    r.covered = true;
                    r.nominal_n = amount_plus(r.nominal_n, whole_number(json_get(quota, "nominalQuota")));
                    r.flavors = arena_printf(p->x->a, "%s%s%s", r.flavors ? r.flavors : "", r.flavors ? ", " : "",
                                             json_get_text(flavor, "name", "?"));
                }
    JSON_EACH (flavor, json_path(queue, "status", "flavorsReservation", NULL))
        JSON_EACH (amount, json_get(flavor, "resources"))
            if (text_equal(json_get_text(amount, "name", ""), resource))
                r.reserved_n = amount_plus(r.reserved_n, whole_number(json_get(amount, "total")));
    return r;
}

static const char *cluster_queue_of(const struct json *local)
{
    return json_text(json_path(local, "spec", "clusterQueue", NULL), "");
}

static void evidence_of(struct intent *p, struct advise_finding *f, const struct intent_work *w, const char *name)
{
    const struct json *queue = cluster_queue_named(p, name);
    struct room r = room_of(p, queue, w->resource ? w->resource : "cpu");
    if (!queue)
        return;
    if (w->resource)
        advise_evidence(p->x, f, arena_printf(p->x->a, "ClusterQueue %s", name), "%lld of its %lld %s reserved%s%s",
                        (long long)r.reserved_n, (long long)r.nominal_n, w->resource, r.flavors ? ", in flavors " : "",
                        r.flavors ? r.flavors : "");
    advise_evidence(p->x, f, arena_printf(p->x->a, "ClusterQueue %s, status.pendingWorkloads", name), "%lld wait",
                    (long long)json_int64(json_path(queue, "status", "pendingWorkloads", NULL), 0));
}

/* Does it count the accelerators of this work? Who may not read it does not know, and then it may. */
static bool takes(struct intent *p, const struct intent_work *w, const struct json *queue)
{
    return !queue || !w->resource || room_of(p, queue, w->resource).covered;
}

/* And all else that its containers ask for. WHY  what a queue has no quota of keeps a job out of it, cpu and memory, too. */
static bool takes_all(struct intent *p, const struct intent_work *w, const struct json *queue)
{
    static const char *const lists[] = {"requests", "limits"};
    for (const struct intent_pods *pods = w->pods; queue && pods; pods = pods->next)
        JSON_EACH (container, json_path(pods->pod, "spec", "containers", NULL))
            for (int i = 0; i < 2; i++)
                JSON_EACH (amount, json_path(container, "resources", lists[i], NULL))
                    if (amount->key && !room_of(p, queue, amount->key).covered)
                        return false;
    return true;
}

static int64_t free_of(struct intent *p, const struct intent_work *w, const struct json *queue)
{
    struct room r = room_of(p, queue, w->resource ? w->resource : "");
    return r.nominal_n - r.reserved_n;
}

/* One that nobody has looked at yet is not. */
static bool is_stopped(const struct json *queue)
{
    return text_equal(json_get_text(object_condition(queue, "Active"), "status", ""), "False");
}

/* ORDER  who has the most left of what is asked for; of equals the first by name, as the server lists them. */
static const struct json *best_local(struct intent *p, const struct intent_work *w)
{
    const struct json *best = NULL;
    int64_t most = 0;
    JSON_EACH (local, p->x->local_queues) {
        const struct json *queue = cluster_queue_named(p, cluster_queue_of(local));
        if (!text_equal(object_meta(local, "namespace"), w->ns) || is_stopped(local) || !takes_all(p, w, queue))
            continue;
        if (!best || free_of(p, w, queue) > most) {
            best = local;
            most = free_of(p, w, queue);
        }
    }
    return best;
}

/* A ClusterQueue that takes jobs of the namespace, which has no LocalQueue to it. */
static const struct json *best_cluster_queue(struct intent *p, const struct intent_work *w)
{
    const struct json *ns = json_first(p->x->cluster_queues)
                                ? advise_get(p->x, kube_path(p->x->a, "", "v1", "namespaces", NULL, w->ns, NULL))
                                : NULL,
                      *best = NULL;
    int64_t most = 0;
    JSON_EACH (queue, p->x->cluster_queues) {
        if (is_stopped(queue) || !takes_all(p, w, queue) ||
            !label_selector_matches(json_path(queue, "spec", "namespaceSelector", NULL), json_path(ns, "metadata", "labels", NULL)))
            continue;
        if (!best || free_of(p, w, queue) > most) {
            best = queue;
            most = free_of(p, w, queue);
        }
    }
    return best;
}

static struct json *local_queue_new(struct intent *p, const struct intent_work *w, const char *cluster_queue)
{
    struct json *local = json_new(p->x->a, JSON_OBJECT), *metadata;
    json_set_text(p->x->a, local, "apiVersion", "kueue.x-k8s.io/v1beta2");
    json_set_text(p->x->a, local, "kind", "LocalQueue");
    metadata = json_ensure_object(p->x->a, local, "metadata");
    json_set_text(p->x->a, metadata, "name", cluster_queue);
    json_set_text(p->x->a, metadata, "namespace", w->ns);
    json_set_text(p->x->a, json_ensure_object(p->x->a, local, "spec"), "clusterQueue", cluster_queue);
    return local;
}

/* WHY  where no webhook writes into the template what holds the pods, or suspends the job, they would come before the quota. */
static void stand_in(struct intent *p, struct intent_work *w, struct advise_finding *f, const char *name, struct json *added)
{
    intent_label(p, w->object, KUEUE_QUEUE_LABEL, name);
    (void)unheld_mend(p->x->a, json_get_text(w->document, "kind", ""), w->document);
    if (w->queued && w->queued != &queued_kinds[QUEUED_SPARKAPPLICATION])
        json_set_bool(p->x->a, queued_kind_policy(p->x->a, w->queued, w->object), "suspend", true);
    intent_changed(p, w, f, added);
}

const char *intent_lacks_quota(struct intent *p, const struct intent_work *w, const char *resource)
{
    const char *name = intent_queue_of(w);
    const struct json *local = *name                      ? local_queue_named(p, w->ns, name)
                               : w->kind == INTENT_QUEUED ? best_local(p, w)
                                                          : NULL,
                      *queue = cluster_queue_named(p, cluster_queue_of(local));
    return queue && !room_of(p, queue, resource).covered ? object_meta(queue, "name") : NULL;
}

/* What is wrong with where it stands, or that it stands nowhere, is `wrong`. */
static void choose(struct intent *p, struct intent_work *w, const char *wrong)
{
    const struct json *local = best_local(p, w), *cluster = local ? NULL : best_cluster_queue(p, w);
    const char *queue = local ? cluster_queue_of(local) : object_meta(cluster, "name");
    if (!local && !cluster) {
        bool any = json_first(p->x->cluster_queues);
        const char *what = any ? arena_printf(p->x->a, "no queue has quota of all that it asks for in namespace %s", w->ns)
                               : "there are none: the scheduler places what comes";
        struct advise_finding *f =
            advise_find(p->x, w->about, any ? "ask who runs the queues for a LocalQueue of one that has all it asks for" : INTENT_NOTHING,
                        "%s, and %s", wrong, what);
        advise_evidence(p->x, f, "ClusterQueues",
                        any ? "none that takes its namespace has quota of all that it asks for" : "there is none");
        return;
    }
    const char *name = local ? object_meta(local, "name") : queue;
    struct advise_finding *f = advise_find(
        p->x, w->about,
        arena_printf(p->x->a, "%slabel " KUEUE_QUEUE_LABEL ": %s", local ? "" : "a LocalQueue of its namespace, and the ", name),
        "%s; LocalQueue %s (of ClusterQueue %s) has the most left", wrong, name, queue);
    evidence_of(p, f, w, queue);
    stand_in(p, w, f, name, local ? NULL : local_queue_new(p, w, queue));
}

static void vcjob_queue(struct intent *p, struct intent_work *w)
{
    const char *name = json_text(json_path(w->object, "spec", "queue", NULL), "default"), *names = NULL;
    const struct json *queues = json_get(advise_get(p->x, "/apis/scheduling.volcano.sh/v1beta1/queues"), "items");
    bool there = intent_document(p, "Queue", NULL, name), standard = false;
    JSON_EACH (queue, queues) {
        names = arena_printf(p->x->a, "%s%s%s", names ? names : "", names ? ", " : "", object_meta(queue, "name"));
        there |= text_equal(object_meta(queue, "name"), name);
        standard |= text_equal(object_meta(queue, "name"), "default");
    }
    struct advise_finding *f = there || !queues ? advise_find(p->x, w->about, INTENT_NOTHING, "stands in Volcano's Queue %s", name)
                                                : advise_find(p->x, w->about, standard ? "queue: default" : "name one that is there",
                                                              "there is no Queue %s", name);
    advise_evidence(p->x, f, "Queues of Volcano", "%s", names ? names : "there is none");
    if (!there && queues && standard) {
        json_set_text(p->x->a, json_get(w->object, "spec"), "queue", "default");
        intent_changed(p, w, f, NULL);
    }
}

/* A label that nobody reads where it stands, and nobody writes elsewhere. */
static void queue_in_vain(struct intent *p, struct intent_work *w)
{
    const char *kind = json_get_text(w->document, "kind", ""),
               *text = queued_set_named(kind) ? NULL : unheld_text(p->x->a, kind, w->document);
    if (!text)
        return;
    struct advise_finding *f = advise_find(p->x, w->about, "say it there, too", "%s", text);
    if (unheld_mend(p->x->a, kind, w->document))
        intent_changed(p, w, f, NULL);
}

void intent_queue(struct intent *p, struct intent_work *w)
{
    queue_in_vain(p, w);
    const char *name = intent_queue_of(w);
    if (w->kind == INTENT_VCJOB) {
        vcjob_queue(p, w);
        return;
    }
    if (w->kind == INTENT_GROUP) {
        (void)advise_find(p->x, w->about, INTENT_NOTHING, "a group of pods by themselves stands in no queue, and no quota counts it");
        return;
    }
    const struct json *local = *name ? local_queue_named(p, w->ns, name) : NULL;
    if (!*name && !w->resource && !intent_has_share(w) && w->queued != &queued_kinds[QUEUED_TRAINJOB]) {
        (void)advise_find(p->x, w->about, INTENT_NOTHING, "asks for no GPU: it needs no queue");
    } else if (!*name) {
        choose(p, w, "names no queue");
    } else if (!local && !p->x->local_queues) {
        (void)advise_find(p->x, w->about, INTENT_NOTHING, "names LocalQueue %s, which may not be read", name);
    } else if (!local) {
        choose(p, w, arena_printf(p->x->a, "there is no LocalQueue %s in namespace %s", name, w->ns));
    } else if (!takes(p, w, cluster_queue_named(p, cluster_queue_of(local)))) {
        choose(p, w, arena_printf(p->x->a, "ClusterQueue %s of its queue has no quota of %s", cluster_queue_of(local), w->resource));
    } else {
        struct advise_finding *f =
            advise_find(p->x, w->about, INTENT_NOTHING, "stands in LocalQueue %s of ClusterQueue %s", name, cluster_queue_of(local));
        evidence_of(p, f, w, cluster_queue_of(local));
    }
}

/* ---- how long ---- */

static int64_t limit_of_s(const struct intent_work *w)
{
    int64_t label_s = 0, own_s = json_int64(json_path(w->object, "spec", "activeDeadlineSeconds", NULL), 0),
            policy_s = json_int64(json_path(w->object, "spec", "runPolicy", "activeDeadlineSeconds", NULL), 0);
    (void)bytes_int64(bytes_of(object_label(w->object, KUEUE_EXEC_TIME_LABEL)), &label_s);
    return own_s > 0 ? own_s : policy_s > 0 ? policy_s : label_s;
}

static void limit_set(struct intent *p, struct intent_work *w, int64_t limit_s)
{
    struct json *spec = json_get(w->object, "spec");
    const char *label = object_label(w->object, KUEUE_EXEC_TIME_LABEL);
    if (*label || w->queued != &queued_kinds[QUEUED_JOB])
        intent_label(p, w->object, KUEUE_EXEC_TIME_LABEL, arena_printf(p->x->a, "%lld", (long long)limit_s));
    if (w->queued == &queued_kinds[QUEUED_JOB] || json_get(spec, "activeDeadlineSeconds"))
        json_set_int64(p->x->a, spec, "activeDeadlineSeconds", limit_s);
    if (json_path(spec, "runPolicy", "activeDeadlineSeconds", NULL))
        json_set_int64(p->x->a, json_get(spec, "runPolicy"), "activeDeadlineSeconds", limit_s);
}

/* Twice what the longest earlier one took, in whole hours, a day at least. WHY  a limit that is generous tells as much, and ends nothing
 * that works. */
void intent_time(struct intent *p, struct intent_work *w)
{
    const struct intent_past *past = &w->past;
    int64_t limit_s = limit_of_s(w), longest_s = (int64_t)ceil(past->longest_s), twice_s = (2 * longest_s / HOUR_S + 1) * HOUR_S,
            wanted_s = twice_s > DAY_S ? twice_s : DAY_S;
    struct advise_finding *f;
    const char *todo = arena_printf(p->x->a, "limit it to %s", advise_age(p->x, wanted_s * 1000));
    if (w->kind == INTENT_SET || w->queued == &queued_kinds[QUEUED_RAYCLUSTER] || w->queued == &queued_kinds[QUEUED_RAYSERVICE]) {
        (void)advise_find(p->x, w->about, INTENT_NOTHING, "serves: it has no end");
        return;
    }
    bool short_of = limit_s > 0 && past->over_n && longest_s > limit_s, unlimited = limit_s <= 0 && past->over_n && *intent_queue_of(w);
    if (short_of)
        f = advise_find(p->x, w->about, todo, "its limit of %s would have ended an earlier one", advise_age(p->x, limit_s * 1000));
    else if (limit_s > 0)
        f = advise_find(p->x, w->about, INTENT_NOTHING, "ends after %s at the latest: those behind it can be told when they start",
                        advise_age(p->x, limit_s * 1000));
    else if (unlimited)
        f = advise_find(p->x, w->about, todo, "has no limit of time: nobody behind it can be told when it ends");
    else
        f = advise_find(p->x, w->about, *intent_queue_of(w) ? "write a generous one when it is known how long it takes" : INTENT_NOTHING,
                        "has no limit of time, and %s", past->over_n ? "no queue waits for it" : "no earlier one of its name has ended");
    if (past->over_n)
        advise_evidence(p->x, f, arena_printf(p->x->a, "usage store %s", p->x->store), "%u earlier jobs %s*, the longest of %s",
                        past->over_n, past->name, advise_age(p->x, longest_s * 1000));
    if (short_of || unlimited) {
        limit_set(p, w, wanted_s);
        intent_changed(p, w, f, NULL);
    }
}
