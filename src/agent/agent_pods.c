/* agent_pods.c - the pods of this node: the scheduler's choice to steering, the kubelet's truth to the inventory
 *
 *     pod annotation capstan.dev/devices  "nvidia.com/gpu=GPU-a,GPU-b;keti.com/mpsgpu=GPU-a::3": ids go to the containers in their order
 *     limits                              capstan.dev/mps-active-thread-percentage "30", capstan.dev/mps-pinned-memory "4Gi",
 *                                         KETI's GPUlimits
 *
 * After each Allocate and every few seconds podresources is asked who has what. Where the annotation does not say so it is corrected, since
 * the scheduler counts by it, also that of pods for which it chose nothing: others bound them. Where the choice was another an event says
 * so.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include "agent/agent_parts.h"
#include "agent/inventory/pod_absence.h"
#include "agent/inventory/pod_cgroup.h"
#include "agent/inventory/pod_resources.h"
#include "agent/plugin/steering.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/quantity.h"
#include "codec/decode/decode.h"
#include "codec/share/share.h"
#include "core/device_list.h"
#include "kube/watch.h"

#define MIRROR_ANNOTATION "kubernetes.io/config.mirror"
#define RECONCILE_MS 5000
#define RECONCILE_SOON_MS 300 /* the kubelet names a pod shortly after its Allocate */
#define CORRECT_AGAIN_MS 15000 /* a pod whose annotation is still wrong; twice as long each time */
#define CORRECT_AGAIN_MAX_MS 3600000
#define CORRECTIONS_MAX 32 /* each time that podresources is asked */
#define WANTS_MAX 64
#define IDS_MAX 256

struct known_pod {
    struct agent_pod pod; /* first */
    char *devices;        /* annotation of one that goes on; NULL none */
    bool asks;            /* for our resources */
    bool begun;           /* the kubelet has taken it up */
    int64_t correct_ms, correct_again_ms; /* the annotation is left alone until then, and after the next correction for so long */
};
struct agent_pods {
    struct kube_watch *watch;
    struct pod_resources *kubelet;
    struct steering *steering;
    struct pod_absence *absence;
    struct stat socket; /* of podresources: another one is another kubelet's */
    bool short_told;    /* that lists are short */
    struct loop_timer *timer;
    char *fields;
    struct known_pod *pods;
    uint32_t pods_n, pods_cap;
    bool soon, failing;
};

/* ---- the scheduler's choice ---- */

/* Ids of one resource, as they are handed to containers in order. */
struct chosen {
    const char *resource;
    const char *ids[IDS_MAX];
    uint32_t n, next;
};

/* Of the pod's share of a GPU: as much as the scheduler has counted. */
static struct allocate_limits share_limits(const struct agent *a, const struct json *pod)
{
    struct share share;
    const struct driver_reading *r = a->projection ? a->projection->snapshot->reading : NULL;
    if (!share_of_pod(pod, &share))
        return (struct allocate_limits){0};
    int64_t of_memory = r && r->gpus_n ? r->gpus[0].memory_mib * share.memory_milli / 1000 : 0;
    return (struct allocate_limits){.thread_percentage = (uint32_t)((share.milli + 9) / 10),
                                    .pinned_memory_mib = (uint64_t)(share.bytes ? share.bytes >> 20 : of_memory)};
}

static struct allocate_limits pod_limits(const struct agent *a, const struct json *pod)
{
    const struct json *annotations = json_path(pod, "metadata", "annotations", NULL);
    struct allocate_limits limits = share_limits(a, pod);
    int64_t percentage;
    const char *text = json_get_text(annotations, DECODE_PERCENTAGE_ANNOTATION, "");
    if (bytes_int64(bytes_of(text), &percentage) && percentage > 0 && percentage <= 100)
        limits.thread_percentage = (uint32_t)percentage;
    uint64_t mib =
        share_mib(json_get_text(annotations, DECODE_PINNED_MEMORY_ANNOTATION, json_get_text(annotations, DECODE_KETI_LIMITS_ANNOTATION, "")));
    limits.pinned_memory_mib = mib ? mib : limits.pinned_memory_mib;
    return limits;
}

struct wants {
    struct chosen chosen[8];
    uint32_t chosen_n;
    struct allocate_limits limits;
    struct steering_want list[WANTS_MAX];
    uint32_t n;
};

