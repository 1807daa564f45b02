/* fault.c - faults on demand, and what brings a GPU back
 *
 * SOURCE  what follows from an XID: NVIDIA's XID catalogue. 79: off the bus; 48: double-bit ECC error; 63, 64: row remapping; 74: NVLink;
 *         94: contained memory error (its processes die); 95, 119, 120, 140: a reset is needed.
 */
#include <stdio.h>
#include "nvsim/state.h"

struct fault {
    struct nvsim *n;
    struct nvsim_gpu *g; /* the copy that is changed */
    uint32_t gpu, gi, ci;
    int64_t now_us;
    const char *argument;
};

static int number(const char *text, const char *what, int64_t min, int64_t max, int64_t *ret, struct err *e)
{
    int64_t v;
    if (!bytes_int64(bytes_of(text), &v) || v < min || v > max)
        return err_set(e, E_INVALID, "%s '%s': want a number from %lld to %lld", what, text, (long long)min, (long long)max);
    *ret = v;
    return 0;
}

static void event(struct fault *f, uint64_t type, uint64_t data)
{
    if (type == NVSIM_EVENT_XID)
        f->g->xid = (uint32_t)data;
    nvsim_event_add(f->n, f->gpu, f->gi, f->ci, type, data, f->now_us);
}

/* Processes on the device of the fault die with it; the commit that follows takes their load away. */
static void processes_end(struct fault *f)
{
    struct nvsim_state *s = f->n->state;
    for (uint32_t i = 0; i < s->processes_high && i < NVSIM_PROCESSES_MAX; i++) {
        const struct nvsim_work *w = &s->processes[i].work;
        if (s->process_gpu[i] == f->gpu + 1 && (f->gi == NVSIM_NONE || (w->gi == f->gi && (f->ci == NVSIM_NONE || w->ci == f->ci))))
            nvsim_work_drop(f->n, i, f->g->accounting, f->now_us);
    }
}

static void ecc_double(struct fault *f)
{
    f->g->ecc.uncorrected[0]++;
    f->g->ecc.uncorrected[1]++;
    f->g->remapped_uncorrected++;
    f->g->remap_pending = 1;
    event(f, NVSIM_EVENT_ECC_DOUBLE, 1);
}

static void lose(struct fault *f, enum nvsim_lost how)
{
    f->g->lost = (uint8_t)how;
    f->gi = f->ci = NVSIM_NONE;
    processes_end(f);
    event(f, NVSIM_EVENT_XID, 79);
    if (how == NVSIM_OFF_BUS)
        nvsim_companion_presence(f->n, f->gpu, false);
}

static int fault_xid(struct fault *f, struct err *e)
{
    int64_t xid = 0;
    int r = number(f->argument, "xid", 1, 999, &xid, e);
    if (r < 0)
        return r;
    if (xid == 79) {
        lose(f, NVSIM_LOST);
        return 0;
    }
    if (xid == 48)
        ecc_double(f);
    if (xid == 63)
        f->g->remap_pending = 1, f->g->remapped_uncorrected++;
    if (xid == 64)
        f->g->remap_failure = 1;
    if (xid == 74)
        f->g->nvlink_errors[0]++;
    if (xid == 94)
        processes_end(f);
    if (xid == 95 || xid == 119 || xid == 120 || xid == 140) {
        processes_end(f);
        f->g->reset_required = 1;
    }
    event(f, NVSIM_EVENT_XID, (uint64_t)xid);
    return 0;
}

static int fault_ecc(struct fault *f, struct err *e)
{
    if (!f->g->ecc_mode)
        return err_set(e, E_INVALID, "gpu %u: ECC is off", f->gpu);
    if (strcmp(f->argument, "single") == 0) {
        f->g->ecc.corrected[0]++;
        f->g->ecc.corrected[1]++;
        event(f, NVSIM_EVENT_ECC_SINGLE, 1);
        return 0;
    }
    if (strcmp(f->argument, "double") == 0) {
        ecc_double(f);
        event(f, NVSIM_EVENT_XID, 48);
        return 0;
    }
    if (strcmp(f->argument, "sram") == 0) {
        f->g->ecc.sram_uncorrected[0]++;
        f->g->ecc.sram_uncorrected[1]++;
        event(f, NVSIM_EVENT_ECC_DOUBLE, 1);
        return 0;
    }
    return err_set(e, E_INVALID, "ecc '%s': want single, double or sram", f->argument);
}

