#include "core/state/topology.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/queue/order.h"
#include "core/state/model.h"

/* ---- records ---- */

static void drop_tree(struct topology *t)
{
    free(t->domains);
    free(t->nodes);
    free(t->leaf_of);
    free(t->leaf_names);
    free(t->rooms);
    free(t->lists);
    id_map_fini(&t->leaf_by_name);
    t->leaf_by_name = (struct id_map){0};
    t->domains = NULL;
    t->nodes = t->leaf_of = t->lists = NULL;
    t->leaf_names = NULL;
    t->rooms = NULL;
    t->built = 0;
    t->domains_n = t->slots_n = 0;
}

static void drop_rows(struct topology *t)
{
    id_map_fini(&t->row_of);
    free(t->row_nodes);
    free(t->row_domains);
    t->row_of = (struct id_map){0};
    t->row_nodes = t->row_domains = NULL;
    t->rows_n = 0;
}

void topology_free(struct topology *t)
{
    drop_tree(t);
    drop_rows(t);
    *t = (struct topology){0};
}

uint32_t topology_find(const struct state *s, name_id name)
{
    uint32_t at = name ? id_map_get(&s->topology_by_name, name) : 0;
    return at && s->topologies[at].known ? at : 0;
}

static uint32_t slot_for(struct state *s, name_id name)
{
    uint32_t at = id_map_get(&s->topology_by_name, name);
    for (uint32_t i = 1; i < s->topologies_n && !at; i++)
        at = s->topologies[i].name ? 0 : i;
    if (!at) {
        MEM_RESERVE(s->topologies, s->topologies_cap, s->topologies_n + 1);
        at = s->topologies_n++;
        s->topologies[at] = (struct topology){0};
    }
    s->topologies[at].name = name;
    id_map_put(&s->topology_by_name, name, at);
    return at;
}

/* Queues look at their flavors only. */
static void flavors_changed(struct state *s, name_id topology)
{
    for (uint32_t i = 1; i < s->flavors_n; i++)
        if (s->flavors[i].topology == topology)
            s->flavors[i].changed = s->queues_changed = true;
}

static bool same_rows(const struct topology *t, const struct topology_record *r)
{
    bool same = t->rows_n == r->rows_n && t->has_tiers == (r->tiers != NULL);
    same = same && (!r->tiers || !memcmp(t->tiers, r->tiers, t->levels_n * sizeof *r->tiers));
    for (uint32_t i = 0; i < r->rows_n && same; i++)
        same = t->row_nodes[i] == r->rows[i].node &&
               !memcmp(&t->row_domains[i * t->levels_n], r->rows[i].domains, t->levels_n * sizeof *t->row_domains);
    return same;
}

static void take_rows(struct topology *t, const struct topology_record *r)
{
    drop_rows(t);
    t->has_tiers = r->tiers != NULL;
    if (!r->tiers)
        return;
    t->rows_n = r->rows_n;
    t->row_nodes = mem_alloc((r->rows_n + 1) * sizeof *t->row_nodes);
    t->row_domains = mem_alloc(((size_t)r->rows_n * t->levels_n + 1) * sizeof *t->row_domains);
    for (uint32_t l = 0; l < t->levels_n; l++)
        t->tiers[l] = r->tiers[l];
    for (uint32_t i = 0; i < r->rows_n; i++) {
        t->row_nodes[i] = r->rows[i].node;
        memcpy(&t->row_domains[(size_t)i * t->levels_n], r->rows[i].domains, t->levels_n * sizeof *t->row_domains);
        id_map_put(&t->row_of, r->rows[i].node, i + 1);
    }
}

