/* core_shares.c - Volcano's queues: what each deserves, against a plain reference, and who is taken back from for whom
 *
 *   core_shares [SEED [STEPS [RUNS]]]          MODEL_TRACE=1 prints what happens
 *
 * A tree of queues with weights, deserved, guarantees, capabilities; nodes and pod groups that come, go and change. Who is evicted loses
 * its pods, some at once and some later, and its job makes them anew. After each event the core runs until it has nothing to do. Then
 *   - what each queue deserves is what the definition says (deserve.h): the level of water, found by halving;
 *   - whoever had to go was not of a queue or a group that keeps what it has, nor of the preemptor's own queue; his queue had more than it
 *     deserves of something, and still has its guarantee, what it was promised counted; or he was of the own queue, had a lower priority
 *     and no group that keeps what it has, in one of the worlds where that is allowed, and the preemptor's pods may preempt;
 *   - a member that went alone was above its group's minimum; and no group went whole where members that others could do without, counted
 *     with care, would have been enough;
 *   - members that go leave each subgroup whole, or nobody of it, and as many whole ones as the group asks for;
 *   - no capability is passed, of queues nor of those above them, unless it was made smaller or the pods were there before;
 *   - nor is what groups that keep their places may have together, in the worlds that count it, unless it was made smaller, or a group
 *     keeps its places that did not before;
 *   - in worlds where groups grow by turns, none gets a member above its minimum while another one like it has two fewer above its own, and
 *     one that waits;
 *   - no group goes whole before it has run for as long as its queue, or one above it, lets it;
 *   - a core that begins anew, told the same, starts nobody and evicts nobody: whom it would was forgotten by the other, or there is no
 *     end.
 */
#include "shares_model.h"
#include "core/state/model.h"

static uint32_t pick(struct model *m, uint32_t n)
{
    return (uint32_t)random_below(&m->random, n);
}

static void print_model(const struct model *m)
{
    for (int i = 0; i < QUEUES; i++) {
        const struct m_queue *q = &m->queues[i];
        printf("# q%d:%s below q%d%s weight %" PRId64 " priority %d", i, q->exists ? "" : " gone,", q->parent, q->keeps ? " keeps" : "",
               q->weight, q->priority);
        for (int r = 0; r < RES_N; r++)
            printf(" | %s deserved %" PRId64 " guarantee %" PRId64 " capability %" PRId64 " kept %" PRId64, resource_names[r],
                   q->deserved[r], q->guarantee[r], q->capability[r], q->kept[r]);
        printf("\n");
    }
    for (int i = 0; i < NODES; i++)
        if (m->nodes[i].exists)
            printf("# n%d:%s gpu %" PRId64 " cpu %" PRId64 "\n", i, m->nodes[i].ready ? "" : " not ready,", m->nodes[i].room[RES_GPU],
                   m->nodes[i].room[RES_CPU]);
    for (int i = 0; i < GROUPS; i++) {
        const struct m_group *g = &m->groups[i];
        if (!g->exists)
            continue;
        printf("# g%d in q%d%s: %d of %d by %d (%d), gpu %" PRId64 " cpu %" PRId64 " priority %d:", g->serial, g->queue, g->keeps ? " keeps" : "",
               g->min, g->count, g->size, g->least, g->ask[RES_GPU], g->ask[RES_CPU], g->priority);
        for (int k = 0; k < g->count; k++)
            if (g->pods[k].exists)
                printf(" p%d%s on n%d", g->pods[k].serial, g->pods[k].deleting ? " (ends)" : "", g->pods[k].node);
        printf("\n");
    }
}

static void die(const struct model *m, const char *what, const char *who)
{
    if (getenv("MODEL_TRACE"))
        print_model(m);
    fprintf(stderr, "core_shares: seed %" PRIu64 " step %" PRIu64 ": %s: %s\n", m->seed, m->step, who, what);
    exit(1);
}

static bool traces(void)
{
    return getenv("MODEL_TRACE") != NULL;
}

/* ---- telling a core ---- */

static name_id queue_id(struct world *w, int i)
{
    char name[24];
    snprintf(name, sizeof name, i == ROOT ? "volcano:root" : "volcano:q%d", i);
    return id(w, name);
}

static const struct amount *amounts(struct world *w, const int64_t values[RES_N], uint32_t *ret_n)
{
    struct amount *all = arena_zero(w->records, RES_N, sizeof *all);
    *ret_n = 0;
    for (int r = 0; r < RES_N; r++)
        if (values[r] != UNSAID)
            all[(*ret_n)++] = (struct amount){id(w, resource_names[r]), values[r]};
    return all;
}

