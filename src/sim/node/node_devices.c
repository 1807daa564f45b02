/* node_devices.c - reading, layout, configuration, faults, and who holds what */
#include "sim/node/node_devices.h"
#include <stdio.h>
#include <stdlib.h>
#include "agent/health/health.h"
#include "agent/inventory/slot_id.h"
#include "agent/mig/mig_apply.h"
#include "agent/node/evict.h"
#include "agent/plugin/allocate.h"
#include "agent/plugin/resource_guard.h"
#include "base/collections/map.h"
#include "sim/driver/driver_model.h"
#include "sim/node/mig_memory.h"

#define TICK_MS 1000
#define ALL 0xffffffffu

struct reset_call {
    struct node_devices *devices;
    struct reset_call *next;
    char uuid[48];
};
struct going { /* a GPU that a layout changes */
    char uuid[48];
    bool ends; /* it is done with: until the next reading, which shows the GPU as it is now */
};
struct node_devices {
    struct loop *loop;
    const struct node_kind *kind;
    char *name;
    struct node_devices_config told;
    struct driver *driver;
    struct inventory *inventory;
    const struct agent_config *config; /* NULL: the shape's */
    struct arena *table_arena;
    struct resource_table table;
    struct resource_guard *guard;
    struct health *health; /* NULL until something fails */
    struct loop_timer *tick;
    struct reset_call *resets;
    struct node_devices_watcher watcher; /* functions NULL: nobody */
    struct mig_blockers blocked; /* what the last layout failed on, while it is held */
    bool mig_again;              /* it is free now */
    char *faults;                        /* text of node_devices_fault */
    struct mig_apply *mig_apply; /* under way; NULL: none */
    node_devices_mig_fn mig_fn;
    void *mig_arg;
    bool laid_out, ready, applying, changing;
    uint64_t offered;        /* units_hash of what the table is of */
    struct going *about_to_go; /* nothing of them is handed out meanwhile */
    uint32_t about_to_go_n;
};

void node_kind_init(struct node_kind *k, const struct node_shape *s)
{
    memset(k, 0, sizeof *k);
    k->shape = *s;
    node_shape_model(&k->shape, &k->model);
    agent_config_default(&k->config);
    k->config.mig_strategy = MIG_STRATEGY_MIXED;
    k->config.gfd_no_timestamp = true;
    k->config.keti_shares = (uint32_t)s->mps_shares;
    if (s->mig_profile[0]) {
        k->wish = (struct mig_config_wish){k->shape.mig_profile, mig_profile_find(&k->model, s->mig_profile)->max_n};
        k->entry =
            (struct mig_config_entry){.devices_all = true, .mig_enabled = true, .wishes = &k->wish, .wishes_n = 1};
        k->layout = (struct mig_layout){"shape", &k->entry, 1};
    }
    if (s->replicas <= 1)
        return;
    (void)snprintf(k->mig_resource, sizeof k->mig_resource, "nvidia.com/mig-%s", s->mig_profile);
    for (char *c = k->mig_resource; *c; c++)
        if (*c == '+')
            *c = '.';
    struct sharing_resource every = {.name = "nvidia.com/gpu", .devices_all = true, .replicas = (uint32_t)s->replicas};
    k->sharing[0] = k->sharing[1] = every;
    k->sharing[1].name = k->mig_resource;
    k->config.time_slicing =
        (struct sharing){.present = true, .resources = k->sharing, .resources_n = s->mig_profile[0] ? 2 : 1};
}

const struct agent_config *node_devices_agent_config(const struct node_devices *d)
{
    return d->config ? d->config : &d->kind->config;
}

const struct inventory_snapshot *node_devices_snapshot(const struct node_devices *d)
{
    return inventory_now(d->inventory);
}

void node_devices_watch(struct node_devices *d, const struct node_devices_watcher *w)
{
    d->watcher = w ? *w : (struct node_devices_watcher){0};
}

struct driver *node_devices_driver(const struct node_devices *d)
{
    return d->driver;
}

const struct inventory *node_devices_inventory(const struct node_devices *d)
{
    return d->inventory;
}

