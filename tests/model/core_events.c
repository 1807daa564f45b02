/* core_events.c - random clusters and random events; after every step all that must hold is checked
 *
 *   core_events [SEED [STEPS [RUNS]]]
 *
 * The test plays API server: it acts on the plan (sometimes failing, sometimes late), lets pods run, end and vanish, nodes come and go.
 * Checked each step: state_check; no node over-committed by our own binds; a planned gang's first members bind all at once; a second
 * decide without changes does nothing. Every WAKE_EVERY steps all parked gangs are woken by force: if one is admitted then, a wake-up was
 * missed. Each run is made twice and must give the same plans and the same digest.
 */
#include <inttypes.h>
#include "../unit/core/world.h"
#include "base/map.h"
#include "base/random.h"
#include "core/model.h"
#include "core/order.h"

#define GPU "nvidia.com/gpu"
#define NODES 8
#define GANGS 24
#define PODS 6
#define WAKE_EVERY 5

struct model_pod {
    bool exists, late; /* late: bound in the core, the API has not shown it */
    struct pod_record r;
    int64_t gpu, cpu;
};
struct model_gang {
    bool exists, admitted, burst, lone;
    struct gang_record r;
    int count;
    char requests[64];
    int64_t gpu, cpu;
    struct model_pod pods[PODS];
};
struct model {
    struct world w;
    struct random random;
    struct node_record nodes[NODES];
    bool node_exists[NODES], named_devices[NODES];
    int64_t gpus[NODES], cpus[NODES];
    struct model_gang gangs[GANGS];
    uint64_t trace;
    uint64_t seed;
    uint64_t step;
    uint32_t admits_n, binds_n, evicts_n;
    int serial;
};

static void die(struct model *m, const char *what)
{
    fprintf(stderr, "core_events: seed %" PRIu64 " step %" PRIu64 ": %s\n", m->seed, m->step, what);
    exit(1);
}

static uint32_t pick(struct model *m, uint32_t n)
{
    return (uint32_t)random_below(&m->random, n);
}

static bool chance(struct model *m, uint32_t permille)
{
    return random_permille(&m->random, permille);
}

/* ---- the cluster ---- */

static void put_node(struct model *m, uint32_t i)
{
    struct world *w = &m->w;
    char name[16], amounts[64], labels[64];
    snprintf(name, sizeof name, "n%u", i);
    m->gpus[i] = 1 + pick(m, 4);
    m->cpus[i] = 1000 * (4 + pick(m, 16));
    snprintf(amounts, sizeof amounts, "cpu=%d," GPU "=%d", (int)m->cpus[i], (int)m->gpus[i]);
    snprintf(labels, sizeof labels, "kind=%s,zone=%c", i % 2 ? "a" : "b", 'x' + (int)(i % 3));
    struct node_record r = a_node(w, name, amounts, labels);
    r.ready = !chance(m, 100);
    r.unschedulable = chance(m, 100);
    if (i % 2) {
        struct device *all = arena_zero(w->records, 8, sizeof *all);
        for (int k = 0; k < m->gpus[i]; k++)
            all[k] = (struct device){.resource = id(w, GPU), .id = id(w, (const char *[]){"0", "1", "2", "3", "4"}[k]),
                                     .gpu = (uint16_t)k, .link_group = (uint16_t)(k / 2), .healthy = !chance(m, 50)};
        r.devices = all;
        r.devices_n = (uint32_t)m->gpus[i];
    }
    m->nodes[i] = r;
    m->node_exists[i] = true;
    node_record(w, r);
}

static int64_t limit(struct model *m, uint32_t below)
{
    return chance(m, 300) ? (int64_t)pick(m, below) : NO_LIMIT;
}

