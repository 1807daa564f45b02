/* pod_life.c - from a pod's spec and annotations to its steps */
#include "sim/kubelet/pod_life.h"
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/quantity.h"
#include "kube/object.h"
#include "sim/kubelet/kubelets.h"
#include "sim/kubelet/pod_command.h"

#define LOG_LINES_MAX 2000

/* Annotation as seconds with fraction, in ms; fallback when absent or malformed or negative. */
static int64_t annotation_ms(const struct json *annotations, const char *key, int64_t fallback_ms)
{
    const char *text = json_get_text(annotations, key, NULL);
    char *end;
    if (!text || !*text)
        return fallback_ms;
    double seconds = strtod(text, &end);
    if (*end || !isfinite(seconds) || seconds < 0 || seconds > 1e9)
        return fallback_ms;
    return (int64_t)(seconds * 1000);
}

static enum restart_policy restart_policy_of(const struct json *spec)
{
    const char *text = json_get_text(spec, "restartPolicy", "Always");
    if (text_equal(text, "Never"))
        return RESTART_NEVER;
    return text_equal(text, "OnFailure") ? RESTART_ON_FAILURE : RESTART_ALWAYS;
}

/* A worker of an MPI vcjob: no command, the job's ssh keys mounted. Its image would run sshd and wait. */
static bool plays_sshd(const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec");
    const struct json *first = json_item(json_get(spec, "containers"), 0);
    const char *job = json_get_text(json_path(pod, "metadata", "annotations", NULL), "volcano.sh/job-name", NULL);
    if (!job || json_get(first, "command") || json_get(first, "args"))
        return false;
    JSON_EACH (volume, json_get(spec, "volumes")) {
        const char *secret = json_get_text(json_get(volume, "secret"), "secretName", "");
        size_t n = strlen(job);
        if (strncmp(secret, job, n) == 0 && text_equal(secret + n, "-ssh"))
            return true;
    }
    return false;
}

/* Time and exit code: what the annotations say, else what the command says, else the default. */
static void read_end(struct pod_life *p, const struct json *pod)
{
    const struct json *annotations = json_path(pod, "metadata", "annotations", NULL);
    bool endless = p->restart == RESTART_ALWAYS || plays_sshd(pod);
    struct pod_command said = pod_command_read(json_get(pod, "spec"), endless ? -1 : SIM_DEFAULT_RUN_SECONDS * 1000);
    bool annotated = json_get(annotations, "capstan.dev/run-seconds") || json_get(annotations, "capstan.dev/exit-code");
    p->run_ms = annotation_ms(annotations, "capstan.dev/run-seconds", said.run_ms);
    int64_t code = annotated ? 0 : said.exit_code;
    p->ignores_term = said.ignores_term;
    p->exit_code = (int)(annotation_ms(annotations, "capstan.dev/exit-code", code * 1000) / 1000) & 255;
}

static void add_usage(struct pod_life *p, const struct json *container)
{
    struct quantity q;
    const struct json *requests = json_path(container, "resources", "requests", NULL);
    if (quantity_parse(json_bytes(json_get(requests, "cpu")), &q, NULL) == 0)
        p->cpu_milli += quantity_milli(q);
    if (quantity_parse(json_bytes(json_get(requests, "memory")), &q, NULL) == 0)
        p->memory_bytes += quantity_whole(q);
}

static size_t text_bytes(const struct json *object, const char *key)
{
    return strlen(json_get_text(object, key, "")) + 1;
}

static const char *text_copy(char **at, const struct json *object, const char *key)
{
    const char *text = json_get_text(object, key, "");
    size_t n = strlen(text) + 1;
    char *copy = memcpy(*at, text, n);
    *at += n;
    return copy;
}

/* Containers and their texts; those past POD_CONTAINERS_MAX share the fate of the pod without a status of their own. */
static uint32_t containers_count(const struct json *list, uint32_t n, size_t *bytes)
{
    JSON_EACH (container, list) {
        if (n == POD_CONTAINERS_MAX)
            break;
        *bytes += sizeof(struct pod_container) + text_bytes(container, "name") + text_bytes(container, "image");
        n++;
    }
    return n;
}

