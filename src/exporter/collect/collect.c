/* collect.c - the periods: when to measure, and what became of it
 *
 * WHY  A timer of one shot: its distance depends on how far we are. Until there are two samples it is a second, since rates and
 *      performance monitoring need two, and a driver that comes late should be seen soon; while there is no driver nobody is asked.
 */
#include "exporter/collect/collect.h"
#include <stdio.h>
#include "base/log.h"
#include "base/memory.h"
#include "exporter/collect/collect_parts.h"

/* WHY  DEADLINE_MS does not become shorter with the period: a GPU that is late counts as one that hangs, and health takes it out of use. A
 *      collection that is longer than the period skips some. */
enum {
    PERIOD_MIN_MS = 100,
    PERIOD_DEFAULT_MS = 15000,
    SOON_MS = 1000,
    DEADLINE_MS = 5000,
    PROCESSES_MAX = 2000,
    LISTENERS_MAX = 8
};
enum { ERRORS_MAX = 256 };

static const int64_t bucket_us[] = {1000,   2500,   5000,   10000,   25000,   50000,
                                    100000, 250000, 500000, 1000000, 2500000, INT64_MAX};
#define BUCKETS_N (sizeof bucket_us / sizeof *bucket_us)
_Static_assert(BUCKETS_N == sizeof((struct collect_state *)0)->duration_buckets / sizeof(uint64_t),
               "one limit a bucket");

struct collect {
    struct loop *loop;
    struct driver *driver;
    struct inventory *inventory;
    const struct inventory *slicings;
    struct pods *pods;
    struct account *account;
    struct loop_timer *timer;
    int64_t period_ms;
    uint64_t wanted[(MEASURE_N + 63) / 64];
    char *hostname;
    uint32_t processes_max;
    bool session_label_index;
    struct map *shares; /* "resource slot" -> struct slot_share */
    struct map *held;   /* "resource slot namespace/pod/container" -> struct held_share */
    struct collect_offer *offers;
    uint32_t offers_n, offers_cap;
    struct history history;
    struct {
        void (*fn)(void *arg, const struct sample *s);
        void *arg;
    } listeners[LISTENERS_MAX];
    uint32_t listeners_n;
    /* the measurement under way */
    const struct inventory_snapshot *flight; /* what its devices are; a reference. NULL: none is under way */
    struct driver_call *call;                /* it; NULL: none */
    bool again;
    int64_t start_us; /* loop_clock_us */
    /* what came of the others */
    const struct sample *last;
    uint64_t samples_n, skipped_n, failures_n, processes_dropped_n;
    int64_t begun_ms, last_ms; /* monotonic: since when there could have been a sample; of the last one */
    double duration_sum_s;
    uint64_t duration_buckets[BUCKETS_N];
    struct measure_error errors[ERRORS_MAX];
    uint32_t errors_n;
    bool failing;
    bool *dead; /* where a caller of listeners learns that this was freed */
};

/* Needed here, whatever the counters show: activity, sessions, books. */
static const enum measure always_wanted[] = {
    MEASURE_GPM_GRAPHICS, MEASURE_UTILIZATION_GPU,     MEASURE_FB_TOTAL_MIB,  MEASURE_FB_USED_MIB,
    MEASURE_ENERGY_MJ,    MEASURE_CLOCK_EVENT_REASONS, MEASURE_NVLINK_TX_KIB, MEASURE_NVLINK_RX_KIB};

static void want(struct collect *c, const uint64_t *wanted)
{
    memcpy(c->wanted, wanted, sizeof c->wanted);
    for (size_t i = 0; i < sizeof always_wanted / sizeof *always_wanted; i++)
        c->wanted[always_wanted[i] / 64] |= (uint64_t)1 << (always_wanted[i] % 64);
}

/* ---- what is said of ourselves ---- */

static void duration_add(struct collect *c, int64_t us)
{
    c->duration_sum_s += (double)us / 1e6;
    for (size_t i = 0; i < BUCKETS_N; i++)
        c->duration_buckets[i] += us <= bucket_us[i];
}

