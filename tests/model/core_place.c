/* core_place.c - single pods on random clusters: the core's answer against plain filters written down pod by pod, node by node
 *
 *   core_place [SEED [PODS [RUNS]]]
 *
 * When the core binds, every filter must hold for that node; when it refuses, no node may pass all filters. No other node that passes them
 * may be one that the pod would rather have. In half of the runs GPUs have names and are given in parts, too: then those that a pod was
 * given must have been free, or have had as many parts left.
 */
#include <inttypes.h>
#include "../unit/core/world.h"
#include "base/random.h"

#define GPU "nvidia.com/gpu"
#define PARTS "capstan.dev/gpu-milli"
#define WHOLE 1000
#define GPUS 4
#define NODES 12
#define PODS_MAX 400

struct plain_node {
    int64_t cpu, gpu;
    int zone, rack;    /* rack -1: no such label */
    bool tainted, ready;
    int avoided;       /* so many taints that keep nobody away */
};
struct plain_pod {
    int node;          /* -1: not bound */
    int serial;
    int app;           /* label app=aN */
    int64_t cpu, gpu;
    int64_t parts;     /* of one GPU; then gpu is 0 */
    bool has[GPUS];    /* those that it was given */
    int zone;          /* wanted zone, -1 any */
    int not_zone;      /* node affinity NotIn, -1 none */
    bool tolerates, tolerates_all; /* taints; those that keep nobody away, too */
    int port;          /* 0 none */
    int near_app, far_app, spread_skew; /* affinity over zones, anti-affinity over racks, spread over zones of its own app; -1 / 0 none */
    int likes_zone[2], likes_zone_weight[2]; /* -1: none */
    int likes_app, likes_app_weight;         /* by zones; -1: none */
    int shuns_app, shuns_app_weight;         /* by racks */
    int zones_skew, racks_skew;              /* of its own app, as far as it goes; 0: no such wish */
};
struct model {
    struct world w;
    struct random random;
    struct plain_node nodes[NODES];
    struct plain_pod pods[PODS_MAX];
    int pods_n;
    bool in_parts;
};

static int pick(struct model *m, int n)
{
    return (int)random_below(&m->random, (uint64_t)n);
}

static name_id numbered(struct model *m, const char *prefix, int n)
{
    char text[32];
    snprintf(text, sizeof text, "%s%d", prefix, n);
    return id(&m->w, text);
}

/* ---- the filters, the slow way ---- */

/* Parts of a GPU that nobody has. */
static int64_t left_of(const struct model *m, int n, int gpu)
{
    int64_t left = WHOLE;
    for (int i = 0; i < m->pods_n; i++)
        if (m->pods[i].node == n && m->pods[i].has[gpu])
            left -= m->pods[i].parts ? m->pods[i].parts : WHOLE;
    return left;
}

static bool gpus_are_left(const struct model *m, const struct plain_pod *p, int n)
{
    int whole_n = 0, enough_n = 0;
    for (int gpu = 0; gpu < m->nodes[n].gpu; gpu++) {
        whole_n += left_of(m, n, gpu) == WHOLE;
        enough_n += left_of(m, n, gpu) >= p->parts;
    }
    return p->parts ? enough_n > 0 : whole_n >= p->gpu;
}

/* What the plan gives to the pod: as many as it asks for, and free; then it has them. */
static bool takes(const struct model *m, struct plain_pod *p, int n, const char *devices)
{
    int given_n = 0;
    for (const char *at = devices ? strchr(devices, '=') : NULL; at; at = strchr(at + 1, ',')) {
        int gpu = at[2] - '0'; /* "=g0,g1" */
        if (gpu >= m->nodes[n].gpu || p->has[gpu] || left_of(m, n, gpu) < (p->parts ? p->parts : WHOLE))
            return false;
        given_n++;
        p->has[gpu] = true;
    }
    return given_n == (p->parts ? 1 : p->gpu) && (!given_n || (strstr(devices, PARTS) != NULL) == (p->parts > 0));
}

