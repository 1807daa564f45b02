/* kubelets.c - one watch of bound pods, one heap of what is due next */
#include "sim/kubelet/kubelets.h"
#include <stdlib.h>
#include "base/collections/heap.h"
#include "base/collections/map.h"
#include "base/limits.h"
#include "core/device_list.h"
#include "kube/event.h"
#include "kube/object.h"
#include "kube/object_meta.h"
#include "kube/watch.h"
#include "sim/kubelet/heartbeat.h"
#include "sim/kubelet/pod_life.h"
#include "sim/kubelet/pod_status.h"
#include "sim/node/sim_nodes.h"
#include "sim/node/node_object.h"

#define RESEND_MS 500
#define STATUS_BYTES 1500 /* as most are: printed without growing */
#define ADMIT_AGAIN_MS 20
#define REMOVE_AGAIN_MS 5000 /* a pod whose delete was lost, or that others hold */

struct node {
    uint32_t pods_n;
    bool ours, changed; /* changed: its devices are to be looked at */
    bool silent;        /* nothing is heard of it */
    struct real_agent *real;    /* its GPUs are an agent's of its own; NULL: simulated here */
};

struct kubelets {
    struct kube_client *client;
    struct loop *loop;
    struct kubelets_config config;
    struct kube_watch *pods_watch, *nodes_watch;
    struct map *pods;  /* "ns/name" -> struct pod_life * */
    struct map *nodes; /* name -> struct node */
    struct heap due;
    struct loop_timer *timer;
    struct heartbeat *heartbeat; /* NULL: none are wanted */
    struct kube_recorder *events;
    struct sim_nodes *gpus;
    void (*listener)(void *arg, enum kube_event event, struct bytes object); /* kubelets_on_pod */
    void *listener_arg;
    bool looking, all_changed; /* look_at_devices will run; at every node */
    uint32_t address_next;
    uint32_t unresumed_n; /* running pods whose devices are not accounted yet: their node was not ready */
    struct object_meta meta;
    struct buf key;
    struct arena *arena;  /* reset after each callback */
};

static bool pod_before(const void *a, const void *b)
{
    const struct pod_life *x = a, *y = b;
    return x->due_ms != y->due_ms ? x->due_ms < y->due_ms : x->order < y->order;
}

/* ---- whose GPUs ---- */

struct real_agent *kubelets_real(const struct kubelets *k, const char *node)
{
    const struct node *known = map_find_text(k->nodes, node);
    return known ? known->real : NULL;
}

static struct real_agent *real_of(const struct kubelets *k, const struct pod_life *p)
{
    return kubelets_real(k, p->node);
}

/* NULL: its node has no simulated GPUs, or (*ret_wait) they are not ready yet. */
static struct agent *devices_of(struct kubelets *k, const struct pod_life *p, bool *ret_wait)
{
    const struct sim_node *n = sim_nodes_get(k->gpus, p->node, ret_wait);
    return n ? sim_node_agent(n) : NULL;
}

static bool simulated_is_healthy(const void *ctx, const char *resource, const char *slot)
{
    return device_manager_healthy(ctx, resource, slot);
}

static bool real_is_healthy(const void *ctx, const char *resource, const char *slot)
{
    return fake_kubelet_healthy(ctx, resource, slot);
}

static struct device_health health_of(struct kubelets *k, const struct pod_life *p)
{
    bool wait;
    struct real_agent *real = real_of(k, p);
    if (!p->devices)
        return (struct device_health){0};
    if (real)
        return (struct device_health){real_is_healthy, real_agent_kubelet(real)};
    const struct agent *d = devices_of(k, p, &wait);
    return (struct device_health){d ? simulated_is_healthy : NULL, d};
}

/* ---- acting: every write is safe to repeat ---- */

/* One status write under way: who asked, for which pod (order tells namesakes apart). */
struct status_call {
    struct kubelets *kubelets;
    uint64_t order;
    size_t key_n;
    char key[];
};

static void timer_rearm(struct kubelets *k);
static void act_status(struct kubelets *k, struct pod_life *p);