void collect_state(const struct collect *c, struct collect_state *ret_state)
{
    int64_t since_ms = c->last ? c->last_ms : c->begun_ms;
    const struct driver_reading *r = inventory_now(c->inventory)->reading;
    *ret_state = (struct collect_state){.stalled = r->gpus_n > 0 && loop_now_ms(c->loop) - since_ms > 2 * c->period_ms,
                                        .driver_loaded = r->gpus_n > 0 || r->driver_version[0],
                                        .last_success_s = c->last ? c->last->wall_s : 0,
                                        .collections_n = c->samples_n,
                                        .skipped_n = c->skipped_n,
                                        .failures_n = c->failures_n,
                                        .processes_dropped_n = c->processes_dropped_n,
                                        .xids_dropped_n = c->history.xids_dropped_n,
                                        .duration_sum_s = c->duration_sum_s,
                                        .errors = c->errors,
                                        .errors_n = c->errors_n,
                                        .offers = c->offers,
                                        .offers_n = c->offers_n};
    memcpy(ret_state->duration_buckets, c->duration_buckets, sizeof ret_state->duration_buckets);
}

/* ---- one measurement ---- */

static void measure_start(struct collect *c);

static void publish(struct collect *c, const struct inventory_snapshot *inventory, const struct measure_reading *r)
{
    struct sample_input in = {.number = c->samples_n + 1,
                              .inventory = inventory,
                              .measured = r,
                              .pods = c->pods,
                              .history = &c->history,
                              .account = c->account,
                              .shares = c->shares,
                              .held = c->held,
                              .journal = c->slicings,
                              .hostname = c->hostname,
                              .processes_max = c->processes_max,
                              .session_label_index = c->session_label_index};
    struct sample *s = sample_make(&in);
    bool dead = false, *outer = c->dead;
    for (uint32_t i = 0; i < r->errors_n; i++)
        measure_error_add(c->errors, &c->errors_n, ERRORS_MAX, r->errors[i]);
    sample_unref(c->last);
    c->last = s;
    c->samples_n++;
    c->processes_dropped_n += s->processes_left_out_n;
    c->last_ms = loop_now_ms(c->loop);
    if (c->account)
        account_add(c->account, s);
    duration_add(c, loop_clock_us(c->loop) - c->start_us);
    (void)sample_ref(s);
    c->dead = &dead;
    for (uint32_t i = 0; !dead && i < c->listeners_n; i++)
        c->listeners[i].fn(c->listeners[i].arg, s);
    sample_unref(s);
    if (!dead)
        c->dead = outer;
    else if (outer)
        *outer = true;
}

/* No driver (any more): there is nothing to show, and nothing stalls or fails. */
static void nothing_there(struct collect *c)
{
    sample_unref(c->last);
    c->last = NULL;
    c->begun_ms = loop_now_ms(c->loop);
}

static void on_measured(void *arg, int code, const struct measure_reading *r, const struct err *e)
{
    struct collect *c = arg;
    const struct inventory_snapshot *inventory = c->flight;
    bool dead = false;
    c->flight = NULL;
    c->call = NULL;
    if (code == -E_NOTFOUND) { /* unloaded, or not there yet; the inventory will tell */
        nothing_there(c);
    } else if (code < 0) {
        c->failures_n++;
        if (!c->failing)
            log_warning("GPUs not measured error=\"%s\"", e->text);
        c->failing = true;
    } else {
        c->failing = false;
        c->dead = &dead;
        publish(c, inventory, r);
        if (!dead)
            c->dead = NULL;
    }
    inventory_snapshot_unref(inventory);
    if (!dead && c->again) {
        c->again = false;
        measure_start(c);
    }
}

static void measure_start(struct collect *c)
{
    const struct inventory_snapshot *now = inventory_now(c->inventory);
    if (now->reading->gpus_n == 0 || !c->driver->ops->measure) {
        nothing_there(c);
        return;
    }
    struct measure_request request = {.processes = true, .deadline_ms = DEADLINE_MS, .period_ms = c->period_ms};
    memcpy(request.wanted, c->wanted, sizeof request.wanted);
    c->flight = inventory_snapshot_ref(now);
    c->start_us = loop_clock_us(c->loop);
    c->call = driver_measure(c->driver, now->reading, &request, on_measured, c);
}

static void on_period(void *arg)
{
    struct collect *c = arg;
    bool soon = c->samples_n < 2 && c->period_ms > SOON_MS;
    loop_timer_start(c->timer, soon ? SOON_MS : c->period_ms, 0);
    if (c->flight) {
        c->skipped_n++;
        return;
    }
    measure_start(c);
}

void collect_now(struct collect *c)
{
    if (c->flight)
        c->again = true;
    else
        measure_start(c);
}

void collect_want(struct collect *c, const uint64_t wanted[(MEASURE_N + 63) / 64])
{
    want(c, wanted);
}

/* ---- what others tell ---- */