static struct chosen *find_chosen(struct wants *w, struct bytes resource)
{
    for (uint32_t i = 0; i < w->chosen_n; i++)
        if (bytes_is(resource, w->chosen[i].resource))
            return &w->chosen[i];
    return NULL;
}

static void read_chosen(struct arena *m, const char *text, struct wants *w)
{
    struct device_list l = {.rest = bytes_of(text)};
    while (device_list_next(&l)) {
        struct chosen *c = find_chosen(w, l.resource);
        if (!c && w->chosen_n < sizeof w->chosen / sizeof *w->chosen) {
            c = &w->chosen[w->chosen_n++];
            c->resource = arena_text_n(m, l.resource.data, l.resource.n);
        }
        if (c && c->n < IDS_MAX)
            c->ids[c->n++] = arena_text_n(m, l.id.data, l.id.n);
    }
}

static bool is_ours(const struct agent *a, const char *resource)
{
    return text_starts(resource, "nvidia.com/") || text_starts(resource, "keti.com/") ||
           (a->projection && resource_table_find(&a->projection->table, resource));
}

/* Limits of MPS count where there is MPS; elsewhere pods with different ones are interchangeable. */
static struct allocate_limits limits_for(const struct agent *a, const struct wants *w, const char *resource)
{
    const struct resource *r = a->projection ? resource_table_find(&a->projection->table, resource) : NULL;
    return r && r->sharing != SHARING_MPS && r->sharing != SHARING_KETI ? (struct allocate_limits){0} : w->limits;
}

/* What one container asks of our resources. Containers that end before the others start (init) give theirs back: `keeps` false. */
static void container_wants(const struct agent *a, struct wants *w, const struct json *container, bool keeps)
{
    JSON_EACH(limit, json_path(container, "resources", "limits", NULL)) {
        int64_t amount = 0;
        if (w->n == WANTS_MAX || !is_ours(a, limit->key) || !bytes_int64(json_bytes(limit), &amount) || amount <= 0 || amount > IDS_MAX)
            continue;
        struct chosen *c = find_chosen(w, bytes_of(limit->key));
        bool known = c && c->next + (uint32_t)amount <= c->n;
        w->list[w->n++] = (struct steering_want){.container = json_get_text(container, "name", ""),
                                                 .resource = limit->key,
                                                 .slots = known ? &c->ids[c->next] : NULL,
                                                 .slots_n = (uint32_t)amount,
                                                 .limits = limits_for(a, w, limit->key),
                                                 .passing = !keeps};
        if (known && keeps)
            c->next += (uint32_t)amount;
    }
}

static void steer_pod(struct agent *a, struct arena *m, const struct json *pod, struct known_pod *k)
{
    const struct json *annotations = json_path(pod, "metadata", "annotations", NULL), *spec = json_get(pod, "spec");
    const char *text = json_get_text(annotations, DEVICES_ANNOTATION, NULL);
    struct wants *w = arena_zero(m, 1, sizeof *w);
    w->limits = pod_limits(a, pod);
    if (text)
        read_chosen(m, text, w);
    JSON_EACH(one, json_get(spec, "initContainers"))
    container_wants(a, w, one, text_equal(json_get_text(one, "restartPolicy", ""), "Always"));
    JSON_EACH(one, json_get(spec, "containers"))
    container_wants(a, w, one, true);
    k->asks = w->n > 0;
    steering_pod(a->pods->steering, k->pod.ns, k->pod.name, k->pod.uid, w->list, w->n, loop_now_ms(a->loop));
}

bool agent_pods_steer(void *ctx, struct arena *arena, const struct resource *r, const char *const *available, uint32_t available_n,
                      uint32_t size, const char ***ret_slots)
{
    struct agent *a = ctx;
    const struct projection *p = a->projection;
    int64_t now_ms = loop_now_ms(a->loop);
    if (steering_prefer(a->pods->steering, arena, r->name, available, available_n, size, now_ms, ret_slots))
        return true;
    /* By the usual rules, but from what was not chosen for somebody who still waits. */
    const char **free_ones = NULL;
    uint32_t free_n = steering_unreserved(a->pods->steering, arena, r->name, available, available_n, size, now_ms, &free_ones), n = 0;
    return p && free_n < available_n &&
           preferred_choose(arena, p->snapshot, &p->loaded->config, r, free_ones, free_n, NULL, 0, size, ret_slots, &n, NULL) == 0 &&
           n == size;
}

