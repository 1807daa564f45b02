/* kueue_unheld.h - who names a queue in vain is told so by an Event: Deployments, ReplicaSets, DaemonSets and CronJobs whose label nobody
 * has written into their template (codec/kinds/queued_sets.h). Those of kueue_sets.c are told there, when they get their Workload.
 */
#ifndef JOBS_KUEUE_UNHELD_H
#define JOBS_KUEUE_UNHELD_H
#include "jobs/controllers.h"

#define KUEUE_UNHELD_EVENT "PodsNotHeld"

struct kueue_unheld;
/* Watches them from now on, those that name a queue alone; a server that does not let it is left in peace. Deployments are not looked at
 * where they are not queued (jobs_config.unqueued_sets). */
struct kueue_unheld *kueue_unheld_new(struct jobs *j, const struct kueue_sets_calls *calls);
void kueue_unheld_free(struct kueue_unheld *u); /* NULL-safe */
/* Look again at those in whose text `word` stands; NULL: at all. u may be NULL. */
void kueue_unheld_look(struct kueue_unheld *u, const char *word);

#endif
