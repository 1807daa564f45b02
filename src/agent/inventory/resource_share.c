/* resource_share.c - which units a sharing entry selects, and what they become
 *
 * An entry that names devices goes before one that counts them, and that before `all`; MPS goes before time-slicing. So
 * `devices: [0]` beside `all` gives GPU 0 its own shares.
 */
#include "agent/inventory/resource_share.h"
#include <stdio.h>

void table_warn(struct table_maker *m, const char *format, ...)
{
    va_list args;
    if (!m->warnings)
        return;
    va_start(args, format);
    buf_vprintf(m->warnings, format, args);
    va_end(args);
    buf_char(m->warnings, '\n');
}

const char *resource_unit_index(struct arena *a, const struct unit *u)
{
    return u->mig ? arena_printf(a, "%u:%u", u->gpu->index, (unsigned)(u->mig - u->gpu->migs)) : arena_printf(a, "%u", u->gpu->index);
}

/* "0", "0:1", "GPU-<uuid>", "MIG-<uuid>", "MIG-GPU-<uuid>/3/0". SOURCE NVIDIA's device plugin */
static bool names_unit(struct table_maker *m, const struct unit *u, const char *reference)
{
    char text[80];
    if (text_equal(reference, u->uuid) || text_equal(reference, resource_unit_index(m->arena, u)))
        return true;
    if (!u->mig || !text_starts(reference, "MIG-GPU-"))
        return false;
    snprintf(text, sizeof text, "MIG-%s/%u/%u", u->gpu->uuid, u->mig->gi, u->mig->ci);
    return text_equal(reference, text);
}

static int take(struct table_maker *m, struct unit_plan *p, const struct sharing *kind, const struct sharing_resource *entry, uint8_t rank)
{
    const struct unit *u = &m->snapshot->units[p->unit];
    bool mps = kind == &m->config->mps;
    if (p->rank == rank && rank == 3)
        return err_set(m->e, E_INVALID, "sharing: %s is named by two entries of 'devices'; remove one", u->uuid);
    if (p->rank >= rank)
        return 0;
    p->rank = rank;
    p->sharing = mps ? SHARING_MPS : SHARING_TIME_SLICING;
    p->replicas = entry->replicas;
    p->name = entry->rename ? entry->rename : entry->name;
    p->renamed = entry->rename != NULL;
    p->fail_requests_greater_than_one = kind->fail_requests_greater_than_one;
    return 0;
}

static int share_named(struct table_maker *m, const struct sharing *kind, const struct sharing_resource *entry)
{
    for (uint32_t d = 0; d < entry->devices_n; d++) {
        bool found = false;
        for (uint32_t i = 0; i < m->plans_n; i++) {
            if (!text_equal(m->plans[i].base_name, entry->name) || !names_unit(m, &m->snapshot->units[m->plans[i].unit], entry->devices[d]))
                continue;
            int failed = take(m, &m->plans[i], kind, entry, 3);
            if (failed < 0)
                return failed;
            found = true;
        }
        if (!found)
            table_warn(m, "sharing: %s: the node has no device '%s' of this resource", entry->name, entry->devices[d]);
    }
    return 0;
}

static int share_entry(struct table_maker *m, const struct sharing *kind, const struct sharing_resource *entry)
{
    if (entry->devices_n)
        return share_named(m, kind, entry);
    uint32_t left = entry->devices_all ? UINT32_MAX : entry->devices_count;
    for (uint32_t i = 0; i < m->plans_n && left; i++) {
        if (!text_equal(m->plans[i].base_name, entry->name))
            continue;
        int failed = take(m, &m->plans[i], kind, entry, entry->devices_all ? 1 : 2);
        if (failed < 0)
            return failed;
        left--;
    }
    if (left == UINT32_MAX && m->plans_n && !text_starts(entry->name, "nvidia.com/mig-") && !text_equal(entry->name, "nvidia.com/gpu"))
        table_warn(m, "sharing: %s: no device of the node has this name; is it spelled as in 'resources'?", entry->name);
    if (left && !entry->devices_all)
        table_warn(m, "sharing: %s: %u devices were to be shared, the node has %u", entry->name, entry->devices_count,
                   entry->devices_count - left);
    return 0;
}

static int share_kind(struct table_maker *m, const struct sharing *kind)
{
    for (uint32_t i = 0; kind->present && i < kind->resources_n; i++) {
        int failed = share_entry(m, kind, &kind->resources[i]);
        if (failed < 0)
            return failed;
    }
    return 0;
}

/* Whole GPUs become shares of keti.com/mpsgpu and nothing else: the same memory must not be given twice. */
static void share_keti(struct table_maker *m)
{
    uint32_t shares = m->config->keti_shares;
    for (uint32_t i = 0; shares && i < m->plans_n; i++) {
        struct unit_plan *p = &m->plans[i];
        const struct unit *u = &m->snapshot->units[p->unit];
        if (u->mig)
            continue;
        if (p->sharing != SHARING_NONE)
            table_warn(m, "sharing: %s of GPU %u has no effect: it is offered as keti.com/mpsgpu", p->name, u->gpu->index);
        p->name = "keti.com/mpsgpu";
        p->sharing = SHARING_KETI;
        p->replicas = shares;
        p->renamed = true;
        p->fail_requests_greater_than_one = false;
    }
}

/* SOURCE NVIDIA, "Multi-Process Service" (48 since Volta, 16 before). New drivers may allow more: then this table grows. */
static const struct {
    uint8_t compute_major;
    uint32_t clients;
} mps_ceilings[] = {{7, 48}, {0, 16}};

/* Clients of one MPS server on this unit at most. MIG devices: in proportion to their compute slices. */
static uint32_t mps_ceiling(const struct unit *u)
{
    uint32_t clients = 1;
    for (size_t i = sizeof mps_ceilings / sizeof *mps_ceilings; i-- > 0;)
        if (u->gpu->compute_major >= mps_ceilings[i].compute_major)
            clients = mps_ceilings[i].clients;
    uint32_t slices = u->gpu->geometry && u->gpu->geometry->mig_slices ? u->gpu->geometry->mig_slices : 7;
    if (u->mig && u->mig->ci_slices)
        clients = clients * u->mig->ci_slices / slices;
    return clients ? clients : 1;
}

/* No more shares than the MPS server has clients: an error on GPUs, fewer shares on MIG devices, whose limit few people know. */
static int check_ceilings(struct table_maker *m)
{
    uint32_t fewer = 0;
    for (uint32_t i = 0; i < m->plans_n; i++) {
        struct unit_plan *p = &m->plans[i];
        const struct unit *u = &m->snapshot->units[p->unit];
        uint32_t most = mps_ceiling(u);
        if ((p->sharing != SHARING_MPS && p->sharing != SHARING_KETI) || p->replicas <= most)
            continue;
        if (!u->mig)
            return err_set(m->e, E_INVALID, "sharing: %u replicas of %s: a %s takes at most %u MPS clients", p->replicas, p->name,
                           u->gpu->name, most);
        if (!fewer++)
            table_warn(m, "sharing.mps: %u replicas of %s: a MIG device %s takes at most %u MPS clients, so there are %u", p->replicas,
                       p->name, u->mig->profile, most, most);
        p->replicas = most;
    }
    return 0;
}

int table_share(struct table_maker *m)
{
    int failed = share_kind(m, &m->config->mps);
    if (failed == 0)
        failed = share_kind(m, &m->config->time_slicing);
    if (failed < 0)
        return failed;
    share_keti(m);
    return check_ceilings(m);
}
