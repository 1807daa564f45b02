/* core_api.c - the API server in plain numbers: what it keeps becomes records, records become events, events reach a core */
#include "core_model.h"
#include <stdarg.h>

const char *const resource_names[RES_N] = {"cpu", "nvidia.com/gpu", "x.io/nic"};
const char *const flavor_names[FLAVORS] = {"fa", "fb", "fn", "fz"};
const struct flavor_facts flavor_facts[FLAVORS] = {{0, false}, {1, true}, {-1, false}, {1, false}};
const struct layout_group layouts[3][2] = {
    {{{true, true, true}, {0, 1}, 2}, {{0}, {0}, 0}},
    {{{true, true, false}, {0, 1}, 2}, {{false, false, true}, {3, 2}, 2}},
    {{{true, true, true}, {1, 2}, 2}, {{0}, {0}, 0}},
};

uint32_t pick(struct model *m, uint32_t n)
{
    return (uint32_t)random_below(&m->random, n);
}

bool chance(struct model *m, uint32_t permille)
{
    return random_permille(&m->random, permille);
}

void note(struct model *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *out = m->last[m->last_n++ % 8];
    int n = snprintf(out, sizeof m->last[0], "step %" PRIu64 ": ", m->step);
    vsnprintf(out + n, sizeof m->last[0] - (size_t)n, format, args);
    va_end(args);
    if (getenv("MODEL_TRACE"))
        printf("# %s\n", out);
}

static void print_quotas(const char *kind, int slot, const struct m_quota quota[FLAVORS][RES_N])
{
    for (int f = 0; f < FLAVORS; f++)
        for (int r = 0; r < RES_N; r++)
            if (quota[f][r].named)
                printf("#   %s%d: %s %s %d, borrows %d, lends %d\n", kind, slot, flavor_names[f], resource_names[r],
                       (int)quota[f][r].nominal, (int)quota[f][r].borrowing, (int)quota[f][r].lending);
}

static void print_queues(const struct model *m)
{
    const struct cluster *c = &m->api;
    printf("# fair sharing %d, strategies %u: %d %d\n", m->fair.on, m->fair.strategies_n, m->fair.strategies[0], m->fair.strategies[1]);
    for (int i = 0; i < COHORTS; i++) {
        if (c->cohorts[i].exists)
            printf("# cohort co%d: parent %d, weight %d\n", i, c->cohorts[i].parent, c->cohorts[i].weight_milli);
        if (c->cohorts[i].exists)
            print_quotas("co", i, c->cohorts[i].quota);
    }
    for (int i = 0; i < QUEUES; i++) {
        const struct m_queue *q = &c->queues[i];
        if (!q->exists)
            continue;
        printf("# queue q%d: cohort %d, strict %d, stop %d, layout %d, borrows first %d, preempts first %d %d, within %d, reclaims %d, "
               "borrowing %d up to %d, weight %d, checks %d %d (flavors %x)\n", i, q->cohort, q->strict, q->stop, q->layout,
               q->borrow_before_next, q->preempt_before_next, q->level_first, q->within, q->reclaim, q->borrow, q->threshold,
               q->weight_milli, q->checks[0], q->checks[1], (unsigned)q->check_flavors);
        print_quotas("q", i, q->quota);
    }
}

/* With MODEL_TRACE: the cluster as it is, for people. */
static void print_cluster(const struct model *m)
{
    const struct cluster *c = &m->api;
    print_queues(m);
    for (int i = 0; i < NODES; i++)
        if (c->nodes[i].exists)
            printf("# n%d: ready %d cordoned %d tainted %d sick %d kind %d zone %d cpu %d gpu %d nic %d\n", i, c->nodes[i].ready,
                   c->nodes[i].cordoned, c->nodes[i].tainted, c->nodes[i].named && c->nodes[i].sick, c->nodes[i].kind, c->nodes[i].zone,
                   (int)c->nodes[i].room[RES_CPU], (int)c->nodes[i].room[RES_GPU], (int)c->nodes[i].room[RES_NIC]);
    for (int i = 0; i < GANGS; i++) {
        const struct m_gang *g = &c->gangs[i];
        for (int s = 0; s < g->sets_n && g->exists; s++)
            printf("# gang %u type %d priority %d of %d queue %d admitted %d (only reserved %d, by others %d, checks %d %d) evicting %d active %d hold %d min %d: s%d %d-%d (%d to %d) x cpu %d gpu %d nic %d share %d/1000 %d GiB zone %d"
                   " tolerates %d flavors %d %d %d webhook %d\n", g->serial, g->type, g->priority,
                   (int)(g->created_ms - 1000000), local_queue_of(c, g), g->admitted,
                   g->reserved_only, g->foreign, g->checks[0], g->checks[1], g->evicting,
                   g->active, g->on_hold, g->min_members, g->sets[s].name, g->sets[s].count, g->sets[s].reclaimed,
                   g->sets[s].min_count, g->sets[s].granted,
                   (int)g->sets[s].kind.ask[RES_CPU], (int)g->sets[s].kind.ask[RES_GPU], (int)g->sets[s].kind.ask[RES_NIC],
                   g->sets[s].kind.milli, g->sets[s].kind.gib, g->sets[s].kind.zone, g->sets[s].kind.tolerates,
                   g->choices[s][0], g->choices[s][1], g->choices[s][2], g->webhook);
    }
    for (int i = 0; i < PODS; i++) {
        const struct m_pod *p = &c->pods[i];
        if (p->exists)
            printf("# p%u of gang %u s%d: app %d anti %d priority %d phase %d node %d %s cpu %d gpu %d nic %d share %d/1000 %d GiB zone %d%s%s%s\n", p->name,
                   p->gang_serial, p->set, p->app, p->anti, p->priority, p->phase, p->node, p->devices, (int)p->kind.ask[RES_CPU],
                   (int)p->kind.ask[RES_GPU], (int)p->kind.ask[RES_NIC], p->kind.milli, p->kind.gib, p->kind.zone,
                   p->foreign ? " foreign" : "", p->gated ? " gated" : "", p->deleting ? " deleting" : "");
    }
}

