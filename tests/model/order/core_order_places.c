#include "core_order_places.h"
#include "../domains/reference.h"

_Static_assert((int)PLACE_PODS <= (int)NODE_PODS, "a node of the reference has no more");
_Static_assert((int)PLACE_GPUS == (int)NODE_GPUS, "a node of the reference has as many");

static struct ask ask_of(const struct place_ask *one)
{
    struct ask a = {.mode = (enum topology_mode)one->mode, .level = one->level, .count = one->count, .cpu = (int)one->each[0],
                    .gpu = (int)one->each[1], .milli = one->milli, .layers_n = one->slices_n};
    for (int i = 0; i < one->slices_n; i++) {
        a.layer_level[i] = one->slice_level[i];
        a.layer_size[i] = one->slice_size[i];
    }
    return a;
}

static void describe(const struct places *p, int64_t used[PLACES][PLACE_RES], unsigned flavors, struct cluster *c, struct usage *u)
{
    *c = (struct cluster){.levels_n = p->levels_n, .in_parts = p->in_parts};
    *u = (struct usage){0};
    for (int i = 0; i < p->n; i++) {
        struct plain_node *node = &c->nodes[i];
        *node = (struct plain_node){.known = p->all[i].state != PLACE_GONE, .ready = p->all[i].state == PLACE_GOOD,
                                    .of_flavor = (p->all[i].flavors & flavors) == flavors,
                                    .cpu = (int)p->all[i].has[0], .gpu = (int)p->all[i].has[1]};
        for (int l = 0; l < p->levels_n; l++)
            node->value[l] = l + 1 < p->levels_n ? p->all[i].value[l] : i;
        u->cpu[i] = (int)used[i][0];
        u->gpu[i] = (int)used[i][1];
        u->parts[i] = (int)used[i][PLACE_PARTS];
        for (int k = 0; k < PLACE_GPUS; k++)
            u->taken[i][k] = (int)used[i][PLACE_FIRST_GPU + k];
        u->pods[i] = (int)(used[i][2] + NODE_PODS - p->all[i].has[2]);
    }
}

static bool find(const struct places *p, int64_t used[PLACES][PLACE_RES], const struct place_ask *const *asks, int n, int *const *ret_on)
{
    struct cluster c;
    struct usage u;
    struct plain_gang g = {.sets_n = n, .group = n > 1};
    describe(p, used, asks[0]->flavors, &c, &u);
    for (int set = 0; set < n; set++)
        g.sets[set] = ask_of(asks[set]);
    bool fits = reference_place(&c, &u, &g);
    for (int set = 0; set < n; set++)
        for (int i = 0; i < PLACES; i++)
            ret_on[set][i] = fits ? g.on[set][i] : 0;
    return fits;
}

bool find_places(const struct places *p, int64_t used[PLACES][PLACE_RES], const struct place_ask *ask, int ret_on[PLACES])
{
    return find(p, used, &ask, 1, &ret_on);
}

bool find_places_instead(const struct places *p, int64_t used[PLACES][PLACE_RES], const struct place_ask *ask, const int on[PLACES],
                         int lost, int ret_on[PLACES])
{
    struct cluster c;
    struct usage u;
    struct plain_gang g = {.sets_n = 1, .sets = {ask_of(ask)}};
    describe(p, used, ask->flavors, &c, &u);
    for (int i = 0; i < PLACES; i++)
        g.given[0][i] = g.on[0][i] = on[i];
    bool fits = reference_replace(&c, &u, &g, 0, lost);
    for (int i = 0; i < PLACES && fits; i++)
        ret_on[i] = g.on[0][i];
    return fits;
}

bool find_places_together(const struct places *p, int64_t used[PLACES][PLACE_RES], const struct place_ask *a, const struct place_ask *b,
                          int ret_a[PLACES], int ret_b[PLACES])
{
    const struct place_ask *asks[] = {a, b};
    int *on[] = {ret_a, ret_b};
    return find(p, used, asks, 2, on);
}

void take_gpus(int64_t used[PLACE_RES], const int64_t has[PLACE_RES], const struct place_ask *ask, int pods, int16_t ret_taken[PLACE_GPUS])
{
    const struct ask a = ask_of(ask);
    int taken[PLACE_GPUS], at;
    for (int k = 0; k < PLACE_GPUS; k++)
        taken[k] = (int)used[PLACE_FIRST_GPU + k];
    for (int n = a.milli ? pods : pods * a.gpu; n > 0 && (at = reference_best_gpu((int)has[1], taken, a.milli)) >= 0; n--) {
        int more = a.milli ? a.milli : 1000;
        taken[at] += more;
        used[PLACE_FIRST_GPU + at] += more;
        ret_taken[at] = (int16_t)(ret_taken[at] + more);
    }
}
