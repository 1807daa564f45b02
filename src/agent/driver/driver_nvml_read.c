/* driver_nvml_read.c - one reading of the node
 *
 *     system lane: open the library if need be, count ─▶ every GPU in its lane ─▶ system lane: ancestors not yet known ─▶ answers
 *
 * A GPU that does not answer in time, or answers that it is lost, is in the reading with what was known of it, marked lost; the others
 * are as they are. Whoever asks while a reading is under way is answered by the next: it must see what was changed before it asked.
 */
#include <stdio.h>
#include "agent/driver/driver_nvml_part.h"

enum { ANCESTOR_UNKNOWN = 255 };

struct open_job {
    struct worker_job job;
    struct nvml_driver *d;       /* the loop's */
    struct nvml *n;              /* a reference; NULL: open it */
    struct nvml *failed;         /* what an earlier attempt left */
    char *nvml_path;    /* NULL as in the options */
    struct roots roots; /* where the driver is just now */
    char driver_version[NVML_DRIVER_VERSION_LENGTH];
    int cuda_version;
    uint32_t gpus_n;
    int code;
    struct err error;
};
struct gpu_job {
    struct worker_job job;
    struct nvml_driver *d;
    struct nvml *n;
    struct nvml_device *device; /* NULL: look it up */
    uint32_t index;
    char sys_root[256];
    struct gpu_facts facts;
};
struct links_job {
    struct worker_job job;
    struct nvml_driver *d;
    struct nvml *n;
    uint32_t n_gpus;
    struct nvml_device *devices[LIMIT_NODE_GPUS]; /* NULL: leave out */
    uint8_t ancestors[];                          /* n_gpus * n_gpus */
};

/* ---- the end of a reading ---- */

/* ORDER  The reading ends when all have their answer: who asks again out of an answer asks for the next one, not for this. */
static void answer_all(struct nvml_driver *d, int code, const struct err *e, const struct driver_reading *r)
{
    while (d->now) {
        struct nvml_call *c = d->now;
        d->now = c->next;
        if (e)
            c->error = *e;
        UNLESS_FREED(d, nvml_call_answer(c, code, r));
    }
    d->reading = false;
    if (d->later || d->again) {
        d->again = false;
        nvml_read_start(d);
    }
}

static void read_fails(struct nvml_driver *d, int code, const struct err *e)
{
    answer_all(d, code, e, NULL);
}

/* Lost GPUs whose place another took after the library was opened again are not told twice. */
static bool is_double(const struct nvml_driver *d, uint32_t at)
{
    for (uint32_t i = 0; i < d->slots_n; i++)
        if (i != at && text_equal(d->slots[i]->facts.gpu.uuid, d->slots[at]->facts.gpu.uuid) &&
            (!d->slots[i]->facts.lost || i < at))
            return d->slots[at]->facts.lost;
    return false;
}

static void tell_changes(struct nvml_driver *d)
{
    for (uint32_t i = 0; i < d->slots_n; i++) {
        struct nvml_slot *s = d->slots[i];
        if (!s->facts.known || s->told_lost == s->facts.lost)
            continue;
        s->told_lost = s->facts.lost;
        UNLESS_FREED(d, nvml_tell(d, s->facts.gpu.uuid, s->facts.lost ? DRIVER_EVENT_LOST : DRIVER_EVENT_BACK, 0));
    }
}

struct driver_reading *nvml_reading_now(struct nvml_driver *d, uint64_t number)
{
    const struct gpu_facts *list[LIMIT_NODE_GPUS];
    uint32_t index[LIMIT_NODE_GPUS], n = 0;
    uint64_t silent = 0;
    for (uint32_t i = 0; i < d->slots_n; i++)
        if (!d->slots[i]->facts.known) {
            silent |= i < d->counted_n ? 1ull << i : 0;
        } else if (!is_double(d, i)) {
            index[n] = i;
            list[n++] = &d->slots[i]->facts;
        }
    uint8_t *ancestors = mem_zero((size_t)n * n + 1, 1);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            ancestors[(size_t)i * n + k] = d->ancestors[index[i] * LIMIT_NODE_GPUS + index[k]];
    struct driver_reading *r =
        gpu_reading_make(list, ancestors, n, number, d->driver_version, d->cuda_version);
    r->silent = silent;
    r->resets_linked = d->resets_linked;
    free(ancestors);
    return r;
}

