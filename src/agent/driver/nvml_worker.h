/* nvml_worker.h - driver calls that may block, on threads, with deadlines
 *
 *     loop: worker_post ─▶ lane 0..n-1 (one thread each, jobs in order) ─▶ loop: job->done, once
 *
 * A lane is a GPU: what hangs there stops nothing elsewhere. A job that outlives its deadline is answered -E_AGAIN and its result is
 * dropped; the lane is then *hung*: whatever else is posted there is answered -E_AGAIN in the next turn until the call returns, which
 * `recovered` tells. No second thread is sent after a hung one: it would wait for the same lock in the driver.
 *
 * RACE   `work` runs in the thread and may write only to the job; `done` runs in the loop. After -E_AGAIN the thread may still be
 *        writing: `done` then reads only what was set before worker_post. `release` runs once both are done with the job, in either thread.
 * OWNER  the pool has every job from worker_post to release.
 * LIMIT  one thread a lane; threads start with the first job and end after LINGER_MS without one.
 */
#ifndef AGENT_NVML_WORKER_H
#define AGENT_NVML_WORKER_H
#include <stdatomic.h>
#include "loop/loop.h"

struct worker_pool;
struct worker_job { /* first member of what the job is about */
    void (*work)(struct worker_job *j);
    void (*done)(struct worker_job *j, int code); /* 0, or -E_AGAIN */
    void (*release)(struct worker_job *j);
    const atomic_bool *stopping; /* the pool is going away: a work that waits by turns looks here */
    /* the pool's */
    struct worker_job *next;
    int64_t due_ms;
    uint32_t lane;
    int state;
};

struct worker_pool *worker_pool_new(struct loop *l, uint32_t lanes_n, void (*recovered)(void *arg, uint32_t lane), void *arg);
/* NULL-safe. Jobs without an answer get none. Waits up to 2 s for calls that run; a thread that hangs longer is left to itself. */
void worker_pool_free(struct worker_pool *p);
void worker_post(struct worker_pool *p, uint32_t lane, struct worker_job *j, int64_t deadline_ms); /* from now */
/* True: the job waited in its lane; it is the caller's again: not run, answered or released. False: it has begun, or has its answer. */
bool worker_cancel(struct worker_pool *p, struct worker_job *j);
bool worker_hung(const struct worker_pool *p, uint32_t lane);

#endif
