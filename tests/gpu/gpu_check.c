/* gpu_check [--library PATH] - look at a real NVIDIA driver through our own declarations and driver_nvml; print TAP
 *
 * Reads only: no MIG mode, clock, limit, compute mode or reset is ever set, and no counter cleared. Skips where no driver is.
 * What it prints with `#` is what docs/gpu-check.md keeps of a run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "agent/driver/driver_nvml.h"
#include "agent/driver/nvml.h"

enum { GPM_PAUSE_MS = 200, EVENT_WAIT_MS = 300, ANSWER_MS = 60 * 1000, PROFILES_MAX = 64 };

static int tests_n, failed_n;

static void check(bool good, const char *format, ...) PRINTF_LIKE(2, 3);
static void check(bool good, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%sok %d - ", good ? "" : "not ", ++tests_n);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    failed_n += !good;
}

static void skip(const char *what, const char *why)
{
    printf("ok %d - %s # SKIP %s\n", ++tests_n, what, why);
}

static void pause_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&t, NULL);
}

/* ---- the library itself ---- */

static void check_library(struct nvml *n)
{
    char driver[80] = "", library[80] = "";
    int cuda = 0;
    uint32_t gpus_n = 0;
    bool good = n->driver_version && n->driver_version(driver, sizeof driver) == NVML_OK;
    check(good, "driver version %s", driver);
    good = n->library_version && n->library_version(library, sizeof library) == NVML_OK;
    check(good, "library version %s", library);
    good = n->cuda_version && n->cuda_version(&cuda) == NVML_OK && cuda >= 10000;
    check(good, "CUDA %d.%d", cuda / 1000, cuda % 1000 / 10);
    good = n->count(&gpus_n) == NVML_OK && gpus_n > 0;
    check(good, "%u GPUs", gpus_n);
    printf("# loaded from %s\n", n->path);
    printf("# functions that this library lacks:");
#define X(pointer, type, newest, older)                                                                                \
    if (!n->pointer)                                                                                                   \
        printf(" %s", newest);
    NVML_SYMBOLS(X)
#undef X
    printf("\n");
}

static void check_versions(struct nvml *n, struct nvml_device *d)
{
    if (!n->memory_v2) {
        skip("versioned structs", "older library");
        return;
    }
    struct nvml_memory_v2 m = {.version = NVML_MEMORY_V2}, bad = {.version = 2};
    int code = n->memory_v2(d, &m);
    check(code == NVML_OK && m.total_bytes >= m.used_bytes + m.free_bytes - m.reserved_bytes,
          "memory v2: %llu MiB, %llu reserved (%s)", (unsigned long long)(m.total_bytes >> 20),
          (unsigned long long)(m.reserved_bytes >> 20), nvml_code_text(code));
    code = n->memory_v2(d, &bad);
    check(code == NVML_ARGUMENT_VERSION_MISMATCH || code == NVML_INVALID_ARGUMENT,
          "a version without a size is refused: %s", nvml_code_text(code));
}

static void check_fields(struct nvml *n, struct nvml_device *d)
{
    static const uint32_t ids[] = {
        NVML_FIELD_ECC_DBE_VOLATILE,   NVML_FIELD_MEMORY_TEMPERATURE,    NVML_FIELD_ENERGY_MJ,
        NVML_FIELD_NVLINK_N,           NVML_FIELD_PCIE_REPLAY,           NVML_FIELD_ROWS_REMAP_PENDING,
        NVML_FIELD_ROWS_REMAP_FAILURE, NVML_FIELD_NVSWITCH_LINKS_N,      NVML_FIELD_RESETLESS_MIG,
        NVML_FIELD_POWER_AVERAGE_MW,   NVML_FIELD_POWER_INSTANT_MW,      NVML_FIELD_POWER_LIMIT_MW,
        NVML_FIELD_PCIE_TX_BYTES,      NVML_FIELD_MIG_QUERY_INDEPENDENT, NVML_FIELD_RECOVERY_ACTION};
    enum { N = sizeof ids / sizeof *ids };
    struct nvml_field_value list[N];
    memset(list, 0, sizeof list);
    for (int i = 0; i < N; i++)
        list[i].field = ids[i];
    int code = n->field_values ? n->field_values(d, N, list) : NVML_FUNCTION_NOT_FOUND, good_n = 0;
    for (int i = 0; code == NVML_OK && i < N; i++) {
        good_n += list[i].code == NVML_OK;
        printf("#   field %u: %s, type %d, %lld\n", list[i].field, nvml_code_text(list[i].code), list[i].value_type,
               list[i].code == NVML_OK
                   ? (long long)(list[i].value_type == NVML_VALUE_U32 ? list[i].value.u32 : list[i].value.s64)
                   : 0);
    }
    check(code == NVML_OK && good_n > 0, "%d of %d field values (%s)", good_n, N, nvml_code_text(code));
}

