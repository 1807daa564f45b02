/* state_check.c - everything that must always hold, found again the slow way; and the digest */
#include "base/collections/map.h"
#include "base/memory.h"
#include "core/heal/hole.h"
#include "core/queue/admission.h"
#include "core/queue/consumption.h"
#include "core/queue/gang.h"
#include "core/queue/lane.h"
#include "core/queue/lost.h"
#include "core/queue/ready.h"
#include "core/queue/shrink.h"
#include "core/quota/count.h"
#include "core/state/model.h"
#include "core/state/state.h"
#include "core/state/state_check.h"

/* ---- nodes ---- */

/* GPUs that are given in parts: as much is taken as seats have, and more than there is only where the API has said so. */
static bool check_gpus(const struct state *s, uint32_t slot, struct err *e)
{
    const struct node *node = &s->nodes.nodes[slot];
    const struct device_table *t = &node->devices;
    for (uint16_t gpu = 0; gpu < t->gpus_n; gpu++) {
        int64_t taken = 0, taken_mib = 0, whole_n = 0, shares_n = 0, held_n = 0;
        const struct gpu_ledger *g = &t->gpus[gpu];
        for (uint32_t at = node->first_seat; at; at = s->seats[at].next) {
            struct device_bits devices = seat_devices(&s->seats[at]);
            for (uint32_t i = 0; i < t->n; i++) {
                bool has = t->gpu_of[i] == gpu && device_bit(&devices, i);
                held_n += has && !s->seats[at].pod;
                whole_n += has && !t->all[i].parts && !device_bits_share(t, &devices, gpu);
                const struct gpu_share *share = has && t->all[i].parts ? seat_share(s, &s->seats[at]) : NULL;
                shares_n += has && t->all[i].parts;
                taken += share ? share->parts : 0;
                taken_mib += share ? device_share_mib(g, share) : 0;
            }
        }
        const char *name = intern_name(s->names, node->name);
        if (taken != g->taken || taken_mib != g->taken_mib || whole_n != g->whole_n || shares_n != g->shares_n)
            return err_set(e, E_INVALID, "GPU %u of node %s is not counted as its seats have it", g->gpu, name), false;
        if (held_n && (taken > g->parts || taken_mib > gpu_memory(g) || (shares_n && whole_n)))
            return err_set(e, E_INVALID, "GPU %u of node %s is held for more than there is", g->gpu, name), false;
    }
    return true;
}

static bool check_node(const struct state *s, uint32_t slot, struct err *e)
{
    const struct node *node = &s->nodes.nodes[slot];
    int64_t used[LIMIT_RESOURCES] = {0};
    struct device_bits bits = {0};
    bool twice = false;
    int32_t taken_n = 0;
    uint32_t seats_n = 0, ports_n = 0;
    const char *name = intern_name(s->names, node->name);
    for (uint32_t at = node->first_seat; at; at = s->seats[at].next, seats_n++) {
        const struct seat *seat = &s->seats[at];
        const struct shape_class *c = &s->shapes.classes[seat->shape];
        struct device_bits devices = seat_devices(seat);
        ports_n += c->shape.ports_n != 0;
        if (seat->node != slot)
            return err_set(e, E_INVALID, "node %s lists a seat of another node", name), false;
        for (uint32_t i = 0; i < c->demands_n; i++)
            if (c->demands[i].column >= 0)
                used[c->demands[i].column] += demand_taken(&c->demands[i]);
        for (uint32_t i = 0; i < node->devices.n; i++) {
            taken_n += device_bit(&devices, i);
            if (!device_bit(&devices, i) || node->devices.all[i].parts)
                continue;
            if (device_bit(&bits, i) && !(node->has_devices_twice && seat->pod))
                return err_set(e, E_INVALID, "device %u of node %s is given twice", i, name), false;
            twice |= device_bit(&bits, i);
            device_bit_set(&bits, i);
        }
    }
    if (node->devices.n && node->devices.taken_n != taken_n)
        return err_set(e, E_INVALID, "%d devices of node %s are taken, counted %d", taken_n, name, node->devices.taken_n), false;
    if (node->devices.gpus && !check_gpus(s, slot, e))
        return false;
    if (twice != node->has_devices_twice || (node->devices.n && memcmp(&bits, node->devices.used, sizeof bits) != 0))
        return err_set(e, E_INVALID, "devices of node %s are not counted as its seats have them", name), false;
    if (seats_n != node->seats_n || ports_n != node->port_seats_n)
        return err_set(e, E_INVALID, "node %s counts %u seats, has %u", name, node->seats_n, seats_n), false;
    for (uint32_t i = 0; i < s->nodes.columns_n; i++) {
        int64_t have = node_allocatable(&s->nodes, slot)[i], left = node_free(&s->nodes, slot)[i];
        if (have - left != used[i])
            return err_set(e, E_INVALID, "node %s: %s used by seats %lld, booked %lld", name, intern_name(s->names, s->nodes.columns[i]),
                           (long long)used[i], (long long)(have - left)), false;
    }
    return true;
}

