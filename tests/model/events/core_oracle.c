/* core_oracle.c - what must hold after each decision, asked the slow, obvious way of what the core was told */
#include "core_model.h"
#include "../../unit/pending.h"

static int64_t max0(int64_t a)
{
    return a > 0 ? a : 0;
}

bool is_member(const struct m_pod *p, const struct m_gang *g, int slot)
{
    return p->exists && p->gang == slot && p->gang_serial == g->serial;
}

enum gang_phase phase_of(const struct life *l, const struct m_gang *g)
{
    char key[40];
    return state_gang_phase(l->w.s, intern_find(l->w.names, bytes_of(gang_key(g, key))));
}

static bool is_in_front(const struct m_gang *a, const struct m_gang *b)
{
    if (a->due_ms != b->due_ms)
        return a->due_ms && (!b->due_ms || a->due_ms < b->due_ms);
    return a->created_ms < b->created_ms;
}

bool gang_before(const struct m_gang *a, const struct m_gang *b)
{
    char left[16], right[16];
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->due_ms != b->due_ms || a->created_ms != b->created_ms)
        return is_in_front(a, b);
    snprintf(left, sizeof left, "u%u", a->serial);
    snprintf(right, sizeof right, "u%u", b->serial);
    return strcmp(left, right) < 0;
}

bool gang_ready(const struct cluster *c, const struct m_gang *g, int64_t now_ms)
{
    int q = local_queue_of(c, g);
    if (!g->exists || !g->active || g->on_hold || g->finished || g->not_before_ms > now_ms || q == -2)
        return false;
    if (g->type == TYPE_PLANNED && c->locals[g->local].stop != STOP_NONE)
        return false;
    return q < 0 || c->queues[q].stop == STOP_NONE;
}

/* ---- nodes ---- */

bool kind_may_stand(const struct kind *k, int flavors, const struct m_node *n)
{
    bool tolerates = k->tolerates;
    if (!n->exists || !n->ready || n->cordoned || (k->zone >= 0 && k->zone != n->zone))
        return false;
    for (int f = 0; f < FLAVORS; f++) {
        if (!((k->flavors | flavors) >> f & 1))
            continue;
        tolerates |= flavor_facts[f].tolerates;
        if (flavor_facts[f].kind >= 0 && flavor_facts[f].kind != n->kind)
            return false;
    }
    return !n->tainted || tolerates;
}

int node_of(const struct m_pod *p, const struct assumed *a)
{
    if (!p->exists || p->phase >= POD_SUCCEEDED)
        return -1;
    return p->node >= 0 ? p->node : a && a->serial == p->serial ? a->node : -1;
}

bool neighbours_allow(const struct cluster *c, const struct assumed *assumed, const struct m_pod *p, int node)
{
    for (int i = 0; i < PODS && p->app; i++) {
        const struct m_pod *other = &c->pods[i];
        int at = node_of(other, assumed ? &assumed[i] : NULL);
        if (at < 0 || other->serial == p->serial || other->app != p->app || !c->nodes[at].exists)
            continue;
        bool same_zone = c->nodes[at].zone == c->nodes[node].zone, zone_counts = p->anti == 2 || other->anti == 2;
        if ((at == node && (p->anti || other->anti)) || (same_zone && zone_counts))
            return false;
    }
    return true;
}

const char *devices_of(const struct m_pod *p, const struct assumed *a)
{
    return p->node >= 0 || !a || a->serial != p->serial ? p->devices : a->devices;
}

bool has_device_twice(const struct cluster *c, int node)
{
    for (int d = 0; d < (int)c->nodes[node].room[RES_GPU]; d++) {
        int n = 0;
        for (int i = 0; i < PODS; i++)
            n += c->pods[i].exists && c->pods[i].node == node && c->pods[i].phase < POD_SUCCEEDED && names_device(c->pods[i].devices, d);
        if (n > 1)
            return true;
    }
    return false;
}

