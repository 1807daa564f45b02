/* share_keti.c - annotation GPUrequest beside a limit keti.com/mpsgpu: memory of the GPU whose MPS clients the pod's containers are */
#include "codec/share/share.h"

int share_read_keti(const struct share_input *in, struct share *share, struct share_fault *fault)
{
    uint64_t mib = share_mib(in->notes[NOTE_KETI_REQUEST]), most = in->notes[NOTE_KETI_LIMITS] ? share_mib(in->notes[NOTE_KETI_LIMITS]) : 0;
    if (!mib || mib > SHARE_MEMORY_MOST_MIB)
        return share_wrong_note(fault, NOTE_KETI_REQUEST, "write the memory of one GPU, as \"4Gi\"");
    if (in->notes[NOTE_KETI_LIMITS] && most < mib)
        return share_wrong_note(fault, NOTE_KETI_LIMITS, "less than GPUrequest: write at least as much");
    share->slots = in->amounts[AMOUNT_KETI];
    share->bytes = (int64_t)mib << 20;
    return 0;
}
