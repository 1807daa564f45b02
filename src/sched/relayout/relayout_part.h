/* relayout_part.h - inside sched/relayout: a node whose layouts follow demand, and the cluster as the plan sees it */
#ifndef SCHED_RELAYOUT_PART_H
#define SCHED_RELAYOUT_PART_H
#include "core/explain/wanting.h"
#include "sched/relayout/demand_plan.h"
#include "sched/relayout/relayout.h"
#include "sched/scheduler.h"

#define RELAYOUT_LAYOUT_LABEL "nvidia.com/mig.config" /* which layout: as NVIDIA's MIG manager, and our agent, read it */
#define RELAYOUT_STATE_LABEL "nvidia.com/mig.config.state"
#define RELAYOUT_ANNOTATION "capstan.dev/mig-layouts"
#define RELAYOUT_NAME "demand-" /* of layouts; then seconds since 1970 */

/* CALM ──plan──▶ CLOSING ──nobody is there──▶ WRITING ──answered──▶ APPLYING ──as wished, or failed──▶ CALM */
enum relayout_phase { RELAYOUT_CALM, RELAYOUT_CLOSING, RELAYOUT_WRITING, RELAYOUT_APPLYING };
struct relayout_gpu {          /* one that changes */
    uint16_t gpu;
    bool whole;                /* MIG off */
    uint8_t n[MIG_PROFILES_MAX]; /* by profile of the model */
    char *text;                /* "MIG layout of GPU 3 changes from 7×1g.10gb to 2×3g.40gb" */
    char **gangs;              /* keys of those that it is for */
    uint32_t gangs_n;
};
struct relayout_node {
    struct relayout *r;
    char *name, *object;       /* as it was seen last */
    char *asked;               /* the label's value */
    char *complaint;           /* what was said of it last; NULL: nothing */
    enum relayout_phase phase;
    int64_t since_ms, not_before_ms; /* on the loop's clock */
    struct relayout_gpu *gpus; /* closed; kept after a change to see whether anybody comes */
    uint32_t gpus_n, vain_n;
    bool used;                 /* somebody came since the last change */
    char *layout, *layouts;    /* name, and the annotation, of the last change */
};

/* relayout_world.c. The cluster as demand_plan.h takes it; all in the arena. */
struct relayout_world {
    name_id kinds[DEMAND_KINDS];
    struct demand_node *nodes;
    struct relayout_node **of; /* by node; NULL: not one of ours */
    struct demand_want *wants;
    struct relayout_for { /* by want: gangs, in their order */
        const char **gangs;
        uint32_t n, cap, shape;
    } *whose;
    uint32_t nodes_n, wants_n, kinds_n;
    bool hungry;
};
/* find: the node of ours of that name, or NULL. */
struct relayout_finder {
    struct relayout_node *(*find)(void *arg, const char *name);
    void *arg;
    int64_t now_ms, wall_ms;
};
/* False: nobody waits for other instances. */
bool relayout_world_make(const struct scheduler *s, const struct relayout_finder *f, struct arena *a, struct relayout_world *ret_world);
const char *relayout_label(const struct scheduler *s, const struct label *labels, uint32_t n, const char *key); /* NULL: not there */
/* The model of its GPUs; NULL, and why its layouts cannot follow. */
const struct gpu_model *relayout_model(const struct scheduler *s, const struct node_detail *d, struct arena *a, const char **ret_problem);
/* Somebody has a part of the GPU, or may have: who came before its devices had names. */
bool relayout_is_taken(const struct scheduler *s, const struct node_detail *d, name_id node, uint16_t gpu);
/* What stands on its GPUs, by index: 0 of all kinds for one that is not understood. The node's profiles are known; in the arena. */
void relayout_gpus(const struct scheduler *s, const struct node_detail *d, name_id name, const name_id *kinds, uint32_t kinds_n,
                   struct arena *a, struct demand_node *node);
/* Kinds of these models that anybody has mentioned; [0] is the whole GPU. */
uint32_t relayout_kinds(const struct scheduler *s, const struct gpu_model *const *models, uint32_t models_n, struct arena *a,
                        name_id ret_kinds[DEMAND_KINDS]);
void relayout_profiles(const struct scheduler *s, const name_id *kinds, uint32_t kinds_n, struct arena *a, struct demand_node *node);

#endif
