/* driver_nvml over libnvsim: what a healthy node tells, and what can be done to it. Faults: test_driver_nvml_fault.c */
#include "nvml_world.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- readings ---- */

static void test_a_node_of_eight(void **state)
{
    struct node n;
    node_init(&n, "h100-80gb", 8, NULL);
    const struct gpu_model *m = gpu_model_find("h100-80gb");
    struct driver_reading *r = node_reading(&n);
    assert_int_equal(r->gpus_n, 8);
    assert_string_equal(r->driver_version, "580.95.05");
    assert_int_equal(r->cuda_version, 13000);
    for (uint32_t i = 0; i < 8; i++) {
        const struct driver_gpu *g = &r->gpus[i];
        assert_int_equal(g->index, i);
        assert_int_equal(g->minor, i);
        assert_false(g->lost);
        assert_int_equal(strncmp(g->uuid, "GPU-", 4), 0);
        assert_ptr_equal(driver_reading_gpu(r, g->uuid), g);
        assert_string_equal(g->name, m->name);
        assert_true(g->serial[0] != '\0');
        assert_int_equal(strlen(g->bus_id), 12);
        assert_int_equal(g->pci_device_id, m->pci_device_id);
        assert_int_equal(g->pci_subsystem_id, m->pci_subsystem_id);
        assert_int_equal(g->pci_class, 0x030200);
        assert_in_range(g->numa_node, 0, 1);
        assert_int_equal(g->memory_mib, m->memory_mib);
        assert_int_equal(g->architecture, m->nvml_architecture);
        assert_int_equal(g->brand, m->nvml_brand);
        assert_int_equal(g->compute_major, 9);
        assert_int_equal(g->compute_minor, 0);
        assert_true(g->mig_capable);
        assert_false(g->mig_on || g->mig_pending);
        assert_int_equal(g->migs_n + g->processes_n, 0);
        assert_ptr_equal(g->mig, &driver_mig_none);
        assert_ptr_equal(g->geometry, r->gpus[0].geometry); /* shared */
        for (uint32_t k = 0; k < 8; k++) {
            struct driver_link link = r->links[i * 8 + k];
            assert_int_equal(link.nvlinks_n, i == k ? 0 : 18);
            assert_int_not_equal(link.ancestor, 255);
            assert_true((link.ancestor == 0) == (i == k));
        }
    }
    struct driver_reading *again = node_reading(&n);
    assert_true(again->number > r->number);
    assert_string_equal(again->gpus[7].uuid, r->gpus[7].uuid);
    assert_int_equal(n.events_n, 0);
    node_free(&n);
    driver_reading_unref(again); /* readings outlive the driver */
    assert_string_equal(r->gpus[0].name, m->name);
    driver_reading_unref(r);
}

/* The geometry is asked of the library; on every model it must come out as the model's own. */
static void test_geometry_of_every_model(void **state)
{
    for (uint32_t i = 0; i < gpu_models_n; i++) {
        const struct gpu_model *m = &gpu_models[i];
        struct node n;
        node_init(&n, m->key, 1, NULL);
        struct driver_reading *r = node_reading(&n);
        const struct driver_gpu *g = &r->gpus[0];
        assert_int_equal(g->mig_capable, m->mig_slices > 0);
        assert_int_equal(g->geometry != NULL, m->mig_slices > 0);
        if (g->geometry) {
            assert_int_equal(g->geometry->profiles_n, m->profiles_n);
            assert_int_equal(g->geometry->mig_slices, m->mig_slices);
            assert_int_equal(g->geometry->mig_units, m->mig_units);
            assert_int_equal(g->geometry->mig_needs_reset, m->mig_needs_reset);
        }
        for (uint32_t k = 0; g->geometry && k < m->profiles_n; k++) {
            const struct mig_profile *want = &m->profiles[k], *have = mig_profile_by_id(g->geometry, want->id);
            assert_non_null(have);
            assert_string_equal(have->name, want->name);
            assert_int_equal(have->nvml_index, want->nvml_index);
            assert_int_equal(have->slices, want->slices);
            assert_int_equal(have->max_n, want->max_n);
            assert_int_equal(have->units, want->units);
            assert_int_equal(have->starts, want->starts);
            assert_int_equal(have->sm_n, want->sm_n);
            assert_int_equal(have->decoder_n, want->decoder_n);
            assert_int_equal(have->memory_mib, want->memory_mib);
            assert_int_equal(have->p2p, want->p2p);
            assert_int_equal(have->graphics, want->graphics);
        }
        driver_reading_unref(r);
        node_free(&n);
    }
}

