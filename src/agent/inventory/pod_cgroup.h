/* pod_cgroup.h - whose a process is: pod uid and container id from /proc/<pid>/cgroup
 *
 * SOURCE the runtimes themselves: containerd, CRI-O, Docker and Podman under the cgroupfs and systemd drivers, cgroup v1, v2 and hybrid,
 *        nested clusters (the innermost pod counts), relative paths of another cgroup namespace, static pods (config hash instead of a
 *        UUID). Each form: tests/golden/cgroup/forms.tsv
 */
#ifndef AGENT_POD_CGROUP_H
#define AGENT_POD_CGROUP_H
#include <sys/types.h>
#include "base/bytes.h"

struct pod_cgroup {
    char uid[40];       /* "xxxxxxxx-xxxx-...", or 32 hex digits of a static pod; "" = in no pod */
    char container[72]; /* 64 hex digits as a rule; "" = none */
};
/* The content of a cgroup file. True when a pod or a container is named. */
bool pod_cgroup_parse(struct bytes text, struct pod_cgroup *ret);
/* Read <root>/proc/<pid>/cgroup. 1 in a pod or container, 0 in none, -E_NOTFOUND when the process is gone, -E_IO. */
int pod_cgroup_read(const char *root, uint32_t pid, struct pod_cgroup *ret);
/* A process of the pod runs: all of <root>/proc is looked through. False also where other processes cannot be seen. */
bool pod_cgroup_lives(const char *root, const char *uid);

#endif
