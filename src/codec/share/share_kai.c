/* share_kai.c - annotations gpu-fraction or gpu-memory, and gpu-fraction-num-devices */
#include "codec/share/share.h"
#include "base/quantity.h"

/* "0.25": digits with a point, no sign, suffix or exponent. Thousandths, rounded up; -1: it is none. */
static int64_t fraction_of(const char *text)
{
    struct quantity q;
    if (!*text || strspn(text, "0123456789.") != strlen(text) || strlen(text) > 20 || quantity_parse(bytes_of(text), &q, NULL) < 0)
        return -1;
    return quantity_milli(q);
}

static bool whole(const char *text, int64_t *ret_n)
{
    return strspn(text, "0123456789") == strlen(text) && bytes_int64(bytes_of(text), ret_n) && *ret_n > 0;
}

int share_read_kai(const struct share_input *in, struct share *share, struct share_fault *fault)
{
    const char *fraction = in->notes[NOTE_KAI_FRACTION], *memory = in->notes[NOTE_KAI_MEMORY], *devices = in->notes[NOTE_KAI_DEVICES];
    int64_t mib = 0;
    share->slots = in->amounts[AMOUNT_GPU];
    if (!fraction && !memory)
        return share_wrong_note(fault, NOTE_KAI_DEVICES, "write gpu-fraction or gpu-memory as well: what the pod has of each GPU");
    if (fraction && memory)
        return share_wrong_note(fault, NOTE_KAI_MEMORY, "gpu-fraction is there as well, and is one of the memory too: write one of the two");
    if (devices && (!whole(devices, &share->count) || share->count > SHARE_DEVICES_MOST))
        return share_wrong_note(fault, NOTE_KAI_DEVICES, "write the number of GPUs, 1 to %d", SHARE_DEVICES_MOST);
    if (fraction) {
        share->milli = share->memory_milli = fraction_of(fraction);
        if (share->milli <= 0 || share->milli >= 1000)
            return share_wrong_note(fault, NOTE_KAI_FRACTION,
                                    "write a fraction between 0 and 1, as \"0.5\"; for whole GPUs the limit nvidia.com/gpu instead");
    } else {
        if (!whole(memory, &mib) || mib > SHARE_MEMORY_MOST_MIB)
            return share_wrong_note(fault, NOTE_KAI_MEMORY, "write MiB of one GPU, as \"8192\"");
        share->bytes = mib << 20;
    }
    if (share->slots && share->slots != share->count)
        return share_wrong_note(fault, fraction ? NOTE_KAI_FRACTION : NOTE_KAI_MEMORY,
                                "the containers ask for %lld of nvidia.com/gpu, and the shares are of %lld: write the same number, or no limit",
                                (long long)share->slots, (long long)share->count);
    return 0;
}