static int fault_lost(struct fault *f, struct err *e)
{
    lose(f, NVSIM_LOST);
    return 0;
}

static int fault_off_bus(struct fault *f, struct err *e)
{
    lose(f, NVSIM_OFF_BUS);
    return 0;
}

static int fault_hang(struct fault *f, struct err *e)
{
    int64_t s = 0;
    int r = number(f->argument, "hang", 1, 86400, &s, e);
    if (r == 0)
        f->g->hang_until_us = f->now_us + s * 1000000;
    return r;
}

static int fault_slow(struct fault *f, struct err *e)
{
    int64_t ms = 0;
    int r = number(f->argument, "slow", 0, 60000, &ms, e);
    if (r == 0)
        f->g->slow_ms = (uint32_t)ms;
    return r;
}

static int fault_throttle(struct fault *f, struct err *e)
{
    static const struct {
        const char *name;
        uint64_t reasons;
    } kinds[] = {{"thermal", NVSIM_REASON_HW_THERMAL | NVSIM_REASON_HW_SLOWDOWN},
                 {"software-thermal", NVSIM_REASON_SW_THERMAL},
                 {"power", NVSIM_REASON_POWER_CAP},
                 {"brake", NVSIM_REASON_POWER_BRAKE | NVSIM_REASON_HW_SLOWDOWN},
                 {"off", 0}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(f->argument, kinds[i].name) == 0) {
            f->g->throttle = kinds[i].reasons;
            event(f, NVSIM_EVENT_CLOCK, kinds[i].reasons);
            return 0;
        }
    return err_set(e, E_INVALID, "throttle '%s': want thermal, software-thermal, power, brake or off", f->argument);
}

static int fault_row_remap(struct fault *f, struct err *e)
{
    if (strcmp(f->argument, "pending") == 0) {
        f->g->remap_pending = 1;
        f->g->remapped_uncorrected++;
        event(f, NVSIM_EVENT_XID, 63);
    } else if (strcmp(f->argument, "failure") == 0) {
        f->g->remap_failure = 1;
        event(f, NVSIM_EVENT_XID, 64);
    } else if (strcmp(f->argument, "corrected") == 0) {
        f->g->remapped_corrected++;
    } else {
        return err_set(e, E_INVALID, "row-remap '%s': want pending, failure or corrected", f->argument);
    }
    return 0;
}

static int fault_nvlink(struct fault *f, struct err *e)
{
    uint32_t links_n = f->n->model->nvlink_n;
    if (!links_n)
        return err_set(e, E_INVALID, "gpu %u: this model has no NVLink", f->gpu);
    int64_t link = 0;
    int r = number(f->argument, "nvlink", 0, links_n - 1, &link, e);
    if (r < 0)
        return r;
    f->g->nvlink_down |= 1u << link;
    f->g->nvlink_errors[link]++;
    event(f, NVSIM_EVENT_XID, 74);
    return 0;
}

static int fault_fabric(struct fault *f, struct err *e)
{
    if (!f->n->model->nvswitch)
        return err_set(e, E_INVALID, "gpu %u: this model is on no NVLink fabric", f->gpu);
    f->g->fabric_unhealthy = 1;
    return 0;
}

static int fault_pcie(struct fault *f, struct err *e)
{
    f->g->pcie_replays++;
    return 0;
}

static int fault_back(struct fault *f, struct err *e)
{
    if (f->g->lost == NVSIM_OFF_BUS)
        nvsim_companion_presence(f->n, f->gpu, true);
    f->g->lost = NVSIM_HERE;
    f->g->reset_required = 0;
    f->g->hang_until_us = 0;
    f->g->slow_ms = 0;
    f->g->throttle = 0;
    f->g->nvlink_down = 0;
    f->g->fabric_unhealthy = 0;
    return 0;
}

static const struct fault_kind {
    const char *name;
    bool needs_argument;
    int (*apply)(struct fault *f, struct err *e);
} fault_kinds[] = {
    {"xid", true, fault_xid},           {"ecc", true, fault_ecc},           {"lost", false, fault_lost},
    {"off-bus", false, fault_off_bus},  {"hang", true, fault_hang},         {"slow", true, fault_slow},
    {"throttle", true, fault_throttle}, {"row-remap", true, fault_row_remap}, {"nvlink", true, fault_nvlink},
    {"fabric", false, fault_fabric},    {"pcie-replay", false, fault_pcie}, {"back", false, fault_back},
};