static void check_events(struct nvml *n, struct nvml_device *d)
{
    unsigned long long types = 0;
    struct nvml_event_data data;
    if (!n->events || !n->event_types || !n->event_register) {
        skip("events", "this library has none");
        return;
    }
    int code = n->event_types(d, &types);
    check(code == NVML_OK, "event types 0x%llx (%s)", types, nvml_code_text(code));
    types &= NVML_EVENT_XID | NVML_EVENT_ECC_SINGLE | NVML_EVENT_ECC_DOUBLE | NVML_EVENT_MIG_CONFIG;
    code = types ? n->event_register(d, types, n->events) : NVML_NOT_SUPPORTED;
    check(code == NVML_OK || code == NVML_NOT_SUPPORTED, "registered for 0x%llx (%s)", types, nvml_code_text(code));
    code = n->event_wait(n->events, &data, EVENT_WAIT_MS);
    check(code == NVML_TIMEOUT || code == NVML_OK, "waited for events: %s", nvml_code_text(code));
}

/* ---- GPU performance monitoring ---- */

static int gpm_measure(struct nvml *n, struct nvml_device *d, struct nvml_gpm_metrics *m)
{
    int code = n->gpm_sample_new(&m->sample1);
    if (code == NVML_OK)
        code = n->gpm_sample_new(&m->sample2);
    if (code == NVML_OK)
        code = n->gpm_sample(d, m->sample1);
    pause_ms(GPM_PAUSE_MS);
    if (code == NVML_OK)
        code = n->gpm_sample(d, m->sample2);
    if (code == NVML_OK)
        code = n->gpm_metrics(m);
    if (m->sample1)
        (void)n->gpm_sample_free(m->sample1);
    if (m->sample2)
        (void)n->gpm_sample_free(m->sample2);
    return code;
}

static void check_gpm(struct nvml *n, struct nvml_device *d)
{
    static const uint32_t ids[] = {NVML_GPM_GRAPHICS, NVML_GPM_SM,     NVML_GPM_OCCUPANCY, NVML_GPM_TENSOR,
                                   NVML_GPM_DRAM,     NVML_GPM_FP64,   NVML_GPM_FP32,      NVML_GPM_FP16,
                                   NVML_GPM_PCIE_TX,  NVML_GPM_PCIE_RX};
    enum { N = sizeof ids / sizeof *ids };
    struct nvml_gpm_support support = {.version = NVML_GPM_VERSION};
    if (!n->gpm_support || !n->gpm_sample_new || !n->gpm_sample || !n->gpm_sample_free || !n->gpm_metrics ||
        n->gpm_support(d, &support) != NVML_OK || !support.supported) {
        skip("GPU performance monitoring", "this GPU or library has none (Hopper and later do)");
        return;
    }
    struct nvml_gpm_metrics *m = mem_zero(1, sizeof *m + N * sizeof m->metrics[0]);
    m->version = NVML_GPM_VERSION;
    m->metrics_n = N;
    for (int i = 0; i < N; i++)
        m->metrics[i].id = ids[i];
    int code = gpm_measure(n, d, m), good_n = 0;
    bool sane = true;
    for (int i = 0; code == NVML_OK && i < N; i++) {
        printf("#   gpm %u: %s, %.3f %s\n", m->metrics[i].id, nvml_code_text(m->metrics[i].code), m->metrics[i].value,
               m->metrics[i].unit ? m->metrics[i].unit : "");
        good_n += m->metrics[i].code == NVML_OK;
        sane = sane &&
               (m->metrics[i].code != NVML_OK || (m->metrics[i].value >= 0 && (i >= 8 || m->metrics[i].value <= 100)));
    }
    check(code == NVML_OK && good_n > 0 && sane, "GPU performance monitoring: %d of %d metrics, %zu bytes asked (%s)",
          good_n, N, sizeof *m + N * sizeof m->metrics[0], nvml_code_text(code));
    free(m);
}

