/* kernel_log.h - XIDs from the kernel's log, for what the driver does not tell itself
 *
 *     /dev/kmsg ─lines since the start─▶ held for a second ─▶ told, unless the driver told the same meanwhile
 *     driver's event ─▶ told, unless the log was first; where only the line says how severe it is: held for a second, told without one
 *
 * WHY    Events are lost where the driver cannot register them (old, no permission, WSL), while it is closed for a reset and while the
 *        agent's event thread hangs. The log has them all, and the process at fault, but not always the MIG instance: the driver's own
 *        events are preferred, so a line waits for them.
 * SHAPE  The same: same GPU, same number, within KERNEL_LOG_SAME_MS, and not of two different GPU instances. One error may be several
 *        lines.
 * UNIT   now_ms: of the loop. Reads are made when asked for and never block; a fifo or a plain file that grows will do for /dev/kmsg.
 * LIMIT  KERNEL_LOG_HELD lines and events wait. Until there is room further lines are dropped (a fault that floods the log is known by its
 *        first ones), and events are told without their severity.
 */
#ifndef AGENT_KERNEL_LOG_H
#define AGENT_KERNEL_LOG_H
#include "agent/driver/driver.h"

#define KERNEL_LOG_HOLD_MS 1000
#define KERNEL_LOG_SAME_MS 10000
#define KERNEL_LOG_HELD 64

struct kernel_log;
/* Errors as open says: -E_NOTFOUND, -E_DENIED, -E_IO; -E_INVALID: a folder or another device. */
int kernel_log_open(const char *path, struct kernel_log **ret_log, struct err *e);
void kernel_log_free(struct kernel_log *k); /* NULL-safe */
/* The driver tells this. False: the log was first, and it is known; or it is held for its line and comes out of kernel_log_next. Events
 * that are no XID and no double bit error are always news. */
bool kernel_log_is_news(struct kernel_log *k, const struct driver_event *event, int64_t now_ms);
/* Reads what is there, some hundred lines at most; lines about GPUs that `r` does not have are dropped. Ask every second. */
void kernel_log_read(struct kernel_log *k, const struct driver_reading *r, int64_t now_ms);
/* The next line or event whose second is over; false: none. *ret_known: the driver told of it already, only `pid` is more (0: not even
 * that). */
bool kernel_log_next(struct kernel_log *k, int64_t now_ms, struct driver_event *ret_event, bool *ret_known);

#endif