void room_left(const struct cluster *c, const struct assumed *assumed, struct fit_node *ret_room)
{
    for (int n = 0; n < NODES; n++) {
        int64_t good = c->nodes[n].room[RES_GPU] - (c->nodes[n].named && c->nodes[n].sick);
        memcpy(ret_room->left[n], c->nodes[n].room, sizeof ret_room->left[n]);
        for (int i = 0; i < PODS; i++) {
            const struct m_pod *p = &c->pods[i];
            if (node_of(p, assumed ? &assumed[i] : NULL) != n)
                continue;
            for (int r = 0; r < RES_N; r++)
                ret_room->left[n][r] -= p->kind.ask[r];
            const char *devices = devices_of(p, assumed ? &assumed[i] : NULL);
            for (int d = 0; d < c->nodes[n].room[RES_GPU] && c->nodes[n].named; d++)
                good -= names_device(devices, d) && (d || !c->nodes[n].sick);
        }
        share_left(c, assumed, n, &ret_room->share[n]);
        if (c->nodes[n].named && good < ret_room->left[n][RES_GPU])
            ret_room->left[n][RES_GPU] = good;
    }
}

struct brute {
    const struct cluster *c;
    struct fit_node room;
    const struct wish *wishes;
    int n;
    long budget;
};

static int64_t most_on(const struct brute *b, const struct wish *w, int node)
{
    int64_t most = w->count;
    if (!kind_may_stand(&w->kind, w->flavors, &b->c->nodes[node]))
        return 0;
    for (int r = 0; r < RES_N; r++)
        if (w->kind.ask[r]) {
            int64_t fits = max0(b->room.left[node][r]) / w->kind.ask[r];
            most = fits < most ? fits : most;
        }
    return b->c->nodes[node].shared ? share_most(&w->kind, &b->room.share[node], most) : most;
}

static int brute_step(struct brute *b, int w, int node, int64_t left);

/* Shares, one after the other: each of a GPU from `at` of the node on. */
static int brute_share(struct brute *b, int w, int node, int at, int64_t left)
{
    const struct wish *wish = &b->wishes[w];
    if (--b->budget < 0)
        return -1;
    if (!left)
        return w + 1 == b->n ? 1 : brute_step(b, w + 1, 0, b->wishes[w + 1].count);
    for (; node < NODES; node++, at = 0) {
        if (!b->c->nodes[node].shared || !kind_may_stand(&wish->kind, wish->flavors, &b->c->nodes[node]))
            continue;
        bool fits = true;
        for (int r = 0; r < RES_N; r++)
            fits &= wish->kind.ask[r] <= max0(b->room.left[node][r]);
        for (int given_n = b->room.share[node].given_n; fits && at <= given_n; at++) {
            struct fit_node before = b->room;
            bool taken = share_take(&wish->kind, &b->room.share[node], at);
            for (int r = 0; r < RES_N; r++)
                b->room.left[node][r] -= wish->kind.ask[r];
            int found = taken ? brute_share(b, w, node, at, left - 1) : 0;
            b->room = before;
            if (found)
                return found;
        }
    }
    return 0;
}

/* `left` members of wish w still need a place on node.. and after. */
static int brute_step(struct brute *b, int w, int node, int64_t left)
{
    if (--b->budget < 0)
        return -1;
    if (!left)
        return w + 1 == b->n ? 1 : brute_step(b, w + 1, 0, b->wishes[w + 1].count);
    if (node == NODES)
        return 0;
    if (b->wishes[w].kind.milli || b->wishes[w].kind.gib)
        return brute_share(b, w, node, 0, left);
    int64_t most = most_on(b, &b->wishes[w], node);
    for (int64_t here = most < left ? most : left; here >= 0; here--) {
        for (int r = 0; r < RES_N; r++)
            b->room.left[node][r] -= here * b->wishes[w].kind.ask[r];
        b->room.share[node].untouched -= (int)(here * b->wishes[w].kind.ask[RES_GPU]);
        int found = brute_step(b, w, node + 1, left - here);
        for (int r = 0; r < RES_N; r++)
            b->room.left[node][r] += here * b->wishes[w].kind.ask[r];
        b->room.share[node].untouched += (int)(here * b->wishes[w].kind.ask[RES_GPU]);
        if (found)
            return found;
    }
    return 0;
}

