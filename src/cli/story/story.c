/* story.c - the chapters; see story.h */
#include "cli/story/story.h"
#include <stdio.h>
#include "base/clock.h"
#include "cli/history/usage_read.h"
#include "cli/lookup/why_until.h"
#include "exporter/report/report.h"
#include "kube/object.h"

const char *const story_nodes[] = {"2:a100-40gb", "1:a100-80gb,gpus=2"};
const uint32_t story_nodes_n = sizeof story_nodes / sizeof *story_nodes;

#define QUEUE_PATH "/apis/kueue.x-k8s.io/v1beta2/"
#define SPLIT_NODE "/api/v1/nodes/a100-80gb-0"

static const struct story_job bert = {"nlp", "bert", 2, 4, 3600, "0.12", NULL},
                              detect = {"vision", "detect", 3, 2, 3600, "0.9", NULL},
                              pretrain = {"vision", "pretrain", 3, 2, 3600, "0.95", NULL},
                              sweep = {"nlp", "sweep", 2, 1, 3600, "0.7", NULL},
                              urgent = {"vision", "urgent", 2, 1, 3600, "0.8", NULL},
                              talk = {"vision", "talk", 2, 1, 3600, "0.8", "high"};

/* ---- two teams ---- */

static void teams(struct story *s)
{
    static const char *const names[] = {"vision", "nlp"};
    story_post(s, QUEUE_PATH "resourceflavors",
               "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"a100\"},\"spec\":{\"nodeLabels\":{"
               "\"nvidia.com/gpu.product\":\"NVIDIA-A100-SXM4-40GB\"}}}");
    story_post(s, QUEUE_PATH "workloadpriorityclasses",
               "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"high\"},\"value\":100}");
    for (int i = 0; i < 2; i++) {
        story_post(s, "/api/v1/namespaces",
                   arena_printf(s->a, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", names[i]));
        story_post(s, QUEUE_PATH "clusterqueues",
                   arena_printf(s->a,
                                "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
                                "\"cohortName\":\"lab\",\"namespaceSelector\":{},\"preemption\":{\"withinClusterQueue\":\"LowerPriority\","
                                "\"reclaimWithinCohort\":\"Any\"},\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{"
                                "\"name\":\"a100\",\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":8}]}]}]}}",
                                names[i]));
        story_post(s, kube_path(s->a, "kueue.x-k8s.io", "v1beta2", "localqueues", names[i], NULL, NULL),
                   arena_printf(s->a,
                                "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"gpus\"},\"spec\":{"
                                "\"clusterQueue\":\"%s\"}}",
                                names[i]));
    }
    story_say(s, "two nodes with 8 GPUs each, and one with 2 (simulated; the rest is the real thing)");
    story_say(s, "two teams: vision and nlp own 8 GPUs each, and lend what they leave");
}

static void starts_whole(struct story *s)
{
    story_say(s, "nlp submits bert: 2 pods of 4 GPUs, which start together or not at all");
    if (story_submit(s, &bert))
        story_starts(s, &bert);
    story_say(s, "vision submits detect: 3 pods of 2");
    if (story_submit(s, &detect))
        story_starts(s, &detect);
    story_bars(s);
    story_more("(a letter: a GPU of that job; a dot: nobody's; an x: it has failed)");
}

/* ---- a gang that waits, and why ---- */

static struct json *reason_of(struct story *s, const struct story_job *job)
{
    const struct json *w = story_workload(s, job);
    const char *text = w ? object_waiting(w) : "";
    return *text ? json_parse(s->a, bytes_of(text), NULL, NULL) : NULL;
}

static bool has_reason(struct story *s, const void *of)
{
    return reason_of(s, of) != NULL;
}

static void waits(struct story *s)
{
    story_say(s, "vision submits pretrain: 3 pods of 2 again; it has 2 GPUs left, so all of it waits and holds nothing");
    if (!story_submit(s, &pretrain) || !story_wait(s, has_reason, &pretrain, "the reason"))
        return;
    struct json *reason = reason_of(s, &pretrain);
    why_until(&s->c, s->a, json_get(reason, "remedies"));
    story_say(s, "capstan why job/pretrain:");
    story_more("%s", json_get_text(reason, "message", "?"));
    const char *lead = "would help: ";
    int n = 0;
    JSON_EACH (remedy, json_get(reason, "remedies")) {
        if (n++ == 2)
            break;
        story_more("%s%s", lead, json_get_text(remedy, "message", "?"));
        lead = "        or: ";
    }
    story_pause(s);
    story_say(s, "vision ends the other one: capstan cancel job/detect");
    if (!story_delete(s, kube_path(s->a, "batch", "v1", "jobs", detect.ns, detect.name, NULL)) || !story_starts(s, &pretrain))
        return;
    story_bars(s);
}

/* ---- MIG ---- */

struct label {
    const char *key, *value;
};

static bool has_label(struct story *s, const void *of)
{
    const struct label *label = of;
    return text_equal(object_label(story_get(s, SPLIT_NODE), label->key), label->value);
}

