/* core_remedy.c - does what is said to help really help? Random clusters, every remedy carried out to the letter
 *
 *   core_remedy [SEED [CLUSTERS]]
 *
 * For each gang that waits with a list of remedies, a new core is fed with the same cluster, the changes of one remedy are made to it, and
 * the next cycle must start the gang, or evict others for it and start it once they have left; with any change left out, or any amount one
 * less, it must do neither. Where the list is empty, no single change of any kind starts it, however large, nor the lowest minimum.
 */
#include <inttypes.h>
#include "../unit/core/world.h"
#include "base/random.h"
#include "core/explain/remedy.h"
#include "core/state/model.h"

#define BEGIN_MS 1000000
#define LOOK_AGAIN_MS 10000
enum { NODES = 5, QUEUES = 4, FLAVORS = 2, RES_N = 3, FILLERS = 10, WAITERS = 6, GANGS = FILLERS + WAITERS, PODS = 4, REST = 20,
       KINDS = REASON_CHANGE_FLOOR - REASON_CHANGE_QUOTA + 1 };
static const char *const resources[RES_N] = {"cpu", "nvidia.com/gpu", "memory"};
static const char *const flavors[FLAVORS] = {"fa", "fb"};

struct plain_node {
    int64_t room[RES_N];
    int kind;
    bool cordoned, named, exists;
};
struct plain_queue {
    bool in_cohort, strict, borrow_stops;
    bool stopped, local_stopped; /* when the waiters come; local: the LocalQueue that some of its gangs go through */
    enum preemption_policy within, reclaim, borrow;
    bool preempt_stops, level_first;
    int threshold;             /* -1: none */
    int64_t nominal[FLAVORS][RES_N], borrowing[FLAVORS][RES_N], lending[FLAVORS][RES_N];
};
enum type { TYPE_PLANNED, TYPE_GROUP, TYPE_POD };
struct plain_gang {
    enum type type;
    int queue;                 /* -1: none */
    int task_min;              /* of a group of two kinds: so many of the second at least */
    int sets_n, count[2], fewest[2], priority, min_members, kind[2];
    bool through_local;        /* names the LocalQueue of its queue */
    int64_t ask[2][RES_N];
    int64_t floor[RES_N];      /* of a group: all nodes together must have so much free */
};
struct model {
    struct plain_node nodes[NODES];
    struct plain_queue queues[QUEUES];
    struct plain_gang gangs[GANGS];
    bool over[GANGS];          /* of the fillers: ended again before the others came */
    bool volcano;              /* queues without flavors */
    bool one_by_one;           /* the waiters come a second apart: who comes later may take what those before were told of */
    bool settled;              /* whom others went for at first have left */
    struct fair_policy fair;
    struct random random;
    uint64_t seed;
};
static uint64_t remedies_n, impossible_n, unknown_n, joint_n, trials_n, preempting_n, promised_n, lowered_n, kinds_n[KINDS];

static uint32_t pick(struct model *m, uint32_t n)
{
    return (uint32_t)random_below(&m->random, n);
}

/* ---- a random cluster ---- */

static void draw_gang(struct model *m, struct plain_gang *g)
{
    g->type = (enum type)(pick(m, 4) ? 0 : 1 + pick(m, 2));
    g->queue = g->type == TYPE_PLANNED                             ? (int)pick(m, QUEUES)
               : g->type == TYPE_GROUP && m->volcano && pick(m, 2) ? (int)pick(m, QUEUES)
                                                                   : -1;
    if (m->volcano && g->type == TYPE_PLANNED && !pick(m, 3))
        g->queue = -1;
    g->through_local = g->type == TYPE_PLANNED && g->queue >= 0 && !m->volcano && pick(m, 2);
    g->sets_n = g->type == TYPE_POD ? 1 : 1 + !pick(m, 4);
    g->priority = (int)pick(m, 3);
    for (int i = 0; i < g->sets_n; i++) {
        g->kind[i] = i && pick(m, 2) ? g->kind[0] : pick(m, 4) ? -1 : (int)pick(m, 2);
        g->count[i] = g->type == TYPE_POD ? 1 : 1 + (int)pick(m, PODS);
        g->fewest[i] = pick(m, 4) ? g->count[i] : 1 + (int)pick(m, (uint32_t)g->count[i]);
        g->ask[i][0] = 500 * (1 + (int64_t)pick(m, 8));
        g->ask[i][1] = pick(m, 3) ? 1 + (int64_t)pick(m, 4) : 0;
        g->ask[i][1] = pick(m, 25) ? g->ask[i][1] : 9;
        g->ask[i][2] = pick(m, 3) ? 0 : 1 + (int64_t)pick(m, 40);
    }
    g->min_members = g->type == TYPE_GROUP ? 1 + (int)pick(m, (uint32_t)(g->count[0] + g->count[1] + !pick(m, 3))) : 1;
    g->task_min = g->type == TYPE_GROUP && g->sets_n > 1 && pick(m, 2) ? (int)pick(m, (uint32_t)g->count[1] + 2) : 0;
}

