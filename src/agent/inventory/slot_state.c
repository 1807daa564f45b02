/* slot_state.c - see slot_state.h */
#include "agent/inventory/slot_state.h"

const char *slot_state_name(enum slot_state state)
{
    static const char *const names[] = {
#define X(name, text) [SLOT_##name] = text,
        SLOT_STATES(X)
#undef X
    };
    return names[state];
}

bool slot_is_open(const struct slot *s)
{
    return s->state == SLOT_OPEN;
}

bool slot_close(struct slot *s, enum slot_state state, const char *why)
{
    bool was_open = slot_is_open(s);
    if (state <= s->state)
        return false;
    s->state = state;
    s->why = why;
    return was_open;
}

void slot_close_unit(struct arena *a, struct slot *s, const struct unit *u)
{
    static const enum slot_state states[] = {[UNIT_HEALTHY] = SLOT_OPEN,
                                             [UNIT_SUSPECT] = SLOT_SUSPECT,
                                             [UNIT_DRAINING] = SLOT_DRAINING,
                                             [UNIT_PROBATION] = SLOT_PROBATION,
                                             [UNIT_FAILED] = SLOT_FAILED};
    const char *why = u->xid && states[u->health] != SLOT_OPEN ? arena_printf(a, "XID %u", u->xid) : NULL;
    (void)slot_close(s, states[u->health], why);
    if (u->gpu->lost)
        (void)slot_close(s, SLOT_LOST, why);
}

void slot_state_text(const struct slot *s, struct buf *out)
{
    buf_text(out, slot_state_name(s->state));
    if (s->why)
        buf_printf(out, " (%s)", s->why);
}

uint32_t slots_open(const struct slot *slots, uint32_t n)
{
    uint32_t open_n = 0;
    for (uint32_t i = 0; i < n; i++)
        open_n += slot_is_open(&slots[i]);
    return open_n;
}

static bool same_reason(const struct slot *a, const struct slot *b)
{
    return a->state == b->state && text_equal(a->why, b->why);
}

/* Slots of one unit stand together, and there are at most 768: looking back at all of them is cheap where most are open. */
static bool said_before(const struct slot *slots, uint32_t at)
{
    for (uint32_t i = at; i-- > 0;)
        if (same_reason(&slots[i], &slots[at]))
            return true;
    return false;
}

void slots_closed_text(const struct slot *slots, uint32_t n, struct buf *out)
{
    size_t begin = out->n;
    for (uint32_t i = 0; i < n && out->n - begin < SLOTS_TEXT; i++) {
        uint32_t same_n = 0;
        if (slot_is_open(&slots[i]) || said_before(slots, i))
            continue;
        for (uint32_t k = i; k < n; k++)
            same_n += same_reason(&slots[i], &slots[k]);
        buf_printf(out, "%s%u ", out->n > begin ? ", " : "", same_n);
        slot_state_text(&slots[i], out);
    }
}
