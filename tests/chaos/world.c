/* world.c - build it, watch it, check it */
#include "asked.h"
#include "charged.h"
#include "checks.h"
#include "kinds.h"
#include "made.h"
#include "near.h"
#include "queued.h"
#include "shared.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "codec/configuration/workload_policy.h"
#include "core/decide.h"
#include "core/state/model.h"
#include "core/state/state.h"
#include "kube/object.h"
#include "sched/record/player.h"
#include "sched/record/recorder.h"
#include "sim/folder.h"

#define START_MS 1767225600000 /* 2026-01-01 */
#define LEASE_MS 15000
#define RECORD_BYTES (INT64_C(1) << 30)
#define KEPT_MS 15000         /* seeds that are odd: finished Workloads, and jobs whose Workload was deactivated */
#define TURN_MS 15000          /* pods with other limits wait twice as long, counted from before the bind was sent */

void world_broken(struct world *w, const char *format, ...)
{
    va_list args;
    if (w->fault[0])
        return;
    va_start(args, format);
    vsnprintf(w->fault, sizeof w->fault, format, args);
    va_end(args);
}

/* ---- the mirror ---- */

static const char *gang_name(const struct json *metadata)
{
    const struct json *labels = json_get(metadata, "labels");
    const char *name = json_get_text(labels, "jobset.sigs.k8s.io/jobset-name", NULL);
    name = name ? name : json_get_text(labels, "training.kubeflow.org/job-name", NULL);
    name = name ? name : json_get_text(labels, "batch.kubernetes.io/job-name", NULL);
    name = name ? name : json_get_text(labels, "volcano.sh/job-name", NULL);
    name = name ? name : json_get_text(labels, "kueue.x-k8s.io/pod-group-name", NULL);
    name = name ? name : json_get_text(labels, "group", NULL); /* of chaos.c: the pod's spec says whose it is */
    return name ? name : json_get_text(labels, "scheduling.x-k8s.io/pod-group", "");
}

static void read_pod(struct mirror_pod *p, const struct json *pod)
{
    const struct json *metadata = json_get(pod, "metadata"), *spec = json_get(pod, "spec");
    const char *phase = json_get_text(json_get(pod, "status"), "phase", "Pending");
    int64_t gpus = 0;
    JSON_EACH (container, json_get(spec, "containers"))
        if (bytes_int64(json_bytes(json_path(container, "resources", "limits", "nvidia.com/gpu", NULL)), &gpus))
            p->gpus_n = (int32_t)gpus;
    snprintf(p->node, sizeof p->node, "%s", json_get_text(spec, "nodeName", ""));
    snprintf(p->gang, sizeof p->gang, "%s", gang_name(metadata));
    snprintf(p->limits, sizeof p->limits, "%s", json_get_text(json_get(metadata, "annotations"), "GPUlimits", ""));
    snprintf(p->devices, sizeof p->devices, "%s",
             json_get_text(json_get(metadata, "annotations"), "capstan.dev/devices", ""));
    p->bound = p->node[0] != '\0';
    p->admitted = !text_equal(phase, "Pending") || json_is(json_path(pod, "status", "startTime", NULL), JSON_STRING);
    p->failed = text_equal(phase, "Failed");
    p->over = p->failed || text_equal(phase, "Succeeded");
    p->deleting = json_is(json_get(metadata, "deletionTimestamp"), JSON_STRING);
    p->gated = json_first(json_get(spec, "schedulingGates")) != NULL;
    p->priority = (int32_t)json_get_int64(spec, "priority", 0);
    p->preempted = text_equal(json_get_text(object_condition(pod, "DisruptionTarget"), "reason", ""), "PreemptionByScheduler");
    p->held = object_has_finalizer(pod, "kueue.x-k8s.io/managed");
}

/* Do two device lists ("nvidia.com/gpu=ID,ID;...") name one device twice? */
static bool devices_meet(const char *a, const char *b)
{
    const char *at = strchr(a, '=');
    while (at && *at && *at != ';') {
        size_t n = strcspn(at + 1, ",;");
        const char *found = n ? memmem(b, strlen(b), at + 1, n) : NULL;
        if (found && (found[n] == '\0' || found[n] == ',' || found[n] == ';') && (found[-1] == '=' || found[-1] == ','))
            return true;
        at += 1 + n;
    }
    return false;
}

