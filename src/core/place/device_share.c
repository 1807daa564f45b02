/* device_share.c - shares of GPUs: which GPU has room for one, and for how many */
#include "core/place/device_table.h"

int64_t device_share_mib(const struct gpu_ledger *g, const struct gpu_share *share)
{
    return share->memory_mib + (gpu_memory(g) * share->memory_milli + 999) / 1000;
}

/* WHY  loops over the bits of the table: only seats with shares have devices of both kinds, and those have few */
bool device_bits_share(const struct device_table *t, const struct device_bits *bits, uint16_t at)
{
    const struct device_span *span = &t->spans[t->parts_at];
    for (uint32_t i = span->first; i < (uint32_t)span->first + span->n; i++)
        if (t->gpu_of[i] == at && device_bit(bits, i))
            return true;
    return false;
}

static bool slot_is_free(const struct device_table *t, uint32_t at)
{
    return t->all[at].healthy && !device_bit(t->used, at);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Such shares that the GPU of this device has room for. */
static uint64_t copies_of(const struct device_table *t, uint32_t device, const struct gpu_share *share, const struct share_slots *slots)
{
    const struct gpu_ledger *g = &t->gpus[t->gpu_of[device]];
    int64_t memory = gpu_memory(g), mib = device_share_mib(g, share);
    uint64_t left = t->all[device].healthy ? t->left[t->gpu_of[device]] : 0, copies = UINT32_MAX;
    if (!left || left < share->parts || (share->memory_mib && !g->memory_mib) || (mib && g->taken_mib + mib > memory))
        return 0;
    if (share->parts)
        copies = left < 2 * (uint64_t)share->parts ? 1 : left / share->parts;
    if (mib)
        copies = smaller(copies, (uint64_t)((memory - g->taken_mib) / mib));
    if (!slots)
        return copies;
    uint64_t free_n = 0;
    for (uint32_t i = slots->span->first; i < (uint32_t)slots->span->first + slots->span->n; i++)
        free_n += t->gpu_of[i] == t->gpu_of[device] && slot_is_free(t, i);
    return smaller(copies, free_n / slots->n);
}

bool device_share_fits(const struct device_table *t, uint32_t device, const struct gpu_share *share, const struct share_slots *slots)
{
    return copies_of(t, device, share, slots) != 0;
}

/* The most pods so that GPUs with these copies give each of them shares of n different ones. ORDER of copies makes no difference. */
static uint64_t pods_of(const uint64_t *copies, uint32_t copies_n, uint16_t n)
{
    uint64_t low = 0, high = 0;
    for (uint32_t i = 0; i < copies_n; i++)
        high = high + copies[i] < UINT32_MAX ? high + copies[i] : UINT32_MAX;
    high /= n;
    while (low < high) {
        uint64_t middle = (low + high + 1) / 2, sum = 0;
        for (uint32_t i = 0; i < copies_n; i++)
            sum += smaller(copies[i], middle);
        if (sum >= middle * n)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* WHY  apart: what is asked of each node most often, where all GPUs of a trace are shared. An ill one has nothing left. */
static uint64_t parts_room(const struct device_table *t, uint32_t parts)
{
    uint64_t room = 0;
    for (uint32_t i = 0; i < t->gpus_n; i++)
        if (t->left[i] >= parts)
            room += t->left[i] < 2 * parts ? 1 : t->left[i] / parts;
    return room;
}

uint64_t device_share_room(const struct device_table *t, const struct gpu_share *share, const struct share_slots *slots)
{
    const struct device_span *span = &t->spans[t->parts_at];
    uint64_t copies[LIMIT_DEVICES_PER_NODE], room = 0;
    if (share->n == 1 && share->parts && !share->memory_mib && !share->memory_milli && !slots && t->parts_alone)
        return parts_room(t, share->parts);
    for (uint32_t i = 0; i < span->n; i++)
        room += copies[i] = copies_of(t, span->first + i, share, slots);
    return share->n > 1 ? pods_of(copies, span->n, share->n) : room;
}

/* -1: there is none that is not chosen. */
static int32_t best_device(const struct device_table *t, const struct gpu_share *share, const struct share_slots *slots,
                           const struct device_bits *chosen)
{
    const struct device_span *span = &t->spans[t->parts_at];
    int32_t best = -1;
    uint64_t best_copies = 0;
    for (uint32_t i = span->first; i < (uint32_t)span->first + span->n; i++) {
        uint64_t copies = device_bits_share(t, chosen, t->gpu_of[i]) ? 0 : copies_of(t, i, share, slots);
        const struct gpu_ledger *g = &t->gpus[t->gpu_of[i]], *of_best = best < 0 ? NULL : &t->gpus[t->gpu_of[best]];
        uint16_t left = t->left[t->gpu_of[i]], best_left = best < 0 ? 0 : t->left[t->gpu_of[best]];
        if (!copies)
            continue;
        bool better = best < 0 || (share->n > 1 ? copies > best_copies : left < best_left);
        if (best >= 0 && share->n == 1 && left == best_left)
            better = g->memory_mib - g->taken_mib < of_best->memory_mib - of_best->taken_mib;
        if (better) {
            best = (int32_t)i;
            best_copies = copies;
        }
    }
    return best;
}

bool device_choose_share(const struct device_table *t, const struct gpu_share *share, const struct share_slots *slots, int32_t device,
                         struct device_bits *ret_bits)
{
    struct device_bits chosen = {0};
    for (uint32_t n = 0; n < share->n; n++) {
        int32_t at = device >= 0 ? device : best_device(t, share, slots, &chosen);
        if (at < 0 || !copies_of(t, (uint32_t)at, share, slots))
            return false;
        device_bit_set(&chosen, (uint32_t)at);
        uint32_t wanted = slots ? slots->n : 0;
        for (uint32_t i = slots ? slots->span->first : 0; wanted; i++)
            if (t->gpu_of[i] == t->gpu_of[at] && slot_is_free(t, i)) {
                device_bit_set(&chosen, i);
                wanted--;
            }
    }
    for (int i = 0; i < DEVICE_WORDS; i++)
        ret_bits->words[i] |= chosen.words[i];
    return true;
}
