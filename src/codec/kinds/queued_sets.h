/* queued_sets.h - sets of pods that have no `suspend`: they are queued by their pods, which wait one by one or as a group
 *
 *   StatefulSet, label kueue.x-k8s.io/queue-name  ->  its pod template says who holds its pods (QUEUED_SET_ANNOTATION)
 *                                                 ->  one Workload of all replicas, its pods a group of that name
 *
 *   Deployment, label queue-name, and its template does not name it  ->  nobody holds its pods: unheld_text says what to write
 *
 * SOURCE Kueue's integrations deployment, statefulset, leaderworkerset.
 */
#ifndef CODEC_QUEUED_SETS_H
#define CODEC_QUEUED_SETS_H
#include "wire/json.h"

#define QUEUED_SET_ANNOTATION "kueue.x-k8s.io/pod-suspending-parent" /* of a pod, or its template: framework of its set */

enum queued_set_id { QUEUED_DEPLOYMENT, QUEUED_STATEFULSET, QUEUED_LEADERWORKERSET, QUEUED_SETS_N };

struct queued_set {
    const char *group, *version, *plural, *kind;
    const char *framework; /* its name in integrations.frameworks of Kueue's Configuration, and in QUEUED_SET_ANNOTATION */
    bool in_groups;        /* its pods wait for each other; false: each is queued by itself */
};
extern const struct queued_set queued_sets[QUEUED_SETS_N];

/* By resource; NULL: no such. */
const struct queued_set *queued_set_of(const char *group, const char *plural);
/* By kind alone, as owner references name it; NULL: no such. */
const struct queued_set *queued_set_named(const char *kind);
/* With which set a pod waits, or one made of this template would: those that wait in groups only. NULL: with none. */
const struct queued_set *queued_set_of_pod(const struct json *pod);

/* ---- who names a queue in vain ----
 *
 * WHY  Kueue's webhooks, deploy/kueue-defaults.yaml and `capstan up` write into the templates of sets what holds their pods; an API server
 *      without these does not. Of ReplicaSets, DaemonSets and CronJobs nobody reads the label at all. */

/* Kinds of which nobody else watches those that name a queue: the others are those above. */
struct unheld_kind {
    const char *group, *version, *plural, *kind;
};
enum { UNHELD_DEPLOYMENT, UNHELD_REPLICASET, UNHELD_DAEMONSET, UNHELD_CRONJOB, UNHELD_KINDS_N };
extern const struct unheld_kind unheld_kinds[UNHELD_KINDS_N];

/* What to write where, as a sentence in the arena, of an object of one of these kinds or of those above. NULL: it names no queue, its
 * pods wait, somebody else has made it, or it is of another kind. */
const char *unheld_text(struct arena *a, const char *kind, const struct json *object);
/* The same as a change: the template, in the object itself, gets what is missing. False: nothing was. */
bool unheld_mend(struct arena *a, const char *kind, struct json *object);

#endif