static void lay_out(struct story *s, const char *layout)
{
    story_patch(s, SPLIT_NODE, arena_printf(s->a, "{\"metadata\":{\"labels\":{\"nvidia.com/mig.config\":\"%s\"}}}", layout));
}

static bool offers_slices(struct story *s, const void *of)
{
    (void)of;
    return json_path(story_get(s, SPLIT_NODE), "status", "allocatable", "nvidia.com/mig-1g.10gb", NULL) != NULL;
}

/* The newest Event of that reason; "" none. */
static const char *event_of(struct story *s, const char *reason)
{
    const char *text = "", *newest = "";
    JSON_EACH (event, json_get(story_get(s, "/api/v1/namespaces/default/events"), "items")) {
        const char *time = json_get_text(event, "lastTimestamp", "");
        if (text_equal(json_get_text(event, "reason", ""), reason) && strcmp(time, newest) >= 0) {
            text = json_get_text(event, "message", "");
            newest = time;
        }
    }
    return text;
}

static bool has_event(struct story *s, const void *of)
{
    return *event_of(s, of) != '\0';
}

static bool notebook_runs(struct story *s, const void *of)
{
    (void)of;
    const struct json *pod = story_get(s, "/api/v1/namespaces/nlp/pods/notebook");
    return text_equal(json_text(json_path(pod, "status", "phase", NULL), ""), "Running");
}

static void slices(struct story *s)
{
    static const struct label success = {"nvidia.com/mig.config.state", "success"}, failed = {"nvidia.com/mig.config.state", "failed"};
    lay_out(s, "all-1g.10gb");
    if (!story_wait(s, has_label, &success, "the new layout") || !story_wait(s, offers_slices, NULL, "its slices"))
        return;
    story_say(s, "node a100-80gb-0 is labelled nvidia.com/mig.config=all-1g.10gb: its 2 GPUs are 14 slices now (MIG)");
    story_post(s, "/api/v1/namespaces/nlp/pods",
               "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"notebook\",\"annotations\":{\"capstan.dev/run-seconds\":\"3600\"}},"
               "\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"jupyter\",\"resources\":{\"limits\":{\"nvidia.com/mig-1g.10gb\":\"1\"}}}]}}");
    if (!story_wait(s, notebook_runs, NULL, "a pod on one of them"))
        return;
    story_say(s, "nlp/notebook runs on one of them");
    lay_out(s, "all-3g.40gb");
    if (!story_wait(s, has_label, &failed, "the next layout to be refused") || !story_wait(s, has_event, "MIGConfigFailed", "the event"))
        return;
    story_say(s, "labelled all-3g.40gb, it refuses: nobody's slice is taken away");
    const char *text = event_of(s, "MIGConfigFailed"), *by = strstr(text, "in use by ");
    story_more("event MIGConfigFailed: %s", by ? by : text);
}

/* ---- a GPU that fails ---- */

static const char *node_of(struct story *s, const struct story_job *job)
{
    return json_text(json_path(json_item(story_pods(s, job), 0), "spec", "nodeName", NULL), "");
}

static bool lost_one(struct story *s, const void *of)
{
    const struct json *status = json_get(story_get(s, of), "status");
    return json_int64(json_path(status, "allocatable", "nvidia.com/gpu", NULL), 8) == 7 ||
           text_equal(json_text(json_path(status, "allocatable", "nvidia.com/gpu", NULL), ""), "7");
}

static bool lost_none(struct story *s, const void *of)
{
    return text_equal(json_text(json_path(story_get(s, of), "status", "allocatable", "nvidia.com/gpu", NULL), ""), "8");
}

static bool gave_back(struct story *s, const void *of)
{
    return !object_condition_true(story_workload(s, of), "QuotaReserved") && story_running_n(s, of) == 0;
}

static void set_active(struct story *s, const struct story_job *job, bool active)
{
    const struct json *w = story_workload(s, job);
    if (w)
        story_patch(s, kube_path(s->a, "kueue.x-k8s.io", "v1beta2", "workloads", job->ns, object_meta(w, "name"), NULL),
                    active ? "{\"spec\":{\"active\":true}}" : "{\"spec\":{\"active\":false}}");
}

/* Has a pod of the job the device that the event names first? */
static bool had(struct story *s, const struct story_job *job, const char *event)
{
    size_t n = strcspn(event, ":");
    const char *device = arena_text_n(s->a, event, n);
    JSON_EACH (pod, story_pods(s, job))
        if (n && strstr(object_annotation(pod, "capstan.dev/devices"), device))
            return true;
    return false;
}

