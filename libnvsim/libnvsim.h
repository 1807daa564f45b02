/* libnvsim.h - inside libnvidia-ml.so.1: what its parts share
 *
 *     call ─▶ view (which device, is it there, its record at this moment) ─▶ answer
 *     setter ─▶ edit (lock, copy of the record) ─▶ change ─▶ edit_commit
 *
 * SHAPE  handles are numbers in the shape of pointers: mark, kind, GPU, GPU instance, compute instance and 24 bits of the MIG device's
 *        UUID, so that a handle of a destroyed device is known to be stale. Nothing is kept per handle: no table, no lock, no leak.
 * RACE   process state is a pointer to the mapped node and a count, both atomic. A node's mapping is never taken away again, so calls may
 *        run on other threads while one shuts down; init and shutdown hold a lock that fork() waits for.
 */
#ifndef LIBNVSIM_H
#define LIBNVSIM_H
#include <stdbool.h>
#include "client_calls.h"
#include "gpu/nvml.h"
#include "gpu/nvml_calls.h"
#include "nvsim/state.h"

#pragma GCC visibility push(default)
NVML_CALLS(NVML_DECLARE)
CLIENT_CALLS(NVML_DECLARE)
#pragma GCC visibility pop

struct view {
    struct nvsim *node;
    const struct gpu_model *model;
    uint32_t gpu;
    bool is_mig;
    int64_t now_us;
    struct nvsim_gpu g;             /* at now_us */
    /* of a MIG device */
    const struct mig_instance *instance;
    const struct mig_compute *compute;
    const struct mig_profile *profile;
    const struct nvsim_load *load;  /* of the GPU, or of the GPU instance */
};

/* ---- state.c ---- */
/* The node that this process has initialised; NULL with *ret_code set. */
struct nvsim *node_get(int *ret_code);
/* A GPU or MIG device. Every call on a device starts here: hangs, slowness and loss happen here. Returns enum nvml_code. */
int view_device(const struct nvml_device *d, struct view *v);
/* The same, but a MIG device answers `code_for_mig`. */
int view_gpu(const struct nvml_device *d, struct view *v, int code_for_mig);
int view_instance(const struct nvml_gpu_instance *gi, struct view *v);  /* also finds `instance` and `profile` */
int view_compute(const struct nvml_compute_instance *ci, struct view *v);

struct edit {
    struct nvsim *node;
    const struct gpu_model *model;
    struct nvsim_gpu *g; /* the copy to change */
    uint32_t gpu;
    int64_t now_us;
};
/* For setters: NO_PERMISSION for other users than root and the owner of the node. On OK end with edit_commit or edit_cancel. */
int edit_gpu(const struct view *v, struct edit *e);
void edit_commit(struct edit *e);
void edit_cancel(struct edit *e);

struct nvml_device *device_of_gpu(uint32_t gpu);
struct nvml_device *device_of_mig(uint32_t gpu, uint32_t gi, const struct mig_compute *c);
struct nvml_gpu_instance *handle_of_instance(uint32_t gpu, uint32_t gi);
struct nvml_compute_instance *handle_of_compute(uint32_t gpu, uint32_t gi, const struct mig_compute *c);
bool device_is_mig(const struct nvml_device *d);

/* ---- answers ---- */
/* Text with its NUL into a buffer of `length`: INSUFFICIENT_SIZE when it is too short. */
int text_answer(const char *text, char *ret_text, uint32_t length);
/* Name of a MIG device's kind: "1g.5gb", "1c.3g.20gb". */
void compute_name(const struct mig_profile *p, uint8_t slices, char ret_name[64]);
/* SMs of a compute instance. */
uint32_t compute_sm_n(const struct gpu_model *m, const struct mig_profile *p, uint8_t slices);
int32_t temperature_of(const struct view *v);

#define VIEW_DEVICE(v, d)                  \
    struct view v;                         \
    do {                                   \
        int code_ = view_device((d), &(v)); \
        if (code_ != NVML_OK)              \
            return code_;                  \
    } while (0)
#define VIEW_GPU(v, d, code_for_mig)                          \
    struct view v;                                            \
    do {                                                      \
        int code_ = view_gpu((d), &(v), (code_for_mig));      \
        if (code_ != NVML_OK)                                 \
            return code_;                                     \
    } while (0)

/* A call that answers one number, an expression of the view `v`. */
#define ANSWER_CALL(look, name, type, value)         \
    int name(struct nvml_device *d, type *ret_value) \
    {                                                \
        look;                                        \
        if (!ret_value)                              \
            return NVML_INVALID_ARGUMENT;            \
        *ret_value = (type)(value);                  \
        return NVML_OK;                              \
    }
/* Of a physical GPU; MIG devices answer NOT_SUPPORTED. */
#define NUMBER_CALL(name, type, value) ANSWER_CALL(VIEW_GPU(v, d, NVML_NOT_SUPPORTED), name, type, value)
/* Of both. */
#define DEVICE_CALL(name, type, value) ANSWER_CALL(VIEW_DEVICE(v, d), name, type, value)

/* A setting of a physical GPU that is on or off: a byte of its record. */
#define SWITCH_CALL(name, code_for_mig, field)               \
    int name(struct nvml_device *d, int on)                  \
    {                                                        \
        VIEW_GPU(v, d, code_for_mig);                        \
        struct edit e;                                       \
        if (on != NVML_DISABLED && on != NVML_ENABLED)       \
            return NVML_INVALID_ARGUMENT;                    \
        int code = edit_gpu(&v, &e);                         \
        if (code != NVML_OK)                                 \
            return code;                                     \
        e.g->field = (uint8_t)on;                            \
        edit_commit(&e);                                     \
        return NVML_OK;                                      \
    }

#endif