const struct resource_table *node_devices_table(const struct node_devices *d)
{
    return &d->table;
}

bool node_devices_ready(const struct node_devices *d)
{
    return d->ready;
}

bool node_devices_applying(const struct node_devices *d)
{
    return d->applying;
}

static void say(const struct node_devices *d, bool warning, const char *reason, const char *text)
{
    if (d->told.said)
        d->told.said(d->told.arg, warning, reason, text);
}

static void tell_change(void *arg)
{
    struct node_devices *d = arg;
    d->changing = false;
    d->told.changed(d->told.arg);
}

static void change(struct node_devices *d)
{
    if (!d->changing)
        loop_defer(d->loop, tell_change, d);
    d->changing = true;
}

/* ---- who holds what: owners in the inventory ---- */

static void tell_driver_processes(struct node_devices *d);
static int make_table(struct node_devices *d, const struct agent_config *c, struct err *e);

static const struct slot *table_slot(const struct node_devices *d, const char *resource, const char *id)
{
    const struct resource *r = resource_table_find(&d->table, resource);
    return r ? resource_find_slot(r, id) : NULL;
}

static bool slot_free(const struct node_devices *d, const struct resource *r, const struct slot *s)
{
    const struct inventory_snapshot *now = inventory_now(d->inventory);
    for (uint32_t i = 0; i < now->owners_n; i++)
        if (text_equal(now->owners[i].slot, s->id) && text_equal(now->owners[i].resource, r->name))
            return false;
    return slot_is_open(s);
}

/* The guard looks again: somebody came with a slot of an earlier sharing, or went. */
static void close_again(struct node_devices *d)
{
    (void)make_table(d, node_devices_agent_config(d), NULL); /* refused: what was before stays */
    change(d);
}

static void add_owner(struct node_devices *d, const struct node_pod *pod, const char *resource, const char *const *slots, uint32_t n)
{
    (void)inventory_claim(d->inventory, resource, slots, n, pod->ns, pod->name, "", NULL); /* without a journal nothing can fail */
    if (d->applying && d->ready)
        tell_driver_processes(d); /* the layout has not come to this GPU yet: it is in use now */
}

void node_devices_hold(struct node_devices *d, const struct node_pod *pod, const char *resource, const char *const *slots,
                       uint32_t n)
{
    bool older = false;
    add_owner(d, pod, resource, slots, n);
    for (uint32_t i = 0; i < n; i++)
        older |= !table_slot(d, resource, slots[i]);
    if (d->ready && older)
        close_again(d);
}

static bool is_held(const struct mig_blocker *b, const struct inventory_snapshot *s)
{
    for (uint32_t i = 0; i < s->units_n; i++)
        for (uint32_t k = 0; mig_blocker_is_on(b, s->units[i].gpu->uuid, s->units[i].uuid) && k < s->owners_n; k++)
            if (slot_is_of(s->owners[k].slot, &s->units[i]))
                return true;
    return false;
}

static bool is_blocked(const struct node_devices *d, const struct mig_blockers *b)
{
    for (uint32_t k = 0; k < b->n; k++)
        if (is_held(&b->list[k], inventory_now(d->inventory)))
            return true;
    return false;
}

static void unblock_mig(struct node_devices *d)
{
    if (!d->blocked.n || is_blocked(d, &d->blocked))
        return;
    d->blocked.n = 0;
    d->mig_again = true;
    change(d);
}

bool node_devices_mig_again(struct node_devices *d)
{
    bool again = d->mig_again;
    d->mig_again = false;
    return again;
}

void node_devices_release(struct node_devices *d, const struct node_pod *pod)
{
    const struct inventory_snapshot *s = inventory_now(d->inventory);
    bool waited = resource_guard_waits(d->guard);
    struct slot_owner *rest = mem_zero(s->owners_n + 1, sizeof *rest);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->owners_n; i++)
        if (!text_equal(s->owners[i].pod, pod->name) || !text_equal(s->owners[i].ns, pod->ns))
            rest[n++] = s->owners[i];
    bool any = n != s->owners_n;
    inventory_snapshot_ref(s); /* the texts of `rest` */
    if (any)
        inventory_set_owners(d->inventory, rest, n);
    inventory_snapshot_unref(s);
    free(rest);
    if (any && d->applying)
        tell_driver_processes(d); /* the layout may wait for them */
    if (any)
        unblock_mig(d);
    if (any && waited)
        close_again(d);
}

