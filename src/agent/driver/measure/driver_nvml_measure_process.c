/* driver_nvml_measure_process.c - the processes of a GPU or of each of its MIG devices, and what each one ran since the reading before
 *
 * SOURCE NVML, process lists (three of them, traps of their entries) and process utilization (samples: stale ones, values above 100, none
 *        on MIG).
 */
#include "agent/driver/measure/driver_nvml_measure.h"

enum { UTILIZATION_SPARE = 32, UTILIZATION_TRIES = 3 };
#define LIMIT_GPU_SAMPLES 65536 /* the driver keeps some seconds of them for each process */
#define MEMORY_MOST                                                                                                    \
    (1ull << 50) /* more than any GPU has: a value like "not available" of a driver that writes it otherwise */
#define SILENCE_US 2000000 /* samples come more often: without one so long before a reading, nobody ran until then */
#define FUTURE_US 5000000  /* a sample from later than that is of a clock that was set back */

static void list_add(struct meter *m, enum nvml_process_mode mode, const struct driver_mig *mig,
                     struct nvml_device *device)
{
    struct nvml_process *list = NULL;
    uint32_t n = 0;
    static const char *const calls[] = {"nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses",
                                        "nvmlDeviceGetMPSComputeRunningProcesses"};
    int code = gpu_process_list_read(m->n, device, mode, &list, &n);
    if (code != NVML_NOT_SUPPORTED && code != NVML_FUNCTION_NOT_FOUND)
        (void)meter_ok(m, calls[mode], code, NULL);
    struct meter_result *r = m->out;
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].pid == 0)
            continue;
        MEM_RESERVE(r->processes, r->processes_cap, r->processes_n + 1);
        r->processes[r->processes_n++] = (struct measure_process){
            .pid = list[i].pid,
            .gpu = m->in->gpu,
            .gi = mig ? mig->gi : NVML_NONE_U32,
            .ci = mig ? mig->ci : NVML_NONE_U32,
            .graphics = mode == NVML_PROCESS_GRAPHICS,
            .mps = mode == NVML_PROCESS_MPS,
            .memory_bytes = list[i].used_bytes < MEMORY_MOST ? list[i].used_bytes : UINT64_MAX};
    }
    free(list);
}

static void unit_add(struct meter *m, const struct driver_mig *mig, struct nvml_device *device)
{
    list_add(m, NVML_PROCESS_COMPUTE, mig, device);
    list_add(m, NVML_PROCESS_GRAPHICS, mig, device);
    list_add(m, NVML_PROCESS_MPS, mig, device);
}

/* A process that is in several lists: once, with the larger memory that is known; graphics only when it does nothing else. */
static void list_sort(struct meter_result *r)
{
    if (r->processes_n == 0)
        return;
    qsort(r->processes, r->processes_n, sizeof *r->processes, measure_process_order);
    uint32_t n = 1;
    for (uint32_t i = 1; i < r->processes_n; i++) {
        struct measure_process *last = &r->processes[n - 1], *p = &r->processes[i];
        if (measure_process_order(last, p) != 0) {
            r->processes[n++] = *p;
            continue;
        }
        if (last->memory_bytes == UINT64_MAX || (p->memory_bytes != UINT64_MAX && p->memory_bytes > last->memory_bytes))
            last->memory_bytes = p->memory_bytes;
        last->graphics = last->graphics && p->graphics;
        last->mps = last->mps || p->mps;
    }
    r->processes_n = n;
}

/* ---- what they ran ---- */

static int sample_order(const void *a, const void *b)
{
    const struct nvml_process_utilization_sample *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->timestamp_us < y->timestamp_us ? -1 : x->timestamp_us > y->timestamp_us;
}