/* Pods on this node: GPUs within capacity, no device twice. */
static void check_node(struct world *w, const char *node)
{
    const struct mirror_pod *here[256], *p;
    uint32_t n = 0;
    int32_t used = 0;
    size_t at = 0;
    struct bytes key, keys[256];
    while (n < 256 && (p = map_next(w->pods, &at, &key)))
        if (p->bound && !p->over && text_equal(p->node, node)) {
            used += p->gpus_n;
            keys[n] = key;
            here[n++] = p;
        }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (devices_meet(here[i]->devices, here[k]->devices))
                world_broken(w, "on %s %s (%s%s) and %s (%s%s) have a device in common", node, keys[i].data, here[i]->devices,
                       here[i]->deleting ? ", ending" : "", keys[k].data, here[k]->devices,
                       here[k]->deleting ? ", ending" : "");
    if (used > WORLD_GPUS)
        world_broken(w, "%d GPUs of %d are in use on %s", used, WORLD_GPUS, node);
}

/* No device plugin could tell the new pod from one that is not admitted yet and has other limits. */
static void check_turn(struct world *w, struct bytes key, const struct mirror_pod *new_one)
{
    size_t at = 0;
    struct bytes other;
    for (const struct mirror_pod *p; new_one->gpus_n && (p = map_next(w->pods, &at, &other));)
        if (p != new_one && p->bound && !p->over && !p->admitted && text_equal(p->node, new_one->node) && p->gpus_n == new_one->gpus_n &&
            !text_equal(p->limits, new_one->limits) && loop_now_ms(w->loop) - p->bound_ms < TURN_MS)
            world_broken(w, "%.*s (limits '%s') was bound to %s before %.*s ('%s') was admitted", (int)key.n, key.data, new_one->limits,
                   new_one->node, (int)other.n, other.data, p->limits);
}

void world_delete_group(struct world *w, uint64_t number)
{
    const char *prefix = arena_printf(w->arena, "kg%llu-", (unsigned long long)number);
    size_t at = 0;
    struct bytes key;
    w->given_up_n = number;
    for (struct mirror_pod *p; (p = map_next(w->pods, &at, &key));) {
        if (!text_starts(p->gang, prefix))
            continue;
        world_delete(w, arena_printf(w->arena, "/api/v1/namespaces/default/pods/%s", strchr(key.data, '/') + 1));
        world_delete(w, arena_printf(w->arena, "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/%s", p->gang));
    }
}

static bool is_given_up(const struct world *w, const struct mirror_pod *p)
{
    return text_starts(p->gang, "kg") && strtoull(p->gang + 2, NULL, 10) <= w->given_up_n;
}

/* Whoever makes groups of Kueue's replaces at once what has failed or goes, until he deletes the group himself. */
static void replace_member(struct world *w, struct bytes key, struct mirror_pod *p)
{
    const char *of = text_starts(p->gang, "kg") ? strstr(p->gang, "-of-") : NULL;
    int64_t total = 0;
    if (of && p->replaced && p->over && !p->failed && !p->spares) { /* it succeeded all the same: one that replaces it is one too many */
        ++*(int *)map_put(w->spared, bytes_of(p->gang), NULL);
        p->spares = true;
    }
    if (!of || !bytes_int64(bytes_of(of + 4), &total) || p->replaced || p->over != p->failed || (!p->failed && !p->deleting) ||
        is_given_up(w, p))
        return;
    p->replaced = true;
    int *spared = map_find_text(w->spared, p->gang);
    if (p->gated && !p->failed && spared && *spared > 0) {
        --*spared;
        return;
    }
    if (p->gated && !p->failed)
        world_broken(w, "%.*s goes with its group, though it has not started", (int)key.n, key.data);
    world_create_member(w, p->gang, arena_printf(w->arena, "%s-r", strchr(key.data, '/') + 1), (int)total, false);
}

