/* health_blame.h - which process an application error belongs to (only for health.c)
 *
 * The driver's event does not name the process; the kernel's log often does. Else those on the unit when the error came, by the lists
 * before and after it, are candidates; who ends within ten seconds is at fault (an application does not survive these errors), else all of
 * them are named.
 * LIMIT  BLAME_MAX errors at once; further ones are named without waiting.
 */
#ifndef AGENT_HEALTH_BLAME_H
#define AGENT_HEALTH_BLAME_H
#include "agent/health/health.h"

#define BLAME_MAX 64

struct blame;
struct blame_verdict {
    char uuid[48];
    uint32_t gi, ci, xid;
    uint32_t pids[HEALTH_PIDS], pids_n;
    bool sure; /* exactly these ended, or nobody else was there */
};
struct blame *blame_new(void);
void blame_free(struct blame *b); /* NULL-safe */
void blame_start(struct blame *b, const char *uuid, uint32_t gi, uint32_t ci, uint32_t xid, int64_t now_ms);
/* It is known; no-op when nothing of this waits. gi, ci as far as they were told: HEALTH_WHOLE, on either side, agrees with every
 * instance. */
void blame_culprit(struct blame *b, const char *uuid, uint32_t gi, uint32_t ci, uint32_t xid, uint32_t pid);
void blame_tick(struct blame *b, const struct inventory_snapshot *s, const struct driver_process *list, uint32_t n, int64_t now_ms);
bool blame_next(struct blame *b, struct blame_verdict *ret_verdict);

#endif
