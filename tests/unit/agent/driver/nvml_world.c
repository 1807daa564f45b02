/* nvml_world.c - see nvml_world.h */
#include "nvml_world.h"
#include "../folder.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *nvsim_library;

static void on_event(void *arg, const struct driver_event *event)
{
    struct node *n = arg;
    if (n->events_n < sizeof n->events / sizeof *n->events)
        n->events[n->events_n++] = *event;
}

void node_init(struct node *n, const char *model, uint32_t gpus_n, const struct driver_nvml_options *o)
{
    memset(n, 0, sizeof *n);
    folder_make(n->dir, sizeof n->dir, "node");
    struct nvsim_config c = {gpu_model_find(model), gpus_n, "node-a", "580.95.05", 13000};
    struct err e = {0};
    char path[512];
    assert_non_null(c.model);
    if (nvsim_create(n->dir, &c, &e) < 0)
        fail_msg("%s", e.text);
    (void)snprintf(path, sizeof path, "%s/state", n->dir);
    assert_int_equal(nvsim_open(path, &n->sim, &e), 0);
    setenv("NVSIM_STATE", path, 1);
    (void)snprintf(path, sizeof path, "%s/root", n->dir);
    struct driver_nvml_options options = o ? *o : (struct driver_nvml_options){.call_ms = 5000, .step_ms = 5000};
    if (!options.nvml_path)
        options.nvml_path = nvsim_library;
    if (!options.driver_root)
        options.driver_root = path;
    n->l = loop_new();
    n->d = driver_nvml_new_with(n->l, &options);
    driver_listen(n->d, on_event, n);
}

void node_free(struct node *n)
{
    driver_free(n->d);
    loop_free(n->l);
    nvsim_close(n->sim);
    folder_remove(n->dir);
}

void node_fault(struct node *n, uint32_t gpu, int gi, int ci, const char *kind, const char *argument)
{
    struct err e = {0};
    if (nvsim_fault(n->sim, gpu, gi, ci, kind, argument, &e) < 0)
        fail_msg("%s", e.text);
}

static void answer_ends(struct answer *a, int code, const struct err *e)
{
    assert_false(a->done); /* exactly once */
    a->done = true;
    a->code = code;
    a->error = *e;
    loop_stop(a->l);
}

void on_reading(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    struct answer *a = arg;
    a->reading = r ? driver_reading_ref(r) : NULL;
    answer_ends(a, code, e);
}

void on_done(void *arg, int code, const struct err *e)
{
    answer_ends(arg, code, e);
}

void on_processes(void *arg, int code, const struct driver_process *list, uint32_t n, const struct err *e)
{
    struct answer *a = arg;
    a->n = n;
    for (uint32_t i = 0; i < n && i < sizeof a->list / sizeof *a->list; i++)
        a->list[i] = list[i];
    answer_ends(a, code, e);
}

void answer_wait(struct answer *a, int64_t limit_ms)
{
    for (int64_t end_ms = loop_now_ms(a->l) + limit_ms; !a->done && loop_now_ms(a->l) < end_ms;)
        loop_run_for(a->l, end_ms - loop_now_ms(a->l), NULL);
    assert_true(a->done);
}

void answer_free(struct answer *a)
{
    driver_reading_unref(a->reading);
    a->reading = NULL;
}

struct answer node_read(struct node *n)
{
    struct answer a = {.l = n->l};
    driver_read(n->d, on_reading, &a);
    assert_false(a.done); /* never inside the call */
    answer_wait(&a, 60000);
    return a;
}

struct driver_reading *node_reading(struct node *n)
{
    struct answer a = node_read(n);
    if (a.code != 0)
        fail_msg("%s", a.error.text);
    return a.reading;
}

int node_step(struct node *n, uint32_t gpu, struct mig_step step)
{
    struct answer a = {.l = n->l};
    struct driver_reading *r = node_reading(n);
    assert_in_range(gpu, 0, r->gpus_n - 1);
    driver_mig_step(n->d, r->gpus[gpu].uuid, &step, on_done, &a);
    assert_false(a.done);
    answer_wait(&a, 60000);
    driver_reading_unref(r);
    if (a.code != 0)
        print_message("# step %d: %s\n", (int)step.kind, a.error.text);
    return a.code;
}

const struct driver_event *node_wait_event(struct node *n, int kind, uint32_t count)
{
    for (int64_t end_ms = loop_now_ms(n->l) + 60000;;) {
        uint32_t seen = 0;
        for (uint32_t i = 0; i < n->events_n; i++)
            if ((int)n->events[i].kind == kind && ++seen == count)
                return &n->events[i];
        if (loop_now_ms(n->l) >= end_ms)
            return NULL;
        loop_run_for(n->l, 10, NULL);
    }
}

void node_make_mig(struct node *n, uint32_t gpu, const char *profile, uint8_t start)
{
    struct driver_reading *r = node_reading(n);
    bool on = r->gpus[gpu].mig_on;
    const struct mig_profile *p = mig_profile_find(r->gpus[gpu].geometry, profile);
    assert_non_null(p);
    uint8_t id = p->id, slices = p->slices;
    driver_reading_unref(r);
    if (!on)
        assert_int_equal(node_step(n, gpu, (struct mig_step){.kind = MIG_STEP_MODE_ON}), 0);
    assert_int_equal(node_step(n, gpu, (struct mig_step){.kind = MIG_STEP_CREATE_GI, .profile_id = id, .start = start}),
                     0);
    assert_int_equal(
        node_step(n, gpu,
                  (struct mig_step){.kind = MIG_STEP_CREATE_CI, .instance_id = 0xff, .start = 0, .slices = slices}),
        0);
}

static void on_measured(void *arg, int code, const struct measure_reading *r, const struct err *e)
{
    struct measured *m = arg;
    (void)e;
    assert_false(m->done); /* exactly once */
    m->done = true;
    m->code = code;
    m->reading = r ? measure_reading_ref(r) : NULL;
    loop_stop(m->l);
}

void node_measure_start(struct node *n, const struct driver_reading *devices, int64_t deadline_ms, struct measured *m)
{
    struct measure_request all = {.processes = true, .deadline_ms = deadline_ms, .period_ms = 15000};
    memset(all.wanted, 0xff, sizeof all.wanted);
    *m = (struct measured){.l = n->l};
    driver_measure(n->d, devices, &all, on_measured, m);
    assert_false(m->done); /* never inside the call */
}

struct measured node_measure(struct node *n, const struct driver_reading *devices, int64_t deadline_ms)
{
    struct measured m;
    node_measure_start(n, devices, deadline_ms, &m);
    for (int64_t end_ms = loop_now_ms(n->l) + deadline_ms + 60000; !m.done && loop_now_ms(n->l) < end_ms;)
        loop_run_for(n->l, end_ms - loop_now_ms(n->l), NULL);
    assert_true(m.done);
    return m;
}

const struct measure_reading *node_measured(struct node *n, const struct driver_reading *devices)
{
    struct measured m = node_measure(n, devices, 5000);
    assert_int_equal(m.code, 0);
    return m.reading;
}
