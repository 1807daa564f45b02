/* training.h - Kubeflow's jobs where no training or MPI operator is installed (the embedded cluster): what their pods are made of
 *
 *     roles of the spec ──▶ pods <job>-<role>-<i>, a headless Service each ──▶ conditions of the status
 *
 * SHAPE  struct training is the view of one job in one pass: its roles, and the pods that are there. training_roles.c, training_pod.c,
 *        training_env.c and mpi_objects.c are pure; training.c carries out.
 * SOURCE training-operator 1.9, mpi-operator 0.8: names, labels, environment, which role decides.
 */
#ifndef JOBS_TRAINING_H
#define JOBS_TRAINING_H
#include "codec/kinds/queued_kinds.h"
#include "kube/object.h"

enum { TRAINING_ROLES_MOST = 5 };
#define TRAINING_JOB_LABEL "training.kubeflow.org/job-name"
#define TRAINING_OPERATOR_LABEL "training.kubeflow.org/operator-name"
#define TRAINING_ROLE_LABEL "training.kubeflow.org/replica-type"
#define TRAINING_INDEX_LABEL "training.kubeflow.org/replica-index"
#define TRAINING_PART_LABEL "training.kubeflow.org/job-role"

struct training_kind {
    const struct queued_kind *of;
    const char *controller;    /* spec.runPolicy.managedBy of who runs it */
    const char *operator_name; /* label of pods */
    const char *port_name;
    int64_t port;
    const char *restarts;      /* restartPolicy where none is said */
};
extern const struct training_kind training_kinds[];
extern const size_t training_kinds_n;

struct training_role {
    const char *name, *lower; /* "Worker", "worker" */
    int64_t replicas;
    const struct json *spec;
    const struct json **pods; /* by index; NULL: is not there */
};
struct training {
    const struct training_kind *kind;
    const struct json *job;
    const char *name, *ns;
    struct training_role roles[TRAINING_ROLES_MOST];
    uint32_t roles_n;
    int64_t pods_n;            /* of all roles together */
    bool gang;                 /* no queue holds it: its pods start together by a PodGroup */
};
/* Without pods yet. */
void training_read(struct arena *a, const struct training_kind *k, const struct json *job, struct training *ret_t);
const struct training_role *training_role_named(const struct training *t, const char *name); /* or NULL */
bool training_is_mpi(const struct training *t);
bool training_waits_for_workers(const struct training *t); /* its launcher does */

const char *training_pod_name(struct arena *a, const struct training *t, const struct training_role *role, int64_t i);
/* Of its pods, as text: what autoscalers look for. */
const char *training_selector(struct arena *a, const struct training *t, const struct training_role *role);
const char *training_api_version(struct arena *a, const struct training *t);
/* "Never" where exit codes say whether it is run again. */
const char *training_restarts(const struct training *t, const struct training_role *role);

/* training_pod.c */
struct json *training_pod(struct arena *a, const struct training *t, const struct training_role *role, int64_t i);
struct json *training_service(struct arena *a, const struct training *t, const struct training_role *role, int64_t i);
struct json *training_gang(struct arena *a, const struct training *t);

/* training_env.c: appended to the environment of the containers. */
void training_env(struct arena *a, const struct training *t, const struct training_role *role, int64_t i, struct json *pod_spec);
struct json *training_env_add(struct arena *a, struct json *container, const char *name, const char *value);

/* mpi_objects.c */
void mpi_worker(struct arena *a, const struct training *t, int64_t i, struct json *pod);
struct json *mpi_launcher(struct arena *a, const struct training *t); /* a batch Job */
const char *mpi_launcher_name(struct arena *a, const struct training *t);
struct json *mpi_service(struct arena *a, const struct training *t);
struct json *mpi_config(struct arena *a, const struct training *t); /* ConfigMap: hostfile, discover_hosts.sh of the workers that run */
struct json *mpi_secret(struct arena *a, const struct training *t); /* NULL: no key could be made */

#endif
