/* agent_slots.c - random allocations, ends, faults, config changes, restarts of agent and kubelet over inventory, resource table and guard:
 * no slot twice, no unit offered by two resources, no device over its share, everything offered again in the end.
 *
 * The kubelet forgets its pods when it starts and finds them again one by one: its lists are short until then. The API server's word on a
 * pod comes late: that it was begun, that it has ended, that it was deleted. An agent that starts knows no pod until all have been told.
 * Half of the pods come again under the name of one that ended.
 *
 *   agent_slots [SEED [STEPS [RUNS]]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "agent/inventory/pod_absence.h"
#include "agent/plugin/allocate.h"
#include "agent/plugin/resource_guard.h"
#include "base/random.h"
#include "sim/driver/driver_model.h"

#define GPUS 4
#define CONTAINERS 40
#define DEVICES 512
#define WHOLE 840 /* a unit in parts: divisible by every number of replicas here */

static const char *const configs[] = {
    "version: v1\n",
    "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: 4}\n",
    "version: v1\nsharing:\n  timeSlicing:\n    renameByDefault: true\n    resources:\n    - {name: nvidia.com/gpu, replicas: 7}\n",
    "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: 2, devices: [\"0\", \"2\"]}\n",
    "version: v1\nsharing:\n  mps:\n    resources:\n    - {name: nvidia.com/gpu, replicas: 3}\n",
    "version: v1\nsharing:\n  keti:\n    replicas: 5\n",
    "version: v1\nflags:\n  migStrategy: mixed\n",
    "version: v1\nflags:\n  migStrategy: mixed\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/mig-3g.20gb, replicas: 2}\n",
    "version: v1\nflags:\n  migStrategy: single\n",
};
enum { CONFIGS_N = sizeof configs / sizeof *configs };

enum told { TOLD_NOTHING, TOLD_BOUND, TOLD_BEGUN, TOLD_ENDED, TOLD_DELETED };
struct container { /* of a pod of its own */
    bool runs, known; /* known: to the kubelet, since its last start */
    enum told told;   /* by the API server */
    char resource[64], name[16], uid[16];
    uint32_t slots_n, parts[2];
    char slots[2][80], units[2][48];
};
struct device { /* as the kubelet has it from the last ListAndWatch */
    char resource[64], id[80];
};
struct model {
    struct loop *loop;
    struct driver *driver;
    struct inventory *inventory;
    struct resource_guard *guard;
    struct pod_absence *absence;
    struct arena *arena; /* of config and table */
    struct agent_config config;
    struct resource_table table;
    struct machine machine;
    struct random random;
    struct container containers[CONTAINERS];
    struct device devices[DEVICES];
    uint32_t devices_n;
    int config_at;
    const char *journal;
    uint64_t seed, step, served_n, refused_n, names, mig_n, short_n;
    bool restarted; /* the kubelet: nobody has told the agent yet */
};

static void tell(struct model *m, struct container *c, enum told what);
static bool lives(void *ctx, const char *uid);

static void broken(const struct model *m, const char *what, const char *whom)
{
    fprintf(stderr, "broken: %s: %s (seed %" PRIu64 ", step %" PRIu64 ")\n", what, whom, m->seed, m->step);
    (void)unlink(m->journal);
    exit(1);
}

static uint32_t below(struct model *m, uint32_t n)
{
    return (uint32_t)random_below(&m->random, n);
}

/* ---- agent ---- */

static void on_reading(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    struct model *m = arg;
    if (code == 0)
        inventory_set_reading(m->inventory, r);
}

static void read_driver(struct model *m)
{
    driver_read(m->driver, on_reading, m);
    (void)loop_run_for(m->loop, 10, NULL);
}

static void check_table(const struct model *m)
{
    const struct inventory_snapshot *s = inventory_now(m->inventory);
    for (uint32_t u = 0; u < s->units_n; u++) {
        uint32_t offers_n = 0;
        for (uint32_t i = 0; i < m->table.resources_n; i++) {
            bool offered = false;
            for (uint32_t k = 0; k < m->table.resources[i].slots_n; k++)
                offered = offered || m->table.resources[i].slots[k].unit == u;
            offers_n += offered;
        }
        if (offers_n > 1)
            broken(m, "two resources offer one unit", s->units[u].uuid);
    }
}

