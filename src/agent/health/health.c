/* health.c - records of units, their states, and the orders that follow
 *
 * ORDER  events change records; settle() then compares what the records say with the snapshot and orders the differences. Orders stand in a
 *        queue; a newer order about the same unit replaces an older one that is still in it.
 * WHY    records are made for every unit when it is first seen: what the journal says of it then (a restart of the agent) is taken over
 *        once, and never again, so that a snapshot which lags behind an order cannot bring an old state back.
 */
#include <stdio.h>
#include "agent/health/health.h"
#include "agent/health/health_blame.h"
#include "agent/health/health_filter.h"
#include "agent/inventory/slot_id.h"
#include "base/memory.h"
#include "gpu/nvml.h"

#define LIMIT_HEALTH_RECORDS 4096 /* 64 GPUs with 57 units each fit; events of unknown GPUs fill the rest */
#define LIMIT_HEALTH_ORDERS 8192
#define RECORD_UNSEEN_MS 60000    /* an instance that is gone for so long was destroyed */
#define RESET_TRIES 3
#define RESET_AGAIN_MS 30000
#define RESET_SILENT_MS 600000    /* a reset without an answer has failed */
#define REMAP_IDLE_MS 60000
#define EVENTS_PER_MINUTE 6       /* of one record */
#define XID_REMAP 63              /* spare memory rows come into use at the next reset */
#define XID_OFF_BUS 79            /* the driver does not reach it any more */
#define XID_RECOVERY 154          /* the driver's advice has changed; the reading has it */

struct record {
    char uuid[48];
    uint32_t gi, ci;
    enum unit_health health;
    uint32_t xid;
    int64_t since_ms, seen_ms;
    uint32_t failures;
    bool lost, reset_when_idle;
    uint32_t idle_xid;          /* why it is reset when idle */
    bool needs_reset, for_good; /* a fault that its return does not cure; one that nothing cures */
    uint64_t lost_reading;      /* of which the loss was told */
    bool reset_asked, again;    /* a reset is running; something happened while it did */
    uint32_t reset_tries;
    int64_t reset_ms, idle_ms;  /* asked, or not before; since when nobody is on the GPU, -1 somebody is */
    char leader[48];            /* GPU with which it is to be reset, since they are linked; "" none */
    bool lent;                  /* out of use for that alone */
    int64_t told_ms;
    uint32_t told_n, told_xid;  /* events in this minute; the last number */
};

struct health {
    struct health_filter filter;
    struct record *records;
    uint32_t records_n, records_cap;
    struct health_order *orders; /* [orders_at, orders_n) wait */
    uint32_t orders_at, orders_n, orders_cap;
    struct blame *blame;
    bool rebooted;
};

static int rank(enum unit_health health)
{
    static const int ranks[] = {[UNIT_HEALTHY] = 0, [UNIT_PROBATION] = 1, [UNIT_SUSPECT] = 2, [UNIT_DRAINING] = 3, [UNIT_FAILED] = 4};
    return ranks[health];
}

static bool same_unit(const struct health_order *o, const struct unit *u, uint32_t gi, uint32_t ci)
{
    return o->gi == gi && o->ci == ci && text_equal(o->gpu_uuid, u->gpu->uuid);
}

static struct health_order *order_add(struct health *h, enum health_act act, const char *uuid, uint32_t gi, uint32_t ci)
{
    if (h->orders_at == h->orders_n)
        h->orders_at = h->orders_n = 0;
    if (h->orders_n - h->orders_at >= LIMIT_HEALTH_ORDERS) /* nobody takes them: the oldest is lost, settle() repeats what matters */
        h->orders_at++;
    if (h->orders_at > LIMIT_HEALTH_ORDERS) {
        memmove(h->orders, h->orders + h->orders_at, (h->orders_n - h->orders_at) * sizeof *h->orders);
        h->orders_n -= h->orders_at;
        h->orders_at = 0;
    }
    MEM_RESERVE(h->orders, h->orders_cap, h->orders_n + 1);
    struct health_order *o = &h->orders[h->orders_n++];
    memset(o, 0, sizeof *o);
    o->act = act;
    o->gi = gi;
    o->ci = ci;
    (void)snprintf(o->gpu_uuid, sizeof o->gpu_uuid, "%s", uuid);
    return o;
}

/* "GPU-...", "GPU-... instance 1", "GPU-... instance 1/0" */
static void unit_text(struct buf *out, const char *uuid, uint32_t gi, uint32_t ci)
{
    buf_text(out, uuid);
    if (gi != HEALTH_WHOLE)
        buf_printf(out, " instance %u", gi);
    if (ci != HEALTH_WHOLE)
        buf_printf(out, "/%u", ci);
}

