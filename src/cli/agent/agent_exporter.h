/* agent_exporter.h - the options of capstan agent that are about metrics: dcgm-exporter's names and variables, and ours */
#ifndef CLI_AGENT_EXPORTER_H
#define CLI_AGENT_EXPORTER_H
#include "agent/driver/dcgm.h"
#include "exporter/exporter.h"

struct agent_exporter_command {
    struct exporter_options options;
    struct dcgm_options dcgm;
    bool is_on, kubernetes, pod_labels, feedback;
    bool label_allow_given; /* as an option: what the environment says does not count */
    const char *period, *xid_window, *clock_window, *gpu_id_type, *devices, *processes_max, *mig_label, *memory_label, *label_allow,
        *influx_version, *config_map;
    struct prometheus_label labels[16]; /* of remote-write */
    uint32_t labels_n;
};
extern const char agent_exporter_help[];
void agent_exporter_defaults(struct agent_exporter_command *c);
void agent_exporter_environment(struct agent_exporter_command *c);
/* Is this an option of ours, without dashes? is_flag: it takes no value, or "=false". */
bool agent_exporter_knows(const char *name, bool *ret_is_flag);
/* The long name of dcgm-exporter's short option, without dashes, also of one that has no meaning here; NULL: none. */
const char *agent_exporter_short(const char *name);
/* NULL, or what is wrong with it: "use gi or index". Values are kept by reference. */
const char *agent_exporter_take(struct agent_exporter_command *c, struct arena *a, const char *name, const char *value);
/* What follows from all options together; the same answer, with the option's name in ret_option. */
const char *agent_exporter_settle(struct agent_exporter_command *c, struct arena *a, const char **ret_option);
/* How GPUs before Hopper are profiled; NULL: not at all. */
const struct dcgm_options *agent_exporter_dcgm(const struct agent_exporter_command *c);

#endif
