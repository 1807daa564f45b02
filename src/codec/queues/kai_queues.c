#include "codec/queues/kai_queues.h"
#include <stdlib.h>
#include "base/amount.h"
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/quantity.h"

enum { GPU, CPU, MEMORY, RESOURCES_N = KAI_PARTS_N };
#define UNLIMITED (-1)
#define AFTER_MOST_MS ((int64_t)1 << 42) /* 139 years */
#define WEIGHT_MOST 1000000000 /* thousandths. LIMIT sums of as many queues as fit into memory stay in an int64 */

static const char *const fields[RESOURCES_N] = {"gpu", "cpu", "memory"};
struct part {                   /* of one resource */
    int64_t quota, limit;       /* UNLIMITED: none */
    int64_t weight;             /* thousandths */
    int64_t asked;              /* by it and all below it */
    int64_t most;               /* that it may deserve in this round */
    int64_t deserved;
};
struct level {
    struct kai_queue *queue;
    struct part parts[RESOURCES_N];
    int64_t priority;
    int64_t preempt_after_ms, reclaim_after_ms; /* UNLIMITED: not said */
    struct level *above;        /* NULL: at the top, or an orphan */
    struct level **below;
    uint32_t below_n, below_cap;
    bool is_orphan, is_reached;
    const struct part *of;      /* of the resource that is dealt out */
};
struct tree {
    const struct decoder *d;
    struct level *levels;
    uint32_t n;
    struct level **line;        /* from the top down */
    uint32_t line_n;
};

/* A number times `scale`, rounded down; below 0: UNLIMITED. */
static int64_t amount_read(const struct json *v, int64_t scale)
{
    struct quantity q;
    if (!json_is(v, JSON_NUMBER) || quantity_parse(json_bytes(v), &q, NULL) < 0)
        return 0;
    __int128 most = (__int128)NO_END * 1000000000 / scale;
    return q.nano < 0 ? UNLIMITED : q.nano >= most ? NO_END : (int64_t)(q.nano * scale / 1000000000);
}

static int64_t duration_read(const struct json *v)
{
    int64_t ms;
    if (!duration_parse(json_bytes(v), &ms))
        return UNLIMITED;
    return ms < 0 ? 0 : ms > AFTER_MOST_MS ? AFTER_MOST_MS : ms;
}

static void level_read(struct level *l)
{
    l->preempt_after_ms = duration_read(json_get(l->queue->spec, "preemptMinRuntime"));
    l->reclaim_after_ms = duration_read(json_get(l->queue->spec, "reclaimMinRuntime"));
    static const int64_t scales[RESOURCES_N] = {[GPU] = 1000, [CPU] = 1, [MEMORY] = 1000000};
    const struct json *amounts = json_get(l->queue->spec, "resources");
    l->priority = json_get_int64(l->queue->spec, "priority", KAI_PRIORITY);
    for (int i = 0; i < RESOURCES_N; i++) {
        const struct json *of = json_get(amounts, fields[i]);
        struct part *p = &l->parts[i];
        p->quota = amount_read(json_get(of, "quota"), scales[i]);
        p->limit = amount_read(json_get(of, "limit"), scales[i]);
        p->weight = amount_read(json_get(of, "overQuotaWeight"), 1000);
        p->weight = p->weight < 0 ? 0 : p->weight > WEIGHT_MOST ? WEIGHT_MOST : p->weight;
    }
}

/* ---- the tree ---- */

static const char *parent_of(const struct level *l)
{
    return json_get_text(l->queue->spec, "parentQueue", "");
}

