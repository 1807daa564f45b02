/* event.c - event sets: what happened on GPUs since they were registered, by whichever process it was caused
 *
 * SHAPE  a set remembers the place in the node's ring from which each (GPU, event bit) counts; nothing from before registration is told.
 * RACE   one set may be waited for on one thread and registered with on another; freeing it while it is waited for is the caller's fault.
 */
#include <pthread.h>
#include <stdlib.h>
#include "libnvsim.h"

#define SET_MARK 0x6e76736576656e74u
#define SLEEP_MS 500 /* a waiter looks again this often: the driver may be gone */
#define EVENT_BITS 16
#define EVENTS_OF_NODE (NVML_SYSTEM_EVENT_UNBIND | NVML_SYSTEM_EVENT_BIND)

struct event_source {
    uint64_t types;            /* bits that are listened to */
    uint32_t from[EVENT_BITS]; /* by bit: place in the ring */
};
struct event_queue {
    uint64_t mark;
    pthread_mutex_t lock;
    struct nvsim *node;
    uint32_t next;             /* place in the ring of the event that is looked at next */
};
struct nvml_event_set {
    struct event_queue queue;
    struct event_source gpus[NVSIM_GPUS_MAX];
};
struct nvml_system_event_set {
    struct event_queue queue;
    struct event_source node;
};

static void queue_init(struct event_queue *q, struct nvsim *n)
{
    q->mark = SET_MARK;
    q->node = n;
    q->next = nvsim_event_count(n);
    (void)pthread_mutex_init(&q->lock, NULL); /* a default mutex needs nothing that could be short */
}

static void queue_free(struct event_queue *q)
{
    q->mark = 0;
    (void)pthread_mutex_destroy(&q->lock);
    free(q);
}

static bool is_after(uint32_t place, uint32_t from) /* the ring's count may wrap */
{
    return (int32_t)(place - from) >= 0;
}

static void source_listen(struct event_source *s, uint64_t types, uint32_t from)
{
    for (int bit = 0; bit < EVENT_BITS; bit++)
        if ((types & ~s->types) >> bit & 1)
            s->from[bit] = from;
    s->types |= types;
}

static bool source_wants(const struct event_source *s, uint64_t type, uint32_t place)
{
    return type && (s->types & type) && type < 1u << EVENT_BITS && is_after(place, s->from[__builtin_ctzll(type)]);
}

/* The next event that one of the sources wants. sources: by GPU, or one for the node. */
static bool queue_take(struct event_queue *q, const struct event_source *sources, bool of_node, struct nvsim_event *ret_event)
{
    bool found = false;
    (void)pthread_mutex_lock(&q->lock);
    if (nvsim_lock(q->node, NULL) == 0) {
        const struct nvsim_state *s = q->node->state;
        uint32_t end = nvsim_event_count(q->node);
        if (end - q->next > NVSIM_EVENTS_MAX)
            q->next = end - NVSIM_EVENTS_MAX; /* too slow: the oldest are lost */
        for (; q->next != end && !found; q->next++) {
            struct nvsim_event ev = s->events[q->next % NVSIM_EVENTS_MAX];
            bool is_node = ev.gpu == NVSIM_EVENT_SYSTEM;
            if (is_node != of_node || (!is_node && ev.gpu >= q->node->gpus_n))
                continue;
            found = source_wants(&sources[is_node ? 0 : ev.gpu], ev.type, q->next);
            *ret_event = ev;
        }
        nvsim_unlock(q->node);
    }
    (void)pthread_mutex_unlock(&q->lock);
    return found;
}

static int queue_wait(struct event_queue *q, const struct event_source *sources, bool of_node, uint32_t timeout_ms,
                      struct nvsim_event *ret_event)
{
    int64_t end_us = nvsim_now_us() + (int64_t)timeout_ms * 1000;
    for (;;) {
        uint32_t seen = nvsim_event_count(q->node);
        if (queue_take(q, sources, of_node, ret_event))
            return NVML_OK;
        int code = NVML_OK;
        int64_t left_us = end_us - nvsim_now_us();
        if (!of_node && !node_get(&code))
            return code;
        if (left_us <= 0)
            return NVML_TIMEOUT;
        nvsim_event_sleep(q->node, seen, left_us > SLEEP_MS * 1000 ? SLEEP_MS : (uint32_t)((left_us + 999) / 1000));
    }
}

/* ---- events of GPUs ---- */

/* The driver may be gone since: what was opened can be closed, and events of the node tell of that very thing. */
static bool is_started(void)
{
    int code;
    return node_get(&code) || code != NVML_UNINITIALIZED;
}

static bool set_ok(const struct event_queue *q)
{
    return q && q->mark == SET_MARK;
}

int nvmlEventSetCreate(struct nvml_event_set **set)
{
    int code;
    struct nvsim *n = node_get(&code);
    if (!n)
        return code;
    if (!set)
        return NVML_INVALID_ARGUMENT;
    struct nvml_event_set *s = calloc(1, sizeof *s);
    if (!s)
        return NVML_MEMORY;
    queue_init(&s->queue, n);
    *set = s;
    return NVML_OK;
}