#define KEPT "kept:"
/* What is kept has its bound as a capability of a resource of its own. */
static void tell_kept(struct world *w, const struct m_queue *q, struct queue_shares *x)
{
    struct counting *counts = arena_zero(w->records, RES_N, sizeof *counts);
    struct amount *most = arena_zero(w->records, 2 * RES_N, sizeof *most);
    for (uint32_t i = 0; i < x->capability_n; i++)
        most[i] = x->capability[i];
    for (int r = RES_N; r-- > 0;) { /* by text */
        name_id kept = id(w, arena_printf(w->records, KEPT "%s", resource_names[r])), of = id(w, resource_names[r]);
        counts[x->counts_n++] = (struct counting){.as = kept, .resource = of, .times = 1, .per = 1, .only_kept = true, .of = of};
        if (q->kept[r] != UNSAID)
            most[x->capability_n++] = (struct amount){kept, q->kept[r]};
    }
    x->counts = counts;
    x->capability = most;
}

static void tell_queue(struct model *m, struct world *w, int i)
{
    const struct m_queue *q = &m->queues[i];
    if (!q->exists) {
        state_apply(w->s, &(struct change){.type = CHANGE_QUEUE_GONE, .gone = queue_id(w, i)});
        return;
    }
    struct queue_shares *x = arena_zero(w->records, 1, sizeof *x);
    x->parent = i == ROOT ? 0 : queue_id(w, q->parent);
    x->weight = q->weight;
    x->keeps = q->keeps;
    x->by_turns = m->by_turns;
    x->preempt_after_ms = q->preempt_after_ms;
    x->reclaim_after_ms = q->reclaim_after_ms;
    x->deserved = amounts(w, q->deserved, &x->deserved_n);
    x->guarantee = amounts(w, q->guarantee, &x->guarantee_n);
    x->capability = amounts(w, q->capability, &x->capability_n);
    if (m->counts)
        tell_kept(w, q, x);
    struct queue_record r = {.name = queue_id(w, i), .kind = QUEUE_VOLCANO, .unlimited = true, .shares = x,
                             .borrow_before_next_flavor = true, .priority = q->priority,
                             .within_queue = m->preempts ? PREEMPT_LOWER_PRIORITY : PREEMPT_NEVER};
    state_apply(w->s, &(struct change){.type = CHANGE_QUEUE, .queue = r});
}

static void tell_node(struct model *m, struct world *w, int i)
{
    char name[16], room[96];
    snprintf(name, sizeof name, "n%d", i);
    if (!m->nodes[i].exists) {
        gone(w, CHANGE_NODE_GONE, name);
        return;
    }
    snprintf(room, sizeof room, "nvidia.com/gpu=%" PRId64 ",cpu=%" PRId64, m->nodes[i].room[RES_GPU], m->nodes[i].room[RES_CPU]);
    struct node_record r = a_node(w, name, room, "");
    r.ready = m->nodes[i].ready;
    node_record(w, r);
}

static const char *group_key(const struct m_group *g, char out[24])
{
    snprintf(out, 24, "volcano/ns/g%d", g->serial);
    return out;
}

static void tell_pairs(struct world *w, const struct m_group *g, struct gang_record *r)
{
    uint32_t pairs_n = (uint32_t)(g->count / g->size / 2);
    struct subgroup_policy *all = arena_zero(w->records, 3 * pairs_n, sizeof *all);
    struct requirement *is = arena_zero(w->records, 2 * pairs_n, sizeof *is);
    name_id *values = arena_zero(w->records, 2 * pairs_n, sizeof *values);
    for (uint32_t k = 0; k < pairs_n; k++)
        all[k] = (struct subgroup_policy){.pods = {.matches_nothing = true}, .least_n = 2};
    for (uint32_t k = 0; k < 2 * pairs_n; k++) {
        values[k] = id(w, arena_printf(w->records, "%u", k));
        is[k] = (struct requirement){.key = id(w, "part"), .op = REQUIRE_IN, .values = &values[k], .values_n = 1};
        all[pairs_n + k] = (struct subgroup_policy){.above = k / 2 + 1, .pods = {.all = &is[k], .all_n = 1}, .size = g->size, .least_n = 1};
    }
    r->subgroups = all;
    r->subgroups_n = 3 * pairs_n;
    r->subgroups_least = g->least;
}

