/* core_pack.c - small gangs of up to three kinds of pods on up to four nodes: every way to place them is tried, and the core must agree
 *
 *   core_pack [SEED [CASES]]
 *
 * A gang comes as a workload with pod sets, or as a pod group whose pods stand in any order. Where its members can stand together the core
 * must place it; where they cannot it must not; in between nothing is left held.
 */
#include <inttypes.h>
#include "../unit/core/world.h"
#include "base/random.h"

#define GPU "nvidia.com/gpu"
enum { NODES = 4, KINDS = 3, MEMBERS = 8, ZONES = 3 };

struct plain_node {
    int64_t cpu, gpu;
    int zone;
    bool tainted;
};
struct plain_kind {
    int64_t cpu, gpu;
    int zone;                  /* -1: any */
    bool tolerates;
    int count;
};
struct model {
    struct world w;
    struct random random;
    struct plain_node nodes[NODES];
    struct plain_kind kinds[KINDS];
    int nodes_n, kinds_n;
};

static int pick(struct model *m, int n)
{
    return (int)random_below(&m->random, (uint64_t)n);
}

/* ---- every way ---- */

static bool may_stand(const struct plain_kind *k, const struct plain_node *n)
{
    return (k->zone < 0 || k->zone == n->zone) && (!n->tainted || k->tolerates) && k->cpu <= n->cpu && k->gpu <= n->gpu;
}

static bool place_all(struct model *m, int kind, int left)
{
    if (!left)
        return kind + 1 == m->kinds_n || place_all(m, kind + 1, m->kinds[kind + 1].count);
    struct plain_kind *k = &m->kinds[kind];
    for (int i = 0; i < m->nodes_n; i++) {
        if (!may_stand(k, &m->nodes[i]))
            continue;
        m->nodes[i].cpu -= k->cpu;
        m->nodes[i].gpu -= k->gpu;
        bool placed = place_all(m, kind, left - 1);
        m->nodes[i].cpu += k->cpu;
        m->nodes[i].gpu += k->gpu;
        if (placed)
            return true;
    }
    return false;
}

/* ---- the same for the core ---- */

static void make_nodes(struct model *m)
{
    m->nodes_n = 1 + pick(m, NODES);
    for (int i = 0; i < m->nodes_n; i++) {
        struct plain_node *n = &m->nodes[i];
        char name[16], amounts[64], labels[32];
        *n = (struct plain_node){.cpu = 1000 * (1 + pick(m, 12)), .gpu = pick(m, 9), .zone = pick(m, ZONES), .tainted = pick(m, 5) == 0};
        snprintf(name, sizeof name, "n%d", i);
        snprintf(amounts, sizeof amounts, "cpu=%d," GPU "=%d", (int)n->cpu, (int)n->gpu);
        snprintf(labels, sizeof labels, "zone=z%d", n->zone);
        struct node_record r = a_node(&m->w, name, amounts, labels);
        struct taint t = {.key = id(&m->w, "dedicated"), .value = id(&m->w, "x"), .effect = TAINT_NO_SCHEDULE};
        r.taints = &t;
        r.taints_n = n->tainted;
        node_record(&m->w, r);
    }
}

static void make_kinds(struct model *m)
{
    int left = MEMBERS;
    m->kinds_n = 1 + pick(m, KINDS);
    for (int i = 0; i < m->kinds_n; i++) {
        struct plain_kind *k = &m->kinds[i];
        int most = left - (m->kinds_n - 1 - i);
        *k = (struct plain_kind){.cpu = 500 * (1 + pick(m, 6)), 
                                 .gpu = pick(m, 3) ? 1 + pick(m, 4) : 0, .zone = pick(m, 2) ? -1 : pick(m, ZONES),
                                 .tolerates = pick(m, 3) == 0, .count = 1 + pick(m, most < 4 ? most : 4)};
        left -= k->count;
    }
}

static struct shape kind_shape(struct model *m, const struct plain_kind *k)
{
    char requests[64], zone[32] = "";
    snprintf(requests, sizeof requests, "cpu=%d," GPU "=%d", (int)k->cpu, (int)k->gpu);
    if (k->zone >= 0)
        snprintf(zone, sizeof zone, "zone=z%d", k->zone);
    struct shape s = shape_of(&m->w, requests, zone);
    struct toleration *t = arena_zero(m->w.records, 1, sizeof *t);
    *t = (struct toleration){.exists = true, .effects = 7};
    s.tolerations = t;
    s.tolerations_n = k->tolerates;
    return s;
}

