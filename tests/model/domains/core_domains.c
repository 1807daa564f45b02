/* core_domains.c - pod sets in domains of a topology, against a slow reference that counts everything anew for each question
 *
 *   core_domains [SEED [STEPS [RUNS]]]
 *
 * Clusters of up to twelve nodes in trees of one to three levels; workloads of one or two pod sets, or of a leader and its workers, that
 * require, prefer or do not mind a level, with slices and slices within slices, and wish for nodes of a mood. Workloads come and end, nodes
 * come, go, and get other labels; now and then the scheduler begins anew from what the API says. What is admitted, in which domains, and
 * who waits must be what the reference says. Nodes on which somebody stands fail: after a while another is there in the domain that the
 * rest requires, the one that the reference finds, or the Workload has to go, as it has to when a second one fails meanwhile; and some
 * come back in time.
 */
#include <inttypes.h>
#include "base/random.h"
#include "core/queue/lost.h"
#include "reference.h"

enum { GANGS = 10, VALUES = 3 };
#define GPU "nvidia.com/gpu"

struct model {
    struct world w;
    struct random random;
    struct cluster c;
    struct plain_gang gangs[GANGS];
    int serial;
    int replaced_n, evicted_n; /* places of lost nodes, and who had to go */
    bool by_node, prefers, trace;
};

static int pick(struct model *m, int n)
{
    return (int)random_below(&m->random, (uint64_t)n);
}

/* ---- the reference ---- */

static struct usage usage_now(const struct model *m)
{
    struct usage u = {0};
    for (int i = 0; i < GANGS; i++)
        for (int s = 0; s < m->gangs[i].sets_n && m->gangs[i].known && m->gangs[i].admitted; s++)
            for (int k = 0; k < NODES; k++) {
                u.cpu[k] += m->gangs[i].on[s][k] * m->gangs[i].sets[s].cpu;
                u.gpu[k] += m->gangs[i].on[s][k] * m->gangs[i].sets[s].gpu;
                u.pods[k] += m->gangs[i].on[s][k];
            }
    return u;
}

/* ---- the same for the core ---- */

static const char *const level_names[LEVELS + 1] = {"zone", "block", "rack", "kubernetes.io/hostname"};

static const char *level_name(const struct model *m, int level)
{
    return level_names[m->by_node ? LEVELS + 1 - m->c.levels_n + level : level];
}

static const char *value_of(const struct model *m, int node, int level)
{
    if (m->by_node && level == m->c.levels_n - 1)
        return arena_printf(m->w.records, "n%02d", node);
    return arena_printf(m->w.records, "v%d", m->c.nodes[node].value[level]);
}

static const char *leaf_name(const struct model *m, int node)
{
    const char *name = value_of(m, node, m->by_node ? m->c.levels_n - 1 : 0);
    for (int l = 1; l < m->c.levels_n && !m->by_node; l++)
        name = arena_printf(m->w.records, "%s,%s", name, value_of(m, node, l));
    return name;
}

static void tell_node(struct model *m, struct world *w, int at)
{
    const struct plain_node *n = &m->c.nodes[at];
    const char *labels = n->of_flavor ? "tas=yes" : "tas=no", *name = arena_printf(w->records, "n%02d", at);
    for (int l = 0; l < m->c.levels_n; l++)
        if (n->value[l] >= 0)
            labels = arena_printf(w->records, "%s,%s=%s", labels, level_name(m, l), value_of(m, at, l));
    labels = arena_printf(w->records, "%s,mood=m%d", labels, n->mood);
    struct node_record r = a_node(w, name, arena_printf(w->records, "cpu=%d,pods=%d," GPU "=%d", n->cpu, NODE_PODS, n->gpu), labels);
    r.ready = n->ready;
    if (n->known)
        node_record(w, r);
    else
        gone(w, CHANGE_NODE_GONE, name);
}

static void tell_cluster(struct model *m, struct world *w)
{
    struct queue_words q;
    const char *levels = "";
    for (int l = 0; l < m->c.levels_n; l++)
        levels = arena_printf(w->records, "%s%s%s", levels, l ? "," : "", level_name(m, l));
    topology(w, "t", levels);
    topology_flavor(w, "f", "t", "tas=yes");
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "f", "cpu", 1000000, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "f", GPU, 1000000, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
    for (int i = 0; i < NODES; i++)
        if (m->c.nodes[i].known)
            tell_node(m, w, i);
}