static void draw_policies(struct model *m, struct plain_queue *q)
{
    static const enum preemption_policy within[] = {PREEMPT_NEVER, PREEMPT_LOWER_PRIORITY, PREEMPT_LOWER_OR_NEWER_EQUAL_PRIORITY},
                                        reclaim[] = {PREEMPT_NEVER, PREEMPT_LOWER_PRIORITY, PREEMPT_ANY};
    q->within = within[pick(m, 3)];
    q->reclaim = reclaim[pick(m, 3)];
    q->borrow = q->reclaim != PREEMPT_NEVER && pick(m, 2) ? PREEMPT_LOWER_PRIORITY : PREEMPT_NEVER;
    q->threshold = (int)pick(m, 4) - 1;
    q->preempt_stops = !pick(m, 4);
    q->level_first = !pick(m, 3);
}

static void draw_queue(struct model *m, struct plain_queue *q)
{
    q->in_cohort = pick(m, 3) > 0;
    q->strict = !pick(m, 4);
    q->borrow_stops = pick(m, 2);
    q->stopped = !m->volcano && !pick(m, 6);
    q->local_stopped = !m->volcano && !pick(m, 6);
    for (int f = 0; f < FLAVORS; f++)
        for (int r = 0; r < RES_N; r++) {
            q->nominal[f][r] = r == 0 ? 1000 * (int64_t)pick(m, 16) : r == 1 ? (int64_t)pick(m, 10) : (int64_t)pick(m, 100);
            q->borrowing[f][r] = pick(m, 3) ? NO_LIMIT : (int64_t)pick(m, 5) * (r == 0 ? 1000 : 1);
            q->lending[f][r] = pick(m, 3) ? NO_LIMIT : (int64_t)pick(m, 5) * (r == 0 ? 1000 : 1);
        }
}

/* Small jobs with and without selectors, of which some have ended; who comes then asks for more than any node has left, and quota is seldom
 * short: there somebody may be moved. */
static void draw_scattered(struct model *m)
{
    for (int i = 0; i < NODES; i++) {
        m->nodes[i].exists = i < 3 || pick(m, 2);
        m->nodes[i].cordoned = !pick(m, 12);
        m->nodes[i].room[0] = 64000;
        m->nodes[i].room[1] = 4 << pick(m, 2);
    }
    for (int i = 0; i < QUEUES; i++) {
        struct plain_queue *q = &m->queues[i];
        q->stopped = q->local_stopped = false;
        q->within = pick(m, 6) ? PREEMPT_NEVER : q->within;
        q->reclaim = q->borrow = PREEMPT_NEVER;
        for (int f = 0; f < FLAVORS; f++)
            for (int r = 0; r < RES_N; r++)
                q->nominal[f][r] = pick(m, 12) ? 1000000 : q->nominal[f][r];
    }
    for (int i = 0; i < GANGS; i++) {
        struct plain_gang *g = &m->gangs[i];
        g->type = i < FILLERS && pick(m, 8) ? TYPE_PLANNED : g->type;
        g->queue = g->type == TYPE_PLANNED ? (int)pick(m, QUEUES) : g->queue;
        m->over[i] = !pick(m, 3);
        for (int k = 0; k < g->sets_n; k++) {
            g->kind[k] = pick(m, 3) ? -1 : (int)pick(m, 2);
            g->count[k] = g->type == TYPE_POD ? 1 : 1 + (int)pick(m, i < FILLERS ? 2 : 3);
            g->fewest[k] = g->count[k];
            g->ask[k][0] = 500;
            g->ask[k][1] = i < FILLERS ? 1 + (int64_t)pick(m, 3) : 2 + (int64_t)pick(m, 5);
        }
        g->min_members = g->type == TYPE_GROUP ? g->count[0] + (g->sets_n > 1 ? g->count[1] : 0) : 1;
        g->task_min = 0;
    }
}