int brute_place(const struct cluster *c, const struct fit_node *room, const struct wish *wishes, int n)
{
    struct brute b = {.c = c, .room = *room, .wishes = wishes, .n = n, .budget = 300000};
    return n ? brute_step(&b, 0, 0, wishes[0].count) : 1;
}

/* Every way to give flavors to sets: one flavor for each group that the set asks. */
bool some_flavors_place(const struct cluster *c, const struct m_gang *g, int q, const struct fit_node *room, struct wish *wishes, int set)
{
    const struct layout_group *groups = layouts[c->queues[q].layout];
    if (set >= g->sets_n || set >= SETS)
        return brute_place(c, room, wishes, g->sets_n) != 0;
    bool asked[2] = {false, false};
    for (int group = 0; group < 2; group++)
        for (int r = 0; r < RES_N; r++)
            asked[group] |= groups[group].covers[r] && set_asks(&g->sets[set], r);
    for (int a = 0; a < (asked[0] ? groups[0].flavors_n : 1); a++)
        for (int b = 0; b < (asked[1] ? groups[1].flavors_n : 1); b++) {
            wishes[set] = (struct wish){.kind = g->sets[set].kind, .count = set_fewest(&g->sets[set]),
                                        .flavors = (asked[0] ? 1 << groups[0].flavors[a] : 0) | (asked[1] ? 1 << groups[1].flavors[b] : 0)};
            if (some_flavors_place(c, g, q, room, wishes, set + 1))
                return true;
        }
    return false;
}

/* ---- quota: the definitions of core/quota/quota.h as plain recursion; own usage is what the core says ---- */

struct tree {
    const struct life *l;
    int flavor, resource;
};

name_id queue_id(const struct life *l, int queue)
{
    char name[16];
    snprintf(name, sizeof name, queue == VOLCANO_QUEUE ? "volcano:v" : "q%d", queue);
    return intern_find(l->w.names, bytes_of(name));
}

static int64_t own_usage(const struct tree *t, int queue)
{
    struct queue_usage *rows;
    struct arena *a = arena_new();
    int64_t used = 0;
    uint32_t n = state_queue_usage(t->l->w.s, queue_id(t->l, queue), a, &rows);
    name_id flavor = queue == VOLCANO_QUEUE ? 0 : intern_find(t->l->w.names, bytes_of(flavor_names[t->flavor]));
    for (uint32_t i = 0; i < n; i++)
        if (rows[i].flavor == flavor && rows[i].resource == intern_find(t->l->w.names, bytes_of(resource_names[t->resource])))
            used = rows[i].reserved;
    arena_free(a);
    return used;
}

/* Nodes of the tree: 0..COHORTS-1 cohorts, then queues. A cohort exists as soon as a queue or cohort names it. */
static int parent_of(const struct tree *t, int i)
{
    const struct cluster *c = &t->l->seen;
    if (i < COHORTS)
        return c->cohorts[i].exists ? c->cohorts[i].parent : -1;
    return c->queues[i - COHORTS].exists ? c->queues[i - COHORTS].cohort : -1;
}

static const struct m_quota *quota_of(const struct tree *t, int i)
{
    static const struct m_quota none = {.borrowing = NO_LIMIT, .lending = NO_LIMIT};
    const struct cluster *c = &t->l->seen;
    const struct m_quota *q =
        i < COHORTS ? &c->cohorts[i].quota[t->flavor][t->resource] : &c->queues[i - COHORTS].quota[t->flavor][t->resource];
    bool exists = i < COHORTS ? c->cohorts[i].exists : c->queues[i - COHORTS].exists;
    return exists && q->named ? q : &none;
}

static int64_t kept(const struct tree *t, int i);

static int64_t subtree(const struct tree *t, int i)
{
    int64_t sum = quota_of(t, i)->nominal;
    for (int k = 0; k < COHORTS + VOLCANO_QUEUE && i < COHORTS; k++)
        if (parent_of(t, k) == i)
            sum += subtree(t, k) - kept(t, k);
    return sum;
}

