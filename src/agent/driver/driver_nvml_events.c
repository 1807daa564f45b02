/* driver_nvml_events.c - waits for events of the library and tells them
 *
 * A job like others (agent/driver/nvml_worker.h) that is posted again and again; it waits in slices, so that it can be ended.
 */
#include "agent/driver/driver_nvml_part.h"

enum {
    WAIT_MS = 10 * 1000,
    WAIT_SLICE_MS = 250,
    WAIT_GRACE_MS = 30 * 1000,
    WAIT_AGAIN_MS = 1000,
    WAIT_EVENTS_MAX = 32
};

struct nvml_wait {
    struct worker_job job;
    struct nvml_driver *d;
    struct nvml *n;
    atomic_bool stop;
    struct nvml_event_data list[WAIT_EVENTS_MAX];
    uint32_t list_n;
    int code; /* of the last call, when it is neither an event nor TIMEOUT */
};

/* Until something comes: then everything that is there already. */
static void wait_work(struct worker_job *job)
{
    struct nvml_wait *w = (struct nvml_wait *)job;
    for (int waited_ms = 0; waited_ms < WAIT_MS && w->list_n < WAIT_EVENTS_MAX; waited_ms += WAIT_SLICE_MS) {
        if (atomic_load(&w->stop) || atomic_load(w->job.stopping))
            return;
        int code = w->n->event_wait(w->n->events, &w->list[w->list_n], w->list_n > 0 ? 0 : WAIT_SLICE_MS);
        if (code == NVML_OK) {
            w->list_n++;
        } else if (code != NVML_TIMEOUT) {
            w->code = code;
            return;
        } else if (w->list_n > 0) {
            return;
        }
    }
}

/* An event of the library as one of ours. False: nothing that anybody asked for. */
static bool event_translate(const struct nvml_driver *d, const struct nvml_event_data *from, struct driver_event *to)
{
    static const struct {
        uint64_t type;
        int kind;
    } kinds[] = {{NVML_EVENT_XID, DRIVER_EVENT_XID},
                 {NVML_EVENT_ECC_SINGLE, DRIVER_EVENT_ECC_SINGLE},
                 {NVML_EVENT_ECC_DOUBLE, DRIVER_EVENT_ECC_DOUBLE},
                 {NVML_EVENT_MIG_CONFIG, DRIVER_EVENT_MIG_CHANGED}};
    *to = (struct driver_event){.gi = from->gpu_instance, .ci = from->compute_instance, .data = from->data};
    for (uint32_t i = 0; from->device && i < d->slots_n; i++)
        if (d->slots[i]->device == from->device)
            memcpy(to->uuid, d->slots[i]->facts.gpu.uuid, sizeof to->uuid);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (from->type == kinds[i].type) {
            to->kind = kinds[i].kind;
            return true;
        }
    return false;
}

static void wait_done(struct worker_job *job, int code)
{
    struct nvml_wait *w = (struct nvml_wait *)job;
    struct nvml_driver *d = w->d;
    d->wait = NULL;
    if (code < 0) { /* hangs: tried again when it returns, by the reading then */
        return;
    }
    bool look = w->code == NVML_GPU_IS_LOST; /* the library does not say which */
    for (uint32_t i = 0; i < w->list_n; i++) {
        struct driver_event event;
        bool known = event_translate(d, &w->list[i], &event);
        look = look || w->list[i].type == NVML_EVENT_GPU_UNAVAILABLE;
        if (known && d->event_fn)
            UNLESS_FREED(d, d->event_fn(d->event_arg, &event));
    }
    if (look && !d->reset)
        d->look(d);
    if (w->code != NVML_OK)
        loop_timer_start(d->wait_timer, WAIT_AGAIN_MS, 0);
    else
        nvml_listen_on(d);
}

static void wait_release(struct worker_job *job)
{
    struct nvml_wait *w = (struct nvml_wait *)job;
    nvml_unref(w->n);
    free(w);
}

void nvml_listen_on(struct nvml_driver *d)
{
    if (d->wait || d->reset || !d->event_fn || !d->nvml || !d->nvml->events || worker_hung(d->pool, LANE_EVENTS))
        return;
    struct nvml_wait *w = mem_zero(1, sizeof *w);
    w->job = (struct worker_job){.work = wait_work, .done = wait_done, .release = wait_release};
    w->d = d;
    w->n = nvml_ref(d->nvml);
    d->wait = w;
    loop_timer_stop(d->wait_timer);
    worker_post(d->pool, LANE_EVENTS, &w->job, WAIT_MS + WAIT_GRACE_MS);
}

void nvml_wait_stop(struct nvml_driver *d)
{
    loop_timer_stop(d->wait_timer);
    if (d->wait)
        atomic_store(&d->wait->stop, true);
}
