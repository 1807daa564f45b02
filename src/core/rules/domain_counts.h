/* domain_counts.h - how many pods of a kind stand in each domain: the nodes that have the same value of one label
 *
 * What rules between pods have in common: filters (neighbour.h) and wishes (wish.h).
 */
#ifndef CORE_DOMAIN_COUNTS_H
#define CORE_DOMAIN_COUNTS_H
#include "core/state/model.h"

struct domain_counts {
    name_id key;              /* of the label; of nodes without it nothing is counted */
    struct id_map by_value;   /* value + 1 -> index into counts + 1 */
    int64_t *counts;
    uint32_t n, cap;
};
int64_t *domain_count_slot(struct domain_counts *d, name_id value); /* 0 where nothing was counted; good until the next one is asked for */
int64_t domain_count(const struct domain_counts *d, name_id value);
void domain_counts_free(struct domain_counts *d);
static inline const struct label *domain_label(const struct state *s, uint32_t node, name_id key) /* NULL: it is in no domain of the key */
{
    return label_find(node_labels(&s->nodes, node), key);
}
void domain_count_add(const struct state *s, struct domain_counts *d, uint32_t node, int64_t amount);
/* Does the term of a pod of this namespace select the pod with these labels? */
bool domain_term_selects(const struct state *s, const struct pod_affinity *a, name_id own_ns, const struct label_set *pod);

#endif