static void tell_group(struct model *m, struct world *w, int i)
{
    const struct m_group *g = &m->groups[i];
    char key[24], queue[24];
    snprintf(queue, sizeof queue, "volcano:q%d", g->queue);
    struct gang_record r = a_group(w, group_key(g, key), queue, g->min);
    r.created_ms = g->created_ms;
    r.priority = g->priority;
    r.keeps_places = g->keeps;
    const name_id part = id(w, "part");
    const struct subgroup_policy subgroups = {.name = part, .keys = &part, .keys_n = 1, .size = g->size, .least_n = g->least};
    r.subgroups = &subgroups;
    r.subgroups_n = g->size > 0;
    if (g->pairs)
        tell_pairs(w, g, &r);
    gang_record(w, r);
}

static void tell_pod(struct model *m, struct world *w, int i, int k)
{
    const struct m_group *g = &m->groups[i];
    const struct m_pod *p = &g->pods[k];
    char key[32], gang[24], asks[96], node[16];
    snprintf(key, sizeof key, "ns/p%d", p->serial);
    if (!p->exists) {
        gone(w, CHANGE_POD_GONE, key);
        return;
    }
    snprintf(asks, sizeof asks, "nvidia.com/gpu=%" PRId64 ",cpu=%" PRId64, g->ask[RES_GPU], g->ask[RES_CPU]);
    struct pod_record r = a_pod(w, key, group_key(g, gang), asks);
    if (g->size)
        r.shape.labels = labels_of(w, arena_printf(w->records, "part=%d", k / g->size), &r.shape.labels_n);
    snprintf(node, sizeof node, "n%d", p->node);
    r.node = p->node < 0 ? 0 : id(w, node);
    r.phase = p->node < 0 ? POD_PENDING : POD_RUNNING;
    r.deleting = p->deleting;
    r.preempts_nobody = g->never;
    r.started_ms = p->started_ms;
    r.created_ms = p->serial;
    pod_record(w, r);
}

static void tell_all(struct model *m, struct world *w)
{
    for (int i = 0; i < NODES; i++)
        if (m->nodes[i].exists)
            tell_node(m, w, i);
    for (int i = QUEUES; i-- > 0;)
        if (m->queues[i].exists)
            tell_queue(m, w, i);
    for (int i = 0; i < GROUPS; i++) {
        for (int k = 0; k < PODS && m->groups[i].exists; k++)
            if (m->groups[i].pods[k].exists)
                tell_pod(m, w, i, k);
        if (m->groups[i].exists)
            tell_group(m, w, i);
    }
}

static bool shares_anything(const struct model *m)
{
    int leaves_n = 0;
    bool any = false;
    for (int i = 1; i < QUEUES; i++) {
        const struct m_queue *q = &m->queues[i];
        leaves_n += q->exists && !has_children(m, i);
        any |= q->exists && m->preempts;
        for (int r = 0; r < RES_N && q->exists; r++)
            any |= q->guarantee[r] != UNSAID || (has_children(m, i) && q->capability[r] != UNSAID) || in_cycle(m, i);
    }
    for (int r = 0; r < RES_N; r++)
        any |= has_children(m, ROOT) && m->queues[ROOT].capability[r] != UNSAID;
    return any || leaves_n > 1;
}

static void check_deserved(struct model *m)
{
    for (int i = 1; i < QUEUES && shares_anything(m); i++) {
        struct queue_usage *rows;
        if (!m->queues[i].exists || in_cycle(m, i) || has_children(m, i))
            continue;
        uint32_t n = state_queue_usage(m->w.s, queue_id(&m->w, i), m->w.cycle, &rows);
        for (uint32_t k = 0; k < n; k++) {
            int r = 0;
            char text[120];
            while (r < RES_N && rows[k].resource != id(&m->w, resource_names[r]))
                r++;
            if (r == RES_N)
                continue; /* memory, which no node has */
            m->shared_n++;
            if (is_free(m, i, r) ? rows[k].nominal < INT64_MAX / 1000 : rows[k].nominal != (int64_t)deserved(m, i, r)) {
                snprintf(text, sizeof text, "deserves %" PRId64 " of %s, by definition %.3f", rows[k].nominal, resource_names[r],
                         is_free(m, i, r) ? -1 : deserved(m, i, r));
                die(m, text, intern_name(m->w.names, queue_id(&m->w, i)));
            }
        }
    }
}

/* ---- who has what ---- */

static int group_of(struct model *m, name_id key)
{
    char text[24];
    for (int i = 0; i < GROUPS; i++)
        if (m->groups[i].exists && strcmp(group_key(&m->groups[i], text), intern_name(m->w.names, key)) == 0)
            return i;
    die(m, "is not there", intern_name(m->w.names, key));
    return -1;
}