/* ---- gangs ---- */

static bool check_gang(const struct state *s, const struct gang *g, struct err *e)
{
    uint32_t bound_n = 0;
    const char *key = intern_name(s->names, g->key);
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        if (p->gang != g || p->member_at != i)
            return err_set(e, E_INVALID, "gang %s lists a pod of another gang", key), false;
        bound_n += p->seat != 0;
    }
    if (bound_n != g->bound_n)
        return err_set(e, E_INVALID, "gang %s counts %u bound members, has %u", key, g->bound_n, bound_n), false;
    if (!gang_holds(g) && (g->own->seats_n || (g->queue && g->planned)))
        return err_set(e, E_INVALID, "gang %s is not admitted, yet holds places or quota", key), false;
    for (uint32_t i = 0; i < g->own->seats_n; i++)
        if (s->seats[g->own->seats[i]].gang != g || s->seats[g->own->seats[i]].pod || !s->seats[g->own->seats[i]].node ||
            s->seats[g->own->seats[i]].lifted || (g->planned && s->seats[g->own->seats[i]].pod_set >= g->sets_n))
            return err_set(e, E_INVALID, "gang %s holds a place that is not its own", key), false;
    return true;
}

/* A group keeps places only while it is broken and goes on, and is looked at when that time is over. Whose binds were refused is not looked
 * at before its next try: what it lost meanwhile is seen then. */
static bool check_refill(const struct state *s, const struct gang *g, struct err *e)
{
    if (!holes_are_kept(g) || g->phase == GANG_LEAVING)
        return true;
    bool looked_at = g->look_at || g->timer_at || (g->park && g->park->at), tries_later = g->failures_n > 1 && g->timer_at;
    bool was_seen = g->own->lost_ms && gang_is_below_minimum(s, g);
    if (g->phase != GANG_BOUND || !looked_at || !(g->look_at || tries_later || was_seen))
        return err_set(e, E_INVALID, "pod group %s keeps places for nobody", intern_name(s->names, g->key)), false;
    return true;
}

/* Each slot of what is lost by a gang's end is one gang's, or in the list of free ones. */
static bool check_stakes(const struct state *s, struct err *e)
{
    uint32_t used_n = 0, free_n = 0;
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        uint32_t slot = s->gangs[i]->own->stakes;
        used_n += slot != 0;
        if (slot >= s->stakes_n + !slot || (slot && !s->stakes[slot].grace_s))
            return err_set(e, E_INVALID, "gang %s has stakes that are free", intern_name(s->names, s->gangs[i]->key)), false;
    }
    for (uint32_t slot = s->stakes_hole; slot && free_n <= s->stakes_n; slot = s->stakes[slot].next_hole)
        free_n++;
    if (used_n != s->stakes_live_n || used_n + free_n + (s->stakes_n > 0) != s->stakes_n)
        return err_set(e, E_INVALID, "%u stakes of gangs and %u free ones are not %u", used_n, free_n, s->stakes_n), false;
    return true;
}

