#include "core/score/twins.h"
#include "base/memory.h"

/* Texts of nodes that have gone, or were others, are kept until there are twice as many as nodes. */
enum { TEXTS_SPARE = 1024 };

static void add_number(struct buf *text, uint64_t n)
{
    buf_bytes(text, (struct bytes){(const char *)&n, sizeof n});
}

static uint64_t first_of_unit(const struct device_table *t, uint32_t device)
{
    const struct device *one = &t->all[device];
    uint32_t first = device;
    while (first && one->unit && t->all[first - 1].unit == one->unit && t->all[first - 1].resource == one->resource)
        first--;
    return first;
}

/* Columns without any at the end are left out: others may come. */
static void write_text(struct buf *text, const struct state *s, uint32_t node)
{
    const struct device_table *t = &s->nodes.nodes[node].devices;
    const int64_t *have = node_allocatable(&s->nodes, node);
    uint32_t columns_n = s->nodes.columns_n;
    buf_clear(text);
    while (columns_n && !have[columns_n - 1])
        columns_n--;
    add_number(text, columns_n);
    for (uint32_t i = 0; i < columns_n; i++)
        add_number(text, (uint64_t)have[i]);
    for (uint32_t i = 0; i < t->n; i++) {
        const struct device *d = &t->all[i];
        add_number(text, (uint64_t)d->resource << 32 | d->memory_mib);
        add_number(text, (uint64_t)d->gpu << 48 | (uint64_t)d->link_group << 32 | (uint64_t)d->parts << 1 | d->healthy);
        add_number(text, first_of_unit(t, i));
    }
}

static void number(struct state *s, uint32_t node)
{
    bool is_new;
    write_text(&s->text, s, node);
    uint32_t *id = map_put(s->twins, buf_view(&s->text), &is_new);
    if (is_new)
        *id = ++s->twins_n;
    s->nodes.nodes[node].twins = *id;
    s->nodes.idle_twins[node] = TWINS_UNKNOWN;
}

uint32_t twins_look(const struct state *s, uint32_t node)
{
    const struct node *n = &s->nodes.nodes[node];
    bool idle = !n->devices.taken_n &&
                memcmp(node_free(&s->nodes, node), node_allocatable(&s->nodes, node), s->nodes.columns_n * sizeof(int64_t)) == 0;
    return s->nodes.idle_twins[node] = idle ? n->twins : 0;
}

void twins_take(struct state *s, uint32_t node)
{
    if (s->twins_n <= 2 * s->nodes.known_n + TEXTS_SPARE) {
        number(s, node);
        return;
    }
    map_clear(s->twins);
    s->twins_n = 0;
    for (uint32_t slot = 1; slot < s->nodes.n; slot++)
        if (s->nodes.flags[slot] & NODE_KNOWN)
            number(s, slot);
}
