/* cuda.c - libcuda.so.1 of a simulated node: the driver's version, and no GPU to compute on
 *
 * WHY    a driver has this library, and what makes CDI files, or asks whether there is a driver, looks for its name. Programs that want to
 *        compute are told at their first call that nothing here can.
 * SOURCE CUDA driver API: cuDriverGetVersion may be called before cuInit; all else answers NOT_INITIALIZED without it.
 */
#include <stdlib.h>
#include <string.h>
#include "nvsim/state.h"

#define EXPORT __attribute__((visibility("default")))

enum cuda_result { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_NOT_INITIALIZED = 3, CUDA_ERROR_NO_DEVICE = 100 };

static const struct { enum cuda_result code; const char *name, *text; } results[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
};

EXPORT int cuInit(unsigned flags);
EXPORT int cuDriverGetVersion(int *version);
EXPORT int cuDeviceGetCount(int *count);
EXPORT int cuGetErrorName(int code, const char **name);
EXPORT int cuGetErrorString(int code, const char **text);

int cuInit(unsigned flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NO_DEVICE;
}

int cuDriverGetVersion(int *version)
{
    const char *state = getenv("NVSIM_STATE");
    struct nvsim *n = NULL;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = 0;
    if (!state || nvsim_open(state, &n, NULL) < 0)
        return CUDA_SUCCESS; /* as without a driver: 0 */
    *version = (int)n->state->cuda_version;
    nvsim_close(n);
    return CUDA_SUCCESS;
}

int cuDeviceGetCount(int *count)
{
    return count ? CUDA_ERROR_NOT_INITIALIZED : CUDA_ERROR_INVALID_VALUE;
}

static int result_find(int code)
{
    for (int i = 0; i < (int)(sizeof results / sizeof *results); i++)
        if ((int)results[i].code == code)
            return i;
    return -1;
}

int cuGetErrorName(int code, const char **name)
{
    int i = result_find(code);
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = i < 0 ? NULL : results[i].name;
    return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

int cuGetErrorString(int code, const char **text)
{
    int i = result_find(code);
    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = i < 0 ? NULL : results[i].text;
    return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