bool topology_apply(struct state *s, const struct topology_record *r)
{
    uint32_t n = r->levels_n < TOPOLOGY_LEVELS ? r->levels_n : TOPOLOGY_LEVELS;
    if (!n)
        return topology_gone(s, r->name); /* the API refuses that */
    uint32_t at = slot_for(s, r->name); /* ORDER  first: it may move them */
    struct topology *t = &s->topologies[at];
    if (t->known && t->levels_n == n && !memcmp(t->levels, r->levels, n * sizeof *t->levels) && same_rows(t, r))
        return false;
    drop_tree(t);
    t->known = true;
    t->levels_n = n;
    for (uint32_t i = 0; i < n; i++)
        t->levels[i] = r->levels[i];
    take_rows(t, r);
    t->by_node = !t->has_tiers && !strcmp(intern_name(s->names, t->levels[n - 1]), TOPOLOGY_NODE_LABEL);
    flavors_changed(s, r->name);
    return t->has_tiers;
}

bool topology_gone(struct state *s, name_id name)
{
    uint32_t at = topology_find(s, name);
    if (!at)
        return false;
    bool had_tiers = s->topologies[at].has_tiers;
    drop_tree(&s->topologies[at]);
    drop_rows(&s->topologies[at]);
    s->topologies[at].known = s->topologies[at].has_tiers = false;
    flavors_changed(s, name);
    return had_tiers;
}

uint32_t topology_with_tiers(const struct state *s)
{
    uint32_t at = s->topologies_n;
    while (at-- > 1)
        if (s->topologies[at].known && s->topologies[at].has_tiers)
            return at;
    return 0;
}

int32_t topology_level(const struct topology *t, name_id level)
{
    for (uint32_t i = 0; i < t->levels_n; i++)
        if (t->levels[i] == level)
            return (int32_t)i;
    return -1;
}

/* ---- the tree ---- */

/* A node's way down. */
struct way {
    const struct intern *names;
    uint32_t levels_n, slot, rank;
    name_id values[TOPOLOGY_LEVELS];
};

