/* status_told.c - what Workloads are told beside their own decision
 *
 *   evictions in Kueue's words; that the API server refuses one: who waits for the victim hears of it
 *   checks are ready and nodes do not come that these promised: Events say so after 1, 3, 7 s and so on, the object once
 *
 * SOURCE Kueue: "Preempting N workload(s) failed, will retry." What the server said of the last of them stands behind it. It tries a
 *        Workload without a place again at about those times; here it is tried when a node changes.
 */
#include "base/memory.h"
#include "sched/scheduler.h"
#include "codec/decode/decode.h"
#include "core/explain/reason.h"

const char *status_evicted_reason(const struct reason *r)
{
    if (!r)
        return "Preempted";
    if (r->code == REASON_NODE_LOST || r->code == REASON_NODE_NOT_READY)
        return "NodeFailures";
    if (r->code == REASON_STOPPED_QUEUE || r->code == REASON_QUEUE_STOPPED)
        return r->name ? "LocalQueueStopped" : "ClusterQueueStopped";
    if (r->code == REASON_PODS_TIMEOUT)
        return "PodsReadyTimeout";
    if (r->code == REASON_DEACTIVATED || r->code == REASON_INACTIVE || r->code == REASON_RETRIES_EXCEEDED)
        return "Deactivated";
    if (r->code == REASON_RESTARTED)
        return "Hung";
    if (r->code == REASON_CHECK_RETRIED)
        return "AdmissionCheck";
    return "Preempted";
}

void status_refused_note(struct scheduler *s, struct seen_gang *victim, const struct reason *why, const char *refused)
{
    if (!victim || strcmp(victim->refused ? victim->refused : "", refused) == 0)
        return;
    free(victim->refused);
    victim->refused = *refused ? mem_text(refused) : NULL;
    if (why && why->code == REASON_PREEMPTED)
        workqueue_add(s->workload_work, decode_gang_object(GANG_WORKLOAD, intern_name(s->names, why->name)));
}

const char *status_refused_text(const struct scheduler *s, struct arena *a, const struct reason *why, const char *text)
{
    const struct reason *preempting = reason_find(why, REASON_PREEMPTING);
    const char *said = NULL;
    uint32_t n = 0;
    for (const struct reason *c = preempting ? preempting->child : NULL; c; c = c->next) {
        const struct seen_gang *victim = c->code == REASON_PREEMPTED_GANG ? seen_gang(s, c->name) : NULL;
        if (!victim || !victim->refused)
            continue;
        said = victim->refused;
        n++;
    }
    return n ? arena_printf(a, "%s. Preempting %u workload(s) failed, will retry: %s", text, n, said) : text;
}

/* After so many Events, the next. */
static int64_t due_ms(uint8_t n)
{
    return ((2LL << n) - 1) * 1000;
}

void status_placeless(struct scheduler *s, struct work *w, struct seen_gang *g, struct kube_object_ref about)
{
    int64_t now_ms = loop_now_ms(s->loop);
    if (!g->placeless_ms)
        g->placeless_ms = now_ms;
    int64_t waited_ms = now_ms - g->placeless_ms;
    if (waited_ms >= due_ms(g->placeless_n)) {
        kube_event(s->events, &about, "Warning", "SecondPassFailed", "Its checks are ready and it has had no place for %llds: %s",
                   (long long)waited_ms / 1000, g->text);
        g->placeless_n++;
    }
    work_again(w, due_ms(g->placeless_n) - waited_ms);
}
