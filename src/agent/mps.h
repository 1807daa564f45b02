/* mps.h - MPS control daemons as supervised children: one per shared resource, directories as NVIDIA's plugin has them
 *
 *     start: GPUs to EXCLUSIVE_PROCESS ─▶ <root>/<resource>/{pipe,log} ─▶ nvidia-cuda-mps-control -f ─▶ limits over its control pipe
 *     stop:  quit ─▶ GPUs back to DEFAULT      crash: back-off 1 s doubling to 60 s      health: get_default_active_thread_percentage
 *
 * SOURCE device.md 6. keti.com/mpsgpu uses /tmp/nvidia-mps.
 */
#ifndef AGENT_MPS_H
#define AGENT_MPS_H
#include "agent/resource.h"

struct mps;
struct mps_config {
    const char *root;            /* "/mps" in the container, host path in flags.mpsRoot */
    const char *control_program; /* "nvidia-cuda-mps-control" */
    const char *keti_directory;  /* "/tmp/nvidia-mps" */
};
struct mps *mps_new(struct loop *l, struct driver *d, const struct mps_config *config);
void mps_free(struct mps *m); /* NULL-safe; stops the daemons and gives the compute mode back */
/* Start, change and stop daemons so that they are what the table says. */
void mps_set(struct mps *m, const struct inventory_snapshot *s, const struct resource_table *t);
bool mps_ready(const struct mps *m, const char *resource); /* its daemon answers: its slots may be handed out */
struct mps_client { uint32_t pid; const char *resource; char server[24]; };
uint32_t mps_clients(const struct mps *m, const struct mps_client **ret_clients); /* as of the last health check */
void mps_status(const struct mps *m, struct buf *out_json);

#endif