static bool is_below(const struct model *m, int i, int above)
{
    for (int steps = 0; i != above && steps < QUEUES; steps++) {
        if (i == ROOT || !m->queues[i].exists)
            return false;
        i = m->queues[i].parent;
    }
    return i == above;
}

/* Whole groups: for their own queue, or by what the queue says that is just below what both are below. */
static void check_tenure(struct model *m, const struct m_group *v, const struct m_group *p)
{
    int64_t began = m->w.now_ms;
    int side = v->queue;
    for (int k = 0; k < PODS; k++)
        if (v->pods[k].exists && v->pods[k].node >= 0 && v->pods[k].started_ms && v->pods[k].started_ms < began)
            began = v->pods[k].started_ms;
    while (v->queue != p->queue && m->queues[side].exists && !is_below(m, p->queue, m->queues[side].parent))
        side = m->queues[side].parent;
    int64_t least = v->queue == p->queue ? m->queues[side].preempt_after_ms : m->queues[side].reclaim_after_ms;
    if (m->queues[side].exists && m->w.now_ms - began < least)
        die(m, "goes whole, and has not run for as long as its queue lets it", "a group");
}

/* Those whom the same plan evicted before count as there. */
static void check_eviction(struct model *m, const struct plan_entry *e)
{
    const struct m_group *v = &m->groups[group_of(m, e->gang)];
    const char *who = intern_name(m->w.names, e->gang);
    if (e->pod && staying_n(v) <= v->min)
        die(m, "is below its minimum without a member that was told to go", who);
    const struct m_group *p = e->reason->code == REASON_PREEMPTED ? &m->groups[group_of(m, e->reason->name)] : NULL;
    if (p && !e->pod)
        check_tenure(m, v, p);
    if (p && e->reason->have == PREEMPTION_LOWER_IN_QUEUE) {
        if (!m->preempts || v->queue != p->queue || v->keeps || v->priority >= p->priority || p->never)
            die(m, "may not be preempted in its queue", who);
        m->lower_n++;
        return;
    }
    if (!p || e->reason->have != PREEMPTION_DESERVED)
        die(m, "is evicted for another reason", who);
    if (v->queue == p->queue || v->keeps || m->queues[v->queue].keeps)
        die(m, "may not be taken back from", who);
    bool above = has_children(m, v->queue); /* what it deserves is theirs */
    for (int i = v->queue; i != ROOT && m->queues[i].exists && !above; i = m->queues[i].parent)
        for (int r = 0; r < RES_N; r++)
            above |= !is_free(m, i, r) && v->ask[r] && p->ask[r] &&
                     (double)(used(m, v->queue, r) + promised(m, v->queue, r)) > m->deserved[v->queue][r];
    if (!above)
        die(m, "is of a queue that has no more than it deserves", who);
    for (int i = v->queue; i != ROOT && m->queues[i].exists; i = m->queues[i].parent)
        for (int r = 0; r < RES_N; r++) {
            int64_t own = e->pod ? v->ask[r] : 0;
            for (int k = 0; k < PODS && !e->pod; k++)
                own += v->pods[k].exists && v->pods[k].node >= 0 ? v->ask[r] : 0;
            if (own && used(m, i, r) + promised(m, i, r) - own < said(m->queues[i].guarantee[r], 0))
                die(m, "takes its queue, or one above it, below its guarantee", who);
        }
}

/* -1: nobody is. What is guaranteed to those below is more than a capability that is less. */
static int above_capability(const struct model *m)
{
    for (int i = 0; i < QUEUES; i++)
        for (int r = 0; r < RES_N && m->queues[i].exists && !in_cycle(m, i); r++)
            if ((double)used(m, i, r) > said(m->queues[i].capability[r], 1e15) &&
                guaranteed(m, i, r) <= said(m->queues[i].capability[r], 1e15))
                return i;
    return -1;
}

static void check_capabilities(struct model *m)
{
    int i = m->shrunk ? -1 : above_capability(m);
    if (i >= 0)
        die(m, "has more than its capability", intern_name(m->w.names, queue_id(&m->w, i)));
}

/* -1: nobody is. */
static int above_kept(const struct model *m)
{
    for (int i = 0; i < QUEUES; i++)
        for (int r = 0; r < RES_N && m->counts && m->queues[i].exists && !in_cycle(m, i); r++)
            if ((double)used_and_kept(m, i, r) > said(m->queues[i].kept[r], 1e15))
                return i;
    return -1;
}

static void check_kept(struct model *m)
{
    int i = m->kept_shrunk ? -1 : above_kept(m);
    if (i >= 0)
        die(m, "has more in groups that keep their places than those may have", intern_name(m->w.names, queue_id(&m->w, i)));
}

/* ---- the API ---- */

