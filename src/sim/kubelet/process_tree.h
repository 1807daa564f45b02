/* process_tree.h - the made up processes of pods as the kernel and the kubelet would show them, below the root of an agent
 *
 *     ROOT/proc/stat                                            when the machine was booted
 *     ROOT/proc/PID/{stat,cmdline,cgroup}                       a process in its container, as containerd and systemd name it
 *     ROOT/var/log/containers/POD_NAMESPACE_CONTAINER-ID.log    names of the container; kubelets cut long ones before .log
 *     ROOT/var/log/pods/NAMESPACE_POD_UID/CONTAINER             ... and of the pod
 *
 * SOURCE kubelet, containerd; proc(5). What cannot be written is missing there, as for a process that has just ended.
 */
#ifndef SIM_PROCESS_TREE_H
#define SIM_PROCESS_TREE_H
#include <stdint.h>
#include "base/err.h"

struct process_tree;
/* What an earlier run has left goes. */
int process_tree_new(const char *root, int64_t wall_ms, struct process_tree **ret_t, struct err *e);
void process_tree_free(struct process_tree *t); /* NULL-safe; the files stay */

struct process_place {
    const char *ns, *pod, *uid, *container;
};
void process_tree_add(struct process_tree *t, uint32_t pid, const struct process_place *place, const char *command, int64_t wall_ms);
void process_tree_remove(struct process_tree *t, uint32_t pid); /* unknown: nothing */

#endif
