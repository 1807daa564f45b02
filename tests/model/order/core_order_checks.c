/* core_order_checks.c - admission checks: who has quota is admitted when all that its queue demands are ready; one that says "retry" takes
 * the quota back, and so does the end of a job that is deactivated because one said "rejected" */
#include "core_order.h"

bool is_checked(const struct model *m, const struct plain_gang *g, const struct given *given)
{
    int check = m->nodes[COHORTS + g->queue].check;
    bool any = false;
    for (int i = 0; i < g->sets_n && check; i++)
        for (int r = 0; r < RES_N; r++)
            any |= given->flavor[i][r] >= 0 && (check == CHECKS_ALL || check == CHECKS_FLAVOR + given->flavor[i][r]);
    return any;
}

/* It has quota, and needs places now, beside those that are promised. False: there are none. */
static bool find_its_places(struct model *m, struct plain_gang *g)
{
    struct need x = {.places = m->places.n};
    put_places_needed(g, &g->given, &x);
    for (int i = 0; i < m->promises_n; i++)
        withhold(m, &m->promises[i]);
    bool found = nodes_hold(m, g, &x, &g->on);
    memset(m->withheld, 0, sizeof m->withheld);
    m->counts.ready_waits_n += !found;
    return found;
}

/* Before anybody is let in, in the order of gangs. */
void settle_checks(struct model *m)
{
    bool done[GANGS] = {false};
    for (;;) {
        int first = -1;
        for (int i = 0; i < GANGS; i++) {
            const struct plain_gang *g = &m->gangs[i];
            bool waits = g->exists && g->admitted && !g->leaving && !done[i];
            if (waits && (first < 0 || gang_before(g, &m->gangs[first])))
                first = i;
        }
        if (first < 0)
            return;
        struct plain_gang *g = &m->gangs[first];
        done[first] = true;
        bool retries = g->active && g->check == CHECK_RETRY && is_checked(m, g, &g->given);
        if (!g->active || retries) {
            g->leaving = true;
            forget_lost(g);
            note(m, first, g->active ? RETRIED : DEACTIVATED);
        } else if (g->checking && g->check == CHECK_READY && find_its_places(m, g)) {
            g->checking = false;
            note(m, first, READY);
        } else if (!g->checking && m->places.n) {
            settle_lost(m, first);
        }
    }
}

/* ---- what others answer ---- */

static void answer(struct model *m, struct plain_gang *g)
{
    static const enum check_state answers[] = {CHECK_PENDING, CHECK_READY, CHECK_READY, CHECK_RETRY, CHECK_REJECTED};
    g->check = answers[pick(m, g->checking ? 5 : 4)];
    if (g->check == CHECK_PENDING || (!g->checking && g->check != CHECK_RETRY))
        g->check = g->checking ? CHECK_PENDING : CHECK_READY;
    g->active = g->check != CHECK_REJECTED; /* and its job is deactivated for that */
}

/* Of those that wait for it most are answered, of those that run few are asked to try again; who was deactivated may be active again. */
void answer_checks(struct model *m)
{
    for (int i = 0; i < GANGS; i++) {
        struct plain_gang *g = &m->gangs[i];
        if (!g->exists || g->leaving || (g->admitted && !is_checked(m, g, &g->given)))
            continue;
        if (pick(m, g->admitted && !g->checking ? 24 : 2))
            continue;
        if (g->admitted)
            answer(m, g);
        else if (!g->active)
            g->active = true;
        else
            continue;
        gang_record(&m->w, record_of(m, g));
    }
}

/* It has left because of its check: it comes again later, and another place in the queue is its own. */
void put_back_checked(struct model *m, struct plain_gang *g)
{
    if (g->check == CHECK_RETRY && g->active) {
        g->created_ms += 1 + pick(m, 4);
        g->not_before_ms = pick(m, 2) ? 0 : m->w.now_ms + 1000 * (1 + pick(m, 8));
    }
    g->check = CHECK_PENDING;
    g->checking = false;
}
