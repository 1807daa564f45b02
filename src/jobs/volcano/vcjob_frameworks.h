/* vcjob_frameworks.h - what the plugins pytorch, mpi, tensorflow, ray and hcclrank put into the pods of a Volcano Job
 *
 * pytorch     MASTER_ADDR, MASTER_PORT, WORLD_SIZE (pods of master and worker), RANK; port pytorchjob-port; an init container that waits
 *             for the master, where asked for
 * mpi         MPI_HOST in the master: the workers' hosts; port mpijob-port
 * tensorflow  TF_CONFIG; nothing for a single pod
 * ray         commands of head and workers, ports of the head, Service <job>-head-svc
 * hcclrank    annotation hccl/rankIndex
 *
 * Ours, beyond the original: without a task of the master's name the first worker is pytorch's master; a second master has a rank of its
 * own; and PET_NNODES, PET_NODE_RANK, PET_MASTER_ADDR, PET_MASTER_PORT, NODE_RANK (with GPUs PET_NPROC_PER_NODE) stand before the user's
 * env: torchrun without arguments runs on all pods.
 * ORDER  pytorch, mpi, tensorflow, ray, hcclrank (which takes the RANK of pytorch).
 * SOURCE Volcano, job plugins of these names.
 */
#ifndef JOBS_VCJOB_FRAMEWORKS_H
#define JOBS_VCJOB_FRAMEWORKS_H
#include "jobs/volcano/vcjob_pods.h"

/* Roles are names of tasks. */
struct vcjob_frameworks {
    struct {
        bool on, waits;
        const char *master, *worker, *image;
        int64_t port, wait_s;
    } pytorch;
    struct {
        bool on;
        const char *master, *worker;
        int64_t port;
    } mpi;
    struct {
        bool on;
        const char *ps, *worker, *chief, *evaluator;
        int64_t port;
    } tensorflow;
    struct {
        bool on;
        const char *head, *worker, *head_container, *worker_container;
        int64_t port, dashboard_port, client_port;
    } ray;
    struct {
        bool on;
        const char *master, *worker;
    } hcclrank;
};
void vcjob_frameworks_parse(const struct json *job, struct vcjob_frameworks *ret_f);
/* The Service of ray's head, owned by the job; NULL without ray. */
struct json *vcjob_ray_service(struct arena *a, const struct json *job, const struct vcjob_frameworks *f);
/* Change one pod, that of `task` and index. */
void vcjob_frameworks_pod(struct arena *a, const struct json *job, const struct vcjob_frameworks *f, const struct vcjob_task *tasks,
                          uint32_t tasks_n, const char *task, int64_t index, struct json *pod);

#endif