static void on_pod(void *arg, enum kube_event event, struct bytes raw)
{
    struct world *w = arg;
    w->events_n++;
    struct json *pod = json_parse(w->arena, raw, NULL, NULL);
    const struct json *metadata = json_get(pod, "metadata");
    struct bytes key = bytes_of(
        arena_printf(w->arena, "%s/%s", json_get_text(metadata, "namespace", ""), json_get_text(metadata, "name", "")));
    if (event == KUBE_DELETED) {
        struct mirror_pod *last = map_find(w->pods, key);
        if (last) {
            last->deleting = true;
            replace_member(w, key, last);
        }
        map_remove(w->pods, key);
    } else {
        struct mirror_pod *p = map_put(w->pods, key, NULL), old = *p;
        read_pod(p, pod);
        bool in_queue = p->gang[0] && !text_starts(p->gang, "unqueued") && !text_starts(p->gang, "pg");
        if (p->preempted && (in_queue || p->priority >= 1000)) /* nobody has more than that */
            world_broken(w, "%.*s was preempted by priority, though it is in a queue, or has the highest", (int)key.n, key.data);
        if (old.bound && p->bound && !text_equal(old.node, p->node))
            world_broken(w, "%.*s moved from %s to %s", (int)key.n, key.data, old.node, p->node);
        if (p->bound && !old.bound && (text_starts(p->gang, "checked") || text_starts(p->gang, "asked") || text_starts(p->gang, "machines") ||
                                       text_starts(p->gang, KINDS_PREFIX)) &&
            !checks_let_start(w->checks, object_annotation(pod, "kueue.x-k8s.io/workload")))
            world_broken(w, "%.*s was bound, though its Workload is not admitted", (int)key.n, key.data);
        if (p->bound && !old.bound && text_starts(json_get_text(metadata, "name", ""), "asked"))
            asked_pod_starts(w, json_get_text(metadata, "name", ""), metadata);
        if (p->bound && !old.bound) {
            p->bound_ms = loop_now_ms(w->loop);
            kinds_pod_starts(w, p->gang);
            check_turn(w, key, p);
        }
        if (p->bound && !p->over && !old.bound)
            check_node(w, p->node);
        replace_member(w, key, p);
    }
    arena_reset(w->arena);
}

static bool is_of_spared(const struct world *w, struct bytes event)
{
    size_t at = 0;
    for (struct bytes gang; map_next(w->spared, &at, &gang);)
        if (memmem(event.data, event.n, gang.data, gang.n))
            return true;
    return false;
}

/* Users replace what has failed, and make no pod beyond the total of its group: none can be one too many, unless the pod that it replaces
 * succeeds in its last seconds. */
static void on_event(void *arg, enum kube_event event, struct bytes raw)
{
    struct world *w = arg;
    bool is_preemption = event == KUBE_ADDED && memmem(raw.data, raw.n, "\"reason\":\"Preempted\"", 20) != NULL;
    bool is_lone = is_preemption && memmem(raw.data, raw.n, "Preempted by pod ", 17) != NULL;
    w->late_n += event == KUBE_ADDED && memmem(raw.data, raw.n, "\"EvictedDueToPodsReadyTimeout\"", 30) != NULL;
    w->preemptions_n += is_preemption && !is_lone;
    w->lone_n += is_lone;
    if (event != KUBE_DELETED && memmem(raw.data, raw.n, "ExcessPodDeleted", 16) && !is_of_spared(w, raw))
        world_broken(w, "the replacement of a failed pod is deleted as one too many: %.*s", (int)raw.n, raw.data);
}

/* ---- users ---- */

static void write_path(struct world *w, const char *path, const char *format, va_list args, bool create)
{
    struct buf body = {0};
    buf_vprintf(&body, format, args);
    if (create)
        kube_create(w->quiet_client, path, buf_view(&body), NULL, NULL);
    else
        kube_patch(w->quiet_client, KUBE_PATCH_MERGE, path, buf_view(&body), NULL, NULL);
    buf_free(&body);
}

void world_post(struct world *w, const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_path(w, path, format, args, true);
    va_end(args);
}

void world_patch(struct world *w, const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_path(w, path, format, args, false);
    va_end(args);
}

/* ---- what is there ---- */

struct reading {
    struct world *world;
    struct arena *arena; /* WHY its own: the world's ends with what happens while one waits */
    const struct json *items;
};

static void on_list(void *arg, const struct kube_answer *answer)
{
    struct reading *r = arg;
    r->items = answer->code == 0 ? json_get(json_parse(r->arena, answer->body, NULL, NULL), "items") : NULL;
    r->world->asked = false;
}

const struct json *world_read(struct world *w, struct arena *a, const char *path)
{
    struct reading r = {.world = w, .arena = a};
    w->asked = true;
    kube_get(w->quiet_client, path, on_list, &r);
    for (int i = 0; i < 1000 && w->asked; i++)
        loop_run_for(w->loop, 1, NULL);
    return r.items;
}

