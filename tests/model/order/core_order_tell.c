/* core_order_tell.c - what the core is told of gangs, cohorts and queues */
#include "core_order.h"

const char *const resources[RES_N] = {"cpu", "nvidia.com/gpu"};
const char *const flavors[FLAVORS] = {"fa", "fb"};

struct gang_record record_of(struct model *m, const struct plain_gang *g)
{
    struct world *w = &m->w;
    char name[16], queue[16], requests[64];
    snprintf(name, sizeof name, "g%d", g->serial);
    snprintf(requests, sizeof requests, "cpu=%d,nvidia.com/gpu=%d", (int)g->ask[0], (int)g->ask[1]);
    struct gang_record r = a_workload(w, name, local_key(m, g->queue, g->local), g->count, requests);
    if (g->charged_only)
        charge_only(w, &r);
    r.priority = g->priority;
    r.created_ms = g->created_ms;
    r.checkpoint_ms = g->checkpoint_ms;
    r.minimum_run_s = g->minimum_run_s;
    r.grace_s = g->grace_s;
    if (g->admitted) {
        struct flavor_choice *choices = arena_zero(w->records, RES_N, sizeof *choices);
        for (int k = 0; k < RES_N; k++)
            choices[k] = (struct flavor_choice){0, id(w, resources[k]), id(w, flavors[g->flavor])};
        snprintf(queue, sizeof queue, "q%d", g->queue);
        r.admitted = true;
        r.reserved_ms = g->reserved_ms;
        r.admitted_queue = id(w, queue);
        r.choices = choices;
        r.choices_n = RES_N;
    }
    return r;
}

void tell_cohort(struct model *m, int i)
{
    const struct tree_node *n = &m->nodes[i];
    struct quota_record quotas[FLAVORS * RES_N];
    char name[16], parent[16];
    snprintf(name, sizeof name, "co%d", i);
    snprintf(parent, sizeof parent, "co%d", n->parent);
    struct cohort_record r = {.name = id(&m->w, name), .parent = n->parent < 0 ? 0 : id(&m->w, parent), .quotas = quotas,
                              .has_weight = n->weight_milli != 1000, .weight_nano = 1000000 * (int64_t)n->weight_milli};
    for (int f = 0; f < FLAVORS; f++)
        for (int k = 0; k < RES_N; k++)
            if (n->quota[f][k].named)
                quotas[r.quotas_n++] = (struct quota_record){.flavor = id(&m->w, flavors[f]), .resource = id(&m->w, resources[k]),
                                                             .nominal = n->quota[f][k].nominal, .borrowing_limit = n->quota[f][k].borrowing,
                                                             .lending_limit = n->quota[f][k].lending};
    state_apply(m->w.s, &(struct change){.type = CHANGE_COHORT, .cohort = r});
}

void tell_queue(struct model *m, int i)
{
    const struct tree_node *n = &m->nodes[COHORTS + i];
    struct queue_words q;
    char name[16], cohort[16];
    snprintf(name, sizeof name, "q%d", i);
    snprintf(cohort, sizeof cohort, "co%d", n->parent);
    queue_begin(&m->w, &q, name, n->parent < 0 ? NULL : cohort);
    q.r.kind = n->volcano ? QUEUE_VOLCANO : QUEUE_CLUSTER;
    q.r.priority = n->priority;
    q.r.by_consumption = n->by_consumption;
    q.r.strategy = n->strict ? QUEUE_STRICT_FIFO : QUEUE_BEST_EFFORT_FIFO;
    q.r.borrow_before_next_flavor = n->borrow_stops;
    q.r.preempt_before_next_flavor = n->preempt_stops;
    q.r.preempt_before_borrowing = n->level_first;
    q.r.within_queue = n->within;
    q.r.reclaim_within_cohort = n->reclaim;
    q.r.borrow_within_cohort = n->borrow;
    q.r.has_borrow_threshold = n->threshold >= 0;
    q.r.borrow_threshold = n->threshold;
    q.r.has_weight = n->weight_milli != 1000;
    q.r.weight_nano = 1000000 * (int64_t)n->weight_milli;
    for (int f = 0; f < FLAVORS; f++)
        for (int k = 0; k < RES_N; k++)
            queue_quota(&m->w, &q, flavors[f], resources[k], n->quota[f][k].nominal, n->quota[f][k].borrowing, n->quota[f][k].lending);
    queue_done(&m->w, &q);
}
