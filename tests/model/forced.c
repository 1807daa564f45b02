#include "forced.h"
#include <sys/wait.h>
#include <unistd.h>
#include "core/queue/order.h"
#include "core/state/model.h"

enum { CYCLES_MAX = 500, WAITING_MAX = 256, PODS_MAX = 256 };
struct forced {
    struct world *w;
    struct state *s;
    bool somebody_leaves;      /* for somebody else: what may be had once he has left is looked at then */
    name_id waiting[WAITING_MAX]; /* gangs for whom others leave */
    name_id home[WAITING_MAX]; /* of a lone pod among them: the node that others leave for it; else 0 */
    bool moved[WAITING_MAX];   /* it has started elsewhere, which nobody had to wake it for: others may have its home now */
    bool whole[WAITING_MAX];   /* they leave for all of its members */
    uint64_t victims[WAITING_MAX]; /* who leave (sum_of_victims) */
    uint32_t waiting_n;
    name_id renewing[WAITING_MAX]; /* gangs that are promised a start, and look soon whether there is another by now */
    uint32_t renewing_n;
    name_id looking[WAITING_MAX]; /* gangs that look again soon, as long as others leave */
    uint32_t looking_n;
};

/* Its writes fail, and it tries again at a time that is certain. */
static bool backs_off(const struct gang *g)
{
    return g->reason && g->reason->code == REASON_BACKOFF;
}

/* `promised`: those for whom others leave already, or all others. */
static void make_ready(struct state *s, bool promised)
{
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        struct gang *g = s->gangs[i];
        if ((g->promise && g->promise->victims_n) != promised)
            continue;
        if (g->line && g->line->gangs.n > 1)
            order_step_aside(s, g);
        if (g->line)
            order_line_ready(s, g->line, false);
        else if (!backs_off(g))
            order_wake(s, g);
    }
}

/* Index in `waiting`; waiting_n: nobody leaves for it. */
static uint32_t waiting_at(const struct forced *f, name_id gang)
{
    uint32_t at = 0;
    while (at < f->waiting_n && f->waiting[at] != gang)
        at++;
    return at;
}

static const struct plan_entry *bind_of(const struct forced *f, const struct gang *g)
{
    const struct plan *p = &f->w->plan;
    for (uint32_t i = 0; i < p->entries_n; i++)
        if (p->entries[i].effect == EFFECT_BIND && p->entries[i].gang == g->key)
            return &p->entries[i];
    return NULL;
}

static bool is_among(const name_id *gangs, uint32_t n, name_id gang)
{
    bool any = false;
    for (uint32_t i = 0; i < n && !any; i++)
        any = gangs[i] == gang;
    return any;
}

/* Whom an entry is for: of an eviction who preempts. */
static const struct gang *actor(const struct forced *f, const struct plan_entry *e)
{
    bool is_preempted = e->effect == EFFECT_EVICT && e->reason->code == REASON_PREEMPTED;
    return gang_find(f->s, is_preempted ? e->reason->name : e->gang);
}

/* Nobody wakes a lone pod that waits for others by room on a node for which others wait: it is kept for those (wake.c). Those of lower
 * priority wait for it no more once this one has started there. */
static bool is_kept_from(const struct forced *f, const struct gang *g)
{
    const struct plan_entry *bind = gang_is_lone(g) ? bind_of(f, g) : NULL;
    uint32_t node = bind ? node_table_find(&f->s->nodes, bind->node) : 0;
    return node && f->s->nodes.nodes[node].promised_n > 0;
}

/* It starts where others left for one that has just started elsewhere, in the same cycle; that would have woken it. */
static bool was_left_to(const struct forced *f, const struct gang *g)
{
    const struct plan_entry *bind = bind_of(f, g);
    bool any = false;
    for (uint32_t i = 0; i < f->waiting_n && bind && !any; i++)
        any = f->moved[i] && f->home[i] == bind->node;
    return any;
}

/* It was refused beside the claim of a blocked head, which stands against nobody for whom others leave (decide.c). */
static bool is_free_of_claims(const struct forced *f, const struct gang *g)
{
    const struct quota *t = &f->s->quota;
    const struct queue *own = g->queue;
    bool any = false;
    for (uint32_t i = 1; i < f->s->queues_n && own && !any; i++) {
        const struct queue *q = f->s->queues[i];
        any = q != own && q->quota && t->nodes[q->quota].root == t->nodes[own->quota].root && q->strategy == QUEUE_STRICT_FIFO &&
              q->blocked.n;
    }
    return any;
}

/* It could start with fewer members, or borrow, and waits for what others leave as long as that is better: it looks again soon. */
static bool looks_again_soon(const struct forced *f, const struct gang *g)
{
    const struct reason *r = state_gang_reason(f->s, g->key);
    const struct reason *lack = r ? reason_find(r->child, REASON_NO_PREEMPTION) : NULL;
    return lack && lack->have == LACK_COMING && g->timer_at;
}

/* Without a queue, and pods of lower priority are being deleted, for nobody (preempt/coming.h): it counts on what they leave, and looks
 * again when they have left. A lone pod says so. */
