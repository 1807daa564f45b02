/* influx.c - one body a sample and database; names, tags and types are fixed here and never change */
#include "exporter/push/influx.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/memory.h"
#include "exporter/push/gzip.h"

struct influx {
    struct influx_config config;
    char *node_name; /* config points to it */
    struct push *push;
    struct push *pods; /* KETI: the second database */
    struct buf lines, packed;
};

static const struct http_param push_headers[] = {{"Content-Encoding", "gzip"}};

/* ---- writing lines ---- */

/* Escaped: spaces, commas, = and a backslash at the end. */
static void name_write(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == ',' || *text == ' ' || *text == '=' || (*text == '\\' && text[1] == '\0'))
            buf_char(out, '\\');
        buf_char(out, *text == '\n' ? ' ' : *text);
    }
}

static void add_quoted(struct buf *out, const char *text)
{
    buf_char(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_char(out, '\\');
        buf_char(out, *text == '\n' ? ' ' : *text);
    }
    buf_char(out, '"');
}

struct line {
    struct buf *out;
    size_t at; /* where it began: a line without fields is taken back */
    bool has_fields;
};

static struct line line_begin(struct buf *out, const char *measurement)
{
    struct line l = {.out = out, .at = out->n};
    name_write(out, measurement);
    return l;
}

/* Tags without a value are not allowed: left out. */
static void line_tag(struct line *l, const char *name, const char *value)
{
    if (!*value)
        return;
    buf_char(l->out, ',');
    name_write(l->out, name);
    buf_char(l->out, '=');
    name_write(l->out, value);
}

static void field_begin(struct line *l, const char *name)
{
    buf_char(l->out, l->has_fields ? ',' : ' ');
    name_write(l->out, name);
    buf_char(l->out, '=');
    l->has_fields = true;
}

static void line_integer(struct line *l, const char *name, double value)
{
    field_begin(l, name);
    buf_printf(l->out, "%.0fi", value);
}

static void line_real(struct line *l, const char *name, double value)
{
    if (isnan(value) || isinf(value))
        return;
    field_begin(l, name);
    buf_printf(l->out, "%.6g", value);
}

static void line_text(struct line *l, const char *name, const char *value)
{
    field_begin(l, name);
    add_quoted(l->out, value);
}

static void line_end(struct line *l, double wall_s)
{
    if (l->has_fields)
        buf_printf(l->out, " %.0f\n", floor(wall_s));
    else
        l->out->n = l->at;
}

static void measured_integer(struct line *l, const char *name, const struct measure_values *v, enum measure m,
                             double scale)
{
    double value;
    if (v && measure_get(v, m, &value))
        line_integer(l, name, value * scale);
}

/* ---- our schema ---- */

static void unit_line(struct buf *out, const struct influx_config *c, const struct sample *s,
                      const struct sample_unit *u)
{
    struct line l = line_begin(out, "gpu");
    double watts;
    line_tag(&l, "UUID", sample_unit_uuid(u));
    line_tag(&l, "gpu", u->session_label);
    line_tag(&l, "host", c->node_name);
    line_tag(&l, "mig", u->mig ? u->mig->profile : "");
    if (u->activity >= 0)
        line_real(&l, "activity", u->activity);
    measured_integer(&l, "memory_total", u->values, MEASURE_FB_TOTAL_MIB, 1048576);
    measured_integer(&l, "memory_used", u->values, MEASURE_FB_USED_MIB, 1048576);
    if (!u->mig && measure_get(u->board, MEASURE_POWER_MW, &watts))
        line_real(&l, "power", watts / 1000);
    if (!u->mig)
        measured_integer(&l, "temperature", u->board, MEASURE_TEMPERATURE, 1);
    line_integer(&l, "sessions", u->sessions_n);
    line_end(&l, s->wall_s);
}

