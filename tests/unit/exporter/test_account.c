/* The books: what is allocated, active and wasted adds up, per pod and per GPU, over random work; and survives restarts */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/memory.h"
#include "base/random.h"
#include "exporter/account/account.h"

/* Two GPUs: 0 is whole, 1 is cut into two instances of 3 of 7 slices. */
#define UNITS 3
static const struct gpu_model seven = {.mig_slices = 7};
static struct driver_gpu gpus[2] = {{.index = 0, .uuid = "GPU-a", .name = "Whole"},
                                    {.index = 1, .uuid = "GPU-b", .name = "Cut", .mig_on = true, .geometry = &seven}};
static struct driver_mig migs[2] = {{.gi = 1, .uuid = "MIG-1", .profile = "3g.20gb", .ci_slices = 3, .gi_slices = 3},
                                    {.gi = 2, .uuid = "MIG-2", .profile = "3g.20gb", .ci_slices = 3, .gi_slices = 3}};

struct world {
    double wall_s, energy_mj, throttle_ns;
    int64_t monotonic_ms;
};

static struct sample *sample_new(struct world *w, double step_s)
{
    struct arena *a = arena_new(), *readings = arena_new();
    struct sample *s = arena_alloc(a, sizeof *s);
    struct measure_reading *m = arena_alloc(readings, sizeof *m);
    struct inventory_snapshot *empty = mem_zero(1, sizeof *empty);
    struct driver_reading *devices = driver_reading_new(arena_new());
    struct measure_values *boards = arena_alloc(a, 2 * sizeof *boards);
    memset(boards, 0, 2 * sizeof *boards);
    w->wall_s += step_s;
    w->monotonic_ms += (int64_t)(step_s * 1000);
    w->energy_mj += step_s * 100 * 1000;
    for (int i = 0; i < 2; i++) {
        measure_set(&boards[i], MEASURE_ENERGY_MJ, w->energy_mj);
        measure_set(&boards[i], MEASURE_THROTTLE_HW_THERMAL_NS, w->throttle_ns);
        measure_set(&boards[i], MEASURE_FB_TOTAL_MIB, 40960);
    }
    *m = (struct measure_reading){.refs = 1, .monotonic_ms = w->monotonic_ms, .arena = readings, .devices = devices};
    empty->refs = 1000000; /* never freed by the sample */
    *s = (struct sample){.refs = 1, .wall_s = w->wall_s, .measured = m, .inventory = empty, .arena = a};
    s->units = arena_alloc(a, UNITS * sizeof *s->units);
    for (int i = 0; i < UNITS; i++)
        s->units[i] = (struct sample_unit){.gpu = &gpus[i > 0],
                                           .mig = i ? &migs[i - 1] : NULL,
                                           .values = &boards[i > 0],
                                           .board = &boards[i > 0],
                                           .activity = 0,
                                           .last_active_s = w->wall_s};
    s->units_n = UNITS;
    s->boards = arena_alloc(a, 2 * sizeof *s->boards);
    for (int i = 0; i < 2; i++)
        s->boards[i] = (struct sample_unit){.gpu = &gpus[i], .values = &boards[i], .board = &boards[i], .activity = -1};
    s->boards_n = 2;
    s->containers = arena_alloc(a, 16 * sizeof *s->containers);
    s->allocations = arena_alloc(a, 16 * sizeof *s->allocations);
    s->processes = arena_alloc(a, 16 * sizeof *s->processes);
    return s;
}

static void done(struct account *a, struct sample *s)
{
    struct inventory_snapshot *inventory = (struct inventory_snapshot *)s->inventory;
    account_add(a, s);
    s->inventory = NULL; /* inventory_snapshot_unref takes NULL */
    free(inventory);
    sample_unref(s);
}

static void hold(struct sample *s, uint32_t unit, const char *pod, double share)
{
    s->containers[s->containers_n] =
        (struct sample_container){.ns = "ml", .pod = pod, .container = "c", .pod_uid = "", .queue = ""};
    s->allocations[s->allocations_n++] = (struct sample_allocation){
        .unit = unit, .container = (int32_t)s->containers_n++, .share = share, .resource = "r", .replica = ""};
}

static void process(struct sample *s, uint32_t unit, int32_t container, double sm_seconds, uint64_t memory_bytes)
{
    struct measure_process *m = arena_alloc(s->arena, sizeof *m);
    *m = (struct measure_process){.sm_seconds = sm_seconds, .memory_bytes = memory_bytes};
    s->processes[s->processes_n++] = (struct sample_process){.measured = m, .unit = unit, .container = container};
}

