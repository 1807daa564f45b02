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

const struct gpu_share *seat_share(const struct state *s, const struct seat *seat)
{
    return shape_share_on(s, seat->shape, seat->node);
}

/* `device`: of the GPU of which it takes a share, -1: the best. */
static bool choose_shares(const struct state *s, const struct seat *seat, int32_t device, struct device_bits *ret_bits)
{
    const struct device_table *t = &s->nodes.nodes[seat->node].devices;
    struct share_slots slots;
    return shape_slots(&s->shapes.classes[seat->shape], t, &slots) &&
           device_choose_share(t, seat_share(s, seat), slots.n ? &slots : NULL, device, ret_bits);
}

void seat_choose_devices(struct state *s, struct seat *seat)
{
    const struct device_bits bits = score_choose_devices(s, seat->shape, seat->node, gang_policy(s, seat->gang));
    device_take(&s->nodes.nodes[seat->node].devices, &bits, seat_share(s, seat));
    seat_set_devices(seat, &bits);
}

void seat_move_share(struct state *s, uint32_t id, int32_t device)
{
    struct seat *seat = &s->seats[id];
    struct device_table *t = &s->nodes.nodes[seat->node].devices;
    struct device_bits bits = seat_devices(seat);
    device_give(t, &bits, seat_share(s, seat));
    bits = (struct device_bits){0};
    (void)choose_shares(s, seat, device, &bits); /* seat_share_fits has said so */
    device_take(t, &bits, seat_share(s, seat));
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

/* How many devices a pod of this shape takes of those that its i-th demand is for; *ret_span: these, NULL none. The demand after the last
 * is its shares. */
static int64_t takes_n(const struct state *s, uint32_t shape, uint32_t node, uint32_t i, const struct device_span **ret_span)
{
    const struct shape_class *c = &s->shapes.classes[shape];
    const struct device_table *t = &s->nodes.nodes[node].devices;
    const struct gpu_share *share = shape_share_on(s, shape, node);
    if (i == c->demands_n) {
        *ret_span = share ? &t->spans[t->parts_at] : NULL;
        return share ? share->n : 0;
    }
    *ret_span = c->demands[i].extended ? device_table_span(t, c->demands[i].resource) : NULL;
    *ret_span = *ret_span && (*ret_span)->in_parts ? NULL : *ret_span;
    return *ret_span ? c->demands[i].value : 0;
}

/* How many devices the seat lacks of them. */
static int64_t missing_n(const struct state *s, const struct seat *seat, uint32_t i, const struct device_span **ret_span)
{
    struct device_bits bits = seat_devices(seat);
    int64_t n = takes_n(s, seat->shape, seat->node, i, ret_span);
    return *ret_span ? n - bits_in(&bits, *ret_span) : 0;
}

bool seat_lacks_devices(const struct state *s, const struct seat *seat)
{
    const struct device_span *span;
    for (uint32_t i = 1; i <= s->shapes.classes[seat->shape].demands_n; i++)
        if (missing_n(s, seat, i, &span) > 0)
            return true;
    return false;
}

static void give_all(struct state *s, struct seat *seat)
{
    struct device_bits bits = seat_devices(seat), none = {0};
    device_give(&s->nodes.nodes[seat->node].devices, &bits, seat_share(s, seat));
    seat_set_devices(seat, &none);
}

/* Chooses the devices that the seat lacks. Unlike seat_choose_devices nobody has counted before: a resource that is short is left out.
 * Shares, and what goes with them, are of one GPU each: all are chosen anew. */
static void choose_missing(struct state *s, struct seat *seat)
{
    struct device_table *t = &s->nodes.nodes[seat->node].devices;
    const struct device_span *span;
    if (seat_share(s, seat)) {
        struct device_bits bits = {0};
        if (!seat_lacks_devices(s, seat))
            return;
        give_all(s, seat);
        (void)choose_shares(s, seat, -1, &bits);
        device_take(t, &bits, seat_share(s, seat));
        seat_set_devices(seat, &bits);
        return;
    }
    for (uint32_t i = 1; i < s->shapes.classes[seat->shape].demands_n; i++) {
        int64_t n = missing_n(s, seat, i, &span);
        struct device_bits had = seat_devices(seat), more = {0};
        if (n <= 0 || !device_choose(t, span, n, &more))
            continue;
        device_take(t, &more, NULL);
        for (int w = 0; w < DEVICE_WORDS; w++)
            had.words[w] |= more.words[w];
        seat_set_devices(seat, &had);
    }
}

/* Shares are of the GPUs of which a kubelet has given devices with them, whatever was chosen: it writes what it has given. */
static void shares_follow(const struct device_table *t, struct device_bits *bits)
{
    const struct device_span *span = &t->spans[t->parts_at];
    struct device_bits out = *bits;
    bool given = false;
    for (uint32_t i = span->first; i < (uint32_t)span->first + span->n; i++)
        out.words[i / 64] &= ~((uint64_t)1 << (i % 64));
    for (uint32_t i = span->first; i < (uint32_t)span->first + span->n; i++)
        for (uint32_t k = 0; k < t->n; k++)
            if (!t->all[k].parts && device_bit(bits, k) && t->gpu_of[k] == t->gpu_of[i]) {
                device_bit_set(&out, i);
                given = true;
            }
    if (given)
        *bits = out;
}

/* The devices that the pod's annotation names, of each resource no more than the pod asks for: its owner may have written anything. */
static struct device_bits told_devices(const struct state *s, const struct seat *seat, const struct pod *p)
{
    const struct device_table *t = &s->nodes.nodes[seat->node].devices;
    struct device_bits all = {0}, out = {0};
    if (!t->n || !p->devices || p->assumed) /* assumed: the annotation is older than our own choice */
        return out;
    device_parse(t, bytes_of(intern_name(s->names, p->devices)), s->names, &all);
    for (uint32_t i = 1; i <= s->shapes.classes[seat->shape].demands_n; i++) {
        const struct device_span *span;
        int64_t most = takes_n(s, seat->shape, seat->node, i, &span);
        for (uint32_t k = 0; span && most > 0 && k < span->n; k++)
            if (device_bit(&all, span->first + k)) {
                device_bit_set(&out, span->first + k);
                most--;
            }
    }
    if (seat_share(s, seat))
        shares_follow(t, &out);
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
            device_take(&n->devices, &bits, seat_share(s, &s->seats[at]));
    }
    n->has_devices_twice = twice != 0;
}