/* A status that did not arrive is sent again; what was due meanwhile stays due. */
static void send_again_later(struct kubelets *k, struct pod_life *p)
{
    if (p->resend)
        return;
    p->resend = true;
    p->after_ms = p->heap_at ? p->due_ms : -1;
    heap_remove(&k->due, p);
    p->due_ms = loop_now_ms(k->loop) + RESEND_MS;
    heap_add(&k->due, p);
    timer_rearm(k);
}

static void on_status_patched(void *arg, const struct kube_answer *answer)
{
    struct status_call *call = arg;
    struct kubelets *k = call->kubelets;
    struct pod_life **slot = map_find(k->pods, (struct bytes){call->key, call->key_n});
    struct pod_life *p = slot && (*slot)->order == call->order ? *slot : NULL;
    /* also by a conflict. WHY  where the pod is another one by now the watch says so, and this one is forgotten */
    bool lost = answer->code != 0 && answer->code != -E_NOTFOUND && answer->code != -E_INVALID;
    free(call);
    if (!p)
        return;
    p->sending = false;
    if (lost && (!p->leaving || p->held))
        send_again_later(k, p);
    else if (p->unsent)
        act_status(k, p); /* of a silent node: when it is heard again */
}

static bool is_silent(const struct kubelets *k, const struct pod_life *p)
{
    const struct node *node = map_find_text(k->nodes, p->node);
    return node && node->silent;
}

/* RACE  one write of a pod at a time: two in flight may arrive in either order, and a pod that has ended would run again. */
static void act_status(struct kubelets *k, struct pod_life *p)
{
    p->unsent = p->sending || is_silent(k, p);
    if (p->unsent)
        return;
    p->sending = true;
    _cleanup_buf_ struct buf body = {0};
    buf_reserve(&body, STATUS_BYTES);
    pod_status_patch(&body, k->arena, p, loop_wall_ms(k->loop), health_of(k, p));
    const char *key = arena_printf(k->arena, "%s/%s", p->ns, p->name);
    struct status_call *call = mem_alloc(sizeof *call + strlen(key));
    call->kubelets = k;
    call->order = p->order;
    call->key_n = strlen(key);
    memcpy(call->key, key, call->key_n);
    kube_patch(k->client, KUBE_PATCH_STRATEGIC, kube_path(k->arena, "", "v1", "pods", p->ns, p->name, "status"),
               buf_view(&body), on_status_patched, call); /* conditions of others stay */
}

/* Deletes are asked for again while the pod is there (pod_leave). */
static void act_remove(struct kubelets *k, const struct pod_life *p)
{
    const char *body = arena_printf(k->arena, "{\"gracePeriodSeconds\":0,\"preconditions\":{\"uid\":\"%s\"}}", p->uid);
    kube_delete(k->client, kube_path(k->arena, "", "v1", "pods", p->ns, p->name, NULL), bytes_of(body), NULL, NULL);
}

/* ---- time ---- */

static int64_t scaled_ms(const struct kubelets *k, int64_t simulated_ms)
{
    double ms = (double)simulated_ms / k->config.speed;
    return ms < 1 ? 1 : (int64_t)ms;
}

static void timer_rearm(struct kubelets *k)
{
    const struct pod_life *first = heap_first(&k->due);
    if (!first) {
        loop_timer_stop(k->timer);
        return;
    }
    int64_t wait_ms = first->due_ms - loop_now_ms(k->loop);
    loop_timer_start(k->timer, wait_ms > 0 ? wait_ms : 0, 0);
}

static void pod_due_in(struct kubelets *k, struct pod_life *p, int64_t wait_ms)
{
    heap_remove(&k->due, p);
    p->due_ms = loop_now_ms(k->loop) + wait_ms;
    if (p->deadline_ms && p->deadline_ms < p->due_ms && p->step != POD_DONE && !p->leaving)
        p->due_ms = p->deadline_ms;
    heap_add(&k->due, p);
}

