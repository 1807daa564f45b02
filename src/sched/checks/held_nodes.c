#include "sched/checks/held_nodes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/memory.h"
#include "base/quantity.h"
#include "codec/kinds/scale_up_names.h"
#include "kube/object.h"
#include "sched/checks/scale_up.h"

enum { NODES_MOST = 4096, RECENT_MS = 3600000, HOLDER_MAX = 64 };

struct waiter {
    const char *gang;      /* its key in the map */
    struct arena *arena;   /* of all below */
    const char *holder;
    int64_t since_ms;
    const struct json *workload;
    const struct json *sets; /* NULL: not all of its flavors are known yet. [{"labels":{},"requests":{resource: of one pod},"count":N}] */
};
struct fresh_node {
    struct arena *arena;
    const char *name;
    struct bytes raw;
    int64_t created_ms;
    const struct json *labels, *allocatable;
    char holder[HOLDER_MAX];  /* "" = nobody */
};
struct held_nodes {
    struct map *waiters, *nodes; /* -> pointers to the structs above */
    bool unused;
    held_changed_fn *on_changed;
    check_finder *flavor;
    void *arg;
};

struct held_nodes *held_nodes_new(held_changed_fn *on_changed, check_finder *flavor, void *arg)
{
    struct held_nodes *h = mem_zero(1, sizeof *h);
    *h = (struct held_nodes){map_new(sizeof(struct waiter *)), map_new(sizeof(struct fresh_node *)), true, on_changed, flavor, arg};
    return h;
}

static void waiter_free(struct waiter *w)
{
    arena_free(w->arena);
    free(w);
}

static void node_free(struct fresh_node *n)
{
    arena_free(n->arena);
    free(n);
}

static void nodes_forget(struct held_nodes *h)
{
    struct bytes key;
    size_t at = 0;
    for (struct fresh_node **n; (n = map_next(h->nodes, &at, &key));)
        node_free(*n);
    map_clear(h->nodes);
}

/* Who waits still, for a check that has gone, keeps what it has. */
void held_nodes_use(struct held_nodes *h, bool used)
{
    h->unused = !used && map_count(h->waiters) == 0;
    if (h->unused)
        nodes_forget(h);
}

void held_nodes_free(struct held_nodes *h)
{
    if (!h)
        return;
    struct bytes key;
    size_t at = 0;
    for (struct waiter **w; (w = map_next(h->waiters, &at, &key));)
        waiter_free(*w);
    nodes_forget(h);
    map_free(h->waiters);
    map_free(h->nodes);
    free(h);
}

static int64_t milli_of(const struct json *amount)
{
    struct quantity q;
    return amount && quantity_parse(json_bytes(amount), &q, NULL) == 0 ? quantity_milli(q) : 0;
}

/* ---- what those who wait need ---- */

static void add_labels(struct arena *a, struct json *to, const struct json *from)
{
    JSON_EACH (label, json_is(from, JSON_OBJECT) ? from : NULL)
        json_set(a, to, arena_text(a, label->key), json_clone(a, label));
}

static const struct json *template_of(const struct json *workload, const char *set)
{
    JSON_EACH (one, json_path(workload, "spec", "podSets", NULL))
        if (strcmp(json_get_text(one, "name", "main"), set) == 0)
            return json_get(one, "template");
    return NULL;
}

/* *ret_all: not touched, or false when a flavor is not known. */
static struct json *set_of(const struct held_nodes *h, struct arena *a, const struct json *workload, const struct json *assignment,
                           bool *ret_all)
{
    struct json *set = json_new(a, JSON_OBJECT), *labels = json_ensure_object(a, set, "labels"),
                *requests = json_ensure_object(a, set, "requests");
    int64_t count = json_get_int64(assignment, "count", 0);
    JSON_EACH (name, json_get(assignment, "flavors")) {
        const struct json *flavor = h->flavor(h->arg, json_text(name, ""), a);
        *ret_all &= flavor != NULL;
        add_labels(a, labels, json_path(flavor, "spec", "nodeLabels", NULL));
    }
    const char *name_of_set = json_get_text(assignment, "name", "main");
    add_labels(a, labels, json_path(template_of(workload, name_of_set), "spec", "nodeSelector", NULL));
    JSON_EACH (check, json_path(workload, "status", "admissionChecks", NULL)) /* the zone that it was held to, among them */
        JSON_EACH (update, json_get(check, "podSetUpdates"))
            if (strcmp(json_get_text(update, "name", ""), name_of_set) == 0)
                add_labels(a, labels, json_get(update, "nodeSelector"));
    JSON_EACH (sum, count > 0 ? json_get(assignment, "resourceUsage") : NULL) {
        int64_t one = milli_of(sum) / count;
        if (one > 0)
            json_set_text(a, requests, arena_text(a, sum->key), arena_printf(a, "%lldm", (long long)one));
    }
    json_set_int64(a, set, "count", count);
    return set;
}

