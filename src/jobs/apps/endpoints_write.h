/* endpoints_write.h - bring Endpoints and the EndpointSlices of a service to what they should be */
#ifndef JOBS_APPS_ENDPOINTS_WRITE_H
#define JOBS_APPS_ENDPOINTS_WRITE_H
#include "kube/cache.h"
#include "kube/workqueue.h"

/* Creates the object (old NULL), or writes what differs: all of it but what the server adds to metadata. */
void endpoints_write(struct work *w, const struct json *old, const struct json *wanted, const char *collection, const char *path);
/* The slices of the service of w's name are these and no others; `slices` holds those of this writer. */
void endpoints_write_slices(struct work *w, const struct kube_cache *slices, const struct json *wanted);

#endif