static void bind(struct model *m, const struct plan_entry *e)
{
    for (int i = 0; i < GROUPS; i++)
        for (int k = 0; k < PODS && m->groups[i].exists; k++) {
            struct m_pod *p = &m->groups[i].pods[k];
            char key[32];
            snprintf(key, sizeof key, "ns/p%d", p->serial);
            if (!p->exists || strcmp(key, intern_name(m->w.names, e->pod)) != 0)
                continue;
            m->groups[i].promised = false;
            m->groups[i].had_n = 0;
            p->node = (int)strtol(intern_name(m->w.names, e->node) + 1, NULL, 10);
            p->started_ms = pick(m, 3) ? m->w.now_ms : 0;
            m->binds_n++;
            tell_pod(m, &m->w, i, k);
        }
}

/* Its pods are to be deleted; they go one by one. */
static void evict(struct model *m, const struct plan_entry *e)
{
    int i = group_of(m, e->gang);
    char key[24];
    snprintf(key, sizeof key, "%s", intern_name(m->w.names, e->gang));
    const char *only = e->pod ? intern_name(m->w.names, e->pod) : NULL;
    m->groups[group_of(m, e->reason->name)].promised = true;
    m->evicts_n++;
    m->members_n += only != NULL;
    m->busy = true;
    if (pick(m, 8) == 0) {
        outcome(&m->w, EFFECT_EVICT, key, only, OUTCOME_FAILED);
        return;
    }
    bool was_filled = false; /* by pods that this plan binds before: then no places are kept for it any more */
    for (uint32_t k = 0; k < m->w.plan.entries_n; k++)
        was_filled |= m->w.plan.entries[k].effect == EFFECT_BIND && m->w.plan.entries[k].gang == e->gang;
    m->groups[i].had_n = only || was_filled ? 0 : m->groups[i].kept_n;
    for (int k = 0; k < PODS; k++)
        m->groups[i].had_n += !only && m->groups[i].pods[k].exists && m->groups[i].pods[k].node >= 0;
    for (int k = 0; k < PODS; k++) {
        char pod[32];
        snprintf(pod, sizeof pod, "ns/p%d", m->groups[i].pods[k].serial);
        if (!m->groups[i].pods[k].exists || (only && strcmp(only, pod) != 0))
            continue;
        m->groups[i].pods[k].deleting = true;
        tell_pod(m, &m->w, i, k);
    }
    outcome(&m->w, EFFECT_EVICT, key, only, OUTCOME_DONE);
}

static void pod_goes(struct model *m, int i, int k)
{
    m->groups[i].pods[k].exists = false;
    tell_pod(m, &m->w, i, k);
}

static void pod_comes(struct model *m, int i, int k)
{
    m->groups[i].pods[k] = (struct m_pod){.exists = true, .serial = ++m->serial, .node = -1};
    tell_pod(m, &m->w, i, k);
}

/* Its object goes, its pods stay, and another object of the name comes, which was told nothing. */
static void make_anew(struct model *m, int i)
{
    char key[24];
    gone(&m->w, CHANGE_GANG_GONE, group_key(&m->groups[i], key));
    m->groups[i].promised = false;
    m->groups[i].had_n = 0;
    tell_group(m, &m->w, i);
}

/* Kubelets and the job controller: what is being deleted goes, what is missing is made. False: there was nothing to do. */
static bool controllers(struct model *m)
{
    bool any = false;
    for (int i = 0; i < GROUPS; i++) {
        if (m->groups[i].exists && m->groups[i].had_n && pick(m, 12) == 0)
            make_anew(m, i);
        for (int k = 0; k < m->groups[i].count && m->groups[i].exists; k++) {
            struct m_pod *p = &m->groups[i].pods[k];
            if (p->exists && !p->deleting)
                continue;
            any = true;
            if (pick(m, 3) == 0)
                continue;
            if (p->exists)
                pod_goes(m, i, k);
            else
                pod_comes(m, i, k);
        }
    }
    return any;
}

/* Where nothing else is under way, and nobody has more than a capability: is anybody told to go whole, though members would do? A group
 * whose members go for one gives none to another, so it is asked where all go for the same. */
static void check_members_first(struct model *m)
{
    const struct plan_entry *one = NULL, *whole = NULL;
    for (uint32_t i = 0; i < m->w.plan.entries_n; i++) {
        const struct plan_entry *e = &m->w.plan.entries[i];
        bool of_two = e->effect == EFFECT_EVICT && one && one->reason->name != e->reason->name;
        if (e->effect == EFFECT_BIND || m->busy || m->shrunk || of_two)
            return;
        one = e->effect == EFFECT_EVICT ? e : one;
        whole = e->effect == EFFECT_EVICT && !e->pod ? e : whole;
    }
    if (whole && members_are_enough(m, &m->groups[group_of(m, whole->reason->name)]))
        die(m, "goes whole, though members that groups can do without would be enough", intern_name(m->w.names, whole->gang));
}

