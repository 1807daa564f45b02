/* pods.h - process -> container -> pod, and unit -> container: from cgroups, log directories, podresources; labels from an API watch
 *
 * SOURCE monitoring.md 3.3 (cgroup forms), 3.4 (ways to names). Results are cached by (pid, start time); an unknown container is asked for
 * again when the log directory changes, not at every collection.
 */
#ifndef EXPORTER_PODS_H
#define EXPORTER_PODS_H
#include "agent/inventory.h"
#include "kube/client.h"
#include "wire/prometheus.h"

struct pods_config {
    const char *root;                 /* prefix of /proc and /var/log */
    struct kube_client *client;       /* NULL: no API watch: no pod labels, no uid of podresources' pods */
    const char *node_name;
    const char *label_allow;          /* extended regular expression of pod label names; NULL: none */
};
struct pod_names { const char *ns, *pod, *container, *uid, *queue; };
struct pods;
struct pods *pods_new(struct loop *l, const struct pods_config *config);
void pods_free(struct pods *p);
/* What a process is: command (as /proc/<pid>/comm or argv[0]), start time since 1970, names; false: the pid is gone. Strings stand in a. */
bool pods_process(struct pods *p, struct arena *a, uint32_t pid, const char **ret_command, double *ret_start_s, struct pod_names *ret_names);
/* Uid, queue and allowed labels of a pod by name (from the watch or the log directories); false: unknown. */
bool pods_pod(struct pods *p, struct arena *a, const char *ns, const char *pod, struct pod_names *ret_names,
              const struct prometheus_label **ret_labels, uint32_t *ret_labels_n);
bool pods_pid_namespace_mismatch(const struct pods *p);

#endif
