/* mps.h - MPS control daemons as supervised children: one per shared resource, directories as NVIDIA's plugin has them
 *
 *     start: GPUs to EXCLUSIVE_PROCESS ─▶ <root>/<resource>/{pipe,log} ─▶ nvidia-cuda-mps-control -f ─▶ limits by commands ─▶ ready
 *     stop:  quit ─▶ GPUs back to DEFAULT      crash, or two checks without an answer: back-off 1 s doubling to 60 s
 *
 * On MIG there is a daemon for each compute instance (a server sees one only), in <root>/<resource>/<MIG UUID>/{pipe,log}; the compute mode
 * of its GPU stays as it is. keti.com/mpsgpu uses /tmp/nvidia-mps, without limits: its pods bring their own.
 * A daemon that an earlier agent left behind is taken over when it serves the same devices, else it is asked to quit. The compute mode that
 * was set is kept as an intent in the inventory's journal and given back after a crash of ours, too.
 * SOURCE NVIDIA's device plugin (directories); NVIDIA, "Multi-Process Service" (commands of nvidia-cuda-mps-control).
 */
#ifndef AGENT_MPS_H
#define AGENT_MPS_H
#include "agent/inventory/resource.h"

#define LIMIT_MPS_DAEMONS 512 /* 64 GPUs x 7 instances */

struct mps;
struct mps_config {
    const char *root;            /* "/mps" in the container, host path in flags.mpsRoot */
    const char *control_program; /* "nvidia-cuda-mps-control" */
    const char *keti_directory;  /* "/tmp/nvidia-mps" */
    /* daemons are a keeper's (mps_keeper.h), and go on when this ends: neither they nor compute modes are touched then */
    bool kept;
    struct inventory *inventory; /* whose journal keeps the intents; NULL: none are kept */
    int64_t check_period_ms;     /* 0: 10 s */
    int64_t command_timeout_ms;  /* 0: 5 s */
    int64_t backoff_ms;          /* first wait; 0: 1 s */
};
struct mps *mps_new(struct loop *l, struct driver *d, const struct mps_config *config);
/* NULL-safe; kills the daemons (not one that somebody started by hand) and asks for the old compute mode without waiting. */
void mps_free(struct mps *m);
/* An agent before us set compute modes that nobody has given back: mps_set does, whatever the table is. */
bool mps_is_left_over(struct inventory *i, const struct inventory_snapshot *s);
/* The gentle end: every daemon is asked to quit and the compute modes are given back; then fn(arg). Nothing is started any more. */
void mps_stop(struct mps *m, void (*fn)(void *arg), void *arg);
/* Another control program from now on: that of a driver which came later, or at another place. */
void mps_set_program(struct mps *m, const char *program);
/* Start, change and stop daemons so that they are what the table says. Other devices: restart. Other limits: told to the running daemon;
 * processes that are connected keep theirs. */
void mps_set(struct mps *m, const struct inventory_snapshot *s, const struct resource_table *t);
bool mps_ready(const struct mps *m, const char *resource); /* all of its daemons answer: its slots may be handed out */
/* Directory of the unit's daemon below the root: "<resource>", or "<resource>/<MIG UUID>". */
void mps_directory(struct buf *out, const char *resource, const struct unit *u);
void mps_status(const struct mps *m, struct buf *out_json); /* daemons, their limits and clients as of the last check */

#endif
