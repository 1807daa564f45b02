#include "core/score/gpus.h"

struct gpu_ask gpu_ask_of(const struct state *s, const struct shape_class *c)
{
    struct gpu_ask ask = {0};
    for (uint32_t i = 1; i < c->demands_n; i++) {
        const struct demand *d = &c->demands[i];
        if (d->column == s->column_cpu)
            ask.cpu = d->value;
        else if ((int32_t)i == c->device_demand && !c->share.n)
            ask = (struct gpu_ask){ask.cpu, d->value < NODE_GPUS ? (uint32_t)d->value : NODE_GPUS, GPU_WHOLE};
    }
    if (c->share.n)
        ask = (struct gpu_ask){ask.cpu, c->share.n < NODE_GPUS ? c->share.n : NODE_GPUS,
                               c->share.parts >= GPU_WHOLE ? GPU_WHOLE : c->share.parts ? c->share.parts : 1};
    return ask;
}

int32_t node_gpus_counted(const struct state *s, const struct shape_class *c, uint32_t node, struct node_gpus *ret_gpus)
{
    struct node_gpus *g = ret_gpus;
    int32_t column = c->device_demand >= 0 ? c->demands[c->device_demand].column : -1;
    int64_t have = column < 0 ? 0 : node_allocatable(&s->nodes, node)[column];
    int64_t left = column < 0 ? 0 : node_free(&s->nodes, node)[column];
    for (g->n = g->all = 0; g->n < have && g->n < NODE_GPUS; g->n++)
        g->all += g->own[g->n] = g->n < left ? GPU_WHOLE : 0;
    g->left = g->own;
    return column;
}

uint16_t *node_gpus_own(struct node_gpus *g)
{
    if (g->left != g->own && g->n)
        memcpy(g->own, g->left, g->n * sizeof *g->own);
    g->left = g->own;
    return g->own;
}

void node_gpus_take(struct node_gpus *g, const struct gpu_ask *ask)
{
    uint32_t wanted = ask->n;
    uint16_t *own = wanted ? node_gpus_own(g) : NULL;
    for (uint32_t i = 0; i < g->n && wanted; i++) {
        if (own[i] < ask->each || ask->each < GPU_WHOLE)
            continue;
        own[i] = (uint16_t)(own[i] - ask->each);
        g->all -= ask->each;
        wanted--;
    }
}
