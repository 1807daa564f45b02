/* agent.c - the agent's wiring: reads the driver, keeps the inventory, projects it when something has changed */
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>
#include "agent/agent_parts.h"
#include "agent/host/roots.h"
#include "agent/mps/mps.h"
#include "agent/node/features_file.h"
#include "agent/plugin/resource_guard.h"
#include "base/collections/map.h"
#include "base/file.h"
#include "base/log.h"

#define READ_PERIOD_MS 10000
#define RETRY_MIN_MS 1000 /* while the driver is missing */
#define RETRY_MAX_MS 30000
#define TICK_MS 1000
#define TRIM_FIRST_MS 5000 /* after that the start is over */
#define TRIM_MS 30000

/* ---- driver ---- */

static void on_inventory(void *arg, const struct inventory_snapshot *s)
{
    struct agent *a = arg;
    (void)s;
    agent_project_later(a);
    if (a->o.feed)
        agent_mig_check(a); /* what a layout waits for may be free: it is not looked at each second */
}

static void driver_failed(struct agent *a, const struct err *e)
{
    if (!text_equal(e->text, a->driver_error.text))
        agent_log(a, LOG_WARNING, "driver not usable, trying again error=\"%s\"", e->text);
    a->driver_error = *e;
    a->driver_error.code = E_NOTFOUND;
    inventory_set_reading(a->inventory, NULL);
    if (!a->o.feed)
        agent_host_nodes(a); /* it may have been loaded just now, and nothing on the host have used it yet */
    int64_t next_ms = a->read_delay_ms * 2;
    a->read_delay_ms = next_ms < RETRY_MIN_MS ? RETRY_MIN_MS : next_ms > RETRY_MAX_MS ? RETRY_MAX_MS : next_ms;
    loop_timer_start(a->read_timer, a->read_delay_ms, 0);
}

static void end_holds(struct agent *a)
{
    for (uint32_t i = a->held_n; i-- > 0;)
        if (a->held[i].ends)
            a->held[i] = a->held[--a->held_n];
}

/* GPUs that the driver counts, but that have never answered it: all that is known of them is their number. */
static void tell_silent(struct agent *a, uint64_t silent)
{
    for (uint32_t i = 0; i < LIMIT_NODE_GPUS; i++) {
        char text[80];
        if (!(silent >> i & 1))
            continue;
        (void)snprintf(text, sizeof text, "GPU %u does not answer its driver: it is not offered", i);
        agent_log(a, LOG_ERROR, "%s", text);
        agent_node_event(a, true, "GPUHealth", text);
    }
}

static void driver_answered(struct agent *a, const struct driver_reading *r)
{
    if (a->held_n > 0 && !a->read_again) { /* begun after the holds were to end */
        end_holds(a);
        agent_project_later(a);
    }
    if (a->driver_error.code || !a->read_once)
        agent_log(a, LOG_INFO, "driver version=%s gpus=%u", r->driver_version, r->gpus_n);
    tell_silent(a, r->silent & ~inventory_now(a->inventory)->reading->silent);
    a->driver_error = (struct err){0};
    a->read_delay_ms = 0;
    inventory_set_reading(a->inventory, r);
    agent_project_later(a); /* device nodes may have come */
    int64_t period_ms = a->o.read_period_ms, sleep_ms = a->loaded ? a->loaded->config.gfd_sleep_ms : -1;
    if (!a->o.feed)
        loop_timer_start(a->read_timer, sleep_ms >= RETRY_MIN_MS && sleep_ms < period_ms ? sleep_ms : period_ms, 0);
}

static void agent_read_now(struct agent *a);

static void on_reading(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    struct agent *a = arg;
    a->reading = false;
    if (code == -E_AGAIN && a->read_once && !a->driver_error.code) { /* a slow driver: what was read last still holds */
        log_warning("driver slow error=\"%s\"", e->text);
        loop_timer_start(a->read_timer, RETRY_MIN_MS, 0);
    } else if (code < 0) {
        driver_failed(a, e);
    } else {
        driver_answered(a, r);
    }
    bool first = !a->read_once;
    a->read_once = true;
    if (first) {
        agent_project_later(a);
        agent_mig_check(a);
    }
    if (a->read_again)
        agent_read_now(a);
}

static void agent_read_now(struct agent *a)
{
    a->read_again = a->reading;
    if (a->reading)
        return;
    a->reading = true;
    loop_timer_stop(a->read_timer);
    driver_read(a->driver, on_reading, a);
}

static void on_read_timer(void *arg)
{
    agent_read_now(arg);
}

