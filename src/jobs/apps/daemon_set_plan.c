/* daemon_set_plan.c - pods sorted by node and age, one walk over the nodes to place, another to update */
#include "jobs/apps/daemon_set_plan.h"
#include <stdlib.h>

/* A node with its pods: all[first .. first + n - 1], oldest first. */
struct place {
    const struct daemon_node *node;
    uint32_t first, n;
    const struct job_pod *old, *new; /* that stay: without and with the update */
};
struct context {
    const struct daemon_spec *spec;
    const struct job_pod **pods;
    struct place *places;
    uint32_t pods_n, places_n;
    int64_t now_ms;
    struct daemon_plan *plan;
};

static int order(const void *x, const void *y)
{
    const struct job_pod *a = *(const struct job_pod *const *)x, *b = *(const struct job_pod *const *)y;
    int by_node = strcmp(a->node, b->node);
    if (by_node)
        return by_node;
    if (a->created_ms != b->created_ms)
        return a->created_ms < b->created_ms ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void remove_pod(struct context *c, const struct job_pod *p)
{
    if (!p->expected)
        c->plan->remove[c->plan->remove_n++] = p;
}

static void look_again(struct context *c, int64_t delay_ms)
{
    if (c->plan->again_ms == 0 || delay_ms < c->plan->again_ms)
        c->plan->again_ms = delay_ms;
}

static bool is_ready(const struct job_pod *p)
{
    return p->phase == JOB_POD_RUNNING && p->ready && !p->deleting;
}

static bool is_available(struct context *c, const struct job_pod *p)
{
    if (!is_ready(p))
        return false;
    int64_t left_ms = p->ready_ms + c->spec->min_ready_ms - c->now_ms;
    if (c->spec->min_ready_ms == 0 || left_ms <= 0)
        return true;
    look_again(c, left_ms);
    return false;
}

static bool create(struct context *c, const char *node)
{
    if (c->plan->create_n == DAEMON_CREATE_MAX) {
        look_again(c, 1);
        return false;
    }
    c->plan->create[c->plan->create_n++] = node;
    return true;
}

/* Pods of nodes that are not there: those on it go with the node, those that wait for it never would. */
static void remove_lost(struct context *c, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (c->pods[i]->phase == JOB_POD_PENDING && !c->pods[i]->deleting)
            remove_pod(c, c->pods[i]);
}

static void find_places(struct context *c, const struct daemon_node *nodes, uint32_t nodes_n)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < nodes_n; i++) {
        uint32_t lost = at;
        while (at < c->pods_n && strcmp(c->pods[at]->node, nodes[i].name) < 0)
            at++;
        remove_lost(c, lost, at);
        struct place *p = &c->places[c->places_n++];
        *p = (struct place){.node = &nodes[i], .first = at};
        while (at < c->pods_n && strcmp(c->pods[at]->node, nodes[i].name) == 0)
            at++;
        p->n = at - p->first;
    }
    remove_lost(c, at, c->pods_n);
}

/* A pod that ended makes room for another after a while. True: it is one. */
static bool replace_ended(struct context *c, const struct job_pod *p)
{
    if (p->phase < JOB_POD_SUCCEEDED)
        return false;
    int64_t left_ms = p->ended_ms + DAEMON_FAILED_MS - c->now_ms;
    if (left_ms > 0)
        look_again(c, left_ms);
    else
        remove_pod(c, p);
    return true;
}

/* The right number of pods for one node: the oldest stays, and beside it one with the update where a surge is allowed. */
static void manage(struct context *c, struct place *place)
{
    const struct daemon_node *node = place->node;
    if (node->is_wanted && place->n == 0)
        (void)create(c, node->name);
    for (uint32_t i = 0; i < place->n; i++) {
        const struct job_pod *p = c->pods[place->first + i];
        if (p->deleting)
            continue;
        if (!node->is_wanted && !node->may_stay) {
            remove_pod(c, p);
            continue;
        }
        if (replace_ended(c, p))
            continue;
        bool is_new = text_equal(p->revision, c->spec->update);
        const struct job_pod **kept = is_new ? &place->new : &place->old;
        const struct job_pod *other = is_new ? place->old : place->new;
        if (*kept || (other && c->spec->max_surge == 0))
            remove_pod(c, p);
        else
            *kept = p;
    }
}

