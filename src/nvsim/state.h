/* state.h - the shared file of a simulated node: its layout, its lock, and how one GPU's record is read and changed
 *
 *     reader   nvsim_gpu_read: lock, settle, copy, unlock; the copy is then carried forward to `now` (nvsim_physics_fold)
 *     writer   nvsim_lock ▶ nvsim_gpu_change (a copy, at now) ▶ edit ▶ nvsim_gpu_commit (one store makes it the record) ▶ nvsim_unlock
 *
 * SHAPE  two records a GPU; `current` says which counts. Work slots count when `process_gpu` names a GPU; an event when `events_n` passes
 *        it.
 * UNIT   wall time in microseconds; utilisation in permille; power mW; energy mJ; memory MiB.
 * RACE   the order of stores above is what keeps the file whole when a process dies inside the lock; what is only derived (loads, busy
 *        marks) is computed again by the next holder.
 * Included by this room, libnvsim and tests; everybody else uses nvsim.h.
 */
#ifndef NVSIM_STATE_H
#define NVSIM_STATE_H
#include <pthread.h>
#include "nvsim/nvsim.h"

#define NVSIM_LAYOUT 2u
#define NVSIM_NONE 0xffffffffu  /* gi, ci: the whole GPU */
#define NVSIM_ACCOUNTS_MAX 4000 /* accounting records of one GPU; the driver's own buffer size */
#define NVSIM_HISTORY 64        /* stretches of constant load that are remembered for sample buffers */
#define NVSIM_LINKS_MAX 18
#define NVSIM_EVENT_SYSTEM 0xfeu /* event of the node, not of a GPU */

/* NVML's event bits that are sent here. */
enum nvsim_event_type {
    NVSIM_EVENT_ECC_SINGLE = 0x1,
    NVSIM_EVENT_ECC_DOUBLE = 0x2,
    NVSIM_EVENT_PSTATE = 0x4,
    NVSIM_EVENT_XID = 0x8,
    NVSIM_EVENT_CLOCK = 0x10,
    NVSIM_EVENT_MIG = 0x100,
};
/* NVML's reasons why clocks are not at their maximum. */
enum nvsim_clock_reason {
    NVSIM_REASON_IDLE = 0x1,
    NVSIM_REASON_APPLICATION = 0x2,
    NVSIM_REASON_POWER_CAP = 0x4,
    NVSIM_REASON_HW_SLOWDOWN = 0x8,
    NVSIM_REASON_SW_THERMAL = 0x20,
    NVSIM_REASON_HW_THERMAL = 0x40,
    NVSIM_REASON_POWER_BRAKE = 0x80,
};
enum nvsim_lost { NVSIM_HERE, NVSIM_LOST, NVSIM_OFF_BUS };
enum nvsim_driver { NVSIM_DRIVER_OK, NVSIM_DRIVER_MISMATCH, NVSIM_DRIVER_NOT_LOADED };

struct nvsim_load { /* of a GPU, or of one GPU instance */
    uint32_t sm_permille, memory_permille, encoder_permille, decoder_permille; /* capped at 1000 */
    uint32_t sm_wanted_permille;                                               /* not capped: > 1000 = processes wait for each other */
    uint32_t processes_n;
    uint64_t memory_mib;
};
struct nvsim_integral { /* load x time since the node was made, in permille x microseconds */
    double sm, memory, encoder, decoder;
};
struct nvsim_point { /* a stretch of constant load, from start_us to the start of the next */
    int64_t start_us;
    uint32_t power_mw;
    uint16_t sm_permille, memory_permille, encoder_permille, decoder_permille, clock_mhz, clock_memory_mhz;
};
struct nvsim_ecc { /* [0] since the last reset, [1] ever */
    uint64_t corrected[2], uncorrected[2], sram_corrected[2], sram_uncorrected[2];
};