static const char *gang_name(const struct model *m, const struct plain_gang *g)
{
    return arena_printf(m->w.records, "g%d", g->serial);
}

static void add_wishes(struct world *w, const struct ask *a, struct shape *to)
{
    struct node_preference *all = arena_zero(w->records, MOODS, sizeof *all);
    for (int i = 0; i < MOODS; i++) {
        if (!a->wish[i])
            continue;
        name_id *value = arena_zero(w->records, 1, sizeof *value);
        struct requirement *r = arena_zero(w->records, 1, sizeof *r);
        *value = id(w, arena_printf(w->records, "m%d", i));
        *r = (struct requirement){.key = id(w, "mood"), .op = REQUIRE_IN, .values = value, .values_n = 1};
        all[to->node_wishes_n++] = (struct node_preference){{.all = r, .all_n = 1}, a->wish[i]};
    }
    to->node_wishes = all;
}

static struct gang_record record_of(struct model *m, struct world *w, const struct plain_gang *g)
{
    struct pod_set *sets = arena_zero(w->records, SETS, sizeof *sets);
    struct gang_record r = a_workload(w, gang_name(m, g), "ns/lq", 1, "cpu=1");
    for (int i = 0; i < g->sets_n; i++) {
        const struct ask *a = &g->sets[i];
        sets[i] = (struct pod_set){.name = id(w, i ? "b" : "a"), .count = a->count, .min_count = a->count};
        const char *asks = arena_printf(w->records, "%s%s", a->cpu ? arena_printf(w->records, "cpu=%d", a->cpu) : "",
                                        a->gpu ? arena_printf(w->records, "%s" GPU "=%d", a->cpu ? "," : "", a->gpu) : "");
        sets[i].shape = shape_of(w, asks, "");
        add_wishes(w, a, &sets[i].shape);
        sets[i].topology = (struct topology_request){.mode = a->mode, .slices_n = (uint32_t)a->layers_n};
        if (a->mode == TOPOLOGY_REQUIRED || a->mode == TOPOLOGY_PREFERRED)
            sets[i].topology.level = id(w, level_name(m, a->level));
        for (int k = 0; k < a->layers_n; k++)
            sets[i].topology.slices[k] = (struct topology_slice){id(w, level_name(m, a->layer_level[k])), a->layer_size[k]};
        sets[i].topology.group = g->group ? id(w, "group") : 0;
    }
    r.created_ms = g->serial;
    r.pod_sets = sets;
    r.pod_sets_n = (uint32_t)g->sets_n;
    return r;
}

/* Leaves that the set was given, by path, which is not the order of nodes; -1: there are fewer. */
static int given_nth(const struct model *m, const struct plain_gang *g, int set, int nth)
{
    for (int i = 0; i < NODES; i++) {
        int before = 0;
        for (int k = 0; k < NODES; k++)
            before += g->given[set][k] && g->given[set][i] && compare_paths(&m->c, k, i, m->c.levels_n - 1) < 0;
        if (g->given[set][i] && before == nth)
            return i;
    }
    return -1;
}

/* The API says that it has what it was given. */
static void tell_admitted(struct model *m, struct world *w, const struct plain_gang *g)
{
    struct gang_record r = record_of(m, w, g);
    struct flavor_choice *choices = arena_zero(w->records, 2 * SETS, sizeof *choices);
    struct domain_choice *domains = arena_zero(w->records, SETS * NODES, sizeof *domains);
    for (int i = 0; i < g->sets_n; i++) {
        for (uint32_t k = 0; k < r.pod_sets[i].shape.requests_n; k++)
            choices[r.choices_n++] = (struct flavor_choice){(uint16_t)i, r.pod_sets[i].shape.requests[k].resource, id(w, "f")};
        if (!r.pod_sets[i].shape.requests_n) /* it asks for nothing, and stands in domains */
            choices[r.choices_n++] = (struct flavor_choice){(uint16_t)i, id(w, "cpu"), id(w, "f")};
        for (int nth = 0, k; (k = given_nth(m, g, i, nth)) >= 0; nth++)
            domains[r.domains_n++] = (struct domain_choice){(uint16_t)i, id(w, leaf_name(m, k)), g->given[i][k]};
    }
    r.admitted = true;
    r.admitted_queue = id(w, "q");
    r.choices = choices;
    r.domains = domains;
    gang_record(w, r);
}