static int64_t kept(const struct tree *t, int i)
{
    const struct m_quota *q = quota_of(t, i);
    return q->lending == NO_LIMIT ? 0 : max0(subtree(t, i) - q->lending);
}

static int64_t usage(const struct tree *t, int i)
{
    int64_t sum = i < COHORTS ? 0 : own_usage(t, i - COHORTS);
    for (int k = 0; k < COHORTS + VOLCANO_QUEUE && i < COHORTS; k++)
        if (parent_of(t, k) == i)
            sum += max0(usage(t, k) - kept(t, k));
    return sum;
}

static int64_t available(const struct tree *t, int i)
{
    const struct m_quota *q = quota_of(t, i);
    int64_t used = usage(t, i);
    if (parent_of(t, i) < 0)
        return subtree(t, i) - used;
    int64_t from_parent = available(t, parent_of(t, i));
    if (q->borrowing != NO_LIMIT) {
        int64_t most = subtree(t, i) - kept(t, i) - max0(used - kept(t, i)) + q->borrowing;
        from_parent = most < from_parent ? most : from_parent;
    }
    return max0(kept(t, i) - used) + from_parent;
}

int64_t quota_left(const struct life *l, int queue, int flavor, int resource)
{
    struct tree t = {l, flavor, resource};
    const struct m_quota *q = &l->seen.queues[queue].quota[flavor][resource];
    if (queue == VOLCANO_QUEUE)
        return q->named ? q->nominal - own_usage(&t, queue) : INT64_MAX;
    return available(&t, COHORTS + queue);
}

/* ---- a plan, entry by entry ---- */

void decide_now(struct life *l)
{
    for (int i = 0; i < GANGS; i++)
        l->reserved[i] = phase_of(l, &l->seen.gangs[i]) == GANG_CHECKING ? l->seen.gangs[i].serial : 0;
    if (placement_looks_at_kinds(l->w.placement) || state_placed_by_kinds(l->w.s))
        state_expect_as_now(l->w.s);
    run(&l->w);
}

static int find_gang(const struct life *l, name_id key)
{
    char text[40];
    for (int i = 0; i < GANGS; i++)
        if (l->seen.gangs[i].exists && !strcmp(gang_key(&l->seen.gangs[i], text), intern_name(l->w.names, key)))
            return i;
    return -1;
}

static int find_pod(const struct life *l, name_id key)
{
    char text[40];
    for (int i = 0; i < PODS; i++)
        if (l->seen.pods[i].exists && !strcmp(pod_key(&l->seen.pods[i], text), intern_name(l->w.names, key)))
            return i;
    return -1;
}

/* ORDER  in a StrictFIFO queue nobody starts while a higher one that is ready waits. Waits after failed writes excuse. */
static void check_order(struct model *m, const struct life *l, int slot)
{
    const struct m_gang *g = &l->seen.gangs[slot];
    int q = local_queue_of(&l->seen, g);
    char a[40], b[40];
    for (int i = 0; i < GANGS && q >= 0 && l->seen.queues[q].strict; i++) {
        const struct m_gang *other = &l->seen.gangs[i];
        if (i == slot || !other->exists || other->type != g->type || local_queue_of(&l->seen, other) != q || !gang_before(other, g))
            continue;
        if (!gang_ready(&l->seen, other, l->w.now_ms) || other->type != TYPE_PLANNED || phase_of(l, other) != GANG_WAITING)
            continue;
        const struct reason *why = state_gang_reason(l->w.s, intern_find(l->w.names, bytes_of(gang_key(other, a))));
        if (why && why->code == REASON_BACKOFF)
            continue;
        struct buf text;
        buf_init(&text);
        if (why)
            explain_sentence(&text, why, l->w.names);
        die(m, "%s was admitted while %s waits before it in StrictFIFO queue q%d: %s", gang_key(g, b), gang_key(other, a), q, text.data);
    }
}

static bool runs_already(const struct life *l, int slot)
{
    for (int i = 0; i < PODS; i++)
        if (is_member(&l->seen.pods[i], &l->seen.gangs[slot], slot) && node_of(&l->seen.pods[i], NULL) >= 0)
            return true;
    return false;
}

