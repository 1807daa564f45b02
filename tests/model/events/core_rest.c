/* core_rest.c - when everything has been told and answered: what the core believes is what the API says, nobody waits who could start,
 * and a core that begins anew sees it the same way */
#include "core_model.h"
#include "core/state/model.h"

/* busy: pods that come up are not late; quiet: longer than places are kept (core_heal.c) */
enum { ROUNDS_MAX = 300, QUIET_ROUNDS = 5, ROUND_MS = 25000, BUSY_MS = 200 };

static uint64_t hash_bytes_of(const char *text, uint64_t h)
{
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 0x100000001b3;
    return h * 31;
}

static uint64_t hash_name(const struct life *l, name_id name, uint64_t h)
{
    return hash_bytes_of(intern_name(l->w.names, name), h);
}

/* By text: which id a name gets depends on who interned first, and so does the order of the resources of a set. */
static uint64_t entry_hash(const struct life *l, const struct plan_entry *e, uint64_t h)
{
    uint64_t choices = 0;
    h = hash_name(l, e->gang, hash_name(l, e->pod, hash_name(l, e->node, hash_name(l, e->queue, h * 31 + e->effect))));
    h = hash_bytes_of(e->devices ? e->devices : "", h);
    for (uint32_t k = 0; k < e->counts_n; k++)
        h = h * 31 + (uint32_t)e->counts[k];
    for (uint32_t k = 0; k < e->choices_n; k++)
        choices += hash_name(l, e->choices[k].flavor, hash_name(l, e->choices[k].resource, 31 + e->choices[k].pod_set));
    return h * 31 + choices;
}

uint64_t plan_hash(const struct life *l, uint64_t h)
{
    struct buf b;
    buf_init(&b);
    for (uint32_t i = 0; i < l->w.plan.entries_n; i++) {
        const struct plan_entry *e = &l->w.plan.entries[i];
        h = entry_hash(l, e, h);
        buf_clear(&b);
        explain_json(&b, e->reason, l->w.names);
        h = hash_bytes_of(b.data ? b.data : "", h);
    }
    buf_free(&b);
    return h * 31 + (uint64_t)l->w.plan.wake_ms + state_digest(l->w.s);
}

/* ---- to rest ---- */

static bool acts(const struct plan *p)
{
    for (uint32_t i = 0; i < p->entries_n; i++)
        if (p->entries[i].effect != EFFECT_EXPLAIN)
            return true;
    return false;
}

static bool under_way(const struct model *m)
{
    uint32_t n = m->writes_n + m->answers_n;
    for (int i = 0; i < STREAM_N; i++)
        n += m->life.streams[i].n;
    return n != 0;
}

void come_to_rest(struct model *m)
{
    int quiet = 0;
    m->faults = false;
    note(m, "to rest");
    for (int round = 0; quiet < QUIET_ROUNDS; round++) {
        if (round == ROUNDS_MAX)
            die(m, "does not come to rest");
        bool busy = under_way(m);
        work_writes(m, true);
        work_answers(m, true);
        deliver_all(m, &m->life);
        decide_now(&m->life);
        m->trace = plan_hash(&m->life, m->trace);
        oracle_plan(m, &m->life);
        oracle_check(m, &m->life);
        oracle_reasons(m, &m->life);
        submit(m, &m->life.w.plan);
        random_controllers(m, true);
        quiet = busy || acts(&m->life.w.plan) || under_way(m) ? 0 : quiet + 1;
        m->life.w.now_ms += quiet ? ROUND_MS : BUSY_MS;
    }
    m->rests_n++;
}

/* ---- core = API ---- */

static void phases_agree(struct model *m)
{
    char key[40];
    for (int i = 0; i < GANGS; i++) {
        const struct m_gang *g = &m->api.gangs[i];
        enum gang_phase phase = phase_of(&m->life, g);
        bool right = phase == GANG_UNKNOWN;
        if (g->exists && g->type == TYPE_PLANNED)
            right = g->finished                       ? phase == GANG_OVER
                    : g->admitted && g->reserved_only ? phase == GANG_CHECKING
                    : g->admitted                     ? phase == GANG_ADMITTED || phase == GANG_BOUND
                                                      : phase == GANG_WAITING;
        else if (g->exists)
            right = phase != GANG_UNKNOWN;
        if (!right)
            die(m, "%s: the API says admitted %d finished %d, the core has phase %d", gang_key(g, key), g->admitted, g->finished, phase);
    }
}

