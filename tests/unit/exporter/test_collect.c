/* Samples over libnvsim with real processes and a made-up control group tree; periods, hanging drivers, what is remembered */
#include "nvml_world.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "exporter/collect/collect.h"

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
        slots[i] = (struct slot){.id = ids[i], .replica = i, .shared = true};
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
    struct collect_state said;
    slots[3].state = SLOT_OLD_SLICING;
    collect_resources(w.collect, &table);
    collect_state(w.collect, &said);
    assert_int_equal(said.offers_n, 1);
    assert_string_equal(said.offers[0].name, "nvidia.com/gpu.shared");
    assert_int_equal(said.offers[0].slots_n[SLOT_OPEN], 3);
    assert_int_equal(said.offers[0].slots_n[SLOT_OLD_SLICING], 1);
    collect_resources(w.collect, NULL); /* unknown: as many parts as holders */
    s = fresh_sample(&w);
    assert_true(s->allocations[0].share > 0.333 && s->allocations[0].share < 0.334);
    o[0].slot = "nvidia0/vgpu5";                                                /* of GKE's plugin */
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
    struct slot slots[4], whole = {.id = uuid};
    struct slot_owner o[4];
    for (uint16_t i = 0; i < 4; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "%s::%u", uuid, i);
        slots[i] = (struct slot){.id = ids[i], .replica = i, .shared = true};
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
    assert_int_equal(st.failures_n, 0);                /* late, not yet hanging */
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_gpus), cmocka_unit_test(test_mig_and_pods),
        cmocka_unit_test(test_shares),     cmocka_unit_test(test_shares_outlive_their_sharing),
        cmocka_unit_test(test_xids),       cmocka_unit_test(test_a_hanging_driver),
    };
    assert_true(argc > 1);
    nvsim_library = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
