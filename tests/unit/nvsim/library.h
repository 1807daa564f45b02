/* library.h - libnvidia-ml.so.1 on a simulated node of its own, for one test */
#ifndef TEST_NVSIM_LIBRARY_H
#define TEST_NVSIM_LIBRARY_H
#include "gpu/nvml_calls.h"
#include "node.h"
NVML_CALLS(NVML_DECLARE)

static struct nvsim *node;

static void begin(const char *model, uint32_t gpus_n)
{
    node = node_make(model, gpus_n);
    assert_int_equal(setenv("NVSIM_STATE", node_state, 1), 0);
    assert_int_equal(nvmlInit_v2(), NVML_OK);
}

static void end(void)
{
    assert_int_equal(nvmlShutdown(), NVML_OK);
    node_end(node);
    node = NULL;
}

static inline struct nvml_device *gpu(uint32_t index)
{
    struct nvml_device *d = NULL;
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(index, &d), NVML_OK);
    return d;
}
#endif