/* ---- what the core did ---- */

static const char *domains_expected(const struct model *m, const struct plain_gang *g)
{
    const char *text = "";
    for (int s = 0; s < g->sets_n; s++)
        for (int nth = 0, at; (at = given_nth(m, g, s, nth)) >= 0; nth++)
            text = arena_printf(m->w.records, "%s%s%s=%d", text, !nth ? s ? "; " : "" : " ", leaf_name(m, at), g->given[s][at]);
    return text;
}

static int failed(struct model *m, const struct plain_gang *g, const char *what, const char *expected)
{
    fprintf(stderr, "%s: %s\n  expected %s\n  core     %s (%s)\n", gang_name(m, g), what, expected, domains_of(&m->w, gang_name(m, g)),
            why(&m->w, gang_name(m, g)));
    return -1;
}

/* WHY  sets go one after the other, each as if it were alone, so that less room can send the first elsewhere, and the second fits then. But
 * only more room makes the core look again. */
static bool may_have_missed_it(const struct plain_gang *g)
{
    return g->sets_n > 1 && !g->group && g->refused;
}

/* Those that wait, in order: the reference lets in who fits, and the core must have done the same. */
static int compare_decisions(struct model *m)
{
    struct usage used = usage_now(m);
    struct err e = {0};
    for (int serial = 0; serial < m->serial; serial++)
        for (int i = 0; i < GANGS; i++) {
            struct plain_gang *g = &m->gangs[i];
            if (!g->known || g->admitted || g->serial != serial)
                continue;
            struct usage before = used;
            bool fits = reference_place(&m->c, &used, g), admitted = entry_of(&m->w, EFFECT_ADMIT, gang_name(m, g)) != NULL;
            if (fits && !admitted && may_have_missed_it(g)) {
                used = before;
                continue;
            }
            if (fits != admitted)
                return failed(m, g, admitted ? "admitted, and cannot stand" : "waits, and could stand",
                              fits ? domains_expected(m, g) : "nothing");
            g->refused = !fits;
            if (!fits)
                continue;
            g->admitted = true;
            if (strcmp(domains_of(&m->w, gang_name(m, g)), domains_expected(m, g)) != 0)
                return failed(m, g, "stands in other domains", domains_expected(m, g));
            outcome(&m->w, EFFECT_ADMIT, gang_name(m, g), NULL, OUTCOME_DONE);
            tell_admitted(m, &m->w, g);
        }
    if (!state_check(m->w.s, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return -1;
    }
    return 0;
}

/* ---- steps ---- */

static void random_ask(struct model *m, struct ask *a, bool units)
{
    *a = (struct ask){.mode = (enum topology_mode)pick(m, 4), .level = pick(m, m->c.levels_n), .count = 1 + pick(m, pick(m, 3) ? 5 : 14)};
    a->cpu = units ? 1 : pick(m, 10) ? 1 + pick(m, 3) : 0;
    a->gpu = units || pick(m, 2) ? 0 : 1 + pick(m, 2);
    bool named = a->mode == TOPOLOGY_REQUIRED || a->mode == TOPOLOGY_PREFERRED;
    for (int i = 0; i < MOODS && !pick(m, 3); i++)
        a->wish[i] = pick(m, 4);
    if (pick(m, 3))
        return;
    a->layers_n = 1;
    a->layer_level[0] = named ? a->level + pick(m, m->c.levels_n - a->level) : pick(m, m->c.levels_n);
    a->layer_size[0] = 1 + pick(m, 4);
    if (a->layer_level[0] + 1 < m->c.levels_n && pick(m, 2)) {
        a->layers_n = 2;
        a->layer_level[1] = a->layer_level[0] + 1 + pick(m, m->c.levels_n - a->layer_level[0] - 1);
        a->layer_size[1] = a->layer_size[0] % 2 ? 1 : 2;
    }
    a->count = a->layer_size[0] * (1 + pick(m, 4)) + (pick(m, 3) ? 0 : pick(m, a->layer_size[0]));
    a->count = pick(m, 12) ? a->count : 1 + pick(m, a->layer_size[0]);
}

static void gang_comes(struct model *m)
{
    struct plain_gang *g = &m->gangs[pick(m, GANGS)];
    if (g->known)
        return;
    *g = (struct plain_gang){.known = true, .serial = m->serial++, .sets_n = pick(m, 4) ? 1 : 2};
    for (int i = 0; i < g->sets_n; i++)
        random_ask(m, &g->sets[i], !m->by_node);
    if (g->sets_n == 2 && pick(m, 2)) {
        g->group = true;
        if (g->sets[0].mode != TOPOLOGY_REQUIRED)
            g->sets[0].mode = TOPOLOGY_PREFERRED;
        g->sets[0].layers_n = 0;
        struct ask leader = g->sets[0];
        leader.count = pick(m, 8) ? 1 : 2; /* two with two and more are no leader and his workers */
        leader.gpu = m->by_node ? pick(m, 2) : 0;
        g->sets[1] = leader;
    }
    gang_record(&m->w, record_of(m, &m->w, g));
}

static void gang_ends(struct model *m)
{
    struct plain_gang *g = &m->gangs[pick(m, GANGS)];
    if (g->known)
        gone(&m->w, CHANGE_GANG_GONE, gang_name(m, g));
    g->known = false;
}

static bool stands_on(const struct model *m, int node)
{
    for (int i = 0; i < GANGS; i++)
        for (int s = 0; s < m->gangs[i].sets_n; s++)
            if (m->gangs[i].known && m->gangs[i].admitted && m->gangs[i].on[s][node])
                return true;
    return false;
}

static void random_node(struct model *m, struct plain_node *n, int at)
{
    *n = (struct plain_node){.known = true, .ready = pick(m, 8) != 0, .of_flavor = pick(m, 8) != 0};
    n->cpu = pick(m, 9);
    n->gpu = pick(m, 5);
    n->mood = pick(m, MOODS);
    for (int l = 0; l < m->c.levels_n; l++)
        n->value[l] = pick(m, 12) ? pick(m, VALUES) : -1;
    if (m->by_node && n->value[m->c.levels_n - 1] >= 0)
        n->value[m->c.levels_n - 1] = at;
}

/* One on which nobody stands comes, goes, or is another one. Where leaves have several nodes, who stands in one may be on any of them. */
static void node_changes(struct model *m)
{
    int at = pick(m, NODES);
    bool leaf_used = false;
    for (int i = 0; i < NODES; i++)
        leaf_used |= stands_on(m, i) && (m->by_node ? i == at : true);
    if (leaf_used)
        return;
    if (m->c.nodes[at].known && !pick(m, 3))
        m->c.nodes[at].known = false;
    else
        random_node(m, &m->c.nodes[at], at);
    tell_node(m, &m->w, at);
}

/* The API tells a new scheduler of everything: it must hold the same. */
static int begins_anew(struct model *m)
{
    struct world fresh = world_new();
    struct model other = *m;
    struct err e = {0};
    int r = 0;
    other.w = fresh;
    other.w.node_wishes = m->prefers;
    tell_cluster(&other, &other.w);
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].known && m->gangs[i].admitted)
            tell_admitted(&other, &other.w, &m->gangs[i]);
    run(&other.w);
    for (int i = 0; i < GANGS && !r; i++) {
        struct plain_gang *g = &m->gangs[i];
        if (g->known && g->admitted && strcmp(domains_of(&other.w, gang_name(&other, g)), domains_expected(&other, g)) != 0)
            r = failed(&other, g, "after a new start it stands elsewhere", domains_expected(&other, g));
    }
    if (!r && !state_check(other.w.s, &e)) {
        fprintf(stderr, "after a new start: %s\n", e.text);
        r = -1;
    }
    if (r) {
        world_free(&other.w);
        return r;
    }
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].known && !m->gangs[i].admitted)
            gang_record(&other.w, record_of(&other, &other.w, &m->gangs[i]));
    run(&other.w);
    world_free(&m->w);
    m->w = other.w;
    return compare_decisions(m);
}