static void tell_workload(struct model *m)
{
    struct world *w = &m->w;
    struct queue_words q;
    struct pod_set sets[KINDS];
    flavor(w, "any", "");
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "any", "cpu", 1000000, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "any", GPU, 1000, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
    struct gang_record r = a_workload(w, "job", "ns/lq", 1, "cpu=1");
    for (int i = 0; i < m->kinds_n; i++) {
        char name[8];
        snprintf(name, sizeof name, "s%d", i);
        sets[i] = (struct pod_set){.name = id(w, name), .shape = kind_shape(m, &m->kinds[i]), .count = m->kinds[i].count,
                                   .min_count = m->kinds[i].count};
    }
    r.pod_sets = sets;
    r.pod_sets_n = (uint32_t)m->kinds_n;
    gang_record(w, r);
}

static int tell_group(struct model *m)
{
    struct world *w = &m->w;
    int order[MEMBERS], n = 0;
    for (int i = 0; i < m->kinds_n; i++)
        for (int k = 0; k < m->kinds[i].count; k++)
            order[n++] = i;
    for (int i = n; i > 1; i--) {
        int k = pick(m, i), swap = order[i - 1];
        order[i - 1] = order[k];
        order[k] = swap;
    }
    gang_record(w, a_group(w, "job", NULL, n));
    for (int i = 0; i < n; i++) {
        char key[16], task[8];
        snprintf(key, sizeof key, "ns/p%d", i);
        snprintf(task, sizeof task, "s%d", order[i]);
        struct pod_record p = a_pod(w, key, "job", "cpu=1");
        p.shape = kind_shape(m, &m->kinds[order[i]]);
        p.pod_set = id(w, task);
        pod_record(w, p);
    }
    return n;
}

static void print_case(const struct model *m)
{
    for (int i = 0; i < m->nodes_n; i++)
        fprintf(stderr, "  node n%d: cpu %d gpu %d zone z%d%s\n", i, (int)m->nodes[i].cpu, (int)m->nodes[i].gpu, m->nodes[i].zone,
                m->nodes[i].tainted ? " tainted" : "");
    for (int i = 0; i < m->kinds_n; i++)
        fprintf(stderr, "  %d pods: cpu %d gpu %d zone %d%s\n", m->kinds[i].count, (int)m->kinds[i].cpu, (int)m->kinds[i].gpu,
                m->kinds[i].zone, m->kinds[i].tolerates ? " tolerates" : "");
}

/* 1: agreed that it fits, 0: that it does not; -1: the core says otherwise. */
static int one_case(uint64_t seed, bool planned)
{
    struct model m = {.random = {seed}};
    struct err e = {0};
    m.w = world_new();
    make_nodes(&m);
    make_kinds(&m);
    int members = 0;
    if (planned)
        tell_workload(&m);
    else
        members = tell_group(&m);
    run(&m.w);
    bool fits = place_all(&m, 0, m.kinds[0].count), admitted = effects(&m.w, EFFECT_ADMIT) == 1;
    bool bound = effects(&m.w, EFFECT_BIND) == (admitted ? (uint32_t)members : 0);
    bool sound = state_check(m.w.s, &e);
    if (admitted != fits || !bound || !sound) {
        fprintf(stderr, "core_pack: seed %" PRIu64 ", as a %s: the members %s stand together, the core %s (%s)%s%s\n", seed,
                planned ? "workload" : "pod group", fits ? "can" : "cannot", admitted ? "admits" : "does not", why(&m.w, "job"),
                bound ? "" : ", bound in part", e.text);
        print_case(&m);
    }
    world_free(&m.w);
    return admitted != fits || !bound || !sound ? -1 : fits;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, cases = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000;
    uint64_t fits = 0;
    for (uint64_t i = 0; i < cases; i++) {
        int planned = one_case(seed + i, true), group = one_case(seed + i, false);
        if (planned < 0 || group < 0)
            return 1;
        fits += (uint64_t)planned;
    }
    printf("# %" PRIu64 " of %" PRIu64 " gangs could be placed\n", fits, cases);
    return fits > cases / 10 && fits < cases * 9 / 10 ? 0 : 1; /* both answers must have been asked for */
}
