/* mig.c - the rules of MIG: places, engines, ids, life cycle. SOURCE data/gpu/mig.tsv */
#include "gpu/mig.h"
#include <string.h>
#include "base/collections/map.h"

/* ---- places ---- */

static uint16_t mask_of(uint8_t start, uint8_t units)
{
    return (uint16_t)(((1u << units) - 1) << start);
}

static uint16_t used_mask(const struct mig_state *s)
{
    uint16_t used = 0;
    for (int i = 0; i < MIG_GI_MAX; i++)
        if (s->instances[i].used)
            used |= mask_of(s->instances[i].start, s->instances[i].units);
    return used;
}

int mig_choose_start(const struct gpu_model *m, uint16_t starts)
{
    /* SOURCE recorded on 7-slice parts: 1g goes to 6, 4, 5, 0, 1, 2, 3; 2g to 4, 0, 2; 3g to 4, 0. Elsewhere from the left. */
    static const uint8_t eight[] = {6, 4, 5, 0, 1, 2, 3};
    if (m->mig_units == 8)
        for (size_t i = 0; i < sizeof eight; i++)
            if (starts & 1u << eight[i])
                return eight[i];
    for (int i = 0; i < MIG_UNITS_MAX; i++)
        if (starts & 1u << i)
            return i;
    return -1;
}

/* The hardware's number for an instance at this place: nodes of a binary tree over the memory slices, numbered from the root (0). */
static uint8_t instance_id(const struct gpu_model *m, uint8_t start, uint8_t units)
{
    /* 8 slices: 0 for all, 1 and 2 for halves, 3..6 for quarters, 7..14 for eighths. */
    return (uint8_t)(m->mig_units / units - 1 + start / units);
}

/* ---- engines ---- */

struct mig_engines mig_profile_engines(const struct mig_profile *p)
{
    return (struct mig_engines){p->decoder_n, p->encoder_n, p->jpeg_n, p->ofa_n};
}

static uint16_t larger(uint16_t a, uint16_t b)
{
    return a > b ? a : b;
}

struct mig_engines mig_model_engines(const struct gpu_model *m)
{
    /* From the profiles, not from the model: a real driver tells only those. max_n of each fit by definition. */
    struct mig_engines all = {0};
    for (uint32_t i = 0; i < m->profiles_n; i++) {
        const struct mig_profile *p = &m->profiles[i];
        all.decoder_n = larger(all.decoder_n, (uint16_t)(p->decoder_n * p->max_n));
        all.encoder_n = larger(all.encoder_n, (uint16_t)(p->encoder_n * p->max_n));
        all.jpeg_n = larger(all.jpeg_n, (uint16_t)(p->jpeg_n * p->max_n));
        all.ofa_n = larger(all.ofa_n, (uint16_t)(p->ofa_n * p->max_n));
    }
    return all;
}

struct mig_engines mig_engines_sum(struct mig_engines a, struct mig_engines b)
{
    return (struct mig_engines){(uint16_t)(a.decoder_n + b.decoder_n), (uint16_t)(a.encoder_n + b.encoder_n),
                                (uint16_t)(a.jpeg_n + b.jpeg_n), (uint16_t)(a.ofa_n + b.ofa_n)};
}

bool mig_engines_fit(struct mig_engines used, struct mig_engines more, struct mig_engines all)
{
    struct mig_engines sum = mig_engines_sum(used, more);
    return sum.decoder_n <= all.decoder_n && sum.encoder_n <= all.encoder_n && sum.jpeg_n <= all.jpeg_n &&
           sum.ofa_n <= all.ofa_n;
}

static struct mig_engines used_engines(const struct mig_state *s, const struct gpu_model *m)
{
    struct mig_engines used = {0};
    for (int i = 0; i < MIG_GI_MAX; i++) {
        const struct mig_profile *p = s->instances[i].used ? mig_profile_by_id(m, s->instances[i].profile_id) : NULL;
        if (p)
            used = mig_engines_sum(used, mig_profile_engines(p));
    }
    return used;
}

