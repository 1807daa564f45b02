/* deserve.h - quotas of queues that have shares instead (Volcano's): what each deserves, in one tree of quotas with those above it
 *
 *     root ──┬── a   deserves what it names, else its part of what those above it have, by weight
 *            └── b ──┬── c     a queue with queues below it is a cohort
 *                    └── d
 *
 *   nominal quota   what it deserves; others take that back from those who have more than theirs (reclaimWithinCohort: Any)
 *   lending limit   deserved - guarantee: what is guaranteed is never lent
 *   bound           capability
 *
 * SHAPE  by weight, of each resource: x * weight, with one x for all neighbours, but nobody gets more than he asks for (what his pods have
 *        and wait for, or would, were they made) or may have, or less than his guarantee; x is as high as what is there allows. Rounded
 *        down: what is left over is lent to whoever comes.
 *        A queue that names what it deserves of one resource has no limit in those that it does not name, as long as nobody is guaranteed
 *        any of them. The root has no end but its capability, and, where somebody is guaranteed some of a resource, what all nodes have.
 *        A single queue shares with nobody: it has its capability, and no tree.
 * ORDER  found anew at the beginning of a cycle, when such a queue, pods of its gangs, or a node's record have changed.
 * SOURCE Volcano, plugins proportion and capacity; docs/design/0016-volcano-queues.md.
 */
#ifndef CORE_DESERVE_H
#define CORE_DESERVE_H
#include "base/arena.h"
#include "core/quota/share.h"
#include "core/state/model.h"

void deserve_settle(struct state *s, struct arena *a); /* no-op when nothing has changed */
/* The gang has entered its phase: what it has when it is told to go counts as asked for until it starts again, or is gone. WHY  its job
 * makes its pods anew one by one, and others would deserve more while it does: they would grow, and be taken back from when all are there,
 * and so on for ever. */
void deserve_note_phase(struct state *s, struct gang *g);
void deserve_forget(struct state *s, struct gang *g); /* its object is gone: of its name there may be another one, which had nothing */
/* How much it uses of what it deserves: of the resource of which that is most. Nothing, where it has no shares; all, where it deserves
 * nothing. */
struct share deserve_used(const struct state *s, const struct queue *q);
/* A group of another queue of the tree waits that no capability keeps out: members above the minimum of a group of `own` take no more than
 * their queue deserves. WHY  a group goes whole: it would be the next to go for members that it could do without, and who went for it
 * after that, for ever. */
bool deserve_holds_back(const struct state *s, const struct queue *own);
/* Does what the gang's queue deserves hold one more pod of this shape? */
bool deserve_holds(const struct state *s, const struct gang *g, uint32_t shape);
/* Would the queue still have its guarantee of all that the gang uses, if it went? */
bool deserve_spares(const struct state *s, const struct gang *g);
bool deserve_spares_member(const struct state *s, const struct queue *q, uint32_t shape); /* if one pod of this shape went */

#endif
