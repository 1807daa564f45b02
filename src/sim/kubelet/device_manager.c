/* device_manager.c - see device_manager.h */
#include "sim/kubelet/device_manager.h"
#include <stdlib.h>
#include "agent/plugin/allocate.h"

static const struct slot *table_slot(const struct agent *a, const char *resource, const char *id)
{
    const struct resource *r = resource_table_find(agent_table(a), resource);
    return r ? resource_find_slot(r, id) : NULL;
}

static bool slot_free(const struct agent *a, const struct resource *r, const struct slot *s)
{
    const struct inventory_snapshot *now = inventory_now(agent_inventory(a));
    for (uint32_t i = 0; i < now->owners_n; i++)
        if (text_equal(now->owners[i].slot, s->id) && text_equal(now->owners[i].resource, r->name))
            return false;
    return slot_is_open(s) && !agent_is_held(a, agent_table_snapshot(a)->units[s->unit].gpu->uuid);
}

void device_manager_hold(struct agent *a, const struct node_pod *pod, const char *resource, const char *const *slots, uint32_t n)
{
    (void)inventory_claim(agent_inventory(a), resource, slots, n, pod->ns, pod->name, "", NULL); /* without a journal nothing can fail */
}

void device_manager_release(struct agent *a, const struct node_pod *pod)
{
    const struct inventory_snapshot *s = inventory_snapshot_ref(inventory_now(agent_inventory(a))); /* the texts of `rest` */
    struct slot_owner *rest = mem_zero(s->owners_n + 1, sizeof *rest);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->owners_n; i++)
        if (!text_equal(s->owners[i].pod, pod->name) || !text_equal(s->owners[i].ns, pod->ns))
            rest[n++] = s->owners[i];
    if (n != s->owners_n)
        inventory_set_owners(agent_inventory(a), rest, n);
    inventory_snapshot_unref(s);
    free(rest);
}

bool device_manager_healthy(const struct agent *a, const char *resource, const char *slot)
{
    const struct slot *s = table_slot(a, resource, slot);
    return s && slot_is_open(s);
}

/* The chosen ones when all of them are free; the number is right. */
static bool as_chosen(const struct agent *a, const struct resource *r, const char *const *chosen, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct slot *s = resource_find_slot(r, chosen[i]);
        if (!s || !slot_free(a, r, s))
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (text_equal(chosen[k], chosen[i]))
                return false;
    }
    return true;
}

/* SOURCE texts of the kubelet's device manager. */
static int too_few(const struct resource *r, uint32_t wanted, uint32_t free_n, struct err *e)
{
    if (slots_open(r->slots, r->slots_n) == 0)
        return err_set(e, E_DENIED, "no healthy devices present; cannot allocate unhealthy devices %s", r->name);
    return err_set(e, E_DENIED, "requested number of devices unavailable for %s. Requested: %u, Available: %u", r->name, wanted, free_n);
}

/* By the rules of GetPreferredAllocation from all that are free. */
static int prefer(const struct agent *a, const struct resource *r, uint32_t n, struct arena *m, const char ***ret_slots, struct err *e)
{
    const char **available = arena_alloc(m, (r->slots_n ? r->slots_n : 1) * sizeof *available);
    uint32_t available_n = 0, given_n = 0;
    for (uint32_t i = 0; i < r->slots_n; i++)
        if (slot_free(a, r, &r->slots[i]))
            available[available_n++] = r->slots[i].id;
    if (available_n < n)
        return too_few(r, n, available_n, e);
    int code = preferred_choose(m, agent_table_snapshot(a), agent_config_in_use(a), r, available, available_n, NULL, 0, n, ret_slots,
                                &given_n, e);
    return code < 0 ? code : given_n != n ? too_few(r, n, given_n, e) : 0;
}

int device_manager_take(struct agent *a, const struct node_pod *pod, const char *resource, uint32_t n, const char *const *chosen,
                        uint32_t chosen_n, struct arena *m, const char ***ret_slots, struct err *e)
{
    const struct resource *r = resource_table_find(agent_table(a), resource);
    if (!r)
        return -E_NOTFOUND;
    bool same = chosen_n == n && as_chosen(a, r, chosen, n);
    const char **slots = NULL, **copies = arena_alloc(m, (n ? n : 1) * sizeof *copies);
    if (!same) {
        int code = prefer(a, r, n, m, &slots, e);
        if (code < 0)
            return code;
    }
    for (uint32_t i = 0; i < n; i++)
        copies[i] = arena_text(m, same ? chosen[i] : slots[i]);
    device_manager_hold(a, pod, resource, copies, n);
    *ret_slots = copies;
    return same || chosen_n == 0;
}

int device_manager_allows(const struct agent *a, const char *resource, uint32_t n, struct err *e)
{
    const struct resource *r = resource_table_find(agent_table(a), resource);
    if (n <= 1 || !r || !r->fail_requests_greater_than_one)
        return 0;
    return err_set(e, E_DENIED,
                   "rpc error: code = Unknown desc = %s: a request for %u shares, but one is the most that a container "
                   "may ask for where GPUs are shared",
                   r->name, n);
}
