/* core_order_tell.c - what the core is told of gangs, cohorts and queues */
#include "core_order.h"

const char *const resources[RES_N] = {"cpu", "nvidia.com/gpu", "memory"};
const char *const flavors[FLAVORS] = {"fa", "fb", "fc", "fd"};

static void put_sets(struct model *m, const struct plain_gang *g, struct gang_record *r)
{
    struct world *w = &m->w;
    struct pod_set *sets = arena_zero(w->records, SETS, sizeof *sets);
    for (int i = 0; i < g->sets_n; i++) {
        char requests[96];
        snprintf(requests, sizeof requests, "cpu=%d,nvidia.com/gpu=%d,memory=%d", (int)g->sets[i].ask[0], (int)g->sets[i].ask[1],
                 (int)g->sets[i].ask[2]);
        struct pod_set *one = &sets[i];
        *one = (struct pod_set){.name = id(w, arena_printf(w->records, "s%d", i)), .count = g->sets[i].asked_n,
                                .min_count = g->sets[i].fewest, .granted = g->admitted ? g->given.count[i] : 0};
        one->shape = shape_of(w, requests, "");
        if (m->places.n)
            one->topology = request_of(m, &g->sets[i]);
        if (!g->charged_only && !g->sets[i].milli)
            continue;
        one->charged = one->shape.requests;
        one->charged_n = one->shape.requests_n;
        one->is_charged = true;
        one->shape.requests = NULL;
        one->shape.requests_n = 0;
        if (g->sets[i].milli)
            one->shape = shape_of(w, arena_printf(w->records, "cpu=%d,memory=%d," GPU_SHARE_MILLI "=%d", (int)g->sets[i].ask[0],
                                                  (int)g->sets[i].ask[2], g->sets[i].milli), "");
    }
    r->pod_sets = sets;
    r->pod_sets_n = (uint32_t)g->sets_n;
}

static void put_choices(struct world *w, const struct plain_gang *g, struct gang_record *r)
{
    struct flavor_choice *choices = arena_zero(w->records, SETS * RES_N, sizeof *choices);
    r->choices = choices;
    for (int i = 0; i < g->sets_n; i++)
        for (int k = 0; k < RES_N; k++)
            if (g->given.flavor[i][k] >= 0)
                choices[r->choices_n++] = (struct flavor_choice){(uint16_t)i, id(w, resources[k]), id(w, flavors[g->given.flavor[i][k]])};
}

struct gang_record record_of(struct model *m, const struct plain_gang *g)
{
    struct world *w = &m->w;
    char name[16], queue[16];
    snprintf(name, sizeof name, "g%d", g->serial);
    struct gang_record r = a_workload(w, name, local_key(m, g->queue, g->local), 1, "");
    put_sets(m, g, &r);
    r.min_members = 0;
    for (int i = 0; i < g->sets_n; i++)
        r.min_members += g->sets[i].fewest;
    r.priority = g->priority;
    r.due_ms = g->due_ms;
    r.created_ms = g->created_ms;
    r.checkpoint_ms = g->checkpoint_ms;
    r.minimum_run_s = g->minimum_run_s;
    r.grace_s = g->grace_s;
    r.active = g->active;
    r.not_before_ms = g->not_before_ms;
    if (m->nodes[COHORTS + g->queue].check) {
        struct gang_check *check = arena_zero(w->records, 1, sizeof *check);
        *check = (struct gang_check){id(w, "c"), g->check};
        r.checks = check;
        r.checks_n = 1;
    }
    if (g->admitted) {
        snprintf(queue, sizeof queue, "q%d", g->queue);
        r.admitted = true;
        r.reserved_only = g->checking;
        r.reserved_ms = g->reserved_ms;
        r.admitted_queue = id(w, queue);
        put_choices(w, g, &r);
        put_domains_told(m, g, &r);
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
    FOR_EACH_CELL(f, k)
        if (n->quota[f][k].named)
            quotas[r.quotas_n++] = (struct quota_record){.flavor = id(&m->w, flavors[f]), .resource = id(&m->w, resources[k]),
                                                         .nominal = n->quota[f][k].nominal, .borrowing_limit = n->quota[f][k].borrowing,
                                                         .lending_limit = n->quota[f][k].lending};
    state_apply(m->w.s, &(struct change){.type = CHANGE_COHORT, .cohort = r});
}

static void tell_group(struct model *m, const struct tree_node *n, const struct group *group, struct queue_words *q)
{
    for (int at = 0; at < group->flavors_n; at++)
        for (int r = 0; r < RES_N; r++) {
            int f = group->flavors[at];
            const struct plain_quota *one = &n->quota[f][r];
            if (group->covers[r])
                queue_quota(&m->w, q, flavors[f], resources[r], one->nominal, one->borrowing, one->lending);
        }
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
    name_id of = n->check >= CHECKS_FLAVOR ? id(&m->w, flavors[n->check - CHECKS_FLAVOR]) : 0;
    struct queue_check check = {.name = id(&m->w, "c"), .flavors = &of, .flavors_n = of != 0};
    q.r.checks = &check;
    q.r.checks_n = n->check != CHECKS_NOBODY;
    for (int k = 0; k < n->groups_n; k++) {
        if (k)
            queue_next_group(&q);
        tell_group(m, n, &n->groups[k], &q);
    }
    queue_done(&m->w, &q);
}
