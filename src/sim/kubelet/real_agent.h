/* real_agent.h - one node of the embedded cluster with nothing in between left out: a `capstan agent` process on libnvsim
 *
 *     libnvsim (DIR/nvsim/state) ◀─dlopen─ capstan agent ─sockets─▶ fake_kubelet ─▶ node status, pods
 *                ▲ work, /proc of running pods └─ HTTP ─▶ API server: labels, devices annotation, conditions, events
 *
 * OWNER  DIR (below the data directory) keeps the simulated GPUs and the agent's journal; sockets lie in a short directory of their own,
 *        made at the start and removed at the end, since their paths must not be long.
 * An agent that ends is started again after a second, doubling to a minute.
 */
#ifndef SIM_REAL_AGENT_H
#define SIM_REAL_AGENT_H
#include "kube/event.h"
#include "sim/kubelet/agent_page.h"
#include "sim/kubelet/fake_kubelet.h"

struct real_agent;
struct real_agent_config {
    struct kube_client *client;
    const char *dir, *node_name, *kubeconfig;
    const struct node_shape *shape;
    const char *config_map, *config_default; /* of operator values; "" none. config_map without namespace */
    const char *mig_config_map;
    const char *mig_strategy;                /* NULL: mixed */
    bool mig_evicts;
    const char *nvml_path;                   /* libnvsim; NULL: $CAPSTAN_LIBNVSIM, or beside this program */
    void (*changed)(void *arg, const char *node); /* devices of the node changed */
    void *arg;
};
int real_agent_new(struct loop *l, const struct real_agent_config *config, struct real_agent **ret_r, struct err *e);
void real_agent_end(struct real_agent *r);  /* tells the process to end; real_agent_free waits for it */
void real_agent_free(struct real_agent *r); /* NULL-safe; ends the process: killed when it takes more than ten seconds */
const char *real_agent_node(const struct real_agent *r);
struct fake_kubelet *real_agent_kubelet(struct real_agent *r);
struct agent_page *real_agent_page(struct real_agent *r);
/* The agent had no time yet to register what the pod asks for. */
bool real_agent_starting(const struct real_agent *r, const struct pod_devices *devices);
void real_agent_seen(struct real_agent *r, const struct json *node); /* annotation capstan.dev/simulate-fault */
/* A pod's containers run on their devices, or no more: work in libnvsim, processes below the agent's root. number: unique to the pod. */
void real_agent_work(struct real_agent *r, const struct fake_kubelet_pod *pod, const struct pod_devices *devices, uint32_t number);
void real_agent_work_end(struct real_agent *r, uint32_t number);

#endif
