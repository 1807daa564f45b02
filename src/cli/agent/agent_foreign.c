/* agent_foreign.c - SOURCE the options of NVIDIA's device plugin and GPU Feature Discovery 0.20, MIG manager 0.15 and dcgm-exporter 4 */
#include "cli/agent/agent_foreign.h"
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    bool is_switch;
    const char *why;
} options[] = {
    {"cdi-enabled", true, "--device-list-strategy decides"},
    {"cdi-feature-flags", false, "CDI files are not made by NVIDIA's toolkit"},
    {"cpu-devices", false, "CPUs are not measured"},
    {"dcgm-log-level", false, "logs are the agent's: --log-level"},
    {"debug", true, "--log-level debug"},
    {"default-gpu-clients-namespace", false, "the agent itself serves the GPU's clients and needs not end them"},
    {"dev-root-ctr-path", false, "devices are where the driver root has them"},
    {"disable-startup-validate", true, "a node without a driver is no error at the start"},
    {"dump-compression", true, "there are no dumps: /metrics says what is measured"},
    {"dump-directory", false, "there are no dumps: /metrics says what is measured"},
    {"dump-enabled", true, "there are no dumps: /metrics says what is measured"},
    {"dump-retention", false, "there are no dumps: /metrics says what is measured"},
    {"enable-dcgm-log", true, "logs are the agent's: --log-level"},
    {"enable-gpu-bind-unbind-watch", true, "GPUs that come and go are noticed"},
    {"enable-pprof", true, "this is no Go program"},
    {"fake-gpus", true, "simulated GPUs come from capstan nvsim"},
    {"gpu-bind-unbind-poll-interval", false, "GPUs that come and go are noticed: --read-period"},
    {"gpu-clients-file", false, "the agent itself serves the GPU's clients and needs not end them"},
    {"host-kubelet-systemd-service", false, "the kubelet goes on while GPUs are split"},
    {"host-mig-manager-state-file", false, "the layout under way is in the journal: --state-dir"},
    {"host-nvidia-dir", false, "there is no script that changes the host"},
    {"host-root-mount", false, "there is no script that changes the host"},
    {"kube-api-burst", false, "requests are few"},
    {"kube-api-qps", false, "requests are few"},
    {"kubeconfig-qps", false, "requests are few"},
    {"kubernetes-enable-dra", true, "devices of resource claims are not attributed"},
    {"log-format", false, "logs are lines of key=value"},
    {"namespace", false, "labels go to the node itself, not to a NodeFeature object"},
    {"nvidia-container-root", false, "CDI files name paths of the host"},
    {"nvidia-resource-names", false, "the names of all resources of the node are known: it offers them"},
    {"pod-name", false, "labels go to the node itself, not to a NodeFeature object"},
    {"reconfigure-script", false, "there is no script that changes the host"},
    {"switch-devices", false, "NVSwitches are not measured"},
    {"web-systemd-socket", true, "the agent opens its port itself: --address"},
    {"with-reboot", true, "nodes are not rebooted; a mode change that needs a reset says so"},
    {"with-shutdown-host-gpu-clients", true, "the agent itself serves the GPU's clients and needs not end them"},
};

const char *agent_foreign_why(const char *name, bool *ret_is_switch)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(options[i].name, name) == 0) {
            *ret_is_switch = options[i].is_switch;
            return options[i].why;
        }
    return NULL;
}