/* Ask the kubelet who has what. */
static void reconcile_soon(struct agent *a)
{
    struct agent_pods *p = a->pods;
    if (p->timer && !p->soon)
        loop_timer_start(p->timer, RECONCILE_SOON_MS, 0);
    p->soon = true;
}

/* Without an API server no pod is ever known. */
bool agent_pods_awaited(void *ctx, const struct resource *r, uint32_t n)
{
    struct agent *a = ctx;
    return !a->kube || steering_awaits(a->pods->steering, r->name, n, false, loop_now_ms(a->loop));
}

/* WHY  whose limits are not known must not run without: the pod is refused, and whoever made it makes another. */
static int limits_known(struct agent *a, const struct resource *r, uint32_t n, struct err *e)
{
    if (!a->kube || r->sharing < SHARING_MPS || steering_awaits(a->pods->steering, r->name, n, true, loop_now_ms(a->loop)))
        return 0;
    return err_set(e, E_AGAIN,
                   "no pod is known on this node that waits for %u of %s, so its limits are not known: is the API server reachable from the "
                   "agent? Make the pod again",
                   n, r->name);
}

int agent_pods_admit(struct agent *a, const struct resource *r, const char *const *slots, uint32_t n, struct allocate_limits *ret_limits,
                     struct err *e)
{
    const char *ns = "", *pod = "";
    int code = limits_known(a, r, n, e);
    if (code == 0)
        code = steering_admit(a->pods->steering, r->name, slots, n, loop_now_ms(a->loop), ret_limits, &ns, &pod, e);
    if (code < 0)
        log_warning("allocation refused resource=%s slot=%s chosen-for=%s/%s error=\"%s\"", r->name, n ? slots[0] : "", ns ? ns : "",
                    pod ? pod : "", e ? e->text : "");
    else
        reconcile_soon(a);
    return code;
}

/* ---- pods ---- */

static struct known_pod *find_pod(struct agent_pods *p, const char *uid)
{
    for (uint32_t i = 0; i < p->pods_n; i++)
        if (text_equal(p->pods[i].pod.uid, uid))
            return &p->pods[i];
    return NULL;
}

const struct agent_pod *agent_pods_by_uid(const struct agent *a, const char *uid)
{
    struct known_pod *k = a->pods ? find_pod(a->pods, uid) : NULL;
    return k ? &k->pod : NULL;
}

const struct agent_pod *agent_pods_by_name(const struct agent *a, const char *ns, const char *name)
{
    for (uint32_t i = 0; a->pods && i < a->pods->pods_n; i++) {
        const struct agent_pod *pod = &a->pods->pods[i].pod;
        if (text_equal(pod->name, name) && text_equal(pod->ns, ns))
            return pod;
    }
    return NULL;
}

static void pod_clear(struct known_pod *k)
{
    free(k->pod.ns);
    free(k->pod.name);
    free(k->pod.uid);
    free(k->devices);
}

static void pod_gone(struct agent *a, struct known_pod *k)
{
    struct agent_pods *p = a->pods;
    pod_absence_deleted(p->absence, k->pod.uid);
    steering_pod_gone(p->steering, k->pod.uid);
    pod_clear(k);
    *k = p->pods[--p->pods_n];
}

