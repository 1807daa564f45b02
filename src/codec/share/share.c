/* share.c - which form it is, and what becomes of the pod's requests */
#include "codec/share/share.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/amount.h"
#include "base/quantity.h"

bool share_is_resource(struct bytes resource)
{
    if (resource.n < sizeof "nvidia.com/gpum" || (resource.data[0] != 'n' && resource.data[0] != 'c'))
        return false;
    for (int i = 0; i < AMOUNT_GPU; i++)
        if (bytes_is(resource, share_amounts[i]))
            return true;
    return false;
}

static bool is_any(const struct share_input *in, enum share_amount first, enum share_amount last)
{
    for (int i = (int)first; i <= (int)last; i++)
        if (in->amounts[i])
            return true;
    return false;
}

int share_read(const struct share_input *in, struct share *ret_share, struct share_fault *ret_fault)
{
    bool own = is_any(in, AMOUNT_MILLI, AMOUNT_COUNT), hami = is_any(in, AMOUNT_HAMI_MEMORY, AMOUNT_HAMI_CORES);
    bool kai = in->notes[NOTE_KAI_FRACTION] || in->notes[NOTE_KAI_MEMORY] || in->notes[NOTE_KAI_DEVICES];
    bool keti = in->notes[NOTE_KETI_REQUEST] && in->amounts[AMOUNT_KETI];
    struct share share = {.form = own ? SHARE_OWN : hami ? SHARE_HAMI : kai ? SHARE_KAI : keti ? SHARE_KETI : SHARE_NONE, .count = 1};
    if (share.form == SHARE_NONE)
        return 0;
    enum share_note second = in->notes[NOTE_KAI_FRACTION] ? NOTE_KAI_FRACTION
                             : in->notes[NOTE_KAI_MEMORY] ? NOTE_KAI_MEMORY : NOTE_KAI_DEVICES;
    if (kai && (own || hami))
        return share_wrong_note(ret_fault, second, "the pod asks for a share by resources of its containers as well: write one of the two");
    if (own && hami)
        return share_wrong_amount(ret_fault, AMOUNT_MILLI, "the pod asks for a share by nvidia.com/gpumem or gpucores as well: write one of the two");
    if (keti && (own || hami || kai))
        return share_wrong_note(ret_fault, NOTE_KETI_REQUEST, "the pod asks for a share in another way as well: write one of the two");
    if (in->containers_n > 1)
        return share_wrong_amount(ret_fault, own ? AMOUNT_MILLI : AMOUNT_HAMI_MEMORY,
                                  "%u containers of the pod ask for shares of GPUs: write them into one container", in->containers_n);
    int r = own ? share_read_own(in, &share, ret_fault) : hami ? share_read_hami(in, &share, ret_fault)
            : kai ? share_read_kai(in, &share, ret_fault) : share_read_keti(in, &share, ret_fault);
    if (r < 0)
        return r;
    *ret_share = share;
    return 1;
}

/* ---- requests ---- */

static int by_resource(const void *left, const void *right)
{
    const struct amount *a = left, *b = right;
    return a->resource < b->resource ? -1 : a->resource > b->resource;
}

static bool is_shares(const struct intern *names, name_id resource)
{
    return share_is_resource(bytes_of(intern_name(names, resource)));
}

static void add(struct amount *list, uint32_t *n, struct intern *names, enum share_amount amount, int64_t value)
{
    if (value > 0)
        list[(*n)++] = (struct amount){intern_text_id(names, share_amounts[amount]), value};
}

void share_apply(const struct share *share, struct arena *a, struct intern *names, const struct amount **requests, uint32_t *requests_n,
                 const struct amount **ret_counted, uint32_t *ret_counted_n)
{
    struct amount *held = arena_alloc(a, (*requests_n + 4) * sizeof *held), *counted = arena_alloc(a, (*requests_n + 3) * sizeof *counted);
    uint32_t held_n = 0, counted_n = 0;
    for (uint32_t i = 0; i < *requests_n; i++) {
        counted[counted_n++] = (*requests)[i];
        if (!is_shares(names, (*requests)[i].resource))
            held[held_n++] = (*requests)[i];
    }
    add(held, &held_n, names, AMOUNT_MILLI, amount_times(share->milli, share->count));
    add(held, &held_n, names, AMOUNT_MEMORY, amount_times(share->bytes, share->count));
    add(held, &held_n, names, AMOUNT_MEMORY_MILLI, amount_times(share->memory_milli, share->count));
    add(held, &held_n, names, AMOUNT_COUNT, share->count > 1 ? share->count : 0);
    if (share->form == SHARE_KAI) {
        add(counted, &counted_n, names, AMOUNT_MILLI, amount_times(share->milli, share->count));
        add(counted, &counted_n, names, AMOUNT_MEMORY, amount_times(share->bytes, share->count));
    }
    qsort(held, held_n, sizeof *held, by_resource);
    qsort(counted, counted_n, sizeof *counted, by_resource);
    *requests = held;
    *requests_n = held_n;
    *ret_counted = counted;
    *ret_counted_n = counted_n;
}

/* ---- what does nothing ---- */

void share_unused(const struct share_input *in, const struct share *share, struct arena *a, const char *annotations, share_say *say,
                  void *ctx)
{
    if (in->notes[NOTE_KETI_REQUEST] && share->form != SHARE_KETI)
        say(ctx, arena_printf(a, "%s[GPUrequest]: has no effect: it counts beside a limit keti.com/mpsgpu", annotations));
    if (share->form == SHARE_HAMI && in->amounts[AMOUNT_HAMI_MEMORY] && in->amounts[AMOUNT_HAMI_PERCENTAGE])
        say(ctx, "spec.containers: nvidia.com/gpumem-percentage has no effect beside nvidia.com/gpumem");
    if (share->form != SHARE_NONE && !share->slots)
        say(ctx, arena_printf(a, "%s: the share is counted, but nothing hands the GPU to a container: write nvidia.com/gpu: 1 into its limits as "
                                 "well (nodes hand out a GPU several times where time-slicing or MPS is configured)",
                              share->form == SHARE_KAI ? annotations : "spec.containers"));
}
