#include "core/place/fit.h"

/* SOURCE node.kubernetes.io/unschedulable:NoSchedule is tolerated by those who name it, as DaemonSets do */
static bool tolerates_unschedulable(const struct state *s, const struct shape *shape)
{
    name_id key = intern_find(s->names, BYTES("node.kubernetes.io/unschedulable"));
    struct taint taint = {.key = key, .effect = TAINT_NO_SCHEDULE};
    for (uint32_t i = 0; i < shape->tolerations_n; i++)
        if (toleration_covers(&shape->tolerations[i], &taint) && (key || !shape->tolerations[i].key))
            return true;
    return false;
}

enum fit_cause fit_record(const struct state *s, const struct shape_class *c, uint32_t node, const struct taint **ret_taint)
{
    const struct node *n = &s->nodes.nodes[node];
    uint8_t flags = s->nodes.flags[node];
    if (!(flags & NODE_KNOWN))
        return FIT_UNKNOWN_NODE;
    if (!(flags & NODE_READY))
        return FIT_NOT_READY;
    if ((flags & NODE_UNSCHEDULABLE) && !tolerates_unschedulable(s, &c->shape))
        return FIT_UNSCHEDULABLE;
    const struct taint *taint =
        n->taints_n ? taint_untolerated(n->taints, n->taints_n, c->shape.tolerations, c->shape.tolerations_n, NULL, 0) : NULL;
    if (ret_taint)
        *ret_taint = taint;
    if (taint)
        return FIT_TAINT;
    if (!c->shape.node_labels_n && !c->shape.node_terms_n)
        return FIT_OK;
    return node_terms_match(&c->shape, node_labels(&s->nodes, node), n->name, s->names) ? FIT_OK : FIT_SELECTOR;
}

bool fit_ports(const struct state *s, const struct shape_class *c, uint32_t node)
{
    const struct node *n = &s->nodes.nodes[node];
    if (!c->shape.ports_n || !n->port_seats_n)
        return true;
    for (uint32_t at = n->first_seat; at; at = s->seats[at].next) {
        const struct shape *other = &s->shapes.classes[s->seats[at].shape].shape;
        for (uint32_t i = 0; i < other->ports_n; i++)
            for (uint32_t k = 0; k < c->shape.ports_n; k++)
                if (port_conflicts(&other->ports[i], &c->shape.ports[k]))
                    return false;
    }
    return true;
}

static uint64_t times_in(uint64_t free_n, uint64_t value)
{
    if (value == 1)
        return free_n;
    if ((free_n | value) >> 32 == 0) /* WHY  the machine divides those faster */
        return (uint32_t)free_n / (uint32_t)value;
    return free_n / value;
}

/* Of devices with names, where the columns hold `copies`. */
static uint64_t devices_room(const struct device_table *t, const struct shape_class *c, uint64_t copies)
{
    if (c->share.n) {
        struct share_slots slots;
        uint64_t n = t->gpus && shape_slots(c, t, &slots) ? device_share_room(t, &c->share, slots.n ? &slots : NULL) : 0;
        return n < copies ? n : copies;
    }
    for (uint32_t i = 1; i < c->demands_n && copies; i++) {
        const struct demand *d = &c->demands[i];
        const struct device_span *span = d->extended ? device_table_span(t, d->resource) : NULL;
        if (!span)
            continue;
        uint64_t n = times_in(span->free_n, (uint64_t)d->value);
        copies = n < copies ? n : copies;
    }
    return copies;
}

/* Is there too little of anything that is counted? WHY  GPUs first, which most nodes of a full cluster lack; the rest is compared before
 * anything follows from it: who lacks some of it, no telling of what, and the machine guesses badly. */
static bool lacks_amounts(const struct state *s, const struct shape_class *c, uint32_t node)
{
    const int64_t *left = node_free(&s->nodes, node);
    const struct demand *gpus = c->device_demand < 0 ? NULL : &c->demands[c->device_demand];
    if (c->share.parts > s->nodes.nodes[node].devices.left_most || (gpus && left[gpus->column] < gpus->value))
        return true; /* without a ledger there are no parts */
    uint32_t lacks = 0;
    for (uint32_t i = 0; i < c->demands_n; i++)
        lacks |= (uint32_t)(left[c->demands[i].column] < c->demands[i].value);
    return lacks;
}

/* WHY  apart: it needs many registers, and is not come to as a rule. */
static __attribute__((noinline)) uint32_t room_where_amounts_are(const struct state *s, const struct shape_class *c, uint32_t node)
{
    const int64_t *left = node_free(&s->nodes, node);
    const struct device_table *devices = &s->nodes.nodes[node].devices;
    uint64_t copies = UINT32_MAX;
    if ((devices->n || c->share.n) && !(copies = devices_room(devices, c, copies)))
        return 0;
    if (c->shape.ports_n)
        return fit_ports(s, c, node);
    for (uint32_t i = 0; i < c->demands_n; i++) {
        const uint64_t free_n = (uint64_t)left[c->demands[i].column], each = (uint64_t)c->demands[i].value;
        uint64_t all;
        if (__builtin_mul_overflow(copies, each, &all) || all > free_n) /* WHY  most are not the least, and need no division */
            copies = times_in(free_n, each);
    }
    return (uint32_t)copies;
}

uint32_t fit_room(const struct state *s, const struct shape_class *c, uint32_t node)
{
    return c->absent_n || lacks_amounts(s, c, node) ? 0 : room_where_amounts_are(s, c, node);
}

static int64_t demand_for(const struct shape_class *c, name_id resource)
{
    for (uint32_t i = 0; i < c->demands_n; i++)
        if (c->demands[i].resource == resource)
            return c->demands[i].value;
    return 0;
}

uint32_t fit_room_beside(const struct state *s, const struct shape_class *c, const struct shape_class *other, uint32_t node, bool taken)
{
    const int64_t *left = node_free(&s->nodes, node);
    const struct device_table *devices = &s->nodes.nodes[node].devices;
    int64_t copies = fit_room(s, c, node);
    for (uint32_t i = 0; i < c->demands_n && copies > 0; i++) {
        const struct demand *d = &c->demands[i];
        const struct device_span *span = d->extended && devices->n && !taken ? device_table_span(devices, d->resource) : NULL;
        int64_t free_n = (span && span->free_n < left[d->column] ? span->free_n : left[d->column]) - demand_for(other, d->resource);
        int64_t n = free_n < d->value ? 0 : free_n / d->value;
        copies = n < copies ? n : copies;
    }
    for (uint32_t i = 0; i < other->shape.ports_n && copies > 0; i++)
        for (uint32_t k = 0; k < c->shape.ports_n && copies > 0; k++)
            copies = port_conflicts(&other->shape.ports[i], &c->shape.ports[k]) ? 0 : copies;
    return copies > 0 ? (uint32_t)copies : 0;
}