static void tell(struct health *h, const struct record *r, bool warning, uint32_t xid, const char *words)
{
    _cleanup_buf_ struct buf text = {0};
    unit_text(&text, r->uuid, r->gi, r->ci);
    const struct xid_entry *entry = xid ? xid_find(xid) : NULL;
    if (xid)
        buf_printf(&text, ": XID %u %s", xid, entry ? entry->name : "unknown error");
    buf_printf(&text, "%s%s", xid ? "; " : ": ", words);
    bool advises = warning || (entry && entry->action == XID_IGNORE);
    if (entry && advises && (r->health != UNIT_FAILED || entry->action >= XID_REBOOT))
        buf_printf(&text, ". %s", entry->advice);
    struct health_order *o = order_add(h, HEALTH_EVENT, r->uuid, r->gi, r->ci);
    o->xid = xid;
    o->warning = warning;
    (void)snprintf(o->text, sizeof o->text, "%s", text.data);
}

/* The same number again within the minute, or too many numbers: not told. */
static bool may_tell(struct record *r, uint32_t xid, int64_t now_ms)
{
    if (now_ms - r->told_ms >= 60000 || r->told_n == 0) {
        r->told_ms = now_ms;
        r->told_n = 0;
        r->told_xid = 0;
    }
    if (r->told_n >= EVENTS_PER_MINUTE || (r->told_n && r->told_xid == xid))
        return false;
    r->told_n++;
    r->told_xid = xid;
    return true;
}

static struct record *record_find(struct health *h, const char *uuid, uint32_t gi, uint32_t ci)
{
    for (uint32_t i = 0; i < h->records_n; i++) {
        struct record *r = &h->records[i];
        if (r->gi == gi && r->ci == ci && text_equal(r->uuid, uuid))
            return r;
    }
    return NULL;
}

static struct record *record_get(struct health *h, const char *uuid, uint32_t gi, uint32_t ci, int64_t now_ms)
{
    struct record *r = record_find(h, uuid, gi, ci);
    if (r)
        return r;
    if (h->records_n >= LIMIT_HEALTH_RECORDS)
        return NULL;
    MEM_RESERVE(h->records, h->records_cap, h->records_n + 1);
    r = &h->records[h->records_n++];
    memset(r, 0, sizeof *r);
    (void)snprintf(r->uuid, sizeof r->uuid, "%s", uuid);
    r->gi = gi;
    r->ci = ci;
    r->health = UNIT_HEALTHY;
    r->since_ms = r->seen_ms = now_ms;
    r->idle_ms = -1;
    return r;
}

static bool record_reaches(const struct record *r, const struct unit *u)
{
    if (!text_equal(r->uuid, u->gpu->uuid))
        return false;
    if (r->gi == HEALTH_WHOLE)
        return true;
    return u->mig && r->gi == u->mig->gi && (r->ci == HEALTH_WHOLE || r->ci == u->mig->ci);
}

/* What the records say against what the inventory says. */
static void settle(struct health *h, const struct inventory_snapshot *s)
{
    for (uint32_t i = 0; i < s->units_n; i++) {
        const struct unit *u = &s->units[i];
        uint32_t gi = u->mig ? u->mig->gi : HEALTH_WHOLE, ci = u->mig ? u->mig->ci : HEALTH_WHOLE, xid = 0;
        enum unit_health health = UNIT_HEALTHY;
        for (uint32_t k = 0; k < h->records_n; k++) {
            const struct record *r = &h->records[k];
            bool says_more = r->health == health && health != UNIT_HEALTHY && !xid; /* a fault of its own, and its GPU lent or lost */
            if ((rank(r->health) > rank(health) || says_more) && record_reaches(r, u)) {
                health = r->health;
                xid = r->xid;
            }
        }
        struct health_order *waiting = NULL;
        for (uint32_t k = h->orders_at; k < h->orders_n; k++) {
            if (h->orders[k].act == HEALTH_SET && same_unit(&h->orders[k], u, gi, ci))
                waiting = &h->orders[k];
        }
        if (!waiting && health == u->health && (health == UNIT_HEALTHY || xid == u->xid))
            continue;
        if (!waiting)
            waiting = order_add(h, HEALTH_SET, u->gpu->uuid, gi, ci);
        waiting->health = health;
        waiting->xid = xid;
    }
}

static void become(struct record *r, enum unit_health health, int64_t now_ms)
{
    if (r->health == UNIT_HEALTHY && health != UNIT_HEALTHY)
        r->idle_ms = -1;
    r->health = health;
    r->since_ms = now_ms;
}

