/* agent_exporter.h - the options of capstan agent that are about metrics: dcgm-exporter's names and variables, and ours */
#ifndef CLI_AGENT_EXPORTER_H
#define CLI_AGENT_EXPORTER_H
#include "agent/driver/dcgm.h"
#include "cli/options.h"
#include "exporter/exporter.h"

struct agent_exporter_command {
    const struct options *given;
    struct exporter_options options;
    struct dcgm_options dcgm;
    bool is_on;
    const char *label_allow, *wrong_label;
    struct prometheus_label labels[16]; /* of remote-write */
    uint32_t labels_n;
};
/* What the options say; texts are kept by reference. */
void agent_exporter_take(struct agent_exporter_command *c, struct arena *a, const struct options *o);
/* What follows from all options together. NULL, or what is wrong, and with which option. */
const char *agent_exporter_settle(struct agent_exporter_command *c, struct arena *a, const char **ret_option);
/* How GPUs before Hopper are profiled; NULL: not at all. */
const struct dcgm_options *agent_exporter_dcgm(const struct agent_exporter_command *c);

#endif