/* ---- through the driver interface ---- */

struct answer {
    struct loop *l;
    bool done;
    int code;
    struct err error;
    struct driver_reading *reading;
    uint32_t processes_n;
};

static void on_reading(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    struct answer *a = arg;
    a->code = code;
    a->error = *e;
    a->reading = r ? driver_reading_ref(r) : NULL;
    a->done = true;
    loop_stop(a->l);
}

static void on_processes(void *arg, int code, const struct driver_process *list, uint32_t n, const struct err *e)
{
    struct answer *a = arg;
    a->code = code;
    a->error = *e;
    a->processes_n = n;
    a->done = true;
    for (uint32_t i = 0; i < n && i < 20; i++)
        printf("#   GPU %u pid %u gi %d ci %d: %lld MiB\n", list[i].gpu, list[i].pid, (int)list[i].gi, (int)list[i].ci,
               list[i].memory_bytes == NVML_NONE_U64 ? -1LL : (long long)(list[i].memory_bytes >> 20));
    loop_stop(a->l);
}

static void check_geometry(const struct driver_gpu *g)
{
    const struct gpu_model *m = g->geometry, *table = gpu_model_find(g->name);
    bool sane = true, same = table != NULL;
    for (uint32_t i = 0; i < m->profiles_n; i++) {
        const struct mig_profile *p = &m->profiles[i], *t = table ? mig_profile_by_id(table, p->id) : NULL;
        struct mig_wish wish;
        printf("#   profile %u (index %u) %s: %u x %u MiB, %u SM, %u units, starts 0x%x, CE %u DEC %u JPEG %u OFA %u\n",
               p->id, p->nvml_index, p->name, p->max_n, p->memory_mib, p->sm_n, p->units, p->starts, p->copy_n,
               p->decoder_n, p->jpeg_n, p->ofa_n);
        sane = sane && p->starts && p->units && mig_wish_parse(m, p->name, &wish, NULL) == 0;
        same = same && t && text_equal(t->name, p->name) && t->starts == p->starts && t->units == p->units &&
               t->max_n == p->max_n && t->memory_mib == p->memory_mib && t->sm_n == p->sm_n;
    }
    check(sane, "GPU %u: %u MIG profiles, each with a place and a name that can be asked for", g->index, m->profiles_n);
    if (table)
        check(same && table->profiles_n == m->profiles_n, "GPU %u: the table of %s says the same", g->index,
              table->key);
    else
        skip("table of the model", "this model is in no table");
}

