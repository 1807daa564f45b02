/* advise_moves.c - gangs for which enough is free, but not together: which jobs would have to stand elsewhere, what of their work is lost
 *
 * The scheduler has found that, and shown it by a try: it stands with the reason why the gang waits (core/moves/moves.h). Here is told who
 * has to allow it.
 */
#include "base/clock.h"
#include "cli/advise/advise.h"
#include "cli/lookup/accelerators.h"
#include "kube/object.h"

#define COST_ANNOTATION "capstan.dev/move-cost-seconds"
enum { COST_LEAST_S = 600, COST_MOST_S = 604800, MINUTE_S = 60 };

/* The first remedy that is made of moves alone; NULL: there is none. */
static const struct json *moves_of(const struct json *tree)
{
    JSON_EACH (remedy, json_get(tree, "remedies")) {
        const struct json *all = json_get(remedy, "all"), *other = NULL;
        JSON_EACH (change, all)
            other = text_equal(json_get_text(change, "change", ""), "move") ? other : change;
        if (json_first(all) && !other)
            return all;
    }
    return NULL;
}

static const struct json *workload_named(const struct advise *x, const struct json *move)
{
    JSON_EACH (workload, x->workloads)
        if (text_equal(object_meta(workload, "name"), json_get_text(move, "name", "")) &&
            text_equal(object_meta(workload, "namespace"), json_get_text(move, "namespace", "")))
            return workload;
    return NULL;
}

static const char *queue_of(const struct advise *x, const struct json *move)
{
    return json_text(json_path(workload_named(x, move), "status", "admission", "clusterQueue", NULL), "");
}

/* "Job ns/a", as people know it. */
static const char *title_of(struct advise *x, const struct json *move)
{
    const struct json *workload = workload_named(x, move);
    const char *kind = object_controller(workload, "kind"), *ns = json_get_text(move, "namespace", "?");
    return *kind ? arena_printf(x->a, "%s %s/%s", kind, ns, object_controller(workload, "name"))
                 : arena_printf(x->a, "Workload %s/%s", ns, json_get_text(move, "name", "?"));
}

static void evidence_of(struct advise *x, struct advise_finding *f, const struct json *move)
{
    const char *to = NULL;
    JSON_EACH (place, json_get(move, "to"))
        to = arena_printf(x->a, "%s%s%s", to ? to : "", to ? ", " : "", json_get_text(place, "node", "?"));
    advise_evidence(x, f, arena_printf(x->a, "%s, reason why it waits", f->about), "%s would go to %s, and lose %.1f GPU-hours of its work",
                    title_of(x, move), to ? to : "?", (double)json_get_int64(move, "lostGpuSeconds", 0) / 3600);
    advise_evidence(x, f, arena_printf(x->a, "ClusterQueue %s, annotation " COST_ANNOTATION, queue_of(x, move)), "%s",
                    json_get_text(move, "policy", "?"));
}

/* Twice what is lost now for each GPU that the gang gets, in whole minutes. WHY  it grows while they run on. */
static int64_t cost_for(int64_t lost_s, int64_t gpus_n)
{
    int64_t cost_s = (2 * (lost_s / (gpus_n > 0 ? gpus_n : 1)) / MINUTE_S + 1) * MINUTE_S;
    return cost_s < COST_LEAST_S ? COST_LEAST_S : cost_s > COST_MOST_S ? COST_MOST_S : cost_s;
}

/* Each ClusterQueue once whose jobs are to move. */
static const char *queues_allow(struct advise *x, struct advise_finding *f, const struct json *moves, int64_t cost_s)
{
    const char *names = NULL;
    struct json *seen = json_new(x->a, JSON_OBJECT);
    JSON_EACH (move, moves)
        JSON_EACH (queue, x->cluster_queues) {
            const char *name = object_meta(queue, "name");
            if (json_get_bool(move, "allowed", false) || !text_equal(name, queue_of(x, move)) || json_get(seen, name))
                continue;
            json_set_bool(x->a, seen, name, true);
            names = arena_printf(x->a, "%s%s%s", names ? names : "", names ? ", " : "", name);
            struct json *object = advise_object(x, queue, "kueue.x-k8s.io/v1beta2", "ClusterQueue");
            json_set_text(x->a, json_ensure_object(x->a, json_get(object, "metadata"), "annotations"), COST_ANNOTATION,
                          arena_printf(x->a, "%lld", (long long)cost_s));
            json_append(f->manifests, object);
        }
    return names;
}

