/* collect_parts.h - inside the collector; only collect*.c include it
 *
 *     collect.c           when: periods, one measurement at a time, what is said of ourselves
 *     collect_sample.c    what: a sample from a measurement, the inventory and the pods
 *     collect_history.c   what has to be remembered from one sample to the next
 */
#ifndef EXPORTER_COLLECT_PARTS_H
#define EXPORTER_COLLECT_PARTS_H
#include "base/collections/map.h"
#include "exporter/collect/collect.h"

/* Counts of the last window_ms, in steps of a thirtieth. */
#define WINDOW_STEPS 30
struct window {
    int64_t step; /* number of the newest */
    uint32_t counts[WINDOW_STEPS];
};
void window_add(struct window *w, int64_t window_ms, int64_t now_ms);
uint32_t window_sum(struct window *w, int64_t window_ms, int64_t now_ms);

/* ---- collect_history.c: kept by UUID and by process; what is not seen in a sample is forgotten, but for XIDs ---- */

struct unit_history {
    double last_active_s; /* first seen, when never active; 0: activity unknown */
    uint64_t sample;
};
struct board_history {
    struct window clock_events[SAMPLE_CLOCK_EVENTS];
    double nvlink_kib;
    int64_t nvlink_ms; /* 0: none yet */
    uint64_t sample;
};
#define PROCESS_SILENCE_MS 2000 /* the driver has samples of a process that runs more often */
struct process_history {
    double sm_seconds, last_active_s;
    uint32_t sm_percent; /* of the last sample; sampled_ms: monotonic, 0 none yet */
    int64_t sampled_ms;
    uint64_t sample;
};
#define HISTORY_XIDS_MAX 4096 /* 64 GPUs with 64 different numbers */
struct xid_history {
    char uuid[48];
    uint16_t gpu;
    uint32_t xid;
    uint64_t n;
    double last_s;
    struct window window;
};
struct history {
    struct map *units, *boards, *processes;
    int64_t xid_window_ms, clock_window_ms;
    struct xid_history *xids;
    uint32_t xids_n, xids_cap;
    uint64_t xids_dropped_n;
    struct sample_clock clock;
    int64_t sampled_ms; /* monotonic; 0: not yet */
};
void history_init(struct history *h);
void history_free(struct history *h);
struct unit_history *history_unit(struct history *h, const char *uuid);
struct board_history *history_board(struct history *h, const char *uuid);
struct process_history *history_process(struct history *h, const char *uuid, uint32_t pid, uint64_t start_ticks);
void history_clock_set(struct history *h, double by_s); /* what is remembered goes with the clock: ages stay what they are */
void history_forget(struct history *h, uint64_t sample); /* what is older than this sample */
void history_gpu(struct history *h, const struct driver_gpu *g); /* its usual XIDs stand at 0 */
void history_xid(struct history *h, const struct driver_gpu *g, uint32_t xid, double wall_s, int64_t now_ms);

/* ---- collect_sample.c ---- */

/* What a slot is of its unit; by "resource slot". */
struct slot_share {
    uint16_t replica;
    bool shared;
    uint32_t replicas_n; /* slots of this unit in its resource */
};
/* WHY  A container keeps the part that it was given while the resource is sliced anew: of ten holders of a tenth none has a whole GPU when
 * the sharing is taken away. */
struct held_share {
    uint32_t parts_n;
    uint64_t sample; /* last seen */
};
struct sample_input {
    uint64_t number;
    const struct inventory_snapshot *inventory; /* of the measurement's devices */
    const struct measure_reading *measured;
    struct pods *pods;
    struct history *history;
    const struct account *account; /* NULL: none */
    struct map *shares; /* struct slot_share; empty: resources are not known */
    struct map *held;   /* "resource slot namespace/pod/container" -> struct held_share, of the samples before */
    const struct inventory *journal; /* knows the slicing of what was handed out before this process began; NULL: nobody does */
    const char *hostname;
    uint32_t processes_max;
    bool session_label_index;
};
struct sample *sample_make(const struct sample_input *in); /* one reference */

#endif
