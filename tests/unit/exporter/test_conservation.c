/* Conservation: over random work on a node, active <= allocated <= capacity per pod and per GPU, and what was allocated is known to the
 * second
 *
 * Virtual time, made-up GPUs that are whole, time-sliced, shared by MPS or cut into MIG instances; pods come, go, and take the names of
 * others; GPUs are reset and fall off the bus, the driver is loaded anew, the wall clock is set, the agent starts again. The truth is kept
 * beside, from what this test does, and compared with the counters after each collection and with the usage store at the end. SEED, STEPS
 * in the environment: others, longer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "../folder.h"
#include "base/memory.h"
#include "base/random.h"
#include "exporter/account/usage.h"
#include "exporter/collect/collect.h"
#include "gpu/mig.h"
#include "sim/driver/driver_model.h"

#define ALL 0xffffffffu
enum { GPUS = 4, NAMES = 12, UIDS_MAX = 20000, HOLDINGS_MAX = 64, STEPS = 1500 };

/* A slot in somebody's hands. */
struct holding {
    uint32_t uid, gpu;
    double share;
    char resource[40], slot[80], unit[80];
};
struct truth {
    double allocated_s;
    uint32_t name;
};
struct node {
    struct random r;
    struct loop *l;
    struct driver *model, clocked; /* clocked: the model's measurements by a wall clock that can be set */
    struct driver_call *call; /* of `model`; NULL: none */
    struct inventory *inventory;
    struct pods *pods;
    struct account *account;
    struct collect *collect;
    struct usage_store *usage;
    char dir[64], state[96], store[96];
    struct arena *a; /* of the resources */
    struct resource_table table;
    struct agent_config config;
    int64_t wall_ahead_ms;
    measure_fn fn;
    void *fn_arg;
    struct holding holdings[HOLDINGS_MAX], before[HOLDINGS_MAX]; /* now; at the last sample */
    uint32_t holdings_n, before_n, uids_n, now_uid[NAMES];       /* now_uid: of the newest pod of a name */
    bool has_before;
    int64_t sampled_ms;
    struct truth truth[UIDS_MAX];
    double gpu_allocated_s[GPUS], highest_s[NAMES];
    uint32_t highest_uid[NAMES], samples_n;
};

/* ---- the driver's clock ---- */

static void on_measured(void *arg, int code, const struct measure_reading *r, const struct err *e)
{
    struct node *n = arg;
    n->call = NULL;
    if (r)
        ((struct measure_reading *)r)->wall_us += n->wall_ahead_ms * 1000;
    n->fn(n->fn_arg, code, r, e);
}

static void clocked_measure(void *self, const struct driver_reading *devices, const struct measure_request *request,
                            measure_fn fn, void *arg)
{
    struct node *n = self;
    n->fn = fn;
    n->fn_arg = arg;
    n->call = driver_measure(n->model, devices, request, on_measured, n);
}

static bool clocked_cancel(void *self, const void *arg)
{
    struct node *n = self;
    driver_cancel(n->call);
    n->call = NULL;
    return true;
}

static const struct driver_ops clocked_ops = {.measure = clocked_measure, .cancel = clocked_cancel};

/* ---- pods ---- */

static const char *uid_text(uint32_t uid)
{
    static char text[4][24];
    static uint32_t at;
    (void)snprintf(text[++at % 4], sizeof text[0], "uid-%u", uid);
    return text[at % 4];
}

static const char *name_text(uint32_t name)
{
    static char text[4][24];
    static uint32_t at;
    (void)snprintf(text[++at % 4], sizeof text[0], "pod-%u", name);
    return text[at % 4];
}

/* A process has the number of its pod's uid and one. */
static bool process_of(void *arg, uint32_t pid, const char **ret_command, double *ret_start_s,
                       struct pod_names *ret_names)
{
    const struct node *n = arg;
    *ret_command = "train";
    *ret_start_s = pid;
    *ret_names = (struct pod_names){.ns = "ml", .pod = name_text(n->truth[pid - 1].name), .container = "c"};
    return true;
}

static bool pod_of(void *arg, const char *ns, const char *pod, struct pod_names *ret_names)
{
    const struct node *n = arg;
    *ret_names = (struct pod_names){.uid = uid_text(n->now_uid[strtoul(pod + 4, NULL, 10)])};
    return true;
}

