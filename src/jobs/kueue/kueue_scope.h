/* kueue_scope.h - which jobs are queued: those that name a queue or, where the configuration says so, all of them; of some namespaces
 *
 * A namespace that comes to be one of them, or is so no longer, has its jobs looked at again. Without either there is nothing to ask.
 */
#ifndef JOBS_KUEUE_SCOPE_H
#define JOBS_KUEUE_SCOPE_H
#include "jobs/controllers.h"

bool kueue_scope_has(const struct jobs *j, const struct json *job);

#endif
