#include "core/place/score.h"

static uint32_t capped(int64_t value, uint32_t most)
{
    return value < 0 ? 0 : value > most ? most : (uint32_t)value;
}

/* What would be left of a column after the pod, in 1/1023 of what the node has. */
static uint32_t left_share(const struct state *s, uint32_t node, int32_t column, int64_t value)
{
    int64_t have = node_allocatable(&s->nodes, node)[column], left = node_free(&s->nodes, node)[column] - value;
    if (have <= 0 || left <= 0)
        return 0;
    if (have > INT64_MAX / 1024) /* absurd amounts must not overflow */
        return capped(left / (have / 1023), 1023);
    return (uint32_t)(left * 1023 / have);
}

static int64_t asked(const struct shape_class *c, int32_t column)
{
    for (uint32_t i = 0; i < c->demands_n; i++)
        if (c->demands[i].column == column)
            return c->demands[i].value;
    return 0;
}

/* Does the node have devices while the pod asks for none? Columns after pods, cpu and memory that are extended resources count. */
static bool wastes_devices(const struct state *s, const struct shape_class *c, uint32_t node)
{
    if (c->device_demand >= 0)
        return false;
    const int64_t *have = node_allocatable(&s->nodes, node);
    for (uint32_t i = 0; i < s->device_columns_n; i++)
        if (have[s->device_columns[i]] > 0)
            return true;
    return false;
}

uint32_t score_node(const struct state *s, const struct shape_class *c, uint32_t node)
{
    uint32_t devices = 0;
    if (c->device_demand >= 0) {
        const struct demand *d = &c->demands[c->device_demand];
        devices = capped(node_free(&s->nodes, node)[d->column] - d->value, 1023);
    }
    uint32_t cpu = left_share(s, node, s->column_cpu, asked(c, s->column_cpu));
    uint32_t memory = left_share(s, node, s->column_memory, asked(c, s->column_memory));
    uint32_t left = devices << 20 | cpu << 10 | memory;
    uint32_t best = s->spread ? left : (1u << 30) - 1 - left;
    return (wastes_devices(s, c, node) ? 0 : 1u << 30) + best + 1;
}
