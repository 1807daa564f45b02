/* carry.h - moves that are carried out: jobs leave, begin again elsewhere, and then the gang starts for which they left
 *
 *   nodes refuse it ─▶ told what would help (explain/remedy_find.c): moves, allowed and proven ─▶ it wants them, and is tried once more
 *   refused again ─▶ carry_make: the moves of that moment; it is promised what it will take, those who leave are its victims
 *     ─▶ they are told (EVICT), leave, are in line again ─▶ each starts beside the promise ─▶ the gang starts on what was promised to it
 *
 * SHAPE  a promise (preempt/promise.h) with two things more: the places of those who move, and their quota, are kept for each of them; and
 *        the gang needs all of its quota besides. It is not tried before all of them have started again, or do not wait any more.
 * LIMIT  one such promise at a time, where nobody has any, no start is promised to anybody, and nobody else would go for the gang. Who has
 *        left for another one is not moved for MOVE_REST_MS. So long the gang waits for them at most: CARRY_MOST_MS.
 * WHY    no more is kept over a restart than of any promise: who has left is in line, as the gang is, and they are looked at anew.
 */
#ifndef CORE_CARRY_H
#define CORE_CARRY_H
#include "core/moves/moves.h"
#include "core/place/try.h"

#define CARRY_MOST_MS 600000
#define CARRY_LOOK_AGAIN_MS 1000

/* They are allowed, and would let it start: could they be carried out, too? */
bool carry_may(const struct state *s, const struct gang *g, const struct moves *m);
/* The gang was refused. Where it wants that, others are told to leave for it: it has a promise then, and the refusal says so. */
void carry_begins(struct cycle *c, struct gang *g, struct refusal *refusal);
/* Those who left for it are not back yet: so it is not tried, and that is its refusal. */
bool carry_holds(struct cycle *c, struct gang *g, struct refusal *ret_refusal);
/* As a cycle begins: who waits so looks whether they are. When there is to be another cycle for that; 0: nobody does. WHY  nothing is
 * gained when the last of them starts. */
void carry_begin(struct state *s);
int64_t carry_next_ms(const struct state *s);

#endif