static void draw(struct model *m, uint64_t seed)
{
    memset(m, 0, sizeof *m);
    m->random.state = m->seed = seed;
    m->volcano = !pick(m, 4);
    bool tight_nodes = pick(m, 3);
    for (int i = 0; i < NODES; i++) {
        struct plain_node *n = &m->nodes[i];
        n->exists = i < 2 || pick(m, 3);
        n->kind = (int)pick(m, 2);
        n->cordoned = !pick(m, 6);
        n->named = !pick(m, 3);
        n->room[0] = tight_nodes ? 4000 + 1000 * (int64_t)pick(m, 12) : 64000;
        n->room[1] = pick(m, 4) ? (tight_nodes ? 2 << pick(m, 3) : 16) : 0;
        n->room[2] = tight_nodes ? 64 : 1000;
    }
    for (int i = 0; i < QUEUES; i++)
        draw_queue(m, &m->queues[i]);
    for (int i = 0, n = pick(m, 3) ? (int)pick(m, QUEUES + 1) : 0; i < n && !m->volcano; i++)
        draw_policies(m, &m->queues[i]);
    m->settled = pick(m, 3);
    m->one_by_one = pick(m, 2);
    if (!pick(m, 4))
        m->fair = (struct fair_policy){.on = true,
                                       .strategies_n = pick(m, 3),
                                       .strategies = {FAIR_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, FAIR_LESS_THAN_INITIAL_SHARE}};
    for (int i = 0; i < GANGS; i++) {
        draw_gang(m, &m->gangs[i]);
        m->gangs[i].priority += i >= FILLERS ? (int)pick(m, 2) : 0;
        m->over[i] = !pick(m, 4);
    }
    if (seed % 4 == 0)
        draw_scattered(m);
    for (int i = FILLERS; i < GANGS; i++) /* of one group in two so many eighths of what all nodes have */
        for (int at = 0; at < 2 * NODES && m->gangs[i].type == TYPE_GROUP && (seed + (uint64_t)i) % 2; at++) {
            int64_t room = m->nodes[at / 2].exists ? m->nodes[at / 2].room[at % 2] : 0, parts = (int64_t)(seed / 2 % 8) + i + at % 2;
            m->gangs[i].floor[at % 2] += room * (parts % 8) / 8;
        }
}

/* ---- telling it to a core ---- */

static void tell_node(struct world *w, const struct model *m, int i)
{
    const struct plain_node *n = &m->nodes[i];
    char name[16], amounts[128];
    struct device devices[64];
    if (!n->exists)
        return;
    snprintf(name, sizeof name, "n%d", i);
    snprintf(amounts, sizeof amounts, "pods=110,cpu=%" PRId64 ",memory=%" PRId64 ",nvidia.com/gpu=%" PRId64, n->room[0], n->room[2],
             n->room[1]);
    struct node_record r = a_node(w, name, amounts, n->kind ? "kind=b" : "kind=a");
    r.unschedulable = n->cordoned;
    for (int64_t k = 0; n->named && k < n->room[1] && k < 64; k++) {
        char text[16];
        snprintf(text, sizeof text, "gpu-%d", (int)k);
        devices[r.devices_n++] = (struct device){
            .resource = id(w, resources[1]), .id = id(w, text), .gpu = (uint16_t)k, .link_group = (uint16_t)(k / 4), .healthy = true};
    }
    r.devices = devices;
    node_record(w, r);
}

static const char *queue_name(const struct model *m, int i, char out[24])
{
    snprintf(out, 24, m->volcano ? "volcano:q%d" : "q%d", i);
    return out;
}

static const char *local_name(int i, char out[24])
{
    snprintf(out, 24, "ns/l%d", i);
    return out;
}

static void tell_local(struct world *w, const struct model *m, int i, bool may_stop)
{
    char name[24], key[24];
    struct local_queue_record r = {.key = id(w, local_name(i, key)), .ns = id(w, "ns"), .queue = id(w, queue_name(m, i, name))};
    r.stop = may_stop && m->queues[i].local_stopped ? STOP_HOLD : STOP_NONE;
    if (!m->volcano)
        state_apply(w->s, &(struct change){.type = CHANGE_LOCAL_QUEUE, .local_queue = r});
}

/* `late`: when the waiters come, and the queue may be stopped or preempt. */
static void tell_queue(struct world *w, const struct model *m, int i, bool late)
{
    const struct plain_queue *q = &m->queues[i];
    struct queue_words words;
    char name[24];
    queue_begin(w, &words, queue_name(m, i, name), q->in_cohort && !m->volcano ? "co" : "");
    words.r.stop = late && q->stopped ? STOP_HOLD : STOP_NONE;
    if (late) {
        words.r.within_queue = q->within;
        words.r.reclaim_within_cohort = q->reclaim;
        words.r.borrow_within_cohort = q->borrow;
        words.r.has_borrow_threshold = q->threshold >= 0;
        words.r.borrow_threshold = q->threshold;
        words.r.preempt_before_next_flavor = q->preempt_stops;
        words.r.preempt_before_borrowing = q->level_first;
    }
    words.r.strategy = q->strict ? QUEUE_STRICT_FIFO : QUEUE_BEST_EFFORT_FIFO;
    words.r.borrow_before_next_flavor = q->borrow_stops;
    for (int f = 0; f < (m->volcano ? 1 : FLAVORS); f++)
        for (int r = 0; r < RES_N; r++)
            queue_quota(w, &words, m->volcano ? "" : flavors[f], resources[r], q->nominal[f][r], q->borrowing[f][r], q->lending[f][r]);
    if (!m->volcano) {
        queue_done(w, &words);
        return;
    }
    words.r.unlimited = true;
    words.r.quotas = words.quotas;
    state_apply(w->s, &(struct change){.type = CHANGE_QUEUE, .queue = words.r});
}