void die(struct model *m, const char *format, ...)
{
    if (getenv("MODEL_TRACE"))
        print_cluster(m);
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "core_events: seed %" PRIu64 " step %" PRIu64 ": ", m->seed, m->step);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    for (uint32_t i = m->last_n > 8 ? m->last_n - 8 : 0; i < m->last_n; i++)
        fprintf(stderr, "  %s\n", m->last[i % 8]);
    exit(1);
}

/* To look for one fault behind another: MODEL_WITHOUT=lists,equal,... leaves these out. Tests never set it. */
bool model_leaves_out(const char *what)
{
    const char *list = getenv("MODEL_WITHOUT");
    return list && strstr(list, what);
}

/* ---- names ---- */

static const char *const gang_kinds[] = {"workload", "volcano", "coscheduling"};

const char *gang_key(const struct m_gang *g, char out[40])
{
    snprintf(out, 40, "%s/ns/g%u", gang_kinds[g->type], g->serial);
    return out;
}

const char *pod_key(const struct m_pod *p, char out[40])
{
    snprintf(out, 40, "ns/p%u", p->name);
    return out;
}

const char *pod_gang_key(const struct m_pod *p, char out[40])
{
    if (p->gang >= 0)
        snprintf(out, 40, "%s/ns/g%u", gang_kinds[p->gang_type], p->gang_serial);
    else
        snprintf(out, 40, "pod/ns/p%u", p->name);
    return out;
}

static name_id numbered(struct world *w, const char *prefix, uint32_t n)
{
    char text[32];
    snprintf(text, sizeof text, "%s%u", prefix, n);
    return id(w, text);
}

int local_queue_of(const struct cluster *c, const struct m_gang *g)
{
    if (g->type == TYPE_GROUP)
        return -1;
    if (g->type == TYPE_VOLCANO)
        return c->queues[VOLCANO_QUEUE].exists ? VOLCANO_QUEUE : -2;
    const struct m_local *l = &c->locals[g->local];
    return l->exists && c->queues[l->queue].exists ? l->queue : -2;
}

/* ---- plain numbers -> records ---- */

static int by_id(const void *left, const void *right)
{
    const struct amount *a = left, *b = right;
    return a->resource < b->resource ? -1 : a->resource > b->resource;
}

static struct shape shape_record(struct world *w, const struct kind *k)
{
    struct arena *a = w->records;
    struct shape s = {.ns = id(w, "ns")};
    struct amount *requests = arena_zero(a, RES_N + 2, sizeof *requests);
    struct label *labels = arena_zero(a, FLAVORS + 1, sizeof *labels);
    bool tolerates = k->tolerates;
    for (int r = 0; r < RES_N; r++)
        if (k->ask[r])
            requests[s.requests_n++] = (struct amount){id(w, resource_names[r]), k->ask[r]};
    if (k->milli)
        requests[s.requests_n++] = (struct amount){id(w, GPU_SHARE_MILLI), k->milli};
    if (k->gib)
        requests[s.requests_n++] = (struct amount){id(w, GPU_SHARE_MEMORY), (int64_t)k->gib << 30};
    qsort(requests, s.requests_n, sizeof *requests, by_id);
    for (int f = 0; f < FLAVORS; f++) {
        bool has = k->flavors >> f & 1, twice = false;
        tolerates |= has && flavor_facts[f].tolerates;
        for (int g = 0; g < f; g++)
            twice |= (k->flavors >> g & 1) && flavor_facts[g].kind == flavor_facts[f].kind;
        if (has && !twice && flavor_facts[f].kind >= 0)
            labels[s.node_labels_n++] = (struct label){id(w, "kind"), id(w, flavor_facts[f].kind ? "b" : "a")};
    }
    if (k->zone >= 0)
        labels[s.node_labels_n++] = (struct label){id(w, "zone"), numbered(w, "z", (uint32_t)k->zone)};
    struct toleration *t = arena_zero(a, 1, sizeof *t);
    *t = (struct toleration){.key = id(w, "dedicated"), .exists = true, .effects = 7};
    s.requests = requests;
    s.node_labels = labels;
    s.tolerations = t;
    s.tolerations_n = tolerates;
    return s;
}