void world_create_member(struct world *w, const char *group, const char *name, int total, bool fails)
{
    bool by_webhook = group[strcspn(group, "-") - 1] % 2; /* every second group came through Kueue's webhook */
    world_post(w, "/api/v1/namespaces/default/pods",
               "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",%s\"labels\":{\"kueue.x-k8s.io/queue-name\":"
               "\"team%d\",\"kueue.x-k8s.io/managed\":\"%s\",\"kueue.x-k8s.io/pod-group-name\":\"%s\"},\"annotations\":{"
               "\"kueue.x-k8s.io/pod-group-total-count\":\"%d\",\"capstan.dev/run-seconds\":\"%d\",\"capstan.dev/exit-code\":\"%d\"}},"
               "\"spec\":{\"restartPolicy\":\"Never\",\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/admission\"}]," POD_SPEC "}}",
               name, by_webhook ? "\"finalizers\":[\"kueue.x-k8s.io/managed\"]," : "", total % 2, by_webhook ? "true" : "false", group,
               total, (int)random_below(&w->random, 40), fails, 1);
}

void world_delete(struct world *w, const char *path)
{
    kube_delete(w->quiet_client, path, BYTES("{\"propagationPolicy\":\"Background\"}"), NULL, NULL);
}

void world_set_faults(struct world *w, bool on)
{
    w->faults = !on ? (struct http_faults){.latency_ms_max = 2}
                    : (struct http_faults){.latency_ms_max = 20,
                                           .refuse_permille = 10,
                                           .lose_answer_permille = 10,
                                           .status_409_permille = 10,
                                           .status_429_permille = 10,
                                           .status_500_permille = 10,
                                           .slow_permille = 5,
                                           .stream_drop_permille = 2,
                                           .stream_gone_permille = 50};
}

/* ---- life ---- */

static void seed_object(struct world *w, const char *text)
{
    struct err e = {0};
    struct json *object = json_parse(w->arena, bytes_of(text), NULL, &e);
    if (!object || apiserver_create(w->server, w->arena, object, &e) < 0) {
        fprintf(stderr, "seed: %s\n", e.text);
        exit(1);
    }
    arena_reset(w->arena);
}

static void seed(struct world *w)
{
    struct node_shape shape;
    int32_t n;
    struct err e = {0};
    node_shape_parse("h100-80gb,gpus=4,name=node", &n, &shape, &e);
    struct node_kind kind;
    node_kind_init(&kind, &shape);
    for (int32_t i = 0; i < WORLD_NODES; i++) {
        struct json *node = node_object_make(w->arena, &kind, i, i, START_MS, false);
        if (apiserver_create(w->server, w->arena, node, &e) < 0)
            fprintf(stderr, "node: %s\n", e.text);
        arena_reset(w->arena);
    }
    seed_object(w, "{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"urgent\"},\"value\":1000}");
    seed_object(w, "{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"patient\"},\"value\":500,"
                   "\"preemptionPolicy\":\"Never\"}");
    for (int i = 0; i < 2; i++)
        seed_object(w, arena_printf(w->arena,
                                    "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\",\"metadata\":{\"name\":\"b%d\","
                                    "\"namespace\":\"default\"},\"spec\":{\"minAvailable\":%d,\"selector\":{\"matchLabels\":{\"app\":\"a%d\"}}}}",
                                    i, 1 + i, i));
#define KUEUE "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
    seed_object(w, KUEUE "\"ResourceFlavor\",\"metadata\":{\"name\":\"any\"},\"spec\":{}}");
    for (int i = 0; i < 2; i++)
        seed_object(w, arena_printf(w->arena, KUEUE "\"AdmissionCheck\",\"metadata\":{\"name\":\"%s\"},\"spec\":{\"controllerName\":"
                                              "\"example.com/test\"}}", i ? "nodes" : "budget"));
    seed_object(w, KUEUE "\"ClusterQueue\",\"metadata\":{\"name\":\"q2\"},\"spec\":{\"namespaceSelector\":{},"
                         "\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"budget\"}]},"
                         "\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"any\",\"resources\":["
                         "{\"name\":\"cpu\",\"nominalQuota\":1000},{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":100}]}]}]}}");
    seed_object(w, KUEUE "\"LocalQueue\",\"metadata\":{\"name\":\"team2\",\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":\"q2\"}}");
    for (int i = 0; near_seed(i); i++)
        seed_object(w, near_seed(i));
    for (int i = 0; queued_seed(i); i++)
        seed_object(w, queued_seed(i));
    for (int i = 0; asked_seed(i); i++)
        seed_object(w, asked_seed(i));
    for (int i = 0; charged_seed(i); i++)
        seed_object(w, charged_seed(i));
    for (int i = 0; kinds_seed(i); i++)
        seed_object(w, kinds_seed(i));
    for (int i = 0; shared_seed(w->seed, i); i++)
        seed_object(w, shared_seed(w->seed, i));
    for (int i = 0; i < 2; i++) {
        seed_object(w, arena_printf(w->arena,
                                    KUEUE "\"ClusterQueue\",\"metadata\":{\"name\":\"q%d\"},\"spec\":{\"cohortName\":"
                                          "\"all\",\"queueingStrategy\":\"%s\","
                                          "\"admissionScope\":{\"admissionMode\":\"%s\"},"
                                          "\"namespaceSelector\":{},\"resourceGroups\":" WORLD_QUOTA "}}",
                                    i, i ? "StrictFIFO" : "BestEffortFIFO",
                                    i ? "NoAdmissionFairSharing" : "UsageBasedAdmissionFairSharing", 10));
        seed_object(w, arena_printf(w->arena,
                                    KUEUE "\"LocalQueue\",\"metadata\":{\"name\":\"team%d\",\"namespace\":\"default\"},"
                                          "\"spec\":{\"clusterQueue\":\"q%d\"}}",
                                    i, i));
    }
    seed_object(w, KUEUE "\"LocalQueue\",\"metadata\":{\"name\":\"team4\",\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":\"q0\"}}");
}