static bool waits_for_deleted(const struct forced *f, const struct gang *g)
{
    const struct reason *r = gang_is_lone(g) ? state_gang_reason(f->s, g->key) : NULL;
    bool any = false;
    if (gang_is_lone(g) && !(r && reason_find(r, REASON_PREEMPTING)))
        return false;
    for (uint32_t i = 1; i < f->s->pods_n && gang_has_no_queue(g) && g->phase == GANG_WAITING && !g->promise && !any; i++) {
        const struct pod *p = &f->s->pods[i];
        any = p->seat && p->deleting && p->gang && p->gang != g && gang_has_no_queue(p->gang) && !p->gang->preemptor &&
              p->gang->priority < g->priority;
    }
    return any;
}

/* Others leave for all of its members, and somebody has taken so much meanwhile that it may not ask for those any more but for fewer: it
 * has all of them when they have left. */
static bool does_with_fewer(const struct forced *f, uint32_t at, const struct plan_entry *e, const struct gang *g)
{
    bool fewer = false;
    for (uint32_t i = 0; i < e->counts_n && i < g->sets_n; i++)
        fewer |= e->counts[i] < g->sets[i].asked_n - g->sets[i].over_n;
    return fewer && f->whole[at];
}

static uint64_t sum_of_victims(const struct promise *p)
{
    uint64_t sum = (uint64_t)p->victims_n << 48;
    for (uint32_t i = 0; i < p->victims_n; i++)
        sum += p->victims[i]->key;
    return sum;
}

/* Another one of its tree, tried anew, waits for others than it did. Where more leave for that one, less is kept for it, which wakes this
 * one. Where fewer do, since the victims of somebody else leave more than he takes, this one counted on who leaves for nobody now: in the
 * flavor in which it waits it would borrow, and it has room in another one. The same of one without a queue, for whom others leave: it may
 * need none of them where another one is promised no more, which wakes it in the next cycle. */
static bool may_have_what_others_leave(const struct forced *f, const struct gang *g)
{
    const struct quota *t = &f->s->quota;
    bool any = false, is_waited_for = gang_has_no_queue(g) && is_among(f->waiting, f->waiting_n, g->key);
    for (uint32_t i = 0; i < f->waiting_n && is_waited_for && !any; i++) {
        const struct gang *other = gang_find(f->s, f->waiting[i]);
        bool waits = other && other != g && other->promise;
        any = other && other != g && (!waits || sum_of_victims(other->promise) != f->victims[i]);
    }
    for (uint32_t i = 0; i < f->waiting_n && g->queue && !any; i++) {
        const struct gang *other = gang_find(f->s, f->waiting[i]);
        any = other && other != g && other->promise && other->promise->queue && g->queue->quota &&
              sum_of_victims(other->promise) != f->victims[i] &&
              t->nodes[other->promise->queue->quota].root == t->nodes[g->queue->quota].root;
    }
    return any;
}

/* It comes behind one of those, whose start is another one once it has looked. */
static bool may_pass_soon(const struct forced *f, const struct gang *g)
{
    bool any = false;
    for (uint32_t i = 0; i < f->renewing_n && !any; i++) {
        const struct gang *in_front = gang_find(f->s, f->renewing[i]);
        any = in_front && in_front != g && order_before(in_front, g);
    }
    return any;
}

/* What is not a reason is told of in words, and counted. `promised`: of those for whom others leave. */
static uint32_t cycle_effects(struct forced *f, bool promised)
{
    const struct plan *p = &f->w->plan;
    static const char *const words[] = {"admit", "bind", "evict", "", "reserve", "move"};
    uint32_t n = 0;
    run(f->w);
    for (uint32_t i = 0; i < p->entries_n; i++) {
        const struct plan_entry *e = &p->entries[i];
        const struct gang *g = actor(f, e);
        bool preempts = e->effect == EFFECT_EVICT && e->reason->code == REASON_PREEMPTED;
        uint32_t at = g ? waiting_at(f, g->key) : f->waiting_n;
        bool waits = at < f->waiting_n, excepted = waits && (is_kept_from(f, g) || is_free_of_claims(f, g) || was_left_to(f, g) ||
                                                             does_with_fewer(f, at, e, g) || may_have_what_others_leave(f, g));
        if (excepted)
            f->moved[at] = true;
        bool looks = g && (is_among(f->looking, f->looking_n, g->key) || may_pass_soon(f, g));
        if (e->effect == EFFECT_EXPLAIN || looks || (preempts && f->somebody_leaves) || (promised && !waits) || excepted)
            continue;
        n++;
        _cleanup_buf_ struct buf why = {0};
        explain_sentence(&why, e->reason, f->s->names);
        fprintf(stderr, "who is tried though nothing woke him: %s %s %s %s %s %s\n", words[e->effect], intern_name(f->s->names, e->gang),
                intern_name(f->s->names, e->pod), intern_name(f->s->names, e->node), g ? intern_name(f->s->names, g->key) : "",
                why.data ? why.data : "");
    }
    return n;
}