static int64_t probation_ms(const struct record *r)
{
    uint32_t doublings = r->failures > 0 ? r->failures - 1 : 0;
    int64_t ms = HEALTH_PROBATION_MS;
    while (doublings-- && ms < HEALTH_PROBATION_MAX_MS)
        ms *= 2;
    return ms < HEALTH_PROBATION_MAX_MS ? ms : HEALTH_PROBATION_MAX_MS;
}

static void record_fail(struct health *h, struct record *r, uint32_t xid, const char *words, int64_t now_ms)
{
    if (r->health == UNIT_FAILED)
        return;
    bool stays = r->needs_reset || r->failures >= HEALTH_FAILURES_MAX; /* an agent that starts anew forgives a unit that was only lost */
    become(r, UNIT_FAILED, now_ms);
    if (xid != XID_OFF_BUS || !stays || !r->xid)
        r->xid = xid;
    tell(h, r, true, xid, words);
}

/* Another's reset concerns it no longer. */
static void leader_forget(struct record *r, int64_t now_ms)
{
    if (r->lent && r->health == UNIT_DRAINING)
        become(r, UNIT_PROBATION, now_ms);
    r->lent = false;
    r->leader[0] = '\0';
}

/* A fault of the unit itself (not of an application). */
static void record_fault(struct health *h, struct record *r, enum xid_action action, uint32_t xid, int64_t now_ms)
{
    if (r->reset_asked)
        r->again = true;
    leader_forget(r, now_ms); /* it may be under way, and does not cure this */
    if (r->health == UNIT_HEALTHY || r->health == UNIT_PROBATION)
        r->failures++;
    r->needs_reset = r->needs_reset || action == XID_DRAIN_RESET;
    if (!r->xid && (r->health == UNIT_SUSPECT || r->health == UNIT_FAILED)) /* lost until now */
        r->xid = xid;
    r->for_good = r->for_good || action == XID_RMA || r->failures >= HEALTH_FAILURES_MAX;
    if (action == XID_RMA) {
        record_fail(h, r, xid, "the board has to be replaced", now_ms);
    } else if (action == XID_REBOOT) {
        record_fail(h, r, xid, "the node has to be rebooted", now_ms);
    } else if (r->failures >= HEALTH_FAILURES_MAX && r->health != UNIT_FAILED) {
        record_fail(h, r, xid, "it failed again and again and is out of use for good", now_ms);
    } else if (r->health == UNIT_HEALTHY || r->health == UNIT_PROBATION) {
        become(r, UNIT_SUSPECT, now_ms);
        r->xid = xid;
        r->reset_tries = 0;
        r->reset_ms = now_ms;
        if (may_tell(r, xid, now_ms))
            tell(h, r, true, xid, "out of use");
    } else if (may_tell(r, xid, now_ms)) {
        tell(h, r, true, xid, "seen while it is out of use");
    }
}

static void record_lost(struct health *h, struct record *r, uint64_t reading, int64_t now_ms)
{
    if (r->lost)
        return;
    r->lost = true;
    r->lost_reading = reading;
    if (r->health == UNIT_HEALTHY || r->health == UNIT_PROBATION) {
        r->failures++;
        become(r, UNIT_SUSPECT, now_ms);
        r->xid = 0;
        if (may_tell(r, 0, now_ms))
            tell(h, r, true, 0, "the driver does not reach it; out of use");
    }
}

static void record_back(struct health *h, struct record *r, int64_t now_ms)
{
    if (!r->lost)
        return;
    r->lost = false;
    if (r->for_good || (r->health != UNIT_SUSPECT && r->health != UNIT_FAILED))
        return; /* waits for more than its return */
    become(r, r->needs_reset ? UNIT_SUSPECT : UNIT_PROBATION, now_ms);
    r->reset_tries = 0;
    tell(h, r, false, 0, r->needs_reset ? "the driver reaches it again; to be reset" : "the driver reaches it again; in probation");
}

static void app_error(struct health *h, struct record *r, uint32_t xid, int64_t now_ms)
{
    if (may_tell(r, xid, now_ms))
        blame_start(h->blame, r->uuid, r->gi, r->ci, xid, now_ms);
}

/* The driver's advice says least of why. */
static void want_idle_reset(struct record *r, uint32_t xid)
{
    if (!r->reset_when_idle || r->idle_xid == XID_RECOVERY)
        r->idle_xid = xid;
    r->reset_when_idle = true;
}

