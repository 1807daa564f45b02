/* page_dcgm.c - layer A: families, labels and their order as dcgm-exporter prints them
 *
 *     gpu, UUID, pci_bus_id, device, modelName [, GPU_I_PROFILE, GPU_I_ID], Hostname, label fields, attributes by name
 *
 * Unlike there: a board's value stands once and not on every instance (repeat_boards brings that back); a device that nobody has carries
 * empty pod labels, so that a scrape with honor_labels does not fill in the exporter's own pod; a device that several pods share carries no
 * pod's labels rather than the last one's; label values are escaped.
 * SOURCE dcgm-exporter 4
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include "agent/health/health.h"
#include "exporter/pages/page_parts.h"
#include "gpu/nvml.h"

#define LABELS_MAX 96

/* Fields that are more than a measure (data/metrics/dcgm.tsv). */
enum {
    FIELD_DRIVER_VERSION = 1,
    FIELD_GPUS_N = 4,
    FIELD_CUDA_VERSION = 5,
    FIELD_NAME = 50,
    FIELD_INDEX = 52,
    FIELD_SERIAL = 53,
    FIELD_UUID = 54,
    FIELD_MINOR = 55,
    FIELD_BUS_ID = 57,
    FIELD_COMPUTE_CAPABILITY = 63,
    FIELD_MIG_MODE = 67,
    FIELD_MIG_SLICES = 69,
    FIELD_FABRIC_STATUS = 170,
    FIELD_FABRIC_CLUSTER = 172,
    FIELD_FABRIC_CLIQUE = 173,
    FIELD_XID_ERRORS = 230,
    FIELD_FB_USED_PERCENT = 254,
    FIELD_NVLINK_BANDWIDTH_TOTAL = 449,
    FIELD_XID_ERRORS_COUNT = 9001,
    FIELD_CLOCK_EVENTS_COUNT = 9002,
    FIELD_GPU_HEALTH_STATUS = 9003
};

struct labels {
    struct prometheus_label list[LABELS_MAX];
    uint32_t n;
};

static void label_add(struct labels *l, const char *name, const char *value)
{
    if (l->n < LABELS_MAX)
        l->list[l->n++] = (struct prometheus_label){name, value};
}