/* When its pods must be ready, and who waits for that: as its object says. */
static bool check_ready(const struct state *s, struct err *e)
{
    uint32_t unready_n = 0;
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        const struct gang *g = s->gangs[i];
        bool unready = g->source == GANG_WORKLOAD && gang_holds(g) && g->own->pods != PODS_READY;
        unready_n += unready;
        if (unready != g->own->unready || ready_deadline_ms(s, g) != g->own->deadline_ms ||
            (!g->deadline_at && g->own->deadline_ms > s->now_ms) || (g->deadline_at && !g->own->deadline_ms))
            return err_set(e, E_INVALID, "gang %s is not looked at when its pods must be ready", intern_name(s->names, g->key)), false;
    }
    if (unready_n != s->unready_n)
        return err_set(e, E_INVALID, "%u gangs are counted as not ready, %u are not", s->unready_n, unready_n), false;
    return true;
}

/* What a node that failed has left waits for another place, no longer than it may (queue/lost.h). */
static bool check_lost(const struct state *s, const struct gang *g, struct err *e)
{
    bool told = !g->own->lost;
    for (uint32_t i = 0; i < g->own->told_n && !told; i++)
        told = g->own->told[i].domain == g->own->lost;
    if (!told || (g->own->lost && !gang_holds(g)))
        return err_set(e, E_INVALID, "gang %s has lost a node that it was not told", intern_name(s->names, g->key)), false;
    bool looks_soon = g->timer_at && (s->hold || g->retry_ms <= g->own->lost_ms + LOST_WAIT_MS);
    bool looked_at = g->look_at || looks_soon || (g->park && g->park->at);
    if (g->own->lost && !looked_at)
        return err_set(e, E_INVALID, "gang %s has lost a node, and nobody looks for another", intern_name(s->names, g->key)), false;
    return true;
}

/* Admitted, settled and not waiting: every member has a place, is over, its place is held, or lost for a moment. Of the pod that owns its
 * Workload no other takes the place. */
static bool check_places(const struct state *s, const struct gang *g, struct err *e)
{
    bool settled = !g->look_at && !lost_for_good(g) && !(g->park && g->park->at) &&
                   (g->phase == GANG_RESERVED || g->phase == GANG_ADMITTED);
    for (uint32_t set = 0; set < g->sets_n && g->planned && settled; set++) {
        const struct gang_set *of = &g->sets[set];
        int64_t placed_n = set_gone_n(of);
        for (uint32_t i = 0; i < g->members_n; i++)
            placed_n += s->pods[g->members[i]].seat && pod_set_index(g, &s->pods[g->members[i]]) == (int32_t)set;
        for (uint32_t i = 0; i < g->own->seats_n; i++)
            placed_n += s->seats[g->own->seats[i]].pod_set == set;
        for (uint32_t i = 0; i < g->own->told_n && g->own->lost; i++)
            placed_n += g->own->told[i].pod_set == set && g->own->told[i].domain == g->own->lost ? g->own->told[i].count : 0;
        if (placed_n < of->count)
            return err_set(e, E_INVALID, "gang %s is admitted and has places for %lld of the %d members of set %s",
                           intern_name(s->names, g->key), (long long)placed_n, of->count, intern_name(s->names, of->name)),
                   false;
    }
    return true;
}

static bool check_seats(const struct state *s, struct err *e)
{
    uint32_t live_n = 0, anti_n = 0;
    for (uint32_t i = 1; i < s->seats_n; i++) {
        const struct seat *seat = &s->seats[i];
        if (!seat->node)
            continue;
        live_n++;
        anti_n += s->shapes.classes[seat->shape].anti;
        if (!s->shapes.classes[seat->shape].refs)
            return err_set(e, E_INVALID, "seat %u has a freed shape", i), false;
        if (seat->pod && s->pods[seat->pod].seat != i)
            return err_set(e, E_INVALID, "seat %u and its pod disagree", i), false;
    }
    if (live_n != s->seats_live_n || anti_n != s->anti_seats_n)
        return err_set(e, E_INVALID, "seats: %u live counted, %u found", s->seats_live_n, live_n), false;
    return true;
}

/* ---- quota: usage = sum of charges, and each tree adds up by its own rules ---- */

static int64_t charged(const struct state *s, uint32_t queue, uint64_t key)
{
    name_id flavor = (name_id)(key >> 32), resource = (name_id)key;
    int64_t sum = 0;
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        const struct gang *g = s->gangs[i];
        for (uint32_t k = 0; g->queue && g->queue->quota == queue && k < g->own->charges_n; k++)
            if (g->own->charges[k].flavor == flavor && g->own->charges[k].resource == resource)
                sum += g->own->charges[k].amount;
    }
    return sum;
}