static void on_pod(void *arg, enum kube_event event, struct bytes object)
{
    struct agent *a = arg;
    struct agent_pods *p = a->pods;
    struct arena *m = arena_new();
    const struct json *v = json_parse(m, object, NULL, NULL), *meta = json_get(v, "metadata");
    const char *uid = json_get_text(meta, "uid", ""), *phase = json_text(json_path(v, "status", "phase", NULL), "");
    struct known_pod *k = find_pod(p, uid);
    bool ended = text_equal(phase, "Succeeded") || text_equal(phase, "Failed");
    if (event == KUBE_DELETED) {
        if (k && k->asks)
            reconcile_soon(a); /* what it had may be waited for */
        if (k)
            pod_gone(a, k);
    } else if (*uid) {
        if (!k) {
            MEM_RESERVE(p->pods, p->pods_cap, p->pods_n + 1);
            k = &p->pods[p->pods_n++];
            *k = (struct known_pod){.pod = {.ns = mem_text(json_get_text(meta, "namespace", "")),
                                            .name = mem_text(json_get_text(meta, "name", "")),
                                            .uid = mem_text(uid),
                                            .is_static = json_path(meta, "annotations", MIRROR_ANNOTATION, NULL) != NULL},
                                    .correct_again_ms = CORRECT_AGAIN_MS};
        }
        if (ended && !k->pod.ended && k->asks)
            reconcile_soon(a);
        k->pod.ended = ended;
        free(k->devices);
        k->devices = NULL;
        const struct json *devices = json_path(meta, "annotations", DEVICES_ANNOTATION, NULL);
        if (!ended && json_is(devices, JSON_STRING) && devices->n <= LIMIT_DEVICES_TEXT_BYTES)
            k->devices = mem_text(devices->text);
        if (ended)
            steering_pod_gone(p->steering, uid);
        else
            steer_pod(a, m, v, k);
        bool begun = json_path(v, "status", "startTime", NULL) != NULL;
        if (begun && !k->begun && !ended)
            steering_begun(p->steering, uid, loop_now_ms(a->loop));
        k->begun = begun;
        pod_absence_word(p->absence, &(struct pod_word){.uid = k->pod.uid,
                                                        .ns = k->pod.ns,
                                                        .name = k->pod.name,
                                                        .begun = begun,
                                                        .ended = ended,
                                                        .asks = k->asks});
    }
    arena_free(m);
    if (a->plugin)
        device_plugin_pods_changed(a->plugin);
}

/* Who of them has what already? */
static void on_synced(void *arg)
{
    reconcile_soon(arg);
}

static void on_full(void *arg)
{
    const struct agent *a = arg;
    log_warning("more pods of the node than are kept: new ones get devices without regard to the scheduler's choice until others are deleted "
                "node=%s limit=%d", a->o.node_name, LIMIT_NODE_PODS);
}

/* ---- the kubelet's truth ---- */

/* The annotation with one resource's devices replaced. */
static const char *correct_text(struct arena *m, const char *old, const struct steering_given *now)
{
    struct device_list l = {.rest = bytes_of(old)};
    _cleanup_buf_ struct buf out = {0};
    const char *last = NULL;
    bool done = false;
    for (bool more = true; more;) {
        more = device_list_next(&l);
        bool this_one = !more || bytes_is(l.resource, now->resource);
        for (uint32_t i = 0; this_one && !done && i < now->n; i++, last = now->resource) /* all of them stand where the first stood */
            device_list_add(&out, last, now->resource, now->slots[i]);
        done = done || this_one;
        if (this_one)
            continue;
        const char *resource = arena_text_n(m, l.resource.data, l.resource.n);
        device_list_add(&out, last, resource, arena_text_n(m, l.id.data, l.id.n));
        last = resource;
    }
    return arena_text(m, out.data ? out.data : "");
}

/* How many devices of it an annotation has; with an id, how often that one. */
static uint32_t count_devices(const char *text, const char *resource, const char *id)
{
    struct device_list l = {.rest = bytes_of(text)};
    uint32_t n = 0;
    while (device_list_next(&l))
        n += bytes_is(l.resource, resource) && (!id || bytes_is(l.id, id));
    return n;
}

static void report_difference(struct agent *a, struct arena *m, const struct steering_difference *d)
{
    log_warning("devices differ from the scheduler's choice pod=%s/%s container=%s resource=%s chosen=%s given=%s", d->ns, d->pod,
                d->container, d->resource, d->chosen, d->given);
    agent_pod_event(a, d->ns, d->pod, d->uid, true, "DevicesDiffer",
                    arena_printf(m, "container %s: the kubelet gave %s=%s, the scheduler had chosen %s", d->container, d->resource,
                                 d->given, d->chosen));
}

