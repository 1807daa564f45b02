/* core_carry.c - jobs come, end and are moved: does everybody who is told to move have his place again, and for whom he moved start?
 *
 *   core_carry [SEED [CLUSTERS [STEPS]]]
 *
 * A small cluster with one queue whose jobs may be moved. Jobs of one to three pods and pods of no queue come, of any priority, run, end;
 * who is told to leave takes his time, and the scheduler begins anew now and then. Rules: what is lost by a plan is within the bound; who
 * has left for another one starts in the very next decision once all have left who move for that one, whoever else has come; the gang
 * starts when all are back; and when nothing happens any more, nothing is told any more.
 */
#include <inttypes.h>
#include "../unit/core/world.h"
#include "base/random.h"
#include "core/moves/carry.h"
#include "core/state/model.h"

#define GPU "nvidia.com/gpu"
#define BEGIN_MS 1000000000
enum { NODES = 4, JOBS = 24, PODS = 3, REST = 40 };
struct job {
    bool exists, admitted, lone, stays;
    int pods_n, gpus, kind, priority, serial;
    int at[PODS];              /* node, -1: not bound yet */
    int64_t created_ms, reserved_ms;
    int leaves_in;             /* told to go: so many steps until it has; 0: it was not */
    int moves_for;             /* serial of the one for whom it leaves; 0: nobody */
    bool came_back;            /* it is in line again, and its place was kept */
};
struct model {
    int nodes_n, capacity[NODES], kind[NODES];
    int32_t move_cost_s;
    struct job jobs[JOBS];
    int serial, step;
    struct world w;
    struct random random;
    uint64_t seed;
};
static uint64_t moved_n, plans_n, kept_n, restarts_n, started_n, admitted_n, steps_n;

static int pick(struct model *m, int n)
{
    return (int)random_below(&m->random, (uint64_t)n);
}

static void die(const struct model *m, const char *what)
{
    fprintf(stderr, "core_carry: step %d: %s\n# again: core_carry %" PRIu64 " 1\n", m->step, what, m->seed);
    exit(1);
}

/* ---- the API ---- */

static const char *kind_of(int kind)
{
    return kind < 0 ? "" : kind ? "kind=b" : "kind=a";
}

static const char *key_of(struct model *m, const struct job *j)
{
    return arena_printf(m->w.records, j->lone ? "pod/ns/p%d-0" : "j%d", j->serial);
}

static const char *pod_of(struct model *m, const struct job *j, int i)
{
    return arena_printf(m->w.records, "ns/p%d-%d", j->serial, i);
}

static void tell_job(struct model *m, const struct job *j)
{
    struct world *w = &m->w;
    const char *asks = arena_printf(w->records, GPU "=%d", j->gpus);
    struct gang_record r = a_workload(w, key_of(m, j), "ns/q", j->pods_n, asks);
    struct pod_set *set = (struct pod_set *)r.pod_sets;
    set->shape = shape_of(w, asks, kind_of(j->kind));
    r.priority = j->priority;
    r.created_ms = j->created_ms;
    r.stays = j->stays;
    if (j->admitted) {
        r = admitted_in(w, r, "any");
        r.reserved_ms = j->reserved_ms;
        r.evicted = j->leaves_in > 0;
    }
    if (!j->lone)
        gang_record(w, r);
    w->now_ms -= 1; /* a_workload counts */
}

static void tell_pod(struct model *m, const struct job *j, int i)
{
    struct world *w = &m->w;
    struct pod_record p = a_pod(w, pod_of(m, j, i), j->lone ? NULL : key_of(m, j), "");
    p.shape = shape_of(w, arena_printf(w->records, GPU "=%d", j->gpus), kind_of(j->kind));
    p.pod_set = j->lone ? 0 : id(w, "main");
    p.created_ms = j->lone ? j->created_ms : j->reserved_ms;
    p.priority = j->priority;
    p.preempts_nobody = true;
    p.node = j->at[i] < 0 ? 0 : id(w, arena_printf(w->records, "n%d", j->at[i]));
    p.phase = j->at[i] < 0 ? POD_PENDING : POD_RUNNING;
    pod_record(w, p);
    w->now_ms -= 1;
}

