/* vcjob_volumes.h - spec.volumes of a Volcano Job: claims that its pods share, mounted into every container
 *
 * An entry names a claim that exists, or brings the spec of one: that is made once, called <job>-pvc-<12 letters>, and belongs to the
 * Job, so it outlives restarts and goes with the Job.
 */
#ifndef JOBS_VCJOB_VOLUMES_H
#define JOBS_VCJOB_VOLUMES_H
#include "base/arena.h"
#include "wire/json.h"

/* The PersistentVolumeClaims to be made: an array, maybe empty. */
struct json *vcjob_volume_claims(struct arena *a, const struct json *job);
uint32_t vcjob_volumes_n(const struct json *job);
const char *vcjob_volume_name(struct arena *a, const struct json *job, uint32_t at); /* of the claim, given or made */
/* Volumes into the pod's spec, mounts into its containers. */
void vcjob_volumes_mount(struct arena *a, const struct json *job, struct json *pod_spec);

#endif
