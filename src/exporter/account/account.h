/* account.h - counters that only grow: allocated and active GPU-seconds, memory, energy, waste, per pod and per GPU
 *
 *     for each allocation of the sample before, dt seconds until the new one:
 *         allocated += share x dt
 *         active    += the unit's busy seconds that are the pod's, never more than share x dt
 *         memory    += bytes x dt        energy += joules of the board x share
 *
 * UNIT   GPU-seconds: 1 is a whole physical GPU for a second; a 1g of 7 slices counts 1/7, a share of 4 counts 1/4.
 * Conservation: per pod active <= allocated; per GPU the sum over its pods <= capacity; to the second (a test).
 * Whose activity: a unit with one pod is that pod's; among several it is split by what their processes ran, evenly where that is unknown.
 * Memory and processes are the sample's before, activity and joules those that were measured since. A pod that ends within a step has the
 * whole of it, one that begins has none of it: on average each has its own time.
 * Waste is the unused part of what was allocated, in the first class that fits: no process, idle (nothing ran for half an hour), low
 * (activity under 20 %).
 * A wall clock that is set takes the times of pods and devices with it: how long ago something was stays what it is.
 * dt is monotonic, and a gap of more than ACCOUNT_GAP_S (suspended, stalled driver) counts nothing: nobody knows what happened.
 * The pods of the last minutes are kept in a state file (atomic), so that a restart loses no counter.
 */
#ifndef EXPORTER_ACCOUNT_H
#define EXPORTER_ACCOUNT_H
#include "exporter/sample.h"

#define ACCOUNT_GAP_S 300
#define ACCOUNT_UNIT_KEEP_S (7.0 * 24 * 3600) /* a device that is gone may come back: another layout, another driver */
#define ACCOUNT_KEEP_S 300   /* a pod that is gone stays so long: its last increment is scraped */
#define ACCOUNT_IDLE_S 1800
#define ACCOUNT_LOW_RATIO 0.2
#define LIMIT_ACCOUNT_PODS 4096
#define LIMIT_ACCOUNT_UNITS 1024 /* beyond it only those that are there are kept */

#define ACCOUNT_THROTTLES(X)                                                                                           \
    X(SW_POWER, "sw_power_cap", THROTTLE_SW_POWER_NS)                                                                  \
    X(HW_THERMAL, "hw_thermal", THROTTLE_HW_THERMAL_NS)                                                                \
    X(SW_THERMAL, "sw_thermal", THROTTLE_SW_THERMAL_NS)                                                                \
    X(HW_POWER_BRAKE, "hw_power_brake", THROTTLE_HW_POWER_BRAKE_NS)                                                    \
    X(SYNC_BOOST, "sync_boost", VIOLATION_SYNC_BOOST_NS)                                                               \
    X(BOARD, "board_limit", VIOLATION_BOARD_NS)                                                                        \
    X(RELIABILITY, "reliability", VIOLATION_RELIABILITY_NS)
enum account_throttle {
#define X(name, text, measure) ACCOUNT_THROTTLE_##name,
    ACCOUNT_THROTTLES(X)
#undef X
        ACCOUNT_THROTTLES_N
};
const char *account_throttle_name(enum account_throttle t);

struct account_pod {
    const char *ns, *pod, *uid, *queue, *job, *user, *node, *device_kind; /* "" unknown; device_kind: product or MIG profile */
    double allocated_s, active_s, memory_byte_s, energy_j;
    double no_process_s, idle_s, low_s, throttled_s;
    double memory_high_bytes, memory_granted_bytes;
    double first_s, last_s, last_active_s; /* wall times: they go with the clock when it is set */
    double began_s; /* first_s as the clock said then, never moved: tells counters that began again from those that go on */
    int64_t seen_ms;                       /* monotonic: when it last had something */
    bool live, changed;
};
struct account_gpu {
    char uuid[48], model[96];              /* model "": not seen since the start */
    double energy_j;                       /* since the account began */
    double throttle_s[ACCOUNT_THROTTLES_N];
    uint32_t throttles;                    /* bit t: the driver gives this one */
    double capacity_s, allocated_s, active_s;
    double capacity_stored_s;              /* of capacity_s, what account_capacity_stored has heard of */
};
struct account;
/* NULL: nothing is kept; a damaged file is logged and begun anew */
struct account *account_open(const char *state_path, const char *node_name);
void account_close(struct account *a); /* saves */
void account_add(struct account *a, const struct sample *s);
uint64_t account_pods_dropped(const struct account *a); /* beyond LIMIT_ACCOUNT_PODS, each in each sample */
/* When a GPU or MIG device was last seen busy, also before a restart; 0: unknown. `a` may be NULL. */
double account_last_active(const struct account *a, const char *uuid);
/* Write the state file now; -E_IO is for the log, nothing is lost but the restart's counters. */
int account_save(struct account *a, struct err *e);
/* By (ns, pod); pointers are good until the next account_add. */
uint32_t account_pods(const struct account *a, const struct account_pod *const **ret_pods);
uint32_t account_gpus(const struct account *a, const struct account_gpu *const **ret_gpus);
/* What account_gpus tells of capacity now lies elsewhere. */
void account_capacity_stored(struct account *a);
/* Each pod whose totals changed since the last drain, for the usage store; also those whose name another pod has by now. */
void account_drain(struct account *a, void (*fn)(void *arg, const struct account_pod *pod), void *arg);

#endif
