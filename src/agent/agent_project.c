/* agent_project.c - what the node offers, made anew when something has changed of what it follows from */
#include <stdio.h>
#include <unistd.h>
#include "agent/agent_parts.h"
#include "agent/host/roots.h"
#include "agent/mps/mps.h"
#include "agent/node/features_file.h"
#include "agent/plugin/resource_guard.h"
#include "base/collections/map.h"
#include "base/log.h"

void agent_projection_free(struct projection *p)
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
    if (a->held_n > 0 && agent_mig_layout(a))
        h = hash_text(agent_mig_layout(a), h);
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
    if (!a->mps && wanted && !a->o.feed && !loop_is_virtual(a->loop)) {
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

static void say_lines(const struct agent *a, const char *what, struct buf *lines)
{
    char *save = NULL;
    for (char *line = lines->n ? strtok_r(lines->data, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
        agent_log(a, LOG_WARNING, "%s text=\"%s\"", what, line);
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
        agent_log(a, LOG_INFO, "resources consistent again");
    if (r < 0 && !same) {
        agent_log(a, LOG_ERROR, "no resources can be made of GPUs and config error=\"%s\"", e.text);
        agent_node_event(a, true, "GPUConfigInvalid", e.text);
    }
    if (r == 0)
        say_lines(a, "resources", &warnings);
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

/* The facts of a machine are read when it is projected; an agent that is fed has none of its own, and makes its labels when asked. */
static void project_labels(struct agent *a, struct projection *p)
{
    struct label_facts facts = label_facts_read(p->arena, a->o.root, &p->loaded->config, loop_wall_ms(a->loop) / 1000);
    struct buf warnings = {0}, devices = {0};
    labels_make(p->arena, p->snapshot, &p->loaded->config, &p->table, &facts, &p->labels, &p->labels_n, &warnings);
    say_lines(a, "labels", &warnings);
    resource_table_devices_text(&p->table, p->snapshot, &devices);
    p->devices = arena_text_n(p->arena, devices.data, devices.n);
    buf_free(&warnings);
    buf_free(&devices);
    project_features(a, p, p->labels, p->labels_n);
}

void agent_wish(const struct agent *a, struct arena *m, struct node_wish *w)
{
    const struct projection *p = a->projection;
    w->labels = p->labels;
    w->labels_n = p->labels_n;
    w->devices = p->devices;
    if (!a->o.feed)
        return;
    const struct label_facts facts = {.machine_type = a->o.feed->machine_type};
    struct label_pair *labels;
    _cleanup_buf_ struct buf devices = {0};
    labels_make(m, p->snapshot, &p->loaded->config, &p->table, &facts, &labels, &w->labels_n, NULL);
    if (a->o.feed->off)
        buf_text(&devices, "[]");
    else
        resource_table_devices_text(&p->table, p->snapshot, &devices);
    w->labels = labels;
    w->devices = arena_text_n(m, devices.data, devices.n);
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
    agent_log(a, LOG_INFO, "offering resource=%s slots=%u open=%u closed=\"%s\"", r->name, r->slots_n, slots_open(r->slots, r->slots_n),
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
            agent_log(a, LOG_INFO, "no longer offering resource=%s", old->table.resources[i].name);
}

/* What a machine does with a new offer, beside the kubelet and its node. */
static void project_machine(struct agent *a, struct projection *p, const struct roots *roots)
{
    set_mps(a, p, roots);
    close_slots(a, p);
    project_labels(a, p);
    project_cdi(a, p, roots);
}

static void read_machine(struct agent *a, struct projection *p, const struct roots *roots)
{
    struct err e = {0};
    agent_host_nodes(a);
    if (machine_read(p->arena, roots, &p->machine, &e) < 0)
        log_warning("machine error=\"%s\"", e.text);
    else
        agent_host_capabilities(a, roots, &p->machine, p->snapshot);
}

/* The offer is p from now on. */
static void offer(struct agent *a, struct projection *p)
{
    struct projection *old = a->projection;
    tell_offer(a, p, old);
    a->projection = p;
    agent_node_want(a);
    if (a->plugin)
        device_plugin_set(a->plugin, p->snapshot, &p->loaded->config, &p->machine, &p->table);
    if (a->observer.resources)
        a->observer.resources(a->observer.arg, &p->table);
    agent_projection_free(old);
}

static void project(void *arg)
{
    struct agent *a = arg;
    if (!a->loaded || !a->read_once)
        return;
    const struct inventory_snapshot *s = inventory_now(a->inventory);
    struct roots roots;
    uint64_t seen = 0;
    if (!a->o.feed) {
        agent_host_roots(a, &roots);
        seen = machine_hash(&roots);
    }
    if (a->projection && offer_hash(a, s) == a->projected && seen == a->projected_machine) {
        if (a->o.feed && a->projection->snapshot->reading == s->reading) { /* ids are texts of the reading; the older one may go */
            inventory_snapshot_unref(a->projection->snapshot);
            a->projection->snapshot = inventory_snapshot_ref(s);
        }
        return;
    }
    a->projected_machine = seen;
    struct projection *p = mem_zero(1, sizeof *p);
    p->arena = arena_new();
    p->snapshot = inventory_snapshot_ref(s);
    p->loaded = a->loaded;
    p->loaded->refs++;
    if (!a->o.feed)
        read_machine(a, p, &roots);
    project_condition(a, s);
    bool made = make_table(a, p);
    if (made && a->o.feed)
        close_slots(a, p);
    else if (made)
        project_machine(a, p, &roots);
    if (made)
        offer(a, p);
    else
        agent_projection_free(p);
    a->projected = offer_hash(a, s);
}

void agent_project_later(struct agent *a)
{
    loop_at_turn_end(a->loop, project, a);
}

void agent_project_stop(struct agent *a)
{
    loop_forget(a->loop, project, a);
}
