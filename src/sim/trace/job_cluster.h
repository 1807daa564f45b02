/* job_cluster.h - a cluster of equal nodes in the core that schedules, and gangs that start there and end
 *
 * SHAPE  a gang is a pod group (one pod: a pod of its own), each of its pods may stand on the one node that was chosen for it. It comes, is
 *        decided on, and stands there as a whole; what was chosen where there is no room is refused as a whole.
 */
#ifndef SIM_JOB_CLUSTER_H
#define SIM_JOB_CLUSTER_H
#include <stdbool.h>
#include <stdint.h>

struct job_cluster;
struct job_cluster *job_cluster_new(uint32_t nodes_n, uint32_t gpus_n); /* of each */
void job_cluster_free(struct job_cluster *c);
/* Its slot, which is given back when it ends; -1: it does not stand there, and nothing of it does. */
int64_t job_cluster_start(struct job_cluster *c, const int64_t *gpus, const uint32_t *nodes, uint32_t pods_n);
void job_cluster_end(struct job_cluster *c, uint32_t slot, uint32_t pods_n);

#endif