static void test_readings_asked_at_once(void **state)
{
    struct node n;
    node_init(&n, "t4", 2, NULL);
    struct answer a[4] = {{.l = n.l}, {.l = n.l}, {.l = n.l}, {.l = n.l}};
    for (int i = 0; i < 4; i++)
        driver_read(n.d, on_reading, &a[i]);
    for (int i = 0; i < 4; i++) {
        answer_wait(&a[i], 60000);
        assert_int_equal(a[i].code, 0);
    }
    assert_true(a[0].reading->number < a[1].reading->number); /* asked while the first was under way: the next */
    assert_ptr_equal(a[1].reading, a[3].reading);
    assert_null(a[0].reading->gpus[0].geometry);
    for (int i = 0; i < 4; i++)
        answer_free(&a[i]);
    node_free(&n);
}

struct again { /* a reading that is asked for out of an answer */
    struct node *n;
    uint64_t first;
    struct answer second;
};

static void ask_again(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    struct again *x = arg;
    assert_int_equal(code, 0);
    x->first = r->number;
    driver_read(x->n->d, on_reading, &x->second);
}

static void test_a_reading_asked_for_in_an_answer(void **state)
{
    struct node n;
    node_init(&n, "t4", 1, NULL);
    struct again x = {.n = &n, .second = {.l = n.l}};
    driver_read(n.d, ask_again, &x);
    answer_wait(&x.second, 60000);
    assert_true(x.second.reading->number > x.first);
    answer_free(&x.second);
    node_free(&n);
}

/* ---- MIG ---- */

static void test_mig_is_made_read_and_destroyed(void **state)
{
    struct node n;
    node_init(&n, "h100-80gb", 2, NULL);
    node_make_mig(&n, 1, "3g.40gb", 4);
    node_make_mig(&n, 1, "1g.10gb", 0);
    struct driver_reading *r = node_reading(&n);
    const struct driver_gpu *g = &r->gpus[1];
    assert_false(r->gpus[0].mig_on);
    assert_true(g->mig_on && !g->mig_pending);
    assert_int_equal(g->migs_n, 2);
    const struct driver_mig *big = g->migs[0].gi_slices == 3 ? &g->migs[0] : &g->migs[1];
    assert_string_equal(big->profile, "3g.40gb");
    assert_int_equal(strncmp(big->uuid, "MIG-", 4), 0);
    assert_int_equal(big->gi_start, 4);
    assert_int_equal(big->gi_units, 4);
    assert_int_equal(big->ci_slices, 3);
    assert_int_equal(big->sm_n, 60);
    assert_true(big->memory_mib > 39000);
    assert_ptr_equal(driver_reading_gpu(r, big->uuid), g);
    /* The same as plan input: planning for what is there asks for no step. */
    struct mig_wish wishes[2];
    struct mig_plan plan;
    struct err e = {0};
    assert_int_equal(mig_wish_parse(g->geometry, "3g.40gb", &wishes[0], &e), 0);
    assert_int_equal(mig_wish_parse(g->geometry, "1g.10gb", &wishes[1], &e), 0);
    wishes[0].n = wishes[1].n = 1;
    assert_int_equal(mig_plan_make(g->geometry, g->mig, true, wishes, 2, &plan, &e), 0);
    assert_int_equal(plan.steps_n, 0);
    assert_int_equal(plan.kept_n, 2);
    assert_int_equal(node_step(&n, 1, (struct mig_step){.kind = MIG_STEP_DESTROY_GI, .instance_id = big->gi}),
                     -E_CONFLICT);
    assert_int_equal(
        node_step(&n, 1, (struct mig_step){.kind = MIG_STEP_DESTROY_CI, .instance_id = big->gi, .compute_id = big->ci}),
        0);
    struct driver_reading *half = node_reading(&n); /* a GPU instance without a compute instance */
    assert_int_equal(half->gpus[1].migs_n, 1);
    int used_n = 0;
    for (int i = 0; i < MIG_GI_MAX; i++)
        used_n += half->gpus[1].mig->instances[i].used;
    assert_int_equal(used_n, 2);
    assert_int_equal(node_step(&n, 1, (struct mig_step){.kind = MIG_STEP_DESTROY_GI, .instance_id = big->gi}), 0);
    assert_int_equal(node_step(&n, 1, (struct mig_step){.kind = MIG_STEP_MODE_OFF}), -E_CONFLICT);
    assert_non_null(node_wait_event(&n, DRIVER_EVENT_MIG_CHANGED, 1));
    driver_reading_unref(half);
    driver_reading_unref(r);
    node_free(&n);
}