static void xid_event(struct health *h, struct record *r, const struct inventory_snapshot *s, uint32_t xid, bool nonfatal, int64_t now_ms)
{
    bool again = r->health == UNIT_PROBATION && r->xid == xid;
    switch (health_filter_action(&h->filter, xid, again, nonfatal)) {
    case XID_IGNORE:
        if (!health_filter_disables(&h->filter, xid) && may_tell(r, xid, now_ms))
            tell(h, r, false, xid, "the GPU stays in use");
        break;
    case XID_RESTART_APP:
        app_error(h, r, xid, now_ms);
        break;
    case XID_RESET_IDLE:
        want_idle_reset(r, xid);
        if (may_tell(r, xid, now_ms))
            tell(h, r, true, xid, "stays in use");
        break;
    case XID_DRAIN_RESET:
        record_fault(h, r, XID_DRAIN_RESET, xid, now_ms);
        break;
    case XID_REBOOT:
        if (xid == XID_OFF_BUS) { /* the driver will not say so itself until it is asked */
            r->lost = true;
            r->lost_reading = s->reading->number;
        }
        record_fault(h, r, XID_REBOOT, xid, now_ms);
        break;
    case XID_RMA:
        record_fault(h, r, XID_RMA, xid, now_ms);
        break;
    }
}

/* Where nobody says so of this very error, a driver that tells what its GPU needs is believed (follow_driver). */
static bool is_nonfatal(const struct health *h, const struct driver_event *e, const struct driver_gpu *gpu)
{
    bool advised = gpu && gpu->recovery_told && !health_filter_disables(&h->filter, XID_RECOVERY);
    return e->severity == DRIVER_SEVERITY_NONFATAL || (e->severity == DRIVER_SEVERITY_UNSAID && advised);
}

static void gpu_event(struct health *h, const struct driver_event *e, const char *uuid, const struct inventory_snapshot *s, int64_t now_ms)
{
    const struct driver_gpu *gpu = driver_reading_gpu(s->reading, uuid);
    bool instances = !gpu || gpu->mig_on; /* some drivers fill in 0 where there is no MIG */
    uint32_t gi = instances ? e->gi : HEALTH_WHOLE, ci = instances && gi != HEALTH_WHOLE ? e->ci : HEALTH_WHOLE;
    struct record *r = record_get(h, uuid, gi, ci, now_ms);
    if (!r)
        return;
    switch (e->kind) {
    case DRIVER_EVENT_XID:
        xid_event(h, r, s, e->data > UINT32_MAX ? UINT32_MAX : (uint32_t)e->data, is_nonfatal(h, e, gpu), now_ms);
        break;
    case DRIVER_EVENT_ECC_DOUBLE:
        xid_event(h, r, s, 48, false, now_ms);
        break;
    case DRIVER_EVENT_LOST:
        if ((r = record_get(h, uuid, HEALTH_WHOLE, HEALTH_WHOLE, now_ms)))
            record_lost(h, r, s->reading->number, now_ms);
        break;
    case DRIVER_EVENT_BACK:
        if ((r = record_get(h, uuid, HEALTH_WHOLE, HEALTH_WHOLE, now_ms)))
            record_back(h, r, now_ms);
        break;
    case DRIVER_EVENT_ECC_SINGLE: /* corrected */
    case DRIVER_EVENT_MIG_CHANGED:
        break;
    }
}

void health_event(struct health *h, const struct driver_event *event, const struct inventory_snapshot *s, int64_t now_ms)
{
    if (health_filter_off(&h->filter))
        return;
    if (event->uuid[0])
        gpu_event(h, event, event->uuid, s, now_ms);
    for (uint32_t i = 0; !event->uuid[0] && i < s->reading->gpus_n; i++)
        gpu_event(h, event, s->reading->gpus[i].uuid, s, now_ms);
    health_culprit(h, event);
    settle(h, s);
}

void health_culprit(struct health *h, const struct driver_event *event)
{
    if (event->pid && event->kind == DRIVER_EVENT_XID && event->data <= UINT32_MAX)
        blame_culprit(h->blame, event->uuid, event->gi, event->ci, (uint32_t)event->data, event->pid);
}

/* ---- time passes ---- */

static bool gpu_has_process(const struct driver_gpu *gpu, const struct driver_process *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].gpu == gpu->index)
            return true;
    }
    return false;
}

static bool gpu_may_be_owned(const struct inventory_snapshot *s, const struct driver_gpu *gpu)
{
    if (s->owners_unsure)
        return true;
    for (uint32_t i = 0; i < s->units_n; i++) {
        for (uint32_t k = 0; s->units[i].gpu == gpu && k < s->owners_n; k++) {
            if (slot_is_of(s->owners[k].slot, &s->units[i]))
                return true;
        }
    }
    return false;
}

