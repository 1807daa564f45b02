/* feedback.c - what was written last is remembered unit by unit; small changes wait */
#include "exporter/push/feedback.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/memory.h"
#include "exporter/push/session_note.h"
#include "wire/json.h"

#define MIB 1048576.0
#define BYTES_MAX (16u << 10)
#define ACTIVITY_STEP 0.1
#define MEMORY_STEP 0.05
#define MARGIN_STEP 3.0
#define QUIET_PERIODS 10 /* then it is written all the same: its age says that we live */

/* Bits of the clocks' event reasons that cost the job speed: slowdown, heat (software, hardware), power brake. The cap of the board's
 * power is not among them: a busy board reaches it on a good day. SOURCE nvml.h nvmlClocksEventReason* */
#define THROTTLED_BITS (0x8u | 0x20u | 0x40u | 0x80u)

struct unit_state {
    char id[48];
    double activity, margin; /* NAN unknown */
    double memory_used_mib, memory_total_mib; /* total 0: unknown */
    bool throttled;
    uint32_t xid;
    double xid_s;
    uint32_t units_n; /* that this stands for */
};
struct feedback {
    int64_t period_ms, written_ms;
    bool is_written;
    struct unit_state *units; /* as written last */
    uint32_t units_n;
    uint64_t sessions_written; /* who was there: session_note_text */
    double network, network_written; /* bytes a second; below zero: unknown */
    bool rdma;
};

struct feedback *feedback_new(int64_t period_ms)
{
    struct feedback *f = mem_zero(1, sizeof *f);
    f->period_ms = period_ms;
    f->network = f->network_written = -1;
    return f;
}

void feedback_free(struct feedback *f)
{
    if (!f)
        return;
    free(f->units);
    free(f);
}

void feedback_network(struct feedback *f, double bytes_per_s, bool rdma)
{
    f->network = bytes_per_s;
    f->rdma = rdma;
}

/* ---- a sample as units ---- */

static double value_of(const struct measure_values *v, enum measure m)
{
    double value;
    return v && measure_get(v, m, &value) ? value : NAN;
}

static double margin_of(const struct measure_values *board)
{
    double margin = value_of(board, MEASURE_TEMPERATURE_MARGIN);
    return isnan(margin) ? value_of(board, MEASURE_TEMPERATURE_SLOWDOWN) - value_of(board, MEASURE_TEMPERATURE) : margin;
}

static void find_xid(const struct sample *s, const char *gpu_uuid, struct unit_state *u)
{
    for (uint32_t i = 0; i < s->xids_n; i++) {
        const struct sample_xid *x = &s->xids[i];
        if (x->n > 0 && x->last_s > u->xid_s && text_equal(x->gpu_uuid, gpu_uuid)) {
            u->xid = x->xid;
            u->xid_s = x->last_s;
        }
    }
}

static struct unit_state state_of(const struct sample *s, const struct sample_unit *unit)
{
    struct unit_state u = {.units_n = 1, .activity = unit->activity < 0 ? NAN : unit->activity};
    const char *id = sample_unit_uuid(unit);
    (void)snprintf(u.id, sizeof u.id, "%s", id);
    double used = value_of(unit->values, MEASURE_FB_USED_MIB), total = value_of(unit->values, MEASURE_FB_TOTAL_MIB);
    if (!isnan(used) && !isnan(total)) {
        u.memory_used_mib = used;
        u.memory_total_mib = total;
    }
    u.margin = margin_of(unit->board);
    double reasons = value_of(unit->board, MEASURE_CLOCK_EVENT_REASONS);
    u.throttled = !isnan(reasons) && ((uint64_t)reasons & THROTTLED_BITS) != 0;
    find_xid(s, unit->gpu->uuid, &u);
    return u;
}

/* One entry a GPU instead of one a unit: mean activity, sums of memory. */
static uint32_t group(const struct sample *s, struct unit_state *units)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->units_n; i++) {
        struct unit_state one = units[i], *to = n ? &units[n - 1] : NULL;
        const char *gpu = s->units[i].gpu->uuid;
        if (!to || !text_equal(to->id, gpu)) {
            (void)snprintf(one.id, sizeof one.id, "%s", gpu);
            units[n++] = one;
            continue;
        }
        to->activity = (to->activity * to->units_n + one.activity) / (to->units_n + 1);
        to->units_n++;
        to->memory_used_mib += one.memory_used_mib;
        to->memory_total_mib += one.memory_total_mib;
    }
    return n;
}