/* The whole node's driver: enum nvsim_driver. */
static int fault_driver(struct nvsim *n, const char *argument, struct err *e)
{
    static const char *const names[] = {"ok", "mismatch", "not-loaded"};
    for (uint32_t i = 0; i < 3; i++)
        if (strcmp(argument, names[i]) == 0) {
            bool was_loaded = n->state->driver == NVSIM_DRIVER_OK;
            n->state->driver = i;
            if (was_loaded != (i == NVSIM_DRIVER_OK)) /* system events: 1 unbound, 2 bound */
                nvsim_event_add(n, NVSIM_EVENT_SYSTEM, NVSIM_NONE, NVSIM_NONE, was_loaded ? 1 : 2, 0, nvsim_now_us());
            return 0;
        }
    return err_set(e, E_INVALID, "driver '%s': want ok, mismatch or not-loaded", argument);
}

/* Of nodes with NVSwitches. Without it GPUs work on that have been set up, but none can be reset alone. */
static int fault_fabric_manager(struct nvsim *n, const char *argument, struct err *e)
{
    if (!n->model->nvswitch)
        return err_set(e, E_INVALID, "fabric-manager: this model is on no NVLink fabric");
    if (strcmp(argument, "on") != 0 && strcmp(argument, "off") != 0)
        return err_set(e, E_INVALID, "fabric-manager '%s': want on or off", argument);
    n->state->fabric_manager_off = strcmp(argument, "off") == 0;
    return 0;
}

static int device_check(struct fault *f, struct err *e)
{
    if (f->gi == NVSIM_NONE)
        return 0;
    if (f->gi > 255 || !mig_find_instance(&f->g->mig, (uint8_t)f->gi))
        return err_set(e, E_NOTFOUND, "gpu %u: it has no GPU instance %u", f->gpu, f->gi);
    if (f->ci != NVSIM_NONE && (f->ci > 255 || !mig_find_compute(&f->g->mig, (uint8_t)f->gi, (uint8_t)f->ci)))
        return err_set(e, E_NOTFOUND, "gpu %u: GPU instance %u has no compute instance %u", f->gpu, f->gi, f->ci);
    return 0;
}

static int fault_apply(struct fault *f, const struct fault_kind *kind, struct err *e)
{
    nvsim_work_settle_now(f->n, f->now_us);
    f->g = nvsim_gpu_change(f->n, f->gpu, f->now_us);
    int r = device_check(f, e);
    if (r == 0)
        r = kind->apply(f, e);
    if (r == 0)
        nvsim_gpu_commit(f->n, f->gpu);
    return r;
}

int nvsim_fault(struct nvsim *n, uint32_t gpu, int gi, int ci, const char *kind, const char *argument, struct err *e)
{
    const struct fault_kind *found = NULL;
    for (size_t i = 0; i < sizeof fault_kinds / sizeof *fault_kinds; i++)
        if (strcmp(kind, fault_kinds[i].name) == 0)
            found = &fault_kinds[i];
    bool is_driver = strcmp(kind, "driver") == 0, is_manager = strcmp(kind, "fabric-manager") == 0;
    if (!found && !is_driver && !is_manager)
        return err_set(e, E_INVALID, "fault '%s': want xid, ecc, lost, off-bus, hang, slow, throttle, row-remap, nvlink, fabric, "
                                     "pcie-replay, driver, fabric-manager or back", kind);
    if (gpu >= n->gpus_n)
        return err_set(e, E_NOTFOUND, "gpu %u: the node has %u GPUs, 0 to %u", gpu, n->gpus_n, n->gpus_n - 1);
    if (!argument)
        argument = "";
    if (found && !found->needs_argument && *argument)
        return err_set(e, E_INVALID, "fault '%s' takes no argument, '%s' given", kind, argument);
    int r = nvsim_lock(n, e);
    if (r < 0)
        return r;
    struct fault f = {.n = n, .gpu = gpu, .gi = gi < 0 ? NVSIM_NONE : (uint32_t)gi, .ci = gi < 0 || ci < 0 ? NVSIM_NONE : (uint32_t)ci,
                      .now_us = nvsim_now_us(), .argument = argument};
    r = is_driver ? fault_driver(n, argument, e) : is_manager ? fault_fabric_manager(n, argument, e) : fault_apply(&f, found, e);
    nvsim_unlock(n);
    return r;
}