static const struct account_pod *find(const struct account *a, const char *pod)
{
    const struct account_pod *const *pods;
    uint32_t n = account_pods(a, &pods);
    for (uint32_t i = 0; i < n; i++)
        if (text_equal(pods[i]->pod, pod))
            return pods[i];
    return NULL;
}

static void keep_nothing(void *arg, const struct account_pod *pod)
{
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-6;
}

static void counts_one_pod(void **state)
{
    struct account *a = account_open(NULL, "n1");
    struct world w = {.wall_s = 1000};
    for (int i = 0; i <= 10; i++) {
        struct sample *s = sample_new(&w, 10);
        w.throttle_ns += 1e9;
        hold(s, 0, "p", 1);
        process(s, 0, 0, 5, 1 << 30);
        s->units[0].activity = 0.5;
        done(a, s);
    }
    const struct account_pod *p = find(a, "p");
    assert_true(near(p->allocated_s, 100) && near(p->active_s, 50));
    assert_true(near(p->energy_j, 100 * 100) && near(p->memory_byte_s, 100.0 * (1 << 30)));
    assert_true(near(p->throttled_s, 10) && near(p->memory_high_bytes, 1 << 30) &&
                near(p->memory_granted_bytes, 40960.0 * 1048576));
    assert_string_equal(p->device_kind, "Whole");
    assert_string_equal(p->node, "n1");
    account_close(a);
    account_close(NULL);
}

static void puts_waste_into_one_class(void **state)
{
    struct account *a = account_open(NULL, "n1");
    struct world w = {.wall_s = 10000};
    for (int i = 0; i <= 190; i++) {
        struct sample *s = sample_new(&w, 10);
        hold(s, 0, "nothing", 1);
        hold(s, 1, "asleep", 3.0 / 7);
        process(s, 1, 1, 0, 1);
        s->units[1].last_active_s = w.wall_s - 4000;
        hold(s, 2, "slow", 3.0 / 7);
        process(s, 2, 2, 0, 1);
        s->units[2].activity = 0.1;
        done(a, s);
    }
    assert_true(near(find(a, "nothing")->no_process_s, 1900));
    const struct account_pod *asleep = find(a, "asleep"), *slow = find(a, "slow"); /* 3 of 7 slices */
    assert_true(near(asleep->idle_s, 110 * 3.0 / 7)); /* from half an hour after its own start */
    assert_true(near(asleep->low_s, 1790 * 3.0 / 7));
    assert_true(near(slow->low_s, 1900 * 3.0 / 7 * 0.9) && near(slow->active_s, 1900 * 3.0 / 7 * 0.1));
    assert_string_equal(find(a, "slow")->device_kind, "3g.20gb");
    account_close(a);
}

static void splits_a_shared_unit_by_what_ran(void **state)
{
    struct account *a = account_open(NULL, "n1");
    struct world w = {0};
    for (int i = 0; i <= 10; i++) {
        struct sample *s = sample_new(&w, 10);
        for (int k = 0; k < 2; k++) {
            hold(s, 0, k ? "b" : "a", 0.5);
            process(s, 0, k, k ? 1 : 3, 0);
        }
        s->units[0].activity = 0.4;
        done(a, s);
    }
    assert_true(near(find(a, "a")->active_s, 30) && near(find(a, "b")->active_s, 10));
    assert_true(near(find(a, "a")->allocated_s, 50));
    account_close(a);
}

static void gaps_and_clocks_count_nothing(void **state)
{
    struct account *a = account_open(NULL, "n1");
    struct world w = {0};
    static const double steps[] = {0, 10, 4000, 0, 10};
    for (int i = 0; i < 5; i++) {
        struct sample *s = sample_new(&w, steps[i]);
        s->wall_s -= i * 5000; /* the wall clock jumps */
        hold(s, 0, "p", 1);
        done(a, s);
    }
    assert_true(near(find(a, "p")->allocated_s, 20));
    account_close(a);
}

static void a_namesake_begins_at_zero_and_the_gone_are_forgotten(void **state)
{
    struct account *a = account_open(NULL, "n1");
    struct world w = {0};
    for (int i = 0; i < 4; i++) {
        struct sample *s = sample_new(&w, 10);
        hold(s, 0, "p", 1);
        s->containers[0].pod_uid = i < 2 ? "first" : "second";
        done(a, s);
    }
    assert_true(near(find(a, "p")->allocated_s, 10)); /* of the second */
    for (int i = 0; i < 40; i++) {
        done(a, sample_new(&w, 10));
        if (i == 0)
            assert_true(near(find(a, "p")->allocated_s, 20)); /* with its end */
        if (i == 10)
            assert_non_null(find(a, "p")); /* not drained yet, and not so long ago */
        if (i == 20)
            account_drain(a, keep_nothing, NULL);
    }
    assert_null(find(a, "p"));
    account_close(a);
}