static void agent_gpu_event(struct agent *a, const struct driver_event *event)
{
    agent_health_event(a, event);
    if (a->o.feed && !loop_timer_running(a->tick_timer))
        loop_timer_start(a->tick_timer, TICK_MS, TICK_MS);
    if (a->observer.event)
        a->observer.event(a->observer.arg, event);
    bool own_change = event->kind == DRIVER_EVENT_MIG_CHANGED && agent_mig_busy(a); /* read when it is done */
    if (event->kind != DRIVER_EVENT_ECC_SINGLE && !own_change)
        agent_read_now(a);
}

static void on_driver_event(void *arg, const struct driver_event *event)
{
    struct agent *a = arg;
    if (agent_health_is_news(a, event))
        agent_gpu_event(a, event);
}

/* ---- status ---- */

static void status_gpus(const struct inventory_snapshot *s, struct json *out, struct arena *m)
{
    for (uint32_t i = 0; i < s->units_n; i++) {
        const struct unit *u = &s->units[i];
        struct json *one = json_new(m, JSON_OBJECT);
        json_set_text(m, one, "uuid", u->uuid);
        json_set_int64(m, one, "gpu", u->gpu->index);
        json_set_text(m, one, "product", u->gpu->name);
        if (u->mig)
            json_set_text(m, one, "profile", u->mig->profile);
        json_set_int64(m, one, "memoryMiB", u->mig ? u->mig->memory_mib : u->gpu->memory_mib);
        json_set_text(m, one, "health", unit_health_name(u->health));
        if (u->xid)
            json_set_int64(m, one, "xid", u->xid);
        json_append(out, one);
    }
}

static void status_resources(const struct agent *a, struct json *out, struct arena *m)
{
    for (uint32_t i = 0; a->projection && i < a->projection->table.resources_n; i++) {
        const struct resource *r = &a->projection->table.resources[i];
        struct json *one = json_new(m, JSON_OBJECT);
        json_set_text(m, one, "name", r->name);
        json_set_int64(m, one, "slots", r->slots_n);
        json_set_int64(m, one, "open", slots_open(r->slots, r->slots_n));
        resource_closed_json(m, r, one);
        json_append(out, one);
    }
}

void agent_status(const struct agent *a, struct buf *out_json)
{
    struct arena *m = arena_new();
    const struct inventory_snapshot *s = inventory_now(a->inventory);
    struct json *v = json_new(m, JSON_OBJECT);
    json_set_text(m, v, "node", a->o.node_name);
    json_set_int64(m, v, "pid", getpid());
    json_set_bool(m, v, "ready", agent_ready(a));
    if (a->driver_error.code)
        json_set_text(m, v, "driverError", a->driver_error.text);
    else
        json_set_text(m, v, "driver", s->reading->driver_version);
    if (a->table_error.code)
        json_set_text(m, v, "resourcesError", a->table_error.text);
    agent_source_status(a, v, m);
    status_gpus(s, json_ensure_array(m, v, "devices"), m);
    status_resources(a, json_ensure_array(m, v, "resources"), m);
    struct json *owners = json_ensure_array(m, v, "owners");
    for (uint32_t i = 0; i < s->owners_n; i++) {
        struct json *one = json_new(m, JSON_OBJECT);
        json_set_text(m, one, "resource", s->owners[i].resource);
        json_set_text(m, one, "slot", s->owners[i].slot);
        json_set_text(m, one, "namespace", s->owners[i].ns);
        json_set_text(m, one, "pod", s->owners[i].pod);
        json_append(owners, one);
    }
    if (a->mps) {
        _cleanup_buf_ struct buf daemons = {0};
        mps_status(a->mps, &daemons);
        struct json *list = json_parse(m, buf_view(&daemons), NULL, NULL);
        if (list)
            json_set(m, v, "mps", list);
    }
    if (a->plugin) {
        struct device_plugin_counts n = device_plugin_counts(a->plugin);
        struct json *counts = json_ensure_object(m, v, "devicePlugin");
        json_set_bool(m, counts, "registered", device_plugin_registered(a->plugin));
        json_set_int64(m, counts, "registrations", (int64_t)n.registrations_n);
        json_set_int64(m, counts, "allocations", (int64_t)n.allocations_n);
        json_set_int64(m, counts, "refusals", (int64_t)n.refusals_n);
        json_set_int64(m, counts, "held", (int64_t)n.held_n);
        json_set_int64(m, counts, "heldMs", (int64_t)n.held_ms);
        json_set_int64(m, counts, "heldMsMax", (int64_t)n.held_max_ms);
        json_set_int64(m, counts, "unawaited", (int64_t)n.unawaited_n);
    }
    json_write(out_json, v);
    arena_free(m);
}

