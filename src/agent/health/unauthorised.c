/* unauthorised.c - who uses a device, against who was given it */
#include <stdlib.h>
#include "agent/health/health.h"
#include "agent/inventory/slot_id.h"

static const struct unit *process_unit(const struct inventory_snapshot *s, const struct driver_process *p)
{
    for (uint32_t i = 0; i < s->units_n; i++) {
        const struct unit *u = &s->units[i];
        if (u->gpu->index != p->gpu)
            continue;
        if (u->mig ? u->mig->gi == p->gi && u->mig->ci == p->ci : p->gi == HEALTH_WHOLE || !u->gpu->mig_on)
            return u;
    }
    return NULL;
}

static bool is_allowed(const struct inventory_snapshot *s, const struct unit *u, const struct process_pod *pod)
{
    bool owned = false;
    for (uint32_t i = 0; i < s->owners_n; i++) {
        const struct slot_owner *o = &s->owners[i];
        if (!slot_is_of(o->slot, u))
            continue;
        owned = true;
        if (!o->pod[0] || (pod->name && text_equal(o->pod, pod->name) && text_equal(o->ns, pod->ns)))
            return true;
    }
    return owned && !pod->name;
}

uint32_t health_unauthorised(struct arena *a, const struct inventory_snapshot *s, const struct driver_process *list,
                             uint32_t n, bool host_too,
                             bool (*pod_of)(void *ctx, uint32_t pid, struct process_pod *ret_pod), void *ctx,
                             struct unauthorised **ret_list)
{
    struct unauthorised *found = arena_zero(a, n ? n : 1, sizeof *found);
    uint32_t found_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct unit *u = process_unit(s, &list[i]);
        struct process_pod pod = {.uid = ""};
        if (!u)
            continue;
        bool in_pod = pod_of(ctx, list[i].pid, &pod);
        if (in_pod ? is_allowed(s, u, &pod) : !host_too)
            continue;
        found[found_n++] = (struct unauthorised){.pid = list[i].pid,
                                                 .device = arena_text(a, u->uuid),
                                                 .uid = arena_text(a, in_pod ? pod.uid : ""),
                                                 .ns = arena_text(a, in_pod && pod.ns ? pod.ns : ""),
                                                 .pod = arena_text(a, in_pod && pod.name ? pod.name : "")};
    }
    *ret_list = found;
    return found_n;
}