static const char *requests_of(struct world *w, const struct plain_gang *g, int set)
{
    char text[128];
    int n = snprintf(text, sizeof text, "cpu=%" PRId64, g->ask[set][0]);
    for (int r = 1; r < RES_N; r++)
        if (g->ask[set][r])
            n += snprintf(text + n, sizeof text - (size_t)n, ",%s=%" PRId64, resources[r], g->ask[set][r]);
    return arena_text(w->records, text);
}

static const char *gang_key(const struct plain_gang *g, int i, char out[32])
{
    snprintf(out, 32, g->type == TYPE_POD ? "pod/ns/p%d-0" : g->type == TYPE_GROUP ? "group/ns/g%d" : "workload/ns/g%d", i);
    return out;
}

static const char *kind_of(const struct plain_gang *g, int set)
{
    return g->kind[set] < 0 ? "" : g->kind[set] ? "kind=b" : "kind=a";
}

static const char *const set_names[2] = {"main", "second"};

static const char *pod_key(int gang, int set, int k, char out[32])
{
    snprintf(out, 32, "ns/p%d-%d", gang, 100 * set + k);
    return out;
}

static void tell_pods(struct world *w, const struct plain_gang *g, int i, int set, int from)
{
    char gang[32], name[32];
    for (int k = from; k < g->count[set]; k++) {
        struct pod_record p =
            a_pod(w, pod_key(i, set, k, name), g->type == TYPE_POD ? "" : gang_key(g, i, gang), requests_of(w, g, set));
        p.shape.node_labels = labels_of(w, kind_of(g, set), &p.shape.node_labels_n);
        p.pod_set = g->sets_n > 1 ? id(w, set_names[set]) : 0;
        p.priority = g->priority;
        pod_record(w, p);
    }
}

static bool waits(struct world *w, const struct model *m, int i)
{
    char key[32];
    return state_gang_phase(w->s, id(w, gang_key(&m->gangs[i], i, key))) == GANG_WAITING;
}

static const struct gang *gang_of(struct world *w, const struct model *m, int gang)
{
    char key[32];
    return gang_find(w->s, id(w, gang_key(&m->gangs[gang], gang, key)));
}

static struct gang_record record_of(struct world *w, const struct model *m, int i)
{
    const struct plain_gang *g = &m->gangs[i];
    char key[32], queue[24];
    gang_key(g, i, key);
    struct gang_record r = a_group(w, key, g->queue < 0 ? NULL : queue_name(m, g->queue, queue), g->min_members);
    if (g->through_local) {
        r.queue = 0;
        r.local_queue = id(w, local_name(g->queue, queue));
    }
    r.created_ms = 1000 + i;
    r.priority = g->priority;
    if (g->type == TYPE_PLANNED) {
        struct pod_set *sets = arena_zero(w->records, 2, sizeof *sets);
        for (int k = 0; k < g->sets_n; k++) {
            sets[k] = (struct pod_set){.name = id(w, set_names[k]),
                                       .shape = shape_of(w, requests_of(w, g, k), kind_of(g, k)),
                                       .count = g->count[k],
                                       .min_count = g->fewest[k]};
        }
        r.source = GANG_WORKLOAD;
        r.planned = true;
        r.pod_sets = sets;
        r.pod_sets_n = (uint32_t)g->sets_n;
    }
    if (g->task_min && g->min_members >= g->task_min) { /* else it does not count: flow.h */
        struct amount *least = arena_zero(w->records, 1, sizeof *least);
        *least = (struct amount){id(w, set_names[1]), g->task_min};
        r.min_of_task = least;
        r.min_of_task_n = 1;
    }
    if (g->floor[0] + g->floor[1])
        floor_of(w, &r, arena_printf(w->records, "cpu=%" PRId64 ",nvidia.com/gpu=%" PRId64, g->floor[0], g->floor[1]));
    return r;
}

static void tell_gang(struct world *w, const struct model *m, int i)
{
    if (m->gangs[i].type != TYPE_POD)
        gang_record(w, record_of(w, m, i));
}

static void submit(struct world *w, const struct model *m, int i)
{
    tell_gang(w, m, i);
    for (int set = 0; set < m->gangs[i].sets_n && m->gangs[i].type != TYPE_PLANNED; set++)
        tell_pods(w, &m->gangs[i], i, set, 0);
}

