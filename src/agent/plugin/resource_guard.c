/* resource_guard.c - the slicing by which each unit is held, against that of the table */
#include <stdio.h>
#include "agent/plugin/resource_guard.h"
#include "agent/health/health.h"
#include "base/memory.h"

#define SLICING_KEY "slicing/"

struct resource_guard {
    struct inventory *inventory;
    uint32_t waiting_n;
};

struct resource_guard *resource_guard_new(struct inventory *i)
{
    struct resource_guard *g = mem_zero(1, sizeof *g);
    g->inventory = i;
    return g;
}

void resource_guard_free(struct resource_guard *g)
{
    free(g);
}

bool resource_guard_waits(const struct resource_guard *g)
{
    return g->waiting_n > 0;
}

/* The slots of one unit in one resource; several resources of a table may offer the same unit. */
struct offer {
    struct resource *resource;
    uint32_t slots_n;
};

static struct offer offer_find(struct resource_table *t, uint32_t unit)
{
    struct offer o = {NULL, 0};
    for (uint32_t i = 0; i < t->resources_n && !o.resource; i++) {
        for (uint32_t k = 0; k < t->resources[i].slots_n; k++)
            o.slots_n += t->resources[i].slots[k].unit == unit;
        if (o.slots_n)
            o.resource = &t->resources[i];
    }
    return o;
}

/* Owners of the unit: how many, and whether all of their slots are in the offer. */
static uint32_t owners_of(const struct inventory_snapshot *s, const struct unit *u, const struct offer *o, bool *ret_known)
{
    uint32_t n = 0;
    *ret_known = true;
    for (uint32_t i = 0; i < s->owners_n; i++) {
        const struct slot_owner *it = &s->owners[i];
        if (!health_slot_on_unit(s, u, it->slot))
            continue;
        n++;
        *ret_known = *ret_known && text_equal(it->resource, o->resource->name) && resource_find_slot(o->resource, it->slot);
    }
    return n;
}

/* Also slots that are owned: the kubelet hands them out again the moment that their container ends. */
static uint32_t unit_close(struct resource_table *t, uint32_t unit)
{
    uint32_t marked = 0;
    for (uint32_t i = 0; i < t->resources_n; i++) {
        struct resource *r = &t->resources[i];
        for (uint32_t k = 0; k < r->slots_n; k++) {
            struct slot *slot = &r->slots[k];
            if (slot->unit != unit || !slot->healthy)
                continue;
            slot->healthy = false;
            marked++;
        }
    }
    return marked;
}

static void keep(struct resource_guard *g, const char *key, const char *was, const char *now)
{
    if (!text_equal(was ? was : "", now))
        (void)inventory_intent_set(g->inventory, key, now, NULL); /* not on disk: the next agent goes by the slots alone */
}

uint32_t resource_guard_apply(struct resource_guard *g, const struct inventory_snapshot *s, struct resource_table *t)
{
    uint32_t marked = 0;
    g->waiting_n = 0;
    for (uint32_t i = 0; i < s->units_n; i++) {
        const struct unit *u = &s->units[i];
        struct offer o = offer_find(t, i);
        char key[80], now[320] = "";
        bool known;
        if (!o.resource)
            continue;
        (void)snprintf(key, sizeof key, SLICING_KEY "%s", u->uuid);
        (void)snprintf(now, sizeof now, "%.253s %u", o.resource->name, o.slots_n);
        const char *was = inventory_intent(g->inventory, key);
        uint32_t owners_n = owners_of(s, u, &o, &known);
        bool other = was && !text_equal(was, now);
        if (!owners_n && !(other && s->owners_unsure)) {
            keep(g, key, was, now);
        } else if (was ? other : !known) {
            g->waiting_n++;
            marked += unit_close(t, i);
        } else {
            keep(g, key, was, now);
        }
    }
    return marked;
}

uint32_t resource_guard_slots(const struct inventory *i, const char *uuid, const char *resource)
{
    char key[80];
    int64_t n = 0;
    size_t name_n = strlen(resource);
    (void)snprintf(key, sizeof key, SLICING_KEY "%s", uuid);
    const char *held = inventory_intent(i, key);
    if (held && text_starts(held, resource) && held[name_n] == ' ' && bytes_int64(bytes_of(held + name_n + 1), &n) && n > 0)
        return n < UINT32_MAX ? (uint32_t)n : 0;
    return 0;
}
