/* configuration.h - Kueue's own Configuration file, as far as its fields mean something here
 *
 * Read: one document of kind Configuration (config.kueue.x-k8s.io, v1beta1 or v1beta2), alone, in a ConfigMap's data as Kueue's manifests
 * carry it, or among the other documents of such a manifest.
 *
 * Every field is known (configuration_fields.c): it works, or one line says that it does nothing, and why. What is unknown, of a wrong
 * type or out of range is told with its path and what to write instead; then nothing of the file counts.
 *
 * LIMIT  CONFIGURATION_MAX_BYTES, and what wire/yaml.h allows in depth and aliases.
 * SOURCE Kueue, apis/config and what it demands of a configuration before it starts.
 */
#ifndef CODEC_CONFIGURATION_H
#define CODEC_CONFIGURATION_H
#include "codec/charge/charge.h"
#include "codec/configuration/metrics_policy.h"
#include "codec/configuration/workload_policy.h"
#include "core/policy.h"
#include "wire/json.h"

#define CONFIGURATION_MAX_BYTES (1u << 20) /* as much as a ConfigMap holds */

enum configuration_switch { CONFIGURATION_UNSET, CONFIGURATION_ON, CONFIGURATION_OFF };
struct configuration {
    struct policy policy;
    struct workload_policy workloads;
    struct charge_policy charge;
    struct metrics_policy metrics;
    enum configuration_switch leader_elect;
    const char *lease_namespace; /* NULL = not said */
    bool frameworks_given;       /* those that are not named are not queued; else all that Capstan knows are */
    uint32_t unqueued;           /* bit i: kind i of codec/kinds/queued_kinds.h is not */
    uint32_t unqueued_sets;      /* bit i: set i of codec/kinds/queued_sets.h is not */
    bool no_pods;
};

/* Without a file. SOURCE Kueue 0.19: waitForPodsReady with its defaults. */
void configuration_default(struct configuration *ret_configuration);
/* Everything stands in `a`. warnings, problems: one line each, "PATH: ..."; both are the caller's. 0, or -E_INVALID when there is a
 * problem. */
int configuration_parse(struct arena *a, struct bytes text, struct configuration *ret_configuration, struct buf *warnings,
                        struct buf *problems);

#endif