static void tree_make(struct tree *t)
{
    struct map *by_name = map_new(sizeof(struct level *));
    for (uint32_t i = 0; i < t->n; i++)
        *(struct level **)map_put(by_name, bytes_of(t->levels[i].queue->name), NULL) = &t->levels[i];
    for (uint32_t i = 0; i < t->n; i++) {
        struct level *l = &t->levels[i], **above = *parent_of(l) ? map_find_text(by_name, parent_of(l)) : NULL;
        l->above = above ? *above : NULL;
        l->is_orphan = *parent_of(l) && !above;
        if (l->above)
            l->above->below_cap++;
    }
    map_free(by_name);
    for (uint32_t i = 0; i < t->n; i++)
        t->levels[i].below = arena_alloc(t->d->arena, (t->levels[i].below_cap + 1) * sizeof *t->levels[i].below);
    for (uint32_t i = 0; i < t->n; i++)
        if (t->levels[i].above)
            t->levels[i].above->below[t->levels[i].above->below_n++] = &t->levels[i];
    t->line = arena_alloc(t->d->arena, (t->n + 1) * sizeof *t->line);
    for (uint32_t i = 0; i < t->n; i++)
        if (!t->levels[i].above && !t->levels[i].is_orphan)
            t->line[t->line_n++] = &t->levels[i];
    for (uint32_t i = 0; i < t->line_n; i++) {
        t->line[i]->is_reached = true;
        for (uint32_t k = 0; k < t->line[i]->below_n; k++)
            t->line[t->line_n++] = t->line[i]->below[k];
    }
}

/* ---- what each deserves ---- */

