/* endpoints.h - Endpoints and EndpointSlices of the embedded cluster: for each Service with a selector, the addresses of its pods
 *
 *   pod changed --labels--> services whose selector matches --100 ms later--> Endpoints, EndpointSlices written where they differ
 *
 * WHY  the 100 ms: pods of a job start together, and their service is written once.
 */
#ifndef JOBS_APPS_ENDPOINTS_H
#define JOBS_APPS_ENDPOINTS_H
#include "kube/client.h"

struct endpoints;
struct endpoints *endpoints_new(struct kube_client *c);
void endpoints_free(struct endpoints *e); /* NULL-safe */

#endif