static void usage_agrees(struct model *m)
{
    for (int q = 0; q < VOLCANO_QUEUE; q++) {
        struct queue_usage *rows;
        char name[16];
        snprintf(name, sizeof name, "q%d", q);
        uint32_t n = m->api.queues[q].exists ? state_queue_usage(m->life.w.s, id(&m->life.w, name), m->life.w.cycle, &rows) : 0;
        for (uint32_t i = 0; i < n; i++) {
            int64_t sum = 0;
            for (int k = 0; k < GANGS; k++) {
                const struct m_gang *g = &m->api.gangs[k];
                for (int s = 0; s < g->sets_n && g->exists && g->admitted && !g->finished && g->admitted_queue == q; s++)
                    for (int r = 0; r < RES_N; r++)
                        if (g->choices[s][r] >= 0 && rows[i].flavor == id(&m->life.w, flavor_names[g->choices[s][r]]) &&
                            rows[i].resource == id(&m->life.w, resource_names[r]))
                            sum += set_asks(&g->sets[s], r) * set_needs(&g->sets[s]);
            }
            if (sum != rows[i].reserved)
                die(m, "q%d: the API says that %" PRId64 " %s of flavor %s are reserved, the core %" PRId64, q, sum,
                    text_of(&m->life.w, rows[i].resource), text_of(&m->life.w, rows[i].flavor), rows[i].reserved);
        }
    }
}

/* Those of the queue that say of themselves that they only wait for a turn are as many as the queue says, and all of them wait in it. */
static void active_agree(struct model *m)
{
    for (int q = 0; q < VOLCANO_QUEUE; q++) {
        struct pending_gang *all;
        char name[16];
        snprintf(name, sizeof name, "q%d", q);
        name_id queue = id(&m->life.w, name);
        uint32_t n = m->api.queues[q].exists ? state_queue_pending(m->life.w.s, queue, m->life.w.cycle, &all) : 0;
        int32_t active_n = 0;
        for (uint32_t i = 0; i < n; i++)
            active_n += state_gang_is_active(m->life.w.s, all[i].gang);
        if (m->api.queues[q].exists && active_n != state_queue_active_n(m->life.w.s, queue))
            die(m, "q%d: %d of %u that wait are active, the queue says %d", q, active_n, n, state_queue_active_n(m->life.w.s, queue));
    }
}

/* Asked for all at once it is what it is one by one. */
static void local_usage_agrees(struct model *m)
{
    struct local_usage *all;
    uint32_t n = state_local_queues_usage(m->life.w.s, m->life.w.cycle, &all);
    for (uint32_t i = 0; i < n; i++) {
        struct queue_usage *rows;
        uint32_t rows_n = state_local_queue_usage(m->life.w.s, all[i].local_queue, m->life.w.cycle, &rows);
        if (rows_n != all[i].rows_n || memcmp(rows, all[i].rows, rows_n * sizeof *rows) != 0)
            die(m, "LocalQueue %s: it has other usage among all than alone", text_of(&m->life.w, all[i].local_queue));
    }
}

/* ---- nobody waits for ever ---- */

static int flavors_of(const struct m_gang *g, int set_name)
{
    int flavors = 0;
    for (int s = 0; s < g->sets_n; s++)
        for (int r = 0; r < RES_N && g->sets[s].name == set_name; r++)
            flavors |= g->choices[s][r] >= 0 ? 1 << g->choices[s][r] : 0;
    return flavors;
}

static bool same_kind(const struct kind *a, const struct kind *b)
{
    bool same = a->zone == b->zone && a->tolerates == b->tolerates && a->flavors == b->flavors && a->milli == b->milli && a->gib == b->gib;
    for (int r = 0; r < RES_N; r++)
        same &= a->ask[r] == b->ask[r];
    return same;
}

