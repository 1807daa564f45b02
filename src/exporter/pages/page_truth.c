/* page_truth.c - layer C: numbers as numbers, allocation beside use, counters that only grow. SOURCE docs/monitoring.md */
#include <math.h>
#include <stdlib.h>
#include "base/memory.h"
#include "exporter/pages/page_parts.h"

#define MIB 1048576.0
#define NAME(text) (text), PROMETHEUS_GAUGE
#define COUNTER(text) (text), PROMETHEUS_COUNTER

static const char *number(struct page *p, long value)
{
    return value < 0 ? "" : arena_printf(p->arena, "%ld", value);
}

/* ---- devices ---- */

static void device_info(struct page *p, const struct sample_unit *u, bool is_board)
{
    const struct driver_gpu *g = u->gpu;
    const struct driver_mig *m = u->mig;
    long index = -1;
    for (uint32_t i = 0; m && i < g->migs_n; i++)
        index = &g->migs[i] == m ? (long)i : index;
    const struct prometheus_label l[] = {
        {"gpu", u->session_label},
        {"UUID", sample_unit_uuid(u)},
        {"parent_uuid", m ? g->uuid : ""},
        {"minor", number(p, g->minor)},
        {"pci_bus_id", page_bus_id(p->arena, g->bus_id)},
        {"product", g->name},
        {"mig", is_board && g->mig_on ? "enabled" : ""},
        {"mig_profile", m ? m->profile : ""},
        {"mig_index", number(p, index)},
        {"gi", number(p, m ? m->gi : -1)},
        {"ci", number(p, m ? m->ci : -1)},
        {"driver_version", p->sample->inventory->reading->driver_version},
        {"numa_node", number(p, g->numa_node)},
    };
    prometheus_sample(&p->out, l, sizeof l / sizeof *l, 1);
}

static void device_families(struct page *p)
{
    const struct sample *s = p->sample;
    prometheus_family(&p->out, NAME("gpu_device_info"), "A GPU or MIG device; parent_uuid is empty for whole boards.");
    for (uint32_t i = 0; i < s->boards_n; i++)
        if (s->boards[i].gpu->mig_on)
            device_info(p, &s->boards[i], true);
    for (uint32_t i = 0; i < s->units_n; i++)
        device_info(p, &s->units[i], false);
    static const struct {
        const char *name, *help;
        enum measure measure;
    } memories[] = {{"gpu_memory_total_bytes", "Memory of the GPU or MIG device.", MEASURE_FB_TOTAL_MIB},
                    {"gpu_memory_used_bytes", "Memory in use.", MEASURE_FB_USED_MIB},
                    {"gpu_memory_reserved_bytes", "Memory that the driver keeps for itself.", MEASURE_FB_RESERVED_MIB}};
    for (size_t k = 0; k < sizeof memories / sizeof *memories; k++) {
        prometheus_family(&p->out, NAME(memories[k].name), memories[k].help);
        for (uint32_t i = 0; i < s->units_n; i++) {
            double mib;
            if (s->units[i].values && measure_get(s->units[i].values, memories[k].measure, &mib))
                prometheus_sample(&p->out, &(struct prometheus_label){"gpu", s->units[i].session_label}, 1, mib * MIB);
        }
    }
    prometheus_family(&p->out, NAME("gpu_last_active_timestamp_seconds"),
                      "When the GPU or MIG device was last seen busy.");
    for (uint32_t i = 0; i < s->units_n; i++)
        if (s->units[i].last_active_s > 0)
            prometheus_sample(&p->out, &(struct prometheus_label){"gpu", s->units[i].session_label}, 1,
                              s->units[i].last_active_s);
}

static void board_labels(struct page *p, const struct driver_gpu *g, struct prometheus_label l[2])
{
    l[0] = (struct prometheus_label){"gpu", number(p, g->index)};
    l[1] = (struct prometheus_label){"UUID", g->uuid};
}

