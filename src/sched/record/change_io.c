/* change_io.c - see change_io.h. ORDER of fields: that of flow.h; whoever adds one there adds it here, and counts the version up */
#include "sched/record/change_io.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "core/explain/reason.h"

#if __SIZEOF_POINTER__ == 8
#define FIELDS "add the new field to its walk below, then write the new size"
_Static_assert(sizeof(struct shape) == 168, FIELDS);
_Static_assert(sizeof(struct node_record) == 120, FIELDS);
_Static_assert(sizeof(struct device) == 24, FIELDS);
_Static_assert(sizeof(struct topology_record) == 48, FIELDS);
_Static_assert(sizeof(struct flavor_record) == 56, FIELDS);
_Static_assert(sizeof(struct cohort_record) == 32, FIELDS);
_Static_assert(sizeof(struct queue_record) == 160, FIELDS);
_Static_assert(sizeof(struct local_queue_record) == 56, FIELDS);
_Static_assert(sizeof(struct pod_set) == 256, FIELDS);
_Static_assert(sizeof(struct gang_record) == 328, FIELDS);
_Static_assert(sizeof(struct subgroup_policy) == 72, FIELDS);
_Static_assert(sizeof(struct pod_record) == 256, FIELDS);
_Static_assert(sizeof(struct budget_record) == 48, FIELDS);
_Static_assert(sizeof(struct decide_config) == 56, FIELDS);
#endif

/* ---- parts ---- */

void varint_put(struct buf *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_char(out, (char)(v | 0x80));
    buf_char(out, (char)v);
}

static uint64_t get_varint(struct change_io *io)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (io->at == io->end)
            break;
        unsigned char c = (unsigned char)*io->at++;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return v;
    }
    io->bad = true;
    return 0;
}

void change_io_number(struct change_io *io, int64_t *n)
{
    if (io->reading) {
        uint64_t v = get_varint(io);
        *n = (int64_t)(v >> 1 ^ -(v & 1));
    } else {
        varint_put(io->out, (uint64_t)*n << 1 ^ (uint64_t)(*n >> 63));
    }
}

static void read_new_name(struct change_io *io, name_id *name)
{
    uint64_t n = get_varint(io);
    if (io->bad || n == 0 || n > (uint64_t)(io->end - io->at) || memchr(io->at, '\0', n)) {
        io->bad = true;
        return;
    }
    *name = intern_id(io->names, (struct bytes){io->at, n});
    io->at += n;
    MEM_RESERVE(io->ids, io->ids_cap, io->numbers_n + 1);
    io->ids[io->numbers_n++] = *name;
}

static void write_new_name(struct change_io *io, name_id name)
{
    struct bytes text = bytes_of(intern_name(io->names, name));
    size_t before = io->numbers_cap;
    varint_put(io->out, 1);
    varint_put(io->out, text.n);
    buf_bytes(io->out, text);
    MEM_RESERVE(io->numbers, io->numbers_cap, name + 1);
    memset(io->numbers + before, 0, (io->numbers_cap - before) * sizeof *io->numbers);
    io->numbers[name] = ++io->numbers_n;
}

void change_io_name(struct change_io *io, name_id *name)
{
    if (!io->reading) {
        uint32_t number = *name < io->numbers_cap ? io->numbers[*name] : 0;
        if (!*name)
            varint_put(io->out, 0);
        else if (number)
            varint_put(io->out, (uint64_t)number + 1);
        else
            write_new_name(io, *name);
        return;
    }
    uint64_t v = get_varint(io);
    *name = 0;
    if (v == 1)
        read_new_name(io, name);
    else if (v > (uint64_t)io->numbers_n + 1)
        io->bad = true;
    else if (v)
        *name = io->ids[v - 2];
}

void change_io_forget(struct change_io *io)
{
    if (io->numbers)
        memset(io->numbers, 0, io->numbers_cap * sizeof *io->numbers);
    io->numbers_n = 0;
}

void change_io_fini(struct change_io *io)
{
    free(io->numbers);
    free(io->ids);
    *io = (struct change_io){0};
}

/* Length of a list; its memory when it is read. */
static void *list(struct change_io *io, int64_t *n, const void *items, size_t size)
{
    change_io_number(io, n);
    if (!io->reading)
        return (void *)(uintptr_t)items; /* it is only read */
    if (*n < 0 || *n > io->end - io->at)
        io->bad = true;
    *n = io->bad ? 0 : *n;
    return *n ? arena_zero(io->arena, (size_t)*n, size) : NULL;
}