/* What an admitted gang still needs: pods that exist and are not bound. */
static int missing(const struct cluster *c, int slot, struct wish *wishes)
{
    int n = 0;
    for (int i = 0; i < PODS; i++) {
        const struct m_pod *p = &c->pods[i];
        if (!is_member(p, &c->gangs[slot], slot) || p->node >= 0 || p->phase != POD_PENDING || p->deleting)
            continue;
        int at = 0, flavors = flavors_of(&c->gangs[slot], p->set);
        while (at < n && (wishes[at].flavors != flavors || !same_kind(&wishes[at].kind, &p->kind)))
            at++;
        if (at == n)
            wishes[n++] = (struct wish){.kind = p->kind, .flavors = flavors};
        wishes[at].count++;
    }
    return n;
}

/* Only what is bound counts: places that are held for others are no reason to wait, when nobody gets what he waits for. Returns how many
 * admitted gangs wait for places. */
static int nobody_waits_for_each_other(struct model *m)
{
    struct fit_node room;
    int waiting_n = 0, first = -1;
    char key[40];
    bool possible = false;
    room_left(&m->api, NULL, &room);
    for (int i = 0; i < GANGS; i++) {
        const struct m_gang *g = &m->api.gangs[i];
        struct wish wishes[PODS];
        int n = missing(&m->api, i, wishes);
        if (!g->exists || g->type != TYPE_PLANNED || !g->admitted || !n)
            continue;
        waiting_n++;
        if (brute_place(&m->api, &room, wishes, n) != 1)
            continue;
        possible = true;
        first = i;
    }
    if (possible) {
        char text[40];
        snprintf(text, sizeof text, "%s", gang_key(&m->api.gangs[first], key));
        die(m, "%s is admitted and all its pods could be bound, but it waits for ever: %s", text, why(&m->life.w, text));
    }
    return waiting_n;
}

/* Flavors that quota would allow for every resource of the set, were all sets to take them. Bits by layout group; false: some group has
 * none. */
static bool wide_quota(struct model *m, const struct m_gang *g, int q)
{
    const struct m_queue *queue = &m->api.queues[q];
    if (asks_quota_for_shares(g))
        return false;
    for (int group = 0; group < 2; group++)
        for (int f = 0; f < layouts[queue->layout][group].flavors_n; f++)
            for (int r = 0; r < RES_N; r++) {
                int64_t sum = 0;
                for (int s = 0; s < g->sets_n; s++)
                    sum += set_asks(&g->sets[s], r) * set_fewest(&g->sets[s]);
                if (layouts[queue->layout][group].covers[r] && sum > quota_left(&m->life, q, layouts[queue->layout][group].flavors[f], r))
                    return false;
            }
    return true;
}

static bool strict_tree(const struct model *m, int q)
{
    bool strict = m->api.queues[q].strict;
    for (int i = 0; i < VOLCANO_QUEUE && m->api.queues[q].cohort >= 0; i++)
        strict |= m->api.queues[i].strict && m->api.queues[i].exists;
    return strict;
}

/* Its queue demands a check of whatever flavor it is given, and it is given one. */
static bool needs_no_places(const struct model *m, const struct m_gang *g, int q)
{
    bool given = false;
    for (int s = 0; s < g->sets_n; s++)
        for (int r = 0; r < RES_N; r++)
            given |= set_asks(&g->sets[s], r) > 0;
    return m->api.queues[q].checks[0] && given;
}

/* Planned gangs in quota so wide that only nodes can be in the way. */
static void nobody_waits_who_fits(struct model *m)
{
    struct fit_node room;
    room_left(&m->api, NULL, &room);
    for (int i = 0; i < GANGS; i++) {
        const struct m_gang *g = &m->api.gangs[i];
        struct wish wishes[SETS];
        char key[40], text[40];
        int q = local_queue_of(&m->api, g);
        if (!g->exists || g->type != TYPE_PLANNED || g->admitted || !gang_ready(&m->api, g, m->life.w.now_ms) || strict_tree(m, q) ||
            !wide_quota(m, g, q) || (!needs_no_places(m, g, q) && !some_flavors_place(&m->api, g, q, &room, wishes, 0)))
            continue;
        snprintf(text, sizeof text, "%s", gang_key(g, key));
        die(m, "%s could start, but waits: %s", text, why(&m->life.w, text));
    }
}

/* ---- a core that begins anew ---- */

