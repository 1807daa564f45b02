/* remedy_members.c - more members, or a lower minimum: what helps a gang of which too few pods exist, or too many are asked for at once
 *
 * SHAPE  a gang that is not whole stands in no line. With more pods like those that exist, or with a minimum that those make up, it would
 *        get in line, and nobody else is looked at again for it: so it is tried alone. One that is whole is in line, and a lower minimum is
 *        one more guess beside quota and room (remedy_find.c).
 * WHY    not before it has been short of members for a while: most often its pods are only being created.
 * LIMIT  one search a gang each REMEDY_LOOK_AGAIN_MS; the trials of a cycle: for whom not enough of them are left, what he was told stands.
 */
#include "core/explain/remedy.h"
#include "core/explain/why.h"
#include "core/queue/gang.h"
#include "core/queue/order.h"

struct missing {
    struct missing *next;
    struct gang *gang;
    struct reason *why;
};

/* ---- more of them ---- */

static bool adds_to(const struct state *s, const struct gang *g, uint32_t task, uint32_t pod)
{
    return gang_member_is_loose(s, pod) && (!task || s->pods[pod].pod_set == g->own->min_of_task[task - 1].resource);
}

/* A member like whom there are to be more; 0: there is none, or they differ. */
static uint32_t model_of(const struct state *s, const struct gang *g, uint32_t task)
{
    uint32_t model = 0;
    for (uint32_t i = 0; i < g->members_n; i++) {
        uint32_t pod = g->members[i];
        if (!adds_to(s, g, task, pod))
            continue;
        if (model && (s->pods[pod].shape != s->pods[model].shape || s->pods[pod].labels != s->pods[model].labels ||
                      s->pods[pod].pod_set != s->pods[model].pod_set))
            return 0;
        model = model ? model : pod;
    }
    return model;
}

/* As many more as each task lacks, and then as all lack. False: it is not to be said of which kind. */
static bool guess_members(struct remedy_search *x, struct measures *m)
{
    const struct state *s = x->c->s;
    const struct gang *g = x->gang;
    int64_t lack = (g->min_members > 1 ? g->min_members : 1) - gang_members_there(s, g, 0);
    if (gang_has_subgroups(g)) /* of which subgroup they would be is said by labels */
        return false;
    for (uint32_t t = 1; t <= g->own->min_of_task_n; t++) {
        int64_t lacks = g->own->min_of_task[t - 1].value - gang_members_there(s, g, g->own->min_of_task[t - 1].resource);
        uint32_t pod = lacks > 0 ? model_of(s, g, t) : 0;
        if (lacks > 0 && (!pod || lacks > REMEDY_MEMBERS))
            return false;
        if (lacks > 0)
            measures_add(m, (struct measure){.kind = MEASURE_MEMBERS, .set = t, .pod = pod, .amount = lacks});
        lack -= lacks > 0 ? lacks : 0;
    }
    uint32_t pod = lack > 0 ? model_of(s, g, 0) : 0;
    if (lack > 0 && (!pod || lack > REMEDY_MEMBERS))
        return false;
    if (lack > 0)
        measures_add(m, (struct measure){.kind = MEASURE_MEMBERS, .pod = pod, .amount = lack});
    return m->n && !m->overflow;
}

/* The kinds of its pods, which it has only in line. */
static void list_kinds(struct remedy_search *x)
{
    const struct state *s = x->c->s;
    struct gang *g = x->gang;
    struct gang_set *all = arena_alloc(x->c->a, (g->members_n + 1) * sizeof *all);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        uint32_t at = 0;
        if (!gang_member_is_loose(s, g->members[i]))
            continue;
        while (at < n && (all[at].shape != p->shape || all[at].name != p->pod_set))
            at++;
        if (at == n)
            all[n++] = (struct gang_set){.name = p->pod_set, .shape = p->shape, .labels = p->labels};
        all[at].count++;
    }
    g->sets = all;
    g->sets_n = n;
}

static void search(struct remedy_search *x)
{
    struct measures more = {0};
    if (guess_members(x, &more))
        (void)remedy_keep_if_proven(x, &more);
    remedy_guess_minimum(x);
}

static struct reason *remedies_of(struct cycle *c, struct gang *g)
{
    struct state *s = c->s;
    name_id missing;
    struct remedy_search x = {.c = c, .gang = g, .queue = gang_asks_queue(s, g, &missing), .is_held = true, .others_may_go = true};
    struct gang_set *sets = g->sets;
    uint32_t sets_n = g->sets_n;
    if (remedy_somebody_blocks(s, x.queue) || (x.queue && x.queue->has_shares && x.queue->preempts))
        return NULL;
    x.trials_left = REMEDY_TRIALS;
    remedy_search_begin(&x);
    list_kinds(&x);
    if (!remedy_looks_at_others(s, g))
        search(&x);
    g->sets = sets;
    g->sets_n = sets_n;
    c->trials_left -= REMEDY_TRIALS - x.trials_left - x.unspent;
    return x.found_n ? remedy_as_reason(&x) : NULL;
}

/* ---- telling ---- */

/* What it was told before is so still, but for what would help. */
static bool is_told(const struct cycle *c, const struct gang *g, const struct reason *why)
{
    return g->reason && g->told_hash && reason_hash(g->reason, c->s->names) == reason_hash(why, c->s->names);
}

void remedy_note_missing(struct cycle *c, struct gang *g, struct reason *why)
{
    bool was_short = g->reason && g->reason->code == REASON_MEMBERS_MISSING, due = was_short && g->retry_ms <= c->now_ms;
    if (due) {
        struct missing *one = arena_alloc(c->a, sizeof *one);
        *one = (struct missing){.gang = g, .why = why};
        *(c->missing ? &c->missing_last->next : &c->missing) = one;
        c->missing_last = one;
    } else if (!is_told(c, g, why)) {
        cycle_explain(c, g, why);
    }
    if (g->retry_ms <= c->now_ms) /* what a start before this one left, too */
        g->retry_ms = c->now_ms + REMEDY_LOOK_AGAIN_MS;
    order_hold(c->s, g, PARK_SELF | PARK_TIME);
}

/* WHY a gang's whole budget: with less, what it is told would change with how many others are looked at in the same cycle. */
static bool may_search(const struct cycle *c)
{
    return c->trials_left >= REMEDY_TRIALS && !c->s->fresh_n && !c->s->work_n;
}

void remedy_tell_missing(struct cycle *c)
{
    for (struct missing *x = c->missing; x; x = x->next) {
        bool is_held = x->gang->phase == GANG_WAITING && !x->gang->line, searches = is_held && may_search(c);
        if (searches)
            x->why->remedies = remedies_of(c, x->gang);
        if (is_held && (searches || !is_told(c, x->gang, x->why)))
            cycle_explain(c, x->gang, x->why);
    }
}
