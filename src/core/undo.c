#include "core/undo.h"
#include "base/memory.h"

static void push(struct state *s, struct undo_step step)
{
    MEM_RESERVE(s->undo.steps, s->undo.cap, s->undo.n + 1);
    s->undo.steps[s->undo.n++] = step;
}

uint32_t undo_mark(const struct state *s)
{
    return s->undo.n;
}

void undo_seat(struct state *s, uint32_t seat)
{
    push(s, (struct undo_step){.kind = UNDO_SEAT_TAKE, .id = seat});
}

void undo_charge(struct state *s, uint32_t queue, name_id flavor, name_id resource, int64_t amount)
{
    quota_add(&s->quota, queue, flavor, resource, amount);
    push(s, (struct undo_step){.kind = UNDO_QUOTA, .id = queue, .flavor = flavor, .resource = resource, .amount = amount});
}

void undo_back(struct state *s, uint32_t mark)
{
    /* WHY  what is undone was never seen outside: it must not wake those who wait for room or quota */
    bool neighbours_changed = s->neighbours_changed;
    while (s->undo.n > mark) {
        struct undo_step *step = &s->undo.steps[--s->undo.n];
        if (step->kind == UNDO_SEAT_TAKE)
            seat_untake(s, step->id);
        else
            quota_add(&s->quota, step->id, step->flavor, step->resource, -step->amount);
    }
    s->neighbours_changed = neighbours_changed;
}

void undo_commit(struct state *s)
{
    s->undo.n = 0;
}