static void board_families(struct page *p)
{
    const struct sample *s = p->sample;
    struct prometheus_label l[3];
    double mj;
    prometheus_family(&p->out, NAME("gpu_lost"), "1 when the GPU does not answer its driver any more.");
    for (uint32_t i = 0; i < s->boards_n; i++) {
        board_labels(p, s->boards[i].gpu, l);
        prometheus_sample(&p->out, l, 2, s->boards[i].gpu->lost);
    }
    prometheus_family(&p->out, COUNTER("gpu_energy_joules_total"), "Energy since the driver was loaded.");
    for (uint32_t i = 0; i < s->boards_n; i++) {
        if (!s->boards[i].board || !measure_get(s->boards[i].board, MEASURE_ENERGY_MJ, &mj))
            continue;
        board_labels(p, s->boards[i].gpu, l);
        prometheus_sample(&p->out, l, 2, mj / 1000);
    }
    const struct account_gpu *const *books;
    uint32_t books_n = p->account ? account_gpus(p->account, &books) : 0;
    prometheus_family(&p->out, COUNTER("gpu_throttle_seconds_total"), "Time with lowered clocks, by reason.");
    for (uint32_t i = 0; i < s->boards_n; i++)
        for (uint32_t k = 0; k < books_n; k++)
            for (int t = 0; t < ACCOUNT_THROTTLES_N; t++) {
                if (!text_equal(books[k]->uuid, s->boards[i].gpu->uuid) || !(books[k]->throttles >> t & 1))
                    continue;
                board_labels(p, s->boards[i].gpu, l);
                l[2] = (struct prometheus_label){"reason", account_throttle_name((enum account_throttle)t)};
                prometheus_sample(&p->out, l, 3, books[k]->throttle_s[t]);
            }
}

static void xid_families(struct page *p)
{
    const struct sample *s = p->sample;
    prometheus_family(&p->out, COUNTER("gpu_xid_errors_total"),
                      "XID errors since the agent started; the usual fatal ones stand at 0 from the start.");
    for (int last = 0; last < 2; last++) {
        if (last)
            prometheus_family(&p->out, NAME("gpu_xid_last_timestamp_seconds"), "When this XID error was last seen.");
        for (uint32_t i = 0; i < s->xids_n; i++) {
            const struct sample_xid *x = &s->xids[i];
            const struct prometheus_label l[] = {
                {"gpu", number(p, x->gpu)}, {"UUID", x->gpu_uuid}, {"xid", number(p, (long)x->xid)}};
            if (!last || x->last_s > 0)
                prometheus_sample(&p->out, l, 3, last ? x->last_s : (double)x->n);
        }
    }
}

/* ---- allocation ---- */

static uint32_t holder_labels(const struct sample *s, const struct sample_allocation *a, struct prometheus_label *l)
{
    const struct sample_container *c = a->container >= 0 ? &s->containers[a->container] : NULL;
    l[0] = (struct prometheus_label){"gpu", s->units[a->unit].session_label};
    l[1] = (struct prometheus_label){"UUID", sample_unit_uuid(&s->units[a->unit])};
    l[2] = (struct prometheus_label){"namespace", c ? c->ns : ""};
    l[3] = (struct prometheus_label){"pod", c ? c->pod : ""};
    l[4] = (struct prometheus_label){"container", c ? c->container : ""};
    return 5;
}

static bool same_holder(const struct sample *s, const struct sample_allocation *a, const struct sample_allocation *b)
{
    if (a->unit != b->unit || a->container < 0 || b->container < 0)
        return a->unit == b->unit && a->container == b->container;
    const struct sample_container *x = &s->containers[a->container], *y = &s->containers[b->container];
    return text_equal(x->ns, y->ns) && text_equal(x->pod, y->pod) && text_equal(x->container, y->container);
}

/* One series a container and unit: a container with two shares of a GPU has their sum. */
static void share_family(struct page *p)
{
    const struct sample *s = p->sample;
    prometheus_family(&p->out, NAME("gpu_allocation_share_ratio"),
                      "Part of the physical GPU that the container was given.");
    for (uint32_t i = 0; i < s->allocations_n; i++) {
        double share = 0;
        bool first = true;
        for (uint32_t k = 0; k < s->allocations_n; k++)
            if (same_holder(s, &s->allocations[i], &s->allocations[k])) {
                share += s->allocations[k].share;
                first &= k >= i;
            }
        struct prometheus_label l[5];
        uint32_t n = holder_labels(s, &s->allocations[i], l);
        if (first)
            prometheus_sample(&p->out, l, n, share);
    }
}

static bool is_allocated_to(const struct sample *s, uint32_t unit, const struct sample_container *c)
{
    for (uint32_t i = 0; i < s->allocations_n; i++) {
        const struct sample_allocation *a = &s->allocations[i];
        if (a->unit == unit && a->container >= 0 && text_equal(s->containers[a->container].ns, c->ns) &&
            text_equal(s->containers[a->container].pod, c->pod))
            return true;
    }
    return false;
}