static bool has_room(const struct model *m, const struct plain_pod *p, int n)
{
    int64_t cpu = p->cpu, gpu = p->gpu;
    for (int i = 0; i < m->pods_n; i++) {
        if (m->pods[i].node != n)
            continue;
        cpu += m->pods[i].cpu;
        gpu += m->pods[i].gpu;
        if (p->port && m->pods[i].port == p->port)
            return false;
    }
    return cpu <= m->nodes[n].cpu && (m->in_parts ? gpus_are_left(m, p, n) : gpu <= m->nodes[n].gpu);
}

static bool near_ok(const struct model *m, const struct plain_pod *p, int n)
{
    bool anywhere = false;
    if (p->near_app < 0)
        return true;
    for (int i = 0; i < m->pods_n; i++) {
        if (m->pods[i].node < 0 || m->pods[i].app != p->near_app)
            continue;
        anywhere = true;
        if (m->nodes[m->pods[i].node].zone == m->nodes[n].zone)
            return true;
    }
    return !anywhere && p->app == p->near_app; /* the first of its kind */
}

static bool same_rack(const struct model *m, int a, int b)
{
    return m->nodes[a].rack >= 0 && m->nodes[a].rack == m->nodes[b].rack;
}

static bool far_ok(const struct model *m, const struct plain_pod *p, int n)
{
    for (int i = 0; i < m->pods_n; i++) {
        const struct plain_pod *o = &m->pods[i];
        if (o->node < 0 || !same_rack(m, o->node, n))
            continue;
        if (o->app == p->far_app || p->app == o->far_app)
            return false;
    }
    return true;
}

static bool spread_ok(const struct model *m, const struct plain_pod *p, int n)
{
    int counts[4] = {0}, least = 1 << 30;
    bool seen[4] = {false};
    if (!p->spread_skew)
        return true;
    for (int k = 0; k < NODES; k++)
        if ((p->zone < 0 || m->nodes[k].zone == p->zone) && m->nodes[k].zone != p->not_zone)
            seen[m->nodes[k].zone] = true;
    for (int i = 0; i < m->pods_n; i++) {
        if (m->pods[i].node < 0)
            continue;
        int zone = m->nodes[m->pods[i].node].zone;
        counts[zone] += seen[zone] && m->pods[i].app == p->app;
    }
    for (int z = 0; z < 4; z++)
        least = seen[z] && counts[z] < least ? counts[z] : least;
    return counts[m->nodes[n].zone] + 1 - least <= p->spread_skew;
}

static bool fits(const struct model *m, const struct plain_pod *p, int n)
{
    const struct plain_node *node = &m->nodes[n];
    if (!node->ready || (node->tainted && !p->tolerates))
        return false;
    if ((p->zone >= 0 && node->zone != p->zone) || node->zone == p->not_zone)
        return false;
    return has_room(m, p, n) && near_ok(m, p, n) && far_ok(m, p, n) && spread_ok(m, p, n);
}

/* ---- what a pod would rather have, the slow way ---- */

static int64_t taints_of(const struct model *m, const struct plain_pod *p, int n)
{
    return p->tolerates_all ? 0 : m->nodes[n].avoided;
}

static int64_t zones_liked(const struct model *m, const struct plain_pod *p, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < 2; i++)
        sum += m->nodes[n].zone == p->likes_zone[i] ? p->likes_zone_weight[i] : 0;
    return sum;
}

static int64_t pods_liked(const struct model *m, const struct plain_pod *p, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < m->pods_n; i++) {
        const struct plain_pod *o = &m->pods[i];
        sum += o->app == p->likes_app && m->nodes[o->node].zone == m->nodes[n].zone ? p->likes_app_weight : 0;
        sum -= o->app == p->shuns_app && same_rack(m, o->node, n) ? p->shuns_app_weight : 0;
    }
    return sum;
}

/* ln(n + 2) in 1/256, of up to five domains. */
static int64_t weight_of_domains(int n)
{
    static const int64_t ln[] = {177, 280, 354, 411, 458, 497};
    return ln[n];
}

static bool counts_for_spread(const struct model *m, const struct plain_pod *p, int n)
{
    return !p->racks_skew || m->nodes[n].rack >= 0;
}

