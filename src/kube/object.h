/* object.h - reading and changing the parts that all Kubernetes objects share: metadata, owners, conditions */
#ifndef KUBE_OBJECT_H
#define KUBE_OBJECT_H
#include "codec/kinds/waiting_names.h"
#include "wire/json.h"

static inline const char *object_meta(const struct json *object, const char *key) /* metadata.KEY as text, or "" */
{
    return json_get_text(json_get(object, "metadata"), key, "");
}
const char *object_label(const struct json *object, const char *key);      /* or "" */
const char *object_annotation(const struct json *object, const char *key); /* or "" */
bool object_deleting(const struct json *object);
char *object_key(struct arena *a, const struct json *object);              /* "namespace/name" */
const struct json *object_controlling_owner(const struct json *object); /* the reference, or NULL */
const char *object_controller(const struct json *object, const char *field); /* the controlling owner's "kind", "name", "uid"; or "" */

struct json *object_condition(const struct json *object, const char *type); /* of status.conditions, or NULL */
bool object_condition_true(const struct json *object, const char *type);
/* Put one condition into the array. lastTransitionTime moves only when status does. Returns true when something changed. generation 0 =
 * none. A message that is too long is cut. */
bool object_condition_set(struct arena *a, struct json *conditions, const char *type, bool status, const char *reason, const char *message,
                          int64_t now_ms, int64_t generation);

struct json *object_status_copy(struct arena *a, const struct json *object);     /* {} when there is none */
struct json *object_conditions_copy(struct arena *a, const struct json *object); /* of status; [] when there are none */
int64_t object_generation_of(const struct json *object);                         /* metadata.generation, or 0 */
void object_count_set(struct arena *a, struct json *status, const char *key, int64_t n); /* 0 is left out */

/* Why it waits, as the scheduler's tree in JSON: of condition OBJECT_WAITING (Workloads: one write with the status), or of annotation
 * OBJECT_REASON (pods, pod groups); "" when it does not wait, or is not told yet. */
#define OBJECT_REASON "capstan.dev/reason"
bool object_awaits_with_quota(const struct json *workload);
const char *object_waiting(const struct json *object);

/* The merge patch that makes `to` of `from`: removed members become null, arrays are replaced whole. NULL when they are equal. */
struct json *object_diff(struct arena *a, const struct json *from, const struct json *to);
/* {"metadata":{"resourceVersion":R}} of what was read: a patch on it fails with a conflict when somebody wrote meanwhile. */
struct json *object_patch(struct arena *a, const struct json *read);
bool object_has_finalizer(const struct json *object, const char *finalizer);
/* The patch that puts a finalizer on, or takes it off, with the resourceVersion that was read; NULL when it is so already. */
struct json *object_finalizer_patch(struct arena *a, const struct json *object, const char *finalizer, bool wanted);

#endif