static void test_a_whole_plan(void **state)
{
    struct node n;
    node_init(&n, "a30", 1, NULL);
    assert_int_equal(node_step(&n, 0, (struct mig_step){.kind = MIG_STEP_MODE_ON}), 0);
    struct driver_reading *r = node_reading(&n);
    assert_true(r->gpus[0].mig_pending && !r->gpus[0].mig_on); /* Ampere: waits for a reset */
    driver_reading_unref(r);
    assert_int_equal(nvsim_reset(n.sim, 0, NULL), 0);
    r = node_reading(&n);
    assert_true(r->gpus[0].mig_on);
    struct mig_wish wishes[2];
    struct mig_plan plan;
    struct err e = {0};
    assert_int_equal(mig_wish_parse(r->gpus[0].geometry, "1g.6gb", &wishes[0], &e), 0);
    assert_int_equal(mig_wish_parse(r->gpus[0].geometry, "1c.2g.12gb", &wishes[1], &e), 0);
    wishes[0].n = wishes[1].n = 2;
    assert_int_equal(mig_plan_make(r->gpus[0].geometry, r->gpus[0].mig, true, wishes, 2, &plan, &e), 0);
    driver_reading_unref(r);
    for (uint32_t i = 0; i < plan.steps_n; i++)
        assert_int_equal(node_step(&n, 0, plan.steps[i]), 0);
    r = node_reading(&n);
    assert_int_equal(r->gpus[0].migs_n, 4);
    assert_int_equal(mig_wish_parse(r->gpus[0].geometry, "1g.6gb", &wishes[0], &e), 0);
    assert_int_equal(mig_wish_parse(r->gpus[0].geometry, "1c.2g.12gb", &wishes[1], &e), 0);
    wishes[0].n = wishes[1].n = 2;
    assert_true(mig_plan_matches(r->gpus[0].geometry, r->gpus[0].mig, true, wishes, 2));
    int halves_n = 0;
    for (uint32_t i = 0; i < 4; i++)
        halves_n += strcmp(r->gpus[0].migs[i].profile, "1c.2g.12gb") == 0;
    assert_int_equal(halves_n, 2);
    driver_reading_unref(r);
    node_free(&n);
}

static void test_steps_that_cannot_be(void **state)
{
    struct node n;
    node_init(&n, "h100-80gb", 1, NULL);
    struct answer a = {.l = n.l};
    struct mig_step on = {.kind = MIG_STEP_MODE_ON};
    driver_mig_step(n.d, "GPU-x", &on, on_done, &a); /* before any reading */
    assert_false(a.done);
    answer_wait(&a, 60000);
    assert_int_equal(a.code, -E_NOTFOUND);
    driver_reading_unref(node_reading(&n));
    a = (struct answer){.l = n.l};
    driver_mig_step(n.d, "GPU-x", &on, on_done, &a);
    answer_wait(&a, 60000);
    assert_int_equal(a.code, -E_NOTFOUND);
    assert_non_null(strstr(a.error.text, "GPU-x"));
    assert_int_equal(node_step(&n, 0, (struct mig_step){.kind = MIG_STEP_CREATE_GI, .profile_id = 19, .start = 0}),
                     -E_INVALID); /* mode off */
    assert_int_equal(node_step(&n, 0, (struct mig_step){.kind = MIG_STEP_CREATE_CI, .instance_id = 0xff, .slices = 1}),
                     -E_NOTFOUND);
    node_make_mig(&n, 0, "7g.80gb", 0);
    assert_int_equal(node_step(&n, 0, (struct mig_step){.kind = MIG_STEP_CREATE_GI, .profile_id = 19, .start = 0}),
                     -E_LIMIT);
    assert_int_equal(node_step(&n, 0, (struct mig_step){.kind = MIG_STEP_CREATE_GI, .profile_id = 19, .start = 7}),
                     -E_INVALID);
    assert_int_equal(node_step(&n, 0, (struct mig_step){.kind = MIG_STEP_CREATE_GI, .profile_id = 99}), -E_INVALID);
    assert_int_equal(
        node_step(&n, 0, (struct mig_step){.kind = MIG_STEP_DESTROY_CI, .instance_id = 0, .compute_id = 5}),
        -E_NOTFOUND);
    assert_int_equal(node_step(&n, 0, (struct mig_step){.kind = MIG_STEP_DESTROY_GI, .instance_id = 9}), -E_NOTFOUND);
    assert_int_equal(node_step(&n, 0, (struct mig_step){.kind = MIG_STEP_CREATE_CI, .instance_id = 0, .slices = 5}),
                     -E_INVALID);
    node_free(&n);
}

