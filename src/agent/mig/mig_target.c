/* mig_target.c - a layout and one GPU */
#include "agent/mig/mig_target.h"
#include "agent/inventory/slot_id.h"

/* ---- layouts ---- */

const struct mig_layout *mig_target_copy(struct arena *a, const struct mig_layout *layout)
{
    struct mig_layout *copy = arena_zero(a, 1, sizeof *copy);
    struct mig_config_entry *entries = arena_zero(a, layout->entries_n, sizeof *entries);
    *copy = (struct mig_layout){arena_text(a, layout->name), entries, layout->entries_n};
    for (uint32_t i = 0; i < layout->entries_n; i++) {
        const struct mig_config_entry *from = &layout->entries[i];
        uint64_t *filters = arena_zero(a, from->filters_n, sizeof *filters);
        uint32_t *devices = arena_zero(a, from->devices_n, sizeof *devices);
        struct mig_config_wish *wishes = arena_zero(a, from->wishes_n, sizeof *wishes);
        for (uint32_t k = 0; k < from->filters_n; k++)
            filters[k] = from->filters[k];
        for (uint32_t k = 0; k < from->devices_n; k++)
            devices[k] = from->devices[k];
        for (uint32_t k = 0; k < from->wishes_n; k++)
            wishes[k] = (struct mig_config_wish){arena_text(a, from->wishes[k].profile), from->wishes[k].n};
        entries[i] = *from;
        entries[i].filters = filters;
        entries[i].devices = devices;
        entries[i].wishes = wishes;
    }
    return copy;
}

int mig_target_of(const struct mig_layout *layout, const struct driver_gpu *gpu, struct mig_target *ret_target, struct err *e)
{
    return mig_layout_for(layout, gpu, &ret_target->mode_on, ret_target->wishes, MIG_WISHES_MAX, &ret_target->wishes_n, e);
}

/* ---- use ---- */

static bool is_owned(const struct inventory_snapshot *s, const struct driver_gpu *gpu, const struct driver_mig *mig)
{
    const struct unit u = {.gpu = gpu, .mig = mig, .uuid = mig->uuid};
    for (uint32_t o = 0; s && o < s->owners_n; o++)
        if (slot_is_of(s->owners[o].slot, &u))
            return true;
    return false;
}

static const struct driver_mig *find_mig(const struct driver_gpu *gpu, uint8_t gi, uint8_t ci)
{
    for (uint32_t i = 0; i < gpu->migs_n; i++)
        if (gpu->migs[i].gi == gi && gpu->migs[i].ci == ci)
            return &gpu->migs[i];
    return NULL;
}

struct mig_state mig_target_state(const struct driver_gpu *gpu, struct inventory *i)
{
    struct mig_state s = *gpu->mig;
    const struct inventory_snapshot *known = i ? inventory_now(i) : NULL;
    for (int g = 0; g < MIG_GI_MAX; g++)
        for (int c = 0; c < MIG_CI_MAX; c++) {
            struct mig_compute *ci = &s.instances[g].computes[c];
            if (!s.instances[g].used || !ci->used || ci->busy_n)
                continue;
            const struct driver_mig *mig = find_mig(gpu, s.instances[g].id, ci->id);
            ci->busy_n = mig && (mig->processes_n || is_owned(known, gpu, mig));
        }
    return s;
}

void mig_target_blockers(const struct mig_plan *plan, const struct driver_gpu *gpu, struct inventory *i, struct mig_blockers *out)
{
    const struct inventory_snapshot *known = i ? inventory_now(i) : NULL;
    out->n = 0;
    for (uint32_t s = 0; s < plan->steps_n; s++) {
        const struct mig_step *step = &plan->steps[s];
        const struct driver_mig *mig =
            step->kind == MIG_STEP_DESTROY_CI && step->busy ? find_mig(gpu, step->instance_id, step->compute_id) : NULL;
        if (mig || step->kind == MIG_STEP_MODE_ON)
            mig_blockers_add_unit(out, gpu, mig, known, mig != NULL);
    }
}

uint64_t mig_target_linked(const struct driver_reading *r, const struct mig_plan *plan, const struct driver_gpu *gpu)
{
    const enum mig_step_kind change = gpu->mig_on ? MIG_STEP_MODE_OFF : MIG_STEP_MODE_ON; /* the other takes back what is pending */
    bool mode = false;
    for (uint32_t s = 0; s < plan->steps_n; s++)
        mode = mode || plan->steps[s].kind == change;
    return mode && (!gpu->geometry || gpu->geometry->mig_needs_reset) ? driver_linked_set(r, gpu) : 0;
}

void mig_target_linked_blockers(const struct driver_gpu *gpu, struct inventory *i, struct mig_blockers *out)
{
    const struct inventory_snapshot *known = i ? inventory_now(i) : NULL;
    uint32_t before_n = out->n;
    for (uint32_t k = 0; k < gpu->migs_n; k++)
        mig_blockers_add_unit(out, gpu, &gpu->migs[k], known, false);
    if (out->n == before_n) /* else the GPU's processes are those of its instances */
        mig_blockers_add_unit(out, gpu, NULL, known, false);
}

/* ---- plans ---- */