static void tell(struct node *n)
{
    struct slot_owner owners[HOLDINGS_MAX];
    char names[HOLDINGS_MAX][24];
    for (uint32_t i = 0; i < n->holdings_n; i++) {
        (void)snprintf(names[i], sizeof names[i], "%s", name_text(n->truth[n->holdings[i].uid].name));
        owners[i] = (struct slot_owner){n->holdings[i].resource, n->holdings[i].slot, "ml", names[i], "c"};
    }
    inventory_set_owners(n->inventory, owners, n->holdings_n);
}

static bool is_held(const struct node *n, const char *slot)
{
    for (uint32_t i = 0; i < n->holdings_n; i++)
        if (text_equal(n->holdings[i].slot, slot))
            return true;
    return false;
}

/* By what this test has configured, not by what the exporter finds out. */
static double share_of(const struct inventory_snapshot *s, const struct resource *r, const struct slot *slot)
{
    const struct unit *u = &s->units[slot->unit];
    double size = u->mig ? strtod(u->mig->profile, NULL) / 7 : 1;
    return slot->shared ? size / r->replicas : size;
}

static void pod_begin(struct node *n, uint32_t name)
{
    const struct inventory_snapshot *s = inventory_now(n->inventory);
    uint32_t wanted = 1 + (uint32_t)random_below(&n->r, 3);
    assert_true(n->uids_n < UIDS_MAX);
    n->truth[n->uids_n].name = name;
    for (uint32_t tries = 0; tries < 8 && wanted > 0 && n->table.resources_n > 0; tries++) {
        const struct resource *r = &n->table.resources[random_below(&n->r, n->table.resources_n)];
        const struct slot *slot = r->slots_n > 0 ? &r->slots[random_below(&n->r, r->slots_n)] : NULL;
        if (!slot || is_held(n, slot->id) || n->holdings_n == HOLDINGS_MAX)
            continue;
        struct holding *h = &n->holdings[n->holdings_n++];
        *h = (struct holding){.uid = n->uids_n, .gpu = s->units[slot->unit].gpu->index, .share = share_of(s, r, slot)};
        (void)snprintf(h->resource, sizeof h->resource, "%s", r->name);
        (void)snprintf(h->slot, sizeof h->slot, "%s", slot->id);
        (void)snprintf(h->unit, sizeof h->unit, "%s", s->units[slot->unit].uuid);
        wanted--;
    }
    n->now_uid[name] = n->uids_n++;
}

static void pod_end(struct node *n, uint32_t name)
{
    uint32_t kept_n = 0;
    for (uint32_t i = 0; i < n->holdings_n; i++)
        if (n->truth[n->holdings[i].uid].name != name)
            n->holdings[kept_n++] = n->holdings[i];
    n->holdings_n = kept_n;
}

/* Of each second holding a process: on a unit that it holds. */
static void processes_begin(struct node *n)
{
    const struct inventory_snapshot *s = inventory_now(n->inventory);
    struct driver_process list[HOLDINGS_MAX];
    uint32_t list_n = 0;
    for (uint32_t i = 0; i < n->holdings_n; i++)
        for (uint32_t u = 0; u < s->units_n && random_below(&n->r, 2); u++) {
            const struct unit *unit = &s->units[u];
            if (text_equal(unit->uuid, n->holdings[i].unit))
                list[list_n++] = (struct driver_process){.pid = n->holdings[i].uid + 1,
                                                         .gpu = unit->gpu->index,
                                                         .gi = unit->mig ? unit->mig->gi : ALL,
                                                         .ci = unit->mig ? unit->mig->ci : ALL,
                                                         .memory_bytes = random_below(&n->r, 1u << 30)};
        }
    driver_model_set_processes(n->model, list, list_n);
    for (uint32_t u = 0; u < s->units_n; u++)
        if (random_below(&n->r, 3) == 0)
            driver_model_work(n->model, s->units[u].gpu->index, s->units[u].mig ? s->units[u].mig->gi : ALL,
                              s->units[u].mig ? s->units[u].mig->ci : ALL, (uint32_t)random_below(&n->r, 1100), 100);
}

/* ---- devices ---- */

static void on_devices(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    inventory_set_reading(((struct node *)arg)->inventory, r);
}