static void put_queue(struct model *m, uint32_t i)
{
    char name[16];
    struct queue_words q;
    snprintf(name, sizeof name, "q%u", i);
    queue_begin(&m->w, &q, name, i == 2 ? NULL : "co");
    q.r.strategy = i == 1 ? QUEUE_STRICT_FIFO : QUEUE_BEST_EFFORT_FIFO;
    q.r.stop = chance(m, 30) ? STOP_HOLD_AND_DRAIN : chance(m, 50) ? STOP_HOLD : STOP_NONE;
    q.r.borrow_before_next_flavor = chance(m, 500);
    const char *flavors[] = {"fa", "fb"};
    for (int f = 0; f < 2; f++) {
        /* one at a time: arguments have no order of evaluation, and the same seed must mean the same cluster everywhere */
        int64_t cpu = 1000 * (10 + pick(m, 30)), cpu_borrow = limit(m, 8000);
        int64_t gpu = 2 + pick(m, 8), borrow = limit(m, 3), lend = limit(m, 4);
        queue_quota(&m->w, &q, flavors[f], "cpu", cpu, cpu_borrow, NO_LIMIT);
        queue_quota(&m->w, &q, flavors[f], GPU, gpu, borrow, lend);
    }
    queue_done(&m->w, &q);
}

