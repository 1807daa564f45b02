/* act.c - the plan becomes writes; their answers come back as CHANGE_OUTCOME
 *
 * The binds of a gang are sent in one burst, but for those that wait for their turn (bind_gate.h). Everything here may be
 * done twice without harm: a Binding of a bound pod is refused by the server, status is written only where it differs
 * (status_*.c), a deletion names the uid.
 */
#include <stdio.h>
#include "base/log.h"
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

static void pod_event(struct scheduler *s, name_id pod, name_id uid, const char *type, const char *reason,
                      const char *text)
{
    char ns[256];
    const char *name;
    pod_key_split(intern_name(s->names, pod), ns, &name);
    struct kube_object_ref about = {"v1", "Pod", ns, name, intern_name(s->names, uid)};
    kube_event(s->events, &about, type, reason, "%s", text);
}

/* ---- binds ---- */

void act_bind_failed(struct scheduler *s, name_id gang, name_id pod, name_id node, const struct kube_answer *answer)
{
    struct seen_gang *g = seen_gang(s, gang, false);
    s->counts.bind_failures_n++;
    log_warning("bind failed pod=%s node=%s status=%d error=\"%s\"", intern_name(s->names, pod),
                intern_name(s->names, node), answer->status, answer->error.text);
    if (!g || answer->status == 404 || ++g->bind_failures_n < BIND_FAILURES_MAX || g->pods_n < 2)
        return;
    g->bind_failures_n = 0;
    log_warning("gang could not be bound whole: its bound members are taken back gang=%s bound=%d",
                intern_name(s->names, gang), g->bound_n);
    act_delete_pods(s, g, "the gang could not be bound whole", true);
}

void act_bound(struct scheduler *s, name_id gang, name_id pod, name_id uid, name_id node)
{
    struct seen_gang *g = seen_gang(s, gang, false);
    if (g)
        g->bind_failures_n = 0;
    char text[700];
    snprintf(text, sizeof text, "Successfully assigned %s to %s", intern_name(s->names, pod),
             intern_name(s->names, node));
    pod_event(s, pod, uid, "Normal", "Scheduled", text);
    s->counts.binds_n++;
}

/* ---- admit, evict, explain ---- */

static struct workload_intent *intent_of(struct scheduler *s, const char *key)
{
    struct workload_intent **slot = map_put(s->intents, bytes_of(key), NULL);
    if (!*slot)
        *slot = mem_zero(1, sizeof **slot);
    struct workload_intent *intent = *slot;
    free(intent->queue);
    free(intent->choices);
    free(intent->reason);
    free(intent->message);
    memset(intent, 0, sizeof *intent);
    return intent;
}

static void gang_tell(struct seen_gang *g, char *text, char *code, char *tree)
{
    free(g->text);
    free(g->code);
    free(g->tree);
    g->text = text;
    g->code = code;
    g->tree = tree;
}

static void act_admit(struct scheduler *s, const struct plan_entry *entry)
{
    const char *object;
    enum gang_source source = seen_gang_split(intern_name(s->names, entry->gang), &object);
    struct seen_gang *g = seen_gang(s, entry->gang, true);
    g->admitted = true;
    gang_tell(g, NULL, NULL, NULL);
    s->counts.admits_n++;
    if (source == GANG_WORKLOAD) {
        struct workload_intent *intent = intent_of(s, object);
        intent->intent = INTENT_ADMIT;
        intent->gang = entry->gang;
        intent->queue = mem_text(intern_name(s->names, entry->queue));
        intent->choices = mem_zero(entry->choices_n + 1u, sizeof *intent->choices);
        memcpy(intent->choices, entry->choices, entry->choices_n * sizeof *intent->choices);
        intent->choices_n = entry->choices_n;
    } else {
        act_outcome(s, EFFECT_ADMIT, entry->gang, 0, 0); /* nothing to be written before its pods are bound */
    }
    status_gang_changed(s, g);
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

void act_delete_pods(struct scheduler *s, const struct seen_gang *g, const char *why, bool bound_only)
{
    struct arena *a = s->scratch;
    arena_reset(a);
    for (uint32_t i = 0; i < g->pods_n; i++) {
        const struct seen_pod *p = seen_pod(s, g->pods[i]);
        if (p->deleting || p->phase == POD_SUCCEEDED || p->phase == POD_FAILED || (bound_only && !p->bound))
            continue;
        char ns[256];
        const char *name;
        pod_key_split(intern_name(s->names, p->key), ns, &name);
        const char *options =
            arena_printf(a, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":\"%s\"}}",
                         intern_name(s->names, p->uid));
        pod_event(s, p->key, p->uid, "Normal", "Evicted", why);
        kube_delete(s->client, kube_path(a, "", "v1", "pods", ns, name, NULL), bytes_of(options), NULL, NULL);
    }
}

static void act_evict(struct scheduler *s, const struct plan_entry *entry)
{
    const char *object;
    enum gang_source source = seen_gang_split(intern_name(s->names, entry->gang), &object);
    struct seen_gang *g = seen_gang(s, entry->gang, true);
    _cleanup_buf_ struct buf text;
    buf_init(&text);
    if (entry->reason)
        explain_sentence(&text, entry->reason, s->names);
    const char *why = text.n ? text.data : "evicted";
    s->counts.evictions_n++;
    g->admitted = false;
    if (source == GANG_WORKLOAD) {
        struct workload_intent *intent = intent_of(s, object);
        intent->intent = INTENT_EVICT;
        intent->gang = entry->gang;
        intent->reason = mem_text(evicted_reason(entry->reason));
        intent->message = mem_text(why);
    } else {
        act_delete_pods(s, g, why, false);
        act_outcome(s, EFFECT_EVICT, entry->gang, 0, 0);
    }
    status_gang_changed(s, g);
}

/* Does it only wait for members that do not exist yet? That is no news to anybody. */
static bool members_missing(const struct reason *r)
{
    for (; r; r = r->next)
        if (r->code == REASON_MEMBERS_MISSING || members_missing(r->child))
            return true;
    return false;
}

static void act_explain(struct scheduler *s, const struct plan_entry *entry)
{
    if (!entry->reason)
        return;
    struct seen_gang *g = seen_gang(s, entry->gang, false);
    if (!g)
        return;
    struct buf text, tree;
    buf_init(&text);
    buf_init(&tree);
    explain_sentence(&text, entry->reason, s->names);
    explain_json(&tree, entry->reason, s->names);
    g->admitted = false;
    g->members_missing = members_missing(entry->reason);
    gang_tell(g, buf_take(&text, NULL), mem_text(explain_kueue_reason(entry->reason)), buf_take(&tree, NULL));
    const char *object;
    if (seen_gang_split(intern_name(s->names, entry->gang), &object) == GANG_WORKLOAD) {
        struct workload_intent *intent = intent_of(s, object);
        intent->intent = INTENT_PENDING;
        intent->gang = entry->gang;
    }
    status_gang_changed(s, g);
    status_members_changed(s, g);
}

void act_submit(struct scheduler *s, const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->entries_n; i++) {
        const struct plan_entry *entry = &plan->entries[i];
        switch (entry->effect) {
        case EFFECT_ADMIT:
            act_admit(s, entry);
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
