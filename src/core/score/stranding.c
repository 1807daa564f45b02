#include "core/score/stranding.h"
#include "core/score/target.h"

#define BUCKET 20        /* half as wide as that of FGD near 0 */
#define MIDDLE (1 << 20) /* of the buckets; those that are further from it are as the last */

struct choice {
    uint32_t taken;      /* thousandths */
    uint32_t gpu;        /* of which a part is taken */
    bool opens;          /* whole ones: one more like it would fit after it; a part: an idle one is broken. Worse, among equal nodes */
};

/* What of its GPUs will be of no use once whole ones are taken: of those that are counted, which make no difference here. */
static int64_t lost_by_whole(const struct targets *t, const struct target_row *row, const struct node_gpus *g, const struct gpu_ask *ask,
                             struct choice *ret)
{
    int64_t of_each = 0;
    uint32_t idle_n = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        of_each += target_lost_of(t, row, g->left[i]);
        idle_n += g->left[i] == GPU_WHOLE;
    }
    uint32_t n = ask->each < GPU_WHOLE ? 0 : ask->n < idle_n ? ask->n : idle_n;
    *ret = (struct choice){.taken = n * GPU_WHOLE, .opens = idle_n - n >= ask->n};
    return (int64_t)(g->all - ret->taken) * *row->all + of_each - n * target_lost_of(t, row, GPU_WHOLE) - target_kept_by(row, idle_n - n);
}

/* The same where a part of one is taken: of the GPU that costs least, the first of several. */
static int64_t lost_by_part(const struct targets *t, const struct target_row *row, const struct node_gpus *g, uint32_t each,
                            struct choice *ret)
{
    int64_t of_each = (int64_t)(g->all - each) * *row->all, part_more = INT64_MAX;
    uint32_t idle_n = 0, part_at = 0, idle_at = 0, last = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t left = g->left[i];
        if (left == GPU_WHOLE) {
            idle_at = idle_n++ ? idle_at : i;
            continue;
        }
        int64_t lost = target_lost_of(t, row, left);
        of_each += lost;
        if (left < each || left == last)
            continue;
        last = left;
        int64_t more = target_lost_of(t, row, left - each) - lost;
        part_at = more < part_more ? i : part_at;
        part_more = more < part_more ? more : part_more;
    }
    int64_t idle = target_lost_of(t, row, GPU_WHOLE);
    of_each += idle_n * idle;
    int64_t by_part = part_more == INT64_MAX ? INT64_MAX : of_each + part_more - target_kept_by(row, idle_n);
    int64_t by_idle = !idle_n ? INT64_MAX : of_each + target_lost_of(t, row, GPU_WHOLE - each) - idle - target_kept_by(row, idle_n - 1);
    bool breaks_one = by_idle < by_part || (by_idle == by_part && idle_at < part_at);
    *ret = (struct choice){.taken = each, .gpu = breaks_one ? idle_at : part_at, .opens = breaks_one};
    return breaks_one ? by_idle : by_part;
}

/* Thousandths of a GPU that others want of what is taken. WHY of a part: an idle GPU that is broken is lost to all who ask for whole ones;
 * what is left of a broken one is wanted only by those who ask for parts. */
static int64_t wanted(const struct gpu_ask *ask, const struct choice *choice)
{
    if (!gpu_ask_is_part(ask))
        return (int64_t)ask->n * ask->each;
    return choice->opens ? GPU_WHOLE : ask->each / 2;
}

uint32_t score_capstan(struct state *s, const struct shape_class *c, const struct gpu_ask *ask, uint32_t node, uint32_t *ret_gpu)
{
    const struct targets *t = s->targets;
    struct node_gpus g;
    struct choice choice;
    int64_t cpu = s->column_cpu < 0 ? 0 : node_free(&s->nodes, node)[s->column_cpu], after;
    struct target_node *known = target_node_of(s, node);
    int32_t of = node_gpus_of(s, c, node, &g);
    target_measure(s, node, known, &g, of, cpu);
    struct target_row row = target_row_of(s, known->class, cpu - ask->cpu);
    if (gpu_ask_is_part(ask))
        after = lost_by_part(t, &row, &g, ask->each, &choice);
    else
        after = lost_by_whole(t, &row, &g, ask, &choice);
    after += target_stranded(t, (int64_t)g.all - choice.taken, cpu - ask->cpu);
    int64_t scarce = wanted(ask, &choice) * (target_price(s, known->class) - 1000) / 1000;
    int64_t gain = known->no_use - after - t->weight * scarce, bucket = BUCKET * t->weight;
    int64_t at = MIDDLE + gain / bucket - (gain % bucket < 0);
    at = at < 0 ? 0 : at < 2 * MIDDLE ? at : 2 * MIDDLE - 1;
    *ret_gpu = choice.gpu;
    uint32_t worse = (g.all == g.n * GPU_WHOLE) * 2 + choice.opens; /* idle nodes last */
    return (uint32_t)at * 4 + 4 - worse;
}