/* But for its object: nobody makes its pods anew. */
static void end_pods(struct world *w, const struct model *m, int i)
{
    const struct plain_gang *g = &m->gangs[i];
    char key[32];
    for (int set = 0; set < g->sets_n && g->type != TYPE_PLANNED; set++)
        for (int k = 0; k < g->count[set]; k++)
            gone(w, CHANGE_POD_GONE, pod_key(i, set, k, key));
}

static void end_gang(struct world *w, const struct model *m, int i)
{
    char key[32];
    end_pods(w, m, i);
    if (m->gangs[i].type != TYPE_POD)
        gone(w, CHANGE_GANG_GONE, gang_key(&m->gangs[i], i, key));
}

static int index_of(const char *name)
{
    const char *at = name + strlen(name);
    while (at > name && !strchr("nqlgp", at[-1]))
        at--;
    return (int)strtol(at, NULL, 10);
}

/* Who is told to leave has left by the next cycle. */
static void answer_all(struct world *w, const struct model *m)
{
    for (uint32_t i = 0; i < w->plan.entries_n; i++) {
        const struct plan_entry *e = &w->plan.entries[i];
        int gang = index_of(text_of(w, e->gang));
        if (e->effect == EFFECT_ADMIT || e->effect == EFFECT_EVICT)
            outcome(w, e->effect, text_of(w, e->gang), e->pod ? text_of(w, e->pod) : NULL, OUTCOME_DONE);
        if (e->effect == EFFECT_EVICT && e->pod)
            gone(w, CHANGE_POD_GONE, text_of(w, e->pod));
        else if (e->effect == EFFECT_EVICT && m->gangs[gang].type != TYPE_PLANNED)
            end_pods(w, m, gang);
        else if (e->effect == EFFECT_EVICT)
            tell_gang(w, m, gang); /* it wants to be let in again */
    }
}

static void cycle(struct world *w, bool remedies)
{
    struct decide_config config = {.no_remedies = !remedies, .fair = w->fair};
    arena_reset(w->cycle);
    decide(w->s, &config, w->now_ms, w->cycle, &w->plan);
}

static struct world build(const struct model *m, bool remedies)
{
    struct world w = world_new();
    w.fair = m->fair;
    flavor(&w, "fa", "kind=a");
    flavor(&w, "fb", "kind=b");
    for (int i = 0; i < NODES; i++)
        tell_node(&w, m, i);
    for (int i = 0; i < QUEUES; i++) {
        tell_queue(&w, m, i, false);
        tell_local(&w, m, i, false);
    }
    for (int i = 0; i < FILLERS; i++)
        submit(&w, m, i);
    cycle(&w, remedies);
    answer_all(&w, m);
    for (int i = 0; i < FILLERS; i++)
        if (m->over[i] || waits(&w, m, i))
            end_gang(&w, m, i);
    cycle(&w, remedies);
    answer_all(&w, m);
    for (int i = 0; i < QUEUES; i++) {
        tell_queue(&w, m, i, true);
        tell_local(&w, m, i, true);
    }
    for (int i = FILLERS; i < GANGS; i++) {
        submit(&w, m, i);
        if (!m->one_by_one || i + 1 == GANGS)
            continue;
        cycle(&w, remedies);
        answer_all(&w, m);
        w.now_ms += 1000;
    }
    cycle(&w, remedies);
    for (int i = 0; i < REST && m->settled && effects(&w, EFFECT_EVICT); i++) {
        answer_all(&w, m);
        cycle(&w, remedies);
    }
    for (int i = 0; i < REST; i++) { /* until a cycle does nothing but tell what would help, also those that have too few members */
        bool evicts = effects(&w, EFFECT_EVICT), idle = effects(&w, EFFECT_EXPLAIN) == w.plan.entries_n;
        if (!evicts)
            answer_all(&w, m);
        if (idle && i)
            break;
        w.now_ms += LOOK_AGAIN_MS;
        cycle(&w, remedies);
    }
    for (int i = 0; i < 2; i++) { /* what was told is older than what others have taken since */
        w.now_ms += LOOK_AGAIN_MS;
        cycle(&w, remedies);
    }
    return w;
}

/* ---- changing it ---- */

static int resource_index(struct world *w, name_id resource)
{
    for (int r = 0; r < RES_N; r++)
        if (id(w, resources[r]) == resource)
            return r;
    return -1;
}

