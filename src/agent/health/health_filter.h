/* health_filter.h - which XIDs count, after DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS (only for health.c)
 *
 * SHAPE  sorted by what is more special: a number in `enable` counts, a number in `disable` does not, then "all" and "xids" of either.
 */
#ifndef AGENT_HEALTH_FILTER_H
#define AGENT_HEALTH_FILTER_H
#include "agent/health/health.h"

#define LIMIT_HEALTH_XIDS 256 /* numbers of one variable; the driver has fewer */

struct health_list {
    bool all, xids; /* "all", "xids" are in it */
    uint32_t numbers[LIMIT_HEALTH_XIDS], numbers_n;
};
struct health_filter {
    struct health_list disable, enable;
};
/* `problems`: one line for each word that is neither a number nor "all" nor "xids". */
void health_filter_parse(struct health_filter *f, const char *disable, const char *enable, struct buf *problems);
bool health_filter_off(const struct health_filter *f); /* nothing at all is to be checked */
/* by a variable: unless it is enabled, nobody wants to hear of it */
bool health_filter_disables(const struct health_filter *f, uint32_t xid);
/* What this XID asks for; XID_IGNORE when it does not count. `again`: the unit is in probation after the same XID. `nonfatal`: it is,
 * should its number have errors of both kinds. */
enum xid_action health_filter_action(const struct health_filter *f, uint32_t xid, bool again, bool nonfatal);

#endif
