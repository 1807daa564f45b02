/* core_order_lost.c - nodes that fail under those who have no pods there yet: their places there are lost. After a while another node takes
 * the place of one, in the domain that the rest requires, or they have to go; of two, they go at once; one that is back in time is as if it
 * had not failed. Who has pods there has them still. SOURCE core/queue/lost.h says what is asked for. */
#include "core_order.h"
#include "core/queue/lost.h"

void forget_lost(struct plain_gang *g)
{
    g->off = (struct seats){0};
    g->lost_at = 0;
    g->moved = false;
}

/* Places on nodes that failed since are off, on nodes that are back they are on. Returns how many nodes are lost. */
static int lose(struct model *m, struct plain_gang *g)
{
    int lost_n = 0;
    for (int node = 0; node < m->places.n; node++) {
        bool failed = m->places.all[node].state != PLACE_GOOD;
        struct seats *from = failed ? &g->on : &g->off, *to = failed ? &g->off : &g->on;
        m->counts.lost_n += failed && is_on(from, node);
        m->counts.back_n += !failed && is_on(from, node);
        for (int set = 0; set < SETS; set++) {
            int back_n = failed ? 0 : from->n[set][node];
            to->n[set][node] += from->n[set][node];
            from->n[set][node] = 0;
            if (failed)
                memset(from->gpus[set][node], 0, sizeof from->gpus[set][node]);
            if (back_n)
                choose_gpus_again(m, g, set, node, back_n);
        }
        lost_n += is_on(&g->off, node);
    }
    return lost_n;
}

/* What is promised to others counts for nothing: who has quota was there before. False: there is no other node. */
static bool replace(struct model *m, struct plain_gang *g)
{
    int64_t used[PLACES][PLACE_RES];
    struct need x = {0};
    struct seats on = g->on;
    int lost = g->lost_at - 1;
    put_places_needed(g, &g->given, &x);
    add_up_places(m, false, used);
    for (int set = 0; set < g->sets_n; set++) {
        const struct place_ask ask = ask_of_set(g, &x, set);
        struct seats before = on, after = on;
        before.n[set][lost] = g->off.n[set][lost];
        if (!g->off.n[set][lost])
            continue;
        if (!find_places_instead(&m->places, used, &ask, before.n[set], lost, after.n[set]))
            return false;
        choose_gpus_instead(m, g, set, &on, used, &after);
        add_pods(used, &on, g, -1);
        add_pods(used, &after, g, 1);
        on = after;
    }
    g->on = on;
    return true;
}

static void end(struct model *m, int gang)
{
    forget_lost(&m->gangs[gang]);
    m->gangs[gang].leaving = true;
    m->counts.lost_evicts_n++;
    note(m, gang, LOST);
}

void settle_lost(struct model *m, int gang)
{
    struct plain_gang *g = &m->gangs[gang];
    int lost_n = g->pods_n ? 0 : lose(m, g), node = 0;
    if (lost_n > 1) {
        end(m, gang);
        return;
    }
    while (lost_n && !is_on(&g->off, node))
        node++;
    if (lost_n && g->lost_at != node + 1)
        g->lost_ms = m->w.now_ms;
    g->lost_at = lost_n ? node + 1 : 0;
    if (!lost_n || m->w.hold || m->w.now_ms < g->lost_ms + LOST_WAIT_MS)
        return;
    if (!replace(m, g)) {
        end(m, gang);
        return;
    }
    forget_lost(g);
    g->moved = true;
    m->counts.replaced_n++;
}

/* ---- random ---- */

static bool is_plain(const struct plain_gang *g)
{
    bool plain = true;
    for (int i = 0; i < g->sets_n; i++)
        plain &= !g->sets[i].slices_n && !g->sets[i].in_group;
    return plain;
}

/* WHY  not where slices, or groups, would have to be made whole again: model_core_domains has no rule for that either. One node at a time
 * comes back to whom it was lost, and not when others are let in beside it: who is first there would be another question. */
bool may_change_under(const struct model *m, int node, bool *ret_only_state)
{
    bool held = false, lost_here = false, lost_elsewhere = false, ready = false, plain = true;
    for (int i = 0; i < GANGS; i++) {
        const struct plain_gang *g = &m->gangs[i];
        if (!g->exists || !g->admitted || g->pods_n)
            continue;
        bool here = is_on(&g->on, node);
        held |= here;
        plain &= !here || is_plain(g);
        ready |= g->checking && g->check == CHECK_READY;
        lost_here |= is_on(&g->off, node);
        for (int other = 0; other < m->places.n; other++)
            lost_elsewhere |= other != node && is_on(&g->off, other);
    }
    *ret_only_state = held || lost_here;
    return plain && !(lost_here && (lost_elsewhere || ready));
}

void tell_moved(struct model *m)
{
    for (int i = 0; i < GANGS; i++) {
        struct plain_gang *g = &m->gangs[i];
        if (!g->exists || !g->moved)
            continue;
        g->moved = false;
        outcome(&m->w, EFFECT_MOVE, arena_printf(m->w.records, "g%d", g->serial), NULL, OUTCOME_DONE);
        gang_record(&m->w, record_of(m, g));
    }
}
