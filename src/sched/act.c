/* act.c - the plan becomes writes; their answers come back as CHANGE_OUTCOME
 *
 * The binds of a gang are sent in one burst, but for those that wait for their turn (bind_gate.h). Everything here may be
 * done twice without harm: a Binding of a bound pod is refused by the server, status is written only where it differs
 * (status_*.c), a deletion names the uid.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "sched/forecast/start_note.h"
#include "sched/machines/kept_pods.h"
#include "sched/scheduler.h"

enum { BIND_FAILURES_MAX = 5 }; /* of one gang, before those members that did start are taken back */

void act_outcome(struct scheduler *s, enum effect effect, name_id gang, name_id pod, int code)
{
    struct change *c = sources_push(s);
    c->type = CHANGE_OUTCOME;
    c->outcome = (struct outcome_record){.effect = (uint8_t)effect,
                                         .outcome = code == 0 ? OUTCOME_DONE : OUTCOME_FAILED,
                                         .gang = gang,
                                         .pod = pod,
                                         .code = code};
}

void pod_key_split(const char *key, char ns[256], const char **ret_name)
{
    const char *slash = strchr(key, '/');
    size_t n = slash ? (size_t)(slash - key) : 0;
    n = n < 255 ? n : 255;
    memcpy(ns, key, n);
    ns[n] = '\0';
    *ret_name = slash ? slash + 1 : key;
}

/* Good until ns, which it fills, ends. */
static struct kube_object_ref pod_ref(const struct scheduler *s, name_id pod, name_id uid, char ns[256])
{
    const char *name;
    pod_key_split(intern_name(s->names, pod), ns, &name);
    return (struct kube_object_ref){"v1", "Pod", ns, name, intern_name(s->names, uid)};
}

/* SOURCE kube-scheduler's words. Where somebody of higher priority is why, the condition is there before the pod is deleted: a Job's
 * podFailurePolicy reads it. */
static void remove_pod(struct scheduler *s, struct seen_pod *p, const char *text, const struct reason *why)
{
    bool preempted = why && why->code == REASON_PREEMPTED && why->have == PREEMPTION_BY_PRIORITY;
    const struct seen_gang *by = preempted ? seen_gang(s, why->name) : NULL;
    const struct seen_pod *preemptor = by && by->pods_n ? seen_pod(s, by->pods[0]) : NULL;
    _cleanup_buf_ struct buf message = {0};
    if (p->deleting || p->removal || p->phase == POD_SUCCEEDED || p->phase == POD_FAILED)
        return;
    buf_printf(&message, "%s: preempting to accommodate a higher priority pod",
               preemptor && preemptor->scheduler ? intern_name(s->names, preemptor->scheduler) : "capstan");
    seen_pod_remove(p, preempted ? "Preempted" : "Evicted", text, preempted && p->bound ? message.data : NULL);
    workqueue_add(s->delete_work, intern_name(s->names, p->key));
}

static void delete_pods(struct scheduler *s, const struct seen_gang *g, const char *text, const struct reason *why, bool bound_only)
{
    for (uint32_t i = 0; i < g->pods_n; i++) {
        struct seen_pod *p = seen_pod(s, g->pods[i]);
        if (p->bound || !bound_only)
            remove_pod(s, p, text, why);
    }
}

/* ---- binds ---- */

void act_bind_failed(struct scheduler *s, name_id gang, name_id pod, name_id node, const struct kube_answer *answer)
{
    struct seen_gang *g = seen_gang(s, gang);
    s->counts.bind_failures_n++;
    log_warning("bind failed pod=%s node=%s status=%d error=\"%s\"", intern_name(s->names, pod),
                intern_name(s->names, node), answer->status, answer->error.text);
    if (!g || answer->status == 404 || ++g->bind_failures_n < BIND_FAILURES_MAX || g->pods_n < 2)
        return;
    g->bind_failures_n = 0;
    log_warning("gang could not be bound whole: its bound members are taken back gang=%s bound=%d",
                intern_name(s->names, gang), g->bound_n);
    delete_pods(s, g, "the gang could not be bound whole", NULL, true);
}