/* A program that knows only what is written. */
static void carry_out(struct world *w, struct model *m, const struct reason *change, int64_t amount)
{
    int r = resource_index(w, change->resource), at;
    switch ((int)change->code) {
    case REASON_CHANGE_QUOTA:
        at = index_of(text_of(w, change->queue));
        m->queues[at].nominal[change->flavor == id(w, "fb")][r] += amount;
        tell_queue(w, m, at, true);
        break;
    case REASON_CHANGE_FREE:
        at = index_of(text_of(w, change->name));
        m->nodes[at].room[r] += amount;
        tell_node(w, m, at);
        break;
    case REASON_CHANGE_UNCORDON:
        at = index_of(text_of(w, change->name));
        m->nodes[at].cordoned = false;
        tell_node(w, m, at);
        break;
    case REASON_CHANGE_RESUME:
        at = index_of(text_of(w, change->name));
        if (change->have)
            m->queues[at].local_stopped = false;
        else
            m->queues[at].stopped = false;
        if (change->have)
            tell_local(w, m, at, true);
        else
            tell_queue(w, m, at, true);
        break;
    case REASON_CHANGE_MEMBERS:
        at = index_of(text_of(w, change->name));
        r = change->flavor == id(w, set_names[1]);
        m->gangs[at].count[r] += (int)amount;
        tell_pods(w, &m->gangs[at], at, r, m->gangs[at].count[r] - (int)amount);
        break;
    case REASON_CHANGE_MINIMUM:
        at = index_of(text_of(w, change->name));
        if (m->gangs[at].type == TYPE_PLANNED)
            m->gangs[at].fewest[change->flavor == id(w, set_names[1])] -= (int)amount;
        else if (change->flavor)
            m->gangs[at].task_min -= (int)amount;
        else
            m->gangs[at].min_members -= (int)amount;
        tell_gang(w, m, at);
        break;
    case REASON_CHANGE_FLOOR:
        at = index_of(text_of(w, change->name));
        m->gangs[at].floor[r] -= amount;
        tell_gang(w, m, at);
        break;
    case REASON_CHANGE_END:
        end_gang(w, m, index_of(text_of(w, change->name)));
        break;
    case REASON_CHANGE_MOVE: /* move_all has */
        break;
    default:
        fprintf(stderr, "# a change that nobody can make: %s\n", reason_code_name(change->code));
        exit(1);
    }
}

/* `started` false: or others are told to go for it. */
static bool acts(struct world *w, const struct model *m, int gang, bool started)
{
    char key[32];
    return !waits(w, m, gang) || entry_of(w, EFFECT_ADMIT, gang_key(&m->gangs[gang], gang, key)) ||
           (!started && gang_of(w, m, gang)->promise);
}

/* Once those have left who were told to go for it, and for others. */
static bool comes_to_start(struct world *w, const struct model *m, int gang)
{
    for (int i = 0; i < REST && !acts(w, m, gang, true) && acts(w, m, gang, false); i++) {
        preempting_n += i == 0;
        answer_all(w, m);
        cycle(w, false);
    }
    return acts(w, m, gang, true);
}

/* ---- moving ---- */

static bool holds(struct world *w, const char *requests, name_id node_name)
{
    uint32_t slot = node_table_find(&w->s->nodes, node_name), n;
    const struct amount *all = amounts_of(w, requests, &n);
    bool enough = true;
    for (uint32_t i = 0; i < n; i++)
        enough &= node_free(&w->s->nodes, slot)[node_table_find_column(&w->s->nodes, all[i].resource)] >= all[i].value;
    return enough;
}

/* It runs there, with the flavors that it had, as a scheduler that begins anew would be told. False: there is no room. */
static bool runs_at(struct world *w, struct model *m, const struct reason *change, struct gang_record r)
{
    int gang = index_of(text_of(w, change->name)), n[2] = {0, 0};
    const struct plain_gang *g = &m->gangs[gang];
    char key[32];
    gang_record(w, r);
    for (const struct reason *to = change->child; to; to = to->next) {
        int set = to->pod_set == id(w, set_names[1]);
        for (int64_t i = 0; i < to->need; i++) {
            if (!holds(w, requests_of(w, g, set), to->name))
                return false;
            struct pod_record p = a_pod(w, pod_key(gang, set, n[set]++, key), text_of(w, r.key), requests_of(w, g, set));
            p.shape = r.pod_sets[set].shape;
            p.pod_set = id(w, set_names[set]);
            p.node = to->name;
            p.phase = POD_RUNNING;
            pod_record(w, p);
        }
    }
    return true;
}

static bool move_all(struct world *w, struct model *m, const struct reason *remedy, int left_out)
{
    struct gang_record records[REMEDY_MEASURES];
    int at = 0;
    for (const struct reason *change = remedy->child; change; change = change->next, at++) {
        if (change->code != REASON_CHANGE_MOVE || at == left_out)
            continue;
        struct gang_record *r = &records[at];
        const struct flavor_choice *choices;
        *r = record_of(w, m, index_of(text_of(w, change->name)));
        r->choices_n = state_gang_choices(w->s, change->name, &r->admitted_queue, &choices);
        struct flavor_choice *kept = arena_alloc(w->records, (r->choices_n + 1) * sizeof *kept);
        if (r->choices_n)
            memcpy(kept, choices, r->choices_n * sizeof *kept);
        r->choices = kept;
        r->admitted = true;
        r->reserved_ms = 1000;
        for (uint32_t i = 0; i < r->pod_sets_n; i++)
            ((struct pod_set *)r->pod_sets)[i].granted = state_gang_granted(w->s, change->name, r->pod_sets[i].name);
        end_gang(w, m, index_of(text_of(w, change->name)));
    }
    at = 0;
    bool fits = true;
    for (const struct reason *change = remedy->child; change && fits; change = change->next, at++)
        fits = change->code != REASON_CHANGE_MOVE || at == left_out || runs_at(w, m, change, records[at]);
    return fits;
}