uint16_t mig_free_starts(const struct mig_state *s, const struct gpu_model *m, const struct mig_profile *p)
{
    uint16_t used = used_mask(s), starts = 0;
    if (!s->mode || !mig_engines_fit(used_engines(s, m), mig_profile_engines(p), mig_model_engines(m)))
        return 0;
    for (uint8_t start = 0; start < MIG_UNITS_MAX; start++)
        if ((p->starts & 1u << start) && !(used & mask_of(start, p->units)))
            starts |= (uint16_t)(1u << start);
    return starts;
}

uint32_t mig_remaining(const struct mig_state *s, const struct gpu_model *m, const struct mig_profile *p)
{
    struct mig_state copy = *s;
    uint32_t n = 0;
    uint8_t id;
    while (n < p->max_n && mig_create_instance(&copy, m, p->id, -1, &id) == MIG_OK)
        n++;
    return n;
}

/* ---- mode ---- */

static bool has_instances(const struct mig_state *s)
{
    for (int i = 0; i < MIG_GI_MAX; i++)
        if (s->instances[i].used)
            return true;
    return false;
}

enum mig_result mig_set_mode(struct mig_state *s, const struct gpu_model *m, bool on, bool busy)
{
    if (!m->mig_slices)
        return MIG_NOT_SUPPORTED;
    if (!on && has_instances(s))
        return MIG_IN_USE;
    s->mode_pending = on;
    if (!busy && !m->mig_needs_reset)
        s->mode = on;
    return MIG_OK;
}

void mig_reset(struct mig_state *s, const struct gpu_model *m)
{
    memset(s->instances, 0, sizeof s->instances);
    s->mode = m->mig_slices ? s->mode_pending : 0;
}

/* ---- GPU instances ---- */

struct mig_instance *mig_find_instance(struct mig_state *s, uint8_t id)
{
    for (int i = 0; i < MIG_GI_MAX; i++)
        if (s->instances[i].used && s->instances[i].id == id)
            return &s->instances[i];
    return NULL;
}

enum mig_result mig_create_instance(struct mig_state *s, const struct gpu_model *m, uint8_t profile_id, int start,
                                    uint8_t *ret_id)
{
    if (!m->mig_slices || !s->mode)
        return MIG_NOT_SUPPORTED;
    const struct mig_profile *p = mig_profile_by_id(m, profile_id);
    if (!p || start >= MIG_UNITS_MAX || (start >= 0 && !(p->starts & 1u << start)))
        return MIG_INVALID_ARGUMENT;
    uint16_t starts = mig_free_starts(s, m, p);
    if (start >= 0)
        starts &= (uint16_t)(1u << start);
    if (!starts)
        return MIG_INSUFFICIENT_RESOURCES;
    for (int i = 0; i < MIG_GI_MAX; i++) {
        if (s->instances[i].used)
            continue;
        uint8_t at = (uint8_t)mig_choose_start(m, starts);
        s->instances[i] = (struct mig_instance){.used = 1,
                                                .id = instance_id(m, at, p->units),
                                                .profile_id = p->id,
                                                .start = at,
                                                .units = p->units};
        s->created_n++;
        *ret_id = s->instances[i].id;
        return MIG_OK;
    }
    return MIG_INSUFFICIENT_RESOURCES;
}

enum mig_result mig_destroy_instance(struct mig_state *s, uint8_t id)
{
    struct mig_instance *gi = mig_find_instance(s, id);
    if (!gi)
        return MIG_NOT_FOUND;
    for (int i = 0; i < MIG_CI_MAX; i++)
        if (gi->computes[i].used)
            return MIG_IN_USE;
    memset(gi, 0, sizeof *gi);
    return MIG_OK;
}

/* ---- compute instances ---- */