/* The state of every slot against what is known of its unit without the guard: closed for a fault, or for a container that is named. */
static void check_states(const struct model *m)
{
    const struct inventory_snapshot *s = inventory_now(m->inventory);
    for (uint32_t i = 0; i < m->table.resources_n; i++) {
        for (uint32_t k = 0; k < m->table.resources[i].slots_n; k++) {
            const struct slot *slot = &m->table.resources[i].slots[k];
            const struct unit *u = &s->units[slot->unit];
            bool faulty = u->gpu->lost || u->health != UNIT_HEALTHY;
            if (faulty != (slot->state >= SLOT_PROBATION))
                broken(m, "the state is not that of the unit", slot->id);
            if (slot->state == SLOT_OLD_SLICING && (!slot->why || (!resource_guard_waits(m->guard))))
                broken(m, "closed for nobody", slot->id);
            if (slot->state == SLOT_OLD_SLICING && strncmp(slot->why, "held as ", 8) != 0 && !s->owners_unsure)
                broken(m, "closed for somebody who is not named, and everybody is known", slot->id);
            if (!faulty && slot->state != SLOT_OLD_SLICING && !slot_is_open(slot))
                broken(m, "closed without a reason", slot->id);
        }
    }
}

/* A new table; with the old config when this one does not fit the devices. */
static void project(struct model *m)
{
    struct err e = {0};
    for (;;) {
        arena_free(m->arena);
        m->arena = arena_new();
        if (agent_config_parse(m->arena, bytes_of(configs[m->config_at]), NULL, 0, &m->config, NULL, &e) < 0)
            broken(m, "config", e.text);
        if (resource_table_make(m->arena, inventory_now(m->inventory), &m->config, &m->table, NULL, &e) == 0)
            break;
        m->config_at = 0;
    }
    resource_guard_apply(m->guard, m->arena, inventory_now(m->inventory), &m->table);
    check_table(m);
    check_states(m);
}

/* ---- API server ---- */

static bool lives(void *ctx, const char *uid)
{
    const struct model *m = ctx;
    for (int i = 0; i < CONTAINERS; i++)
        if (m->containers[i].runs && text_equal(m->containers[i].uid, uid))
            return true;
    return false;
}

static void tell(struct model *m, struct container *c, enum told what)
{
    c->told = what;
    if (what == TOLD_DELETED)
        pod_absence_deleted(m->absence, c->uid);
    else if (what != TOLD_NOTHING)
        pod_absence_word(m->absence, &(struct pod_word){.uid = c->uid,
                                                        .ns = "ns",
                                                        .name = c->name,
                                                        .begun = what >= TOLD_BEGUN,
                                                        .ended = what == TOLD_ENDED,
                                                        .asks = true});
}

/* The next that can truly be said of this pod. Deleted without an end: by force, while it still runs. */
static void tell_next(struct model *m, struct container *c)
{
    if (c->told == TOLD_NOTHING || c->told == TOLD_DELETED)
        return;
    if (c->runs && c->told == TOLD_BOUND)
        tell(m, c, TOLD_BEGUN);
    else if (c->runs && below(m, 40) == 0)
        tell(m, c, TOLD_DELETED);
    else if (!c->runs)
        tell(m, c, c->told == TOLD_ENDED || below(m, 2) ? TOLD_DELETED : TOLD_ENDED);
}

/* ---- the agent's start ---- */

static void agent_restart(struct model *m)
{
    struct err e = {0};
    resource_guard_free(m->guard);
    inventory_close(m->inventory);
    m->inventory = NULL;
    if (inventory_open(m->loop, m->journal, &m->inventory, &e) < 0)
        broken(m, "journal", e.text);
    m->guard = resource_guard_new(m->inventory);
    pod_absence_free(m->absence);
    m->absence = pod_absence_new(true, lives, m);
    for (int i = 0; i < CONTAINERS; i++) /* the first list of pods is whole before `synced` */
        if (m->containers[i].told != TOLD_DELETED)
            tell(m, &m->containers[i], m->containers[i].told);
    inventory_owners_unknown(m->inventory, true);
    read_driver(m);
    project(m);
}

