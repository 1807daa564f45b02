/* share_hami.c - nvidia.com/gpumem, nvidia.com/gpumem-percentage, nvidia.com/gpucores, each of each of nvidia.com/gpu GPUs */
#include "codec/share/share.h"

int share_read_hami(const struct share_input *in, struct share *share, struct share_fault *fault)
{
    int64_t memory = in->amounts[AMOUNT_HAMI_MEMORY], cores = in->amounts[AMOUNT_HAMI_CORES];
    int64_t percentage = in->amounts[AMOUNT_HAMI_PERCENTAGE];
    share->slots = in->amounts[AMOUNT_GPU];
    share->count = share->slots ? share->slots : 1;
    if (share->count > SHARE_DEVICES_MOST)
        return share_wrong_amount(fault, AMOUNT_GPU, "a pod has shares of at most %d GPUs", SHARE_DEVICES_MOST);
    if (memory > SHARE_MEMORY_MOST_MIB)
        return share_wrong_amount(fault, AMOUNT_HAMI_MEMORY, "more memory than any GPU has: it is in MiB, 8192 for 8 GiB");
    if (percentage > 100)
        return share_wrong_amount(fault, AMOUNT_HAMI_PERCENTAGE, "more than the memory of one GPU: write 1 to 100");
    if (cores > 100)
        return share_wrong_amount(fault, AMOUNT_HAMI_CORES, "more than one GPU: write 1 to 100, and the number of GPUs into nvidia.com/gpu");
    share->milli = cores * 10;
    share->bytes = memory << 20;
    share->memory_milli = memory ? 0 : percentage ? percentage * 10 : 1000;
    return 0;
}
