/* job_flow_plan.h - which jobs of a JobFlow are due, what they look like, and what the flow says of itself
 *
 *   flows: a, b (after a), c (after a and b)      a Completed -> b is made -> b Completed -> c is made -> all Completed: Succeed
 *
 * Pure: JSON of flow, templates and jobs in, JSON out, all in the caller's arena.
 * SOURCE Volcano, flow.volcano.sh/v1alpha1 and its controller. Ours, beyond it: `patch` (there it is declared, and not read);
 * taskStatusList of `probe`: a target whose tasks are in these phases is waited for no longer; and a job that was Completed and is gone
 * stays so (there it is made once more).
 */
#ifndef JOBS_JOB_FLOW_PLAN_H
#define JOBS_JOB_FLOW_PLAN_H
#include "kube/object.h"
#include "wire/json.h"

#define JOB_FLOW_LABEL "volcano.sh/createdByJobFlow"         /* namespace.name, as label and annotation of jobs */
#define JOB_TEMPLATE_LABEL "volcano.sh/createdByJobTemplate" /* the same of their template */

#define JOB_FLOW_PHASES(X) X(PENDING, "Pending") X(RUNNING, "Running") X(SUCCEED, "Succeed") X(FAILED, "Failed") X(TERMINATING, "Terminating")
enum job_flow_phase {
#define X(phase, name) JOB_FLOW_##phase,
    JOB_FLOW_PHASES(X)
#undef X
};
enum job_flow_phase job_flow_phase_of(const struct json *flow); /* of its status; Pending when it has none */

/* One of spec.flows, with its job; of several with one name the first. */
struct job_flow_entry {
    const struct json *spec;
    const char *name;      /* of the template */
    const char *job_name;  /* <flow>-<template> */
    const struct json *job; /* the flow's own; NULL: there is none */
    const struct json *past; /* what the flow's status has of it as Completed: it may be gone since (ttlSecondsAfterFinished) */
};
uint32_t job_flow_entries(struct arena *a, const struct json *flow, struct job_flow_entry **ret_entries); /* jobs NULL */
/* Is its job to be made now? */
bool job_flow_is_due(const struct job_flow_entry *entries, uint32_t n, uint32_t at);
/* The Job for an entry, of its JobTemplate. */
struct json *job_flow_job(struct arena *a, const struct json *flow, const struct job_flow_entry *entry, const struct json *job_template);
/* The whole new status; equal to the old one when nothing has changed. */
struct json *job_flow_status(struct arena *a, const struct json *flow, const struct job_flow_entry *entries, uint32_t n, int64_t now_ms);

/* What a patch of a template's spec makes of it: objects member by member, tasks, containers, volumes and env by their names, mounts by
 * their paths, other lists whole. */
struct json *job_flow_patched(struct arena *a, const struct json *spec, const struct json *patch);

#endif