static void check_gpu(const struct driver_reading *r, uint32_t i)
{
    const struct driver_gpu *g = &r->gpus[i];
    printf("# GPU %u: %s, %s, bus %s, minor %u, %u MiB, compute %u.%u, class 0x%06x, NUMA %d, MIG %s%s, %u processes\n",
           g->index, g->name, g->uuid, g->bus_id, g->minor, g->memory_mib, g->compute_major, g->compute_minor,
           g->pci_class, g->numa_node,
           !g->mig_capable ? "not possible"
           : g->mig_on     ? "on"
                           : "off",
           g->mig_pending ? " (a change is pending)" : "", g->processes_n);
    check(!g->lost && text_starts(g->uuid, "GPU-") && strlen(g->uuid) == 40, "GPU %u has a UUID", g->index);
    check(g->name[0] && g->memory_mib > 0 && g->compute_major >= 3,
          "GPU %u has a name, memory and a compute capability", g->index);
    check(strlen(g->bus_id) == 12 && (g->pci_device_id & 0xffff) == 0x10de, "GPU %u is on the PCI bus", g->index);
    check(g->pci_class >> 16 == 3, "GPU %u is of PCI class %06x", g->index, g->pci_class);
    if (g->geometry)
        check_geometry(g);
    else
        skip("MIG geometry",
             g->mig_capable ? "the driver tells none while MIG is off, or not to this user" : "no MIG on this GPU");
    for (uint32_t k = 0; k < g->migs_n; k++)
        printf("#   MIG %s %s gi %u ci %u: %u MiB, %u SM\n", g->migs[k].uuid, g->migs[k].profile, g->migs[k].gi,
               g->migs[k].ci, g->migs[k].memory_mib, g->migs[k].sm_n);
    for (uint32_t k = 0; k < r->gpus_n; k++)
        if (k != i)
            printf("#   to GPU %u: level %u, %u NVLinks\n", r->gpus[k].index, r->links[i * r->gpus_n + k].ancestor,
                   r->links[i * r->gpus_n + k].nvlinks_n);
}

static void check_driver(const char *library)
{
    struct loop *l = loop_new();
    struct answer a = {.l = l}, p = {.l = l};
    struct driver *d = driver_nvml_new(l, library, NULL);
    int64_t began_ms = loop_now_ms(l);
    driver_read(d, on_reading, &a);
    (void)loop_run_for(l, ANSWER_MS, NULL);
    check(a.done && a.code == 0, "first reading in %lld ms %s", (long long)(loop_now_ms(l) - began_ms),
          a.code ? a.error.text : "");
    for (uint32_t i = 0; a.reading && i < a.reading->gpus_n; i++)
        check_gpu(a.reading, i);
    driver_reading_unref(a.reading);
    a = (struct answer){.l = l};
    began_ms = loop_now_ms(l);
    driver_read(d, on_reading, &a);
    (void)loop_run_for(l, ANSWER_MS, NULL);
    check(a.done && a.code == 0, "second reading in %lld ms", (long long)(loop_now_ms(l) - began_ms));
    driver_reading_unref(a.reading);
    driver_processes(d, on_processes, &p);
    (void)loop_run_for(l, ANSWER_MS, NULL);
    check(p.done && p.code == 0, "%u processes", p.processes_n);
    driver_free(d);
    loop_free(l);
}

int main(int argc, char **argv)
{
    const char *library = argc == 3 && text_equal(argv[1], "--library") ? argv[2] : NULL;
    struct nvml *n = NULL;
    struct err e = {0};
    uint32_t gpus_n = 0;
    if (argc != 1 && !library) {
        fprintf(stderr, "usage: gpu_check [--library PATH]\n");
        return 2;
    }
    if (nvml_open(library, NULL, &n, &e) < 0) {
        if (library) /* one that was named has to work */
            printf("1..1\nnot ok 1 - %s\n", e.text);
        else
            printf("1..1\nok 1 # SKIP %s\n", e.text);
        nvml_unref(n);
        return library != NULL;
    }
    check_library(n);
    (void)n->count(&gpus_n);
    for (uint32_t i = 0; i < gpus_n; i++) {
        struct nvml_device *d = NULL;
        int code = n->by_index(i, &d);
        check(code == NVML_OK, "handle of GPU %u (%s)", i, nvml_code_text(code));
        if (code != NVML_OK)
            continue;
        check_versions(n, d);
        check_fields(n, d);
        check_events(n, d);
        check_gpm(n, d);
    }
    nvml_unref(n);
    check_driver(library);
    printf("1..%d\n", tests_n);
    return failed_n > 0;
}
