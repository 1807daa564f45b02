/* mig_memory.c - see mig_memory.h */
#include "sim/node/mig_memory.h"
#include <stdio.h>
#include "sim/driver/driver_model.h"

#define GPUS_MAX 64

static void write_compute(const struct mig_compute *c, struct buf *out)
{
    buf_printf(out, " c%u,%u,%u,", c->id, c->slices, c->start);
    for (size_t i = 0; i < sizeof c->uuid; i++)
        buf_printf(out, "%02x", c->uuid[i]);
}

void mig_memory_write(const struct driver_reading *r, struct buf *out)
{
    for (uint32_t g = 0; g < r->gpus_n; g++) {
        const struct mig_state *s = r->gpus[g].mig;
        if (!s->mode)
            continue;
        buf_printf(out, "%sg%u,%llu", out->n ? " " : "", g, (unsigned long long)s->created_n);
        for (int i = 0; i < MIG_GI_MAX; i++) {
            const struct mig_instance *gi = &s->instances[i];
            if (!gi->used)
                continue;
            buf_printf(out, " i%u,%u,%u", gi->profile_id, gi->id, gi->start);
            for (int c = 0; c < MIG_CI_MAX; c++)
                if (gi->computes[c].used)
                    write_compute(&gi->computes[c], out);
        }
    }
}

struct restoring {
    const struct gpu_model *model;
    struct mig_state *states; /* of each GPU; mode 0: not named */
    uint32_t gpus_n;
    struct mig_state *gpu; /* the last one named */
    struct mig_instance *instance;
};

static bool read_gpu(struct restoring *r, const char *text)
{
    unsigned gpu;
    unsigned long long created_n;
    int end = 0;
    if (sscanf(text, "g%u,%llu%n", &gpu, &created_n, &end) != 2 || text[end] || gpu >= r->gpus_n || r->states[gpu].mode)
        return false;
    r->gpu = &r->states[gpu];
    r->instance = NULL;
    r->gpu->mode = r->gpu->mode_pending = 1;
    r->gpu->created_n = created_n;
    return true;
}

static bool read_instance(struct restoring *r, const char *text)
{
    unsigned profile, id, start;
    uint8_t made;
    int end = 0;
    if (!r->gpu || sscanf(text, "i%u,%u,%u%n", &profile, &id, &start, &end) != 3 || text[end] || profile > 255 ||
        id > 254 || start >= MIG_UNITS_MAX || mig_find_instance(r->gpu, (uint8_t)id))
        return false;
    uint64_t created_n = r->gpu->created_n;
    if (mig_create_instance(r->gpu, r->model, (uint8_t)profile, (int)start, &made) != MIG_OK)
        return false;
    r->gpu->created_n = created_n;
    r->instance = mig_find_instance(r->gpu, made);
    r->instance->id = (uint8_t)id;
    return true;
}

static bool read_compute(struct restoring *r, const char *text)
{
    unsigned id, slices, start;
    uint8_t made, uuid[16];
    int end = 0;
    if (!r->instance || sscanf(text, "c%u,%u,%u,%n", &id, &slices, &start, &end) != 3 || !end ||
        strlen(text + end) != 32 || id > 254 || slices > 255 || start > 255 ||
        mig_find_compute(r->gpu, r->instance->id, (uint8_t)id))
        return false;
    for (int i = 0; i < 16; i++) {
        unsigned byte;
        if (sscanf(text + end + i * 2, "%2x", &byte) != 1)
            return false;
        uuid[i] = (uint8_t)byte;
    }
    uint64_t created_n = r->gpu->created_n;
    if (mig_create_compute(r->gpu, r->model, r->instance->id, (uint8_t)slices, (int)start, 0, &made) != MIG_OK)
        return false;
    r->gpu->created_n = created_n;
    struct mig_compute *c = mig_find_compute(r->gpu, r->instance->id, made);
    c->id = (uint8_t)id;
    memcpy(c->uuid, uuid, sizeof uuid);
    return true;
}

int mig_memory_restore(struct driver *model_driver, const struct gpu_model *m, uint32_t gpus_n, const char *text,
                       struct err *e)
{
    struct restoring r = {m, mem_zero(GPUS_MAX, sizeof *r.states), gpus_n < GPUS_MAX ? gpus_n : GPUS_MAX, NULL, NULL};
    _cleanup_free_ char *copy = mem_text(text);
    _cleanup_free_ struct mig_state *states = r.states;
    char *save = NULL;
    if (text_equal(text, MIG_MEMORY_NONE))
        return 0;
    for (char *part = strtok_r(copy, " ", &save); part; part = strtok_r(NULL, " ", &save)) {
        bool good = *part == 'g' ? read_gpu(&r, part) : *part == 'i' ? read_instance(&r, part) : read_compute(&r, part);
        if (!good || m->mig_slices == 0)
            return err_set(e, E_INVALID, "'%.60s': no MIG instance that %s can have there", part, m->name);
    }
    for (uint32_t g = 0; g < r.gpus_n; g++)
        if (states[g].mode)
            driver_model_set_mig(model_driver, g, &states[g]);
    return 0;
}
