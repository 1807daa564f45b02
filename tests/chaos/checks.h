/* checks.h - admission checks of queue q2: controllers that answer late, otherwise or never, and a queue that asks for others meanwhile */
#ifndef TESTS_CHAOS_CHECKS_H
#define TESTS_CHAOS_CHECKS_H
#include "world.h"

struct checks;
/* A mirror of the Workloads, watched without faults, that checks each of their changes. */
struct checks *checks_new(struct world *w);
void checks_free(struct checks *c);
void checks_answer(struct world *w); /* some controller says something of some Workload */
void checks_change(struct world *w); /* q2 asks for others, or one of them is not active for a while */
void checks_turn_all_away(struct world *w); /* all that was asked is answered with Retry */
void checks_let(struct world *w); /* those that ask for it */
void checks_let_all(struct world *w); /* all controllers are there and say Ready, and what they rejected may try again */
const char *checks_any_workload(struct world *w); /* its name, in the world's arena; NULL: there is none */
/* Was the Workload of this name admitted when it was last heard of? */
bool checks_let_start(const struct checks *c, const char *workload);
uint64_t checks_passed_n(const struct checks *c); /* admitted after all their checks were ready */
uint64_t checks_failed_n(const struct checks *c); /* evicted by a check, once or for good */
/* Nobody is admitted with a check that is not ready; at rest nobody waits who has all answers. */
bool checks_at_rest(struct world *w);

#endif