static int compare_ways(const void *left, const void *right)
{
    const struct way *a = left, *b = right;
    for (uint32_t l = 0; l < a->levels_n; l++) {
        int order = a->values[l] == b->values[l] ? 0 : strcmp(intern_name(a->names, a->values[l]), intern_name(a->names, b->values[l]));
        if (order)
            return order;
    }
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static bool find_way(const struct state *s, const struct topology *t, uint32_t slot, struct way *w)
{
    struct label_list labels = node_labels(&s->nodes, slot);
    *w = (struct way){.names = s->names, .levels_n = t->levels_n, .slot = slot, .rank = s->nodes.rank[slot]};
    if (t->has_tiers) {
        uint32_t row = id_map_get(&t->row_of, s->nodes.nodes[slot].name);
        if (row)
            memcpy(w->values, &t->row_domains[(size_t)(row - 1) * t->levels_n], t->levels_n * sizeof *w->values);
        return true;
    }
    for (uint32_t l = 0; l < t->levels_n; l++) {
        for (uint32_t i = 0; i < labels.n && !w->values[l]; i++)
            w->values[l] = labels.all[i].key == t->levels[l] ? labels.all[i].value : 0;
        if (!w->values[l])
            return false;
    }
    return true;
}

static struct way *find_ways(const struct state *s, const struct topology *t, uint32_t *ret_n)
{
    struct way *ways = mem_alloc((s->nodes.n + 1) * sizeof *ways);
    uint32_t n = 0;
    for (uint32_t slot = 1; slot < s->nodes.n; slot++)
        if ((s->nodes.flags[slot] & NODE_KNOWN) && find_way(s, t, slot, &ways[n]))
            n++;
    if (n)
        qsort(ways, n, sizeof *ways, compare_ways);
    *ret_n = n;
    return ways;
}

/* Levels down to `l` in which two ways are the same. */
static bool same_way(const struct way *a, const struct way *b, uint32_t l)
{
    for (uint32_t i = 0; i <= l; i++)
        if (a->values[i] != b->values[i])
            return false;
    return true;
}

/* One level below another: `of`, the domain of each way on the level above, becomes that of this one. */
static void add_level(struct topology *t, const struct way *ways, uint32_t n, uint32_t l, uint32_t *of)
{
    t->level_first[l] = t->domains_n;
    for (uint32_t i = 0; i < n; i++) {
        if (!i || !same_way(&ways[i - 1], &ways[i], l)) {
            struct domain *up = &t->domains[of[i]];
            up->first = up->n ? up->first : t->domains_n;
            up->n++;
            t->domains[t->domains_n] = (struct domain){.parent = of[i], .value = ways[i].values[l]};
            t->domains_n++;
        }
        of[i] = t->domains_n - 1;
    }
    t->level_first[l + 1] = t->domains_n;
}

/* "b1,r2", or the node's label alone. */
static name_id name_of(struct state *s, const struct topology *t, const struct way *w)
{
    if (t->by_node)
        return w->values[t->levels_n - 1];
    buf_clear(&s->text);
    for (uint32_t l = 0; l < t->levels_n; l++) {
        if (l)
            buf_char(&s->text, ',');
        buf_text(&s->text, intern_name(s->names, w->values[l]));
    }
    return intern_id(s->names, buf_view(&s->text));
}

static void add_leaves(struct state *s, struct topology *t, const struct way *ways, uint32_t n, const uint32_t *of)
{
    t->slots_n = s->nodes.n;
    t->leaf_of = mem_zero(t->slots_n + 1, sizeof *t->leaf_of);
    t->nodes = mem_alloc((n + 1) * sizeof *t->nodes);
    t->leaf_names = mem_zero(n + 1, sizeof *t->leaf_names);
    for (uint32_t i = 0; i < n; i++) {
        struct domain *leaf = &t->domains[of[i]];
        t->nodes[i] = ways[i].slot;
        t->leaf_of[ways[i].slot] = of[i];
        if (leaf->n++)
            continue;
        leaf->first = i;
        if (t->has_tiers) /* nobody is told of them */
            continue;
        name_id name = name_of(s, t, &ways[i]);
        t->leaf_names[of[i] - topology_first_leaf(t)] = name;
        if (!id_map_get(&t->leaf_by_name, name))
            id_map_put(&t->leaf_by_name, name, of[i]);
    }
}

static void build(struct state *s, struct topology *t)
{
    uint32_t n;
    struct way *ways = find_ways(s, t, &n);
    uint32_t *of = mem_zero(n + 1, sizeof *of);
    drop_tree(t);
    t->domains = mem_zero((size_t)n * t->levels_n + 1, sizeof *t->domains);
    t->domains_n = 1;
    memset(t->level_first, 0, sizeof t->level_first);
    for (uint32_t l = 0; l < t->levels_n; l++)
        add_level(t, ways, n, l, of);
    add_leaves(s, t, ways, n, of);
    t->domains = mem_grow(t->domains, t->domains_n, sizeof *t->domains);
    t->rooms = mem_zero(t->domains_n, sizeof *t->rooms);
    t->lists = mem_alloc(2 * (size_t)t->domains_n * sizeof *t->lists);
    t->built = ++s->topologies_built;
    t->labels_seq = s->nodes.labels_seq;
    free(of);
    free(ways);
}

struct topology *topology_sync(struct state *s, uint32_t slot)
{
    struct topology *t = &s->topologies[slot];
    if (!t->built || t->labels_seq != s->nodes.labels_seq)
        build(s, t);
    return t;
}

struct topology_request *topology_request_copy(const struct topology_request *r)
{
    if (r->mode == TOPOLOGY_UNASKED && !r->slices_n && !r->group)
        return NULL;
    struct topology_request *copy = mem_alloc(sizeof *copy);
    *copy = *r;
    return copy;
}

bool topology_request_same(const struct topology_request *a, const struct topology_request *b)
{
    bool same = a->mode == b->mode && a->level == b->level && a->group == b->group && a->slices_n == b->slices_n;
    for (uint32_t i = 0; i < a->slices_n && same; i++)
        same = a->slices[i].level == b->slices[i].level && a->slices[i].size == b->slices[i].size;
    return same;
}
