/* neighbour.h - filters that look at other pods: required (anti-)affinity in both directions, and topology spread
 *
 * SHAPE  prepared once per pod to place: for every rule the counts per topology domain; then each node is asked cheaply.
 *        Places held for members to come count as pods; so do, as far as anti-affinity goes, lone pods that wait for others to leave, while
 *        what they are promised is kept from whoever is tried.
 * SOURCE kube-scheduler filters InterPodAffinity (with the exception for the first pod of a self-affine group) and PodTopologySpread
 *        (DoNotSchedule; node affinity is honoured, taints are not, when domains are counted).
 */
#ifndef CORE_NEIGHBOUR_H
#define CORE_NEIGHBOUR_H
#include "core/rules/domain_counts.h"

#define NEIGHBOUR_KEYS 8 /* distinct topology keys that forbid one pod */
struct neighbours {
    struct domain_counts forbidden[NEIGHBOUR_KEYS]; /* by topology key: domains where anti-affinity of either side forbids the pod */
    uint32_t forbidden_n;
    struct domain_counts *near;        /* one per affinity term of the pod */
    uint32_t near_n;
    bool first_of_group;               /* nobody matches yet, but the pod matches itself: any domain will do */
    struct domain_counts *spread;      /* one per spread constraint */
    int64_t *spread_least;
    bool *spread_self;
    uint32_t spread_n;
    bool too_many_keys;                /* more topology keys than can be kept: nothing fits, nothing is promised wrongly */
};
enum neighbour_verdict { NEIGHBOUR_OK, NEIGHBOUR_AFFINITY, NEIGHBOUR_ANTI, NEIGHBOUR_SPREAD };
/* Some rule may touch pods of the shape: one of its own, or one of a pod that stands or is promised room. */
static inline bool neighbour_matters(const struct state *s, uint32_t shape)
{
    return s->anti_seats_n || s->promised_anti_n || s->shapes.classes[shape].neighbours;
}
/* Returns false when no rule touches this pod: then every node is fine and nothing has to be released. */
bool neighbour_prepare(struct state *s, uint32_t shape, uint32_t labels, struct neighbours *ret_rules);
enum neighbour_verdict neighbour_check(const struct state *s, const struct neighbours *rules, const struct shape *shape, uint32_t node);
void neighbour_release(struct neighbours *rules);

#endif