static void offers_clear(struct collect *c)
{
    for (uint32_t i = 0; i < c->offers_n; i++)
        free(c->offers[i].name);
    c->offers_n = 0;
}

static void offer_add(struct collect *c, const struct resource *r)
{
    MEM_RESERVE(c->offers, c->offers_cap, c->offers_n + 1);
    struct collect_offer *o = &c->offers[c->offers_n++];
    *o = (struct collect_offer){.name = mem_text(r->name)};
    for (uint32_t k = 0; k < r->slots_n; k++)
        o->slots_n[r->slots[k].state]++;
}

void collect_resources(struct collect *c, const struct resource_table *t)
{
    map_clear(c->shares);
    offers_clear(c);
    _cleanup_buf_ struct buf key = {0};
    for (uint32_t i = 0; t && i < t->resources_n; i++) {
        const struct resource *r = &t->resources[i];
        offer_add(c, r);
        for (uint32_t k = 0; k < r->slots_n; k++) {
            uint32_t n = 0;
            /* ORDER  slots of one unit stand together. */
            for (uint32_t at = k; at < r->slots_n && r->slots[at].unit == r->slots[k].unit; at++)
                n++;
            for (uint32_t at = k; at > 0 && r->slots[at - 1].unit == r->slots[k].unit; at--)
                n++;
            buf_clear(&key);
            buf_printf(&key, "%s %s", r->name, r->slots[k].id);
            struct slot_share *share = map_put(c->shares, buf_view(&key), NULL);
            *share = (struct slot_share){.replica = r->slots[k].replica, .shared = r->slots[k].shared, .replicas_n = n};
        }
    }
}

void collect_xid(struct collect *c, const struct driver_event *event)
{
    const struct driver_reading *r = inventory_now(c->inventory)->reading;
    if (event->kind != DRIVER_EVENT_XID)
        return;
    for (uint32_t i = 0; i < r->gpus_n; i++)
        if (!event->uuid[0] || text_equal(event->uuid, r->gpus[i].uuid))
            history_xid(&c->history, &r->gpus[i], (uint32_t)event->data, (double)loop_wall_ms(c->loop) / 1000,
                        loop_now_ms(c->loop));
}

void collect_listen(struct collect *c, void (*fn)(void *arg, const struct sample *s), void *arg)
{
    if (c->listeners_n == LISTENERS_MAX) {
        log_error("more than %d listeners of GPU samples: one hears nothing", LISTENERS_MAX);
        return;
    }
    c->listeners[c->listeners_n].fn = fn;
    c->listeners[c->listeners_n++].arg = arg;
}

const struct sample *collect_last(const struct collect *c)
{
    return c->last;
}

/* ---- life ---- */

struct collect *collect_new(struct loop *l, struct driver *d, struct inventory *i, struct pods *p, struct account *a,
                            const struct collect_config *config)
{
    struct collect *c = mem_zero(1, sizeof *c);
    c->loop = l;
    c->driver = d;
    c->inventory = i;
    c->slicings = config->slicings ? config->slicings : i;
    c->pods = p;
    c->account = a;
    c->period_ms = config->period_ms <= 0              ? PERIOD_DEFAULT_MS
                   : config->period_ms < PERIOD_MIN_MS ? PERIOD_MIN_MS
                                                       : config->period_ms;
    c->hostname = mem_text(config->hostname ? config->hostname : "");
    c->processes_max = config->processes_max > 0 ? config->processes_max : PROCESSES_MAX;
    c->session_label_index = config->session_label_index;
    want(c, config->wanted);
    c->shares = map_new(sizeof(struct slot_share));
    c->held = map_new(sizeof(struct held_share));
    history_init(&c->history);
    c->history.xid_window_ms = config->xid_window_ms > 0 ? config->xid_window_ms : SAMPLE_WINDOW_MS;
    c->history.clock_window_ms = config->clock_window_ms > 0 ? config->clock_window_ms : SAMPLE_WINDOW_MS;
    c->begun_ms = loop_now_ms(l);
    c->timer = loop_timer_new(l, on_period, c);
    loop_timer_start(c->timer, 0, 0);
    return c;
}

void collect_free(struct collect *c)
{
    if (!c)
        return;
    if (c->dead)
        *c->dead = true;
    driver_cancel(c->call);
    loop_timer_free(c->timer);
    if (c->flight)
        inventory_snapshot_unref(c->flight);
    sample_unref(c->last);
    history_free(&c->history);
    offers_clear(c);
    free(c->offers);
    map_free(c->shares);
    map_free(c->held);
    free(c->hostname);
    free(c);
}
