/* nvml_worker.c - one thread a lane, answers through loop_async
 *
 * A job goes POSTED ─▶ RUNNING ─▶ RAN ─▶ answered; too late: POSTED ─▶ (taken out) answered, RUNNING ─▶ LATE ─▶ released by its thread.
 *
 * RACE   everything of a lane but `hung` and the timer is under the pool's lock. The pool itself lives until its last thread has
 *        left (`refs`), so that a call which hangs for ever finds it when it returns after all.
 */
#include "agent/driver/nvml_worker.h"
#include <assert.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"

enum { LINGER_MS = 30 * 1000, FREE_WAIT_MS = 2000 };
/* UNIT bytes. Only pages that were touched cost memory; the driver's library keeps large request blocks on the stack. */
enum { STACK_SIZE = 512 * 1024 };

enum { POSTED, RUNNING, RAN, LATE };

struct lane {
    struct worker_pool *pool;
    struct worker_job *queue;   /* POSTED, in order */
    struct worker_job *running; /* RUNNING or LATE */
    struct worker_job *ran;     /* waiting for the loop */
    pthread_cond_t posted;
    pthread_t thread;
    bool has_thread, left; /* left: the thread is at its end and wants to be joined */
    bool returned;         /* a late call has come back */
    /* the loop's own */
    struct loop_timer *timer; /* first deadline */
    bool hung;
};

struct worker_pool {
    pthread_mutex_t lock;
    pthread_cond_t thread_left;
    struct loop *loop;
    struct loop_async *async; /* NULL: the pool is freed and nobody listens */
    void (*recovered)(void *arg, uint32_t lane);
    void *arg;
    struct worker_job *refused; /* the loop's own: answered in the next turn */
    bool refused_deferred;
    atomic_bool stopping;
    uint32_t threads_n, refs; /* refs: threads, and the loop */
    uint32_t lanes_n;
    struct lane lanes[];
};

static void pool_unref_unlock(struct worker_pool *p)
{
    bool last = --p->refs == 0;
    (void)pthread_mutex_unlock(&p->lock);
    if (!last)
        return;
    for (uint32_t i = 0; i < p->lanes_n; i++)
        (void)pthread_cond_destroy(&p->lanes[i].posted);
    (void)pthread_cond_destroy(&p->thread_left);
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
}

static void cond_init(pthread_cond_t *c)
{
    pthread_condattr_t a;
    (void)pthread_condattr_init(&a);
    (void)pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    (void)pthread_cond_init(c, &a);
    (void)pthread_condattr_destroy(&a);
}

/* ---- in the threads ---- */

static void job_append(struct worker_job **list, struct worker_job *j)
{
    while (*list)
        list = &(*list)->next;
    j->next = NULL;
    *list = j;
}

/* The next job, or NULL when the thread should end. The lock is held. */
static struct worker_job *job_take(struct lane *lane)
{
    struct worker_pool *p = lane->pool;
    struct timespec until = clock_monotonic_after(LINGER_MS);
    while (!lane->queue && !atomic_load(&p->stopping))
        if (pthread_cond_timedwait(&lane->posted, &p->lock, &until) != 0)
            break;
    if (!lane->queue || atomic_load(&p->stopping))
        return NULL;
    struct worker_job *j = lane->queue;
    lane->queue = j->next;
    lane->running = j;
    j->state = RUNNING;
    return j;
}

/* The lock is held. Returns the job when its answer is no longer wanted. */
static struct worker_job *job_finish(struct lane *lane, struct worker_job *j)
{
    struct worker_pool *p = lane->pool;
    lane->running = NULL;
    bool late = j->state == LATE;
    if (late) {
        lane->returned = true;
    } else {
        j->state = RAN;
        job_append(&lane->ran, j);
    }
    if (p->async)
        loop_async_send(p->async);
    return late ? j : NULL;
}

static void *lane_main(void *arg)
{
    struct lane *lane = arg;
    struct worker_pool *p = lane->pool;
    (void)pthread_mutex_lock(&p->lock);
    for (struct worker_job *j; (j = job_take(lane));) {
        (void)pthread_mutex_unlock(&p->lock);
        j->work(j);
        (void)pthread_mutex_lock(&p->lock);
        struct worker_job *late = job_finish(lane, j);
        if (late) {
            (void)pthread_mutex_unlock(&p->lock);
            late->release(late);
            (void)pthread_mutex_lock(&p->lock);
        }
    }
    lane->left = true;
    p->threads_n--;
    (void)pthread_cond_broadcast(&p->thread_left);
    pool_unref_unlock(p);
    return NULL;
}

