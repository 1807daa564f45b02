/* process.c - calls about the processes of a GPU or MIG device, and accounting */
#include <stdlib.h>
#include "base/memory.h"
#include "libnvsim.h"

#define MIB (1ull << 20)
#define SAMPLE_PERIOD_US 166667

/* ---- the processes of a device ---- */

enum process_set { SET_COMPUTE = 1, SET_GRAPHICS = 2, SET_MPS = 4 };

/* Called for each process, lock held. */
typedef void (*process_fn)(void *arg, const struct nvsim_process *p);

static bool process_counts(const struct view *v, const struct nvsim_process *p, uint32_t sets)
{
    if (!(sets & 1u << (p->work.kind <= 2 ? p->work.kind : 0)))
        return false;
    return !v->is_mig || (p->work.gi == v->instance->id && p->work.ci == v->compute->id);
}

static int process_walk(const struct view *v, uint32_t sets, process_fn fn, void *arg)
{
    const struct nvsim_state *s = v->node->state;
    if (nvsim_lock(v->node, NULL) < 0)
        return NVML_UNKNOWN;
    for (uint32_t i = 0; i < s->processes_high && i < NVSIM_PROCESSES_MAX; i++)
        if (s->process_gpu[i] == v->gpu + 1 && process_counts(v, &s->processes[i], sets))
            fn(arg, &s->processes[i]);
    nvsim_unlock(v->node);
    return NVML_OK;
}

struct process_list {
    void *list;      /* of nvml_process_v1, nvml_process or nvml_process_detail */
    size_t entry;    /* its size: all begin with pid and memory */
    uint32_t room, n;
};

static void process_add(void *arg, const struct nvsim_process *p)
{
    struct process_list *l = arg;
    struct nvml_process_detail entry = {.pid = p->work.pid,
                                        .used_bytes = p->work.memory_mib * MIB,
                                        .gpu_instance = p->work.gi,
                                        .compute_instance = p->work.ci,
                                        .protected_bytes = 0};
    if (l->n < l->room)
        memcpy((char *)l->list + l->n * l->entry, &entry, l->entry);
    l->n++;
}

/* INSUFFICIENT_SIZE with the number when there is less room than processes. */
static int process_answer(struct nvml_device *d, uint32_t sets, uint32_t *n, void *list, size_t entry)
{
    VIEW_DEVICE(v, d);
    if (!n || (*n && !list))
        return NVML_INVALID_ARGUMENT;
    struct process_list l = {.list = list, .entry = entry, .room = *n};
    int code = process_walk(&v, sets, process_add, &l);
    if (code != NVML_OK)
        return code;
    *n = l.n;
    return l.n > l.room ? NVML_INSUFFICIENT_SIZE : NVML_OK;
}

/* MPS clients are compute processes too. */
#define PROCESS_CALLS(name, sets)                                                                     \
    int name(struct nvml_device *d, uint32_t *n, struct nvml_process_v1 *list)                        \
    {                                                                                                 \
        return process_answer(d, sets, n, list, sizeof *list);                                        \
    }                                                                                                 \
    int name##_v2(struct nvml_device *d, uint32_t *n, struct nvml_process *list)                      \
    {                                                                                                 \
        return process_answer(d, sets, n, list, sizeof *list);                                        \
    }                                                                                                 \
    int name##_v3(struct nvml_device *d, uint32_t *n, struct nvml_process *list)                      \
    {                                                                                                 \
        return process_answer(d, sets, n, list, sizeof *list);                                        \
    }
PROCESS_CALLS(nvmlDeviceGetComputeRunningProcesses, SET_COMPUTE | SET_MPS)
PROCESS_CALLS(nvmlDeviceGetGraphicsRunningProcesses, SET_GRAPHICS)
PROCESS_CALLS(nvmlDeviceGetMPSComputeRunningProcesses, SET_MPS)

int nvmlDeviceGetRunningProcessDetailList(struct nvml_device *d, struct nvml_process_detail_list *list)
{
    static const uint32_t sets[] = {SET_COMPUTE, SET_GRAPHICS, SET_MPS, SET_COMPUTE | SET_GRAPHICS | SET_MPS};
    if (!list)
        return NVML_INVALID_ARGUMENT;
    if (list->version != NVML_PROCESS_DETAIL_LIST_V1)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    if (list->mode > NVML_PROCESS_ALL)
        return NVML_INVALID_ARGUMENT;
    return process_answer(d, sets[list->mode], &list->n, list->list, sizeof *list->list);
}

/* ---- utilisation by process ---- */

struct utilization_list {
    const struct view *v;
    struct nvml_process_utilization *list;
    uint64_t timestamp_us;
    uint32_t room, n;
};