static void check_admit(struct model *m, const struct life *l, const struct plan_entry *e, int slot)
{
    const struct m_gang *g = &l->seen.gangs[slot];
    int q = local_queue_of(&l->seen, g);
    char key[40];
    if (g->type != TYPE_PLANNED && runs_already(l, slot))
        return; /* a group that runs is told of again when that was not written */
    if (g->type == TYPE_PLANNED)
        oracle_reserve(m, l, e, slot);
    if (g->type == TYPE_PLANNED && e->effect == EFFECT_ADMIT && (g->admitted || l->reserved[slot] == g->serial))
        return; /* all else was looked at when it got its quota */
    if (!gang_ready(&l->seen, g, l->w.now_ms))
        die(m, "%s was admitted, but must not start", gang_key(g, key));
    if (g->type == TYPE_PLANNED && q >= 0 && asks_quota_for_shares(g))
        die(m, "%s was admitted, though no queue has quota for the shares that it asks for", gang_key(g, key));
    if (q >= 0 && e->queue != queue_id(l, q))
        die(m, "%s was admitted to another queue than its own", gang_key(g, key));
    for (uint32_t i = 0; i < e->choices_n && q >= 0; i++)
        for (int f = 0; f < FLAVORS; f++)
            for (int r = 0; r < RES_N; r++)
                if (!strcmp(intern_name(l->w.names, e->choices[i].flavor), flavor_names[f]) &&
                    !strcmp(intern_name(l->w.names, e->choices[i].resource), resource_names[r]) && quota_left(l, q, f, r) < 0)
                    die(m, "%s was admitted over the quota of q%d for %s in flavor %s by %" PRId64, gang_key(g, key), q, resource_names[r],
                        flavor_names[f], -quota_left(l, q, f, r));
    for (int i = 0; i < g->sets_n && e->counts_n; i++)
        if (e->counts[i] < set_fewest(&g->sets[i]) || e->counts[i] > g->sets[i].count - g->sets[i].reclaimed)
            die(m, "%s: %d members of set s%d were admitted, %d to %d are wanted", gang_key(g, key), e->counts[i], g->sets[i].name,
                set_fewest(&g->sets[i]), g->sets[i].count - g->sets[i].reclaimed);
    check_order(m, l, slot);
}

/* What the gang's sets were given, where its record does not say yet that it is admitted. */
static void note_granted(struct model *m, struct life *l, const struct plan_entry *e, int slot)
{
    const struct m_gang *g = &l->seen.gangs[slot];
    memset(l->granted[slot], 0, sizeof l->granted[slot]);
    for (int i = 0; i < g->sets_n && e->counts_n; i++)
        m->fewer_n += e->counts[i] < g->sets[i].count - g->sets[i].reclaimed;
    for (int i = 0; i < g->sets_n && e->counts_n; i++)
        l->granted[slot][g->sets[i].name] = e->counts[i] < g->sets[i].count ? e->counts[i] : 0;
}

static void check_devices(struct model *m, const struct life *l, int slot)
{
    const struct m_pod *p = &l->seen.pods[slot];
    const struct assumed *mine = &l->assumed[slot];
    const struct m_node *n = &l->seen.nodes[mine->node];
    int64_t named = 0;
    char key[40];
    for (int d = 0; d < n->room[RES_GPU] && n->named; d++) {
        if (!names_device(mine->devices, d))
            continue;
        named++;
        if (!d && n->sick)
            die(m, "%s was given a device that is broken", pod_key(p, key));
        for (int i = 0; i < PODS; i++)
            if (i != slot && node_of(&l->seen.pods[i], &l->assumed[i]) == mine->node &&
                names_device(devices_of(&l->seen.pods[i], &l->assumed[i]), d))
                die(m, "%s was given device %d of n%d, which ns/p%u has", pod_key(p, key), d, mine->node, l->seen.pods[i].name);
    }
    if (n->named && named != p->kind.ask[RES_GPU])
        die(m, "%s was given %d devices", pod_key(p, key), (int)named);
    int shares_n = 0;
    for (int d = 0; d < n->room[RES_GPU] && (p->kind.milli || p->kind.gib); d++) {
        shares_n += names_share(mine->devices, d);
        if (names_share(mine->devices, d) != names_device(mine->devices, d) && p->kind.ask[RES_GPU])
            die(m, "%s was given a device of another GPU than its share", pod_key(p, key));
        if (names_share(mine->devices, d) && !d && n->sick)
            die(m, "%s was given a share of a GPU that is broken", pod_key(p, key));
    }
    m->shares_n += (uint32_t)shares_n;
    if (shares_n != (p->kind.milli || p->kind.gib))
        die(m, "%s was given %d shares", pod_key(p, key), shares_n);
    check_shares(m, &l->seen, l->assumed);
}

