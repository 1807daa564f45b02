/* test_work.c - simulated work: load, physics as functions of time, ends, accounting, what is refused */
#include <signal.h>
#include <sys/wait.h>
#include "node.h"

static struct nvsim_gpu at(struct nvsim *n, uint32_t gpu, int64_t now_us)
{
    struct nvsim_gpu g;
    assert_int_equal(nvsim_gpu_read(n, gpu, now_us, &g, NULL), 0);
    return g;
}

static int begin(struct nvsim *n, const struct nvsim_work *w, int64_t now_us, struct err *e)
{
    assert_int_equal(nvsim_lock(n, NULL), 0);
    nvsim_work_settle(n, now_us);
    int r = nvsim_work_begin(n, w, now_us, e);
    nvsim_unlock(n);
    return r;
}

static void nothing_moves_without_work(void **s)
{
    struct nvsim *n = node_make("a100-40gb", 2);
    int64_t t = n->state->created_us;
    struct nvsim_gpu a = at(n, 0, t), b = at(n, 0, t + 3600000000);
    assert_int_equal(a.power_mw, n->model->power_idle_mw);
    assert_int_equal(b.power_mw, a.power_mw);
    assert_true(a.temperature_c == n->model->temperature_idle && b.temperature_c == a.temperature_c);
    assert_true(b.clock_reasons & NVSIM_REASON_IDLE);
    assert_true(b.energy_mj == (double)a.power_mw * 3600);
    assert_true(b.integral.sm == 0 && b.pcie_rx_kib == 0);
    node_end(n);
}

static void load_adds_up(void **s)
{
    struct nvsim *n = node_make("t4", 2);
    int64_t t = n->state->created_us + 1000000;
    struct nvsim_work w = node_work(10, 1);
    assert_int_equal(begin(n, &w, t, NULL), 0);
    w.pid = 11;
    assert_int_equal(begin(n, &w, t, NULL), 0);
    w.pid = 12;
    assert_int_equal(begin(n, &w, t, NULL), 0);
    struct nvsim_gpu g = at(n, 1, t), other = at(n, 0, t);
    assert_int_equal(g.load.sm_permille, 1000);
    assert_int_equal(g.load.sm_wanted_permille, 1500);
    assert_int_equal(g.load.memory_permille, 600);
    assert_int_equal(g.load.memory_mib, 3000);
    assert_int_equal(g.load.processes_n, 3);
    assert_int_equal(other.load.processes_n, 0);
    assert_int_equal(g.clock_mhz, n->model->clock_graphics_mhz);
    assert_int_equal(nvsim_work_stop(n, 11, NULL), 0);
    assert_int_equal(nvsim_work_stop(n, 11, NULL), -E_NOTFOUND);
    assert_int_equal(at(n, 1, nvsim_now_us()).load.processes_n, 2);
    node_end(n);
}

static void temperature_lags_power(void **s)
{
    struct nvsim *n = node_make("h100-80gb", 1);
    int64_t t = n->state->created_us + 1000000;
    struct nvsim_work w = node_work(10, 0);
    w.sm_permille = 1000, w.memory_permille = 1000;
    assert_int_equal(begin(n, &w, t, NULL), 0);
    double before = -1;
    for (int second = 0; second < 300; second++) {
        struct nvsim_gpu g = at(n, 0, t + second * 1000000);
        assert_int_equal(g.power_mw, n->model->power_max_mw);
        assert_true(g.temperature_c > before && g.temperature_c < n->model->temperature_slowdown);
        before = g.temperature_c;
    }
    struct nvsim_gpu g = at(n, 0, t + 100000000);
    double expected = (double)n->model->power_idle_mw + 100.0 * n->model->power_max_mw;
    assert_true(g.energy_mj > expected * 0.9999 && g.energy_mj < expected * 1.0001);
    assert_true(g.integral.sm == 1000 * 100e6);
    assert_true(g.nvlink_kib > 0 && g.pcie_rx_kib > g.pcie_tx_kib);
    node_end(n);
}