static void keep_end(void *arg, const struct account_pod *pod)
{
    if (text_equal(pod->pod, "first"))
        *(double *)arg = pod->live ? 0 : pod->last_s;
}

/* A pod that leaves in a step has its end, one that comes in it nothing of what was before. */
static void charges_who_had_it_when_the_step_began(void **state)
{
    struct account *a = account_open(NULL, "n1");
    struct world w = {0};
    double end_s = 0;
    done(a, sample_new(&w, 10));
    for (int i = 0; i < 4; i++) { /* i 0, 1: first; 2: second; 3: nobody */
        struct sample *s = sample_new(&w, 10);
        if (i < 3) {
            hold(s, 0, i < 2 ? "first" : "second", 1);
            process(s, 0, 0, 5, 1000);
        }
        s->units[0].activity = i < 3 ? 0.5 : 0.1;
        done(a, s);
        assert_true(i > 0 || near(find(a, "first")->allocated_s, 0));
        assert_true(i != 2 || (near(find(a, "second")->allocated_s, 0) && !find(a, "first")->live));
    }
    const struct account_pod *first = find(a, "first"), *second = find(a, "second");
    assert_true(near(first->allocated_s, 20) && near(first->active_s, 10) && near(first->energy_j, 2000));
    assert_true(near(first->memory_byte_s, 20000) && near(first->first_s, 20) && near(first->last_s, 40));
    assert_true(near(second->allocated_s, 10) && near(second->active_s, 1) && near(second->low_s, 9));
    assert_true(near(second->first_s, 40) && near(second->last_s, 50) && near(second->last_active_s, 50));
    account_drain(a, keep_end, &end_s);
    assert_true(near(end_s, 40));
    account_close(a);
}

/* Of a shared unit: who left in the step ran on as before, by the second. */
static void splits_the_end_of_a_pod(void **state)
{
    struct account *a = account_open(NULL, "n1");
    struct world w = {0};
    for (int i = 0; i < 3; i++) {
        struct sample *s = sample_new(&w, i < 2 ? 10 : 5);
        hold(s, 0, "stays", 0.5);
        process(s, 0, 0, i < 2 ? 4 : 2, 0);
        if (i < 2) {
            hold(s, 0, "leaves", 0.5);
            process(s, 0, 1, 4, 0);
        }
        s->units[0].activity = 0.8;
        done(a, s);
    }
    assert_true(near(find(a, "stays")->active_s, 6) && near(find(a, "leaves")->active_s, 6));
    assert_true(near(find(a, "stays")->allocated_s, 7.5) && near(find(a, "leaves")->allocated_s, 7.5));
    account_close(a);
}

/* Instances that are cut anew have other UUIDs: their last step is allocated, what it was used for nobody knows. */
static void a_unit_that_is_gone_was_allocated(void **state)
{
    struct account *a = account_open(NULL, "n1");
    struct world w = {0};
    for (int i = 0; i < 3; i++) {
        struct sample *s = sample_new(&w, 10);
        if (i < 2)
            hold(s, 2, "p", 3.0 / 7);
        else
            s->units_n = 2;
        s->units[2].activity = 1;
        done(a, s);
    }
    assert_true(near(find(a, "p")->allocated_s, 60.0 / 7) && near(find(a, "p")->active_s, 30.0 / 7));
    account_close(a);
}