/* One seed of three waits for no pods, another evicts those that are late, the third also admits nobody meanwhile. */
static struct policy policy_of(uint64_t seed)
{
    struct policy p = {
        .ready = {.timeout_ms = 30000, .recovery_ms = 20000, .retries_most = -1, .backoff_ms = 2000, .backoff_most_ms = 10000}};
    p.ready.block_admission = seed % 3 == 0;
    p = seed % 3 == 1 ? (struct policy){0} : p;
    p.consumption = (struct consumption_policy){.on = seed % 5 < 3, .half_life_ms = 60000, .sampling_ms = 10000};
    return p;
}

/* What the scheduler that has just ended has recorded: the same changes make the same plans, and the same state. */
static void check_record(struct world *w)
{
    const char *const *runs;
    uint32_t n;
    struct player_result r;
    struct err e = {0};
    _cleanup_arena_ struct arena *a = arena_new();
    if (!w->record_dir)
        return;
    if (player_runs(w->record_dir, a, &runs, &n, &e) < 0 ||
        player_play(w->record_dir, runs[n - 1], &(struct player_options){.until_ms = INT64_MAX}, &r, &e) < 0)
        world_broken(w, "its recording: %s", e.text);
    else if (r.otherwise_n || r.state_is_other || !r.ended || *r.cut)
        world_broken(w, "run %s decides otherwise in %llu of %llu cycles when it is replayed, first at %lld; its state is %s; %s%s",
                     runs[n - 1],
                     (unsigned long long)r.otherwise_n, (unsigned long long)r.cycles_n, (long long)r.otherwise_ms,
                     r.state_is_other ? "another" : "the same", r.ended ? "whole" : "not whole ", r.cut);
    w->replayed_n += r.changes_n;
}

static enum job_waits job_waits(void *arg, const struct queued_kind *kind, const char *ns, const char *name, const char *uid)
{
    const struct world *w = arg;
    return jobs_wait(w->jobs, kind, ns, name, uid);
}

static void begin_scheduler(struct world *w)
{
    struct recorder *recorder = NULL;
    struct err e = {0};
    if (w->record_dir && recorder_new(w->loop, w->record_dir, RECORD_BYTES, &recorder, &e) < 0)
        world_broken(w, "%s", e.text);
    w->scheduler = scheduler_new(
        w->loop, w->client, &(struct scheduler_config){.default_scheduler = true, .sweep_always = true, .policy = w->policy,
                                                .charge = charged_policy(w->seed), .recorder = recorder, .job_waits = job_waits,
                                                .arg = w});
}

