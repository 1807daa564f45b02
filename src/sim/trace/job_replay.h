/* job_replay.h - jobs of a trace on virtual time: they wait in line, start on nodes of the core's cluster, run as long as they ran, and end
 *
 * SHAPE  a job of more GPUs than a node has is a gang: pods that fill a node each, and one with the rest. Nobody is preempted or moved.
 *        Whatever happens at one time is taken in first (ends, then arrivals); then the line has one turn (core/time/backfill.h).
 * UNIT   milliseconds; per cent.
 */
#ifndef SIM_JOB_REPLAY_H
#define SIM_JOB_REPLAY_H
#include <stdbool.h>
#include "sim/trace/job_trace.h"

/* What the line is ordered by, and who may pass whom: docs/queueing-in-time.md. */
#define JOB_QUEUES(X) X(FIFO, "fifo") X(SKIP, "skip") X(EASY, "easy") X(SJF, "sjf") X(CAPSTAN, "capstan")
enum job_queue {
#define X(name, text) JOB_QUEUE_##name,
    JOB_QUEUES(X)
#undef X
};
#define JOB_LARGE_GPUS 16     /* SOURCE figures of others are told apart there */
#define JOB_SLOWDOWN_MS 10000 /* SOURCE bounded slowdown: shorter runs count as so long */
struct job_options {
    uint32_t nodes_n, gpus_n; /* of each */
    enum job_queue queue;
    uint32_t forecasts_n; /* of about so many jobs, evenly among all, it is forecast when they come when they will start; 0: of none */
    void (*progress)(uint64_t done_n, uint64_t all_n); /* every now and then; NULL: nobody looks */
};
struct job_times {
    double mean_ms;
    int64_t median_ms, p99_ms, most_ms;
};
struct job_figures {
    uint32_t jobs_n;
    struct job_times wait, completion; /* completion: from its arrival to its end */
    double bounded_slowdown;           /* mean of (wait + run) / run, at least 1 */
};
/* Starts that were forecast when jobs came and had to wait, against when they started: the difference in per cent of how long they did. */
struct job_forecasts {
    uint32_t jobs_n;
    double median_error, p90_error;
};
struct job_result {
    struct job_figures all, large; /* large: of JOB_LARGE_GPUS and more */
    struct job_forecasts forecasts;
    double utilisation; /* GPUs times time that jobs ran, of all from the first arrival to the last end */
    int64_t end_ms;
    uint64_t turns_n;
    int64_t worked_ns; /* of the processor */
};
/* started_ms of each job is set. */
void job_replay(struct job_trace *t, const struct job_options *o, struct job_result *ret_result);

#endif