/* Its deadline counts from now on, beside the step that is due. */
static void pod_limit(struct kubelets *k, struct pod_life *p)
{
    int64_t left_ms = pod_life_left_ms(p, loop_wall_ms(k->loop), k->config.speed);
    p->deadline_ms = left_ms < 0 || p->step == POD_DONE || p->leaving ? 0 : loop_now_ms(k->loop) + scaled_ms(k, left_ms);
    if (!p->deadline_ms)
        return;
    if (p->resend && (p->after_ms < 0 || p->after_ms > p->deadline_ms))
        p->after_ms = p->deadline_ms;
    else if (!p->heap_at || p->due_ms > p->deadline_ms)
        pod_due_in(k, p, p->deadline_ms - loop_now_ms(k->loop));
}

static void pod_schedule(struct kubelets *k, struct pod_life *p, int64_t simulated_ms)
{
    pod_due_in(k, p, scaled_ms(k, simulated_ms));
}

/* WHY starts and stops have a least time that is not sped up: clients watch for Pending and Terminating. */
static void pod_schedule_at_least(struct kubelets *k, struct pod_life *p, int64_t simulated_ms, int64_t least_ms)
{
    int64_t wait_ms = scaled_ms(k, simulated_ms);
    pod_due_in(k, p, wait_ms > least_ms ? wait_ms : least_ms);
}

/* ---- devices ---- */

/* A pod that ends before its node was ready holds nothing yet, and shall not hold it later. */
static void devices_release(struct kubelets *k, struct pod_life *p)
{
    bool wait;
    k->unresumed_n -= p->resuming;
    p->resuming = false;
    struct real_agent *real = real_of(k, p);
    if (p->devices && real) {
        real_agent_work_end(real, p->address);
        fake_kubelet_remove(real_agent_kubelet(real), p->uid);
        return;
    }
    struct agent *d = p->devices ? devices_of(k, p, &wait) : NULL;
    if (d)
        device_manager_release(d, &(struct node_pod){p->ns, p->name});
}

static void act_event(struct kubelets *k, const struct pod_life *p, const char *reason, const char *text)
{
    const struct kube_object_ref ref = {"v1", "Pod", p->ns, p->name, p->uid};
    kube_event(k->events, &ref, "Warning", reason, "%s", text);
}

/* The truth goes where the scheduler reads it, also for pods that it has not placed. */
static void act_given(struct kubelets *k, const struct pod_life *p)
{
    _cleanup_buf_ struct buf given = {0}, body = {0}, text = {0};
    pod_devices_text(p->devices, &given);
    if (!given.n)
        return;
    struct json *patch = json_new(k->arena, JSON_OBJECT), *metadata = json_ensure_object(k->arena, patch, "metadata");
    json_set_text(k->arena, metadata, "uid", p->uid);
    json_set_text(k->arena, json_ensure_object(k->arena, metadata, "annotations"), DEVICES_ANNOTATION, given.data);
    json_write(&body, patch);
    kube_patch(k->client, KUBE_PATCH_MERGE, kube_path(k->arena, "", "v1", "pods", p->ns, p->name, NULL),
               buf_view(&body), NULL, NULL);
    if (!p->devices->differs)
        return;
    buf_printf(&text, "the chosen devices were not free: given %s", given.data);
    act_event(k, p, "DevicesDiffer", text.data);
}

static void refuse(struct kubelets *k, struct pod_life *p, const char *reason, const char *text)
{
    p->refusal = mem_text(text);
    p->reason = reason;
    p->step = POD_DONE;
    p->failed = true;
    act_event(k, p, reason, text);
    act_status(k, p);
}

static void refuse_devices(struct kubelets *k, struct pod_life *p, const char *why)
{
    refuse(k, p, "UnexpectedAdmissionError", arena_printf(k->arena, "Allocate failed due to %s, which is unexpected", why));
}