static bool settle(const struct forced *f)
{
    uint32_t n = 0;
    do
        run(f->w);
    while (decide_has_work(f->s) && ++n < CYCLES_MAX);
    if (n == CYCLES_MAX)
        fprintf(stderr, "the core goes on trying for ever\n");
    return n < CYCLES_MAX;
}

static void find_renewing(struct forced *f)
{
    f->renewing_n = 0;
    for (uint32_t i = 0; i < f->s->bookings_n && f->renewing_n < WAITING_MAX; i++) {
        const struct gang *g = f->s->bookings[i]->gang;
        const struct parking *p = g->line ? &g->line->park : NULL;
        if (p && f->s->refresh_ms && (p->outdated || f->s->others_ms >= p->tried_ms)) /* order_refresh */
            f->renewing[f->renewing_n++] = g->key;
    }
}

static uint32_t force(struct forced *f)
{
    uint32_t n = 0;
    f->waiting_n = f->looking_n = 0;
    find_renewing(f);
    f->somebody_leaves = f->s->promised_n > 0;
    for (uint32_t i = 0; i < f->s->gangs_n; i++)
        f->somebody_leaves |= f->s->gangs[i]->phase == GANG_LEAVING;
    for (uint32_t i = 0; i < f->s->gangs_n && f->looking_n < WAITING_MAX; i++)
        if (looks_again_soon(f, f->s->gangs[i]) || waits_for_deleted(f, f->s->gangs[i]))
            f->looking[f->looking_n++] = f->s->gangs[i]->key;
    for (uint32_t i = 0; i < f->s->promised_n && f->waiting_n < WAITING_MAX; i++)
        if (f->s->promised[i]->promise->victims_n) {
            const struct promise *p = f->s->promised[i]->promise;
            f->home[f->waiting_n] = p->by_priority ? p->rooms->node_name : 0;
            f->moved[f->waiting_n] = false;
            f->victims[f->waiting_n] = sum_of_victims(p);
            f->whole[f->waiting_n] = !p->granted;
            f->waiting[f->waiting_n++] = f->s->promised[i]->key;
        }
    for (int promised = 0; promised < 2; promised++) {
        make_ready(f->s, promised);
        for (uint32_t i = 0; i < CYCLES_MAX && decide_has_work(f->s); i++)
            n += cycle_effects(f, promised);
        if (decide_has_work(f->s)) {
            fprintf(stderr, "once all were tried the core goes on trying for ever\n");
            n++;
        }
    }
    return n;
}

static void end(struct state *s, const struct gang *g)
{
    name_id key = g->key, pods[PODS_MAX];
    uint32_t n = 0;
    for (; n < g->members_n && n < PODS_MAX; n++)
        pods[n] = s->pods[g->members[n]].key;
    for (uint32_t i = 0; i < n; i++)
        state_apply(s, &(struct change){.type = CHANGE_POD_GONE, .gone = pods[i]});
    if (gang_find(s, key))
        state_apply(s, &(struct change){.type = CHANGE_GANG_GONE, .gone = key});
}

/* Whoever was told to leave ends for good, until nobody leaves any more. */
static bool let_leave(const struct forced *f)
{
    bool rests = true;
    for (uint32_t i = 0; i < f->s->gangs_n && rests;) {
        if (f->s->gangs[i]->phase != GANG_LEAVING) {
            i++;
            continue;
        }
        end(f->s, f->s->gangs[i]);
        rests = settle(f);
        i = 0;
    }
    return rests;
}

static bool nobody_starts(struct forced *f)
{
    return settle(f) && !force(f) && let_leave(f) && !force(f);
}

/* At rest, in the core itself: what everybody who waits is told. */
static void print(const struct forced *f)
{
    struct buf b;
    buf_init(&b);
    (void)settle(f);
    for (uint32_t i = 0; i < f->s->gangs_n; i++) {
        const struct gang *g = f->s->gangs[i];
        const struct reason *r = state_gang_reason(f->s, g->key);
        const struct parking *p = g->line ? &g->line->park : g->park;
        buf_clear(&b);
        if (r)
            explain_sentence(&b, r, f->s->names);
        fprintf(stderr, "  %s: phase %d, parked on %d (%u shapes, %u hopes): %s\n", intern_name(f->s->names, g->key), g->phase,
                p ? p->on : 0, p ? p->shapes_n : 0, p ? p->hopes_n : 0, b.data ? b.data : "");
    }
    buf_free(&b);
}

static bool rests(struct forced *f)
{
    int status = 0;
    fflush(NULL);
    pid_t copy = fork();
    if (!copy)
        _exit(!nobody_starts(f));
    bool ran = copy > 0 && waitpid(copy, &status, 0) == copy && WIFEXITED(status);
    if (!ran || WEXITSTATUS(status))
        print(f);
    return ran && !WEXITSTATUS(status);
}

bool forced_world_rests(struct world *w)
{
    return w->hold || rests(&(struct forced){.w = w, .s = w->s});
}
