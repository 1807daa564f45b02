/* core_moves.c - of all sets of jobs that could stand elsewhere, is the one found by which the least is lost? Against every set, and every
 * way to place it
 *
 *   core_moves [SEED [CLUSTERS]]
 *
 * Small clusters: jobs of one or two pods with and without selectors stand anywhere, some of them not to be moved; a gang comes that finds
 * no place. The reference removes each set of jobs, and puts the gang and all of them back by plain search.
 */
#include <inttypes.h>
#include "../unit/core/world.h"
#include "base/random.h"
#include "core/moves/moves.h"
#include "core/state/model.h"

#define GPU "nvidia.com/gpu"
#define BEGIN_MS 1000000000
enum { NODES = 4, JOBS = 8, PODS = 2, LATE = 3 };
struct plain_job {
    bool stays, queued_apart;  /* apart: in a queue that lets nobody go */
    int pods_n, gpus, kind;    /* kind: -1: any node */
    int at[LATE];
    int64_t since_s;
};
struct model {
    int nodes_n, jobs_n, capacity[NODES], kind[NODES];
    int64_t move_cost_s;
    struct plain_job jobs[JOBS], late;
    struct random random;
    uint64_t seed;
};
static uint64_t found_n, none_n, starts_n, allowed_n, costly_n, moved_n, chains_n;

static int pick(struct model *m, int n)
{
    return (int)random_below(&m->random, (uint64_t)n);
}

/* ---- a random cluster ---- */

static bool may_stand(const struct model *m, const struct plain_job *j, int node)
{
    return j->kind < 0 || j->kind == m->kind[node];
}

static void free_now(const struct model *m, unsigned gone, int ret_free[NODES])
{
    for (int i = 0; i < m->nodes_n; i++)
        ret_free[i] = m->capacity[i];
    for (int i = 0; i < m->jobs_n; i++)
        for (int p = 0; p < m->jobs[i].pods_n && !(gone >> i & 1); p++)
            ret_free[m->jobs[i].at[p]] -= m->jobs[i].gpus;
}

static bool put_anywhere(struct model *m, struct plain_job *j, const int *left)
{
    int room[NODES];
    memcpy(room, left, sizeof room);
    for (int p = 0; p < j->pods_n; p++) {
        int tries = 8;
        while (tries-- && ((j->at[p] = pick(m, m->nodes_n)), !may_stand(m, j, j->at[p]) || room[j->at[p]] < j->gpus))
            ;
        if (tries < 0)
            return false;
        room[j->at[p]] -= j->gpus;
    }
    return true;
}

static void draw(struct model *m, uint64_t seed)
{
    int left[NODES];
    memset(m, 0, sizeof *m);
    m->random.state = m->seed = seed;
    m->nodes_n = 2 + pick(m, NODES - 1);
    for (int i = 0; i < m->nodes_n; i++) {
        m->capacity[i] = 2 << pick(m, 3);
        m->kind[i] = pick(m, 2);
    }
    for (int i = 0, wanted = 2 + pick(m, JOBS - 1); i < wanted; i++) {
        struct plain_job *j = &m->jobs[m->jobs_n];
        *j = (struct plain_job){.pods_n = 1 + !pick(m, 4), .gpus = 1 + pick(m, 3), .kind = pick(m, 3) ? -1 : pick(m, 2)};
        j->stays = !pick(m, 8);
        j->queued_apart = !pick(m, 6);
        j->since_s = 60 * (1 + pick(m, 6)) + (pick(m, 2) ? i : 0);
        free_now(m, 0, left);
        m->jobs_n += put_anywhere(m, j, left);
    }
    m->late = (struct plain_job){.pods_n = 1 + pick(m, LATE), .gpus = 1 + pick(m, 6), .kind = pick(m, 3) ? -1 : pick(m, 2)};
    m->move_cost_s = 1 + pick(m, 1000);
}

/* ---- the reference ---- */

static bool place_rest(const struct model *m, unsigned gone, int job, int pod, int *left)
{
    const struct plain_job *j = job < 0 ? &m->late : &m->jobs[job];
    if (job >= m->jobs_n)
        return true;
    if ((job >= 0 && !(gone >> job & 1)) || pod == j->pods_n)
        return place_rest(m, gone, job + 1, 0, left);
    for (int i = 0; i < m->nodes_n; i++) {
        if (!may_stand(m, j, i) || left[i] < j->gpus)
            continue;
        left[i] -= j->gpus;
        bool fits = place_rest(m, gone, job, pod + 1, left);
        left[i] += j->gpus;
        if (fits)
            return true;
    }
    return false;
}