static void process_line(struct buf *out, const struct influx_config *c, const struct sample *s,
                         const struct sample_process *p)
{
    struct line l = line_begin(out, "gpu_process");
    char pid[16];
    snprintf(pid, sizeof pid, "%u", p->measured->pid);
    const struct sample_container *k = p->container >= 0 ? &s->containers[p->container] : NULL;
    line_tag(&l, "UUID", sample_unit_uuid(&s->units[p->unit]));
    line_tag(&l, "command", p->command);
    line_tag(&l, "container", k ? k->container : "");
    line_tag(&l, "host", c->node_name);
    line_tag(&l, "namespace", k ? k->ns : "");
    line_tag(&l, "pod", k ? k->pod : "");
    line_tag(&l, "process", pid); /* two of one command are two series: one point each, not one over the other */
    line_integer(&l, "pid", p->measured->pid);
    if (p->measured->memory_bytes != UINT64_MAX)
        line_integer(&l, "memory", (double)p->measured->memory_bytes);
    line_end(&l, s->wall_s);
}

/* ---- KETI's schema ---- */

static void keti_gpu(struct buf *out, const struct influx_config *c, const struct sample *s,
                     const struct sample_unit *u)
{
    struct line l = line_begin(out, "gpumetric");
    line_tag(&l, "UUID", sample_unit_uuid(u));
    line_tag(&l, "node", c->node_name); /* theirs had none: two nodes wrote into one series */
    line_integer(&l, "Index", u->gpu->index);
    line_text(&l, "GPUName", u->gpu->name);
    measured_integer(&l, "memory(total)", u->values, MEASURE_FB_TOTAL_MIB, 1048576);
    measured_integer(&l, "memory(free)", u->values, MEASURE_FB_FREE_MIB, 1048576);
    measured_integer(&l, "memory(used)", u->values, MEASURE_FB_USED_MIB, 1048576);
    measured_integer(&l, "Power", u->board, MEASURE_POWER_MW, 1);
    measured_integer(&l, "temperature", u->board, MEASURE_TEMPERATURE, 1);
    measured_integer(&l, "FanSpeed", u->board, MEASURE_FAN_PERCENT, 1);
    if (u->activity >= 0)
        line_integer(&l, "utilization", u->activity * 100);
    line_integer(&l, "Podnum", u->sessions_n);
    line_end(&l, s->wall_s);
}

static void keti_node(struct buf *out, const struct influx_config *c, const struct sample *s)
{
    struct line l = line_begin(out, "multimetric");
    _cleanup_buf_ struct buf uuids = {0};
    buf_char(&uuids, '[');
    for (uint32_t i = 0; i < s->units_n; i++)
        buf_printf(&uuids, "%s%s", i ? " " : "", sample_unit_uuid(&s->units[i]));
    buf_char(&uuids, ']');
    line_tag(&l, "node", c->node_name);
    line_integer(&l, "Count", s->units_n);
    line_text(&l, "NodeName", c->node_name);
    line_text(&l, "uuid", uuids.data);
    line_end(&l, s->wall_s);
}

static void keti_process(struct buf *out, const struct influx_config *c, const struct sample *s,
                         const struct sample_process *p)
{
    struct line l = line_begin(out, "podmetric");
    char pid[16];
    snprintf(pid, sizeof pid, "%u", p->measured->pid);
    const struct sample_container *k = p->container >= 0 ? &s->containers[p->container] : NULL;
    line_tag(&l, "UUID", sample_unit_uuid(&s->units[p->unit]));
    line_tag(&l, "node", c->node_name);
    line_tag(&l, "pid", pid); /* two clients of one GPU are two series */
    line_text(&l, "gpu_mps_process", p->command);
    line_integer(&l, "gpu_mps_pid", p->measured->pid);
    if (p->measured->memory_bytes != UINT64_MAX)
        line_integer(&l, "gpu_mps_memory", (double)p->measured->memory_bytes);
    line_text(&l, "gpu_mps_pod", k ? k->pod : "");
    line_text(&l, "gpu_mps_uid", k ? k->pod_uid : "");
    line_end(&l, s->wall_s);
}