static int64_t children_usage(const struct quota *q, uint32_t id, uint64_t key)
{
    int64_t sum = 0;
    for (uint32_t i = q->nodes[id].first_child; i; i = q->nodes[i].next_child)
        for (uint32_t c = 0; c < q->nodes[i].cells_n; c++)
            if (q->nodes[i].cells[c].key == key && q->nodes[i].cells[c].usage > q->nodes[i].cells[c].kept)
                sum += q->nodes[i].cells[c].usage - q->nodes[i].cells[c].kept;
    return sum;
}

static bool check_quota(const struct state *s, struct err *e)
{
    for (uint32_t id = 1; id < s->quota.nodes_n && !s->quota.dirty; id++) {
        const struct quota_node *node = &s->quota.nodes[id];
        for (uint32_t c = 0; c < node->cells_n; c++) {
            int64_t want = node->is_queue ? charged(s, id, node->cells[c].key) : children_usage(&s->quota, id, node->cells[c].key);
            if (node->cells[c].usage != want)
                return err_set(e, E_INVALID, "%s %s: %s used %lld, sum of its parts %lld", node->is_queue ? "queue" : "cohort",
                               intern_name(s->names, node->name), intern_name(s->names, (name_id)node->cells[c].key),
                               (long long)node->cells[c].usage, (long long)want), false;
        }
    }
    return true;
}

/* A group is charged for what its pods stand on, whoever bound them. */
static bool check_ledger(const struct state *s, const struct gang *g, struct err *e)
{
    for (uint32_t i = 0; i < g->own->charges_n && g->queue && !g->planned; i++) {
        int64_t sum = 0;
        for (uint32_t m = 0; m < g->members_n + g->own->seats_n; m++) {
            uint32_t seat = m < g->members_n ? s->pods[g->members[m]].seat : g->own->seats[m - g->members_n];
            sum += seat ? count_of(s, g->queue, g->keeps_places, s->seats[seat].shape, g->own->charges[i].resource) : 0;
        }
        if (sum != g->own->charges[i].amount)
            return err_set(e, E_INVALID, "gang %s is charged %lld of %s, its pods have %lld", intern_name(s->names, g->key),
                           (long long)g->own->charges[i].amount, intern_name(s->names, g->own->charges[i].resource), (long long)sum), false;
    }
    return true;
}

static bool check_surplus(const struct state *s, const struct gang *g)
{
    bool any = false;
    for (uint32_t i = 0; i < g->members_n; i++)
        any |= s->pods[g->members[i]].seat && s->pods[g->members[i]].surplus;
    return any;
}

/* Who waits for others, and who must go for it, know of each other. */
static bool check_promise(const struct state *s, const struct gang *g, struct err *e)
{
    const struct promise *p = g->promise;
    const char *key = intern_name(s->names, g->key);
    if (g->preemptor && ((!gang_holds(g) && g->phase != GANG_WAITING) || !g->preemptor->promise))
        return err_set(e, E_INVALID, "gang %s was preempted for one that does not wait for it", key), false;
    if (g->shrinks && !(g->preemptor && check_surplus(s, g)))
        return err_set(e, E_INVALID, "gang %s shrinks, and none of its members was told to go", key), false;
    if (!p)
        return true;
    if (g->phase != GANG_WAITING || p->stands || s->promised[p->at] != g)
        return err_set(e, E_INVALID, "gang %s was promised something and does not wait", key), false;
    for (uint32_t i = 0; i < p->victims_n; i++)
        if (p->victims[i]->preemptor != g)
            return err_set(e, E_INVALID, "gang %s waits for one that was preempted for another", key), false;
    return true;
}

static bool check_promised_node(const struct state *s, uint32_t slot, struct err *e)
{
    const struct node *node = &s->nodes.nodes[slot];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->promised_n; i++) {
        const struct promise *p = s->promised[i]->promise;
        n += p->by_priority && p->rooms->node == slot && p->rooms->node_name == node->name;
    }
    return n == node->promised_n || (err_set(e, E_INVALID, "node %s is promised to %u pods, counted %u",
                                             intern_name(s->names, node->name), n, node->promised_n), false);
}

