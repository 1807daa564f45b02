/* queued_kinds.h - the kinds of jobs that are queued the Kueue way: their names, and where in them stands what all kinds have
 *
 * One table: who reads, checks, starts, lists or configures queued jobs asks it. What a kind needs beyond it is in jobs/kueue.
 *
 * SOURCE Kueue's integrations; the API types of each project. ORDER of `roles`: that of the pod sets in Workloads.
 */
#ifndef CODEC_QUEUED_KINDS_H
#define CODEC_QUEUED_KINDS_H
#include "wire/json.h"

enum queued_kind_id {
    QUEUED_JOB,
    QUEUED_TRAINJOB,
    QUEUED_JOBSET,
    QUEUED_MPIJOB,
    QUEUED_PYTORCHJOB,
    QUEUED_TFJOB,
    QUEUED_XGBOOSTJOB,
    QUEUED_JAXJOB,
    QUEUED_PADDLEJOB,
    QUEUED_RAYJOB,
    QUEUED_RAYCLUSTER,
    QUEUED_RAYSERVICE,
    QUEUED_SPARKAPPLICATION,
    QUEUED_KINDS_N
};

struct queued_kind {
    const char *group, *version, *plural, *kind;
    const char *framework;       /* its name in integrations.frameworks of Kueue's Configuration */
    const char *policy;          /* member of spec that has suspend and managedBy; NULL: spec itself */
    const char *succeeded;       /* the condition of one that is over and well; "Failed" is that of the others; "": it has none */
    const char *replicas;        /* Kubeflow's: member of spec that has a template for each role; NULL: the kind is made otherwise */
    const char *const *roles;    /* its members, NULL after the last */
    bool reclaims;               /* its controller says in reclaimablePods when nobody comes after a pod that has succeeded */
    const char *container;       /* the container of each role that runs the program */
};
extern const struct queued_kind queued_kinds[QUEUED_KINDS_N];

/* By kind alone, as owner references name it; NULL: no such. */
const struct queued_kind *queued_kind_named(const char *kind);
/* As apiVersion and kind of an object, or of an owner reference, say it; NULL: no such. */
const struct queued_kind *queued_kind_of_owner(const struct json *owner);
/* Is it the condition of a job of some kind that is over and well? */
bool queued_kind_succeeded(const char *condition);
/* By resource; NULL: no such. */
const struct queued_kind *queued_kind_of(const char *group, const char *plural);
/* Does a job wait for quota: it names a queue, or one above it does, and it is not admitted? */
enum job_waits { JOB_WAITS_NOT, JOB_WAITS, JOB_UNSEEN };
typedef enum job_waits (*job_waits_fn)(void *arg, const struct queued_kind *kind, const char *ns, const char *name, const char *uid);
/* What has `suspend` of a job, or of its like in a patch, made where it is missing. */
struct json *queued_kind_policy(struct arena *a, const struct queued_kind *k, struct json *job);
bool queued_kind_is_suspended(const struct queued_kind *k, const struct json *job);
const char *queued_kind_managed_by(const struct queued_kind *k, const struct json *job); /* or "" */

#endif
