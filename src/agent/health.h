/* health.h - what an event means for a GPU, a MIG instance or one application, and how units come back
 *
 *     Healthy ─event─▶ Suspect ─▶ Draining ─(pods gone)─▶ reset ─▶ Probation ─(quiet)─▶ Healthy          reboot, RMA ─▶ Failed
 *
 * The catalogue (data/gpu/xid.tsv) says per XID: ignore, restart app, drain and reset, reboot, RMA. DP_DISABLE_HEALTHCHECKS and
 * DP_ENABLE_HEALTHCHECKS are honoured. Rates are limited: a unit that fails again in probation stays out longer each time.
 * The state machine is pure (time is an argument); agent.c carries out what it asks.
 */
#ifndef AGENT_HEALTH_H
#define AGENT_HEALTH_H
#include "agent/inventory.h"

enum xid_action { XID_IGNORE, XID_RESTART_APP, XID_DRAIN_RESET, XID_REBOOT, XID_RMA };
struct xid_entry { uint16_t xid; enum xid_action action; const char *name, *advice; };
const struct xid_entry *xid_find(uint32_t xid); /* NULL: unknown number (counts as drain and reset) */

enum health_act { HEALTH_NOTHING, HEALTH_SET, HEALTH_RESET, HEALTH_EVENT };
struct health_order {
    enum health_act act;
    char gpu_uuid[48];
    uint32_t gi, ci;         /* 0xffffffff: whole GPU */
    enum unit_health health; /* SET */
    uint32_t xid;
    char text[200];          /* EVENT: for the node's event, "GPU-...: XID 79 GPU has fallen off the bus; drained" */
    bool warning;
};
struct health;
struct health *health_new(const char *disable, const char *enable); /* values of the two environment variables; NULL = unset */
void health_free(struct health *h);
/* Feed what happened; orders come out of health_next until it returns false. */
void health_event(struct health *h, const struct driver_event *event, const struct inventory_snapshot *s, int64_t now_ms);
void health_tick(struct health *h, const struct inventory_snapshot *s, const struct driver_process *processes, uint32_t n, int64_t now_ms);
void health_reset_done(struct health *h, const char *gpu_uuid, int code, int64_t now_ms);
bool health_next(struct health *h, struct health_order *ret_order);

/* Processes on devices that their pod was not given. */
struct unauthorised { uint32_t pid; const char *device, *ns, *pod; };
/* pod_of: namespace/pod and container of a pid from its cgroup, false when it is in none (host processes are not reported unless
 * `host_too`). */
uint32_t health_unauthorised(struct arena *a, const struct inventory_snapshot *s, const struct driver_process *list, uint32_t n,
                             bool (*pod_uid_of)(void *ctx, uint32_t pid, char ret_uid[40]), void *ctx, struct unauthorised **ret_list);

#endif
