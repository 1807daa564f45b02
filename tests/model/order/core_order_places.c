#include "core_order_places.h"
#include "../domains/reference.h"

_Static_assert((int)PLACE_PODS <= (int)NODE_PODS, "a node of the reference has no more");

bool find_places(const struct places *p, int64_t used[PLACES][PLACE_RES], const struct place_ask *ask, int ret_on[PLACES])
{
    struct cluster c = {.levels_n = p->levels_n};
    struct usage u = {0};
    struct plain_gang g = {.sets_n = 1};
    for (int i = 0; i < p->n; i++) {
        struct plain_node *n = &c.nodes[i];
        *n = (struct plain_node){.known = true, .ready = true, .cpu = (int)p->all[i].has[0], .gpu = (int)p->all[i].has[1],
                                 .of_flavor = (p->all[i].flavors & ask->flavors) == ask->flavors};
        for (int l = 0; l < p->levels_n; l++)
            n->value[l] = l + 1 < p->levels_n ? p->all[i].value[l] : i;
        u.cpu[i] = (int)used[i][0];
        u.gpu[i] = (int)used[i][1];
        u.pods[i] = (int)(used[i][2] + NODE_PODS - p->all[i].has[2]);
    }
    g.sets[0] = (struct ask){.mode = (enum topology_mode)ask->mode, .level = ask->level, .count = ask->count, .cpu = (int)ask->each[0],
                             .gpu = (int)ask->each[1]};
    if (ask->slice_size) {
        g.sets[0].layers_n = 1;
        g.sets[0].layer_level[0] = ask->slice_level;
        g.sets[0].layer_size[0] = ask->slice_size;
    }
    bool fits = reference_place(&c, &u, &g);
    for (int i = 0; i < PLACES; i++)
        ret_on[i] = fits ? g.on[0][i] : 0;
    return fits;
}
