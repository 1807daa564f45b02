#include "core/quota/quota.h"
#include "base/amount.h"
#include "base/limits.h"
#include "base/memory.h"
#include <assert.h>
#include <string.h>

void quota_init(struct quota *q)
{
    *q = (struct quota){.nodes_n = 1, .built = 1};
    MEM_RESERVE(q->nodes, q->nodes_cap, 1);
    q->nodes[0] = (struct quota_node){0};
}

void quota_fini(struct quota *q)
{
    for (uint32_t i = 1; i < q->nodes_n; i++) {
        free(q->nodes[i].records);
        free(q->nodes[i].cells);
        free(q->nodes[i].lendable);
    }
    free(q->nodes);
    free(q->by_depth);
    free(q->stirred);
    free(q->touched);
    id_map_fini(&q->cohorts);
    id_map_fini(&q->queues);
    *q = (struct quota){0};
}

/* ---- arithmetic ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t not_below_zero(int64_t a)
{
    return a > 0 ? a : 0;
}

static int64_t above_kept(const struct quota_cell *c)
{
    return not_below_zero(amount_plus(c->usage, -c->kept));
}

/* ---- building ---- */

static uint32_t node_of(struct quota *q, struct id_map *map, name_id name, bool is_queue)
{
    uint32_t id = id_map_get(map, name);
    if (id)
        return id;
    MEM_RESERVE(q->nodes, q->nodes_cap, q->nodes_n + 1);
    id = q->nodes_n++;
    q->nodes[id] = (struct quota_node){.name = name, .is_queue = is_queue, .weight_nano = WEIGHT_ONE};
    id_map_put(map, name, id);
    return id;
}

static void set_node(struct quota *q, uint32_t id, name_id parent, const struct quota_record *records, uint32_t n)
{
    struct quota_node *node = &q->nodes[id];
    uint32_t above = parent ? id_map_get(&q->cohorts, parent) : 0;
    node->known = true;
    node->left = q->nodes[above].left = false;
    node->parent_name = parent;
    free(node->records);
    node->records = mem_alloc((n + 1) * sizeof *records);
    if (n)
        memcpy(node->records, records, n * sizeof *records);
    node->records_n = n;
    node->changed = q->dirty = true;
    node->is_another = !node->is_queue;
}

uint32_t quota_set_queue(struct quota *q, name_id name, name_id cohort, const struct quota_record *records, uint32_t n)
{
    uint32_t id = node_of(q, &q->queues, name, true);
    set_node(q, id, cohort, records, n);
    return id;
}

uint32_t quota_set_cohort(struct quota *q, name_id name, name_id parent, const struct quota_record *records, uint32_t n)
{
    uint32_t id = node_of(q, &q->cohorts, name, false);
    set_node(q, id, parent, records, n);
    return id;
}

void quota_set_weight(struct quota *q, uint32_t node, int64_t weight_nano)
{
    q->nodes[node].weight_nano = not_below_zero(weight_nano);
    q->nodes[node].share_of = 0;
}

static void forget(struct quota *q, uint32_t id)
{
    if (!id)
        return;
    set_node(q, id, 0, NULL, 0);
    quota_set_weight(q, id, WEIGHT_ONE);
    q->nodes[id].known = q->nodes[id].is_shared_out = false;
}

void quota_queue_gone(struct quota *q, name_id name)
{
    forget(q, id_map_get(&q->queues, name));
}

void quota_cohort_gone(struct quota *q, name_id name)
{
    uint32_t id = id_map_get(&q->cohorts, name);
    bool was_known = id && q->nodes[id].known;
    forget(q, id); /* queues that name it make it implicit again */
    q->nodes[id].left = was_known;
}

static uint64_t cell_key(name_id flavor, name_id resource)
{
    return (uint64_t)flavor << 32 | resource;
}

