/* test_together.c - many processes and threads on one node: MIG changes, work, readings and events at once, holders killed in the middle */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include "base/random.h"
#include "library.h"

#define GPUS 2
#define PROCESSES 6
#define ROUNDS 400
#define THREADS 4

/* One random step through the C ABI. Any answer is fine that a busy node may give; what it may not do is checked at the end. */
static void step(struct random *r, struct nvml_device *d)
{
    static const uint32_t profiles[] = {19, 14, 9, 5, 15};
    struct nvml_gpu_instance *gi, *list[8];
    struct nvml_compute_instance *ci;
    struct nvml_memory memory;
    uint32_t n;
    uint64_t what = random_below(r, 4);
    if (what == 0 && nvmlDeviceCreateGpuInstance(d, profiles[random_below(r, 5)], &gi) == NVML_OK)
        (void)nvmlGpuInstanceCreateComputeInstance(gi, (uint32_t)random_below(r, 3), &ci);
    if (what == 1 && nvmlDeviceGetGpuInstances(d, profiles[random_below(r, 5)], list, &n) == NVML_OK && n > 0) {
        gi = list[random_below(r, n)];
        if (nvmlGpuInstanceGetComputeInstanceById(gi, 0, &ci) == NVML_OK)
            (void)nvmlComputeInstanceDestroy(ci);
        (void)nvmlGpuInstanceDestroy(gi);
    }
    if (what == 2) {
        struct nvml_device *mig;
        for (uint32_t i = 0; i < 7; i++)
            if (nvmlDeviceGetMigDeviceHandleByIndex(d, i, &mig) == NVML_OK && nvmlDeviceGetMemoryInfo(mig, &memory) == NVML_OK)
                if (memory.total_bytes != memory.free_bytes + memory.used_bytes)
                    abort();
    }
    if (what == 3 && nvmlDeviceGetMemoryInfo(d, &memory) == NVML_OK && memory.total_bytes != memory.free_bytes + memory.used_bytes)
        abort();
}

/* What holds for every layout: instances do not overlap, and every compute instance lies in its GPU instance. */
static void check_layout(struct nvsim *n)
{
    for (uint32_t i = 0; i < n->gpus_n; i++) {
        const struct mig_state *mig = &nvsim_gpu_current(n, i)->mig;
        uint32_t used = 0;
        for (int k = 0; k < MIG_GI_MAX; k++) {
            const struct mig_instance *gi = &mig->instances[k];
            uint32_t mask = gi->used ? ((1u << gi->units) - 1) << gi->start : 0;
            assert_int_equal(used & mask, 0);
            used |= mask;
        }
    }
}

static struct nvsim *begin_split(void)
{
    int activation;
    begin("h100-80gb", GPUS);
    for (uint32_t i = 0; i < GPUS; i++)
        assert_int_equal(nvmlDeviceSetMigMode(gpu(i), 1, &activation), NVML_OK);
    return node;
}

static void work_randomly(struct nvsim *n, uint64_t seed, uint32_t rounds)
{
    struct random r = {seed};
    for (uint32_t i = 0; i < rounds; i++) {
        struct nvml_device *d;
        uint32_t gpu = (uint32_t)random_below(&r, GPUS);
        if (nvmlDeviceGetHandleByIndex_v2(gpu, &d) != NVML_OK)
            abort();
        step(&r, d);
        struct nvsim_work w = node_work((uint32_t)seed, gpu);
        struct nvsim_gpu g;
        if (nvsim_gpu_read(n, gpu, nvsim_now_us(), &g, NULL) < 0)
            abort();
        for (int k = 0; k < MIG_GI_MAX; k++)
            if (g.mig.instances[k].used && g.mig.instances[k].computes[0].used) {
                w.gi = g.mig.instances[k].id, w.ci = g.mig.instances[k].computes[0].id;
                (void)nvsim_work_start(n, &w, NULL); /* it may be gone by now */
            }
        (void)nvsim_work_stop(n, w.pid, NULL);
    }
}

static void processes(void **s)
{
    struct nvsim *n = begin_split();
    pid_t children[PROCESSES];
    for (uint32_t i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            work_randomly(n, 100 + i, i < 3 ? 1000000 : ROUNDS); /* the first three are killed */
            _exit(0);
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        (void)usleep(30000);
        (void)kill(children[i], SIGKILL);
    }
    for (uint32_t i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(i < 3 ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    work_randomly(n, 7, 20); /* the lock goes on */
    check_layout(n);
    end();
}

struct thread {
    struct nvsim *n;
    uint64_t seed;
};

static void *thread_run(void *arg)
{
    struct thread *t = arg;
    if (nvmlInit_v2() != NVML_OK)
        abort();
    work_randomly(t->n, t->seed, 60);
    if (nvmlShutdown() != NVML_OK)
        abort();
    return NULL;
}

static void *event_run(void *arg)
{
    struct nvml_event_set *set = arg;
    struct nvml_event_data ev;
    uintptr_t n = 0;
    while (nvmlEventSetWait_v2(set, &ev, 10000) == NVML_OK && !(ev.type == NVML_EVENT_XID && ev.data == 99))
        n++;
    return (void *)n;
}

static void threads(void **s)
{
    struct nvsim *n = begin_split();
    pthread_t ids[THREADS], waiter;
    struct thread args[THREADS];
    struct nvml_event_set *set;
    assert_int_equal(nvmlEventSetCreate(&set), NVML_OK);
    for (uint32_t i = 0; i < GPUS; i++)
        assert_int_equal(nvmlDeviceRegisterEvents(gpu(i), NVML_EVENT_XID | NVML_EVENT_MIG_CONFIG, set), NVML_OK);
    assert_int_equal(pthread_create(&waiter, NULL, event_run, set), 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        args[i] = (struct thread){n, 200 + i};
        assert_int_equal(pthread_create(&ids[i], NULL, thread_run, &args[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(ids[i], NULL), 0);
    assert_int_equal(nvsim_fault(n, 0, -1, -1, "xid", "99", NULL), 0);
    void *seen;
    assert_int_equal(pthread_join(waiter, &seen), 0);
    assert_true((uintptr_t)seen > 0);
    check_layout(n);
    assert_int_equal(nvmlEventSetFree(set), NVML_OK);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(processes), cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
