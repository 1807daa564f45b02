/* demand_plan.h - which idle GPUs get which MIG layout, so that most of those who wait for instances start. Pure.
 *
 *     who waits, by priority and age ──▶ gets what is free (that stays) ──▶ the rest: over and over the GPU and layout that serve most of
 *     it ──▶ gangs that would not be whole are left out, and all is found anew without them
 *
 * SHAPE  a kind is a resource: [0] is the whole GPU, the others are MIG profiles. Layouts are counts by kind; {1} of kind 0: MIG is off.
 * ORDER  of two layouts of one GPU, or of GPUs: more compute slices for whoever has the highest priority, then for the next; then without a
 *        change of MIG mode; then more instances kept; then more slices cut; then the node, GPU and layout that come first.
 * LIMIT  a GPU is the best by itself, of all its layouts; several are found one after the other.
 */
#ifndef SCHED_DEMAND_PLAN_H
#define SCHED_DEMAND_PLAN_H
#include "base/arena.h"
#include "gpu/model.h"

#define DEMAND_KINDS 32
#define DEMAND_CHANGES 64 /* in one plan; the rest comes with the next */
struct demand_layout {
    uint8_t n[DEMAND_KINDS];
};
struct demand_gpu {
    uint16_t index;
    bool idle;                 /* nobody has any part of it, and it may be changed */
    struct demand_layout has, free;
};
struct demand_node {
    const struct gpu_model *model;
    const struct mig_profile *profiles[DEMAND_KINDS]; /* of the model, by kind; NULL: it has none such */
    struct demand_gpu *gpus;
    uint32_t gpus_n;
    bool may_change;
};
struct demand_want {           /* pods that are alike */
    int32_t priority;          /* wants come by priority, the highest first, then by age */
    uint32_t pods_n;
    uint32_t gang;             /* all wants of a gang are served, or none changes anything; 0: each pod by itself */
    bool hungry;               /* it waits because there are too few instances; else it only keeps what it would get */
    uint8_t asks[DEMAND_KINDS];
    const uint32_t *room;      /* by node: so many pods would stand there, had they devices */
};
struct demand_change {
    uint32_t node, gpu;        /* index in nodes, and in its gpus */
    struct demand_layout to;
    uint32_t want;             /* the first of those that it serves */
};
/* Returns how many changes; in the arena. */
uint32_t demand_plan(const struct demand_node *nodes, uint32_t nodes_n, const struct demand_want *wants, uint32_t wants_n, struct arena *a,
                     struct demand_change **ret_changes);
/* Does a GPU of the node take this layout? */
bool demand_layout_fits(const struct demand_node *node, const struct demand_layout *l);
/* "2×3g.40gb + 1×1g.10gb", "no MIG", "nothing"; in the arena. */
const char *demand_layout_text(struct arena *a, const struct demand_node *node, const struct demand_layout *l);

#endif
