/* share.h - forms in which a pod asks for a share of a GPU: each is a codec from annotations and container resources to one struct share
 *
 *   own    limits capstan.dev/gpu-milli, gpu-memory, gpu-memory-milli, and gpu-shares for several: of all of them together
 *   HAMi   limits nvidia.com/gpumem (MiB), nvidia.com/gpumem-percentage, nvidia.com/gpucores (percent), of each of nvidia.com/gpu GPUs.
 *          No word of memory: all of it. No word of cores: none in particular
 *   KAI    annotations gpu-fraction, or gpu-memory (MiB); gpu-fraction-num-devices. A fraction is one of the memory as well
 *   KETI   limit keti.com/mpsgpu with annotation GPUrequest (as "4Gi"): memory of the one GPU of which the clients are
 *
 * What is wrong is refused with where it stands and what to write instead; two forms in one pod are, too.
 * SOURCE HAMi v2.9 (request names, defaults), KAI-Scheduler v0.17 (annotations), KETI GPU-Scheduler (GPUrequest, GPUlimits).
 */
#ifndef CODEC_SHARE_H
#define CODEC_SHARE_H
#include "base/arena.h"
#include "base/collections/intern.h"
#include "core/flow.h"

#define SHARE_MEMORY_MOST_MIB (1 << 20) /* of one GPU: none has more than 1 TiB */
#define SHARE_DEVICES_MOST 64

enum share_note { NOTE_KAI_FRACTION, NOTE_KAI_MEMORY, NOTE_KAI_DEVICES, NOTE_KETI_REQUEST, NOTE_KETI_LIMITS, SHARE_NOTES_N };
enum share_amount {
    AMOUNT_MILLI, AMOUNT_MEMORY, AMOUNT_MEMORY_MILLI, AMOUNT_COUNT, /* our own */
    AMOUNT_HAMI_MEMORY, AMOUNT_HAMI_PERCENTAGE, AMOUNT_HAMI_CORES,
    AMOUNT_GPU, AMOUNT_KETI,
    SHARE_AMOUNTS_N
};
extern const char *const share_notes[SHARE_NOTES_N];     /* keys of annotations */
extern const char *const share_amounts[SHARE_AMOUNTS_N]; /* names of resources */
/* One of the resources that are asked for with a share only. */
bool share_is_resource(struct bytes resource);

struct share_input {
    const char *notes[SHARE_NOTES_N];  /* NULL: absent */
    int64_t amounts[SHARE_AMOUNTS_N];  /* of all containers; 0: none */
    uint32_t containers_n;             /* that ask for resources of shares */
};
enum share_form { SHARE_NONE, SHARE_OWN, SHARE_HAMI, SHARE_KAI, SHARE_KETI };
struct share {
    enum share_form form;
    int64_t count;                       /* GPUs */
    int64_t milli, bytes, memory_milli;  /* of each of them */
    int64_t slots;                       /* devices of a plugin that its containers ask for; 0: nothing hands the GPU to them */
};
/* What is wrong. note or resource: where; the other NULL. */
struct share_fault {
    const char *note, *resource;
    char text[240];
};
struct json;
void share_input_of(const struct json *annotations, const struct json *pod_spec, struct share_input *ret_input); /* texts stay the tree's */
/* The container that asks for it, *ret_path: "containers[1]"; NULL and "containers[0]": none. */
const struct json *share_container_of(struct arena *a, const struct json *pod_spec, const char *resource, const char **ret_path);

/* 1: *ret_share; 0: it asks for no share; -E_INVALID: *ret_fault. */
int share_read(const struct share_input *in, struct share *ret_share, struct share_fault *ret_fault);
/* That of a pod or template, as a tree, for who only looks; false: it asks for none, or for one that is refused. */
bool share_of_pod(const struct json *pod, struct share *ret_share);
/* What is read and does nothing: says it with a path, as many times as there are. `annotations`: path of them, "metadata.annotations". */
typedef void share_say(void *ctx, const char *text);
void share_unused(const struct share_input *in, const struct share *share, struct arena *a, const char *annotations, share_say *say,
                  void *ctx);

/* MiB of "4Gi", "4G" (both GiB, as MPS counts), "512M", "4096" (MiB); 0: not understood. */
uint64_t share_mib(const char *text);

/* A pod's requests with a share: *requests become what nodes must hold. What quota counts instead of them in *ret_counted: what the form's
 * own dialect counts, which is what containers ask for, and of KAI, where they ask for nothing, the share. Sorted, in `a`. */
void share_apply(const struct share *share, struct arena *a, struct intern *names, const struct amount **requests, uint32_t *requests_n,
                 const struct amount **ret_counted, uint32_t *ret_counted_n);

/* The codecs. -E_INVALID: fault. */
int share_read_own(const struct share_input *in, struct share *share, struct share_fault *fault);
int share_read_hami(const struct share_input *in, struct share *share, struct share_fault *fault);
int share_read_kai(const struct share_input *in, struct share *share, struct share_fault *fault);
int share_read_keti(const struct share_input *in, struct share *share, struct share_fault *fault);
int share_wrong_note(struct share_fault *fault, enum share_note note, const char *format, ...) PRINTF_LIKE(3, 4);
int share_wrong_amount(struct share_fault *fault, enum share_amount amount, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