bool node_devices_healthy(const struct node_devices *d, const char *resource, const char *slot)
{
    const struct slot *s = table_slot(d, resource, slot);
    return s && slot_is_open(s);
}

/* The chosen ones when all of them are free; the number is right. */
static bool as_chosen(const struct node_devices *d, const struct resource *r, const char *const *chosen, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct slot *s = resource_find_slot(r, chosen[i]);
        if (!s || !slot_free(d, r, s))
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (text_equal(chosen[k], chosen[i]))
                return false;
    }
    return true;
}

/* SOURCE texts of the kubelet's device manager. */
static int too_few(const struct resource *r, uint32_t wanted, uint32_t free_n, struct err *e)
{
    if (slots_open(r->slots, r->slots_n) == 0)
        return err_set(e, E_DENIED, "no healthy devices present; cannot allocate unhealthy devices %s", r->name);
    return err_set(e, E_DENIED, "requested number of devices unavailable for %s. Requested: %u, Available: %u", r->name,
                   wanted, free_n);
}

int node_devices_take(struct node_devices *d, const struct node_pod *pod, const char *resource, uint32_t n,
                      const char *const *chosen, uint32_t chosen_n, struct arena *a, const char ***ret_slots,
                      struct err *e)
{
    const struct resource *r = resource_table_find(&d->table, resource);
    if (!r)
        return -E_NOTFOUND;
    bool same = chosen_n == n && as_chosen(d, r, chosen, n);
    const char **slots = arena_alloc(a, (n ? n : 1) * sizeof *slots);
    if (same) {
        memcpy(slots, chosen, n * sizeof *slots);
    } else {
        const char **available = arena_alloc(a, (r->slots_n ? r->slots_n : 1) * sizeof *available);
        uint32_t available_n = 0, given_n = 0;
        for (uint32_t i = 0; i < r->slots_n; i++)
            if (slot_free(d, r, &r->slots[i]))
                available[available_n++] = r->slots[i].id;
        if (available_n < n)
            return too_few(r, n, available_n, e);
        int code = preferred_choose(a, inventory_now(d->inventory), node_devices_agent_config(d), r, available,
                                    available_n, NULL, 0, n, &slots, &given_n, e);
        if (code < 0 || given_n != n)
            return code < 0 ? code : too_few(r, n, given_n, e);
    }
    const char **copies = arena_alloc(a, (n ? n : 1) * sizeof *copies);
    for (uint32_t i = 0; i < n; i++)
        copies[i] = arena_text(a, slots[i]);
    add_owner(d, pod, resource, copies, n);
    *ret_slots = copies;
    return same || chosen_n == 0;
}

int node_devices_allows(const struct node_devices *d, const char *resource, uint32_t n, struct err *e)
{
    const struct resource *r = resource_table_find(&d->table, resource);
    if (n <= 1 || !r || !r->fail_requests_greater_than_one)
        return 0;
    return err_set(e, E_DENIED,
                   "rpc error: code = Unknown desc = %s: a request for %u shares, but one is the most that a container "
                   "may ask for where GPUs are shared",
                   r->name, n);
}

/* ---- projections ---- */

static struct going *find_going(const struct node_devices *d, const char *gpu_uuid)
{
    for (uint32_t i = 0; i < d->about_to_go_n; i++)
        if (text_equal(d->about_to_go[i].uuid, gpu_uuid))
            return &d->about_to_go[i];
    return NULL;
}

static void hold_back(const struct node_devices *d, struct resource_table *t)
{
    const struct inventory_snapshot *s = inventory_now(d->inventory);
    for (uint32_t i = 0; d->about_to_go_n > 0 && i < t->resources_n; i++)
        for (uint32_t k = 0; k < t->resources[i].slots_n; k++)
            if (find_going(d, s->units[t->resources[i].slots[k].unit].gpu->uuid))
                (void)slot_close(&t->resources[i].slots[k], SLOT_MIG_CHANGING, NULL);
}

