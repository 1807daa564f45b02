/* job_find.h - KIND/NAME as users write it: which object that is, and which kinds there are
 *
 * ORDER  a name without a kind is looked for as "job", kind by kind in the order of this table: a Job first, Workloads and pod groups last.
 */
#ifndef CLI_LOOKUP_JOB_FIND_H
#define CLI_LOOKUP_JOB_FIND_H
#include "cli/connect.h"
#include "codec/kinds/queued_kinds.h"

enum job_kind {
    JOB_KIND_JOB,
    JOB_KIND_VCJOB,
    JOB_KIND_TRAINJOB,
    JOB_KIND_JOBSET, /* and the next: Kueue's other kinds (codec/kinds/queued_kinds.h) */
    JOB_KIND_MPIJOB,
    JOB_KIND_PYTORCHJOB,
    JOB_KIND_TFJOB,
    JOB_KIND_XGBOOSTJOB,
    JOB_KIND_JAXJOB,
    JOB_KIND_PADDLEJOB,
    JOB_KIND_RAYJOB,
    JOB_KIND_RAYCLUSTER,
    JOB_KIND_RAYSERVICE,
    JOB_KIND_SPARKAPPLICATION,
    JOB_KIND_WORKLOAD,
    JOB_KIND_VOLCANO_GROUP, /* and the next: in the order of enum pod_group_maker */
    JOB_KIND_COSCHEDULING,
    JOB_KIND_NATIVE,
    JOB_KIND_KAI,
    JOB_KIND_COMPOSITE,
    JOB_KIND_POD,
    JOB_KIND_DEPLOYMENT,
    JOB_KIND_REPLICASET,
    JOB_KIND_STATEFULSET,
    JOB_KIND_DAEMONSET,
    JOB_KIND_LEADERWORKERSET,
    JOB_KINDS_N
};
struct job_kind_row {
    const char *names; /* what users call it, between spaces */
    const char *group, *version, *plural; /* version NULL: servers have it in one of several (native_versions) */
    const char *title, *kind; /* title: for people; kind: for programs, as capstan jobs has it */
};
extern const struct job_kind_row job_kinds[JOB_KINDS_N];

/* One object of that kind, or without a name their list, in ns (NULL: everywhere); NULL with code and text in e. */
const struct json *job_read(struct connection *c, struct arena *a, enum job_kind kind, const char *ns, const char *name, struct err *e);
/* One object of that kind in c->ns; NULL with code and text in e. */
const struct json *job_get(struct connection *c, struct arena *a, enum job_kind kind, const char *name, struct err *e);
/* Where it is, in c->ns; object: as it was got, or NULL where that is not known and does not matter. */
const char *job_path(const struct connection *c, struct arena *a, enum job_kind kind, const struct json *object, const char *name);
/* All of that kind, in c->ns or everywhere; NULL where there are none, or none may be read. */
const struct json *job_items(struct connection *c, struct arena *a, enum job_kind kind, bool everywhere);

/* The first object of that name whose kind the word calls. -E_INVALID: it calls none; -E_NOTFOUND, with what may have been meant; what the
 * server said. */
int job_find(struct connection *c, struct arena *a, const char *word, const char *name, enum job_kind *ret_kind,
             const struct json **ret_object, struct err *e);

/* Kueue's pod group is no object of its own: the Workload that its pods own is. "podgroup" finds that, too. */
bool job_is_pod_group(const struct json *workload);

/* What is queued the Kueue way, but for pods; NULL: it is not. */
const struct queued_kind *job_queued_kind(enum job_kind kind);

/* The first of the list with an owner of that uid; NULL none. */
const struct json *job_owned_by(const struct json *list, const char *uid);

/* "KIND/NAME" taken apart: the word is "job" where there is none. False: there is no name, or none that an object can have.
 * WHY  a name becomes part of a path: "x/status" would be another resource. */
bool job_split(struct arena *a, const char *what, const char **ret_word, const char **ret_name);

#endif
