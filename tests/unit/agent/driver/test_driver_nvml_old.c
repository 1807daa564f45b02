/* driver_nvml over libraries of older drivers (fake_nvml.c): what they cannot say is absent, the rest is as with new ones */
#include "nvml_world.h"
#include <stdlib.h>

struct pair {
    struct loop *l;
    struct driver *d;
};
static const char *old_library, *mig_library, *plain_library;

static struct pair start(const char *library)
{
    struct pair p = {.l = loop_new()};
    p.d = driver_nvml_new(p.l, library, NULL);
    return p;
}

static struct driver_reading *read_it(struct pair *p)
{
    struct answer a = {.l = p->l};
    driver_read(p->d, on_reading, &a);
    answer_wait(&a, 60000);
    assert_int_equal(a.code, 0);
    return a.reading;
}

static int step(struct pair *p, struct mig_step s)
{
    struct answer a = {.l = p->l};
    driver_mig_step(p->d, "GPU-00000000-1111-2222-3333-444444444444", &s, on_done, &a);
    answer_wait(&a, 60000);
    return a.code;
}

static void end(struct pair *p)
{
    driver_free(p->d);
    loop_free(p->l);
}

static void test_without_suffixes(void **state)
{
    struct pair p = start(old_library);
    struct driver_reading *r = read_it(&p);
    assert_int_equal(r->gpus_n, 1);
    const struct driver_gpu *g = &r->gpus[0];
    assert_string_equal(r->driver_version, "450.80.02");
    assert_int_equal(r->cuda_version, 0);
    assert_string_equal(g->name, "Tesla M60");
    assert_string_equal(g->bus_id, "0001:82:00.0");
    assert_int_equal(g->pci_device_id, 0x13F210DE);
    assert_int_equal(g->memory_mib, 40536);
    assert_false(g->mig_capable);
    assert_null(g->geometry);
    assert_int_equal(g->processes_n, 3);
    struct answer a = {.l = p.l};
    driver_processes(p.d, on_processes, &a);
    answer_wait(&a, 60000);
    assert_int_equal(a.n, 3); /* once each, sorted, with the memory that one list knew */
    assert_int_equal(a.list[0].pid, 298);
    assert_int_equal(a.list[2].pid, 300);
    assert_true(a.list[2].memory_bytes == 1 << 20);
    assert_int_equal(a.list[2].gi, ALL);
    assert_int_equal(step(&p, (struct mig_step){.kind = MIG_STEP_MODE_ON}), -E_INVALID);
    driver_reading_unref(r);
    end(&p);
}

static void test_first_mig(void **state)
{
    struct pair p = start(mig_library);
    struct driver_reading *r = read_it(&p);
    const struct driver_gpu *g = &r->gpus[0];
    assert_true(g->mig_on);
    assert_non_null(g->geometry);
    assert_int_equal(g->geometry->profiles_n, 2);
    assert_non_null(mig_profile_find(g->geometry, "1g.5gb")); /* named by arithmetic */
    const struct mig_profile *three = mig_profile_find(g->geometry, "3g.20gb");
    assert_non_null(three);
    assert_int_equal(three->units, 4);
    assert_int_equal(three->starts, 0x11);
    assert_int_equal(g->geometry->mig_units, 8);
    assert_int_equal(g->migs_n, 1); /* at index 4, between holes */
    assert_string_equal(g->migs[0].profile, "1g.5gb");
    assert_int_equal(g->migs[0].gi, 13);
    assert_int_equal(g->migs[0].gi_start, 6);
    assert_int_equal(g->migs[0].processes_n, 1);
    assert_int_equal(g->mig->instances[0].computes[0].busy_n, 1);
    assert_int_equal(step(&p, (struct mig_step){.kind = MIG_STEP_CREATE_GI, .profile_id = 19, .start = 0}), 0);
    struct driver_reading *more = read_it(&p);
    assert_int_equal(more->gpus[0].mig->instances[1].id, 7);
    assert_int_equal(step(&p, (struct mig_step){.kind = MIG_STEP_CREATE_CI, .instance_id = 0xff, .slices = 1}),
                     -E_INVALID); /* no such call */
    assert_int_equal(step(&p, (struct mig_step){.kind = MIG_STEP_DESTROY_GI, .instance_id = 7}), 0);
    assert_int_equal(step(&p, (struct mig_step){.kind = MIG_STEP_DESTROY_GI, .instance_id = 13}), -E_CONFLICT);
    assert_int_equal(step(&p, (struct mig_step){.kind = MIG_STEP_CREATE_GI, .profile_id = 9, .start = 0}), -E_LIMIT);
    driver_reading_unref(more);
    driver_reading_unref(r);
    end(&p);
}

/* A driver that cannot be told where a compute instance begins: it chooses itself. */
static void test_compute_instances_without_placement(void **state)
{
    struct pair p = start(plain_library);
    struct driver_reading *r = read_it(&p);
    assert_int_equal(step(&p, (struct mig_step){.kind = MIG_STEP_CREATE_GI, .profile_id = 19, .start = 0}), 0);
    assert_int_equal(step(&p, (struct mig_step){.kind = MIG_STEP_CREATE_CI, .instance_id = 0xff, .slices = 1}), 0);
    driver_reading_unref(r);
    end(&p);
}

static void test_no_driver(void **state)
{
    struct pair p = start("/no/such/libnvidia-ml.so.1");
    struct answer a = {.l = p.l};
    driver_read(p.d, on_reading, &a);
    assert_false(a.done);
    answer_wait(&a, 60000);
    assert_int_equal(a.code, -E_NOTFOUND);
    assert_null(a.reading);
    end(&p);
    driver_free(NULL);
}

int main(int argc, char **argv)
{
    assert_int_equal(argc, 4);
    old_library = argv[1];
    mig_library = argv[2];
    plain_library = argv[3];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_suffixes),
        cmocka_unit_test(test_first_mig),
        cmocka_unit_test(test_compute_instances_without_placement), cmocka_unit_test(test_no_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
