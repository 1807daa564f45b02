/* pod_template.h - a pod made from a controller's template */
#ifndef JOBS_POD_TEMPLATE_H
#define JOBS_POD_TEMPLATE_H
#include "base/random.h"
#include "wire/json.h"

/* The Pod for template (metadata and spec are copied), in ns, owned by owner (apiVersion and kind given: objects in lists lack them).
 * name is `base` + "-" + five random letters, cut to 63 bytes. */
struct json *pod_from_template(struct arena *a, struct random *random, const struct json *template, const struct json *owner,
                               const char *api_version, const char *kind, const char *base);
/* A controlling ownerReference to owner, appended to metadata. */
void owner_reference_add(struct arena *a, struct json *metadata, const struct json *owner, const char *api_version, const char *kind);

#endif
