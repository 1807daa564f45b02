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

/* ---- projection ---- */

static void projection_free(struct projection *p)
{
    if (!p)
        return;
    inventory_snapshot_unref(p->snapshot);
    agent_loaded_unref(p->loaded);
    arena_free(p->arena);
    free(p);
}

bool agent_is_held(const struct agent *a, const char *gpu_uuid)
{
    for (uint32_t i = 0; i < a->held_n; i++)
        if (text_equal(a->held[i].uuid, gpu_uuid))
            return true;
    return false;
}

static uint64_t hash_text(const char *text, uint64_t seed)
{
    return hash_bytes(text, strlen(text), seed);
}

static uint64_t hash_number(uint64_t number, uint64_t seed)
{
    return hash_bytes(&number, sizeof number, seed);
}

/* What the offer follows from, as one number. Not part of it: how many processes run, how often was read, and, unless the guard waits for
 * some of them to end, who has which slot. */
static uint64_t offer_hash(const struct agent *a, const struct inventory_snapshot *s)
{
    const struct driver_reading *r = s->reading;
    uint64_t h = hash_text(r->driver_version, hash_number(a->loaded->number, hash_number(r->silent, r->cuda_version)));
    for (uint32_t i = 0; i < r->gpus_n; i++) {
        const struct driver_gpu *g = &r->gpus[i];
        h = hash_text(g->uuid, hash_text(g->name, hash_text(g->bus_id, h)));
        h = hash_text(g->fabric_cluster, hash_number((uint64_t)g->fabric_state << 32 | g->fabric_clique, h));
        h = hash_number((uint64_t)g->minor << 32 | (uint64_t)g->lost << 2 | (uint64_t)g->mig_on << 1 | g->mig_pending, h);
        h = hash_number((uint64_t)g->migs_n << 32 | g->memory_mib, h);
    }
    for (uint32_t i = 0; r->links && i < r->gpus_n * r->gpus_n; i++)
        h = hash_number(r->links[i].nvlinks_n, h);
    for (uint32_t i = 0; i < s->units_n; i++)
        h = hash_text(s->units[i].uuid, hash_number(s->units[i].generation, h));
    for (uint32_t i = 0; i < a->held_n; i++)
        h = hash_text(a->held[i].uuid, h + 1);
    const struct resource_table *t = a->projection ? &a->projection->table : NULL;
    for (uint32_t i = 0; t && a->mps && i < t->resources_n; i++)
        h = hash_number(t->resources[i].sharing >= SHARING_MPS && mps_ready(a->mps, t->resources[i].name), h);
    if (resource_guard_waits(a->guard))
        h = hash_number(s->owners_unsure, h);
    for (uint32_t i = 0; resource_guard_waits(a->guard) && i < s->owners_n; i++) /* their end is waited for */
        h = hash_text(s->owners[i].slot, hash_text(s->owners[i].resource, h));
    return h;
}

/* Reasons that the inventory does not know. */
static void close_slots(const struct agent *a, struct projection *p)
{
    const char *layout = agent_mig_layout(a), *change = layout ? arena_printf(p->arena, "layout %s", layout) : NULL;
    resource_guard_apply(a->guard, p->arena, p->snapshot, &p->table);
    for (uint32_t i = 0; i < p->table.resources_n; i++) {
        struct resource *r = &p->table.resources[i];
        bool waits = a->mps && r->sharing >= SHARING_MPS && !mps_ready(a->mps, r->name);
        for (uint32_t k = 0; k < r->slots_n; k++) {
            if (waits)
                (void)slot_close(&r->slots[k], SLOT_MPS_STARTING, NULL);
            if (agent_is_held(a, p->snapshot->units[r->slots[k].unit].gpu->uuid))
                (void)slot_close(&r->slots[k], SLOT_MIG_CHANGING, change);
        }
    }
}