/* ---- processes, compute mode ---- */

static void work(struct node *n, uint32_t pid, uint32_t gpu, uint32_t gi, uint32_t ci, uint32_t kind,
                 uint64_t memory_mib)
{
    struct nvsim_work w = {
        .pid = pid, .gpu = gpu, .gi = gi, .ci = ci, .kind = kind, .memory_mib = memory_mib, .sm_permille = 100};
    struct err e = {0};
    if (nvsim_work_start(n->sim, &w, &e) < 0)
        fail_msg("%s", e.text);
}

static void test_processes(void **state)
{
    struct node n;
    node_init(&n, "h100-80gb", 2, NULL);
    struct answer a = {.l = n.l};
    driver_processes(n.d, on_processes, &a);
    answer_wait(&a, 60000);
    assert_int_equal(a.code, -E_NOTFOUND); /* nothing is open yet */
    node_make_mig(&n, 1, "3g.40gb", 0);
    node_make_mig(&n, 1, "3g.40gb", 4);
    struct driver_reading *r = node_reading(&n);
    const struct driver_mig *m = &r->gpus[1].migs[1];
    work(&n, 700001, 0, ALL, ALL, 0, 1000);
    work(&n, 700002, 0, ALL, ALL, 1, 100);
    work(&n, 700003, 0, ALL, ALL, 2, 10);
    work(&n, 700004, 1, m->gi, m->ci, 0, 2000);
    a = (struct answer){.l = n.l};
    driver_processes(n.d, on_processes, &a);
    answer_wait(&a, 60000);
    assert_int_equal(a.code, 0);
    assert_int_equal(a.n, 4);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(a.list[i].pid, 700001 + i);
        assert_int_equal(a.list[i].gpu, 0);
        assert_int_equal(a.list[i].gi, ALL);
        assert_int_equal(a.list[i].ci, ALL);
    }
    assert_true(a.list[0].memory_bytes == (uint64_t)1000 << 20);
    assert_int_equal(a.list[3].pid, 700004);
    assert_int_equal(a.list[3].gpu, 1);
    assert_int_equal(a.list[3].gi, m->gi);
    assert_int_equal(a.list[3].ci, m->ci);
    struct driver_reading *busy = node_reading(&n);
    assert_int_equal(busy->gpus[0].processes_n, 3);
    assert_int_equal(busy->gpus[1].processes_n, 1);
    assert_int_equal(busy->gpus[1].migs[0].processes_n, 0);
    assert_int_equal(busy->gpus[1].migs[1].processes_n, 1);
    struct mig_state s = *busy->gpus[1].mig;
    assert_int_equal(mig_find_compute(&s, m->gi, m->ci)->busy_n, 1);
    assert_int_equal(
        node_step(&n, 1, (struct mig_step){.kind = MIG_STEP_DESTROY_CI, .instance_id = m->gi, .compute_id = m->ci}),
        -E_CONFLICT);
    driver_reading_unref(busy);
    driver_reading_unref(r);
    node_free(&n);
}

static void test_a_thousand_processes(void **state)
{
    struct node n;
    node_init(&n, "a100-80gb", 1, NULL);
    for (uint32_t i = 0; i < 1000; i++)
        work(&n, 710000 + i, 0, ALL, ALL, 0, 1);
    struct driver_reading *r = node_reading(&n);
    assert_int_equal(r->gpus[0].processes_n, 1000);
    struct answer a = {.l = n.l};
    driver_processes(n.d, on_processes, &a);
    answer_wait(&a, 60000);
    assert_int_equal(a.n, 1000);
    driver_reading_unref(r);
    node_free(&n);
}

static int set_mode(struct node *n, const char *uuid, int mode)
{
    struct answer a = {.l = n->l};
    driver_set_compute_mode(n->d, uuid, mode, on_done, &a);
    assert_false(a.done);
    answer_wait(&a, 60000);
    return a.code;
}