/* Pods of its app in domains of the nodes that pass. -1: the node takes no part. */
static int64_t crowd(const struct model *m, const struct plain_pod *p, int n, const bool *pass)
{
    bool zone_there[4] = {false}, rack_there[8] = {false};
    int zones_n = 0, racks_n = 0, in_zone = 0, in_rack = 0;
    if (!counts_for_spread(m, p, n))
        return -1;
    for (int k = 0; k < NODES; k++) {
        if (!pass[k] || !counts_for_spread(m, p, k))
            continue;
        zones_n += !zone_there[m->nodes[k].zone];
        zone_there[m->nodes[k].zone] = true;
        racks_n += m->nodes[k].rack >= 0 && !rack_there[m->nodes[k].rack];
        if (m->nodes[k].rack >= 0)
            rack_there[m->nodes[k].rack] = true;
    }
    for (int i = 0; i < m->pods_n; i++) {
        const struct plain_node *on = &m->nodes[m->pods[i].node];
        bool selected = (p->zone < 0 || on->zone == p->zone) && on->zone != p->not_zone;
        if (m->pods[i].app != p->app || !selected || !counts_for_spread(m, p, m->pods[i].node))
            continue;
        in_zone += on->zone == m->nodes[n].zone;
        in_rack += on->rack == m->nodes[n].rack;
    }
    int64_t sum = 0;
    if (p->zones_skew)
        sum += in_zone * weight_of_domains(zones_n) + 256 * (p->zones_skew - 1);
    if (p->racks_skew)
        sum += in_rack * weight_of_domains(racks_n) + 256 * (p->racks_skew - 1);
    return sum / 256;
}

/* As kube-scheduler adds them up. */
static int64_t joy(const struct model *m, const struct plain_pod *p, int n, const bool *pass)
{
    int64_t taints_most = 0, zones_most = 0, pods_least = INT64_MAX, pods_most = INT64_MIN, crowd_least = INT64_MAX, crowd_most = 0;
    for (int k = 0; k < NODES; k++) {
        if (!pass[k])
            continue;
        const int64_t taints = taints_of(m, p, k), zones = zones_liked(m, p, k), pods = pods_liked(m, p, k), c = crowd(m, p, k, pass);
        taints_most = taints > taints_most ? taints : taints_most;
        zones_most = zones > zones_most ? zones : zones_most;
        pods_least = pods < pods_least ? pods : pods_least;
        pods_most = pods > pods_most ? pods : pods_most;
        crowd_least = c >= 0 && c < crowd_least ? c : crowd_least;
        crowd_most = c > crowd_most ? c : crowd_most;
    }
    int64_t sum = taints_most ? 3 * (100 - 100 * taints_of(m, p, n) / taints_most) : 300, c = crowd(m, p, n, pass);
    sum += zones_most ? 2 * (100 * zones_liked(m, p, n) / zones_most) : 0;
    sum += pods_most > pods_least ? 2 * (100 * (pods_liked(m, p, n) - pods_least) / (pods_most - pods_least)) : 0;
    if ((p->zones_skew || p->racks_skew) && c >= 0)
        sum += 2 * (crowd_most ? 100 * (crowd_most + crowd_least - c) / crowd_most : 100);
    return sum;
}

/* Is there one that it would rather have? Returns it, -1: no. */
static int better_one(const struct model *m, const struct plain_pod *p, int n)
{
    bool pass[NODES];
    for (int k = 0; k < NODES; k++)
        pass[k] = fits(m, p, k);
    for (int k = 0; k < NODES; k++)
        if (pass[k] && joy(m, p, k, pass) > joy(m, p, n, pass))
            return k;
    return -1;
}

/* ---- building records ---- */

static struct selector app_is(struct model *m, int app)
{
    struct requirement *r = arena_zero(m->w.records, 1, sizeof *r);
    name_id *value = arena_alloc(m->w.records, sizeof *value);
    *value = numbered(m, "a", app);
    *r = (struct requirement){.key = id(&m->w, "app"), .op = REQUIRE_IN, .values = value, .values_n = 1};
    return (struct selector){.all = r, .all_n = 1};
}

