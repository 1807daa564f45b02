#include "core/cycle.h"
#include "base/memory.h"
#include "core/admission.h"

static struct plan_entry *entry(struct cycle *c, enum effect effect, const struct gang *g)
{
    struct plan *p = c->plan;
    if (p->entries_n == c->entries_cap) {
        uint32_t cap = c->entries_cap ? c->entries_cap * 2 : 64;
        struct plan_entry *grown = arena_alloc(c->a, cap * sizeof *grown);
        if (p->entries_n)
            memcpy(grown, p->entries, p->entries_n * sizeof *grown);
        p->entries = grown;
        c->entries_cap = cap;
    }
    struct plan_entry *e = &p->entries[p->entries_n++];
    *e = (struct plan_entry){.effect = effect, .gang = g->key};
    return e;
}

void cycle_admit(struct cycle *c, struct gang *g)
{
    struct plan_entry *e = entry(c, EFFECT_ADMIT, g);
    e->queue = g->queue ? g->queue->name : 0;
    e->choices_n = g->choices_n;
    struct flavor_choice *choices = arena_alloc(c->a, (g->choices_n + 1) * sizeof *choices);
    if (g->choices_n)
        memcpy(choices, g->choices, g->choices_n * sizeof *choices);
    e->choices = choices;
}

void cycle_bind(struct cycle *c, struct gang *g, uint32_t pod, uint32_t seat)
{
    struct state *s = c->s;
    pod_sit(s, pod, seat);
    s->pods[pod].assumed = true;
    const struct node *node = &s->nodes.nodes[s->seats[seat].node];
    struct plan_entry *e = entry(c, EFFECT_BIND, g);
    e->pod = s->pods[pod].key;
    e->pod_uid = s->pods[pod].uid;
    e->node = node->name;
    if (device_bits_any(&s->seats[seat].devices)) {
        buf_clear(&s->text);
        device_text(&s->text, &node->devices, &s->seats[seat].devices, s->names);
        e->devices = arena_text_n(c->a, s->text.data, s->text.n);
    }
    c->pods_left -= c->pods_left > 0;
}

void cycle_evict(struct cycle *c, struct gang *g, const struct reason *why)
{
    entry(c, EFFECT_EVICT, g)->reason = why;
    g->evict_sent = true;
}

void cycle_explain(struct cycle *c, struct gang *g, const struct reason *why)
{
    uint64_t hash = reason_hash(why);
    if (g->reason && g->reason_hash == hash)
        return;
    free(g->reason);
    g->reason = reason_copy(why);
    g->reason_hash = hash;
    entry(c, EFFECT_EXPLAIN, g)->reason = why;
}

void cycle_explained_away(struct gang *g)
{
    free(g->reason);
    g->reason = NULL;
    g->reason_hash = 0;
}