/* Of a subgroup: who stays once those have gone that this plan tells to. */
static int staying_of(struct model *m, const struct m_group *g, int part, bool after)
{
    int n = 0;
    for (int k = part * g->size; k < (part + 1) * g->size && k < g->count; k++) {
        char key[32];
        snprintf(key, sizeof key, "ns/p%d", g->pods[k].serial);
        n += g->pods[k].exists && g->pods[k].node >= 0 && (!after || !entry_of(&m->w, EFFECT_EVICT, key));
    }
    return n;
}

/* Where all of it goes, or nobody was told before. */
static void check_subgroups(struct model *m, const struct m_group *g)
{
    int whole_n = 0, were_n = 0, pair_n = 0, pair_was_n = 0, pairs_n = 0, pairs_were_n = 0;
    for (int part = 0; part * g->size < g->count; part++) {
        int before = staying_of(m, g, part, false), after = staying_of(m, g, part, true);
        if (after < before && after && after < g->size)
            die(m, "loses a part of a subgroup", "a group");
        were_n += before == g->size;
        whole_n += after == g->size;
        pair_n = part % 2 ? pair_n + (after == g->size) : after == g->size;
        pair_was_n = part % 2 ? pair_was_n + (before == g->size) : before == g->size;
        if (g->pairs && part % 2 && pair_was_n == 2 && pair_n == 1)
            die(m, "loses one of two subgroups that need each other", "a group");
        pairs_n += part % 2 && pair_n == 2;
        pairs_were_n += part % 2 && pair_was_n == 2;
    }
    whole_n = g->pairs ? pairs_n : whole_n;
    were_n = g->pairs ? pairs_were_n : were_n;
    if (whole_n < were_n && whole_n < g->least)
        die(m, "has fewer subgroups left than it asks for", "a group");
}

static void check_parts(struct model *m)
{
    for (int i = 0; i < GROUPS && !m->busy; i++) {
        char key[24];
        const struct m_group *g = &m->groups[i];
        const struct plan_entry *e = g->exists && g->size ? entry_of(&m->w, EFFECT_EVICT, group_key(g, key)) : NULL;
        if (e && e->pod)
            check_subgroups(m, g);
    }
}

/* Which of those that were lost it keeps places for is heal/refill.h's, and seen in core_heal; no more than were lost. */
static void note_kept(struct model *m)
{
    for (int i = 0; i < GROUPS; i++) {
        struct m_group *g = &m->groups[i];
        char key[24];
        const struct gang *gang = g->exists ? gang_find(m->w.s, id(&m->w, group_key(g, key))) : NULL;
        g->kept_n = gang ? (int)gang->own->seats_n : 0;
        if (g->kept_n && staying_n(g) + g->kept_n > (g->size ? g->count : g->min))
            die(m, "keeps more places than it lost", key);
    }
}

/* Returns whether the plan had anything to do. */
static bool cycle(struct model *m)
{
    struct err e = {0};
    bool any = false;
    int grown[GROUPS] = {0};
    char key[24];
    note_kept(m); /* shares are dealt as a cycle begins */
    run(&m->w);
    if (!state_check(m->w.s, &e))
        die(m, e.text, "state");
    check_deserved(m);
    for (int i = 0; i < QUEUES; i++)
        for (int r = 0; r < RES_N && !in_cycle(m, i); r++)
            m->deserved[i][r] = deserved(m, i, r);
    check_members_first(m);
    check_parts(m);
    for (uint32_t i = 0; i < m->w.plan.entries_n; i++) {
        const struct plan_entry *one = &m->w.plan.entries[i];
        if (traces() && (one->effect == EFFECT_EVICT || one->effect == EFFECT_BIND))
            printf("#   %s %s%s%s\n", one->effect == EFFECT_BIND ? "bind" : "evict",
                   intern_name(m->w.names, one->pod ? one->pod : one->gang), one->effect == EFFECT_EVICT ? " for " : "",
                   one->effect == EFFECT_EVICT ? intern_name(m->w.names, one->reason->name) : "");
        any |= one->effect == EFFECT_BIND || one->effect == EFFECT_EVICT;
        if (one->effect == EFFECT_BIND)
            grown[group_of(m, one->gang)]++;
        if (one->effect == EFFECT_BIND)
            bind(m, one);
        else if (one->effect == EFFECT_EVICT) {
            check_eviction(m, one);
            evict(m, one);
        }
    }
    if (m->by_turns && out_of_turn(m, grown) >= 0)
        die(m, "grows though another one like it is smaller", group_key(&m->groups[out_of_turn(m, grown)], key));
    check_capabilities(m);
    check_kept(m);
    return any;
}

