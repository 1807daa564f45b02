#include "core/cycle.h"
#include "base/memory.h"
#include "core/place/domain.h"
#include "core/queue/admission.h"
#include "core/queue/order.h"
#include "core/queue/shrink.h"

#define REMEDY_EVERY_MS 10000 /* for one line, while the causes are the same */

static struct plan_entry *entry(struct cycle *c, enum effect effect, const struct gang *g)
{
    struct plan *p = c->plan;
    if (p->entries_n == c->entries_cap)
        p->entries = arena_grow(c->a, p->entries, p->entries_n, 3 * p->entries_n + 1, &c->entries_cap, sizeof *p->entries);
    struct plan_entry *e = &p->entries[p->entries_n++];
    *e = (struct plan_entry){.effect = effect, .source = g->source, .gang = g->key};
    c->acts |= effect != EFFECT_EXPLAIN;
    return e;
}

void cycle_admit(struct cycle *c, struct gang *g)
{
    struct plan_entry *e = entry(c, g->phase == GANG_CHECKING ? EFFECT_RESERVE : EFFECT_ADMIT, g);
    e->queue = g->queue ? g->queue->name : 0;
    if (!g->planned)
        return; /* it has no flavors, and is given all that it asks for */
    e->choices_n = g->own->choices_n;
    struct flavor_choice *choices = arena_alloc(c->a, (g->own->choices_n + 1) * sizeof *choices);
    if (g->own->choices_n)
        memcpy(choices, g->own->choices, g->own->choices_n * sizeof *choices);
    e->choices = choices;
    int32_t *counts = arena_alloc(c->a, (g->sets_n + 1) * sizeof *counts);
    for (uint32_t i = 0; i < g->sets_n; i++)
        counts[e->counts_n++] = set_needs(&g->sets[i]);
    e->counts = counts;
}

void cycle_moved(struct cycle *c, struct gang *g)
{
    if (domain_note(c->s, g) && g->phase != GANG_CHECKING)
        (void)entry(c, EFFECT_MOVE, g);
}

void cycle_lost(struct cycle *c, const struct gang *g)
{
    (void)entry(c, EFFECT_MOVE, g);
}

static const char *text_of_devices(struct cycle *c, const struct node *node, const struct seat *seat)
{
    struct state *s = c->s;
    struct device_bits devices = seat_devices(seat);
    if (!device_bits_any(&devices))
        return NULL;
    buf_clear(&s->text);
    device_text(&s->text, &node->devices, &devices, s->names);
    return arena_text_n(c->a, s->text.data, s->text.n);
}

void cycle_bind(struct cycle *c, struct gang *g, uint32_t pod, uint32_t seat)
{
    c->s->others_changed = true;
    struct state *s = c->s;
    pod_sit(s, pod, seat);
    s->pods[pod].assumed = true;
    const struct node *node = &s->nodes.nodes[s->seats[seat].node];
    struct plan_entry *e = entry(c, EFFECT_BIND, g);
    e->pod = s->pods[pod].key;
    e->pod_uid = s->pods[pod].uid;
    e->node = node->name;
    if (node->devices.n)
        e->devices = text_of_devices(c, node, &s->seats[seat]);
    c->pods_left -= c->pods_left > 0;
}

void cycle_evict(struct cycle *c, struct gang *g, const struct reason *why)
{
    entry(c, EFFECT_EVICT, g)->reason = why;
    gang_enter(c->s, g, GANG_LEAVING);
    if (g->own->lost)
        gang_own(g)->lost = 0;
    free(g->reason);
    g->reason = reason_copy(why);
}

void cycle_evict_member(struct cycle *c, const struct gang *g, uint32_t pod, const struct reason *why)
{
    struct plan_entry *e = entry(c, EFFECT_EVICT, g);
    e->reason = why;
    e->pod = c->s->pods[pod].key;
    e->pod_uid = c->s->pods[pod].uid;
}

/* ---- telling ---- */

static void tell(struct cycle *c, struct gang *g, const struct reason *why, uint64_t hash, uint64_t codes)
{
    entry(c, EFFECT_EXPLAIN, g)->reason = why;
    g->told_hash = hash;
    g->told_codes = codes;
}

/* With what would help: that it does not any more is news, too. */
static uint64_t hash_of_all(const struct cycle *c, const struct reason *why)
{
    return reason_hash(why, c->s->names) + (why->remedies ? reason_hash(why->remedies, c->s->names) : 0);
}

void cycle_explain(struct cycle *c, struct gang *g, const struct reason *why)
{
    uint64_t hash = hash_of_all(c, why);
    if (!g->reason || hash_of_all(c, g->reason) != hash) {
        free(g->reason);
        g->reason = reason_copy(why);
    }
    if (g->told_hash != hash)
        tell(c, g, why, hash, reason_codes_hash(why, c->s->names));
}