static void set_mps(struct agent *a, struct projection *p, const struct roots *roots)
{
    char path[ROOT_BYTES + 64];
    bool wanted = false;
    const char *program = a->o.mps_control_program ? a->o.mps_control_program : "nvidia-cuda-mps-control";
    if (root_program(roots, program, path, sizeof path))
        program = path;
    for (uint32_t i = 0; i < p->table.resources_n; i++)
        wanted = wanted || p->table.resources[i].sharing >= SHARING_MPS;
    wanted = wanted || a->o.mps_kept || mps_is_left_over(a->inventory, p->snapshot);
    if (!a->mps && wanted && !loop_is_virtual(a->loop)) {
        const char *root = a->o.mps_root ? a->o.mps_root : p->loaded->config.mps_root;
        struct mps_config c = {.root = root ? root : "/run/nvidia/mps",
                               .control_program = program,
                               .keti_directory = a->o.mps_keti_directory ? a->o.mps_keti_directory : "/tmp/nvidia-mps",
                               .kept = a->o.mps_kept,
                               .inventory = a->inventory};
        a->mps = mps_new(a->loop, a->driver, &c);
    }
    if (a->mps)
        mps_set_program(a->mps, program);
    if (a->mps)
        mps_set(a->mps, p->snapshot, &p->table);
}

/* All that the old offer hands out is still there. */
static bool offer_still_stands(const struct projection *old, const struct inventory_snapshot *s)
{
    for (uint32_t i = 0; old && i < old->table.resources_n; i++)
        for (uint32_t k = 0; k < old->table.resources[i].slots_n; k++) {
            const struct unit *was = &old->snapshot->units[old->table.resources[i].slots[k].unit];
            const struct unit *is = inventory_snapshot_unit(s, was->uuid);
            if (!is || unit_health_usable(is->health) != unit_health_usable(was->health))
                return false;
        }
    return old != NULL;
}