/* In the order of their gangs, which wait and know of it; counted by their queues. */
static bool check_bookings(const struct state *s, struct err *e)
{
    uint32_t booked_n = 0, counted_n = 0, none_n = 0;
    for (uint32_t i = 0; i < s->bookings_n; i++) {
        const struct booking *b = s->bookings[i];
        const char *key = intern_name(s->names, b->gang->key);
        if (!b->gang->booked || b->gang->phase != GANG_WAITING)
            return err_set(e, E_INVALID, "gang %s was promised a start and does not wait for it", key), false;
        if (i && !order_before(s->bookings[i - 1]->gang, b->gang))
            return err_set(e, E_INVALID, "the start of gang %s stands before that of one that comes before it", key), false;
        none_n += !b->queue;
    }
    for (uint32_t i = 0; i < s->gangs_n; i++)
        booked_n += s->gangs[i]->booked;
    for (uint32_t i = 0; i < s->queues_n; i++)
        counted_n += s->queues[i]->booked_n;
    return (booked_n == s->bookings_n && counted_n + none_n == booked_n && !s->booking_view.stands) ||
           (err_set(e, E_INVALID, "%u starts are promised, to %u gangs, counted %u", s->bookings_n, booked_n, counted_n), false);
}

/* Each holds on to its place in one list: that of its queue, or without one of state.queues[0] while it holds places. */
static bool check_charged(const struct state *s, struct err *e)
{
    uint32_t n = 0, groups_n = 0;
    for (uint32_t i = 0; i < s->queues_n; i++) {
        n += s->queues[i]->charged_n;
        groups_n += s->queues[i]->charged_groups_n;
    }
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        const struct gang *g = s->gangs[i];
        const struct queue *q = g->queue ? g->queue : s->queues[0];
        bool belongs = g->queue || (gang_has_no_queue(g) && gang_holds(g));
        if (belongs != (g->charged_at != 0) || (belongs && q->charged[g->charged_at - 1] != g))
            return err_set(e, E_INVALID, "gang %s is %s the list of %s", intern_name(s->names, g->key), belongs ? "not in" : "in",
                           g->queue ? "its queue" : "those without a queue"), false;
        n -= belongs;
        groups_n -= belongs && !gang_is_lone(g);
    }
    return !(n | groups_n) || (err_set(e, E_INVALID, "lists of queues: %u gangs too many, %u of them groups", n, groups_n), false);
}

static bool check_lowest(const struct state *s, const struct queue *q, struct err *e)
{
    int32_t lowest = INT32_MAX;
    for (uint32_t i = 0; i < q->charged_n; i++)
        lowest = q->charged[i]->priority < lowest ? q->charged[i]->priority : lowest;
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->charged_n; i++)
        n += q->charged[i]->priority == lowest;
    if (q->lowest_n && (q->lowest != lowest || q->lowest_n != n))
        return err_set(e, E_INVALID, "queue %s: %u gangs of the lowest priority %d, counted %u of %d", intern_name(s->names, q->title), n,
                       (int)lowest, q->lowest_n, (int)q->lowest), false;
    return true;
}

/* What is remembered of a LocalQueue is the sum of what its gangs have in it; what it has used follows from that. */
static bool check_consumption(const struct state *s, struct err *e)
{
    for (uint32_t i = 1; i < s->local_queues_n && s->consumption.on; i++) {
        const struct local_queue *l = &s->local_queues[i];
        const char *key = intern_name(s->names, l->key);
        for (uint32_t k = 0; k < l->consumption.rows_n; k++) {
            uint64_t held = 0;
            u128 entry = 0;
            for (uint32_t j = 0; j < s->gangs_n; j++) {
                const struct gang_consumption *own = s->gangs[j]->own->consumption;
                for (uint32_t m = 0; own && m < own->own.rows_n; m++) {
                    bool same = own->own.rows[m].resource == l->consumption.rows[k].resource;
                    held += same && own->held_of == l->key ? own->own.rows[m].held : 0;
                    entry += same && own->entry_of == l->key ? own->own.rows[m].entry : 0;
                }
            }
            if (held != l->consumption.rows[k].held || entry != l->consumption.rows[k].entry)
                return err_set(e, E_INVALID, "LocalQueue %s holds other amounts than its gangs", key), false;
        }
        const struct used used = consumption_used_by(s, l);
        if (used_compare(&used, &l->used) || (l->lane && used_compare(&used, &l->lane->used)))
            return err_set(e, E_INVALID, "LocalQueue %s is in line by what it had used before", key), false;
    }
    return true;
}

