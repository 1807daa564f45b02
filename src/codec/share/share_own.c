/* share_own.c - limits capstan.dev/gpu-milli, gpu-memory, gpu-memory-milli of all shares together, and how many: capstan.dev/gpu-shares */
#include "codec/share/share.h"

static int64_t each(int64_t all, int64_t count)
{
    return all ? (all - 1) / count + 1 : 0;
}

int share_read_own(const struct share_input *in, struct share *share, struct share_fault *fault)
{
    int64_t count = in->amounts[AMOUNT_COUNT] ? in->amounts[AMOUNT_COUNT] : 1;
    if (count > SHARE_DEVICES_MOST)
        return share_wrong_amount(fault, AMOUNT_COUNT, "a pod has shares of at most %d GPUs", SHARE_DEVICES_MOST);
    share->count = count;
    share->milli = each(in->amounts[AMOUNT_MILLI], count);
    share->bytes = each(in->amounts[AMOUNT_MEMORY], count);
    share->memory_milli = each(in->amounts[AMOUNT_MEMORY_MILLI], count);
    share->slots = in->amounts[AMOUNT_GPU];
    if (!share->milli && !share->bytes && !share->memory_milli)
        return share_wrong_amount(fault, AMOUNT_COUNT, "write what each share is of: " GPU_SHARE_MILLI ", " GPU_SHARE_MEMORY " or both");
    if (share->milli > 1000)
        return share_wrong_amount(fault, AMOUNT_MILLI, "more than one GPU: write 1 to 1000, or for whole GPUs nvidia.com/gpu alone");
    if (share->memory_milli > 1000)
        return share_wrong_amount(fault, AMOUNT_MEMORY_MILLI, "more than the memory of one GPU: write 1 to 1000");
    if (share->bytes >> 20 > SHARE_MEMORY_MOST_MIB)
        return share_wrong_amount(fault, AMOUNT_MEMORY, "more memory than any GPU has: write what one share needs, as 8Gi");
    return 0;
}
