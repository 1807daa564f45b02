/* page_sessions.c - layer B: the five metrics of the session guide, with its names and labels
 *
 *     gpu_process_info{gpu,pid,command,pod,namespace,container,status,gpu_memory} 1     status idle: a GPU without sessions, pid ""
 *     gpu_session_count{gpu}   gpu_total_sessions   gpu_process_utilization{...}   gpu_process_memory_utilization{...}
 *
 * SOURCE docs/monitoring.md. The memory label keeps its text until the value is off by a tenth and 256 MiB, and ten minutes have passed:
 * every other text would be a new series.
 */
#include <math.h>
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "exporter/pages/page_parts.h"

#define MIB 1048576.0
#define STICKY_MS 600000
#define STICKY_MIB 256
#define STICKY_PART 0.1

struct memory_text {
    double mib;
    int64_t since_ms; /* monotonic */
    uint64_t sample;  /* last one that had the process */
};
struct page_cache {
    struct map *memory; /* "uuid pid start-ticks" -> struct memory_text */
};

struct page_cache *page_cache_new(void)
{
    struct page_cache *c = mem_zero(1, sizeof *c);
    c->memory = map_new(sizeof(struct memory_text));
    return c;
}

void page_cache_free(struct page_cache *c)
{
    if (!c)
        return;
    map_free(c->memory);
    free(c);
}

/* "1024MiB", sticky by page_config.session_memory_label. */
static const char *memory_label(struct page *p, const struct sample_process *process)
{
    double mib =
        process->measured->memory_bytes == UINT64_MAX ? NAN : floor((double)process->measured->memory_bytes / MIB);
    if (isnan(mib))
        return "";
    const struct sample *s = p->sample;
    const char *key = arena_printf(p->arena, "%s %u %llu", sample_unit_uuid(&s->units[process->unit]),
                                   process->measured->pid, (unsigned long long)process->start_ticks);
    bool is_new;
    struct memory_text *t = map_put(p->cache->memory, bytes_of(key), &is_new);
    double off = fabs(mib - t->mib);
    if (is_new || p->config->session_memory_label == PAGE_MEMORY_LIVE ||
        (off > STICKY_MIB && off > t->mib * STICKY_PART && s->measured->monotonic_ms - t->since_ms >= STICKY_MS)) {
        t->mib = mib;
        t->since_ms = s->measured->monotonic_ms;
    }
    t->sample = s->number;
    return arena_printf(p->arena, "%.0fMiB", t->mib);
}

/* Processes that are gone leave the cache. */
static void forget_the_gone(struct page *p)
{
    size_t at = 0;
    struct bytes key;
    for (struct memory_text *t; (t = map_next(p->cache->memory, &at, &key));)
        if (t->sample != p->sample->number)
            map_remove(p->cache->memory, key);
}

enum { INFO_LABELS = 8, VALUE_LABELS = 6 };

static void process_labels(struct page *p, const struct sample_process *process, struct prometheus_label l[INFO_LABELS])
{
    const struct sample *s = p->sample;
    const struct sample_container *c = process->container >= 0 ? &s->containers[process->container] : NULL;
    l[0] = (struct prometheus_label){"gpu", s->units[process->unit].session_label};
    l[1] = (struct prometheus_label){"pid", arena_printf(p->arena, "%u", process->measured->pid)};
    l[2] = (struct prometheus_label){"command", process->command};
    l[3] = (struct prometheus_label){"pod", c ? c->pod : ""};
    l[4] = (struct prometheus_label){"namespace", c ? c->ns : ""};
    l[5] = (struct prometheus_label){"container", c ? c->container : ""};
}

static void info_family(struct page *p)
{
    const struct sample *s = p->sample;
    bool with_memory = p->config->session_memory_label != PAGE_MEMORY_OFF;
    prometheus_family(&p->out, "gpu_process_info", PROMETHEUS_GAUGE,
                      "A process on a GPU or MIG device; status idle: a device without any.");
    for (uint32_t i = 0; i < s->processes_n; i++) {
        struct prometheus_label l[INFO_LABELS];
        process_labels(p, &s->processes[i], l);
        l[6] = (struct prometheus_label){"status", "active"};
        l[7] = (struct prometheus_label){"gpu_memory", with_memory ? memory_label(p, &s->processes[i]) : ""};
        prometheus_sample(&p->out, l, with_memory ? 8 : 7, 1);
    }
    for (uint32_t i = 0; i < s->units_n; i++) {
        if (s->units[i].sessions_n)
            continue;
        const struct prometheus_label l[INFO_LABELS] = {{"gpu", s->units[i].session_label},
                                                        {"pid", ""},
                                                        {"command", ""},
                                                        {"pod", ""},
                                                        {"namespace", ""},
                                                        {"container", ""},
                                                        {"status", "idle"},
                                                        {"gpu_memory", "0MiB"}};
        prometheus_sample(&p->out, l, with_memory ? 8 : 7, 1);
    }
}

static void count_families(struct page *p)
{
    const struct sample *s = p->sample;
    uint32_t total = 0;
    prometheus_family(&p->out, "gpu_session_count", PROMETHEUS_GAUGE, "Processes on the GPU or MIG device.");
    for (uint32_t i = 0; i < s->units_n; i++) {
        prometheus_sample(&p->out, &(struct prometheus_label){"gpu", s->units[i].session_label}, 1,
                          s->units[i].sessions_n);
        total += s->units[i].sessions_n;
    }
    prometheus_family(&p->out, "gpu_total_sessions", PROMETHEUS_GAUGE,
                      "Sessions of the node: a process on two GPUs counts twice.");
    prometheus_sample(&p->out, NULL, 0, total);
}

/* Per-process use does not exist on MIG devices: absent. */
static void use_families(struct page *p)
{
    const struct sample *s = p->sample;
    struct prometheus_label l[INFO_LABELS];
    double total_mib;
    prometheus_family(&p->out, "gpu_process_utilization", PROMETHEUS_GAUGE,
                      "Time in which the process had a kernel on the GPU (percent).");
    for (uint32_t i = 0; i < s->processes_n; i++) {
        if (s->units[s->processes[i].unit].mig)
            continue;
        process_labels(p, &s->processes[i], l);
        prometheus_sample(&p->out, l, VALUE_LABELS, s->processes[i].sm_percent);
    }
    prometheus_family(&p->out, "gpu_process_memory_utilization", PROMETHEUS_GAUGE,
                      "Memory of the process, of that of its GPU or MIG device (percent).");
    for (uint32_t i = 0; i < s->processes_n; i++) {
        const struct sample_process *process = &s->processes[i];
        const struct measure_values *v = s->units[process->unit].values;
        if (process->measured->memory_bytes == UINT64_MAX || !v || !measure_get(v, MEASURE_FB_TOTAL_MIB, &total_mib) ||
            total_mib <= 0)
            continue;
        process_labels(p, process, l);
        prometheus_sample(&p->out, l, VALUE_LABELS, (double)process->measured->memory_bytes / MIB / total_mib * 100);
    }
}

void page_sessions(struct page *p)
{
    info_family(p);
    count_families(p);
    use_families(p);
    forget_the_gone(p);
}