static void resources_make(struct node *n)
{
    struct err e = {0};
    arena_free(n->a);
    n->a = arena_new();
    n->table = (struct resource_table){NULL, 0};
    if (resource_table_make(n->a, inventory_now(n->inventory), &n->config, &n->table, NULL, &e) < 0)
        fail_msg("%s", e.text);
    collect_resources(n->collect, &n->table);
}

static void devices_read(struct node *n)
{
    driver_read(n->model, on_devices, n);
    (void)loop_run_for(n->l, 1, NULL);
    resources_make(n);
}

static void configure(struct node *n)
{
    static const char *const sharings[] = {
        "", "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}, {name: nvidia.com/mig-3g.40gb, replicas: 2}]}}\n",
        "sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 3}]}}\n"};
    static struct arena *kept;
    struct err e = {0};
    arena_free(kept);
    kept = NULL;
    struct arena *a = arena_new();
    size_t which = random_below(&n->r, sizeof sharings / sizeof *sharings);
    const char *text = arena_printf(a, "version: v1\nflags: {migStrategy: mixed}\n%s", sharings[which]);
    agent_config_default(&n->config);
    if (agent_config_parse(a, bytes_of(text), NULL, 0, &n->config, NULL, &e) < 0)
        fail_msg("%s", e.text);
    kept = a;
}

static void cut(struct node *n, uint32_t gpu)
{
    const struct gpu_model *m = gpu_model_find("h100-80gb");
    struct mig_state s = {0};
    uint8_t gi, ci;
    bool on = random_below(&n->r, 2);
    (void)mig_set_mode(&s, m, on, false);
    mig_reset(&s, m);
    static const struct {
        const char *profile;
        uint8_t slices;
    } profiles[] = {{"3g.40gb", 3}, {"2g.20gb", 2}, {"1g.10gb", 1}};
    s.created_n = n->uids_n * 100ull; /* other UUIDs than before */
    for (int i = 0; on && i < 7; i++) {
        size_t which = random_below(&n->r, 3);
        const struct mig_profile *p = mig_profile_find(m, profiles[which].profile);
        assert_non_null(p);
        if (mig_create_instance(&s, m, (uint8_t)p->id, -1, &gi) == MIG_OK)
            assert_int_equal(mig_create_compute(&s, m, gi, profiles[which].slices, -1, gpu, &ci), MIG_OK);
    }
    driver_model_set_mig(n->model, gpu, &s);
}

/* Other shares, other instances: first all pods end, as the agent sees to it. */
static void other_devices(struct node *n)
{
    n->holdings_n = 0;
    tell(n);
    driver_model_set_processes(n->model, NULL, 0);
    configure(n);
    cut(n, (uint32_t)random_below(&n->r, GPUS));
    devices_read(n);
}

/* A reset ends instances: what was in hand of them is gone. */
static void drop_what_is_gone(struct node *n)
{
    const struct inventory_snapshot *s = inventory_now(n->inventory);
    uint32_t kept_n = 0;
    for (uint32_t i = 0; i < n->holdings_n; i++) {
        bool there = false;
        for (uint32_t u = 0; u < s->units_n; u++)
            there |= text_equal(s->units[u].uuid, n->holdings[i].unit);
        if (there)
            n->holdings[kept_n++] = n->holdings[i];
    }
    n->holdings_n = kept_n;
    tell(n);
}

static void ignore(void *arg, int code, const struct err *e)
{
}

static void fault(struct node *n)
{
    uint32_t gpu = (uint32_t)random_below(&n->r, GPUS);
    char uuid[48];
    driver_model_uuid("n1", gpu, uuid);
    switch (random_below(&n->r, 3)) {
    case 0: /* off the bus, and back with the next one */
        driver_model_event(n->model, gpu, ALL, ALL, DRIVER_EVENT_LOST, 0);
        break;
    case 1:
        for (uint32_t i = 0; i < GPUS; i++)
            driver_model_event(n->model, i, ALL, ALL, DRIVER_EVENT_BACK, 0);
        break;
    default:
        driver_reset(n->model, uuid, ignore, NULL);
        break;
    }
    (void)loop_run_for(n->l, 2000, NULL);
    devices_read(n);
    drop_what_is_gone(n);
}

