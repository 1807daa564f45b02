/* core_booked.c - starts that are promised, as the object of the gang says it: written with the reason why it waits, read by whoever
 * begins anew */
#include "core_model.h"

static int8_t index_of(struct model *m, const char *const *names, int n, name_id name)
{
    const char *text = text_of(&m->life.w, name);
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], text))
            return (int8_t)i;
    die(m, "%s is promised, which is not there", text);
}

void booked_write(struct model *m, const struct plan_entry *e, int slot)
{
    struct m_gang *g = &m->api.gangs[slot];
    struct booking_record b;
    if (g->serial != m->life.seen.gangs[slot].serial)
        return;
    g->booked = (struct m_booked){0};
    if (!state_gang_booking(m->life.w.s, e->gang, &b))
        return;
    if (b.places_n > BOOKED_PLACES || b.quota_n > CHOICES)
        die(m, "%s is promised %u places and %u amounts of quota", text_of(&m->life.w, e->gang), b.places_n, b.quota_n);
    g->booked = (struct m_booked){
        .start_ms = b.start_ms, .basis = b.basis, .borrows = b.borrows, .places_n = b.places_n, .quota_n = b.quota_n};
    for (uint32_t i = 0; i < b.places_n; i++) {
        int node = (int)strtol(text_of(&m->life.w, b.places[i].node) + 1, NULL, 10);
        g->booked.places[i] = (struct m_booked_place){b.places[i].pod_set, node, b.places[i].count};
    }
    for (uint32_t i = 0; i < b.quota_n; i++)
        g->booked.quota[i] = (struct m_booked_quota){index_of(m, flavor_names, FLAVORS, b.quota[i].flavor),
                                                     index_of(m, resource_names, RES_N, b.quota[i].resource), b.quota[i].amount};
}

const struct booking_record *booked_record(struct world *w, const struct m_booked *b)
{
    struct booking_record *r = arena_zero(w->records, 1, sizeof *r);
    struct booked_place *places = arena_zero(w->records, BOOKED_PLACES, sizeof *places);
    struct booked_quota *quota = arena_zero(w->records, CHOICES, sizeof *quota);
    char node[16];
    for (uint32_t i = 0; i < b->places_n; i++) {
        snprintf(node, sizeof node, "n%d", b->places[i].node);
        places[i] = (struct booked_place){b->places[i].set, id(w, node), b->places[i].count};
    }
    for (uint32_t i = 0; i < b->quota_n; i++)
        quota[i] = (struct booked_quota){id(w, flavor_names[b->quota[i].flavor]), id(w, resource_names[b->quota[i].resource]),
                                         b->quota[i].amount};
    *r = (struct booking_record){b->start_ms, b->basis, b->borrows, places, quota, b->places_n, b->quota_n};
    return b->start_ms ? r : NULL;
}
