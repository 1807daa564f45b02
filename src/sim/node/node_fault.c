/* node_fault.c - see node_fault.h */
#include "sim/node/node_fault.h"
#include <stdlib.h>
#include "base/memory.h"
#include "sim/driver/driver_model.h"

#define WHOLE_GPU 0xffffffffu

struct fault {
    int kind; /* of struct driver_event; -1: none named */
    int64_t xid, gpu, gi, ci;
};

static bool fault_number(const char *part, const char *key, int64_t max, int64_t *ret_value)
{
    size_t n = strlen(key);
    return strncmp(part, key, n) == 0 && bytes_int64(bytes_of(part + n), ret_value) && *ret_value >= 0 &&
           *ret_value <= max;
}

static int fault_parse(char *text, uint32_t gpus_n, struct fault *ret_fault, struct err *e)
{
    struct fault f = {-1, 0, -1, WHOLE_GPU, WHOLE_GPU};
    char *save = NULL;
    for (char *part = strtok_r(text, ", ", &save); part; part = strtok_r(NULL, ", ", &save)) {
        if (fault_number(part, "xid=", 1000, &f.xid))
            f.kind = DRIVER_EVENT_XID;
        else if (text_equal(part, "ecc"))
            f.kind = DRIVER_EVENT_ECC_DOUBLE;
        else if (text_equal(part, "lost"))
            f.kind = DRIVER_EVENT_LOST;
        else if (!fault_number(part, "gpu=", (int64_t)gpus_n - 1, &f.gpu) && !fault_number(part, "gi=", 255, &f.gi) &&
                 !fault_number(part, "ci=", 255, &f.ci))
            return err_set(
                e, E_INVALID,
                "'%.40s' is not understood: write xid=79,gpu=3 or lost,gpu=0 or ecc,gpu=1 (gi=, ci= for a MIG "
                "instance), GPUs 0 to %u",
                part, gpus_n - 1);
    }
    if (f.kind < 0 || f.gpu < 0)
        return err_set(e, E_INVALID, "a fault needs xid=N, ecc or lost, and gpu=N");
    *ret_fault = f;
    return 0;
}

static bool had_fault(const char *before, const char *one)
{
    _cleanup_free_ char *copy = mem_text(before ? before : "");
    char *save = NULL;
    for (char *part = strtok_r(copy, ";", &save); part; part = strtok_r(NULL, ";", &save))
        if (text_equal(part, one))
            return true;
    return false;
}

/* model_driver NULL: they are only read. */
static int walk(struct driver *model_driver, uint32_t gpus_n, const char *text, const char *before, struct err *e)
{
    _cleanup_free_ char *copy = mem_text(text);
    char *save = NULL;
    for (char *one = strtok_r(copy, ";", &save); one; one = strtok_r(NULL, ";", &save)) {
        struct fault f = {-1, 0, -1, WHOLE_GPU, WHOLE_GPU};
        _cleanup_free_ char *parts = mem_text(one);
        int r = fault_parse(parts, gpus_n, &f, e);
        if (r < 0)
            return r;
        if (model_driver && !had_fault(before, one))
            driver_model_event(model_driver, (uint32_t)f.gpu, (uint32_t)f.gi, (uint32_t)f.ci, f.kind, (uint64_t)f.xid);
    }
    return 0;
}

int node_fault_happen(struct driver *model_driver, uint32_t gpus_n, const char *text, const char *before, struct err *e)
{
    int r = walk(NULL, gpus_n, text, before, e);
    return r < 0 ? r : walk(model_driver, gpus_n, text, before, e);
}
