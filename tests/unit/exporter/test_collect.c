/* Samples over libnvsim with real processes and a made-up control group tree; periods, hanging drivers, what is remembered */
#include "nvml_world.h"
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "exporter/collect.h"

#define CID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "aaaaaaaa-1111-2222-3333-bbbbbbbbbbbb"

struct world {
    struct node n;
    struct inventory *inventory;
    struct pods *pods;
    struct account *account;
    struct collect *collect;
    uint32_t heard_n;
};

static void on_sample(void *arg, const struct sample *s)
{
    struct world *w = arg;
    w->heard_n++;
    assert_ptr_equal(s, collect_last(w->collect));
}

static void read_devices(struct world *w)
{
    struct driver_reading *r = node_reading(&w->n);
    inventory_set_reading(w->inventory, r);
    driver_reading_unref(r);
}

static void world_init(struct world *w, const char *model, uint32_t gpus_n)
{
    struct err e = {0};
    memset(w, 0, sizeof *w);
    node_init(&w->n, model, gpus_n, NULL);
    assert_int_equal(inventory_open(w->n.l, NULL, &w->inventory, &e), 0);
}

static void world_start(struct world *w, int64_t period_ms, const char *root, bool label_index)
{
    struct pods_config p = {.root = root};
    struct collect_config c = {.period_ms = period_ms, .hostname = "n1", .session_label_index = label_index};
    memset(c.wanted, 0xff, sizeof c.wanted);
    w->pods = pods_new(w->n.l, &p);
    w->account = account_open(NULL, "n1");
    w->collect = collect_new(w->n.l, w->n.d, w->inventory, w->pods, w->account, &c);
    collect_listen(w->collect, on_sample, w);
}

static void world_free(struct world *w)
{
    collect_free(w->collect);
    account_close(w->account);
    pods_free(w->pods);
    inventory_close(w->inventory);
    node_free(&w->n);
}

static void rest(struct world *w, int64_t ms)
{
    for (int64_t end_ms = loop_now_ms(w->n.l) + ms; loop_now_ms(w->n.l) < end_ms;)
        loop_run_for(w->n.l, end_ms - loop_now_ms(w->n.l), NULL);
}

static const struct sample *wait_sample(struct world *w, uint64_t number)
{
    for (int i = 0; i < 1500 && (!collect_last(w->collect) || collect_last(w->collect)->number < number); i++)
        rest(w, 10);
    assert_non_null(collect_last(w->collect));
    assert_true(collect_last(w->collect)->number >= number);
    return collect_last(w->collect);
}

/* The next one that was begun after now. */
static const struct sample *fresh_sample(struct world *w)
{
    return wait_sample(w, (collect_last(w->collect) ? collect_last(w->collect)->number : 0) + 2);
}

static pid_t child_new(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        for (;;)
            pause();
    return pid;
}

