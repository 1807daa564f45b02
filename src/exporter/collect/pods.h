/* pods.h - process -> container -> pod: from cgroups and the kubelet's log directories; uid, queue and labels from an API watch
 *
 *     /proc/<pid>/cgroup ─▶ container id ─▶ /var/log/containers/<pod>_<ns>_<container>-<id>.log
 *                        └▶ pod uid ─────▶ /var/log/pods/<ns>_<pod>_<uid>/<container>, or the watch
 *
 * SOURCE tests/golden/cgroup/forms.tsv (cgroup forms); the kubelet (names of log files). A process is read once and kept by (pid, start
 *        time); now and then again, since programs rename themselves. A container that is unknown is looked up again when the log
 *        directories or the watch have changed.
 * LIMIT  LIMIT_PODS_LOGS entries of each log directory, LIMIT_PODS_LABELS labels of a pod.
 */
#ifndef EXPORTER_PODS_H
#define EXPORTER_PODS_H
#include "agent/inventory/inventory.h"
#include "kube/client.h"
#include "wire/prometheus.h"

#define LIMIT_PODS_LOGS 20000
#define LIMIT_PODS_LABELS 32
#define PODS_COMMAND_BYTES 64

struct pod_names { const char *ns, *pod, *container, *uid, *queue, *job, *user; }; /* "" unknown; job and user: of pods_pod only */
struct pods_config {
    const char *root;                 /* prefix of /proc and /var/log; NULL: none */
    struct kube_client *client;       /* NULL: no API watch: no pod labels, no uid of podresources' pods */
    const char *node_name;
    const char *label_allow;          /* extended regular expression of pod label names; NULL: none */
    /* Simulated nodes, whose processes are in no /proc: who a process is, instead. False: gone. Texts are good until the next call. */
    bool (*process_of)(void *arg, uint32_t pid, const char **ret_command, double *ret_start_s, struct pod_names *ret_names);
    /* Likewise uid, queue, job and user of a pod; NULL: unknown. */
    bool (*pod_of)(void *arg, const char *ns, const char *pod, struct pod_names *ret_names);
    void *arg;
};
struct pods;
/* A label_allow that is no regular expression allows nothing; it is logged. */
struct pods *pods_new(struct loop *l, const struct pods_config *config);
void pods_free(struct pods *p); /* NULL-safe */
/* A collection begins: look at the log directories, forget processes that the last two did not ask for. */
void pods_begin(struct pods *p);
struct pod_process {
    const char *command;    /* its name in /proc/<pid>/stat, or the file name of argv[0] where that is cut */
    double start_s;         /* since 1970; 0 unknown */
    uint64_t start_ticks;   /* since boot: which of the processes of this number it is, whatever the clock is set to */
    struct pod_names names;
};
/* What a process is; false: the pid is gone, and all is empty. Strings stand in a. */
bool pods_process(struct pods *p, struct arena *a, uint32_t pid, struct pod_process *ret);
/* The wall clock was set: the time of boot is another. */
void pods_clock_set(struct pods *p);
/* Uid, queue, job, user and allowed labels of a pod by name (from the watch or the log directories); false: unknown. */
bool pods_pod(struct pods *p, struct arena *a, const char *ns, const char *pod, struct pod_names *ret_names,
              const struct prometheus_label **ret_labels, uint32_t *ret_labels_n);
/* None of the processes of this collection is under /proc: we see another pid namespace than the driver. */
bool pods_pid_namespace_mismatch(const struct pods *p);

#endif