static int on_node(const struct plain_gang *g, int node)
{
    return g->known && g->admitted ? g->given[0][node] + (g->sets_n > 1 ? g->given[1][node] : 0) : 0;
}

static name_id lost_by(struct model *m, const struct plain_gang *g)
{
    return state_gang_lost(m->w.s, id(&m->w, gang_name(m, g)));
}

/* What the core has taken in the place of a lost node where the reference has no rule of its own: slices, groups, stay in their domain. */
static int take_over(struct model *m, struct plain_gang *g, int lost)
{
    const struct domain_choice *all;
    uint32_t n = state_gang_domains(m->w.s, id(&m->w, gang_name(m, g)), &all);
    int sum = 0, first = -1;
    bool wrong = false;
    memset(g->given, 0, sizeof g->given);
    for (uint32_t k = 0; k < n; k++) {
        int node = (int)strtol(text_of(&m->w, all[k].domain) + 1, NULL, 10);
        const struct ask *a = &g->sets[all[k].pod_set];
        first = k && (g->group || all[k - 1].pod_set == all[k].pod_set) ? first : node;
        sum += all[k].count;
        wrong |= node == lost || (a->mode == TOPOLOGY_REQUIRED && compare_paths(&m->c, first, node, a->level) != 0);
        g->given[all[k].pod_set][node] = all[k].count;
    }
    memcpy(g->on, g->given, sizeof g->on);
    wrong |= sum != g->sets[0].count + (g->sets_n > 1 ? g->sets[1].count : 0);
    return wrong ? failed(m, g, "a node was lost, and its places are not where they have to be", domains_expected(m, g)) : 0;
}

