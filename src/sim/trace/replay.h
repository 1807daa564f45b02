/* replay.h - a trace through the core, pod by pod: what a policy makes of it
 *
 * SHAPE  without churn pods come and stay until the trace ends (others' "workload inflation"): allocation over what has arrived.
 *        With churn they come as a Poisson process that asks for `load` of the cluster's GPUs, drawn from the trace's pods, and stay for
 *        a time that is distributed exponentially; who finds no place is lost. The second half of the arrivals is measured.
 *        One decision is one turn of the core: a pod is taken in, everything decided, the plan made.
 * UNIT   percents; nanoseconds.
 */
#ifndef SIM_REPLAY_H
#define SIM_REPLAY_H
#include <stdio.h>
#include "core/policy.h"
#include "sim/trace/trace.h"

struct replay_options {
    enum placement placement;
    uint64_t seed;               /* of what is drawn: places of the policy random, and churn */
    double load;                 /* 0: no churn */
    uint64_t arrivals_n;         /* with churn */
    FILE *decisions;             /* a line each, "ARRIVAL NODE GPU-GPU..." or "ARRIVAL - "; NULL: none */
    void (*progress)(uint64_t done_n, uint64_t all_n); /* every now and then; NULL: nobody looks */
};
#define REPLAY_POINTS 7
extern const int replay_points[REPLAY_POINTS]; /* percents of the cluster's GPUs that have been asked for */
#define REPLAY_CURVE 400
/* As first seen at that per cent, without churn of what has been asked for, with it of all arrivals. */
struct replay_moment {
    bool seen;
    double allocation, fragmentation, fragmentation_of_all;
};
#define REPLAY_GPUS 65
struct replay_result {
    double allocation[REPLAY_POINTS], fragmentation[REPLAY_POINTS], fragmentation_of_all[REPLAY_POINTS]; /* -1: no pod came at that */
    struct replay_moment curve[REPLAY_CURVE + 1];
    double allocation_mean, allocation_end; /* with churn, over the time that is measured; at the end */
    uint64_t failed_n, decisions_n;
    int64_t worked_ns; /* what the processor worked for all decisions, and for those who leave: other programs have no part in it */
    int64_t decided_ns, p50_ns, p99_ns, most_ns;
    uint64_t came_n[REPLAY_GPUS], accepted_n[REPLAY_GPUS]; /* by GPUs asked for */
    uint64_t parts_came_n, parts_accepted_n;               /* by those who ask for a part of one; not in the others */
};
void trace_replay(const struct trace *t, const struct replay_options *o, struct replay_result *ret_result);

#endif