/* ---- the agent ---- */

static void on_drained(void *arg, const struct account_pod *p)
{
    struct node *n = arg;
    struct usage_record r = {.uid = p->uid,
                             .ns = p->ns,
                             .pod = p->pod,
                             .job = "",
                             .queue = "",
                             .user = "",
                             .node = p->node,
                             .device_kind = p->device_kind,
                             .start_s = p->began_s,
                             .allocated_s = p->allocated_s,
                             .active_s = p->active_s};
    struct err e = {0};
    if (usage_put(n->usage, &r, 1, (double)(loop_wall_ms(n->l) + n->wall_ahead_ms) / 1000, &e) < 0)
        fail_msg("%s", e.text);
}

/* Capacity is what there was to give: nothing while a GPU's samples are missing. */
static void check_gpus(const struct node *n)
{
    const struct account_gpu *const *books;
    for (uint32_t i = 0, books_n = account_gpus(n->account, &books); i < books_n; i++) {
        assert_true(books[i]->active_s <= books[i]->allocated_s + 1e-6);
        assert_true(books[i]->allocated_s <= books[i]->capacity_s + 1e-6);
        for (uint32_t g = 0; g < GPUS; g++) {
            char uuid[48];
            driver_model_uuid("n1", g, uuid);
            if (text_equal(uuid, books[i]->uuid))
                assert_true(fabs(books[i]->allocated_s - n->gpu_allocated_s[g]) < 0.001);
        }
    }
}

static void check_pods(struct node *n)
{
    const struct account_pod *const *pods;
    for (uint32_t i = 0, pods_n = account_pods(n->account, &pods); i < pods_n; i++) {
        const struct account_pod *p = pods[i];
        uint32_t uid = (uint32_t)strtoul(p->uid + 4, NULL, 10), name = n->truth[uid].name;
        assert_true(p->active_s >= 0 && p->active_s <= p->allocated_s + 1e-6);
        assert_true(p->active_s + p->no_process_s + p->idle_s + p->low_s <= p->allocated_s + 1e-6);
        if (fabs(p->allocated_s - n->truth[uid].allocated_s) >= 0.001)
            fail_msg("%s %s: %f s, in truth %f s", p->pod, p->uid, p->allocated_s, n->truth[uid].allocated_s);
        assert_true(n->highest_uid[name] != uid || p->allocated_s >= n->highest_s[name] - 1e-9); /* a counter */
        n->highest_uid[name] = uid;
        n->highest_s[name] = p->allocated_s;
    }
}

/* Who had something at the sample before has had it until this one. */
static void on_sample(void *arg, const struct sample *s)
{
    struct node *n = arg;
    double dt_s = (double)(s->measured->monotonic_ms - n->sampled_ms) / 1000, given[GPUS] = {0};
    for (uint32_t i = 0; n->has_before && dt_s <= ACCOUNT_GAP_S && i < n->before_n; i++) {
        n->truth[n->before[i].uid].allocated_s += n->before[i].share * dt_s;
        n->gpu_allocated_s[n->before[i].gpu] += n->before[i].share * dt_s;
    }
    for (uint32_t i = 0; i < s->allocations_n; i++)
        given[s->units[s->allocations[i].unit].gpu->index] += s->allocations[i].share;
    for (int i = 0; i < GPUS; i++)
        assert_true(given[i] <= 1 + 1e-9);
    assert_int_equal(s->allocations_n, n->holdings_n);
    memcpy(n->before, n->holdings, sizeof n->before);
    n->before_n = n->holdings_n;
    n->has_before = true;
    n->sampled_ms = s->measured->monotonic_ms;
    n->samples_n++;
    check_gpus(n);
    check_pods(n);
}

static void agent_start(struct node *n)
{
    struct collect_config c = {.period_ms = 3600000, .hostname = "n1"};
    n->account = account_open(n->state, "n1");
    n->collect = collect_new(n->l, &n->clocked, n->inventory, n->pods, n->account, &c);
    collect_listen(n->collect, on_sample, n);
    resources_make(n);
    n->has_before = false;
}

static void agent_end(struct node *n)
{
    collect_free(n->collect);
    account_drain(n->account, on_drained, n);
    account_close(n->account);
}

/* ---- the walk ---- */

