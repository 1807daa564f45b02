#include "core/score/target.h"
#include <stdlib.h>
#include "base/memory.h"

void targets_free(struct targets *t)
{
    if (!t)
        return;
    reserve_free(&t->reserve);
    free(t->sum_of);
    free(t->kinds);
    free(t->terms);
    free(t->nodes);
    free(t->classes);
    free(t->prices);
    free(t->cpus);
    free(t->rows);
    free(t);
}

/* ---- kinds ---- */

/* The place of these demands on nodes among all; TARGET_TERMS: there are too many. */
static uint32_t term_of(struct state *s, struct targets *t, const struct shape *shape)
{
    const struct shape bare = {.node_labels = shape->node_labels, .node_labels_n = shape->node_labels_n,
                               .node_terms = shape->node_terms, .node_terms_n = shape->node_terms_n};
    uint32_t id = shape_class_id(&s->shapes, &s->nodes, &bare, s->names), at = 0;
    while (at < t->terms_n && t->terms[at] != id)
        at++;
    if (at < t->terms_n || t->terms_n == TARGET_TERMS) {
        (void)shape_class_unref(&s->shapes, id); /* not the last reference, or of a class that nobody has seen */
        return at;
    }
    t->terms[t->terms_n++] = id;
    return at;
}

static int compare_cpus(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static void list_cpus(struct targets *t)
{
    uint32_t n = 0;
    t->cpus = mem_alloc((t->kinds_n + 1) * sizeof *t->cpus);
    for (uint32_t i = 0; i < t->kinds_n; i++)
        t->cpus[i] = t->kinds[i].cpu;
    if (t->kinds_n)
        qsort(t->cpus, t->kinds_n, sizeof *t->cpus, compare_cpus);
    for (uint32_t i = 0; i < t->kinds_n; i++)
        if (!i || t->cpus[i] != t->cpus[i - 1])
            t->cpus[n++] = t->cpus[i];
    t->cpus_n = n;
    for (uint32_t i = 0, at = 0; i < TARGET_CPU_STEPS; i++) {
        while (at < n && t->cpus[at] < (int64_t)i << TARGET_CPU_SHIFT)
            at++;
        t->cpu_steps[i] = (uint16_t)at;
    }
}

/* Between two amounts that kinds ask for of one GPU it makes no difference how much is left. */
static void list_levels(struct targets *t)
{
    bool asked[GPU_WHOLE + 1] = {false};
    for (uint32_t i = 0; i < t->kinds_n; i++)
        if (t->kinds[i].n == 1)
            asked[t->kinds[i].each] = true;
    for (uint32_t left = 1; left <= GPU_WHOLE; left++)
        t->level_of[left] = (uint16_t)(t->level_of[left - 1] + asked[left]);
    t->levels_n = t->level_of[GPU_WHOLE] + 1u;
    t->row_n = 1 + t->levels_n + TARGET_SEVERAL + 1;
}

/* Of all pods, as part of those that are of some kind. SOURCE as in fgd.c. */
static binary64 part_of(int64_t count, int64_t known, int64_t total)
{
    binary64 all = b64_of(total);
    return b64_over(b64_over(b64_of(count), all), b64_over(b64_of(known), all));
}

struct targets *targets_new(struct state *s, const struct target *all, uint32_t n, uint64_t total)
{
    struct targets *t = mem_zero(1, sizeof *t);
    t->kinds = mem_zero(TARGETS_MAX, sizeof *t->kinds);
    t->terms = mem_zero(TARGET_TERMS, sizeof *t->terms);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t gpus_n = all[i].gpus_n < NODE_GPUS ? all[i].gpus_n : NODE_GPUS;
        bool is_least = !t->asked_of[gpus_n] || all[i].cpu_milli < t->least_cpu_of[gpus_n];
        t->least_cpu_of[gpus_n] = is_least ? all[i].cpu_milli : t->least_cpu_of[gpus_n];
        t->asked_of[gpus_n] += (int64_t)gpus_n * all[i].gpu_milli * all[i].count;
    }
    uint64_t covered = 0;
    for (uint32_t i = 0; i < n && i < TARGETS_MAX && 100 * covered < TARGETS_COVER * total; i++) {
        const struct target *from = &all[i];
        struct target_kind *k = &t->kinds[i];
        uint32_t gpus_n = from->gpus_n < TARGET_SEVERAL ? from->gpus_n : TARGET_SEVERAL, each = from->gpu_milli;
        k->each = !gpus_n || !each ? 0 : gpus_n > 1 || each > GPU_WHOLE ? GPU_WHOLE : each;
        k->n = k->each ? gpus_n : 0;
        k->count = from->count;
        k->cpu = from->cpu_milli;
        k->term = term_of(s, t, &from->on);
        t->weight += k->count;
        t->cpu = amount_plus(t->cpu, k->n ? amount_times(k->cpu, k->count) : 0); /* a pod may ask for as much as there are numbers */
        t->gpu += (int64_t)k->n * k->each * k->count;
        covered += k->count;
        t->kinds_n++;
    }
    for (uint32_t i = 0; i < t->kinds_n; i++)
        t->kinds[i].part = part_of(t->kinds[i].count, t->weight, (int64_t)total);
    list_cpus(t);
    list_levels(t);
    return t;
}

