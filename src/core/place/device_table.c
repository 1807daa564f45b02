#include "core/place/device_table.h"
#include "base/memory.h"
#include "core/device_list.h"

void device_table_fini(struct device_table *t)
{
    free(t->all);
    free(t->spans);
    free(t->used);
    free(t->gpus);
    free(t->gpu_of);
    free(t->left);
    *t = (struct device_table){0};
}

static int compare_names(const struct intern *names, name_id a, name_id b)
{
    return a == b ? 0 : bytes_compare(bytes_of(intern_name(names, a)), bytes_of(intern_name(names, b)));
}

static int compare(const struct device *a, const struct device *b, const struct intern *names)
{
    int r = compare_names(names, a->resource, b->resource);
    if (r)
        return r;
    if (a->gpu != b->gpu)
        return a->gpu < b->gpu ? -1 : 1;
    return compare_names(names, a->id, b->id);
}

/* Sorted copy; insertion sort: node agents list devices in order already. */
static uint16_t sorted_copy(struct device *to, const struct device *all, uint32_t n, const struct intern *names)
{
    uint16_t count = 0;
    for (uint32_t i = 0; i < n && count < LIMIT_DEVICES_PER_NODE; i++) {
        uint32_t at = count;
        while (at && compare(&all[i], &to[at - 1], names) < 0)
            at--;
        if (at && compare(&all[i], &to[at - 1], names) == 0)
            continue;
        memmove(&to[at + 1], &to[at], (count - at) * sizeof *to);
        to[at] = all[i];
        count++;
    }
    return count;
}

bool device_table_differs(const struct device_table *t, const struct device *all, uint32_t n, const struct intern *names)
{
    if (!n && !t->n)
        return false;
    struct device sorted[LIMIT_DEVICES_PER_NODE + 1]; /* 12 KB of stack */
    uint16_t count = sorted_copy(sorted, all, n, names);
    if (count != t->n)
        return true;
    for (uint16_t i = 0; i < count; i++) {
        if (compare(&sorted[i], &t->all[i], names) || sorted[i].link_group != t->all[i].link_group ||
            sorted[i].healthy != t->all[i].healthy || sorted[i].unit != t->all[i].unit || sorted[i].parts != t->all[i].parts ||
            sorted[i].memory_mib != t->all[i].memory_mib)
            return true;
    }
    return false;
}

static void count_left(struct device_table *t, uint16_t at)
{
    struct gpu_ledger *g = &t->gpus[at];
    int64_t memory = gpu_memory(g);
    bool overdrawn = g->taken >= g->parts || g->taken_mib > memory;
    uint16_t left = g->whole_n || overdrawn ? 0 : (uint16_t)(g->parts - g->taken);
    int64_t memory_left = g->taken_mib < memory ? (memory - g->taken_mib) * 1000 / memory : 0;
    uint16_t room = memory_left < left ? (uint16_t)memory_left : left;
    t->left_all += (uint32_t)left - t->left[at];
    t->room_all += (uint32_t)room - g->room;
    t->left[at] = left;
    g->room = room;
}

static void count_free(struct device_table *t)
{
    t->left_most = 0;
    for (uint16_t i = 0; i < t->gpus_n; i++)
        t->left_most = t->left[i] > t->left_most ? t->left[i] : t->left_most;
    for (uint16_t s = 0; s < t->spans_n; s++) {
        struct device_span *span = &t->spans[s];
        span->free_n = 0;
        for (uint16_t i = span->first; i < span->first + span->n; i++)
            span->free_n += device_is_free(t, i);
    }
}

/* Devices in parts of one GPU, should there be several, are drawn from the same ledger. */
static void make_ledger(struct device_table *t)
{
    t->gpus = mem_zero(t->n, sizeof *t->gpus);
    t->gpu_of = mem_zero(t->n, sizeof *t->gpu_of);
    t->left = mem_zero(t->n, sizeof *t->left);
    for (uint16_t i = 0; i < t->n; i++) {
        uint16_t at = 0;
        while (at < t->gpus_n && t->gpus[at].gpu != t->all[i].gpu)
            at++;
        t->gpu_of[i] = at;
        t->gpus_n += at == t->gpus_n;
        t->gpus[at].gpu = t->all[i].gpu;
        if (t->all[i].parts && !t->gpus[at].parts && t->all[i].healthy)
            t->gpus[at].parts = t->all[i].parts;
        if (t->all[i].memory_mib)
            t->gpus[at].memory_mib = t->all[i].memory_mib;
    }
    for (uint16_t at = 0; at < t->gpus_n; at++)
        count_left(t, at);
}