/* The wait is over: another node, or the end. */
static int was_replaced(struct model *m, struct plain_gang *g, int lost)
{
    struct plain_gang before = *g;
    struct usage used;
    bool evicted = entry_of(&m->w, EFFECT_EVICT, gang_name(m, g)) != NULL, plain = !g->group, fits = true;
    for (int s = 0; s < g->sets_n; s++)
        plain &= !g->sets[s].layers_n;
    m->evicted_n += evicted;
    m->replaced_n += !evicted;
    if (evicted && !plain)
        return 0; /* what it holds it holds until that was answered */
    if (!plain)
        return take_over(m, g, lost);
    memset(g->on, 0, sizeof g->on); /* in usage_now: what stays of it */
    for (int s = 0; s < g->sets_n; s++)
        for (int i = 0; i < NODES; i++)
            g->on[s][i] = i == lost ? 0 : before.on[s][i];
    used = usage_now(m);
    for (int s = 0; s < g->sets_n && fits; s++)
        fits = !g->given[s][lost] || reference_replace(&m->c, &used, g, s, lost);
    if (fits == evicted)
        return failed(m, g, evicted ? "evicted, and there is another node" : "there is no other node, and it goes on",
                      domains_expected(m, g));
    if (evicted) {
        *g = before;
        return 0;
    }
    if (strcmp(domains_of(&m->w, gang_name(m, g)), domains_expected(m, g)) != 0)
        return failed(m, g, "another node took the place of the lost one", domains_expected(m, g));
    return 0;
}

/* A node on which somebody stands is lost, now and then a second one, or it comes back. All end after that. */
static int node_is_lost(struct model *m)
{
    int at = pick(m, NODES), second = pick(m, 3) ? -1 : pick(m, NODES), r = 0;
    struct err e = {0};
    if (!m->by_node || !stands_on(m, at) || !m->c.nodes[at].known || !m->c.nodes[at].ready)
        return 0;
    const struct plain_node was = m->c.nodes[at];
    bool stays = pick(m, 2) || second == at, back = second == at;
    m->c.nodes[at].known = stays;
    m->c.nodes[at].ready = false;
    tell_node(m, &m->w, at);
    run(&m->w);
    for (int i = 0; i < GANGS && !r; i++)
        if (on_node(&m->gangs[i], at) && lost_by(m, &m->gangs[i]) != id(&m->w, leaf_name(m, at)))
            r = failed(m, &m->gangs[i], "a node was lost, and is not told", "that");
    if (!r && second < 0 && !pick(m, 3))
        r = begins_anew(m); /* and waits anew */
    m->w.now_ms += LOST_WAIT_MS / 2;
    if (back) {
        m->c.nodes[at] = was;
    } else if (second >= 0) {
        m->c.nodes[second].known = false;
    }
    if (second >= 0)
        tell_node(m, &m->w, second);
    run(&m->w);
    for (int i = 0; i < GANGS && !r && second >= 0; i++) {
        bool both = !back && on_node(&m->gangs[i], at) && on_node(&m->gangs[i], second);
        bool evicted = entry_of(&m->w, EFFECT_EVICT, gang_name(m, &m->gangs[i])) != NULL;
        m->evicted_n += evicted;
        if (m->gangs[i].known && m->gangs[i].admitted && both != evicted)
            r = failed(m, &m->gangs[i], "two nodes were lost", both ? "evicted" : "it goes on");
    }
    m->w.now_ms += LOST_WAIT_MS;
    run(&m->w);
    for (int serial = 0; serial < m->serial && second < 0; serial++)
        for (int i = 0; i < GANGS && !r; i++)
            if (m->gangs[i].serial == serial && on_node(&m->gangs[i], at))
                r = was_replaced(m, &m->gangs[i], at);
    for (int i = 0; i < GANGS && !r && back; i++)
        if (on_node(&m->gangs[i], at) && strcmp(domains_of(&m->w, gang_name(m, &m->gangs[i])), domains_expected(m, &m->gangs[i])) != 0)
            r = failed(m, &m->gangs[i], "its node was back in time, and it stands elsewhere", domains_expected(m, &m->gangs[i]));
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].known && m->gangs[i].admitted) {
            gone(&m->w, CHANGE_GANG_GONE, gang_name(m, &m->gangs[i]));
            m->gangs[i].known = false;
        }
    run(&m->w);
    if (!r && !state_check(m->w.s, &e)) {
        fprintf(stderr, "after a node was lost: %s\n", e.text);
        return -1;
    }
    return r ? r : compare_decisions(m);
}