/* What a scheduler would have seen: kubelets look for themselves, as some pods name their node. False: it is refused. */
static bool admit_ports(struct kubelets *k, struct pod_life *p)
{
    size_t at = 0;
    struct bytes key;
    if (!kubelets_synced(k)) {
        pod_due_in(k, p, ADMIT_AGAIN_MS);
        return false;
    }
    for (struct pod_life **other; (other = map_next(k->pods, &at, &key));)
        if ((*other)->has_ports && (*other)->step != POD_DONE && pod_life_clash(p, *other)) {
            refuse(k, p, "NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports");
            return false;
        }
    p->has_ports = true;
    return true;
}

static void on_real_admitted(void *arg, const char *uid, int code, const char *text)
{
    struct kubelets *k = arg;
    size_t at = 0;
    struct bytes key;
    for (struct pod_life **p; (p = map_next(k->pods, &at, &key));)
        if (text_equal((*p)->uid, uid) && (*p)->step == POD_STARTING && !(*p)->leaving) {
            if (code < 0)
                refuse_devices(k, *p, text);
            else
                pod_due_in(k, *p, 0);
            timer_rearm(k);
            break;
        }
    arena_reset(k->arena);
}

/* The agent's own sockets decide; the pod waits for the answer. */
static void admit_real(struct kubelets *k, struct pod_life *p, struct real_agent *real)
{
    const struct fake_kubelet_pod pod = {p->ns, p->name, p->uid};
    if (!kubelets_synced(k) || real_agent_starting(real, p->devices))
        pod_due_in(k, p, ADMIT_AGAIN_MS);
    else
        fake_kubelet_admit(real_agent_kubelet(real), &pod, p->devices, on_real_admitted, k);
}

/* Devices are handed out when every running pod has been seen and its node is ready. */
static bool admit_devices(struct kubelets *k, struct pod_life *p)
{
    struct err e = {0};
    bool wait;
    struct real_agent *real = real_of(k, p);
    if (real) {
        admit_real(k, p, real);
        return false;
    }
    struct agent *d = devices_of(k, p, &wait);
    if (wait || !kubelets_synced(k) || k->unresumed_n) {
        pod_due_in(k, p, ADMIT_AGAIN_MS);
        return false;
    }
    if (pod_devices_admit(p->devices, d, &(struct node_pod){p->ns, p->name}, &e) < 0) {
        refuse_devices(k, p, e.text);
        return false;
    }
    if (p->devices->differs || !*p->devices->chosen)
        act_given(k, p);
    return true;
}

/* False: the pod does not start now. */
static bool admit(struct kubelets *k, struct pod_life *p)
{
    return (p->has_ports || !p->ports_n || admit_ports(k, p)) && (!p->devices || p->devices->given || admit_devices(k, p));
}

static void devices_resume(struct kubelets *k, struct pod_life *p, const struct json *pod)
{
    bool wait;
    struct real_agent *real = real_of(k, p);
    if (real) {
        const struct fake_kubelet_pod who = {p->ns, p->name, p->uid};
        pod_devices_resume(p->devices, NULL, &(struct node_pod){p->ns, p->name}, pod);
        fake_kubelet_resume(real_agent_kubelet(real), &who, p->devices);
        if (p->step == POD_RUNNING_STEP)
            real_agent_work(real, &who, p->devices, p->address);
        return;
    }
    struct agent *d = devices_of(k, p, &wait);
    pod_devices_resume(p->devices, d, &(struct node_pod){p->ns, p->name}, pod);
    p->resuming = wait;
    k->unresumed_n += wait;
}

static void pod_devices_changed(struct kubelets *k, struct pod_life *p)
{
    static const struct json no_status = {.type = JSON_OBJECT};
    bool wait;
    if (p->resuming) {
        struct agent *d = devices_of(k, p, &wait);
        if (wait)
            return;
        p->resuming = false;
        k->unresumed_n--;
        pod_devices_resume(p->devices, d, &(struct node_pod){p->ns, p->name}, &no_status);
    }
    bool unhealthy = pod_devices_unhealthy(p->devices, health_of(k, p));
    if (p->step == POD_RUNNING_STEP && unhealthy != p->unhealthy)
        act_status(k, p);
    p->unhealthy = unhealthy;
}

