#include "core/score/published.h"
#include "core/score/binary64.h"

/* The largest node of those that these were published for. */
#define CPU_MOST 128000
#define GPU_MOST 8000

static binary64 share(int64_t n, int64_t of)
{
    return b64_over(b64_of(n), b64_of(of));
}

int64_t score_bestfit(struct state *s, const struct shape_class *c, uint32_t node)
{
    struct gpu_ask ask = gpu_ask_of(s, c);
    struct node_gpus g;
    node_gpus_of(s, c, node, &g);
    int64_t cpu = s->column_cpu < 0 ? 0 : node_free(&s->nodes, node)[s->column_cpu];
    const binary64 half = share(1, 2);
    binary64 v = b64_times(share(cpu - ask.cpu, CPU_MOST), half);
    v = b64_plus(v, b64_times(share((int64_t)g.all - (int64_t)ask.each * ask.n, GPU_MOST), half));
    return b64_whole(b64_times(b64_minus(b64_of(1), v), b64_of(100)));
}

int64_t score_dotproduct(struct state *s, const struct shape_class *c, uint32_t node)
{
    struct gpu_ask ask = gpu_ask_of(s, c);
    struct node_gpus g;
    node_gpus_of(s, c, node, &g);
    int64_t cpu = s->column_cpu < 0 ? 0 : node_free(&s->nodes, node)[s->column_cpu];
    binary64 v = b64_plus(b64_times(share(cpu, CPU_MOST), share(ask.cpu, CPU_MOST)),
                          b64_times(share(g.all, GPU_MOST), share((int64_t)ask.each * ask.n, GPU_MOST)));
    return b64_whole(b64_times(b64_of(100), b64_minus(b64_of(1), b64_over(v, b64_of(2)))));
}

/* Those that have the least left first, in place; few of them. */
static void sort_gpus(struct node_gpus *g)
{
    uint16_t *own = node_gpus_own(g);
    for (uint32_t i = 1; i < g->n; i++) {
        uint16_t left = own[i];
        uint32_t at = i;
        for (; at && own[at - 1] > left; at--)
            own[at] = own[at - 1];
        own[at] = left;
    }
}

int64_t score_packing(struct state *s, const struct shape_class *c, uint32_t node)
{
    struct gpu_ask ask = gpu_ask_of(s, c);
    struct node_gpus g;
    int64_t idle_n = 0, opened_n = 0, left_percent = 0;
    node_gpus_of(s, c, node, &g);
    if (!ask.n)
        return 0;
    for (uint32_t i = 0; i < g.n; i++)
        idle_n += g.left[i] == GPU_WHOLE;
    if (idle_n == g.n)
        return 33 - idle_n > idle_n ? 33 - idle_n : idle_n;
    sort_gpus(&g);
    for (uint32_t i = 0, wanted = ask.n; i < g.n && wanted; i++) {
        if (g.left[i] < ask.each)
            continue;
        wanted--;
        opened_n += g.left[i] == GPU_WHOLE;
        left_percent += (int64_t)g.left[i] * 100 / GPU_WHOLE;
    }
    if (opened_n)
        return 50 - opened_n > 33 ? 50 - opened_n : 33;
    return 100 - left_percent / 10 > 50 ? 100 - left_percent / 10 : 50;
}

/* Pods of one class: those that ask for a part of a GPU, for one, for two, ... */
static uint32_t class_of(const struct gpu_ask *ask)
{
    return gpu_ask_is_part(ask) ? 0 : ask->n;
}

int64_t score_clustering(struct state *s, const struct shape_class *c, uint32_t node)
{
    struct gpu_ask ask = gpu_ask_of(s, c);
    struct node_gpus g;
    bool same = false, others = false;
    node_gpus_of(s, c, node, &g);
    if (!ask.n)
        return 0;
    for (uint32_t at = s->nodes.nodes[node].first_seat; at; at = s->seats[at].next) {
        struct gpu_ask has = gpu_ask_of(s, &s->shapes.classes[s->seats[at].shape]);
        same |= has.n && class_of(&has) == class_of(&ask);
        others |= has.n && class_of(&has) != class_of(&ask);
    }
    int64_t filled = (int64_t)GPU_MOST - g.all > 0 ? 25 * ((int64_t)GPU_MOST - g.all) / GPU_MOST : 0;
    return filled + (same ? others ? 50 : 75 : others ? 0 : 25);
}
