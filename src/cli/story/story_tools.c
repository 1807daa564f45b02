/* story_tools.c - see story.h */
#include <stdio.h>
#include "cli/lookup/accelerators.h"
#include "cli/lookup/job_find.h"
#include "cli/story/story.h"
#include "kube/object.h"

enum { LOOK_MS = 20, PAUSE_MS = 1600, LATE_MS = 20000, PROGRESS_MS = 300, BAR_MAX = 64 };

void story_say(struct story *s, const char *format, ...)
{
    va_list args;
    printf("%5.1fs  ", (double)(loop_now_ms(s->loop) - s->start_ms) / 1000);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    (void)fflush(stdout); /* output_finish says what is wrong with it */
}

void story_more(const char *format, ...)
{
    va_list args;
    fputs("        ", stdout);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static void run_for(struct story *s, int64_t ms)
{
    s->stopped |= loop_run_for(s->loop, ms, NULL) < 0;
}

void story_pause(struct story *s)
{
    (void)fflush(stdout);
    int64_t ms = (int64_t)(PAUSE_MS / (s->speed > 1 ? s->speed : 1));
    for (int64_t end_ms = loop_now_ms(s->loop) + ms; !s->stopped && loop_now_ms(s->loop) < end_ms;)
        run_for(s, LOOK_MS);
}

const struct json *story_get(struct story *s, const char *path)
{
    struct err e = {0};
    return connection_get(&s->c, s->a, path, &e);
}

static bool send(struct story *s, const char *method, const char *path, const char *type, const char *text)
{
    struct err e = {0};
    const struct json *body = json_parse(s->a, bytes_of(text), NULL, &e);
    if (body)
        (void)connection_send(&s->c, s->a, method, path, type, body, &e);
    if (e.code && e.code != E_EXISTS) {
        story_say(s, "this was refused: %s", e.text);
        s->failed = true;
    }
    return !s->failed;
}

bool story_post(struct story *s, const char *path, const char *object)
{
    return send(s, "POST", path, NULL, object);
}

bool story_patch(struct story *s, const char *path, const char *patch)
{
    return send(s, "PATCH", path, kube_patch_type(KUBE_PATCH_MERGE), patch);
}

bool story_delete(struct story *s, const char *path)
{
    return send(s, "DELETE", path, NULL, "{\"propagationPolicy\":\"Background\"}");
}

bool story_wait(struct story *s, bool (*is)(struct story *s, const void *of), const void *of, const char *what)
{
    int64_t begin_ms = loop_now_ms(s->loop), told_ms = begin_ms;
    bool told = false, yes = false;
    while (!s->stopped && !s->failed && !(yes = is(s, of)) && loop_now_ms(s->loop) - begin_ms < LATE_MS) {
        if (s->progress && loop_now_ms(s->loop) - told_ms >= PROGRESS_MS) {
            told_ms = loop_now_ms(s->loop);
            fprintf(stderr, "\r        waiting for %s, %.1f s \033[K", what, (double)(told_ms - begin_ms) / 1000);
            told = true;
        }
        run_for(s, LOOK_MS);
    }
    if (told)
        fputs("\r\033[K", stderr);
    if (!yes && !s->stopped && !s->failed) {
        story_say(s, "this did not come true within %d s: %s", LATE_MS / 1000, what);
        s->failed = true;
    }
    return yes;
}

/* ---- jobs ---- */

static const char *label_of(struct arena *a, const char *priority)
{
    return priority ? arena_printf(a, ",\"kueue.x-k8s.io/priority-class\":\"%s\"", priority) : "";
}

bool story_submit(struct story *s, const struct story_job *job)
{
    return story_post(
        s, kube_path(s->a, "batch", "v1", "jobs", job->ns, NULL, NULL),
        arena_printf(s->a,
                     "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"labels\":{\"kueue.x-k8s.io/queue-name\":"
                     "\"gpus\"%s}},\"spec\":{\"suspend\":true,\"parallelism\":%d,\"completions\":%d,\"template\":{\"metadata\":{"
                     "\"annotations\":{\"capstan.dev/run-seconds\":\"%d\",\"capstan.dev/gpu-activity\":\"%s\"}},\"spec\":{\"restartPolicy\":"
                     "\"Never\",\"terminationGracePeriodSeconds\":0,\"containers\":[{\"name\":\"main\",\"image\":\"pytorch/pytorch\","
                     "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"%d\"}}}]}}}}",
                     job->name, label_of(s->a, job->priority), job->pods_n, job->pods_n, job->run_s, job->activity, job->gpus_n));
}

const struct json *story_pods(struct story *s, const struct story_job *job)
{
    const char *path = kube_path(s->a, "", "v1", "pods", job->ns, NULL, NULL);
    return json_get(story_get(s, arena_printf(s->a, "%s?labelSelector=job-name%%3D%s", path, job->name)), "items");
}

int story_running_n(struct story *s, const struct story_job *job)
{
    int n = 0;
    JSON_EACH (pod, story_pods(s, job))
        n += text_equal(json_text(json_path(pod, "status", "phase", NULL), ""), "Running") && !object_deleting(pod);
    return n;
}

static bool all_run(struct story *s, const void *of)
{
    const struct story_job *job = of;
    return story_running_n(s, job) == job->pods_n;
}

bool story_starts(struct story *s, const struct story_job *job)
{
    int64_t begin_ms = loop_now_ms(s->loop);
    if (!story_wait(s, all_run, job, arena_printf(s->a, "%s/%s to start", job->ns, job->name)))
        return false;
    story_say(s, "%s/%s runs: %d of %d pods, %d GPUs, %.1f s later", job->ns, job->name, job->pods_n, job->pods_n,
              job->pods_n * job->gpus_n, (double)(loop_now_ms(s->loop) - begin_ms) / 1000);
    return true;
}

const struct json *story_workload(struct story *s, const struct story_job *job)
{
    const struct json *o = story_get(s, kube_path(s->a, "batch", "v1", "jobs", job->ns, job->name, NULL));
    const char *path = kube_path(s->a, "kueue.x-k8s.io", "v1beta2", "workloads", job->ns, NULL, NULL);
    return o ? job_owned_by(json_get(story_get(s, path), "items"), object_meta(o, "uid")) : NULL;
}

/* ---- bars ---- */

/* GPUs of the pod's node as letters: the first of its job's name. */
static int fill(struct arena *a, const struct json *pod, char *bar, int at, int most, const char **legend)
{
    const char *job = object_label(pod, "job-name"), letter = (char)(*job >= 'a' && *job <= 'z' ? *job - 'a' + 'A' : '#');
    const struct json *container = json_item(json_path(pod, "spec", "containers", NULL), 0);
    int64_t n = whole_number(json_path(container, "resources", "limits", "nvidia.com/gpu", NULL));
    for (; n > 0 && at < most; n--)
        bar[at++] = letter;
    if (!strstr(*legend, job))
        *legend = arena_printf(a, "%s%s%s/%s", *legend, **legend ? ", " : "", object_meta(pod, "namespace"), job);
    return at;
}

static bool holds(const struct json *pod, const char *node)
{
    const char *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    return text_equal(json_text(json_path(pod, "spec", "nodeName", NULL), ""), node) && !text_equal(phase, "Succeeded") &&
           !text_equal(phase, "Failed") && *object_label(pod, "job-name");
}

void story_bars(struct story *s)
{
    const struct json *pods = json_get(story_get(s, "/api/v1/pods"), "items");
    JSON_EACH (node, json_get(story_get(s, "/api/v1/nodes"), "items")) {
        const char *name = object_meta(node, "name"), *legend = "";
        char bar[BAR_MAX + 1];
        int64_t all = whole_number(json_path(node, "status", "capacity", "nvidia.com/gpu", NULL)),
                well = whole_number(json_path(node, "status", "allocatable", "nvidia.com/gpu", NULL));
        int at = 0, n = (int)(all < BAR_MAX ? all : BAR_MAX);
        if (n < 8)
            continue;
        JSON_EACH (pod, pods)
            if (holds(pod, name))
                at = fill(s->a, pod, bar, at, n, &legend);
        for (int i = at; i < n; i++)
            bar[i] = i < (int)well ? '.' : 'x';
        bar[n] = '\0';
        story_more("%-13s [%s%s%s]  %s", name, output_green(), bar, output_plain(), legend);
    }
}