const char *in_words(const struct life *l, const struct reason *r)
{
    struct buf b;
    buf_init(&b);
    explain_sentence(&b, r, l->w.names);
    const char *text = arena_text(l->w.cycle, b.data ? b.data : "");
    buf_free(&b);
    return text;
}

/* Others have left for a gang, and then a standstill began: what they left stays its own until that is over. */
static bool room_is_kept(const struct model *m)
{
    return ready_stands_still(m) && m->life.w.s->promised_n > 0;
}

static bool has_no_queue(const struct life *l, name_id gang)
{
    const struct gang *g = gang_find(l->w.s, gang);
    return g && gang_has_no_queue(g);
}

static bool is_kept_on(struct model *m, const char *node)
{
    const struct state *s = m->life.w.s;
    bool any = false;
    for (uint32_t i = 0; i < s->promised_n; i++)
        for (uint32_t k = 0; k < s->promised[i]->promise->rooms_n; k++)
            any |= !strcmp(text_of(&m->life.w, s->promised[i]->promise->rooms[k].node_name), node);
    return any;
}

/* A core that begins anew knows of no promise: pods of no queue may have what is kept, alone or with another pod that goes for them. */
static bool takes_what_is_kept(struct model *m, struct life *fresh, const struct plan_entry *e)
{
    bool preempts = e->effect == EFFECT_EVICT && e->reason->code == REASON_PREEMPTED;
    bool starts = e->effect == EFFECT_ADMIT || e->effect == EFFECT_BIND;
    if (!room_is_kept(m) || !(starts || preempts) || !has_no_queue(fresh, preempts ? e->reason->name : e->gang))
        return false;
    return !preempts || is_by_priority(e) || is_kept_on(m, text_of(&fresh->w, e->reason->flavor));
}

static void fresh_starts_nothing(struct model *m, struct life *fresh)
{
    for (int turn = 0; turn < 3; turn++) {
        decide_now(fresh);
        oracle_check(m, fresh);
        oracle_reasons(m, fresh);
        for (uint32_t i = 0; i < fresh->w.plan.entries_n; i++) {
            const struct plan_entry *e = &fresh->w.plan.entries[i];
            char gang[40];
            if (e->effect == EFFECT_EXPLAIN || takes_what_is_kept(m, fresh, e))
                continue;
            snprintf(gang, sizeof gang, "%s", text_of(&fresh->w, e->gang));
            die(m, "at rest, but after a restart the core would %s %s %s (%s); before it said: %s",
                e->effect == EFFECT_ADMIT     ? "admit"
                : e->effect == EFFECT_RESERVE ? "reserve"
                : e->effect == EFFECT_BIND    ? "bind"
                                              : "evict",
                gang, text_of(&fresh->w, e->pod), in_words(fresh, e->reason),
                why(&m->life.w, e->effect == EFFECT_EVICT ? text_of(&fresh->w, e->reason->name) : gang));
        }
    }
}

/* A pod group that runs is told of again after a restart: that is no decision. */
static bool tells_again(const struct life *l, const struct plan_entry *e)
{
    char key[40];
    for (int i = 0; i < PODS && e->effect == EFFECT_ADMIT; i++) {
        const struct m_pod *p = &l->seen.pods[i];
        if (p->exists && p->gang >= 0 && p->gang_type != TYPE_PLANNED && p->node >= 0 && p->phase < POD_SUCCEEDED &&
            !strcmp(pod_gang_key(p, key), intern_name(l->w.names, e->gang)))
            return true;
    }
    return false;
}

static uint64_t effects_hash(const struct life *l)
{
    uint64_t h = 0;
    for (uint32_t i = 0; i < l->w.plan.entries_n; i++) {
        const struct plan_entry *e = &l->w.plan.entries[i];
        if (e->effect != EFFECT_EXPLAIN && !tells_again(l, e))
            h = entry_hash(l, e, h);
    }
    return h;
}

