#include "core/score/stranding.h"
#include "core/score/target.h"

#define BUCKET 40 /* as wide as that of FGD near 0 */
#define MIDDLE (1 << 29)

/* GPUs that will find no cpu (once), and cpu that will find no GPUs (half, as GPUs that would go with it); `left` of all GPUs. */
static int64_t stranded(const struct targets *t, int64_t left, int64_t cpu)
{
    int64_t gap = left - (t->cpu > 0 ? cpu * t->gpu / t->cpu : left);
    return t->weight * (gap > 0 ? gap : -gap / 2);
}

/* What of the node is of no use as it stands, of the devices that g tells of: thousandths of a GPU times the weight of the targets. */
static int64_t useless_now(struct state *s, uint32_t node, struct target_node *known, const struct node_gpus *g, int32_t of, int64_t cpu)
{
    if (known->has_lost && known->lost_of == of && known->touched == s->nodes.touched[node])
        return known->lost;
    struct target_row row = target_row_of(s, known->class, cpu);
    known->lost = target_lost(s->targets, &row, g) + stranded(s->targets, g->all, cpu);
    known->lost_of = of;
    known->touched = s->nodes.touched[node];
    known->has_lost = true;
    return known->lost;
}

/* What of its GPUs will be of no use where a part of the best one is taken. */
static int64_t lost_by_part(const struct targets *t, const struct target_row *row, const struct node_gpus *g, uint32_t each,
                            uint32_t *ret_gpu)
{
    int64_t best = INT64_MAX, idle_n = 0, all = (int64_t)(g->all - each) * *row->all;
    uint32_t last = UINT32_MAX;
    for (uint32_t i = 0; i < g->n; i++) {
        all += (int64_t)g->left[i] * row->by_level[t->level_of[g->left[i]]];
        idle_n += g->left[i] == GPU_WHOLE;
    }
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t left = g->left[i];
        if (left < each || left == last)
            continue;
        last = left;
        int64_t lost = all - (int64_t)left * row->by_level[t->level_of[left]];
        lost += (int64_t)(left - each) * row->by_level[t->level_of[left - each]];
        int64_t idle_left = idle_n - (left == GPU_WHOLE);
        lost -= idle_left * GPU_WHOLE * row->by_idle[idle_left < TARGET_SEVERAL ? idle_left : TARGET_SEVERAL];
        if (lost < best) {
            best = lost;
            *ret_gpu = i;
        }
    }
    return best;
}

uint32_t score_capstan(struct state *s, const struct shape_class *c, uint32_t node, uint32_t *ret_gpu)
{
    const struct targets *t = s->targets;
    struct gpu_ask ask = gpu_ask_of(s, c);
    struct node_gpus g;
    int64_t after;
    *ret_gpu = 0;
    if (!t)
        return 1;
    int64_t cpu = s->column_cpu < 0 ? 0 : node_free(&s->nodes, node)[s->column_cpu];
    struct target_node *known = target_node_of(s, node);
    int32_t of = node_gpus_of(s, c, node, &g);
    int64_t before = useless_now(s, node, known, &g, of, cpu);
    struct target_row row = target_row_of(s, known->class, cpu - ask.cpu);
    if (gpu_ask_is_part(&ask)) {
        after = lost_by_part(t, &row, &g, ask.each, ret_gpu) + stranded(t, (int64_t)g.all - ask.each, cpu - ask.cpu);
    } else {
        node_gpus_take(&g, &ask);
        after = target_lost(t, &row, &g) + stranded(t, g.all, cpu - ask.cpu);
    }
    int64_t scarce = (int64_t)ask.n * ask.each * (target_price(s, known->class) - 1000) / 1000;
    int64_t gain = before - after - t->weight * scarce, bucket = BUCKET * t->weight;
    int64_t score = MIDDLE + gain / bucket - (gain % bucket < 0);
    return score < 1 ? 1 : score > 2 * MIDDLE ? 2u * MIDDLE : (uint32_t)score;
}