/* Left out: index of a change, -1 none; less: index of a change whose amount is one less. With all of it, it must come to start; with less
 * it must not even have others go for it. */
static bool starts_with(const struct model *cluster, const struct reason *remedy, int gang, int left_out, int less)
{
    struct model m = *cluster;
    struct world w = build(&m, false);
    int at = 0;
    if (!move_all(&w, &m, remedy, left_out)) {
        world_free(&w);
        return false;
    }
    for (const struct reason *change = remedy->child; change; change = change->next, at++)
        if (at != left_out)
            carry_out(&w, &m, change, change->need - (at == less));
    cycle(&w, false);
    bool whole = left_out < 0 && less < 0, starts = whole ? comes_to_start(&w, &m, gang) : acts(&w, &m, gang, false);
    world_free(&w);
    trials_n++;
    return starts;
}

static void fail(const struct model *m, struct world *w, int gang, const struct reason *why, const char *what)
{
    struct buf b;
    buf_init(&b);
    explain_tree(&b, why, w->names);
    fprintf(stderr, "core_remedy: %s: gang %d\n%s# again: core_remedy %" PRIu64 " 1\n", what, gang, b.data ? b.data : "", m->seed);
    exit(1);
}

static int64_t used_on(struct world *w, name_id node_name, name_id resource)
{
    uint32_t slot = node_table_find(&w->s->nodes, node_name);
    int32_t column = slot ? node_table_find_column(&w->s->nodes, resource) : -1;
    return column < 0 ? 0 : node_allocatable(&w->s->nodes, slot)[column] - node_free(&w->s->nodes, slot)[column];
}

static void check_remedy(const struct model *m, struct world *w, int gang, const struct reason *why, const struct reason *remedy)
{
    int at = 0;
    remedies_n++;
    joint_n += remedy->child->next != NULL;
    if (!starts_with(m, remedy, gang, -1, -1))
        fail(m, w, gang, why, remedy->child->next ? "it does not start, by several changes" : reason_code_name(remedy->child->code));
    for (const struct reason *change = remedy->child; change; change = change->next, at++) {
        if (change->code == REASON_CHANGE_FREE && change->need > used_on(w, change->name, change->resource))
            fail(m, w, gang, why, "more is to come free than is used");
        kinds_n[change->code - REASON_CHANGE_QUOTA]++;
        if (starts_with(m, remedy, gang, at, -1))
            fail(m, w, gang, why, arena_printf(w->records, "it starts without change %d of one remedy", at));
        if (change->need > 1 && change->code != REASON_CHANGE_MOVE && starts_with(m, remedy, gang, -1, at))
            fail(m, w, gang, why, arena_printf(w->records, "it starts with one less in change %d of one remedy", at));
    }
}

static void must_not_help(const struct model *m, struct world *w, int gang, const struct reason *why, struct reason change)
{
    struct reason remedy = {.code = REASON_REMEDY, .child = &change};
    if (starts_with(m, &remedy, gang, -1, -1))
        fail(m, w, gang, why, "it is not impossible");
}

/* Nor with the lowest minimum that it may have. */
static void check_minimum(const struct model *m, struct world *w, int gang, const struct reason *why)
{
    const struct plain_gang *g = &m->gangs[gang];
    struct reason changes[3], remedy = {.code = REASON_REMEDY};
    char key[32];
    int n = 0;
    for (int k = 0; k < 3; k++) { /* of the whole, and then those of tasks do not count; of each pod set */
        int lower = k && g->type == TYPE_PLANNED && k <= g->sets_n && g->fewest[k - 1] < g->count[k - 1] ? g->fewest[k - 1] - 1
                    : k == 0 && g->type == TYPE_GROUP                                                    ? g->min_members - 1
                                                                                                         : 0;
        if (lower > 0)
            changes[n++] = (struct reason){.code = REASON_CHANGE_MINIMUM, .name = id(w, gang_key(g, gang, key)),
                                           .flavor = k ? id(w, set_names[k - 1]) : 0, .need = lower};
    }
    for (int i = 0; i < n; i++)
        changes[i].next = i + 1 < n ? &changes[i + 1] : NULL;
    remedy.child = n ? changes : NULL;
    lowered_n += n > 0;
    if (n && starts_with(m, &remedy, gang, -1, -1))
        fail(m, w, gang, why, "it starts with a lower minimum");
}