/* Devices of a GPU stand side by side. */
static bool has_gpus_apart(const struct device_table *t, const struct device_span *span)
{
    for (uint32_t i = span->first + 1u; i < (uint32_t)span->first + span->n; i++)
        if (t->all[i].gpu == t->all[i - 1].gpu)
            return false;
    return true;
}

static bool is_alike(const struct device_table *t, const struct device_span *span)
{
    for (uint32_t i = span->first; i < (uint32_t)span->first + span->n; i++)
        if (t->all[i].link_group != t->all[span->first].link_group)
            return false;
    return !span->has_units && has_gpus_apart(t, span);
}

void device_table_set(struct device_table *t, const struct device *all, uint32_t n, const struct intern *names)
{
    device_table_fini(t);
    if (!n)
        return;
    t->all = mem_alloc(((n < LIMIT_DEVICES_PER_NODE ? n : LIMIT_DEVICES_PER_NODE) + 1) * sizeof *t->all);
    t->n = sorted_copy(t->all, all, n, names);
    t->all = mem_grow(t->all, t->n, sizeof *t->all);
    t->used = mem_zero(1, sizeof *t->used);
    size_t cap = 0;
    bool in_parts = false;
    for (uint16_t i = 0; i < t->n; i++) {
        if (!i || t->all[i].resource != t->all[i - 1].resource) {
            MEM_RESERVE(t->spans, cap, t->spans_n + 1);
            t->spans[t->spans_n++] = (struct device_span){.resource = t->all[i].resource, .first = i};
        }
        t->spans[t->spans_n - 1].n++;
        t->spans[t->spans_n - 1].has_units |= t->all[i].unit != 0;
        t->spans[t->spans_n - 1].in_parts |= t->all[i].parts != 0;
        t->parts_at = t->all[i].parts ? (uint16_t)(t->spans_n - 1) : t->parts_at;
        in_parts |= t->all[i].parts != 0;
    }
    for (uint16_t i = 0; i < t->spans_n; i++)
        t->spans[i].alike = is_alike(t, &t->spans[i]);
    if (in_parts) {
        make_ledger(t);
        t->parts_of = t->spans[t->parts_at].resource;
        t->parts_alone = has_gpus_apart(t, &t->spans[t->parts_at]);
    }
    count_free(t);
}

const struct device_span *device_table_span(const struct device_table *t, name_id resource)
{
    for (uint16_t i = 0; i < t->spans_n; i++)
        if (t->spans[i].resource == resource)
            return &t->spans[i];
    return NULL;
}

int32_t device_table_find(const struct device_table *t, name_id resource, name_id id)
{
    const struct device_span *span = device_table_span(t, resource);
    for (uint32_t i = 0; span && i < span->n; i++)
        if (t->all[span->first + i].id == id)
            return span->first + (int32_t)i;
    return -1;
}

/* Free devices of one link group that are not chosen yet. */
static int64_t free_in(const struct device_table *t, const struct device_span *span, const struct device_bits *chosen, uint16_t link_group)
{
    int64_t n = 0;
    for (uint32_t i = span->first; i < (uint32_t)span->first + span->n; i++)
        n += t->all[i].link_group == link_group && device_is_free(t, i) && !device_bit(chosen, i);
    return n;
}

/* The same on the GPU of this device, in its link group; devices of a GPU stand side by side. */
static int64_t free_beside(const struct device_table *t, const struct device_span *span, const struct device_bits *chosen, uint32_t at)
{
    const struct device *one = &t->all[at];
    int64_t n = 0;
    while (at > span->first && t->all[at - 1].gpu == one->gpu)
        at--;
    for (; at < (uint32_t)span->first + span->n && t->all[at].gpu == one->gpu; at++)
        n += t->all[at].link_group == one->link_group && device_is_free(t, at) && !device_bit(chosen, at);
    return n;
}

