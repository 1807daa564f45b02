/* seat_devices.c - which devices of its node each seat has
 *
 * ORDER  A pod has the devices that its annotation in the API names, even where the scheduler chose others. Two pods that name the same
 *        device both have it; the device is free when both are gone. A seat that is held for a pod to come chooses devices of its own,
 *        and gives them up to pods that name them.
 */
#include "base/memory.h"
#include "core/queue/order.h"
#include "core/score/score.h"
#include "core/state/model.h"

struct device_bits seat_devices(const struct seat *seat)
{
    struct device_bits all = {.words = {seat->devices}};
    if (seat->more_devices)
        memcpy(&all.words[1], seat->more_devices, sizeof all - sizeof all.words[0]);
    return all;
}

void seat_set_devices(struct seat *seat, const struct device_bits *bits)
{
    uint64_t more = 0;
    for (int i = 1; i < DEVICE_WORDS; i++)
        more |= bits->words[i];
    seat->devices = bits->words[0];
    if (more && !seat->more_devices)
        seat->more_devices = mem_alloc(sizeof *bits - sizeof bits->words[0]);
    if (seat->more_devices)
        memcpy(seat->more_devices, &bits->words[1], sizeof *bits - sizeof bits->words[0]);
}

static int64_t bits_in(const struct device_bits *bits, const struct device_span *span)
{
    int64_t n = 0;
    for (uint32_t i = span->first; i < (uint32_t)span->first + span->n; i++)
        n += device_bit(bits, i);
    return n;
}

void seat_choose_devices(struct state *s, struct seat *seat)
{
    struct device_table *t = &s->nodes.nodes[seat->node].devices;
    const struct shape_class *c = &s->shapes.classes[seat->shape];
    struct device_bits bits = {0};
    for (uint32_t i = 1; i < c->demands_n; i++) {
        const struct device_span *span = c->demands[i].extended ? device_table_span(t, c->demands[i].resource) : NULL;
        int32_t device = span && span->in_parts ? score_device(s, seat->shape, seat->node, span, c->demands[i].value) : -1;
        if (device >= 0)
            device_bit_set(&bits, (uint32_t)device);
        else if (span)
            (void)device_choose(t, span, c->demands[i].value, &bits); /* fit_room has counted them: there are enough */
    }
    device_take(t, &bits, seat_parts(s, seat));
    seat_set_devices(seat, &bits);
}

static int64_t parts_on(const struct state *s, uint32_t shape, uint32_t node)
{
    const struct device_table *t = &s->nodes.nodes[node].devices;
    const struct shape_class *c = &s->shapes.classes[shape];
    for (uint32_t i = 1; i < c->demands_n && t->gpus; i++) {
        const struct device_span *span = device_table_span(t, c->demands[i].resource);
        if (span && span->in_parts)
            return c->demands[i].value;
    }
    return 0;
}

int64_t seat_parts(const struct state *s, const struct seat *seat)
{
    return parts_on(s, seat->shape, seat->node);
}

bool seat_parts_fit(const struct state *s, uint32_t shape, uint32_t node, int32_t device)
{
    const struct device_table *t = &s->nodes.nodes[node].devices;
    return device_parts_fit(t, (uint32_t)device, parts_on(s, shape, node));
}

void seat_move_parts(struct state *s, uint32_t id, int32_t device)
{
    struct seat *seat = &s->seats[id];
    struct device_table *t = &s->nodes.nodes[seat->node].devices;
    struct device_bits bits = seat_devices(seat);
    device_give(t, &bits, seat_parts(s, seat));
    bits = (struct device_bits){0};
    device_bit_set(&bits, (uint32_t)device);
    device_take(t, &bits, seat_parts(s, seat));
    seat_set_devices(seat, &bits);
    node_table_touch(&s->nodes, seat->node);
}

/* Those of the bits that are given whole. */
static struct device_bits whole_bits(const struct device_table *t, struct device_bits bits)
{
    for (uint32_t i = 0; i < t->n && t->gpus; i++)
        if (t->all[i].parts)
            bits.words[i / 64] &= ~((uint64_t)1 << (i % 64));
    return bits;
}

/* How many devices the seat lacks of its i-th demand; *ret_span: the node's devices of that resource, NULL none. */
static int64_t missing_n(const struct state *s, const struct seat *seat, uint32_t i, const struct device_span **ret_span)
{
    const struct shape_class *c = &s->shapes.classes[seat->shape];
    *ret_span = c->demands[i].extended ? device_table_span(&s->nodes.nodes[seat->node].devices, c->demands[i].resource) : NULL;
    struct device_bits bits = seat_devices(seat);
    return *ret_span ? device_span_takes(*ret_span, c->demands[i].value) - bits_in(&bits, *ret_span) : 0;
}

/* Chooses the devices that the seat lacks. Unlike seat_choose_devices nobody has counted before: a resource that is short is left out. */
static void choose_missing(struct state *s, struct seat *seat)
{
    struct device_table *t = &s->nodes.nodes[seat->node].devices;
    const struct device_span *span;
    for (uint32_t i = 1; i < s->shapes.classes[seat->shape].demands_n; i++) {
        int64_t n = missing_n(s, seat, i, &span);
        struct device_bits had = seat_devices(seat), more = {0};
        if (n <= 0 || !device_choose(t, span, span->in_parts ? seat_parts(s, seat) : n, &more))
            continue;
        device_take(t, &more, seat_parts(s, seat));
        for (int w = 0; w < DEVICE_WORDS; w++)
            had.words[w] |= more.words[w];
        seat_set_devices(seat, &had);
    }
}

