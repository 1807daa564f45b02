/* reserved.h - a Workload that has its quota and is not admitted: what it waits for */
#ifndef CLI_LOOKUP_RESERVED_H
#define CLI_LOOKUP_RESERVED_H
#include "wire/json.h"

/* Checks that are not ready, with what their controllers say, else what its places lack. NULL: it is not such a Workload. */
const char *reserved_text(struct arena *a, const struct json *workload);

#endif