static struct selector zone_is(struct model *m, int zone, enum requirement_op op)
{
    struct requirement *r = arena_zero(m->w.records, 1, sizeof *r);
    name_id *value = arena_alloc(m->w.records, sizeof *value);
    *value = numbered(m, "z", zone);
    *r = (struct requirement){.key = id(&m->w, "zone"), .op = op, .values = value, .values_n = 1};
    return (struct selector){.all = r, .all_n = 1};
}

static void add_wishes(struct model *m, const struct plain_pod *p, struct shape *shape)
{
    struct arena *a = m->w.records;
    struct node_preference *nodes = arena_zero(a, 2, sizeof *nodes);
    struct pod_affinity *pods = arena_zero(a, 2, sizeof *pods);
    struct topology_spread *spreads = arena_zero(a, 2, sizeof *spreads);
    const name_id zone = id(&m->w, "zone"), rack = id(&m->w, "rack");
    for (int i = 0; i < 2; i++)
        if (p->likes_zone[i] >= 0)
            nodes[shape->node_wishes_n++] =
                (struct node_preference){zone_is(m, p->likes_zone[i], REQUIRE_IN), p->likes_zone_weight[i]};
    if (p->likes_app >= 0)
        pods[shape->pod_wishes_n++] =
            (struct pod_affinity){.pods = app_is(m, p->likes_app), .topology_key = zone, .weight = p->likes_app_weight};
    if (p->shuns_app >= 0)
        pods[shape->pod_wishes_n++] =
            (struct pod_affinity){.pods = app_is(m, p->shuns_app), .topology_key = rack, .anti = true, .weight = p->shuns_app_weight};
    if (p->zones_skew)
        spreads[shape->spread_wishes_n++] =
            (struct topology_spread){.pods = app_is(m, p->app), .topology_key = zone, .max_skew = p->zones_skew};
    if (p->racks_skew)
        spreads[shape->spread_wishes_n++] =
            (struct topology_spread){.pods = app_is(m, p->app), .topology_key = rack, .max_skew = p->racks_skew};
    shape->node_wishes = nodes;
    shape->pod_wishes = pods;
    shape->spread_wishes = spreads;
}

static void add_rules(struct model *m, const struct plain_pod *p, struct shape *shape)
{
    struct arena *a = m->w.records;
    struct pod_affinity *affinities = arena_zero(a, 2, sizeof *affinities);
    if (p->near_app >= 0)
        affinities[shape->affinities_n++] = (struct pod_affinity){.pods = app_is(m, p->near_app), .topology_key = id(&m->w, "zone")};
    if (p->far_app >= 0)
        affinities[shape->affinities_n++] =
            (struct pod_affinity){.pods = app_is(m, p->far_app), .topology_key = id(&m->w, "rack"), .anti = true};
    shape->affinities = affinities;
    if (p->spread_skew) {
        struct topology_spread *spread = arena_zero(a, 1, sizeof *spread);
        *spread = (struct topology_spread){.pods = app_is(m, p->app), .topology_key = id(&m->w, "zone"), .max_skew = p->spread_skew};
        shape->spreads = spread;
        shape->spreads_n = 1;
    }
    if (p->not_zone >= 0) {
        struct selector *term = arena_zero(a, 1, sizeof *term);
        *term = zone_is(m, p->not_zone, REQUIRE_NOT_IN);
        shape->node_terms = term;
        shape->node_terms_n = 1;
    }
}