/* A number of any width: what does not fit is bad. */
#define NUMBER(x)                                                                                                                          \
    do {                                                                                                                                   \
        int64_t n_ = io->reading ? 0 : (int64_t)(x);                                                                                       \
        change_io_number(io, &n_);                                                                                                         \
        if (io->reading) {                                                                                                                 \
            (x) = (__typeof__(x))n_;                                                                                                       \
            io->bad |= (int64_t)(x) != n_;                                                                                                 \
        }                                                                                                                                  \
    } while (0)
/* One of an enum's values. */
#define WORD(x, most)                                                                                                                      \
    do {                                                                                                                                   \
        int64_t n_ = io->reading ? 0 : (int64_t)(x);                                                                                       \
        change_io_number(io, &n_);                                                                                                         \
        if (io->reading && (n_ < 0 || n_ > (int64_t)(most))) {                                                                             \
            io->bad = true;                                                                                                                \
            n_ = 0;                                                                                                                        \
        }                                                                                                                                  \
        if (io->reading)                                                                                                                   \
            (x) = (__typeof__(x))n_;                                                                                                       \
    } while (0)
#define NAME(x) change_io_name(io, &(x))
#define LIST(items, count, each)                                                                                                           \
    do {                                                                                                                                   \
        int64_t n_ = io->reading ? 0 : (int64_t)(count);                                                                                   \
        __typeof__(*(items)) *of_ = (items);                                                                                               \
        void *all_ = list(io, &n_, of_, sizeof *(items));                                                                                  \
        for (int64_t i_ = 0; i_ < n_ && !io->bad; i_++)                                                                                    \
            each(io, (void *)((char *)all_ + (size_t)i_ * sizeof *(items)));                                                               \
        if (io->reading) {                                                                                                                 \
            (items) = all_;                                                                                                                \
            (count) = (__typeof__(count))n_;                                                                                               \
        }                                                                                                                                  \
    } while (0)

static void flag(struct change_io *io, bool *b)
{
    WORD(*b, 1);
}
#define FLAG(x) flag(io, &(x))

static void io_name(struct change_io *io, name_id *n)
{
    NAME(*n);
}

static void io_int64(struct change_io *io, int64_t *n)
{
    change_io_number(io, n);
}

static void io_label(struct change_io *io, struct label *l)
{
    NAME(l->key);
    NAME(l->value);
}

static void io_amount(struct change_io *io, struct amount *a)
{
    NAME(a->resource);
    NUMBER(a->value);
}

static void io_counting(struct change_io *io, struct counting *c)
{
    NAME(c->as);
    NAME(c->resource);
    NUMBER(c->times);
    NUMBER(c->per);
    WORD(c->how, COUNTS_WITHOUT_PART);
    FLAG(c->only_kept);
    NAME(c->of);
}

static void io_requirement(struct change_io *io, struct requirement *r)
{
    NAME(r->key);
    WORD(r->op, REQUIRE_LESS);
    FLAG(r->is_field);
    LIST(r->values, r->values_n, io_name);
    NUMBER(r->number);
}

static void io_selector(struct change_io *io, struct selector *s)
{
    LIST(s->all, s->all_n, io_requirement);
    FLAG(s->matches_nothing);
}

static void io_taint(struct change_io *io, struct taint *t)
{
    NAME(t->key);
    NAME(t->value);
    WORD(t->effect, TAINT_NO_EXECUTE);
}

static void io_toleration(struct change_io *io, struct toleration *t)
{
    NAME(t->key);
    NAME(t->value);
    FLAG(t->exists);
    NUMBER(t->effects);
}

static void io_port(struct change_io *io, struct host_port *p)
{
    NAME(p->address);
    NUMBER(p->port);
    NUMBER(p->protocol);
}

static void io_affinity(struct change_io *io, struct pod_affinity *a)
{
    io_selector(io, &a->pods);
    LIST(a->namespaces, a->namespaces_n, io_name);
    FLAG(a->all_namespaces);
    NAME(a->topology_key);
    FLAG(a->anti);
    NUMBER(a->weight);
}

static void io_spread(struct change_io *io, struct topology_spread *t)
{
    io_selector(io, &t->pods);
    NAME(t->topology_key);
    NUMBER(t->max_skew);
    NUMBER(t->min_domains);
}

static void io_wish(struct change_io *io, struct node_preference *p)
{
    io_selector(io, &p->term);
    NUMBER(p->weight);
}