static void child_end(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void work(struct world *w, pid_t pid, uint32_t gpu, uint32_t gi, uint32_t ci, uint32_t memory_mib, uint32_t sm)
{
    struct nvsim_work x = {.pid = (uint32_t)pid,
                           .gpu = gpu,
                           .gi = gi,
                           .ci = ci,
                           .memory_mib = memory_mib,
                           .sm_permille = sm,
                           .name = "x",
                           .follow_pid = true};
    struct err e = {0};
    if (nvsim_work_start(w->n.sim, &x, &e) < 0)
        fail_msg("%s", e.text);
}

static void owners(struct world *w, const struct slot_owner *list, uint32_t n)
{
    inventory_set_owners(w->inventory, list, n);
}

static const struct sample_xid *find_xid(const struct sample *s, const char *uuid, uint32_t xid)
{
    for (uint32_t i = 0; i < s->xids_n; i++)
        if (text_equal(s->xids[i].gpu_uuid, uuid) && s->xids[i].xid == xid)
            return &s->xids[i];
    return NULL;
}

/* ---- whole GPUs ---- */

static void test_whole_gpus(void **state)
{
    struct world w;
    world_init(&w, "h100-80gb", 2);
    read_devices(&w);
    const struct inventory_snapshot *now = inventory_now(w.inventory);
    struct slot_owner o = {"nvidia.com/gpu", now->units[1].uuid, "ml", "train", "main"};
    owners(&w, &o, 1);
    pid_t child = child_new();
    work(&w, child, 1, ALL, ALL, 2048, 700);
    world_start(&w, 300, "", false);
    const struct sample *s = wait_sample(&w, 3);
    assert_int_equal(s->units_n, 2);
    assert_int_equal(s->boards_n, 2);
    assert_string_equal(s->hostname, "n1");
    assert_string_equal(s->units[0].session_label, "0");
    assert_string_equal(s->units[1].session_label, "1");
    assert_true(s->units[0].activity >= 0 && s->units[0].activity < 0.01);
    assert_true(s->units[1].activity > 0.65 && s->units[1].activity < 0.75);
    assert_true(s->units[1].last_active_s >= s->wall_s - 0.001);
    assert_true(s->units[0].last_active_s < s->wall_s && s->units[0].last_active_s > s->wall_s - 60);
    assert_int_equal(s->units[0].sessions_n, 0);
    assert_int_equal(s->units[1].sessions_n, 1);
    assert_true(s->units[0].nvlink_mb_per_s >= 0);
    assert_true(s->units[0].clock_events[0] >= 2); /* idle */
    assert_int_equal(s->units[1].clock_events[0], 0);
    assert_int_equal(s->allocations_n, 1);
    assert_int_equal(s->allocations[0].unit, 1);
    assert_true(s->allocations[0].share > 0.999 && s->allocations[0].share < 1.001);
    assert_string_equal(s->allocations[0].replica, "");
    assert_string_equal(s->containers[s->allocations[0].container].pod, "train");
    assert_int_equal(s->processes_n, 1);
    assert_int_equal(s->processes[0].measured->pid, child);
    assert_int_equal(s->processes[0].unit, 1);
    assert_int_equal(s->processes[0].container, -1); /* of the host */
    assert_true(*s->processes[0].command != '\0');
    assert_true(s->processes[0].start_time_s > (double)time(NULL) - 30);
    assert_true(s->processes[0].sm_seconds > 0.2);
    assert_true(s->processes[0].sm_percent > 0); /* also when this collection found no new sample of the driver */
    assert_true(s->processes[0].last_active_s > s->wall_s - 2);
    assert_int_equal(w.heard_n, s->number);
    const struct account_pod *const *books;
    assert_int_equal(account_pods(w.account, &books), 1);
    assert_true(books[0]->allocated_s > 0.3 && books[0]->active_s > 0 && books[0]->active_s < books[0]->allocated_s);
    const struct sample *kept = sample_ref(s); /* outlives what comes after */
    child_end(child);
    s = fresh_sample(&w);
    assert_int_equal(s->processes_n, 0);
    assert_int_equal(s->units[1].sessions_n, 0);
    assert_int_equal(kept->processes_n, 1);
    world_free(&w);
    assert_string_equal(kept->units[1].session_label, "1");
    sample_unref(kept);
}

/* ---- MIG, and pods by control groups ---- */

static void make_tree(const char *root, const char *path)
{
    char text[512];
    (void)snprintf(text, sizeof text, "%s%s", root, path);
    for (char *at = text + strlen(root) + 1; *at; at++)
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(text, 0700); /* may be there */
            *at = '/';
        }
}

