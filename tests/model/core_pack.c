/* core_pack.c - small gangs of up to three kinds of pods on up to four nodes: every way to place them is tried, and the core must agree
 *
 *   core_pack [SEED [CASES]]
 *
 * A gang comes as a workload with pod sets, or as a pod group whose pods stand in any order. Where its members can stand together the core
 * must place it; where they cannot it must not; in between nothing is left held. In half of the cases GPUs have names and are given in
 * parts, too, and every way includes every GPU.
 */
#include <inttypes.h>
#include "../unit/core/world.h"
#include "base/random.h"

#define GPU "nvidia.com/gpu"
#define PARTS "capstan.dev/gpu-milli"
enum { NODES = 4, KINDS = 3, MEMBERS = 8, ZONES = 3, GPUS = 8, WHOLE = 1000 };

struct plain_node {
    int64_t cpu, gpu;
    int64_t left[GPUS];        /* parts of each GPU */
    int zone;
    bool tainted;
};
struct plain_kind {
    int64_t cpu, gpu, parts;   /* gpu: whole ones; parts: of one */
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
    bool in_parts;
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

static bool place_all(struct model *m, int kind, int left);

/* One of the kind on the node, with these GPUs or with parts of this one, and then the others. */
static bool place_rest(struct model *m, int kind, int left, struct plain_node *n, int gpus_n, const int *gpus)
{
    struct plain_kind *k = &m->kinds[kind];
    int64_t each = k->parts ? k->parts : WHOLE;
    n->cpu -= k->cpu;
    for (int i = 0; i < gpus_n; i++)
        n->left[gpus[i]] -= each;
    bool placed = place_all(m, kind, left - 1);
    n->cpu += k->cpu;
    for (int i = 0; i < gpus_n; i++)
        n->left[gpus[i]] += each;
    return placed;
}

static bool place_one(struct model *m, int kind, int left, struct plain_node *n)
{
    struct plain_kind *k = &m->kinds[kind];
    int gpus[GPUS], gpus_n = 0;
    for (int i = 0; i < n->gpu && k->parts; i++)
        if (n->left[i] >= k->parts && place_rest(m, kind, left, n, 1, &i))
            return true;
    for (int i = 0; i < n->gpu && !k->parts && gpus_n < k->gpu; i++)
        if (n->left[i] == WHOLE) /* those that nobody has any of are all alike */
            gpus[gpus_n++] = i;
    return !k->parts && gpus_n == k->gpu && place_rest(m, kind, left, n, gpus_n, gpus);
}

static bool place_all(struct model *m, int kind, int left)
{
    if (!left)
        return kind + 1 == m->kinds_n || place_all(m, kind + 1, m->kinds[kind + 1].count);
    struct plain_kind *k = &m->kinds[kind];
    for (int i = 0; i < m->nodes_n; i++) {
        if (may_stand(k, &m->nodes[i]) && place_one(m, kind, left, &m->nodes[i]))
            return true;
    }
    return false;
}

/* ---- the same for the core ---- */

/* Each GPU as a device that is given whole, and as one that is given in parts. */
static void name_gpus(struct model *m, struct node_record *r, int n)
{
    struct device *all = arena_zero(m->w.records, 2 * (size_t)n + 1, sizeof *all);
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "g%d", i);
        all[2 * i] = (struct device){.resource = id(&m->w, GPU), .id = id(&m->w, name), .gpu = (uint16_t)i, .healthy = true};
        all[2 * i + 1] = all[2 * i];
        all[2 * i + 1].resource = id(&m->w, PARTS);
        all[2 * i + 1].parts = WHOLE;
    }
    r->devices = all;
    r->devices_n = 2 * (uint32_t)n;
}

static void make_nodes(struct model *m)
{
    m->nodes_n = 1 + pick(m, m->in_parts ? 2 : NODES);
    for (int i = 0; i < m->nodes_n; i++) {
        struct plain_node *n = &m->nodes[i];
        char name[16], amounts[64], labels[32];
        *n = (struct plain_node){.cpu = 1000 * (1 + pick(m, 12)), .gpu = pick(m, m->in_parts ? 4 : GPUS + 1), .zone = pick(m, ZONES),
                                 .tainted = pick(m, 5) == 0};
        snprintf(name, sizeof name, "n%d", i);
        snprintf(amounts, sizeof amounts, m->in_parts ? "cpu=%d," GPU "=%d," PARTS "=%d" : "cpu=%d," GPU "=%d", (int)n->cpu, (int)n->gpu,
                 (int)n->gpu * WHOLE);
        snprintf(labels, sizeof labels, "zone=z%d", n->zone);
        struct node_record r = a_node(&m->w, name, amounts, labels);
        struct taint t = {.key = id(&m->w, "dedicated"), .value = id(&m->w, "x"), .effect = TAINT_NO_SCHEDULE};
        r.taints = &t;
        r.taints_n = n->tainted;
        for (int gpu = 0; gpu < n->gpu; gpu++)
            n->left[gpu] = WHOLE;
        if (m->in_parts)
            name_gpus(m, &r, (int)n->gpu);
        node_record(&m->w, r);
    }
}

static void make_kinds(struct model *m)
{
    int left = MEMBERS;
    bool narrow = pick(m, 3) != 0; /* two or three to a GPU, and GPUs are what there is too little of: the fullest is not always the best */
    m->kinds_n = 1 + pick(m, KINDS);
    for (int i = 0; i < m->kinds_n; i++) {
        struct plain_kind *k = &m->kinds[i];
        int most = left - (m->kinds_n - 1 - i);
        *k = (struct plain_kind){.cpu = 500 * (1 + pick(m, 6)), 
                                 .gpu = pick(m, 3) ? 1 + pick(m, 4) : 0, .zone = pick(m, 2) ? -1 : pick(m, ZONES),
                                 .tolerates = pick(m, 3) == 0, .count = 1 + pick(m, most < 4 ? most : 4)};
        left -= k->count;
        if (m->in_parts && (narrow || (k->gpu && pick(m, 3)))) {
            k->gpu = 0;
            k->cpu = 100;
            k->parts = narrow ? 50 * (5 + pick(m, 6)) : 50 * (1 + pick(m, 20));
        }
    }
}

static struct shape kind_shape(struct model *m, const struct plain_kind *k)
{
    char requests[64], zone[32] = "";
    snprintf(requests, sizeof requests, k->parts ? "cpu=%d," PARTS "=%d" : "cpu=%d," GPU "=%d", (int)k->cpu,
             (int)(k->parts ? k->parts : k->gpu));
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
    queue_quota(w, &q, "any", PARTS, 1000000, NO_LIMIT, NO_LIMIT);
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
        fprintf(stderr, "  %d pods: cpu %d gpu %d parts %d zone %d%s\n", m->kinds[i].count, (int)m->kinds[i].cpu, (int)m->kinds[i].gpu,
                (int)m->kinds[i].parts, m->kinds[i].zone, m->kinds[i].tolerates ? " tolerates" : "");
}

/* 1: agreed that it fits, 0: that it does not; -1: the core says otherwise. */
static int one_case(uint64_t seed, bool planned)
{
    struct model m = {.random = {seed}};
    struct err e = {0};
    m.w = world_new();
    m.in_parts = seed % 2;
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
