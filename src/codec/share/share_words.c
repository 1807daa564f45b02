/* share_words.c - what all forms have in common: names, amounts of memory, and how a fault is told */
#include "codec/share/share.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/amount.h"
#include "base/quantity.h"

const char *const share_notes[SHARE_NOTES_N] = {
    [NOTE_KAI_FRACTION] = "gpu-fraction", [NOTE_KAI_MEMORY] = "gpu-memory",   [NOTE_KAI_DEVICES] = "gpu-fraction-num-devices",
    [NOTE_KETI_REQUEST] = "GPUrequest",   [NOTE_KETI_LIMITS] = "GPUlimits",
};
const char *const share_amounts[SHARE_AMOUNTS_N] = {
    [AMOUNT_MILLI] = GPU_SHARE_MILLI,
    [AMOUNT_MEMORY] = GPU_SHARE_MEMORY,
    [AMOUNT_MEMORY_MILLI] = GPU_SHARE_MEMORY_MILLI,
    [AMOUNT_COUNT] = GPU_SHARE_COUNT,
    [AMOUNT_HAMI_MEMORY] = "nvidia.com/gpumem",
    [AMOUNT_HAMI_PERCENTAGE] = "nvidia.com/gpumem-percentage",
    [AMOUNT_HAMI_CORES] = "nvidia.com/gpucores",
    [AMOUNT_GPU] = "nvidia.com/gpu",
    [AMOUNT_KETI] = "keti.com/mpsgpu",
};

static int wrong(struct share_fault *fault, const char *format, va_list args)
{
    (void)vsnprintf(fault->text, sizeof fault->text, format, args); /* cut: a sentence */
    return -E_INVALID;
}

int share_wrong_note(struct share_fault *fault, enum share_note note, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    *fault = (struct share_fault){.note = share_notes[note]};
    int r = wrong(fault, format, args);
    va_end(args);
    return r;
}

int share_wrong_amount(struct share_fault *fault, enum share_amount amount, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    *fault = (struct share_fault){.resource = share_amounts[amount]};
    int r = wrong(fault, format, args);
    va_end(args);
    return r;
}

uint64_t share_mib(const char *text)
{
    struct quantity q;
    size_t digits = strspn(text, "0123456789");
    int64_t n;
    if (digits == 0 || digits > 12 || !bytes_int64((struct bytes){text, digits}, &n))
        return 0;
    const char *unit = text + digits;
    if (!*unit)
        return (uint64_t)n;
    if (text_equal(unit, "G") || text_equal(unit, "g"))
        return (uint64_t)n << 10;
    if (text_equal(unit, "M") || text_equal(unit, "m"))
        return (uint64_t)n;
    return quantity_parse(bytes_of(text), &q, NULL) == 0 ? (uint64_t)quantity_whole(q) >> 20 : 0;
}