static struct measure_process *find_process(struct meter_result *r, uint16_t gpu, uint32_t pid)
{
    struct measure_process key = {.pid = pid, .gpu = gpu, .gi = NVML_NONE_U32, .ci = NVML_NONE_U32};
    return r->processes_n == 0 ? NULL : bsearch(&key, r->processes, r->processes_n, sizeof key, measure_process_order);
}

static void process_ran(struct measure_process *p, const struct nvml_process_utilization_sample *s, uint64_t from_us)
{
    uint64_t before_us = p->samples_n > 0 ? p->last_sample_us : from_us;
    if (before_us > 0 && s->timestamp_us > before_us)
        p->sm_seconds += s->sm_percent / 100.0 * (double)(s->timestamp_us - before_us) / 1e6;
    p->sm_percent = s->sm_percent;
    p->memory_percent = s->memory_percent <= 100 ? s->memory_percent : 0;
    p->encoder_percent = s->encoder_percent <= 100 ? s->encoder_percent : 0;
    p->decoder_percent = s->decoder_percent <= 100 ? s->decoder_percent : 0;
    p->last_sample_us = s->timestamp_us;
    p->samples_n++;
}

/* Samples of before the last reading, of the future, above 100 %, or of processes that are gone, are none. */
static void samples_use(struct meter *m, struct nvml_process_utilization_sample *list, uint32_t n)
{
    struct gpu_meter *k = m->kept;
    uint64_t newest_us = k->last_seen_us, most_us = (uint64_t)m->in->now_us + FUTURE_US, from_us = k->last_seen_us;
    if (k->before_us > 0 && (uint64_t)k->before_us > from_us + SILENCE_US)
        from_us = (uint64_t)k->before_us;
    if (n > 0)
        qsort(list, n, sizeof *list, sample_order);
    for (uint32_t i = 0; i < n; i++) {
        const struct nvml_process_utilization_sample *s = &list[i];
        if (s->timestamp_us <= k->last_seen_us || s->timestamp_us > most_us || s->sm_percent > 100)
            continue;
        if (s->timestamp_us > newest_us)
            newest_us = s->timestamp_us;
        struct measure_process *p = find_process(m->out, m->in->gpu, s->pid);
        if (p)
            process_ran(p, s, from_us);
    }
    k->last_seen_us = newest_us;
}

static void utilization_add(struct meter *m)
{
    struct gpu_meter *k = m->kept;
    uint32_t n = 0;
    if (!m->n->process_utilization || k->no_utilization)
        return;
    if (k->last_seen_us > (uint64_t)m->in->now_us + FUTURE_US) /* the clock was set back */
        k->last_seen_us = (uint64_t)m->in->now_us;
    int code = m->n->process_utilization(m->in->device, NULL, &n, k->last_seen_us);
    for (int i = 0; code == NVML_INSUFFICIENT_SIZE && i < UTILIZATION_TRIES; i++) {
        n = n < LIMIT_GPU_SAMPLES - UTILIZATION_SPARE ? n + UTILIZATION_SPARE : LIMIT_GPU_SAMPLES;
        uint32_t room = n;
        struct nvml_process_utilization_sample *list = mem_zero(room, sizeof *list);
        code = m->n->process_utilization(m->in->device, list, &n, k->last_seen_us);
        if (code == NVML_OK)
            samples_use(m, list, n < room ? n : room);
        free(list);
    }
    if (code != NVML_NOT_FOUND) /* nobody ran */
        (void)meter_ok(m, "nvmlDeviceGetProcessUtilization", code, &k->no_utilization);
}

void meter_processes(struct meter *m)
{
    if (!m->in->processes)
        return;
    for (uint32_t i = 0; i < m->in->migs_n && !m->out->lost; i++) {
        struct nvml_device *device = meter_mig(m, i);
        if (device)
            unit_add(m, &m->in->migs[i], device);
    }
    if (!m->in->is_mig)
        unit_add(m, NULL, m->in->device);
    list_sort(m->out);
    if (!m->in->is_mig && !m->out->lost)
        utilization_add(m);
}