static struct pod_record record_of(struct model *m, const struct plain_pod *p, int serial)
{
    char requests[64], zone[32] = "", key[32];
    snprintf(requests, sizeof requests, p->parts ? "cpu=%d," PARTS "=%d" : "cpu=%d," GPU "=%d", (int)p->cpu,
             (int)(p->parts ? p->parts : p->gpu));
    snprintf(key, sizeof key, "ns/p%d", serial);
    if (p->zone >= 0)
        snprintf(zone, sizeof zone, "zone=z%d", p->zone);
    struct pod_record r = a_pod(&m->w, key, NULL, requests);
    r.shape = shape_of(&m->w, requests, zone);
    struct label *labels = arena_alloc(m->w.records, sizeof *labels);
    *labels = (struct label){id(&m->w, "app"), numbered(m, "a", p->app)};
    r.shape.labels = labels;
    r.shape.labels_n = 1;
    if (p->tolerates) {
        struct toleration *t = arena_zero(m->w.records, 1, sizeof *t);
        *t = (struct toleration){.exists = true, .effects = p->tolerates_all ? 7 : TAINT_NO_SCHEDULE | TAINT_NO_EXECUTE};
        r.shape.tolerations = t;
        r.shape.tolerations_n = 1;
    }
    if (p->port) {
        struct host_port *port = arena_zero(m->w.records, 1, sizeof *port);
        port->port = (uint16_t)p->port;
        r.shape.ports = port;
        r.shape.ports_n = 1;
    }
    add_rules(m, p, &r.shape);
    add_wishes(m, p, &r.shape);
    return r;
}

/* Each GPU as a device that is given whole, and as one that is given in parts. */
static void name_gpus(struct model *m, struct node_record *r, int n)
{
    struct device *all = arena_zero(m->w.records, 2 * (size_t)n + 1, sizeof *all);
    for (int i = 0; i < n; i++) {
        all[2 * i] = (struct device){.resource = id(&m->w, GPU), .id = numbered(m, "g", i), .gpu = (uint16_t)i, .healthy = true};
        all[2 * i + 1] = all[2 * i];
        all[2 * i + 1].resource = id(&m->w, PARTS);
        all[2 * i + 1].parts = WHOLE;
    }
    r->devices = all;
    r->devices_n = 2 * (uint32_t)n;
}

static void put_nodes(struct model *m)
{
    for (int i = 0; i < NODES; i++) {
        struct plain_node *n = &m->nodes[i];
        *n = (struct plain_node){.cpu = 2000 + 1000 * pick(m, 8), .gpu = pick(m, 5), .zone = pick(m, 3), .rack = pick(m, 6) - 1,
                                 .tainted = pick(m, 5) == 0, .ready = pick(m, 10) != 0, .avoided = pick(m, 3) ? 0 : 1 + pick(m, 2)};
        char name[16], amounts[64], labels[64];
        snprintf(name, sizeof name, "n%d", i);
        snprintf(amounts, sizeof amounts, m->in_parts ? "cpu=%d," GPU "=%d," PARTS "=%d" : "cpu=%d," GPU "=%d", (int)n->cpu, (int)n->gpu,
                 (int)n->gpu * WHOLE);
        if (n->rack >= 0)
            snprintf(labels, sizeof labels, "zone=z%d,rack=r%d", n->zone, n->rack);
        else
            snprintf(labels, sizeof labels, "zone=z%d", n->zone);
        struct node_record r = a_node(&m->w, name, amounts, labels);
        struct taint *t = arena_zero(m->w.records, 3, sizeof *t);
        if (n->tainted)
            t[r.taints_n++] = (struct taint){.key = id(&m->w, "dedicated"), .value = id(&m->w, "x"), .effect = TAINT_NO_SCHEDULE};
        for (int k = 0; k < n->avoided; k++)
            t[r.taints_n++] = (struct taint){.key = numbered(m, "avoided", k), .effect = TAINT_PREFER_NO_SCHEDULE};
        r.taints = t;
        r.ready = n->ready;
        if (m->in_parts)
            name_gpus(m, &r, (int)n->gpu);
        node_record(&m->w, r);
    }
}

