/* sample.h - one collection, complete and immutable: what every way out (HTTP, textfile, Influx, remote-write, report) is rendered from
 *
 *     measure_reading + inventory_snapshot + pods ──▶ sample ──▶ { page, textfile, influx, remote_write, account, feedback }
 *
 * UNIT OF COUNTING  a *unit* is what can be handed out: a whole GPU without MIG, or a MIG device. A MIG GPU is a *board* with units.
 * Two facts are kept apart: allocation (the kubelet gave unit U to container C) and use (process P of container C has a context on U).
 */
#ifndef EXPORTER_SAMPLE_H
#define EXPORTER_SAMPLE_H
#include "agent/driver/measure.h"
#include "agent/inventory/inventory.h"
#include "agent/inventory/resource.h"
#include "wire/prometheus.h"

/* A container that has something to do with a GPU. Texts are cleaned and bounded. */
struct sample_container {
    const char *ns, *pod, *container, *pod_uid; /* "" unknown */
    const char *queue, *job, *user;             /* exporter/collect/pod_owner.h, when pod labels are read; "" */
    const struct prometheus_label *pod_labels;  /* allowed ones, names sanitised */
    uint32_t pod_labels_n;
};
struct sample_process {
    const struct measure_process *measured;
    uint32_t unit;              /* index in units */
    int32_t container;          /* index in containers; -1: none (host process) or unknown */
    const char *command;        /* cleaned, at most 64 bytes */
    double start_time_s;        /* since 1970; 0 unknown */
    uint64_t start_ticks;       /* since boot: which of the processes of this number it is */
    double last_active_s;       /* 0: never seen active */
    double sm_seconds;          /* since it was first seen */
    uint32_t sm_percent;        /* of its last sample; 0 when that is long ago, or on MIG */
};
struct sample_allocation {
    uint32_t unit;
    int32_t container;
    const char *resource, *replica; /* replica "" when not shared */
    double share;                   /* of the physical GPU: 1, 1/replicas, slices/all slices */
};
#define SAMPLE_CLOCK_EVENTS 9
struct sample_unit {
    const struct driver_gpu *gpu;
    const struct driver_mig *mig;    /* NULL: whole GPU */
    const struct measure_values *values, *board;
    const char *session_label;       /* "0", "0_7_0": label gpu of the session metrics */
    double activity;                 /* 0..1: GPM graphics, else utilisation; -1 unknown */
    double last_active_s;
    uint32_t sessions_n;
    enum unit_health health;
    double nvlink_mb_per_s;          /* of the board since the last sample, both ways; -1 unknown */
    uint16_t clock_events[SAMPLE_CLOCK_EVENTS]; /* samples of the last clock_window_ms that had bit b of the clocks' event reasons */
};
struct sample_xid {
    const char *gpu_uuid;
    uint16_t gpu;
    uint32_t xid;
    uint64_t n;        /* since the agent started */
    uint32_t window_n; /* in the last xid_window_ms */
    double last_s;     /* wall time; 0 never */
};
#define SAMPLE_WINDOW_MS 300000 /* of counts of lately, unless another one is wanted */
struct sample {
    uint32_t refs;
    uint64_t number;
    double wall_s;
    const struct inventory_snapshot *inventory; /* counted */
    const struct measure_reading *measured;     /* counted */
    const char *hostname;
    struct sample_unit *units;                  /* by (gpu, gi, ci); MIG boards are not among them */
    uint32_t units_n;
    struct sample_unit *boards;                 /* every physical GPU, in the driver's order: mig NULL, values of the whole */
    uint32_t boards_n;
    struct sample_container *containers;
    uint32_t containers_n;
    struct sample_allocation *allocations;
    uint32_t allocations_n;
    struct sample_process *processes;
    uint32_t processes_n, processes_left_out_n;
    struct sample_xid *xids;                    /* usual fatal codes are there from the start with 0 */
    uint32_t xids_n;
    int64_t xid_window_ms, clock_window_ms;
    bool pid_namespace_mismatch;
    struct arena *arena;
};
/* How far the wall clock is ahead of the monotonic one: zero at first. */
struct sample_clock {
    double ahead_s;
    bool is_known;
};
/* Seconds by which the wall clock was set since the last call; 0: it went on by itself. */
double sample_clock_set(struct sample_clock *c, double wall_s, int64_t monotonic_ms);
static inline const char *sample_unit_uuid(const struct sample_unit *u)
{
    return u->mig ? u->mig->uuid : u->gpu->uuid;
}
double sample_unit_size(const struct sample_unit *u); /* in whole GPUs: a MIG device is its part of the compute slices */
const struct sample *sample_ref(const struct sample *s);
void sample_unref(const struct sample *s); /* NULL-safe */

#endif
