#include "core/gang.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/fit.h"
#include "core/undo.h"
#include "core/view.h"

/* ---- one member ---- */

/* Slow way, when other pods matter: best score over nodes that have room and are allowed. */
static uint32_t best_allowed(struct state *s, const struct view *v, const struct neighbours *rules)
{
    const struct shape *shape = &s->shapes.classes[v->shape].shape;
    uint32_t best = 0, best_score = 0;
    for (uint32_t slot = 1; slot < v->n; slot++) {
        if (v->score[slot] <= best_score || neighbour_check(s, rules, shape, slot) != NEIGHBOUR_OK)
            continue;
        best = slot;
        best_score = v->score[slot];
    }
    return best;
}

static uint32_t place_one(struct state *s, struct gang *g, const struct want *w, uint32_t charge, bool *ret_neighbours)
{
    struct view *v = view_sync(s, w->shape);
    uint32_t node = view_best(v);
    struct neighbours rules;
    if (node && neighbour_prepare(s, w->shape, w->labels, &rules)) {
        node = best_allowed(s, v, &rules);
        neighbour_release(&rules);
        *ret_neighbours |= !node;
    }
    if (!node)
        return 0;
    uint32_t seat = seat_take(s, node, w->shape, w->labels, g, w->pod_set, true);
    undo_seat(s, seat);
    if (charge)
        seat_charge(s, seat, charge);
    return seat;
}

/* ---- all ---- */

struct order_key {
    int64_t device, cpu, memory;
    uint32_t shape, at;
};

static int64_t demand_of(const struct shape_class *c, int32_t column)
{
    for (uint32_t i = 0; i < c->demands_n; i++)
        if (c->demands[i].column == column)
            return c->demands[i].value;
    return 0;
}

