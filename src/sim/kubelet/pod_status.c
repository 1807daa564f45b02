/* pod_status.c - steps as status documents. SOURCE core/v1 PodStatus, kubelet's condition order and reasons. */
#include "sim/kubelet/pod_status.h"
#include "base/clock.h"

static void write_time(struct buf *out, const char *key, int64_t wall_ms, char before)
{
    char text[TIME_TEXT_MAX];
    json_write_member(out, key, time_format(text, wall_ms), before);
}

static void write_condition(struct buf *out, const char *type, bool status, const char *reason, int64_t wall_ms)
{
    if (out->data[out->n - 1] == '}')
        buf_char(out, ',');
    json_write_member(out, "type", type, '{');
    json_write_member(out, "status", status ? "True" : "False", ',');
    buf_text(out, ",\"lastProbeTime\":null");
    write_time(out, "lastTransitionTime", wall_ms, ',');
    if (reason)
        json_write_member(out, "reason", reason, ',');
    buf_char(out, '}');
}

static void write_terminated(struct buf *out, int exit_code, int64_t started_wall_ms, int64_t ended_wall_ms)
{
    buf_printf(out, "{\"terminated\":{\"exitCode\":%d", exit_code);
    json_write_member(out, "reason", exit_code ? "Error" : "Completed", ',');
    write_time(out, "startedAt", started_wall_ms, ',');
    write_time(out, "finishedAt", ended_wall_ms, ',');
    buf_text(out, "}}");
}

/* The run that ended last: this one, or the one before it. */
static void write_last_ended(struct buf *out, const struct pod_life *p)
{
    bool runs = p->step == POD_RUNNING_STEP;
    write_terminated(out, p->exit_code, runs ? p->last_started_wall_ms : p->started_wall_ms, p->ended_wall_ms);
}

static void write_running(struct buf *out, int64_t started_wall_ms)
{
    buf_text(out, "{\"running\":");
    write_time(out, "startedAt", started_wall_ms, '{');
    buf_text(out, "}}");
}

static void write_state(struct buf *out, const struct pod_life *p)
{
    if (p->step == POD_RUNNING_STEP)
        write_running(out, p->started_wall_ms);
    else if (p->step != POD_WAITING)
        write_last_ended(out, p);
    else
        buf_text(out, "{\"waiting\":{\"reason\":\"CrashLoopBackOff\",\"message\":\"back-off restarting failed container\"}}");
}

/* Init containers have ended well before the others began. Sidecars run on while the others restart, and are ended after them. */
static void write_init_state(struct buf *out, const struct pod_life *p, bool sidecar)
{
    if (!sidecar)
        write_terminated(out, 0, p->started_wall_ms, p->started_wall_ms);
    else if (p->step == POD_DONE)
        write_terminated(out, 0, p->started_wall_ms, p->ended_wall_ms);
    else
        write_running(out, p->started_wall_ms);
}

/* "name" to "ready" */
static void write_container(struct buf *out, const char *name, const char *image, uint32_t restarts_n, bool ready)
{
    json_write_member(out, "name", name, '{');
    json_write_member(out, "image", image, ',');
    buf_text(out, ",\"imageID\":\"\",\"restartCount\":");
    buf_int64(out, restarts_n);
    buf_text(out, ready ? ",\"ready\":true" : ",\"ready\":false");
}

static void write_status(struct buf *out, struct arena *a, const struct pod_life *p, uint32_t i, struct device_health health)
{
    const struct pod_container *container = &p->containers[i];
    bool app = container->kind == CONTAINER_APP, sidecar = container->kind == CONTAINER_SIDECAR;
    bool running = app ? p->step == POD_RUNNING_STEP : sidecar && p->step != POD_DONE;
    struct json *devices = p->devices ? pod_devices_status(a, p->devices, container->name, health) : NULL;
    write_container(out, container->name, container->image, app ? p->restarts_n : 0, running || container->kind == CONTAINER_INIT);
    json_write_member(out, "containerID", arena_printf(a, "simulated://%s/%u", p->uid, i), ',');
    buf_text(out, running ? ",\"started\":true,\"state\":" : ",\"started\":false,\"state\":");
    if (app)
        write_state(out, p);
    else
        write_init_state(out, p, sidecar);
    buf_text(out, ",\"lastState\":");
    if (app && (p->restarts_n > 0 || p->step == POD_WAITING))
        write_last_ended(out, p);
    else
        buf_text(out, "{}");
    if (devices) {
        buf_text(out, ",\"allocatedResourcesStatus\":");
        json_write(out, devices);
    }
    buf_char(out, '}');
}