/* Who limits its share of a GPU, and how do its containers come by it? Only MPS daemons limit anything. */
static void tell_share(struct scheduler *s, const struct kube_object_ref *about, const struct seen_pod *p, name_id node)
{
    struct node_detail d = {0};
    const char *strategy = "none", *of_node = intern_name(s->names, node);
    name_id key = intern_find(s->names, BYTES("nvidia.com/gpu.sharing-strategy"));
    if (!p->share_slots) {
        kube_event(s->events, about, "Warning", "ShareNotHandedOut",
                   "its share of a GPU of %s is counted, but no container asks for the GPU: annotation " DEVICES_ANNOTATION
                   " says which it is; write nvidia.com/gpu: 1 into the limits of its container",
                   of_node);
        return;
    }
    arena_reset(s->scratch);
    if (text_starts(intern_name(s->names, p->device_asks), "keti.com/") || !state_node_detail(s->state, node, s->scratch, &d))
        return;
    for (uint32_t i = 0; key && i < d.labels_n; i++)
        strategy = d.labels[i].key == key ? intern_name(s->names, d.labels[i].value) : strategy;
    if (!text_equal(strategy, "mps"))
        kube_event(s->events, about, "Warning", "ShareNotEnforced",
                   "its share of a GPU of %s is counted, but nothing keeps it from taking more: the node's sharing strategy is %s, not mps",
                   of_node, strategy);
}

void act_bound(struct scheduler *s, name_id gang, name_id pod, name_id uid, name_id node)
{
    struct seen_gang *g = seen_gang(s, gang);
    if (g) {
        g->bind_failures_n = 0;
        g->bound_ms = loop_wall_ms(s->loop);
    }
    char ns[256];
    struct kube_object_ref about = pod_ref(s, pod, uid, ns);
    kube_event_done(s->events, &about, "Scheduled", "Successfully assigned %s to %s", intern_name(s->names, pod),
                    intern_name(s->names, node));
    s->counts.binds_n++;
    const struct seen_pod *p = seen_pod(s, pod);
    if (p && p->uid == uid && p->shares)
        tell_share(s, &about, p, node);
}

/* ---- admit, evict, explain ---- */

static void gang_tell(struct scheduler *s, struct seen_gang *g, char *text, char *code, char *tree)
{
    if (!text) {
        telling_drop(&g->telling, &s->tellings, loop_now_ms(s->loop));
        g->start_ms = 0;
    }
    s->waiting_n += (text != NULL) - (g->text != NULL);
    free(g->text);
    free(g->code);
    free(g->tree);
    g->text = text;
    g->code = code;
    g->tree = tree;
}

void act_forget_admissions(struct scheduler *s)
{
    size_t at = 0;
    struct bytes key;
    struct seen_gang **slot;
    while ((slot = map_next(s->gangs, &at, &key)))
        if ((*slot)->has_object) {
            enum gang_phase phase = state_gang_phase(s->state, (*slot)->key);
            if (phase == GANG_RESERVED || phase == GANG_CHECKING)
                act_outcome(s, phase == GANG_RESERVED ? EFFECT_ADMIT : EFFECT_RESERVE, (*slot)->key, 0, E_CONFLICT);
        }
}

static void act_admit(struct scheduler *s, const struct plan_entry *entry)
{
    struct seen_gang *g = seen_gang(s, entry->gang);
    if (!g)
        return; /* RACE  gone by now: the core hears of it in its next turn */
    g->admitted = true;
    gang_tell(s, g, NULL, NULL, NULL);
    s->counts.admits_n++;
    if (entry->source != GANG_WORKLOAD)
        act_outcome(s, EFFECT_ADMIT, entry->gang, 0, 0); /* nothing to be written before its pods are bound */
    status_gang_changed(s, g);
}

/* Its object is compared with what the core has, and follows. */
static void act_move(struct scheduler *s, const struct plan_entry *entry)
{
    struct seen_gang *g = seen_gang(s, entry->gang);
    if (g)
        status_gang_changed(s, g);
}

