/* queue_checks.h - what is wrong with the admission checks that a ClusterQueue demands, in Kueue's words */
#ifndef SCHED_CHECKS_QUEUE_CHECKS_H
#define SCHED_CHECKS_QUEUE_CHECKS_H
#include "wire/json.h"

/* The AdmissionCheck of that name; NULL: there is none. */
typedef const struct json *check_finder(void *ctx, const char *name, struct arena *a);

/* Array of {"reason": ..., "message": ...}, in Kueue's order; empty: it may admit. */
struct json *queue_checks_wrong(struct arena *a, const struct json *spec, check_finder *find, void *ctx);

#endif
