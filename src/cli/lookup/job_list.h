/* job_list.h - what `capstan jobs` shows of one job of any kind, and who finds them
 *
 *   lists of the API server ──job_list_find──▶ one struct job_line each ──▶ filters, columns
 */
#ifndef CLI_LOOKUP_JOB_LIST_H
#define CLI_LOOKUP_JOB_LIST_H
#include "cli/connect.h"
#include "cli/lookup/accelerators.h"
#include "cli/lookup/gang_size.h"

struct job_line {
    const char *kind, *ns, *name, *state;
    const char *queue, *message, *user; /* NULL or "": none */
    int64_t gang_n, running_n;
    struct accelerators asked;             /* that its pods ask for, all of the gang together */
    int64_t priority;
    bool priority_known;                   /* by its Workload or its pods */
    struct gang_size size;                 /* of what may start with fewer than it asks for; else nothing */
    int64_t created_ms;                    /* wall; 0 malformed */
    int64_t queued_ms, started_ms;         /* wall; queued 0: when it was created; started 0: not yet */
    bool idle;                             /* it waits for nothing: over, stopped by somebody */
    const char *reason;                    /* JSON text of why its Workload waits, NULL or "": it does not */
    const struct json *nodes;              /* names of its pods' nodes, as keys; NULL none */
};

/* Asks the server for everything and calls `show` with each job. Texts stand in the arena, or in what stands there. The first error that
 * is not "no such kind" is left in e. Returns the kinds that the user may not list, by commas; NULL: there are none. Pods he has to. */
const char *job_list_find(struct connection *c, struct arena *a, void (*show)(void *context, const struct job_line *line), void *context,
                          struct err *e);

#endif
