/* session_note.c - see session_note.h */
#include "exporter/push/session_note.h"
#include <math.h>
#include "wire/json.h"

#define MIB 1048576.0
#define BYTES_MAX (16u << 10)

/* SOURCE FNV-1a */
static uint64_t mixed(uint64_t hash, const void *data, size_t n)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t who(uint64_t hash, const struct sample *s, const struct sample_process *p)
{
    const char *id = sample_unit_uuid(&s->units[p->unit]), *pod = p->container >= 0 ? s->containers[p->container].pod : "";
    hash = mixed(hash, id, strlen(id) + 1);
    hash = mixed(hash, pod, strlen(pod) + 1);
    hash = mixed(hash, &p->measured->pid, sizeof p->measured->pid);
    return mixed(hash, &p->start_ticks, sizeof p->start_ticks);
}

static void session_text(struct buf *out, const struct sample *s, const struct sample_process *p)
{
    const struct sample_unit *u = &s->units[p->unit];
    const struct sample_container *c = p->container >= 0 ? &s->containers[p->container] : NULL;
    buf_text(out, "{\"unit\":");
    json_write_string(out, bytes_of(sample_unit_uuid(u)));
    buf_printf(out, ",\"pid\":%u,\"command\":", p->measured->pid);
    json_write_string(out, bytes_of(p->command));
    if (c && *c->pod) {
        _cleanup_buf_ struct buf pod = {0};
        buf_printf(&pod, "%s/%s", c->ns, c->pod);
        buf_text(out, ",\"pod\":");
        json_write_string(out, buf_view(&pod));
        buf_text(out, ",\"container\":");
        json_write_string(out, bytes_of(c->container));
    }
    if (p->measured->memory_bytes != UINT64_MAX)
        buf_printf(out, ",\"memory\":%.0f", floor((double)p->measured->memory_bytes / MIB));
    if (!u->mig)
        buf_printf(out, ",\"busy\":%u", p->sm_percent);
    if (p->start_time_s > 0)
        buf_printf(out, ",\"since\":%.0f", floor(p->start_time_s));
    buf_char(out, '}');
}

uint64_t session_note_text(const struct sample *s, int64_t period_ms, struct buf *out)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    uint32_t more_n = s->processes_left_out_n;
    _cleanup_buf_ struct buf list = {0}, one = {0};
    buf_text(&list, "");
    for (uint32_t i = 0; i < s->processes_n; i++) {
        hash = who(hash, s, &s->processes[i]);
        buf_clear(&one);
        session_text(&one, s, &s->processes[i]);
        if (list.n + one.n + 128 > BYTES_MAX) { /* 128: what stands around the list */
            more_n++;
            continue;
        }
        buf_text(&list, list.n ? "," : "");
        buf_add(&list, one.data, one.n);
    }
    buf_clear(out);
    buf_printf(out, "{\"at\":%.0f,\"period\":%.3g,", floor(s->wall_s), (double)period_ms / 1000);
    if (more_n)
        buf_printf(out, "\"more\":%u,", more_n);
    buf_printf(out, "\"sessions\":[%s]}", list.data);
    return hash;
}