static void check_bind(struct model *m, struct life *l, const struct plan_entry *e)
{
    int slot = find_pod(l, e->pod), node = (int)strtol(intern_name(l->w.names, e->node) + 1, NULL, 10);
    struct m_pod *p = slot < 0 ? NULL : &l->seen.pods[slot];
    char key[40], uid[16];
    if (!p)
        die(m, "bind of a pod that is not there: %s", intern_name(l->w.names, e->pod));
    snprintf(uid, sizeof uid, "u%u", p->serial);
    if (strcmp(uid, intern_name(l->w.names, e->pod_uid)) || p->foreign || p->gated || p->deleting || p->node >= 0 ||
        p->phase != POD_PENDING || l->assumed[slot].serial)
        die(m, "bind of a pod that must not be bound: %s", pod_key(p, key));
    l->assumed[slot] = (struct assumed){.serial = p->serial, .node = node};
    snprintf(l->assumed[slot].devices, DEVICES_TEXT, "%s", e->devices ? e->devices : "");
    if (!kind_may_stand(&p->kind, 0, &l->seen.nodes[node]))
        die(m, "%s was bound to n%d, which it may not use", pod_key(p, key), node);
    if (!neighbours_allow(&l->seen, l->assumed, p, node))
        die(m, "%s was bound to n%d, where anti-affinity keeps it away", pod_key(p, key), node);
    struct m_node bare = l->seen.nodes[node];
    int64_t left[RES_N];
    memcpy(left, bare.room, sizeof left);
    for (int i = 0; i < PODS; i++)
        for (int r = 0; r < RES_N && node_of(&l->seen.pods[i], &l->assumed[i]) == node; r++)
            left[r] -= l->seen.pods[i].kind.ask[r];
    for (int r = 0; r < RES_N; r++)
        if (p->kind.ask[r] && left[r] < 0)
            die(m, "n%d is over-committed: %s was bound there, %s is short by %" PRId64, node, pod_key(p, key), resource_names[r],
                -left[r]);
    check_devices(m, l, slot);
}

/* ---- preemption ---- */

static int root_of(const struct cluster *c, int queue)
{
    int i = c->queues[queue].cohort;
    while (i >= 0 && c->cohorts[i].exists && c->cohorts[i].parent >= 0)
        i = c->cohorts[i].parent;
    return i;
}

static bool may_preempt(const struct cluster *c, const struct m_gang *g, const struct m_gang *victim)
{
    int from = local_queue_of(c, g), to = victim->admitted_queue;
    const struct m_queue *q = &c->queues[from];
    enum preemption_policy policy = from == to ? q->within : q->reclaim;
    if (from != to && (q->cohort < 0 || root_of(c, from) != root_of(c, to)))
        return false;
    return policy == PREEMPT_ANY || (policy != PREEMPT_NEVER && victim->priority < g->priority) ||
           (policy == PREEMPT_LOWER_OR_NEWER_EQUAL_PRIORITY && victim->priority == g->priority && is_in_front(g, victim));
}

