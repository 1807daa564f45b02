/* state.c - which node this process simulates, handles, and the look at a device that every call begins with */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include "libnvsim.h"

#define HANG_STEP_MS 20 /* how soon a call that hangs notices that the fault is over */

/* ---- start and end ---- */

static struct nvsim *node;      /* atomic; the one that was opened last, kept after shutdown */
static uint32_t started_n;      /* atomic; nvmlInit less nvmlShutdown */
static struct stat node_file;   /* under start_lock */
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void fork_prepare(void)
{
    (void)pthread_mutex_lock(&start_lock);
}

static void fork_done(void)
{
    (void)pthread_mutex_unlock(&start_lock);
}

static void fork_register(void)
{
    (void)pthread_atfork(fork_prepare, fork_done, fork_done); /* without it only a fork during init is in danger */
}

static int driver_code(const struct nvsim *n)
{
    uint32_t driver = __atomic_load_n(&n->state->driver, __ATOMIC_RELAXED);
    return driver == NVSIM_DRIVER_OK         ? NVML_OK
           : driver == NVSIM_DRIVER_MISMATCH ? NVML_LIB_RM_VERSION_MISMATCH
                                             : NVML_DRIVER_NOT_LOADED;
}

/* WHY  Prints: a real library would not, but a real node has no state file that can be of the wrong version. */
static int open_failed(const struct err *e)
{
    if (e->code == E_NOTFOUND)
        return NVML_DRIVER_NOT_LOADED;
    fprintf(stderr, "libnvsim: NVSIM_STATE: %s\n", e->text);
    return e->code == E_DENIED ? NVML_NO_PERMISSION : NVML_UNKNOWN;
}

static int node_open(void)
{
    const char *path = getenv("NVSIM_STATE");
    struct stat st;
    if (!path || !*path)
        return NVML_DRIVER_NOT_LOADED;
    bool same = node && stat(path, &st) == 0 && st.st_ino == node_file.st_ino && st.st_dev == node_file.st_dev;
    if (!same) {
        struct nvsim *opened;
        struct err e = {0};
        if (nvsim_open(path, &opened, &e) < 0)
            return open_failed(&e);
        if (stat(path, &node_file) < 0)
            memset(&node_file, 0, sizeof node_file); /* gone at once: the next start looks again */
        opened->previous = node;
        __atomic_store_n(&node, opened, __ATOMIC_RELEASE); /* the old one may be in use by a call on another thread: it stays mapped */
    }
    return driver_code(node);
}

int nvmlInitWithFlags(uint32_t flags)
{
    if (flags & ~(uint32_t)(NVML_INIT_NO_GPUS | NVML_INIT_NO_ATTACH))
        return NVML_INVALID_ARGUMENT;
    (void)pthread_once(&fork_once, fork_register);
    (void)pthread_mutex_lock(&start_lock);
    int code = __atomic_load_n(&started_n, __ATOMIC_RELAXED) ? NVML_OK : node_open();
    if (code == NVML_OK)
        __atomic_add_fetch(&started_n, 1, __ATOMIC_RELEASE);
    (void)pthread_mutex_unlock(&start_lock);
    return code;
}

int nvmlInit_v2(void)
{
    return nvmlInitWithFlags(0);
}

int nvmlInit(void)
{
    return nvmlInitWithFlags(0);
}

int nvmlShutdown(void)
{
    (void)pthread_mutex_lock(&start_lock);
    int code = __atomic_load_n(&started_n, __ATOMIC_RELAXED) ? NVML_OK : NVML_UNINITIALIZED;
    if (code == NVML_OK)
        __atomic_sub_fetch(&started_n, 1, __ATOMIC_RELEASE);
    (void)pthread_mutex_unlock(&start_lock);
    return code;
}

/* Unloaded (dlclose): nothing may stay behind. At the end of a program that did not shut down calls may still run: left to the system. */
__attribute__((destructor)) static void library_unload(void)
{
    (void)pthread_mutex_lock(&start_lock);
    struct nvsim *n = __atomic_load_n(&started_n, __ATOMIC_ACQUIRE) == 0 ? __atomic_exchange_n(&node, NULL, __ATOMIC_ACQ_REL) : NULL;
    (void)pthread_mutex_unlock(&start_lock);
    while (n) {
        struct nvsim *previous = n->previous;
        nvsim_close(n);
        n = previous;
    }
}

