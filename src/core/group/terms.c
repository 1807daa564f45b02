#include "core/group/terms.h"
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "core/state/selector.h"

void group_take_amounts(struct amount **to, uint32_t *to_n, const struct amount *from, uint32_t n)
{
    free(*to);
    *to = n ? mem_alloc(n * sizeof *from) : NULL;
    if (n)
        memcpy(*to, from, n * sizeof *from);
    *to_n = n;
}

/* WHY not by their bytes: nobody says what stands in the holes. */
bool group_same_amounts(const struct amount *a, uint32_t a_n, const struct amount *b, uint32_t b_n)
{
    bool same = a_n == b_n;
    for (uint32_t i = 0; i < a_n && same; i++)
        same = a[i].resource == b[i].resource && a[i].value == b[i].value;
    return same;
}

static bool same_tiers(const struct tier_request *a, const struct tier_request *b)
{
    return a->mode == b->mode && (a->mode == TOPOLOGY_UNASKED || (a->highest == b->highest && a->title == b->title));
}

static bool same_names(const name_id *a, uint32_t a_n, const name_id *b, uint32_t b_n)
{
    return a_n == b_n && (!a_n || memcmp(a, b, a_n * sizeof *a) == 0);
}

static bool same_selector(const struct selector *a, const struct selector *b)
{
    bool same = a->all_n == b->all_n && a->matches_nothing == b->matches_nothing;
    for (uint32_t i = 0; i < a->all_n && same; i++) {
        const struct requirement *x = &a->all[i], *y = &b->all[i];
        same = x->key == y->key && x->op == y->op && x->number == y->number && x->is_field == y->is_field &&
               same_names(x->values, x->values_n, y->values, y->values_n);
    }
    return same;
}

static bool same_subgroups(const struct gang *g, const struct gang_record *r)
{
    const struct subgroup_policy *is;
    uint32_t n = gang_subgroups(g, &is);
    bool same = n == r->subgroups_n && (!n || g->own->terms->subgroups_least == r->subgroups_least);
    for (uint32_t i = 0; i < n && same; i++) {
        const struct subgroup_policy *a = &is[i], *b = &r->subgroups[i];
        same = a->name == b->name && a->above == b->above;
        same = same && a->size == b->size && a->least_n == b->least_n && same_tiers(&a->tiers, &b->tiers) &&
               same_names(a->keys, a->keys_n, b->keys, b->keys_n) && same_selector(&a->pods, &b->pods);
    }
    return same;
}

bool group_same_terms(const struct gang *g, const struct gang_record *r)
{
    static const struct group_terms none;
    const struct group_terms *is = g->own->terms ? g->own->terms : &none;
    return same_tiers(&is->tiers, &r->tiers) && group_same_amounts(is->least, is->least_n, r->least, r->least_n) &&
           (!is->least_n || is->least_is_free == r->least_is_free) &&
           is->refill_s == r->refill_s && is->patience_s == r->patience_s && is->goes_whole == r->goes_whole &&
           is->preempts_nobody == r->preempts_nobody && same_subgroups(g, r);
}

/* In two passes (selector.h). */
static const struct subgroup_policy *copy_policies(struct bump *b, const struct subgroup_policy *from, uint32_t n)
{
    struct subgroup_policy *all = bump_copy(b, from, n, sizeof *all);
    for (uint32_t i = 0; i < n; i++) {
        struct selector pods = bump_selector(b, &from[i].pods);
        const name_id *keys = bump_copy(b, from[i].keys, from[i].keys_n, sizeof *keys);
        if (all) {
            all[i].pods = pods;
            all[i].keys = keys;
        }
    }
    return all;
}

static const struct subgroup_policy *take_subgroups(const struct subgroup_policy *from, uint32_t n)
{
    struct bump size = {0}, block = {0};
    if (!n)
        return NULL;
    (void)copy_policies(&size, from, n);
    block.base = mem_alloc(size.n);
    return copy_policies(&block, from, n);
}

void group_terms_free(struct group_terms *terms)
{
    if (terms)
        free((struct subgroup_policy *)terms->subgroups); /* its own */
    free(terms);
}

void group_take_terms(struct gang_object *o, const struct gang_record *r)
{
    group_terms_free(o->terms);
    o->terms = NULL;
    bool asks = r->tiers.mode != TOPOLOGY_UNASKED || r->least_n || r->refill_s || r->patience_s || r->subgroups_n;
    if (!asks && !r->goes_whole && !r->preempts_nobody)
        return;
    o->terms = mem_alloc(sizeof *o->terms + r->least_n * sizeof *r->least);
    o->terms->tiers = r->tiers;
    o->terms->patience_s = r->patience_s;
    o->terms->goes_whole = r->goes_whole;
    o->terms->preempts_nobody = r->preempts_nobody;
    o->terms->subgroups = take_subgroups(r->subgroups, r->subgroups_n);
    o->terms->subgroups_n = r->subgroups_n;
    o->terms->subgroups_least = r->subgroups_least;
    o->terms->refill_s = r->refill_s;
    o->terms->least_is_free = r->least_is_free;
    o->terms->least_n = r->least_n;
    if (r->least_n)
        memcpy(o->terms->least, r->least, r->least_n * sizeof *r->least);
}

bool group_has_subgroup_tiers(const struct gang *g)
{
    const struct subgroup_policy *all;
    uint32_t n = gang_subgroups(g, &all), asking_n = 0;
    for (uint32_t i = 0; i < n; i++)
        asking_n += all[i].tiers.mode != TOPOLOGY_UNASKED;
    return asking_n > 0;
}