static void allocation_families(struct page *p)
{
    const struct sample *s = p->sample;
    prometheus_family(&p->out, NAME("gpu_allocation_info"), "What the kubelet gave a container.");
    for (uint32_t i = 0; i < s->allocations_n; i++) {
        struct prometheus_label l[7];
        uint32_t n = holder_labels(s, &s->allocations[i], l);
        l[n++] = (struct prometheus_label){"resource", s->allocations[i].resource};
        l[n++] = (struct prometheus_label){"replica", s->allocations[i].replica};
        prometheus_sample(&p->out, l, n, 1);
    }
    share_family(p);
    prometheus_family(&p->out, NAME("gpu_allocated_ratio"),
                      "Sum of the shares of a physical GPU; more than 1 is an error of ours.");
    for (uint32_t i = 0; i < s->boards_n; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < s->allocations_n; k++)
            sum += s->units[s->allocations[k].unit].gpu == s->boards[i].gpu ? s->allocations[k].share : 0;
        struct prometheus_label l[2];
        board_labels(p, s->boards[i].gpu, l);
        prometheus_sample(&p->out, l, 2, sum);
    }
    if (!s->inventory->owners_known) /* nobody could tell who was given what */
        return;
    uint32_t strangers = 0;
    for (uint32_t i = 0; i < s->processes_n; i++) {
        const struct sample_process *q = &s->processes[i];
        strangers += q->container >= 0 && *s->containers[q->container].pod &&
                     !is_allocated_to(s, q->unit, &s->containers[q->container]);
    }
    prometheus_family(&p->out, NAME("gpu_unauthorized_processes"),
                      "Processes of pods on GPUs that their pods were not given.");
    prometheus_sample(&p->out, NULL, 0, strangers);
}

/* ---- processes and pods ---- */

enum process_value { PROCESS_MEMORY, PROCESS_START, PROCESS_ACTIVE, PROCESS_SM, PROCESS_VALUES_N };

static bool process_value(const struct sample *s, const struct sample_process *q, enum process_value which,
                          double *ret_value)
{
    switch (which) {
    case PROCESS_MEMORY:
        *ret_value = (double)q->measured->memory_bytes;
        return q->measured->memory_bytes != UINT64_MAX;
    case PROCESS_START:
        *ret_value = q->start_time_s;
        return q->start_time_s > 0;
    case PROCESS_ACTIVE:
        *ret_value = q->last_active_s;
        return q->last_active_s > 0;
    case PROCESS_SM:
        *ret_value = q->sm_seconds;
        return !s->units[q->unit].mig;
    case PROCESS_VALUES_N:
        break;
    }
    return false;
}

