/* relayout.h - MIG layouts of idle GPUs follow what waits, on nodes with the label capstan.dev/mig-demand: "true"
 *
 *     pods wait for instances ──demand_plan──▶ GPUs and layouts ──▶ the core is told that these GPUs cannot be had
 *         ──nobody has been placed there──▶ label and annotation of the node ──agent──▶ instances ──▶ the core has them, and places
 *
 * SHAPE  beside the scheduler: decisions do not know of it. Only who leads looks.
 * LIMIT  One change of a node at a time. RELAYOUT_PAUSE_MS between two, twice as long each time that nobody came to a changed GPU.
 * SOURCE docs/design/0026-mig-demand.md
 */
#ifndef SCHED_RELAYOUT_H
#define SCHED_RELAYOUT_H
#define RELAYOUT_LABEL "capstan.dev/mig-demand"
#define RELAYOUT_PAUSE_MS 60000
#define RELAYOUT_PAUSE_DOUBLINGS 6 /* 3,840 s: about an hour */

struct scheduler;
struct relayout;
struct relayout *relayout_new(struct scheduler *s); /* before the loop runs: it sees each node as the scheduler does */
void relayout_free(struct relayout *r);             /* NULL-safe; before the scheduler */

#endif