/* A fault of one instance is cured by a reset of the GPU, when no other unit keeps it in use. NULL: no instance of it is in this state. */
static const struct record *instance_that_is(const struct health *h, const char *uuid, enum unit_health health)
{
    for (uint32_t i = 0; i < h->records_n; i++) {
        const struct record *r = &h->records[i];
        if (r->gi != HEALTH_WHOLE && r->health == health && text_equal(r->uuid, uuid))
            return r;
    }
    return NULL;
}

/* ---- GPUs that are reset together (driver_reset_set) ---- */

/* Nobody is on those that go with this one, nor will be by what is known. A lost one proves nothing. */
static bool linked_idle(struct health *h, const struct inventory_snapshot *s, const struct driver_gpu *gpu, int64_t now_ms)
{
    uint64_t set = driver_linked_set(s->reading, gpu);
    for (uint32_t i = 0; i < s->reading->gpus_n; i++) {
        const struct driver_gpu *other = &s->reading->gpus[i];
        if (!(set >> other->index & 1))
            continue;
        const struct record *r = record_find(h, other->uuid, HEALTH_WHOLE, HEALTH_WHOLE);
        int64_t need = gpu_may_be_owned(s, other) ? HEALTH_IDLE_OWNED_MS : HEALTH_IDLE_MS;
        if (!r || r->lost || r->reset_asked || r->idle_ms < 0 || now_ms - r->idle_ms < need)
            return false;
    }
    return true;
}

/* Takes those that go with this one out of use. True: they were already, so what linked_idle says holds. */
static bool linked_drain(struct health *h, const struct inventory_snapshot *s, const struct driver_gpu *gpu, int64_t now_ms)
{
    uint64_t set = driver_linked_set(s->reading, gpu);
    bool ready = true;
    for (uint32_t i = 0; i < s->reading->gpus_n; i++) {
        const struct driver_gpu *other = &s->reading->gpus[i];
        struct record *r = set >> other->index & 1 ? record_find(h, other->uuid, HEALTH_WHOLE, HEALTH_WHOLE) : NULL;
        if (!r)
            continue;
        ready = ready && rank(r->health) >= rank(UNIT_DRAINING);
        memcpy(r->leader, gpu->uuid, sizeof r->leader);
        if (rank(r->health) > rank(UNIT_PROBATION))
            continue;
        if (r->health == UNIT_HEALTHY)
            r->xid = 0; /* an earlier one is not why */
        become(r, UNIT_DRAINING, now_ms);
        r->lent = true;
        r->idle_ms = now_ms; /* once more, now that nothing new can come */
        tell(h, r, false, 0, "idle: is reset with a GPU that it is linked to");
    }
    return ready;
}

/* The reset of `leader` was done, or comes to nothing. */
static void linked_release(struct health *h, const char *leader, int64_t now_ms)
{
    for (uint32_t i = 0; i < h->records_n; i++) {
        struct record *r = &h->records[i];
        if (text_equal(r->leader, leader))
            leader_forget(r, now_ms);
    }
}

/* One that waits for another's reset: that may have come to nothing, or somebody is on it after all. */
static void linked_tick(struct health *h, struct record *r, bool busy, int64_t now_ms)
{
    const struct record *leader = r->lent ? record_find(h, r->leader, HEALTH_WHOLE, HEALTH_WHOLE) : NULL;
    if (r->lent && (busy || !leader || leader->health != UNIT_DRAINING)) {
        char uuid[sizeof r->leader];
        memcpy(uuid, r->leader, sizeof uuid);
        linked_release(h, uuid, now_ms);
    }
}

/* Advice that every reset leaves standing is a failure each time: else an idle GPU would be reset for ever. */
static void idle_reset(struct health *h, struct record *r, int64_t now_ms)
{
    if (r->idle_xid == XID_RECOVERY && ++r->failures >= HEALTH_FAILURES_MAX) {
        r->for_good = true;
        record_fail(h, r, r->idle_xid, "its driver wants a reset after every reset; it is out of use for good", now_ms);
        return;
    }
    become(r, UNIT_DRAINING, now_ms);
    r->xid = r->idle_xid;
    r->idle_ms = now_ms;
    r->reset_ms = now_ms;
    tell(h, r, false, r->xid, r->xid == XID_REMAP ? "idle: is reset to use spare memory rows" : "idle: is reset");
}