static int by_pid(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t distinct_pids(const struct sample *s)
{
    uint32_t *pids = mem_alloc((s->processes_n + 1) * sizeof *pids), n = 0;
    for (uint32_t i = 0; i < s->processes_n; i++)
        pids[i] = s->processes[i].measured->pid;
    qsort(pids, s->processes_n, sizeof *pids, by_pid);
    for (uint32_t i = 0; i < s->processes_n; i++)
        n += i == 0 || pids[i] != pids[i - 1];
    free(pids);
    return n;
}

static void process_families(struct page *p)
{
    static const struct {
        const char *name;
        enum prometheus_type type;
        const char *help;
    } families[PROCESS_VALUES_N] = {
        {NAME("gpu_process_memory_bytes"), "Memory of the process on the GPU or MIG device."},
        {NAME("gpu_process_start_time_seconds"), "When the process started."},
        {NAME("gpu_process_last_active_timestamp_seconds"), "When the process was last seen busy on the GPU."},
        {COUNTER("gpu_process_sm_seconds_total"), "Time with kernels of the process on the GPU; absent on MIG."}};
    const struct sample *s = p->sample;
    for (int f = 0; f < PROCESS_VALUES_N && p->config->processes; f++) {
        prometheus_family(&p->out, families[f].name, families[f].type, families[f].help);
        for (uint32_t i = 0; i < s->processes_n; i++) {
            const struct sample_process *q = &s->processes[i];
            const struct sample_container *c = q->container >= 0 ? &s->containers[q->container] : NULL;
            double value;
            if (!process_value(s, q, (enum process_value)f, &value))
                continue;
            const struct prometheus_label l[] = {{"gpu", s->units[q->unit].session_label},
                                                 {"pid", number(p, (long)q->measured->pid)},
                                                 {"namespace", c ? c->ns : ""},
                                                 {"pod", c ? c->pod : ""},
                                                 {"container", c ? c->container : ""}};
            prometheus_sample(&p->out, l, 5, value);
        }
    }
    prometheus_family(&p->out, NAME("gpu_processes"), "Different processes on the GPUs of the node.");
    prometheus_sample(&p->out, NULL, 0, distinct_pids(s));
}

/* Whose pods are. SHAPE  one series a pod whose job or user is known; with none, no family. */
static void pod_info_family(struct page *p)
{
    const struct account_pod *const *pods;
    uint32_t n = p->account ? account_pods(p->account, &pods) : 0;
    bool has_family = false;
    for (uint32_t i = 0; i < n; i++) {
        const struct prometheus_label l[] = {{"namespace", pods[i]->ns},
                                             {"pod", pods[i]->pod},
                                             {"queue", pods[i]->queue},
                                             {"job_name", pods[i]->job},
                                             {"user", pods[i]->user}};
        if (!*pods[i]->job && !*pods[i]->user)
            continue;
        if (!has_family)
            prometheus_family(&p->out, NAME("gpu_pod_info"), "Whose a pod is that has or had a GPU.");
        has_family = true;
        prometheus_sample(&p->out, l, 5, 1);
    }
}

static void pod_families(struct page *p)
{
    static const struct {
        const char *name, *help;
        size_t at;
    } sums[] = {
#define SUM(name, field, help) {name, help, offsetof(struct account_pod, field)}
        SUM("gpu_pod_allocated_seconds_total", allocated_s,
            "GPU-seconds that the pod was given (whole-GPU equivalents)."),
        SUM("gpu_pod_active_seconds_total", active_s, "GPU-seconds in which what the pod was given was busy."),
        SUM("gpu_pod_memory_byte_seconds_total", memory_byte_s, "GPU memory of the pod times time."),
        SUM("gpu_pod_energy_joules_total", energy_j, "Energy of the boards by the pod's share of them."),
#undef SUM
    };
    const struct account_pod *const *pods;
    uint32_t n = p->account ? account_pods(p->account, &pods) : 0;
    for (size_t f = 0; f < sizeof sums / sizeof *sums; f++) {
        prometheus_family(&p->out, COUNTER(sums[f].name), sums[f].help);
        for (uint32_t i = 0; i < n; i++) {
            const struct prometheus_label l[] = {
                {"namespace", pods[i]->ns}, {"pod", pods[i]->pod}, {"queue", pods[i]->queue}};
            prometheus_sample(&p->out, l, *pods[i]->queue ? 3 : 2,
                              *(const double *)((const char *)pods[i] + sums[f].at));
        }
    }
}

/* What was given and not used, by class: disjoint, so that their sum is what was wasted. */
static void waste_family(struct page *p)
{
    static const struct {
        const char *name;
        size_t at;
    } classes[] = {{"no_process", offsetof(struct account_pod, no_process_s)},
                   {"idle", offsetof(struct account_pod, idle_s)},
                   {"low", offsetof(struct account_pod, low_s)}};
    const struct account_pod *const *pods;
    uint32_t n = p->account ? account_pods(p->account, &pods) : 0;
    prometheus_family(&p->out, COUNTER("gpu_pod_wasted_seconds_total"),
                      "GPU-seconds that were given and not used: nothing ran at all, not for long, or little.");
    for (uint32_t i = 0; i < n; i++)
        for (size_t c = 0; c < sizeof classes / sizeof *classes; c++) {
            const struct prometheus_label l[] = {{"namespace", pods[i]->ns},
                                                 {"pod", pods[i]->pod},
                                                 {"class", classes[c].name},
                                                 {"queue", pods[i]->queue}};
            prometheus_sample(&p->out, l, *pods[i]->queue ? 4 : 3,
                              *(const double *)((const char *)pods[i] + classes[c].at));
        }
}

void page_truth(struct page *p)
{
    device_families(p);
    board_families(p);
    xid_families(p);
    allocation_families(p);
    process_families(p);
    pod_info_family(p);
    pod_families(p);
    waste_family(p);
}
