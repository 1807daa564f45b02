/* unauthorised.c - who uses a device, against who was given it; and which unit a slot is a share of */
#include <stdlib.h>
#include "agent/health/health.h"

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

/* Past a decimal number that is `value`; NULL: it is not there. */
static const char *past_number(const char *text, uint32_t value)
{
    char *rest;
    return text[0] >= '0' && text[0] <= '9' && strtoul(text, &rest, 10) == value ? rest : NULL;
}

/* GKE's plugin: "nvidia0", "nvidia0/vgpu2", "nvidia0/gi1", "nvidia0/gi1/vgpu2", by minor number and GPU instance. */
static bool is_gke_slot(const struct unit *u, const char *slot)
{
    const char *rest = past_number(slot + strlen("nvidia"), u->gpu->minor);
    bool instance = rest && text_starts(rest, "/gi");
    if (!rest || instance != (u->mig != NULL))
        return false;
    if (instance)
        rest = past_number(rest + strlen("/gi"), u->mig->gi);
    if (rest && text_starts(rest, "/vgpu")) {
        rest += strlen("/vgpu");
        rest += strspn(rest, "0123456789");
    }
    return rest && !*rest;
}

/* Drivers before 470: "MIG-GPU-<uuid>/<gi>/<ci>". */
static bool is_old_mig_slot(const struct unit *u, const char *slot)
{
    const char *rest = slot + strlen("MIG-");
    if (!u->mig || !text_starts(rest, u->gpu->uuid) || rest[strlen(u->gpu->uuid)] != '/')
        return false;
    rest = past_number(rest + strlen(u->gpu->uuid) + 1, u->mig->gi);
    if (rest && *rest == '/')
        rest = past_number(rest + 1, u->mig->ci);
    else
        rest = NULL;
    return rest && share_ends(rest);
}

bool health_slot_on_unit(const struct inventory_snapshot *s, const struct unit *u, const char *slot)
{
    (void)s;
    if (text_starts(slot, u->uuid) && share_ends(slot + strlen(u->uuid)))
        return true;
    if (text_starts(slot, "nvidia"))
        return is_gke_slot(u, slot);
    if (text_starts(slot, "MIG-GPU-"))
        return is_old_mig_slot(u, slot);
    const char *rest = past_number(slot, u->gpu->index);
    bool instance = rest && rest[0] == ':' && rest[1] != ':';
    if (!rest || instance != (u->mig != NULL))
        return false;
    if (instance)
        rest = past_number(rest + 1, mig_position(u));
    return rest && *rest != '-' && share_ends(rest);
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