/* Nobody is on the GPU for `idle` ms: drains what waits for that, resets what is drained. */
static void gpu_idle(struct health *h, struct record *r, const struct driver_gpu *gpu, const struct inventory_snapshot *s, int64_t now_ms)
{
    bool owned = gpu_may_be_owned(s, gpu);
    int64_t idle = now_ms - r->idle_ms;
    const struct record *instance = instance_that_is(h, r->uuid, UNIT_DRAINING);
    int64_t need = owned ? HEALTH_IDLE_OWNED_MS : HEALTH_IDLE_MS;
    if (r->lost || r->reset_asked || r->lent || idle < need)
        return;
    if (r->health == UNIT_DRAINING && now_ms >= r->reset_ms) {
        if (!linked_idle(h, s, gpu, now_ms) || !linked_drain(h, s, gpu, now_ms))
            return;
        struct health_order *o = order_add(h, HEALTH_RESET, r->uuid, HEALTH_WHOLE, HEALTH_WHOLE);
        o->xid = r->xid;
        r->reset_asked = true;
        r->again = false;
        r->reset_ms = now_ms;
    } else if (rank(r->health) <= rank(UNIT_PROBATION) && instance) {
        become(r, UNIT_DRAINING, now_ms);
        r->xid = instance->xid;
        r->idle_ms = now_ms; /* once more, now that nothing new can come */
        r->reset_ms = now_ms;
    } else if (r->health == UNIT_HEALTHY && r->reset_when_idle && !owned && idle >= REMAP_IDLE_MS) {
        idle_reset(h, r, now_ms);
    }
}

/* The driver's own advice counts where nothing else has been told: events may be lost, and numbers unknown. A GPU that is out of use
 * already goes its way; when it comes through, and the driver still is not content, it starts again. Where one MIG instance waits for a
 * reset the advice is about its fault: the other instances work on until they are empty, unless the whole node has to be rebooted. */
static void follow_driver(struct health *h, struct record *r, const struct driver_gpu *gpu, int64_t now_ms)
{
    if (r->health != UNIT_HEALTHY || gpu->lost || gpu->mig_pending || health_filter_disables(&h->filter, XID_RECOVERY))
        return;
    bool instance_waits = instance_that_is(h, r->uuid, UNIT_SUSPECT) || instance_that_is(h, r->uuid, UNIT_DRAINING);
    if (instance_waits && gpu->recovery != NVML_RECOVERY_NODE_REBOOT)
        return;
    switch (gpu->recovery) {
    case NVML_RECOVERY_GPU_RESET:
        tell(h, r, true, 0, "its driver wants a reset");
        record_fault(h, r, XID_DRAIN_RESET, XID_RECOVERY, now_ms);
        break;
    case NVML_RECOVERY_NODE_REBOOT:
        tell(h, r, true, 0, "its driver wants a reboot of the node");
        record_fault(h, r, XID_REBOOT, XID_RECOVERY, now_ms);
        break;
    case NVML_RECOVERY_DRAIN_AND_RESET:
        want_idle_reset(r, XID_RECOVERY);
        break;
    default:
        if (r->idle_xid == XID_RECOVERY)
            r->reset_when_idle = false; /* it was the only reason, and is no more */
        break;
    }
}

static void gpu_tick(struct health *h, const struct driver_gpu *gpu, const struct inventory_snapshot *s, const struct driver_process *list,
                     uint32_t n, int64_t now_ms)
{
    struct record *r = record_get(h, gpu->uuid, HEALTH_WHOLE, HEALTH_WHOLE, now_ms);
    if (!r)
        return;
    r->seen_ms = now_ms;
    if (gpu->lost)
        record_lost(h, r, s->reading->number, now_ms);
    else if (r->lost && s->reading->number > r->lost_reading + 1) /* the next one may have been under way when it was lost */
        record_back(h, r, now_ms);
    follow_driver(h, r, gpu, now_ms);
    if (n == HEALTH_PROCESSES_UNKNOWN)
        return; /* what was known last stays; nothing is done on a guess */
    bool busy = gpu->lost || gpu_has_process(gpu, list, n);
    if (busy)
        r->idle_ms = -1;
    else if (r->idle_ms < 0)
        r->idle_ms = now_ms;
    linked_tick(h, r, busy, now_ms);
    if (!busy)
        gpu_idle(h, r, gpu, s, now_ms);
}

