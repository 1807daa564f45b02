#include "core/quota/share.h"
#include "base/amount.h"
#include "base/memory.h"
#include "core/quota/wide.h"

/* ---- what could be lent ---- */

static struct lendable *lendable_of(struct quota_node *node, name_id resource)
{
    for (uint32_t i = 0; i < node->lendable_n; i++)
        if (node->lendable[i].resource == resource)
            return &node->lendable[i];
    node->lendable[node->lendable_n] = (struct lendable){.resource = resource};
    return &node->lendable[node->lendable_n++];
}

static void find_lendable(struct quota *q, uint32_t id)
{
    struct quota_node *node = &q->nodes[id];
    const struct quota_node *root = &q->nodes[node->root];
    if (node->lendable_of == q->built)
        return;
    node->lendable_of = q->built;
    node->lendable_n = 0;
    node->lendable = mem_grow(node->lendable, root->cells_n + 1, sizeof *node->lendable);
    for (uint32_t i = 0; i < root->cells_n; i++) {
        struct lendable *one = lendable_of(node, (name_id)root->cells[i].key);
        one->amount = amount_plus(one->amount, quota_potential(q, id, (name_id)(root->cells[i].key >> 32), one->resource));
    }
}

/* ---- shares ---- */

static struct share find_share(struct quota *q, uint32_t id)
{
    const struct quota_node *node = &q->nodes[id];
    struct quota_node *parent = &q->nodes[node->parent];
    struct share most = {.lendable = 1, .weight_nano = node->weight_nano};
    for (uint32_t i = 0; i < node->cells_n && node->parent; i++) {
        const struct quota_cell *cell = &node->cells[i];
        if (cell->usage <= cell->subtree)
            continue;
        if (!most.borrows)
            find_lendable(q, node->parent);
        most.borrows = true;
        struct lendable *one = lendable_of(parent, (name_id)cell->key); /* the root has a cell for each that is below it */
        one->borrowed = amount_plus(one->borrowed, amount_plus(cell->usage, -cell->subtree));
    }
    for (uint32_t i = 0; i < parent->lendable_n && most.borrows; i++) {
        struct lendable *one = &parent->lendable[i];
        if (one->amount > 0 && (u128)one->borrowed * (u128)most.lendable > (u128)most.borrowed * (u128)one->amount) {
            most.borrowed = one->borrowed;
            most.lendable = one->amount;
        }
        one->borrowed = 0;
    }
    return most;
}

const struct share *share_of(struct quota *q, uint32_t id)
{
    struct quota_node *node = &q->nodes[id];
    if (node->share_of != q->built) {
        node->share = find_share(q, id);
        node->share_of = q->built;
    }
    return &node->share;
}

static bool is_infinite(const struct share *a)
{
    return !a->weight_nano && a->borrowed;
}

int share_compare(const struct share *a, const struct share *b)
{
    bool a_infinite = is_infinite(a), b_infinite = is_infinite(b);
    if (a_infinite != b_infinite)
        return a_infinite ? 1 : -1;
    /* who borrows nothing may have weight 0, too: nothing is nothing */
    uint64_t a_weight = a_infinite || !a->weight_nano ? 1 : (uint64_t)a->weight_nano,
             b_weight = b_infinite || !b->weight_nano ? 1 : (uint64_t)b->weight_nano;
    return wide_compare(wide_times((u128)a->borrowed * b_weight, (uint64_t)b->lendable),
                        wide_times((u128)b->borrowed * a_weight, (uint64_t)a->lendable));
}

int64_t share_weighted(const struct share *a)
{
    if (is_infinite(a))
        return INT64_MAX;
    /* the least s with s * lendable * weight / 1e9 >= 1000 * borrowed */
    return wide_over(wide_times((u128)1000 * WEIGHT_ONE, (uint64_t)a->borrowed),
                     (u128)a->lendable * (uint64_t)(a->weight_nano ? a->weight_nano : 1));
}

bool share_borrows(const struct quota *q, uint32_t node, name_id flavor, name_id resource)
{
    const struct quota_cell *cell = quota_find(q, node, flavor, resource);
    return cell && q->nodes[node].parent && cell->usage > cell->subtree;
}

bool share_borrows_upwards(const struct quota *q, uint32_t node, name_id flavor, name_id resource)
{
    bool any = false;
    for (; node && !any; node = q->nodes[node].parent)
        any = share_borrows(q, node, flavor, resource);
    return any;
}