static void say_lines(const char *what, struct buf *lines)
{
    char *save = NULL;
    for (char *line = lines->n ? strtok_r(lines->data, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
        log_warning("%s text=\"%s\"", what, line);
}

/* True: p has a table. False: what is wrong was said, the old offer stays. */
static bool make_table(struct agent *a, struct projection *p)
{
    struct buf warnings = {0};
    struct err e = {0};
    int r = resource_table_make(p->arena, p->snapshot, &p->loaded->config, &p->table, &warnings, &e);
    bool same = text_equal(e.text, a->table_error.text);
    a->table_error = e;
    if (r == 0 && !same)
        log_info("resources consistent again");
    if (r < 0 && !same) {
        log_error("no resources can be made of GPUs and config error=\"%s\"", e.text);
        agent_node_event(a, true, "GPUConfigInvalid", e.text);
    }
    if (r == 0)
        say_lines("resources", &warnings);
    buf_free(&warnings);
    bool kept = r < 0 && offer_still_stands(a->projection, p->snapshot);
    agent_config_fits(a, &e, kept);
    if (r < 0)
        p->table = (struct resource_table){0};
    return !kept; /* nothing is offered, rather than what is gone */
}

/* Where nobody asked for it, only if node feature discovery is installed. */
static void project_features(struct agent *a, struct projection *p, const struct label_pair *labels, uint32_t n)
{
    const char *path = p->loaded->config.gfd_output_file, *slash = strrchr(path, '/');
    const char *directory = arena_text_n(p->arena, path, (size_t)(slash - path));
    if (text_equal(path, CONFIG_OUTPUT_FILE) && access(directory, W_OK) < 0) {
        features_file_unset(a->features);
        return;
    }
    _cleanup_buf_ struct buf text = {0};
    labels_write_features(labels, n, &text);
    features_file_set(a->features, path, buf_view(&text));
}

static void project_labels(struct agent *a, struct projection *p)
{
    const struct agent_config *c = &p->loaded->config;
    struct label_facts facts = label_facts_read(p->arena, a->o.root, c, loop_wall_ms(a->loop) / 1000);
    struct label_pair *labels = NULL;
    uint32_t n = 0;
    struct buf warnings = {0}, devices = {0};
    labels_make(p->arena, p->snapshot, c, &p->table, &facts, &labels, &n, &warnings);
    say_lines("labels", &warnings);
    resource_table_devices_text(&p->table, p->snapshot, &devices);
    agent_node_want(a, labels, n, buf_view(&devices));
    buf_free(&warnings);
    buf_free(&devices);
    project_features(a, p, labels, n);
}

static void project_cdi(struct agent *a, struct projection *p, const struct roots *roots)
{
    const struct agent_config *c = &p->loaded->config;
    struct err e = {0};
    if (!a->o.cdi_dir)
        return;
    if (c->device_list_strategies & (DEVICE_LIST_CDI_ANNOTATIONS | DEVICE_LIST_CDI_CRI))
        machine_read_driver(p->arena, roots, c, &p->machine);
    if (cdi_publish(p->arena, a->o.cdi_dir, p->snapshot, c, &p->machine, &e) < 0)
        log_error("cdi files not written error=\"%s\"", e.text);
}

static void project_condition(struct agent *a, const struct inventory_snapshot *s)
{
    _cleanup_arena_ struct arena *m = arena_new();
    struct node_condition c = {false, "DriverMissing", a->driver_error.text};
    if (!a->driver_error.code)
        c = node_condition_health(m, s);
    agent_node_condition(a, AGENT_CONDITION_HEALTHY, &c);
}

/* The node's event says it to people: which slots are closed, and when all are open again. */
static void tell_closed(struct agent *a, const struct resource *r, const struct buf *closed)
{
    _cleanup_buf_ struct buf text = {0};
    if (closed->n)
        buf_printf(&text, "%s: %u of %u slots can be handed out; closed: %s", r->name, slots_open(r->slots, r->slots_n), r->slots_n,
                   closed->data);
    else
        buf_printf(&text, "%s: all %u slots can be handed out again", r->name, r->slots_n);
    agent_node_event(a, false, closed->n ? "GPUSlotsClosed" : "GPUSlotsOpen", text.data);
}

static void tell_resource(struct agent *a, const struct resource *r, const struct resource *was)
{
    _cleanup_buf_ struct buf closed = {0}, before = {0};
    slots_closed_text(r->slots, r->slots_n, &closed);
    if (was)
        slots_closed_text(was->slots, was->slots_n, &before);
    bool other_reasons = closed.n != before.n || (closed.n && !text_equal(closed.data, before.data));
    if (was && was->slots_n == r->slots_n && !other_reasons)
        return;
    log_info("offering resource=%s slots=%u open=%u closed=\"%s\"", r->name, r->slots_n, slots_open(r->slots, r->slots_n),
             closed.n ? closed.data : "");
    if (other_reasons)
        tell_closed(a, r, &closed);
}

static void tell_offer(struct agent *a, const struct projection *p, const struct projection *old)
{
    for (uint32_t i = 0; i < p->table.resources_n; i++) {
        const struct resource *r = &p->table.resources[i];
        tell_resource(a, r, old ? resource_table_find(&old->table, r->name) : NULL);
    }
    for (uint32_t i = 0; old && i < old->table.resources_n; i++)
        if (!resource_table_find(&p->table, old->table.resources[i].name))
            log_info("no longer offering resource=%s", old->table.resources[i].name);
}

static void project(void *arg)
{
    struct agent *a = arg;
    if (!a->loaded || !a->read_once)
        return;
    const struct inventory_snapshot *s = inventory_now(a->inventory);
    struct roots roots;
    agent_host_roots(a, &roots);
    uint64_t hash = offer_hash(a, s), seen = machine_hash(&roots);
    if (a->projection && hash == a->projected && seen == a->projected_machine)
        return;
    a->projected_machine = seen;
    struct projection *p = mem_zero(1, sizeof *p), *old = a->projection;
    p->arena = arena_new();
    p->snapshot = inventory_snapshot_ref(s);
    p->loaded = a->loaded;
    p->loaded->refs++;
    struct err e = {0};
    agent_host_nodes(a);
    if (machine_read(p->arena, &roots, &p->machine, &e) < 0)
        log_warning("machine error=\"%s\"", e.text);
    else
        agent_host_capabilities(a, &roots, &p->machine, s);
    project_condition(a, s);
    if (make_table(a, p)) {
        set_mps(a, p, &roots);
        close_slots(a, p);
        project_labels(a, p);
        project_cdi(a, p, &roots);
        tell_offer(a, p, old);
        a->projection = p;
        if (a->plugin)
            device_plugin_set(a->plugin, p->snapshot, &p->loaded->config, &p->machine, &p->table);
        if (a->observer.resources)
            a->observer.resources(a->observer.arg, &p->table);
        projection_free(old);
    } else {
        projection_free(p);
    }
    a->projected = offer_hash(a, s);
}

void agent_project_later(struct agent *a)
{
    loop_at_turn_end(a->loop, project, a);
}

static void on_inventory(void *arg, const struct inventory_snapshot *s)
{
    (void)s;
    agent_project_later(arg);
}

/* ---- driver ---- */

static void driver_failed(struct agent *a, const struct err *e)
{
    if (!text_equal(e->text, a->driver_error.text))
        log_warning("driver not usable, trying again error=\"%s\"", e->text);
    a->driver_error = *e;
    a->driver_error.code = E_NOTFOUND;
    inventory_set_reading(a->inventory, NULL);
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
        log_error("%s", text);
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
        log_info("driver version=%s gpus=%u", r->driver_version, r->gpus_n);
    tell_silent(a, r->silent & ~inventory_now(a->inventory)->reading->silent);
    a->driver_error = (struct err){0};
    a->read_delay_ms = 0;
    inventory_set_reading(a->inventory, r);
    agent_project_later(a); /* device nodes may have come */
    int64_t period_ms = a->o.read_period_ms, sleep_ms = a->loaded ? a->loaded->config.gfd_sleep_ms : -1;
    loop_timer_start(a->read_timer, sleep_ms >= RETRY_MIN_MS && sleep_ms < period_ms ? sleep_ms : period_ms, 0);
}

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

void agent_read_now(struct agent *a)
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

void agent_gpu_event(struct agent *a, const struct driver_event *event)
{
    agent_health_event(a, event);
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
    return a->projection && features_file_written(a->features) && agent_node_written(a);
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

static void on_tick(void *arg)
{
    struct agent *a = arg;
    watch_registrations(a);
    trim(a);
    agent_source_tick(a);
    agent_health_tick(a);
    agent_drain_tick(a);
    agent_mig_check(a); /* what a layout waits for may be free */
    if (agent_ready(a))
        agent_node_started(a);
    if (!a->stopped)
        agent_host_tick(a);
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

static void start_plugin(struct agent *a)
{
    struct device_plugin_config c = {.directory = a->o.plugin_dir,
                                     .steer = agent_pods_steer,
                                     .admit = agent_pods_admit,
                                     .awaited = agent_pods_awaited,
                                     .ctx = a};
    a->plugin = device_plugin_new(a->loop, a->inventory, &c);
}

int agent_new(struct loop *l, struct driver *d, struct kube_client *c, const struct agent_options *o, struct agent **ret_a, struct err *e)
{
    struct agent *a = mem_zero(1, sizeof *a);
    a->loop = l;
    a->driver = d;
    a->kube = c;
    a->o = *o;
    if (a->o.read_period_ms <= 0)
        a->o.read_period_ms = READ_PERIOD_MS;
    a->read_timer = loop_timer_new(l, on_read_timer, a);
    a->tick_timer = loop_timer_new(l, on_tick, a);
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
    agent_pods_new(a);
    agent_mig_new(a);
    agent_drain_new(a);
    if (o->plugin_dir)
        start_plugin(a);
    a->trim_ms = loop_now_ms(l) + TRIM_FIRST_MS;
    driver_listen(d, on_driver_event, a);
    agent_read_now(a);
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
    loop_forget(a->loop, project, a);
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
    projection_free(a->projection);
    agent_loaded_unref(a->loaded);
    loop_timer_free(a->read_timer);
    loop_timer_free(a->tick_timer);
    features_file_free(a->features);
    inventory_close(a->inventory);
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
