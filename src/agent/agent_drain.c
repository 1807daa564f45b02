/* agent_drain.c - what becomes of the pods on a GPU that is out of use: waited for, or evicted
 *
 *     --drain wait    the GPU is reset when they have ended by themselves
 *     --drain evict   units that are Draining or Failed for a fault: the pods that hold a slot of theirs are evicted, one every
 *                     DRAIN_EVERY_MS on a node
 *
 * WHY    Of a faulty MIG instance only its own pods: the others are well, and its GPU is reset when they have ended. Suspect GPUs may come
 *        back by themselves, and in Probation nobody is let in.
 * LIMIT  who has what must be known (podresources answers), and static pods stay: the kubelet would start them again.
 */
#include <stdio.h>
#include "agent/agent_parts.h"
#include "agent/inventory/slot_id.h"
#include "agent/node/evict.h"

#define DRAIN_EVERY_MS 5000

static void want_pods_of(struct agent *a, const struct inventory_snapshot *s, const struct unit *u)
{
    char why[160], xid[32] = "";
    if (u->xid)
        (void)snprintf(xid, sizeof xid, " after XID %u", u->xid);
    (void)snprintf(why, sizeof why, "%s %s%s", u->uuid, u->health == UNIT_FAILED ? "has failed" : "is draining", xid);
    for (uint32_t i = 0; i < s->owners_n; i++) {
        const struct slot_owner *o = &s->owners[i];
        const struct agent_pod *pod = *o->pod ? agent_pods_by_name(a, o->ns, o->pod) : NULL;
        if (pod && !pod->is_static && slot_is_of(o->slot, u))
            evict_pod(a->drain, o->ns, o->pod, why);
    }
}

void agent_drain_tick(struct agent *a)
{
    const struct inventory_snapshot *s = inventory_now(a->inventory);
    if (!a->drain || !s->owners_known)
        return;
    evict_begin(a->drain);
    for (uint32_t i = 0; i < s->units_n; i++)
        if (agent_health_is_faulty(a, &s->units[i]))
            want_pods_of(a, s, &s->units[i]);
    (void)evict_step(a->drain); /* how many are left is seen by the idle GPU */
}

static const char *uid_of(void *arg, const char *ns, const char *name)
{
    const struct agent *a = arg;
    if (a->o.feed)
        return a->o.feed->pod_uid ? a->o.feed->pod_uid(a->o.feed->arg, ns, name) : NULL;
    const struct agent_pod *pod = agent_pods_by_name(a, ns, name);
    return pod && !pod->ended ? pod->uid : NULL;
}

static void tell(void *arg, const char *ns, const char *name, const char *uid, const char *reason, const char *text)
{
    agent_pod_event(arg, ns, name, uid, true, reason, text);
}

struct evict *agent_evict_new(struct agent *a, int64_t every_ms)
{
    return evict_new(&(struct evict_config){
        .loop = a->loop, .kube = a->kube, .every_ms = every_ms, .uid_of = uid_of, .tell = tell, .arg = a});
}

void agent_drain_new(struct agent *a)
{
    if (a->o.drain_evicts && a->kube)
        a->drain = agent_evict_new(a, DRAIN_EVERY_MS);
}

void agent_drain_free(struct agent *a)
{
    evict_free(a->drain);
    a->drain = NULL;
}
