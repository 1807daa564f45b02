/* pod_status.c - steps as status documents. SOURCE core/v1 PodStatus, kubelet's condition order and reasons. */
#include "sim/kubelet/pod_status.h"
#include "base/clock.h"

static const char *time_text(struct arena *a, int64_t wall_ms)
{
    char text[TIME_TEXT_MAX];
    return arena_text(a, time_format(text, wall_ms));
}

static void add_condition(struct arena *a, struct json *list, const char *type, bool status, const char *reason,
                          int64_t wall_ms)
{
    struct json *c = json_new(a, JSON_OBJECT);
    json_set_text(a, c, "type", type);
    json_set_text(a, c, "status", status ? "True" : "False");
    json_set(a, c, "lastProbeTime", json_new(a, JSON_NULL));
    json_set_text(a, c, "lastTransitionTime", time_text(a, wall_ms));
    if (reason)
        json_set_text(a, c, "reason", reason);
    json_append(list, c);
}

static struct json *terminated(struct arena *a, int exit_code, int64_t started_wall_ms, int64_t ended_wall_ms)
{
    struct json *state = json_new(a, JSON_OBJECT);
    struct json *t = json_ensure_object(a, state, "terminated");
    json_set_int64(a, t, "exitCode", exit_code);
    json_set_text(a, t, "reason", exit_code ? "Error" : "Completed");
    json_set_text(a, t, "startedAt", time_text(a, started_wall_ms));
    json_set_text(a, t, "finishedAt", time_text(a, ended_wall_ms));
    return state;
}

/* The run that ended last: this one, or the one before it. */
static struct json *last_ended(struct arena *a, const struct pod_life *p)
{
    bool runs = p->step == POD_RUNNING_STEP;
    return terminated(a, p->exit_code, runs ? p->last_started_wall_ms : p->started_wall_ms, p->ended_wall_ms);
}

static struct json *running_state(struct arena *a, const struct pod_life *p)
{
    struct json *state = json_new(a, JSON_OBJECT);
    json_set_text(a, json_ensure_object(a, state, "running"), "startedAt", time_text(a, p->started_wall_ms));
    return state;
}

static struct json *container_state(struct arena *a, const struct pod_life *p)
{
    if (p->step == POD_RUNNING_STEP)
        return running_state(a, p);
    if (p->step != POD_WAITING)
        return last_ended(a, p);
    struct json *state = json_new(a, JSON_OBJECT), *waiting = json_ensure_object(a, state, "waiting");
    json_set_text(a, waiting, "reason", "CrashLoopBackOff");
    json_set_text(a, waiting, "message", "back-off restarting failed container");
    return state;
}

/* Init containers have ended well before the others began. Sidecars run on while the others restart, and are ended after them. */
static struct json *init_state(struct arena *a, const struct pod_life *p, bool sidecar)
{
    if (!sidecar)
        return terminated(a, 0, p->started_wall_ms, p->started_wall_ms);
    return p->step == POD_DONE ? terminated(a, 0, p->started_wall_ms, p->ended_wall_ms) : running_state(a, p);
}

static struct json *container_status(struct arena *a, const struct pod_life *p, uint32_t i, struct device_health health)
{
    const struct pod_container *container = &p->containers[i];
    bool app = container->kind == CONTAINER_APP, sidecar = container->kind == CONTAINER_SIDECAR;
    bool running = app ? p->step == POD_RUNNING_STEP : sidecar && p->step != POD_DONE;
    struct json *c = json_new(a, JSON_OBJECT);
    json_set_text(a, c, "name", container->name);
    json_set_text(a, c, "image", container->image);
    json_set_text(a, c, "imageID", "");
    json_set_text(a, c, "containerID", arena_printf(a, "simulated://%s/%u", p->uid, i));
    json_set_int64(a, c, "restartCount", app ? p->restarts_n : 0);
    json_set_bool(a, c, "ready", running || container->kind == CONTAINER_INIT);
    json_set_bool(a, c, "started", running);
    json_set(a, c, "state", app ? container_state(a, p) : init_state(a, p, sidecar));
    json_set(a, c, "lastState",
             app && (p->restarts_n > 0 || p->step == POD_WAITING) ? last_ended(a, p) : json_new(a, JSON_OBJECT));
    struct json *devices = p->devices ? pod_devices_status(a, p->devices, container->name, health) : NULL;
    if (devices)
        json_set(a, c, "allocatedResourcesStatus", devices);
    return c;
}