const char *page_bus_id(struct arena *a, const char *sysfs_bus_id)
{
    char *text = arena_printf(a, "0000%s", sysfs_bus_id);
    for (char *c = text; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return text;
}

/* ---- who has a unit ---- */

struct holder {
    const struct sample_container *container;
    const char *replica;
    uint32_t pods_n; /* different ones */
};

static bool same_pod(const struct sample_container *a, const struct sample_container *b)
{
    return text_equal(a->ns, b->ns) && text_equal(a->pod, b->pod);
}

static struct holder holder_of(const struct sample *s, const struct sample_unit *u)
{
    struct holder h = {.replica = ""};
    for (uint32_t i = 0; i < s->allocations_n; i++) {
        const struct sample_allocation *l = &s->allocations[i];
        if (&s->units[l->unit] != u || l->container < 0)
            continue;
        const struct sample_container *c = &s->containers[l->container];
        h.pods_n += !h.container || !same_pod(h.container, c);
        h.container = h.container ? h.container : c;
        h.replica = l->replica;
    }
    return h;
}

/* ---- values ---- */

static bool used_percent(const struct measure_values *v, double *ret_value)
{
    double total, used, reserved = 0;
    if (!v || !measure_get(v, MEASURE_FB_TOTAL_MIB, &total) || !measure_get(v, MEASURE_FB_USED_MIB, &used))
        return false;
    (void)measure_get(v, MEASURE_FB_RESERVED_MIB, &reserved); /* absent on old drivers: 0 */
    *ret_value = total > reserved ? used / (total - reserved) : 0;
    return true;
}

/* The driver's states, and 4 for one that was completed in vain. */
static uint32_t fabric_status(const struct driver_gpu *g)
{
    return g->fabric_state == NVML_FABRIC_COMPLETED && !*g->fabric_cluster ? 4 : g->fabric_state;
}

/* What a reading of the devices says, not a measurement; of a GPU that is lost, nothing that may have changed. */
static bool device_value(const struct dcgm_field *f, const struct driver_reading *r, const struct driver_gpu *g,
                         double *ret_value)
{
    switch (f->id) {
    case FIELD_GPUS_N:
        *ret_value = r->gpus_n;
        return true;
    case FIELD_CUDA_VERSION:
        *ret_value = r->cuda_version;
        return r->cuda_version > 0;
    case FIELD_INDEX:
        *ret_value = g->index;
        return true;
    case FIELD_MINOR:
        *ret_value = g->minor;
        return true;
    case FIELD_COMPUTE_CAPABILITY:
        *ret_value = (uint32_t)g->compute_major << 16 | g->compute_minor;
        return g->compute_major > 0;
    case FIELD_MIG_MODE:
        *ret_value = g->mig_on;
        return !g->lost;
    case FIELD_MIG_SLICES:
        *ret_value = g->mig_on && g->geometry ? g->geometry->mig_slices : 0;
        return !g->lost;
    case FIELD_FABRIC_STATUS:
        *ret_value = fabric_status(g);
        return !g->lost;
    case FIELD_FABRIC_CLIQUE:
        *ret_value = g->fabric_clique;
        return !g->lost && *g->fabric_cluster;
    default:
        return false;
    }
}

static bool value_of(const struct page *p, const struct dcgm_field *f, const struct sample_unit *u,
                     const struct measure_values *v, double *ret_value)
{
    if (f->id == FIELD_FB_USED_PERCENT)
        return used_percent(v, ret_value);
    if (f->measure < 0)
        return device_value(f, p->sample->inventory->reading, u->gpu, ret_value);
    if (!v || !measure_get(v, (enum measure)f->measure, ret_value))
        return false;
    *ret_value *= f->scale;
    return true;
}

/* ---- labels of a row ---- */

/* Words with dashes between them. */
static const char *without_blanks(struct arena *a, const char *text)
{
    char *out = arena_text(a, text);
    size_t n = 0;
    for (const char *t = text; *t; t++)
        if (*t != ' ')
            out[n++] = *t;
        else if (n > 0 && t[-1] != ' ' && t[strspn(t, " ")])
            out[n++] = '-';
    out[n] = '\0';
    return out;
}

static void add_device(struct page *p, struct labels *l, const struct sample_unit *u, bool is_instance)
{
    const struct page_config *c = p->config;
    const char *device = arena_printf(p->arena, "nvidia%u", u->gpu->minor);
    const char *model = c->replace_blanks ? without_blanks(p->arena, u->gpu->name) : u->gpu->name;
    label_add(l, "gpu", arena_printf(p->arena, "%u", u->gpu->index));
    label_add(l, c->old_namespace ? "uuid" : "UUID", c->gpu_id_device_name ? device : u->gpu->uuid);
    label_add(l, "pci_bus_id", page_bus_id(p->arena, u->gpu->bus_id));
    label_add(l, "device", device);
    label_add(l, "modelName", model);
    if (is_instance && u->mig) {
        label_add(l, "GPU_I_PROFILE", u->mig->profile);
        label_add(l, "GPU_I_ID", arena_printf(p->arena, "%u", u->mig->gi));
    }
    if (!c->no_hostname)
        label_add(l, c->hostname_lower ? "hostname" : "Hostname", p->sample->hostname);
}

static int by_label_name(const void *a, const void *b)
{
    return strcmp(((const struct prometheus_label *)a)->name, ((const struct prometheus_label *)b)->name);
}

/* Labels of one family alone. */
struct extra {
    struct prometheus_label list[2];
    uint32_t n;
    bool is_attribute; /* stands among the pod's labels, else among the label fields */
};
static void add_extra(struct labels *l, const struct extra *x, bool attributes)
{
    for (uint32_t i = 0; x && x->is_attribute == attributes && i < x->n; i++)
        label_add(l, x->list[i].name, x->list[i].value);
}

static const char *label_field(struct page *p, const struct sample_unit *u, const struct dcgm_field *f)
{
    double value;
    switch (f->id) {
    case FIELD_DRIVER_VERSION:
        return p->sample->inventory->reading->driver_version;
    case FIELD_NAME:
        return u->gpu->name;
    case FIELD_SERIAL:
        return u->gpu->serial;
    case FIELD_UUID:
        return u->gpu->uuid;
    case FIELD_BUS_ID:
        return page_bus_id(p->arena, u->gpu->bus_id);
    case FIELD_FABRIC_CLUSTER:
        return u->gpu->lost ? "" : u->gpu->fabric_cluster;
    default:
        return value_of(p, f, u, u->values, &value) ? arena_printf(p->arena, "%.15g", value) : "";
    }
}

static void add_label_fields(struct page *p, struct labels *l, const struct sample_unit *u, const struct extra *x)
{
    uint32_t first = l->n;
    for (uint32_t i = 0; i < p->config->counters_n; i++) {
        const struct page_counter *c = &p->config->counters[i];
        const char *value = c->is_label ? label_field(p, u, c->field) : "";
        if (*value)
            label_add(l, c->name, value);
    }
    add_extra(l, x, false);
    qsort(l->list + first, l->n - first, sizeof *l->list, by_label_name);
}

/* Pod labels may not take a name that is there already. */
static void add_pod_labels(struct labels *l, const struct sample_container *c)
{
    for (uint32_t i = 0; i < c->pod_labels_n; i++) {
        bool known = false;
        for (uint32_t k = 0; k < l->n; k++)
            known |= text_equal(l->list[k].name, c->pod_labels[i].name);
        if (!known)
            label_add(l, c->pod_labels[i].name, c->pod_labels[i].value);
    }
}

static void add_holder(struct page *p, struct labels *l, const struct holder *h, const struct extra *x, const char *job)
{
    const struct sample_container *c = h && h->pods_n == 1 ? h->container : NULL;
    bool old = p->config->old_namespace;
    uint32_t first = l->n;
    label_add(l, old ? "container_name" : "container", c ? c->container : "");
    label_add(l, old ? "pod_namespace" : "namespace", c ? c->ns : "");
    label_add(l, old ? "pod_name" : "pod", c ? c->pod : "");
    if (c && p->config->pod_uid && *c->pod_uid)
        label_add(l, "pod_uid", c->pod_uid);
    if (c && p->config->virtual_gpus && *h->replica)
        label_add(l, "vgpu", h->replica);
    if (job)
        label_add(l, "hpc_job", job);
    add_extra(l, x, true);
    qsort(l->list + first, l->n - first, sizeof *l->list, by_label_name);
    if (c)
        add_pod_labels(l, c);
}

/* One row: board, or unit with who has it; of several jobs on it, one each. */
static void row(struct page *p, const struct sample_unit *u, bool is_instance, const struct holder *h,
                const struct extra *x, double value)
{
    struct page_jobs jobs = page_jobs_of(p, u);
    for (uint32_t i = 0; i < (jobs.n ? jobs.n : 1); i++) {
        struct labels l = {.n = 0};
        add_device(p, &l, u, is_instance);
        add_label_fields(p, &l, u, x);
        add_holder(p, &l, h, x, jobs.n ? jobs.ids[i] : NULL);
        prometheus_sample(&p->out, l.list, l.n, value);
    }
}

/* Rows for every holder of a shared device (virtual GPUs), else one. */
static void rows(struct page *p, const struct sample_unit *u, bool is_instance, const struct extra *x, double value)
{
    const struct sample *s = p->sample;
    struct holder h = holder_of(s, u);
    bool any = false;
    for (uint32_t i = 0; p->config->virtual_gpus && h.pods_n > 0 && i < s->allocations_n; i++) {
        const struct sample_allocation *a = &s->allocations[i];
        if (&s->units[a->unit] != u || a->container < 0)
            continue;
        struct holder one = {&s->containers[a->container], a->replica, 1};
        row(p, u, is_instance, &one, x, value);
        any = true;
    }
    if (!any)
        row(p, u, is_instance, &h, x, value);
}

/* ---- rows of a family ---- */

/* Compute instances of one GPU instance cannot be told apart by these labels: the first stands for all. */
static bool repeats_instance(const struct sample *s, const struct sample_unit *u)
{
    return u > s->units && u->mig && u[-1].gpu == u->gpu && u[-1].mig && u[-1].mig->gi == u->mig->gi;
}

/* A value of a board: on the unit that is the whole GPU, with who has it; of a GPU that is cut, on the board or on each instance. */
static void board_rows(struct page *p, const struct sample_unit *board, const struct extra *x, double value)
{
    const struct sample *s = p->sample;
    bool any = false;
    for (uint32_t k = 0; k < s->units_n; k++) {
        const struct sample_unit *u = &s->units[k];
        if (u->gpu != board->gpu || (u->mig && !p->config->repeat_boards) || repeats_instance(s, u))
            continue;
        rows(p, u, true, x, value);
        any = true;
    }
    if (!any)
        row(p, board, false, NULL, x, value);
}

static void board_family(struct page *p, const struct dcgm_field *f)
{
    bool is_nvlink = f->id == FIELD_NVLINK_BANDWIDTH_TOTAL;
    for (uint32_t i = 0; i < p->sample->boards_n; i++) {
        const struct sample_unit *board = &p->sample->boards[i];
        double value = board->nvlink_mb_per_s;
        if (is_nvlink ? value >= 0 : value_of(p, f, board, board->board, &value))
            board_rows(p, board, NULL, value);
    }
}

static void unit_family(struct page *p, const struct dcgm_field *f)
{
    double value;
    for (uint32_t i = 0; i < p->sample->units_n; i++) {
        const struct sample_unit *u = &p->sample->units[i];
        if (!repeats_instance(p->sample, u) && value_of(p, f, u, u->values, &value))
            rows(p, u, true, NULL, value);
    }
}

/* ---- families that are made here ---- */

static void last_xid_family(struct page *p)
{
    const struct sample *s = p->sample;
    for (uint32_t i = 0; i < s->boards_n; i++) {
        const struct sample_xid *last = NULL;
        for (uint32_t k = 0; k < s->xids_n; k++)
            if (text_equal(s->xids[k].gpu_uuid, s->boards[i].gpu->uuid) && s->xids[k].n &&
                (!last || s->xids[k].last_s > last->last_s))
                last = &s->xids[k];
        const struct xid_entry *known = last ? xid_find(last->xid) : NULL;
        const char *text = known ? known->name : last ? "Unknown Error" : "No Error";
        struct extra x = {
            {{"err_code", arena_printf(p->arena, "%u", last ? last->xid : 0)}, {"err_msg", text}}, 2, true};
        board_rows(p, &s->boards[i], &x, last ? last->xid : 0);
    }
}

/* A row for each thing that was counted on the board, or one that says 0 of none. */
static void window_row(struct page *p, const struct sample_unit *board, int64_t window_ms, const char *label,
                       const char *what, double n)
{
    const char *size = arena_printf(p->arena, "%lld", (long long)window_ms);
    struct extra x = {{{"window_size_in_ms", size}, {label, what}}, what ? 2 : 1, false};
    board_rows(p, board, &x, n);
}

static void xid_count_family(struct page *p)
{
    const struct sample *s = p->sample;
    for (uint32_t i = 0; i < s->boards_n; i++) {
        bool any = false;
        for (uint32_t k = 0; k < s->xids_n; k++) {
            const struct sample_xid *x = &s->xids[k];
            if (!x->window_n || !text_equal(x->gpu_uuid, s->boards[i].gpu->uuid))
                continue;
            window_row(p, &s->boards[i], s->xid_window_ms, "xid", arena_printf(p->arena, "%u", x->xid), x->window_n);
            any = true;
        }
        if (!any)
            window_row(p, &s->boards[i], s->xid_window_ms, NULL, NULL, 0);
    }
}

static void clock_event_family(struct page *p)
{
    static const char *const names[SAMPLE_CLOCK_EVENTS] = {"gpu_idle",    "clocks_setting", "power_cap",
                                                           "hw_slowdown", "sync_boost",     "sw_thermal",
                                                           "hw_thermal",  "hw_power_brake", "display_clocks"};
    const struct sample *s = p->sample;
    for (uint32_t i = 0; i < s->boards_n; i++) {
        const struct sample_unit *board = &s->boards[i];
        bool any = false;
        for (int b = 0; b < SAMPLE_CLOCK_EVENTS; b++) {
            if (!board->clock_events[b])
                continue;
            window_row(p, board, s->clock_window_ms, "clock_event", names[b], board->clock_events[b]);
            any = true;
        }
        if (!any)
            window_row(p, board, s->clock_window_ms, NULL, NULL, 0);
    }
}

/* WHY  only the watch ALL: the others are checks that DCGM makes and we do not; a 0 there would say that they passed. */
static void health_family(struct page *p)
{
    for (uint32_t i = 0; i < p->sample->boards_n; i++) {
        enum unit_health h = p->sample->boards[i].health;
        struct extra x = {
            {{"health_error_code", h == UNIT_HEALTHY ? "DCGM_FR_OK" : "DCGM_FR_UNKNOWN"}, {"health_watch", "ALL"}},
            2,
            false};
        board_rows(p, &p->sample->boards[i], &x,
                   h == UNIT_HEALTHY                          ? 0
                   : h == UNIT_SUSPECT || h == UNIT_PROBATION ? 10
                                                              : 20);
    }
}

static void family(struct page *p, const struct page_counter *c)
{
    const struct dcgm_field *f = c->field;
    prometheus_family(&p->out, c->name, c->type, c->help);
    switch (f->id) {
    case FIELD_XID_ERRORS:
        last_xid_family(p);
        break;
    case FIELD_XID_ERRORS_COUNT:
        xid_count_family(p);
        break;
    case FIELD_CLOCK_EVENTS_COUNT:
        clock_event_family(p);
        break;
    case FIELD_GPU_HEALTH_STATUS:
        health_family(p);
        break;
    default:
        if (f->level == DCGM_BOARD)
            board_family(p, f);
        else
            unit_family(p, f);
    }
}

/* ORDER  by field id, as dcgm-exporter's template sorts them; page_counters_parse has done so. */
void page_dcgm(struct page *p)
{
    page_jobs_read(p);
    for (uint32_t i = 0; i < p->config->counters_n; i++)
        if (!p->config->counters[i].is_label)
            family(p, &p->config->counters[i]);
}