static bool may_preempt(const struct model *m, int gang)
{
    const struct plain_gang *g = &m->gangs[gang];
    return (g->type != TYPE_PLANNED && g->queue < 0) ||
           (g->queue >= 0 && (m->queues[g->queue].within != PREEMPT_NEVER || m->queues[g->queue].reclaim != PREEMPT_NEVER));
}

static void check_impossible(const struct model *m, struct world *w, int gang, const struct reason *why)
{
    char name[32];
    impossible_n++;
    check_minimum(m, w, gang, why);
    for (int i = 0; i < NODES; i++) {
        snprintf(name, sizeof name, "n%d", i);
        uint32_t slot = node_table_find(&w->s->nodes, id(w, name));
        if (!slot)
            continue;
        must_not_help(m, w, gang, why, (struct reason){.code = REASON_CHANGE_UNCORDON, .name = id(w, name)});
        for (int r = 0; r < RES_N; r++) {
            int64_t used = used_on(w, id(w, name), id(w, resources[r]));
            if (used > 0 && !may_preempt(m, gang)) /* there it matters whose room comes free */
                must_not_help(
                    m, w, gang, why,
                    (struct reason){.code = REASON_CHANGE_FREE, .name = id(w, name), .resource = id(w, resources[r]), .need = used});
        }
    }
    for (int q = 0; q < QUEUES; q++)
        for (int f = 0; f < FLAVORS; f++)
            for (int r = 0; r < RES_N; r++) {
                must_not_help(m, w, gang, why,
                              (struct reason){.code = REASON_CHANGE_QUOTA,
                                              .queue = id(w, queue_name(m, q, name)),
                                              .flavor = m->volcano ? 0 : id(w, flavors[f]),
                                              .resource = id(w, resources[r]),
                                              .need = 1000000});
            }
    for (int i = 0; i < GANGS; i++)
        if (i != gang && !waits(w, m, i))
            must_not_help(m, w, gang, why, (struct reason){.code = REASON_CHANGE_END, .name = id(w, gang_key(&m->gangs[i], i, name))});
}

static void check_cluster(uint64_t seed)
{
    struct model m;
    struct err e = {0};
    draw(&m, seed);
    struct world w = build(&m, true), plain = build(&m, false);
    if (!state_check(w.s, &e))
        fail(&m, &w, -1, NULL, e.text);
    if (state_digest(w.s) != state_digest(plain.s))
        fail(&m, &w, -1, NULL, "looking for remedies has changed something");
    world_free(&plain);
    for (int i = 0; i < GANGS; i++) {
        char key[32];
        const struct reason *told = waits(&w, &m, i) ? state_gang_reason(w.s, id(&w, gang_key(&m.gangs[i], i, key))) : NULL;
        if (!told)
            continue;
        struct reason why = *told;
        promised_n += why.remedies && w.s->promised_n;
        if (!why.remedies || why.remedies->child->code == REASON_NOT_COMPUTED)
            unknown_n++;
        else if (why.remedies->child->code == REASON_IMPOSSIBLE)
            check_impossible(&m, &w, i, &why);
        for (const struct reason *r = why.remedies ? why.remedies->child : NULL; r && r->code == REASON_REMEDY; r = r->next)
            check_remedy(&m, &w, i, &why, r);
    }
    world_free(&w);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, clusters = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    for (uint64_t i = 0; i < clusters; i++)
        check_cluster(seed + i);
    printf("# %" PRIu64 " remedies (%" PRIu64 " of several changes; quota %" PRIu64 ", free %" PRIu64 ", end %" PRIu64
           ", uncordon %" PRIu64 ", members %" PRIu64 ", minimum %" PRIu64 ", resume %" PRIu64 ", move %" PRIu64 ", floor %" PRIu64
           "; %" PRIu64 " by preemption, %" PRIu64 " beside promises) carried out in %" PRIu64 " clusters, %" PRIu64 " impossible (%" PRIu64
           " with a lower minimum, too), %" PRIu64 " not computed, %" PRIu64 " cycles\n",
           remedies_n, joint_n, kinds_n[0], kinds_n[1], kinds_n[2], kinds_n[3], kinds_n[4], kinds_n[5], kinds_n[6], kinds_n[7], kinds_n[8],
           preempting_n, promised_n, clusters, impossible_n, lowered_n, unknown_n, trials_n);
    bool all = remedies_n && joint_n && impossible_n && lowered_n && preempting_n && promised_n;
    for (int i = 0; i < KINDS; i++)
        all &= kinds_n[i] > 0;
    return clusters < 1000 || all ? 0 : 1;
}