static void count(struct context *c, const struct place *place)
{
    struct daemon_plan *plan = c->plan;
    const struct job_pod *p = place->n ? c->pods[place->first] : NULL; /* the oldest that stays */
    for (uint32_t i = 1; i < place->n && p->deleting; i++)
        p = c->pods[place->first + i];
    bool is_there = p && !p->expected;
    plan->desired_n += place->node->is_wanted;
    if (!place->node->is_wanted) {
        plan->misscheduled_n += is_there;
        return;
    }
    plan->scheduled_n += is_there;
    plan->updated_n += is_there && text_equal(p->revision, c->spec->update);
    plan->ready_n += is_there && is_ready(p);
    plan->available_n += is_there && is_available(c, p);
}

/* ---- update ---- */

static void update_in_place(struct context *c)
{
    int64_t without_n = 0;
    for (uint32_t i = 0; i < c->places_n; i++) {
        struct place *p = &c->places[i];
        if (!p->node->is_wanted)
            continue;
        const struct job_pod *there = p->new ? p->new : p->old;
        without_n += !there || !is_available(c, there);
        if (p->old && !p->new && !is_available(c, p->old)) {
            remove_pod(c, p->old); /* nobody misses it */
            p->old = NULL;
        }
    }
    for (uint32_t i = 0; i < c->places_n && without_n < c->spec->max_unavailable; i++)
        if (c->places[i].node->is_wanted && c->places[i].old && !c->places[i].new) {
            remove_pod(c, c->places[i].old);
            without_n++;
        }
}

static void update_by_surge(struct context *c)
{
    int64_t more_n = 0;
    for (uint32_t i = 0; i < c->places_n; i++) {
        struct place *p = &c->places[i];
        if (!p->old || !p->new)
            continue;
        if (is_available(c, p->new) || !is_available(c, p->old))
            remove_pod(c, p->old);
        else
            more_n++;
    }
    for (uint32_t i = 0; i < c->places_n && more_n < c->spec->max_surge; i++)
        if (c->places[i].old && !c->places[i].new && c->places[i].n == 1 && c->places[i].node->is_wanted)
            more_n += create(c, c->places[i].node->name);
}

void daemon_set_plan(struct arena *a, const struct daemon_spec *spec, const struct daemon_node *nodes, uint32_t nodes_n,
                     const struct job_pod *const *pods, uint32_t pods_n, int64_t now_ms, struct daemon_plan *ret_plan)
{
    *ret_plan = (struct daemon_plan){.remove = arena_alloc(a, sizeof(void *) * ((size_t)pods_n * 2 + 1)),
                                     .create = arena_alloc(a, sizeof(char *) * DAEMON_CREATE_MAX)};
    struct context c = {.spec = spec,
                        .pods = arena_alloc(a, sizeof(void *) * ((size_t)pods_n + 1)),
                        .pods_n = pods_n,
                        .places = arena_alloc(a, sizeof(struct place) * ((size_t)nodes_n + 1)),
                        .now_ms = now_ms,
                        .plan = ret_plan};
    if (pods_n)
        memcpy(c.pods, pods, sizeof(void *) * pods_n);
    qsort(c.pods, pods_n, sizeof *c.pods, order);
    find_places(&c, nodes, nodes_n);
    for (uint32_t i = 0; i < c.places_n; i++) {
        count(&c, &c.places[i]);
        manage(&c, &c.places[i]);
    }
    if (!spec->is_on_delete && spec->max_surge == 0)
        update_in_place(&c);
    else if (!spec->is_on_delete)
        update_by_surge(&c);
}