/* Processes that together want more than there is get their share of it. */
static uint32_t share_percent(const struct view *v, uint32_t sm_permille)
{
    uint32_t wanted = v->g.load.sm_wanted_permille;
    uint64_t permille = wanted > 1000 ? (uint64_t)sm_permille * 1000 / wanted : sm_permille;
    return (uint32_t)(permille + 5) / 10;
}

static void utilization_add(void *arg, const struct nvsim_process *p)
{
    struct utilization_list *l = arg;
    if (l->n < l->room)
        l->list[l->n] = (struct nvml_process_utilization){.timestamp_us = l->timestamp_us,
                                                          .pid = p->work.pid,
                                                          .sm_percent = share_percent(l->v, p->work.sm_permille),
                                                          .memory_percent = (p->work.memory_permille + 5) / 10,
                                                          .encoder_percent = (p->work.encoder_permille + 5) / 10,
                                                          .decoder_percent = (p->work.decoder_permille + 5) / 10};
    l->n++;
}

/* One sample a process, of the last sampling moment; NOT_FOUND when the caller has seen it or nothing runs. */
static int utilization_answer(struct nvml_device *d, struct nvml_process_utilization *list, uint32_t *n, uint64_t last_seen_us)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (v.g.mig.mode)
        return NVML_NOT_SUPPORTED;
    struct utilization_list l = {.v = &v, .list = list, .room = list ? *n : 0,
                                 .timestamp_us = (uint64_t)(v.now_us / SAMPLE_PERIOD_US * SAMPLE_PERIOD_US)};
    int code = process_walk(&v, SET_COMPUTE | SET_GRAPHICS | SET_MPS, utilization_add, &l);
    if (code != NVML_OK)
        return code;
    *n = l.n;
    if (l.n == 0 || l.timestamp_us <= last_seen_us)
        return NVML_NOT_FOUND;
    return l.n > l.room ? NVML_INSUFFICIENT_SIZE : NVML_OK;
}

int nvmlDeviceGetProcessUtilization(struct nvml_device *d, struct nvml_process_utilization_sample *list, uint32_t *n,
                                    unsigned long long last_seen_us)
{
    if (!n)
        return NVML_INVALID_ARGUMENT;
    uint32_t room = list ? *n : 0;
    if (room > NVSIM_PROCESSES_MAX)
        room = NVSIM_PROCESSES_MAX;
    _cleanup_free_ struct nvml_process_utilization *whole = room ? mem_zero(room, sizeof *whole) : NULL;
    *n = room;
    int code = utilization_answer(d, whole, n, last_seen_us);
    for (uint32_t i = 0; code == NVML_OK && i < *n; i++)
        list[i] = (struct nvml_process_utilization_sample){whole[i].pid, whole[i].timestamp_us, whole[i].sm_percent,
                                                           whole[i].memory_percent, whole[i].encoder_percent,
                                                           whole[i].decoder_percent};
    return code;
}

int nvmlDeviceGetProcessesUtilizationInfo(struct nvml_device *d, struct nvml_process_utilization_list *list)
{
    if (!list)
        return NVML_INVALID_ARGUMENT;
    if (list->version != NVML_PROCESS_UTILIZATION_LIST_V1)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    return utilization_answer(d, list->list, &list->n, list->last_seen_us);
}

/* ---- accounting: what processes used, after they are gone too; not while MIG is on ---- */

static int accounting_view(const struct nvml_device *d, struct view *v)
{
    int code = view_gpu(d, v, NVML_NOT_SUPPORTED);
    return code == NVML_OK && v->g.mig.mode ? NVML_NOT_SUPPORTED : code;
}

int nvmlDeviceGetAccountingMode(struct nvml_device *d, int *mode)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!mode)
        return NVML_INVALID_ARGUMENT;
    *mode = v.g.accounting;
    return NVML_OK;
}

static int accounting_change(struct nvml_device *d, int mode, bool clear)
{
    struct view v;
    struct edit e;
    int code = accounting_view(d, &v);
    if (code == NVML_OK)
        code = edit_gpu(&v, &e);
    if (code != NVML_OK)
        return code;
    if (mode >= 0)
        e.g->accounting = (uint8_t)mode;
    if (clear || mode == NVML_DISABLED)
        e.node->state->accounts_n[e.gpu] = 0;
    edit_commit(&e);
    return NVML_OK;
}

int nvmlDeviceSetAccountingMode(struct nvml_device *d, int mode)
{
    return mode != NVML_DISABLED && mode != NVML_ENABLED ? NVML_INVALID_ARGUMENT : accounting_change(d, mode, false);
}

int nvmlDeviceClearAccountingPids(struct nvml_device *d)
{
    return accounting_change(d, -1, true);
}