/* Nobody goes whom the policies do not allow to go, nor for a gang that would not find places even then. */
static void check_preempted(struct model *m, const struct life *l, const struct plan_entry *e, int slot)
{
    static struct cluster without;
    int by = find_gang(l, e->reason->name);
    const struct m_gang *victim = &l->seen.gangs[slot], *g = by < 0 ? NULL : &l->seen.gangs[by];
    struct fit_node room;
    struct wish wishes[SETS];
    char a[40], b[40];
    /* a later round of the cycle may have found room for it after all */
    bool waits = g && (phase_of(l, g) == GANG_WAITING || phase_of(l, g) == GANG_RESERVED || phase_of(l, g) == GANG_CHECKING);
    if (!waits || !gang_ready(&l->seen, g, l->w.now_ms))
        die(m, "%s was preempted for one that does not wait", gang_key(victim, a));
    if (victim->admitted && !may_preempt(&l->seen, g, victim))
        die(m, "%s was preempted for %s, which no policy allows", gang_key(victim, a), gang_key(g, b));
    without = l->seen;
    for (int i = 0; i < PODS; i++)
        for (int k = 0; k < GANGS; k++)
            if (is_member(&l->seen.pods[i], &l->seen.gangs[k], k) && phase_of(l, &l->seen.gangs[k]) == GANG_LEAVING)
                without.pods[i].exists = false;
    room_left(&without, l->assumed, &room);
    const struct m_queue *q = &l->seen.queues[local_queue_of(&l->seen, g)];
    if (!q->checks[0] && !q->checks[1] && !some_flavors_place(&l->seen, g, local_queue_of(&l->seen, g), &room, wishes, 0))
        die(m, "%s was preempted for %s, which finds no places even then", gang_key(victim, a), gang_key(g, b));
}

/* ---- the first burst ---- */

struct presence {
    int bound, succeeded;
};

static struct presence present(const struct life *l, int gang, int set)
{
    struct presence n = {0};
    for (int i = 0; i < PODS; i++) {
        const struct m_pod *p = &l->seen.pods[i];
        if (!is_member(p, &l->seen.gangs[gang], gang) || (set >= 0 && p->set != set))
            continue;
        n.succeeded += p->phase == POD_SUCCEEDED;
        n.bound += node_of(p, &l->assumed[i]) >= 0;
    }
    return n;
}

/* Members of a set that must be bound for it to be whole. */
static int needed(const struct life *l, int slot, const struct m_set *of, const struct presence *n)
{
    const struct m_gang *g = &l->seen.gangs[slot];
    struct m_set set = *of;
    set.granted = g->admitted ? set.granted : l->granted[slot][set.name];
    int over = n->succeeded > set_over(&set) ? n->succeeded : set_over(&set);
    return g->type == TYPE_PLANNED ? set_count(&set) - over : set.task_min - n->succeeded;
}

/* A set that comes later begins whole, too. One whose pods come in turns goes on with one. set_binds: by its name. */
static void check_later(struct model *m, struct life *l, int slot, const int *set_binds)
{
    const struct m_gang *g = &l->seen.gangs[slot];
    char key[40];
    for (int i = 0; i < g->sets_n; i++) {
        struct presence n = present(l, slot, g->sets[i].name);
        n.succeeded += l->done_gone[slot][g->sets[i].name];
        int need = needed(l, slot, &g->sets[i], &n), binds = set_binds[g->sets[i].name];
        bool goes_on = g->sets[i].in_turns && l->begun[slot] & 1U << g->sets[i].name;
        if (g->sets[i].later && !g->sets[i].serial && binds && n.bound == binds && n.bound < need && !goes_on)
            die(m, "set s%d of %s comes later, and begins with %d of %d members", g->sets[i].name, gang_key(g, key), n.bound, need);
        if (binds)
            l->begun[slot] |= (uint8_t)(1U << g->sets[i].name);
    }
}

static void check_burst(struct model *m, struct life *l, int slot, int binds)
{
    const struct m_gang *g = &l->seen.gangs[slot];
    char key[40];
    struct presence all = present(l, slot, -1);
    if (l->started[slot] || all.bound > binds) {
        l->started[slot] = true;
        return;
    }
    for (int i = 0; i < g->sets_n; i++) {
        struct presence n = present(l, slot, g->sets[i].name);
        int need = needed(l, slot, &g->sets[i], &n);
        if (n.bound < need && !g->sets[i].later && !g->sets[i].serial)
            die(m, "%s starts with %d of %d members of set s%d", gang_key(g, key), n.bound, need, g->sets[i].name);
    }
    if (g->type != TYPE_PLANNED && all.bound + all.succeeded < g->min_members)
        die(m, "%s starts with %d of %d members", gang_key(g, key), all.bound + all.succeeded, g->min_members);
    l->started[slot] = true;
}

