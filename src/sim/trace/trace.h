/* trace.h - a cluster and the pods that come to it, as public traces of Alibaba's clusters write them (openb)
 *
 *     nodes   sn, cpu_milli, memory_mib, gpu, model
 *     pods    name, cpu_milli, memory_mib, num_gpu, gpu_milli[, gpu_spec: models that it accepts, with | between; empty: all]
 *     order   PREFIX.pods: rows of pods, from 0, one a line, as they arrive; PREFIX.nodes: NAME RANK, one a line: of equal nodes the least
 *
 * SHAPE  pods are numbers of kinds: what they ask for, each once. Nodes stand in the order of their ranks.
 * LIMIT  base/limits.h, LIMIT_TRACE_*.
 * BAD INPUT  an error says file, line and column.
 */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H
#include "base/arena.h"
#include "base/err.h"

struct trace_node {
    const char *name;
    int64_t cpu_milli, memory_mib;
    uint32_t gpus_n, model, rank; /* model: place in trace.models + 1; 0 none */
};
struct trace_kind {
    int64_t cpu_milli, memory_mib;
    uint32_t gpus_n, gpu_milli; /* of so many so much each */
    const char *spec;           /* "G2|T4"; "" all */
    uint64_t models;            /* the same, as bits of places in trace.models */
    uint32_t count;             /* pods of it in the trace */
};
struct trace {
    struct arena *arena;
    const char **models;
    struct trace_node *nodes;
    struct trace_kind *kinds;
    uint32_t *pods;             /* kinds, by row */
    uint32_t *arrivals;         /* rows, as they come; NULL: as drawn (trace_draw) */
    uint32_t models_n, nodes_n, kinds_n, pods_n, arrivals_n;
    size_t nodes_cap, kinds_cap, pods_cap, arrivals_cap, models_cap;
    int64_t gpu_milli;          /* of all nodes */
};
int trace_load(struct trace *t, const char *nodes_path, const char *pods_path, struct err *e);
/* prefix: may end in ".pods"; without a file PREFIX.nodes nodes stay as they are. */
int trace_order(struct trace *t, const char *prefix, struct err *e);
/* Rows shuffled, then others drawn from all until the next would bring the GPUs asked for above `per_mille` of the cluster's; nodes in an
 * order drawn, too. */
void trace_draw(struct trace *t, uint64_t seed, int64_t per_mille);
void trace_fini(struct trace *t);

#endif
