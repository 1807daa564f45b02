/* gang_size.h - how many pods a queued job asks for, may do with, and was given */
#ifndef CLI_LOOKUP_GANG_SIZE_H
#define CLI_LOOKUP_GANG_SIZE_H
#include "wire/json.h"

struct gang_size {
    int64_t asked_n, fewest_n; /* equal: all or nothing */
    int64_t granted_n;         /* 0: nothing yet */
};
struct gang_size gang_size_of(const struct json *workload);
/* "8", "8 (at least 2)", or where fewer were granted "4 of 8 (at least 2)". */
const char *gang_size_text(struct arena *a, struct gang_size size);

#endif
