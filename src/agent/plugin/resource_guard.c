/* resource_guard.c - the slicing by which each unit is held, against that of the table */
#include <stdio.h>
#include "agent/plugin/resource_guard.h"
#include "agent/inventory/slot_id.h"
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
        if (!slot_is_of(it->slot, u))
            continue;
        n++;
        *ret_known = *ret_known && text_equal(it->resource, o->resource->name) && resource_find_slot(o->resource, it->slot);
    }
    return n;
}

/* Also slots that are owned: the kubelet hands them out again the moment that their container ends. */
static void unit_close(struct resource_table *t, uint32_t unit, const char *why)
{
    for (uint32_t i = 0; i < t->resources_n; i++)
        for (uint32_t k = 0; k < t->resources[i].slots_n; k++)
            if (t->resources[i].slots[k].unit == unit)
                (void)slot_close(&t->resources[i].slots[k], SLOT_OLD_SLICING, why);
}

/* "held as nvidia.com/gpu by team/train-0 and 2 more" */
static const char *held_text(struct arena *a, const struct inventory_snapshot *s, const struct unit *u)
{
    const struct slot_owner *first = NULL;
    uint32_t more_n = 0;
    for (uint32_t i = 0; i < s->owners_n; i++) {
        if (!slot_is_of(s->owners[i].slot, u))
            continue;
        more_n += first != NULL;
        first = first ? first : &s->owners[i];
    }
    if (!first)
        return "the kubelet does not say yet who holds it";
    const char *more = more_n ? arena_printf(a, " and %u more", more_n) : "";
    return *first->pod ? arena_printf(a, "held as %s by %s/%s%s", first->resource, first->ns, first->pod, more)
                       : arena_printf(a, "held as %s by a container%s", first->resource, more);
}

static void keep(struct resource_guard *g, const char *key, const char *was, const char *now)
{
    if (!text_equal(was ? was : "", now))
        (void)inventory_intent_set(g->inventory, key, now, NULL); /* not on disk: the next agent goes by the slots alone */
}

void resource_guard_apply(struct resource_guard *g, struct arena *a, const struct inventory_snapshot *s, struct resource_table *t)
{
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
            unit_close(t, i, held_text(a, s, u));
        } else {
            keep(g, key, was, now);
        }
    }
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