static void find_sets(const struct held_nodes *h, struct waiter *w)
{
    bool all = true;
    struct json *sets = json_new(w->arena, JSON_ARRAY);
    JSON_EACH (assignment, json_path(w->workload, "status", "admission", "podSetAssignments", NULL))
        json_append(sets, set_of(h, w->arena, w->workload, assignment, &all));
    w->sets = all ? sets : NULL;
}

/* ---- who takes which ---- */

static bool has_labels(const struct fresh_node *n, const struct json *labels)
{
    JSON_EACH (label, labels)
        if (!json_get(n->labels, label->key) || !bytes_equal(json_bytes(json_get(n->labels, label->key)), json_bytes(label)))
            return false;
    return true;
}

/* Pods of the set that it has room for when it is empty. */
static int64_t room_for(const struct fresh_node *n, const struct json *set)
{
    int64_t least = 0;
    JSON_EACH (request, json_get(set, "requests")) {
        int64_t one = milli_of(request), fits = one > 0 ? milli_of(json_get(n->allocatable, request->key)) / one : 0;
        least = request == json_first(json_get(set, "requests")) || fits < least ? fits : least;
    }
    return least;
}

static int compare_waiters(const void *left, const void *right)
{
    const struct waiter *a = *(struct waiter *const *)left, *b = *(struct waiter *const *)right;
    return a->since_ms != b->since_ms ? (a->since_ms < b->since_ms ? -1 : 1) : strcmp(a->gang, b->gang);
}

static int compare_nodes(const void *left, const void *right)
{
    const struct fresh_node *a = *(struct fresh_node *const *)left, *b = *(struct fresh_node *const *)right;
    return a->created_ms != b->created_ms ? (a->created_ms < b->created_ms ? -1 : 1) : strcmp(a->name, b->name);
}

/* The map's pointers, sorted, in A. */
static void **sorted(const struct map *m, int (*compare)(const void *, const void *), struct arena *a, size_t *ret_n)
{
    size_t n = 0, at = 0;
    struct bytes key;
    void **all = arena_alloc(a, (map_count(m) + 1) * sizeof *all);
    for (void **one; (one = map_next(m, &at, &key));)
        all[n++] = *one;
    qsort(all, n, sizeof *all, compare);
    *ret_n = n;
    return all;
}

static void take(const struct waiter *w, struct fresh_node **nodes, size_t nodes_n, const struct waiter **takers)
{
    JSON_EACH (set, w->sets) {
        int64_t left = json_get_int64(set, "count", 0);
        for (size_t i = 0; i < nodes_n && left > 0; i++) {
            int64_t room = !takers[i] && nodes[i]->created_ms >= w->since_ms && has_labels(nodes[i], json_get(set, "labels"))
                               ? room_for(nodes[i], set)
                               : 0;
            if (room > 0)
                takers[i] = w;
            left -= room;
        }
    }
}

/* but: its reader learns it himself; NULL: none. */
static void settle(struct held_nodes *h, const struct fresh_node *but)
{
    _cleanup_arena_ struct arena *a = arena_new();
    size_t waiters_n, nodes_n;
    struct waiter **waiters = (struct waiter **)sorted(h->waiters, compare_waiters, a, &waiters_n);
    struct fresh_node **nodes = (struct fresh_node **)sorted(h->nodes, compare_nodes, a, &nodes_n);
    const struct waiter **takers = arena_zero(a, nodes_n + 1, sizeof *takers);
    for (size_t i = 0; i < waiters_n; i++) {
        if (!waiters[i]->sets)
            find_sets(h, waiters[i]);
        take(waiters[i], nodes, nodes_n, takers);
    }
    for (size_t i = 0; i < nodes_n; i++) {
        const char *holder = takers[i] ? takers[i]->holder : "";
        if (strcmp(holder, nodes[i]->holder) == 0)
            continue;
        (void)snprintf(nodes[i]->holder, sizeof nodes[i]->holder, "%s", holder);
        if (nodes[i] != but)
            h->on_changed(h->arg, nodes[i]->raw, *holder ? holder : NULL);
    }
}

/* ---- who waits ---- */

void held_nodes_wait(struct held_nodes *h, const char *gang, const struct json *workload)
{
    int64_t since_ms;
    const struct json *admitted = object_condition(workload, "Admitted");
    if (held_nodes_awaited(h, gang) || !time_parse(bytes_of(json_get_text(admitted, "lastTransitionTime", "")), &since_ms))
        return;
    struct waiter *w = mem_zero(1, sizeof *w);
    w->arena = arena_new();
    w->gang = arena_text(w->arena, gang);
    w->since_ms = since_ms;
    w->workload = json_clone(w->arena, workload);
    w->holder = scale_up_holder(w->arena, w->workload);
    *(struct waiter **)map_put(h->waiters, bytes_of(gang), NULL) = w;
    settle(h, NULL);
}

bool held_nodes_awaited(const struct held_nodes *h, const char *gang)
{
    return map_count(h->waiters) && map_find_text(h->waiters, gang);
}