/* One pass over the pods, however many nodes changed in this turn. */
static void look_at_devices(void *arg)
{
    struct kubelets *k = arg;
    size_t at = 0;
    struct bytes key;
    k->looking = false;
    for (struct pod_life **p; (p = map_next(k->pods, &at, &key));) {
        const struct node *node = (*p)->devices && (*p)->devices->given ? map_find_text(k->nodes, (*p)->node) : NULL;
        if (node && (node->changed || k->all_changed))
            pod_devices_changed(k, *p);
    }
    at = 0;
    for (struct node *n; (n = map_next(k->nodes, &at, &key));)
        n->changed = false;
    k->all_changed = false;
    timer_rearm(k);
    arena_reset(k->arena);
}

/* node NULL: all of them. */
static void on_gpus_changed(void *arg, const char *name)
{
    struct kubelets *k = arg;
    struct node *node = name ? map_find_text(k->nodes, name) : NULL;
    if (node)
        node->changed = true;
    k->all_changed |= !name;
    if (!k->looking)
        loop_defer(k->loop, look_at_devices, k);
    k->looking = true;
}

/* Its containers have had time to end. What it had is free, and its phase final, also where finalizers keep its object. */
static void pod_leave(struct kubelets *k, struct pod_life *p)
{
    if (p->held && (p->step != POD_DONE || p->resend)) {
        if (p->step != POD_DONE) {
            pod_life_end(p, loop_wall_ms(k->loop));
            devices_release(k, p);
        }
        p->resend = false;
        act_status(k, p);
    }
    act_remove(k, p);
    pod_due_in(k, p, REMOVE_AGAIN_MS);
}

/* The pod's next step is due: take it, tell the API, and plan the one after. */
static void pod_step(struct kubelets *k, struct pod_life *p)
{
    if (p->leaving) {
        pod_leave(k, p);
        return;
    }
    if (p->resend) {
        p->resend = false;
        act_status(k, p);
        if (p->after_ms >= 0) {
            p->due_ms = p->after_ms;
            heap_add(&k->due, p);
        }
        return;
    }
    bool is_over = p->deadline_ms && p->deadline_ms <= loop_now_ms(k->loop);
    if (!is_over && p->step == POD_STARTING && !admit(k, p))
        return;
    bool was_running = p->step == POD_RUNNING_STEP;
    int64_t next_ms = is_over ? pod_life_expire(p, loop_wall_ms(k->loop)) : pod_life_advance(p, loop_wall_ms(k->loop), k->config.speed);
    struct real_agent *real = p->devices ? real_of(k, p) : NULL;
    if (real && was_running)
        real_agent_work_end(real, p->address);
    if (real && p->step == POD_RUNNING_STEP)
        real_agent_work(real, &(struct fake_kubelet_pod){p->ns, p->name, p->uid}, p->devices, p->address);
    if (p->step == POD_DONE)
        devices_release(k, p);
    act_status(k, p);
    if (next_ms >= 0)
        pod_schedule(k, p, next_ms);
    pod_limit(k, p);
}

static void on_timer(void *arg)
{
    struct kubelets *k = arg;
    int64_t now_ms = loop_now_ms(k->loop);
    int budget = 512; /* bounded turn */
    for (struct pod_life *p; budget-- > 0 && (p = heap_first(&k->due)) && p->due_ms <= now_ms;) {
        heap_pop(&k->due);
        p->is_due = is_silent(k, p);
        if (!p->is_due)
            pod_step(k, p);
        arena_reset(k->arena);
    }
    timer_rearm(k);
}

/* ---- watching ---- */

/* One that is not ours, or has been deleted, is kept as long as pods refer to it. */
static void node_forget(struct kubelets *k, const char *name)
{
    const struct node *node = map_find_text(k->nodes, name);
    if (node && !node->ours && !node->real && !node->silent && node->pods_n == 0)
        (void)map_remove(k->nodes, bytes_of(name)); /* it is there */
}