/* ---- kubelet ---- */

static bool is_taken(const struct model *m, const char *resource, const char *slot)
{
    for (int i = 0; i < CONTAINERS; i++) {
        const struct container *c = &m->containers[i];
        for (uint32_t k = 0; c->runs && k < c->slots_n; k++) {
            if (text_equal(c->resource, resource) && text_equal(c->slots[k], slot))
                return true;
        }
    }
    return false;
}

static void watch(struct model *m)
{
    m->devices_n = 0;
    for (uint32_t i = 0; i < m->table.resources_n; i++) {
        const struct resource *r = &m->table.resources[i];
        for (uint32_t k = 0; k < r->slots_n && m->devices_n < DEVICES; k++) {
            if (!slot_is_open(&r->slots[k]))
                continue;
            struct device *d = &m->devices[m->devices_n++];
            (void)snprintf(d->resource, sizeof d->resource, "%s", r->name);
            (void)snprintf(d->id, sizeof d->id, "%s", r->slots[k].id);
        }
    }
}

static void check_shares(const struct model *m)
{
    for (int i = 0; i < CONTAINERS; i++) {
        const struct container *c = &m->containers[i];
        for (uint32_t k = 0; c->runs && k < c->slots_n; k++) {
            uint32_t parts = 0;
            for (int j = 0; j < CONTAINERS; j++) {
                const struct container *o = &m->containers[j];
                for (uint32_t l = 0; o->runs && l < o->slots_n; l++)
                    parts += text_equal(o->units[l], c->units[k]) ? o->parts[l] : 0;
            }
            if (parts > WHOLE)
                broken(m, "a device is over its share", c->units[k]);
        }
    }
}

static void container_start(struct model *m, struct container *c)
{
    const char *slots[2];
    struct allocate_answer answer;
    struct err e = {0};
    if (!m->devices_n)
        return;
    char resource[64];
    memcpy(resource, m->devices[below(m, m->devices_n)].resource, sizeof resource);
    uint32_t want = 1 + (below(m, 4) == 0), n = 0;
    for (uint32_t i = 0, at = below(m, m->devices_n); i < m->devices_n && n < want; i++, at = (at + 1) % m->devices_n) {
        if (text_equal(m->devices[at].resource, resource) && !is_taken(m, resource, m->devices[at].id))
            slots[n++] = m->devices[at].id;
    }
    const struct resource *r = resource_table_find(&m->table, resource);
    if (n < want || !r)
        return;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct inventory_snapshot *s = inventory_now(m->inventory);
    if (allocate_answer_make(a, s, &m->config, &m->machine, r, slots, n, NULL, &answer, &e) < 0 ||
        inventory_claim(m->inventory, resource, slots, n, "", "", "", &e) < 0) {
        m->refused_n++;
        return;
    }
    bool again = c->name[0] && below(m, 2); /* of a StatefulSet */
    struct container was = *c;
    *c = (struct container){.runs = true, .known = true, .slots_n = n};
    memcpy(c->resource, resource, sizeof c->resource);
    (void)snprintf(c->uid, sizeof c->uid, "u%" PRIu64, ++m->names);
    (void)snprintf(c->name, sizeof c->name, "c%" PRIu64, m->names);
    if (again)
        memcpy(c->name, was.name, sizeof c->name);
    tell(m, c, TOLD_BOUND);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t unit = resource_find_slot(r, slots[k])->unit, shares_n = 0;
        for (uint32_t i = 0; i < r->slots_n; i++)
            shares_n += r->slots[i].unit == unit;
        (void)snprintf(c->slots[k], sizeof c->slots[k], "%s", slots[k]);
        (void)snprintf(c->units[k], sizeof c->units[k], "%s", inventory_now(m->inventory)->units[unit].uuid);
        c->parts[k] = WHOLE / shares_n;
    }
    m->served_n++;
    m->mig_n += text_starts(c->units[0], "MIG-");
    check_shares(m);
}

