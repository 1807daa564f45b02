#include "core/state/budget.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/state/selector.h"

static struct budget *find(struct state *s, name_id key)
{
    for (uint32_t i = 0; i < s->budgets_n; i++)
        if (s->budgets[i].key == key)
            return &s->budgets[i];
    return NULL;
}

static void copy(struct bump *b, const struct budget_record *r, struct budget *to)
{
    to->pods = bump_selector(b, &r->pods);
    to->disrupted = bump_copy(b, r->disrupted, r->disrupted_n, sizeof *r->disrupted);
}

void budget_apply(struct state *s, const struct budget_record *r)
{
    struct budget *to = find(s, r->key);
    if (!to) {
        MEM_RESERVE(s->budgets, s->budgets_cap, s->budgets_n + 1);
        to = &s->budgets[s->budgets_n++];
        *to = (struct budget){.key = r->key};
    }
    free(to->block);
    struct bump b = {0};
    copy(&b, r, to);
    to->block = mem_alloc(b.n + 1);
    b = (struct bump){.base = to->block};
    copy(&b, r, to);
    to->ns = r->ns;
    to->allowed = r->allowed;
    to->disrupted_n = r->disrupted_n;
}

void budget_gone(struct state *s, name_id key)
{
    struct budget *b = find(s, key);
    if (!b)
        return;
    free(b->block);
    *b = s->budgets[--s->budgets_n];
}

void budgets_free(struct state *s)
{
    for (uint32_t i = 0; i < s->budgets_n; i++)
        free(s->budgets[i].block);
    free(s->budgets);
}

static bool selects(const struct state *s, const struct budget *b, const struct pod *p)
{
    const struct label_set *set = &s->shapes.sets[p->labels];
    if (set->ns != b->ns || !set->labels.n || b->pods.matches_nothing || !b->pods.all_n)
        return false;
    for (uint32_t i = 0; i < b->disrupted_n; i++)
        if (b->disrupted[i] == p->key)
            return false;
    return selector_matches(&b->pods, set->labels, 0, s->names);
}

void budgets_broken(const struct state *s, const uint32_t *pods, uint32_t n, bool *ret_broken)
{
    for (uint32_t i = 0; i < n; i++)
        ret_broken[i] = false;
    for (uint32_t b = 0; b < s->budgets_n; b++) {
        int64_t left = s->budgets[b].allowed;
        for (uint32_t i = 0; i < n; i++)
            if (selects(s, &s->budgets[b], &s->pods[pods[i]]) && --left < 0)
                ret_broken[i] = true;
    }
}