int nvmlEventSetFree(struct nvml_event_set *set)
{
    if (!is_started())
        return NVML_UNINITIALIZED;
    if (!set || !set_ok(&set->queue))
        return NVML_INVALID_ARGUMENT;
    queue_free(&set->queue);
    return NVML_OK;
}

static uint64_t types_of(const struct view *v)
{
    uint64_t types = NVML_EVENT_XID | NVML_EVENT_PSTATE | NVML_EVENT_CLOCK;
    if (v->g.ecc_mode)
        types |= NVML_EVENT_ECC_SINGLE | NVML_EVENT_ECC_DOUBLE;
    if (v->model->mig_slices)
        types |= NVML_EVENT_MIG_CONFIG;
    return types;
}

int nvmlDeviceGetSupportedEventTypes(struct nvml_device *d, unsigned long long *types)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!types)
        return NVML_INVALID_ARGUMENT;
    *types = types_of(&v);
    return NVML_OK;
}

int nvmlDeviceRegisterEvents(struct nvml_device *d, unsigned long long types, struct nvml_event_set *set)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!set || !set_ok(&set->queue))
        return NVML_INVALID_ARGUMENT;
    if (types & ~types_of(&v))
        return NVML_NOT_SUPPORTED;
    (void)pthread_mutex_lock(&set->queue.lock);
    source_listen(&set->gpus[v.gpu], types, nvsim_event_count(set->queue.node));
    (void)pthread_mutex_unlock(&set->queue.lock);
    return NVML_OK;
}

int nvmlEventSetWait_v2(struct nvml_event_set *set, struct nvml_event_data *data, uint32_t timeout_ms)
{
    int code;
    if (!node_get(&code))
        return code;
    if (!data || !set || !set_ok(&set->queue))
        return NVML_INVALID_ARGUMENT;
    struct nvsim_event ev = {0};
    code = queue_wait(&set->queue, set->gpus, false, timeout_ms, &ev);
    if (code == NVML_OK)
        *data = (struct nvml_event_data){.device = device_of_gpu(ev.gpu),
                                         .type = ev.type,
                                         .data = ev.data,
                                         .gpu_instance = ev.gi,
                                         .compute_instance = ev.ci};
    return code;
}

int nvmlEventSetWait(struct nvml_event_set *set, struct nvml_event_data *data, uint32_t timeout_ms)
{
    struct nvml_event_data whole;
    int code = nvmlEventSetWait_v2(set, data ? &whole : NULL, timeout_ms);
    if (code == NVML_OK)
        memcpy(data, &whole, offsetof(struct nvml_event_data, gpu_instance)); /* callers of the older name have no more room */
    return code;
}

/* ---- events of the node: its driver comes and goes ---- */

int nvmlSystemEventSetCreate(struct nvml_system_event_create *request)
{
    int code;
    struct nvsim *n = node_get(&code);
    if (!n)
        return code;
    if (!request)
        return NVML_INVALID_ARGUMENT;
    if (request->version != NVML_SYSTEM_EVENT_CREATE_V1)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    struct nvml_system_event_set *s = calloc(1, sizeof *s);
    if (!s)
        return NVML_MEMORY;
    queue_init(&s->queue, n);
    request->set = s;
    return NVML_OK;
}

int nvmlSystemEventSetFree(struct nvml_system_event_create *request)
{
    if (!is_started())
        return NVML_UNINITIALIZED;
    if (!request)
        return NVML_INVALID_ARGUMENT;
    if (request->version != NVML_SYSTEM_EVENT_CREATE_V1)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    if (!request->set || !set_ok(&request->set->queue))
        return NVML_INVALID_ARGUMENT;
    queue_free(&request->set->queue);
    request->set = NULL;
    return NVML_OK;
}

int nvmlSystemRegisterEvents(struct nvml_system_event_register *request)
{
    if (!is_started())
        return NVML_UNINITIALIZED;
    if (!request)
        return NVML_INVALID_ARGUMENT;
    if (request->version != NVML_SYSTEM_EVENT_REGISTER_V1)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    struct nvml_system_event_set *set = request->set;
    if (!set || !set_ok(&set->queue) || (request->types & ~(uint64_t)EVENTS_OF_NODE))
        return NVML_INVALID_ARGUMENT;
    (void)pthread_mutex_lock(&set->queue.lock);
    source_listen(&set->node, request->types, nvsim_event_count(set->queue.node));
    (void)pthread_mutex_unlock(&set->queue.lock);
    return NVML_OK;
}

int nvmlSystemEventSetWait(struct nvml_system_event_wait *request)
{
    if (!is_started())
        return NVML_UNINITIALIZED;
    if (!request)
        return NVML_INVALID_ARGUMENT;
    if (request->version != NVML_SYSTEM_EVENT_WAIT_V1)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    struct nvml_system_event_set *set = request->set;
    if (!set || !set_ok(&set->queue) || !request->data || request->data_size == 0)
        return NVML_INVALID_ARGUMENT;
    struct nvsim_event ev = {0};
    request->events_n = 0;
    int code = queue_wait(&set->queue, &set->node, true, request->timeout_ms, &ev);
    if (code != NVML_OK)
        return code;
    request->data[0] = (struct nvml_system_event_data){.type = ev.type};
    request->events_n = 1;
    return NVML_OK;
}
