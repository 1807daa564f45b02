/* metrics_policy.h - which LocalQueues have series of their own; SHAPE all zero: all of them. OWNER whoever read the configuration */
#ifndef CODEC_METRICS_POLICY_H
#define CODEC_METRICS_POLICY_H
#include <stdbool.h>

struct json;
struct metrics_policy {
    bool chosen;                     /* only those that the selector selects */
    const struct json *local_queues; /* a LabelSelector; NULL: none */
};

#endif