/* What it waits for now is told by an EXPLAIN of its own. */
static void act_reserve(struct scheduler *s, const struct plan_entry *entry)
{
    struct seen_gang *g = seen_gang(s, entry->gang);
    if (!g)
        return; /* as in act_admit */
    gang_tell(s, g, NULL, NULL, NULL);
    status_gang_changed(s, g);
}

static void mark_disrupted(struct scheduler *s, struct work *w, const struct seen_pod *p)
{
    struct arena *a = w->arena;
    char now[TIME_TEXT_MAX];
    struct json *condition = json_new(a, JSON_OBJECT), *patch = json_new(a, JSON_OBJECT);
    json_set_text(a, condition, "type", "DisruptionTarget");
    json_set_text(a, condition, "status", "True");
    json_set_text(a, condition, "reason", "PreemptionByScheduler");
    json_set_text(a, condition, "message", p->removal->disruption);
    json_set_text(a, condition, "lastTransitionTime", time_format(now, loop_wall_ms(s->loop)));
    json_append(json_ensure_array(a, json_ensure_object(a, patch, "status"), "conditions"), condition);
    json_set_text(a, json_ensure_object(a, patch, "metadata"), "uid", intern_name(s->names, p->uid));
    work_patch(w, KUBE_PATCH_STRATEGIC, kube_path(a, "", "v1", "pods", w->ns, w->name, "status"), patch);
}

void act_delete_pod(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    name_id key = intern_find(s->names, bytes_of(w->key));
    struct seen_pod *p = key ? seen_pod(s, key) : NULL;
    if (!s->leading || !p || !p->removal || p->deleting)
        return;
    p->marked |= p->marking && !work_failed(w);
    p->marking = false;
    if (!scheduler_may_act(s)) {
        work_again(w, 100);
    } else if (p->removal->disruption && !p->marked) {
        p->marking = true;
        mark_disrupted(s, w, p);
        work_again(w, 0); /* once that is answered it is deleted */
    } else {
        char ns[256];
        struct kube_object_ref about = pod_ref(s, p->key, p->uid, ns);
        kube_event_then(s->events, w, &about, "Normal", p->removal->event, "%s", p->removal->why);
        work_delete(w, kube_path(w->arena, "", "v1", "pods", w->ns, w->name, NULL), about.uid, NULL);
    }
}

/* Its gang stays as it is. */
static void evict_member(struct scheduler *s, const struct plan_entry *entry)
{
    struct seen_pod *p = seen_pod(s, entry->pod);
    _cleanup_buf_ struct buf text = {0};
    explain_sentence(&text, entry->reason, s->names);
    s->counts.evictions_n++;
    if (p && p->uid == entry->pod_uid)
        remove_pod(s, p, text.data, entry->reason);
    act_outcome(s, EFFECT_EVICT, entry->gang, entry->pod, 0);
}

static enum stop may_stop(struct scheduler *s, struct seen_gang *g, const struct json *object, const struct reason *why,
                          int64_t *ret_wait_ms)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct seen_pod **pods = arena_alloc(a, (g->pods_n + 1) * sizeof(struct seen_pod *));
    for (uint32_t i = 0; i < g->pods_n; i++)
        pods[i] = seen_pod(s, g->pods[i]);
    return stop_look(s, &(struct stopped_gang){g, pods, g->pods_n, object, why}, ret_wait_ms);
}

bool act_stop_waits(struct scheduler *s, struct work *w, struct seen_gang *g, const struct json *object, const struct reason *why)
{
    int64_t wait_ms = 0;
    enum stop how = may_stop(s, g, object, why, &wait_ms);
    if (how == STOP_WAITS)
        work_again(w, wait_ms);
    if (how == STOP_NEVER)
        act_outcome(s, EFFECT_EVICT, g->key, 0, E_CONFLICT);
    return how != STOP_NOW;
}

