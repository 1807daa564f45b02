/* core_quota.c - random quota trees against the definitions, written out as plain recursion without any caching
 *
 *   core_quota [SEED [STEPS [RUNS]]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/random.h"
#include "core/quota/quota.h"

#define COHORTS 6
#define QUEUES 8
#define FLAVOR 101u
#define RESOURCE 102u

struct plain {            /* cohorts 0..COHORTS-1, then queues */
    int parent;           /* cohort index, -1 = root */
    bool named;           /* has a record for the resource */
    int64_t nominal, borrowing, lending, own_usage;
};
struct model {
    struct quota q;
    struct random random;
    struct plain nodes[COHORTS + QUEUES];
    uint64_t seed, step;
};

static name_id name_of(int i)
{
    return (name_id)(i + 1);
}

/* ---- the definitions ---- */

static int64_t max0(int64_t a)
{
    return a > 0 ? a : 0;
}

static int64_t kept(const struct model *m, int i);

static int64_t subtree(const struct model *m, int i)
{
    int64_t sum = m->nodes[i].named ? m->nodes[i].nominal : 0;
    for (int c = 0; c < COHORTS + QUEUES && i < COHORTS; c++)
        if (m->nodes[c].parent == i)
            sum += subtree(m, c) - kept(m, c);
    return sum;
}

static int64_t kept(const struct model *m, int i)
{
    return !m->nodes[i].named || m->nodes[i].lending == NO_LIMIT ? 0 : max0(subtree(m, i) - m->nodes[i].lending);
}

static int64_t usage(const struct model *m, int i)
{
    int64_t sum = m->nodes[i].own_usage;
    for (int c = 0; c < COHORTS + QUEUES && i < COHORTS; c++)
        if (m->nodes[c].parent == i)
            sum += max0(usage(m, c) - kept(m, c));
    return sum;
}

static int64_t available(const struct model *m, int i, bool empty)
{
    int64_t used = empty ? 0 : usage(m, i);
    if (m->nodes[i].parent < 0)
        return subtree(m, i) - used;
    int64_t from_parent = available(m, m->nodes[i].parent, empty);
    if (m->nodes[i].named && m->nodes[i].borrowing != NO_LIMIT) {
        int64_t most = subtree(m, i) - kept(m, i) - max0(used - kept(m, i)) + m->nodes[i].borrowing;
        from_parent = most < from_parent ? most : from_parent;
    }
    return max0(kept(m, i) - used) + from_parent;
}

static bool in_cycle(const struct model *m, int i)
{
    for (int steps = 0; i >= 0; i = m->nodes[i].parent)
        if (++steps > COHORTS + 1)
            return true;
    return false;
}

/* ---- random changes ---- */

static void put(struct model *m, int i)
{
    struct plain *p = &m->nodes[i];
    struct quota_record r = {.flavor = FLAVOR, .resource = RESOURCE, .nominal = p->nominal, .borrowing_limit = p->borrowing,
                             .lending_limit = p->lending};
    name_id parent = p->parent < 0 ? 0 : name_of(p->parent);
    if (i < COHORTS)
        quota_set_cohort(&m->q, name_of(i), parent, &r, p->named);
    else
        quota_set_queue(&m->q, name_of(i), parent, &r, p->named);
}

static void change(struct model *m)
{
    int i = (int)random_below(&m->random, COHORTS + QUEUES);
    struct plain *p = &m->nodes[i];
    if (random_permille(&m->random, 400)) {
        p->parent = random_permille(&m->random, 250) ? -1 : (int)random_below(&m->random, COHORTS);
        if (i < COHORTS && p->parent >= i && random_permille(&m->random, 900))
            p->parent = -1; /* cycles only now and then */
        p->named = random_permille(&m->random, 800);
        p->nominal = (int64_t)random_below(&m->random, 20);
        p->borrowing = random_permille(&m->random, 400) ? (int64_t)random_below(&m->random, 10) : NO_LIMIT;
        p->lending = random_permille(&m->random, 400) ? (int64_t)random_below(&m->random, 10) : NO_LIMIT;
        put(m, i);
    } else if (i >= COHORTS) {
        int64_t amount = (int64_t)random_below(&m->random, 12) - 5;
        if (p->own_usage + amount < 0)
            amount = -p->own_usage;
        quota_settle(&m->q);
        quota_add(&m->q, id_map_get(&m->q.queues, name_of(i)), FLAVOR, RESOURCE, amount);
        p->own_usage += amount;
    }
}

static void expect(struct model *m, int i, const char *what, int64_t want, int64_t have)
{
    if (want == have)
        return;
    fprintf(stderr, "core_quota: seed %" PRIu64 " step %" PRIu64 ": %s of queue %d: definition says %" PRId64 ", quota.c %" PRId64 "\n",
            m->seed, m->step, what, i - COHORTS, want, have);
    exit(1);
}

static void compare(struct model *m)
{
    quota_settle(&m->q);
    for (int i = COHORTS; i < COHORTS + QUEUES; i++) {
        uint32_t id = id_map_get(&m->q.queues, name_of(i));
        bool broken = in_cycle(m, i);
        expect(m, i, "broken", broken, m->q.nodes[id].broken);
        const struct quota_cell *cell = quota_find(&m->q, id, FLAVOR, RESOURCE);
        if (broken || !cell)
            continue;
        expect(m, i, "usage", usage(m, i), cell->usage);
        expect(m, i, "available", available(m, i, false), quota_available(&m->q, id, FLAVOR, RESOURCE));
        expect(m, i, "potential", available(m, i, true), quota_potential(&m->q, id, FLAVOR, RESOURCE));
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000;
    uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 50;
    for (uint64_t r = 0; r < runs; r++) {
        struct model m = {.seed = seed + r, .random = {seed + r}};
        quota_init(&m.q);
        for (int i = 0; i < COHORTS + QUEUES; i++) {
            m.nodes[i] = (struct plain){.parent = -1, .borrowing = NO_LIMIT, .lending = NO_LIMIT};
            put(&m, i);
        }
        for (m.step = 0; m.step < steps; m.step++) {
            change(&m);
            compare(&m);
        }
        quota_fini(&m.q);
    }
    printf("trees ok\n");
    return 0;
}