static void power_limit_costs_clocks(void **s)
{
    struct nvsim *n = node_make("a100-40gb", 1);
    struct nvsim_work w = node_work(10, 0);
    int64_t t = nvsim_now_us();
    w.sm_permille = 1000, w.memory_permille = 1000;
    assert_int_equal(begin(n, &w, t, NULL), 0);
    assert_int_equal(nvsim_lock(n, NULL), 0);
    nvsim_gpu_change(n, 0, t)->power_limit_mw = 250000;
    nvsim_gpu_commit(n, 0);
    nvsim_unlock(n);
    struct nvsim_gpu g = at(n, 0, t + 5000000);
    assert_int_equal(g.power_mw, 250000);
    assert_true(g.clock_mhz < n->model->clock_graphics_mhz && g.clock_mhz > n->model->clock_idle_mhz);
    assert_true(g.clock_reasons == NVSIM_REASON_POWER_CAP);
    assert_true(g.power_violation_us > 4.9e6);
    node_end(n);
}

static void work_ends_at_its_time(void **s)
{
    struct nvsim *n = node_make("t4", 1);
    int64_t t = (n->state->created_us / 1000 + 1) * 1000;
    assert_int_equal(nvsim_lock(n, NULL), 0);
    nvsim_gpu_change(n, 0, t)->accounting = 1;
    nvsim_gpu_commit(n, 0);
    nvsim_unlock(n);
    struct nvsim_work w = node_work(10, 0);
    w.end_ms = t / 1000 + 5000;
    assert_int_equal(begin(n, &w, t, NULL), 0);
    w.pid = 11, w.end_ms = t / 1000 + 2000;
    assert_int_equal(begin(n, &w, t, NULL), 0);
    assert_int_equal(at(n, 0, t + 1999000).load.processes_n, 2);
    /* Read much later: the load ended when it should have, not when somebody looked. */
    struct nvsim_gpu g = at(n, 0, t + 60000000);
    assert_int_equal(g.load.processes_n, 0);
    assert_true(g.integral.sm == 1000 * 2e6 + 500 * 3e6);
    struct nvsim_account list[4];
    assert_int_equal(nvsim_accounts(n, 0, t, list, 4), 2);
    assert_int_equal(list[0].pid, 11);
    assert_int_equal(list[0].end_us - list[0].start_us, 2000000);
    assert_int_equal(list[1].pid, 10);
    assert_int_equal(list[1].gpu_percent, 50);
    node_end(n);
}

/* Reads look for ended processes now and then, changes at once. */
static void who_has_just_ended_stops_no_change(void **s)
{
    struct nvsim *n = node_make("t4", 1);
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    struct nvsim_work w = node_work((uint32_t)child, 0);
    w.follow_pid = true;
    assert_int_equal(nvsim_work_start(n, &w, NULL), 0);
    assert_int_equal(nvsim_reset(n, 0, NULL), -E_CONFLICT);
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(nvsim_reset(n, 0, NULL), 0);
    node_end(n);
}