int mig_target_plan(const struct mig_target *t, const struct driver_gpu *gpu, const struct mig_state *now, bool mode_only,
                    struct mig_plan *ret_plan, struct err *e)
{
    static const struct gpu_model unknown = {.name = "this GPU"};
    const struct gpu_model *m = mig_geometry(gpu);
    bool mode_on = now->mode && now->mode_pending;
    if (t->mode_on && (mode_only || (!m && !t->wishes_n))) {
        *ret_plan = (struct mig_plan){.steps = {{.kind = MIG_STEP_MODE_ON}}, .steps_n = mode_on ? 0 : 1};
        return 0;
    }
    if (!m && t->mode_on)
        return err_set(e, E_INVALID, "the driver tells no MIG profiles of %s; turn its MIG mode on first (--mode-only)", gpu->name);
    return mig_plan_make(m ? m : &unknown, now, t->mode_on, t->wishes, t->wishes_n, ret_plan, e);
}

bool mig_target_reached(const struct mig_target *t, const struct driver_gpu *gpu, bool mode_only)
{
    static const struct gpu_model unknown = {.name = "this GPU"};
    const struct gpu_model *m = mig_geometry(gpu);
    const struct mig_state *s = gpu->mig;
    if (mode_only || (!t->mode_on && !s->mode))
        return s->mode == t->mode_on && s->mode_pending == t->mode_on;
    return mig_plan_matches(m ? m : &unknown, s, t->mode_on, t->wishes, t->wishes_n);
}

int mig_apply_plan(const struct driver_gpu *gpu, struct inventory *i, const struct mig_layout *layout, bool mode_only,
                   struct mig_plan *ret_plan, struct err *e)
{
    struct mig_target target;
    int r = mig_target_of(layout, gpu, &target, e);
    if (r <= 0)
        return r;
    *ret_plan = (struct mig_plan){.steps_n = 0};
    if (gpu->lost)
        return 1;
    struct mig_state now = mig_target_state(gpu, i);
    r = mig_target_plan(&target, gpu, &now, mode_only, ret_plan, e);
    if (r < 0) {
        (void)err_wrap(e, "layout '%s': GPU %u", layout->name, gpu->index); /* keeps the code */
        return r;
    }
    return 1;
}

static bool layout_names(const struct mig_layout *layout, uint32_t index)
{
    for (uint32_t i = 0; i < layout->entries_n; i++) {
        const struct mig_config_entry *entry = &layout->entries[i];
        if (entry->devices_all)
            return true;
        for (uint32_t k = 0; k < entry->devices_n; k++)
            if (entry->devices[k] == index)
                return true;
    }
    return false;
}

bool mig_apply_absent(const struct driver_reading *r, const struct mig_layout *layout, uint32_t *ret_index)
{
    for (uint32_t i = 0; i < layout->entries_n; i++) {
        const struct mig_config_entry *entry = &layout->entries[i];
        for (uint32_t k = 0; k < entry->devices_n; k++) {
            bool here = entry->devices[k] < LIMIT_NODE_GPUS && r->silent >> entry->devices[k] & 1;
            for (uint32_t g = 0; g < r->gpus_n; g++)
                here = here || r->gpus[g].index == entry->devices[k];
            *ret_index = entry->devices[k];
            if (!here)
                return true;
        }
    }
    return false;
}

int mig_apply_reaches(const struct driver_reading *r, const struct mig_layout *layout, struct err *e)
{
    for (uint32_t i = 0; i < LIMIT_NODE_GPUS; i++) {
        if (r->silent >> i & 1 && layout_names(layout, i))
            return err_set(e, E_GONE, "GPU %u does not answer its driver, and layout '%s' names it: reset it, or leave it out of devices",
                           i, layout->name);
    }
    for (uint32_t g = 0; g < r->gpus_n; g++) {
        const struct driver_gpu *gpu = &r->gpus[g];
        struct mig_target target;
        if (gpu->lost && mig_target_of(layout, gpu, &target, NULL) != 0)
            return err_set(e, E_GONE, "GPU %u (%s) is lost, and layout '%s' names it: reset it, or leave it out of devices", gpu->index,
                           gpu->uuid, layout->name);
    }
    return 0;
}

int mig_apply_assert(const struct driver_reading *r, const struct mig_layout *layout, bool mode_only, struct err *e)
{
    if (mig_apply_reaches(r, layout, e) < 0)
        return -E_GONE;
    for (uint32_t g = 0; g < r->gpus_n; g++) {
        const struct driver_gpu *gpu = &r->gpus[g];
        struct mig_target target;
        struct mig_plan plan;
        int selected = mig_target_of(layout, gpu, &target, e);
        if (selected < 0)
            return selected;
        if (!selected || mig_target_reached(&target, gpu, mode_only))
            continue;
        char text[96] = "";
        if (mig_target_plan(&target, gpu, gpu->mig, mode_only, &plan, e) < 0) {
            (void)err_wrap(e, "layout '%s': GPU %u", layout->name, gpu->index);
            return -E_CONFLICT;
        }
        if (plan.steps_n)
            mig_step_text(mig_geometry(gpu), &plan.steps[0], text);
        return err_set(e, E_CONFLICT, "GPU %u (%s) is not as layout '%s' says: %u steps are missing, the first: %s", gpu->index, gpu->name,
                       layout->name, plan.steps_n, text);
    }
    return 0;
}