/* As podresources answers: the pods that the kubelet has, and what its checkpoint has of them; ended ones until they are deleted. */
static void list(struct model *m)
{
    struct slot_owner owners[CONTAINERS * 2];
    struct pod_name named[CONTAINERS];
    uint32_t n = 0, named_n = 0;
    for (int i = 0; i < CONTAINERS; i++) {
        const struct container *c = &m->containers[i];
        if (!c->known)
            continue;
        named[named_n++] = (struct pod_name){"ns", c->name};
        for (uint32_t k = 0; k < c->slots_n; k++)
            owners[n++] = (struct slot_owner){c->resource, c->slots[k], "ns", c->name, "main"};
    }
    if (m->restarted && below(m, 2)) {
        pod_absence_kubelet_restarted(m->absence, loop_now_ms(m->loop));
        m->restarted = false;
    }
    m->short_n += !pod_absence_settle(m->absence, m->inventory, &(struct pod_list){owners, n, named, named_n, true}, loop_now_ms(m->loop));
    project(m);
}

static void kubelet_restart(struct model *m)
{
    m->restarted = true;
    for (int i = 0; i < CONTAINERS; i++)
        m->containers[i].known = false;
}

/* It finds what it had; what was deleted meanwhile it has no more, and pods that run no more are not taken up. */
static void kubelet_finds(struct model *m, struct container *c)
{
    if (c->told == TOLD_DELETED && !c->runs)
        c->known = false;
    else if (c->slots_n && (c->runs || c->told == TOLD_ENDED))
        c->known = true;
}

static void fault(struct model *m)
{
    uint32_t gpu = below(m, GPUS);
    if (below(m, 2)) {
        driver_model_event(m->driver, gpu, 0xffffffff, 0xffffffff, below(m, 4) ? DRIVER_EVENT_BACK : DRIVER_EVENT_LOST, 0);
        read_driver(m);
    } else {
        const struct inventory_snapshot *s = inventory_now(m->inventory);
        inventory_set_health(m->inventory, s->reading->gpus[gpu].uuid, 0xffffffff, 0xffffffff,
                             below(m, 4) ? UNIT_HEALTHY : (enum unit_health)below(m, UNIT_FAILED + 1), 48);
    }
    project(m);
}

static void step(struct model *m)
{
    struct container *c = &m->containers[below(m, CONTAINERS)];
    m->step++;
    switch (below(m, 14)) {
    case 0:
        if (below(m, 4) == 0)
            m->config_at = (int)below(m, CONFIGS_N);
        project(m);
        break;
    case 1:
        if (below(m, 4) == 0)
            fault(m);
        break;
    case 2:
        if (below(m, 8) == 0)
            agent_restart(m);
        break;
    case 3:
        list(m);
        break;
    case 4:
    case 5:
        watch(m); /* at any time after the change */
        break;
    case 6:
        c->runs = c->runs && !c->known; /* a kubelet ends only what it has found */
        break;
    case 7:
        (void)loop_run_for(m->loop, 3000, NULL);
        if (below(m, 6) == 0)
            kubelet_restart(m);
        break;
    case 8:
    case 9:
        for (int i = 0; i < 8; i++)
            tell_next(m, &m->containers[below(m, CONTAINERS)]);
        for (int i = 0; i < 16; i++)
            kubelet_finds(m, &m->containers[below(m, CONTAINERS)]);
        break;
    default:
        if (!c->runs && (c->told == TOLD_NOTHING || c->told == TOLD_DELETED))
            container_start(m, c);
    }
}

