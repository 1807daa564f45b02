/* gpus.h - one line a device that an agent has told of: what it is, whose pods have it, what was measured of it
 *
 *   nodes' annotations: devices, measured values ─┐
 *   pods' annotations: which devices they have ───┴─ gpus_find ──▶ one struct gpu_line each ──▶ columns, advice
 */
#ifndef CLI_GPUS_GPUS_H
#define CLI_GPUS_GPUS_H
#include "cli/connect.h"

struct gpu_holder {
    const char *ns, *name, *queue; /* name: of the job, or of the pod that is of none; queue "": none */
    struct json *pods;             /* their names */
    uint32_t pods_n;
    struct gpu_holder *next;
};
struct gpu_line {
    const char *node, *product, *resource, *device; /* product NULL: not known; device: without the number of a share */
    int64_t gpu;                                    /* its number on the node */
    uint32_t slots_n;                               /* in how many shares a plugin hands it out; 1: whole */
    bool healthy;
    struct gpu_holder *holders; /* ORDER  by namespace and name; NULL: nobody has it */
    uint32_t pods_n;
    int64_t since_ms;                          /* wall; when the last one of its pods got it; 0: nobody has it */
    int activity_permille;                     /* -1: not known, or too old */
    int64_t memory_used_mib, memory_total_mib; /* total 0: not known */
    int64_t measured_ms;                       /* wall; 0: never, or too long ago */
    const char *warnings;                      /* NULL: none */
};
/* Asks for nodes and pods and calls `show` with each, in the order of the nodes. Texts stand in the arena. Returns how many nodes have
 * accelerators and no agent that tells which: those are not among them. */
uint32_t gpus_find(struct connection *c, struct arena *a, void (*show)(void *context, const struct gpu_line *line), void *context,
                   struct err *e);

enum { GPUS_COLUMNS_N = 15 };
extern const struct output_column gpus_columns[GPUS_COLUMNS_N];
/* Rows of capstan nodes --gpus. */
void gpus_rows(struct connection *c, struct output_table *t, const struct options *o, struct err *e);

#endif
