/* quota.h - ResourceQuotas: refuses what would exceed one, and keeps status.used right
 *
 * SHAPE  namespace -> its quotas, each with what its objects use. Counted from the store when somebody first asks; from then on every
 *        change of an object adds its difference the moment that the store in memory changes, so two requests of one turn cannot both have
 *        the last GPU. What is counted goes to status.used a moment later (one write a quota for a burst of pods).
 * WHY    not counted anew each time: a namespace of 10,000 pods would be read for each pod that is created.
 */
#ifndef APISERVER_QUOTA_H
#define APISERVER_QUOTA_H
#include "apiserver/apply/object_write.h"

struct quotas *quotas_new(struct apiserver *s);
void quotas_free(struct quotas *q);
/* A change of any object, the moment that the store has it; event NULL: those since the last commit were taken back. */
void quotas_changed(struct quotas *q, uint32_t kind, const struct store_event *event);
/* Would the write exceed a quota? False: w says which, 403. */
bool quota_admit(struct object_write *w);

#endif