static struct target_sum sum_of(struct state *s, uint32_t node)
{
    static const struct shape_class nobody = {.device_demand = -1};
    struct node_gpus g;
    if (!(s->nodes.flags[node] & NODE_KNOWN))
        return (struct target_sum){0};
    int32_t of = node_gpus_of(s, &nobody, node, &g);
    if (!s->targets)
        return (struct target_sum){0, g.all};
    int64_t cpu = s->column_cpu < 0 ? 0 : node_free(&s->nodes, node)[s->column_cpu];
    struct target_node *known = target_node_of(s, node);
    target_measure(s, node, known, &g, of, cpu);
    return (struct target_sum){known->lost, g.all};
}

static void sum_again(struct state *s, uint32_t node)
{
    struct targets *t = s->targets;
    const struct target_sum is = sum_of(s, node);
    t->sum.lost += is.lost - t->sum_of[node].lost;
    t->sum.left += is.left - t->sum_of[node].left;
    t->sum_of[node] = is;
}

static void sum_all(struct state *s)
{
    struct targets *t = s->targets;
    free(t->sum_of);
    t->sum_of_n = s->nodes.n;
    t->sum_of = mem_zero(t->sum_of_n, sizeof *t->sum_of);
    t->sum = (struct target_sum){0};
    for (uint32_t node = 1; node < s->nodes.n; node++)
        sum_again(s, node);
}

/* WHY  only of nodes that were touched: traces ask after every pod. */
void state_fragmentation(struct state *s, int64_t *ret_lost, int64_t *ret_left)
{
    struct targets *t = s->targets;
    const uint64_t seq = s->nodes.seq;
    if (!t) {
        *ret_lost = *ret_left = 0;
        for (uint32_t node = 1; node < s->nodes.n; node++)
            *ret_left += sum_of(s, node).left;
        return;
    }
    if (!t->sum_of || t->sum_of_n < s->nodes.n || seq - t->summed_seq > NODE_JOURNAL)
        sum_all(s);
    else
        for (uint64_t at = t->summed_seq; at < seq; at++)
            if (s->nodes.journal[at % NODE_JOURNAL])
                sum_again(s, s->nodes.journal[at % NODE_JOURNAL]);
    t->summed_seq = seq;
    *ret_lost = t->weight ? t->sum.lost / t->weight : 0;
    *ret_left = t->sum.left;
}

/* ---- nodes ---- */

static uint32_t class_of(struct targets *t, uint64_t holds)
{
    uint32_t at = 0;
    while (at < t->classes_n && t->classes[at] != holds)
        at++;
    if (at == t->classes_n) {
        MEM_RESERVE(t->classes, t->classes_cap, t->classes_n + 1);
        t->classes[t->classes_n++] = holds;
    }
    return at;
}

