/* nvml_world.h - for tests of driver_nvml: a simulated node in a scratch folder, a driver over libnvsim, and waiting for its answers */
#ifndef TESTS_AGENT_NVML_WORLD_H
#define TESTS_AGENT_NVML_WORLD_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "agent/driver/driver_nvml.h"
#include "agent/driver/measure.h"
#include "nvsim/nvsim.h"

#define ALL 0xffffffffu

struct answer { /* of one call */
    struct loop *l;
    bool done;
    int code;
    struct err error;
    struct driver_reading *reading; /* a reference */
    struct driver_process list[64];
    uint32_t n;
};
struct node {
    char dir[256];
    struct nvsim *sim;
    struct loop *l;
    struct driver *d;
    struct driver_event events[256];
    uint32_t events_n;
};

struct measured { /* of one measurement */
    struct loop *l;
    bool done;
    int code;
    const struct measure_reading *reading; /* a reference */
};

extern const char *nvsim_library; /* path of libnvidia-ml.so.1 */

void node_init(struct node *n, const char *model, uint32_t gpus_n, const struct driver_nvml_options *o); /* o NULL: call_ms 5000 */
void node_free(struct node *n);
void node_fault(struct node *n, uint32_t gpu, int gi, int ci, const char *kind, const char *argument);
struct answer node_read(struct node *n); /* the caller frees with answer_free */
struct driver_reading *node_reading(struct node *n); /* one that must work; the caller lets go of it */
/* Everything that can be measured, with processes, as if once in 15 seconds. */
void node_measure_start(struct node *n, const struct driver_reading *devices, int64_t deadline_ms, struct measured *m);
struct measured node_measure(struct node *n, const struct driver_reading *devices, int64_t deadline_ms); /* and wait for its answer */
const struct measure_reading *node_measured(struct node *n, const struct driver_reading *devices); /* one that must work; a reference */
int node_step(struct node *n, uint32_t gpu, struct mig_step step); /* code */
void answer_free(struct answer *a);
void answer_wait(struct answer *a, int64_t limit_ms);
void on_reading(void *arg, int code, const struct driver_reading *r, const struct err *e);
void on_done(void *arg, int code, const struct err *e);
void on_processes(void *arg, int code, const struct driver_process *list, uint32_t n, const struct err *e);
/* Run until `count` events of this kind were told in all, or fifteen seconds. Returns the last of them, NULL: they did not come. */
const struct driver_event *node_wait_event(struct node *n, int kind, uint32_t count);
/* Turn MIG on and make one instance of a profile with a full compute instance at `start`. */
void node_make_mig(struct node *n, uint32_t gpu, const char *profile, uint8_t start);

#endif
