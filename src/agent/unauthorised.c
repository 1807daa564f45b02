/* unauthorised.c - who uses a device, against who was given it; and which unit a slot is a share of */
#include <stdlib.h>
#include "agent/health.h"

/* What may follow the identity of a unit in a slot id: nothing, "::<n>", KETI's "-<n>". */
static bool share_ends(const char *rest)
{
    if (!*rest)
        return true;
    if (rest[0] == ':' && rest[1] == ':')
        rest += 2;
    else if (rest[0] == '-')
        rest += 1;
    else
        return false;
    size_t digits = strspn(rest, "0123456789");
    return digits > 0 && !rest[digits];
}

/* Position of an instance among those of its GPU: what "g:m" counts. */
static uint32_t mig_position(const struct unit *u)
{
    uint32_t at = 0;
    while (at < u->gpu->migs_n && &u->gpu->migs[at] != u->mig)
        at++;
    return at;
}

bool health_slot_on_unit(const struct inventory_snapshot *s, const struct unit *u, const char *slot)
{
    (void)s;
    if (text_starts(slot, u->uuid) && share_ends(slot + strlen(u->uuid)))
        return true;
    char *rest;
    if (slot[0] < '0' || slot[0] > '9' || strtoul(slot, &rest, 10) != u->gpu->index)
        return false;
    bool instance = rest[0] == ':' && rest[1] != ':';
    if (instance != (u->mig != NULL))
        return false;
    if (instance && (rest[1] < '0' || rest[1] > '9' || strtoul(rest + 1, &rest, 10) != mig_position(u)))
        return false;
    return *rest != '-' && share_ends(rest);
}

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
        if (!health_slot_on_unit(s, u, o->slot))
            continue;
        owned = true;
        if (!o->pod[0] || (pod->name && text_equal(o->pod, pod->name) && text_equal(o->ns, pod->ns)))
            return true;
    }
    return owned && !pod->name;
}

uint32_t health_unauthorised(struct arena *a, const struct inventory_snapshot *s, const struct driver_process *list, uint32_t n,
                             bool host_too, bool (*pod_of)(void *ctx, uint32_t pid, struct process_pod *ret_pod), void *ctx,
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