/* SOURCE kubelets call them never ready, and do not restart them. */
static struct json *debugger_status(struct arena *a, const struct pod_life *p, const struct pod_debugger *d)
{
    struct json *c = json_new(a, JSON_OBJECT), *state = json_new(a, JSON_OBJECT);
    json_set_text(a, c, "name", d->name);
    json_set_text(a, c, "image", d->image);
    json_set_text(a, c, "imageID", "");
    json_set_text(a, c, "containerID", arena_printf(a, "simulated://%s/%s", p->uid, d->name));
    json_set_int64(a, c, "restartCount", 0);
    json_set_bool(a, c, "ready", false);
    if (p->step != POD_DONE)
        json_set_text(a, json_ensure_object(a, state, "running"), "startedAt", time_text(a, d->started_wall_ms));
    json_set(a, c, "state", p->step == POD_DONE ? terminated(a, 0, d->started_wall_ms, p->ended_wall_ms) : state);
    json_set(a, c, "lastState", json_new(a, JSON_OBJECT));
    return c;
}

/* SOURCE kubelets say no more about a pod that they do not take. */
static void add_refusal(struct arena *a, const struct pod_life *p, struct json *status, int64_t wall_ms)
{
    json_set_text(a, status, "phase", "Failed");
    json_set_text(a, status, "reason", p->reason);
    json_set_text(a, status, "message", arena_printf(a, "Pod was rejected: %s", p->refusal));
    json_set_text(a, status, "startTime", time_text(a, wall_ms));
}

struct json *pod_status_patch(struct arena *a, const struct pod_life *p, int64_t wall_ms, struct device_health health)
{
    bool running = p->step == POD_RUNNING_STEP, done = p->step == POD_DONE;
    struct json *patch = json_new(a, JSON_OBJECT);
    json_set_text(a, json_ensure_object(a, patch, "metadata"), "uid", p->uid);
    struct json *status = json_ensure_object(a, patch, "status");
    if (p->refusal) {
        add_refusal(a, p, status, wall_ms);
        return patch;
    }
    json_set_text(a, status, "phase", !done ? "Running" : p->failed ? "Failed" : "Succeeded");
    if (done && p->reason) {
        json_set_text(a, status, "reason", p->reason);
        json_set_text(a, status, "message", "Pod was active on the node longer than the specified deadline");
    }
    const char *ip =
        arena_printf(a, "10.%u.%u.%u", 128 + (p->address >> 16) % 64, (p->address >> 8) & 255, p->address & 255);
    json_set_text(a, status, "podIP", ip);
    struct json *one = json_new(a, JSON_OBJECT), *instead = json_new(a, JSON_OBJECT);
    json_set_text(a, instead, "$patch", "replace"); /* a pod that is taken over after a restart has another address */
    json_append(json_ensure_array(a, status, "podIPs"), instead);
    json_set_text(a, one, "ip", ip);
    json_append(json_ensure_array(a, status, "podIPs"), one);
    json_set_text(a, status, "hostIP", "10.64.0.1");
    if (p->step == POD_RUNNING_STEP && p->restarts_n == 0)
        json_set_text(a, status, "startTime", time_text(a, p->since_wall_ms));
    struct json *conditions = json_ensure_array(a, status, "conditions");
    const char *not_ready = done && !p->failed ? "PodCompleted" : done ? "PodFailed" : "ContainersNotReady";
    add_condition(a, conditions, "Initialized", true, done && !p->failed ? "PodCompleted" : NULL, p->started_wall_ms);
    add_condition(a, conditions, "Ready", running, running ? NULL : not_ready, wall_ms);
    add_condition(a, conditions, "ContainersReady", running, running ? NULL : not_ready, wall_ms);
    add_condition(a, conditions, "PodScheduled", true, NULL, p->created_wall_ms);
    for (uint32_t i = 0; i < p->containers_n; i++) {
        const char *list = p->containers[i].kind == CONTAINER_APP ? "containerStatuses" : "initContainerStatuses";
        json_append(json_ensure_array(a, status, list), container_status(a, p, i, health));
    }
    for (uint32_t i = 0; i < p->debuggers_n; i++)
        json_append(json_ensure_array(a, status, "ephemeralContainerStatuses"), debugger_status(a, p, &p->debuggers[i]));
    return patch;
}
