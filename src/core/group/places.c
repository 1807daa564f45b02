#include "core/group/places.h"
#include "core/explain/why.h"
#include "core/place/fit.h"
#include "core/place/try.h"
#include "core/place/undo.h"
#include "core/queue/admission.h"

bool places_take_or_say(struct cycle *c, struct gang *g, struct want *wants, uint32_t n, struct parking *park)
{
    uint32_t mark = undo_mark(c->s), steps = PLACE_STEPS;
    struct misfit m;
    if (place_all(c->s, g, wants, n, &steps, &m)) {
        undo_keep(c->s, mark);
        return true;
    }
    struct reason *root = why_unplaced(c, &m, g->planned && m.pod_set < g->sets_n ? g->sets[m.pod_set].name : 0, 0), *top = root;
    if (g->planned) {
        top = reason_new(c->a, (struct reason){.code = REASON_WAITING});
        reason_add(top, root);
    }
    cycle_explain(c, g, top);
    undo_back(c->s, mark);
    refusal_of_misfit(c->s, park, &m, wants, n);
    return false;
}

static bool seat_is_good(const struct state *s, const struct seat *seat)
{
    const struct shape_class *shape = &s->shapes.classes[seat->shape];
    if (fit_record(s, shape, seat->node, NULL) != FIT_OK)
        return false;
    const int64_t *left = node_free(&s->nodes, seat->node);
    for (uint32_t i = 0; i < shape->demands_n; i++)
        if (shape->demands[i].column < 0 || left[shape->demands[i].column] < 0)
            return false;
    const struct device_table *devices = &s->nodes.nodes[seat->node].devices;
    struct device_bits bits = seat_devices(seat);
    for (uint32_t i = 0; i < devices->n; i++)
        if (device_bit(&bits, i) && !devices->all[i].healthy)
            return false;
    return !seat_lacks_devices(s, seat);
}

void places_drop_bad(struct state *s, struct gang *g)
{
    for (uint32_t i = 0; i < g->own->seats_n;) {
        if (seat_is_good(s, &s->seats[g->own->seats[i]]))
            i++;
        else
            admission_drop_held(s, g, i);
    }
}