static void pod_forget(struct kubelets *k, struct pod_life *p, struct bytes key)
{
    heap_remove(&k->due, p);
    devices_release(k, p);
    struct node *node = map_find_text(k->nodes, p->node);
    if (node)
        node->pods_n--;
    node_forget(k, p->node);
    map_remove(k->pods, key);
    pod_life_free(p);
}

static void pod_stop(struct kubelets *k, struct pod_life *p, const struct json *pod)
{
    const struct json *metadata = json_get(pod, "metadata"), *finalizers = json_get(metadata, "finalizers");
    int64_t grace_ms = json_get_int64(metadata, "deletionGracePeriodSeconds", 30) * 1000;
    /* Containers end when they are told to: within a second, however long the grace is; or are killed when it is over. */
    int64_t stop_ms = p->ignores_term || grace_ms < POD_STOP_MS ? grace_ms : POD_STOP_MS;
    if (p->leaving && p->due_ms <= loop_now_ms(k->loop) + scaled_ms(k, stop_ms)) /* else it is deleted again, with less of it */
        return;
    p->leaving = true;
    p->held = finalizers && finalizers->n > 0;
    pod_schedule_at_least(k, p, stop_ms, stop_ms < POD_STOP_LEAST_MS ? stop_ms : POD_STOP_LEAST_MS);
}

/* What may change while it runs. */
static void pod_again(struct kubelets *k, struct pod_life *p, const struct json *pod)
{
    if (pod_life_limit(p, pod))
        pod_limit(k, p);
    if (pod_life_debug(p, pod, loop_wall_ms(k->loop)) && (p->step == POD_RUNNING_STEP || p->step == POD_WAITING))
        act_status(k, p);
}

static void pod_changed(struct kubelets *k, const struct json *pod, struct bytes key)
{
    const struct json *metadata = json_get(pod, "metadata");
    const char *uid = json_get_text(metadata, "uid", "");
    struct pod_life **slot = map_find(k->pods, key);
    if (slot && !text_equal((*slot)->uid, uid)) {
        pod_forget(k, *slot, key);
        slot = NULL;
    }
    const char *name = json_get_text(json_get(pod, "spec"), "nodeName", "");
    struct node *node = map_find_text(k->nodes, name);
    if (!slot && !node && k->config.stray)
        k->config.stray(k->config.arg, name);
    if (!slot && (!node || !node->ours))
        return;
    if (!slot) {
        slot = map_put(k->pods, key, NULL);
        *slot = pod_life_new(pod, k->address_next++);
        node->pods_n++;
        int64_t next_ms = pod_life_resume(*slot, pod, loop_wall_ms(k->loop), k->config.speed);
        if ((*slot)->devices && ((*slot)->step == POD_RUNNING_STEP || (*slot)->step == POD_WAITING))
            devices_resume(k, *slot, pod);
        int64_t least_ms = (*slot)->step != POD_STARTING ? 0 : next_ms < POD_START_MS ? next_ms : POD_START_MS;
        if (next_ms >= 0)
            pod_schedule_at_least(k, *slot, next_ms, least_ms);
        pod_limit(k, *slot);
        (void)pod_life_debug(*slot, pod, loop_wall_ms(k->loop)); /* told with the next status */
    } else {
        pod_again(k, *slot, pod);
    }
    (*slot)->generation = object_generation_of(pod);
    if (json_get(metadata, "deletionTimestamp"))
        pod_stop(k, *slot, pod);
}

static struct pod_life *pod_of(struct kubelets *k, struct bytes key)
{
    struct pod_life **slot = map_find(k->pods, key);
    return slot ? *slot : NULL;
}

/* Most events of a pod that runs here show what its kubelet has written itself: nothing of them is read again but whose they are.
 * WHY  by its generation: each change of its spec gives it another, and it stands near the beginning of the text. k->meta is of it. */
