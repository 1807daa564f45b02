/* daemon_set.h - DaemonSets of the embedded cluster: one pod on every node that its selector, affinity and tolerations allow
 *
 * SOURCE apps/v1 API reference. The pods go through the scheduler: required node affinity for metadata.name holds each to its node, and
 *        tolerations for what is wrong with a node keep it there.
 */
#ifndef JOBS_APPS_DAEMON_SET_H
#define JOBS_APPS_DAEMON_SET_H
#include "kube/client.h"

struct daemon_sets;
/* speed divides minReadySeconds; seed makes pod names. */
struct daemon_sets *daemon_sets_new(struct kube_client *c, double speed, uint64_t seed);
void daemon_sets_free(struct daemon_sets *d); /* NULL-safe */

#endif
