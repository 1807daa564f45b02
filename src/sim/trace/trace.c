#include "sim/trace/trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/collections/map.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/random.h"
#include "sim/trace/csv.h"

#define CPU_MOST 1000000000 /* a million cores */
#define MIB_MOST 1000000000 /* a petabyte */
#define GPUS_MOST 64        /* of a node, and of a pod */

void trace_fini(struct trace *t)
{
    arena_free(t->arena);
    free(t->models);
    free(t->nodes);
    free(t->kinds);
    free(t->pods);
    free(t->arrivals);
    *t = (struct trace){0};
}

/* ---- nodes ---- */

enum { NODE_NAME, NODE_CPU, NODE_MEMORY, NODE_GPUS, NODE_MODEL };
static const char *const node_columns[] = {"sn", "cpu_milli", "memory_mib", "gpu", "model", NULL};

/* Its place + 1; 0: it is none of those known. */
static uint32_t model_find(const struct trace *t, struct bytes name)
{
    for (uint32_t i = 0; i < t->models_n; i++)
        if (bytes_is(name, t->models[i]))
            return i + 1;
    return 0;
}

static int read_model(struct trace *t, struct csv *c, struct bytes name, uint32_t *ret_model, struct err *e)
{
    *ret_model = name.n ? model_find(t, name) : 0;
    if (*ret_model || !name.n)
        return 0;
    if (t->models_n == LIMIT_TRACE_MODELS)
        return csv_wrong(c, NODE_MODEL, e, "more than %d models", LIMIT_TRACE_MODELS);
    if (memchr(name.data, '|', name.n))
        return csv_wrong(c, NODE_MODEL, e, "a model's name holds no |");
    MEM_RESERVE(t->models, t->models_cap, t->models_n + 1);
    t->models[t->models_n++] = arena_text_n(t->arena, name.data, name.n);
    *ret_model = t->models_n;
    return 0;
}

static int read_node(struct trace *t, struct csv *c, const struct bytes *cells, struct map *names, struct err *e)
{
    struct trace_node n = {0};
    int64_t gpus_n;
    bool is_new;
    int r = csv_number(c, NODE_CPU, cells[NODE_CPU], CPU_MOST, &n.cpu_milli, e);
    r = r < 0 ? r : csv_number(c, NODE_MEMORY, cells[NODE_MEMORY], MIB_MOST, &n.memory_mib, e);
    r = r < 0 ? r : csv_number(c, NODE_GPUS, cells[NODE_GPUS], GPUS_MOST, &gpus_n, e);
    r = r < 0 ? r : read_model(t, c, cells[NODE_MODEL], &n.model, e);
    if (r < 0)
        return r;
    if (!cells[NODE_NAME].n || cells[NODE_NAME].n > LIMIT_NAME)
        return csv_wrong(c, NODE_NAME, e, "want a name of 1 to %d bytes", LIMIT_NAME);
    (void)map_put(names, cells[NODE_NAME], &is_new);
    if (!is_new)
        return csv_wrong(c, NODE_NAME, e, "\"%.*s\" is another node's name already", (int)cells[NODE_NAME].n, cells[NODE_NAME].data);
    if (t->nodes_n == LIMIT_TRACE_NODES)
        return csv_wrong(c, NODE_NAME, e, "more than %d nodes", LIMIT_TRACE_NODES);
    n.name = arena_text_n(t->arena, cells[NODE_NAME].data, cells[NODE_NAME].n);
    n.gpus_n = (uint32_t)gpus_n;
    n.rank = t->nodes_n;
    t->gpu_milli += 1000 * gpus_n;
    MEM_RESERVE(t->nodes, t->nodes_cap, t->nodes_n + 1);
    t->nodes[t->nodes_n++] = n;
    return 0;
}

static int load_nodes(struct trace *t, const char *path, struct err *e)
{
    struct csv *c;
    struct bytes cells[CSV_ASKED_MAX];
    int r = csv_open(path, node_columns, &c, e);
    if (r < 0)
        return r;
    struct map *names = map_new(1);
    while ((r = csv_next(c, cells, e)) > 0 && (r = read_node(t, c, cells, names, e)) >= 0)
        ;
    map_free(names);
    csv_close(c);
    return r < 0 ? r : t->gpu_milli ? 0 : err_set(e, E_INVALID, "%s: no node has a GPU", path);
}

/* ---- pods ---- */

