/* reserved.h - what the object of a gang says beside its state: what one with quota waits for, and that one that runs hangs */
#ifndef CLI_LOOKUP_RESERVED_H
#define CLI_LOOKUP_RESERVED_H
#include "wire/json.h"

/* Checks that are not ready, with what their controllers say, else what its places lack. NULL: it is not such a Workload. */
const char *reserved_text(struct arena *a, const struct json *workload);
/* A Workload or pod group (may be NULL) that runs and is asked to save before it is stopped (sched/stop.c). NULL: it is not. */
const char *saving_text(struct arena *a, const struct json *object);
/* One that runs and computes nothing (sched/hung/hung.h). NULL: it does not say so. */
const char *hung_text(struct arena *a, const struct json *object);

#endif