static void note_plan(struct model *m, const struct life *l)
{
    static const char *const words[] = {"admit", "bind", "evict", "", "reserve"};
    for (uint32_t i = 0; i < l->w.plan.entries_n; i++) {
        const struct plan_entry *e = &l->w.plan.entries[i];
        if (e->effect != EFFECT_EXPLAIN)
            note(m, "plan: %s %s %s %s %s%s", words[e->effect], intern_name(l->w.names, e->gang), intern_name(l->w.names, e->pod),
                 intern_name(l->w.names, e->node), e->devices ? e->devices : "", e->effect == EFFECT_EVICT ? in_words(l, e->reason) : "");
    }
}

void oracle_plan(struct model *m, struct life *l)
{
    const struct plan *p = &l->w.plan;
    int binds[GANGS] = {0}, set_binds[GANGS][SETS] = {0};
    note_plan(m, l);
    ready_check_plan(m, l);
    for (uint32_t i = 0; i < p->entries_n; i++) {
        const struct plan_entry *e = &p->entries[i];
        int gang = find_gang(l, e->gang);
        if (gang < 0 && strncmp(intern_name(l->w.names, e->gang), "pod/", 4) != 0)
            die(m, "the plan names a gang that is gone: %s", intern_name(l->w.names, e->gang));
        if (e->effect == EFFECT_BIND)
            check_bind(m, l, e);
        if (e->effect == EFFECT_BIND && gang >= 0 && phase_of(l, &l->seen.gangs[gang]) == GANG_CHECKING)
            die(m, "%s is bound before its checks are ready", intern_name(l->w.names, e->gang));
        if (e->effect == EFFECT_EVICT && is_by_priority(e))
            priority_check_victim(m, l, e);
        else if (e->effect == EFFECT_EVICT && e->source == GANG_POD)
            lone_check_victim(m, l, e);
        else if (e->effect == EFFECT_EVICT && e->reason->code == REASON_PREEMPTED)
            check_preempted(m, l, e, gang);
        if (e->effect == EFFECT_BIND && gang >= 0) {
            binds[gang]++;
            set_binds[gang][l->seen.pods[find_pod(l, e->pod)].set]++;
        }
        if ((e->effect != EFFECT_ADMIT && e->effect != EFFECT_RESERVE) || gang < 0)
            continue;
        check_admit(m, l, e, gang);
        if (e->effect == EFFECT_ADMIT)
            floor_check(m, l, gang);
        l->reserved[gang] = e->effect == EFFECT_RESERVE ? l->seen.gangs[gang].serial : 0;
        note_granted(m, l, e, gang);
        l->started[gang] = false;
        l->begun[gang] = 0;
        memset(l->done_gone[gang], 0, sizeof l->done_gone[gang]);
    }
    for (int i = 0; i < GANGS; i++)
        if (binds[i]) {
            check_burst(m, l, i, binds[i]);
            check_later(m, l, i, set_binds[i]);
        }
    floor_note(l);
}

void oracle_check(struct model *m, const struct life *l)
{
    struct err e = {0};
    if (!state_check(l->w.s, &e) || !pending_check(l->w.s, &e))
        die(m, "%s", e.text);
}

void oracle_reasons(struct model *m, const struct life *l)
{
    char key[40];
    if (decide_has_work(l->w.s))
        return; /* not all have been tried */
    for (int i = 0; i < GANGS; i++) {
        const struct m_gang *g = &l->seen.gangs[i];
        enum gang_phase phase = phase_of(l, g);
        if (g->exists && (phase == GANG_WAITING || phase == GANG_CHECKING) &&
            !state_gang_reason(l->w.s, intern_find(l->w.names, bytes_of(gang_key(g, key)))))
            die(m, "%s waits without a reason", gang_key(g, key));
    }
}