static void step(struct node *n)
{
    uint32_t name = (uint32_t)random_below(&n->r, NAMES);
    switch (random_below(&n->r, 40)) {
    case 0:
        other_devices(n);
        break;
    case 1:
        fault(n);
        break;
    case 2: /* the driver is unloaded, and loaded anew */
        inventory_set_reading(n->inventory, NULL);
        collect_now(n->collect);
        (void)loop_run_for(n->l, 20000, NULL);
        devices_read(n);
        break;
    case 3:
        agent_end(n);
        (void)loop_run_for(n->l, (int64_t)random_below(&n->r, 60000), NULL);
        agent_start(n);
        break;
    case 4:
        n->wall_ahead_ms += ((int64_t)random_below(&n->r, 3) - 1) * 3600000;
        break;
    case 5:
        (void)loop_run_for(n->l, (ACCOUNT_GAP_S + 100) * 1000, NULL); /* the driver hangs: nobody knows */
        break;
    case 6:
        account_drain(n->account, on_drained, n);
        break;
    default:
        pod_end(n, name);
        if (random_below(&n->r, 3))
            pod_begin(n, name);
        tell(n);
        processes_begin(n);
        break;
    }
    (void)loop_run_for(n->l, 1 + (int64_t)random_below(&n->r, 30000), NULL);
    collect_now(n->collect);
    (void)loop_run_for(n->l, 1, NULL);
}

static void compare_the_store(struct node *n)
{
    struct arena *a = arena_new();
    struct usage_record *records = NULL;
    uint32_t records_n = 0;
    struct err e = {0};
    double *stored = mem_zero(n->uids_n + 1, sizeof *stored);
    if (usage_since(n->usage, a, 0, 1e11, &records, &records_n, &e) < 0)
        fail_msg("%s", e.text);
    for (uint32_t i = 0; i < records_n; i++) {
        stored[strtoul(records[i].uid + 4, NULL, 10)] += records[i].allocated_s;
        assert_true(records[i].active_s <= records[i].allocated_s + 1e-6);
    }
    double sum_s = 0;
    for (uint32_t i = 0; i < n->uids_n; i++) {
        if (fabs(stored[i] - n->truth[i].allocated_s) >= 0.001)
            fail_msg("uid-%u: stored %f s, in truth %f s", i, stored[i], n->truth[i].allocated_s);
        sum_s += stored[i];
    }
    print_message("# %u pods, %u samples, %.0f GPU-seconds\n", n->uids_n, n->samples_n, sum_s);
    free(stored);
    arena_free(a);
}

static void what_is_given_and_used_adds_up(void **state)
{
    const char *seed = getenv("SEED"), *steps = getenv("STEPS");
    struct node *n = mem_zero(1, sizeof *n);
    struct err e = {0};
    n->r = (struct random){seed ? strtoull(seed, NULL, 10) : 4};
    folder_make(n->dir, sizeof n->dir, "conservation");
    (void)snprintf(n->state, sizeof n->state, "%s/account", n->dir);
    (void)snprintf(n->store, sizeof n->store, "%s/usage.db", n->dir);
    n->l = loop_new_virtual(1767225600000);
    n->model = driver_model_new(n->l, gpu_model_find("h100-80gb"), GPUS, "n1");
    n->clocked = (struct driver){&clocked_ops, n};
    assert_int_equal(inventory_open(n->l, NULL, &n->inventory, &e), 0);
    assert_int_equal(usage_open(n->store, &n->usage, &e), 0);
    n->pods =
        pods_new(n->l, &(struct pods_config){.root = n->dir, .process_of = process_of, .pod_of = pod_of, .arg = n});
    configure(n);
    agent_start(n);
    devices_read(n);
    for (int64_t i = steps ? strtoll(steps, NULL, 10) : STEPS; i > 0; i--)
        step(n);
    agent_end(n);
    compare_the_store(n);
    usage_close(n->usage);
    pods_free(n->pods);
    inventory_close(n->inventory);
    driver_free(n->model);
    loop_free(n->l);
    arena_free(n->a);
    static const char *const files[] = {"account", "account.new", "usage.db", "usage.db-wal", "usage.db-shm"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/%s", n->dir, files[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(n->dir), 0);
    free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_given_and_used_adds_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
