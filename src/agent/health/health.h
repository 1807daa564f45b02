/* health.h - what an event means for a GPU, a MIG instance or one application, and how units come back
 *
 *     Healthy ─event─▶ Suspect ─2 s─▶ Draining ─(nobody on the GPU)─▶ reset ─▶ Probation ─(quiet)─▶ Healthy     reboot, RMA ─▶ Failed
 *        ▲                ▲ lost                                                  │ event: again, and longer      lost, back ─▶ Probation
 *        └────────────────┴───────────────────────────────────────────────────────┘
 *
 * SHAPE  one record per unit and per event address (GPU, GPU instance, compute instance). The health of a unit is the worst of the records
 *        that reach it: an event of one MIG instance marks that one only, an event without an instance the whole GPU, an event without a
 *        device every GPU. Orders are what has to be done so that the inventory agrees: asking again is harmless.
 * UNIT   now_ms: any clock that does not go back. Pure: agent.c carries out the orders.
 * What the driver itself wants done (driver_gpu.recovery) counts where nothing else was told.
 * What becomes of the pods on a unit that drains: agent_drain.c.
 * The catalogue (data/gpu/xid.tsv) says per XID: ignore, restart app, reset when idle, drain and reset, reboot, RMA. Errors of applications
 * never take a GPU away; they are told with the process that is at fault. A reset needs the whole GPU idle, since it hits all instances.
 * LIMIT  A unit that fails again stays out longer each time (1, 2, 4 ... 60 min of probation); the 8th failure in a row is for ever.
 */
#ifndef AGENT_HEALTH_H
#define AGENT_HEALTH_H
#include "agent/inventory/inventory.h"

enum xid_action { XID_IGNORE, XID_RESTART_APP, XID_RESET_IDLE, XID_DRAIN_RESET, XID_REBOOT, XID_RMA }; /* the worse the later */
struct xid_entry {
    uint16_t xid;
    enum xid_action action;
    enum xid_action again; /* when it comes back in probation */
    bool by_severity;      /* one number for fatal errors and others, which need nothing */
    const char *name, *advice;
};
const struct xid_entry *xid_find(uint32_t xid); /* NULL: unknown number (counts as drain and reset) */

#define HEALTH_WHOLE 0xffffffffu             /* gi, ci: the whole GPU */
#define HEALTH_PROCESSES_UNKNOWN 0xffffffffu /* n of health_tick: nobody asked the driver; no GPU is reset in such a tick */
#define HEALTH_SUSPECT_MS 2000               /* time for companions of a first event: the worst of them decides */
#define HEALTH_IDLE_MS 5000                  /* nobody on the GPU for so long, before it is reset */
#define HEALTH_IDLE_OWNED_MS 60000           /* the same while a pod still has a slot: its container is between two starts */
#define HEALTH_PROBATION_MS 60000            /* first probation; doubles with each failure */
#define HEALTH_PROBATION_MAX_MS 3600000
#define HEALTH_FAILURES_MAX 8
#define HEALTH_FORGET_MS (6 * 3600000LL)     /* healthy for so long: earlier failures count no more */
#define HEALTH_LOST_MS 120000                /* lost for so long: Failed */
#define HEALTH_BLAME_MS 10000                /* how long the process that dies of an application error is waited for */
#define HEALTH_PIDS 8

enum health_act { HEALTH_NOTHING, HEALTH_SET, HEALTH_RESET, HEALTH_EVENT };
struct health_order {
    enum health_act act;
    char gpu_uuid[48];       /* EVENT: "" = not about one GPU */
    uint32_t gi, ci;         /* HEALTH_WHOLE: whole GPU */
    enum unit_health health; /* SET */
    uint32_t xid;
    char text[400];          /* EVENT: for the node's event, "GPU-...: XID 79 GPU has fallen off the bus. <advice>" */
    bool warning;
    uint32_t pids[HEALTH_PIDS], pids_n; /* EVENT of an application error: who is at fault, or may be */
};
struct health;
/* Values of DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS; NULL = unset: "all", "xids", or numbers with commas. A number in `enable`
 * takes the GPU away even when the catalogue says that the application is at fault. What is none of these is told by an event. */
struct health *health_new(const char *disable, const char *enable);
void health_free(struct health *h); /* NULL-safe */
/* The node has been rebooted since the health in the journal was written: what waited for that goes to Probation. Call it before the first
 * tick. */
void health_rebooted(struct health *h);
/* Feed what happened; orders come out of health_next until it returns false. Tick every second or so. */
void health_event(struct health *h, const struct driver_event *event, const struct inventory_snapshot *s, int64_t now_ms);
void health_tick(struct health *h, const struct inventory_snapshot *s, const struct driver_process *processes, uint32_t n, int64_t now_ms);
/* Somebody else names the process of an application error that health_event was told of without: its pods are looked for at once. */
void health_culprit(struct health *h, const struct driver_event *event);
void health_reset_done(struct health *h, const char *gpu_uuid, int code, int64_t now_ms); /* of the last HEALTH_RESET; code < 0: failed */
bool health_next(struct health *h, struct health_order *ret_order);
/* Draining or Failed for a fault of its own or of its whole GPU. False where a GPU that is empty already only waits for its reset, because
 * of another instance or of spare memory rows. */
bool health_is_faulty(const struct health *h, const struct unit *u);

/* Processes on devices that their pod was not given. */
struct process_pod { /* whose a process is */
    char uid[40];          /* from its cgroup (agent/inventory/pod_cgroup.h) */
    const char *ns, *name; /* NULL: the uid is not that of a known pod */
};
struct unauthorised {
    uint32_t pid;
    const char *device;   /* UUID of the GPU or MIG device */
    const char *uid;      /* "": a process of the host */
    const char *ns, *pod; /* "" when not known */
};
/* pod_of: false when the process is in no pod (also for our own pod and MPS servers); such host processes are reported only with host_too.
 * Not reported: a device with a slot that was allocated but not yet named by podresources (it may be this pod's), and a pod without a known
 * name on a device that somebody owns. Texts of the result stand in `a`. */
uint32_t health_unauthorised(struct arena *a, const struct inventory_snapshot *s, const struct driver_process *list, uint32_t n,
                             bool host_too, bool (*pod_of)(void *ctx, uint32_t pid, struct process_pod *ret_pod), void *ctx,
                             struct unauthorised **ret_list);

#endif