static void write_file(const char *root, const char *path, const char *data)
{
    char text[512];
    make_tree(root, path);
    (void)snprintf(text, sizeof text, "%s%s", root, path);
    FILE *f = fopen(text, "w");
    assert_non_null(f);
    assert_true(fputs(data, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void put_process(const char *root, pid_t pid, const char *cgroup)
{
    char path[64], text[400];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    (void)snprintf(text, sizeof text, "%d (python3) S 1 1 1 0 -1 4194304 1 1 1 1 1 1 1 1 20 0 1 0 1000 1 1\n", pid);
    write_file(root, path, text);
    (void)snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    (void)snprintf(text, sizeof text, "0::%s\n", cgroup);
    write_file(root, path, text);
}

static void test_mig_and_pods(void **state)
{
    struct world w;
    world_init(&w, "h100-80gb", 1);
    node_make_mig(&w.n, 0, "1g.10gb", 0);
    node_make_mig(&w.n, 0, "3g.40gb", 4);
    read_devices(&w);
    char root[300];
    (void)snprintf(root, sizeof root, "%s/fake", w.n.dir);
    (void)mkdir(root, 0700);
    pid_t child = child_new();
    write_file(root, "/proc/stat", "cpu 1\nbtime 1700000000\n");
    put_process(root, child, "/kubepods/burstable/pod" UID "/" CID);
    write_file(root, "/var/log/containers/train_ml_main-" CID ".log", "");
    const struct inventory_snapshot *now = inventory_now(w.inventory);
    assert_int_equal(now->units_n, 2);
    uint32_t at = text_equal(now->units[0].mig->profile, "3g.40gb") ? 0 : 1;
    uint8_t gi = now->units[at].mig->gi;
    struct slot_owner o[] = {{"nvidia.com/mig-3g.40gb", now->units[at].uuid, "ml", "train", "main"},
                             {"nvidia.com/mig-1g.10gb", now->units[1 - at].uuid, "", "", ""}};
    owners(&w, o, 2);
    work(&w, child, 0, gi, 0, 1024, 500);
    world_start(&w, 300, root, false);
    const struct sample *s = wait_sample(&w, 3);
    char label[32];
    (void)snprintf(label, sizeof label, "0_%u_0", gi);
    assert_int_equal(s->units_n, 2);
    assert_int_equal(s->boards_n, 1);
    assert_string_equal(s->units[at].session_label, label);
    assert_string_equal(s->boards[0].session_label, "0");
    assert_true(s->units[at].activity > 0.45 && s->units[at].activity < 0.55);
    assert_ptr_equal(s->units[at].board, s->boards[0].board);
    assert_int_equal(s->allocations_n, 2);
    for (uint32_t i = 0; i < 2; i++) {
        double share = s->allocations[i].unit == at ? 3 / 7.0 : 1 / 7.0;
        assert_true(s->allocations[i].share > share - 1e-9 && s->allocations[i].share < share + 1e-9);
        assert_int_equal(s->allocations[i].container >= 0, s->allocations[i].unit == at);
    }
    assert_int_equal(s->containers_n, 1); /* the process' and the allocation's are one */
    assert_int_equal(s->processes_n, 1);
    assert_int_equal(s->processes[0].container, 0);
    assert_string_equal(s->containers[0].container, "main");
    assert_string_equal(s->processes[0].command, "python3");
    assert_true(s->processes[0].start_time_s > 1700000009 && s->processes[0].start_time_s < 1700000011);
    assert_true(s->processes[0].last_active_s > 0);
    assert_true(s->processes[0].sm_seconds < 1e-9);
    collect_free(w.collect);
    account_close(w.account);
    pods_free(w.pods);
    world_start(&w, 300, root, true);
    s = wait_sample(&w, 1);
    assert_string_equal(s->units[0].session_label, "0_0_0");
    assert_string_equal(s->units[1].session_label, "0_1_0");
    child_end(child);
    world_free(&w);
}

/* ---- shares ---- */

static void test_shares(void **state)
{
    struct world w;
    world_init(&w, "a100-40gb", 1);
    read_devices(&w);
    const char *uuid = inventory_now(w.inventory)->units[0].uuid;
    char ids[4][64];
    struct slot slots[4];
    struct slot_owner o[3];
    for (uint16_t i = 0; i < 4; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "%s::%u", uuid, i);
        slots[i] = (struct slot){.id = ids[i], .replica = i, .shared = true, .healthy = true};
    }
    for (int i = 0; i < 3; i++)
        o[i] = (struct slot_owner){"nvidia.com/gpu.shared", ids[i], "ml", i < 2 ? "one" : "two", "c"};
    struct resource resource = {.name = "nvidia.com/gpu.shared", .replicas = 4, .slots = slots, .slots_n = 4};
    struct resource_table table = {&resource, 1};
    owners(&w, o, 3);
    world_start(&w, 300, "", false);
    collect_resources(w.collect, &table);
    const struct sample *s = wait_sample(&w, 1);
    assert_int_equal(s->allocations_n, 3);
    assert_int_equal(s->containers_n, 2);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(s->allocations[i].share > 0.2499 && s->allocations[i].share < 0.2501);
        assert_int_equal(s->allocations[i].replica[0], '0' + (int)i);
    }
    collect_resources(w.collect, NULL); /* unknown: as many parts as holders */
    s = fresh_sample(&w);
    assert_true(s->allocations[0].share > 0.333 && s->allocations[0].share < 0.334);
    o[0].slot = "nvidia0/vgpu5"; /* of GKE's plugin */
    o[1] = (struct slot_owner){"vendor.example/card", "0", "ml", "other", "c"}; /* no GPU, though it is number 0 */
    owners(&w, o, 2);
    s = fresh_sample(&w);
    assert_int_equal(s->allocations_n, 1);
    assert_string_equal(s->allocations[0].replica, "5");
    world_free(&w);
}

/* A container keeps the part it was given when the sharing changes under it; a new one gets a part of the new sharing. */
static void test_shares_outlive_their_sharing(void **state)
{
    struct world w;
    world_init(&w, "a100-40gb", 1);
    read_devices(&w);
    const char *uuid = inventory_now(w.inventory)->units[0].uuid;
    char ids[4][64];
    struct slot slots[4], whole = {.id = uuid, .healthy = true};
    struct slot_owner o[4];
    for (uint16_t i = 0; i < 4; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "%s::%u", uuid, i);
        slots[i] = (struct slot){.id = ids[i], .replica = i, .shared = true, .healthy = true};
        o[i] = (struct slot_owner){"nvidia.com/gpu", ids[i], "ml", i < 2 ? "one" : "two", "c"};
    }
    struct resource resource = {.name = "nvidia.com/gpu", .replicas = 4, .slots = slots, .slots_n = 4};
    struct resource_table quarters = {&resource, 1};
    struct resource plain = {.name = "nvidia.com/gpu", .replicas = 1, .slots = &whole, .slots_n = 1};
    struct resource_table wholes = {&plain, 1};
    owners(&w, o, 4);
    world_start(&w, 300, "", false);
    collect_resources(w.collect, &quarters);
    (void)wait_sample(&w, 1);
    collect_resources(w.collect, &wholes);
    const struct sample *s = fresh_sample(&w);
    assert_int_equal(s->allocations_n, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(s->allocations[i].share > 0.2499 && s->allocations[i].share < 0.2501);
    o[0].slot = uuid;
    owners(&w, o, 1);
    s = fresh_sample(&w);
    assert_int_equal(s->allocations_n, 1);
    assert_true(s->allocations[0].share > 0.999);
    /* An agent that starts in between finds in the journal how the unit was cut. */
    char key[80];
    (void)snprintf(key, sizeof key, "slicing/%s", uuid);
    assert_int_equal(inventory_intent_set(w.inventory, key, "nvidia.com/gpu 4", NULL), 0);
    o[0].slot = ids[3];
    owners(&w, o, 1);
    s = fresh_sample(&w);
    assert_true(s->allocations[0].share > 0.2499 && s->allocations[0].share < 0.2501);
    world_free(&w);
}

/* ---- events ---- */

static void test_xids(void **state)
{
    struct world w;
    world_init(&w, "a100-40gb", 2);
    read_devices(&w);
    world_start(&w, 300, "", false);
    const struct sample *s = wait_sample(&w, 1);
    assert_int_equal(s->xids_n, 28);
    char uuid[48];
    memcpy(uuid, s->boards[0].gpu->uuid, sizeof uuid);
    assert_int_equal(find_xid(s, uuid, 79)->n, 0);
    struct driver_event e = {.gi = ALL, .ci = ALL, .kind = DRIVER_EVENT_XID, .data = 79};
    memcpy(e.uuid, uuid, sizeof e.uuid);
    collect_xid(w.collect, &e);
    collect_xid(w.collect, &e); /* two of one period are two */
    e.data = 13;
    collect_xid(w.collect, &e);
    e.kind = DRIVER_EVENT_ECC_DOUBLE;
    collect_xid(w.collect, &e);
    memcpy(e.uuid, "GPU-unknown", 12);
    e.kind = DRIVER_EVENT_XID;
    collect_xid(w.collect, &e);
    s = fresh_sample(&w);
    assert_int_equal(s->xids_n, 29);
    assert_int_equal(find_xid(s, uuid, 79)->n, 2);
    assert_int_equal(find_xid(s, uuid, 79)->window_n, 2);
    assert_true(find_xid(s, uuid, 79)->last_s > s->wall_s - 30);
    assert_int_equal(find_xid(s, uuid, 13)->n, 1);
    assert_int_equal(find_xid(s, s->boards[1].gpu->uuid, 79)->n, 0);
    world_free(&w);
}

/* ---- a driver that hangs, and none ---- */

static void test_a_hanging_driver(void **state)
{
    struct world w;
    struct collect_state st;
    world_init(&w, "a100-40gb", 1);
    world_start(&w, 200, "", false);
    rest(&w, 700);
    collect_state(w.collect, &st);
    assert_true(!st.stalled && !st.driver_loaded &&
                st.collections_n + st.failures_n == 0); /* a node without a driver */
    assert_null(collect_last(w.collect));
    read_devices(&w);
    (void)wait_sample(&w, 2);
    collect_state(w.collect, &st);
    assert_true(!st.stalled && st.driver_loaded && st.last_success_s > 0);
    assert_int_equal(st.duration_buckets[11], st.collections_n);
    assert_true(st.duration_sum_s > 0); /* also when each took less than a millisecond */
    node_fault(&w.n, 0, -1, -1, "hang", "7");
    for (int i = 0; i < 3000 && !st.stalled; i++) {
        rest(&w, 10);
        collect_state(w.collect, &st);
    }
    assert_true(st.stalled);
    assert_int_equal(st.failures_n, 0); /* late, not yet hanging */
    uint64_t number = collect_last(w.collect)->number; /* what was there stays */
    for (int i = 0; i < 3000 && st.failures_n == 0; i++) {
        rest(&w, 10);
        collect_state(w.collect, &st);
    }
    assert_true(st.failures_n > 0 && st.skipped_n > 0);
    (void)wait_sample(&w, number + 1);
    collect_state(w.collect, &st);
    assert_false(st.stalled);
    inventory_set_reading(w.inventory, NULL); /* the driver is unloaded */
    rest(&w, 300);
    collect_state(w.collect, &st);
    assert_true(!st.stalled && !st.driver_loaded);
    assert_null(collect_last(w.collect));
    read_devices(&w);
    collect_now(w.collect);
    collect_now(w.collect); /* one under way: another after it */
    world_free(&w);
}

/* ---- a made-up driver: many processes, many collections ---- */

struct fake {
    struct driver driver;
    struct loop *loop;
    measure_fn fn;
    void *arg;
    const struct driver_reading *devices; /* a reference */
    uint32_t processes_n, first_pid;
    int64_t now_ms, wall_ahead_ms;
    double nvlink_kib;
    double utilization, ran_s; /* percent of each GPU; seconds of each process, to a sample now */
};

static void fake_answer(void *arg)
{
    struct fake *f = arg;
    struct arena *a = arena_new();
    struct measure_reading *r = arena_zero(a, 1, sizeof *r);
    *r = (struct measure_reading){.refs = 1,
                                  .arena = a,
                                  .devices = f->devices,
                                  .wall_us = (f->now_ms + f->wall_ahead_ms) * 1000,
                                  .monotonic_ms = f->now_ms};
    f->now_ms += 15000;
    r->gpus = arena_zero(a, f->devices->gpus_n + 1, sizeof *r->gpus);
    for (uint32_t i = 0; i < f->devices->gpus_n; i++) {
        r->gpus[i].migs_n = f->devices->gpus[i].migs_n;
        r->gpus[i].migs = arena_zero(a, r->gpus[i].migs_n + 1, sizeof *r->gpus[i].migs);
        bool hostile = f->nvlink_kib <= 0; /* enormous, negative, */
        measure_set(&r->gpus[i].board, MEASURE_NVLINK_TX_KIB, hostile ? 1e18 : f->nvlink_kib);
        measure_set(&r->gpus[i].board, MEASURE_NVLINK_RX_KIB, hostile ? -5 : 0);
        measure_set(&r->gpus[i].board, MEASURE_UTILIZATION_GPU, f->utilization);
        measure_set(&r->gpus[i].board, MEASURE_CLOCK_EVENT_REASONS, 1e300);
    }
    r->processes = arena_zero(a, f->processes_n + 1, sizeof *r->processes);
    for (uint32_t i = 0; i < f->processes_n; i++) {
        uint32_t per = f->processes_n / f->devices->gpus_n;
        r->processes[i] = (struct measure_process){.pid = f->first_pid + i,
                                                   .gpu = (uint16_t)(i / (per ? per : 1)),
                                                   .gi = ALL,
                                                   .ci = ALL,
                                                   .sm_seconds = f->ran_s,
                                                   .sm_percent = 50,
                                                   .samples_n = f->ran_s > 0,
                                                   .last_sample_us = (uint64_t)r->wall_us,
                                                   .memory_bytes = UINT64_MAX};
    }
    r->processes_n = f->processes_n;
    struct err e = {0};
    f->devices = NULL; /* the reading has it */
    f->fn(f->arg, 0, r, &e);
    measure_reading_unref(r);
}

static void fake_measure(void *self, const struct driver_reading *devices, const struct measure_request *request,
                         measure_fn fn, void *arg)
{
    struct fake *f = self;
    f->fn = fn;
    f->arg = arg;
    f->devices = driver_reading_ref(devices);
    loop_defer(f->loop, fake_answer, f);
}

static void fake_forget(void *self, measure_fn fn, void *arg)
{
    struct fake *f = self;
    loop_forget(f->loop, fake_answer, f);
    driver_reading_unref(f->devices);
    f->devices = NULL;
}

static const struct driver_ops fake_ops = {.measure = fake_measure, .measure_forget = fake_forget};

static double everybody_since_s = 1;

static bool everybody(void *arg, uint32_t pid, const char **ret_command, double *ret_start_s,
                      struct pod_names *ret_names)
{
    static char pod[32];
    (void)snprintf(pod, sizeof pod, "pod-%u", pid % 100);
    *ret_command = "python3";
    *ret_start_s = everybody_since_s;
    *ret_names = (struct pod_names){.ns = "ml", .pod = pod, .container = "c"};
    return true;
}

struct many {
    struct loop *l;
    struct driver *model;
    struct inventory *inventory;
    struct fake fake;
    struct pods *pods;
    struct collect *collect;
};

static void on_devices(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    inventory_set_reading(((struct many *)arg)->inventory, r);
}

static void many_init(struct many *m, uint32_t processes_n)
{
    struct err e = {0};
    memset(m, 0, sizeof *m);
    m->l = loop_new_virtual(1767225600000);
    m->model = driver_model_new(m->l, gpu_model_find("h100-80gb"), 8, "n1");
    assert_int_equal(inventory_open(m->l, NULL, &m->inventory, &e), 0);
    driver_read(m->model, on_devices, m);
    (void)loop_run_for(m->l, 10, NULL);
    m->fake = (struct fake){.driver = {&fake_ops, &m->fake},
                            .loop = m->l,
                            .processes_n = processes_n,
                            .first_pid = 1000,
                            .utilization = 250, /* above 100 */
                            .now_ms = 1767225600000};
    struct pods_config p = {.root = "/nonexistent", .process_of = everybody};
    struct collect_config c = {.period_ms = 15000, .hostname = "n1"};
    m->pods = pods_new(m->l, &p);
    m->collect = collect_new(m->l, &m->fake.driver, m->inventory, m->pods, NULL, &c);
}

static void many_free(struct many *m)
{
    collect_free(m->collect);
    pods_free(m->pods);
    inventory_close(m->inventory);
    driver_free(m->model);
    loop_free(m->l);
}

static void test_hostile_values_and_the_cap(void **state)
{
    struct many m;
    many_init(&m, 5000);
    (void)loop_run_for(m.l, 3000, NULL);
    const struct sample *s = collect_last(m.collect);
    assert_non_null(s);
    assert_int_equal(s->processes_n, 2000);
    assert_int_equal(s->processes_left_out_n, 3000);
    uint32_t sessions_n = 0, shown[8] = {0};
    for (uint32_t i = 0; i < s->units_n; i++)
        sessions_n += s->units[i].sessions_n;
    for (uint32_t i = 0; i < s->processes_n; i++)
        shown[s->processes[i].unit]++;
    assert_int_equal(sessions_n, 5000); /* counted, though not shown */
    for (int i = 0; i < 8; i++)
        assert_in_range(shown[i], 250, 250); /* each GPU has its part */
    assert_true(s->units[0].activity > 0.999 && s->units[0].activity < 1.001);
    many_free(&m);
}

static void test_a_hundred_thousand_processes(void **state)
{
    struct many m;
    many_init(&m, 0);
    collect_free(m.collect);
    uint32_t n = 100000, sessions_n = 0;
    struct driver_process *list = calloc(n, sizeof *list);
    assert_non_null(list);
    for (uint32_t i = 0; i < n; i++)
        list[i] =
            (struct driver_process){.pid = i + 1, .gpu = (uint16_t)(i % 8), .gi = ALL, .ci = ALL, .memory_bytes = 1};
    driver_model_set_processes(m.model, list, n);
    free(list);
    struct collect_config c = {.period_ms = 15000, .hostname = "n1"};
    m.collect = collect_new(m.l, m.model, m.inventory, m.pods, NULL, &c);
    (void)loop_run_for(m.l, 3000, NULL);
    const struct sample *s = collect_last(m.collect);
    assert_non_null(s);
    assert_int_equal(s->processes_n, 2000);
    assert_int_equal(s->processes_left_out_n, n - 2000);
    for (uint32_t i = 0; i < s->units_n; i++)
        sessions_n += s->units[i].sessions_n;
    assert_int_equal(sessions_n, LIMIT_MEASURE_PROCESSES);
    struct collect_state st;
    collect_state(m.collect, &st);
    assert_int_equal(st.processes_dropped_n, st.collections_n * (n - 2000));
    many_free(&m);
}

static void next_sample(struct many *m)
{
    (void)loop_run_for(m->l, 15000, NULL);
}

/* Of whom nothing is known but the number: another start is another process. */
static void test_a_pid_is_used_again(void **state)
{
    struct many m;
    many_init(&m, 8);
    m.fake.ran_s = 4;
    next_sample(&m);
    next_sample(&m);
    const struct sample *s = collect_last(m.collect);
    double ran_s = s->processes[0].sm_seconds;
    assert_true(ran_s > 7.9 && s->processes[0].last_active_s > 0);
    m.fake.ran_s = 0;
    everybody_since_s = 2;
    next_sample(&m);
    s = collect_last(m.collect);
    assert_int_equal(s->processes[0].measured->pid, 1000);
    assert_true(s->processes[0].sm_seconds < 1e-9 && s->processes[0].last_active_s < 1e-9);
    assert_int_equal(s->processes[0].sm_percent, 0);
    everybody_since_s = 1;
    next_sample(&m); /* the first one is not back: nobody is */
    assert_true(collect_last(m.collect)->processes[0].sm_seconds < ran_s);
    many_free(&m);
}

/* What was busy a minute ago still was, an hour forth or back; nobody has run for an hour within a quarter of a minute. */
static void test_a_clock_that_is_set(void **state)
{
    struct many m;
    static const int64_t ahead_ms[] = {0, 3600000, 3600000, 0, -3600000, -3600000, 0};
    many_init(&m, 8);
    m.fake.ran_s = 4;
    next_sample(&m);
    double ran_s = collect_last(m.collect)->processes[0].sm_seconds;
    struct driver_event e = {.gi = ALL, .ci = ALL, .kind = DRIVER_EVENT_XID, .data = 79};
    memcpy(e.uuid, collect_last(m.collect)->boards[0].gpu->uuid, sizeof e.uuid);
    collect_xid(m.collect, &e);
    double xid_ago_s = 0;
    for (size_t i = 0; i < sizeof ahead_ms / sizeof *ahead_ms; i++) {
        m.fake.utilization = 0;
        m.fake.ran_s = i == 1 ? 3604 : 0; /* as the driver dates it */
        m.fake.wall_ahead_ms = ahead_ms[i];
        next_sample(&m);
        const struct sample *s = collect_last(m.collect);
        double since_s = 15 * (double)(i + 1);
        assert_true(fabs(s->wall_s - s->units[0].last_active_s - since_s) < 0.001);
        assert_true(fabs(s->wall_s - s->processes[0].last_active_s - (i < 1 ? since_s : since_s - 30)) < 0.001);
        assert_true(s->processes[0].sm_seconds < ran_s + 15 + 2.001);
        assert_true(i == 0 || fabs(s->wall_s - find_xid(s, e.uuid, 79)->last_s - xid_ago_s - 15) < 0.001);
        xid_ago_s = s->wall_s - find_xid(s, e.uuid, 79)->last_s;
    }
    many_free(&m);
}

/* Counters that begin again (driver loaded anew, GPU reset) give no rate once, never a negative or a huge one. */
static void test_counters_that_begin_again(void **state)
{
    struct many m;
    static const double kib[] = {1.5e6, 3e6, 10, 1.5e6 + 10, 1e5}, rates[] = {-1, 100, -1, 100, -1};
    many_init(&m, 0);
    (void)loop_run_for(m.l, 3000, NULL);
    for (size_t i = 0; i < sizeof kib / sizeof *kib; i++) {
        m.fake.nvlink_kib = kib[i];
        next_sample(&m);
        assert_true(fabs(collect_last(m.collect)->boards[0].nvlink_mb_per_s - rates[i]) < 0.001);
    }
    many_free(&m);
}

/* Counts of lately, with windows of other lengths. */
static void test_windows(void **state)
{
    struct many m;
    many_init(&m, 0);
    collect_free(m.collect);
    struct collect_config c = {.period_ms = 1000, .hostname = "n1", .xid_window_ms = 20000, .clock_window_ms = 3000};
    m.collect = collect_new(m.l, m.model, m.inventory, m.pods, NULL, &c);
    (void)loop_run_for(m.l, 9500, NULL);
    struct driver_event e = {.gi = ALL, .ci = ALL, .kind = DRIVER_EVENT_XID, .data = 79};
    memcpy(e.uuid, collect_last(m.collect)->boards[0].gpu->uuid, sizeof e.uuid);
    collect_xid(m.collect, &e);
    (void)loop_run_for(m.l, 18000, NULL);
    const struct sample *s = collect_last(m.collect);
    assert_int_equal(find_xid(s, e.uuid, 79)->window_n, 1);
    assert_int_equal(s->boards[0].clock_events[0], 3); /* idle: a sample a second */
    assert_int_equal(s->xid_window_ms + s->clock_window_ms, 23000);
    (void)loop_run_for(m.l, 5000, NULL);
    s = collect_last(m.collect);
    assert_int_equal(find_xid(s, e.uuid, 79)->window_n, 0);
    assert_int_equal(find_xid(s, e.uuid, 79)->n, 1);
    many_free(&m);
}

/* Since when a device is idle is kept in the books, over restarts and devices that are away. */
static void test_idle_since_before_the_start(void **state)
{
    struct many m;
    many_init(&m, 0);
    collect_free(m.collect);
    struct account *books = account_open(NULL, "n1");
    struct collect_config c = {.period_ms = 15000, .hostname = "n1"};
    double busy_s = 0;
    for (int life = 0; life < 2; life++) {
        m.fake.utilization = life == 0 ? 50 : 0;
        m.collect = collect_new(m.l, &m.fake.driver, m.inventory, m.pods, books, &c);
        next_sample(&m);
        const struct sample *s = collect_last(m.collect);
        assert_true(life == 0 ? s->units[0].last_active_s >= s->wall_s
                              : fabs(s->units[0].last_active_s - busy_s) < 0.001);
        busy_s = s->units[0].last_active_s;
        if (life == 0)
            collect_free(m.collect);
    }
    many_free(&m);
    account_close(books);
}

/* COLLECTIONS=100000 in the environment: the long one. */
static void test_no_growth(void **state)
{
    struct many m;
    const char *text = getenv("COLLECTIONS");
    int64_t collections = text ? strtoll(text, NULL, 10) : 1000;
    many_init(&m, 200);
    (void)loop_run_for(m.l, 50 * 15000, NULL);
    size_t before = mallinfo2().uordblks;
    for (int64_t i = 0; i < collections; i++) {
        m.fake.first_pid = 1000 + (uint32_t)(i % 7) * 13; /* processes come and go */
        (void)loop_run_for(m.l, 15000, NULL);
    }
    size_t after = mallinfo2().uordblks;
    struct collect_state st;
    collect_state(m.collect, &st);
    assert_true(st.collections_n >= (uint64_t)collections);
    assert_int_equal(st.skipped_n + st.failures_n, 0);
    print_message("# %lld collections: %zu bytes before, %zu after\n", (long long)collections, before, after);
    assert_true(after < before + 65536);
    many_free(&m);
}

static void test_cost(void **state)
{
    struct many m;
    many_init(&m, 1000);
    (void)loop_run_for(m.l, 3000, NULL);
    uint64_t first = collect_last(m.collect)->number;
    clock_t start = clock();
    (void)loop_run_for(m.l, 50 * 15000, NULL);
    double ms = (double)(clock() - start) * 1000 / CLOCKS_PER_SEC / (double)(collect_last(m.collect)->number - first);
    print_message("# a collection with 1000 processes: %.2f ms besides /proc and the driver\n", ms);
    assert_true(ms < 50); /* the figure is the bench's; this only finds what grows with the square */
    many_free(&m);
}

/* ---- simulated nodes ---- */

static void test_a_simulated_node(void **state)
{
    struct many m;
    many_init(&m, 0);
    collect_free(m.collect);
    struct driver_process p[] = {{.pid = 1, .gpu = 0, .gi = ALL, .ci = ALL, .memory_bytes = 8ull << 30},
                                 {.pid = 2, .gpu = 1, .gi = ALL, .ci = ALL, .memory_bytes = 1ull << 30}};
    driver_model_set_processes(m.model, p, 2);
    driver_model_work(m.model, 1, ALL, ALL, 250, 100);
    struct collect_config c = {.period_ms = 15000, .hostname = "n1"};
    memset(c.wanted, 0xff, sizeof c.wanted);
    m.collect = collect_new(m.l, m.model, m.inventory, m.pods, NULL, &c);
    (void)loop_run_for(m.l, 40000, NULL);
    const struct sample *s = collect_last(m.collect);
    double busy_mw = 0, idle_mw = 0, used = 0, energy = 0;
    assert_non_null(s);
    assert_int_equal(s->processes_n, 2);
    assert_true(s->units[0].activity > 0.03);
    assert_true(s->units[1].activity > 0.249 && s->units[1].activity < 0.251);
    assert_true(s->units[2].activity >= 0 && s->units[2].activity < 1e-9);
    assert_true(measure_get(s->units[0].board, MEASURE_POWER_MW, &busy_mw) &&
                measure_get(s->units[2].board, MEASURE_POWER_MW, &idle_mw));
    assert_true(busy_mw > idle_mw);
    assert_true(measure_get(s->units[0].values, MEASURE_FB_USED_MIB, &used) && used > 8191 && used < 8193);
    assert_true(measure_get(s->units[2].board, MEASURE_ENERGY_MJ, &energy) && energy > idle_mw * 30 &&
                energy < idle_mw * 45);
    assert_true(s->processes[1].sm_seconds > 0.25 * 15 && s->processes[1].sm_seconds < 0.25 * 40);
    driver_model_set_processes(m.model, NULL, 0);
    driver_model_event(m.model, 3, ALL, ALL, DRIVER_EVENT_LOST, 0);
    driver_read(m.model, on_devices, &m);
    (void)loop_run_for(m.l, 31000, NULL);
    s = collect_last(m.collect);
    assert_int_equal(s->processes_n, 0);
    assert_true(s->units[0].activity < 1e-9);
    assert_true(s->boards[3].gpu->lost && !measure_get(s->boards[3].board, MEASURE_TEMPERATURE, &used));
    many_free(&m);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_gpus),
        cmocka_unit_test(test_mig_and_pods),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_shares_outlive_their_sharing),
        cmocka_unit_test(test_xids),
        cmocka_unit_test(test_a_hanging_driver),
        cmocka_unit_test(test_hostile_values_and_the_cap),
        cmocka_unit_test(test_a_hundred_thousand_processes),
        cmocka_unit_test(test_a_pid_is_used_again),
        cmocka_unit_test(test_a_clock_that_is_set),
        cmocka_unit_test(test_counters_that_begin_again),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_idle_since_before_the_start),
        cmocka_unit_test(test_no_growth),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_a_simulated_node),
    };
    assert_true(argc > 1);
    nvsim_library = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