static int64_t lost_by(const struct model *m, unsigned set)
{
    int64_t sum = 0;
    for (int i = 0; i < m->jobs_n; i++)
        sum += set >> i & 1 ? 1000 * m->jobs[i].since_s * m->jobs[i].pods_n * m->jobs[i].gpus : 0;
    return sum;
}

static bool is_allowed(const struct model *m, unsigned set)
{
    bool allowed = lost_by(m, set) <= 1000 * m->move_cost_s * m->late.pods_n * m->late.gpus;
    for (int i = 0; i < m->jobs_n; i++)
        allowed &= !(set >> i & 1) || !(m->jobs[i].stays || m->jobs[i].queued_apart);
    return allowed;
}

/* What the best set loses; -1: there is none. */
static int64_t least_lost(const struct model *m, bool allowed)
{
    int64_t least = -1;
    for (unsigned set = 1; set < 1u << m->jobs_n; set++) {
        int left[NODES];
        free_now(m, set, left);
        int64_t lost = lost_by(m, set);
        if ((least >= 0 && lost >= least) || (allowed && !is_allowed(m, set)) || !place_rest(m, set, -1, 0, left))
            continue;
        least = lost;
    }
    return least;
}

/* ---- the same told to a core ---- */

static const char *kind_of(int kind)
{
    return kind < 0 ? "" : kind ? "kind=b" : "kind=a";
}

static void tell_queue(struct world *w, const char *name, int64_t move_cost_s)
{
    struct queue_words q;
    queue_begin(w, &q, name, NULL);
    q.r.title = q.r.name;
    q.r.move_cost_s = (int32_t)move_cost_s;
    queue_quota(w, &q, "any", GPU, 100000, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, arena_printf(w->records, "ns/%s", name), name);
}

static void tell_job(struct world *w, const struct model *m, const struct plain_job *j, const char *name)
{
    bool late = j == &m->late;
    struct gang_record r = a_workload(w, name, j->queued_apart ? "ns/apart" : "ns/q", j->pods_n,
                                      arena_printf(w->records, GPU "=%d", j->gpus));
    struct pod_set *set = (struct pod_set *)r.pod_sets;
    set->shape = shape_of(w, arena_printf(w->records, GPU "=%d", j->gpus), kind_of(j->kind));
    if (!late) {
        r = admitted_in(w, r, "any");
        r.admitted_queue = id(w, j->queued_apart ? "apart" : "q");
        r.reserved_ms = BEGIN_MS - 1000 * j->since_s;
        r.stays = j->stays;
    }
    gang_record(w, r);
    for (int i = 0; i < j->pods_n && !late; i++) {
        struct pod_record p = a_pod(w, arena_printf(w->records, "ns/%s-%d", name, i), name, "");
        p.shape = set->shape;
        p.pod_set = id(w, "main");
        p.node = id(w, arena_printf(w->records, "n%d", j->at[i]));
        p.phase = POD_RUNNING;
        pod_record(w, p);
    }
}

static struct world build(const struct model *m)
{
    struct world w = world_new();
    w.no_remedies = true;
    flavor(&w, "any", "");
    for (int i = 0; i < m->nodes_n; i++)
        node(&w, arena_printf(w.records, "n%d", i), arena_printf(w.records, "pods=110," GPU "=%d", m->capacity[i]), kind_of(m->kind[i]));
    tell_queue(&w, "q", m->move_cost_s);
    tell_queue(&w, "apart", 0);
    for (int i = 0; i < m->jobs_n; i++)
        tell_job(&w, m, &m->jobs[i], arena_printf(w.records, "job-%d", i));
    w.now_ms = BEGIN_MS;
    run(&w);
    tell_job(&w, m, &m->late, "late");
    w.now_ms = BEGIN_MS;
    run(&w);
    return w;
}

/* ---- is it so? ---- */

