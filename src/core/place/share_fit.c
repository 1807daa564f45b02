/* share_fit.c - whether a device has what a pod of this shape asks for that shares GPUs: below whoever scores nodes, and who seats it */
#include "core/state/model.h"

/* The devices that a plugin hands out for a pod that asks for shares: of one resource, as many with each share. False: it asks for some in
 * another way, which no node can give. */
bool shape_slots(const struct shape_class *c, const struct device_table *t, struct share_slots *ret_slots)
{
    *ret_slots = (struct share_slots){0};
    if (c->extended_n == 1 && c->demands[c->device_demand].resource == t->parts_of)
        return true;
    for (uint32_t i = 1; i < c->demands_n; i++) {
        const struct demand *d = &c->demands[i];
        const struct device_span *span = d->extended ? device_table_span(t, d->resource) : NULL;
        if (!span || span->in_parts)
            continue;
        if (ret_slots->n || d->value % c->share.n || d->value / c->share.n > LIMIT_DEVICES_PER_NODE)
            return false;
        *ret_slots = (struct share_slots){span, (uint32_t)(d->value / c->share.n)};
    }
    return true;
}

const struct gpu_share *shape_share_on(const struct state *s, uint32_t shape, uint32_t node)
{
    const struct gpu_share *share = &s->shapes.classes[shape].share;
    return share->n && s->nodes.nodes[node].devices.gpus ? share : NULL;
}

bool seat_share_fits(const struct state *s, uint32_t shape, uint32_t node, int32_t device)
{
    const struct device_table *t = &s->nodes.nodes[node].devices;
    struct share_slots slots;
    return shape_slots(&s->shapes.classes[shape], t, &slots) &&
           device_share_fits(t, (uint32_t)device, shape_share_on(s, shape, node), slots.n ? &slots : NULL);
}