static void work_ends_with_its_process(void **s)
{
    struct nvsim *n = node_make("t4", 1);
    struct nvsim_work w = node_work(0x7ffffff0, 0);
    w.follow_pid = true;
    struct err e = {0};
    assert_int_equal(nvsim_work_start(n, &w, &e), -E_NOTFOUND);
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    w.pid = (uint32_t)child;
    assert_int_equal(nvsim_work_start(n, &w, NULL), 0);
    assert_int_equal(at(n, 0, nvsim_now_us() + 200000).load.processes_n, 1);
    (void)kill(child, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0); /* a zombie does not work */
    assert_int_equal(at(n, 0, nvsim_now_us() + 400000).load.processes_n, 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    node_end(n);
}

static void what_is_refused(void **s)
{
    struct nvsim *n = node_make("t4", 1);
    struct err e = {0};
    struct nvsim_work w = node_work(10, 1);
    assert_int_equal(nvsim_work_start(n, &w, &e), -E_NOTFOUND);
    assert_string_equal(e.text, "gpu 1: the node has 1 GPUs, 0 to 0");
    w = node_work(0, 0);
    assert_int_equal(nvsim_work_start(n, &w, &e), -E_INVALID);
    w = node_work(10, 0);
    w.sm_permille = 1001;
    assert_int_equal(nvsim_work_start(n, &w, &e), -E_INVALID);
    w = node_work(10, 0);
    w.memory_mib = n->model->memory_mib;
    assert_int_equal(nvsim_work_start(n, &w, &e), -E_LIMIT);
    assert_non_null(strstr(e.text, "out of memory"));
    w = node_work(10, 0);
    w.gi = w.ci = 0;
    assert_int_equal(nvsim_work_start(n, &w, &e), -E_NOTFOUND);
    w = node_work(10, 0);
    w.end_ms = INT64_MAX;
    assert_int_equal(nvsim_work_start(n, &w, &e), -E_INVALID);
    assert_int_equal(nvsim_work_stop(n, 0, &e), -E_INVALID);
    node_end(n);
}

/* A MIG device's work counts for its instance, and for the GPU by its share of slices. */
static void mig_work(void **s)
{
    struct nvsim *n = node_make("h100-80gb", 1);
    uint8_t gi, ci;
    assert_int_equal(nvsim_lock(n, NULL), 0);
    struct nvsim_gpu *g = nvsim_gpu_change(n, 0, nvsim_now_us());
    assert_int_equal(mig_set_mode(&g->mig, n->model, true, false), MIG_OK);
    assert_int_equal(mig_create_instance(&g->mig, n->model, mig_profile_find(n->model, "3g.40gb")->id, 0, &gi), MIG_OK);
    assert_int_equal(mig_create_compute(&g->mig, n->model, gi, 1, -1, g->seed, &ci), MIG_OK);
    nvsim_gpu_commit(n, 0);
    nvsim_unlock(n);
    struct err e = {0};
    struct nvsim_work w = node_work(10, 0);
    assert_int_equal(nvsim_work_start(n, &w, &e), -E_INVALID);
    w.gi = gi, w.ci = ci, w.sm_permille = 1000;
    assert_int_equal(nvsim_work_start(n, &w, &e), 0);
    struct nvsim_gpu now = at(n, 0, nvsim_now_us());
    assert_int_equal(now.instances[0].sm_permille, 333);
    assert_int_equal(now.load.sm_permille, 142);
    assert_int_equal(now.mig.instances[0].computes[0].busy_n, 1);
    w.memory_mib = 40000;
    assert_int_equal(nvsim_work_start(n, &w, &e), -E_LIMIT);
    node_end(n);
}

/* Many processes: the limit is reached, and space is used again. */
static void the_limit(void **s)
{
    struct nvsim *n = node_make("b200", 8);
    struct err e = {0};
    struct nvsim_state *st = n->state;
    for (uint32_t i = 0; i < NVSIM_PROCESSES_MAX; i++) { /* as nvsim_work_begin leaves slots */
        st->processes[i].work = node_work(i + 1, i % 8);
        st->processes[i].work.memory_mib = 1;
        st->process_gpu[i] = (uint8_t)(i % 8 + 1);
    }
    st->processes_high = NVSIM_PROCESSES_MAX;
    struct nvsim_work w = node_work(70000, 3);
    assert_int_equal(nvsim_work_start(n, &w, &e), -E_LIMIT);
    assert_int_equal(nvsim_work_stop(n, 70, NULL), 0);
    assert_int_equal(nvsim_work_start(n, &w, &e), 0);
    assert_int_equal(at(n, 3, nvsim_now_us()).load.processes_n, NVSIM_PROCESSES_MAX / 8 + 1);
    node_end(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_moves_without_work), cmocka_unit_test(load_adds_up),
        cmocka_unit_test(temperature_lags_power),     cmocka_unit_test(power_limit_costs_clocks),
        cmocka_unit_test(work_ends_at_its_time),      cmocka_unit_test(work_ends_with_its_process),
        cmocka_unit_test(who_has_just_ended_stops_no_change),
        cmocka_unit_test(what_is_refused),            cmocka_unit_test(mig_work),
        cmocka_unit_test(the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