static void put_volcano_queue(struct model *m)
{
    struct quota_record quota = {.resource = id(&m->w, GPU), .nominal = 2 + pick(m, 6), .borrowing_limit = NO_LIMIT, .lending_limit = NO_LIMIT};
    struct queue_record q = {.name = id(&m->w, "volcano:v"), .unlimited = true, .quotas = &quota, .quotas_n = 1};
    state_apply(m->w.s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
}

/* ---- gangs and pods ---- */

static void new_gang(struct model *m, struct model_gang *g)
{
    struct world *w = &m->w;
    char name[32];
    memset(g, 0, sizeof *g);
    g->exists = true;
    g->count = 1 + (int)pick(m, PODS);
    g->gpu = pick(m, 3);
    g->cpu = 500 * (1 + pick(m, 6));
    snprintf(g->requests, sizeof g->requests, "cpu=%d," GPU "=%d", (int)g->cpu, (int)g->gpu);
    uint32_t kind = pick(m, 6);
    g->lone = kind == 0;
    snprintf(name, sizeof name, g->lone ? "pod/ns/p%d-0" : "g%d", ++m->serial);
    if (kind >= 3) {
        char lq[16];
        snprintf(lq, sizeof lq, "ns/lq%u", pick(m, 4));
        g->r = a_workload(w, name, lq, g->count, g->requests);
    } else {
        g->r = a_group(w, name, kind == 1 ? "volcano:v" : NULL, 1 + (int)pick(m, (uint32_t)g->count));
    }
    if (g->lone)
        g->count = 1;
    g->r.priority = (int32_t)pick(m, 3);
    if (!g->lone)
        gang_record(w, g->r);
}

static void new_pod(struct model *m, struct model_gang *g, int i)
{
    char key[48];
    struct model_pod *p = &g->pods[i];
    if (g->lone)
        snprintf(key, sizeof key, "%s", text_of(&m->w, g->r.key) + 4);
    else
        snprintf(key, sizeof key, "ns/%s-%d", text_of(&m->w, g->r.key), i);
    memset(p, 0, sizeof *p);
    p->exists = true;
    p->r = a_pod(&m->w, key, g->lone ? NULL : text_of(&m->w, g->r.key), g->requests);
    char uid[16];
    snprintf(uid, sizeof uid, "u%d", ++m->serial);
    p->r.uid = id(&m->w, uid);
    p->r.gated = !g->lone && chance(m, 50);
    p->r.priority = g->r.priority;
    pod_record(&m->w, p->r);
}

static struct model_pod *find_pod(struct model *m, name_id key, struct model_gang **ret_gang)
{
    for (int g = 0; g < GANGS; g++)
        for (int i = 0; i < PODS; i++)
            if (m->gangs[g].pods[i].exists && m->gangs[g].pods[i].r.key == key) {
                *ret_gang = &m->gangs[g];
                return &m->gangs[g].pods[i];
            }
    return NULL;
}

static struct model_gang *find_gang(struct model *m, name_id key)
{
    for (int g = 0; g < GANGS; g++)
        if (m->gangs[g].exists && m->gangs[g].r.key == key)
            return &m->gangs[g];
    return NULL;
}

static void drop_gang(struct model *m, struct model_gang *g)
{
    for (int i = 0; i < PODS; i++)
        if (g->pods[i].exists)
            state_apply(m->w.s, &(struct change){.type = CHANGE_POD_GONE, .gone = g->pods[i].r.key});
    if (!g->lone)
        state_apply(m->w.s, &(struct change){.type = CHANGE_GANG_GONE, .gone = g->r.key});
    memset(g, 0, sizeof *g);
}

static void change_pod(struct model *m, struct model_gang *g, int i)
{
    struct model_pod *p = &g->pods[i];
    if (!p->exists) {
        if (i < g->count && (!g->r.planned || g->admitted || chance(m, 200)))
            new_pod(m, g, i);
        return;
    }
    uint32_t what = pick(m, 8);
    if (what == 0) {
        state_apply(m->w.s, &(struct change){.type = CHANGE_POD_GONE, .gone = p->r.key});
        memset(p, 0, sizeof *p);
        return;
    }
    if (what == 1)
        p->r.gated = false;
    if (what == 2 && p->r.node)
        p->r.phase = chance(m, 700) ? POD_SUCCEEDED : POD_FAILED;
    if (what == 3)
        p->r.deleting = true;
    if (what == 4 && !p->r.node && !p->late && p->r.phase == POD_PENDING && chance(m, 100))
        p->r.node = m->nodes[pick(m, NODES)].name; /* somebody else bound it */
    p->late = p->late && what < 5;
    pod_record(&m->w, p->r);
}

static void change_gang(struct model *m, struct model_gang *g)
{
    if (!g->exists) {
        new_gang(m, g);
        return;
    }
    uint32_t what = pick(m, 10);
    if (what == 0 || g->r.finished) {
        drop_gang(m, g);
        return;
    }
    if (g->lone)
        return;
    g->r.active = !g->r.active || !chance(m, 80);
    g->r.on_hold = chance(m, 50);
    if (what == 3)
        g->r.priority = (int32_t)pick(m, 3);
    if (what == 4 && chance(m, 300) && g->r.planned && g->r.admitted)
        g->r.admitted = g->admitted = g->burst = false;
    if (what == 5 && g->admitted && g->r.planned)
        g->r.admitted = true; /* our own write comes back */
    if (what == 6 && g->burst)
        g->r.finished = true;
    if (what == 7 && chance(m, 300))
        g->r.not_before_ms = m->w.now_ms + pick(m, 3000);
    gang_record(&m->w, g->r);
}

static void random_event(struct model *m)
{
    uint32_t what = pick(m, 100);
    if (what < 45) {
        struct model_gang *g = &m->gangs[pick(m, GANGS)];
        if (g->exists)
            change_pod(m, g, (int)pick(m, PODS));
    } else if (what < 80) {
        change_gang(m, &m->gangs[pick(m, GANGS)]);
    } else if (what < 92) {
        uint32_t i = pick(m, NODES);
        if (m->node_exists[i] && chance(m, 250)) {
            m->node_exists[i] = false;
            state_apply(m->w.s, &(struct change){.type = CHANGE_NODE_GONE, .gone = m->nodes[i].name});
        } else {
            put_node(m, i);
        }
    } else if (what < 96) {
        put_queue(m, pick(m, 3));
    } else if (what < 97) {
        put_volcano_queue(m);
    } else {
        m->w.now_ms += pick(m, 5000);
    }
}

/* ---- acting on the plan, as sched does ---- */

static void no_overcommit(struct model *m, const struct model_gang *bound, name_id node)
{
    for (int i = 0; i < NODES; i++) {
        if (m->nodes[i].name != node)
            continue;
        int64_t gpu = 0, cpu = 0;
        for (int g = 0; g < GANGS; g++)
            for (int k = 0; k < PODS; k++) {
                const struct model_pod *p = &m->gangs[g].pods[k];
                if (!p->exists || p->r.node != node || p->r.phase >= POD_SUCCEEDED)
                    continue;
                gpu += m->gangs[g].gpu;
                cpu += m->gangs[g].cpu;
            }
        if (!m->node_exists[i] || !m->nodes[i].ready || m->nodes[i].unschedulable)
            die(m, "bound to a node that takes no pods");
        if ((bound->gpu && gpu > m->gpus[i]) || cpu > m->cpus[i]) /* others may have over-filled what this one does not ask for */
            die(m, "node over-committed by a bind");
    }
}

static void act_bind(struct model *m, const struct plan_entry *e)
{
    struct model_gang *g;
    struct model_pod *p = find_pod(m, e->pod, &g);
    if (!p || p->r.uid != e->pod_uid || p->r.node || p->r.gated || p->r.phase != POD_PENDING || p->r.deleting)
        die(m, "bind of a pod that must not be bound");
    p->r.node = e->node;
    p->r.devices = e->devices ? id(&m->w, e->devices) : 0;
    no_overcommit(m, g, e->node);
    m->binds_n++;
}

/* The writes went out; now they succeed or fail. */
static void end_bind(struct model *m, const struct plan_entry *e)
{
    struct model_gang *g;
    struct model_pod *p = find_pod(m, e->pod, &g);
    bool fails = chance(m, 50);
    outcome(&m->w, EFFECT_BIND, text_of(&m->w, e->gang), text_of(&m->w, e->pod), fails ? OUTCOME_FAILED : OUTCOME_DONE);
    if (fails) {
        p->r.node = 0;
        p->r.devices = 0;
    } else if (chance(m, 800)) {
        pod_record(&m->w, p->r);
    }
}

static void first_burst(struct model *m, struct model_gang *g, uint32_t binds_n)
{
    uint32_t whole = 0, bound = 0;
    for (int i = 0; i < PODS; i++) {
        whole += g->pods[i].exists && (g->pods[i].r.node || g->pods[i].r.phase == POD_SUCCEEDED);
        bound += g->pods[i].exists && g->pods[i].r.node && g->pods[i].r.phase < POD_SUCCEEDED;
    }
    bool some_ran_already = bound > binds_n; /* bound by somebody else, or left from an admission before */
    const struct gang *core = g->exists ? gang_find(m->w.s, g->r.key) : NULL;
    if (core && core->sets_n) /* members that ended well before the burst and were deleted since */
        whole += (uint32_t)core->sets[0].done_n;
    if (g->r.planned && !g->burst && !some_ran_already && binds_n && whole < (uint32_t)g->count)
        die(m, "planned gang bound in part");
    g->burst |= binds_n > 0 || whole >= (uint32_t)g->count; /* all ran at some time: from now on replacements come singly */
}

static uint64_t hash_text(struct world *w, name_id name, uint64_t h)
{
    const char *text = text_of(w, name);
    return hash_bytes(text, strlen(text) + 1, h);
}

/* By text, not by id: which id a name gets depends on who interned first. */
static uint64_t plan_hash(const struct plan *p, struct world *w, uint64_t h)
{
    struct buf b;
    buf_init(&b);
    for (uint32_t i = 0; i < p->entries_n; i++) {
        const struct plan_entry *e = &p->entries[i];
        h = h * 31 + e->effect;
        h = hash_text(w, e->gang, hash_text(w, e->pod, hash_text(w, e->node, hash_text(w, e->queue, h))));
        if (e->devices)
            h = hash_bytes(e->devices, strlen(e->devices), h);
        for (uint32_t k = 0; k < e->choices_n; k++)
            h = hash_text(w, e->choices[k].flavor, hash_text(w, e->choices[k].resource, h));
        buf_clear(&b);
        explain_json(&b, e->reason, w->names);
        h = hash_bytes(b.data ? b.data : "", b.n, h);
    }
    buf_free(&b);
    return h * 31 + (uint64_t)p->wake_ms + state_digest(w->s);
}

static void act(struct model *m)
{
    struct plan *p = &m->w.plan;
    for (uint32_t i = 0; i < p->entries_n; i++) {
        const struct plan_entry *e = &p->entries[i];
        struct model_gang *g = find_gang(m, e->gang);
        if (!g)
            die(m, "plan names a gang that is gone");
        if (e->effect == EFFECT_BIND)
            act_bind(m, e);
        if (e->effect == EFFECT_ADMIT) {
            g->admitted = true;
            m->admits_n++;
        }
        m->evicts_n += e->effect == EFFECT_EVICT;
    }
    for (int i = 0; i < GANGS; i++) {
        uint32_t binds_n = 0;
        for (uint32_t k = 0; k < p->entries_n; k++)
            binds_n += p->entries[k].effect == EFFECT_BIND && m->gangs[i].exists && p->entries[k].gang == m->gangs[i].r.key;
        first_burst(m, &m->gangs[i], binds_n);
    }
    for (uint32_t i = 0; i < p->entries_n; i++) {
        const struct plan_entry *e = &p->entries[i];
        struct model_gang *g = find_gang(m, e->gang);
        if (e->effect == EFFECT_BIND)
            end_bind(m, e);
        if (e->effect == EFFECT_ADMIT) {
            bool fails = chance(m, 30);
            outcome(&m->w, EFFECT_ADMIT, text_of(&m->w, e->gang), NULL, fails ? OUTCOME_FAILED : OUTCOME_DONE);
            if (fails && g->r.planned)
                g->admitted = g->burst = false;
        }
        if (e->effect == EFFECT_EVICT && chance(m, 800)) {
            outcome(&m->w, EFFECT_EVICT, text_of(&m->w, e->gang), NULL, OUTCOME_DONE);
            g->r.admitted = g->admitted = g->burst = false;
            if (g->r.planned)
                gang_record(&m->w, g->r);
        }
    }
}

static void check(struct model *m)
{
    struct err e = {0};
    if (!state_check(m->w.s, &e))
        die(m, e.text);
}

/* Nothing that waits may be admissible: wake all and look. */
static void no_missed_wake_up(struct model *m)
{
    struct state *s = m->w.s;
    for (uint32_t i = s->parked_n; i-- > 0;)
        if (!(s->parked[i]->park & PARK_TIME))
            order_wake(s, s->parked[i]);
    run(&m->w);
    for (uint32_t i = 0; i < m->w.plan.entries_n; i++)
        if (m->w.plan.entries[i].effect == EFFECT_ADMIT || m->w.plan.entries[i].effect == EFFECT_BIND) {
            fprintf(stderr, "gang %s\n", text_of(&m->w, m->w.plan.entries[i].gang));
            die(m, "a gang that could have been admitted was not woken");
        }
}

static void decide_and_act(struct model *m)
{
    for (int turn = 0; turn < 8; turn++) {
        run(&m->w);
        m->trace = plan_hash(&m->w.plan, &m->w, m->trace);
        if (!m->w.plan.entries_n && !decide_has_work(m->w.s))
            break;
        act(m);
        check(m);
    }
    run(&m->w); /* failed writes may have left one more thing to do */
    m->trace = plan_hash(&m->w.plan, &m->w, m->trace);
    act(m);
    check(m);
}

static uint64_t run_seed(uint64_t seed, uint64_t steps, bool verbose)
{
    static struct model model;
    struct model *m = &model;
    memset(m, 0, sizeof *m);
    m->w = world_new();
    m->random.state = m->seed = seed;
    flavor(&m->w, "fa", "kind=a");
    flavor(&m->w, "fb", "kind=b");
    for (uint32_t i = 0; i < NODES; i++)
        put_node(m, i);
    for (uint32_t i = 0; i < 3; i++)
        put_queue(m, i);
    put_volcano_queue(m);
    for (int i = 0; i < 4; i++) {
        char key[32], queue[32];
        snprintf(key, sizeof key, "ns/lq%d", i);
        snprintf(queue, sizeof queue, "q%d", i % 3);
        local_queue(&m->w, key, queue);
    }
    for (m->step = 0; m->step < steps; m->step++) {
        for (uint32_t n = 1 + pick(m, 4); n; n--)
            random_event(m);
        check(m);
        decide_and_act(m);
        if (m->step % WAKE_EVERY == 0) {
            run(&m->w);
            if (!effects(&m->w, EFFECT_ADMIT) && !effects(&m->w, EFFECT_BIND) && !effects(&m->w, EFFECT_EVICT) && !decide_has_work(m->w.s))
                no_missed_wake_up(m);
            else
                act(m);
        }
    }
    if (verbose)
        printf("# seed %" PRIu64 ": %u admitted, %u bound, %u evicted\n", seed, m->admits_n, m->binds_n, m->evicts_n);
    uint64_t trace = m->trace;
    world_free(&m->w);
    return trace;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 400;
    uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 20;
    uint64_t all = 0;
    for (uint64_t i = 0; i < runs; i++) {
        uint64_t first = run_seed(seed + i, steps, true);
        if (first != run_seed(seed + i, steps, false)) {
            fprintf(stderr, "core_events: seed %" PRIu64 ": two runs of the same events differ\n", seed + i);
            return 1;
        }
        all = all * 31 + first;
    }
    /* Builds of other compilers and optimisation levels must print the same number for the same arguments. */
    printf("trace %016" PRIx64 "\n", all);
    return 0;
}