static void report_limits(struct agent *a, struct arena *m, const struct steering_wrong_limits *w)
{
    const char *text = arena_printf(m, "container %s runs with the MPS limits of another pod (threads %u %%, memory %llu MiB; 0: none), it asks for "
                                    "%u %% and %llu MiB: make the pod again", w->container, w->given.thread_percentage,
                                    (unsigned long long)w->given.pinned_memory_mib, w->asked.thread_percentage,
                                    (unsigned long long)w->asked.pinned_memory_mib);
    log_error("wrong limits pod=%s/%s text=\"%s\"", w->ns, w->pod, text);
    agent_pod_event(a, w->ns, w->pod, w->uid, true, "LimitsDiffer", text);
}

/* What a pod's annotation should be; NULL: it is that. Of resources that are not offered here nothing is known. */
static const char *corrected(const struct agent *a, struct arena *m, const struct known_pod *k)
{
    const char *text = k->devices ? k->devices : "", *before = text;
    struct steering_given *list = NULL;
    uint32_t n = steering_given(a->pods->steering, m, k->pod.uid, &list);
    for (uint32_t i = 0; i < n; i++) {
        const struct steering_given *g = &list[i];
        bool right = !g->whole || count_devices(text, g->resource, NULL) == g->n; /* more than it has would be lost to other pods */
        for (uint32_t s = 0; right && s < g->n; s++)
            right = count_devices(text, g->resource, g->slots[s]) > 0;
        if (!right && resource_table_find(&a->projection->table, g->resource))
            text = correct_text(m, text, g);
    }
    return text == before ? NULL : text;
}

/* That it worked, the watch shows. */
static void on_written(void *arg, const struct kube_answer *answer)
{
    (void)arg;
    if (answer->code < 0 && answer->code != -E_NOTFOUND) /* the pod is gone */
        log_warning("annotation of a pod's devices not written, trying again error=\"%s\"", answer->error.text);
}

static void write_devices(struct agent *a, struct arena *m, const struct agent_pod *pod, const char *text)
{
    _cleanup_buf_ struct buf body = {0};
    log_info("writing the annotation as the kubelet says pod=%s/%s devices=%s", pod->ns, pod->name, text);
    buf_text(&body, "{\"metadata\":{\"annotations\":{\"" DEVICES_ANNOTATION "\":");
    json_write_string(&body, bytes_of(text));
    buf_printf(&body, "},\"uid\":\"%s\"}}", pod->uid);
    kube_patch(a->kube, KUBE_PATCH_MERGE, kube_path(m, "", "v1", "pods", pod->ns, pod->name, NULL), buf_view(&body), on_written, NULL);
}

/* WHY  the answer changes nothing: the watch shows the annotation, and while it does not it is written again, ever more rarely */
static void correct_annotations(struct agent *a, struct arena *m)
{
    struct agent_pods *p = a->pods;
    int64_t now_ms = loop_now_ms(a->loop);
    uint32_t written_n = 0;
    for (uint32_t i = 0; a->kube && a->projection && i < p->pods_n && written_n < CORRECTIONS_MAX; i++) {
        struct known_pod *k = &p->pods[i];
        const char *text = k->asks && !k->pod.ended && now_ms >= k->correct_ms ? corrected(a, m, k) : NULL;
        if (!text)
            continue;
        k->correct_ms = now_ms + k->correct_again_ms;
        if (k->correct_again_ms < CORRECT_AGAIN_MAX_MS)
            k->correct_again_ms *= 2;
        write_devices(a, m, &k->pod, text);
        written_n++;
    }
}

/* A socket that is another one than before is that of another kubelet, which may not have its pods yet. False: there is none. */
static bool look_at_socket(struct agent *a)
{
    struct agent_pods *p = a->pods;
    struct stat now;
    if (stat(a->o.pod_resources_socket, &now) < 0)
        return errno != ENOENT;
    bool same = now.st_ino == p->socket.st_ino && now.st_dev == p->socket.st_dev && now.st_ctim.tv_sec == p->socket.st_ctim.tv_sec &&
                now.st_ctim.tv_nsec == p->socket.st_ctim.tv_nsec;
    if (!same && p->socket.st_ino)
        pod_absence_kubelet_restarted(p->absence, loop_now_ms(a->loop));
    p->socket = now;
    return true;
}

static void on_silence(struct agent *a, const struct err *e)
{
    struct agent_pods *p = a->pods;
    if (!p->failing)
        log_info("podresources not answering, trying again error=\"%s\"", e->text);
    p->failing = true;
    pod_absence_silent(p->absence, a->inventory, !look_at_socket(a) && !p->socket.st_ino);
}