static void containers_read(struct pod_life *p, const struct json *list, bool init, char **at)
{
    JSON_EACH (container, list) {
        if (p->containers_n == POD_CONTAINERS_MAX)
            break;
        struct pod_container *c = &p->containers[p->containers_n++];
        c->name = text_copy(at, container, "name");
        c->image = text_copy(at, container, "image");
        c->kind = !init                                                               ? CONTAINER_APP
                  : text_equal(json_get_text(container, "restartPolicy", ""), "Always") ? CONTAINER_SIDECAR
                                                                                      : CONTAINER_INIT;
        if (c->kind != CONTAINER_INIT)
            add_usage(p, container);
    }
}

/* Room for the struct, its containers and texts; the texts are filled in. */
static struct pod_life *life_alloc(const struct json *metadata, const struct json *spec)
{
    const struct json *containers = json_get(spec, "containers"), *init = json_get(spec, "initContainers");
    size_t bytes = text_bytes(metadata, "namespace") + text_bytes(metadata, "name") + text_bytes(metadata, "uid") +
                   text_bytes(spec, "nodeName");
    uint32_t n = containers_count(init, containers_count(containers, 0, &bytes), &bytes);
    struct pod_life *p = mem_zero(1, sizeof *p + bytes);
    p->containers = (struct pod_container *)(p + 1);
    char *at = (char *)(p->containers + n);
    p->ns = text_copy(&at, metadata, "namespace");
    p->name = text_copy(&at, metadata, "name");
    p->uid = text_copy(&at, metadata, "uid");
    p->node = text_copy(&at, spec, "nodeName");
    containers_read(p, containers, false, &at);
    containers_read(p, init, true, &at);
    return p;
}

static void ports_read(struct pod_life *p, const struct json *containers)
{
    uint32_t cap = 0;
    JSON_EACH (container, containers)
        JSON_EACH (port, json_get(container, "ports")) {
            int64_t number = json_get_int64(port, "hostPort", 0);
            const char *address = json_get_text(port, "hostIP", "");
            if (number < 1 || number > UINT16_MAX)
                continue;
            MEM_RESERVE(p->ports, cap, p->ports_n + 1);
            p->ports[p->ports_n++] = (struct pod_port){mem_text(text_equal(address, "0.0.0.0") ? "" : address),
                                                       mem_text(json_get_text(port, "protocol", "TCP")), (int32_t)number};
        }
}

bool pod_life_clash(const struct pod_life *p, const struct pod_life *other)
{
    if (p == other || !text_equal(p->node, other->node))
        return false;
    for (uint32_t i = 0; i < p->ports_n; i++)
        for (uint32_t k = 0; k < other->ports_n; k++) {
            const struct pod_port *x = &p->ports[i], *y = &other->ports[k];
            if (x->port == y->port && text_equal(x->protocol, y->protocol) &&
                (!*x->address || !*y->address || text_equal(x->address, y->address)))
                return true;
        }
    return false;
}

bool pod_life_limit(struct pod_life *p, const struct json *pod)
{
    int64_t seconds = json_get_int64(json_get(pod, "spec"), "activeDeadlineSeconds", -1);
    int64_t limit_ms = seconds < 0 || seconds > INT32_MAX ? -1 : seconds * 1000;
    bool is_new = limit_ms != p->active_ms;
    p->active_ms = limit_ms;
    return is_new;
}

/* When it was started, as the pod's status says; wall_ms when it does not. */
static int64_t debugger_started(const struct json *pod, const char *name, int64_t wall_ms)
{
    JSON_EACH (c, json_path(pod, "status", "ephemeralContainerStatuses", NULL))
        if (text_equal(json_get_text(c, "name", ""), name))
            time_parse(json_bytes(json_path(c, "state", "running", "startedAt", NULL)), &wall_ms);
    return wall_ms;
}

static bool debugger_known(const struct pod_life *p, const char *name)
{
    for (uint32_t i = 0; i < p->debuggers_n; i++)
        if (text_equal(p->debuggers[i].name, name))
            return true;
    return false;
}