/* What one of the two does, and what the other says of those gangs. */
static void print_plan(const char *who, const struct life *l, struct life *other)
{
    static const char *const words[] = {"admit", "bind", "evict", "", "reserve"};
    for (uint32_t i = 0; i < l->w.plan.entries_n; i++) {
        const struct plan_entry *e = &l->w.plan.entries[i];
        if (e->effect == EFFECT_EXPLAIN)
            continue;
        fprintf(stderr, "  %s: %s %s %s %s %s (the other: %s)\n", who, words[e->effect], intern_name(l->w.names, e->gang),
                intern_name(l->w.names, e->pod), intern_name(l->w.names, e->node), e->devices ? e->devices : "",
                why(&other->w, intern_name(l->w.names, e->gang)));
        for (uint32_t k = 0; k < e->choices_n; k++)
            fprintf(stderr, "    set %u: %s of flavor %s\n", e->choices[k].pod_set, intern_name(l->w.names, e->choices[k].resource),
                    intern_name(l->w.names, e->choices[k].flavor));
        for (uint32_t k = 0; k < e->counts_n; k++)
            fprintf(stderr, "    set %u: %d members\n", k, e->counts[k]);
    }
}

/* Both see the same events from here on: they must decide the same. */
static void decide_equally(struct model *m, struct life *fresh)
{
    for (uint32_t n = 3 + pick(m, 6); n; n--)
        random_event(m);
    fresh->w.now_ms = m->life.w.now_ms;
    for (int i = 0; i < STREAM_N; i++) {
        fresh->streams[i].first = m->life.streams[i].first;
        fresh->streams[i].n = m->life.streams[i].n;
        memcpy(fresh->streams[i].events, m->life.streams[i].events, STREAM * sizeof(struct event));
    }
    deliver_all(m, &m->life);
    deliver_all(m, fresh);
    decide_now(&m->life);
    decide_now(fresh);
    if (effects_hash(&m->life) != effects_hash(fresh)) {
        print_plan("long-lived", &m->life, fresh);
        print_plan("restarted", fresh, &m->life);
        die(m, "equal clusters, but a core that was restarted decides otherwise");
    }
    m->trace = plan_hash(&m->life, m->trace);
    oracle_plan(m, &m->life);
    oracle_plan(m, fresh);
    if (chance(m, 500)) {
        struct life swap = m->life;
        m->life = *fresh;
        *fresh = swap;
    }
    submit(m, &m->life.w.plan);
}

/* What it paid on entry is remembered by this core alone (queue/consumption.h). */
static bool somebody_keeps_an_entry(const struct state *s)
{
    bool any = false;
    for (uint32_t i = 0; i < s->gangs_n && !any; i++)
        any = !gang_holds(s->gangs[i]) && s->gangs[i]->own->consumption && s->gangs[i]->own->consumption->entry_of;
    return any;
}

/* From how often nodes have changed so far, which a core that begins anew has not seen. */
static bool somebody_draws_places(const struct model *m)
{
    bool any = false;
    for (int i = 0; i < QUEUES; i++)
        any |= m->api.queues[i].placement.own && m->api.queues[i].placement.by == PLACEMENT_RANDOM;
    return any;
}

void rest_checks(struct model *m)
{
    static struct life fresh;
    if (decide_has_work(m->life.w.s))
        die(m, "at rest, but the core goes on trying");
    phases_agree(m);
    usage_agrees(m);
    active_agree(m);
    local_usage_agrees(m);
    int waiting_n = nobody_waits_for_each_other(m);
    ready_check_rest(m);
    nobody_waits_behind_checks(m);
    if (!waiting_n && !ready_stands_still(m))
        nobody_waits_who_fits(m);
    if (!waiting_n && !room_is_kept(m))
        lone_rest_check(m);
    write_consumed(m, true);
    memset(&fresh, 0, sizeof fresh);
    fresh.w.now_ms = m->life.w.now_ms;
    life_begin(m, &fresh);
    if (!waiting_n) { /* else places are held, and no record says where */
        fresh_starts_nothing(m, &fresh);
        /* WHY not in a standstill: whom it refused before that began, a core that begins anew has not tried yet, and tries when it is over;
         * only one is let in then, and in a queue where somebody is refused it is none of the others */
        if (!model_leaves_out("equal") && !ready_stands_still(m) && !somebody_keeps_an_entry(m->life.w.s) && !somebody_draws_places(m))
            decide_equally(m, &fresh);
    }
    life_end(&fresh);
}