static void tell_short(struct agent_pods *p, bool whole)
{
    const char *missing = pod_absence_missing(p->absence);
    if (whole && p->short_told)
        log_info("podresources names all pods again");
    else if (!whole && !p->short_told && *missing)
        log_info("podresources does not name all pods: who has which device stays as it was pod=%s", missing);
    p->short_told = !whole && (p->short_told || *missing);
}

static void on_owners(void *arg, int code, const struct slot_owner *owners, uint32_t n, const struct err *e)
{
    struct agent *a = arg;
    struct agent_pods *p = a->pods;
    if (code < 0) {
        on_silence(a, e);
        return;
    }
    if (p->failing)
        log_info("podresources answering again");
    p->failing = false;
    (void)look_at_socket(a); /* it was there a moment ago */
    struct arena *m = arena_new();
    struct pod_list l = {.owners = owners, .owners_n = n, .synced = p->watch && kube_watch_synced(p->watch)};
    l.named = pod_resources_named(p->kubelet, &l.named_n);
    tell_short(p, pod_absence_settle(p->absence, a->inventory, &l, loop_now_ms(a->loop)));
    steering_settled(p->steering, owners, n);
    struct steering_difference *list = NULL;
    uint32_t differences_n = steering_differences(p->steering, m, &list);
    for (uint32_t i = 0; i < differences_n; i++)
        report_difference(a, m, &list[i]);
    struct steering_wrong_limits *wrong = NULL;
    uint32_t wrong_n = steering_wrong_limits(p->steering, m, &wrong);
    for (uint32_t i = 0; i < wrong_n; i++)
        report_limits(a, m, &wrong[i]);
    correct_annotations(a, m);
    arena_free(m);
}

static void on_timer(void *arg)
{
    struct agent *a = arg;
    a->pods->soon = false;
    loop_timer_start(a->pods->timer, RECONCILE_MS, 0);
    pod_resources_list(a->pods->kubelet, on_owners, a);
}

void agent_pods_kubelet_restarted(struct agent *a)
{
    steering_kubelet_restarted(a->pods->steering);
    pod_absence_kubelet_restarted(a->pods->absence, loop_now_ms(a->loop));
    reconcile_soon(a);
}

/* ---- life ---- */

static bool pod_lives(void *ctx, const char *uid)
{
    const struct agent *a = ctx;
    return pod_cgroup_lives(a->o.root ? a->o.root : "", uid);
}

void agent_pods_new(struct agent *a)
{
    struct agent_pods *p = a->pods = mem_zero(1, sizeof *p);
    p->steering = steering_new();
    p->absence = pod_absence_new(a->kube != NULL, loop_is_virtual(a->loop) ? NULL : pod_lives, a);
    if (a->o.pod_resources_socket) {
        p->kubelet = pod_resources_new(a->loop, a->o.pod_resources_socket);
        p->timer = loop_timer_new(a->loop, on_timer, a);
        inventory_owners_unknown(a->inventory, true);
        loop_timer_start(p->timer, 0, 0);
    }
    if (!a->kube)
        return;
    struct buf fields = {0};
    buf_printf(&fields, "spec.nodeName=%s", a->o.node_name);
    p->fields = buf_take(&fields, &(size_t){0});
    struct kube_watch_config c = {.path = "/api/v1/pods",
                                  .field_selector = p->fields,
                                  .objects_max = LIMIT_NODE_PODS,
                                  .on_event = on_pod,
                                  .on_synced = on_synced,
                                  .on_full = on_full,
                                  .arg = a};
    p->watch = kube_watch_new(a->kube, &c);
}

void agent_pods_free(struct agent *a)
{
    struct agent_pods *p = a->pods;
    if (!p)
        return;
    kube_watch_free(p->watch);
    if (p->kubelet)
        pod_resources_free(p->kubelet);
    loop_timer_free(p->timer);
    steering_free(p->steering);
    pod_absence_free(p->absence);
    for (uint32_t i = 0; i < p->pods_n; i++)
        pod_clear(&p->pods[i]);
    free(p->pods);
    free(p->fields);
    free(p);
    a->pods = NULL;
}
