/* mig_plan.c - from a wish to steps */
#include "gpu/mig_plan.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include "gpu/mig_wish.h"

#define LAST_INSTANCE 0xff

/* ---- wishes to kinds ---- */

static int compare_kinds(const void *left, const void *right)
{
    const struct mig_kind *a = left, *b = right;
    if (a->profile->units != b->profile->units)
        return a->profile->units > b->profile->units ? -1 : 1;
    if (a->profile->slices != b->profile->slices)
        return a->profile->slices > b->profile->slices ? -1 : 1;
    if (a->profile->id != b->profile->id)
        return a->profile->id < b->profile->id ? -1 : 1;
    return a->slices > b->slices ? -1 : a->slices < b->slices;
}

/* Equal wishes are added up, wishes for none left out. Counts beyond 200 become 200: no GPU has as many. */
static int collect_kinds(const struct mig_wish *wishes, uint32_t wishes_n, struct mig_kind kinds[MIG_KINDS_MAX],
                         uint32_t *ret_n, struct err *e)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < wishes_n; i++) {
        uint32_t k = 0, more = wishes[i].n > 100 ? 100 : wishes[i].n;
        while (k < n && (kinds[k].profile != wishes[i].profile || kinds[k].slices != wishes[i].compute_slices))
            k++;
        if (!more)
            continue;
        if (k == MIG_KINDS_MAX)
            return err_set(e, E_LIMIT, "more than %d different MIG profiles for one GPU", MIG_KINDS_MAX);
        if (k == n)
            kinds[n++] = (struct mig_kind){wishes[i].profile, wishes[i].compute_slices, 0};
        kinds[k].n = (uint8_t)(kinds[k].n + more > 200 ? 200 : kinds[k].n + more);
    }
    if (n)
        qsort(kinds, n, sizeof *kinds, compare_kinds);
    *ret_n = n;
    return 0;
}

/* ---- steps ---- */

static void add_step(struct mig_plan *plan, struct mig_step step)
{
    assert(plan->steps_n < MIG_STEPS_MAX);
    plan->steps[plan->steps_n++] = step;
}

static void add_destroy_compute(struct mig_plan *plan, const struct mig_instance *gi, const struct mig_compute *ci)
{
    plan->busy_n += ci->busy_n > 0;
    add_step(plan, (struct mig_step){.kind = MIG_STEP_DESTROY_CI,
                                     .instance_id = gi->id,
                                     .compute_id = ci->id,
                                     .profile_id = gi->profile_id,
                                     .start = ci->start,
                                     .slices = ci->slices,
                                     .busy = ci->busy_n > 0});
}

static void add_destroy_instance(struct mig_plan *plan, const struct mig_instance *gi)
{
    add_step(plan, (struct mig_step){.kind = MIG_STEP_DESTROY_GI,
                                     .instance_id = gi->id,
                                     .profile_id = gi->profile_id,
                                     .start = gi->start});
}

static void add_create_compute(struct mig_plan *plan, uint8_t instance_id, uint8_t profile_id, uint8_t slices, uint8_t start)
{
    add_step(plan, (struct mig_step){.kind = MIG_STEP_CREATE_CI,
                                     .instance_id = instance_id,
                                     .profile_id = profile_id,
                                     .start = start,
                                     .slices = slices});
}

/* What is in use goes first: when the driver refuses that, nothing else is lost yet. */
static void add_destroys(struct mig_plan *plan, const struct mig_state *now, const struct mig_found *found)
{
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < MIG_GI_MAX; i++) {
            const struct mig_instance *gi = &now->instances[i];
            for (uint32_t c = 0; gi->used && c < MIG_CI_MAX; c++) {
                const struct mig_compute *ci = &gi->computes[c];
                bool kept = found->kept[i] & 1u << c;
                if (ci->used && !kept && (ci->busy_n > 0) == (pass == 0))
                    add_destroy_compute(plan, gi, ci);
                plan->kept_n += ci->used && kept && pass == 0;
            }
            if (pass == 1 && gi->used && !found->instance_kept[i])
                add_destroy_instance(plan, gi);
        }
}