static void tell_node(struct life *l, int slot, const struct m_node *n)
{
    struct world *w = &l->w;
    name_id name = numbered(w, "n", (uint32_t)slot);
    if (!n->exists) {
        state_apply(w->s, &(struct change){.type = CHANGE_NODE_GONE, .gone = name});
        return;
    }
    struct arena *a = w->records;
    struct amount *amounts = arena_zero(a, RES_N + 2, sizeof *amounts);
    struct label *labels = arena_zero(a, 3, sizeof *labels);
    struct taint *taint = arena_zero(a, 1, sizeof *taint);
    struct node_record r = {
        .name = name, .ready = n->ready, .unschedulable = n->cordoned, .allocatable = amounts, .labels = labels, .taints = taint};
    for (int k = 0; k < RES_N; k++)
        if (n->room[k])
            amounts[r.allocatable_n++] = (struct amount){id(w, resource_names[k]), n->room[k]};
    labels[r.labels_n++] = (struct label){id(w, "kind"), id(w, n->kind ? "b" : "a")};
    labels[r.labels_n++] = (struct label){id(w, "zone"), numbered(w, "z", (uint32_t)n->zone)};
    labels[r.labels_n++] = (struct label){id(w, "host"), name};
    *taint = (struct taint){.key = id(w, "dedicated"), .value = id(w, "x"), .effect = TAINT_NO_SCHEDULE};
    r.taints_n = n->tainted;
    if (n->shared && n->room[RES_GPU]) {
        amounts[r.allocatable_n++] = (struct amount){id(w, GPU_SHARE_MILLI), GPU_MILLI * n->room[RES_GPU]};
        amounts[r.allocatable_n++] = (struct amount){id(w, GPU_SHARE_MEMORY), GPU_GIB * n->room[RES_GPU] << 30};
    }
    qsort(amounts, r.allocatable_n, sizeof *amounts, by_id);
    if (n->named && n->room[RES_GPU]) {
        struct device *all = arena_zero(a, 2 * (size_t)n->room[RES_GPU], sizeof *all);
        for (int64_t k = 0; k < n->room[RES_GPU]; k++)
            all[k] = (struct device){.resource = id(w, resource_names[RES_GPU]), .id = numbered(w, "", (uint32_t)k), .gpu = (uint16_t)k,
                                     .link_group = (uint16_t)(k / 2), .healthy = k || !n->sick};
        r.devices = all;
        r.devices_n = (uint32_t)n->room[RES_GPU];
        for (int64_t k = 0; k < n->room[RES_GPU] && n->shared; k++) {
            all[r.devices_n] = all[k];
            all[r.devices_n].resource = id(w, GPU_SHARE_MILLI);
            all[r.devices_n].parts = GPU_MILLI;
            all[r.devices_n++].memory_mib = GPU_GIB << 10;
        }
    }
    struct device_feedback *measured = arena_zero(a, (size_t)n->room[RES_GPU] + 1, sizeof *measured);
    for (int64_t k = 0; k < n->room[RES_GPU]; k++)
        measured[k] = (struct device_feedback){.id = numbered(w, "", (uint32_t)k), .activity_permille = (int16_t)(k % 3 * 250),
                                               .margin_c = (int16_t)(n->margin_c - k), .xid = k % 4 == 3 ? 79 : 0,
                                               .xid_ms = n->measured_ms - 3590000 - 1000 * n->margin_c};
    r.feedback = measured;
    r.feedback_n = n->measured_ms && n->named ? (uint32_t)n->room[RES_GPU] : 0;
    r.feedback_ms = n->measured_ms;
    r.feedback_period_ms = MEASURED_EVERY_MS;
    state_apply(w->s, &(struct change){.type = CHANGE_NODE, .node = r});
}

static uint32_t quota_records(struct world *w, const struct m_quota quota[FLAVORS][RES_N], bool flavorless, struct quota_record *out)
{
    uint32_t n = 0;
    for (int f = 0; f < FLAVORS; f++)
        for (int r = 0; r < RES_N; r++)
            if (quota[f][r].named)
                out[n++] = (struct quota_record){.flavor = flavorless ? 0 : id(w, flavor_names[f]), .resource = id(w, resource_names[r]),
                                                 .nominal = quota[f][r].nominal, .borrowing_limit = quota[f][r].borrowing,
                                                 .lending_limit = quota[f][r].lending};
    return n;
}