static void read_ends(struct nvml_driver *d)
{
    struct driver_reading *r = nvml_reading_now(d, ++d->readings_n);
    bool dead = false, *outer = d->dead;
    d->dead = &dead;
    nvml_listen_on(d);
    tell_changes(d);
    if (!dead)
        answer_all(d, 0, NULL, r);
    driver_reading_unref(r);
    if (!dead)
        d->dead = outer;
    else if (outer)
        *outer = true;
}

/* ---- how near the GPUs are ---- */

static void links_work(struct worker_job *job)
{
    struct links_job *j = (struct links_job *)job;
    for (uint32_t i = 0; i < j->n_gpus; i++)
        for (uint32_t k = i + 1; k < j->n_gpus; k++) {
            uint8_t *one = &j->ancestors[i * j->n_gpus + k], *other = &j->ancestors[k * j->n_gpus + i];
            int level = 0;
            if (*one != ANCESTOR_UNKNOWN || !j->devices[i] || !j->devices[k])
                continue;
            if (j->n->common_ancestor(j->devices[i], j->devices[k], &level) == NVML_OK)
                *one = *other = (uint8_t)level;
        }
}

static void links_done(struct worker_job *job, int code)
{
    struct links_job *j = (struct links_job *)job;
    struct nvml_driver *d = j->d;
    for (uint32_t i = 0; code == 0 && i < j->n_gpus; i++)
        for (uint32_t k = 0; k < j->n_gpus; k++)
            d->ancestors[i * LIMIT_NODE_GPUS + k] = j->ancestors[i * j->n_gpus + k];
    read_ends(d);
}

static void links_release(struct worker_job *job)
{
    nvml_unref(((struct links_job *)job)->n);
    free(job);
}

/* True when a pair of living GPUs has no level yet. */
static bool links_wanted(const struct nvml_driver *d)
{
    for (uint32_t i = 0; d->nvml && d->nvml->common_ancestor && i < d->slots_n; i++)
        for (uint32_t k = i + 1; k < d->slots_n; k++)
            if (!d->slots[i]->facts.lost && !d->slots[k]->facts.lost && d->slots[i]->device && d->slots[k]->device &&
                d->ancestors[i * LIMIT_NODE_GPUS + k] == ANCESTOR_UNKNOWN)
                return true;
    return false;
}

static void links_start(struct nvml_driver *d)
{
    uint32_t n = d->slots_n;
    struct links_job *j = mem_zero(1, sizeof *j + (size_t)n * n);
    j->job = (struct worker_job){.work = links_work, .done = links_done, .release = links_release};
    j->d = d;
    j->n = nvml_ref(d->nvml);
    j->n_gpus = n;
    for (uint32_t i = 0; i < n; i++) {
        j->devices[i] = d->slots[i]->facts.lost ? NULL : d->slots[i]->device;
        for (uint32_t k = 0; k < n; k++)
            j->ancestors[i * n + k] = d->ancestors[i * LIMIT_NODE_GPUS + k];
    }
    worker_post(d->pool, LANE_SYSTEM, &j->job, d->call_ms);
}

/* ---- every GPU ---- */

static void gpu_work(struct worker_job *job)
{
    struct gpu_job *j = (struct gpu_job *)job;
    if (!j->device && j->n->by_index(j->index, &j->device) != NVML_OK) {
        j->device = NULL;
        j->facts.lost = true;
        return;
    }
    gpu_facts_read(j->n, j->device, j->index, j->sys_root, &j->facts);
}

static void gpu_done(struct worker_job *job, int code)
{
    struct gpu_job *j = (struct gpu_job *)job;
    struct nvml_driver *d = j->d;
    struct nvml_slot *s = d->slots[j->index];
    if (code == 0) {
        gpu_facts_free(&s->facts);
        s->facts = j->facts;
        j->facts.geometry = NULL; /* handed over */
        s->device = j->device;
    } else {
        s->facts.lost = true;
    }
    if (--d->pending_n > 0)
        return;
    if (links_wanted(d))
        links_start(d);
    else
        read_ends(d);
}

static void gpu_release(struct worker_job *job)
{
    struct gpu_job *j = (struct gpu_job *)job;
    gpu_facts_free(&j->facts);
    nvml_unref(j->n);
    free(j);
}

