/* slot_id.c - see slot_id.h */
#include "agent/inventory/slot_id.h"
#include <stdio.h>
#include <stdlib.h>

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

bool slot_is_of(const char *slot, const struct unit *u)
{
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

void slot_unit_part(const char *slot, char ret_unit[48])
{
    const char *end = strstr(slot, "::");
    (void)snprintf(ret_unit, 48, "%.*s", (int)(end ? end - slot : (ptrdiff_t)strlen(slot)), slot);
}
