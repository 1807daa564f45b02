/* workload_policy.h - how Workloads are made of jobs: Kueue's Configuration, as far as the controllers of jobs follow it
 *
 * SHAPE  all zero: Kueue without a configuration of its own.
 * OWNER  texts belong to whoever read the configuration.
 */
#ifndef CODEC_WORKLOAD_POLICY_H
#define CODEC_WORKLOAD_POLICY_H
#include <stdbool.h>
#include <stdint.h>

struct workload_policy {
    const char *const *labels; /* keys of those labels of a job that its Workload gets, too */
    uint32_t labels_n;
};

#endif