static void add_creates(struct mig_plan *plan, const struct mig_state *now, const struct mig_found *found)
{
    for (uint32_t pass = 0; pass < 2; pass++) /* into GPU instances that stay, then new ones */
        for (uint32_t r = 0; r < found->rooms_n; r++) {
            const struct mig_room *room = &found->rooms[r];
            bool is_new = room->instance == 0xff;
            if (is_new != (pass == 1))
                continue;
            if (is_new)
                add_step(plan, (struct mig_step){.kind = MIG_STEP_CREATE_GI,
                                                 .instance_id = LAST_INSTANCE,
                                                 .profile_id = room->profile->id,
                                                 .start = room->start});
            for (uint32_t i = 0; i < found->places_n; i++)
                if (found->places[i].room == r)
                    add_create_compute(plan, is_new ? LAST_INSTANCE : now->instances[room->instance].id, room->profile->id,
                                       found->places[i].slices, found->places[i].start);
        }
}

/* Destroys what is left of a GPU whose mode goes off, or that has none. */
static void add_mode(struct mig_plan *plan, const struct mig_state *now, bool mode_on)
{
    if (mode_on ? !now->mode || !now->mode_pending : now->mode || now->mode_pending)
        add_step(plan, (struct mig_step){.kind = mode_on ? MIG_STEP_MODE_ON : MIG_STEP_MODE_OFF});
}

int mig_plan_make(const struct gpu_model *m, const struct mig_state *now, bool mode_on, const struct mig_wish *wishes,
                  uint32_t wishes_n, struct mig_plan *ret_plan, struct err *e)
{
    struct mig_kind kinds[MIG_KINDS_MAX];
    struct mig_found found = {0};
    uint32_t kinds_n = 0;
    int r = collect_kinds(wishes, wishes_n, kinds, &kinds_n, e);
    if (r < 0)
        return r;
    if (!mode_on && kinds_n)
        return err_set(e, E_INVALID, "MIG instances are wanted with MIG mode off");
    if (!m->profiles_n && mode_on)
        return err_set(e, E_INVALID, "%s has no MIG", m->name);
    if (mode_on && !mig_search(m, now, kinds, kinds_n, &found))
        return mig_wish_refuse(m, kinds, kinds_n, e);
    ret_plan->steps_n = ret_plan->busy_n = ret_plan->kept_n = 0;
    if (mode_on)
        add_mode(ret_plan, now, true);
    add_destroys(ret_plan, now, &found);
    if (!mode_on)
        add_mode(ret_plan, now, false);
    add_creates(ret_plan, now, &found);
    return 0;
}

/* ---- does it match ---- */

bool mig_plan_matches(const struct gpu_model *m, const struct mig_state *now, bool mode_on, const struct mig_wish *wishes,
                      uint32_t wishes_n)
{
    struct mig_kind kinds[MIG_KINDS_MAX];
    uint32_t kinds_n = 0;
    if (now->mode != mode_on || now->mode_pending != mode_on || collect_kinds(wishes, wishes_n, kinds, &kinds_n, NULL) < 0)
        return false;
    for (uint32_t i = 0; i < MIG_GI_MAX; i++) {
        const struct mig_instance *gi = &now->instances[i];
        uint32_t computes_n = 0;
        for (uint32_t c = 0; gi->used && c < MIG_CI_MAX; c++) {
            if (!gi->computes[c].used)
                continue;
            uint32_t k = 0;
            while (k < kinds_n && (kinds[k].profile->id != gi->profile_id || kinds[k].slices != gi->computes[c].slices))
                k++;
            if (k == kinds_n || !kinds[k].n)
                return false;
            kinds[k].n--;
            computes_n++;
        }
        if (gi->used && !computes_n)
            return false;
    }
    for (uint32_t k = 0; k < kinds_n; k++)
        if (kinds[k].n)
            return false;
    return true;
}

/* ---- back to a recorded layout ---- */

static const struct mig_instance *instance_at(const struct mig_state *s, const struct mig_instance *like)
{
    for (uint32_t i = 0; i < MIG_GI_MAX; i++)
        if (s->instances[i].used && s->instances[i].profile_id == like->profile_id && s->instances[i].start == like->start)
            return &s->instances[i];
    return NULL;
}

static const struct mig_compute *compute_at(const struct mig_instance *gi, const struct mig_compute *like)
{
    for (uint32_t c = 0; gi && c < MIG_CI_MAX; c++)
        if (gi->computes[c].used && gi->computes[c].slices == like->slices && gi->computes[c].start == like->start)
            return &gi->computes[c];
    return NULL;
}

