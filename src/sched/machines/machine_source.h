/* machine_source.h - Karpenter's NodePools and NodeClaims come in, and gangs that wait for nodes are told what of those can come
 *
 *   NodePool, NodeClaim ──▶ machine_pools ──▶ judged for each gang that waits for nodes: when its reason is told, or others can come
 *     nothing that can come suits, or limits are reached ──▶ its text says so; pods that want Karpenter's machines are not declared
 *     Unschedulable; the check for machines that come goes on to the next flavor
 *
 * COST   a cluster without Karpenter: one request in 30 s, as for other kinds that may not be there. NodeClaims are read where there is a
 *        NodePool. About 700 bytes a claim, of which the watch has the half; nothing is written, to neither kind.
 * SOURCE docs/design/0025-machines.md
 */
#ifndef SCHED_MACHINE_SOURCE_H
#define SCHED_MACHINE_SOURCE_H
#include "sched/machines/machine_judge.h"

struct kube_client;
struct state;
struct machine_source;
/* on_changed: more, or less, may come than a moment ago. on_synced: a list has been read. */
struct machine_source *machine_source_new(struct kube_client *c, struct state *s, void (*on_changed)(void *arg),
                                          void (*on_synced)(void *arg), void *arg);
void machine_source_free(struct machine_source *x); /* NULL-safe */
bool machine_source_synced(const struct machine_source *x); /* all that is there has been read, or may not be */

bool machine_source_any(const struct machine_source *x);    /* there are NodePools, and all is read; NULL-safe */

struct machine_look {
    struct machine_verdict verdict;
    bool only;               /* what is in the way is of pods that only Karpenter's machines will do for */
};
/* Of a gang that waits; FITS where there are no NodePools. In the arena. */
struct machine_look machine_source_look(struct machine_source *x, name_id gang, struct arena *a);
/* The value of label `key` that machines for all pods of the gang may have together, those that nodes with it hold aside: of what NodePools
 * list, none of left_out (an array of texts, or NULL), the one for which the fewest pods need a machine, then the first by name. NULL: none
 * can be shown to do, or no NodePool lists any. In the arena. */
const char *machine_source_domain(struct machine_source *x, name_id gang, const char *key, const struct json *left_out, struct arena *a);
/* "2 machines of NodePool gpu are on their way", or what is in the way; NULL: nothing is to be said. */
const char *machine_look_text(struct arena *a, const struct machine_look *look);

#endif