/* Random pods on random units with random activity: the books balance after every step. */
static void books_balance(void **state)
{
    struct random r = {5};
    struct account *a = account_open(NULL, "n1");
    struct world w = {0};
    for (int step = 0; step < 3000; step++) {
        struct sample *s = sample_new(&w, (double)random_below(&r, 30));
        static const char *const names[] = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"};
        uint32_t replicas = 1 + (uint32_t)random_below(&r, 4);
        for (uint32_t u = 0; u < UNITS; u++) {
            double size = u ? 3.0 / 7 : 1;
            s->units[u].activity = random_below(&r, 5) ? (double)random_below(&r, 1100) / 1000 : -1;
            for (uint32_t k = 0; k < replicas && s->allocations_n < 12; k++)
                if (random_below(&r, 3))
                    hold(s, u, names[random_below(&r, 8)], size / replicas);
        }
        for (uint32_t k = 0; k < 8 && s->containers_n; k++)
            process(s, (uint32_t)random_below(&r, UNITS), (int32_t)random_below(&r, s->containers_n),
                    (double)random_below(&r, 100) / 10, random_below(&r, 1 << 20));
        done(a, s);
        const struct account_pod *const *pods;
        const struct account_gpu *const *books;
        double allocated = 0, active = 0, board_allocated = 0, board_active = 0;
        for (uint32_t i = 0, n = account_pods(a, &pods); i < n; i++) {
            const struct account_pod *p = pods[i];
            assert_true(p->active_s <= p->allocated_s + 1e-6);
            assert_true(p->active_s + p->no_process_s + p->idle_s + p->low_s <= p->allocated_s + 1e-6);
            allocated += p->allocated_s;
            active += p->active_s;
        }
        for (uint32_t i = 0, n = account_gpus(a, &books); i < n; i++) {
            assert_true(books[i]->active_s <= books[i]->allocated_s + 1e-6 &&
                        books[i]->allocated_s <= books[i]->capacity_s + 1e-6);
            board_allocated += books[i]->allocated_s;
            board_active += books[i]->active_s;
        }
        assert_true(fabs(allocated - board_allocated) < 1e-3 && fabs(active - board_active) < 1e-3);
    }
    account_close(a);
}

/* An hour forth and back: nothing is counted for it, and what was a minute ago still is. */
static void times_go_with_a_clock_that_is_set(void **state)
{
    static const double jumps[] = {0, 0, 3600, 0, -3600, 0, -3600, 0, 3600, 0};
    struct account *a = account_open(NULL, "n1");
    struct world w = {.wall_s = 100000};
    double age_s = 0;
    for (int i = 0; i < 10; i++) {
        w.wall_s += jumps[i];
        struct sample *s = sample_new(&w, 10);
        hold(s, 0, "p", 1);
        process(s, 0, 0, 1, 1);
        s->units[0].activity = i == 1;
        s->units[0].last_active_s = w.wall_s - (i >= 1 ? (i - 1) * 10 : 0);
        if (i < 2)
            hold(s, 1, "gone", 3.0 / 7);
        done(a, s);
        const struct account_pod *p = find(a, "p");
        assert_true(near(w.wall_s - p->first_s, age_s) && near(p->last_s, w.wall_s));
        assert_true(near(p->allocated_s, age_s) && near(p->idle_s, 0));
        assert_true(i < 1 || near(w.wall_s - p->last_active_s, age_s - 10));
        assert_true(near(account_last_active(a, "GPU-a"), i >= 1 ? p->last_active_s : w.wall_s));
        account_drain(a, keep_nothing, NULL);
        assert_non_null(find(a, "gone"));
        assert_true(i < 2 || near(w.wall_s - find(a, "gone")->last_s, age_s - 20));
        age_s += 10;
    }
    account_close(a);
}

/* The driver was loaded anew: its counters begin at 0, ours go on. */
static void goes_on_over_a_driver_that_is_loaded_anew(void **state)
{
    struct account *a = account_open(NULL, "n1");
    struct world w = {0};
    for (int i = 0; i < 6; i++) {
        if (i == 3)
            w.energy_mj = w.throttle_ns = 0;
        struct sample *s = sample_new(&w, 10); /* 1000 J a step */
        w.throttle_ns += 2e9;
        hold(s, 0, "p", 1);
        done(a, s);
    }
    const struct account_gpu *const *books;
    assert_int_equal(account_gpus(a, &books), 2);
    assert_true(near(books[0]->energy_j, 5000) && near(find(a, "p")->energy_j, 5000));
    assert_true(near(books[0]->throttle_s[ACCOUNT_THROTTLE_HW_THERMAL],
                     8)); /* what it was before the first sample after is lost */
    assert_true(near(find(a, "p")->allocated_s, 50));
    account_close(a);
}