static int step(struct model *m)
{
    int what = pick(m, 20);
    if (what < 9)
        gang_comes(m);
    else if (what < 14)
        gang_ends(m);
    else if (what < 18)
        node_changes(m);
    else if (what < 19)
        return begins_anew(m);
    else
        return node_is_lost(m);
    run(&m->w);
    return compare_decisions(m);
}

static void print_world(const struct model *m)
{
    for (int i = 0; i < NODES; i++) {
        const struct plain_node *n = &m->c.nodes[i];
        if (!n->known)
            continue;
        fprintf(stderr, "  n%02d cpu %d gpu %d%s%s:", i, n->cpu, n->gpu, n->ready ? "" : " not ready", n->of_flavor ? "" : " other flavor");
        for (int l = 0; l < m->c.levels_n; l++)
            fprintf(stderr, " %d", n->value[l]);
        fprintf(stderr, "\n");
    }
    for (int i = 0; i < GANGS; i++)
        for (int s = 0; s < m->gangs[i].sets_n && m->gangs[i].known; s++) {
            const struct ask *a = &m->gangs[i].sets[s];
            fprintf(stderr, "  g%d%s%s: %d x cpu %d gpu %d, mode %d level %d", m->gangs[i].serial, m->gangs[i].group ? " group" : "",
                    m->gangs[i].admitted ? " runs" : "", a->count, a->cpu, a->gpu, (int)a->mode, a->level);
            for (int k = 0; k < a->layers_n; k++)
                fprintf(stderr, ", %d on level %d", a->layer_size[k], a->layer_level[k]);
            fprintf(stderr, "\n");
        }
}

/* False: a fault. */
static bool one_run(uint64_t seed, int steps, uint64_t *gangs, uint64_t *replaced, uint64_t *evicted)
{
    struct model m = {.random = {seed}};
    int r = 0, at = 0;
    m.w = world_new();
    m.c.levels_n = 1 + pick(&m, LEVELS);
    m.by_node = pick(&m, 4) != 0;
    m.prefers = pick(&m, 2);
    m.w.node_wishes = m.prefers;
    m.c.wishes = m.prefers && m.by_node;
    for (int i = 0; i < NODES; i++)
        if (pick(&m, 4))
            random_node(&m, &m.c.nodes[i], i);
    tell_cluster(&m, &m.w);
    for (; at < steps && !r; at++)
        r = step(&m);
    if (r) {
        fprintf(stderr, "core_domains: seed %" PRIu64 ", step %d, %d levels%s\n", seed, at, m.c.levels_n,
                m.by_node ? " down to nodes" : "");
        print_world(&m);
    }
    world_free(&m.w);
    *gangs += (uint64_t)m.serial;
    *replaced += (uint64_t)m.replaced_n;
    *evicted += (uint64_t)m.evicted_n;
    return !r;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 60;
    uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 2000, gangs = 0, replaced = 0, evicted = 0;
    for (uint64_t i = 0; i < runs; i++)
        if (!one_run(seed + i, (int)steps, &gangs, &replaced, &evicted))
            return 1;
    printf("# %" PRIu64 " workloads in domains, %" PRIu64 " on another node in the place of one that failed, %" PRIu64 " evicted\n", gangs,
           replaced, evicted);
    return gangs && replaced && evicted ? 0 : 1;
}
