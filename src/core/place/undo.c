#include "core/place/undo.h"
#include "base/memory.h"
#include "core/preempt/promise.h"

static void push(struct state *s, struct undo_step step)
{
    MEM_RESERVE(s->undo.steps, s->undo.cap, s->undo.n + 1);
    s->undo.steps[s->undo.n++] = step;
}

uint32_t undo_mark(const struct state *s)
{
    return s->undo.n;
}

void undo_seat(struct state *s, uint32_t seat)
{
    push(s, (struct undo_step){.kind = UNDO_SEAT_TAKE, .id = seat});
}

void undo_lift(struct state *s, uint32_t seat)
{
    seat_lift(s, seat);
    push(s, (struct undo_step){.kind = UNDO_SEAT_LIFT, .id = seat});
}

void undo_charge(struct state *s, uint32_t queue, name_id flavor, name_id resource, int64_t amount)
{
    quota_add(&s->quota, queue, flavor, resource, amount);
    push(s, (struct undo_step){.kind = UNDO_CHARGE, .id = queue, .flavor = flavor, .resource = resource, .amount = amount});
}

void undo_charges_of(struct state *s, const struct gang *g, int sign)
{
    for (uint32_t i = 0; i < g->own->charges_n && g->queue; i++)
        undo_charge(s, g->queue->quota, g->own->charges[i].flavor, g->own->charges[i].resource, sign * g->own->charges[i].amount);
}

bool undo_nominal(struct state *s, uint32_t queue, name_id flavor, name_id resource, int64_t amount)
{
    if (!quota_raise(&s->quota, queue, flavor, resource, amount))
        return false;
    push(s, (struct undo_step){.kind = UNDO_NOMINAL, .id = queue, .flavor = flavor, .resource = resource, .amount = amount});
    return true;
}

/* Healthy devices in use that would be given back; false: there are not so many. */
static bool used_devices(const struct device_table *t, const struct device_span *span, int64_t wanted, struct device_bits *ret_bits)
{
    for (uint32_t i = span->first; i < (uint32_t)span->first + span->n && wanted > 0; i++) {
        if (!t->all[i].healthy || !device_bit(t->used, i))
            continue;
        device_bit_set(ret_bits, i);
        wanted--;
    }
    return wanted <= 0;
}

static void add_room(struct state *s, uint32_t node, name_id resource, int64_t amount)
{
    node_free(&s->nodes, node)[node_table_find_column(&s->nodes, resource)] += amount;
    node_table_touch(&s->nodes, node);
}

/* Of a share, and no device of a node: room in the sum of them is none in a GPU. */
static bool is_of_shares(const struct state *s, name_id resource)
{
    return text_starts(intern_name(s->names, resource), GPU_SHARE_PREFIX);
}

bool undo_room(struct state *s, uint32_t node, name_id resource, int64_t amount)
{
    struct node *n = &s->nodes.nodes[node];
    const struct device_span *span = device_table_span(&n->devices, resource);
    struct device_bits given = {0};
    int64_t missing = span ? node_free(&s->nodes, node)[node_table_find_column(&s->nodes, resource)] + amount - span->free_n : 0;
    if (n->has_devices_twice || (span ? span->in_parts : is_of_shares(s, resource)))
        return false;
    if (span && !used_devices(&n->devices, span, missing, &given))
        return false;
    add_room(s, node, resource, amount);
    push(s, (struct undo_step){.kind = UNDO_ROOM, .id = node, .resource = resource, .amount = amount});
    if (span) {
        device_give(&n->devices, &given, NULL);
        push(s, (struct undo_step){.kind = UNDO_DEVICES, .id = node});
    }
    return true;
}

void undo_withhold(struct state *s, uint32_t node, name_id resource, int64_t amount)
{
    struct device_table *t = &s->nodes.nodes[node].devices;
    const struct device_span *span = device_table_span(t, resource);
    int32_t column = node_table_find_column(&s->nodes, resource);
    int64_t left = column < 0 ? 0 : node_free(&s->nodes, node)[column];
    amount = amount < left ? amount : left;
    if (amount <= 0)
        return;
    add_room(s, node, resource, -amount);
    push(s, (struct undo_step){.kind = UNDO_ROOM, .id = node, .resource = resource, .amount = -amount});
    struct device_bits kept = {0};
    if (!span || t->gpus || !device_choose(t, span, amount < span->free_n ? amount : span->free_n, &kept))
        return;
    device_take(t, &kept, NULL);
    push(s, (struct undo_step){.kind = UNDO_DEVICES, .id = node});
}

void undo_devices(struct state *s, uint32_t node)
{
    node_table_touch(&s->nodes, node);
    push(s, (struct undo_step){.kind = UNDO_DEVICES, .id = node});
}

static void set_flags(struct state *s, uint32_t node, uint8_t flags)
{
    s->nodes.flags[node] = flags;
    node_table_touch(&s->nodes, node);
    s->nodes.nodes[node].record_seq = s->nodes.seq;
}

void undo_flags(struct state *s, uint32_t node, uint8_t flags)
{
    push(s, (struct undo_step){.kind = UNDO_FLAGS, .id = node, .amount = s->nodes.flags[node]});
    set_flags(s, node, flags);
}

void undo_back(struct state *s, uint32_t mark)
{
    while (s->undo.n > mark) {
        const struct undo_step *step = &s->undo.steps[--s->undo.n];
        switch (step->kind) {
        case UNDO_SEAT_TAKE:
            seat_untake(s, step->id);
            break;
        case UNDO_SEAT_LIFT:
            seat_return(s, step->id);
            break;
        case UNDO_CHARGE:
            quota_add(&s->quota, step->id, step->flavor, step->resource, -step->amount);
            break;
        case UNDO_NOMINAL:
            (void)quota_raise(&s->quota, step->id, step->flavor, step->resource, -step->amount);
            break;
        case UNDO_ROOM:
            add_room(s, step->id, step->resource, -step->amount);
            break;
        case UNDO_DEVICES:
            seats_count_devices(s, step->id);
            node_table_touch(&s->nodes, step->id);
            break;
        case UNDO_FLAGS:
            set_flags(s, step->id, (uint8_t)step->amount);
            break;
        }
    }
}

void undo_keep(struct state *s, uint32_t mark)
{
    uint32_t n = s->undo.n;
    for (uint32_t i = mark; i < n; i++) {
        const struct undo_step step = s->undo.steps[i]; /* a copy: whoever looks again tries something behind them */
        s->neighbours_changed |= step.kind == UNDO_SEAT_TAKE;
        if (step.kind == UNDO_SEAT_TAKE)
            promises_shrink(s, s->seats[step.id].node);
        if (step.kind == UNDO_SEAT_LIFT)
            seat_free(s, step.id);
    }
    s->undo.n = mark;
}
