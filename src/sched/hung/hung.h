/* hung.h - gangs that run and compute nothing: found, told, and started again where that is asked for
 *
 *     nodes' feedback + who has which device ──every HUNG_LOOK_MS──▶ gangs of which no GPU does anything, since when
 *         ──so long that it hangs──▶ annotation capstan.dev/hung, Event GangHung ──restart-when-hung──▶ the core evicts it (flow.h)
 *
 * SHAPE  beside the scheduler: decisions know nothing of it but what the object says. Only who leads looks. Since when is kept in memory: a
 *        scheduler that starts anew waits anew.
 * WHY    all of its pods run and all of its devices are measured: what is not known to be idle is not said to hang. A device is idle below
 *        HUNG_PERMILLE of its time, so that a watchdog's glance is no work.
 *        Nor is who loads data: on a node whose GPUs it alone has, more than HUNG_NETWORK_BYTES a second on the node's network are its own.
 *        Where others have GPUs of the node, or its agent counts no network, GPUs alone decide.
 * LIMIT  A collective that spins on its GPUs for ever looks busy, and is not found.
 */
#ifndef SCHED_HUNG_H
#define SCHED_HUNG_H
#include <stdint.h>

#define HUNG_LOOK_MS 5000
#define HUNG_PERMILLE 10
#define HUNG_NETWORK_BYTES 1048576 /* as agents tell at once when it is crossed (exporter/push/feedback.h) */
#define HUNG_AFTER_S 1800 /* of gangs that say nothing of it, where nobody says otherwise */

struct scheduler;
struct hung;
struct hung *hung_new(struct scheduler *s, int64_t after_ms); /* after_ms: of gangs that say nothing; 0: those never */
void hung_free(struct hung *h); /* NULL-safe; before the scheduler */

#endif