void influx_lines(const struct influx_config *c, const struct sample *s, bool pods, struct buf *out)
{
    for (uint32_t i = 0; !pods && i < s->units_n; i++)
        (c->keti ? keti_gpu : unit_line)(out, c, s, &s->units[i]);
    if (!pods && c->keti)
        keti_node(out, c, s);
    for (uint32_t i = 0; pods == c->keti && i < s->processes_n; i++)
        (c->keti ? keti_process : process_line)(out, c, s, &s->processes[i]);
}

static void send_lines(struct influx *i, struct push *to, const struct sample *s, bool pods)
{
    buf_clear(&i->lines);
    buf_clear(&i->packed);
    influx_lines(&i->config, s, pods, &i->lines);
    if (i->lines.n && gzip_add(&i->packed, buf_view(&i->lines)))
        push_add(to, buf_view(&i->packed));
}

void influx_send(struct influx *i, const struct sample *s)
{
    send_lines(i, i->push, s, false);
    if (i->pods)
        send_lines(i, i->pods, s, true);
}

/* ---- life ---- */

static void add_encoded(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "&%s=", name);
    http_escape(out, value);
}

static int push_to(struct loop *l, const struct influx_config *c, const char *database, struct push **ret_push,
                   struct err *e)
{
    _cleanup_buf_ struct buf path = {0}, authorization = {0};
    if (c->version == 2) {
        buf_text(&path, "/api/v2/write?precision=s");
        add_encoded(&path, "org", c->org);
        add_encoded(&path, "bucket", c->bucket);
        buf_printf(&authorization, "Token %s", c->token ? c->token : "");
    } else {
        buf_text(&path, "/write?precision=s");
        add_encoded(&path, "db", database);
        if (c->user) /* not u= and p=: paths are logged */
            push_basic(&authorization, c->user, c->password);
    }
    return push_new(l,
                    &(struct push_config){.url = c->url,
                                          .path = path.data,
                                          .content_type = "text/plain; charset=utf-8",
                                          .authorization = authorization.data,
                                          .headers = push_headers,
                                          .headers_n = sizeof push_headers / sizeof *push_headers,
                                          .queue_max = c->queue_max},
                    ret_push, e);
}

static int check(const struct influx_config *c, struct err *e)
{
    if (c->version != 1 && c->version != 2)
        return err_set(e, E_INVALID, "InfluxDB API version %d: 1 or 2", c->version);
    if (c->version == 2 && (!c->org || !c->bucket || !c->token))
        return err_set(e, E_INVALID, "InfluxDB 2 needs an organisation, a bucket and a token");
    if (c->version == 1 && !c->database && !c->keti)
        return err_set(e, E_INVALID, "InfluxDB 1 needs the name of a database");
    if (c->version == 2 && c->keti)
        return err_set(e, E_INVALID, "KETI's schema is written to InfluxDB 1 (databases metric and multimetric)");
    return 0;
}

int influx_new(struct loop *l, const struct influx_config *config, struct influx **ret_i, struct err *e)
{
    int r = check(config, e);
    if (r < 0)
        return r;
    struct influx *i = mem_zero(1, sizeof *i);
    i->config = (struct influx_config){.version = config->version, .keti = config->keti};
    i->config.node_name = i->node_name = mem_text(config->node_name);
    r = push_to(l, config, config->keti ? "metric" : config->database, &i->push, e);
    if (r == 0 && config->keti)
        r = push_to(l, config, "multimetric", &i->pods, e);
    if (r < 0) {
        influx_free(i);
        return err_wrap(e, "InfluxDB");
    }
    *ret_i = i;
    return 0;
}

void influx_free(struct influx *i)
{
    if (!i)
        return;
    push_free(i->push);
    push_free(i->pods);
    free(i->node_name);
    buf_free(&i->lines);
    buf_free(&i->packed);
    free(i);
}

struct push_counts influx_counts(const struct influx *i)
{
    struct push_counts c = push_counts(i->push);
    if (i->pods) {
        struct push_counts more = push_counts(i->pods);
        c.sent_n += more.sent_n;
        c.retried_n += more.retried_n;
        c.dropped_n += more.dropped_n;
        c.refused_n += more.refused_n;
        c.queued_n += more.queued_n;
    }
    return c;
}
