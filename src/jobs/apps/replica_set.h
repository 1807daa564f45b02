/* replica_set.h - ReplicaSets and ReplicationControllers of the embedded cluster: as many pods of a template as spec.replicas says
 *
 * Pods that the server refuses are told in condition ReplicaFailure until there are enough, and in events.
 */
#ifndef JOBS_REPLICA_SET_H
#define JOBS_REPLICA_SET_H
#include "kube/event.h"

struct replica_sets;
enum replica_kind { REPLICA_SET, REPLICATION_CONTROLLER };
struct replica_sets *replica_sets_new(struct kube_client *c, struct kube_recorder *events, enum replica_kind kind, uint64_t seed);
void replica_sets_free(struct replica_sets *r); /* NULL-safe */

#endif