static void test_compute_mode(void **state)
{
    struct node n;
    node_init(&n, "t4", 1, NULL);
    struct driver_reading *r = node_reading(&n);
    assert_int_equal(set_mode(&n, r->gpus[0].uuid, 3), 0);
    assert_int_equal(set_mode(&n, r->gpus[0].uuid, 0), 0);
    assert_int_equal(set_mode(&n, r->gpus[0].uuid, 1), -E_INVALID);
    assert_int_equal(set_mode(&n, r->gpus[0].uuid, 7), -E_INVALID);
    assert_int_equal(set_mode(&n, "GPU-x", 0), -E_NOTFOUND);
    driver_reading_unref(r);
    node_free(&n);
}

/* ---- reset ---- */

static int reset(struct node *n, const char *uuid, struct err *ret_e)
{
    struct answer a = {.l = n->l};
    driver_reset(n->d, uuid, on_done, &a);
    assert_false(a.done);
    struct answer meanwhile = {.l = n->l};
    driver_read(n->d, on_reading, &meanwhile);
    answer_wait(&meanwhile, 60000);
    assert_int_equal(meanwhile.code, a.done ? 0 : -E_AGAIN);
    answer_free(&meanwhile);
    answer_wait(&a, 60000);
    *ret_e = a.error;
    return a.code;
}

static void test_reset(void **state)
{
    struct node n;
    struct err e;
    char command[1100];
    const char *self = *state;
    (void)snprintf(command, sizeof command, "%s --reset {index} {uuid} {bus} {x}", self);
    node_init(&n, "a100-80gb", 2,
              &(struct driver_nvml_options){.reset_command = command, .call_ms = 5000, .step_ms = 5000});
    assert_int_equal(node_step(&n, 1, (struct mig_step){.kind = MIG_STEP_MODE_ON}), 0);
    struct driver_reading *r = node_reading(&n);
    assert_true(r->gpus[1].mig_pending);
    assert_int_equal(reset(&n, r->gpus[1].uuid, &e), 0);
    struct driver_reading *after = node_reading(&n);
    assert_true(after->gpus[1].mig_on && !after->gpus[1].mig_pending);
    assert_false(after->gpus[0].mig_on);
    work(&n, 720001, 0, ALL, ALL, 0, 1);
    assert_int_equal(reset(&n, r->gpus[0].uuid, &e), -E_CONFLICT); /* a process runs on it */
    assert_non_null(strstr(e.text, "processes run"));
    assert_int_equal(nvsim_work_stop(n.sim, 720001, NULL), 0);
    node_fault(&n, 0, -1, -1, "lost", "");
    struct driver_reading *lost = node_reading(&n);
    assert_true(lost->gpus[0].lost);
    assert_int_equal(reset(&n, r->gpus[0].uuid, &e), 0);
    driver_reading_unref(lost);
    lost = node_reading(&n);
    assert_false(lost->gpus[0].lost);
    node_fault(&n, 0, -1, -1, "xid", "63"); /* events come again after a reset */
    const struct driver_event *event = node_wait_event(&n, DRIVER_EVENT_XID, 1);
    assert_non_null(event);
    assert_string_equal(event->uuid, r->gpus[0].uuid);
    driver_reading_unref(lost);
    driver_reading_unref(after);
    driver_reading_unref(r);
    node_free(&n);
}

/* Without a fabric manager linked GPUs go together: learned from the reset program, which names them. */
static void test_linked_gpus_are_reset_together(void **state)
{
    struct node n;
    struct err e;
    char command[1100];
    (void)snprintf(command, sizeof command, "%s --reset {index} {uuid} {bus} {x}", (const char *)*state);
    node_init(&n, "a100-80gb", 3, &(struct driver_nvml_options){.reset_command = command, .call_ms = 5000, .step_ms = 5000});
    node_fault(&n, 0, -1, -1, "fabric-manager", "off");
    struct driver_reading *r = node_reading(&n);
    assert_false(r->resets_linked);
    assert_int_equal(node_step(&n, 1, (struct mig_step){.kind = MIG_STEP_MODE_ON}), 0);
    assert_int_equal(reset(&n, r->gpus[1].uuid, &e), -E_CONFLICT);
    assert_non_null(strstr(e.text, "linked"));
    struct driver_reading *after = node_reading(&n);
    assert_true(after->resets_linked && !after->gpus[1].mig_on);
    assert_int_equal(reset(&n, r->gpus[1].uuid, &e), 0);
    driver_reading_unref(after);
    after = node_reading(&n);
    assert_true(after->gpus[1].mig_on);
    work(&n, 720001, 2, ALL, ALL, 0, 1);
    assert_int_equal(reset(&n, r->gpus[1].uuid, &e), -E_CONFLICT); /* a process runs on one of them */
    driver_reading_unref(after);
    driver_reading_unref(r);
    node_free(&n);
}