/* The table for this config; what was before stays on an error. */
static int make_table(struct node_devices *d, const struct agent_config *c, struct err *e)
{
    struct arena *a = arena_new();
    struct resource_table t;
    int r = resource_table_make(a, inventory_now(d->inventory), c, &t, NULL, e);
    if (r < 0) {
        arena_free(a);
        return r;
    }
    hold_back(d, &t);
    arena_free(d->table_arena);
    d->table_arena = a;
    d->table = t;
    resource_guard_apply(d->guard, a, inventory_now(d->inventory), &d->table);
    return 0;
}

void node_devices_labels(const struct node_devices *d, struct arena *a, struct label_pair **ret_labels, uint32_t *ret_n)
{
    struct label_facts facts = {.machine_type = "capstan-simulated"};
    labels_make(a, inventory_now(d->inventory), node_devices_agent_config(d), &d->table, &facts, ret_labels, ret_n,
                NULL);
}

void node_devices_text(const struct node_devices *d, struct buf *out)
{
    resource_table_devices_text(&d->table, inventory_now(d->inventory), out);
}

void node_devices_mig_text(const struct node_devices *d, struct buf *out)
{
    mig_memory_write(inventory_now(d->inventory)->reading, out);
    if (!out->n && d->kind->layout.entries_n > 0)
        buf_text(out, MIG_MEMORY_NONE); /* or the shape would split them again */
}

int node_devices_configure(struct node_devices *d, const struct agent_config *c, struct err *e)
{
    if (d->ready) {
        int r = make_table(d, c ? c : &d->kind->config, e);
        if (r < 0)
            return r;
    }
    d->config = c;
    if (d->ready)
        change(d);
    return 0;
}

/* ---- reading and layout ---- */

static void offer(struct node_devices *d);

/* What the table follows from: owners count only for the guard, who is told of them. The reading counts, since ids in the table are its
 * texts. */
static uint64_t units_hash(const struct inventory_snapshot *s)
{
    uint64_t h = s->reading->number;
    for (uint32_t i = 0; i < s->units_n; i++)
        h = hash_bytes(s->units[i].uuid, strlen(s->units[i].uuid), h + s->units[i].generation);
    return h;
}

static void on_reading(void *arg, int code, const struct driver_reading *reading, const struct err *e)
{
    struct node_devices *d = arg;
    if (code < 0) {
        say(d, true, "GPUNotRead", e->text);
        return;
    }
    uint32_t before_n = d->about_to_go_n;
    for (uint32_t i = before_n; i-- > 0;)
        if (d->about_to_go[i].ends)
            d->about_to_go[i] = d->about_to_go[--d->about_to_go_n];
    inventory_set_reading(d->inventory, reading);
    if (d->about_to_go_n < before_n || units_hash(inventory_now(d->inventory)) != d->offered)
        offer(d); /* before anybody asks: slots of the table before name units by number */
}

/* Who runs where, as the driver would know it: one process for each slot that is held. Caller frees. */
static struct driver_process *held_processes(const struct node_devices *d, uint32_t *ret_n)
{
    const struct inventory_snapshot *s = inventory_now(d->inventory);
    struct driver_process *list = mem_zero(s->owners_n + 1, sizeof *list);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->owners_n; i++) {
        const struct slot_owner *o = &s->owners[i];
        char unit[48];
        slot_unit_part(o->slot, unit);
        const struct unit *u = inventory_snapshot_unit(s, unit);
        uint64_t pod = hash_bytes(o->pod, strlen(o->pod), hash_bytes(o->ns, strlen(o->ns), 0));
        if (u)
            list[n++] = (struct driver_process){.pid = 100000 + (uint32_t)(pod % 900000),
                                                .gpu = u->gpu->index,
                                                .gi = u->mig ? u->mig->gi : ALL,
                                                .ci = u->mig ? u->mig->ci : ALL,
                                                .memory_bytes = 1ULL << 30};
    }
    *ret_n = n;
    return list;
}

