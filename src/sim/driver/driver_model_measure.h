/* driver_model_measure.h - what simulated GPUs of driver_model show to a monitor; only driver_model*.c include it
 *
 * The values follow what runs there: each process keeps its unit busy, by default as its pid says (between a twentieth and nearly all of
 * it, slowly changing), or as driver_model_work has set it for the unit. Power, temperature, clocks and energy follow from that.
 * COST   nothing until the first measurement; then 48 bytes a GPU.
 */
#ifndef SIM_DRIVER_MODEL_MEASURE_H
#define SIM_DRIVER_MODEL_MEASURE_H
#include "agent/driver/measure.h"

struct model_work { /* set for a unit; gi, ci 0xffffffff: the whole GPU */
    uint32_t gpu, gi, ci, sm_permille, memory_permille;
};
struct model_meter; /* sums over time, and settings */
struct model_meter *model_meter_new(uint32_t gpus_n);
void model_meter_free(struct model_meter *m);
void model_meter_set(struct model_meter *m, const struct model_work *work); /* sm_permille above 1000: as by default again */
void model_meter_changed(struct model_meter *m, int64_t now_ms);            /* other processes run from now on; m may be NULL */

struct model_scene {
    const struct gpu_model *model;
    const struct driver_reading *devices;
    const struct driver_process *processes;
    uint32_t processes_n;
    int64_t now_ms, wall_us;
};
struct measure_reading *model_meter_read(struct model_meter *m, const struct model_scene *s, const struct measure_request *request);

#endif