static void moves_look(struct advise *x, const char *about, const struct json *tree, int64_t gpus_n, int64_t created_ms)
{
    const struct json *moves = moves_of(tree);
    bool allowed = true, forbidden = false;
    int64_t lost_s = 0;
    const char *who = NULL;
    JSON_EACH (move, moves) {
        allowed &= json_get_bool(move, "allowed", false);
        forbidden |= text_equal(json_get_text(move, "policy", ""), "NotMovable");
        lost_s += json_get_int64(move, "lostGpuSeconds", 0);
        who = arena_printf(x->a, "%s%s%s", who ? who : "", who ? ", " : "", title_of(x, move));
    }
    if (!moves || (allowed && x->now_ms - created_ms < x->long_ms)) /* it is about to be done */
        return;
    struct advise_finding *f = advise_find(
        x, about, "", "enough GPUs for it are free, but not together: it would start with %s elsewhere, at a loss of %.1f GPU-hours", who,
        (double)lost_s / 3600);
    JSON_EACH (move, moves)
        evidence_of(x, f, move);
    const char *queues = allowed || forbidden ? NULL : queues_allow(x, f, moves, cost_for(lost_s, gpus_n));
    f->todo =
        allowed
            ? "they may be moved, and are not: one gang at a time, none beside promised starts, StrictFIFO or admission checks (docs/clusters.md)"
        : forbidden ? "ask whose they are: their capstan.dev/movable forbids it"
        : queues    ? arena_printf(x->a, "let them be moved: " COST_ANNOTATION ": %lld on ClusterQueue %s",
                                   (long long)cost_for(lost_s, gpus_n), queues)
                    : "ask who runs their queues to let them be moved (" COST_ANNOTATION ")";
}

static int64_t created_of(const struct advise *x, const struct json *object)
{
    int64_t ms = x->now_ms;
    (void)time_parse(bytes_of(object_meta(object, "creationTimestamp")), &ms);
    return ms;
}

static int64_t workload_gpus_n(struct advise *x, const struct json *workload)
{
    struct accelerators sum = {0};
    JSON_EACH (set, json_path(workload, "spec", "podSets", NULL))
        accelerators_add(&sum, json_get_int64(set, "count", 1), accelerators_of(x->a, json_get(set, "template")));
    return sum.devices_n;
}

static void workload_look(struct advise *x, const struct json *workload)
{
    const char *kind = object_controller(workload, "kind"), *ns = object_meta(workload, "namespace"), *reason = object_waiting(workload);
    if (*reason)
        moves_look(x,
                   *kind ? arena_printf(x->a, "%s %s/%s", kind, ns, object_controller(workload, "name"))
                         : arena_printf(x->a, "Workload %s", object_key(x->a, workload)),
                   json_parse(x->a, bytes_of(reason), NULL, NULL), workload_gpus_n(x, workload), created_of(x, workload));
}

/* Of groups it is not known here how many GPUs their pods ask for together: a bound for one of them does. */
static void groups_look(struct advise *x, enum pod_group_maker maker)
{
    JSON_EACH (object, json_get(advise_pod_group(x, maker, x->c.ns, NULL), "items"))
        if (*object_waiting(object))
            moves_look(x, arena_printf(x->a, "PodGroup %s", object_key(x->a, object)),
                       json_parse(x->a, bytes_of(object_waiting(object)), NULL, NULL), 1, created_of(x, object));
}

void advise_moves(struct advise *x)
{
    JSON_EACH (workload, x->workloads)
        workload_look(x, workload);
    for (int maker = 0; maker < POD_GROUP_KUEUE; maker++) /* which is no object */
        groups_look(x, (enum pod_group_maker)maker);
    for (const struct advise_alone *p = x->alone; p; p = p->next)
        moves_look(x, p->about, json_parse(x->a, bytes_of(p->reason), NULL, NULL), p->gpus_n, p->created_ms);
}
