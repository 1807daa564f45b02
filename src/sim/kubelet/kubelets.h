/* kubelets.h - the kubelets of all simulated nodes in one: run pods for a while, finish, fail, restart, delete, heartbeat
 *
 *   bound --start--> running --run time--> { Succeeded | Failed | restart, by restartPolicy and exit code }
 *     any --deletionTimestamp--> grace --> { removed | while finalizers hold it: Succeeded or Failed }
 *
 * Time and result of a pod: annotations capstan.dev/run-seconds and capstan.dev/exit-code; else what its command says, where the
 * command is simple (`sleep 5`, `sh -c "sleep 5 && exit 3"`, an nginx: see pod_command.h); else pods with restartPolicy Always run
 * until deleted, others SIM_DEFAULT_RUN_SECONDS, and exit with 0. capstan.dev/start-seconds delays the start (default 0.2).
 * A pod that asks for devices is admitted before it starts: it gets those that the scheduler chose (annotation capstan.dev/devices), or the
 * ones that the agent's own rules prefer; too few: phase Failed, reason UnexpectedAdmissionError. What it was given stands in
 * status.containerStatuses[].allocatedResourcesStatus (sidecars: initContainerStatuses).
 * A pod ends at its activeDeadlineSeconds (Failed, DeadlineExceeded), and is refused where another has one of its hostPorts (NodePorts).
 * Ephemeral containers (kubectl debug) run as long as their pod.
 * A container without a command whose pod mounts a vcjob's ssh keys plays an ssh daemon: it runs until deleted.
 * `speed` divides every one of these times, except that a start or a stop takes 200 ms at least; heartbeats stay in real time.
 *
 * Everything goes over the API: a watch of bound pods in, status patches and deletes out, as with real kubelets.
 * ORDER  pods due at the same time are handled in the order of their keys' arrival.
 */
#ifndef SIM_KUBELETS_H
#define SIM_KUBELETS_H
#include "kube/watch.h"
#include "sim/kubelet/pod_life.h"
#include "sim/kubelet/real_agent.h"

#define SIM_DEFAULT_RUN_SECONDS 10

struct kubelets;
struct kubelets_config {
    double speed;              /* 1 = real time; 10 = ten times faster */
    bool mig_evicts;           /* MIG layouts evict the pods that are in their way; else they fail until these have ended */
    bool heartbeat;            /* renew a Lease per node every 10 s (off in long simulations) */
    void (*stray)(void *arg, const char *node); /* a pod names a node that nobody knows; may be told again. NULL: nobody asks */
    void *arg;
};
struct kubelets *kubelets_new(struct kube_client *c, const struct kubelets_config *config);
void kubelets_free(struct kubelets *k);
/* The GPUs of this node are those of an agent: call it before the loop runs. The agent stays the caller's, and must live longer. */
void kubelets_set_real(struct kubelets *k, struct real_agent *r);
struct real_agent *kubelets_real(const struct kubelets *k, const char *node); /* NULL: the node has no agent of its own */
void kubelets_gpus_changed(struct kubelets *k, const char *node); /* for real_agent_config.changed */
/* Each event of a pod that is on a node, before the kubelets look at it: one listener, named before the loop runs; fn NULL: none any more.
 * WHY  a watch of its own would have every event of every pod carried and read once more. */
void kubelets_on_pod(struct kubelets *k, void (*fn)(void *arg, enum kube_event event, struct bytes object), void *arg);
/* NULL: no simulated GPUs of ours, or (*ret_wait) not ready yet. Good until the node goes. */
struct sim_node *kubelets_sim_node(struct kubelets *k, const char *node, bool *ret_wait);
bool kubelets_synced(const struct kubelets *k);
/* The node's kubelet falls silent: nothing it would write arrives, and pods there neither start, end nor go, as the API shows it. When it
 * is heard again, what was due meanwhile is done at once. Its Node object is the caller's business. */
void kubelets_silence(struct kubelets *k, const char *node, bool silent);
/* Pods that are on simulated nodes; good until the loop runs. NULL: there is none; no more (at begins with 0). */
const struct pod_life *kubelets_pod(const struct kubelets *k, const char *ns, const char *name);
const struct pod_life *kubelets_next_pod(const struct kubelets *k, size_t *at);
void kubelets_log(const struct kubelets *k, const struct pod_life *p, const char *container, struct buf *out); /* so far */
uint32_t kubelets_node_pods_n(const struct kubelets *k, const char *name, bool *ret_ours); /* ours: it is a simulated node, and there */

#endif