static void tell_cohort(struct life *l, int slot, const struct m_cohort *c)
{
    struct world *w = &l->w;
    struct quota_record quotas[FLAVORS * RES_N];
    struct cohort_record r = {.name = numbered(w, "co", (uint32_t)slot), .quotas = quotas};
    if (!c->exists) {
        state_apply(w->s, &(struct change){.type = CHANGE_COHORT_GONE, .gone = r.name});
        return;
    }
    r.parent = c->parent < 0 ? 0 : numbered(w, "co", (uint32_t)c->parent);
    r.quotas_n = quota_records(w, c->quota, false, quotas);
    r.has_weight = c->weight_milli != 1000;
    r.weight_nano = 1000000 * (int64_t)c->weight_milli;
    state_apply(w->s, &(struct change){.type = CHANGE_COHORT, .cohort = r});
}

static name_id queue_name(struct world *w, int slot)
{
    return slot == VOLCANO_QUEUE ? id(w, "volcano:v") : numbered(w, "q", (uint32_t)slot);
}

static void tell_queue(struct life *l, int slot, const struct m_queue *q)
{
    struct world *w = &l->w;
    struct quota_record quotas[FLAVORS * RES_N];
    struct resource_group groups[2];
    name_id resources[2][RES_N], flavors[2][2];
    bool volcano = slot == VOLCANO_QUEUE;
    struct queue_record r = {.name = queue_name(w, slot),
                             .strategy = q->strict ? QUEUE_STRICT_FIFO : QUEUE_BEST_EFFORT_FIFO,
                             .backfill = q->backfill,
                             .placement = q->placement,
                             .stop = q->stop,
                             .quotas = quotas,
                             .groups = groups,
                             .unlimited = volcano,
                             .borrow_before_next_flavor = q->borrow_before_next,
                             .preempt_before_next_flavor = q->preempt_before_next,
                             .preempt_before_borrowing = q->level_first,
                             .within_queue = q->within,
                             .reclaim_within_cohort = q->reclaim,
                             .borrow_within_cohort = q->borrow,
                             .has_borrow_threshold = q->threshold >= 0,
                             .borrow_threshold = q->threshold,
                             .has_weight = q->weight_milli != 1000,
                             .weight_nano = 1000000 * (int64_t)q->weight_milli,
                             .by_consumption = q->by_consumption};
    if (!q->exists) {
        state_apply(w->s, &(struct change){.type = CHANGE_QUEUE_GONE, .gone = r.name});
        return;
    }
    struct queue_check checks[CHECKS];
    name_id check_flavors[FLAVORS];
    for (int i = 0; i < CHECKS; i++)
        if (q->checks[i])
            checks[r.checks_n++] = (struct queue_check){.name = numbered(w, "c", (uint32_t)i), .flavors = i ? check_flavors : NULL,
                                                        .flavors_n = i ? (uint32_t)__builtin_popcount((unsigned)q->check_flavors) : 0};
    for (int f = 0, n = 0; f < FLAVORS; f++)
        if (q->check_flavors >> f & 1)
            check_flavors[n++] = id(w, flavor_names[f]);
    r.checks = checks;
    r.cohort = q->cohort < 0 ? 0 : numbered(w, "co", (uint32_t)q->cohort);
    r.quotas_n = quota_records(w, q->quota, volcano, quotas);
    for (int g = 0; g < 2 && !volcano; g++) {
        const struct layout_group *from = &layouts[q->layout][g];
        if (!from->flavors_n)
            continue;
        struct resource_group *to = &groups[r.groups_n++];
        *to = (struct resource_group){.resources = resources[g], .flavors = flavors[g], .flavors_n = (uint32_t)from->flavors_n};
        for (int k = 0; k < RES_N; k++)
            if (from->covers[k])
                resources[g][to->resources_n++] = id(w, resource_names[k]);
        for (int f = 0; f < from->flavors_n; f++)
            flavors[g][f] = id(w, flavor_names[from->flavors[f]]);
    }
    state_apply(w->s, &(struct change){.type = CHANGE_QUEUE, .queue = r});
}

static void tell_local(struct life *l, int slot, const struct m_local *local)
{
    struct world *w = &l->w;
    struct fine_amount consumed[RES_N];
    struct local_queue_record r = {.key = numbered(w, "ns/lq", (uint32_t)slot), .ns = id(w, "ns"), .stop = local->stop,
                                   .has_weight = local->weight_milli != 1000, .weight_nano = 1000000 * (int64_t)local->weight_milli,
                                   .consumed = consumed, .consumed_n = RES_N, .consumed_ms = local->consumed_ms};
    for (int k = 0; k < RES_N; k++)
        consumed[k] = (struct fine_amount){id(w, resource_names[k]), local->consumed[k].units, local->consumed[k].nano};
    if (!local->exists) {
        state_apply(w->s, &(struct change){.type = CHANGE_LOCAL_QUEUE_GONE, .gone = r.key});
        return;
    }
    r.queue = queue_name(w, local->queue);
    state_apply(w->s, &(struct change){.type = CHANGE_LOCAL_QUEUE, .local_queue = r});
}