/* The link group to take from next: the tightest that holds all that is wanted, else the fullest. -1: nothing is free. */
static int32_t best_group(const struct device_table *t, const struct device_span *span, const struct device_bits *chosen,
                          int64_t wanted)
{
    int32_t best = -1;
    int64_t best_free = 0;
    for (uint32_t i = span->first; i < (uint32_t)span->first + span->n; i++) {
        uint16_t group = t->all[i].link_group;
        if (i > span->first && t->all[i - 1].link_group == group)
            continue;
        int64_t n = free_in(t, span, chosen, group);
        if (!n)
            continue;
        bool better = best < 0;
        if (!better && (n >= wanted) != (best_free >= wanted))
            better = n >= wanted;
        else if (!better && n != best_free)
            better = n >= wanted ? n < best_free : n > best_free;
        else if (!better)
            better = group < best;
        if (better) {
            best = group;
            best_free = n;
        }
    }
    return best;
}

/* Inside a group: the GPU with the fewest free devices that holds the rest, else the one with the fewest: whole GPUs stay whole. */
static int32_t best_gpu(const struct device_table *t, const struct device_span *span, const struct device_bits *chosen,
                        uint16_t group, int64_t wanted)
{
    int32_t best = -1;
    int64_t best_free = 0;
    for (uint32_t i = span->first; i < (uint32_t)span->first + span->n; i++) {
        uint16_t gpu = t->all[i].gpu;
        if (t->all[i].link_group != group || (i > span->first && t->all[i - 1].gpu == gpu && t->all[i - 1].link_group == group))
            continue;
        int64_t n = free_beside(t, span, chosen, i);
        if (!n)
            continue;
        bool better = best < 0;
        if (!better && (n >= wanted) != (best_free >= wanted))
            better = n >= wanted;
        else if (!better)
            better = n < best_free || (n == best_free && gpu < best);
        if (better) {
            best = gpu;
            best_free = n;
        }
    }
    return best;
}

/* One share of the unit of which the fewest are chosen, of those of the one with the fewest free: whole units stay whole for other pods. */
static void choose_share(const struct device_table *t, const struct device_span *span, struct device_bits *chosen)
{
    int64_t best_chosen = INT64_MAX, best_free = INT64_MAX;
    uint32_t best = span->first, end = (uint32_t)span->first + span->n, next;
    for (uint32_t i = span->first; i < end; i = next) {
        uint32_t free_at = end;
        int64_t chosen_n = 0, free_n = 0;
        for (next = i; next < end && (next == i || (t->all[i].unit && t->all[next].unit == t->all[i].unit)); next++) {
            bool is_chosen = device_bit(chosen, next), is_left = device_is_free(t, next) && !is_chosen;
            chosen_n += is_chosen;
            free_at = is_left && !free_n ? next : free_at;
            free_n += is_left;
        }
        if (free_n && (chosen_n < best_chosen || (chosen_n == best_chosen && free_n < best_free))) {
            best_chosen = chosen_n;
            best_free = free_n;
            best = free_at;
        }
    }
    device_bit_set(chosen, best);
}

bool device_choose(const struct device_table *t, const struct device_span *span, int64_t wanted, struct device_bits *ret_bits)
{
    if (span->free_n < wanted)
        return false;
    if (span->alike) { /* what follows comes to the same */
        for (uint32_t i = span->first; i < (uint32_t)span->first + span->n && wanted > 0; i++)
            if (device_is_free(t, i)) {
                device_bit_set(ret_bits, i);
                wanted--;
            }
        return wanted <= 0;
    }
    struct device_bits chosen = {0};
    for (; span->has_units && wanted > 0; wanted--)
        choose_share(t, span, &chosen); /* as many are free: see above */
    while (wanted > 0) {
        int32_t group = best_group(t, span, &chosen, wanted);
        if (group < 0)
            return false;
        for (int32_t gpu; wanted > 0 && (gpu = best_gpu(t, span, &chosen, (uint16_t)group, wanted)) >= 0;) {
            for (uint32_t i = span->first; i < (uint32_t)span->first + span->n && wanted > 0; i++) {
                if (t->all[i].link_group != group || t->all[i].gpu != gpu || !device_is_free(t, i) || device_bit(&chosen, i))
                    continue;
                device_bit_set(&chosen, i);
                wanted--;
            }
        }
    }
    for (int i = 0; i < DEVICE_WORDS; i++)
        ret_bits->words[i] |= chosen.words[i];
    return true;
}