static bool check_held(const struct gang *g, struct err *e)
{
    name_id entry_of = g->own->consumption ? g->own->consumption->entry_of : 0;
    if (entry_of && (entry_of != g->own->local_queue || g->finished))
        return err_set(e, E_INVALID, "gang %s is still on its way into a LocalQueue", intern_name(g->names, g->key)), false;
    for (uint32_t i = 0; g->own->consumption && g->own->consumption->held_of && i < g->own->charges_n; i++) {
        uint64_t held = 0, charged = 0;
        for (uint32_t k = 0; k < g->own->consumption->own.rows_n; k++)
            held += g->own->consumption->own.rows[k].resource == g->own->charges[i].resource ? g->own->consumption->own.rows[k].held : 0;
        for (uint32_t k = 0; k < g->own->charges_n; k++)
            charged += g->own->charges[k].resource == g->own->charges[i].resource ? (uint64_t)g->own->charges[k].amount : 0;
        if (held != charged || g->own->consumption->held_of != g->own->local_queue)
            return err_set(e, E_INVALID, "gang %s holds more or less than is counted", intern_name(g->names, g->key)), false;
    }
    return true;
}

static bool check_parked(const struct state *s, struct err *e)
{
    uint32_t borrowers_awaited_n = 0;
    for (uint32_t i = 0; i < s->parked_n; i++)
        borrowers_awaited_n += (s->parked[i]->on & PARK_BORROWERS) != 0;
    return borrowers_awaited_n == s->borrowers_awaited_n ||
           (err_set(e, E_INVALID, "%u wait for borrowers, %u are counted", borrowers_awaited_n, s->borrowers_awaited_n), false);
}

static bool check_order(const struct state *s, struct err *e)
{
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        const struct gang *g = s->gangs[i];
        const char *key = intern_name(s->names, g->key);
        bool parked = g->park && g->park->at;
        if ((g->line != NULL) + parked + (g->look_at != 0) > 1)
            return err_set(e, E_INVALID, "gang %s waits in two places", key), false;
        if (g->line && g->phase != GANG_WAITING)
            return err_set(e, E_INVALID, "gang %s holds something and is still in line", key), false;
        if (g->phase == GANG_WAITING && !g->line && !parked && !g->look_at)
            return err_set(e, E_INVALID, "gang %s waits nowhere", key), false;
        if (parked && (g->park->on & PARK_NODES) && g->own->seats_n)
            return err_set(e, E_INVALID, "gang %s waits for a place and holds others", key), false;
        if ((parked && g->phase == GANG_WAITING && !g->reason) || (g->line && g->line->park.at && !g->line->reason))
            return err_set(e, E_INVALID, "gang %s waits without a reason", key), false;
        if (!check_ledger(s, g, e) || !check_promise(s, g, e) || !check_held(g, e))
            return false;
    }
    for (uint32_t i = 0; i < s->queues_n; i++)
        if (!check_lowest(s, s->queues[i], e))
            return false;
    if (!check_charged(s, e))
        return false;
    if (!check_parked(s, e))
        return false;
    return s->undo.n == 0 || (err_set(e, E_INVALID, "%u steps of a search were left", s->undo.n), false);
}

bool state_check(const struct state *s, struct err *e)
{
    for (uint32_t slot = 1; slot < s->nodes.n; slot++)
        if (s->nodes.nodes[slot].name && (!check_node(s, slot, e) || !check_promised_node(s, slot, e)))
            return false;
    for (uint32_t i = 0; i < s->gangs_n; i++)
        if (!check_gang(s, s->gangs[i], e) || !check_lost(s, s->gangs[i], e) || !check_places(s, s->gangs[i], e) ||
            !check_refill(s, s->gangs[i], e))
            return false;
    return check_stakes(s, e) && check_ready(s, e) && check_seats(s, e) && check_quota(s, e) && check_order(s, e) &&
           check_consumption(s, e) && check_bookings(s, e) &&
           state_check_domains(s, e);
}