static struct fine_amount consumed_of(struct life *l, const struct consumption_look *look, int resource)
{
    for (uint32_t i = 0; i < look->consumed_n; i++)
        if (look->consumed[i].resource == id(&l->w, resource_names[resource]))
            return look->consumed[i];
    return (struct fine_amount){0};
}

void write_consumed(struct model *m, bool all)
{
    for (int i = 0; i < LOCALS; i++) {
        struct m_local *local = &m->api.locals[i];
        struct consumption_look look;
        name_id key = numbered(&m->life.w, "ns/lq", (uint32_t)i);
        if (!local->exists || !(all || chance(m, 700)) ||
            !state_local_queue_consumption(m->life.w.s, key, m->life.w.cycle, &look) || !look.at_ms)
            continue;
        local->consumed_ms = look.at_ms;
        for (int k = 0; k < RES_N; k++)
            local->consumed[k] = consumed_of(&m->life, &look, k);
    }
}

/* A core that has just begun, before its first cycle, knows what the last one has written. */
void check_consumed(struct model *m, struct life *fresh)
{
    for (int i = 0; i < LOCALS; i++) {
        const struct m_local *local = &m->api.locals[i];
        struct consumption_look look;
        name_id key = numbered(&fresh->w, "ns/lq", (uint32_t)i);
        if (!local->exists || !local->consumed_ms || !state_local_queue_consumption(fresh->w.s, key, fresh->w.cycle, &look))
            continue;
        for (int k = 0; k < RES_N; k++) {
            const struct fine_amount is = consumed_of(fresh, &look, k);
            if (look.at_ms != local->consumed_ms || is.units != local->consumed[k].units || is.nano != local->consumed[k].nano)
                die(m, "lq%d: a core that begins anew has %" PRId64 " of %s consumed, its status %" PRId64, i, is.units, resource_names[k],
                    local->consumed[k].units);
        }
    }
}

static void tell_sets(struct world *w, const struct m_gang *g, struct gang_record *r)
{
    struct pod_set *sets = arena_zero(w->records, SETS, sizeof *sets);
    struct flavor_choice *choices = arena_zero(w->records, CHOICES, sizeof *choices);
    for (int i = 0; i < g->sets_n; i++) {
        const struct m_set *from = &g->sets[i];
        sets[i] = (struct pod_set){.name = numbered(w, "s", (uint32_t)from->name),
                                   .shape = shape_record(w, &from->kind),
                                   .count = from->count,
                                   .min_count = from->min_count,
                                   .reclaimed = from->reclaimed,
                                   .granted = from->granted,
                                   .in_turns = from->in_turns,
                                   .later = from->later,
                                   .serial = from->serial,
                                   .is_charged = from->is_charged};
        struct amount *charged = arena_zero(w->records, RES_N, sizeof *charged);
        for (int k = 0; k < RES_N && from->is_charged; k++)
            if (from->charged[k])
                charged[sets[i].charged_n++] = (struct amount){id(w, resource_names[k]), from->charged[k]};
        sets[i].charged = charged;
        for (int k = 0; k < RES_N && g->admitted; k++)
            if (g->choices[i][k] >= 0)
                choices[r->choices_n++] =
                    (struct flavor_choice){(uint16_t)i, id(w, resource_names[k]), id(w, flavor_names[g->choices[i][k]])};
    }
    r->pod_sets = sets;
    r->pod_sets_n = (uint32_t)g->sets_n;
    r->choices = choices;
}

