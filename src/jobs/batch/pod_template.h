/* pod_template.h - a pod made from a controller's template */
#ifndef JOBS_POD_TEMPLATE_H
#define JOBS_POD_TEMPLATE_H
#include "base/random.h"
#include "wire/json.h"

/* The Pod for template (metadata and spec are copied), in ns, owned by owner (apiVersion and kind given: objects in lists lack them).
 * name is `base` + "-" + five random letters, cut to 63 bytes. */
struct json *pod_from_template(struct arena *a, struct random *random, const struct json *template, const struct json *owner,
                               const char *api_version, const char *kind, const char *base);
/* The same under a name that is given. */
struct json *pod_named_from_template(struct arena *a, const struct json *template, const struct json *owner,
                                     const char *api_version, const char *kind, const char *name);
/* The template as it was meant: without this label (NULL: none) and the nulls and empty lists of labels that clients write. To compare. */
struct json *pod_template_plain(struct arena *a, const struct json *template, const char *label);
/* Ten letters that name a (plain) template. */
const char *pod_template_hash(struct arena *a, const struct json *template);
/* "25%" of total, or a number; fallback when it is neither. */
int64_t pod_share(const struct json *value, int64_t fallback, int64_t total, bool up);
/* A controlling ownerReference to owner, appended to metadata. */
void owner_reference_add(struct arena *a, struct json *metadata, const struct json *owner, const char *api_version, const char *kind);

#endif
