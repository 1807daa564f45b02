/* kai_queues.h - KAI's Queues as the core's queues with shares, as Volcano's are
 *
 *   quota                of the parent's; -1: all of it      }  deserved: others take back only what somebody has beyond it
 *   + part of the rest   by priority, then overQuotaWeight   }
 *   limit                -1: none                               capability
 *   quota, once more     -1: none                               what groups have together that are non-preemptible (struct counting)
 *
 * What is left over of what all have, after what is asked for within quotas, goes to the queues of the highest priority, each in proportion
 * to its overQuotaWeight, up to its limit and to what its pods ask for; what those may not have, to the next. What nobody asks for beyond
 * all quotas is dealt out in the same way, that a queue without pods has something to look at. A quota stays its queue's, whoever uses it
 * meanwhile: what all deserve together may be more than there is, never what those deserve that ask for it.
 *
 * UNIT   spec.resources: gpu in devices, fractions too; cpu in thousandths of a core; memory in 10^6 bytes. What is not written is 0.
 * SHAPE  GPUs are counted as one resource (GPU_COUNTED), in thousandths: whole ones, parts (capstan.dev/gpu-milli), those that are said in
 *        memory (capstan.dev/gpu-memory: by the largest GPU there is), and MIG instances (as many as they have slices: 3 of a 3g.20gb).
 * WHY    dealt out here, not by the core: there one weight is that of all resources, and quotas are no part of what weights deal out.
 * SOURCE KAI-Scheduler scheduling.run.ai/v2, plugin proportion (resource_division, capacity_policy).
 */
#ifndef CODEC_KAI_QUEUES_H
#define CODEC_KAI_QUEUES_H
#include "codec/decode/decode.h"

#define KAI_QUEUES_PATH "/apis/scheduling.run.ai/v2/queues"
#define KAI_PRIORITY 100        /* of a queue that says none */
#define KAI_KEPT_PREFIX "kept:" /* of a resource: what groups that are non-preemptible have of it, which is counted besides */

struct kai_slice {              /* a resource of MIG instances */
    name_id resource;
    int32_t gpus;               /* that each counts as, from 1 */
};
struct kai_totals {             /* of all nodes that are ready */
    int64_t gpus, cpu_milli, memory_bytes; /* gpus: with what MIG instances count as */
    int64_t gpu_memory_bytes;   /* of the largest GPU; 0: it is not known, and what is said in memory has no limit */
    const struct kai_slice *slices; /* that nodes have */
    uint32_t slices_n;
};
/* What the pods in a queue ask for, in what is dealt out: thousandths of a GPU, of a core; bytes. */
enum { KAI_PARTS_N = 3 };
/* By which Queues count what pods ask for; `counts` alone, in d->arena. */
struct queue_shares kai_counts(const struct decoder *d, const struct kai_totals *totals);
/* So much more of what is counted under that name. Of those that Queues have no word for nothing. */
void kai_asked_add(int64_t asked[KAI_PARTS_N], const char *name, int64_t value);

struct kai_queue {
    const char *name;           /* in: metadata.name; names differ */
    const struct json *spec;    /* in: may be NULL */
    bool is_deleting;           /* in */
    const int64_t *asked;       /* in: KAI_PARTS_N of them, by pods that are not over, in it alone; NULL: all that it may have */
    struct queue_record record; /* out; in d->arena */
    const struct kai_queue *const *below; /* out: those whose parent it is, by name */
    uint32_t below_n;
};
/* Makes the records of all Queues there are. Amounts that cannot be read count 0, as those that are not written. ORDER by name. */
void kai_queues_read(const struct decoder *d, struct kai_queue *all, uint32_t n, const struct kai_totals *totals);

#endif