static void tell_driver_processes(struct node_devices *d)
{
    uint32_t n;
    struct driver_process *list = held_processes(d, &n);
    driver_model_set_processes(d->driver, list, n);
    free(list);
}

static void on_applied(void *arg, const struct mig_apply_result *result)
{
    struct node_devices *d = arg;
    node_devices_mig_fn fn = d->mig_fn;
    d->mig_apply = NULL;
    d->applying = false;
    d->mig_fn = NULL;
    d->blocked.n = 0;
    for (uint32_t i = 0; i < result->blockers.n && is_blocked(d, &result->blockers); i++)
        mig_blockers_add(&d->blocked, &result->blockers.list[i]);
    driver_read(d->driver, on_reading, d);
    if (fn)
        fn(d->mig_arg, result->code, result->error.text);
}

static void on_evict(void *ctx, const struct mig_blockers *in_the_way, driver_done_fn done, void *arg)
{
    const struct node_devices *d = ctx;
    d->told.evict(d->told.arg, in_the_way, done, arg);
}

static void on_hold(void *ctx, const char *gpu_uuid, bool hold)
{
    struct node_devices *d = ctx;
    struct going *g = find_going(d, gpu_uuid);
    if (!g) {
        d->about_to_go = mem_grow(d->about_to_go, d->about_to_go_n + 1, sizeof *d->about_to_go);
        g = &d->about_to_go[d->about_to_go_n++];
        (void)snprintf(g->uuid, sizeof g->uuid, "%s", gpu_uuid);
    }
    g->ends = !hold;
    if (!hold) {
        driver_read(d->driver, on_reading, d);
        return;
    }
    hold_back(d, &d->table);
    change(d);
}

int node_devices_apply(struct node_devices *d, const struct mig_layout *layout, node_devices_mig_fn fn, void *arg,
                       struct err *e)
{
    if (d->applying || !d->ready)
        return err_set(e, E_AGAIN, "the GPUs of %s are being set up", d->name);
    const struct mig_apply_config policy = {.busy = d->told.evict ? MIG_BUSY_EVICT : MIG_BUSY_REFUSE,
                                            .evict_timeout_ms = EVICT_TIMEOUT_MS + EVICT_ANSWER_MS,
                                            .evict = d->told.evict ? on_evict : NULL,
                                            .hold = d->told.evict ? on_hold : NULL,
                                            .ctx = d};
    tell_driver_processes(d);
    d->applying = true;
    d->mig_fn = fn;
    d->mig_arg = arg;
    d->mig_again = false;
    d->mig_apply = mig_apply_start(d->loop, d->driver, d->inventory, layout, &policy, on_applied, d);
    return 0;
}

/* Lay out first, then offer. */
static void offer(struct node_devices *d)
{
    const struct inventory_snapshot *s = inventory_now(d->inventory);
    struct err e = {0};
    bool held = d->ready && d->told.evict; /* GPUs that a layout is changing are not offered (hold_back) */
    if (!s->reading || (d->applying && !held))
        return;
    if (!d->laid_out) {
        d->laid_out = true;
        if (d->kind->layout.entries_n > 0) {
            static const struct mig_apply_config quiet = {.busy = MIG_BUSY_REFUSE};
            d->applying = true;
            d->mig_apply = mig_apply_start(d->loop, d->driver, d->inventory, &d->kind->layout, &quiet, on_applied, d);
            return;
        }
    }
    if (make_table(d, node_devices_agent_config(d), &e) < 0) {
        say(d, true, "GPUConfigInvalid", e.text);
        if (d->config && make_table(d, &d->kind->config, NULL) < 0)
            return;
    }
    d->ready = true;
    d->offered = units_hash(s);
    change(d);
}

static void on_inventory(void *arg, const struct inventory_snapshot *s)
{
    struct node_devices *d = arg;
    if (units_hash(s) != d->offered)
        offer(d);
}

/* ---- faults ---- */

static void orders_carry_out(struct node_devices *d);

