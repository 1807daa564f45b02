#include "core/score/stranding.h"
#include "core/score/target.h"

#define BUCKET 40
#define MIDDLE (1 << 29)

/* What of a node is of no use, in thousandths of a GPU times the weight of the targets: GPUs by fragmentation, GPUs that will find no cpu
 * (once), and cpu that will find no GPUs (half, as GPUs that would go with it). */
static int64_t useless(const struct targets *t, const struct target_row *row, const struct node_gpus *g, int64_t cpu)
{
    int64_t lost = target_lost(t, row, g), sold = t->cpu > 0 ? cpu * t->gpu / t->cpu : g->all, gap = (int64_t)g->all - sold;
    return lost + t->weight * (gap > 0 ? gap : -gap / 2);
}

uint32_t score_capstan(struct state *s, const struct shape_class *c, uint32_t node, uint32_t *ret_gpu)
{
    const struct targets *t = s->targets;
    struct gpu_ask ask = gpu_ask_of(s, c);
    struct node_gpus g;
    *ret_gpu = 0;
    if (!t)
        return 1;
    int64_t cpu = s->column_cpu < 0 ? 0 : node_free(&s->nodes, node)[s->column_cpu], best = INT64_MAX;
    node_gpus_of(s, c, node, &g);
    struct target_row row = target_row_of(s, node, cpu);
    int64_t before = useless(t, &row, &g, cpu);
    cpu -= ask.cpu;
    row = target_row_of(s, node, cpu);
    if (!gpu_ask_is_part(&ask)) {
        node_gpus_take(&g, &ask);
        best = useless(t, &row, &g, cpu);
    } else {
        g.all -= ask.each;
        for (uint32_t i = 0; i < g.n; i++) {
            if (g.left[i] < ask.each)
                continue;
            g.left[i] -= ask.each;
            int64_t after = useless(t, &row, &g, cpu);
            g.left[i] += ask.each;
            if (after < best) {
                best = after;
                *ret_gpu = i;
            }
        }
    }
    int64_t gain = before - best, bucket = BUCKET * t->weight;
    int64_t score = MIDDLE + gain / bucket - (gain % bucket < 0);
    return score < 1 ? 1 : score > 2 * MIDDLE ? 2u * MIDDLE : (uint32_t)score;
}