static void io_shape(struct change_io *io, struct shape *s)
{
    LIST(s->requests, s->requests_n, io_amount);
    LIST(s->node_labels, s->node_labels_n, io_label);
    LIST(s->node_terms, s->node_terms_n, io_selector);
    LIST(s->node_wishes, s->node_wishes_n, io_wish);
    LIST(s->tolerations, s->tolerations_n, io_toleration);
    LIST(s->ports, s->ports_n, io_port);
    LIST(s->affinities, s->affinities_n, io_affinity);
    LIST(s->spreads, s->spreads_n, io_spread);
    LIST(s->pod_wishes, s->pod_wishes_n, io_affinity);
    LIST(s->spread_wishes, s->spread_wishes_n, io_spread);
    LIST(s->labels, s->labels_n, io_label);
    NAME(s->ns);
}

/* ---- nodes, namespaces, topologies ---- */

static void io_device(struct change_io *io, struct device *d)
{
    NAME(d->resource);
    NAME(d->id);
    NUMBER(d->gpu);
    NUMBER(d->link_group);
    FLAG(d->healthy);
    NUMBER(d->unit);
    NUMBER(d->parts);
    NUMBER(d->memory_mib);
}

static void io_feedback(struct change_io *io, struct device_feedback *f)
{
    NAME(f->id);
    NUMBER(f->activity_permille);
    NUMBER(f->margin_c);
    NUMBER(f->memory_used_mib);
    NUMBER(f->memory_total_mib);
    FLAG(f->throttled);
    NUMBER(f->xid);
    NUMBER(f->xid_ms);
}

static void io_node(struct change_io *io, struct node_record *n)
{
    NAME(n->name);
    LIST(n->labels, n->labels_n, io_label);
    LIST(n->taints, n->taints_n, io_taint);
    LIST(n->allocatable, n->allocatable_n, io_amount);
    LIST(n->devices, n->devices_n, io_device);
    LIST(n->feedback, n->feedback_n, io_feedback);
    NUMBER(n->feedback_ms);
    NUMBER(n->feedback_period_ms);
    NUMBER(n->network_bps);
    FLAG(n->unschedulable);
    FLAG(n->ready);
}

static void io_namespace(struct change_io *io, struct namespace_record *n)
{
    NAME(n->name);
    LIST(n->labels, n->labels_n, io_label);
}

static void io_topology(struct change_io *io, struct topology_record *t)
{
    bool has_tiers = t->tiers != NULL;
    uint32_t tiers_n = t->levels_n, domains_n;
    NAME(t->name);
    LIST(t->levels, t->levels_n, io_name);
    FLAG(has_tiers);
    if (has_tiers) {
        LIST(t->tiers, tiers_n, io_int64);
        io->bad |= io->reading && tiers_n != t->levels_n;
    }
    int64_t n = t->rows_n;
    struct topology_row *rows = list(io, &n, t->rows, sizeof *rows);
    for (int64_t i = 0; i < n && !io->bad; i++) { /* a domain a level */
        NAME(rows[i].node);
        domains_n = t->levels_n;
        LIST(rows[i].domains, domains_n, io_name);
        io->bad |= io->reading && domains_n != t->levels_n;
    }
    if (io->reading) {
        t->rows = rows;
        t->rows_n = (uint32_t)n;
    }
}

/* ---- queues ---- */

static void io_flavor(struct change_io *io, struct flavor_record *f)
{
    NAME(f->name);
    NAME(f->topology);
    LIST(f->node_labels, f->node_labels_n, io_label);
    LIST(f->taints, f->taints_n, io_taint);
    LIST(f->tolerations, f->tolerations_n, io_toleration);
}

static void io_quota(struct change_io *io, struct quota_record *q)
{
    NAME(q->flavor);
    NAME(q->resource);
    NUMBER(q->nominal);
    NUMBER(q->borrowing_limit);
    NUMBER(q->lending_limit);
    FLAG(q->is_bounded);
    NUMBER(q->bound);
}

static void io_group(struct change_io *io, struct resource_group *g)
{
    LIST(g->resources, g->resources_n, io_name);
    LIST(g->flavors, g->flavors_n, io_name);
}

static void io_cohort(struct change_io *io, struct cohort_record *c)
{
    NAME(c->name);
    NAME(c->parent);
    LIST(c->quotas, c->quotas_n, io_quota);
    FLAG(c->has_weight);
    NUMBER(c->weight_nano);
}

static void io_queue_check(struct change_io *io, struct queue_check *c)
{
    NAME(c->name);
    LIST(c->flavors, c->flavors_n, io_name);
}

