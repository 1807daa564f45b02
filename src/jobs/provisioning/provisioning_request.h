/* provisioning_request.h - what an autoscaler is asked for a Workload, and what its answer means for the admission check
 *
 *   Workload "w" with quota, check "c" -> PodTemplates ppt-w-c-1-SET, ProvisioningRequest w-c-1 -> conditions -> state of "c"
 *
 * Pure: JSON in, JSON out, times are arguments. SOURCE Kueue for names, states and words.
 */
#ifndef JOBS_PROVISIONING_REQUEST_H
#define JOBS_PROVISIONING_REQUEST_H
#include "jobs/kueue/kueue_kind.h"

#define PROVISIONING_CONTROLLER "kueue.x-k8s.io/provisioning-request"
#define PROVISIONING_GROUP "autoscaling.x-k8s.io"
#define PROVISIONING_MANAGED "kueue.x-k8s.io/managed"

/* One check of a Workload with quota. */
struct provisioning_check {
    const struct json *workload;
    const struct json *state;   /* its entry of status.admissionChecks */
    const struct json *config;  /* ProvisioningRequestConfig; NULL: the check names none that is there */
    const struct json *request; /* the last that asks for it; NULL: none does */
    int64_t attempt;            /* which of its attempts `request` is */
    const char *failure;        /* why the next one could not be made; NULL: nothing is known of that */
};

/* "<workload>-<check>-<attempt>"; what is too long is cut, with five digits of its SHA-1 behind it. */
const char *provisioning_name(struct arena *a, const char *workload, const char *check, int64_t attempt);
const char *provisioning_template_name(struct arena *a, const char *request, const char *pod_set);
/* Which attempt at this check the request is; 0: none of it. */
int64_t provisioning_attempt(struct arena *a, const struct json *request, const char *workload, const struct json *state);
/* Does it ask for what the config says now? */
bool provisioning_is_current(const struct json *request, const struct json *config);

/* Has the Workload pods that need what the config manages? */
bool provisioning_is_needed(const struct json *workload, const struct json *config);
/* One pod set of a request: those of the Workload that are asked for by one template. */
struct provisioning_set {
    const char *name;           /* of the first */
    const struct json *pod_set; /* the first */
    int64_t count;              /* of all */
};
/* Of all pod sets that need it, those alike as one where the config says so. */
struct provisioning_set *provisioning_sets(struct arena *a, const struct json *workload, const struct json *config, uint32_t *ret_n);
/* The one that has this pod set of the Workload; NULL: none. */
const struct provisioning_set *provisioning_set_of(const struct provisioning_set *sets, uint32_t n, const struct json *config,
                                                   const struct json *pod_set);
struct json *provisioning_request(struct arena *a, const struct provisioning_check *c, const char *name,
                                  const struct provisioning_set *sets, uint32_t sets_n);
/* -E_CONFLICT: a flavor's selector contradicts the template's own. */
int provisioning_template(struct arena *a, const struct json *workload, const char *name, const struct provisioning_set *set,
                          const struct kueue_start *start, struct json **ret_template, struct err *e);

/* The entry as it should be, with time now_ms where its state changes; NULL: it is so. */
struct json *provisioning_state(struct arena *a, const struct provisioning_check *c, int64_t now_ms);
/* The attempt that is to be asked for now; 0: none. */
int64_t provisioning_due(const struct provisioning_check *c);
/* What is wrong with the parameters of an AdmissionCheck of this controller; NULL: nothing. config: what they name, or NULL. */
const char *provisioning_parameters_wrong(struct arena *a, const struct json *check, const struct json *config);
/* The name that its parameters have for a config; "": they are not of this kind. */
const char *provisioning_config_name(const struct json *check);

#endif