static void finish(struct model *m)
{
    m->step = UINT64_MAX;
    for (int i = 0; i < CONTAINERS; i++) {
        m->containers[i].runs = m->containers[i].known = false;
        if (m->containers[i].uid[0])
            tell(m, &m->containers[i], TOLD_DELETED);
    }
    list(m);
    for (uint32_t i = 0; i < GPUS; i++)
        driver_model_event(m->driver, i, 0xffffffff, 0xffffffff, DRIVER_EVENT_BACK, 0);
    (void)loop_run_for(m->loop, ABSENCE_UNHEARD_MS + 1000, NULL); /* pods that no one who starts hears of */
    read_driver(m);
    for (uint32_t i = 0; i < GPUS; i++)
        inventory_set_health(m->inventory, inventory_now(m->inventory)->reading->gpus[i].uuid, 0xffffffff, 0xffffffff, UNIT_HEALTHY, 0);
    list(m);
    if (resource_guard_waits(m->guard))
        broken(m, "something waits for containers that are gone", "guard");
    for (uint32_t i = 0; i < m->table.resources_n; i++) {
        for (uint32_t k = 0; k < m->table.resources[i].slots_n; k++) {
            if (!slot_is_open(&m->table.resources[i].slots[k]))
                broken(m, "a free slot is not offered", m->table.resources[i].slots[k].id);
        }
    }
}

static void ignore(void *arg, int code, const struct err *e)
{
    if (code < 0)
        fprintf(stderr, "split GPU 3: %s\n", e->text);
}

static void split(struct model *m)
{
    char uuid[48];
    static const struct mig_step steps[] = {
        {.kind = MIG_STEP_MODE_ON},
        {.kind = MIG_STEP_CREATE_GI, .profile_id = 9, .start = 0},
        {.kind = MIG_STEP_CREATE_CI, .instance_id = 0xff, .slices = 3, .start = 0},
        {.kind = MIG_STEP_CREATE_GI, .profile_id = 9, .start = 4},
        {.kind = MIG_STEP_CREATE_CI, .instance_id = 0xff, .slices = 3, .start = 0},
    };
    driver_model_uuid("slots", 3, uuid);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        driver_mig_step(m->driver, uuid, &steps[i], ignore, NULL);
        (void)loop_run_for(m->loop, 5000, NULL);
        if (i == 0) {
            driver_reset(m->driver, uuid, ignore, NULL);
            (void)loop_run_for(m->loop, 5000, NULL);
        }
    }
}

static void run(uint64_t seed, uint64_t steps, const char *journal, uint64_t *served_n, uint64_t *refused_n, uint64_t *mig_n,
                uint64_t *short_n)
{
    struct model m = {.loop = loop_new_virtual(0), .random = {seed}, .seed = seed, .journal = journal};
    (void)unlink(journal);
    m.driver = driver_model_new(m.loop, gpu_model_find("a100-40gb"), GPUS, "slots");
    if (seed % 2)
        split(&m);
    agent_restart(&m);
    while (m.step < steps)
        step(&m);
    finish(&m);
    *served_n += m.served_n;
    *refused_n += m.refused_n;
    *mig_n += m.mig_n;
    *short_n += m.short_n;
    pod_absence_free(m.absence);
    driver_free(m.driver);
    resource_guard_free(m.guard);
    inventory_close(m.inventory);
    arena_free(m.arena);
    loop_free(m.loop);
    (void)unlink(journal);
    char lock[320];
    (void)snprintf(lock, sizeof lock, "%s.lock", journal);
    (void)unlink(lock);
}

int main(int argc, char **argv)
{
    char journal[300];
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000;
    uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 20, served_n = 0, refused_n = 0, mig_n = 0, short_n = 0;
    const char *folder = getenv("TMPDIR");
    (void)snprintf(journal, sizeof journal, "%s/agent-slots-%d", folder ? folder : "/tmp", (int)getpid());
    for (uint64_t i = 0; i < runs; i++)
        run(seed + i, steps, journal, &served_n, &refused_n, &mig_n, &short_n);
    printf("agent_slots: %" PRIu64 " runs of %" PRIu64 " steps: %" PRIu64 " containers served (%" PRIu64 " on MIG), %" PRIu64
           " refused, %" PRIu64 " lists short\n", runs, steps, served_n, mig_n, refused_n, short_n);
    if (runs > 1 && (!mig_n || !short_n))
        return 1; /* the split did not work, or no kubelet was restarted */
    return 0;
}