static void io_shares(struct change_io *io, struct queue_record *q)
{
    bool has = q->shares != NULL;
    FLAG(has);
    if (!has)
        return;
    struct queue_shares s = io->reading ? (struct queue_shares){0} : *q->shares;
    NAME(s.parent);
    NUMBER(s.weight);
    FLAG(s.keeps);
    FLAG(s.by_turns);
    LIST(s.deserved, s.deserved_n, io_amount);
    LIST(s.guarantee, s.guarantee_n, io_amount);
    LIST(s.capability, s.capability_n, io_amount);
    NUMBER(s.preempt_after_ms);
    NUMBER(s.reclaim_after_ms);
    LIST(s.counts, s.counts_n, io_counting);
    if (!io->reading)
        return;
    struct queue_shares *kept = arena_alloc(io->arena, sizeof *kept);
    *kept = s;
    q->shares = kept;
}

static void io_queue(struct change_io *io, struct queue_record *q)
{
    NAME(q->name);
    NAME(q->cohort);
    NAME(q->title);
    WORD(q->kind, QUEUE_VOLCANO);
    WORD(q->strategy, QUEUE_STRICT_FIFO);
    WORD(q->backfill, BACKFILL_CONSERVATIVE);
    FLAG(q->placement.own);
    FLAG(q->placement.unread);
    WORD(q->placement.by, PLACEMENT_MOST);
    NUMBER(q->move_cost_s);
    WORD(q->stop, STOP_HOLD_AND_DRAIN);
    io_selector(io, &q->namespaces);
    LIST(q->groups, q->groups_n, io_group);
    LIST(q->quotas, q->quotas_n, io_quota);
    FLAG(q->unlimited);
    FLAG(q->borrow_before_next_flavor);
    FLAG(q->preempt_before_next_flavor);
    FLAG(q->preempt_before_borrowing);
    WORD(q->within_queue, PREEMPT_ANY);
    WORD(q->reclaim_within_cohort, PREEMPT_ANY);
    WORD(q->borrow_within_cohort, PREEMPT_ANY);
    FLAG(q->has_borrow_threshold);
    NUMBER(q->borrow_threshold);
    FLAG(q->has_weight);
    NUMBER(q->weight_nano);
    NUMBER(q->priority);
    LIST(q->checks, q->checks_n, io_queue_check);
    FLAG(q->by_consumption);
    io_shares(io, q);
    FLAG(q->closed);
    NAME(q->closed_text);
}

static void io_fine(struct change_io *io, struct fine_amount *f)
{
    NAME(f->resource);
    NUMBER(f->units);
    NUMBER(f->nano);
}

static void io_local_queue(struct change_io *io, struct local_queue_record *q)
{
    NAME(q->key);
    NAME(q->title);
    NAME(q->ns);
    NAME(q->queue);
    WORD(q->stop, STOP_HOLD_AND_DRAIN);
    FLAG(q->has_weight);
    NUMBER(q->weight_nano);
    LIST(q->consumed, q->consumed_n, io_fine);
    NUMBER(q->consumed_ms);
}

/* ---- gangs and pods ---- */

static void io_topology_request(struct change_io *io, struct topology_request *t)
{
    WORD(t->mode, TOPOLOGY_UNCONSTRAINED);
    NAME(t->level);
    WORD(t->slices_n, TOPOLOGY_SLICES);
    for (uint32_t i = 0; i < t->slices_n; i++) {
        NAME(t->slices[i].level);
        NUMBER(t->slices[i].size);
    }
    NAME(t->group);
}

static void io_pod_set(struct change_io *io, struct pod_set *p)
{
    NAME(p->name);
    io_topology_request(io, &p->topology);
    io_shape(io, &p->shape);
    LIST(p->charged, p->charged_n, io_amount);
    FLAG(p->is_charged);
    NUMBER(p->count);
    NUMBER(p->min_count);
    NUMBER(p->reclaimed);
    NUMBER(p->granted);
    FLAG(p->in_turns);
    FLAG(p->later);
    FLAG(p->serial);
}

static void io_choice(struct change_io *io, struct flavor_choice *c)
{
    NUMBER(c->pod_set);
    NAME(c->resource);
    NAME(c->flavor);
}

static void io_domain(struct change_io *io, struct domain_choice *c)
{
    NUMBER(c->pod_set);
    NAME(c->domain);
    NUMBER(c->count);
}

