/* budget.h - PodDisruptionBudgets: whose end would break one
 *
 * WHY    who may preempt may end others all the same (preempt/lone.h, preempt/stakes.h); budgets only say by whose end the least harm is
 *        done, so a change of one wakes nobody.
 * SOURCE kube-scheduler: an empty selector selects nothing; who is counted off in status.disruptedPods breaks nothing.
 */
#ifndef CORE_BUDGET_H
#define CORE_BUDGET_H
#include "core/state/model.h"

void budget_apply(struct state *s, const struct budget_record *r);
void budget_gone(struct state *s, name_id key);
void budgets_free(struct state *s);
/* Those of the pods (slots, in the order in which they would go) whose end breaks a budget, each pod counted off after those before it. */
void budgets_broken(const struct state *s, const uint32_t *pods, uint32_t n, bool *ret_broken);

#endif