/* ---- digest ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return hash_bytes(&value, sizeof value, hash);
}

static uint64_t mix_name(const struct state *s, uint64_t hash, name_id id)
{
    const char *text = intern_name(s->names, id);
    return hash_bytes(text, strlen(text), hash);
}

/* A sum: which resource was named first says nothing, and is another one after names were swept. A column of which the node has nothing
 * is as one that is not there. */
static uint64_t sum_columns(const struct state *s, uint32_t slot)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->nodes.columns_n; i++) {
        int64_t free_amount = node_free(&s->nodes, slot)[i], all = node_allocatable(&s->nodes, slot)[i];
        if (free_amount || all)
            sum += mix(mix(mix_name(s, 0x636f6c756d6eu, s->nodes.columns[i]), (uint64_t)free_amount), (uint64_t)all);
    }
    return sum;
}

static uint64_t mix_nodes(const struct state *s, uint64_t h)
{
    for (uint32_t slot = 1; slot < s->nodes.n; slot++) {
        const struct node *node = &s->nodes.nodes[slot];
        h = mix_name(s, h, node->name);
        h = mix(h, s->nodes.flags[slot] & ~(NODE_GAINED | NODE_TAINTED));
        h = mix(h, sum_columns(s, slot));
        for (uint32_t i = 0; i < node->labels_n; i++)
            h = mix_name(s, mix_name(s, h, node->labels[i].key), node->labels[i].value);
        for (uint32_t i = 0; i < node->taints_n; i++)
            h = mix(mix_name(s, mix_name(s, h, node->taints[i].key), node->taints[i].value), node->taints[i].effect);
        for (int i = 0; i < DEVICE_WORDS; i++)
            h = mix(h, node->devices.n ? node->devices.used->words[i] : 0);
        for (uint16_t i = 0; i < node->devices.gpus_n; i++)
            h = mix(h, node->devices.gpus[i].taken);
    }
    return h;
}

static uint64_t mix_gangs(const struct state *s, uint64_t h)
{
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        const struct gang *g = s->gangs[i];
        h = mix_name(s, h, g->key);
        h = mix(h, (uint64_t)g->priority << 32 | (uint32_t)g->min_members);
        h = mix(h, (uint64_t)g->due_ms);
        h = mix(h, (uint64_t)g->created_ms);
        uint8_t park = g->line ? g->line->park.on : g->park ? g->park->on : 0;
        h = mix(h, (uint64_t)g->phase | (uint64_t)g->active << 5 | (uint64_t)g->on_hold << 6 | (uint64_t)g->finished << 7 |
                       (uint64_t)(g->line != NULL) << 8 | (uint64_t)(g->look_at != 0) << 9 | (uint64_t)g->restarts << 10 |
                       (uint64_t)park << 16);
        h = mix(h, (uint64_t)g->reserved_ms);
        for (uint32_t k = 0; k < g->own->checks_n; k++)
            h = mix(mix_name(s, h, g->own->checks[k].name), g->own->checks[k].state);
        h = mix(mix(h, (uint64_t)g->own->deadline_ms), (uint64_t)(uint32_t)g->own->retries_n << 1 | g->own->unready);
        h = g->preemptor ? mix(mix_name(s, h, g->preemptor->key), g->shrinks) : h;
        h = mix(mix_name(s, h, g->own->lost), (uint64_t)g->own->lost_ms);
        for (uint32_t k = 0; g->own->had && k < g->own->had->n; k++)
            h = mix(mix_name(s, h, g->own->had->all[k].resource), (uint64_t)g->own->had->all[k].value);
        if (g->own->stakes) {
            const struct gang_stakes *told = &s->stakes[g->own->stakes];
            h = mix(mix(h, (uint64_t)told->checkpoint_ms), (uint64_t)(uint32_t)told->minimum_run_s << 32 | (uint32_t)told->grace_s) +
                told->stays;
        }
        for (uint32_t k = 0; k < g->own->told_n; k++)
            h = mix(mix_name(s, h, g->own->told[k].domain), (uint64_t)g->own->told[k].pod_set << 32 | (uint32_t)g->own->told[k].count);
        for (uint32_t k = 0; k < g->own->seats_n; k++)
            h = mix_name(s, h, s->nodes.nodes[s->seats[g->own->seats[k]].node].name);
        for (uint32_t k = 0; k < g->sets_n; k++)
            h = mix(mix(h, (uint64_t)(uint32_t)g->sets[k].count << 32 | (uint32_t)g->sets[k].done_n),
                    (uint64_t)(uint32_t)g->sets[k].asked_n << 32 | (uint32_t)g->sets[k].min_count);
    }
    for (uint32_t i = 1; i < s->pods_n; i++) {
        const struct pod *p = &s->pods[i];
        h = mix_name(s, h, p->key);
        h = mix(h, (uint64_t)p->phase | (uint64_t)p->assumed << 8 | (uint64_t)p->deleting << 9 | (uint64_t)p->gated << 10 |
                       (uint64_t)p->ours << 11 | (uint64_t)p->surplus << 12);
        if (p->seat)
            h = mix_name(s, h, s->nodes.nodes[s->seats[p->seat].node].name);
    }
    return h;
}

