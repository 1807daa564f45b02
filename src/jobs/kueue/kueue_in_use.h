/* kueue_in_use.h - the finalizer that keeps queues, flavors and Workloads until nobody needs them; see kueue_in_use.c */
#ifndef JOBS_KUEUE_IN_USE_H
#define JOBS_KUEUE_IN_USE_H
#include "jobs/kueue/kueue_kind.h"

/* Has the watch of ResourceFlavors, which others read too: made before them, freed after them. */
struct kueue_in_use *kueue_in_use_new(struct jobs *j);
void kueue_in_use_free(struct kueue_in_use *k); /* NULL-safe */
struct kube_cache *kueue_in_use_flavors(const struct kueue_in_use *k);
/* The Workloads are known. */
void kueue_in_use_synced(struct kueue_in_use *k);
/* A Workload changed; one is gone; the job or the pod of the Workload `key` is gone. */
void kueue_in_use_workload(struct kueue_in_use *k, const struct json *workload, const char *key);
void kueue_in_use_workload_gone(struct kueue_in_use *k);
void kueue_in_use_owner_gone(struct kueue_in_use *k, const char *key);

#endif
