#include "core/queue/shrink.h"

void set_grant(struct gang_set *set, int32_t granted)
{
    set->count = granted > 0 && granted < set->asked_n ? granted : set->asked_n;
    int32_t over = set->over_n - (set->asked_n - set->count);
    set->reclaimed_n = over > 0 ? over : 0;
}

/* Members that the set could do without. WHY not those that are over: nobody needs them anyway. */
static int64_t spare_n(const struct gang_set *set)
{
    int32_t needed = set->asked_n - set->over_n;
    return needed > set->min_count ? needed - set->min_count : 0;
}

static int64_t spare_of_all(const struct gang *g)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < g->sets_n && g->planned; i++)
        n += spare_n(&g->sets[i]);
    return n;
}

bool shrink_may(const struct gang *g)
{
    return spare_of_all(g) > 0;
}

/* `part` of the `whole` that all could do without is left out. */
static void leave_out(struct gang *g, int64_t part, int64_t whole)
{
    for (uint32_t i = 0; i < g->sets_n; i++) {
        struct gang_set *set = &g->sets[i];
        int32_t n = (int32_t)(spare_n(set) * part / whole);
        set_grant(set, n ? set->asked_n - set->over_n - n : 0);
    }
}

/* WHY  halving asks the fewest last, not first: more may fit where those do not, by other flavors. */
bool shrink_search(struct gang *g, bool (*fits)(void *arg), void *arg)
{
    int64_t whole = spare_of_all(g), least = 0, most = whole + 1; /* all that is asked for has been tried */
    while (least < most) {
        int64_t part = least + (most - least) / 2;
        leave_out(g, part, whole);
        if (part && fits(arg))
            most = part;
        else
            least = part + 1;
    }
    leave_out(g, most < whole ? most : whole, whole);
    return most <= whole;
}

void shrink_to_fewest(struct gang *g)
{
    int64_t whole = spare_of_all(g);
    if (whole)
        leave_out(g, whole, whole);
}

void shrink_back(struct gang *g)
{
    for (uint32_t i = 0; i < g->sets_n && g->planned; i++)
        set_grant(&g->sets[i], 0);
}