static void on_reset(void *arg, int code, const struct err *e)
{
    struct reset_call *call = arg;
    struct node_devices *d = call->devices;
    for (struct reset_call **at = &d->resets; *at; at = &(*at)->next)
        if (*at == call) {
            *at = call->next;
            break;
        }
    health_reset_done(d->health, call->uuid, code, loop_now_ms(d->loop));
    free(call);
    driver_read(d->driver, on_reading, d);
    orders_carry_out(d);
}

static void order_reset(struct node_devices *d, const struct health_order *o)
{
    struct reset_call *call = mem_zero(1, sizeof *call);
    call->devices = d;
    memcpy(call->uuid, o->gpu_uuid, sizeof call->uuid);
    call->next = d->resets;
    d->resets = call;
    tell_driver_processes(d);
    driver_reset(d->driver, o->gpu_uuid, on_reset, call);
}

static void orders_carry_out(struct node_devices *d)
{
    struct health_order o;
    while (health_next(d->health, &o)) {
        if (o.act == HEALTH_SET)
            inventory_set_health(d->inventory, o.gpu_uuid, o.gi, o.ci, o.health, o.xid);
        else if (o.act == HEALTH_RESET)
            order_reset(d, &o);
        else if (o.act == HEALTH_EVENT)
            say(d, o.warning, o.xid ? "GPUError" : "GPUHealth", o.text);
    }
}

static void on_driver_event(void *arg, const struct driver_event *event)
{
    struct node_devices *d = arg;
    if (d->watcher.event)
        d->watcher.event(d->watcher.arg, event);
    health_event(d->health, event, inventory_now(d->inventory), loop_now_ms(d->loop));
    orders_carry_out(d);
    if (event->kind == DRIVER_EVENT_LOST || event->kind == DRIVER_EVENT_BACK)
        driver_read(d->driver, on_reading, d);
}

/* Pods that hold slots count as processes: a GPU is not reset under them. */
static void on_tick(void *arg)
{
    struct node_devices *d = arg;
    uint32_t n;
    struct driver_process *list = held_processes(d, &n);
    health_tick(d->health, inventory_now(d->inventory), list, n, loop_now_ms(d->loop));
    free(list);
    orders_carry_out(d);
    bool well = true;
    const struct inventory_snapshot *s = inventory_now(d->inventory);
    for (uint32_t i = 0; i < s->units_n; i++)
        well &= s->units[i].health == UNIT_HEALTHY;
    if (well && !d->resets)
        loop_timer_stop(d->tick);
}

struct fault {
    int kind; /* of struct driver_event; -1: none named */
    int64_t xid, gpu, gi, ci;
};

static bool fault_number(const char *part, const char *key, int64_t max, int64_t *ret_value)
{
    size_t n = strlen(key);
    return strncmp(part, key, n) == 0 && bytes_int64(bytes_of(part + n), ret_value) && *ret_value >= 0 &&
           *ret_value <= max;
}

static int fault_parse(char *text, uint32_t gpus_n, struct fault *ret_fault, struct err *e)
{
    struct fault f = {-1, 0, -1, ALL, ALL};
    char *save = NULL;
    for (char *part = strtok_r(text, ", ", &save); part; part = strtok_r(NULL, ", ", &save)) {
        if (fault_number(part, "xid=", 1000, &f.xid))
            f.kind = DRIVER_EVENT_XID;
        else if (text_equal(part, "ecc"))
            f.kind = DRIVER_EVENT_ECC_DOUBLE;
        else if (text_equal(part, "lost"))
            f.kind = DRIVER_EVENT_LOST;
        else if (!fault_number(part, "gpu=", (int64_t)gpus_n - 1, &f.gpu) && !fault_number(part, "gi=", 255, &f.gi) &&
                 !fault_number(part, "ci=", 255, &f.ci))
            return err_set(
                e, E_INVALID,
                "'%.40s' is not understood: write xid=79,gpu=3 or lost,gpu=0 or ecc,gpu=1 (gi=, ci= for a MIG "
                "instance), GPUs 0 to %u",
                part, gpus_n - 1);
    }
    if (f.kind < 0 || f.gpu < 0)
        return err_set(e, E_INVALID, "a fault needs xid=N, ecc or lost, and gpu=N");
    *ret_fault = f;
    return 0;
}