void world_init(struct world *w, uint64_t seed_number)
{
    struct err e = {0};
    *w = (struct world){.random = {seed_number}, .arena = arena_new(), .pods = map_new(sizeof(struct mirror_pod))};
    w->seed = seed_number;
    (void)snprintf(w->record_path, sizeof w->record_path, "/tmp/capstan-chaos-XXXXXX");
    w->record_dir = seed_number % 2 ? mkdtemp(w->record_path) : NULL;
    w->policy = policy_of(seed_number);
    w->spared = map_new(sizeof(int));
    w->policy.fair.on = seed_number % 2 == 0;
    w->loop = loop_new_virtual(START_MS);
    if (apiserver_new(w->loop, &(struct apiserver_config){0}, &w->server, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        exit(1);
    }
    seed(w);
    w->client = kube_client_wrap(
        w->loop, http_local_client_new(w->loop, apiserver_handle, w->server, &w->faults, random_next(&w->random)));
    w->kubelet_client = kube_client_wrap(
        w->loop, http_local_client_new(w->loop, apiserver_handle, w->server, &w->faults, random_next(&w->random)));
    w->quiet_client = kube_client_wrap(
        w->loop, http_local_client_new(w->loop, apiserver_handle, w->server, NULL, random_next(&w->random)));
    w->onlooker_client = kube_client_wrap(
        w->loop, http_local_client_new(w->loop, apiserver_handle, w->server, NULL, random_next(&w->random)));
    w->pods_watch = kube_watch_new(w->quiet_client,
                                   &(struct kube_watch_config){.path = "/api/v1/pods", .on_event = on_pod, .arg = w});
    w->checks = checks_new(w);
    w->made = made_new(w);
    w->asked_for = asked_new(w);
    w->charged = charged_new(w);
    w->events_watch =
        kube_watch_new(w->quiet_client, &(struct kube_watch_config){.path = "/api/v1/events", .on_event = on_event, .arg = w});
    seed_object(w, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"capstan-scheduler\","
                   "\"namespace\":\"kube-system\"},\"spec\":{\"holderIdentity\":\"somebody\",\"leaseDurationSeconds\":100000}}");
    begin_scheduler(w);
    static const struct workload_policy kept = {.finished = {true, KEPT_MS}, .deactivated = {true, KEPT_MS}, .all_jobs = true};
    w->keeps_all = seed_number % 2 == 0;
    w->jobs = jobs_new(w->client, &(struct jobs_config){.embedded = true, .policy = w->keeps_all ? NULL : &kept,
                                                        .says_ready = w->policy.ready.timeout_ms > 0});
    w->controllers = embedded_controllers_new(w->client, 1, random_next(&w->random));
    w->kubelets = kubelets_new(w->kubelet_client, &(struct kubelets_config){.speed = 1});
    loop_run_for(w->loop, 3000, NULL);
}

void world_fini(struct world *w)
{
    kubelets_free(w->kubelets);
    embedded_controllers_free(w->controllers);
    jobs_free(w->jobs);
    scheduler_free(w->scheduler);
    check_record(w);
    checks_free(w->checks);
    made_free(w->made);
    asked_free(w->asked_for);
    charged_free(w->charged);
    kube_watch_free(w->pods_watch);
    kube_watch_free(w->events_watch);
    kube_client_free(w->client);
    kube_client_free(w->kubelet_client);
    kube_client_free(w->quiet_client);
    kube_client_free(w->onlooker_client);
    apiserver_free(w->server);
    loop_free(w->loop);
    map_free(w->pods);
    map_free(w->spared);
    arena_free(w->arena);
    if (w->record_dir)
        folder_remove(w->record_dir);
}

/* ---- rules ---- */

bool world_check(struct world *w)
{
    struct err e = {0};
    if (!state_check(scheduler_state(w->scheduler), &e))
        world_broken(w, "core: %s", e.text);
    return w->fault[0] == '\0';
}

/* In good order, or by kill -9. What was sent then lands late, but not later than a lease runs out, which the next one waits for. */
static void end_scheduler(struct world *w)
{
    bool killed = random_below(&w->random, 2);
    scheduler_stop(w->scheduler);
    for (int ms = 0; !killed && ms < 5000 && kube_client_unanswered_n(w->client) > 0; ms += 10)
        loop_run_for(w->loop, 10, NULL);
    scheduler_free(w->scheduler);
    check_record(w);
    loop_run_for(w->loop, killed ? LEASE_MS : 0, NULL);
}

void world_restart_scheduler(struct world *w)
{
    w->counts = world_counts(w);
    end_scheduler(w);
    begin_scheduler(w);
    w->restarts_n++;
}

struct scheduler_counts world_counts(const struct world *w)
{
    struct scheduler_counts sum = w->counts, now = scheduler_counts(w->scheduler);
    sum.cycles_n += now.cycles_n;
    sum.binds_n += now.binds_n;
    sum.bind_failures_n += now.bind_failures_n;
    sum.bind_waits_n += now.bind_waits_n;
    sum.admits_n += now.admits_n;
    sum.evictions_n += now.evictions_n;
    return sum;
}

/* Every gang that the onlooker knows: does the scheduler see it in the same phase? */
static void compare_phases(struct world *w, const struct state *fresh, struct intern *names, char *difference, size_t size)
{
    static const char *const kinds[] = {"workload/", "volcano/", "coscheduling/"};
    const struct state *old = scheduler_state(w->scheduler);
    struct intern *old_names = state_names(scheduler_state(w->scheduler));
    for (name_id name = 1; name <= intern_count(names); name++)
        for (int i = 0; i < 3; i++) {
            const char *key = intern_name(names, name);
            if (!text_starts(key, kinds[i]))
                continue;
            enum gang_phase was = state_gang_phase(old, intern_find(old_names, bytes_of(key))), is = state_gang_phase(fresh, name);
            /* whether its first burst is over is known only to who saw it, when members are missing since */
            bool both_hold = (was == GANG_ADMITTED || was == GANG_BOUND) && (is == GANG_ADMITTED || is == GANG_BOUND);
            if (was != is && !both_hold && !difference[0])
                snprintf(difference, size, "%s is in phase %d, after a restart it would be in %d", key, was, is);
        }
}

/* Of the gangs that hold places for pods to come in `holds`: on which nodes `s` holds them. By names: two states number them otherwise. */
static uint64_t places_hash(const struct state *s, const struct state *holds)
{
    uint64_t sum = 0;
    for (uint32_t at = 1; at < s->seats_n; at++) {
        const struct seat *seat = &s->seats[at];
        if (!seat->node || seat->pod || !seat->gang)
            continue;
        const char *gang = intern_name(s->names, seat->gang->key), *node = intern_name(s->names, s->nodes.nodes[seat->node].name);
        bool held = false;
        for (uint32_t i = 1; i < holds->seats_n && !held; i++)
            held = holds->seats[i].node && !holds->seats[i].pod && holds->seats[i].gang &&
                   text_equal(intern_name(holds->names, holds->seats[i].gang->key), gang);
        sum += held ? hash_bytes(gang, strlen(gang), hash_bytes(node, strlen(node), 1)) : 0;
    }
    return sum;
}

void world_let_bind(struct world *w)
{
    for (int i = 0; i < 1000 && !scheduler_quiet(w->scheduler); i++)
        loop_run_for(w->loop, 10, NULL);
}

/* A scheduler that only looks on, since somebody else has the lease: it reads all, and what it would do is asked here. */
static void ask_onlooker(struct world *w, char *difference, size_t size)
{
    static const char *const words[] = {"admit", "bind", "evict", "", "reserve", "move"};
    struct scheduler *onlooker = scheduler_new(
        w->loop, w->onlooker_client, /* of its own: who does not lead holds back what its client would write */
        &(struct scheduler_config){.default_scheduler = true, .leader_elect = true, .identity = "onlooker", .policy = w->policy,
                                   .charge = charged_policy(w->seed)});
    loop_run_for(w->loop, 2000, NULL);
    world_let_bind(w);
    struct state *fresh = scheduler_state(onlooker);
    struct plan plan;
    difference[0] = '\0';
    if (!scheduler_counts(onlooker).synced || scheduler_counts(onlooker).leading)
        world_broken(w, "the onlooker has not read all, or leads");
    decide(fresh, &(struct decide_config){.fair = w->policy.fair}, loop_wall_ms(w->loop), w->arena, &plan);
    /* WHY  who has a promise may have to wait for others to be ready, and keeps its room meanwhile; a promise is forgotten by a restart */
    const struct state *old = scheduler_state(w->scheduler);
    bool room_is_kept = w->policy.ready.block_admission && old->promised_n > 0;
    /* WHY  nor are places for pods to come remembered: who looks for them anew may find others, and beside those there is room for more */
    room_is_kept |= places_hash(old, old) != places_hash(fresh, old);
    for (uint32_t i = 0; i < plan.entries_n && !room_is_kept; i++)
        if (plan.entries[i].effect != EFFECT_EXPLAIN)
            snprintf(difference, size, "after a restart the scheduler would %s %s %s", words[plan.entries[i].effect],
                     intern_name(state_names(fresh), plan.entries[i].gang), intern_name(state_names(fresh), plan.entries[i].pod));
    if (!room_is_kept)
        compare_phases(w, fresh, state_names(fresh), difference, size);
    arena_reset(w->arena);
    scheduler_free(onlooker);
}

/* WHY  three times: something may have been on its way to one of the two. What stays is a fault. */
bool world_check_onlooker(struct world *w)
{
    char difference[300];
    for (int i = 0; i < 3; i++) {
        ask_onlooker(w, difference, sizeof difference);
        if (!difference[0] || w->fault[0])
            return w->fault[0] == '\0';
        loop_run_for(w->loop, 7000, NULL);
    }
    world_broken(w, "at rest, but %s", difference);
    return false;
}

/* For how long the condition holds: longer than anything is kept, and than what goes then may take. */
static bool is_past(const struct world *w, const struct json *condition)
{
    int64_t since_ms;
    return text_equal(json_get_text(condition, "status", ""), "True") &&
           time_parse(json_bytes(json_get(condition, "lastTransitionTime")), &since_ms) &&
           loop_wall_ms(w->loop) - since_ms > 2 * KEPT_MS;
}

/* A job of which it is decided how it ends is over a while after that, when its pods have gone, and makes no others. */
static void check_ended(struct world *w)
{
    static const char *const decided[] = {"FailureTarget", "SuccessCriteriaMet"};
    _cleanup_arena_ struct arena *a = arena_new();
    JSON_EACH (job, world_read(w, a, "/apis/batch/v1/namespaces/default/jobs"))
        for (size_t i = 0; i < sizeof decided / sizeof *decided; i++)
            if (is_past(w, object_condition(job, decided[i])) && !object_condition_true(job, "Complete") &&
                !object_condition_true(job, "Failed"))
                world_broken(w, "job %s says %s, and goes on", object_meta(job, "name"), decided[i]);
}

/* Nothing is kept for longer than the configuration says. */
static void on_workloads(void *arg, const struct kube_answer *answer)
{
    struct world *w = arg;
    const struct json *list = answer->code == 0 ? json_parse(w->arena, answer->body, NULL, NULL) : NULL;
    if (!list)
        world_broken(w, "Workloads cannot be read: %s", answer->error.text);
    JSON_EACH (one, json_get(list, "items")) {
        const struct json *evicted = object_condition(one, "Evicted"), *finished = object_condition(one, "Finished");
        bool deactivated = text_starts(json_get_text(evicted, "reason", ""), "DeactivatedDueTo") &&
                           !json_get_bool(json_get(one, "spec"), "active", true); /* else somebody has activated it again */
        if (is_past(w, finished) || (deactivated && is_past(w, evicted)))
            world_broken(w, "Workload %s is over, and kept for too long", object_meta(one, "name"));
    }
    w->asked = false;
}

static void check_kept(struct world *w)
{
    w->asked = true;
    kube_get(w->quiet_client, "/apis/kueue.x-k8s.io/v1beta2/workloads", on_workloads, w);
    for (int i = 0; i < 1000 && w->asked; i++)
        loop_run_for(w->loop, 1, NULL);
    arena_reset(w->arena);
}

bool world_check_rest(struct world *w)
{
    size_t at = 0, inner;
    struct bytes key, other_key;
    for (const struct mirror_pod *p; (p = map_next(w->pods, &at, &key));) {
        if (p->deleting && is_given_up(w, p))
            world_broken(w, "%.*s was deleted with its group, and is still there", (int)key.n, key.data);
        if (!w->keeps_all && text_starts(p->gang, "unqueued") && p->bound && !p->over && !p->deleting)
            world_broken(w, "%.*s is of a job without a queue, and runs", (int)key.n, key.data);
        if (p->held && p->replaced)
            world_broken(w, "%.*s was replaced, and is still counted", (int)key.n, key.data);
        /* Members of a pod group come and go one by one: those beyond minMember may wait. Pods of a job without a queue stand alone. */
        if (!p->gang[0] || text_starts(p->gang, "pg") || text_starts(p->gang, "unqueued") || p->over || p->deleting || p->bound)
            continue;
        inner = 0; /* a pod of a gang waits: then none of that gang runs */
        for (const struct mirror_pod *o; (o = map_next(w->pods, &inner, &other_key));)
            if (text_equal(o->gang, p->gang) && o->bound && !o->over && !o->deleting)
                world_broken(w, "gang %s is bound in part: %.*s waits, %.*s runs on %s", p->gang, (int)key.n, key.data,
                       (int)other_key.n, other_key.data, o->node);
    }
    check_ended(w);
    if (!w->keeps_all)
        check_kept(w);
    if (w->fault[0] == '\0' && checks_at_rest(w) && near_check(w))
        world_check_onlooker(w);
    return w->fault[0] == '\0';
}
