/* bind_gate.c - the pods of each node that are bound, or to be bound, and not admitted yet
 *
 * SHAPE  a list per node in the order in which they came; nodes are kept while they have one. A node has a few, so lists are walked.
 */
#include "sched/binding/bind_gate.h"
#include <stdlib.h>
#include "base/collections/heap.h"
#include "base/collections/map.h"
#include "base/memory.h"

#define ASKS_MAX 64 /* kinds of (resource, count) in one pod; more are as good as one kind that meets everything */

struct gate_node;
struct entry {
    struct gate_node *node;
    struct entry *next, *previous;
    void *ticket; /* not NULL: waits */
    size_t heap_at;
    int64_t deadline_ms;
    name_id uid, limits;
    bool bound, out_of_the_way;
    bool meets_all;
    uint32_t asks_n;
    name_id asks[]; /* "nvidia.com/gpu=1" */
};
struct gate_node {
    name_id name;
    uint32_t waiting_n;
    struct entry *first, *last;
};
struct bind_gate {
    struct intern *names;
    struct map *nodes;   /* name_id -> struct gate_node * */
    struct map *entries; /* uid -> struct entry * */
    struct heap due;     /* entries that may be in the way, by deadline */
    void **ready;        /* tickets whose turn has come */
    uint32_t ready_n, ready_at, ready_cap;
};

static bool entry_before(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return x->deadline_ms != y->deadline_ms ? x->deadline_ms < y->deadline_ms : x->uid < y->uid;
}

static struct bytes id_key(const name_id *id)
{
    return (struct bytes){(const char *)id, sizeof *id};
}

struct bind_gate *bind_gate_new(struct intern *names)
{
    struct bind_gate *g = mem_zero(1, sizeof *g);
    g->names = names;
    g->nodes = map_new(sizeof(struct gate_node *));
    g->entries = map_new(sizeof(struct entry *));
    heap_init(&g->due, offsetof(struct entry, heap_at), entry_before);
    return g;
}

void bind_gate_free(struct bind_gate *g)
{
    if (!g)
        return;
    struct entry **entry;
    struct gate_node **node;
    heap_fini(&g->due); /* it looks into the entries */
    for (size_t at = 0; (entry = map_next(g->entries, &at, &(struct bytes){0}));)
        free(*entry);
    for (size_t at = 0; (node = map_next(g->nodes, &at, &(struct bytes){0}));)
        free(*node);
    map_free(g->entries);
    map_free(g->nodes);
    free(g->ready);
    free(g);
}

static struct entry *entry_find(const struct bind_gate *g, name_id uid)
{
    struct entry **slot = map_find(g->entries, id_key(&uid));
    return slot ? *slot : NULL;
}

/* Both lists are short. */
static bool asks_meet(const struct entry *a, const struct entry *b)
{
    if (a->meets_all || b->meets_all)
        return true;
    for (uint32_t i = 0; i < a->asks_n; i++)
        for (uint32_t k = 0; k < b->asks_n; k++)
            if (a->asks[i] == b->asks[k])
                return true;
    return false;
}

static bool must_wait(const struct entry *e)
{
    for (const struct entry *earlier = e->node->first; earlier != e; earlier = earlier->next)
        if (!earlier->out_of_the_way && earlier->limits != e->limits && asks_meet(earlier, e))
            return true;
    return false;
}

static void entry_start(struct bind_gate *g, struct entry *e, int64_t now_ms)
{
    heap_remove(&g->due, e);
    e->deadline_ms = now_ms + BIND_GATE_MS;
    heap_add(&g->due, e);
}

/* One that waited, or was in the way, is not or does not any longer. */
static void node_look(struct bind_gate *g, struct gate_node *node, int64_t now_ms)
{
    for (struct entry *e = node->first; e && node->waiting_n; e = e->next) {
        if (!e->ticket || must_wait(e))
            continue;
        MEM_RESERVE(g->ready, g->ready_cap, g->ready_n + 1);
        g->ready[g->ready_n++] = e->ticket;
        e->ticket = NULL;
        node->waiting_n--;
        entry_start(g, e, now_ms);
    }
}

/* ---- entries ---- */

static struct gate_node *node_make(struct bind_gate *g, name_id name)
{
    struct gate_node **slot = map_put(g->nodes, id_key(&name), NULL);
    if (!*slot) {
        *slot = mem_zero(1, sizeof **slot);
        (*slot)->name = name;
    }
    return *slot;
}

