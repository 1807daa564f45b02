#include "core/queue/checks.h"

static bool is_for(const struct queue_check *check, const struct flavor_choice *choices, uint32_t choices_n)
{
    for (uint32_t i = 0; i < choices_n; i++) {
        bool is_named = !check->flavors_n;
        for (uint32_t k = 0; k < check->flavors_n && !is_named; k++)
            is_named = check->flavors[k] == choices[i].flavor;
        if (is_named)
            return true;
    }
    return false;
}

bool checks_demanded(const struct queue *q, const struct flavor_choice *choices, uint32_t choices_n)
{
    for (uint32_t i = 0; q && i < q->checks_n; i++)
        if (is_for(&q->checks[i], choices, choices_n))
            return true;
    return false;
}

bool checks_by_flavor(const struct queue *q)
{
    bool any = false;
    for (uint32_t i = 0; i < q->checks_n && !any; i++)
        any = q->checks[i].flavors_n > 0;
    return any;
}

static bool queue_is_known(const struct gang *g)
{
    return g->queue && g->queue->known;
}

static enum check_state state_of(const struct gang *g, name_id check)
{
    for (uint32_t i = 0; i < g->own->checks_n; i++)
        if (g->own->checks[i].name == check)
            return g->own->checks[i].state;
    return CHECK_PENDING; /* nobody has answered */
}

/* Checks that count, one after the other; 0: no more. */
static name_id next(const struct gang *g, uint32_t *at)
{
    if (!queue_is_known(g))
        return *at < g->own->checks_n ? g->own->checks[(*at)++].name : 0;
    while (*at < g->queue->checks_n) {
        const struct queue_check *check = &g->queue->checks[(*at)++];
        if (is_for(check, g->own->choices, g->own->choices_n))
            return check->name;
    }
    return 0;
}

bool checks_ready(const struct gang *g)
{
    uint32_t at = 0;
    for (name_id check; (check = next(g, &at));)
        if (state_of(g, check) != CHECK_READY)
            return false;
    return true;
}

struct reason *checks_why(const struct gang *g, struct arena *a)
{
    uint32_t at = 0;
    name_id queue = g->queue ? g->queue->title : g->own->unknown_queue;
    struct reason *root = reason_new(a, (struct reason){.code = REASON_CHECKS, .queue = queue});
    for (name_id check; (check = next(g, &at));)
        if (state_of(g, check) != CHECK_READY)
            reason_add(root, reason_new(a, (struct reason){.code = REASON_CHECK, .name = check, .have = state_of(g, check)}));
    return root;
}

name_id checks_retried(const struct gang *g)
{
    uint32_t at = 0;
    for (name_id check; (check = next(g, &at));)
        if (state_of(g, check) == CHECK_RETRY)
            return check;
    return 0;
}
