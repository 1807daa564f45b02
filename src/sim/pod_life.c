/* pod_life.c - from a pod's spec and annotations to its steps */
#include "sim/pod_life.h"
#include <math.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/quantity.h"
#include "sim/kubelets.h"

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

static int64_t default_run_ms(const struct json *pod, enum restart_policy restart)
{
    return restart == RESTART_ALWAYS || plays_sshd(pod) ? -1 : SIM_DEFAULT_RUN_SECONDS * 1000;
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

struct pod_life *pod_life_new(const struct json *pod, uint32_t address)
{
    const struct json *metadata = json_get(pod, "metadata"), *spec = json_get(pod, "spec");
    const struct json *annotations = json_get(metadata, "annotations");
    struct pod_life *p = mem_zero(1, sizeof *p);
    p->ns = mem_text(json_get_text(metadata, "namespace", ""));
    p->name = mem_text(json_get_text(metadata, "name", ""));
    p->uid = mem_text(json_get_text(metadata, "uid", ""));
    p->node = mem_text(json_get_text(spec, "nodeName", ""));
    p->address = p->order = address;
    JSON_EACH (container, json_get(spec, "containers")) {
        if (p->containers_n == POD_CONTAINERS_MAX)
            break; /* the rest share the fate of the pod without a status of their own */
        p->containers[p->containers_n] = mem_text(json_get_text(container, "name", ""));
        p->images[p->containers_n++] = mem_text(json_get_text(container, "image", ""));
        add_usage(p, container);
    }
    p->restart = restart_policy_of(spec);
    p->run_ms = annotation_ms(annotations, "capstan.dev/run-seconds", default_run_ms(pod, p->restart));
    p->start_ms = annotation_ms(annotations, "capstan.dev/start-seconds", POD_START_MS);
    p->exit_code = (int)(annotation_ms(annotations, "capstan.dev/exit-code", 0) / 1000) & 255;
    time_parse(json_bytes(json_get(metadata, "creationTimestamp")), &p->created_wall_ms);
    return p;
}

void pod_life_free(struct pod_life *p)
{
    if (!p)
        return;
    free(p->ns);
    free(p->name);
    free(p->uid);
    free(p->node);
    for (uint32_t i = 0; i < p->containers_n; i++) {
        free(p->containers[i]);
        free(p->images[i]);
    }
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
    const struct json *first = json_item(json_get(status, "containerStatuses"), 0);
    p->restarts_n = (uint32_t)json_get_int64(first, "restartCount", 0);
    if (json_path(first, "state", "waiting", NULL)) {
        p->step = POD_WAITING;
        return POD_RESTART_MS;
    }
    p->step = POD_RUNNING_STEP;
    p->started_wall_ms = wall_ms;
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
    p->started_wall_ms = wall_ms;
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
    case POD_STOPPING:
        break;
    }
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
    for (int64_t i = steps_n > LOG_LINES_MAX ? steps_n - LOG_LINES_MAX + 1 : 1; i <= steps_n; i++) {
        int64_t at_ms = p->started_wall_ms + (int64_t)((double)i * 1000 / speed);
        buf_printf(out, "%s step %lld\n", time_format(time, at_ms), (long long)i);
    }
    if (ended)
        buf_printf(out, "%s exit code %d\n", time_format(time, until_ms), p->exit_code);
}
