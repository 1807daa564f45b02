/* pod_life.h - one simulated pod: which step it is in, when the next one is due, how it ends */
#ifndef SIM_POD_LIFE_H
#define SIM_POD_LIFE_H
#include "sim/kubelet/pod_devices.h"
#include "wire/json.h"

#define POD_START_MS 200
#define POD_STOP_MS 1000          /* as a kubelet that is not busy */
#define POD_STOP_LEAST_MS 200      /* however fast the time */
#define POD_RESTART_MS 1000        /* first restart; doubles to POD_RESTART_MAX_MS */
#define POD_RESTART_MAX_MS 60000
#define POD_CONTAINERS_MAX 32

enum pod_step {
    POD_STARTING,     /* bound; containers are being made */
    POD_RUNNING_STEP,
    POD_WAITING,      /* CrashLoopBackOff: restarts when due */
    POD_DONE,         /* Succeeded or Failed */
};
enum restart_policy { RESTART_ALWAYS, RESTART_ON_FAILURE, RESTART_NEVER };

enum pod_container_kind { CONTAINER_APP, CONTAINER_SIDECAR, CONTAINER_INIT };
struct pod_container {
    const char *name, *image;
    enum pod_container_kind kind;
};

/* Of the node, that a container asks for. */
struct pod_port {
    char *address, *protocol; /* "" = any address */
    int32_t port;
};

/* Added to a pod that is there (kubectl debug). */
struct pod_debugger {
    char *name, *image;
    int64_t started_wall_ms;
};

/* OWNER  one allocation holds the struct, its containers and all its texts: a cluster has many pods. Devices, ports and
 *        debuggers stand apart: few have any. */
struct pod_life {
    const char *ns, *name, *uid, *node;
    struct pod_container *containers; /* init containers after the others */
    uint32_t containers_n;
    enum pod_step step;
    enum restart_policy restart;
    int64_t run_ms;        /* simulated; -1 = until deleted */
    int64_t start_ms;      /* simulated delay before Running */
    int exit_code;
    uint32_t restarts_n;
    uint32_t address;      /* makes the pod IP */
    int64_t scheduled_wall_ms, started_wall_ms, ended_wall_ms;
    int64_t last_started_wall_ms; /* of the run before this one */
    int64_t cpu_milli, memory_bytes;
    struct pod_devices *devices; /* NULL: asks for none */
    char *refusal;               /* why the kubelet did not take it; NULL: it did */
    const char *reason;          /* status.reason: of a refusal, DeadlineExceeded; NULL = none */
    struct pod_port *ports;      /* NULL: none */
    uint32_t ports_n;
    bool has_ports;              /* they are its own until it ends */
    struct pod_debugger *debuggers; /* spec.ephemeralContainers; NULL: none */
    uint32_t debuggers_n;
    bool resuming;               /* its devices are known, and not yet accounted on its node */
    bool unhealthy;              /* a device of it is, as last reported */
    bool failed;
    bool leaving;                /* deletionTimestamp seen: its containers are told to end, then it goes */
    bool ignores_term;           /* told to end, its containers run until its grace period is over */
    bool held;                   /* leaving, and it stays while others have finalizers on it */
    bool sending, unsent;  /* a status write is under way; the status has changed since */
    bool is_due;           /* its step is, but its node is silent: it is in no heap */
    bool resend;           /* the last status did not arrive: due to be sent again */
    int64_t after_ms;      /* resend: loop time of the step that was due; -1 = none */
    int64_t active_ms;     /* spec.activeDeadlineSeconds, simulated; -1 = none */
    int64_t since_wall_ms; /* status.startTime; 0 = not started */
    int64_t deadline_ms;   /* loop time when it has been active for too long; 0 = none. due_ms is never later */
    int64_t due_ms;        /* loop time */
    int64_t generation;    /* of the pod, as last read */
    uint64_t order;
    size_t heap_at;
};

struct pod_life *pod_life_new(const struct json *pod, uint32_t address);
void pod_life_free(struct pod_life *p); /* NULL-safe */
/* Continue from what the API says (start, or restart of this program). Returns simulated ms until the next step, -1 = none. */
int64_t pod_life_resume(struct pod_life *p, const struct json *pod, int64_t wall_ms, double speed);
/* Take the step that is due. Returns simulated ms until the next one, -1 = none. */
int64_t pod_life_advance(struct pod_life *p, int64_t wall_ms, double speed);
/* It has been active for longer than it may: it fails. Returns -1. */
int64_t pod_life_expire(struct pod_life *p, int64_t wall_ms);
/* Its containers were told to end: nothing starts again. */
void pod_life_end(struct pod_life *p, int64_t wall_ms);
/* Simulated ms until it has been active for too long; -1 = never. */
int64_t pod_life_left_ms(const struct pod_life *p, int64_t wall_ms, double speed);
/* The limit may be set and shortened while the pod runs. True: it is another than before. */
bool pod_life_limit(struct pod_life *p, const struct json *pod);
/* Takes in ephemeral containers that it did not have. True: there are some. */
bool pod_life_debug(struct pod_life *p, const struct json *pod, int64_t wall_ms);
/* Both want the same port of one node. */
bool pod_life_clash(const struct pod_life *p, const struct pod_life *other);
/* What the container has printed so far: a line a simulated second (at most 2000), each with its time in front. */
void pod_life_log(const struct pod_life *p, const char *container, int64_t wall_ms, double speed, struct buf *out);

#endif
