/* label_levels.h - labels of nodes as a topology with tiers: one level for each that pod groups ask for, where no HyperNodes make one
 *
 *   group "native/n/a" asks for "zone"         levels zone, rack         n1 = z1/r1   n2 = z1/r2   n3 = z2/r3
 *   group "native/n/b" asks for "rack"
 *
 * SHAPE  a level is named by the labels whose values the nodes of one domain share: "zone", or "block,rack" with ',' between. It is there
 *        as long as a group asks for it. A node without one of the labels is in no domain of the level.
 *        All levels make one tree (core/state/topology.h), so a domain of a level lies in one of each wider level: where the values of two
 *        labels cross, those who ask for the narrower one stand together in both.
 * ORDER  the widest first: by the sum over all nodes of how many stand in their domain, which is larger for whatever holds another level's
 *        domains whole; then by the labels.
 * LIMIT  TOPOLOGY_LEVELS levels, the first by their labels; the rest makes none.
 */
#ifndef SCHED_LABEL_LEVELS_H
#define SCHED_LABEL_LEVELS_H
#include "codec/decode/decode.h"
#include "core/state/state.h"

struct label_levels;
struct label_levels *label_levels_new(void);
void label_levels_free(struct label_levels *l); /* NULL-safe */

/* The group asks for these levels, with ' ' between, instead of what it asked for before; NULL: for none. True: there are other levels now,
 * to be built. */
bool label_levels_ask(struct label_levels *l, const char *gang, const char *levels);
bool label_levels_any(const struct label_levels *l);
/* The tier of the first of these levels since it was built, INT64_MIN before. False: nobody asks for it, or there are too many. */
bool label_levels_tier(const struct label_levels *l, const char *levels, int64_t *ret_tier);
/* All of them anew; the record in the decoder's arena, without levels where there are none. True: some level has another tier than before,
 * or none any more: whoever asks for one is to ask again. A tier that was another level's never comes back, so that who has not asked
 * again yet is held by no wider one. Nodes are sorted by name. */
bool label_levels_build(struct label_levels *l, const struct decoder *d, const struct node_look *nodes, uint32_t nodes_n,
                        struct topology_record *ret_topology);

#endif