/* A node that may be without a driver (failOnInitError: false) is ready without one. */
bool agent_ready(const struct agent *a)
{
    bool driver_good = !a->driver_error.code || (a->loaded && !a->loaded->config.fail_on_init_error);
    return a->read_once && driver_good && a->projection && (!a->plugin || device_plugin_registered(a->plugin));
}

bool agent_labels_written(const struct agent *a)
{
    return a->projection && (!a->features || features_file_written(a->features)) && agent_node_written(a);
}

static void write_status(struct agent *a)
{
    if (!a->o.state_dir)
        return;
    struct buf text = {0}, path = {0};
    agent_status(a, &text);
    uint64_t hash = hash_bytes(text.data, text.n, 0);
    if (hash != a->status_hash) {
        buf_printf(&path, "%s/status.json", a->o.state_dir);
        buf_char(&text, '\n');
        struct err e = {0};
        if (file_replace(path.data, buf_view(&text), 0644, &e) == 0)
            a->status_hash = hash;
        else if (!text_equal(e.text, a->status_error.text))
            log_warning("status not written, trying again error=\"%s\"", e.text);
        a->status_error = e;
    }
    buf_free(&path);
    buf_free(&text);
}

static void watch_registrations(struct agent *a)
{
    uint64_t n = a->plugin ? device_plugin_counts(a->plugin).registrations_n : 0;
    if (n != a->registrations_n) {
        log_info("registered with the kubelet registrations=%llu", (unsigned long long)n);
        if (a->registrations_n > 0)
            agent_pods_kubelet_restarted(a);
    }
    a->registrations_n = n;
}

/* Heap that only the start, or a long list, needed goes back to the system. */
static void trim(struct agent *a)
{
    int64_t now_ms = loop_now_ms(a->loop);
    if (loop_is_virtual(a->loop) || now_ms < a->trim_ms)
        return;
    (void)malloc_trim(0);
    a->trim_ms = now_ms + TRIM_MS;
}

/* Without a machine there is nothing to look at but health. */
static void on_fed_tick(struct agent *a)
{
    agent_health_tick(a);
    if (!agent_health_attends(a))
        loop_timer_stop(a->tick_timer);
}

static void on_tick(void *arg)
{
    struct agent *a = arg;
    if (a->o.feed) {
        on_fed_tick(a);
        return;
    }
    watch_registrations(a);
    trim(a);
    agent_source_tick(a);
    agent_health_tick(a);
    agent_drain_tick(a);
    agent_mig_check(a); /* what a layout waits for may be free */
    if (agent_ready(a))
        agent_node_started(a);
    if (!a->stopped)
        agent_host_tick(a, agent_ready(a));
    if (a->mps)
        agent_project_later(a); /* a daemon may have become ready */
    write_status(a);
}

/* ---- life ---- */

/* A damaged journal is put aside: the kubelet still knows who has what, and the GPUs show their faults again. */
static int open_inventory(struct agent *a, struct err *e)
{
    if (!a->o.state_dir)
        return inventory_open(a->loop, NULL, &a->inventory, e);
    struct buf path = {0}, aside = {0};
    buf_printf(&path, "%s/journal", a->o.state_dir);
    int r = inventory_open(a->loop, path.data, &a->inventory, e);
    if (r == -E_INVALID) {
        buf_printf(&aside, "%s.damaged", path.data);
        log_error("journal damaged, put aside as %s error=\"%s\"", aside.data, e->text);
        if (rename(path.data, aside.data) == 0)
            r = inventory_open(a->loop, path.data, &a->inventory, e);
    }
    if (r == 0 && inventory_cut_bytes(a->inventory) > 0)
        log_warning("journal had a torn tail, cut off bytes=%llu", (unsigned long long)inventory_cut_bytes(a->inventory));
    buf_free(&path);
    buf_free(&aside);
    return r;
}

static void node_changed(struct agent *a)
{
    agent_source_label(a);
    agent_mig_check(a);
}

static const struct agent_wiring wiring = {.project_later = agent_project_later,
                                           .read_now = agent_read_now,
                                           .gpu_event = agent_gpu_event,
                                           .gpu_reset = agent_mig_reset,
                                           .node_changed = node_changed,
                                           .wish = agent_wish};