struct nvsim_gpu {
    /* who it is */
    char uuid[48], serial[16];
    uint64_t seed;
    uint32_t domain, bus, minor, module_id;
    int32_t numa_node;
    /* settings */
    uint8_t persistence, compute_mode, accounting, ecc_mode, ecc_pending;
    uint32_t power_limit_mw, clock_lock_min_mhz, clock_lock_max_mhz; /* clock lock 0: none */
    struct mig_state mig;
    /* load, and what follows from it while it lasts */
    struct nvsim_load load, instances[MIG_GI_MAX];
    uint32_t power_mw, clock_mhz, clock_memory_mhz;
    uint64_t clock_reasons;
    /* as of changed_us; carried forward by nvsim_physics_fold */
    int64_t changed_us;
    double temperature_c, power_average_mw, energy_mj;
    double power_violation_us, thermal_violation_us, brake_violation_us;
    double pcie_tx_kib, pcie_rx_kib, nvlink_kib; /* sent; nvlink: on each link */
    struct nvsim_integral integral, instance_integrals[MIG_GI_MAX];
    struct nvsim_point history[NVSIM_HISTORY];
    uint32_t history_n; /* points ever; the last NVSIM_HISTORY are kept */
    /* faults */
    uint8_t lost;       /* enum nvsim_lost */
    uint8_t reset_required;
    uint64_t throttle;  /* enum nvsim_clock_reason bits forced by a fault */
    uint32_t slow_ms;
    int64_t hang_until_us;
    struct nvsim_ecc ecc;
    uint32_t remapped_corrected, remapped_uncorrected, remap_pending, remap_failure;
    uint32_t nvlink_down;   /* bit set of links */
    uint64_t nvlink_errors[NVSIM_LINKS_MAX];
    uint32_t pcie_replays, fabric_unhealthy;
    uint32_t xid;           /* last one, for `list`; 0 none */
};

struct nvsim_process {
    struct nvsim_work work;
    int64_t start_us;
    uint64_t pid_started; /* field 22 of /proc/PID/stat: tells a later process with the same pid apart; 0 unknown */
    uint64_t pid_space;   /* inode of the pid namespace that `pid` belongs to */
};
struct nvsim_account {
    uint32_t pid, gpu_percent, memory_percent;
    uint64_t memory_max_bytes;
    int64_t start_us, end_us;
};
struct nvsim_event {
    uint64_t type, data;
    uint32_t gpu, gi, ci;
    int64_t at_us;
};

struct nvsim_state {
    char magic[8];        /* "nvsim\n\032" */
    uint32_t layout;      /* NVSIM_LAYOUT */
    uint32_t gpus_n;
    uint64_t size_bytes;  /* sizeof(struct nvsim_state) */
    char model_key[32], node[64], driver_version[32];
    uint32_t cuda_version, unused;
    int64_t created_us;
    uint64_t checksum;    /* of everything above */
    pthread_mutex_t lock; /* robust, shared by processes */
    uint32_t driver;      /* enum nvsim_driver */
    uint32_t events_n;    /* events ever (wraps); the futex word that waiters sleep on */
    int64_t pids_checked_us;
    int64_t work_end_us;  /* when the first work ends by itself; INT64_MAX: none does */
    uint32_t pids_next;   /* where the next look at /proc goes on */
    uint32_t processes_high; /* slots from here on were never used */
    uint32_t fabric_manager_off, unused2;
    uint8_t current[NVSIM_GPUS_MAX];
    uint32_t accounts_n[NVSIM_GPUS_MAX]; /* records ever */
    struct nvsim_event events[NVSIM_EVENTS_MAX];
    struct nvsim_gpu gpus[NVSIM_GPUS_MAX][2];
    uint8_t process_gpu[NVSIM_PROCESSES_MAX]; /* 1 + GPU; 0 = free slot */
    struct nvsim_process processes[NVSIM_PROCESSES_MAX];
    struct nvsim_account accounts[NVSIM_GPUS_MAX][NVSIM_ACCOUNTS_MAX];
};

struct nvsim { /* one process's view */
    struct nvsim_state *state;
    const struct gpu_model *model;
    uint32_t gpus_n;
    uint32_t owner_uid; /* of the file: it may do what root may */
    struct nvsim *previous; /* libnvsim: a node that this process used before; stays mapped */
    char root[256];     /* DIR/root; "" when the path is too long: companion files are then left alone */
};