static int compare_keys(const void *left, const void *right)
{
    const struct order_key *a = left, *b = right;
    if (a->device != b->device)
        return a->device > b->device ? -1 : 1;
    if (a->cpu != b->cpu)
        return a->cpu > b->cpu ? -1 : 1;
    if (a->memory != b->memory)
        return a->memory > b->memory ? -1 : 1;
    if (a->shape != b->shape)
        return a->shape < b->shape ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static struct order_key *placing_order(const struct state *s, const struct want *wants, uint32_t n)
{
    struct order_key *keys = mem_alloc((n + 1) * sizeof *keys);
    bool mixed = false;
    for (uint32_t i = 0; i < n; i++) {
        const struct shape_class *c = &s->shapes.classes[wants[i].shape];
        keys[i] = (struct order_key){.shape = wants[i].shape, .at = i};
        mixed |= wants[i].shape != wants[0].shape;
        if (!i || wants[i].shape != wants[i - 1].shape) {
            keys[i].device = c->device_demand >= 0 ? c->demands[c->device_demand].value : 0;
            keys[i].cpu = demand_of(c, s->column_cpu);
            keys[i].memory = demand_of(c, s->column_memory);
        } else {
            keys[i] = keys[i - 1];
            keys[i].at = i;
        }
    }
    if (mixed)
        qsort(keys, n, sizeof *keys, compare_keys);
    return keys;
}

/* Before anything is tried: is there room for so many of each shape alone? A gang that is far too large is refused here. */
static bool room_for_each(struct state *s, const struct want *wants, const struct order_key *keys, uint32_t n, struct misfit *misfit)
{
    for (uint32_t first = 0, end; first < n; first = end) {
        for (end = first; end < n && keys[end].shape == keys[first].shape; end++)
            ;
        uint64_t room_n = view_sync(s, keys[first].shape)->room_n;
        if (room_n >= end - first)
            continue;
        const struct want *w = &wants[keys[first].at];
        *misfit = (struct misfit){.shape = w->shape, .labels = w->labels, .pod_set = w->pod_set,
                                  .placed_n = (uint32_t)room_n, .wanted_n = end - first};
        return false;
    }
    return true;
}

bool gang_place(struct state *s, struct gang *g, struct want *wants, uint32_t n, uint32_t charge, struct misfit *ret_misfit)
{
    struct order_key one = {0}, *keys = &one;
    if (n > 1)
        keys = placing_order(s, wants, n);
    else
        one.shape = wants[0].shape;
    bool placed = n <= 1 || room_for_each(s, wants, keys, n, ret_misfit);
    for (uint32_t i = 0; i < n && placed; i++) {
        struct want *w = &wants[keys[i].at];
        bool neighbours = false;
        w->seat = place_one(s, g, w, charge, &neighbours);
        if (w->seat)
            continue;
        placed = false;
        *ret_misfit = (struct misfit){.shape = w->shape, .labels = w->labels, .pod_set = w->pod_set, .placed_n = i, .wanted_n = n,
                                      .neighbours = neighbours};
    }
    if (keys != &one)
        free(keys);
    return placed;
}

/* ---- flavors become part of the shape ---- */

static bool same_toleration(const struct toleration *a, const struct toleration *b)
{
    return a->key == b->key && a->value == b->value && a->exists == b->exists && a->effects == b->effects;
}

/* Both lists are kept sorted without doubles: a pod that already carries its flavor's labels gets the same shape as its pod set. */
static void add_label(struct label *all, uint32_t *n, struct label label)
{
    uint32_t at = *n;
    while (at && all[at - 1].key > label.key)
        at--;
    for (uint32_t i = 0; i < *n; i++)
        if (all[i].key == label.key && all[i].value == label.value)
            return;
    memmove(&all[at + 1], &all[at], (*n - at) * sizeof *all);
    all[at] = label;
    ++*n;
}

static void add_toleration(struct toleration *all, uint32_t *n, struct toleration toleration)
{
    uint32_t at = *n;
    while (at && (all[at - 1].key > toleration.key || (all[at - 1].key == toleration.key && all[at - 1].value > toleration.value)))
        at--;
    for (uint32_t i = 0; i < *n; i++)
        if (same_toleration(&all[i], &toleration))
            return;
    memmove(&all[at + 1], &all[at], (*n - at) * sizeof *all);
    all[at] = toleration;
    ++*n;
}

static const struct flavor *chosen_flavor(const struct state *s, const struct flavor_choice *choice, uint32_t set)
{
    return choice->pod_set == set && choice->flavor ? flavor_find(s, choice->flavor) : NULL;
}

uint32_t gang_flavored_shape(struct state *s, uint32_t shape_id, const struct flavor_choice *choices, uint32_t choices_n, uint32_t set)
{
    struct shape shape = s->shapes.classes[shape_id].shape;
    uint32_t labels_n = shape.node_labels_n, tolerations_n = shape.tolerations_n, flavors_n = 0;
    for (uint32_t i = 0; i < choices_n; i++) {
        const struct flavor *f = chosen_flavor(s, &choices[i], set);
        flavors_n += f != NULL;
        labels_n += f ? f->labels.n : 0;
        tolerations_n += f ? f->tolerations_n : 0;
    }
    if (!flavors_n) {
        shape_class_ref(&s->shapes, shape_id);
        return shape_id;
    }
    struct label *labels = mem_alloc((labels_n + 1) * sizeof *labels);
    struct toleration *tolerations = mem_alloc((tolerations_n + 1) * sizeof *tolerations);
    labels_n = tolerations_n = 0;
    for (uint32_t i = 0; i < shape.node_labels_n; i++)
        add_label(labels, &labels_n, shape.node_labels[i]);
    for (uint32_t i = 0; i < shape.tolerations_n; i++)
        add_toleration(tolerations, &tolerations_n, shape.tolerations[i]);
    for (uint32_t i = 0; i < choices_n; i++) {
        const struct flavor *f = chosen_flavor(s, &choices[i], set);
        for (uint32_t k = 0; f && k < f->labels.n; k++)
            add_label(labels, &labels_n, f->labels.all[k]);
        for (uint32_t k = 0; f && k < f->tolerations_n; k++)
            add_toleration(tolerations, &tolerations_n, f->tolerations[k]);
    }
    shape.node_labels = labels;
    shape.node_labels_n = labels_n;
    shape.tolerations = tolerations;
    shape.tolerations_n = tolerations_n;
    uint32_t id = shape_class_id(&s->shapes, &s->nodes, &shape, s->names);
    free(labels);
    free(tolerations);
    return id;
}

/* ---- members ---- */

bool gang_member_is_loose(const struct state *s, uint32_t at)
{
    const struct pod *p = &s->pods[at];
    return !p->seat && p->ours && !p->gated && !p->deleting && !p->node_name && p->phase == POD_PENDING;
}

struct member_key {
    int64_t created_ms;
    const char *key;
    uint32_t pod;
};

static int compare_members(const void *left, const void *right)
{
    const struct member_key *a = left, *b = right;
    if (a->created_ms != b->created_ms)
        return a->created_ms < b->created_ms ? -1 : 1;
    return strcmp(a->key, b->key);
}

uint32_t gang_loose_members(struct state *s, const struct gang *g, struct arena *a, uint32_t **ret_pods)
{
    struct member_key *keys = arena_alloc(a, (g->members_n + 1) * sizeof *keys);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        if (gang_member_is_loose(s, g->members[i]))
            keys[n++] = (struct member_key){p->created_ms, intern_name(s->names, p->key), g->members[i]};
    }
    if (n > 1)
        qsort(keys, n, sizeof *keys, compare_members);
    *ret_pods = arena_alloc(a, (n + 1) * sizeof **ret_pods);
    for (uint32_t i = 0; i < n; i++)
        (*ret_pods)[i] = keys[i].pod;
    return n;
}
