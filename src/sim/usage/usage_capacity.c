/* usage_capacity.c - see usage_capacity.h */
#include "sim/usage/usage_capacity.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "sim/usage/usage_sim_part.h"

struct usage_node {
    uint32_t gpus_n;
    int64_t since_ms; /* what was before is in `sums` */
    char model[64];
};
struct usage_capacity_book {
    double speed;
    struct map *nodes; /* by name: struct usage_node */
    struct map *sums;  /* "NODE/MODEL" -> double, not written yet; names of nodes have no slash */
};

struct usage_capacity_book *usage_capacity_book_new(double speed)
{
    struct usage_capacity_book *b = mem_zero(1, sizeof *b);
    *b = (struct usage_capacity_book){speed, map_new(sizeof(struct usage_node)), map_new(sizeof(double))};
    return b;
}

void usage_capacity_book_free(struct usage_capacity_book *b)
{
    if (!b)
        return;
    map_free(b->nodes);
    map_free(b->sums);
    free(b);
}

uint32_t usage_capacity_book_nodes_n(const struct usage_capacity_book *b)
{
    return (uint32_t)map_count(b->nodes);
}

static void settle(struct usage_capacity_book *b, struct bytes name, struct usage_node *n, int64_t now_ms)
{
    double gpu_s = (double)(now_ms - n->since_ms) / 1000 * b->speed * n->gpus_n;
    n->since_ms = now_ms;
    if (!(gpu_s > 0))
        return;
    _cleanup_buf_ struct buf key = {0};
    buf_bytes(&key, name);
    buf_printf(&key, "/%s", n->model);
    *(double *)map_put(b->sums, buf_view(&key), NULL) += gpu_s;
}

void usage_capacity_book_node(struct usage_capacity_book *b, const char *name, const struct json *node, int64_t now_ms)
{
    struct usage_node *n = map_find_text(b->nodes, name), is = {.since_ms = now_ms};
    is.gpus_n = node ? usage_gpus_read(node, is.model) : 0;
    if (n)
        settle(b, bytes_of(name), n, now_ms);
    if (is.gpus_n)
        *(struct usage_node *)map_put(b->nodes, bytes_of(name), NULL) = is;
    else if (n)
        (void)map_remove(b->nodes, bytes_of(name));
}

int usage_capacity_book_write(struct usage_capacity_book *b, struct usage_store *store, int64_t now_ms, double wall_s, struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    size_t at = 0;
    struct bytes key;
    for (struct usage_node *n; (n = map_next(b->nodes, &at, &key));)
        settle(b, key, n, now_ms);
    struct usage_capacity *rows = arena_zero(a, map_count(b->sums) + 1, sizeof *rows);
    uint32_t rows_n = 0;
    at = 0;
    for (const double *gpu_s; (gpu_s = map_next(b->sums, &at, &key)); rows_n++) {
        char *node = arena_text_n(a, key.data, key.n), *model = strchr(node, '/');
        *model++ = '\0';
        rows[rows_n] = (struct usage_capacity){node, model, *gpu_s};
    }
    int r = usage_put_capacity(store, rows, rows_n, wall_s, e);
    if (r == 0)
        map_clear(b->sums);
    return r;
}
