/* claims.h - what Karpenter writes of its machines: NodePools and NodeClaims, as far as anybody reads them */
#ifndef TESTS_MACHINES_CLAIMS_H
#define TESTS_MACHINES_CLAIMS_H
#include "kube/client.h"

/* Texts of objects; kind: 0 or 1, which of the two. */
const char *claims_definition(struct arena *a, int kind);
/* Of machines with so many GPUs; limit 0: none. */
const char *claims_pool(struct arena *a, const char *pool, int gpus, int limit_n, int zones_n);
/* The claim of machine `at`: ordered for a pod; it is known what it has, which node it is, and that pods may come; gone. */
void claim_begins(struct kube_client *c, struct arena *a, int at, const char *pool, int gpus);
void claim_has(struct kube_client *c, struct arena *a, int at, int gpus, bool is_node, bool ready);
void claim_ends(struct kube_client *c, struct arena *a, int at);

#endif
