/* resource_share.h - making a resource table: what its two files share (this room only) */
#ifndef AGENT_RESOURCE_SHARE_H
#define AGENT_RESOURCE_SHARE_H
#include "agent/inventory/resource.h"

/* What becomes of one unit. */
struct unit_plan {
    const char *base_name, *name;
    enum sharing_kind sharing;
    uint32_t replicas;
    uint16_t unit;
    uint8_t rank; /* how exactly the entry names it: 3 by name, 2 by count, 1 all */
    bool renamed, fail_requests_greater_than_one;
};
struct table_maker {
    struct arena *arena;
    const struct inventory_snapshot *snapshot;
    const struct agent_config *config;
    struct buf *warnings; /* may be NULL */
    struct err *e;
    struct unit_plan *plans;
    uint32_t plans_n;
};
void table_warn(struct table_maker *m, const char *format, ...) PRINTF_LIKE(2, 3);
/* Apply sharing.{mps,timeSlicing,keti} to the plans. */
int table_share(struct table_maker *m);

#endif