static void io_check(struct change_io *io, struct gang_check *c)
{
    NAME(c->name);
    WORD(c->state, CHECK_REJECTED);
}

static void io_subgroups(struct change_io *io, struct subgroup_policy *p)
{
    NAME(p->name);
    NUMBER(p->above);
    io_selector(io, &p->pods);
    LIST(p->keys, p->keys_n, io_name);
    NUMBER(p->size);
    NUMBER(p->least_n);
    WORD(p->tiers.mode, TOPOLOGY_UNCONSTRAINED);
    NUMBER(p->tiers.highest);
    NAME(p->tiers.title);
}

static void io_gang_asks(struct change_io *io, struct gang_record *g)
{
    NAME(g->key);
    WORD(g->source, GANG_COMPOSITE);
    NAME(g->ns);
    NAME(g->local_queue);
    NAME(g->queue);
    NAME(g->queue_title);
    WORD(g->queue_kind, QUEUE_VOLCANO);
    NUMBER(g->priority);
    NUMBER(g->due_ms);
    NUMBER(g->created_ms);
    NAME(g->uid);
    FLAG(g->planned);
    LIST(g->pod_sets, g->pod_sets_n, io_pod_set);
    NUMBER(g->min_members);
    LIST(g->min_of_task, g->min_of_task_n, io_amount);
    LIST(g->least, g->least_n, io_amount);
    FLAG(g->least_is_free);
    FLAG(g->goes_whole);
    FLAG(g->preempts_nobody);
    WORD(g->tiers.mode, TOPOLOGY_UNCONSTRAINED);
    NUMBER(g->tiers.highest);
    NAME(g->tiers.title);
    LIST(g->subgroups, g->subgroups_n, io_subgroups);
    NUMBER(g->subgroups_least);
    FLAG(g->keeps_places);
    NUMBER(g->patience_s);
    NUMBER(g->refill_s);
    NUMBER(g->restart_ms);
}

static void io_booked_place(struct change_io *io, struct booked_place *b)
{
    NUMBER(b->pod_set);
    NAME(b->node);
    NUMBER(b->count);
}

static void io_booked_quota(struct change_io *io, struct booked_quota *b)
{
    NAME(b->flavor);
    NAME(b->resource);
    NUMBER(b->amount);
}

static void io_booking(struct change_io *io, struct gang_record *g)
{
    bool has = g->booking != NULL;
    FLAG(has);
    if (!has)
        return;
    struct booking_record b = io->reading ? (struct booking_record){0} : *g->booking;
    NUMBER(b.start_ms);
    NUMBER(b.basis);
    FLAG(b.borrows);
    LIST(b.places, b.places_n, io_booked_place);
    LIST(b.quota, b.quota_n, io_booked_quota);
    if (!io->reading)
        return;
    struct booking_record *kept = arena_alloc(io->arena, sizeof *kept);
    *kept = b;
    g->booking = kept;
}

static void io_gang(struct change_io *io, struct gang_record *g)
{
    io_gang_asks(io, g);
    FLAG(g->active);
    FLAG(g->on_hold);
    FLAG(g->hold_is_fault);
    NAME(g->hold_text);
    NUMBER(g->not_before_ms);
    FLAG(g->finished);
    FLAG(g->admitted);
    FLAG(g->reserved_only);
    FLAG(g->evicted);
    NUMBER(g->reserved_ms);
    NAME(g->admitted_queue);
    LIST(g->choices, g->choices_n, io_choice);
    LIST(g->domains, g->domains_n, io_domain);
    LIST(g->checks, g->checks_n, io_check);
    NUMBER(g->checkpoint_ms);
    NUMBER(g->minimum_run_s);
    FLAG(g->stays);
    NUMBER(g->grace_s);
    FLAG(g->of_one_pod);
    FLAG(g->foreign);
    WORD(g->pods, PODS_UNSAID);
    NUMBER(g->unready_ms);
    NUMBER(g->admitted_ms);
    NUMBER(g->retries_n);
    NUMBER(g->run_s);
    FLAG(g->run_by_limit);
    io_booking(io, g);
}