static bool is_echo(const struct kubelets *k, const struct pod_life *p, struct bytes object)
{
    static const char deletion[] = "\"deletionTimestamp\"";
    if (!p || !bytes_is(buf_view(&k->meta.uid), p->uid))
        return false;
    char same[40];
    int n = text_printf(same, sizeof same, "\"generation\":%lld,", (long long)p->generation);
    struct bytes head = object_text_head(object, kube_watch_body(k->pods_watch, object));
    return memmem(head.data, head.n, same, (size_t)n) && !memmem(head.data, head.n, deletion, sizeof deletion - 1);
}

static void pod_event(struct kubelets *k, enum kube_event event, struct bytes key, struct bytes object)
{
    struct json *pod = object_parse_lean(k->arena, object, kube_watch_body(k->pods_watch, object), true);
    struct pod_life *p = pod_of(k, key);
    if (pod && event != KUBE_DELETED)
        pod_changed(k, pod, key);
    else if (pod && p)
        pod_forget(k, p, key);
    if (pod)
        timer_rearm(k);
    arena_reset(k->arena);
}

static void on_pod(void *arg, enum kube_event event, struct bytes object)
{
    struct kubelets *k = arg;
    if (!object_meta_read(object, &k->meta))
        return;
    object_meta_key(&k->meta, &k->key);
    struct bytes key = buf_view(&k->key);
    if (event == KUBE_DELETED || !is_echo(k, pod_of(k, key), object))
        pod_event(k, event, key, object);
    const struct pod_life *p = pod_of(k, key);
    if (k->listener && (!p || p->devices)) /* most pods of a cluster have none, and run here */
        k->listener(k->listener_arg, event, object);
}

static void on_node(void *arg, enum kube_event event, struct bytes object)
{
    struct kubelets *k = arg;
    struct json *parsed = json_parse(k->arena, object, NULL, NULL);
    const struct json *metadata = json_get(parsed, "metadata");
    const char *name = json_get_text(metadata, "name", "");
    if (event == KUBE_DELETED) {
        struct node *node = map_find_text(k->nodes, name);
        if (node)
            node->ours = false;
        node_forget(k, name);
        heartbeat_ends(k->heartbeat, name);
        sim_nodes_gone(k->gpus, name);
    } else if (*name) {
        struct node *node = map_put(k->nodes, bytes_of(name), NULL);
        node->ours = text_equal(json_get_text(json_get(metadata, "labels"), "capstan.dev/simulated", ""), "true");
        if (node->ours)
            heartbeat_lives(k->heartbeat, name);
        else
            heartbeat_ends(k->heartbeat, name);
        if (node->real)
            real_agent_seen(node->real, parsed);
        else if (node->ours)
            sim_nodes_seen(k->gpus, parsed);
    }
    arena_reset(k->arena);
}

/* Pods are watched when the nodes are known, so that none is taken for a stranger's. */
static void on_nodes_synced(void *arg)
{
    struct kubelets *k = arg;
    if (k->pods_watch)
        return;
    k->pods_watch = kube_watch_new(
        k->client, &(struct kube_watch_config){
                       .path = "/api/v1/pods", .field_selector = "spec.nodeName!=", .on_event = on_pod, .arg = k});
}

/* ---- for evictions ---- */

const struct pod_life *kubelets_pod(const struct kubelets *k, const char *ns, const char *name)
{
    _cleanup_buf_ struct buf key = {0};
    buf_printf(&key, "%s/%s", ns, name);
    struct pod_life **slot = map_find(k->pods, buf_view(&key));
    return slot ? *slot : NULL;
}

static const char *uid_of_pod(void *arg, const char *ns, const char *name)
{
    const struct pod_life *p = kubelets_pod(arg, ns, name);
    return p && p->step != POD_DONE ? p->uid : NULL;
}

/* ---- life ---- */

