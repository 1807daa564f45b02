/* doctor.h - what is missing on a cluster or a node: checks that look, and lines that say what to do
 *
 *   API server, kinds, scheduler ─┐
 *   nodes, agents, rivals ────────┼─ doctor_say ──▶ a line a finding, its exit code
 *   queues, flavors, quota ───────┤
 *   rights of the user ───────────┘          --node: driver, device nodes, kubelet's sockets, cgroups
 *
 * A check that could not look says so (DOCTOR_UNKNOWN); it never says that all is well.
 */
#ifndef CLI_DOCTOR_DOCTOR_H
#define CLI_DOCTOR_DOCTOR_H
#include "cli/connect.h"

enum doctor_level {
    DOCTOR_OK,      /* only shown with --all */
    DOCTOR_NOTE,    /* works, and may not be what is wanted */
    DOCTOR_UNKNOWN, /* not looked at: the user may not, or nobody answers */
    DOCTOR_FAULT,   /* something does not work for this: exit code 1 */
};
struct doctor {
    struct connection c; /* unused with --node */
    struct arena *a;
    struct output_table table;
    bool all; /* what is well, too */
    uint32_t levels_n[4];
    bool is_embedded;         /* capstan up: its scheduler and agents are in the server */
    const struct json *nodes; /* items; NULL: unknown */
};

/* about: what is looked at ("node gpu-1", "ClusterQueue team-a"); todo: what to do, NULL: nothing; then what was found. */
void doctor_say(struct doctor *d, enum doctor_level level, const char *about, const char *todo, const char *format, ...) PRINTF_LIKE(5, 6);
/* A list that the user may read, or a line that says why not (then NULL; also where there is no such kind, without a line). */
const struct json *doctor_items(struct doctor *d, const char *about, const char *path);

/* False: the server does not answer; the rest has nothing to ask. */
bool doctor_server(struct doctor *d);
void doctor_kinds(struct doctor *d);
void doctor_scheduler(struct doctor *d);
void doctor_nodes(struct doctor *d);  /* leaves d->nodes */
void doctor_rivals(struct doctor *d); /* what does the same work: Kueue's manager, NVIDIA's plugin ... */
void doctor_queues(struct doctor *d);
void doctor_rights(struct doctor *d);
void doctor_host(struct doctor *d, const char *root); /* root: the host's "/" as this process sees it */

#endif
