/* status_workload.c - what core decided about a Workload, written in Kueue's words
 *
 * LEVEL  the intent (act.c) says what should be; a pass compares with the object and patches what differs. When the
 * object shows it, the intent is done and core is told. A patch carries the resourceVersion that was read.
 */
#include "base/clock.h"
#include "base/quantity.h"
#include "sched/scheduler.h"

struct pass {
    struct scheduler *s;
    struct work *work;
    const struct json *workload;
    struct json *conditions; /* a copy that is being changed */
    bool changed;
    int64_t now_ms, generation;
};

static void set(struct pass *x, const char *type, bool status, const char *reason, const char *message)
{
    if (object_condition_set(x->work->arena, x->conditions, type, status, reason, message, x->now_ms, x->generation))
        x->changed = true;
}

static char *path_of(const struct pass *x, const char *sub)
{
    return kube_path(x->work->arena, "kueue.x-k8s.io", "v1beta2", "workloads", x->work->ns, x->work->name, sub);
}

static void event(struct pass *x, const char *type, const char *reason, const char *text)
{
    struct kube_object_ref about = {"kueue.x-k8s.io/v1beta2", "Workload", x->work->ns, x->work->name,
                                    object_meta(x->workload, "uid")};
    kube_event(x->s->events, &about, type, reason, "%s", text);
}

static void send(struct pass *x, struct json *admission)
{
    struct json *patch = object_patch(x->work->arena, x->workload);
    struct json *status = json_ensure_object(x->work->arena, patch, "status");
    json_set(x->work->arena, status, "conditions", x->conditions);
    if (admission)
        json_set(x->work->arena, status, "admission", admission);
    work_patch(x->work, KUBE_PATCH_MERGE, path_of(x, "status"), patch);
}

void status_annotate(struct work *w, const char *path, const struct json *object, const char *tree)
{
    const char *now = object_annotation(object, REASON_ANNOTATION);
    if (strcmp(now, tree ? tree : "") == 0)
        return;
    struct json *patch = json_new(w->arena, JSON_OBJECT);
    struct json *annotations =
        json_ensure_object(w->arena, json_ensure_object(w->arena, patch, "metadata"), "annotations");
    json_set(w->arena, annotations, REASON_ANNOTATION,
             tree ? json_new_text(w->arena, tree) : json_new(w->arena, JSON_NULL));
    work_patch(w, KUBE_PATCH_MERGE, path, patch);
}

/* ---- admission ---- */

static const char *usage_text(struct arena *a, const char *resource, int64_t amount)
{
    char text[QUANTITY_TEXT_MAX];
    struct quantity q =
        strcmp(resource, "cpu") == 0
            ? quantity_of_milli(amount)
            : quantity_of_whole(amount, strcmp(resource, "memory") == 0 || strcmp(resource, "ephemeral-storage") == 0
                                            ? QUANTITY_BINARY_SI
                                            : QUANTITY_DECIMAL_SI);
    return arena_text(a, quantity_format(text, q));
}

static int64_t request_of(const struct pod_set *set, name_id resource)
{
    for (uint32_t i = 0; i < set->shape.requests_n; i++)
        if (set->shape.requests[i].resource == resource)
            return set->shape.requests[i].value;
    return 0;
}

static struct json *admission_of(struct pass *x, const struct workload_intent *intent)
{
    struct arena *a = x->work->arena;
    struct intern *names = x->s->names;
    struct decoder d = x->s->decoder;
    struct gang_record g;
    d.arena = a;
    if (decode_workload(&d, x->workload, &g, NULL) < 0)
        return NULL;
    struct json *admission = json_new(a, JSON_OBJECT);
    json_set_text(a, admission, "clusterQueue", intent->queue);
    struct json *list = json_ensure_array(a, admission, "podSetAssignments");
    for (uint32_t i = 0; i < g.pod_sets_n; i++) {
        struct json *assignment = json_new(a, JSON_OBJECT);
        int64_t count = g.pod_sets[i].count - g.pod_sets[i].reclaimed;
        json_set_text(a, assignment, "name", intern_name(names, g.pod_sets[i].name));
        struct json *flavors = json_ensure_object(a, assignment, "flavors"),
                    *usage = json_ensure_object(a, assignment, "resourceUsage");
        for (uint32_t c = 0; c < intent->choices_n; c++) {
            if (intent->choices[c].pod_set != i)
                continue;
            const char *resource = intern_name(names, intent->choices[c].resource);
            bool pods = strcmp(resource, "pods") == 0;
            int64_t one = pods ? 1 : request_of(&g.pod_sets[i], intent->choices[c].resource);
            json_set_text(a, flavors, resource, intern_name(names, intent->choices[c].flavor));
            json_set_text(a, usage, resource, usage_text(a, resource, one * count));
        }
        json_set_int64(a, assignment, "count", count);
        json_append(list, assignment);
    }
    return admission;
}

static int64_t seconds_since(const struct pass *x, const char *time)
{
    int64_t ms;
    return time_parse(bytes_of(time), &ms) && x->now_ms > ms ? (x->now_ms - ms) / 1000 : 0;
}

