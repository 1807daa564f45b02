/* target.h - the pods that are expected, and how much of a node's GPUs is of no use to them: fragmentation as FGD measures it
 *
 *     F(node) = sum over kinds of pods, by how often they come, of what is left of GPUs that
 *               has too little left for one of the kind, where the node can take one; else, or where the kind asks for no GPU: of all
 *
 * SHAPE  state_set_targets gives them. The exact F is in thousandths of a GPU times `weight`; from tables by what the node is accepted for,
 *        how much cpu it has free (`cpus`), and what is left of each GPU (`levels`).
 *        The first kinds that are TARGETS_COVER per cent of all pods are expected; the others only count for what they ask for.
 * LIMIT  TARGETS_MAX kinds, the first ones; TARGET_TERMS different demands on nodes among them, further ones hold nowhere.
 * SOURCE Weng et al., Beware of Fragmentation, USENIX ATC 2023.
 */
#ifndef CORE_TARGET_H
#define CORE_TARGET_H
#include "base/amount.h"
#include "core/score/binary64.h"
#include "core/score/gpus.h"
#include "core/score/reserve.h"

#define TARGETS_MAX 512u
#define TARGETS_COVER 95u
#define TARGET_TERMS 64u
#define TARGET_CPU_SHIFT 9u /* half a core: few kinds ask for amounts between two steps */
#define TARGET_CPU_STEPS 512u
#define TARGET_SEVERAL 16u /* GPUs of a pod; of more so many */
struct target_kind {
    int64_t cpu;
    uint32_t n, each, count;
    uint32_t term;          /* which of `terms` holds for nodes that take it */
    binary64 part;          /* of all pods */
};
struct target_node {        /* what is known of a node */
    uint64_t record_seq, touched; /* as it was then: class; lost, no_use */
    int64_t lost, no_use;   /* F; with what target_stranded says */
    int32_t lost_of;        /* of these devices: as node_gpus_of returns */
    uint32_t class;
    bool known, has_lost;
};
struct target_sum {         /* of a node, or of all: F, and what is left of GPUs */
    int64_t lost, left;
};
struct targets {
    struct target_kind *kinds;
    uint32_t kinds_n;
    int64_t weight;         /* sum of counts */
    int64_t cpu, gpu;       /* what those that ask for GPUs ask for together, by count */
    uint32_t *terms;        /* shapes that say it; references */
    uint32_t terms_n;
    struct target_node *nodes; /* by slot */
    uint32_t nodes_cap;
    uint64_t *classes;      /* nodes that the same terms hold for: which do, as bits */
    uint32_t classes_n, classes_cap;
    int64_t *prices;        /* by class, once prices_n are known: how much its GPUs are asked for, in thousandths of the mean */
    uint32_t prices_n;
    uint64_t priced_seq;    /* of labels_seq of the nodes */
    uint64_t prices_changes; /* times that one of them has become another one */
    int64_t *cpus;          /* that kinds ask for, each once, ascending */
    uint32_t cpus_n, levels_n, row_n;
    uint16_t cpu_steps[TARGET_CPU_STEPS]; /* how many of cpus are less than so many times 2^TARGET_CPU_SHIFT */
    uint16_t level_of[GPU_WHOLE + 1];
    int64_t asked_of[NODE_GPUS + 1]; /* by GPUs of a pod: what all pods ask for, those of rare kinds, too */
    int64_t least_cpu_of[NODE_GPUS + 1]; /* the same: least cpu of one */
    struct reserve reserve;
    struct target_sum *sum_of, sum; /* what state_fragmentation has counted, by slot and together; NULL: nothing yet */
    uint32_t sum_of_n;
    uint64_t summed_seq;    /* up to this journal position */
    uint32_t *rows;         /* by class, by how many of cpus are free: struct target_row */
    uint32_t rows_cap;
};
/* A row: of all that is left this weight is lost; of what is left of one GPU, by level; of whole GPUs it is not, by how many are idle. */
struct target_row {
    const uint32_t *all, *by_level, *by_idle;
};
struct targets *targets_new(struct state *s, const struct target *all, uint32_t n, uint64_t total); /* as state_set_targets; n > 0 */
void targets_free(struct targets *t); /* NULL-safe; whoever calls it has released the terms */
struct target_node *target_node_look(struct state *s, uint32_t node);
uint64_t target_terms(struct state *s, uint32_t node); /* that hold, as bits */
void target_rows_fill(struct state *s); /* of classes that are new */
void target_prices_find(struct state *s);

