/* applications.h - a PodGroup for each YuniKorn application that has task groups (codec/groups/task_groups.h)
 *
 * Made of the annotation task-groups of its oldest pod that has it: minMember and minTaskMember are those of the groups, minResources what
 * so many pods ask for together, the queue is Volcano's Queue of the name of its queue's last part ("team" of root.org.team), else "default".
 * It stays as it was made, as an application does in YuniKorn, and goes with the last pod of the application.
 * WHY    no placeholders: a gang holds nothing while it waits.
 * LIMIT  the pod that makes the others when it runs (Spark's driver, or one of no task group) starts by itself: else nobody would come.
 */
#ifndef JOBS_APPLICATIONS_H
#define JOBS_APPLICATIONS_H
#include "jobs/controllers.h"

struct applications;
struct applications *applications_new(struct jobs *j);
void applications_free(struct applications *x); /* NULL-safe */

#endif