static struct plain_pod random_pod(struct model *m)
{
    struct plain_pod p = {
        .node = -1, .app = pick(m, 4), .cpu = 100 * (1 + pick(m, 20)), .gpu = pick(m, 3) ? 0 : pick(m, 3),
        .zone = pick(m, 4) ? -1 : pick(m, 3), .not_zone = pick(m, 5) ? -1 : pick(m, 3), .tolerates = pick(m, 4) == 0,
        .port = pick(m, 6) ? 0 : 8000 + pick(m, 2), .near_app = pick(m, 4) ? -1 : pick(m, 4), .far_app = pick(m, 5) ? -1 : pick(m, 4),
        .spread_skew = pick(m, 4) ? 0 : 1 + pick(m, 2),
        .likes_zone = {pick(m, 4) ? -1 : pick(m, 3), pick(m, 4) ? -1 : pick(m, 3)},
        .likes_zone_weight = {1 + pick(m, 100), 1 + pick(m, 100)},
        .likes_app = pick(m, 5) ? -1 : pick(m, 4), .likes_app_weight = 1 + pick(m, 100),
        .shuns_app = pick(m, 3) ? -1 : pick(m, 4), .shuns_app_weight = 1 + pick(m, 100),
        .zones_skew = pick(m, 4) ? 0 : 1 + pick(m, 3), .racks_skew = pick(m, 4) ? 0 : 1 + pick(m, 3),
    };
    p.tolerates_all = p.tolerates && pick(m, 2);
    if (m->in_parts && pick(m, 2)) {
        p.gpu = 0;
        p.parts = 50 * (1 + pick(m, 20));
    }
    return p;
}

static void run_seed(uint64_t seed, int pods)
{
    static struct model model;
    struct model *m = &model;
    memset(m, 0, sizeof *m);
    m->w = world_new();
    m->in_parts = seed % 2;
    m->random.state = seed;
    put_nodes(m);
    int bound = 0;
    for (int i = 0; i < pods && i < PODS_MAX; i++) {
        struct plain_pod p = random_pod(m);
        p.serial = i;
        struct pod_record r = record_of(m, &p, i);
        pod_record(&m->w, r);
        run(&m->w);
        const struct plan_entry *e = entry_of(&m->w, EFFECT_BIND, text_of(&m->w, r.key));
        struct err err = {0};
        if (!state_check(m->w.s, &err)) {
            fprintf(stderr, "core_place: seed %" PRIu64 " pod %d: %s\n", seed, i, err.text);
            exit(1);
        }
        for (int n = 0; n < NODES; n++) {
            bool chosen = e && e->node == numbered(m, "n", n);
            if (chosen ? !fits(m, &p, n) : !e && fits(m, &p, n)) {
                fprintf(stderr, "core_place: seed %" PRIu64 " pod %d node n%d: core says %s, filters say %s (%s)\n", seed, i, n,
                        chosen ? "yes" : "no", chosen ? "no" : "yes", why(&m->w, ""));
                exit(1);
            }
            if (chosen && m->in_parts && !takes(m, &p, n, e->devices)) {
                fprintf(stderr, "core_place: seed %" PRIu64 " pod %d node n%d: given \"%s\"\n", seed, i, n, e->devices ? e->devices : "");
                exit(1);
            }
            const int rather = chosen ? better_one(m, &p, n) : -1;
            if (rather >= 0) {
                fprintf(stderr, "core_place: seed %" PRIu64 " pod %d on n%d: it would rather stand on n%d\n", seed, i, n, rather);
                exit(1);
            }
            if (chosen)
                p.node = n;
        }
        bound += e != NULL;
        if (!e)
            state_apply(m->w.s, &(struct change){.type = CHANGE_POD_GONE, .gone = r.key});
        else
            m->pods[m->pods_n++] = p;
        if (m->pods_n > 20 && pick(m, 2)) { /* one goes, so that the cluster never stays full */
            int victim = pick(m, m->pods_n);
            state_apply(m->w.s, &(struct change){.type = CHANGE_POD_GONE, .gone = numbered(m, "ns/p", m->pods[victim].serial)});
            m->pods[victim] = m->pods[--m->pods_n];
        }
    }
    printf("# seed %" PRIu64 ": %d of %d bound\n", seed, bound, pods);
    world_free(&m->w);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 60;
    int pods = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 120;
    for (uint64_t i = 0; i < runs; i++)
        run_seed(seed + i, pods);
    printf("filters ok\n");
    return 0;
}
