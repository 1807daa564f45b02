/* pod_owner.h - whose a pod is, by its metadata: queue, job, user */
#ifndef EXPORTER_POD_OWNER_H
#define EXPORTER_POD_OWNER_H
#include "wire/json.h"

/* All "" when unknown; texts are the object's or stand in a. */
struct pod_owner {
    const char *queue; /* of Kueue or Volcano, by label or annotation */
    const char *job;   /* the label of JobSet, LeaderWorkerSet, Kubeflow, Volcano or batch; else the owner, of a Deployment's ReplicaSet the
                        * Deployment */
    const char *user;  /* annotation or label capstan.dev/user, or what Kubeflow writes on notebooks */
};
struct pod_owner pod_owner_of(struct arena *a, const struct json *metadata);
const char *pod_owner_user(const struct json *metadata); /* one of them alone */
const char *pod_owner_queue(const struct json *metadata);

#endif
