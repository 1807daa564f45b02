/* seat.c - room taken on a node: amounts, devices, ports */
#include <assert.h>
#include "base/memory.h"
#include "core/state/model.h"

static void add_amounts(struct state *s, const struct seat *seat, int64_t sign)
{
    const struct shape_class *c = &s->shapes.classes[seat->shape];
    int64_t *left = node_free(&s->nodes, seat->node);
    for (uint32_t i = 0; i < c->demands_n; i++)
        if (c->demands[i].column >= 0)
            left[c->demands[i].column] += sign * demand_taken(&c->demands[i]);
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

/* ---- seats that keep others away ---- */

static void anti_add(struct state *s, uint32_t id)
{
    MEM_RESERVE(s->anti_seats, s->anti_seats_cap, s->anti_seats_n + 1);
    s->anti_seats[s->anti_seats_n++] = id;
    s->seats[id].anti_at = s->anti_seats_n;
}

static void anti_remove(struct state *s, uint32_t id)
{
    uint32_t at = s->seats[id].anti_at - 1, last = s->anti_seats[--s->anti_seats_n];
    s->anti_seats[at] = last;
    s->seats[last].anti_at = at + 1;
    s->seats[id].anti_at = 0;
}

/* ---- taking and giving back ---- */

/* Link the seat into its node, between `prev` and `next`, and take its amounts; devices are its own affair. */
static void stand(struct state *s, uint32_t id, uint32_t prev, uint32_t next)
{
    struct seat *seat = &s->seats[id];
    struct node *n = &s->nodes.nodes[seat->node];
    const struct shape_class *c = &s->shapes.classes[seat->shape];
    seat->next = next;
    seat->prev = prev;
    if (next)
        s->seats[next].prev = id;
    *(prev ? &s->seats[prev].next : &n->first_seat) = id;
    n->seats_n++;
    n->port_seats_n += c->shape.ports_n != 0;
    if (c->anti)
        anti_add(s, id);
    s->seats_live_n++;
    add_amounts(s, seat, -1);
    node_table_taken(&s->nodes, seat->node);
}

/* The inverse; the node's record is not looked at. */
static void unstand(struct state *s, uint32_t id)
{
    struct seat *seat = &s->seats[id];
    struct node *n = &s->nodes.nodes[seat->node];
    assert(seat->node && !seat->lifted);
    add_amounts(s, seat, 1);
    if (n->devices.n) {
        struct device_bits bits = seat_devices(seat);
        device_give(&n->devices, &bits, seat_share(s, seat));
    }
    if (seat->prev)
        s->seats[seat->prev].next = seat->next;
    else
        n->first_seat = seat->next;
    if (seat->next)
        s->seats[seat->next].prev = seat->prev;
    n->seats_n--;
    if (n->has_devices_twice)
        seats_count_devices(s, seat->node); /* another may have them still */
    n->port_seats_n -= s->shapes.classes[seat->shape].shape.ports_n != 0;
    if (seat->anti_at)
        anti_remove(s, id);
    s->seats_live_n--;
    node_table_touch(&s->nodes, seat->node);
}

uint32_t seat_take(struct state *s, uint32_t node, uint32_t shape, uint32_t labels, struct gang *gang, uint32_t pod_set, bool choose)
{
    uint32_t id = slot_new(s);
    struct seat *seat = &s->seats[id];
    *seat = (struct seat){.node = node, .shape = shape, .labels = labels, .gang = gang, .pod_set = pod_set};
    if (choose && s->nodes.nodes[node].devices.n)
        seat_choose_devices(s, seat);
    shape_class_ref(&s->shapes, shape);
    label_set_ref(&s->shapes, labels);
    stand(s, id, 0, s->nodes.nodes[node].first_seat);
    return id;
}

void seat_lift(struct state *s, uint32_t id)
{
    unstand(s, id);
    s->seats[id].lifted = true;
}

void seat_return(struct state *s, uint32_t id)
{
    struct seat *seat = &s->seats[id];
    struct device_table *t = &s->nodes.nodes[seat->node].devices;
    assert(seat->lifted);
    seat->lifted = false;
    if (t->n) {
        struct device_bits bits = seat_devices(seat);
        device_take(t, &bits, seat_share(s, seat));
    }
    stand(s, id, seat->prev, seat->next); /* where it stood: decisions must not see that it was away */
}

static void give_back(struct state *s, uint32_t id, bool for_good)
{
    struct seat *seat = &s->seats[id];
    uint32_t node = seat->node, shape = seat->shape, labels = seat->labels;
    if (!seat->lifted)
        unstand(s, id);
    free(seat->more_devices);
    *seat = (struct seat){.next = s->seat_hole};
    s->seat_hole = id;
    if (for_good) {
        s->neighbours_changed = true;
        node_table_gain(&s->nodes, node);
    }
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