static void tell_gang(struct life *l, const struct m_gang *g)
{
    static const enum gang_source sources[] = {GANG_WORKLOAD, GANG_VOLCANO, GANG_COSCHEDULING};
    struct world *w = &l->w;
    char key[40];
    struct gang_record r = {.key = id(w, gang_key(g, key)), .source = sources[g->type], .ns = id(w, "ns"), .priority = g->priority,
                            .due_ms = g->due_ms, .created_ms = g->created_ms, .uid = numbered(w, "u", g->serial),
                            .planned = g->type == TYPE_PLANNED,
                            .min_members = g->min_members, .active = g->active, .on_hold = g->on_hold, .not_before_ms = g->not_before_ms,
                            .finished = g->finished, .refill_s = g->refill_s,
                            .restart_ms = g->restart_ms};
    if (!g->exists) {
        state_apply(w->s, &(struct change){.type = CHANGE_GANG_GONE, .gone = r.key});
        return;
    }
    r.hold_text = g->on_hold ? id(w, "held") : 0;
    if (r.planned) {
        r.local_queue = numbered(w, "ns/lq", (uint32_t)g->local);
        tell_sets(w, g, &r);
        struct gang_check *checks = arena_zero(w->records, CHECKS, sizeof *checks);
        for (int i = 0; i < CHECKS; i++)
            if (g->checks[i] >= 0)
                checks[r.checks_n++] = (struct gang_check){numbered(w, "c", (uint32_t)i), (enum check_state)g->checks[i]};
        r.checks = checks;
        r.admitted = g->admitted;
        r.reserved_only = g->admitted && g->reserved_only;
        r.foreign = r.reserved_only && starts_without_places(g);
        r.evicted = g->admitted && g->evicting;
        r.reserved_ms = g->reserved_ms;
        r.pods = g->pods;
        r.unready_ms = g->unready_ms;
        r.admitted_ms = g->admitted && !g->reserved_only ? g->admitted_ms : 0;
        r.retries_n = g->retries_n;
        r.checkpoint_ms = g->checkpoint_ms;
        r.minimum_run_s = g->minimum_run_s;
        r.grace_s = g->grace_s;
        r.run_s = g->run_s;
        r.run_by_limit = g->run_s % 2 == 0;
        r.booking = booked_record(w, &g->booked);
        r.admitted_queue = g->admitted ? queue_name(w, g->admitted_queue) : 0;
    } else {
        struct amount *least = arena_zero(w->records, SETS, sizeof *least);
        for (int i = 0; i < g->sets_n; i++)
            if (g->sets[i].task_min)
                least[r.min_of_task_n++] = (struct amount){numbered(w, "s", (uint32_t)g->sets[i].name), g->sets[i].task_min};
        r.min_of_task = least;
        floor_tell(w, g, &r);
        r.queue = g->type == TYPE_VOLCANO ? id(w, "volcano:v") : 0;
    }
    state_apply(w->s, &(struct change){.type = CHANGE_GANG, .gang = r});
}

static void tell_pod(struct life *l, const struct m_pod *p)
{
    struct world *w = &l->w;
    char key[40];
    name_id name = id(w, pod_key(p, key));
    if (!p->exists) {
        state_apply(w->s, &(struct change){.type = CHANGE_POD_GONE, .gone = name});
        return;
    }
    char gang[40];
    pod_gang_key(p, gang);
    struct pod_record r = {.key = name, .uid = numbered(w, "u", p->serial), .gang = p->gang >= 0 ? id(w, gang) : 0,
                           .pod_set = p->gang >= 0 ? numbered(w, "s", (uint32_t)p->set) : 0, .shape = shape_record(w, &p->kind),
                           .priority = p->priority, .created_ms = p->created_ms, .phase = p->phase,
                           .node = p->node >= 0 ? numbered(w, "n", (uint32_t)p->node) : 0, .devices = id(w, p->devices),
                           .admitted = p->phase != POD_PENDING, .deleting = p->deleting, .gated = p->gated, .ours = !p->foreign,
                           .started_ms = p->started_ms, .preempts_nobody = p->never,
                           .nominated = p->nominated ? numbered(w, "n", (uint32_t)p->nominated - 1) : 0};
    struct label app = {id(w, "app"), numbered(w, "a", (uint32_t)p->app)};
    if (p->app) {
        r.shape.labels = &app;
        r.shape.labels_n = 1;
    }
    struct requirement same = {.key = app.key, .op = REQUIRE_IN, .values = &app.value, .values_n = 1};
    struct pod_affinity anti = {.pods = {.all = &same, .all_n = 1}, .namespaces = &r.shape.ns, .namespaces_n = 1, .anti = true,
                                .topology_key = id(w, p->anti == 2 ? "zone" : "host")};
    if (p->anti) {
        r.shape.affinities = &anti;
        r.shape.affinities_n = 1;
    }
    state_apply(w->s, &(struct change){.type = CHANGE_POD, .pod = r});
}

static void tell_budget(struct life *l, int slot, const struct m_budget *b)
{
    struct world *w = &l->w;
    name_id key = numbered(w, "ns/b", (uint32_t)slot), value = numbered(w, "a", (uint32_t)b->app);
    struct requirement app = {.key = id(w, "app"), .op = REQUIRE_IN, .values = &value, .values_n = 1};
    struct budget_record r = {.key = key, .ns = id(w, "ns"), .pods = {.all = &app, .all_n = 1}, .allowed = b->allowed};
    if (b->exists)
        state_apply(w->s, &(struct change){.type = CHANGE_BUDGET, .budget = r});
    else
        state_apply(w->s, &(struct change){.type = CHANGE_BUDGET_GONE, .gone = key});
}

/* ---- streams ---- */

static const enum stream_id stream_of[OBJ_N] = {STREAM_NODES, STREAM_QUEUES, STREAM_QUEUES, STREAM_QUEUES, STREAM_GANGS, STREAM_PODS,
                                                  STREAM_BUDGETS};

static struct event event_of(const struct cluster *c, enum object object, int slot)
{
    struct event e = {.object = object, .slot = slot};
    switch (object) {
    case OBJ_NODE: e.node = c->nodes[slot]; break;
    case OBJ_COHORT: e.cohort = c->cohorts[slot]; break;
    case OBJ_QUEUE: e.queue = c->queues[slot]; break;
    case OBJ_LOCAL: e.local = c->locals[slot]; break;
    case OBJ_GANG: e.gang = c->gangs[slot]; break;
    case OBJ_POD: e.pod = c->pods[slot]; break;
    case OBJ_BUDGET: e.budget = c->budgets[slot]; break;
    case OBJ_N: break;
    }
    return e;
}

