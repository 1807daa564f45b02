/* job_trace.h - jobs that asked for GPUs: when, how many, and how long they ran
 *
 *     timestamp,duration,num_gpus[,...]      seconds, or 2017-10-09 07:01:55; seconds; whole GPUs
 *
 * SHAPE  ordered by timestamp, equal ones as in the file, whose rows may stand in any order. Rows that ask for no GPU, as of jobs that want
 *        processors only, are counted and passed over. Time 0 is that of the first job.
 * UNIT   milliseconds.
 * LIMIT  LIMIT_TRACE_JOBS jobs, 40 bytes each; the file is read line by line, whatever its size.
 * BAD INPUT  an error says file, line and column.
 */
#ifndef SIM_JOB_TRACE_H
#define SIM_JOB_TRACE_H
#include <stdint.h>
#include "base/err.h"

struct job {
    int64_t came_ms, runs_ms, expected_ms; /* expected: what is known of runs_ms when it comes */
    int64_t started_ms;                    /* of a replay; -1: not yet */
    uint32_t gpus_n, row;                  /* row: of the file, to tell equals apart */
};
struct job_trace {
    struct job *jobs;
    uint32_t jobs_n, cap;
    uint32_t late_n, without_gpus_n; /* rows that stand behind a later one; that ask for none */
};
/* gpus_most: of the cluster. */
int job_trace_load(struct job_trace *t, const char *path, int64_t gpus_most, struct err *e);
void job_trace_fini(struct job_trace *t);
/* Each expectation is what the job ran, times a factor from 1/error to error, whose logarithm is spread evenly. 1: they are exact. */
void job_trace_expect(struct job_trace *t, double error, uint64_t seed);

#endif
