/* absent.c - the functions of absent.h: the handle is looked at as by every call, then the answer is that there is no such thing
 *
 * Callers pass more arguments than the first; by the calling convention they need not be named to be left alone.
 */
#include "absent.h"
#include "libnvsim.h"

#define VISIBLE __attribute__((visibility("default")))

#define OF_DEVICE(name)                          \
    VISIBLE int name(struct nvml_device *d);     \
    int name(struct nvml_device *d)              \
    {                                            \
        VIEW_GPU(v, d, NVML_NOT_SUPPORTED);      \
        return NVML_NOT_SUPPORTED;               \
    }
ABSENT_OF_DEVICE(OF_DEVICE)
ABSENT_OF_VGPU_HOST(OF_DEVICE)

#define OF_INSTANCE(name)                              \
    VISIBLE int name(struct nvml_gpu_instance *gi);    \
    int name(struct nvml_gpu_instance *gi)             \
    {                                                  \
        struct view v;                                 \
        int code = view_instance(gi, &v);              \
        return code == NVML_OK ? NVML_NOT_SUPPORTED : code; \
    }
ABSENT_OF_INSTANCE(OF_INSTANCE)

static int node_answer(int code_if_there)
{
    int code;
    return node_get(&code) ? code_if_there : code;
}

#define OF_NODE(name)       \
    VISIBLE int name(void); \
    int name(void)          \
    {                       \
        return node_answer(NVML_NOT_SUPPORTED); \
    }
ABSENT_OF_NODE(OF_NODE)

#define OF_NO_HANDLE(name)  \
    VISIBLE int name(void); \
    int name(void)          \
    {                       \
        return node_answer(NVML_INVALID_ARGUMENT); \
    }
ABSENT_HANDLE(OF_NO_HANDLE)