static void fail(const struct model *m, const char *what)
{
    for (int i = 0; i < m->nodes_n; i++)
        fprintf(stderr, "# n%d: %d of kind %d\n", i, m->capacity[i], m->kind[i]);
    for (int i = 0; i <= m->jobs_n; i++) {
        const struct plain_job *j = i < m->jobs_n ? &m->jobs[i] : &m->late;
        fprintf(stderr, "# %d: %d x %d of kind %d on %d %d, for %" PRId64 " s\n", i, j->pods_n, j->gpus, j->kind, j->at[0], j->at[1],
                j->since_s);
    }
    fprintf(stderr, "core_moves: %s\n# again: core_moves %" PRIu64 " 1\n", what, m->seed);
    exit(1);
}

static void check_places(const struct model *m, const struct moves *found)
{
    unsigned set = 0;
    int left[NODES];
    for (uint32_t i = 0; i < found->n; i++)
        set |= 1u << (int)strtol(intern_name(found->all[i].gang->names, found->all[i].gang->key) + strlen("job-"), NULL, 10);
    free_now(m, set, left);
    for (uint32_t i = 0; i < found->n; i++) {
        int at = (int)strtol(intern_name(found->all[i].gang->names, found->all[i].gang->key) + strlen("job-"), NULL, 10);
        for (uint32_t k = 0; k < found->all[i].n; k++) {
            int to = (int)found->all[i].to[k] - 1; /* nodes were told in this order */
            if (!may_stand(m, &m->jobs[at], to) || (left[to] -= m->jobs[at].gpus) < 0)
                fail(m, "somebody is moved to where it may not stand");
            for (int other = 0; other < m->jobs_n; other++)
                chains_n += other != at && (set >> other & 1) && m->jobs[other].at[0] == to;
        }
    }
    if (!place_rest(m, 0, -1, 0, left))
        fail(m, "with those elsewhere there is no room for it");
    if (found->lost != lost_by(m, set))
        fail(m, "something else is lost by that");
    moved_n += found->n;
}

static void check(const struct model *m, struct world *w, bool allowed)
{
    struct cycle c = {.s = w->s, .a = w->cycle, .plan = &w->plan, .now_ms = w->now_ms};
    struct moves found;
    uint32_t trials = 100000;
    uint64_t before = state_digest(w->s);
    bool any = moves_find(&c, gang_find(w->s, id(w, "late")), allowed, &trials, &found);
    int64_t least = least_lost(m, allowed);
    if (state_digest(w->s) != before)
        fail(m, "looking has changed something");
    if (!any) {
        none_n++;
        if (least >= 0)
            fail(m, arena_printf(w->records, "not found, though it would cost only %" PRId64, least));
        return;
    }
    check_places(m, &found);
    for (uint32_t i = 0; i < found.n && allowed; i++)
        if (found.all[i].leave != MOVE_ALLOWED)
            fail(m, "somebody is moved who may not be");
    if (found.lost != least)
        fail(m, arena_printf(w->records, "%" PRId64 " are lost, and %" PRId64 " would be enough", found.lost, least));
    found_n++;
    allowed_n += allowed;
    costly_n += !allowed && found.all[0].leave == MOVE_COSTLY;
}

static void check_cluster(uint64_t seed)
{
    struct model m;
    struct err e = {0};
    draw(&m, seed);
    struct world w = build(&m);
    if (!state_check(w.s, &e))
        fail(&m, e.text);
    if (state_gang_phase(w.s, id(&w, "late")) != GANG_WAITING) {
        starts_n++;
    } else {
        check(&m, &w, true);
        check(&m, &w, false);
    }
    world_free(&w);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, clusters = argc > 2 ? strtoull(argv[2], NULL, 10) : 5000;
    for (uint64_t i = 0; i < clusters; i++)
        check_cluster(seed + i);
    printf("# %" PRIu64 " clusters: %" PRIu64 " start, %" PRIu64 " times by moves (%" PRIu64 " allowed, %" PRIu64 " too costly; %" PRIu64
           " jobs, %" PRIu64 " to where another was), %" PRIu64 " times nothing would\n",
           clusters, starts_n, found_n, allowed_n, costly_n, moved_n, chains_n, none_n);
    return clusters < 1000 || (found_n && allowed_n && costly_n && chains_n && none_n) ? 0 : 1;
}
