/* dcgm.h - profiling values of GPUs without GPU performance monitoring (before Hopper), from NVIDIA's libdcgm where there is one
 *
 *     libdcgm.so.4 or .so.3 ─▶ host engine (nv-hostengine) ─▶ a watch of the wanted fields ─▶ their latest values
 *
 * It lies in the agent's room because drivers use it to complete what they measure. Calls may block, where it is not said that they never
 * do: for threads, not the loop. What is not there (library, engine, unit, field, value) is absent; an engine that died is tried again
 * every retry_ms.
 *
 * WHY    a host engine that runs already is connected to. One inside this process is only for who asks for it: the profiling module takes
 *        the profiler of the whole machine for itself (Nsight, CUPTI and a second engine then fail or get nothing), wants root, holds the
 *        GPUs open against resets, and if it crashes this process goes with it.
 * WHY    values of MIG devices are those of their GPU instance, as with performance monitoring: it has the counters.
 * SOURCE DCGM 4.6, library API and user guide
 */
#ifndef AGENT_DCGM_H
#define AGENT_DCGM_H
#include "agent/driver/measure.h"

struct dcgm_options {
    const char *path;     /* of the library; NULL: libdcgm.so.4, then libdcgm.so.3, where the loader finds them */
    const char *address;  /* of the host engine: "HOST[:PORT]" or "unix:/path"; NULL: "localhost:5555" */
    bool embedded;        /* start an engine in this process when none answers there */
    int64_t retry_ms;     /* 0: 30 s */
};
struct dcgm_unit { /* a whole GPU, or a GPU instance */
    char uuid[48]; /* of the GPU */
    uint32_t gi;   /* 0xffffffff: whole */
};
bool dcgm_measures(enum measure m); /* it has a profiling field for that; never blocks */
struct dcgm_request {
    const struct dcgm_unit *units;
    uint32_t units_n;
    uint64_t wanted[(MEASURE_N + 63) / 64]; /* at least one; all of them it measures */
    int64_t period_ms;                      /* how often this is going to be asked: values are means of so long */
    int64_t now_ms, now_us;                 /* monotonic; wall */
};
enum { DCGM_ERRORS_MAX = 16 };
struct dcgm_answer {
    struct measure_values *values; /* as the units; owned: free() */
    struct measure_error errors[DCGM_ERRORS_MAX]; /* failed calls; their codes are enum dcgm_code */
    uint32_t errors_n;
};

struct dcgm; /* counted; any thread may call, one call at a time goes on */
struct dcgm *dcgm_new(const struct dcgm_options *o);
struct dcgm *dcgm_ref(struct dcgm *d); /* NULL-safe */
void dcgm_unref(struct dcgm *d); /* NULL-safe. The last one leaves a connection to the end of the process: closing it may block */
/* Connects and watches when that is not done yet. *ret is filled also when it fails. -E_NOTFOUND: no library; -E_INVALID: it is not one of
 * these; -E_AGAIN: no engine, or it failed: later; -E_CONFLICT: paused. */
int dcgm_read(struct dcgm *d, const struct dcgm_request *request, struct dcgm_answer *ret, struct err *e);
/* Give up watch and connection, so that GPUs can be reset and cut; the next read makes them again. Waits that long for a read under way.
 * NULL-safe. */
void dcgm_close(struct dcgm *d, int64_t wait_ms);
/* No read connects again until dcgm_resume, and one under way gives up its connection when it ends. Calls nest; they never block:
 * dcgm_close after the first one ends what there is. NULL-safe. */
void dcgm_pause(struct dcgm *d);
void dcgm_resume(struct dcgm *d);
/* "CONNECTION_NOT_VALID"; NULL: unknown. */
const char *dcgm_code_name(int code);

#endif