static void record_tick(struct health *h, struct record *r, int64_t now_ms)
{
    int64_t age = now_ms - r->since_ms;
    switch (r->health) {
    case UNIT_HEALTHY:
        if (r->failures && age >= HEALTH_FORGET_MS)
            r->failures = 0;
        break;
    case UNIT_SUSPECT:
        if (r->lost) {
            if (age >= HEALTH_LOST_MS)
                record_fail(h, r, r->xid, "lost for two minutes: the node has to be rebooted", now_ms);
        } else if (age >= HEALTH_SUSPECT_MS) {
            become(r, UNIT_DRAINING, now_ms);
        }
        break;
    case UNIT_PROBATION:
        if (!r->lost && age >= probation_ms(r)) {
            become(r, UNIT_HEALTHY, now_ms);
            r->idle_ms = -1; /* it may be used again: being idle counts from here */
            tell(h, r, false, 0, "passed its probation; in use again");
        }
        break;
    case UNIT_DRAINING:
        if (r->reset_asked && now_ms - r->reset_ms >= RESET_SILENT_MS)
            health_reset_done(h, r->uuid, -E_AGAIN, now_ms);
        else if (r->lost && !r->reset_asked)
            become(r, UNIT_SUSPECT, now_ms); /* Failed, when it does not come back */
        break;
    case UNIT_FAILED:
        break;
    }
}

/* First sight of a unit: the state that the journal kept. */
static void unit_adopt(struct health *h, const struct unit *u, int64_t now_ms)
{
    uint32_t gi = u->mig ? u->mig->gi : HEALTH_WHOLE, ci = u->mig ? u->mig->ci : HEALTH_WHOLE;
    struct record *r = record_find(h, u->gpu->uuid, gi, ci);
    bool is_new = !r;
    if (!r && !(r = record_get(h, u->gpu->uuid, gi, ci, now_ms)))
        return;
    r->seen_ms = now_ms;
    if (!is_new || u->health == UNIT_HEALTHY || health_filter_off(&h->filter))
        return;
    const struct xid_entry *entry = xid_find(u->xid);
    bool rebooted = h->rebooted && !(entry && entry->action == XID_RMA);
    bool was_out = u->health == UNIT_SUSPECT || u->health == UNIT_FAILED;
    /* no fault that stays; record_lost says it again where it is still lost */
    bool was_lost = was_out && (!u->xid || u->xid == XID_OFF_BUS);
    bool was_lent = u->health == UNIT_DRAINING && !u->xid; /* for another's reset, which takes it again if it is still to come */
    r->health = rebooted || was_lost || was_lent ? UNIT_PROBATION : u->health;
    r->xid = u->xid;
    bool by_reset = u->xid && (!entry || entry->action == XID_DRAIN_RESET || u->xid == XID_RECOVERY); /* what cures it, once it is back */
    r->needs_reset = r->health == UNIT_SUSPECT || r->health == UNIT_DRAINING || (r->health == UNIT_FAILED && by_reset);
    r->failures = 1;
    r->reset_ms = now_ms;
}

/* Instances that were destroyed leave their fault to the GPU, to be cured when it is idle. */
static void records_drop(struct health *h, const struct inventory_snapshot *s, int64_t now_ms)
{
    for (uint32_t i = 0; i < h->records_n;) {
        struct record *r = &h->records[i];
        bool whole = r->gi == HEALTH_WHOLE;
        bool gone = !whole && driver_reading_gpu(s->reading, r->uuid) && now_ms - r->seen_ms >= RECORD_UNSEEN_MS;
        bool unknown = r->health == UNIT_HEALTHY && now_ms - r->seen_ms >= HEALTH_FORGET_MS;
        if (!gone && !unknown) {
            i++;
            continue;
        }
        struct record *gpu = record_find(h, r->uuid, HEALTH_WHOLE, HEALTH_WHOLE);
        if (gone && gpu && (r->health == UNIT_DRAINING || r->health == UNIT_SUSPECT))
            want_idle_reset(gpu, r->xid);
        *r = h->records[--h->records_n];
    }
}

static void records_seen(struct health *h, const struct inventory_snapshot *s, int64_t now_ms)
{
    for (uint32_t i = 0; i < h->records_n; i++) {
        struct record *r = &h->records[i];
        for (uint32_t k = 0; r->gi != HEALTH_WHOLE && r->ci == HEALTH_WHOLE && k < s->units_n; k++) {
            if (record_reaches(r, &s->units[k]))
                r->seen_ms = now_ms;
        }
    }
}

