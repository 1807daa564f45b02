/* vcjob_plugins.h - what svc, ssh and env put into the pods of a Volcano Job, and the objects they need
 *
 * svc   headless Service <job>, NetworkPolicy <job>, ConfigMap <job>-svc (host lists) mounted at /etc/volcano, env VC_<TASK>_HOSTS, _NUM;
 *       in names of files '-' of a task is '_' too
 * ssh   Secret <job>-ssh with an RSA-2048 key pair, mounted at /root/.ssh
 * env   VC_TASK_INDEX, VK_TASK_INDEX
 *
 * Ours, beyond the original: VC_<TASK>_HOSTS_SLOTS and <task>.hostfile ("host:slots", slots = GPUs of a pod, 1 without) in jobs that ask
 * for GPUs or mention them, and VC_<TASK>_<i>_SVC for scripts that refer to it. Injected names that users may want to build upon stand
 * before the user's env, the original's stand after it.
 * ORDER  always svc, ssh, env, then those of frameworks (vcjob_frameworks.h).
 * SOURCE Volcano, job plugins svc, ssh and env.
 */
#ifndef JOBS_VCJOB_PLUGINS_H
#define JOBS_VCJOB_PLUGINS_H
#include "jobs/volcano/vcjob_frameworks.h"

struct vcjob_plugins {
    bool svc, ssh, env;
    bool publish_not_ready, no_network_policy, no_hosts_env;
    bool hosts_with_slots;       /* VC_<TASK>_HOSTS itself carries slots: asked for, or horovodrun -H reads it */
    bool lists_slots;            /* VC_<TASK>_HOSTS_SLOTS and <task>.hostfile are given too */
    const char *ssh_path, *ssh_private_key, *ssh_public_key;
    int64_t ssh_port;
    struct vcjob_frameworks frameworks;
};
void vcjob_plugins_parse(struct arena *a, const struct json *job, const struct vcjob_task *tasks, uint32_t tasks_n,
                         struct vcjob_plugins *ret_p);

/* An RSA-2048 pair: PKCS#1 PEM and "ssh-rsa ..." line. LIMIT takes tens of milliseconds. Returns 0 or -E_IO. */
int vcjob_ssh_key(struct arena *a, char **ret_private_pem, char **ret_public_line, struct err *e);
/* A pair on the curve P-521, as MPIJobs have it: SEC 1 PEM and "ecdsa-sha2-nistp521 ..." line, in a millisecond or two. */
int vcjob_ssh_key_short(struct arena *a, char **ret_private_pem, char **ret_public_line, struct err *e);

/* A pair that the user gives: the public line, where he gives none, is found from a key of RSA or of the curve P-521. Returns 0. */
int vcjob_ssh_key_given(struct arena *a, const char *private_key, const char *public_key, char **ret_private_pem, char **ret_public_line);

/* JSON array of the objects (Service, NetworkPolicy, ConfigMap, Secret), owned by the job. private_pem may be NULL: no Secret is listed. */
struct json *vcjob_plugin_objects(struct arena *a, const struct json *job, const struct vcjob_plugins *p, const struct vcjob_task *tasks,
                                  uint32_t tasks_n, const char *private_pem, const char *public_line);
/* Change one pod. */
void vcjob_plugin_pod(struct arena *a, const struct json *job, const struct vcjob_plugins *p, const struct vcjob_task *tasks,
                      uint32_t tasks_n, int64_t index, struct json *pod);

/* What a friendly clerk would say about the job: array of {"reason":..., "message":...}. */
struct json *vcjob_remarks(struct arena *a, const struct json *job, const struct vcjob_plugins *p, const struct vcjob_task *tasks,
                           uint32_t tasks_n);

#endif