static void come_to_rest(struct model *m)
{
    int still = 0;
    m->busy = false;
    for (int n = 0; still < 3; n++) {
        if (n > CYCLES_MAX)
            die(m, "does not come to rest", "the world");
        bool any = cycle(m);
        any |= controllers(m);
        still = any ? 0 : still + 1;
        m->w.now_ms += any ? 1000 : 400000;
    }
}

/* A core that knows nothing but what the API says has nothing to do either. */
static void begin_anew(struct model *m)
{
    struct world fresh = world_new();
    fresh.now_ms = m->w.now_ms;
    tell_all(m, &fresh);
    run(&fresh);
    for (uint32_t i = 0; i < fresh.plan.entries_n; i++) {
        const struct plan_entry *e = &fresh.plan.entries[i];
        if (e->effect == EFFECT_BIND)
            die(m, "would be bound by a core that begins anew", intern_name(fresh.names, e->pod));
        if (e->effect == EFFECT_EVICT)
            die(m, "would be evicted by a core that begins anew", intern_name(fresh.names, e->gang));
    }
    world_free(&fresh);
}

/* ---- users ---- */

static int64_t maybe(struct model *m, uint32_t permille, int64_t value)
{
    return pick(m, 1000) < permille ? value : UNSAID;
}

static void put_queue(struct model *m, int i)
{
    struct m_queue *q = &m->queues[i];
    *q = (struct m_queue){.exists = true, .keeps = pick(m, 6) == 0, .weight = 1 + pick(m, 4), .priority = pick(m, 8) ? 0 : 1};
    q->parent = i > 2 && pick(m, 2) ? 1 + (int)pick(m, 2) : ROOT;
    if (i < 3 && pick(m, 20) == 0)
        q->parent = 3 - i; /* a cycle, if the other one does it, too */
    for (int r = 0; r < RES_N; r++) {
        int64_t unit = r == RES_CPU ? 1000 : 1;
        q->deserved[r] = maybe(m, r == RES_CPU ? 100 : 300, pick(m, 9) * unit);
        q->capability[r] = maybe(m, 250, (2 + pick(m, 9)) * unit);
        q->guarantee[r] = i > 2 ? maybe(m, 150, pick(m, 5) * unit) : UNSAID;
        bool too_much = q->guarantee[r] != UNSAID && q->capability[r] != UNSAID && q->guarantee[r] > q->capability[r];
        q->guarantee[r] = too_much ? UNSAID : q->guarantee[r];
        q->kept[r] = m->counts ? maybe(m, 400, pick(m, 7) * unit) : UNSAID;
    }
    if (i == ROOT)
        for (int r = 0; r < RES_N; r++)
            q->deserved[r] = UNSAID;
    if (i == ROOT)
        q->parent = ROOT;
    q->preempt_after_ms = m->waits_long && pick(m, 3) ? pick(m, 5) * 100000 : 0;
    q->reclaim_after_ms = m->waits_long && pick(m, 3) ? pick(m, 5) * 100000 : 0;
    m->shrunk = m->kept_shrunk = true;
    tell_queue(m, &m->w, i);
}

static void put_node(struct model *m, int i)
{
    m->nodes[i] = (struct m_node){.exists = pick(m, 6) > 0, .ready = pick(m, 8) > 0, .room = {pick(m, 9), (int64_t)pick(m, 12) * 1000}};
    tell_node(m, &m->w, i);
}

