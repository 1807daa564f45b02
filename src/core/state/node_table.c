#include "core/state/node_table.h"
#include "base/memory.h"
#include <assert.h>

#define PODS_DEFAULT 110 /* SOURCE kubelet --max-pods: what a node holds that does not say */

void node_table_init(struct node_table *t, name_id pods, const struct intern *names)
{
    *t = (struct node_table){.n = 1, .stride = 8, .columns_n = 1, .names = names};
    t->columns[0] = pods;
    t->journal = mem_zero(NODE_JOURNAL, sizeof *t->journal);
}

void node_table_fini(struct node_table *t)
{
    for (uint32_t i = 1; i < t->n; i++) {
        free((void *)t->nodes[i].labels);
        free((void *)t->nodes[i].taints);
        free(t->nodes[i].feedback);
        free(t->nodes[i].load);
        device_table_fini(&t->nodes[i].devices);
    }
    free(t->nodes);
    free(t->flags);
    free(t->allocatable);
    free(t->free);
    free(t->holes);
    free(t->journal);
    free(t->gained);
    free(t->rank);
    free(t->touched);
    free(t->eased);
    free(t->idle_twins);
    free(t->sorted);
    id_map_fini(&t->by_name);
    *t = (struct node_table){0};
}

static int64_t *matrix_resized(int64_t *old, uint32_t n, uint32_t old_stride, uint32_t cap, uint32_t stride)
{
    int64_t *fresh = mem_zero((size_t)cap * stride, sizeof *fresh);
    for (uint32_t i = 0; i < n && old; i++)
        memcpy(&fresh[(size_t)i * stride], &old[(size_t)i * old_stride], old_stride * sizeof *old);
    free(old);
    return fresh;
}

static void resize(struct node_table *t, uint32_t cap, uint32_t stride)
{
    t->allocatable = matrix_resized(t->allocatable, t->n, t->stride, cap, stride);
    t->free = matrix_resized(t->free, t->n, t->stride, cap, stride);
    if (cap != t->cap) {
        t->nodes = mem_grow(t->nodes, cap, sizeof *t->nodes);
        t->flags = mem_grow(t->flags, cap, sizeof *t->flags);
        t->rank = mem_grow(t->rank, cap, sizeof *t->rank);
        t->touched = mem_grow(t->touched, cap, sizeof *t->touched);
        t->eased = mem_grow(t->eased, cap, sizeof *t->eased);
        t->idle_twins = mem_grow(t->idle_twins, cap, sizeof *t->idle_twins);
        t->sorted = mem_grow(t->sorted, cap, sizeof *t->sorted);
    }
    t->cap = cap;
    t->stride = stride;
}

uint32_t node_table_find(const struct node_table *t, name_id name)
{
    return id_map_get(&t->by_name, name);
}

/* ---- names in order: a rank lies between those of its neighbours; when there is none between, all are numbered anew ---- */

#define RANK_GAP 1024u