static void test_a_reset_program_that_is_not_there(void **state)
{
    struct node n;
    struct err e;
    node_init(
        &n, "t4", 1,
        &(struct driver_nvml_options){.reset_command = "no-such-nvidia-smi -r", .call_ms = 5000, .step_ms = 5000});
    struct driver_reading *r = node_reading(&n);
    assert_int_equal(reset(&n, r->gpus[0].uuid, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "no program no-such-nvidia-smi"));
    driver_reading_unref(node_reading(&n));
    driver_reading_unref(r);
    node_free(&n);
}

/* nvidia-smi lies with a driver that is installed elsewhere, and wants that one's library. */
static void test_the_reset_program_of_the_driver(void **state)
{
    struct node n;
    struct err e;
    char path[600], text[300] = "";
    (void)state;
    node_init(&n, "t4", 1, &(struct driver_nvml_options){.reset_command = "capstan-smi -r {index}", .call_ms = 5000, .step_ms = 5000});
    /* WHY not libnvsim: built with a sanitizer, it cannot be loaded into a shell. Any library does: only its path is looked at. */
    Dl_info any;
    assert_int_not_equal(dladdr((void *)(uintptr_t)mock_assert, &any), 0);
    assert_int_equal(nvsim_install_driver(n.sim, any.dli_fname, NULL, &e), 0);
    (void)snprintf(path, sizeof path, "%s/root/usr/bin", n.dir);
    assert_int_equal(mkdir(path, 0755), 0);
    (void)snprintf(path, sizeof path, "%s/root/usr/bin/capstan-smi", n.dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fprintf(f, "#!/bin/sh\necho \"$1 $2 $LD_PRELOAD\" > '%s/said'\n", n.dir) > 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0755), 0);
    struct driver_reading *r = node_reading(&n);
    assert_int_equal(reset(&n, r->gpus[0].uuid, &e), 0);
    (void)snprintf(path, sizeof path, "%s/said", n.dir);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    assert_int_equal(fclose(f), 0);
    (void)snprintf(path, sizeof path, "-r 0 %s/root/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1\n", n.dir);
    assert_string_equal(text, path);
    driver_reading_unref(r);
    node_free(&n);
}

/* As the reset program: this test itself. */
static int reset_main(char **argv)
{
    struct nvsim *sim;
    struct err e = {0};
    uint32_t gpus = 0;
    for (char *at = argv[2]; *at; at += *at == ',')
        gpus |= 1u << strtoul(at, &at, 10);
    size_t more = (size_t)__builtin_popcount(gpus) - 1;
    if (strncmp(argv[3], "GPU-", 4) != 0 || strlen(argv[4]) != 12 + 13 * more || strcmp(argv[5], "{x}") != 0)
        return 3;
    if (nvsim_open(getenv("NVSIM_STATE"), &sim, &e) < 0)
        return 4;
    int r = nvsim_reset_all(sim, gpus, &e);
    nvsim_close(sim);
    if (r < 0)
        printf("Resetting...\n%s\n", e.text);
    return r < 0;
}

int main(int argc, char **argv)
{
    char self[512];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (argc == 6 && strcmp(argv[1], "--reset") == 0)
        return reset_main(argv);
    assert_int_equal(argc, 2);
    assert_true(length > 0);
    self[length] = '\0';
    nvsim_library = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_node_of_eight),
        cmocka_unit_test(test_geometry_of_every_model),
        cmocka_unit_test(test_readings_asked_at_once),
        cmocka_unit_test(test_a_reading_asked_for_in_an_answer),
        cmocka_unit_test(test_mig_is_made_read_and_destroyed),
        cmocka_unit_test(test_a_whole_plan),
        cmocka_unit_test(test_steps_that_cannot_be),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_a_thousand_processes),
        cmocka_unit_test(test_compute_mode),
        cmocka_unit_test_prestate(test_reset, self),
        cmocka_unit_test_prestate(test_linked_gpus_are_reset_together, self),
        cmocka_unit_test(test_a_reset_program_that_is_not_there),
        cmocka_unit_test(test_the_reset_program_of_the_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