static struct entry *entry_make(struct bind_gate *g, const struct bind_gate_pod *pod)
{
    const char *text = intern_name(g->names, pod->asks);
    uint32_t n = 1;
    for (const char *c = text; *c; c++)
        n += *c == ',';
    bool many = n > ASKS_MAX;
    struct entry *e = mem_zero(1, sizeof *e + (many ? 0 : n) * sizeof *e->asks);
    e->uid = pod->uid;
    e->limits = pod->limits;
    e->meets_all = many;
    for (; *text && !many; text += text[0] == ',') {
        size_t length = strcspn(text, ",");
        e->asks[e->asks_n++] = intern_id(g->names, (struct bytes){text, length});
        text += length;
    }
    struct gate_node *node = e->node = node_make(g, pod->node);
    e->previous = node->last;
    *(node->last ? &node->last->next : &node->first) = e;
    node->last = e;
    *(struct entry **)map_put(g->entries, id_key(&pod->uid), NULL) = e;
    return e;
}

static void entry_remove(struct bind_gate *g, struct entry *e, int64_t now_ms)
{
    struct gate_node *node = e->node;
    *(e->previous ? &e->previous->next : &node->first) = e->next;
    *(e->next ? &e->next->previous : &node->last) = e->previous;
    node->waiting_n -= e->ticket != NULL;
    heap_remove(&g->due, e);
    map_remove(g->entries, id_key(&e->uid));
    free(e);
    if (node->first) {
        node_look(g, node, now_ms);
        return;
    }
    map_remove(g->nodes, id_key(&node->name));
    free(node);
}

bool bind_gate_enter(struct bind_gate *g, const struct bind_gate_pod *pod, void *ticket, int64_t now_ms)
{
    struct entry *e = entry_find(g, pod->uid);
    if (e && (e->ticket || e->node->name == pod->node))
        return true; /* sent twice: the server knows which of them counts */
    if (e)
        entry_remove(g, e, now_ms);
    e = entry_make(g, pod);
    if (!ticket || !must_wait(e)) {
        entry_start(g, e, now_ms);
        return true;
    }
    e->ticket = ticket;
    e->node->waiting_n++;
    return false;
}

static void entry_bound(struct bind_gate *g, struct entry *e, int64_t now_ms)
{
    if (!e->ticket && !e->bound && !e->out_of_the_way)
        entry_start(g, e, now_ms);
    e->bound = !e->ticket;
}

void bind_gate_bound(struct bind_gate *g, name_id uid, int64_t now_ms)
{
    struct entry *e = entry_find(g, uid);
    if (e)
        entry_bound(g, e, now_ms);
}

void *bind_gate_seen(struct bind_gate *g, const struct bind_gate_pod *pod, int64_t now_ms)
{
    struct entry *e = entry_find(g, pod->uid);
    void *ticket = e ? e->ticket : NULL;
    if (ticket) { /* bound by somebody else, perhaps elsewhere */
        entry_remove(g, e, now_ms);
        e = NULL;
    }
    if (!e)
        e = entry_make(g, pod);
    e->limits = pod->limits; /* annotations can be changed */
    entry_bound(g, e, now_ms);
    return ticket;
}

void *bind_gate_leave(struct bind_gate *g, name_id uid, int64_t now_ms)
{
    struct entry *e = entry_find(g, uid);
    if (!e)
        return NULL;
    void *ticket = e->ticket;
    entry_remove(g, e, now_ms);
    return ticket;
}

void *bind_gate_next(struct bind_gate *g)
{
    if (g->ready_at < g->ready_n)
        return g->ready[g->ready_at++];
    g->ready_at = g->ready_n = 0;
    return NULL;
}

int64_t bind_gate_expire(struct bind_gate *g, int64_t now_ms)
{
    struct entry *e;
    while ((e = heap_first(&g->due)) && e->deadline_ms <= now_ms) {
        heap_remove(&g->due, e);
        e->out_of_the_way = true;
        node_look(g, e->node, now_ms);
    }
    return e ? e->deadline_ms : 0;
}

void bind_gate_mark_names(const struct bind_gate *g)
{
    struct entry **entry;
    for (size_t at = 0; (entry = map_next(g->entries, &at, &(struct bytes){0}));) {
        const struct entry *e = *entry;
        intern_mark(g->names, e->uid);
        intern_mark(g->names, e->limits);
        intern_mark(g->names, e->node->name);
        for (uint32_t i = 0; i < e->asks_n; i++)
            intern_mark(g->names, e->asks[i]);
    }
}

size_t bind_gate_pods(const struct bind_gate *g)
{
    return map_count(g->entries);
}