static void put_group(struct model *m, int i)
{
    struct m_group *g = &m->groups[i];
    memset(g, 0, sizeof *g);
    *g = (struct m_group){.exists = true, .keeps = pick(m, m->counts ? 3 : 8) == 0, .serial = ++m->serial,
                          .queue = 1 + (int)pick(m, QUEUES - 1), .count = 1 + (int)pick(m, PODS), .priority = (int)pick(m, 3),
                          .created_ms = m->w.now_ms};
    g->min = 1 + (int)pick(m, (uint32_t)g->count);
    if (pick(m, 3) == 0) {
        g->size = 1 + (int)pick(m, 3);
        g->least = (int)pick(m, 3);
        g->pairs = g->count >= 2 * g->size && pick(m, 2);
        if (g->pairs) /* who is of none of them starts alone */
            g->count -= g->count % (2 * g->size);
        g->min = g->min < g->count ? g->min : g->count;
    }
    g->never = pick(m, 6) == 0;
    if (m->preempts && pick(m, 3)) /* many in one queue */
        g->queue = 3 + (int)pick(m, 2);
    g->ask[RES_GPU] = pick(m, 4);
    g->ask[RES_CPU] = (int64_t)pick(m, 4) * 500;
    if (m->by_turns && pick(m, 3)) { /* many that are alike, and may grow */
        g->queue = 3 + (int)pick(m, 2);
        g->size = g->priority = 0;
        g->pairs = false;
        g->min = 1 + (int)pick(m, 2);
        g->count = PODS;
        g->ask[RES_GPU] = 1;
        g->ask[RES_CPU] = 0;
    }
    tell_group(m, &m->w, i);
    for (int k = 0; k < g->count; k++)
        pod_comes(m, i, k);
}

static void end_group(struct model *m, int i)
{
    char key[24];
    for (int k = 0; k < PODS; k++)
        if (m->groups[i].pods[k].exists)
            pod_goes(m, i, k);
    gone(&m->w, CHANGE_GANG_GONE, group_key(&m->groups[i], key));
    m->groups[i].exists = false;
}

/* Pods of a node that is gone, or not there for them any more, are gone as well. */
static void lose_pods(struct model *m)
{
    for (int i = 0; i < GROUPS; i++)
        for (int k = 0; k < PODS && m->groups[i].exists; k++) {
            const struct m_pod *p = &m->groups[i].pods[k];
            if (p->exists && p->node >= 0 && !m->nodes[p->node].exists)
                pod_goes(m, i, k);
        }
}

static void random_event(struct model *m)
{
    int i = (int)pick(m, GROUPS);
    uint32_t what = pick(m, 20);
    if (what < 11 && !m->groups[i].exists)
        put_group(m, i);
    else if (what < 14 && m->groups[i].exists)
        end_group(m, i);
    else if (what < 16) {
        put_node(m, (int)pick(m, NODES));
        lose_pods(m);
    } else if (what < 18) {
        put_queue(m, (int)pick(m, QUEUES));
    } else if (what == 18) {
        i = 1 + (int)pick(m, QUEUES - 1);
        m->queues[i].exists = !m->queues[i].exists;
        m->shrunk = m->kept_shrunk = true;
        tell_queue(m, &m->w, i);
    } else if (m->groups[i].exists && pick(m, 2)) {
        m->groups[i].keeps = !m->groups[i].keeps;
        m->kept_shrunk = true;
        tell_group(m, &m->w, i);
    } else if (m->groups[i].exists) {
        make_anew(m, i);
    }
    if (traces())
        printf("# step %" PRIu64 ": event %u of g%d\n", m->step, what, m->groups[i % GROUPS].serial);
}

static void check_waiting(struct model *m)
{
    for (int i = 0; i < GROUPS; i++) {
        char key[24];
        if (m->groups[i].exists && state_gang_phase(m->w.s, id(&m->w, group_key(&m->groups[i], key))) == GANG_WAITING)
            m->waits_n++;
    }
}

static void run_seed(uint64_t seed, uint64_t steps)
{
    struct model m = {.w = world_new(), .random = {seed}, .seed = seed};
    m.preempts = pick(&m, 2);
    m.counts = seed % 2;
    m.by_turns = seed / 2 % 2;
    m.waits_long = seed % 3 == 0;
    for (int i = 0; i < NODES; i++)
        put_node(&m, i);
    for (int i = 0; i < QUEUES; i++)
        put_queue(&m, i);
    for (m.step = 0; m.step < steps; m.step++) {
        random_event(&m);
        for (uint32_t n = pick(&m, 3); n; n--)
            random_event(&m);
        come_to_rest(&m);
        m.shrunk &= above_capability(&m) >= 0;
        m.kept_shrunk &= above_kept(&m) >= 0;
        check_waiting(&m);
        begin_anew(&m);
        arena_reset(m.w.records);
        if (pick(&m, 4) == 0)
            sweep_names(&m.w);
    }
    printf("# seed %" PRIu64 ": %" PRIu64 " bound, %" PRIu64 " evicted (%" PRIu64 " members alone, %" PRIu64 " in their queue), %" PRIu64 " waits, %" PRIu64
           " shares\n",
           seed, m.binds_n, m.evicts_n, m.members_n, m.lower_n, m.waits_n, m.shared_n);
    world_free(&m.w);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 150;
    for (uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 40; runs; runs--)
        run_seed(seed++, steps);
    return 0;
}