void changed(struct model *m, enum object object, int slot)
{
    struct stream *s = &m->life.streams[stream_of[object]];
    if (s->n == STREAM)
        deliver(m, &m->life, stream_of[object]);
    s->events[(s->first + s->n++) % STREAM] = event_of(&m->api, object, slot);
}

/* An assumption ends when a record shows what became of the pod. */
static void see_pod(struct life *l, int slot, const struct m_pod *p)
{
    struct assumed *a = &l->assumed[slot];
    const struct m_pod *was = &l->seen.pods[slot];
    if (was->exists && was->gang >= 0 && was->phase == POD_SUCCEEDED && (!p->exists || p->serial != was->serial))
        l->done_gone[was->gang][was->set]++;
    if (a->serial && (!p->exists || p->serial != a->serial || p->node >= 0 || p->phase >= POD_SUCCEEDED))
        *a = (struct assumed){0};
    if (p->exists && p->gang >= 0 && p->node >= 0) {
        l->started[p->gang] = true; /* it runs: whoever comes now may come alone */
        l->begun[p->gang] |= (uint8_t)(1U << p->set);
    }
    l->seen.pods[slot] = *p;
}

/* With MODEL_TRACE=2: what the core is told. */
static void trace_seen(const struct event *e)
{
    const char *level = getenv("MODEL_TRACE");
    if (!level || *level < '2')
        return;
    if (e->object == OBJ_GANG)
        printf("#   seen gang %u: there %d active %d hold %d finished %d admitted %d (only reserved %d) checks %d %d sets %d (%d x cpu %d gpu %d zone %d)\n",
               e->gang.serial, e->gang.exists, e->gang.active, e->gang.on_hold, e->gang.finished, e->gang.admitted, e->gang.reserved_only,
               e->gang.checks[0], e->gang.checks[1], e->gang.sets_n,
               e->gang.sets[0].count, (int)e->gang.sets[0].kind.ask[RES_CPU], (int)e->gang.sets[0].kind.ask[RES_GPU],
               e->gang.sets[0].kind.zone);
    if (e->object == OBJ_POD)
        printf("#   seen pod p%u uid %u of gang %u set %d: there %d phase %d node %d %s deleting %d gated %d cpu %d gpu %d\n", e->pod.name,
               e->pod.serial, e->pod.gang_serial, e->pod.set, e->pod.exists, e->pod.phase, e->pod.node, e->pod.devices, e->pod.deleting,
               e->pod.gated, (int)e->pod.kind.ask[RES_CPU], (int)e->pod.kind.ask[RES_GPU]);
    if (e->object == OBJ_NODE)
        printf("#   seen node n%d: there %d ready %d cordoned %d tainted %d zone %d kind %d cpu %d gpu %d\n", e->slot, e->node.exists,
               e->node.ready, e->node.cordoned, e->node.tainted, e->node.zone, e->node.kind, (int)e->node.room[RES_CPU],
               (int)e->node.room[RES_GPU]);
    if (e->object == OBJ_QUEUE)
        printf("#   seen queue q%d: there %d stop %d checks %d %d strict %d cohort %d cpu of fa %d borrow %d lend %d\n", e->slot,
               e->queue.exists, e->queue.stop, e->queue.checks[0], e->queue.checks[1], e->queue.strict, e->queue.cohort,
               (int)e->queue.quota[0][0].nominal, (int)e->queue.quota[0][0].borrowing, (int)e->queue.quota[0][0].lending);
}

static void see(struct life *l, const struct event *e)
{
    trace_seen(e);
    arena_reset(l->w.records);
    switch (e->object) {
    case OBJ_NODE:
        l->seen.nodes[e->slot] = e->node;
        tell_node(l, e->slot, &e->node);
        break;
    case OBJ_COHORT:
        l->seen.cohorts[e->slot] = e->cohort;
        tell_cohort(l, e->slot, &e->cohort);
        break;
    case OBJ_QUEUE:
        l->seen.queues[e->slot] = e->queue;
        tell_queue(l, e->slot, &e->queue);
        break;
    case OBJ_LOCAL:
        l->seen.locals[e->slot] = e->local;
        tell_local(l, e->slot, &e->local);
        break;
    case OBJ_GANG:
        if (l->seen.gangs[e->slot].serial && l->seen.gangs[e->slot].serial != e->gang.serial) {
            l->started[e->slot] = false;
            l->begun[e->slot] = 0;
            memset(l->done_gone[e->slot], 0, sizeof l->done_gone[e->slot]);
        }
        l->seen.gangs[e->slot] = e->gang;
        tell_gang(l, &e->gang);
        break;
    case OBJ_POD:
        see_pod(l, e->slot, &e->pod);
        tell_pod(l, &e->pod);
        break;
    case OBJ_BUDGET:
        tell_budget(l, e->slot, &e->budget);
        break;
    case OBJ_N:
        break;
    }
}