static void blame_tell(struct health *h)
{
    struct blame_verdict v;
    while (blame_next(h->blame, &v)) {
        const struct xid_entry *entry = xid_find(v.xid);
        _cleanup_buf_ struct buf text = {0};
        unit_text(&text, v.uuid, v.gi, v.ci);
        buf_printf(&text, ": XID %u %s", v.xid, entry ? entry->name : "unknown error");
        for (uint32_t i = 0; i < v.pids_n; i++)
            buf_printf(&text, "%s%u", i ? ", " : v.sure ? "; of process " : "; of one of the processes ", v.pids[i]);
        buf_printf(&text, "; the GPU stays in use. %s", entry ? entry->advice : "");
        struct health_order *o = order_add(h, HEALTH_EVENT, v.uuid, v.gi, v.ci);
        o->warning = true;
        o->xid = v.xid;
        o->pids_n = v.pids_n;
        memcpy(o->pids, v.pids, sizeof o->pids);
        (void)snprintf(o->text, sizeof o->text, "%s", text.data);
    }
}

void health_tick(struct health *h, const struct inventory_snapshot *s, const struct driver_process *processes, uint32_t n, int64_t now_ms)
{
    for (uint32_t i = 0; i < s->units_n; i++)
        unit_adopt(h, &s->units[i], now_ms);
    if (health_filter_off(&h->filter)) {
        settle(h, s);
        return;
    }
    records_seen(h, s, now_ms);
    for (uint32_t i = 0; i < h->records_n; i++)
        record_tick(h, &h->records[i], now_ms);
    for (uint32_t i = 0; i < s->reading->gpus_n; i++)
        gpu_tick(h, &s->reading->gpus[i], s, processes, n, now_ms);
    records_drop(h, s, now_ms);
    if (n != HEALTH_PROCESSES_UNKNOWN)
        blame_tick(h->blame, s, processes, n, now_ms);
    blame_tell(h);
    settle(h, s);
}

static void reset_failed(struct health *h, struct record *r, int64_t now_ms)
{
    if (++r->reset_tries >= RESET_TRIES)
        record_fail(h, r, r->xid, "its reset failed three times: the node has to be rebooted", now_ms);
    r->reset_ms = now_ms + RESET_AGAIN_MS * r->reset_tries;
}

void health_reset_done(struct health *h, const char *gpu_uuid, int code, int64_t now_ms)
{
    struct record *gpu = record_find(h, gpu_uuid, HEALTH_WHOLE, HEALTH_WHOLE);
    if (!gpu || !gpu->reset_asked)
        return;
    gpu->reset_asked = false;
    if (code < 0 || gpu->again) {
        reset_failed(h, gpu, now_ms);
        linked_release(h, gpu_uuid, now_ms);
        return;
    }
    for (uint32_t i = 0; i < h->records_n; i++) {
        struct record *r = &h->records[i];
        const struct record *whole = record_find(h, r->uuid, HEALTH_WHOLE, HEALTH_WHOLE);
        bool was_reset = text_equal(r->uuid, gpu_uuid) || (whole && text_equal(whole->leader, gpu_uuid));
        if (!was_reset || (r->health != UNIT_DRAINING && r->health != UNIT_SUSPECT))
            continue;
        become(r, UNIT_PROBATION, now_ms);
        r->needs_reset = false;
        if (r == whole)
            r->reset_when_idle = false;
    }
    linked_release(h, gpu_uuid, now_ms);
    gpu->reset_when_idle = false;
    gpu->reset_tries = 0;
    if (gpu->health == UNIT_PROBATION)
        tell(h, gpu, false, 0, "was reset; in probation");
}

bool health_next(struct health *h, struct health_order *ret_order)
{
    if (h->orders_at == h->orders_n)
        return false;
    *ret_order = h->orders[h->orders_at++];
    return true;
}

bool health_is_faulty(const struct health *h, const struct unit *u)
{
    for (uint32_t i = 0; i < h->records_n; i++) {
        const struct record *r = &h->records[i];
        if (record_reaches(r, u) && (r->health == UNIT_FAILED || (r->health == UNIT_DRAINING && r->needs_reset)))
            return true;
    }
    return false;
}

void health_rebooted(struct health *h)
{
    h->rebooted = true;
}

struct health *health_new(const char *disable, const char *enable)
{
    struct health *h = mem_zero(1, sizeof *h);
    h->blame = blame_new();
    _cleanup_buf_ struct buf problems = {0};
    health_filter_parse(&h->filter, disable, enable, &problems);
    for (size_t at = 0; at < problems.n;) {
        size_t n = strcspn(problems.data + at, "\n");
        struct health_order *o = order_add(h, HEALTH_EVENT, "", HEALTH_WHOLE, HEALTH_WHOLE);
        o->warning = true;
        (void)snprintf(o->text, sizeof o->text, "%.*s", (int)n, problems.data + at);
        at += n + 1;
    }
    return h;
}

void health_free(struct health *h)
{
    if (!h)
        return;
    blame_free(h->blame);
    free(h->orders);
    free(h->records);
    free(h);
}
