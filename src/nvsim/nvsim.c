/* nvsim.c - the file of a simulated node: making it, opening it, its lock */
#include "nvsim/nvsim.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/memory.h"
#include "base/mutex.h"
#include "nvsim/state.h"

#define LOCK_TIMEOUT_S 10
#define LOCK_SLICE_MS 50
static const char magic[8] = "nvsim\n\032";

/* WHY  The one clock of a simulated node is the wall clock: all processes share it, and NVML's own timestamps are of it. */
int64_t nvsim_now_us(void)
{
    return clock_wall_us();
}

static uint64_t state_checksum(const struct nvsim_state *s)
{
    return nvsim_hash(NVSIM_LAYOUT, s, offsetof(struct nvsim_state, checksum));
}

/* ---- create ---- */

static void gpu_init(struct nvsim_state *s, const struct gpu_model *m, uint32_t index)
{
    struct nvsim_gpu *g = &s->gpus[index][0];
    nvsim_identity(g, m, s->node, index, s->gpus_n);
    g->persistence = 1;
    g->ecc_mode = g->ecc_pending = nvsim_model_is_hbm(m) || !m->display_class;
    g->power_limit_mw = m->power_default_mw;
    g->temperature_c = m->temperature_idle;
    g->changed_us = s->created_us;
    nvsim_physics_apply(g, m);
    g->power_average_mw = g->power_mw;
}

static int lock_init(pthread_mutex_t *lock, struct err *e)
{
    pthread_mutexattr_t a;
    int r = pthread_mutexattr_init(&a);
    if (r == 0)
        r = pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    if (r == 0)
        r = pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    if (r == 0)
        r = pthread_mutex_init(lock, &a);
    (void)pthread_mutexattr_destroy(&a); /* cannot fail after init */
    return r == 0 ? 0 : err_errno(e, r, "a lock that processes share");
}

static int state_fill(struct nvsim_state *s, const struct nvsim_config *c, struct err *e)
{
    s->layout = NVSIM_LAYOUT;
    s->size_bytes = sizeof *s;
    s->gpus_n = c->gpus_n;
    (void)snprintf(s->model_key, sizeof s->model_key, "%s", c->model->key);
    (void)snprintf(s->node, sizeof s->node, "%s", c->seed_name);
    (void)snprintf(s->driver_version, sizeof s->driver_version, "%s", c->driver_version);
    s->cuda_version = c->cuda_version;
    s->created_us = nvsim_now_us();
    s->work_end_us = INT64_MAX;
    for (uint32_t i = 0; i < s->gpus_n; i++)
        gpu_init(s, c->model, i);
    int r = lock_init(&s->lock, e);
    if (r < 0)
        return r;
    memcpy(s->magic, magic, sizeof magic);
    s->checksum = state_checksum(s);
    return 0;
}

static int config_check(const struct nvsim_config *c, struct err *e)
{
    if (!c->model)
        return err_set(e, E_INVALID, "a node needs a GPU model: one of %s", gpu_model_keys());
    if (c->gpus_n < 1 || c->gpus_n > NVSIM_GPUS_MAX)
        return err_set(e, E_INVALID, "%u GPUs: a simulated node has 1 to %d", c->gpus_n, NVSIM_GPUS_MAX);
    if (!c->seed_name || !*c->seed_name || strlen(c->seed_name) > 63)
        return err_set(e, E_INVALID, "the node's name must have 1 to 63 characters");
    if (!c->driver_version || !*c->driver_version || strlen(c->driver_version) > 31)
        return err_set(e, E_INVALID, "the driver version must have 1 to 31 characters, as in 580.95.05");
    return 0;
}