void cycle_explain_line(const struct cycle *c, struct line *l, const struct reason *why)
{
    uint64_t hash = reason_hash(why, c->s->names);
    if (l->reason && l->reason_hash == hash)
        return;
    free(l->reason);
    l->reason = reason_copy(why);
    l->reason_hash = hash;
    l->codes = reason_codes_hash(why, c->s->names);
}

/* The line may be refused again, or end, before the plan is acted on. */
static const struct reason *reason_of_line(struct cycle *c, const struct line *l)
{
    struct reason without = *l->reason;
    without.remedies = NULL; /* they are of one gang only */
    if (!c->line_reason || c->line_reason_hash != l->reason_hash)
        c->line_reason = reason_copy_into(c->a, &without);
    c->line_reason_hash = l->reason_hash;
    return c->line_reason;
}

/* What would help its first gang, when that was not looked for in a while, or for other causes. */
static void find_remedies(struct cycle *c, struct line *l)
{
    if (reason_find(l->reason, REASON_PODS_UNREADY))
        return; /* it would start but for that */
    bool due = !l->remedied_ms || l->remedied_codes != l->codes || c->now_ms - l->remedied_ms >= REMEDY_EVERY_MS;
    if (!due || !c->trials_left) {
        order_look_again(c->s, l); /* they are from before, or went with the reason that they were found for */
        return;
    }
    struct reason with = *l->reason;
    with.remedies = c->find_remedies(c, line_first(l));
    struct reason *old = l->reason;
    l->reason = reason_copy(&with);
    free(old);
    l->remedied_ms = with.remedies ? c->now_ms : 0;
    l->remedied_codes = l->codes;
    if (!with.remedies && !line_first(l)->promise)
        order_look_again(c->s, l); /* this cycle has too much else to do */
}

/* Amounts have changed, causes have not: only the first of the line hears of it, and of what would help it. */
static void tell_first(struct cycle *c, const struct line *l)
{
    struct gang *g = line_first(l);
    const struct reason *remedies = l->reason->remedies && l->reason->remedies->name == g->key ? l->reason->remedies : NULL;
    uint64_t hash = l->reason_hash + (remedies ? reason_hash(remedies, c->s->names) : 0);
    if (g->told_hash == hash)
        return;
    tell(c, g, remedies ? reason_copy_into(c->a, l->reason) : reason_of_line(c, l), hash, l->codes);
}

static void tell_all(struct cycle *c, struct line *l, const struct reason *why, uint64_t hash, uint64_t codes)
{
    if (l->told_codes == codes && !l->joined)
        return;
    for (size_t i = 0; i < l->gangs.n; i++) {
        struct gang *g = l->gangs.items[i];
        if (g->told_codes != codes)
            tell(c, g, why, hash, codes);
    }
    l->told_codes = codes;
    l->joined = false;
}

/* False: there is more to tell later. */
static bool tell_line(struct cycle *c, struct line *l)
{
    const struct gang *front = order_blocker(l->queue);
    if (front && front != line_first(l)) {
        struct reason *behind = reason_new(c->a, (struct reason){.code = REASON_BEHIND, .queue_kind = l->queue->kind,
                                                                 .queue = l->queue->title, .name = front->key});
        tell_all(c, l, behind, reason_hash(behind, c->s->names), reason_codes_hash(behind, c->s->names));
        return true;
    }
    if (!l->park.at)
        return false; /* its turn comes */
    find_remedies(c, l);
    tell_first(c, l);
    tell_all(c, l, reason_of_line(c, l), l->reason_hash, l->codes);
    return true;
}

void cycle_tell_joined(struct cycle *c, struct gang *g)
{
    const struct line *l = g->line;
    if (g->told_codes != l->codes)
        tell(c, g, reason_of_line(c, l), l->reason_hash, l->codes);
}

static int compare_lines(const void *left, const void *right)
{
    const struct line *const *a = left, *const *b = right;
    return line_before(*a, *b) ? -1 : line_before(*b, *a);
}

bool cycle_explains_later(struct cycle *c)
{
    struct state *s = c->s;
    if (!c->acts || c->no_remedies || (s->explain_by_ms && c->now_ms >= s->explain_by_ms))
        return false;
    if (!s->explain_by_ms)
        s->explain_by_ms = c->now_ms + EXPLAIN_WITHIN_MS;
    return c->explains_later = true;
}

/* ORDER  by their first gangs: how lines came to stand in the list is history, and the first are to know first what would help them. */
void cycle_tell_lines(struct cycle *c)
{
    struct state *s = c->s;
    uint32_t n = s->telling_n;
    if (n && cycle_explains_later(c))
        return;
    struct line **all = arena_alloc(c->a, (n + 1) * sizeof *all);
    if (n)
        memcpy(all, s->telling, n * sizeof *all);
    if (n > 1)
        qsort(all, n, sizeof *all, compare_lines);
    for (uint32_t i = 0; i < n; i++)
        if (tell_line(c, all[i]))
            order_told(s, all[i]);
}

void cycle_explained_away(struct gang *g)
{
    free(g->reason);
    g->reason = NULL;
    g->told_hash = g->told_codes = 0;
}
