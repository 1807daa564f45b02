/* account.h - counters that only grow: allocated and active GPU-seconds, memory, energy, per pod and per unit
 *
 *     allocated += share x dt      active += share x activity x dt      memory += bytes x dt          dt: monotonic time between samples
 *
 * Conservation: sum over pods of active <= allocated <= capacity, to the second (a test). A dead pod's counters stay 5 minutes so that the
 * last increment is scraped. Kept in a state file (atomic, <= 1 MiB) so that a restart does not lose them; dt over a restart counts nothing.
 */
#ifndef EXPORTER_ACCOUNT_H
#define EXPORTER_ACCOUNT_H
#include "exporter/sample.h"

struct account_pod {
    const char *ns, *pod, *queue, *user;
    double allocated_s, active_s, memory_byte_s, energy_j, idle_tail_s; /* idle_tail: since the last activity while allocated */
    double memory_high_bytes, memory_granted_bytes;
    double no_process_s, idle_s, low_s, throttled_s;     /* waste classes of monitoring.md 8.3, b, c, d, f */
    double first_s, last_s;                              /* wall times */
    bool live;
};
struct account_gpu { const char *uuid; double energy_j, throttle_s[8], capacity_s, allocated_s, active_s; };
struct account;
struct account *account_open(struct loop *l, const char *state_path); /* NULL: nothing is kept; a damaged file is said and replaced */
void account_close(struct account *a);
void account_add(struct account *a, const struct sample *s);
uint32_t account_pods(const struct account *a, const struct account_pod **ret_pods); /* by (ns, pod); borrowed until the next add */
uint32_t account_gpus(const struct account *a, const struct account_gpu **ret_gpus);
/* Finished pods and running ones as records for the usage store (exporter/usage.h); called with each that changed since the last drain. */
void account_drain(struct account *a, void (*fn)(void *arg, const struct account_pod *pod), void *arg);

#endif
