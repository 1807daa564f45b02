/* agent_print.h - capstan agent: what its command line says, and the forms of it that only look */
#ifndef CLI_AGENT_PRINT_H
#define CLI_AGENT_PRINT_H
#include "agent/agent.h"
#include "cli/agent/agent_exporter.h"
#include "cli/connect.h"

struct agent_command {
    struct agent_options options;
    const struct options *given;
    const char *nvml_path, *kubeconfig, *context, *reset_command;
    bool no_cluster, once;
    enum output_format format;
    struct config_setting *settings; /* the first environment_n are of the environment */
    uint32_t settings_n, environment_n;
    char host_name[256];
    struct arena *arena;
    struct agent_exporter_command exporter;
};
struct driver *agent_command_driver(const struct agent_command *c, struct loop *l);
int agent_print(const struct agent_command *c);        /* GPUs, resources, labels as they would be now; returns the exit code */
int agent_print_status(const struct agent_command *c); /* what the running agent has written of itself */

#endif