/* A place that is held gives up devices of a GPU of which pods have left it too little: GPUs that are given in parts. With a share of it
 * all goes: the rest of its devices are of one GPU with their shares. */
static void give_up_gpus(struct state *s, struct seat *seat)
{
    struct device_table *t = &s->nodes.nodes[seat->node].devices;
    for (uint32_t i = 0; i < t->n && t->gpus; i++) {
        const struct gpu_ledger *g = &t->gpus[t->gpu_of[i]];
        struct device_bits bits = seat_devices(seat), one = {0};
        bool is_share = device_bits_share(t, &bits, t->gpu_of[i]);
        bool is_good = is_share ? !g->whole_n && g->taken <= g->parts && g->taken_mib <= gpu_memory(g) : !g->shares_n;
        if (is_good || !device_bit(&bits, i))
            continue;
        if (is_share) {
            give_all(s, seat);
            return;
        }
        device_bit_set(&one, i);
        device_give(t, &one, NULL);
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
    node_table_touch(&s->nodes, node); /* what is left of each GPU may be another amount */
}

bool seat_has_told_devices(const struct state *s, uint32_t id, const struct pod *p)
{
    const struct seat *seat = &s->seats[id];
    struct device_bits told = told_devices(s, seat, p), bits = seat_devices(seat);
    return memcmp(&told, &bits, sizeof told) == 0;
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