static struct job *job_of(struct model *m, name_id gang)
{
    for (int i = 0; i < JOBS; i++)
        if (m->jobs[i].exists && gang == id(&m->w, key_of(m, &m->jobs[i])))
            return &m->jobs[i];
    return NULL;
}

static void tell_all(struct model *m)
{
    struct world *w = &m->w;
    struct queue_words q;
    flavor(w, "any", "");
    for (int i = 0; i < m->nodes_n; i++)
        node(w, arena_printf(w->records, "n%d", i), arena_printf(w->records, "pods=110," GPU "=%d", m->capacity[i]), kind_of(m->kind[i]));
    queue_begin(w, &q, "q", NULL);
    q.r.title = q.r.name;
    q.r.move_cost_s = m->move_cost_s;
    queue_quota(w, &q, "any", GPU, 100000, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/q", "q");
    for (int i = 0; i < JOBS; i++) {
        struct job *j = &m->jobs[i];
        if (!j->exists)
            continue;
        j->moves_for = 0; /* nobody knows any more */
        j->came_back = false;
        tell_job(m, j);
        for (int p = 0; p < j->pods_n && (j->admitted || j->lone); p++)
            tell_pod(m, j, p);
    }
}

static void restart(struct model *m)
{
    int64_t now_ms = m->w.now_ms;
    world_free(&m->w);
    m->w = world_new();
    m->w.now_ms = now_ms;
    tell_all(m);
    restarts_n++;
}

/* ---- events ---- */

static void note(struct model *m, const char *what, const struct job *j)
{
    if (getenv("MODEL_TRACE"))
        fprintf(stderr, "# step %d, %" PRId64 ": %s %s (%d x %d, kind %d, priority %d, on %d %d %d)\n", m->step, m->w.now_ms / 1000,
                key_of(m, j), what, j->pods_n, j->gpus, j->kind, j->priority, j->at[0], j->at[1], j->at[2]);
}

static void come(struct model *m)
{
    struct job *j = &m->jobs[pick(m, JOBS)];
    if (j->exists)
        return;
    *j = (struct job){.exists = true, .serial = ++m->serial, .lone = !pick(m, 6), .gpus = 1 + pick(m, pick(m, 3) ? 3 : 8),
                      .kind = pick(m, 4) ? -1 : pick(m, 2), .priority = pick(m, 3), .created_ms = m->w.now_ms, .stays = !pick(m, 8)};
    j->pods_n = j->lone ? 1 : 1 + (!pick(m, 3) ? pick(m, PODS) : 0);
    for (int i = 0; i < PODS; i++)
        j->at[i] = -1;
    note(m, "comes", j);
    tell_job(m, j);
    if (j->lone)
        tell_pod(m, j, 0);
}

static void pods_gone(struct model *m, const struct job *j)
{
    for (int i = 0; i < j->pods_n && (j->admitted || j->lone); i++)
        gone(&m->w, CHANGE_POD_GONE, pod_of(m, j, i));
}

/* Whoever it is: who moved for it has no place of his own any more. */
static void end(struct model *m, struct job *j)
{
    for (int i = 0; i < JOBS; i++)
        if (m->jobs[i].exists && m->jobs[i].moves_for == j->serial)
            m->jobs[i].moves_for = m->jobs[i].came_back = 0;
    note(m, "ends", j);
    pods_gone(m, j);
    if (!j->lone)
        gone(&m->w, CHANGE_GANG_GONE, key_of(m, j));
    j->exists = false;
}

static void leave(struct model *m, struct job *j)
{
    note(m, "has left", j);
    pods_gone(m, j);
    j->admitted = false;
    j->leaves_in = 0;
    for (int i = 0; i < PODS; i++)
        j->at[i] = -1;
    outcome(&m->w, EFFECT_EVICT, key_of(m, j), NULL, OUTCOME_DONE);
    tell_job(m, j);
    j->came_back = j->moves_for != 0;
}

static void happen(struct model *m)
{
    int what = pick(m, 10);
    struct job *j = &m->jobs[pick(m, JOBS)];
    if (what < 5)
        come(m);
    else if (what < 7 && j->exists)
        end(m, j);
    else if (what == 7 && !pick(m, 12))
        restart(m);
    for (int i = 0; i < JOBS; i++)
        if (m->jobs[i].exists && m->jobs[i].leaves_in && !--m->jobs[i].leaves_in)
            leave(m, &m->jobs[i]);
}

/* ---- what is decided ---- */

static int64_t lost_by(const struct model *m, const struct job *j)
{
    return (m->w.now_ms - j->reserved_ms) / 1000 * j->gpus * j->pods_n;
}

static void told_to_leave(struct model *m, struct job *j, const struct plan_entry *e, int64_t *lost, const struct job **ret_for)
{
    const struct job *by = job_of(m, e->reason->name);
    if (j->lone || j->stays || !j->admitted || j->leaves_in || e->reason->code != REASON_PREEMPTED || e->reason->have != PREEMPTION_MOVED)
        die(m, "somebody is told to leave who may not be moved");
    if (!by || by->admitted || by->lone || (*ret_for && *ret_for != by))
        die(m, "it is for nobody who waits, or for two");
    *ret_for = by;
    *lost += lost_by(m, j);
    j->leaves_in = 1 + pick(m, 4);
    j->moves_for = by->serial;
    moved_n++;
}

static void admitted(struct model *m, struct job *j)
{
    for (int i = 0; i < JOBS; i++)
        if (m->jobs[i].exists && m->jobs[i].moves_for == j->serial && (!m->jobs[i].admitted || m->jobs[i].leaves_in))
            die(m, "it starts before those are back who moved for it");
    for (int i = 0; i < JOBS; i++) {
        started_n += m->jobs[i].exists && m->jobs[i].moves_for == j->serial;
        m->jobs[i].moves_for = m->jobs[i].moves_for == j->serial ? 0 : m->jobs[i].moves_for;
    }
    kept_n += j->came_back;
    j->came_back = false;
    j->admitted = true;
    j->reserved_ms = m->w.now_ms / 1000 * 1000;
    admitted_n++;
    outcome(&m->w, EFFECT_ADMIT, key_of(m, j), NULL, OUTCOME_DONE);
    tell_job(m, j);
    for (int p = 0; p < j->pods_n; p++)
        tell_pod(m, j, p);
}

static void bound(struct model *m, struct job *j, const struct plan_entry *e)
{
    const char *pod = text_of(&m->w, e->pod);
    int i = (int)strtol(strrchr(pod, '-') + 1, NULL, 10), left[NODES];
    j->at[i] = (int)strtol(text_of(&m->w, e->node) + 1, NULL, 10);
    memcpy(left, m->capacity, sizeof left);
    for (int k = 0; k < JOBS; k++)
        for (int p = 0; p < m->jobs[k].pods_n && m->jobs[k].exists; p++)
            if (m->jobs[k].at[p] >= 0 && (left[m->jobs[k].at[p]] -= m->jobs[k].gpus) < 0)
                die(m, "a node is over-committed");
    outcome(&m->w, EFFECT_BIND, text_of(&m->w, e->gang), pod, OUTCOME_DONE);
    tell_pod(m, j, i);
}

/* One may begin again where another one was. */
static bool all_have_left(const struct model *m, int moves_for)
{
    bool all = true;
    for (int i = 0; i < JOBS; i++)
        all &= !m->jobs[i].exists || m->jobs[i].moves_for != moves_for || !m->jobs[i].leaves_in;
    return all;
}

/* True: something was done. */
static bool decide_once(struct model *m)
{
    struct err e = {0};
    int64_t lost = 0;
    const struct job *by = NULL;
    bool acts = false;
    run(&m->w);
    struct plan plan = m->w.plan;
    for (uint32_t i = 0; i < plan.entries_n && getenv("MODEL_TRACE"); i++)
        fprintf(stderr, "# step %d, %" PRId64 ": plan %d %s %s\n", m->step, m->w.now_ms / 1000, plan.entries[i].effect,
                text_of(&m->w, plan.entries[i].gang), text_of(&m->w, plan.entries[i].node));
    if (!state_check(m->w.s, &e))
        die(m, e.text);
    for (uint32_t i = 0; i < plan.entries_n; i++) {
        const struct plan_entry *one = &plan.entries[i];
        struct job *j = job_of(m, one->gang);
        if (one->effect == EFFECT_EXPLAIN || !j)
            continue;
        acts = true;
        if (one->effect == EFFECT_EVICT)
            told_to_leave(m, j, one, &lost, &by);
        else if (one->effect == EFFECT_ADMIT && !j->lone)
            admitted(m, j);
        else if (one->effect == EFFECT_BIND)
            bound(m, j, one);
    }
    plans_n += by != NULL;
    if (by && lost > (int64_t)m->move_cost_s * by->gpus * by->pods_n)
        die(m, "more is lost than is allowed");
    for (int i = 0; i < JOBS; i++)
        if (m->jobs[i].exists && m->jobs[i].came_back && all_have_left(m, m->jobs[i].moves_for))
            die(m, arena_printf(m->w.records, "j%d has moved for j%d, and its place is not there: %s", m->jobs[i].serial,
                                m->jobs[i].moves_for, why(&m->w, key_of(m, &m->jobs[i]))));
    return acts;
}

static void come_to_rest(struct model *m)
{
    int quiet = 0;
    for (int i = 0; i < REST && quiet < 12; i++) {
        m->w.now_ms += 1000;
        for (int k = 0; k < JOBS; k++)
            if (m->jobs[k].exists && m->jobs[k].leaves_in)
                leave(m, &m->jobs[k]);
        quiet = decide_once(m) ? 0 : quiet + 1;
    }
    if (quiet < 12)
        die(m, "it does not come to rest");
    for (int i = 0; i < JOBS; i++)
        if (m->jobs[i].exists && m->jobs[i].moves_for)
            die(m, "somebody has moved, and nobody has started");
}

/* WHY  nobody is waited for longer than CARRY_MOST_MS */
static bool under_way(const struct model *m)
{
    bool any = false;
    for (int i = 0; i < JOBS; i++)
        any |= m->jobs[i].exists && m->jobs[i].moves_for != 0;
    return any;
}

static void live(uint64_t seed, int steps)
{
    struct model m = {.seed = seed, .random = {.state = seed}};
    m.nodes_n = 2 + pick(&m, NODES - 1);
    for (int i = 0; i < m.nodes_n; i++) {
        m.capacity[i] = 4 << pick(&m, 2);
        m.kind[i] = pick(&m, 2);
    }
    m.move_cost_s = 1 + pick(&m, 2000);
    m.w = world_new();
    m.w.now_ms = BEGIN_MS;
    tell_all(&m);
    for (m.step = 0; m.step < steps; m.step++, steps_n++) {
        m.w.now_ms += 1000 * (1 + (int64_t)pick(&m, under_way(&m) || pick(&m, 8) ? 30 : 1000));
        happen(&m);
        (void)decide_once(&m);
        if (!pick(&m, 40))
            come_to_rest(&m);
    }
    world_free(&m.w);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, clusters = argc > 2 ? strtoull(argv[2], NULL, 10) : 60;
    int steps = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 400;
    for (uint64_t i = 0; i < clusters; i++)
        live(seed + i, steps);
    printf("# %" PRIu64 " steps: %" PRIu64 " let in, %" PRIu64 " moved by %" PRIu64 " plans, %" PRIu64 " of them back at once and %" PRIu64
           " before the one started for whom they moved, %" PRIu64 " restarts\n",
           steps_n, admitted_n, moved_n, plans_n, kept_n, started_n, restarts_n);
    return clusters < 60 || (moved_n && plans_n && kept_n && started_n && restarts_n) ? 0 : 1;
}