void held_nodes_wait_no_more(struct held_nodes *h, const char *gang)
{
    struct waiter **w = map_count(h->waiters) ? map_find_text(h->waiters, gang) : NULL;
    if (!w)
        return;
    waiter_free(*w);
    map_remove(h->waiters, bytes_of(gang));
    settle(h, NULL);
}

/* ---- nodes ---- */

/* WHY not by a tree: most nodes are old, and all are read again and again. It is metadata's: nothing before has one. */
static int64_t created_ms(struct bytes node)
{
    static const char key[] = "\"creationTimestamp\":\"";
    const char *at = memmem(node.data, node.n, key, sizeof key - 1), *from = at ? at + sizeof key - 1 : NULL;
    const char *end = from ? memchr(from, '"', node.n - (size_t)(from - node.data)) : NULL;
    int64_t ms;
    return end && time_parse((struct bytes){from, (size_t)(end - from)}, &ms) ? ms : 0;
}

void held_nodes_look(struct held_nodes *h)
{
    if (map_count(h->waiters))
        settle(h, NULL);
}

void held_nodes_gone(struct held_nodes *h, const char *node)
{
    struct fresh_node **n = map_count(h->nodes) ? map_find_text(h->nodes, node) : NULL;
    if (!n)
        return;
    node_free(*n);
    map_remove(h->nodes, bytes_of(node));
    settle(h, NULL);
}

static bool is_awaited(const struct held_nodes *h, int64_t made_ms)
{
    size_t at = 0;
    struct bytes key;
    for (struct waiter **w; (w = map_next(h->waiters, &at, &key));)
        if ((*w)->since_ms <= made_ms)
            return true;
    return false;
}

static void forget_old(struct held_nodes *h, int64_t now_ms)
{
    size_t at = 0;
    struct bytes key;
    for (struct fresh_node **n; (n = map_next(h->nodes, &at, &key));)
        if (!(*n)->holder[0] && now_ms - (*n)->created_ms > RECENT_MS && !is_awaited(h, (*n)->created_ms)) {
            node_free(*n);
            map_remove(h->nodes, key);
        }
}

const char *held_nodes_of(struct held_nodes *h, struct bytes raw, int64_t now_ms)
{
    int64_t made_ms = h->unused ? 0 : created_ms(raw);
    if (h->unused || (now_ms - made_ms > RECENT_MS && !is_awaited(h, made_ms)))
        return NULL;
    forget_old(h, now_ms);
    struct fresh_node *n = mem_zero(1, sizeof *n);
    n->arena = arena_new();
    n->raw = (struct bytes){arena_text_n(n->arena, raw.data, raw.n), raw.n};
    const struct json *node = json_parse(n->arena, n->raw, NULL, NULL);
    n->name = object_meta(node, "name");
    struct fresh_node **old = map_find_text(h->nodes, n->name);
    if (!*n->name || (!old && map_count(h->nodes) >= NODES_MOST)) {
        node_free(n);
        return NULL;
    }
    n->created_ms = made_ms;
    n->labels = json_path(node, "metadata", "labels", NULL);
    n->allocatable = json_path(node, "status", "allocatable", NULL);
    if (old) {
        memcpy(n->holder, (*old)->holder, sizeof n->holder);
        node_free(*old);
    }
    *(struct fresh_node **)map_put(h->nodes, bytes_of(n->name), NULL) = n;
    if (map_count(h->waiters))
        settle(h, n);
    return n->holder[0] ? n->holder : NULL;
}

/* ---- as the core reads them ---- */

void held_nodes_taint(struct arena *a, struct intern *names, struct node_record *node, const char *holder)
{
    struct taint *all = arena_alloc(a, (node->taints_n + 1) * sizeof *all);
    if (node->taints_n)
        memcpy(all, node->taints, node->taints_n * sizeof *all);
    all[node->taints_n++] = (struct taint){intern_text_id(names, SCALE_UP_HELD), intern_text_id(names, holder), TAINT_NO_SCHEDULE};
    node->taints = all;
}

static bool names_node(const struct shape *shape)
{
    for (uint32_t i = 0; i < shape->node_terms_n; i++)
        for (uint32_t k = 0; k < shape->node_terms[i].all_n; k++)
            if (shape->node_terms[i].all[k].is_field)
                return true;
    return false;
}

void held_nodes_tolerate(struct arena *a, struct intern *names, struct pod_record *pod)
{
    if (!names_node(&pod->shape))
        return;
    struct toleration *all = arena_alloc(a, (pod->shape.tolerations_n + 1) * sizeof *all);
    if (pod->shape.tolerations_n)
        memcpy(all, pod->shape.tolerations, pod->shape.tolerations_n * sizeof *all);
    all[pod->shape.tolerations_n++] = (struct toleration){.key = intern_text_id(names, SCALE_UP_HELD), .exists = true,
                                                          .effects = TAINT_NO_SCHEDULE};
    pod->shape.tolerations = all;
}