struct target_node *target_node_look(struct state *s, uint32_t node)
{
    struct targets *t = s->targets;
    if (node >= t->nodes_cap) {
        t->nodes = mem_grow(t->nodes, s->nodes.cap, sizeof *t->nodes);
        memset(t->nodes + t->nodes_cap, 0, (s->nodes.cap - t->nodes_cap) * sizeof *t->nodes);
        t->nodes_cap = s->nodes.cap;
    }
    struct target_node *known = &t->nodes[node];
    const struct node *n = &s->nodes.nodes[node];
    uint64_t holds = 0;
    for (uint32_t i = 0; i < t->terms_n; i++)
        if (node_terms_match(&s->shapes.classes[t->terms[i]].shape, node_labels(&s->nodes, node), n->name, s->names))
            holds |= (uint64_t)1 << i;
    *known = (struct target_node){.record_seq = n->record_seq, .class = class_of(t, holds), .known = true};
    return known;
}

uint64_t target_terms(struct state *s, uint32_t node)
{
    uint32_t class = target_node_of(s, node)->class; /* may be a new one */
    return s->targets->classes[class];
}

/* What each kind asks for is spread over all GPUs that it accepts. Returns prices by class, the caller's. */
static int64_t *find_prices(struct state *s)
{
    struct targets *t = s->targets;
    int64_t gpus_of[TARGET_TERMS] = {0}, all_n = 0, all = 0;
    for (uint32_t node = 1; node < s->nodes.n; node++) {
        int64_t gpus_n = s->nodes.flags[node] & NODE_KNOWN ? s->nodes.nodes[node].devices.gpus_n : 0;
        uint64_t holds = target_terms(s, node);
        for (uint32_t i = 0; i < t->terms_n; i++)
            gpus_of[i] += holds >> i & 1 ? gpus_n : 0;
        all_n += gpus_n;
    }
    int64_t *prices = mem_zero(t->classes_n + 1, sizeof *prices);
    for (uint32_t i = 0; i < t->kinds_n; i++) {
        const struct target_kind *k = &t->kinds[i];
        int64_t asked = (int64_t)k->n * k->each * k->count, gpus_n = k->term < TARGET_TERMS ? gpus_of[k->term] : 0;
        for (uint32_t c = 0; c < t->classes_n && gpus_n; c++)
            prices[c] += t->classes[c] >> k->term & 1 ? 1000 * asked / gpus_n : 0;
        all += gpus_n ? asked : 0;
    }
    for (uint32_t c = 0; c < t->classes_n; c++)
        prices[c] = all ? (prices[c] * all_n + all / 2) / all : 1000;
    return prices;
}

void target_prices_find(struct state *s)
{
    struct targets *t = s->targets;
    int64_t *prices = find_prices(s); /* of all classes: new ones may be among them */
    t->prices_changes += t->prices_n && memcmp(prices, t->prices, t->prices_n * sizeof *prices) != 0;
    free(t->prices);
    t->prices = prices;
    t->prices_n = t->classes_n;
    t->priced_seq = s->nodes.labels_seq;
}

static void fill_row(const struct targets *t, uint32_t *row, uint64_t holds, int64_t cpu)
{
    uint32_t *by_level = row + 1, *by_idle = by_level + t->levels_n;
    memset(row, 0, t->row_n * sizeof *row);
    row[0] = (uint32_t)t->weight;
    for (uint32_t i = 0; i < t->kinds_n; i++) {
        const struct target_kind *k = &t->kinds[i];
        if (!k->n || k->cpu > cpu || k->term >= TARGET_TERMS || !(holds >> k->term & 1))
            continue;
        for (uint32_t idle = k->n; k->n > 1 && idle <= TARGET_SEVERAL; idle++)
            by_idle[idle] += k->count;
        if (k->n > 1)
            continue;
        row[0] -= k->count;
        for (uint32_t level = 0; level < t->level_of[k->each]; level++)
            by_level[level] += k->count;
    }
}

void target_rows_fill(struct state *s)
{
    struct targets *t = s->targets;
    while (t->rows_cap < t->classes_n) {
        uint32_t more = t->rows_cap++;
        t->rows = mem_grow(t->rows, (size_t)t->rows_cap * (t->cpus_n + 1) * t->row_n, sizeof *t->rows);
        for (uint32_t i = 0; i <= t->cpus_n; i++)
            fill_row(t, &t->rows[((size_t)more * (t->cpus_n + 1) + i) * t->row_n], t->classes[more], i ? t->cpus[i - 1] : INT64_MIN);
    }
}
