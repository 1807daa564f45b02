/* work.c - simulated processes on GPUs and MIG devices: start and end
 *
 * RACE  a slot is filled first and counts when process_gpu names a GPU; it is emptied by one store.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/memory.h"
#include "nvsim/state.h"

#define PID_CHECK_US 100000 /* how often somebody looks whether processes are still there */
#define PID_STAT_MAX 256    /* processes whose /proc/PID/stat is read in one look; the others are only asked with kill(pid, 0) */

static uint64_t pid_space_own(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* Field 22 (start time) of /proc/PID/stat; 0: no such process, or it is a zombie. */
static uint64_t pid_started(uint32_t pid)
{
    char path[40], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    char *at = strrchr(text, ')'); /* the name before it may hold anything */
    if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
        return 0;
    unsigned long long started = 0;
    at += 2;
    for (int field = 3; field < 22 && at; field++)
        at = strchr(at + 1, ' ');
    return at && sscanf(at, " %llu", &started) == 1 ? started : 0;
}

/* ---- accounting ---- */

static uint32_t percent(uint64_t permille)
{
    return permille > 1000 ? 100 : (uint32_t)permille / 10;
}

static struct nvsim_account account_of(const struct nvsim_process *p, int64_t end_us)
{
    return (struct nvsim_account){.pid = p->work.pid,
                                  .gpu_percent = percent(p->work.sm_permille),
                                  .memory_percent = percent(p->work.memory_permille),
                                  .memory_max_bytes = p->work.memory_mib << 20,
                                  .start_us = p->start_us,
                                  .end_us = end_us};
}

static void account_add(struct nvsim_state *s, uint32_t gpu, const struct nvsim_process *p, int64_t end_us)
{
    s->accounts[gpu][s->accounts_n[gpu] % NVSIM_ACCOUNTS_MAX] = account_of(p, end_us);
    s->accounts_n[gpu]++;
}

uint32_t nvsim_accounts(struct nvsim *n, uint32_t gpu, int64_t now_us, struct nvsim_account *list, uint32_t max)
{
    const struct nvsim_state *s = n->state;
    uint32_t had = s->accounts_n[gpu], first = had > NVSIM_ACCOUNTS_MAX ? had - NVSIM_ACCOUNTS_MAX : 0, found = 0;
    for (uint32_t i = first; i != had; i++, found++)
        if (found < max)
            list[found] = s->accounts[gpu][i % NVSIM_ACCOUNTS_MAX];
    for (uint32_t i = 0; i < s->processes_high && i < NVSIM_PROCESSES_MAX; i++) {
        if (s->process_gpu[i] != gpu + 1)
            continue;
        if (found < max)
            list[found] = account_of(&s->processes[i], 0);
        found++;
    }
    return found;
}

/* ---- start ---- */

static int gpu_check(const struct nvsim_gpu *g, const struct nvsim_work *w, struct err *e)
{
    if (g->lost)
        return err_set(e, E_CONFLICT, "gpu %u: it is lost; 'capstan nvsim reset' or the fault 'back' brings it back", w->gpu);
    if (g->reset_required)
        return err_set(e, E_CONFLICT, "gpu %u: it needs a reset before new work: 'capstan nvsim reset'", w->gpu);
    if (g->compute_mode == 2)
        return err_set(e, E_DENIED, "gpu %u: compute mode 'prohibited' lets no process run", w->gpu);
    if (g->compute_mode != 0 && w->kind != 2 && g->load.processes_n > 0)
        return err_set(e, E_CONFLICT, "gpu %u: compute mode 'exclusive' and a process runs already", w->gpu);
    return 0;
}

static int place_check(struct nvsim *n, struct nvsim_gpu *g, const struct nvsim_work *w, uint64_t *ret_free_mib, struct err *e)
{
    const struct gpu_model *m = n->model;
    if (w->gi == NVSIM_NONE && g->mig.mode)
        return err_set(e, E_INVALID, "gpu %u: MIG is on: say which GPU instance and compute instance the work runs on", w->gpu);
    if (w->gi == NVSIM_NONE) {
        *ret_free_mib = m->memory_mib - m->reserved_mib - g->load.memory_mib;
        return 0;
    }
    struct mig_instance *instance = g->mig.mode && w->gi < 256 ? mig_find_instance(&g->mig, (uint8_t)w->gi) : NULL;
    if (!instance || w->ci >= 256 || !mig_find_compute(&g->mig, (uint8_t)w->gi, (uint8_t)w->ci))
        return err_set(e, E_NOTFOUND, "gpu %u: it has no MIG device %u/%u; 'capstan nvsim list -o wide' shows what it has", w->gpu,
                       w->gi, w->ci);
    const struct mig_profile *p = mig_profile_by_id(m, instance->profile_id);
    uint64_t used = g->instances[instance - g->mig.instances].memory_mib;
    *ret_free_mib = p && p->memory_mib > used ? p->memory_mib - used : 0;
    return 0;
}

static int slot_free(struct nvsim_state *s, struct err *e)
{
    for (uint32_t i = 0; i < s->processes_high; i++)
        if (!s->process_gpu[i])
            return (int)i;
    if (s->processes_high >= NVSIM_PROCESSES_MAX)
        return err_set(e, E_LIMIT, "%u processes run on the node already: stop some", NVSIM_PROCESSES_MAX);
    return (int)s->processes_high++;
}

int nvsim_work_begin(struct nvsim *n, const struct nvsim_work *work, int64_t now_us, struct err *e)
{
    if (work->gpu >= n->gpus_n)
        return err_set(e, E_NOTFOUND, "gpu %u: the node has %u GPUs, 0 to %u", work->gpu, n->gpus_n, n->gpus_n - 1);
    if (work->pid == 0 || work->pid > INT32_MAX)
        return err_set(e, E_INVALID, "pid %u: want 1 to %d", work->pid, INT32_MAX);
    if (work->end_ms < 0 || work->end_ms > INT64_MAX / 1000 - 1)
        return err_set(e, E_INVALID, "end %lld ms: not a time", (long long)work->end_ms);
    if (work->sm_permille > 1000 || work->memory_permille > 1000 || work->encoder_permille > 1000 || work->decoder_permille > 1000)
        return err_set(e, E_INVALID, "utilisation over 1000 permille");
    uint64_t started = work->follow_pid ? pid_started(work->pid) : 0, free_mib = 0;
    if (work->follow_pid && !started)
        return err_set(e, E_NOTFOUND, "pid %u: no such process here; without follow the pid may be made up", work->pid);
    struct nvsim_gpu *g = nvsim_gpu_change(n, work->gpu, now_us);
    int r = gpu_check(g, work, e);
    if (r == 0)
        r = place_check(n, g, work, &free_mib, e);
    if (r < 0)
        return r;
    if (work->memory_mib > free_mib)
        return err_set(e, E_LIMIT, "gpu %u: out of memory: %llu MiB wanted, %llu MiB free", work->gpu,
                       (unsigned long long)work->memory_mib, (unsigned long long)free_mib);
    int slot = slot_free(n->state, e);
    if (slot < 0)
        return slot;
    struct nvsim_process *p = &n->state->processes[slot];
    *p = (struct nvsim_process){.work = *work, .start_us = now_us, .pid_started = started};
    p->work.name[sizeof p->work.name - 1] = '\0';
    p->pid_space = work->follow_pid ? pid_space_own() : 0;
    if (work->end_ms && work->end_ms * 1000 < n->state->work_end_us)
        n->state->work_end_us = work->end_ms * 1000;
    __atomic_store_n(&n->state->process_gpu[slot], (uint8_t)(work->gpu + 1), __ATOMIC_RELEASE);
    nvsim_gpu_commit(n, work->gpu);
    return 0;
}

/* ---- end ---- */

void nvsim_work_drop(struct nvsim *n, uint32_t slot, bool accounting, int64_t end_us)
{
    struct nvsim_state *s = n->state;
    if (accounting)
        account_add(s, s->process_gpu[slot] - 1u, &s->processes[slot], end_us);
    __atomic_store_n(&s->process_gpu[slot], 0, __ATOMIC_RELEASE);
}

/* The GPU is folded to the end of the process before its load goes. */
static void slot_end(struct nvsim *n, uint32_t slot, int64_t end_us)
{
    uint32_t gpu = n->state->process_gpu[slot] - 1u;
    const struct nvsim_gpu *g = nvsim_gpu_change(n, gpu, end_us);
    nvsim_work_drop(n, slot, g->accounting, end_us);
    nvsim_gpu_commit(n, gpu);
}

uint32_t nvsim_work_end(struct nvsim *n, uint32_t pid, uint32_t gpu, int64_t now_us)
{
    struct nvsim_state *s = n->state;
    uint32_t ended_n = 0;
    for (uint32_t i = 0; i < s->processes_high && i < NVSIM_PROCESSES_MAX; i++) {
        uint8_t on = s->process_gpu[i];
        if (!on || on > n->gpus_n || (pid && s->processes[i].work.pid != pid) || (gpu != NVSIM_NONE && on != gpu + 1))
            continue;
        slot_end(n, i, now_us);
        ended_n++;
    }
    return ended_n;
}

/* ---- what is over by itself ---- */

static bool process_gone(const struct nvsim_process *p, uint64_t space, bool look_closely)
{
    if (!p->work.follow_pid || p->pid_space != space)
        return false;
    if (kill((pid_t)p->work.pid, 0) < 0 && errno == ESRCH)
        return true;
    return look_closely && pid_started(p->work.pid) != p->pid_started;
}

/* The work that ends first; NVSIM_NONE: none does. work_end_us is its time. */
static uint32_t timed_next(struct nvsim *n)
{
    struct nvsim_state *s = n->state;
    uint32_t found = NVSIM_NONE;
    for (uint32_t i = 0; i < s->processes_high && i < NVSIM_PROCESSES_MAX; i++) {
        const struct nvsim_process *p = &s->processes[i];
        if (s->process_gpu[i] && s->process_gpu[i] <= n->gpus_n && p->work.end_ms &&
            (found == NVSIM_NONE || p->work.end_ms < s->processes[found].work.end_ms))
            found = i;
    }
    s->work_end_us = found == NVSIM_NONE ? INT64_MAX : s->processes[found].work.end_ms * 1000;
    return found;
}

static void pids_check(struct nvsim *n, int64_t now_us)
{
    struct nvsim_state *s = n->state;
    uint64_t space = pid_space_own();
    uint32_t high = s->processes_high < NVSIM_PROCESSES_MAX ? s->processes_high : NVSIM_PROCESSES_MAX, looked_n = 0;
    uint32_t at = high ? s->pids_next % high : 0;
    for (uint32_t i = 0; i < high; i++, at = at + 1 < high ? at + 1 : 0) {
        if (!s->process_gpu[at] || s->process_gpu[at] > n->gpus_n || !s->processes[at].work.follow_pid)
            continue;
        bool closely = looked_n < PID_STAT_MAX;
        if (closely && ++looked_n == PID_STAT_MAX)
            s->pids_next = at + 1;
        if (process_gone(&s->processes[at], space, closely))
            slot_end(n, at, now_us);
    }
}

void nvsim_work_settle(struct nvsim *n, int64_t now_us)
{
    struct nvsim_state *s = n->state;
    while (s->work_end_us <= now_us) {
        uint32_t i = timed_next(n);
        if (i != NVSIM_NONE && s->work_end_us <= now_us)
            slot_end(n, i, s->work_end_us);
    }
    if (now_us - s->pids_checked_us >= PID_CHECK_US || now_us < s->pids_checked_us) {
        s->pids_checked_us = now_us;
        pids_check(n, now_us);
    }
}

void nvsim_work_settle_now(struct nvsim *n, int64_t now_us)
{
    n->state->pids_checked_us = 0;
    nvsim_work_settle(n, now_us);
}