/* A pod group. Does its stop wait until it has saved? status_group.c looks when that is. */
static bool saves_first(struct scheduler *s, struct seen_gang *g, const struct reason *why)
{
    _cleanup_arena_ struct arena *a = arena_new();
    int64_t unused;
    free(g->stop_why);
    g->stop_why = NULL;
    const struct json *object = g->has_object ? source_get(s, gang_object_kind(s, g->source).source, seen_gang_object(s, g), a) : NULL;
    return may_stop(s, g, object, why, &unused) == STOP_WAITS;
}

static void act_evict(struct scheduler *s, const struct plan_entry *entry)
{
    struct seen_gang *g = seen_gang(s, entry->gang);
    if (!g)
        return; /* as in act_admit */
    if (entry->pod) {
        evict_member(s, entry);
        return;
    }
    _cleanup_buf_ struct buf text;
    buf_init(&text);
    if (entry->reason)
        explain_sentence(&text, entry->reason, s->names);
    const char *why = text.n ? text.data : "evicted";
    s->counts.evictions_n++;
    g->admitted = g->stop_is_due = false;
    if (entry->source == GANG_POD || (entry->source != GANG_WORKLOAD && !saves_first(s, g, entry->reason)))
        delete_pods(s, g, why, entry->reason, false);
    else if (entry->source != GANG_WORKLOAD)
        g->stop_why = mem_text(why);
    if (entry->source != GANG_WORKLOAD && !g->stop_why) {
        /* the deletions are asked for until they are answered; what counts is when the pods are gone */
        act_outcome(s, EFFECT_EVICT, entry->gang, 0, 0);
    }
    status_gang_changed(s, g);
}

void act_stop_group(struct scheduler *s, struct work *w, struct seen_gang *g, const struct json *group)
{
    bool leaves = g && g->stop_why && state_gang_phase(s->state, g->key) == GANG_LEAVING;
    bool not_now = leaves && act_stop_waits(s, w, g, group, state_gang_reason(s->state, g->key));
    if (!g || !g->stop_why || (not_now && g->save_asked_ms))
        return;
    g->save_asked_ms = 0;
    g->admitted = not_now || !leaves;
    if (!g->admitted) {
        delete_pods(s, g, g->stop_why, state_gang_reason(s->state, g->key), false);
        act_outcome(s, EFFECT_EVICT, g->key, 0, 0);
    }
    free(g->stop_why);
    g->stop_why = NULL;
}

/* Does it only wait for members that do not exist yet? That is no news to anybody. NULL: no. */
static const struct reason *members_missing(const struct reason *r)
{
    const struct reason *found = NULL;
    for (; r && !found; r = r->next)
        found = r->code == REASON_MEMBERS_MISSING || r->code == REASON_MEMBERS_LOST ? r : members_missing(r->child);
    return found;
}

/* Some of what is in the way is on nodes: an autoscaler may help. WHY not where only quota, a hold or a missing member is: it would buy for
 * who may not start. */
static bool wants_nodes(const struct reason *r)
{
    static const enum reason_code codes[] = {
        REASON_PLACEMENT_FAILED, REASON_ARRANGEMENT, REASON_GAVE_UP,     REASON_NO_NODES,       REASON_NODE_LABELS,
        REASON_TOPOLOGY_SHORT,   REASON_TIER_SHORT,  REASON_TOPOLOGY_SHORT_SLICES, REASON_TOPOLOGY_UNFIT, REASON_TIER_UNFIT,
        REASON_NODE_SELECTOR,    REASON_NODE_TAINT,  REASON_NODE_UNSCHEDULABLE, REASON_NODE_NOT_READY, REASON_NODE_RESOURCE,
        REASON_NODE_PORT,        REASON_NODE_AFFINITY, REASON_NODE_ANTI_AFFINITY, REASON_NODE_SPREAD,  REASON_NODE_DEVICE,
        REASON_NODE_SHARE,       REASON_FREE_SHORT,  REASON_PREEMPTING,  REASON_KEPT_OUT};
    bool any = false;
    for (size_t i = 0; i < sizeof codes / sizeof *codes && !any; i++)
        any = reason_find(r, codes[i]) != NULL;
    return any;
}

