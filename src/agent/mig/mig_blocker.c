/* mig_blocker.c - see mig_blocker.h */
#include "agent/mig/mig_blocker.h"
#include <stdio.h>
#include <stdlib.h>
#include "agent/inventory/slot_id.h"

#define NAMED_MAX 4 /* in an error: the rest is a number */

void mig_blockers_free(struct mig_blockers *b)
{
    free(b->list);
    *b = (struct mig_blockers){0};
}

static bool is_there(const struct mig_blockers *b, const struct mig_blocker *one)
{
    for (uint32_t i = b->n; i-- > 0;) {
        const struct mig_blocker *o = &b->list[i];
        if (o->by == one->by && text_equal(o->unit, one->unit) && text_equal(o->pod, one->pod) && text_equal(o->ns, one->ns))
            return true;
    }
    return false;
}

void mig_blockers_add(struct mig_blockers *b, const struct mig_blocker *one)
{
    if (is_there(b, one)) /* several slots of one pod */
        return;
    MEM_RESERVE(b->list, b->cap, b->n + 1);
    b->list[b->n++] = *one;
}

static struct mig_blocker blocker_of(enum mig_block by, const struct unit *u)
{
    struct mig_blocker one = {.by = by};
    (void)snprintf(one.gpu, sizeof one.gpu, "%s", u->gpu->uuid);
    (void)snprintf(one.unit, sizeof one.unit, "%s", u->uuid);
    if (u->mig)
        (void)snprintf(one.profile, sizeof one.profile, "%s", u->mig->profile);
    return one;
}

static uint32_t add_owners(struct mig_blockers *b, const struct unit *u, const struct inventory_snapshot *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; s && i < s->owners_n; i++) {
        const struct slot_owner *o = &s->owners[i];
        if (!slot_is_of(o->slot, u))
            continue;
        struct mig_blocker one = blocker_of(MIG_BLOCK_OWNER, u);
        (void)snprintf(one.ns, sizeof one.ns, "%s", o->ns);
        (void)snprintf(one.pod, sizeof one.pod, "%s", o->pod);
        mig_blockers_add(b, &one);
        n++;
    }
    return n;
}

static uint32_t processes_on(const struct unit *u)
{
    return u->mig ? u->mig->processes_n : u->gpu->processes_n;
}

void mig_blockers_add_unit(struct mig_blockers *b, const struct driver_gpu *gpu, const struct driver_mig *mig,
                           const struct inventory_snapshot *s, bool busy)
{
    const struct unit u = {.gpu = gpu, .mig = mig, .uuid = mig ? mig->uuid : gpu->uuid};
    if (add_owners(b, &u, s) > 0) /* processes of a container that is named are not another reason */
        return;
    const struct mig_blocker one = blocker_of(MIG_BLOCK_PROCESS, &u);
    if (busy || processes_on(&u))
        mig_blockers_add(b, &one);
}

void mig_blockers_add_refusal(struct mig_blockers *b, const struct driver_gpu *gpu, const struct inventory_snapshot *s)
{
    const struct unit whole = {.gpu = gpu, .uuid = gpu->uuid};
    const struct mig_blocker one = blocker_of(MIG_BLOCK_DRIVER, &whole);
    mig_blockers_add(b, &one);
    if (!gpu->mig_on)
        (void)add_owners(b, &whole, s);
    for (uint32_t i = 0; gpu->mig_on && i < gpu->migs_n; i++)
        (void)add_owners(b, &(struct unit){.gpu = gpu, .mig = &gpu->migs[i], .uuid = gpu->migs[i].uuid}, s);
}

bool mig_blocker_is_on(const struct mig_blocker *b, const char *gpu_uuid, const char *unit_uuid)
{
    if (text_equal(b->unit, unit_uuid))
        return true;
    return text_equal(b->unit, b->gpu) && text_equal(b->gpu, gpu_uuid);
}

static bool is_used(const struct unit *u, const struct inventory_snapshot *s)
{
    bool used = processes_on(u) > 0;
    for (uint32_t i = 0; i < s->owners_n && !used; i++)
        used = slot_is_of(s->owners[i].slot, u);
    return used;
}

/* WHY  a GPU in MIG mode without instances has no units, and processes on it are in none of them. */
static bool gpu_is_used(const struct mig_blocker *b, const struct inventory_snapshot *s)
{
    const struct driver_gpu *gpu = text_equal(b->unit, b->gpu) ? driver_reading_gpu(s->reading, b->gpu) : NULL;
    return gpu && gpu->processes_n;
}

bool mig_blockers_hold(const struct mig_blockers *b, const struct inventory_snapshot *s)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (gpu_is_used(&b->list[i], s))
            return true;
    for (uint32_t k = 0; k < s->units_n; k++) {
        const struct unit *u = &s->units[k];
        bool named = false;
        for (uint32_t i = 0; i < b->n && !named; i++)
            named = mig_blocker_is_on(&b->list[i], u->gpu->uuid, u->uuid);
        if (named && is_used(u, s))
            return true;
    }
    return false;
}

bool mig_blockers_seen(const struct mig_blockers *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (b->list[i].by != MIG_BLOCK_DRIVER)
            return true;
    return false;
}

void mig_blockers_error(const struct mig_blockers *b, struct err *e)
{
    _cleanup_buf_ struct buf list = {0};
    uint32_t named_n = b->n < NAMED_MAX ? b->n : NAMED_MAX, rest_n = b->n - named_n;
    for (uint32_t i = 0; i < named_n; i++) {
        const struct mig_blocker *one = &b->list[i];
        buf_printf(&list, "%s%s%s%s", i ? ", " : "", one->profile, *one->profile ? " " : "", one->unit);
        if (*one->pod)
            buf_printf(&list, " by %s/%s", one->ns, one->pod);
    }
    if (rest_n)
        buf_printf(&list, " and %u more", rest_n);
    err_set(e, E_CONFLICT, "in use: %s; end what runs there, or have it evicted", list.data);
}
