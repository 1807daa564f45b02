/* published.h - scores of nodes as others published them, for comparison: SOURCE docs/placement.md
 *
 * UNIT   0 .. 200, greater is better; ties go to the node that comes first by name. The node has room.
 */
#ifndef CORE_PUBLISHED_H
#define CORE_PUBLISHED_H
#include "core/score/gpus.h"

int64_t score_bestfit(struct state *s, const struct shape_class *c, uint32_t node);
int64_t score_dotproduct(struct state *s, const struct shape_class *c, uint32_t node);
int64_t score_packing(struct state *s, const struct shape_class *c, uint32_t node);
int64_t score_clustering(struct state *s, const struct shape_class *c, uint32_t node);
/* ask: what c does (gpu_ask_of). Also which GPU: its place in node_gpus, where the pod asks for a part of one. */
int64_t score_fgd(struct state *s, const struct shape_class *c, const struct gpu_ask *ask, uint32_t node, uint32_t *ret_gpu);

#endif