/* ORDER  that in which they came; a strategic merge puts new ones first. */
bool pod_life_debug(struct pod_life *p, const struct json *pod, int64_t wall_ms)
{
    uint32_t had_n = p->debuggers_n;
    JSON_EACH (one, json_path(pod, "spec", "ephemeralContainers", NULL)) {
        const char *name = json_get_text(one, "name", "");
        if (p->debuggers_n == POD_CONTAINERS_MAX || debugger_known(p, name))
            continue;
        p->debuggers = mem_grow(p->debuggers, p->debuggers_n + 1u, sizeof *p->debuggers);
        p->debuggers[p->debuggers_n++] =
            (struct pod_debugger){mem_text(name), mem_text(json_get_text(one, "image", "")), debugger_started(pod, name, wall_ms)};
    }
    return p->debuggers_n > had_n;
}

int64_t pod_life_left_ms(const struct pod_life *p, int64_t wall_ms, double speed)
{
    if (p->active_ms < 0 || !p->since_wall_ms)
        return -1;
    int64_t gone_ms = (int64_t)((double)(wall_ms - p->since_wall_ms) * speed);
    return gone_ms < p->active_ms ? p->active_ms - gone_ms : 0;
}

struct pod_life *pod_life_new(const struct json *pod, uint32_t address)
{
    const struct json *metadata = json_get(pod, "metadata"), *spec = json_get(pod, "spec");
    const struct json *annotations = json_get(metadata, "annotations");
    struct pod_life *p = life_alloc(metadata, spec);
    p->address = p->order = address;
    p->restart = restart_policy_of(spec);
    (void)pod_life_limit(p, pod);
    ports_read(p, json_get(spec, "containers"));
    p->devices = pod_devices_read(pod);
    p->start_ms = annotation_ms(annotations, "capstan.dev/start-seconds", POD_START_MS);
    read_end(p, pod);
    if (!time_parse(json_bytes(json_get(object_condition(pod, "PodScheduled"), "lastTransitionTime")), &p->scheduled_wall_ms))
        time_parse(json_bytes(json_get(metadata, "creationTimestamp")), &p->scheduled_wall_ms);
    return p;
}

void pod_life_free(struct pod_life *p)
{
    if (!p)
        return;
    pod_devices_free(p->devices);
    for (uint32_t i = 0; i < p->ports_n; i++) {
        free(p->ports[i].address);
        free(p->ports[i].protocol);
    }
    free(p->ports);
    for (uint32_t i = 0; i < p->debuggers_n; i++) {
        free(p->debuggers[i].name);
        free(p->debuggers[i].image);
    }
    free(p->debuggers);
    free(p->refusal);
    free(p);
}

int64_t pod_life_resume(struct pod_life *p, const struct json *pod, int64_t wall_ms, double speed)
{
    const struct json *status = json_get(pod, "status");
    const char *phase = json_get_text(status, "phase", "Pending");
    if (text_equal(phase, "Succeeded") || text_equal(phase, "Failed")) {
        p->step = POD_DONE;
        p->failed = text_equal(phase, "Failed");
        return -1;
    }
    if (!text_equal(phase, "Running"))
        return p->start_ms;
    p->has_ports = true;
    p->since_wall_ms = wall_ms;
    time_parse(json_bytes(json_get(status, "startTime")), &p->since_wall_ms);
    const struct json *first = json_item(json_get(status, "containerStatuses"), 0);
    p->restarts_n = (uint32_t)json_get_int64(first, "restartCount", 0);
    const struct json *last = json_path(first, "lastState", "terminated", NULL);
    p->last_started_wall_ms = p->ended_wall_ms = wall_ms; /* where the object does not say it */
    time_parse(json_bytes(json_get(last, "startedAt")), &p->last_started_wall_ms);
    time_parse(json_bytes(json_get(last, "finishedAt")), &p->ended_wall_ms);
    p->started_wall_ms = wall_ms;
    if (json_path(first, "state", "waiting", NULL)) {
        p->started_wall_ms = p->last_started_wall_ms;
        p->step = POD_WAITING;
        return POD_RESTART_MS;
    }
    p->step = POD_RUNNING_STEP;
    time_parse(json_bytes(json_path(first, "state", "running", "startedAt", NULL)), &p->started_wall_ms);
    if (p->run_ms < 0)
        return -1;
    int64_t gone_ms = (int64_t)((double)(wall_ms - p->started_wall_ms) * speed);
    return gone_ms < p->run_ms ? p->run_ms - gone_ms : 0;
}