/* The file gets its name when it is whole, so that nobody opens half of it. */
static int state_write(const char *path, const struct nvsim_config *c, struct err *e)
{
    char temporary[300];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid()) >= sizeof temporary)
        return err_set(e, E_INVALID, "%s: the path is too long", path);
    _cleanup_close_ int fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(e, errno, "create %s", temporary);
    int r = 0;
    void *map = MAP_FAILED;
    if (ftruncate(fd, sizeof(struct nvsim_state)) < 0)
        r = err_errno(e, errno, "%s", temporary);
    else if ((map = mmap(NULL, sizeof(struct nvsim_state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
        r = err_errno(e, errno, "map %s", temporary);
    else
        r = state_fill(map, c, e);
    if (map != MAP_FAILED)
        (void)munmap(map, sizeof(struct nvsim_state));
    /* Every user may ask the driver of a real node too. */
    if (r == 0 && (fchmod(fd, 0666) < 0 || rename(temporary, path) < 0))
        r = err_errno(e, errno, "%s", path);
    if (r < 0)
        (void)unlink(temporary); /* the first error counts */
    return r;
}

int nvsim_create(const char *dir, const struct nvsim_config *config, struct err *e)
{
    int r = config_check(config, e);
    if (r < 0)
        return r;
    char path[280];
    if (snprintf(path, sizeof path, "%s/state", dir) >= 256)
        return err_set(e, E_INVALID, "%s: the path is longer than 240 characters", dir);
    if (mkdir(dir, 0755) < 0 && errno != EEXIST)
        return err_errno(e, errno, "create %s", dir);
    if (access(path, F_OK) == 0)
        return err_set(e, E_EXISTS, "%s: a simulated node is there already; remove %s first", path, dir);
    r = state_write(path, config, e);
    if (r < 0)
        return r;
    struct nvsim *n = NULL;
    r = nvsim_open(path, &n, e);
    if (r == 0)
        r = nvsim_companion_create(n, e);
    nvsim_close(n);
    if (r < 0)
        (void)unlink(path); /* so that it can be tried again */
    return r;
}

/* ---- open ---- */

static int state_check(const char *path, const struct nvsim_state *s, struct err *e)
{
    if (memcmp(s->magic, magic, sizeof magic) != 0)
        return err_set(e, E_INVALID, "%s: not the state of a simulated node; 'capstan nvsim create' makes one", path);
    if (s->layout != NVSIM_LAYOUT || s->size_bytes != sizeof *s)
        return err_set(e, E_INVALID, "%s: layout %u of %llu bytes, this program reads layout %u of %zu: create the node again",
                       path, s->layout, (unsigned long long)s->size_bytes, NVSIM_LAYOUT, sizeof *s);
    if (s->checksum != state_checksum(s) || s->gpus_n < 1 || s->gpus_n > NVSIM_GPUS_MAX || s->model_key[sizeof s->model_key - 1])
        return err_set(e, E_INVALID, "%s: damaged (checksum): create the node again", path);
    return 0;
}

static void root_of(struct nvsim *n, const char *state_path)
{
    const char *slash = strrchr(state_path, '/');
    int dir_n = slash ? (int)(slash - state_path) : 1;
    const char *dir = slash ? state_path : ".";
    if ((size_t)snprintf(n->root, sizeof n->root, "%.*s/root", dir_n, dir) >= sizeof n->root)
        n->root[0] = '\0';
}

int nvsim_open(const char *state_path, struct nvsim **ret_n, struct err *e)
{
    _cleanup_close_ int fd = open(state_path, O_RDWR | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return err_errno(e, errno, "%s", state_path);
    if (fstat(fd, &st) < 0)
        return err_errno(e, errno, "%s", state_path);
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < offsetof(struct nvsim_state, lock))
        return err_set(e, E_INVALID, "%s: not the state of a simulated node; 'capstan nvsim create' makes one", state_path);
    if ((uint64_t)st.st_size != sizeof(struct nvsim_state))
        return err_set(e, E_INVALID, "%s: %lld bytes, a node's state has %zu: cut off or of another version; create the node again",
                       state_path, (long long)st.st_size, sizeof(struct nvsim_state));
    void *map = mmap(NULL, sizeof(struct nvsim_state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return err_errno(e, errno, "map %s", state_path);
    int r = state_check(state_path, map, e);
    const struct gpu_model *m = r == 0 ? gpu_model_find(((struct nvsim_state *)map)->model_key) : NULL;
    if (r == 0 && !m)
        r = err_set(e, E_INVALID, "%s: GPU model '%s' is not known here", state_path, ((struct nvsim_state *)map)->model_key);
    if (r < 0) {
        (void)munmap(map, sizeof(struct nvsim_state));
        return r;
    }
    struct nvsim *n = mem_zero(1, sizeof *n);
    n->state = map;
    n->model = m;
    n->gpus_n = n->state->gpus_n;
    n->owner_uid = st.st_uid;
    root_of(n, state_path);
    *ret_n = n;
    return 0;
}

void nvsim_close(struct nvsim *n)
{
    if (!n)
        return;
    (void)munmap(n->state, sizeof(struct nvsim_state));
    free(n);
}

int nvsim_find_gpu(const struct nvsim *n, const char *name, uint32_t *ret_gpu, struct err *e)
{
    int64_t index;
    if (bytes_int64(bytes_of(name), &index) && index >= 0 && index < n->gpus_n) {
        *ret_gpu = (uint32_t)index;
        return 0;
    }
    for (uint32_t i = 0; i < n->gpus_n; i++) {
        const struct nvsim_gpu *g = nvsim_gpu_current(n, i); /* who it is never changes: no lock */
        char bus[32];
        (void)snprintf(bus, sizeof bus, "%08x:%02x:00.0", g->domain, g->bus);
        if (strcasecmp(name, g->uuid) == 0 || strcasecmp(name, bus) == 0 || strcasecmp(name, bus + 4) == 0) {
            *ret_gpu = i;
            return 0;
        }
    }
    return err_set(e, E_NOTFOUND, "gpu '%s': the node has %u GPUs; want an index from 0 to %u, a UUID or a bus id", name, n->gpus_n,
                   n->gpus_n - 1);
}

bool nvsim_may_administer(const struct nvsim *n)
{
    uid_t me = geteuid();
    return me == 0 || me == n->owner_uid;
}

/* ---- lock and records ---- */

/* A holder died: records are whole by the order of stores; what is derived is made again. */
static void state_repair(struct nvsim *n)
{
    struct nvsim_state *s = n->state;
    int64_t now_us = nvsim_now_us();
    s->work_end_us = 0; /* found again by the next settle */
    for (uint32_t i = 0; i < n->gpus_n; i++) {
        (void)nvsim_gpu_change(n, i, now_us);
        nvsim_gpu_commit(n, i);
    }
}

/* One try of at most LOCK_SLICE_MS; ETIMEDOUT or EBUSY: not yet. */
static int lock_try(pthread_mutex_t *lock)
{
#ifdef THREAD_SANITIZER
    int r = pthread_mutex_trylock(lock);
    if (r == EBUSY)
        (void)usleep(200);
    return r;
#else
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until); /* cannot fail */
    until.tv_nsec += LOCK_SLICE_MS * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    return pthread_mutex_timedlock(lock, &until);
#endif
}

/* WHY  In slices: a process that is killed after it was woken for a robust lock and before it has taken it takes the wake with it, and
 * the next one would sleep on although the lock is free. */
static int lock_take(pthread_mutex_t *lock)
{
    int64_t end_us = clock_monotonic_us() + LOCK_TIMEOUT_S * 1000000;
    int r;
    do
        r = lock_try(lock);
    while ((r == ETIMEDOUT || r == EBUSY) && clock_monotonic_us() < end_us);
    return r;
}

int nvsim_lock(struct nvsim *n, struct err *e)
{
    int r = lock_take(&n->state->lock);
    if (r == EOWNERDEAD) {
        r = pthread_mutex_consistent(&n->state->lock);
        if (r == 0)
            state_repair(n);
    }
    if (r == 0)
        return 0;
    if (r == ETIMEDOUT || r == EBUSY)
        return err_set(e, E_AGAIN, "the simulated node's lock: another process has held it for %d s (is one stopped?)", LOCK_TIMEOUT_S);
    return err_errno(e, r, "the simulated node's lock: damaged; create the node again");
}

void nvsim_unlock(struct nvsim *n)
{
    (void)pthread_mutex_unlock(&n->state->lock); /* we hold it */
}

int nvsim_gpu_read(struct nvsim *n, uint32_t gpu, int64_t now_us, struct nvsim_gpu *ret_gpu, struct err *e)
{
    if (gpu >= n->gpus_n)
        return err_set(e, E_NOTFOUND, "gpu %u: the node has %u", gpu, n->gpus_n);
    int r = nvsim_lock(n, e);
    if (r < 0)
        return r;
    nvsim_work_settle(n, now_us);
    *ret_gpu = *nvsim_gpu_current(n, gpu);
    nvsim_unlock(n);
    nvsim_physics_fold(ret_gpu, n->model, now_us);
    return 0;
}

/* ---- work ---- */

int nvsim_work_start(struct nvsim *n, const struct nvsim_work *work, struct err *e)
{
    int r = nvsim_lock(n, e);
    if (r < 0)
        return r;
    int64_t now_us = nvsim_now_us();
    nvsim_work_settle_now(n, now_us);
    r = nvsim_work_begin(n, work, now_us, e);
    nvsim_unlock(n);
    return r;
}

int nvsim_work_stop(struct nvsim *n, uint32_t pid, struct err *e)
{
    if (pid == 0)
        return err_set(e, E_INVALID, "pid 0: want the pid of work that was started");
    int r = nvsim_lock(n, e);
    if (r < 0)
        return r;
    int64_t now_us = nvsim_now_us();
    nvsim_work_settle(n, now_us);
    uint32_t ended_n = nvsim_work_end(n, pid, NVSIM_NONE, now_us);
    nvsim_unlock(n);
    return ended_n ? 0 : err_set(e, E_NOTFOUND, "pid %u: it has no work on this node; 'capstan nvsim list' shows who has", pid);
}