static inline struct target_node *target_node_of(struct state *s, uint32_t node)
{
    struct target_node *known = node < s->targets->nodes_cap ? &s->targets->nodes[node] : NULL;
    return known && known->known && known->record_seq == s->nodes.nodes[node].record_seq ? known : target_node_look(s, node);
}

/* Classes of all nodes are known then, and their prices. */
static inline void target_prices_settle(struct state *s)
{
    if (!s->targets->prices || s->targets->priced_seq != s->nodes.labels_seq)
        target_prices_find(s);
}

/* How scarce the node's GPUs are: 1000 where kinds accept all nodes alike, more where many accept no others. */
static inline int64_t target_price(struct state *s, uint32_t class)
{
    struct targets *t = s->targets;
    if (class >= t->prices_n || t->priced_seq != s->nodes.labels_seq)
        target_prices_find(s);
    return t->prices[class];
}


static inline struct target_row target_row_of(struct state *s, uint32_t class, int64_t cpu_free)
{
    const struct targets *t = s->targets;
    uint32_t low = 0;
    if (class >= t->rows_cap)
        target_rows_fill(s);
    if (cpu_free >= 0) {
        uint64_t step = (uint64_t)cpu_free >> TARGET_CPU_SHIFT;
        low = t->cpu_steps[step < TARGET_CPU_STEPS ? step : TARGET_CPU_STEPS - 1];
    }
    while (low < t->cpus_n && t->cpus[low] <= cpu_free)
        low++;
    const uint32_t *row = &t->rows[((size_t)class * (t->cpus_n + 1) + low) * t->row_n];
    return (struct target_row){row, row + 1, row + 1 + t->levels_n};
}

/* Of what is left of one GPU. */
static inline int64_t target_lost_of(const struct targets *t, const struct target_row *row, uint32_t left)
{
    return (int64_t)left * row->by_level[t->level_of[left]];
}

/* What so many idle ones are of use for to those who ask for several. */
static inline int64_t target_kept_by(const struct target_row *row, uint32_t idle_n)
{
    return (int64_t)idle_n * GPU_WHOLE * row->by_idle[idle_n < TARGET_SEVERAL ? idle_n : TARGET_SEVERAL];
}

static inline int64_t target_lost(const struct targets *t, const struct target_row *row, const struct node_gpus *g)
{
    int64_t lost = (int64_t)g->all * *row->all;
    uint32_t idle_n = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        lost += target_lost_of(t, row, g->left[i]);
        idle_n += g->left[i] == GPU_WHOLE;
    }
    return lost - target_kept_by(row, idle_n);
}

/* GPUs that will find no cpu (once), and cpu that will find no GPUs (half, as GPUs that would go with it); `left` of all GPUs. */
static inline int64_t target_stranded(const struct targets *t, int64_t left, int64_t cpu)
{
    int64_t with = t->cpu > 0 ? amount_times(cpu, t->gpu) / t->cpu : left;
    with = with > INT32_MAX ? INT32_MAX : with < -INT32_MAX ? -INT32_MAX : with; /* LIMIT  two million GPUs: nobody has a node like that */
    int64_t gap = left - with;
    return t->weight * (gap > 0 ? gap : -gap / 2);
}

/* Finds F of the node as it stands, of the devices that g tells of and `of` names (node_gpus_of), in thousandths of a GPU times the
 * weight: known->lost; and known->no_use. */
static inline void target_measure(struct state *s, uint32_t node, struct target_node *known, const struct node_gpus *g, int32_t of,
                                  int64_t cpu)
{
    if (known->has_lost && known->lost_of == of && known->touched == s->nodes.touched[node])
        return;
    struct target_row row = target_row_of(s, known->class, cpu);
    known->lost = target_lost(s->targets, &row, g);
    known->no_use = known->lost + target_stranded(s->targets, g->all, cpu);
    known->lost_of = of;
    known->touched = s->nodes.touched[node];
    known->has_lost = true;
}

#endif