/* Index of the first cell with a key not below. */
static uint32_t cell_bound(const struct quota_node *node, uint64_t key)
{
    uint32_t low = 0, high = node->cells_n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (node->cells[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct quota_cell *cell_of(struct quota_node *node, uint64_t key)
{
    uint32_t at = cell_bound(node, key);
    if (at < node->cells_n && node->cells[at].key == key)
        return &node->cells[at];
    MEM_RESERVE(node->cells, node->cells_cap, node->cells_n + 1);
    memmove(&node->cells[at + 1], &node->cells[at], (node->cells_n - at) * sizeof *node->cells);
    node->cells_n++;
    node->cells[at] = (struct quota_cell){.key = key, .borrowing_limit = NO_LIMIT, .lending_limit = NO_LIMIT, .bound = INT64_MAX};
    return &node->cells[at];
}

/* Cells of the node's own records; a queue keeps its usage, a cohort starts empty. */
static void fill_cells(struct quota_node *node)
{
    uint32_t kept_n = 0;
    for (uint32_t i = 0; i < node->cells_n && node->is_queue; i++) {
        if (node->cells[i].usage)
            node->cells[kept_n++] = (struct quota_cell){.key = node->cells[i].key, .usage = node->cells[i].usage,
                                                        .borrowing_limit = NO_LIMIT, .lending_limit = NO_LIMIT, .bound = INT64_MAX};
    }
    node->cells_n = kept_n;
    for (uint32_t i = 0; i < node->records_n; i++) {
        const struct quota_record *r = &node->records[i];
        struct quota_cell *cell = cell_of(node, cell_key(r->flavor, r->resource));
        cell->nominal = not_below_zero(r->nominal);
        cell->borrowing_limit = r->borrowing_limit;
        cell->lending_limit = r->lending_limit;
        cell->bound = r->is_bounded ? not_below_zero(r->bound) : INT64_MAX;
    }
}

/* Parents by name; a cohort exists as soon as somebody names it. */
static void link_parents(struct quota *q)
{
    for (uint32_t id = 1; id < q->nodes_n; id++) {
        name_id parent_name = q->nodes[id].parent_name;
        uint32_t parent = parent_name ? node_of(q, &q->cohorts, parent_name, false) : 0;
        q->nodes[id].parent = parent;
        q->nodes[id].height = 0;
        q->nodes[id].was_broken = q->nodes[id].broken;
        q->nodes[id].broken = false;
    }
}

static void link_children(struct quota *q)
{
    for (uint32_t id = 1; id < q->nodes_n; id++)
        q->nodes[id].first_child = 0;
    for (uint32_t id = q->nodes_n; id-- > 1;) {
        struct quota_node *node = &q->nodes[id], *parent = &q->nodes[node->parent];
        node->next_child = node->parent ? parent->first_child : 0;
        if (node->parent)
            parent->first_child = id;
    }
}

static void stir(struct quota *q, struct quota_node *root)
{
    if (root->gained || root->rose || root->took)
        return;
    MEM_RESERVE(q->stirred, q->stirred_cap, q->stirred_n + 1);
    q->stirred[q->stirred_n++] = (uint32_t)(root - q->nodes);
}

static void gain(struct quota *q, struct quota_node *root)
{
    stir(q, root);
    root->gained = q->gained = true;
}

/* Trees that a changed record belongs to, or belonged to, may have more to give now. WHY before and after: a queue that leaves takes along
 * what it borrowed. */
static void note_gained(struct quota *q)
{
    for (uint32_t id = 1; id < q->nodes_n; id++) {
        struct quota_node *node = &q->nodes[id];
        if (node->changed && q->nodes[node->root].root)
            gain(q, &q->nodes[node->root]);
    }
}

/* Whoever is in a tree with a cohort whose record is another one. WHY before and after, as above. */
static void note_regrouped(struct quota *q)
{
    for (uint32_t id = 1; id < q->nodes_n; id++)
        q->nodes[q->nodes[id].root].regroups |= q->nodes[id].is_another;
    for (uint32_t id = 1; id < q->nodes_n; id++)
        q->regrouped |= q->nodes[id].regrouped |= q->nodes[id].root && q->nodes[q->nodes[id].root].regroups;
    for (uint32_t id = 0; id < q->nodes_n; id++)
        q->nodes[id].regroups = false;
}

/* In a tree that is broken nothing tells who is below whom: what mended it has helped all of it. */
static void note_mended(struct quota *q)
{
    for (uint32_t id = 1; id < q->nodes_n; id++) {
        struct quota_node *node = &q->nodes[id];
        q->regrouped |= node->regrouped |= node->was_broken != node->broken;
        node->is_another = false;
    }
}

bool quota_take_regrouped(struct quota *q, uint32_t queue)
{
    bool regrouped = q->nodes[queue].regrouped;
    q->nodes[queue].regrouped = false;
    return regrouped;
}

static uint32_t find_depths(struct quota *q)
{
    uint32_t deepest = 0;
    for (uint32_t id = 1; id < q->nodes_n; id++) {
        uint32_t depth = 0, at = id;
        while (q->nodes[at].parent && depth <= LIMIT_COHORT_DEPTH) {
            at = q->nodes[at].parent;
            depth++;
        }
        struct quota_node *node = &q->nodes[id];
        node->broken = depth > LIMIT_COHORT_DEPTH;
        node->depth = node->broken ? 0 : depth;
        node->root = node->broken ? id : at;
        if (node->depth > deepest)
            deepest = node->depth;
    }
    return deepest;
}

/* A tree that is too deep is broken as a whole, also its shallow parts. In a cycle every member finds itself. */
static void spread_broken(struct quota *q)
{
    for (uint32_t id = 1; id < q->nodes_n; id++)
        for (uint32_t at = q->nodes[id].broken ? id : 0, steps = 0; at && steps <= LIMIT_COHORT_DEPTH + 1; steps++) {
            q->nodes[at].broken = true;
            at = q->nodes[at].parent;
        }
    for (uint32_t id = 1; id < q->nodes_n; id++)
        if (q->nodes[q->nodes[id].root].broken)
            q->nodes[id].broken = true;
    for (uint32_t id = 1; id < q->nodes_n; id++) {
        if (!q->nodes[id].broken)
            continue;
        q->nodes[id].parent = 0;
        q->nodes[id].root = id;
        q->nodes[id].depth = 0;
    }
}

static void order_by_depth(struct quota *q, uint32_t deepest)
{
    q->by_depth = mem_grow(q->by_depth, q->nodes_n, sizeof *q->by_depth);
    uint32_t n = 0;
    for (uint32_t depth = deepest + 1; depth-- > 0;)
        for (uint32_t id = 1; id < q->nodes_n; id++)
            if (q->nodes[id].depth == depth)
                q->by_depth[n++] = id;
}

static void find_limits(struct quota_cell *cell)
{
    cell->kept = cell->lending_limit == NO_LIMIT ? 0 : not_below_zero(amount_plus(cell->subtree, -cell->lending_limit));
}

void quota_settle(struct quota *q)
{
    if (!q->dirty)
        return;
    q->dirty = false;
    q->built++;
    q->rebuilt++;
    note_regrouped(q);
    note_gained(q);
    /* WHY  the old root may be below another one from now on: whoever was in its tree is marked before roots change */
    for (uint32_t id = 1; id < q->nodes_n; id++)
        q->nodes[id].changed |= q->nodes[id].root && q->nodes[q->nodes[id].root].gained;
    link_parents(q);
    uint32_t deepest = find_depths(q);
    spread_broken(q);
    order_by_depth(q, deepest);
    link_children(q);
    note_regrouped(q);
    note_mended(q);
    note_gained(q);
    for (uint32_t id = 1; id < q->nodes_n; id++) {
        q->nodes[id].changed = false;
        q->nodes[id].uses = 0;
    }
    for (uint32_t id = 1; id < q->nodes_n; id++)
        fill_cells(&q->nodes[id]);
    /* First all cells (adding moves them), then sums, then the way up. */
    for (uint32_t i = 0; i + 1 < q->nodes_n; i++) {
        struct quota_node *node = &q->nodes[q->by_depth[i]], *parent = &q->nodes[node->parent];
        for (uint32_t c = 0; c < node->cells_n && node->parent; c++)
            cell_of(parent, node->cells[c].key);
        if (node->parent && parent->height < node->height + 1)
            parent->height = node->height + 1;
    }
    for (uint32_t id = 1; id < q->nodes_n; id++) {
        for (uint32_t c = 0; c < q->nodes[id].cells_n; c++) {
            q->nodes[id].cells[c].subtree = q->nodes[id].cells[c].nominal;
            if (!q->nodes[id].is_queue)
                q->nodes[id].cells[c].usage = 0;
        }
    }
    for (uint32_t i = 0; i + 1 < q->nodes_n; i++) {
        struct quota_node *node = &q->nodes[q->by_depth[i]], *parent = &q->nodes[node->parent];
        for (uint32_t c = 0; c < node->cells_n; c++) {
            struct quota_cell *cell = &node->cells[c];
            find_limits(cell);
            if (!node->parent)
                continue;
            cell->up = cell_bound(parent, cell->key);
            struct quota_cell *up = &parent->cells[cell->up];
            up->subtree = amount_plus(up->subtree, amount_plus(cell->subtree, -cell->kept));
            up->usage = amount_plus(up->usage, above_kept(cell));
        }
    }
}

/* ---- dropping ---- */

static uint32_t name_kept(struct quota *q, uint32_t *keep)
{
    uint32_t kept_n = 1;
    for (uint32_t id = 1; id < q->nodes_n; id++)
        keep[id] = keep[id] || (!q->nodes[id].is_queue && q->nodes[id].known);
    for (uint32_t id = 1; id < q->nodes_n; id++)
        if (keep[id] && q->nodes[id].parent_name)
            keep[id_map_get(&q->cohorts, q->nodes[id].parent_name)] = 1;
    keep[0] = 0;
    for (uint32_t id = 1; id < q->nodes_n; id++)
        keep[id] = keep[id] ? kept_n++ : 0;
    return kept_n;
}

static void rename_listed(uint32_t *list, uint32_t *n, const uint32_t *keep)
{
    uint32_t kept_n = 0;
    for (uint32_t i = 0; i < *n; i++)
        if (keep[list[i]])
            list[kept_n++] = keep[list[i]];
    *n = kept_n;
}

void quota_drop_unused(struct quota *q, uint32_t *keep)
{
    uint32_t n = 0;
    assert(!q->dirty); /* so what goes is in no tree */
    uint32_t kept_n = name_kept(q, keep);
    if (kept_n == q->nodes_n)
        return;
    for (uint32_t i = 0; i + 1 < q->nodes_n; i++)
        if (keep[q->by_depth[i]])
            q->by_depth[n++] = keep[q->by_depth[i]];
    for (uint32_t id = 1; id < q->nodes_n; id++) {
        struct quota_node node = q->nodes[id];
        struct id_map *map = node.is_queue ? &q->queues : &q->cohorts;
        if (!keep[id]) {
            free(node.records);
            free(node.cells);
            free(node.lendable);
            id_map_remove(map, node.name);
            continue;
        }
        node.parent = keep[node.parent];
        node.root = keep[node.root];
        node.first_child = keep[node.first_child];
        node.next_child = keep[node.next_child];
        id_map_put(map, node.name, keep[id]);
        q->nodes[keep[id]] = node;
    }
    q->nodes_n = kept_n;
    q->rebuilt++;
    rename_listed(q->stirred, &q->stirred_n, keep);
    rename_listed(q->touched, &q->touched_n, keep);
}

/* ---- asking ---- */

const struct quota_cell *quota_find(const struct quota *q, uint32_t queue, name_id flavor, name_id resource)
{
    const struct quota_node *node = &q->nodes[queue];
    uint64_t key = cell_key(flavor, resource);
    uint32_t at = cell_bound(node, key);
    return at < node->cells_n && node->cells[at].key == key ? &node->cells[at] : NULL;
}

bool quota_names(const struct quota *q, uint32_t queue, name_id flavor, name_id resource)
{
    const struct quota_node *node = &q->nodes[queue];
    for (uint32_t i = 0; i < node->records_n; i++)
        if (node->records[i].flavor == flavor && node->records[i].resource == resource)
            return true;
    return false;
}

static int64_t left_by_bound(const struct quota_cell *cell)
{
    return cell->bound == INT64_MAX ? INT64_MAX : amount_plus(cell->bound, -cell->usage);
}

static int64_t available(const struct quota *q, const struct quota_node *node, const struct quota_cell *cell)
{
    if (!node->parent)
        return least(amount_plus(cell->subtree, -cell->usage), left_by_bound(cell));
    const struct quota_node *parent = &q->nodes[node->parent];
    int64_t from_parent = available(q, parent, &parent->cells[cell->up]);
    if (cell->borrowing_limit != NO_LIMIT) {
        int64_t lent_quota = amount_plus(amount_plus(cell->subtree, -cell->kept), -above_kept(cell));
        from_parent = least(from_parent, amount_plus(lent_quota, cell->borrowing_limit));
    }
    return least(amount_plus(not_below_zero(amount_plus(cell->kept, -cell->usage)), from_parent), left_by_bound(cell));
}

int64_t quota_available(const struct quota *q, uint32_t queue, name_id flavor, name_id resource)
{
    const struct quota_cell *cell = quota_find(q, queue, flavor, resource);
    return cell ? available(q, &q->nodes[queue], cell) : 0;
}

int64_t quota_potential(const struct quota *q, uint32_t id, name_id flavor, name_id resource)
{
    const struct quota_node *node = &q->nodes[id];
    const struct quota_cell *cell = quota_find(q, id, flavor, resource);
    int64_t most = node->parent ? quota_potential(q, node->parent, flavor, resource) : 0;
    if (!cell)
        return node->is_queue ? 0 : most;
    most = amount_plus(node->parent ? cell->kept : cell->subtree, most);
    if (node->parent && cell->borrowing_limit != NO_LIMIT)
        most = least(most, amount_plus(cell->subtree, cell->borrowing_limit));
    return least(most, cell->bound);
}

/* `used`: less what is used. A queue that stands alone cannot have more than its own. */
static int64_t bounds(const struct quota *q, uint32_t queue, name_id flavor, name_id resource, bool used)
{
    const struct quota_node *node = &q->nodes[queue];
    const struct quota_cell *cell = quota_find(q, queue, flavor, resource);
    int64_t most = INT64_MAX, kept = 0; /* kept: what counts below only */
    for (; cell; node = &q->nodes[node->parent]) {
        bool alone = node->is_queue && !node->parent && quota_names(q, queue, flavor, resource);
        int64_t bound = alone ? least(cell->subtree, cell->bound) : cell->bound;
        if (bound != INT64_MAX)
            most = least(most, amount_plus(amount_plus(bound, used ? -cell->usage : 0), kept));
        kept = amount_plus(kept, used ? not_below_zero(amount_plus(cell->kept, -cell->usage)) : cell->kept);
        cell = node->parent ? &q->nodes[node->parent].cells[cell->up] : NULL;
    }
    return most;
}

int64_t quota_left_by_bounds(const struct quota *q, uint32_t queue, name_id flavor, name_id resource)
{
    return bounds(q, queue, flavor, resource, true);
}

int64_t quota_least_bound(const struct quota *q, uint32_t queue, name_id flavor, name_id resource)
{
    return bounds(q, queue, flavor, resource, false);
}

uint32_t quota_borrow_level(const struct quota *q, uint32_t queue, name_id flavor, name_id resource, int64_t amount)
{
    const struct quota_node *node = &q->nodes[queue];
    const struct quota_cell *cell = quota_find(q, queue, flavor, resource);
    while (cell) {
        if (!node->parent || amount_plus(cell->usage, amount) <= cell->subtree)
            return node->height;
        amount = amount_plus(amount, -not_below_zero(amount_plus(cell->kept, -cell->usage)));
        cell = &q->nodes[node->parent].cells[cell->up];
        node = &q->nodes[node->parent];
    }
    return 0;
}

bool quota_may_reclaim(const struct quota *q, uint32_t queue, name_id flavor, name_id resource, int64_t amount)
{
    const struct quota_node *node = &q->nodes[queue];
    const struct quota_cell *cell = quota_find(q, queue, flavor, resource);
    while (cell && node->parent) {
        if (amount_plus(cell->usage, amount) <= cell->subtree)
            return true;
        amount = amount_plus(amount, -not_below_zero(amount_plus(cell->kept, -cell->usage)));
        cell = &q->nodes[node->parent].cells[cell->up];
        node = &q->nodes[node->parent];
    }
    return false;
}

/* ---- charging ---- */

void quota_add(struct quota *q, uint32_t queue, name_id flavor, name_id resource, int64_t amount)
{
    if (!amount)
        return;
    uint64_t key = cell_key(flavor, resource);
    struct quota_node *node = &q->nodes[queue];
    q->nodes[node->root].uses = 0;
    if (!quota_find(q, queue, flavor, resource)) {
        cell_of(node, key)->usage = amount; /* used, though no record allows it (any more): a fact that came from outside */
        q->dirty = true;
        quota_settle(q);
        return;
    }
    struct quota_cell *cell = &node->cells[cell_bound(node, key)];
    for (;;) {
        int64_t before = above_kept(cell);
        node->share_of = 0;
        cell->usage = amount_plus(cell->usage, amount);
        amount = amount_plus(above_kept(cell), -before);
        if (!node->parent || !amount)
            break;
        node = &q->nodes[node->parent];
        cell = &node->cells[cell->up];
    }
}

static bool is_absurd(const struct quota_cell *c)
{
    const int64_t most = INT64_MAX / 8;
    return c->subtree > most || c->usage > most || c->kept > most || c->lending_limit > most || (c->bound > most && c->bound != INT64_MAX);
}

bool quota_raise(struct quota *q, uint32_t queue, name_id flavor, name_id resource, int64_t amount)
{
    struct quota_node *node = &q->nodes[queue];
    if (!quota_names(q, queue, flavor, resource) || amount > INT64_MAX / 8 || node->broken)
        return false;
    struct quota_cell *cell = &node->cells[cell_bound(node, cell_key(flavor, resource))];
    for (const struct quota_cell *c = cell; amount > 0;) {
        if (is_absurd(c))
            return false;
        if (!node->parent)
            break;
        node = &q->nodes[node->parent];
        c = &node->cells[c->up];
    }
    node = &q->nodes[queue];
    q->built++;
    cell->nominal += amount;
    cell->bound += cell->bound == INT64_MAX ? 0 : amount;
    for (int64_t use = 0; amount || use;) {
        int64_t lent = cell->subtree - cell->kept, above = above_kept(cell);
        cell->subtree += amount;
        cell->usage += use;
        find_limits(cell);
        if (!node->parent)
            break;
        amount = cell->subtree - cell->kept - lent;
        use = above_kept(cell) - above;
        node = &q->nodes[node->parent];
        cell = &node->cells[cell->up];
    }
    return true;
}

void quota_gain(struct quota *q, uint32_t queue)
{
    gain(q, &q->nodes[q->nodes[queue].root]);
}

void quota_rise(struct quota *q, uint32_t queue)
{
    struct quota_node *root = &q->nodes[q->nodes[queue].root];
    stir(q, root);
    root->rose = q->rose = true;
}

void quota_take(struct quota *q, uint32_t queue)
{
    struct quota_node *root = &q->nodes[q->nodes[queue].root];
    stir(q, root);
    root->took = q->rose = true;
}

void quota_touch(struct quota *q, uint32_t queue)
{
    if (q->nodes[queue].touched)
        return;
    q->nodes[queue].touched = true;
    MEM_RESERVE(q->touched, q->touched_cap, q->touched_n + 1);
    q->touched[q->touched_n++] = queue;
}