/* ---- in the loop ---- */

static void lane_join(struct lane *lane)
{
    if (lane->has_thread && lane->left) {
        (void)pthread_join(lane->thread, NULL);
        lane->has_thread = lane->left = false;
    }
}

/* The lock is held. */
static void lane_start(struct lane *lane)
{
    struct worker_pool *p = lane->pool;
    lane_join(lane);
    if (lane->has_thread)
        return;
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the loop's */
    pthread_attr_t a;
    (void)pthread_attr_init(&a);
    (void)pthread_attr_setstacksize(&a, STACK_SIZE);
    lane->has_thread = pthread_create(&lane->thread, &a, lane_main, lane) == 0;
    (void)pthread_attr_destroy(&a);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (lane->has_thread) {
        p->threads_n++;
        p->refs++;
    } else {
        log_error("no thread for calls of the GPU driver (ulimit -u): they will run into their deadline");
    }
}

static void job_answer(struct worker_job *j, int code, bool release)
{
    j->done(j, code);
    if (release)
        j->release(j);
}

/* One a call: `done` may free the pool. */
static void refused_answer(void *arg)
{
    struct worker_pool *p = arg;
    struct worker_job *j = p->refused;
    p->refused = j->next;
    p->refused_deferred = p->refused != NULL;
    if (p->refused)
        loop_defer(p->loop, refused_answer, p);
    job_answer(j, -E_AGAIN, true);
}

/* Start the timer of a lane for its earliest deadline. The lock is held. */
static void timer_set(struct lane *lane)
{
    int64_t due_ms = INT64_MAX;
    if (lane->running && lane->running->state == RUNNING)
        due_ms = lane->running->due_ms;
    for (struct worker_job *j = lane->queue; j; j = j->next)
        due_ms = j->due_ms < due_ms ? j->due_ms : due_ms;
    if (due_ms == INT64_MAX) {
        loop_timer_stop(lane->timer);
        return;
    }
    int64_t left_ms = due_ms - loop_now_ms(lane->pool->loop);
    loop_timer_start(lane->timer, left_ms > 0 ? left_ms : 0, 0);
}

/* One job of the lane that is too late now, or NULL. *ret_release: its thread does not have it. The lock is held. */
static struct worker_job *late_take(struct lane *lane, bool *ret_release)
{
    int64_t now_ms = loop_now_ms(lane->pool->loop);
    struct worker_job *r = lane->running;
    *ret_release = false;
    if (r && r->state == RUNNING && r->due_ms <= now_ms) {
        r->state = LATE;
        lane->hung = true;
        return r;
    }
    *ret_release = true;
    for (struct worker_job **at = &lane->queue; *at; at = &(*at)->next) {
        struct worker_job *j = *at;
        if (j->due_ms <= now_ms || lane->hung) {
            *at = j->next;
            return j;
        }
    }
    return NULL;
}

static void on_deadline(void *arg)
{
    struct lane *lane = arg;
    struct worker_pool *p = lane->pool;
    bool release;
    (void)pthread_mutex_lock(&p->lock);
    struct worker_job *j = late_take(lane, &release);
    timer_set(lane);
    if (j && lane->hung && lane->queue)
        loop_timer_start(lane->timer, 0, 0); /* those behind it are answered in the next turns */
    (void)pthread_mutex_unlock(&p->lock);
    if (!j)
        return;
    job_answer(j, -E_AGAIN, release); /* may free the pool */
}

/* One answer that is ready, with its lane. */
static struct worker_job *ran_take(struct worker_pool *p, struct lane **ret_lane)
{
    for (uint32_t i = 0; i < p->lanes_n; i++) {
        struct lane *lane = &p->lanes[i];
        struct worker_job *j = lane->ran;
        if (!j && !lane->returned)
            continue;
        *ret_lane = lane;
        if (j)
            lane->ran = j->next;
        timer_set(lane);
        return j;
    }
    *ret_lane = NULL;
    return NULL;
}

/* One thing a call: a callback may free the pool, so the rest comes in the next turn. */
static void on_async(void *arg)
{
    struct worker_pool *p = arg;
    struct lane *lane;
    (void)pthread_mutex_lock(&p->lock);
    struct worker_job *j = ran_take(p, &lane);
    bool back = lane && lane->returned && !j;
    if (back)
        lane->returned = false;
    if (lane)
        loop_async_send(p->async);
    (void)pthread_mutex_unlock(&p->lock);
    if (j) {
        job_answer(j, 0, true);
    } else if (back) {
        lane->hung = false;
        p->recovered(p->arg, (uint32_t)(lane - p->lanes));
    }
}