static int32_t bits_n(const struct device_table *t, const struct device_bits *bits)
{
    int32_t n = 0;
    for (uint32_t w = 0; w * 64 < t->n; w++)
        for (uint64_t left = bits->words[w]; left; left &= left - 1)
            n++;
    return n;
}

/* In the ledger of GPUs; returns those of the bits that are given whole, or with a share. */
static struct device_bits book(struct device_table *t, const struct device_bits *bits, const struct gpu_share *share, int sign)
{
    struct device_bits whole = *bits;
    for (uint32_t w = 0; w * 64 < t->n && t->gpus; w++)
        for (uint64_t left = bits->words[w]; left; left &= left - 1) {
            uint32_t at = w * 64 + (uint32_t)__builtin_ctzll(left);
            struct gpu_ledger *g = &t->gpus[t->gpu_of[at]];
            if (t->all[at].parts) {
                g->taken += share ? sign * (int64_t)share->parts : 0;
                g->taken_mib += share ? sign * device_share_mib(g, share) : 0;
                g->shares_n = (uint16_t)(g->shares_n + sign);
                whole.words[w] &= ~(left & -left);
            } else if (!device_bits_share(t, bits, t->gpu_of[at])) {
                g->whole_n = (uint16_t)(g->whole_n + sign);
            }
            count_left(t, t->gpu_of[at]);
        }
    return whole;
}

void device_take(struct device_table *t, const struct device_bits *bits, const struct gpu_share *share)
{
    struct device_bits whole = book(t, bits, share, 1);
    t->taken_n += bits_n(t, bits);
    for (int i = 0; i < DEVICE_WORDS; i++)
        t->used->words[i] |= whole.words[i];
    count_free(t);
}

void device_give(struct device_table *t, const struct device_bits *bits, const struct gpu_share *share)
{
    struct device_bits whole = book(t, bits, share, -1);
    t->taken_n -= bits_n(t, bits);
    for (int i = 0; i < DEVICE_WORDS; i++)
        t->used->words[i] &= ~whole.words[i];
    count_free(t);
}

void device_table_clear(struct device_table *t)
{
    for (uint16_t i = 0; i < t->gpus_n; i++) {
        struct gpu_ledger *g = &t->gpus[i];
        g->taken = g->taken_mib = 0;
        g->whole_n = g->shares_n = 0;
        count_left(t, i);
    }
    *t->used = (struct device_bits){0};
    t->taken_n = 0;
    count_free(t);
}

void device_text(struct buf *out, const struct device_table *t, const struct device_bits *bits, const struct intern *names)
{
    const char *last = NULL;
    for (uint32_t w = 0; w * 64 < t->n; w++)
        for (uint64_t left = bits->words[w]; left; left &= left - 1) {
            const uint32_t at = w * 64 + (uint32_t)__builtin_ctzll(left);
            if (at >= t->n)
                break;
            const struct device *d = &t->all[at];
            const char *resource = intern_name(names, d->resource);
            device_list_add(out, last, resource, intern_name(names, d->id));
            last = resource;
        }
}

void device_parse(const struct device_table *t, struct bytes text, const struct intern *names, struct device_bits *ret_bits)
{
    struct device_list l = {.rest = text};
    for (uint32_t n = 0; n < 2 * LIMIT_DEVICES_PER_NODE && device_list_next(&l); n++) {
        name_id resource = intern_find(names, l.resource), id = intern_find(names, l.id);
        int32_t found = resource && id ? device_table_find(t, resource, id) : -1;
        if (found >= 0)
            device_bit_set(ret_bits, (uint32_t)found);
    }
}
