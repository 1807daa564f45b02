#include "core/queue/gang.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/group/subgroups.h"
#include "core/group/terms.h"

/* ---- what it has, where it stands ---- */

const struct gang_object gang_no_object;

struct gang_object *gang_own(struct gang *g)
{
    if (g->own == &gang_no_object)
        g->own = mem_zero(1, sizeof *g->own);
    return (struct gang_object *)g->own; /* its own: not the shared one */
}

void gang_object_free(struct gang *g)
{
    struct gang_object *o = (struct gang_object *)g->own;
    if (o == &gang_no_object)
        return;
    free(o->min_of_task);
    group_terms_free(o->terms);
    free(o->had);
    free(o->checks);
    free(o->seats);
    free(o->choices);
    free(o->told);
    free(o->charges);
    if (o->consumption)
        free(o->consumption->own.rows);
    free(o->consumption);
    free(o);
}

/* WHY apart: nearly all are told apart by their times, and a heap of thousands asks often. */
static __attribute__((noinline)) bool texts_before(const struct gang *a, const struct gang *b)
{
    int r = strcmp(intern_name(a->names, a->uid), intern_name(b->names, b->uid));
    if (!r)
        r = strcmp(intern_name(a->names, a->key), intern_name(b->names, b->key));
    return r < 0;
}

bool order_before(const void *gang_a, const void *gang_b)
{
    const struct gang *a = gang_a, *b = gang_b;
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->due_ms != b->due_ms || a->created_ms != b->created_ms)
        return gang_is_in_front(a, b);
    return texts_before(a, b);
}

struct local_queue *local_queue_named(struct state *s, name_id key)
{
    uint32_t at = id_map_get(&s->local_queue_by_key, key);
    if (!at) {
        MEM_RESERVE(s->local_queues, s->local_queues_cap, s->local_queues_n + 1);
        at = s->local_queues_n++;
        s->local_queues[at] = (struct local_queue){.key = key, .used.weight_nano = WEIGHT_ONE};
        id_map_put(&s->local_queue_by_key, key, at);
    }
    return &s->local_queues[at];
}

/* ---- flavors become part of the shape ---- */

static bool same_toleration(const struct toleration *a, const struct toleration *b)
{
    return a->key == b->key && a->value == b->value && a->exists == b->exists && a->effects == b->effects;
}

/* Both lists are kept sorted without doubles: a pod that already carries its flavor's labels gets the same shape as its pod set.
 * ORDER  by the texts. WHY  whether that is the pod's own shape, too, must not depend on which name was met first. */
static int compare_names(const struct intern *names, name_id a, name_id b)
{
    return a == b ? 0 : strcmp(intern_name(names, a), intern_name(names, b));
}

static void add_label(const struct intern *names, struct label *all, uint32_t *n, struct label label)
{
    uint32_t at = *n;
    while (at && compare_names(names, all[at - 1].key, label.key) > 0)
        at--;
    for (uint32_t i = 0; i < *n; i++)
        if (all[i].key == label.key && all[i].value == label.value)
            return;
    memmove(&all[at + 1], &all[at], (*n - at) * sizeof *all);
    all[at] = label;
    ++*n;
}

static int compare_tolerations(const struct intern *names, const struct toleration *a, const struct toleration *b)
{
    int by_key = compare_names(names, a->key, b->key);
    return by_key ? by_key : compare_names(names, a->value, b->value);
}