/* nvsim.c */
int64_t nvsim_now_us(void);
int nvsim_lock(struct nvsim *n, struct err *e); /* -E_AGAIN: another process has held it for ten seconds */
void nvsim_unlock(struct nvsim *n);
bool nvsim_may_administer(const struct nvsim *n);
/* A GPU as it is at now_us. 0, -E_NOTFOUND, -E_AGAIN. */
int nvsim_gpu_read(struct nvsim *n, uint32_t gpu, int64_t now_us, struct nvsim_gpu *ret_gpu, struct err *e);

/* gpu_record.c */
const struct nvsim_gpu *nvsim_gpu_current(const struct nvsim *n, uint32_t gpu);      /* lock held */
struct nvsim_gpu *nvsim_gpu_change(struct nvsim *n, uint32_t gpu, int64_t now_us);   /* lock held; the copy to edit */
void nvsim_gpu_commit(struct nvsim *n, uint32_t gpu);                                /* sums the load again, switches the copy in */

/* physics.c: pure */
void nvsim_physics_fold(struct nvsim_gpu *g, const struct gpu_model *m, int64_t now_us); /* carries integrals and temperature forward */
void nvsim_physics_apply(struct nvsim_gpu *g, const struct gpu_model *m); /* power and clocks from load, limits and faults */
struct nvsim_point nvsim_physics_at(const struct nvsim_gpu *g, int64_t at_us); /* from history; start_us 0: before all that is known */
bool nvsim_model_is_hbm(const struct gpu_model *m);

/* work.c: lock held */
void nvsim_work_settle(struct nvsim *n, int64_t now_us); /* ends what is over, each at its own time; for a read: up to 100 ms late */
void nvsim_work_settle_now(struct nvsim *n, int64_t now_us); /* for a change, which a process that has just ended must not stop */
int nvsim_work_begin(struct nvsim *n, const struct nvsim_work *work, int64_t now_us, struct err *e);
uint32_t nvsim_work_end(struct nvsim *n, uint32_t pid, uint32_t gpu, int64_t now_us); /* gpu NVSIM_NONE: all; pid 0: all. How many */
void nvsim_work_drop(struct nvsim *n, uint32_t slot, bool accounting, int64_t end_us); /* the GPU's record is the caller's */
/* Records of finished and running processes, oldest first. */
uint32_t nvsim_accounts(struct nvsim *n, uint32_t gpu, int64_t now_us, struct nvsim_account *list, uint32_t max);

/* event.c: lock held for add */
void nvsim_event_add(struct nvsim *n, uint32_t gpu, uint32_t gi, uint32_t ci, uint64_t type, uint64_t data, int64_t now_us);
/* Sleep until events_n differs from seen or timeout_ms is over. */
void nvsim_event_sleep(struct nvsim *n, uint32_t seen, uint32_t timeout_ms);
uint32_t nvsim_event_count(const struct nvsim *n);

/* identity.c: pure. Everything about a GPU that follows from the node's name. */
void nvsim_identity(struct nvsim_gpu *g, const struct gpu_model *m, const char *node, uint32_t index, uint32_t gpus_n);
void nvsim_uuid_text(const char *prefix, const uint8_t uuid[16], char ret_text[48]);
uint64_t nvsim_hash(uint64_t seed, const void *data, size_t size);
/* CPUs of a NUMA node of this model's usual server: first and how many. */
void nvsim_numa_cpus(const struct gpu_model *m, int32_t numa_node, uint32_t *ret_first, uint32_t *ret_n);

/* companion.c */
int nvsim_companion_create(const struct nvsim *n, struct err *e);
/* Device nodes and capability files of a GPU instance (NVSIM_NONE: of all) as the layout is now; best effort. */
void nvsim_companion_mig(const struct nvsim *n, uint32_t gpu, uint32_t gi, const struct mig_state *mig);
void nvsim_companion_presence(const struct nvsim *n, uint32_t gpu, bool present);
uint32_t nvsim_mig_minor(uint32_t gpu, uint32_t gi, uint32_t ci); /* of /dev/nvidia-caps; ci NVSIM_NONE: the GPU instance's */

#endif