uint8_t mig_compute_starts(uint8_t instance_slices, uint8_t slices)
{
    /* SOURCE nvidia-smi mig -lcipp: 1c anywhere, 2c at even slices, 3c at 0 and 4 (not in 4g), 4c and 7c at 0. */
    static const uint8_t step_of[8] = {[1] = 1, [2] = 2, [3] = 4, [4] = 8, [7] = 8};
    uint8_t starts = 0;
    if (slices > 7 || slices > instance_slices || !step_of[slices])
        return 0;
    if (slices == instance_slices)
        return 1;
    if (slices == 3 && instance_slices < 7)
        return 0;
    for (uint8_t start = 0; start + slices <= instance_slices; start = (uint8_t)(start + step_of[slices]))
        starts |= (uint8_t)(1u << start);
    return starts;
}

uint8_t mig_free_compute_starts(const struct mig_instance *gi, uint8_t instance_slices, uint8_t slices)
{
    uint8_t used = 0, starts = 0, legal = mig_compute_starts(instance_slices, slices);
    for (int i = 0; i < MIG_CI_MAX; i++)
        if (gi->computes[i].used)
            used |= (uint8_t)mask_of(gi->computes[i].start, gi->computes[i].slices);
    for (uint8_t start = 0; start < 8; start++)
        if ((legal & 1u << start) && !(used & mask_of(start, slices)))
            starts |= (uint8_t)(1u << start);
    return starts;
}

uint32_t mig_remaining_computes(const struct mig_instance *gi, uint8_t instance_slices, uint8_t slices)
{
    return (uint32_t)__builtin_popcount(mig_free_compute_starts(gi, instance_slices, slices));
}

struct mig_compute *mig_find_compute(struct mig_state *s, uint8_t instance_id, uint8_t compute_id)
{
    struct mig_instance *gi = mig_find_instance(s, instance_id);
    for (int i = 0; gi && i < MIG_CI_MAX; i++)
        if (gi->computes[i].used && gi->computes[i].id == compute_id)
            return &gi->computes[i];
    return NULL;
}

/* A name-based UUID: the same history gives the same one. */
static void make_uuid(uint8_t uuid[16], uint64_t seed, uint64_t created_n, uint8_t instance_id, uint8_t compute_id)
{
    uint64_t words[4] = {seed, created_n, instance_id, compute_id}, half[2];
    half[0] = hash_bytes(words, sizeof words, seed);
    half[1] = hash_bytes(words, sizeof words, half[0] + 1);
    memcpy(uuid, half, 16);
    uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x50);
    uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
}

enum mig_result mig_create_compute(struct mig_state *s, const struct gpu_model *m, uint8_t instance_id, uint8_t slices,
                                   int start, uint64_t seed, uint8_t *ret_id)
{
    struct mig_instance *gi = mig_find_instance(s, instance_id);
    if (!gi)
        return MIG_NOT_FOUND;
    const struct mig_profile *p = mig_profile_by_id(m, gi->profile_id);
    uint8_t legal = p ? mig_compute_starts(p->slices, slices) : 0;
    if (!legal || start >= 8 || (start >= 0 && !(legal & 1u << start)))
        return MIG_INVALID_ARGUMENT;
    uint8_t starts = mig_free_compute_starts(gi, p->slices, slices);
    if (start >= 0)
        starts &= (uint8_t)(1u << start);
    if (!starts)
        return MIG_INSUFFICIENT_RESOURCES;
    uint8_t id = 0;
    while (mig_find_compute(s, instance_id, id))
        id++;
    for (int i = 0; i < MIG_CI_MAX; i++) {
        if (gi->computes[i].used)
            continue;
        gi->computes[i] = (struct mig_compute){
            .used = 1, .id = id, .slices = slices, .start = (uint8_t)__builtin_ctz(starts)};
        make_uuid(gi->computes[i].uuid, seed, ++s->created_n, instance_id, id);
        *ret_id = id;
        return MIG_OK;
    }
    return MIG_INSUFFICIENT_RESOURCES;
}

enum mig_result mig_destroy_compute(struct mig_state *s, uint8_t instance_id, uint8_t compute_id)
{
    struct mig_compute *ci = mig_find_compute(s, instance_id, compute_id);
    if (!ci)
        return MIG_NOT_FOUND;
    if (ci->busy_n)
        return MIG_IN_USE;
    memset(ci, 0, sizeof *ci);
    return MIG_OK;
}