void worker_post(struct worker_pool *p, uint32_t lane_index, struct worker_job *j, int64_t deadline_ms)
{
    assert(lane_index < p->lanes_n);
    struct lane *lane = &p->lanes[lane_index];
    j->lane = lane_index;
    j->stopping = &p->stopping;
    j->due_ms = loop_now_ms(p->loop) + deadline_ms;
    if (lane->hung) {
        job_append(&p->refused, j);
        if (!p->refused_deferred)
            loop_defer(p->loop, refused_answer, p);
        p->refused_deferred = true;
        return;
    }
    j->state = POSTED;
    (void)pthread_mutex_lock(&p->lock);
    job_append(&lane->queue, j);
    lane_start(lane);
    (void)pthread_cond_signal(&lane->posted);
    timer_set(lane);
    (void)pthread_mutex_unlock(&p->lock);
}

bool worker_cancel(struct worker_pool *p, struct worker_job *j)
{
    struct lane *lane = &p->lanes[j->lane];
    (void)pthread_mutex_lock(&p->lock);
    struct worker_job **at = &lane->queue;
    while (*at && *at != j)
        at = &(*at)->next;
    bool waited = *at == j;
    if (waited) {
        *at = j->next;
        timer_set(lane);
    }
    (void)pthread_mutex_unlock(&p->lock);
    return waited;
}

bool worker_hung(const struct worker_pool *p, uint32_t lane)
{
    return p->lanes[lane].hung;
}

struct worker_pool *worker_pool_new(struct loop *l, uint32_t lanes_n, void (*recovered)(void *arg, uint32_t lane),
                                    void *arg)
{
    /* WHY  each thread would get a heap of its own (glibc), tens of kilobytes for the few blocks that a driver call allocates. */
    (void)mallopt(M_ARENA_MAX, 1);
    struct worker_pool *p = mem_zero(1, sizeof *p + lanes_n * sizeof p->lanes[0]);
    (void)pthread_mutex_init(&p->lock, NULL);
    cond_init(&p->thread_left);
    p->loop = l;
    p->async = loop_async_new(l, on_async, p);
    p->recovered = recovered;
    p->arg = arg;
    p->refs = 1;
    p->lanes_n = lanes_n;
    for (uint32_t i = 0; i < lanes_n; i++) {
        p->lanes[i].pool = p;
        cond_init(&p->lanes[i].posted);
        p->lanes[i].timer = loop_timer_new(l, on_deadline, &p->lanes[i]);
    }
    return p;
}

static void jobs_release(struct worker_job *list)
{
    while (list) {
        struct worker_job *j = list;
        list = j->next;
        j->release(j);
    }
}

/* Threads that are not at their end after the wait are left to themselves: the last of them frees the pool. The lock is held. */
static void threads_end(struct worker_pool *p)
{
    struct timespec until = clock_monotonic_after(FREE_WAIT_MS);
    while (p->threads_n > 0)
        if (pthread_cond_timedwait(&p->thread_left, &p->lock, &until) != 0)
            break;
    for (uint32_t i = 0; i < p->lanes_n; i++) {
        struct lane *lane = &p->lanes[i];
        if (!lane->has_thread)
            continue;
        if (lane->running)
            lane->running->state = LATE;
        if (lane->left) {
            (void)pthread_mutex_unlock(&p->lock); /* its last step is to let go of the lock */
            lane_join(lane);
            (void)pthread_mutex_lock(&p->lock);
        } else {
            (void)pthread_detach(lane->thread);
        }
    }
}

void worker_pool_free(struct worker_pool *p)
{
    if (!p)
        return;
    loop_forget(p->loop, refused_answer, p);
    jobs_release(p->refused);
    p->refused = NULL;
    (void)pthread_mutex_lock(&p->lock);
    atomic_store(&p->stopping, true);
    loop_async_free(p->async);
    p->async = NULL;
    for (uint32_t i = 0; i < p->lanes_n; i++) {
        loop_timer_free(p->lanes[i].timer);
        (void)pthread_cond_signal(&p->lanes[i].posted);
    }
    threads_end(p);
    for (uint32_t i = 0; i < p->lanes_n; i++) {
        struct worker_job *queue = p->lanes[i].queue, *ran = p->lanes[i].ran;
        p->lanes[i].queue = p->lanes[i].ran = NULL;
        (void)pthread_mutex_unlock(&p->lock);
        jobs_release(queue);
        jobs_release(ran);
        (void)pthread_mutex_lock(&p->lock);
    }
    pool_unref_unlock(p);
}