int nvmlDeviceGetAccountingBufferSize(struct nvml_device *d, uint32_t *n)
{
    struct view v;
    int code = accounting_view(d, &v);
    if (code == NVML_OK && !n)
        return NVML_INVALID_ARGUMENT;
    if (code == NVML_OK)
        *n = NVSIM_ACCOUNTS_MAX;
    return code;
}

/* All records of a GPU; the caller frees. */
static struct nvsim_account *accounts_read(const struct view *v, uint32_t *ret_n)
{
    uint32_t max = NVSIM_ACCOUNTS_MAX + NVSIM_PROCESSES_MAX;
    if (nvsim_lock(v->node, NULL) < 0)
        return NULL;
    uint32_t n = nvsim_accounts(v->node, v->gpu, v->now_us, NULL, 0);
    struct nvsim_account *list = mem_zero(n ? n : 1, sizeof *list);
    *ret_n = nvsim_accounts(v->node, v->gpu, v->now_us, list, n < max ? n : max);
    nvsim_unlock(v->node);
    return list;
}

int nvmlDeviceGetAccountingPids(struct nvml_device *d, uint32_t *n, uint32_t *pids)
{
    struct view v;
    int code = accounting_view(d, &v);
    if (code != NVML_OK)
        return code;
    if (!n || (*n && !pids))
        return NVML_INVALID_ARGUMENT;
    if (!v.g.accounting)
        return NVML_NOT_SUPPORTED;
    uint32_t found = 0, room = *n;
    _cleanup_free_ struct nvsim_account *list = accounts_read(&v, &found);
    if (!list)
        return NVML_UNKNOWN;
    for (uint32_t i = 0; i < found && i < room; i++)
        pids[i] = list[i].pid;
    *n = found;
    return found > room ? NVML_INSUFFICIENT_SIZE : NVML_OK;
}

/* The latest record of a pid. */
static int account_find(struct nvml_device *d, uint32_t pid, struct nvsim_account *ret_account, int64_t *ret_now_us)
{
    struct view v;
    int code = accounting_view(d, &v);
    if (code != NVML_OK)
        return code;
    if (!v.g.accounting)
        return NVML_NOT_SUPPORTED;
    uint32_t n = 0;
    _cleanup_free_ struct nvsim_account *list = accounts_read(&v, &n);
    *ret_now_us = v.now_us;
    for (uint32_t i = n; list && i > 0; i--)
        if (list[i - 1].pid == pid) {
            *ret_account = list[i - 1];
            return NVML_OK;
        }
    return list ? NVML_NOT_FOUND : NVML_UNKNOWN;
}

static uint64_t account_time_ms(const struct nvsim_account *a, int64_t now_us)
{
    int64_t end_us = a->end_us ? a->end_us : now_us;
    return end_us > a->start_us ? (uint64_t)(end_us - a->start_us) / 1000 : 0;
}

int nvmlDeviceGetAccountingStats(struct nvml_device *d, uint32_t pid, struct nvml_accounting *stats)
{
    struct nvsim_account a;
    int64_t now_us;
    if (!stats)
        return NVML_INVALID_ARGUMENT;
    int code = account_find(d, pid, &a, &now_us);
    if (code != NVML_OK)
        return code;
    *stats = (struct nvml_accounting){.gpu_percent = a.gpu_percent,
                                      .memory_percent = a.memory_percent,
                                      .max_memory_bytes = a.memory_max_bytes,
                                      .time_ms = a.end_us ? account_time_ms(&a, now_us) : 0, /* 0 while it runs */
                                      .start_us = (uint64_t)a.start_us,
                                      .running = a.end_us == 0};
    return NVML_OK;
}

int nvmlDeviceGetAccountingStats_v2(struct nvml_device *d, struct nvml_accounting_v2 *stats)
{
    struct nvsim_account a;
    int64_t now_us;
    if (!stats)
        return NVML_INVALID_ARGUMENT;
    int code = account_find(d, stats->pid, &a, &now_us);
    if (code != NVML_OK)
        return code;
    uint64_t time_ms = account_time_ms(&a, now_us), samples_n = time_ms * 1000 / SAMPLE_PERIOD_US;
    *stats = (struct nvml_accounting_v2){.pid = a.pid,
                                         .running = a.end_us == 0,
                                         .gpu_percent = a.gpu_percent,
                                         .memory_percent = a.memory_percent,
                                         .max_memory_bytes = a.memory_max_bytes,
                                         .samples_n = samples_n,
                                         .sum_gpu = samples_n * a.gpu_percent,
                                         .sum_memory = samples_n * a.memory_percent,
                                         .time_ms = time_ms,
                                         .start_us = (uint64_t)a.start_us};
    return NVML_OK;
}
