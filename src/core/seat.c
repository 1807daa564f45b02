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

uint32_t seat_take(struct state *s, uint32_t node, uint32_t shape, uint32_t labels, struct gang *gang, uint32_t pod_set, bool choose)
{
    uint32_t id = slot_new(s);
    struct seat *seat = &s->seats[id];
    struct node *n = &s->nodes.nodes[node];
    *seat = (struct seat){.node = node, .shape = shape, .labels = labels, .gang = gang, .pod_set = pod_set, .next = n->first_seat};
    if (choose && n->devices.n)
        seat_choose_devices(s, seat);
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
    if (n->has_devices_twice)
        seats_count_devices(s, node); /* another may have them still */
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
