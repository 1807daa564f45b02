/* preview.c - see preview.h */
#include "sched/ahead/preview.h"
#include "sched/ahead/look.h"
#include "sched/ahead/starts.h"
#include "sched/scheduler.h"

enum { TURNS_MAX = 64 };

/* Nothing that ends would help: more than its queue can ever have, or no flavor that takes it. */
static bool exceeds(const struct reason *reason)
{
    const char *why = explain_kueue_reason(reason);
    return text_equal(why, "ExceedsMaxQuota") || text_equal(why, "NoMatchingFlavor");
}

/* All that would help is to ask for less. */
static bool asks_for_too_much(const struct json *reason)
{
    const struct json *remedies = json_get(reason, "remedies");
    JSON_EACH (remedy, remedies) {
        bool lowers = false;
        JSON_EACH (change, json_get(remedy, "all"))
            lowers |= text_equal(json_get_text(change, "change", ""), "lower-minimum");
        if (!lowers)
            return false;
    }
    return remedies && remedies->n;
}

/* What the plan says of it. False: nothing yet. */
static bool answer_of(struct scheduler *s, const struct plan *plan, name_id gang, struct arena *a, struct preview *p)
{
    for (uint32_t i = 0; i < plan->entries_n; i++) {
        const struct plan_entry *entry = &plan->entries[i];
        _cleanup_buf_ struct buf text = {0}, tree = {0};
        if (entry->gang != gang)
            continue;
        switch (entry->effect) {
        case EFFECT_ADMIT:
        case EFFECT_BIND:
            p->verdict = PREVIEW_STARTS;
            return true;
        case EFFECT_RESERVE:
            p->verdict = PREVIEW_CHECKED;
            return true;
        case EFFECT_EXPLAIN:
            explain_sentence(&text, entry->reason, s->names);
            explain_json(&tree, entry->reason, s->names);
            p->message = arena_text(a, text.data);
            p->reason = json_parse(a, bytes_of(arena_text(a, tree.data)), NULL, NULL);
            p->verdict = json_get(p->reason, "impossible") || exceeds(entry->reason) || asks_for_too_much(p->reason) ? PREVIEW_NEVER
                                                                                                                     : PREVIEW_WAITS;
            return true;
        case EFFECT_EVICT:
        case EFFECT_MOVE:
            break;
        }
    }
    return false;
}

static void ask(struct scheduler *s, name_id gang, struct arena *a, struct preview *p)
{
    struct decide_config config = scheduler_decide_config(s);
    bool known = false;
    for (int turn = 0; !known && turn < TURNS_MAX; turn++) {
        struct plan plan = {0};
        decide(s->state, &config, loop_wall_ms(s->loop), s->cycle, &plan);
        known = answer_of(s, &plan, gang, a, p);
        arena_reset(s->cycle);
        if (!decide_has_work(s->state))
            break;
    }
    const struct reason *reason = known ? NULL : state_gang_reason(s->state, gang);
    struct plan_entry told = {.effect = EFFECT_EXPLAIN, .gang = gang, .reason = reason};
    if (reason)
        (void)answer_of(s, &(struct plan){.entries = &told, .entries_n = 1}, gang, a, p);
    p->position = state_gang_position(s->state, gang);
    if (p->verdict == PREVIEW_WAITS)
        starts_find(s, gang, &p->start_ms, &p->start_basis);
}

/* The first object's gang is the one that is asked about. */
static int take_in(struct scheduler *s, const struct json *objects, name_id *ret_gang, struct err *e)
{
    *ret_gang = 0;
    JSON_EACH (object, objects) {
        name_id gang;
        int r = look_take(s, object, &gang, e);
        if (r < 0)
            return r;
        *ret_gang = *ret_gang ? *ret_gang : gang;
    }
    return 0;
}

int preview_run(struct loop *l, struct kube_client *c, const struct policy *policy, const struct charge_policy *charge,
                const struct json *objects, int64_t timeout_ms, struct arena *a, struct preview *ret_preview, struct err *e)
{
    struct preview p = {.verdict = PREVIEW_UNKNOWN, .position = -1};
    struct scheduler *s;
    name_id gang;
    int r = look_begin(l, c, policy, charge, timeout_ms, &s, e);
    if (r == 0)
        r = take_in(s, objects, &gang, e);
    if (r == 0)
        ask(s, gang, a, &p);
    look_end(s, c);
    *ret_preview = p;
    return r;
}
