/* seat.c - room taken on a node: amounts, devices, ports, and the pod quota of queues without flavors */
#include <assert.h>
#include "base/memory.h"
#include "core/model.h"

static void add_amounts(struct state *s, const struct seat *seat, int64_t sign)
{
    const struct shape_class *c = &s->shapes.classes[seat->shape];
    int64_t *left = node_free(&s->nodes, seat->node);
    for (uint32_t i = 0; i < c->demands_n; i++)
        if (c->demands[i].column >= 0)
            left[c->demands[i].column] += sign * c->demands[i].value;
}

static void choose_devices(struct state *s, struct seat *seat)
{
    struct device_table *devices = &s->nodes.nodes[seat->node].devices;
    const struct shape_class *c = &s->shapes.classes[seat->shape];
    for (uint32_t i = 1; i < c->demands_n; i++) {
        const struct device_span *span = device_table_span(devices, c->demands[i].resource);
        if (span)
            (void)device_choose(devices, span, c->demands[i].value, &seat->devices); /* fit_room said that they are there */
    }
}

/* WHY  a device that is taken already stays with who has it: one owner a device, whatever the API says */
static void take_devices(struct device_table *t, struct seat *seat, const struct device_bits *wanted)
{
    for (int i = 0; i < DEVICE_WORDS; i++)
        seat->devices.words[i] = wanted->words[i] & ~t->used.words[i];
    device_take(t, &seat->devices);
}

struct device_bits seat_told_devices(const struct state *s, uint32_t id)
{
    const struct seat *seat = &s->seats[id];
    struct device_bits out = {0};
    if (seat->pod && s->pods[seat->pod].devices)
        device_parse(&s->nodes.nodes[seat->node].devices, bytes_of(intern_name(s->names, s->pods[seat->pod].devices)), s->names, &out);
    return out;
}

/* Fewer than it wants: somebody else's pod has them. */
static bool lacks_devices(const struct state *s, const struct seat *seat)
{
    const struct device_table *t = &s->nodes.nodes[seat->node].devices;
    const struct shape_class *c = &s->shapes.classes[seat->shape];
    for (uint32_t i = 1; i < c->demands_n; i++) {
        const struct device_span *span = device_table_span(t, c->demands[i].resource);
        int64_t lacking = span ? c->demands[i].value : 0;
        for (uint32_t k = 0; span && k < span->n; k++)
            lacking -= device_bit(&seat->devices, span->first + k);
        if (lacking > 0)
            return true;
    }
    return false;
}

void seats_settle_devices(struct state *s, uint32_t node)
{
    struct device_table *t = &s->nodes.nodes[node].devices;
    uint32_t first = s->nodes.nodes[node].first_seat;
    device_give(t, &t->used);
    for (uint32_t at = first; at; at = s->seats[at].next) {
        struct device_bits told = seat_told_devices(s, at);
        if (device_bits_any(&told))
            take_devices(t, &s->seats[at], &told);
    }
    for (uint32_t at = first; at; at = s->seats[at].next) {
        struct device_bits told = seat_told_devices(s, at);
        if (!device_bits_any(&told))
            take_devices(t, &s->seats[at], &s->seats[at].devices);
    }
    for (uint32_t at = first; at; at = s->seats[at].next) {
        struct seat *seat = &s->seats[at];
        if (seat->pod || !lacks_devices(s, seat))
            continue;
        device_give(t, &seat->devices);
        seat->devices = (struct device_bits){0};
        choose_devices(s, seat);
        device_take(t, &seat->devices);
    }
}

static uint32_t slot_new(struct state *s)
{
    uint32_t id = s->seat_hole;
    if (id) {
        s->seat_hole = s->seats[id].next;
        return id;
    }
    MEM_RESERVE(s->seats, s->seats_cap, s->seats_n + 1);
    return s->seats_n++;
}

uint32_t seat_take(struct state *s, uint32_t node, uint32_t shape, uint32_t labels, struct gang *gang, uint32_t pod_set,
                   const struct device_bits *devices)
{
    uint32_t id = slot_new(s);
    struct seat *seat = &s->seats[id];
    struct node *n = &s->nodes.nodes[node];
    *seat = (struct seat){.node = node, .shape = shape, .labels = labels, .gang = gang, .pod_set = pod_set, .next = n->first_seat};
    if (!devices && n->devices.n)
        choose_devices(s, seat);
    if (n->devices.n)
        take_devices(&n->devices, seat, devices ? devices : &seat->devices);
    shape_class_ref(&s->shapes, shape);
    label_set_ref(&s->shapes, labels);
    if (n->first_seat)
        s->seats[n->first_seat].prev = id;
    n->first_seat = id;
    n->seats_n++;
    const struct shape_class *c = &s->shapes.classes[shape];
    n->port_seats_n += c->shape.ports_n != 0;
    s->anti_seats_n += c->anti;
    s->seats_live_n++;
    s->neighbours_changed = true;
    add_amounts(s, seat, -1);
    node_table_touch(&s->nodes, node);
    return id;
}

void seat_charge(struct state *s, uint32_t id, uint32_t queue)
{
    struct seat *seat = &s->seats[id];
    const struct shape_class *c = &s->shapes.classes[seat->shape];
    assert(!seat->queue);
    seat->queue = queue;
    for (uint32_t i = 0; i < c->demands_n; i++)
        quota_add(&s->quota, queue, 0, c->demands[i].resource, c->demands[i].value);
}

static void give_back_charge(struct state *s, struct seat *seat)
{
    const struct shape_class *c = &s->shapes.classes[seat->shape];
    for (uint32_t i = 0; i < c->demands_n; i++)
        quota_add(&s->quota, seat->queue, 0, c->demands[i].resource, -c->demands[i].value);
}

static void give_back(struct state *s, uint32_t id, bool for_good)
{
    struct seat *seat = &s->seats[id];
    struct node *n = &s->nodes.nodes[seat->node];
    uint32_t node = seat->node;
    assert(node);
    if (seat->queue)
        give_back_charge(s, seat);
    if (seat->queue && for_good)
        quota_gain(&s->quota, seat->queue);
    add_amounts(s, seat, 1);
    if (n->devices.n)
        device_give(&n->devices, &seat->devices);
    if (seat->prev)
        s->seats[seat->prev].next = seat->next;
    else
        n->first_seat = seat->next;
    if (seat->next)
        s->seats[seat->next].prev = seat->prev;
    n->seats_n--;
    const struct shape_class *c = &s->shapes.classes[seat->shape];
    n->port_seats_n -= c->shape.ports_n != 0;
    s->anti_seats_n -= c->anti;
    s->seats_live_n--;
    s->neighbours_changed = true;
    uint32_t shape = seat->shape, labels = seat->labels;
    *seat = (struct seat){.next = s->seat_hole};
    s->seat_hole = id;
    if (for_good)
        node_table_gain(&s->nodes, node);
    else
        node_table_touch(&s->nodes, node);
    node_table_drop_if_unused(&s->nodes, node);
    shape_release(s, shape);
    label_set_unref(&s->shapes, labels);
}

void seat_free(struct state *s, uint32_t id)
{
    give_back(s, id, true);
}

void seat_untake(struct state *s, uint32_t id)
{
    give_back(s, id, false);
}
