/* page.h - the /metrics page: layer A (DCGM names), B (sessions), C (numeric truth), and the agent itself
 *
 * Families of layer A are data: data/metrics/dcgm.tsv (names, field id, type, measure, scale, level, on by default, help), chosen by a
 * counters CSV. Labels and order: dcgm-exporter's. Rendered once per sample and format; scrapes share the bytes.
 */
#ifndef EXPORTER_PAGE_H
#define EXPORTER_PAGE_H
#include "exporter/collect/collect.h"
#include "exporter/pages/textfile.h"
#include "exporter/push/push.h"
#include "wire/prometheus.h"

enum dcgm_level { DCGM_BOARD, DCGM_INSTANCE, DCGM_COMPUTE };
struct dcgm_field {
    const char *name, *other_names; /* other_names: by commas; "" none */
    uint16_t id;
    const char *type, *help; /* "gauge", "counter", "label" */
    int16_t measure;         /* enum measure; -1: made by page_dcgm.c */
    double scale;
    enum dcgm_level level;
    bool is_default;
};
extern const struct dcgm_field dcgm_fields[];
extern const uint32_t dcgm_fields_n;

struct page_counter { const struct dcgm_field *field; enum prometheus_type type; bool is_label; const char *name, *help; };
struct page_push { const char *target; struct push_counts counts; };
enum page_memory { PAGE_MEMORY_STICKY, PAGE_MEMORY_LIVE, PAGE_MEMORY_OFF };
struct page_config {
    const struct page_counter *counters; /* by field id */
    uint32_t counters_n;
    bool hostname_lower;     /* label `hostname` instead of `Hostname` */
    bool old_namespace;      /* uuid, pod_name, pod_namespace, container_name */
    bool repeat_boards;      /* GPU-level families on every instance row, as dcgm-exporter does */
    bool gpu_id_device_name; /* --kubernetes-gpu-id-type=device-name */
    bool no_hostname, replace_blanks, virtual_gpus;
    const char *jobs_directory; /* files of the jobs on each device, for a label hpc_job; NULL: none */
    bool pod_uid;            /* label pod_uid in layer A */
    bool sessions, processes, dcgm; /* which layers */
    enum page_memory session_memory_label;
    const struct page_push *pushes; /* the caller's; looked at when a page is rendered */
    uint32_t pushes_n;
    const struct textfile_counts *textfile; /* likewise; NULL: none is written */
};
/* The counters CSV: 3 fields, quoted where they have a comma. Unknown names, and fields that stand twice, are warnings unless strict. A
 * family has the name that the file uses. SOURCE dcgm-exporter, counters file */
int page_counters_parse(struct arena *a, struct bytes csv, bool strict, struct page_counter **ret_counters, uint32_t *ret_n,
                        struct buf *warnings, struct err *e);
void page_counters_default(struct arena *a, struct page_counter **ret_counters, uint32_t *ret_n);
/* Measures that these counters, sessions and layer C need. */
void page_wanted(const struct page_config *c, uint64_t *ret_wanted);

struct page_cache; /* what must not flap between renderings: sticky memory labels */
struct page_cache *page_cache_new(void);
void page_cache_free(struct page_cache *c);
/* s NULL or state->stalled: only the agent's own families. */
void page_render(const struct page_config *config, struct page_cache *cache, const struct sample *s, const struct account *account,
                 const struct collect_state *state, bool openmetrics, struct buf *out);
/* Only layer B, for the textfile: no timestamps, newline at the end. */
void page_render_sessions(const struct page_config *config, struct page_cache *cache, const struct sample *s, struct buf *out);

#endif