static uint32_t sorted_bound(const struct node_table *t, name_id name)
{
    const char *text = intern_name(t->names, name);
    uint32_t low = 0, high = t->sorted_n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (strcmp(intern_name(t->names, t->nodes[t->sorted[middle]].name), text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void rank_all(struct node_table *t)
{
    uint32_t gap = RANK_GAP;
    while (gap > 1 && (uint64_t)gap * (t->sorted_n + 1) > UINT32_MAX)
        gap /= 2;
    for (uint32_t i = 0; i < t->sorted_n; i++)
        t->rank[t->sorted[i]] = (i + 1) * gap;
    t->ranked_n++;
}

static void rank_insert(struct node_table *t, uint32_t slot)
{
    uint32_t at = t->sorted_n;
    if (at && strcmp(intern_name(t->names, t->nodes[t->sorted[at - 1]].name), intern_name(t->names, t->nodes[slot].name)) > 0)
        at = sorted_bound(t, t->nodes[slot].name);
    memmove(&t->sorted[at + 1], &t->sorted[at], (t->sorted_n - at) * sizeof *t->sorted);
    t->sorted[at] = slot;
    t->sorted_n++;
    uint64_t before = at ? t->rank[t->sorted[at - 1]] : 0;
    uint64_t after = at + 1 < t->sorted_n ? t->rank[t->sorted[at + 1]] : before + 2 * RANK_GAP;
    if (after - before < 2 || before + 2 * RANK_GAP > UINT32_MAX)
        rank_all(t);
    else
        t->rank[slot] = (uint32_t)((before + after) / 2);
}

static void rank_remove(struct node_table *t, uint32_t slot)
{
    uint32_t at = sorted_bound(t, t->nodes[slot].name);
    assert(at < t->sorted_n && t->sorted[at] == slot);
    memmove(&t->sorted[at], &t->sorted[at + 1], (--t->sorted_n - at) * sizeof *t->sorted);
}

uint32_t node_table_slot(struct node_table *t, name_id name)
{
    uint32_t slot = id_map_get(&t->by_name, name);
    if (slot)
        return slot;
    if (t->holes_n) {
        slot = t->holes[--t->holes_n];
    } else {
        if (t->n >= t->cap)
            resize(t, t->cap ? t->cap * 2 : 16, t->stride);
        slot = t->n++;
        t->touched[slot] = t->eased[slot] = 0; /* one that was used before keeps its last touch: views have not seen it yet */
    }
    t->nodes[slot] = (struct node){.name = name};
    t->flags[slot] = 0;
    t->idle_twins[slot] = TWINS_UNKNOWN;
    memset(node_free(t, slot), 0, t->stride * sizeof(int64_t));
    memset(node_allocatable(t, slot), 0, t->stride * sizeof(int64_t));
    id_map_put(&t->by_name, name, slot);
    rank_insert(t, slot);
    return slot;
}

int32_t node_table_find_column(const struct node_table *t, name_id resource)
{
    for (uint32_t i = 0; i < t->columns_n; i++)
        if (t->columns[i] == resource)
            return (int32_t)i;
    return -1;
}

int32_t node_table_column(struct node_table *t, name_id resource)
{
    int32_t found = node_table_find_column(t, resource);
    if (found >= 0)
        return found;
    if (t->columns_n == LIMIT_RESOURCES)
        return -1;
    if (t->columns_n == t->stride)
        resize(t, t->cap, t->stride * 2);
    t->columns[t->columns_n] = resource;
    return (int32_t)t->columns_n++;
}

/* Returns whether anything differs from before. */
static bool set_amounts(struct node_table *t, uint32_t slot, const struct node_record *r)
{
    int64_t amounts[LIMIT_RESOURCES] = {PODS_DEFAULT};
    for (uint32_t i = 0; i < r->allocatable_n; i++) {
        int32_t column = node_table_column(t, r->allocatable[i].resource);
        if (column >= 0)
            amounts[column] = r->allocatable[i].value < 0 ? 0 : r->allocatable[i].value;
    }
    int64_t *have = node_allocatable(t, slot), *left = node_free(t, slot);
    bool differs = false;
    for (uint32_t i = 0; i < t->columns_n; i++) {
        differs |= have[i] != amounts[i];
        left[i] += amounts[i] - have[i];
        have[i] = amounts[i];
    }
    return differs;
}

static bool same_taints(const struct node *node, const struct node_record *r)
{
    bool same = node->taints_n == r->taints_n;
    for (uint32_t i = 0; i < r->taints_n && same; i++)
        same = node->taints[i].key == r->taints[i].key && node->taints[i].value == r->taints[i].value &&
               node->taints[i].effect == r->taints[i].effect;
    return same;
}

static bool same_labels(const struct node *node, const struct node_record *r)
{
    return node->labels_n == r->labels_n && (!r->labels_n || !memcmp(node->labels, r->labels, r->labels_n * sizeof *r->labels));
}

static void *copied(const void *from, size_t n)
{
    return n ? memcpy(mem_alloc(n), from, n) : NULL;
}

static void set_labels(struct node *node, const struct label *labels, uint32_t labels_n, const struct taint *taints, uint32_t taints_n)
{
    free((void *)node->labels);
    free((void *)node->taints);
    node->labels = copied(labels, labels_n * sizeof *labels);
    node->taints = copied(taints, taints_n * sizeof *taints);
    node->labels_n = labels_n;
    node->taints_n = taints_n;
}

/* Touches nothing: load.c does, where something follows from it. */
static void set_feedback(struct node *node, const struct node_record *r)
{
    struct node_feedback *f = node->feedback;
    if (r->feedback_n != (f ? f->n : 0)) {
        free(f);
        node->feedback = f = r->feedback_n ? mem_alloc(sizeof *f + r->feedback_n * sizeof *f->all) : NULL;
    }
    if (!f)
        return;
    *f = (struct node_feedback){.at_ms = r->feedback_ms, .period_ms = r->feedback_period_ms, .network_bps = r->network_bps,
                                .n = r->feedback_n};
    memcpy(f->all, r->feedback, r->feedback_n * sizeof *f->all);
}

bool node_table_set(struct node_table *t, uint32_t slot, const struct node_record *r)
{
    struct node *node = &t->nodes[slot];
    uint8_t flags = (uint8_t)(NODE_KNOWN | (r->ready ? NODE_READY : 0) | (r->unschedulable ? NODE_UNSCHEDULABLE : 0) |
                              (r->taints_n ? NODE_TAINTED : 0));
    bool other_labels = !(t->flags[slot] & NODE_KNOWN) || !same_labels(node, r);
    bool differs = (t->flags[slot] & ~NODE_GAINED) != flags || !same_taints(node, r) || other_labels;
    t->labels_seq += other_labels;
    if (!(t->flags[slot] & NODE_KNOWN))
        t->known_n++;
    set_feedback(node, r);
    if (!(set_amounts(t, slot, r) | differs))
        return false;
    set_labels(node, r->labels, r->labels_n, r->taints, r->taints_n);
    t->flags[slot] = (uint8_t)((t->flags[slot] & NODE_GAINED) | flags);
    node_table_gain(t, slot);
    node->record_seq = t->seq;
    return true;
}

void node_table_gone(struct node_table *t, uint32_t slot)
{
    if (!(t->flags[slot] & NODE_KNOWN))
        return;
    t->known_n--;
    t->labels_seq++;
    t->flags[slot] &= NODE_GAINED;
    struct node *node = &t->nodes[slot];
    set_feedback(node, &(struct node_record){0});
    free(node->load);
    node->load = NULL;
    set_labels(node, NULL, 0, NULL, 0);
    int64_t *have = node_allocatable(t, slot), *left = node_free(t, slot);
    for (uint32_t i = 0; i < t->columns_n; i++) {
        left[i] -= have[i];
        have[i] = 0;
    }
    node_table_touch(t, slot);
    node->record_seq = t->seq;
    node_table_drop_if_unused(t, slot);
}

void node_table_drop_if_unused(struct node_table *t, uint32_t slot)
{
    struct node *node = &t->nodes[slot];
    if ((t->flags[slot] & NODE_KNOWN) || node->seats_n || !node->name)
        return;
    id_map_remove(&t->by_name, node->name);
    rank_remove(t, slot);
    device_table_fini(&node->devices);
    node->name = 0;
    MEM_RESERVE(t->holes, t->holes_cap, t->holes_n + 1);
    t->holes[t->holes_n++] = slot;
}

static void note_touch(struct node_table *t, uint32_t slot)
{
    const uint64_t before = t->touched[slot];
    if (before && t->seq - before < NODE_JOURNAL)
        t->journal[(before - 1) % NODE_JOURNAL] = 0;
    t->journal[t->seq++ % NODE_JOURNAL] = slot;
    t->touched[slot] = t->seq;
}

void node_table_touch(struct node_table *t, uint32_t slot)
{
    note_touch(t, slot);
    t->eased[slot] = t->seq;
    t->idle_twins[slot] = TWINS_UNKNOWN;
}

void node_table_taken(struct node_table *t, uint32_t slot)
{
    note_touch(t, slot);
    t->idle_twins[slot] = 0;
}

void node_table_gain(struct node_table *t, uint32_t slot)
{
    node_table_touch(t, slot);
    if (t->flags[slot] & NODE_GAINED)
        return;
    t->flags[slot] |= NODE_GAINED;
    MEM_RESERVE(t->gained, t->gained_cap, t->gained_n + 1);
    t->gained[t->gained_n++] = slot;
}

void node_table_gained_clear(struct node_table *t)
{
    for (uint32_t i = 0; i < t->gained_n; i++)
        t->flags[t->gained[i]] &= (uint8_t)~NODE_GAINED;
    t->gained_n = 0;
}

int64_t node_table_total(const struct node_table *t, name_id resource)
{
    int32_t column = node_table_find_column(t, resource);
    int64_t sum = 0;
    for (uint32_t i = 1; i < t->n && column >= 0; i++) {
        bool counts = (t->flags[i] & NODE_KNOWN) && (t->flags[i] & NODE_READY);
        int64_t has = counts ? node_allocatable(t, i)[column] : 0;
        sum = has > NO_END - sum ? NO_END : sum + has;
    }
    return sum;
}
