/* machine_judge.h - could machines that Karpenter brings hold these pods? What is certain, and why not
 *
 *   pods that need a place ──▶ each NodePool: ready? labels? taints? size? limits? ──▶ all may, or none, or limits let too few come
 *
 * A "no" is a proof from what NodePools and NodeClaims say; whatever is not known may be.
 *   pods that need a place ──▶ each NodePool: ready? labels? taints? size? limits? ──▶ all may, or none, or limits let fewer come
 *        has them; a machine is not made where its pool would have more than its limits then.
 * Pure.
 */
#ifndef SCHED_MACHINE_JUDGE_H
#define SCHED_MACHINE_JUDGE_H
#include "base/collections/intern.h"
#include "sched/machines/machine_pools.h"

enum machine_cause { MACHINE_FITS, MACHINE_LIMITED, MACHINE_TOO_SMALL, MACHINE_LABELS, MACHINE_TAINTED, MACHINE_UNREADY };
struct machine_ask {         /* pods that are alike */
    const struct shape *shape;
    int64_t pods_n;
    const char *title;       /* of their pod set, where there are several; "" */
};
struct machine_verdict {
    enum machine_cause cause; /* FITS: machines for all of them may come, as far as is known. LIMITED: not for all; else: for none */
    int64_t room_n;          /* of LIMITED: so many pods could have one */
    int64_t coming_n;        /* machines on their way that suit */
    const char *coming;      /* of which NodePool; "" = of several, or none */
    const char *text;        /* what is in the way, a sentence without its end; ""; in the arena */
};
struct machine_verdict machine_judge(const struct machine_pools *m, const struct intern *names, const struct machine_ask *ask,
                                     struct arena *a);
/* Of pods of several kinds each of which fits: do limits keep some out because all come from one pool? As above. */
struct machine_verdict machine_judge_together(const struct machine_pools *m, const struct intern *names, const struct machine_ask *asks,
                                              uint32_t n, struct arena *a);
/* Only Karpenter's machines will do: the pods select a label of its own. WHY  others may buy nodes, too, and nothing is known of theirs. */
bool machine_is_karpenters(const struct intern *names, const struct shape *shape);

#endif