struct nvsim *node_get(int *ret_code)
{
    struct nvsim *n = __atomic_load_n(&started_n, __ATOMIC_ACQUIRE) ? __atomic_load_n(&node, __ATOMIC_ACQUIRE) : NULL;
    *ret_code = n ? driver_code(n) : NVML_UNINITIALIZED;
    return *ret_code == NVML_OK ? n : NULL;
}

/* ---- handles ---- */

/* mark (7 bits) at 40, kind (3) at 36, GPU (4) at 32, GPU instance (4) at 28, compute instance (4) at 24, tag (24) at 0 */
enum handle_kind { HANDLE_GPU = 1, HANDLE_MIG = 2, HANDLE_INSTANCE = 3, HANDLE_COMPUTE = 4 };
#define HANDLE_MARK 0x4eu

struct handle {
    uint32_t kind, gpu, gi, ci, tag;
};

static void *handle_make(enum handle_kind kind, uint32_t gpu, uint32_t gi, uint32_t ci, uint32_t tag)
{
    uint64_t h = (uint64_t)HANDLE_MARK << 40 | (uint64_t)kind << 36 | (uint64_t)(gpu & 15) << 32 | (uint64_t)(gi & 15) << 28 |
                 (uint64_t)(ci & 15) << 24 | (tag & 0xffffffu);
    return (void *)(uintptr_t)h;
}

static bool handle_read(const void *pointer, struct handle *h)
{
    uint64_t n = (uint64_t)(uintptr_t)pointer;
    *h = (struct handle){.kind = n >> 36 & 15, .gpu = n >> 32 & 15, .gi = n >> 28 & 15, .ci = n >> 24 & 15, .tag = n & 0xffffffu};
    return n >> 40 == HANDLE_MARK;
}

static uint32_t tag_of(const struct mig_compute *c)
{
    return c->uuid[0] | (uint32_t)c->uuid[1] << 8 | (uint32_t)c->uuid[2] << 16;
}

struct nvml_device *device_of_gpu(uint32_t gpu)
{
    return handle_make(HANDLE_GPU, gpu, 0, 0, 0);
}

struct nvml_device *device_of_mig(uint32_t gpu, uint32_t gi, const struct mig_compute *c)
{
    return handle_make(HANDLE_MIG, gpu, gi, c->id, tag_of(c));
}

struct nvml_gpu_instance *handle_of_instance(uint32_t gpu, uint32_t gi)
{
    return handle_make(HANDLE_INSTANCE, gpu, gi, 0, 0);
}

struct nvml_compute_instance *handle_of_compute(uint32_t gpu, uint32_t gi, const struct mig_compute *c)
{
    return handle_make(HANDLE_COMPUTE, gpu, gi, c->id, tag_of(c));
}

bool device_is_mig(const struct nvml_device *d)
{
    struct handle h;
    return handle_read(d, &h) && h.kind == HANDLE_MIG;
}

/* ---- views ---- */

static void sleep_ms(uint32_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&t, NULL); /* cut short by a signal: the caller looks again */
}

static int read_code(const struct err *e)
{
    return e->code == E_NOTFOUND ? NVML_INVALID_ARGUMENT : NVML_UNKNOWN;
}

/* The record of a GPU, after the faults that hold a call up. */
static int gpu_look(struct nvsim *n, uint32_t gpu, struct view *v)
{
    struct err e = {0};
    *v = (struct view){.node = n, .model = n->model, .gpu = gpu};
    bool slept = false;
    for (;;) {
        int code = driver_code(n);
        if (code != NVML_OK)
            return code;
        v->now_us = nvsim_now_us();
        if (nvsim_gpu_read(n, gpu, v->now_us, &v->g, &e) < 0)
            return read_code(&e);
        if (v->g.hang_until_us > v->now_us) {
            sleep_ms(HANG_STEP_MS);
        } else if (v->g.slow_ms && !slept) {
            sleep_ms(v->g.slow_ms);
            slept = true;
        } else {
            break;
        }
    }
    v->load = &v->g.load;
    return v->g.lost ? NVML_GPU_IS_LOST : NVML_OK;
}