static uint64_t mix_bookings(const struct state *s, uint64_t h)
{
    for (uint32_t i = 0; i < s->bookings_n; i++) {
        const struct booking *b = s->bookings[i];
        h = mix(mix_name(s, h, b->gang->key), (uint64_t)b->start_ms);
        for (uint32_t k = 0; k < b->places_n; k++)
            h = mix(mix_name(s, h, b->places[k].node), (uint64_t)b->places[k].pod_set << 32 | (uint32_t)b->places[k].count);
        uint64_t sum = 0;
        for (uint32_t k = 0; k < b->quota_n; k++)
            sum += mix(mix_name(s, mix_name(s, 0x626f6f6bu, b->quota[k].flavor), b->quota[k].resource), (uint64_t)b->quota[k].amount);
        h = mix(h, sum);
    }
    return h;
}

static uint64_t mix_consumption(const struct state *s, const struct local_queue *l)
{
    uint64_t sum = 0, own = mix(mix_name(s, 0x68697374u, l->key), (uint64_t)l->used.weight_nano);
    for (uint32_t i = 0; i < l->consumption.rows_n; i++) {
        const struct consumption_row *r = &l->consumption.rows[i];
        const u128 amounts[] = {r->consumed, r->entry, r->held};
        if (r->consumed || r->entry || r->held)
            sum += hash_bytes(amounts, sizeof amounts, mix_name(s, own, r->resource));
    }
    return l->known || sum ? mix(sum, (uint64_t)l->consumption.at_ms) : 0;
}

static bool counts_any(const struct quota_node *node)
{
    bool any = false;
    for (uint32_t c = 0; c < node->cells_n && !any; c++)
        any = node->cells[c].usage || node->cells[c].subtree || node->cells[c].kept;
    return any;
}

uint64_t state_digest(const struct state *s)
{
    uint64_t h = mix_bookings(s, mix_gangs(s, mix_nodes(s, 0x646967657374u))), sum = 0;
    for (uint32_t id = 1; id < s->quota.nodes_n; id++) {
        const struct quota_node *node = &s->quota.nodes[id];
        if (!node->known && !counts_any(node)) /* it may be dropped at any time (state_unused.h) */
            continue;
        uint64_t own = mix_name(s, node->is_queue, node->name);
        sum += node->weight_nano == WEIGHT_ONE ? own : mix(own, (uint64_t)node->weight_nano);
        for (uint32_t c = 0; c < node->cells_n; c++) {
            const struct quota_cell *cell = &node->cells[c];
            if (!cell->usage && !cell->subtree && !cell->kept)
                continue; /* was used once: the same as one that is not there */
            uint64_t one = mix_name(s, mix_name(s, own, (name_id)(cell->key >> 32)), (name_id)cell->key);
            sum += mix(mix(mix(one, (uint64_t)cell->usage), (uint64_t)cell->subtree), (uint64_t)cell->kept);
        }
    }
    for (uint32_t i = 1; i < s->local_queues_n && s->consumption.on; i++)
        sum += mix_consumption(s, &s->local_queues[i]);
    return mix(h, sum); /* a sum: nodes and cells stand in the order of ids, which say nothing */
}
