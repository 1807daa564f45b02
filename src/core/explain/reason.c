#include "core/explain/reason.h"
#include "base/arena.h"
#include "base/collections/intern.h"
#include "base/collections/map.h"
#include "base/memory.h"

const char *reason_code_name(enum reason_code code)
{
    static const char *const names[REASON_CODES_N] = {
#define X(code, name) name,
        REASON_CODES(X)
#undef X
    };
    return (unsigned)code < REASON_CODES_N ? names[code] : "unknown";
}

const char *preemption_name(enum preemption p)
{
    static const char *const names[] = {[PREEMPTION_IN_QUEUE] = "InClusterQueue", [PREEMPTION_RECLAIM] = "InCohortReclamation",
                                        [PREEMPTION_RECLAIM_WHILE_BORROWING] = "InCohortReclaimWhileBorrowing",
                                        [PREEMPTION_FAIR_SHARING] = "InCohortFairSharing",
                                        [PREEMPTION_BY_PRIORITY] = "PreemptionByScheduler", [PREEMPTION_DESERVED] = "Reclaimed",
                                        [PREEMPTION_LOWER_IN_QUEUE] = "LowerPriority", [PREEMPTION_MOVED] = "Moved"};
    return names[p];
}

struct reason *reason_new(struct arena *a, struct reason content)
{
    struct reason *r = arena_alloc(a, sizeof *r);
    *r = content;
    r->child = r->next = r->remedies = NULL;
    return r;
}

void reason_add(struct reason *parent, struct reason *child)
{
    const struct reason **link = &parent->child;
    while (*link)
        link = (const struct reason **)&(*link)->next; /* the tree is ours while it is built */
    *link = child;
}

static bool same(const struct reason *a, const struct reason *b)
{
    return a->code == b->code && a->name == b->name && a->queue == b->queue && a->flavor == b->flavor && a->resource == b->resource &&
           a->pod_set == b->pod_set && a->have == b->have && a->need == b->need && a->taken == b->taken && a->nodes_n == b->nodes_n;
}

void reason_add_once(struct reason *parent, struct reason *child)
{
    for (const struct reason *r = parent->child; r; r = r->next)
        if (same(r, child))
            return;
    reason_add(parent, child);
}

static uint64_t two(const struct intern *names, name_id a, name_id b)
{
    return (uint64_t)intern_hash(names, a) << 32 | intern_hash(names, b);
}

uint64_t reason_hash(const struct reason *r, const struct intern *names)
{
    uint64_t hash = 0;
    for (; r; r = r->next) {
        uint64_t words[] = {hash,
                            (uint64_t)r->queue_kind << 32 | r->code,
                            two(names, r->name, r->queue),
                            two(names, r->flavor, r->resource),
                            two(names, r->pod_set, 0) | r->nodes_n,
                            (uint64_t)r->have,
                            (uint64_t)r->need,
                            (uint64_t)r->taken,
                            r->child ? reason_hash(r->child, names) : 1};
        hash = hash_bytes(words, sizeof words, 0x726561736f6eu);
    }
    return hash;
}

uint64_t reason_codes_hash(const struct reason *r, const struct intern *names)
{
    uint64_t hash = 0;
    for (; r; r = r->next) {
        bool of_others = r->code == REASON_BEHIND || r->code == REASON_KEPT_OUT;
        name_id name = of_others ? 0 : r->name; /* who is in front changes all the time */
        uint64_t words[] = {hash,
                            (uint64_t)r->queue_kind << 32 | r->code,
                            two(names, name, r->queue),
                            two(names, r->flavor, r->resource),
                            intern_hash(names, r->pod_set),
                            r->child ? reason_codes_hash(r->child, names) : 1};
        hash = hash_bytes(words, sizeof words, 0x636f646573u);
    }
    return hash;
}

static size_t count(const struct reason *r)
{
    size_t n = 0;
    for (; r; r = r->next)
        n += 1 + count(r->child) + count(r->remedies);
    return n;
}

static const struct reason *copy_list(const struct reason *r, struct reason **at)
{
    const struct reason *first = NULL, **link = &first;
    for (; r; r = r->next) {
        struct reason *to = (*at)++;
        *to = *r;
        to->next = NULL;
        *link = to;
        link = &to->next;
        to->child = copy_list(r->child, at);
        to->remedies = copy_list(r->remedies, at);
    }
    return first;
}

struct reason *reason_copy(const struct reason *r)
{
    struct reason single = *r;
    single.next = NULL;
    struct reason *block = mem_alloc(count(&single) * sizeof *block), *at = block;
    (void)copy_list(&single, &at); /* the first copied is the block's first */
    return block;
}

const struct reason *reason_copy_into(struct arena *a, const struct reason *r)
{
    struct reason single = *r;
    single.next = NULL;
    struct reason *at = arena_alloc(a, count(&single) * sizeof *at);
    return copy_list(&single, &at);
}

const struct reason *reason_find(const struct reason *r, enum reason_code code)
{
    for (; r; r = r->next) {
        const struct reason *found = r->code == code ? r : reason_find(r->child, code);
        if (found)
            return found;
    }
    return NULL;
}