struct kubelets *kubelets_new(struct kube_client *c, const struct kubelets_config *config)
{
    struct kubelets *k = mem_zero(1, sizeof *k);
    k->client = c;
    k->loop = kube_client_loop(c);
    k->config = *config;
    k->arena = arena_new();
    k->pods = map_new(sizeof(struct pod_life *));
    k->nodes = map_new(sizeof(struct node));
    heap_init(&k->due, offsetof(struct pod_life, heap_at), pod_before);
    k->timer = loop_timer_new(k->loop, on_timer, k);
    k->events = kube_recorder_new(c, "kubelet");
    k->gpus = sim_nodes_new(c, k->events,
                            &(struct sim_nodes_config){.changed = on_gpus_changed,
                                                       .mig_evicts = config->mig_evicts,
                                                       .pod_uid = uid_of_pod,
                                                       .arg = k});
    k->heartbeat = config->heartbeat ? heartbeat_new(c) : NULL;
    k->nodes_watch =
        kube_watch_new(c, &(struct kube_watch_config){
                              .path = "/api/v1/nodes", .on_event = on_node, .on_synced = on_nodes_synced, .arg = k});
    return k;
}

void kubelets_on_pod(struct kubelets *k, void (*fn)(void *arg, enum kube_event event, struct bytes object), void *arg)
{
    k->listener = fn;
    k->listener_arg = arg;
}

void kubelets_free(struct kubelets *k)
{
    if (!k)
        return;
    kube_watch_free(k->pods_watch);
    kube_watch_free(k->nodes_watch);
    loop_forget(k->loop, look_at_devices, k);
    sim_nodes_free(k->gpus);
    kube_recorder_free(k->events);
    loop_timer_free(k->timer);
    heartbeat_free(k->heartbeat);
    heap_fini(&k->due); /* first: it writes to the pods */
    size_t at = 0;
    struct bytes key;
    for (struct pod_life **p; (p = map_next(k->pods, &at, &key));)
        pod_life_free(*p);
    map_free(k->pods);
    map_free(k->nodes);
    object_meta_free(&k->meta);
    buf_free(&k->key);
    arena_free(k->arena);
    free(k);
}

void kubelets_set_real(struct kubelets *k, struct real_agent *r)
{
    struct node *node = map_put(k->nodes, bytes_of(real_agent_node(r)), NULL);
    node->real = r;
}

void kubelets_gpus_changed(struct kubelets *k, const char *node)
{
    on_gpus_changed(k, node);
}

struct sim_node *kubelets_sim_node(struct kubelets *k, const char *node, bool *ret_wait)
{
    const struct node *known = map_find_text(k->nodes, node);
    *ret_wait = false;
    return known && !known->real ? sim_nodes_get(k->gpus, node, ret_wait) : NULL;
}

bool kubelets_synced(const struct kubelets *k)
{
    return k->pods_watch && kube_watch_synced(k->pods_watch);
}

/* ---- for who asks of pods ---- */

const struct pod_life *kubelets_next_pod(const struct kubelets *k, size_t *at)
{
    struct bytes key;
    struct pod_life **slot = map_next(k->pods, at, &key);
    return slot ? *slot : NULL;
}

uint32_t kubelets_node_pods_n(const struct kubelets *k, const char *name, bool *ret_ours)
{
    const struct node *node = map_find_text(k->nodes, name);
    *ret_ours = node && node->ours;
    return node ? node->pods_n : 0;
}

void kubelets_log(const struct kubelets *k, const struct pod_life *p, const char *container, struct buf *out)
{
    pod_life_log(p, container, loop_wall_ms(k->loop), k->config.speed, out);
}

/* ---- silence ---- */

void kubelets_silence(struct kubelets *k, const char *name, bool silent)
{
    struct node *node = map_put(k->nodes, bytes_of(name), NULL);
    size_t at = 0;
    struct bytes key;
    node->silent = silent;
    node_forget(k, name);
    for (struct pod_life **slot; !silent && (slot = map_next(k->pods, &at, &key));) {
        struct pod_life *p = *slot;
        if (!text_equal(p->node, name))
            continue;
        if (p->is_due) /* what was due meanwhile is done at once, in the order of its times */
            heap_add(&k->due, p);
        p->is_due = false;
        if (p->unsent)
            act_status(k, p);
    }
    timer_rearm(k);
    arena_reset(k->arena);
}