void mig_plan_restore(const struct gpu_model *m, const struct mig_state *now, const struct mig_state *recorded,
                      struct mig_plan *ret_plan)
{
    ret_plan->steps_n = ret_plan->busy_n = ret_plan->kept_n = 0;
    if (recorded->mode)
        add_mode(ret_plan, now, true);
    for (uint32_t i = 0; i < MIG_GI_MAX; i++) {
        const struct mig_instance *gi = &now->instances[i], *old = gi->used ? instance_at(recorded, gi) : NULL;
        for (uint32_t c = 0; gi->used && c < MIG_CI_MAX; c++)
            if (gi->computes[c].used && !compute_at(old, &gi->computes[c]))
                add_destroy_compute(ret_plan, gi, &gi->computes[c]);
            else if (gi->computes[c].used)
                ret_plan->kept_n++;
        if (gi->used && !old)
            add_destroy_instance(ret_plan, gi);
    }
    if (!recorded->mode)
        add_mode(ret_plan, now, false);
    for (uint32_t i = 0; recorded->mode && i < MIG_GI_MAX; i++) {
        const struct mig_instance *old = &recorded->instances[i], *gi = old->used ? instance_at(now, old) : NULL;
        if (old->used && !gi)
            add_step(ret_plan, (struct mig_step){.kind = MIG_STEP_CREATE_GI,
                                                 .instance_id = LAST_INSTANCE,
                                                 .profile_id = old->profile_id,
                                                 .start = old->start});
        for (uint32_t c = 0; old->used && c < MIG_CI_MAX; c++)
            if (old->computes[c].used && !compute_at(gi, &old->computes[c]))
                add_create_compute(ret_plan, gi ? gi->id : LAST_INSTANCE, old->profile_id, old->computes[c].slices,
                                   old->computes[c].start);
    }
}

/* ---- words and deeds of a step ---- */

static void compute_text(const struct gpu_model *m, const struct mig_step *step, char name[32])
{
    const struct mig_profile *p = m ? mig_profile_by_id(m, step->profile_id) : NULL;
    if (p)
        mig_compute_name(p, step->slices, name);
    else
        snprintf(name, 32, "%uc of profile %u", (unsigned)step->slices, (unsigned)step->profile_id);
}

void mig_step_text(const struct gpu_model *m, const struct mig_step *step, char ret_text[96])
{
    const struct mig_profile *p = m ? mig_profile_by_id(m, step->profile_id) : NULL;
    const char *name = p ? p->name : "unknown profile";
    char compute[32], instance[16] = "new";
    compute_text(m, step, compute);
    if (step->instance_id != LAST_INSTANCE)
        snprintf(instance, sizeof instance, "%u", (unsigned)step->instance_id);
    switch (step->kind) {
    case MIG_STEP_MODE_ON:
        snprintf(ret_text, 96, "MIG mode on");
        break;
    case MIG_STEP_MODE_OFF:
        snprintf(ret_text, 96, "MIG mode off");
        break;
    case MIG_STEP_DESTROY_CI:
        snprintf(ret_text, 96, "destroy compute instance %s/%u (%s%s)", instance, (unsigned)step->compute_id, compute,
                 step->busy ? ", in use" : "");
        break;
    case MIG_STEP_DESTROY_GI:
        snprintf(ret_text, 96, "destroy GPU instance %s (%s at %u)", instance, name, (unsigned)step->start);
        break;
    case MIG_STEP_CREATE_GI:
        snprintf(ret_text, 96, "create GPU instance %s at %u", name, (unsigned)step->start);
        break;
    case MIG_STEP_CREATE_CI:
        snprintf(ret_text, 96, "create compute instance %s at %u in GPU instance %s", compute, (unsigned)step->start, instance);
        break;
    }
}

enum mig_result mig_step_do(struct mig_state *s, const struct gpu_model *m, const struct mig_step *step, bool busy,
                            uint64_t seed, uint8_t *last)
{
    uint8_t id, instance_id = step->instance_id == LAST_INSTANCE ? *last : step->instance_id;
    switch (step->kind) {
    case MIG_STEP_MODE_ON:
    case MIG_STEP_MODE_OFF:
        return mig_set_mode(s, m, step->kind == MIG_STEP_MODE_ON, busy);
    case MIG_STEP_DESTROY_CI:
        return mig_destroy_compute(s, instance_id, step->compute_id);
    case MIG_STEP_DESTROY_GI:
        return mig_destroy_instance(s, instance_id);
    case MIG_STEP_CREATE_GI:
        return mig_create_instance(s, m, step->profile_id, step->start, last);
    case MIG_STEP_CREATE_CI:
        return mig_create_compute(s, m, instance_id, step->slices, step->start, seed, &id);
    }
    return MIG_INVALID_ARGUMENT;
}