static void gpu_start(struct nvml_driver *d, uint32_t index)
{
    struct gpu_job *j = mem_zero(1, sizeof *j);
    j->job = (struct worker_job){.work = gpu_work, .done = gpu_done, .release = gpu_release};
    j->d = d;
    j->n = nvml_ref(d->nvml);
    j->index = index;
    j->device = d->slots[index]->device;
    memcpy(j->sys_root, d->sys_root, sizeof j->sys_root);
    gpu_facts_copy(&j->facts, &d->slots[index]->facts);
    worker_post(d->pool, LANE_GPU + index, &j->job, d->call_ms);
}

/* ---- the library ---- */

static void open_work(struct worker_job *job)
{
    struct open_job *j = (struct open_job *)job;
    if (!j->n) {
        j->code = nvml_open(j->nvml_path, j->roots.driver.here, &j->failed, &j->error);
        if (j->code < 0)
            return;
        j->n = j->failed;
        j->failed = NULL;
    }
    if (!j->n->driver_version || j->n->driver_version(j->driver_version, sizeof j->driver_version) != NVML_OK)
        (void)snprintf(j->driver_version, sizeof j->driver_version, "unknown");
    if (j->n->cuda_version)
        (void)j->n->cuda_version(&j->cuda_version); /* stays 0 */
    j->code = nvml_error(j->n->count(&j->gpus_n), &j->error, "count the GPUs");
}

static void adopt(struct nvml_driver *d, struct open_job *j)
{
    if (!d->nvml)
        d->nvml = nvml_ref(j->n);
    memcpy(d->driver_version, j->driver_version, sizeof d->driver_version);
    d->cuda_version = (uint32_t)j->cuda_version;
    d->counted_n = j->gpus_n;
    while (d->slots_n < j->gpus_n && d->slots_n < LIMIT_NODE_GPUS) {
        struct nvml_slot *s = mem_zero(1, sizeof *s);
        s->last_gi = 0xff;
        s->facts.lost = true;
        d->slots[d->slots_n++] = s;
    }
}

static void open_done(struct worker_job *job, int code)
{
    struct open_job *j = (struct open_job *)job;
    struct nvml_driver *d = j->d;
    struct err e = {0};
    if (code < 0) { /* the thread still has the job */
        code = err_set(&e, E_AGAIN, "the GPU driver does not answer");
        read_fails(d, code, &e);
        return;
    }
    d->failed = j->failed;
    j->failed = NULL;
    if (j->code < 0) { /* opened again by the next reading */
        nvml_wait_stop(d); /* it holds the library too */
        nvml_unref(d->nvml);
        d->nvml = NULL;
        nvml_forget_handles(d);
        read_fails(d, j->code, &j->error);
        return;
    }
    adopt(d, j);
    d->pending_n = d->slots_n;
    if (d->pending_n == 0) {
        read_ends(d);
        return;
    }
    for (uint32_t i = 0; i < d->slots_n; i++)
        gpu_start(d, i);
}

static void open_release(struct worker_job *job)
{
    struct open_job *j = (struct open_job *)job;
    nvml_unref(j->n);
    nvml_unref(j->failed);
    free(j->nvml_path);
    free(j);
}

void nvml_forget_handles(struct nvml_driver *d)
{
    for (uint32_t i = 0; i < d->slots_n; i++) {
        d->slots[i]->device = NULL;
        gpu_meter_unref(d->slots[i]->meter);
        d->slots[i]->meter = NULL;
        d->slots[i]->facts.stale = true;
        d->slots[i]->facts.registered = false;
    }
    memset(d->ancestors, ANCESTOR_UNKNOWN, LIMIT_NODE_GPUS * LIMIT_NODE_GPUS);
}

void nvml_read_start(struct nvml_driver *d)
{
    if (d->reading) {
        d->again = true;
        return;
    }
    d->reading = true;
    d->now = d->later;
    d->later = NULL;
    struct open_job *j = mem_zero(1, sizeof *j);
    j->job = (struct worker_job){.work = open_work, .done = open_done, .release = open_release};
    j->d = d;
    j->n = d->nvml ? nvml_ref(d->nvml) : NULL;
    j->failed = d->failed;
    d->failed = NULL;
    j->nvml_path = d->nvml_path ? mem_text(d->nvml_path) : NULL;
    if (!j->n)
        nvml_roots(d, &j->roots);
    worker_post(d->pool, LANE_SYSTEM, &j->job, d->nvml ? d->call_ms : d->step_ms);
}