/* Beyond the limit a pod has no books, and that is counted; the GPU's have its share. */
static void has_a_limit_of_pods(void **state)
{
    struct account *a = account_open(NULL, "n1");
    struct world w = {0};
    char names[LIMIT_ACCOUNT_PODS + 2][12];
    for (int i = 0; i < LIMIT_ACCOUNT_PODS + 2; i++) {
        struct sample *s = sample_new(&w, 0.01);
        (void)snprintf(names[i], sizeof names[i], "p%d", i);
        hold(s, 0, names[i], 1);
        done(a, s);
    }
    const struct account_pod *const *pods;
    assert_int_equal(account_pods(a, &pods), LIMIT_ACCOUNT_PODS);
    assert_int_equal(account_pods_dropped(a), 2);
    assert_null(find(a, names[LIMIT_ACCOUNT_PODS]));
    struct sample *s = sample_new(&w, 0.01);
    hold(s, 0, "p1", 1); /* one that has them */
    done(a, s);
    assert_int_equal(account_pods_dropped(a), 2);
    account_close(a);
}

static void temporary_path(char path[96])
{
    const char *tmp = getenv("TMPDIR");
    snprintf(path, 96, "%s/account.XXXXXX", tmp && strlen(tmp) < 64 ? tmp : "/tmp");
    close(mkstemp(path));
    unlink(path);
}

static void remembers_when_devices_were_busy(void **state)
{
    char path[96];
    temporary_path(path);
    struct world w = {.wall_s = 5000};
    struct account *a = account_open(path, "n1");
    assert_true(near(account_last_active(a, "GPU-a"), 0) && near(account_last_active(NULL, "GPU-a"), 0));
    struct sample *s = sample_new(&w, 10);
    s->units[1].last_active_s = 4000;
    done(a, s);
    account_close(a);
    a = account_open(path, "n1");
    assert_true(near(account_last_active(a, "GPU-a"), 5010) && near(account_last_active(a, "MIG-1"), 4000));
    w.wall_s = 3000; /* the clock was wrong before */
    s = sample_new(&w, 0);
    s->units_n = 1; /* the instances are gone */
    done(a, s);
    assert_true(near(account_last_active(a, "MIG-1"), 3000));
    for (int days = 0; days < 9; days++) {
        s = sample_new(&w, 24 * 3600);
        s->units_n = 1;
        done(a, s);
    }
    assert_true(near(account_last_active(a, "MIG-1"), 0) && account_last_active(a, "GPU-a") > 3000);
    account_close(a);
    unlink(path);
}

static void survives_a_restart(void **state)
{
    char path[96], temporary[112];
    temporary_path(path);
    FILE *empty = fopen(path, "w");
    fclose(empty);
    struct world w = {.wall_s = 5000};
    struct account *a = account_open(path, "n1"); /* empty file: begun anew */
    for (int i = 0; i <= 10; i++) {
        struct sample *s = sample_new(&w, 10);
        hold(s, 0, "p\"1", 1);
        s->units[0].activity = 0.25;
        done(a, s);
    }
    account_close(a);
    a = account_open(path, "n1");
    assert_true(near(find(a, "p\"1")->allocated_s, 100) && near(find(a, "p\"1")->active_s, 25));
    w.monotonic_ms = 77; /* another boot */
    for (int i = 0; i < 2; i++) {
        struct sample *s = sample_new(&w, 10);
        hold(s, 0, "p\"1", 1);
        done(a, s);
    }
    assert_true(near(find(a, "p\"1")->allocated_s, 110));
    account_close(a);
    FILE *file = fopen(path, "w");
    fputs("{\"format\":1,\"pods\":[{\"ns\":\"n\",\"pod\":\"x\",\"allocated_s\":-5,\"active_s\":\"y\"},7,null],\"gpus\":"
          "{}}",
          file);
    fclose(file);
    a = account_open(path, "n1");
    assert_true(find(a, "x")->allocated_s == 0);
    account_close(a);
    unlink(path);
    snprintf(temporary, sizeof temporary, "%s.new", path);
    assert_int_not_equal(access(temporary, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_one_pod),
        cmocka_unit_test(puts_waste_into_one_class),
        cmocka_unit_test(splits_a_shared_unit_by_what_ran),
        cmocka_unit_test(gaps_and_clocks_count_nothing),
        cmocka_unit_test(a_namesake_begins_at_zero_and_the_gone_are_forgotten),
        cmocka_unit_test(charges_who_had_it_when_the_step_began),
        cmocka_unit_test(splits_the_end_of_a_pod),
        cmocka_unit_test(a_unit_that_is_gone_was_allocated),
        cmocka_unit_test(books_balance),
        cmocka_unit_test(times_go_with_a_clock_that_is_set),
        cmocka_unit_test(goes_on_over_a_driver_that_is_loaded_anew),
        cmocka_unit_test(has_a_limit_of_pods),
        cmocka_unit_test(remembers_when_devices_were_busy),
        cmocka_unit_test(survives_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