static void add_toleration(const struct intern *names, struct toleration *all, uint32_t *n, struct toleration toleration)
{
    uint32_t at = *n;
    while (at && compare_tolerations(names, &all[at - 1], &toleration) > 0)
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

static uint32_t flavored(struct state *s, uint32_t shape_id, const struct flavor_choice *choices, uint32_t choices_n, uint32_t set,
                         bool tolerating)
{
    struct shape shape = s->shapes.classes[shape_id].shape;
    uint32_t labels_n = shape.node_labels_n, tolerations_n = shape.tolerations_n, flavors_n = 0;
    for (uint32_t i = 0; i < choices_n; i++) {
        const struct flavor *f = chosen_flavor(s, &choices[i], set);
        flavors_n += f != NULL;
        labels_n += f ? f->labels.n : 0;
        tolerations_n += f && tolerating ? f->tolerations_n : 0;
    }
    if (!flavors_n) {
        shape_class_ref(&s->shapes, shape_id);
        return shape_id;
    }
    struct label *labels = mem_alloc((labels_n + 1) * sizeof *labels);
    struct toleration *tolerations = mem_alloc((tolerations_n + 1) * sizeof *tolerations);
    labels_n = tolerations_n = 0;
    for (uint32_t i = 0; i < shape.node_labels_n; i++)
        add_label(s->names, labels, &labels_n, shape.node_labels[i]);
    for (uint32_t i = 0; i < shape.tolerations_n; i++)
        add_toleration(s->names, tolerations, &tolerations_n, shape.tolerations[i]);
    for (uint32_t i = 0; i < choices_n; i++) {
        const struct flavor *f = chosen_flavor(s, &choices[i], set);
        for (uint32_t k = 0; f && k < f->labels.n; k++)
            add_label(s->names, labels, &labels_n, f->labels.all[k]);
        for (uint32_t k = 0; f && tolerating && k < f->tolerations_n; k++)
            add_toleration(s->names, tolerations, &tolerations_n, f->tolerations[k]);
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

uint32_t gang_flavored_shape(struct state *s, uint32_t shape_id, const struct flavor_choice *choices, uint32_t choices_n, uint32_t set)
{
    return flavored(s, shape_id, choices, choices_n, set, true);
}

uint32_t gang_pod_shape(struct state *s, uint32_t shape_id, const struct flavor_choice *choices, uint32_t choices_n, uint32_t set)
{
    return flavored(s, shape_id, choices, choices_n, set, false);
}

bool flavor_given(const struct gang *g, uint32_t set, name_id resource, name_id *ret_flavor)
{
    for (uint32_t i = 0; i < g->own->choices_n; i++) {
        if (g->own->choices[i].pod_set != set || g->own->choices[i].resource != resource)
            continue;
        *ret_flavor = g->own->choices[i].flavor;
        return true;
    }
    *ret_flavor = 0;
    return false;
}

/* ---- members ---- */

struct member_key {
    int64_t created_ms;
    const char *key;
    uint32_t pod;
    int32_t priority;
};

static int compare_members(const void *left, const void *right)
{
    const struct member_key *a = left, *b = right;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->created_ms != b->created_ms)
        return a->created_ms < b->created_ms ? -1 : 1;
    return strcmp(a->key, b->key);
}

void gang_drop_sets(struct state *s, struct gang *g)
{
    for (uint32_t i = 0; i < g->sets_n; i++) {
        shape_release(s, g->sets[i].shape);
        shape_release(s, g->sets[i].charged);
        label_set_unref(&s->shapes, g->sets[i].labels);
        if (g->sets[i].placed_shape)
            shape_release(s, g->sets[i].placed_shape);
        free(g->sets[i].topology);
    }
    if (g->sets != &g->only)
        free(g->sets);
    g->sets = NULL;
    g->sets_n = 0;
}

static void sort_members(const struct state *s, struct arena *a, uint32_t *pods, uint32_t n)
{
    struct member_key *keys = arena_alloc(a, n * sizeof *keys);
    for (uint32_t i = 0; i < n; i++) {
        const struct pod *p = &s->pods[pods[i]];
        keys[i] = (struct member_key){p->created_ms, intern_name(s->names, p->key), pods[i], p->priority};
    }
    qsort(keys, n, sizeof *keys, compare_members);
    for (uint32_t i = 0; i < n; i++)
        pods[i] = keys[i].pod;
}

uint32_t gang_loose_members(struct state *s, const struct gang *g, struct arena *a, uint32_t **ret_pods)
{
    uint32_t *pods = arena_alloc(a, (g->members_n + 1) * sizeof *pods), n = 0;
    for (uint32_t i = 0; i < g->members_n; i++)
        if (gang_member_is_loose(s, g->members[i]))
            pods[n++] = g->members[i];
    if (n > 1)
        sort_members(s, a, pods, n);
    *ret_pods = pods;
    return n;
}

static uint32_t list_loose(const struct state *s, const struct gang *g, struct arena *a, uint32_t **ret_pods)
{
    uint32_t *pods = arena_alloc(a, (g->members_n + 1) * sizeof *pods), n = 0;
    for (uint32_t i = 0; i < g->members_n; i++)
        if (gang_member_is_loose(s, g->members[i]))
            pods[n++] = g->members[i];
    *ret_pods = pods;
    return n;
}

bool gang_lacks_subgroups(const struct state *s, const struct gang *g, struct subgroup_lack *ret)
{
    if (!gang_has_subgroups(g))
        return false;
    _cleanup_arena_ struct arena *a = arena_new();
    uint32_t *pods, n = list_loose(s, g, a, &pods);
    struct subgroups *x = subgroups_of(s, g);
    bool lacks = subgroups_lack(x, a, pods, n, ret);
    subgroups_free(x);
    return lacks;
}

/* Loose members that could start; NULL: all of them, there are no subgroups. */
static uint32_t *can_start(const struct state *s, const struct gang *g, struct arena *a, uint32_t *ret_n)
{
    if (!gang_has_subgroups(g))
        return NULL;
    struct unit *units;
    uint32_t *pods, n = list_loose(s, g, a, &pods), units_n = group_units(s, g, a, pods, n, &units);
    *ret_n = units_n ? units[units_n - 1].first + units[units_n - 1].n : 0;
    return pods;
}

int64_t gang_members_there(const struct state *s, const struct gang *g, name_id task)
{
    _cleanup_arena_ struct arena *a = gang_has_subgroups(g) ? arena_new() : NULL;
    uint32_t starting_n = 0;
    const uint32_t *starting = can_start(s, g, a, &starting_n);
    int64_t n = 0;
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        n += (!task || p->pod_set == task) &&
             (p->seat || p->phase == POD_SUCCEEDED || (!starting && gang_member_is_loose(s, g->members[i])));
    }
    for (uint32_t i = 0; i < starting_n; i++)
        n += !task || s->pods[starting[i]].pod_set == task;
    return n;
}

static bool lacks_subgroups(const struct state *s, const struct gang *g)
{
    struct subgroups *x = subgroups_of(s, g);
    bool lacks = !subgroup_is_satisfied(&x->all[0]);
    subgroups_free(x);
    return lacks;
}

bool gang_is_below_minimum(const struct state *s, const struct gang *g)
{
    int64_t all_n = 0;
    if (gang_has_subgroups(g) && lacks_subgroups(s, g))
        return true;
    if (!g->own->min_of_task_n && g->bound_n >= (uint32_t)(g->min_members > 1 ? g->min_members : 1))
        return false;
    for (uint32_t t = 0; t <= g->own->min_of_task_n; t++) {
        int64_t n = 0;
        for (uint32_t i = 0; i < g->members_n; i++) {
            const struct pod *p = &s->pods[g->members[i]];
            n += (p->seat || p->phase == POD_SUCCEEDED) && (t == g->own->min_of_task_n || p->pod_set == g->own->min_of_task[t].resource);
        }
        if (t < g->own->min_of_task_n && n < g->own->min_of_task[t].value)
            return true;
        all_n = n;
    }
    return all_n < g->min_members;
}