static void fails(struct story *s)
{
    const char *name = node_of(s, &pretrain), *node = kube_path(s->a, "", "v1", "nodes", NULL, name, NULL);
    story_patch(s, node, "{\"metadata\":{\"annotations\":{\"capstan.dev/simulate-fault\":\"xid=79,gpu=0\"}}}");
    if (!story_wait(s, lost_one, node, "the agent to notice") || !story_wait(s, has_event, "GPUError", "its event"))
        return;
    const char *event = event_of(s, "GPUError"), *text = strstr(event, "XID"), *end = text ? strchr(text, '.') : NULL;
    story_say(s, "a GPU of %s fails: the node offers 7 of 8 from now on, and says why", name);
    story_more("event GPUError: %.*s", (int)(end ? end - text : 0), text ? text : "");
    story_say(s, "%s: capstan requeue job/pretrain puts it back into its queue",
              had(s, &pretrain, event) ? "pretrain had it" : "pretrain runs beside it, and is to leave the node");
    set_active(s, &pretrain, false);
    if (!story_wait(s, gave_back, &pretrain, "pretrain to give all back"))
        return;
    set_active(s, &pretrain, true);
    if (!story_starts(s, &pretrain))
        return;
    story_bars(s);
    story_patch(s, node, "{\"metadata\":{\"annotations\":{\"capstan.dev/simulate-fault\":null}}}");
    if (story_wait(s, lost_none, node, "the GPU to be back"))
        story_say(s, "the GPU is repaired, and offered again");
}

/* ---- borrow, reclaim, priority ---- */

static const char *stopped_why(struct story *s, const struct story_job *job)
{
    const struct json *w = story_workload(s, job);
    const char *message = object_condition_true(w, "Preempted") ? json_get_text(object_condition(w, "Preempted"), "message", "") : "";
    return strstr(message, "due to ") ? strstr(message, "due to ") : message;
}

static bool was_stopped(struct story *s, const void *of)
{
    return *stopped_why(s, of) != '\0';
}

/* "vision/urgent is submitted ..., so sweep stops: due to reclamation within the cohort" */
static bool stops(struct story *s, const struct story_job *job)
{
    if (!story_wait(s, was_stopped, job, arena_printf(s->a, "%s/%s to leave", job->ns, job->name)))
        return false;
    const char *why = stopped_why(s, job), *end = strchr(why, ';');
    story_say(s, "%s/%s has to leave, %.*s, and waits again", job->ns, job->name, (int)(end ? (size_t)(end - why) : strlen(why)), why);
    return true;
}

static void shares(struct story *s)
{
    story_say(s, "nlp uses its 8 and submits sweep: 2 pods of 1; it borrows what vision leaves");
    if (!story_submit(s, &sweep) || !story_starts(s, &sweep))
        return;
    story_pause(s);
    story_say(s, "vision submits urgent: 2 pods of 1, and takes its own back");
    if (!story_submit(s, &urgent) || !stops(s, &sweep) || !story_starts(s, &urgent))
        return;
    story_pause(s);
    story_say(s, "vision submits talk with a higher priority: in its own team the lower one goes");
    if (!story_submit(s, &talk) || !stops(s, &urgent) || !story_starts(s, &talk))
        return;
    story_bars(s);
}

/* ---- who wasted what ---- */

static bool is_counted(struct story *s, const void *of)
{
    double now_s = (double)clock_wall_us() / 1e6;
    struct usage_record *records;
    const char *from;
    uint32_t n;
    struct err e = {0};
    if (usage_read(s->dir, s->a, now_s - 86400, now_s + 3600, &records, &n, &from, &e) < 0)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (text_equal(records[i].job, of) && records[i].allocated_s > 1)
            return true;
    return false;
}

static void wasted(struct story *s)
{
    double now_s = (double)clock_wall_us() / 1e6;
    struct usage_record *records;
    struct report_row *rows;
    const char *from;
    uint32_t n;
    struct err e = {0};
    if (!story_wait(s, is_counted, talk.name, "the hours to be counted") ||
        usage_read(s->dir, s->a, now_s - 86400, now_s + 3600, &records, &n, &from, &e) < 0)
        return;
    n = report_make(s->a, &(struct report_input){.records = records, .records_n = n}, REPORT_BY_JOB, NULL, &rows);
    story_say(s, "capstan report --by job, who was given most first:");
    story_more("%-18s %12s %8s", "JOB", "GPU-SECONDS", "USED %");
    for (uint32_t i = 0; i < n && i < 4; i++)
        story_more("%-18s %12.0f %8.0f%s", rows[i].key, rows[i].allocated_h * 3600, rows[i].efficiency * 100,
                   rows[i].efficiency < 0.3 ? "  <- ask them" : "");
}

int story_tell(struct story *s)
{
    static void (*const chapters[])(struct story *s) = {teams, starts_whole, waits, slices, fails, shares, wasted};
    s->start_ms = loop_now_ms(s->loop);
    for (size_t i = 0; i < sizeof chapters / sizeof *chapters && !s->stopped && !s->failed; i++) {
        chapters[i](s);
        if (!s->stopped && !s->failed)
            story_pause(s);
    }
    if (s->stopped || s->failed)
        return EXIT_FAILED;
    puts("\nYours to try:\n"
         "  capstan up --data-dir ./c1 &  export KUBECONFIG=./c1/kubeconfig\n"
         "  capstan submit --gpus 4x2 --image pytorch/pytorch -- python train.py\n"
         "  capstan jobs --all-namespaces --watch");
    return EXIT_OK;
}
