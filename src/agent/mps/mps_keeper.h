/* mps_keeper.h - the process whose children MPS control daemons are, so that they outlive the agent: capstan agent --mps-keep
 *
 *     agent ── <root>/keeper.sock: Start(pipe, log, devices) ──▶ keeper ── nvidia-cuda-mps-control -f ──▶ a daemon, in its container
 *     next agent ── pid file, environment ──▶ takes the daemon over; Keep(pipes) ──▶ daemons of no pipe that is wanted any more end
 *
 * WHY    What runs in a container ends with it. The agent is updated; who computes through MPS must not notice. The keeper knows nothing of
 *        resources, drivers or clusters and so has no reason to be updated.
 * The servers' shared memory is a tmpfs of its own and of a given size, at <root>/shm: made once, seen by the whole node (the agent mounts
 * it into clients), and this process's /dev/shm. shm_bytes 0: the machine's, by a link.
 * SHAPE  Start: "pipe\nlog\ndevices", answered by the pid in decimal. Keep: pipe directories, one a line.
 * OWNER  the socket is root's alone, and its directory is not mounted into containers.
 */
#ifndef AGENT_MPS_KEEPER_H
#define AGENT_MPS_KEEPER_H
#include "agent/mps/mps_daemon.h"
#include "net/grpc/grpc.h"

#define MPS_KEEPER_START "/capstan.MpsKeeper/Start"
#define MPS_KEEPER_KEEP "/capstan.MpsKeeper/Keep"
#define LIMIT_MPS_KEPT 512

struct mps_keeper;
/* -E_EXISTS: another keeper answers on the socket; -E_IO, -E_DENIED: no socket, or no tmpfs, and what to do. */
int mps_keeper_new(struct loop *l, const char *root, const char *program, uint64_t shm_bytes, struct mps_keeper **ret_k, struct err *e);
void mps_keeper_free(struct mps_keeper *k); /* NULL-safe; ends the daemons */
uint32_t mps_keeper_daemons(const struct mps_keeper *k);

void mps_keeper_socket(struct buf *out, const char *root);

#endif