/* ---- text ---- */

static void unit_text(struct buf *out, const struct unit_state *u)
{
    buf_text(out, "{\"id\":");
    json_write_string(out, bytes_of(u->id));
    if (!isnan(u->activity))
        buf_printf(out, ",\"activity\":%.2f", u->activity);
    if (u->memory_total_mib > 0)
        buf_printf(out, ",\"memory\":[%.0f,%.0f]", u->memory_used_mib, u->memory_total_mib);
    if (!isnan(u->margin))
        buf_printf(out, ",\"margin\":%.0f", u->margin);
    buf_printf(out, ",\"throttled\":%s,\"xid\":%u,\"xidAt\":%.0f}", u->throttled ? "true" : "false", u->xid, u->xid_s);
}

static void whole_text(struct buf *out, const struct feedback *f, const struct sample *s, const struct unit_state *units,
                       uint32_t n)
{
    buf_clear(out);
    buf_printf(out, "{\"at\":%.0f,\"period\":%.3g,", floor(s->wall_s), (double)f->period_ms / 1000);
    if (f->network >= 0)
        buf_printf(out, "\"network\":%.0f,\"networkOf\":\"%s\",", f->network, f->rdma ? "rdma" : "ethernet");
    buf_text(out, "\"units\":[");
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            buf_char(out, ',');
        unit_text(out, &units[i]);
    }
    buf_text(out, "]}");
}

/* ---- what counts as a change ---- */

/* By at least `step`; known and unknown always differ. */
static bool moved(double a, double b, double step)
{
    return isnan(a) != isnan(b) || fabs(a - b) >= step - 1e-9;
}

static bool unit_changed(const struct unit_state *was, const struct unit_state *is)
{
    double step = MEMORY_STEP * (is->memory_total_mib > 0 ? is->memory_total_mib : 1);
    return !text_equal(was->id, is->id) || moved(was->activity, is->activity, ACTIVITY_STEP) ||
           was->memory_total_mib < is->memory_total_mib || was->memory_total_mib > is->memory_total_mib ||
           moved(was->memory_used_mib, is->memory_used_mib, step) || moved(was->margin, is->margin, MARGIN_STEP) ||
           was->throttled != is->throttled || was->xid != is->xid || was->xid_s < is->xid_s || was->xid_s > is->xid_s;
}

/* Unknown, quiet, or not. */
static int how_busy(double network)
{
    return network < 0 ? -1 : network >= FEEDBACK_QUIET_BYTES;
}

static bool changed(const struct feedback *f, const struct unit_state *units, uint32_t n)
{
    if (n != f->units_n || how_busy(f->network) != how_busy(f->network_written))
        return true;
    for (uint32_t i = 0; i < n; i++)
        if (unit_changed(&f->units[i], &units[i]))
            return true;
    return false;
}

bool feedback_update(struct feedback *f, const struct sample *s, int64_t now_ms, struct buf *out, struct buf *sessions)
{
    int64_t age_ms = now_ms - f->written_ms;
    if (f->is_written && age_ms < f->period_ms)
        return false;
    uint32_t n = s->units_n;
    struct unit_state *units = mem_zero(n + 1, sizeof *units);
    for (uint32_t i = 0; i < n; i++)
        units[i] = state_of(s, &s->units[i]);
    whole_text(out, f, s, units, n);
    if (out->n > BYTES_MAX) {
        n = group(s, units);
        whole_text(out, f, s, units, n);
    }
    uint64_t who = session_note_text(s, f->period_ms, sessions);
    if (f->is_written && age_ms < QUIET_PERIODS * f->period_ms && who == f->sessions_written && !changed(f, units, n)) {
        free(units);
        return false;
    }
    free(f->units);
    f->units = units;
    f->units_n = n;
    f->written_ms = now_ms;
    f->network_written = f->network;
    f->sessions_written = who;
    f->is_written = true;
    return true;
}

void feedback_patch(struct bytes text, struct bytes sessions, struct buf *out)
{
    buf_clear(out);
    buf_text(out, "{\"metadata\":{\"annotations\":{\"" FEEDBACK_ANNOTATION "\":");
    json_write_string(out, text);
    buf_text(out, ",\"" SESSIONS_ANNOTATION "\":");
    json_write_string(out, sessions);
    buf_text(out, "}}}");
}
