/* core_priority.c - groups without a queue, beside lone pods: who goes for whom by priority */
#include "core_model.h"
#include "core/state/model.h"

struct side {                  /* a group or a lone pod that has no queue */
    bool found, waits, never, holds;
    int priority;
};

static bool is_of(const struct m_pod *p, const char *gang)
{
    char key[40];
    return p->exists && !p->foreign && !strcmp(pod_gang_key(p, key), gang);
}

/* What the core has seen of it. */
static struct side side_of(const struct life *l, const char *gang)
{
    struct side x = {0};
    char key[40];
    for (int i = 0; i < GANGS; i++)
        if (l->seen.gangs[i].exists && l->seen.gangs[i].type == TYPE_GROUP && !strcmp(gang_key(&l->seen.gangs[i], key), gang)) {
            x.found = true;
            x.priority = l->seen.gangs[i].priority;
        }
    for (int i = 0; i < PODS; i++) {
        const struct m_pod *p = &l->seen.pods[i];
        if (!is_of(p, gang) || (p->gang >= 0 && !x.found))
            continue;
        bool stands = node_of(p, &l->assumed[i]) >= 0;
        x.priority = p->gang < 0 ? p->priority : x.priority;
        x.never |= p->never && !stands;
        x.holds |= stands && !p->gated;
        x.waits |= !stands && !p->gated && !p->deleting && p->phase == POD_PENDING;
        x.found = true;
    }
    return x;
}

void priority_check_victim(struct model *m, const struct life *l, const struct plan_entry *e)
{
    char victim_key[40], key[40];
    snprintf(victim_key, sizeof victim_key, "%s", intern_name(l->w.names, e->gang));
    snprintf(key, sizeof key, "%s", intern_name(l->w.names, e->reason->name));
    const struct side victim = side_of(l, victim_key), by = side_of(l, key);
    if (e->reason->code != REASON_PREEMPTED || e->reason->have != PREEMPTION_BY_PRIORITY)
        die(m, "%s is evicted for no reason", victim_key);
    if (!victim.found || !by.found)
        die(m, "%s is evicted for %s: one of them has a queue, or is not there", victim_key, key);
    if (!by.waits || by.never)
        die(m, "%s is evicted for %s, which does not wait, or preempts nobody", victim_key, key);
    if (!victim.holds || victim.priority >= by.priority)
        die(m, "%s, of priority %d, is evicted for %s, of priority %d", victim_key, victim.priority, key, by.priority);
}

bool is_by_priority(const struct plan_entry *e)
{
    return e->reason->code == REASON_PREEMPTED && e->reason->have == PREEMPTION_BY_PRIORITY && !e->reason->flavor;
}