/* SOURCE kubelets call them never ready, and do not restart them. */
static void write_debugger(struct buf *out, struct arena *a, const struct pod_life *p, const struct pod_debugger *d)
{
    write_container(out, d->name, d->image, 0, false);
    json_write_member(out, "containerID", arena_printf(a, "simulated://%s/%s", p->uid, d->name), ',');
    buf_text(out, ",\"state\":");
    if (p->step == POD_DONE)
        write_terminated(out, 0, d->started_wall_ms, p->ended_wall_ms);
    else
        write_running(out, d->started_wall_ms);
    buf_text(out, ",\"lastState\":{}}");
}

/* SOURCE kubelets say no more about a pod that they do not take. */
static void write_refusal(struct buf *out, struct arena *a, const struct pod_life *p, int64_t wall_ms)
{
    buf_text(out, "\"phase\":\"Failed\"");
    json_write_member(out, "reason", p->reason, ',');
    json_write_member(out, "message", arena_printf(a, "Pod was rejected: %s", p->refusal), ',');
    write_time(out, "startTime", wall_ms, ',');
}

static void write_conditions(struct buf *out, const struct pod_life *p, int64_t wall_ms)
{
    bool running = p->step == POD_RUNNING_STEP, done = p->step == POD_DONE;
    const char *completed = done && !p->failed ? "PodCompleted" : NULL;
    const char *not_ready = running ? NULL : completed ? completed : done ? "PodFailed" : "ContainersNotReady";
    buf_text(out, ",\"conditions\":[");
    write_condition(out, "Initialized", true, completed, p->started_wall_ms);
    write_condition(out, "Ready", running, not_ready, wall_ms);
    write_condition(out, "ContainersReady", running, not_ready, wall_ms);
    write_condition(out, "PodScheduled", true, NULL, p->scheduled_wall_ms);
    buf_char(out, ']');
}

/* The containers of the pod's own list, or those of the init containers. */
static void write_statuses(struct buf *out, struct arena *a, const struct pod_life *p, bool apps, struct device_health health)
{
    bool any = false;
    for (uint32_t i = 0; i < p->containers_n; i++) {
        if ((p->containers[i].kind == CONTAINER_APP) != apps)
            continue;
        buf_text(out, any ? "," : apps ? ",\"containerStatuses\":[" : ",\"initContainerStatuses\":[");
        write_status(out, a, p, i, health);
        any = true;
    }
    if (any)
        buf_char(out, ']');
}

/* $patch: a pod that is taken over after a restart has another address. */
static void write_addresses(struct buf *out, const struct pod_life *p)
{
    char ip[24];
    text_printf(ip, sizeof ip, "10.%u.%u.%u", 128 + (p->address >> 16) % 64, (p->address >> 8) & 255, p->address & 255);
    json_write_member(out, "podIP", ip, ',');
    buf_text(out, ",\"podIPs\":[{\"$patch\":\"replace\"},");
    json_write_member(out, "ip", ip, '{');
    buf_text(out, "}],\"hostIP\":\"10.64.0.1\"");
}

static void write_life(struct buf *out, struct arena *a, const struct pod_life *p, int64_t wall_ms, struct device_health health)
{
    bool done = p->step == POD_DONE;
    buf_text(out, !done ? "\"phase\":\"Running\"" : p->failed ? "\"phase\":\"Failed\"" : "\"phase\":\"Succeeded\"");
    if (done && p->reason) {
        json_write_member(out, "reason", p->reason, ',');
        json_write_member(out, "message", "Pod was active on the node longer than the specified deadline", ',');
    }
    write_addresses(out, p);
    if (p->step == POD_RUNNING_STEP && p->restarts_n == 0)
        write_time(out, "startTime", p->since_wall_ms, ',');
    write_conditions(out, p, wall_ms);
    write_statuses(out, a, p, true, health);
    write_statuses(out, a, p, false, health);
    for (uint32_t i = 0; i < p->debuggers_n; i++) {
        buf_text(out, i ? "," : ",\"ephemeralContainerStatuses\":[");
        write_debugger(out, a, p, &p->debuggers[i]);
    }
    if (p->debuggers_n)
        buf_char(out, ']');
}

void pod_status_patch(struct buf *out, struct arena *a, const struct pod_life *p, int64_t wall_ms, struct device_health health)
{
    buf_text(out, "{\"metadata\":");
    json_write_member(out, "uid", p->uid, '{');
    buf_text(out, "},\"status\":{");
    if (p->refusal)
        write_refusal(out, a, p, wall_ms);
    else
        write_life(out, a, p, wall_ms, health);
    buf_text(out, "}}");
}