/* What an eviction left: its conditions stay, but no longer hold. */
static void clear_eviction(struct pass *x)
{
    static const char *const types[] = {"Evicted", "Preempted"};
    for (int i = 0; i < 2; i++) {
        const struct json *old = object_condition(x->workload, types[i]);
        if (old && object_condition_true(x->workload, types[i]))
            set(x, types[i], false, "QuotaReserved",
                arena_printf(x->work->arena, "Previously: %s", json_get_text(old, "message", "")));
    }
    static const char *const again[][2] = {{"ClusterQueueStopped", "ClusterQueueRestarted"},
                                           {"LocalQueueStopped", "LocalQueueRestarted"},
                                           {"Deactivated", "Reactivated"}};
    if (object_condition_true(x->workload, "DeactivationTarget"))
        set(x, "DeactivationTarget", false, "Reactivated", "The workload was activated again");
    const struct json *requeued = object_condition(x->workload, "Requeued");
    if (!requeued || object_condition_true(x->workload, "Requeued"))
        return;
    const char *reason = "BackoffFinished";
    for (size_t i = 0; i < sizeof again / sizeof *again; i++)
        if (text_starts(json_get_text(requeued, "reason", ""), again[i][0]))
            reason = again[i][1];
    set(x, "Requeued", true, reason, "The workload was requeued");
}

static void admit(struct pass *x, struct workload_intent *intent)
{
    struct arena *a = x->work->arena;
    if (object_condition_true(x->workload, "QuotaReserved") && !object_condition_true(x->workload, "Evicted")) {
        intent->intent = INTENT_NONE;
        act_outcome(x->s, EFFECT_ADMIT, intent->gang, 0, 0);
        int64_t waited_s = seconds_since(x, object_meta(x->workload, "creationTimestamp"));
        event(x, "Normal", "QuotaReserved",
              arena_printf(a, "Quota reserved in ClusterQueue %s, wait time since queued was %llds", intent->queue,
                           (long long)waited_s));
        event(x, "Normal", "Admitted",
              arena_printf(a, "Admitted by ClusterQueue %s, wait time since reservation was 0s", intent->queue));
        status_annotate(x->work, path_of(x, NULL), x->workload, NULL);
        return;
    }
    if (object_condition_true(x->workload, "QuotaReserved"))
        return; /* evicted, and its job has not stopped yet: this comes again when it has */
    struct json *admission = admission_of(x, intent);
    if (!admission)
        return;
    clear_eviction(x);
    set(x, "QuotaReserved", true, "QuotaReserved", arena_printf(a, "Quota reserved in ClusterQueue %s", intent->queue));
    set(x, "Admitted", true, "Admitted", "The workload is admitted");
    send(x, admission);
}

static void evict(struct pass *x, struct workload_intent *intent)
{
    if (object_condition_true(x->workload, "Evicted") || object_condition_true(x->workload, "Finished")) {
        intent->intent = INTENT_NONE;
        act_outcome(x->s, EFFECT_EVICT, intent->gang, 0, 0);
        return;
    }
    const char *reason = intent->reason, *message = intent->message;
    if (strcmp(reason, "Deactivated") == 0 && object_condition_true(x->workload, "DeactivationTarget")) {
        const struct json *target = object_condition(x->workload, "DeactivationTarget");
        reason = arena_printf(x->work->arena, "DeactivatedDueTo%s", json_get_text(target, "reason", ""));
        message = json_get_text(target, "message", message);
    }
    set(x, "Evicted", true, reason, message);
    if (strcmp(reason, "Preempted") == 0)
        set(x, "Preempted", true, "InClusterQueue", message);
    set(x, "Requeued", false, reason, message);
    if (x->changed) {
        send(x, NULL);
        event(x, "Normal", arena_printf(x->work->arena, "EvictedDueTo%s", reason), message);
    }
}

static void pending(struct pass *x, struct workload_intent *intent)
{
    const struct seen_gang *g = seen_gang(x->s, intent->gang, false);
    if (!g || !g->text || object_condition_true(x->workload, "QuotaReserved") ||
        object_condition_true(x->workload, "Finished")) {
        intent->intent = INTENT_NONE;
        return;
    }
    const char *was = json_get_text(object_condition(x->workload, "QuotaReserved"), "message", "");
    bool news = strcmp(was, g->text) != 0;
    set(x, "QuotaReserved", false, g->code, g->text);
    set(x, "Admitted", false, "NoReservation", "The workload has no reservation");
    if (x->changed)
        send(x, NULL);
    else
        intent->intent = INTENT_NONE;
    if (news)
        event(x, "Warning", g->code, g->text);
    status_annotate(x->work, path_of(x, NULL), x->workload, g->tree);
}

void status_workload(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    if (!s->leading)
        return;
    struct workload_intent **slot = map_find_text(s->intents, w->key);
    if (!slot)
        return;
    struct pass x = {.s = s, .work = w, .now_ms = loop_wall_ms(s->loop)};
    x.workload = source_get(s, SOURCE_WORKLOADS, w->key, w->arena);
    if (!x.workload || object_deleting(x.workload)) {
        if ((*slot)->intent == INTENT_ADMIT || (*slot)->intent == INTENT_EVICT)
            act_outcome(s, (*slot)->intent == INTENT_ADMIT ? EFFECT_ADMIT : EFFECT_EVICT, (*slot)->gang, 0, E_NOTFOUND);
        (*slot)->intent = INTENT_NONE;
        return;
    }
    const struct json *old = json_path(x.workload, "status", "conditions", NULL);
    x.conditions = json_is(old, JSON_ARRAY) ? json_clone(w->arena, old) : json_new(w->arena, JSON_ARRAY);
    x.generation = json_int64(json_path(x.workload, "metadata", "generation", NULL), 0);
    switch ((*slot)->intent) {
    case INTENT_ADMIT:
        admit(&x, *slot);
        break;
    case INTENT_EVICT:
        evict(&x, *slot);
        break;
    case INTENT_PENDING:
        pending(&x, *slot);
        break;
    case INTENT_NONE:
        break;
    }
}