static int admit(void *ctx, const struct resource *r, const char *const *slots, uint32_t n, struct allocate_limits *ret_limits,
                 struct err *e)
{
    struct agent *a = ctx;
    for (uint32_t i = 0; a->projection && i < n; i++) {
        const struct slot *slot = resource_find_slot(r, slots[i]);
        if (slot && agent_is_held(a, a->projection->snapshot->units[slot->unit].gpu->uuid))
            return err_set(e, E_AGAIN, "%s: its GPU is being split anew", slots[i]);
    }
    return agent_pods_admit(a, r, slots, n, ret_limits, e);
}

static void start_plugin(struct agent *a)
{
    struct device_plugin_config c = {.directory = a->o.plugin_dir,
                                     .steer = agent_pods_steer,
                                     .admit = admit,
                                     .awaited = agent_pods_awaited,
                                     .ctx = a};
    a->plugin = device_plugin_new(a->loop, a->inventory, &c);
}

int agent_new(struct loop *l, struct driver *d, struct kube_client *c, const struct agent_options *o, struct agent **ret_a, struct err *e)
{
    struct agent *a = mem_zero(1, sizeof *a);
    a->above = &wiring;
    a->loop = l;
    a->driver = d;
    a->kube = c;
    a->o = *o;
    if (a->o.read_period_ms <= 0)
        a->o.read_period_ms = READ_PERIOD_MS;
    a->read_timer = loop_timer_new(l, on_read_timer, a);
    a->tick_timer = loop_timer_new(l, on_tick, a);
    if (!o->feed)
        a->features = features_file_new(l);
    int r = open_inventory(a, e);
    if (r == 0) {
        agent_node_new(a);
        r = agent_source_new(a, e);
    }
    if (r < 0) {
        agent_free(a);
        return r;
    }
    a->guard = resource_guard_new(a->inventory);
    inventory_listen(a->inventory, on_inventory, a);
    agent_health_new(a);
    if (!o->feed)
        agent_pods_new(a);
    agent_mig_new(a);
    agent_drain_new(a);
    if (o->plugin_dir)
        start_plugin(a);
    a->trim_ms = loop_now_ms(l) + TRIM_FIRST_MS;
    driver_listen(d, on_driver_event, a);
    agent_read_now(a);
    if (!o->feed)
        loop_timer_start(a->tick_timer, TICK_MS, TICK_MS);
    *ret_a = a;
    return 0;
}

static void stop_rest(void *arg)
{
    struct agent *a = arg;
    if (a->mps)
        mps_stop(a->mps, a->stopped, a->stopped_arg);
    else
        loop_defer(a->loop, a->stopped, a->stopped_arg);
}

void agent_free(struct agent *a)
{
    if (!a)
        return;
    agent_project_stop(a);
    loop_forget(a->loop, stop_rest, a);
    device_plugin_free(a->plugin);
    mps_free(a->mps);
    resource_guard_free(a->guard);
    agent_mig_free(a);
    agent_drain_free(a);
    agent_node_free(a);
    agent_pods_free(a);
    agent_health_free(a);
    agent_source_free(a);
    driver_free(a->driver);
    agent_projection_free(a->projection);
    agent_loaded_unref(a->loaded);
    loop_timer_free(a->read_timer);
    loop_timer_free(a->tick_timer);
    features_file_free(a->features);
    inventory_close(a->inventory);
    free(a->held);
    free(a);
}

void agent_stop(struct agent *a, void (*fn)(void *arg), void *arg)
{
    a->stopped = fn;
    a->stopped_arg = arg;
    agent_host_stop(a);
    if (a->plugin)
        agent_node_leave(a, stop_rest, a);
    else
        stop_rest(a);
}

struct driver *agent_driver(const struct agent *a)
{
    return a->driver;
}

struct inventory *agent_inventory(const struct agent *a)
{
    return a->inventory;
}

const struct resource_table *agent_table(const struct agent *a)
{
    return a->projection ? &a->projection->table : NULL;
}

const struct inventory_snapshot *agent_table_snapshot(const struct agent *a)
{
    return a->projection ? a->projection->snapshot : NULL;
}

const struct agent_config *agent_config_in_use(const struct agent *a)
{
    return a->projection ? &a->projection->loaded->config : NULL;
}

bool agent_mig_changes(const struct agent *a)
{
    return agent_mig_busy(a);
}

void agent_fed_processes(struct agent *a)
{
    agent_read_now(a);
}

void agent_fed_configs(struct agent *a)
{
    agent_source_reload(a);
    agent_mig_check(a);
}

void agent_observe(struct agent *a, const struct agent_observer *o)
{
    a->observer = o ? *o : (struct agent_observer){0};
    if (a->observer.resources && a->projection)
        a->observer.resources(a->observer.arg, &a->projection->table);
}

void agent_reload(struct agent *a)
{
    agent_source_reload(a);
    agent_read_now(a);
}