enum { POD_CPU, POD_MEMORY, POD_GPUS, POD_MILLI, POD_SPEC };
static const char *const pod_columns[] = {"cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "?gpu_spec", NULL};

static int read_spec(const struct trace *t, struct csv *c, struct bytes spec, uint64_t *ret_models, struct err *e)
{
    *ret_models = 0;
    for (size_t at = 0, end; at < spec.n; at = end + 1) {
        for (end = at; end < spec.n && spec.data[end] != '|'; end++)
            ;
        struct bytes name = {spec.data + at, end - at};
        uint32_t model = name.n ? model_find(t, name) : 0;
        if (name.n && !model)
            return csv_wrong(c, POD_SPEC, e, "\"%.*s\": no node has such a GPU", name.n < 80 ? (int)name.n : 80, name.data);
        *ret_models |= model ? (uint64_t)1 << (model - 1) : 0;
    }
    return 0;
}

static int read_pod(struct trace *t, struct csv *c, const struct bytes *cells, struct map *kinds, struct err *e)
{
    struct trace_kind k = {0};
    int64_t gpus_n, milli = 0;
    bool is_new;
    int r = csv_number(c, POD_CPU, cells[POD_CPU], CPU_MOST, &k.cpu_milli, e);
    r = r < 0 ? r : csv_number(c, POD_MEMORY, cells[POD_MEMORY], MIB_MOST, &k.memory_mib, e);
    r = r < 0 ? r : csv_number(c, POD_GPUS, cells[POD_GPUS], GPUS_MOST, &gpus_n, e);
    r = r < 0 || !gpus_n ? r : csv_number(c, POD_MILLI, cells[POD_MILLI], 1000, &milli, e);
    r = r < 0 ? r : read_spec(t, c, cells[POD_SPEC], &k.models, e);
    if (r < 0)
        return r;
    if (gpus_n && !milli)
        return csv_wrong(c, POD_MILLI, e, "0 of a GPU: want 1 to 1000");
    if (gpus_n > 1 && milli < 1000)
        return csv_wrong(c, POD_MILLI, e, "%lld of each of %lld GPUs: parts are taken of one GPU, more of them whole (1000)",
                         (long long)milli, (long long)gpus_n);
    k.gpus_n = (uint32_t)gpus_n;
    k.gpu_milli = (uint32_t)milli;
    char key[128 + LIMIT_NAME];
    if (cells[POD_SPEC].n > LIMIT_NAME)
        return csv_wrong(c, POD_SPEC, e, "longer than %d bytes", LIMIT_NAME);
    int n = snprintf(key, sizeof key, "%lld %lld %u %u %.*s", (long long)k.cpu_milli, (long long)k.memory_mib, k.gpus_n, k.gpu_milli,
                     (int)cells[POD_SPEC].n, cells[POD_SPEC].data);
    uint32_t *at = map_put(kinds, (struct bytes){key, (size_t)n}, &is_new);
    if (is_new) {
        if (t->kinds_n == LIMIT_TRACE_KINDS)
            return csv_wrong(c, POD_CPU, e, "pods ask for more than %d different things", LIMIT_TRACE_KINDS);
        k.spec = arena_text_n(t->arena, cells[POD_SPEC].data, cells[POD_SPEC].n);
        *at = t->kinds_n;
        MEM_RESERVE(t->kinds, t->kinds_cap, t->kinds_n + 1);
        t->kinds[t->kinds_n++] = k;
    }
    if (t->pods_n == LIMIT_TRACE_PODS)
        return csv_wrong(c, POD_CPU, e, "more than %d pods", LIMIT_TRACE_PODS);
    MEM_RESERVE(t->pods, t->pods_cap, t->pods_n + 1);
    t->pods[t->pods_n++] = *at;
    t->kinds[*at].count++;
    return 0;
}

static int load_pods(struct trace *t, const char *path, struct err *e)
{
    struct csv *c;
    struct bytes cells[CSV_ASKED_MAX];
    int r = csv_open(path, pod_columns, &c, e);
    if (r < 0)
        return r;
    struct map *kinds = map_new(sizeof(uint32_t));
    while ((r = csv_next(c, cells, e)) > 0 && (r = read_pod(t, c, cells, kinds, e)) >= 0)
        ;
    map_free(kinds);
    csv_close(c);
    return r < 0 ? r : t->pods_n ? 0 : err_set(e, E_INVALID, "%s: no pods", path);
}

int trace_load(struct trace *t, const char *nodes_path, const char *pods_path, struct err *e)
{
    *t = (struct trace){.arena = arena_new()};
    int r = load_nodes(t, nodes_path, e);
    r = r < 0 ? r : load_pods(t, pods_path, e);
    if (r < 0)
        trace_fini(t);
    return r;
}

/* ---- order ---- */

static int compare_nodes(const void *left, const void *right)
{
    const struct trace_node *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void sort_nodes(struct trace *t)
{
    qsort(t->nodes, t->nodes_n, sizeof *t->nodes, compare_nodes);
    for (uint32_t i = 0; i < t->nodes_n; i++)
        t->nodes[i].rank = i;
}

static const char *const no_columns[] = {NULL};

/* Nodes without a rank take no part. */
static int read_ranks(struct trace *t, const char *path, struct err *e)
{
    struct csv *c;
    struct bytes line;
    bool is_new;
    int r = csv_open(path, no_columns, &c, e);
    if (r < 0)
        return r;
    struct map *ranks = map_new(sizeof(int64_t));
    while ((r = csv_line(c, &line, e)) > 0) {
        const char *space = line.n ? memchr(line.data, ' ', line.n) : NULL;
        struct bytes name = {line.data, space ? (size_t)(space - line.data) : 0};
        int64_t rank;
        if (!space) {
            r = csv_wrong(c, 0, e, "want a node's name, a space and its rank");
            break;
        }
        r = csv_number(c, 0, (struct bytes){space + 1, line.n - name.n - 1}, UINT32_MAX, &rank, e);
        if (r < 0)
            break;
        *(int64_t *)map_put(ranks, name, &is_new) = rank;
        if (!is_new || map_count(ranks) > LIMIT_TRACE_NODES) {
            r = csv_wrong(c, 0, e, is_new ? "more nodes than there may be" : "a node's name for the second time");
            break;
        }
    }
    uint32_t kept_n = 0;
    for (uint32_t i = 0; i < t->nodes_n && r >= 0; i++) {
        const int64_t *rank = map_find_text(ranks, t->nodes[i].name);
        if (!rank) {
            t->gpu_milli -= 1000 * (int64_t)t->nodes[i].gpus_n;
            continue;
        }
        t->nodes[kept_n] = t->nodes[i];
        t->nodes[kept_n++].rank = (uint32_t)*rank;
    }
    if (r >= 0 && kept_n != map_count(ranks))
        r = err_set(e, E_INVALID, "%s: names %zu nodes, of which %u are among the nodes", path, map_count(ranks), kept_n);
    t->nodes_n = kept_n;
    map_free(ranks);
    csv_close(c);
    return r < 0 ? r : t->gpu_milli ? 0 : err_set(e, E_INVALID, "%s: no node that it names has a GPU", path);
}

static int read_arrivals(struct trace *t, const char *path, struct err *e)
{
    struct csv *c;
    struct bytes line;
    int r = csv_open(path, no_columns, &c, e);
    if (r < 0)
        return r;
    while ((r = csv_line(c, &line, e)) > 0) {
        int64_t row;
        if ((r = csv_number(c, 0, line, (int64_t)t->pods_n - 1, &row, e)) < 0)
            break;
        if (t->arrivals_n == LIMIT_TRACE_PODS) {
            r = csv_wrong(c, 0, e, "more than %d pods", LIMIT_TRACE_PODS);
            break;
        }
        MEM_RESERVE(t->arrivals, t->arrivals_cap, t->arrivals_n + 1);
        t->arrivals[t->arrivals_n++] = (uint32_t)row;
    }
    csv_close(c);
    return r < 0 ? r : t->arrivals_n ? 0 : err_set(e, E_INVALID, "%s: no pods", path);
}

int trace_order(struct trace *t, const char *prefix, struct err *e)
{
    size_t n = strlen(prefix);
    n -= n > 5 && text_ends(prefix, ".pods") ? 5 : 0;
    const char *nodes = arena_printf(t->arena, "%.*s.nodes", (int)n, prefix);
    int r = access(nodes, F_OK) == 0 ? read_ranks(t, nodes, e) : 0;
    if (r < 0)
        return r;
    sort_nodes(t);
    return read_arrivals(t, arena_printf(t->arena, "%.*s.pods", (int)n, prefix), e);
}

static void add_arrival(struct trace *t, uint32_t row)
{
    MEM_RESERVE(t->arrivals, t->arrivals_cap, t->arrivals_n + 1);
    t->arrivals[t->arrivals_n++] = row;
}

void trace_draw(struct trace *t, uint64_t seed, int64_t per_mille)
{
    struct random random = {seed};
    int64_t asked = 0, most = t->gpu_milli / 1000 * per_mille;
    for (uint32_t i = 0; i < t->pods_n; i++) {
        add_arrival(t, i);
        asked += (int64_t)t->kinds[t->pods[i]].gpus_n * t->kinds[t->pods[i]].gpu_milli;
    }
    for (uint32_t i = t->pods_n; i > 1; i--) {
        uint32_t k = (uint32_t)random_below(&random, i), swap = t->arrivals[i - 1];
        t->arrivals[i - 1] = t->arrivals[k];
        t->arrivals[k] = swap;
    }
    while (asked && t->arrivals_n < LIMIT_TRACE_PODS) {
        uint32_t row = (uint32_t)random_below(&random, t->pods_n);
        const struct trace_kind *k = &t->kinds[t->pods[row]];
        asked += (int64_t)k->gpus_n * k->gpu_milli;
        if (asked > most)
            break;
        add_arrival(t, row);
    }
    for (uint32_t i = t->nodes_n; i > 1; i--) {
        uint32_t k = (uint32_t)random_below(&random, i), swap = t->nodes[i - 1].rank;
        t->nodes[i - 1].rank = t->nodes[k].rank;
        t->nodes[k].rank = swap;
    }
    sort_nodes(t);
}