static bool had_fault(const struct node_devices *d, const char *one)
{
    _cleanup_free_ char *copy = mem_text(d->faults ? d->faults : "");
    char *save = NULL;
    for (char *part = strtok_r(copy, ";", &save); part; part = strtok_r(NULL, ";", &save))
        if (text_equal(part, one))
            return true;
    return false;
}

/* As after the repair and a reboot: nothing is remembered, every GPU answers. */
static void heal(struct node_devices *d)
{
    uint32_t gpus_n = (uint32_t)d->kind->shape.gpus_n;
    health_free(d->health);
    d->health = health_new(NULL, NULL);
    for (uint32_t i = 0; i < gpus_n; i++) {
        char uuid[48];
        driver_model_uuid(d->name, i, uuid);
        driver_model_event(d->driver, i, ALL, ALL, DRIVER_EVENT_BACK, 0);
        inventory_set_health(d->inventory, uuid, ALL, ALL, UNIT_HEALTHY, 0);
    }
    say(d, false, "GPUHealth", "the simulated faults are gone: every GPU works");
}

int node_devices_fault(struct node_devices *d, const char *text, struct err *e)
{
    if (text_equal(d->faults ? d->faults : "", text))
        return 0;
    if (!d->health) {
        d->health = health_new(NULL, NULL);
        d->tick = loop_timer_new(d->loop, on_tick, d);
        driver_listen(d->driver, on_driver_event, d);
    }
    _cleanup_free_ char *copy = mem_text(text);
    char *save = NULL;
    for (char *one = strtok_r(copy, ";", &save); one; one = strtok_r(NULL, ";", &save)) {
        struct fault f = {-1, 0, -1, ALL, ALL};
        _cleanup_free_ char *parts = mem_text(one);
        int r = fault_parse(parts, (uint32_t)d->kind->shape.gpus_n, &f, e);
        if (r < 0)
            return r;
        if (!had_fault(d, one))
            driver_model_event(d->driver, (uint32_t)f.gpu, (uint32_t)f.gi, (uint32_t)f.ci, f.kind, (uint64_t)f.xid);
    }
    if (!*text)
        heal(d);
    free(d->faults);
    d->faults = mem_text(text);
    loop_timer_start(d->tick, TICK_MS, TICK_MS);
    return 0;
}

/* ---- life ---- */

struct node_devices *node_devices_new(struct loop *l, const struct node_devices_config *config)
{
    struct node_devices *d = mem_zero(1, sizeof *d);
    d->loop = l;
    d->kind = config->kind;
    d->told = *config;
    d->name = mem_text(config->node_name);
    d->driver = driver_model_new(l, &d->kind->model, (uint32_t)d->kind->shape.gpus_n, d->name);
    (void)inventory_open(l, NULL, &d->inventory, NULL); /* without a journal nothing can fail */
    d->guard = resource_guard_new(d->inventory);
    inventory_listen(d->inventory, on_inventory, d);
    struct err e = {0};
    if (config->mig && *config->mig) {
        d->laid_out =
            mig_memory_restore(d->driver, &d->kind->model, (uint32_t)d->kind->shape.gpus_n, config->mig, &e) == 0;
        if (!d->laid_out)
            say(d, true, "MIGConfigFailed", e.text);
    }
    driver_read(d->driver, on_reading, d);
    return d;
}

void node_devices_free(struct node_devices *d)
{
    if (!d)
        return;
    if (d->watcher.freed)
        d->watcher.freed(d->watcher.arg);
    loop_forget(d->loop, tell_change, d);
    loop_timer_free(d->tick);
    mig_apply_cancel(d->mig_apply);
    driver_free(d->driver);
    while (d->resets) {
        struct reset_call *next = d->resets->next;
        free(d->resets);
        d->resets = next;
    }
    health_free(d->health);
    resource_guard_free(d->guard);
    inventory_close(d->inventory);
    arena_free(d->table_arena);
    free(d->about_to_go);
    mig_blockers_free(&d->blocked);
    free(d->faults);
    free(d->name);
    free(d);
}