static int64_t lower(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t limit_of(const struct part *p)
{
    return p->limit == UNLIMITED ? NO_END : p->limit;
}

static int64_t room_of(const struct part *p)
{
    return p->most > p->deserved ? p->most - p->deserved : 0;
}

/* By priority from the highest; then whom his limit stops first: room / weight. */
static int deal_order(const void *x, const void *y)
{
    const struct level *a = *(struct level *const *)x, *b = *(struct level *const *)y;
    const struct part *p = a->of, *q = b->of;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    __int128 left = (__int128)room_of(p) * q->weight, right = (__int128)room_of(q) * p->weight;
    return left != right ? (left < right ? -1 : 1) : strcmp(a->queue->name, b->queue->name);
}

/* The rest to those of one priority: who comes later gets what those before could not take. */
static int64_t deal_rest(struct level **all, uint32_t n, int resource, int64_t rest)
{
    int64_t weights = 0;
    for (uint32_t i = 0; i < n; i++)
        weights += all[i]->parts[resource].weight;
    for (uint32_t i = 0; i < n; i++) {
        struct part *p = &all[i]->parts[resource];
        if (!p->weight)
            continue;
        int64_t part = (int64_t)((__int128)rest * p->weight / weights), room = room_of(p);
        weights -= p->weight;
        if (resource == GPU) /* SOURCE KAI: whole ones */
            part -= part % 1000;
        part = part < room ? part : room;
        p->deserved += part;
        rest -= part;
    }
    return rest;
}

static void deal_round(struct level **all, uint32_t n, int resource, int64_t rest)
{
    qsort(all, n, sizeof *all, deal_order);
    for (uint32_t at = 0, end; at < n && rest > 0; at = end) {
        for (end = at; end < n && all[end]->priority == all[at]->priority; end++)
            ;
        rest = deal_rest(all + at, end - at, resource, rest);
    }
}

static int64_t without(int64_t amount, int64_t part)
{
    return amount > part ? amount - part : 0;
}

/* Quotas; what is asked for beyond them; what is left. */
static void deal(struct level **all, uint32_t n, int resource, int64_t available, struct arena *a)
{
    struct level **sorted = arena_alloc(a, (n + 1) * sizeof *sorted);
    int64_t asked = available, rest = available;
    for (uint32_t i = 0; i < n; i++) {
        struct part *p = &all[i]->parts[resource];
        p->deserved = lower(p->quota == UNLIMITED ? available : p->quota, limit_of(p));
        p->most = lower(limit_of(p), p->asked);
        asked = without(asked, lower(p->deserved, p->asked));
        all[i]->of = p;
        sorted[i] = all[i];
    }
    deal_round(sorted, n, resource, asked);
    for (uint32_t i = 0; i < n; i++) {
        struct part *p = &all[i]->parts[resource];
        rest = without(rest, p->deserved);
        p->most = limit_of(p);
    }
    deal_round(sorted, n, resource, rest);
}

/* From the top down: who says nothing says what the queue above it does. */
static void durations_inherit(struct tree *t)
{
    for (uint32_t i = 0; i < t->line_n; i++) {
        struct level *l = t->line[i];
        if (l->above && l->preempt_after_ms == UNLIMITED)
            l->preempt_after_ms = l->above->preempt_after_ms;
        if (l->above && l->reclaim_after_ms == UNLIMITED)
            l->reclaim_after_ms = l->above->reclaim_after_ms;
    }
}

/* From the bottom up: what a queue asks for it asks its parent for, up to its limit. */
static void asked_read(struct tree *t, int resource)
{
    for (uint32_t i = t->line_n; i-- > 0;) {
        struct level *l = t->line[i];
        struct part *p = &l->parts[resource];
        p->asked = amount_plus(p->asked, l->queue->asked ? l->queue->asked[resource] : NO_END);
        if (l->above)
            l->above->parts[resource].asked = amount_plus(l->above->parts[resource].asked, lower(p->asked, limit_of(p)));
    }
}

/* ---- records ---- */

/* As what each part is counted: thousandths of a GPU, of a core; bytes. */
static const char *const counted[RESOURCES_N] = {[GPU] = GPU_COUNTED, [CPU] = "cpu", [MEMORY] = "memory"};

struct record_making {
    const struct decoder *d;
    struct amount *deserved, *most;
    struct counting *counts;
    uint32_t deserved_n, most_n, counts_n;
};

void kai_asked_add(int64_t asked[KAI_PARTS_N], const char *name, int64_t value)
{
    for (int i = 0; i < RESOURCES_N; i++)
        if (strcmp(name, counted[i]) == 0)
            asked[i] = amount_plus(asked[i], value);
}

static name_id id_of(const struct decoder *d, const char *name)
{
    return intern_text_id(d->names, name);
}

/* kept_of: 0, it is counted of all groups. */
static void count_add(struct record_making *x, name_id as, name_id kept_of, name_id resource, int64_t times, int64_t per,
                      enum counting_how how)
{
    x->counts[x->counts_n++] = (struct counting){.as = as, .resource = resource, .times = times, .per = per, .how = how,
                                                 .only_kept = kept_of != 0, .of = kept_of};
}

/* All forms of GPUs are one. */
static void gpu_counts_add(struct record_making *x, name_id as, name_id kept_of, const struct kai_totals *totals)
{
    count_add(x, as, kept_of, id_of(x->d, "nvidia.com/gpu"), 1000, 1, COUNTS_WITHOUT_PART);
    for (uint32_t i = 0; i < totals->slices_n; i++)
        count_add(x, as, kept_of, totals->slices[i].resource, (int64_t)1000 * totals->slices[i].gpus, 1, COUNTS_EACH);
    count_add(x, as, kept_of, id_of(x->d, GPU_SHARE_MILLI), 1, 1, COUNTS_PART);
    count_add(x, as, kept_of, id_of(x->d, GPU_SHARE_MEMORY_MILLI), 1, 1, COUNTS_PART);
    if (totals->gpu_memory_bytes > 0)
        count_add(x, as, kept_of, id_of(x->d, GPU_SHARE_MEMORY), 1000, totals->gpu_memory_bytes, COUNTS_PART);
}

struct queue_shares kai_counts(const struct decoder *d, const struct kai_totals *totals)
{
    struct record_making x = {.d = d, .counts = arena_alloc(d->arena, (4 + totals->slices_n) * sizeof *x.counts)};
    gpu_counts_add(&x, id_of(d, GPU_COUNTED), 0, totals);
    return (struct queue_shares){.counts = x.counts, .counts_n = x.counts_n};
}

/* What groups that are non-preemptible have of it is counted once more: no more than the quota. */
static void part_add(struct record_making *x, int field, const struct part *p, const struct kai_totals *totals)
{
    name_id as = id_of(x->d, counted[field]), kept = id_of(x->d, arena_printf(x->d->arena, KAI_KEPT_PREFIX "%s", counted[field]));
    x->deserved[x->deserved_n++] = (struct amount){as, p->deserved};
    if (p->limit != UNLIMITED)
        x->most[x->most_n++] = (struct amount){as, p->limit};
    if (p->quota != UNLIMITED)
        x->most[x->most_n++] = (struct amount){kept, p->quota};
    if (field == GPU)
        gpu_counts_add(x, as, 0, totals);
    if (field == GPU)
        gpu_counts_add(x, kept, as, totals);
    else
        count_add(x, kept, as, as, 1, 1, COUNTS_EACH);
}

static struct queue_shares *shares_of(const struct decoder *d, const struct level *l, const struct kai_totals *totals)
{
    struct record_making x = {.d = d, .deserved = arena_alloc(d->arena, RESOURCES_N * sizeof *x.deserved),
                              .most = arena_alloc(d->arena, 2 * RESOURCES_N * sizeof *x.most),
                              .counts = arena_alloc(d->arena, 2 * (4 + totals->slices_n + RESOURCES_N) * sizeof *x.counts)};
    for (int i = 0; i < RESOURCES_N; i++)
        part_add(&x, i, &l->parts[i], totals);
    decode_sort_amounts(x.deserved, x.deserved_n);
    decode_sort_amounts(x.most, x.most_n);
    struct queue_shares *shares = arena_alloc(d->arena, sizeof *shares);
    *shares = (struct queue_shares){.deserved = x.deserved, .deserved_n = x.deserved_n, .capability = x.most, .capability_n = x.most_n,
                                    .counts = x.counts, .counts_n = x.counts_n, .weight = 1, .by_turns = true,
                                    .preempt_after_ms = l->preempt_after_ms > 0 ? l->preempt_after_ms : 0,
                                    .reclaim_after_ms = l->reclaim_after_ms > 0 ? l->reclaim_after_ms : 0};
    shares->parent = id_of(d, arena_printf(d->arena, DECODE_KAI_QUEUE_PREFIX "%s", parent_of(l)));
    return shares;
}

/* Why nobody starts in it; NULL: somebody may. */
static const char *closed_text(const struct decoder *d, const struct level *l)
{
    if (l->is_orphan)
        return arena_printf(d->arena, "its spec.parentQueue %.253s does not exist", parent_of(l));
    if (l->below_n)
        return arena_printf(d->arena, "it is above other Queues, %.253s for one: pods name a Queue that has none below it",
                            l->below[0]->queue->name);
    return l->is_reached ? NULL : "no end of its parents is at the top: one of them does not exist, or they go in a circle";
}

static void record_make(const struct decoder *d, const struct level *l, const struct kai_totals *totals)
{
    struct kai_queue *q = l->queue;
    const char *why = closed_text(d, l);
    q->record = (struct queue_record){.unlimited = true, .shares = shares_of(d, l, totals), .borrow_before_next_flavor = true,
                                      .strategy = QUEUE_BEST_EFFORT_FIFO, .kind = QUEUE_VOLCANO, .within_queue = PREEMPT_LOWER_PRIORITY};
    q->record.name = intern_text_id(d->names, arena_printf(d->arena, DECODE_KAI_QUEUE_PREFIX "%s", q->name));
    q->record.title = intern_text_id(d->names, q->name);
    q->record.closed = why || q->is_deleting;
    q->record.closed_text = why ? intern_text_id(d->names, why) : 0;
    const struct kai_queue **below = arena_alloc(d->arena, (l->below_n + 1) * sizeof *below);
    for (uint32_t i = 0; i < l->below_n; i++)
        below[i] = l->below[i]->queue;
    q->below = below;
    q->below_n = l->below_n;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct kai_queue *)a)->name, ((const struct kai_queue *)b)->name);
}

void kai_queues_read(const struct decoder *d, struct kai_queue *all, uint32_t n, const struct kai_totals *totals)
{
    const int64_t available[RESOURCES_N] = {totals->gpus * 1000, totals->cpu_milli, totals->memory_bytes};
    struct tree t = {.d = d, .levels = arena_zero(d->arena, n + 1, sizeof *t.levels), .n = n};
    if (n)
        qsort(all, n, sizeof *all, by_name);
    for (uint32_t i = 0; i < n; i++) {
        t.levels[i].queue = &all[i];
        level_read(&t.levels[i]);
    }
    tree_make(&t);
    durations_inherit(&t);
    uint32_t tops_n = 0;
    while (tops_n < t.line_n && !t.line[tops_n]->above)
        tops_n++;
    for (int r = 0; r < RESOURCES_N; r++) {
        asked_read(&t, r);
        deal(t.line, tops_n, r, available[r], d->arena);
        for (uint32_t i = 0; i < t.line_n; i++)
            deal(t.line[i]->below, t.line[i]->below_n, r, t.line[i]->parts[r].deserved, d->arena);
    }
    for (uint32_t i = 0; i < n; i++)
        record_make(d, &t.levels[i], totals);
}
