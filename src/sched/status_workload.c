/* status_workload.c - what core decided about a Workload, written in Kueue's words
 *
 * LEVEL  the phase that the core has for the gang says what the object should show (core/state/state.h); a pass compares and patches what
 *        differs, again and again until it does. What happens in between, and in which order, does not matter. A patch carries the
 *        resourceVersion that was read.
 */
#include "base/clock.h"
#include "base/quantity.h"
#include "sched/scheduler.h"
#include "sched/workload_wait.h"

struct pass {
    struct scheduler *s;
    struct work *work;
    name_id gang;
    struct seen_gang *seen;  /* NULL: nothing has been told of it */
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

static struct kube_object_ref ref_of(const struct pass *x)
{
    return (struct kube_object_ref){"kueue.x-k8s.io/v1beta2", "Workload", x->work->ns, x->work->name, object_meta(x->workload, "uid")};
}

static void event(struct pass *x, const char *type, const char *reason, const char *text)
{
    struct kube_object_ref about = ref_of(x);
    kube_event(x->s->events, &about, type, reason, "%s", text);
}

/* SOURCE Kueue: who is deactivated starts with a new count of retries when he is activated. */
static bool forget_retries(struct pass *x, struct json *status)
{
    if (json_get_bool(json_get(x->workload, "spec"), "active", true) ||
        !json_is(json_path(x->workload, "status", "requeueState", NULL), JSON_OBJECT))
        return false;
    if (status)
        json_set(x->work->arena, status, "requeueState", json_new(x->work->arena, JSON_NULL));
    return true;
}

static void send(struct pass *x, struct json *admission)
{
    struct json *patch = object_patch(x->work->arena, x->workload);
    struct json *status = json_ensure_object(x->work->arena, patch, "status");
    json_set(x->work->arena, status, "conditions", x->conditions);
    if (admission)
        json_set(x->work->arena, status, "admission", admission);
    (void)forget_retries(x, status);
    work_patch(x->work, KUBE_PATCH_MERGE, path_of(x, "status"), patch);
}

bool status_annotate(struct arena *a, struct json *patch, const struct json *object, const char *tree)
{
    if (strcmp(object_annotation(object, OBJECT_REASON), tree ? tree : "") == 0)
        return false;
    struct json *annotations = json_ensure_object(a, json_ensure_object(a, patch, "metadata"), "annotations");
    json_set(a, annotations, OBJECT_REASON, tree ? json_new_text(a, tree) : json_new(a, JSON_NULL));
    return true;
}

/* It waits no longer: the reason goes with whatever is written next. */
static void drop_reason(struct pass *x)
{
    JSON_EACH (condition, x->conditions)
        if (strcmp(json_get_text(condition, "type", ""), OBJECT_WAITING) == 0) {
            (void)json_remove_item(x->conditions, condition);
            x->changed = true;
            break;
        }
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

static struct json *admission_of(struct pass *x, const char *queue, const struct flavor_choice *choices, uint32_t choices_n)
{
    struct arena *a = x->work->arena;
    struct intern *names = x->s->names;
    struct decoder d = x->s->decoder;
    struct gang_record g;
    d.arena = a;
    if (decode_workload(&d, x->workload, &g, NULL) < 0)
        return NULL;
    struct json *admission = json_new(a, JSON_OBJECT);
    json_set_text(a, admission, "clusterQueue", queue);
    struct json *list = json_ensure_array(a, admission, "podSetAssignments");
    for (uint32_t i = 0; i < g.pod_sets_n; i++) {
        struct json *assignment = json_new(a, JSON_OBJECT);
        int32_t granted = state_gang_granted(x->s->state, x->gang, g.pod_sets[i].name);
        int64_t count = granted >= 0 ? granted : 0; /* without: the set is newer than what core knows, and the write will be refused */
        json_set_text(a, assignment, "name", intern_name(names, g.pod_sets[i].name));
        struct json *flavors = json_ensure_object(a, assignment, "flavors"),
                    *usage = json_ensure_object(a, assignment, "resourceUsage");
        for (uint32_t c = 0; c < choices_n; c++) {
            if (choices[c].pod_set != i)
                continue;
            const char *resource = intern_name(names, choices[c].resource);
            bool pods = strcmp(resource, "pods") == 0;
            int64_t one = pods ? 1 : request_of(&g.pod_sets[i], choices[c].resource);
            json_set_text(a, flavors, resource, intern_name(names, choices[c].flavor));
            json_set_text(a, usage, resource, usage_text(a, resource, one * count));
        }
        json_set_int64(a, assignment, "count", count);
        json_append(list, assignment);
    }
    return admission;
}

/* What kept it from its queue is over: its wait begins here. */
static void requeue(struct pass *x)
{
    static const char *const again[][3] = {
        {"ClusterQueueStopped", "ClusterQueueRestarted", "The ClusterQueue was restarted after being stopped"},
        {"LocalQueueStopped", "LocalQueueRestarted", "The LocalQueue was restarted after being stopped"},
        {"Deactivated", "Reactivated", "The workload was reactivated"},
        {"", "BackoffFinished", "The workload backoff was finished"}};
    const struct json *requeued = object_condition(x->workload, "Requeued");
    if (!requeued || object_condition_true(x->workload, "Requeued"))
        return;
    size_t i = 0;
    while (!text_starts(json_get_text(requeued, "reason", ""), again[i][0]))
        i++;
    set(x, "Requeued", true, again[i][1], again[i][2]);
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
    if (object_condition_true(x->workload, "DeactivationTarget"))
        set(x, "DeactivationTarget", false, "Reactivated", "The workload was activated again");
    requeue(x);
}

static const char *class_of(const struct json *workload)
{
    return json_text(json_path(workload, "spec", "priorityClassRef", "name", NULL), "");
}

/* The object shows it: its Events say so. */
static void tell_admitted(struct pass *x, const char *queue)
{
    x->seen->admit_sent = false;
    act_outcome(x->s, EFFECT_ADMIT, x->gang, 0, 0);
    int64_t waited_ms = workload_waited_ms(x->workload, x->now_ms), waited_s = waited_ms / 1000;
    metrics_reserved(x->s->metrics, queue, class_of(x->workload), (double)waited_ms / 1000);
    metrics_admitted(x->s->metrics, queue, class_of(x->workload), (double)waited_ms / 1000);
    struct kube_object_ref about = ref_of(x);
    kube_event_done(x->s->events, &about, "QuotaReserved", "Quota reserved in ClusterQueue %s, wait time since queued was %llds", queue,
                    (long long)waited_s);
    kube_event_done(x->s->events, &about, "Admitted", "Admitted by ClusterQueue %s, wait time since reservation was 0s", queue);
}

/* QuotaReserved and Admitted follow at once: one write. */
static void admit(struct pass *x)
{
    struct arena *a = x->work->arena;
    const struct flavor_choice *choices;
    name_id queue_id;
    uint32_t choices_n = state_gang_choices(x->s->state, x->gang, &queue_id, &choices);
    const char *queue = intern_name(x->s->names, queue_id);
    if (object_condition_true(x->workload, "QuotaReserved") && !object_condition_true(x->workload, "Evicted")) {
        if (x->seen && x->seen->admit_sent)
            tell_admitted(x, queue);
        drop_reason(x); /* somebody else has admitted it */
        if (x->changed)
            send(x, NULL);
        return;
    }
    if (object_condition_true(x->workload, "QuotaReserved"))
        return; /* evicted, and its job has not stopped yet: this comes again when it has */
    if (state_gang_is_told(x->s->state, x->gang))
        return; /* it was admitted and somebody has taken it back: core hears of it in a moment */
    struct json *admission = admission_of(x, queue, choices, choices_n);
    if (!admission)
        return;
    clear_eviction(x);
    drop_reason(x);
    set(x, "QuotaReserved", true, "QuotaReserved", arena_printf(a, "Quota reserved in ClusterQueue %s", queue));
    set(x, "Admitted", true, "Admitted", "The workload is admitted");
    if (strcmp(object_controller(x->workload, "kind"), "Job") == 0) /* its controller says the rest: no write more */
        set(x, "PodsReady", false, "WaitForStart", "Not all pods are ready or succeeded");
    send(x, admission);
    if (x->seen)
        x->seen->admit_sent = true;
}

/* Kueue's reason of the Evicted condition. */
static const char *evicted_reason(const struct reason *r)
{
    if (!r)
        return "Preempted";
    if (r->code == REASON_NODE_LOST || r->code == REASON_NODE_NOT_READY)
        return "NodeFailures";
    if (r->code == REASON_STOPPED_QUEUE || r->code == REASON_QUEUE_STOPPED)
        return r->name ? "LocalQueueStopped" : "ClusterQueueStopped";
    if (r->code == REASON_DEACTIVATED || r->code == REASON_INACTIVE)
        return "Deactivated";
    return "Preempted";
}

/* The job that the preemptor is of: the core does not know it. */
static name_id job_uid_of(const struct pass *x, name_id preemptor)
{
    const char *key = decode_gang_object(GANG_WORKLOAD, intern_name(x->s->names, preemptor));
    const struct json *workload = source_get(x->s, SOURCE_WORKLOADS, key, x->work->arena);
    const char *uid = workload ? object_label(workload, "kueue.x-k8s.io/job-uid") : "";
    return *uid ? intern_text_id(x->s->names, uid) : 0;
}

static const char *why_evicted(const struct pass *x, const struct reason *why)
{
    struct reason told = why ? *why : (struct reason){.code = REASON_WAITING};
    struct buf text;
    buf_init(&text);
    if (told.code == REASON_PREEMPTED)
        told.resource = job_uid_of(x, told.name);
    explain_sentence(&text, why ? &told : NULL, x->s->names);
    const char *message = text.n ? arena_text_n(x->work->arena, text.data, text.n) : "evicted";
    buf_free(&text);
    return message;
}

/* Both sides hear of it: this is the preemptor's. */
static void tell_preemptor(struct pass *x, const struct reason *why)
{
    char ns[256];
    const char *name;
    pod_key_split(decode_gang_object(GANG_WORKLOAD, intern_name(x->s->names, why->name)), ns, &name);
    struct kube_object_ref about = {"kueue.x-k8s.io/v1beta2", "Workload", ns, name, intern_name(x->s->names, why->pod_set)};
    kube_event(x->s->events, &about, "Normal", "Preempting", "Waits for Workload %s/%s, which was preempted for it (%s)", x->work->ns,
               x->work->name, preemption_name((enum preemption)why->have));
}

/* The object shows it. */
static void count_eviction(struct pass *x)
{
    const struct json *preempted = object_condition_true(x->workload, "Preempted") ? object_condition(x->workload, "Preempted") : NULL;
    const struct reason *why = state_gang_reason(x->s->state, x->gang);
    const char *path = why && why->code == REASON_PREEMPTED ? intern_name(x->s->names, why->queue) : "", *slash = strrchr(path, '/');
    x->seen->evict_sent = false;
    metrics_evicted(x->s->metrics, json_text(json_path(x->workload, "status", "admission", "clusterQueue", NULL), ""),
                    class_of(x->workload), json_get_text(object_condition(x->workload, "Evicted"), "reason", ""));
    if (preempted && slash)
        metrics_preempted(x->s->metrics, slash + 1, json_get_text(preempted, "reason", ""));
}

static void evict(struct pass *x)
{
    if (object_condition_true(x->workload, "Evicted") || object_condition_true(x->workload, "Finished")) {
        if (x->seen && x->seen->evict_sent)
            count_eviction(x);
        act_outcome(x->s, EFFECT_EVICT, x->gang, 0, 0);
        return;
    }
    const struct reason *why = state_gang_reason(x->s->state, x->gang);
    const char *reason = evicted_reason(why), *message = why_evicted(x, why);
    if (strcmp(reason, "Deactivated") == 0 && object_condition_true(x->workload, "DeactivationTarget")) {
        const struct json *target = object_condition(x->workload, "DeactivationTarget");
        reason = arena_printf(x->work->arena, "DeactivatedDueTo%s", json_get_text(target, "reason", ""));
        message = arena_printf(x->work->arena, "%s due to %s", message, json_get_text(target, "message", "its maker"));
    }
    set(x, "Evicted", true, reason, message);
    bool preempted = why && why->code == REASON_PREEMPTED;
    if (preempted)
        set(x, "Preempted", true, preemption_name((enum preemption)why->have), message);
    set(x, "Requeued", false, reason, message);
    if (x->changed) {
        send(x, NULL);
        if (x->seen)
            x->seen->evict_sent = true;
        if (preempted) {
            event(x, "Normal", "Preempted", message);
            tell_preemptor(x, why);
        }
        event(x, "Normal", arena_printf(x->work->arena, "EvictedDueTo%s", reason), message);
    }
}

/* It does not stand in its queue. */
static bool is_kept_out(const char *code)
{
    static const char *const codes[] = {"Suspended", "OnHold", "AdmissionGated", "Deactivated"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(code, codes[i]) == 0)
            return true;
    return false;
}

/* The sentence stands in QuotaReserved, the tree in a condition of its own: one write. */
static void pending(struct pass *x)
{
    struct seen_gang *g = x->seen;
    if (!g || !g->text || object_condition_true(x->workload, "QuotaReserved") ||
        object_condition_true(x->workload, "Finished"))
        return;
    const char *said = json_get_text(object_condition(x->workload, "QuotaReserved"), "message", "");
    /* SOURCE Kueue: what is deactivated counts as evicted, although it had nothing. That is more than a reason, and written at once. */
    bool is_shut = strcmp(g->code, "Deactivated") == 0 && !object_condition_true(x->workload, "Evicted");
    int64_t wait_ms = is_shut || forget_retries(x, NULL) ? 0 : status_telling_wait_ms(x->s, g, g->text, said);
    if (wait_ms > 0)
        work_again(x->work, wait_ms);
    if (wait_ms != 0)
        return;
    bool is_news = telling_cause(said) != telling_cause(g->text);
    set(x, "QuotaReserved", false, g->code, g->text);
    if (is_shut)
        set(x, "Evicted", true, g->code, g->text);
    set(x, "Admitted", false, "NoReservation", "The workload has no reservation");
    if (!is_kept_out(g->code))
        requeue(x);
    set(x, OBJECT_WAITING, true, g->code, g->tree);
    send(x, NULL);
    telling_sent(&g->telling, loop_now_ms(x->s->loop));
    if (is_news)
        event(x, "Warning", g->code, g->text);
}

/* ---- a reservation that somebody else wrote ---- */

static bool flavor_is_used(const struct json *workload, const char *flavor)
{
    JSON_EACH (set, json_path(workload, "status", "admission", "podSetAssignments", NULL))
        JSON_EACH (one, json_get(set, "flavors"))
            if (strcmp(json_text(one, ""), flavor) == 0)
                return true;
    return false;
}

/* Does the queue demand this check of this Workload? Without flavors it is for all. */
static bool check_applies(const struct json *check, const struct json *workload)
{
    const struct json *flavors = json_get(check, "onFlavors");
    if (!flavors || flavors->n == 0)
        return true;
    JSON_EACH (flavor, flavors)
        if (flavor_is_used(workload, json_text(flavor, "")))
            return true;
    return false;
}

static bool check_is_ready(const struct json *workload, const char *name)
{
    JSON_EACH (state, json_path(workload, "status", "admissionChecks", NULL))
        if (strcmp(json_get_text(state, "name", ""), name) == 0)
            return strcmp(json_get_text(state, "state", ""), "Ready") == 0;
    return false;
}

/* All that its queue demands; what else the Workload lists counts where the queue is gone. */
static bool checks_are_ready(const struct scheduler *s, const struct json *workload, struct arena *a)
{
    const char *name = json_text(json_path(workload, "status", "admission", "clusterQueue", NULL), "");
    const struct json *queue = source_get(s, SOURCE_QUEUES, arena_printf(a, "/%s", name), a);
    JSON_EACH (check, json_path(queue, "spec", "admissionChecksStrategy", "admissionChecks", NULL))
        if (check_applies(check, workload) && !check_is_ready(workload, json_get_text(check, "name", "")))
            return false;
    JSON_EACH (check, json_path(queue, "spec", "admissionChecks", NULL)) /* v1beta1 */
        if (!check_is_ready(workload, json_text(check, "")))
            return false;
    JSON_EACH (state, queue ? NULL : json_path(workload, "status", "admissionChecks", NULL))
        if (!check_is_ready(workload, json_get_text(state, "name", "")))
            return false;
    return true;
}

/* Quota is reserved, and nothing is left to wait for: it is admitted. Our own reservations say both at once. */
static bool complete_admission(struct pass *x)
{
    const struct json *w = x->workload;
    if (!json_is(json_path(w, "status", "admission", NULL), JSON_OBJECT) || !object_condition_true(w, "QuotaReserved") ||
        object_condition_true(w, "Admitted") || object_condition_true(w, "Evicted") ||
        object_condition_true(w, "Finished") || object_deleting(w) ||
        !json_get_bool(json_get(w, "spec"), "active", true) || !checks_are_ready(x->s, w, x->work->arena))
        return false;
    drop_reason(x);
    set(x, "Admitted", true, "Admitted", "The workload is admitted");
    send(x, NULL);
    event(x, "Normal", "Admitted",
          arena_printf(x->work->arena, "Admitted by ClusterQueue %s",
                       json_text(json_path(w, "status", "admission", "clusterQueue", NULL), "")));
    return true;
}

/* ---- one pass ---- */

/* It is gone, or on its way out: its job stops by itself, and an eviction is done. */
static void gone(struct pass *x, enum gang_phase phase)
{
    if (phase == GANG_RESERVED || phase == GANG_CHECKING)
        act_outcome(x->s, phase == GANG_RESERVED ? EFFECT_ADMIT : EFFECT_RESERVE, x->gang, 0, E_NOTFOUND);
    else if (phase == GANG_LEAVING)
        act_outcome(x->s, EFFECT_EVICT, x->gang, 0, 0);
}

void status_workload(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    if (!s->leading)
        return;
    struct pass x = {.s = s, .work = w, .now_ms = loop_wall_ms(s->loop)};
    x.gang = intern_find(s->names, bytes_of(arena_printf(w->arena, "%s%s", decode_gang_prefix(GANG_WORKLOAD), w->key)));
    x.seen = x.gang ? seen_gang(s, x.gang) : NULL;
    enum gang_phase phase = x.gang ? state_gang_phase(s->state, x.gang) : GANG_UNKNOWN;
    x.workload = source_get(s, SOURCE_WORKLOADS, w->key, w->arena);
    if (!x.workload || object_deleting(x.workload)) {
        gone(&x, phase);
        return;
    }
    const struct json *old = json_path(x.workload, "status", "conditions", NULL);
    x.conditions = json_is(old, JSON_ARRAY) ? json_clone(w->arena, old) : json_new(w->arena, JSON_ARRAY);
    x.generation = json_int64(json_path(x.workload, "metadata", "generation", NULL), 0);
    if (complete_admission(&x))
        return;
    switch (phase) {
    case GANG_RESERVED:
    case GANG_ADMITTED:
    case GANG_BOUND:
        admit(&x);
        break;
    case GANG_LEAVING:
        evict(&x);
        break;
    case GANG_WAITING:
        pending(&x);
        break;
    case GANG_UNKNOWN:
    case GANG_CHECKING:
    case GANG_OVER:
        break;
    }
}