static bool instance_find(struct view *v, uint32_t gi)
{
    v->instance = v->g.mig.mode ? mig_find_instance(&v->g.mig, (uint8_t)gi) : NULL;
    v->profile = v->instance ? mig_profile_by_id(v->model, v->instance->profile_id) : NULL;
    if (v->profile)
        v->load = &v->g.instances[v->instance - v->g.mig.instances];
    return v->profile != NULL;
}

static bool compute_find(struct view *v, const struct handle *h)
{
    v->compute = instance_find(v, h->gi) ? mig_find_compute(&v->g.mig, (uint8_t)h->gi, (uint8_t)h->ci) : NULL;
    return v->compute && tag_of(v->compute) == h->tag;
}

/* kinds: bit set of the kinds that may be given. */
static int handle_look(const void *pointer, uint32_t kinds, struct view *v)
{
    int code;
    struct handle h;
    struct nvsim *n = node_get(&code);
    if (!n)
        return code;
    if (!handle_read(pointer, &h) || !(kinds & 1u << h.kind) || h.gpu >= n->gpus_n)
        return NVML_INVALID_ARGUMENT;
    code = gpu_look(n, h.gpu, v);
    if (code != NVML_OK || h.kind == HANDLE_GPU)
        return code;
    v->is_mig = h.kind == HANDLE_MIG;
    bool found = h.kind == HANDLE_INSTANCE ? instance_find(v, h.gi) : compute_find(v, &h);
    return found ? NVML_OK : h.kind == HANDLE_MIG ? NVML_INVALID_ARGUMENT : NVML_NOT_FOUND;
}

int view_device(const struct nvml_device *d, struct view *v)
{
    return handle_look(d, 1u << HANDLE_GPU | 1u << HANDLE_MIG, v);
}

int view_gpu(const struct nvml_device *d, struct view *v, int code_for_mig)
{
    int code = view_device(d, v);
    return code == NVML_OK && v->is_mig ? code_for_mig : code;
}

int view_instance(const struct nvml_gpu_instance *gi, struct view *v)
{
    return handle_look(gi, 1u << HANDLE_INSTANCE, v);
}

int view_compute(const struct nvml_compute_instance *ci, struct view *v)
{
    return handle_look(ci, 1u << HANDLE_COMPUTE, v);
}

/* ---- edits ---- */

int edit_gpu(const struct view *v, struct edit *e)
{
    struct nvsim *n = v->node;
    if (!nvsim_may_administer(n))
        return NVML_NO_PERMISSION;
    struct err why = {0};
    if (nvsim_lock(n, &why) < 0)
        return read_code(&why);
    int64_t now_us = nvsim_now_us();
    nvsim_work_settle_now(n, now_us);
    *e = (struct edit){.node = n, .model = n->model, .gpu = v->gpu, .now_us = now_us, .g = nvsim_gpu_change(n, v->gpu, now_us)};
    if (!e->g->lost)
        return NVML_OK;
    nvsim_unlock(n);
    return NVML_GPU_IS_LOST;
}

void edit_commit(struct edit *e)
{
    nvsim_gpu_commit(e->node, e->gpu);
    nvsim_unlock(e->node);
}

void edit_cancel(struct edit *e)
{
    nvsim_unlock(e->node);
}

/* ---- answers ---- */

int text_answer(const char *text, char *ret_text, uint32_t length)
{
    size_t n = strlen(text) + 1;
    if (!ret_text)
        return NVML_INVALID_ARGUMENT;
    if (n > length)
        return NVML_INSUFFICIENT_SIZE;
    memcpy(ret_text, text, n);
    return NVML_OK;
}

void compute_name(const struct mig_profile *p, uint8_t slices, char ret_name[64])
{
    if (slices == p->slices)
        (void)snprintf(ret_name, 64, "%s", p->name);
    else
        (void)snprintf(ret_name, 64, "%uc.%s", slices, p->name);
}

/* SOURCE recorded: a compute instance that is narrower than its GPU instance has as many SMs as that many 1g instances. */
uint32_t compute_sm_n(const struct gpu_model *m, const struct mig_profile *p, uint8_t slices)
{
    const struct mig_profile *one = mig_profile_by_nvml_index(m, NVML_GI_1);
    return slices == p->slices || !one ? p->sm_n : (uint32_t)one->sm_n * slices;
}