bool seat_lacks_devices(const struct state *s, const struct seat *seat)
{
    const struct device_span *span;
    for (uint32_t i = 1; i < s->shapes.classes[seat->shape].demands_n; i++)
        if (missing_n(s, seat, i, &span) > 0)
            return true;
    return false;
}

/* The devices that the pod's annotation names, of each resource no more than the pod asks for: its owner may have written anything. */
static struct device_bits told_devices(const struct state *s, const struct seat *seat, const struct pod *p)
{
    const struct device_table *t = &s->nodes.nodes[seat->node].devices;
    const struct shape_class *c = &s->shapes.classes[seat->shape];
    struct device_bits all = {0}, out = {0};
    if (!t->n || !p->devices || p->assumed) /* assumed: the annotation is older than our own choice */
        return out;
    device_parse(t, bytes_of(intern_name(s->names, p->devices)), s->names, &all);
    for (uint32_t i = 1; i < c->demands_n; i++) {
        const struct device_span *span = c->demands[i].extended ? device_table_span(t, c->demands[i].resource) : NULL;
        int64_t most = span ? device_span_takes(span, c->demands[i].value) : 0;
        for (uint32_t k = 0; most > 0 && k < span->n; k++)
            if (device_bit(&all, span->first + k)) {
                device_bit_set(&out, span->first + k);
                most--;
            }
    }
    return out;
}

void seats_count_devices(struct state *s, uint32_t node)
{
    struct node *n = &s->nodes.nodes[node];
    struct device_bits used = {0};
    uint64_t twice = 0;
    if (n->devices.n)
        device_table_clear(&n->devices);
    for (uint32_t at = n->first_seat; at; at = s->seats[at].next) {
        struct device_bits bits = seat_devices(&s->seats[at]), whole = whole_bits(&n->devices, bits);
        for (int i = 0; i < DEVICE_WORDS; i++) {
            twice |= used.words[i] & whole.words[i];
            used.words[i] |= whole.words[i];
        }
        if (n->devices.n)
            device_take(&n->devices, &bits, seat_parts(s, &s->seats[at]));
    }
    n->has_devices_twice = twice != 0;
}

/* A place that is held gives up devices of a GPU of which pods have left it too little: GPUs that are given in parts. */
static void give_up_gpus(struct state *s, struct seat *seat)
{
    struct device_table *t = &s->nodes.nodes[seat->node].devices;
    for (uint32_t i = 0; i < t->n && t->gpus; i++) {
        const struct gpu_ledger *g = &t->gpus[t->gpu_of[i]];
        struct device_bits bits = seat_devices(seat), one = {0};
        bool is_good = t->all[i].parts ? !g->whole_n && g->taken <= g->parts : !g->taken;
        if (is_good || !device_bit(&bits, i))
            continue;
        device_bit_set(&one, i);
        device_give(t, &one, seat_parts(s, seat));
        bits.words[i / 64] &= ~one.words[i / 64];
        seat_set_devices(seat, &bits);
    }
}

void seats_settle_held(struct state *s, uint32_t node)
{
    struct node *n = &s->nodes.nodes[node];
    struct device_bits used = {0};
    for (uint32_t at = n->first_seat; at; at = s->seats[at].next) {
        struct device_bits bits = whole_bits(&n->devices, seat_devices(&s->seats[at]));
        for (int i = 0; s->seats[at].pod && i < DEVICE_WORDS; i++)
            used.words[i] |= bits.words[i];
    }
    for (uint32_t at = n->first_seat; at; at = s->seats[at].next) {
        struct device_bits bits = seat_devices(&s->seats[at]), whole = whole_bits(&n->devices, bits);
        for (int i = 0; !s->seats[at].pod && i < DEVICE_WORDS; i++) {
            bits.words[i] &= ~(used.words[i] & whole.words[i]);
            used.words[i] |= whole.words[i];
        }
        if (!s->seats[at].pod)
            seat_set_devices(&s->seats[at], &bits);
    }
    seats_count_devices(s, node);
    for (uint32_t at = n->first_seat; at; at = s->seats[at].next)
        if (!s->seats[at].pod)
            give_up_gpus(s, &s->seats[at]);
    for (uint32_t at = n->first_seat; at; at = s->seats[at].next)
        if (!s->seats[at].pod)
            choose_missing(s, &s->seats[at]);
}

void seat_take_told_devices(struct state *s, uint32_t id)
{
    struct seat *seat = &s->seats[id];
    struct device_bits told = told_devices(s, seat, &s->pods[seat->pod]), bits = seat_devices(seat);
    if (!device_bits_any(&told) || memcmp(&told, &bits, sizeof told) == 0)
        return;
    seat_set_devices(seat, &told);
    seats_settle_held(s, seat->node);
    seats_wake_holders(s, seat->node);
    node_table_gain(&s->nodes, seat->node);
}

void seats_new_devices(struct state *s, uint32_t node)
{
    for (uint32_t at = s->nodes.nodes[node].first_seat; at; at = s->seats[at].next) {
        struct seat *seat = &s->seats[at];
        struct device_bits told = seat->pod ? told_devices(s, seat, &s->pods[seat->pod]) : (struct device_bits){0};
        if (device_bits_any(&told)) /* devices that the node has lost for a while count too */
            seat_set_devices(seat, &told);
    }
    seats_settle_held(s, node);
}

void seats_wake_holders(struct state *s, uint32_t node)
{
    for (uint32_t at = s->nodes.nodes[node].first_seat; at; at = s->seats[at].next)
        if ((!s->seats[at].pod || s->pods[s->seats[at].pod].deleting) && s->seats[at].gang && !s->seats[at].gang->look_at)
            order_wake(s, s->seats[at].gang);
}