static void io_pod(struct change_io *io, struct pod_record *p)
{
    NAME(p->key);
    NAME(p->uid);
    NAME(p->gang);
    WORD(p->gang_source, GANG_COMPOSITE);
    NAME(p->pod_set);
    io_shape(io, &p->shape);
    NUMBER(p->priority);
    NUMBER(p->created_ms);
    NUMBER(p->started_ms);
    WORD(p->phase, POD_FAILED);
    NAME(p->node);
    NAME(p->nominated);
    NAME(p->scheduler);
    NUMBER(p->limit_s);
    NAME(p->devices);
    NAME(p->device_asks);
    NAME(p->device_limits);
    FLAG(p->shares);
    FLAG(p->share_slots);
    FLAG(p->admitted);
    FLAG(p->deleting);
    FLAG(p->gated);
    FLAG(p->ours);
    FLAG(p->preempts_nobody);
}

static void io_budget(struct change_io *io, struct budget_record *b)
{
    NAME(b->key);
    NAME(b->ns);
    io_selector(io, &b->pods);
    NUMBER(b->allowed);
    LIST(b->disrupted, b->disrupted_n, io_name);
}

static void io_outcome(struct change_io *io, struct outcome_record *o)
{
    NUMBER(o->effect);
    WORD(o->outcome, OUTCOME_FAILED);
    NAME(o->gang);
    NAME(o->pod);
    NUMBER(o->code);
}

void change_io_change(struct change_io *io, struct change *c)
{
    WORD(c->type, CHANGE_OUTCOME);
    switch (c->type) {
    case CHANGE_NODE:
        io_node(io, &c->node);
        break;
    case CHANGE_NAMESPACE:
        io_namespace(io, &c->ns);
        break;
    case CHANGE_TOPOLOGY:
        io_topology(io, &c->topology);
        break;
    case CHANGE_FLAVOR:
        io_flavor(io, &c->flavor);
        break;
    case CHANGE_COHORT:
        io_cohort(io, &c->cohort);
        break;
    case CHANGE_QUEUE:
        io_queue(io, &c->queue);
        break;
    case CHANGE_LOCAL_QUEUE:
        io_local_queue(io, &c->local_queue);
        break;
    case CHANGE_GANG:
        io_gang(io, &c->gang);
        break;
    case CHANGE_POD:
        io_pod(io, &c->pod);
        break;
    case CHANGE_BUDGET:
        io_budget(io, &c->budget);
        break;
    case CHANGE_OUTCOME:
        io_outcome(io, &c->outcome);
        break;
    case CHANGE_NODE_GONE:
    case CHANGE_NAMESPACE_GONE:
    case CHANGE_TOPOLOGY_GONE:
    case CHANGE_FLAVOR_GONE:
    case CHANGE_COHORT_GONE:
    case CHANGE_QUEUE_GONE:
    case CHANGE_LOCAL_QUEUE_GONE:
    case CHANGE_GANG_GONE:
    case CHANGE_POD_GONE:
    case CHANGE_BUDGET_GONE:
        NAME(c->gone);
        break;
    }
}

/* ---- how it decides ---- */

static void io_fair(struct change_io *io, struct fair_policy *f)
{
    FLAG(f->on);
    WORD(f->strategies_n, 2);
    for (int i = 0; i < 2; i++)
        WORD(f->strategies[i], FAIR_LESS_THAN_INITIAL_SHARE);
}

void change_io_config(struct change_io *io, struct decide_config *c)
{
    NUMBER(c->gangs_max);
    NUMBER(c->pods_max);
    FLAG(c->no_remedies);
    FLAG(c->no_counts);
    FLAG(c->all_wake);
    io_fair(io, &c->fair);
    FLAG(c->lost.off);
    FLAG(c->lost.patient);
    FLAG(c->node_wishes);
    FLAG(c->hold);
    WORD(c->placement, PLACEMENT_MOST);
    NUMBER(c->placement_seed);
    FLAG(c->keeps_whole);
}

static void io_weight(struct change_io *io, struct resource_weight *w)
{
    name_id resource = io->reading ? 0 : intern_text_id(io->names, w->resource);
    NAME(resource);
    if (io->reading)
        w->resource = arena_text(io->arena, intern_name(io->names, resource));
    NUMBER(w->weight_nano);
}

void change_io_policy(struct change_io *io, struct policy *p)
{
    struct ready_policy *r = &p->ready;
    struct consumption_policy *c = &p->consumption;
    NUMBER(r->timeout_ms);
    NUMBER(r->recovery_ms);
    FLAG(r->block_admission);
    FLAG(r->requeue_by_creation);
    NUMBER(r->retries_most);
    NUMBER(r->backoff_ms);
    NUMBER(r->backoff_most_ms);
    FLAG(c->on);
    NUMBER(c->half_life_ms);
    NUMBER(c->sampling_ms);
    LIST(c->weights, c->weights_n, io_weight);
}