bool deliver(struct model *m, struct life *l, enum stream_id stream)
{
    struct stream *s = &l->streams[stream];
    (void)m;
    if (!s->n)
        return false;
    struct event e = s->events[s->first];
    s->first = (s->first + 1) % STREAM;
    s->n--;
    see(l, &e);
    return true;
}

void deliver_all(struct model *m, struct life *l)
{
    for (int i = 0; i < STREAM_N; i++)
        while (deliver(m, l, (enum stream_id)i))
            ;
}

/* ---- lives ---- */

struct listed {
    enum object object;
    int slot;
};

static void shuffle(struct model *m, struct listed *all, uint32_t n)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = pick(m, i);
        struct listed swap = all[i - 1];
        all[i - 1] = all[k];
        all[k] = swap;
    }
}

void life_begin(struct model *m, struct life *l)
{
    static const int counts[OBJ_N] = {NODES, COHORTS, QUEUES, LOCALS, GANGS, PODS, BUDGETS};
    struct listed all[NODES + COHORTS + QUEUES + LOCALS + GANGS + PODS + BUDGETS], kinds[OBJ_N];
    int64_t now_ms = l->w.now_ms ? l->w.now_ms : 1000000;
    memset(&l->seen, 0, sizeof l->seen);
    memset(l->assumed, 0, sizeof l->assumed);
    memset(l->started, 0, sizeof l->started);
    memset(l->begun, 0, sizeof l->begun);
    memset(l->done_gone, 0, sizeof l->done_gone);
    memset(l->reserved, 0, sizeof l->reserved);
    l->w = world_new();
    l->w.fair = m->fair;
    l->w.placement = m->placement;
    state_set_ready_policy(l->w.s, &m->ready);
    state_set_consumption_policy(l->w.s, &m->consumption);
    l->w.now_ms = now_ms;
    for (int f = 0; f < FLAVORS; f++) {
        struct toleration t = {.key = id(&l->w, "dedicated"), .exists = true, .effects = 7};
        struct label label = {id(&l->w, "kind"), id(&l->w, flavor_facts[f].kind ? "b" : "a")};
        struct flavor_record r = {.name = id(&l->w, flavor_names[f]), .node_labels = &label, .node_labels_n = flavor_facts[f].kind >= 0,
                                  .tolerations = &t, .tolerations_n = flavor_facts[f].tolerates};
        state_apply(l->w.s, &(struct change){.type = CHANGE_FLAVOR, .flavor = r});
    }
    for (int i = 0; i < OBJ_N; i++)
        kinds[i] = (struct listed){(enum object)i, 0};
    if (!model_leaves_out("lists"))
        shuffle(m, kinds, OBJ_N); /* pods first, gangs first, nodes last ... */
    uint32_t n = 0;
    for (int i = 0; i < OBJ_N; i++) {
        uint32_t first = n;
        for (int k = 0; k < counts[kinds[i].object]; k++)
            all[n++] = (struct listed){kinds[i].object, k};
        shuffle(m, &all[first], n - first);
    }
    if (chance(m, 200) && !model_leaves_out("lists"))
        shuffle(m, all, n); /* lists that come in pieces */
    for (uint32_t i = 0; i < n; i++) {
        struct event e = event_of(&m->api, all[i].object, all[i].slot);
        bool exists = e.object == OBJ_NODE     ? e.node.exists
                      : e.object == OBJ_COHORT ? e.cohort.exists
                      : e.object == OBJ_QUEUE  ? e.queue.exists
                      : e.object == OBJ_LOCAL  ? e.local.exists
                      : e.object == OBJ_GANG   ? e.gang.exists
                      : e.object == OBJ_BUDGET ? e.budget.exists
                                               : e.pod.exists;
        if (exists)
            see(l, &e);
    }
    for (int i = 0; i < STREAM_N; i++) {
        if (!l->streams[i].events)
            l->streams[i].events = calloc(STREAM, sizeof(struct event));
        l->streams[i].first = l->streams[i].n = 0;
    }
}

void life_end(struct life *l)
{
    world_free(&l->w);
    for (int i = 0; i < STREAM_N; i++) {
        free(l->streams[i].events);
        l->streams[i] = (struct stream){0};
    }
}

void answer_outcome(struct life *l, const struct answer *a)
{
    if (a->effect == EFFECT_BIND && a->outcome == OUTCOME_FAILED)
        for (int i = 0; i < PODS; i++) {
            char key[40];
            if (l->assumed[i].serial && !strcmp(pod_key(&l->seen.pods[i], key), a->pod))
                l->assumed[i] = (struct assumed){0};
        }
    outcome(&l->w, a->effect, a->gang, a->pod[0] ? a->pod : NULL, a->outcome);
}