static int64_t restart_delay_ms(const struct pod_life *p)
{
    int64_t delay_ms = POD_RESTART_MS;
    for (uint32_t i = 0; i < p->restarts_n && delay_ms < POD_RESTART_MAX_MS; i++)
        delay_ms *= 2;
    return delay_ms < POD_RESTART_MAX_MS ? delay_ms : POD_RESTART_MAX_MS;
}

static int64_t start(struct pod_life *p, int64_t wall_ms)
{
    p->step = POD_RUNNING_STEP;
    p->last_started_wall_ms = p->started_wall_ms;
    p->started_wall_ms = wall_ms;
    if (!p->since_wall_ms)
        p->since_wall_ms = wall_ms;
    return p->run_ms;
}

int64_t pod_life_advance(struct pod_life *p, int64_t wall_ms, double speed)
{
    (void)speed;
    switch (p->step) {
    case POD_STARTING:
        return start(p, wall_ms);
    case POD_WAITING:
        p->restarts_n++;
        return start(p, wall_ms);
    case POD_RUNNING_STEP:
        p->ended_wall_ms = wall_ms;
        p->failed = p->exit_code != 0;
        if (p->restart == RESTART_ALWAYS || (p->restart == RESTART_ON_FAILURE && p->failed)) {
            p->step = POD_WAITING;
            return restart_delay_ms(p);
        }
        p->step = POD_DONE;
        return -1;
    case POD_DONE:
        break;
    }
    return -1;
}

/* SOURCE kubelets take the code of what ran last; of what never ran they say 137, and that it failed. */
void pod_life_end(struct pod_life *p, int64_t wall_ms)
{
    if (p->step == POD_RUNNING_STEP) {
        p->ended_wall_ms = wall_ms;
        p->exit_code = 128 + (p->ignores_term ? SIGKILL : SIGTERM);
    } else if (p->step == POD_STARTING) {
        p->started_wall_ms = p->ended_wall_ms = wall_ms;
        p->exit_code = 128 + SIGKILL;
    }
    p->failed = p->exit_code != 0;
    p->step = POD_DONE;
}

/* SOURCE kubelets kill the containers; phase and reason are the pod's. */
int64_t pod_life_expire(struct pod_life *p, int64_t wall_ms)
{
    if (p->step == POD_RUNNING_STEP) {
        p->ended_wall_ms = wall_ms;
        p->exit_code = 128 + SIGKILL;
    }
    p->step = POD_DONE;
    p->failed = true;
    p->reason = "DeadlineExceeded";
    return -1;
}

void pod_life_log(const struct pod_life *p, const char *container, int64_t wall_ms, double speed, struct buf *out)
{
    if (p->step == POD_STARTING || p->started_wall_ms == 0)
        return;
    char time[TIME_TEXT_MAX];
    bool ended = p->step == POD_DONE || p->step == POD_WAITING;
    int64_t until_ms = ended ? p->ended_wall_ms : wall_ms;
    int64_t steps_n = (int64_t)((double)(until_ms - p->started_wall_ms) * speed / 1000);
    buf_printf(out, "%s %s started on %s (simulated)\n", time_format(time, p->started_wall_ms), container, p->node);
    if (p->devices) {
        _cleanup_buf_ struct buf given = {0};
        pod_devices_text(p->devices, &given);
        if (given.n)
            buf_printf(out, "%s devices %s\n", time, given.data);
    }
    for (int64_t i = steps_n > LOG_LINES_MAX ? steps_n - LOG_LINES_MAX + 1 : 1; i <= steps_n; i++) {
        int64_t at_ms = p->started_wall_ms + (int64_t)((double)i * 1000 / speed);
        buf_printf(out, "%s step %lld\n", time_format(time, at_ms), (long long)i);
    }
    if (ended)
        buf_printf(out, "%s exit code %d\n", time_format(time, until_ms), p->exit_code);
}