static uint64_t machines_hash(const struct machine_look *look, struct arena *a)
{
    const char *text = machine_look_text(a, look);
    return text ? hash_bytes(text, strlen(text), 1 + look->only) : 0;
}

/* What machines can come for it, where some may be bought: in the sentence what is in the way, in the tree all that is known. */
static void add_machines(struct scheduler *s, struct seen_gang *g, struct buf *text, struct buf *tree)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct machine_look look = machine_source_look(g->wants_nodes ? s->machines : NULL, g->key, a);
    const char *said = machine_look_text(a, &look);
    g->machines = look.only ? (uint8_t)look.verdict.cause : MACHINE_FITS;
    g->machines_hash = machines_hash(&look, a);
    if (!said || !tree->n)
        return;
    if (look.verdict.cause != MACHINE_FITS)
        buf_printf(text, "; %s", said);
    tree->data[--tree->n] = '\0'; /* its last brace */
    buf_printf(tree, ",\"machines\":{\"message\":");
    json_write_string(tree, bytes_of(said));
    buf_printf(tree, "}}");
}

static void explain(struct scheduler *s, struct seen_gang *g, const struct reason *why)
{
    struct buf text, tree;
    buf_init(&text);
    buf_init(&tree);
    if (g->source == GANG_WORKLOAD)
        explain_kueue_sentence(&text, why, s->names);
    else
        explain_sentence(&text, why, s->names);
    explain_json(&tree, why, s->names);
    g->admitted = false;
    const struct reason *missing = members_missing(why);
    g->members_missing = missing != NULL;
    g->of_task_missing = missing && missing->name;
    g->wants_nodes = !g->members_missing && wants_nodes(why);
    add_machines(s, g, &text, &tree);
    const struct reason *preempting = g->source == GANG_POD ? reason_find(why, REASON_PREEMPTING) : NULL;
    g->nominated = preempting ? preempting->name : 0;
    char *starts = g->start_ms ? start_note(tree.data, g->start_ms, g->start_basis) : buf_take(&tree, NULL);
    buf_free(&tree);
    gang_tell(s, g, buf_take(&text, NULL), mem_text(explain_kueue_reason(why)), starts);
    status_gang_changed(s, g);
    status_members_changed(s, g);
}

static void act_explain(struct scheduler *s, const struct plan_entry *entry)
{
    struct seen_gang *g = entry->reason ? seen_gang(s, entry->gang) : NULL;
    if (g)
        explain(s, g, entry->reason);
}

void act_machines_changed(void *arg)
{
    struct scheduler *s = arg;
    struct bytes key;
    size_t at = 0;
    _cleanup_arena_ struct arena *a = arena_new();
    kept_pods_follow(s->kept);
    for (struct seen_gang **g; s->leading && (g = map_next(s->gangs, &at, &key)); arena_reset(a)) {
        if (!(*g)->text || !(*g)->wants_nodes)
            continue;
        struct machine_look look = machine_source_look(s->machines, (*g)->key, a);
        const struct reason *why = machines_hash(&look, a) != (*g)->machines_hash ? state_gang_reason(s->state, (*g)->key) : NULL;
        if (why)
            explain(s, *g, why);
    }
}

void act_submit(struct scheduler *s, const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->entries_n; i++) {
        const struct plan_entry *entry = &plan->entries[i];
        switch (entry->effect) {
        case EFFECT_ADMIT:
            act_admit(s, entry);
            break;
        case EFFECT_MOVE:
            act_move(s, entry);
            break;
        case EFFECT_RESERVE:
            act_reserve(s, entry);
            break;
        case EFFECT_BIND:
            bind_pod(s, entry);
            break;
        case EFFECT_EVICT:
            act_evict(s, entry);
            break;
        case EFFECT_EXPLAIN:
            act_explain(s, entry);
            break;
        }
    }
}
