/* machine_pools.h - what machines Karpenter can bring: NodePools, and NodeClaims, of karpenter.sh/v1
 *
 *   NodePool   labels and requirements, taints, limits ──▶ struct machine_pool
 *   NodeClaim  one machine, from when it is ordered: its pool, its instance type, what it has ──▶ struct machine_claim
 *
 * What an instance type has is in no NodePool: it is learned from the claims of that type, whatever their pool.
 *
 * UNIT   amounts: thousandths of whatever the resource is counted in.
 * LIMIT  MACHINE_POOLS and MACHINE_CLAIMS objects, of each at most MACHINE_TERMS requirements, values, taints and amounts. What is beyond
 *        that is not known, and of what is not known nothing is said that would keep pods from being declared.
 */
#ifndef SCHED_MACHINE_POOLS_H
#define SCHED_MACHINE_POOLS_H
#include "base/collections/map.h"
#include "core/flow.h"
#include "wire/json.h"

#define MACHINE_POOL_LABEL "karpenter.sh/nodepool"
#define MACHINE_TYPE_LABEL "node.kubernetes.io/instance-type"
enum { MACHINE_POOLS = 512, MACHINE_CLAIMS = 16384, MACHINE_TERMS = 512, MACHINE_RESOURCES = 64 };

struct machine_amount {
    const char *resource;
    int64_t milli;
};
struct machine_amounts {
    struct machine_amount *all;
    uint32_t n;
};
struct machine_requirement { /* of the label `key`; a pool's own labels are such, too */
    const char *key;
    enum requirement_op op;
    const char **values;
    uint32_t values_n;
    int64_t number;          /* GREATER, LESS */
};
struct machine_taint {
    const char *key, *value;
    enum taint_effect effect;
};
struct machine_claim;
struct machine_pool {
    const char *name;
    bool unready;            /* its condition Ready is false, or it is being deleted: Karpenter makes nothing of it */
    bool unread;             /* part of it is not understood: whatever it may bring */
    struct machine_requirement *requirements;
    struct machine_taint *taints;
    uint32_t requirements_n, taints_n;
    struct machine_amounts limits;
    uint64_t hash;           /* of what it was made of */
    struct arena *arena;
    /* Of its claims; good after machine_pools_sum. */
    struct machine_amounts used;
    int64_t claims_n;
    struct machine_claim **coming;
    uint32_t coming_n;
};
struct machine_type {        /* the most that a claim of it has said */
    struct machine_amounts has, offers;
};
struct machine_claim {
    char *pool, *type, *node; /* "" = not known */
    bool coming;             /* it is not said that its node has all that it should have */
    bool there;              /* though it has, as it looks: whoever judges writes this */
    struct machine_amounts has, offers; /* its capacity; what pods can have of it. Empty until it is launched */
    struct machine_amounts asked; /* by the pods that it was ordered for */
    void *block;
};
struct machine_pools {
    struct map *pools, *claims; /* name -> struct machine_pool *, struct machine_claim * */
    const char *resources[MACHINE_RESOURCES]; /* names of resources that some claim has, after those that every provider tells of */
    uint32_t resources_n;
    struct map *types;       /* name -> struct machine_type; good after machine_pools_sum */
    struct arena *sums;
    bool unsummed;
};
struct machine_pools *machine_pools_new(void);
void machine_pools_free(struct machine_pools *m); /* NULL-safe */
/* An object as the API server has it; what has no name is left out. Returns whether anything is another than before. */
bool machine_pools_put(struct machine_pools *m, const struct json *node_pool);
bool machine_pools_drop(struct machine_pools *m, const char *name);
bool machine_claims_put(struct machine_pools *m, const struct json *node_claim);
bool machine_claims_drop(struct machine_pools *m, const char *name);
void machine_pools_sum(struct machine_pools *m); /* before anybody judges; cheap where nothing has changed */

/* -1: not named. */
int64_t machine_amount_of(const struct machine_amounts *x, const char *resource);
/* One that Karpenter knows of, as far as was seen: a machine that does not say that it has it has none. */
bool machine_resource_known(const struct machine_pools *m, const char *resource);

#endif
