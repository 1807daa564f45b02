/* health_node.h - a node of three GPUs without a driver, for the tests of health: GPU 0 and 1 whole, GPU 2 with three MIG instances */
#ifndef TEST_HEALTH_NODE_H
#define TEST_HEALTH_NODE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include "agent/health/health.h"

#define NODE_UNITS 5

struct node {
    struct driver_gpu gpus[3];
    struct driver_mig migs[3];
    struct driver_reading reading;
    struct driver_link links[9];
    struct unit units[NODE_UNITS];
    struct slot_owner owners[16];
    struct inventory_snapshot s;
};

static inline void node_make(struct node *n)
{
    memset(n, 0, sizeof *n);
    for (uint16_t i = 0; i < 3; i++) {
        n->gpus[i].index = n->gpus[i].minor = i;
        (void)snprintf(n->gpus[i].uuid, sizeof n->gpus[i].uuid, "GPU-%u", i);
    }
    n->gpus[2].mig_capable = n->gpus[2].mig_on = true;
    n->gpus[2].migs = n->migs;
    n->gpus[2].migs_n = 3;
    for (uint8_t i = 0; i < 3; i++) {
        n->migs[i].gi = (uint8_t)(i + 1);
        (void)snprintf(n->migs[i].uuid, sizeof n->migs[i].uuid, "MIG-%u", i);
    }
    n->reading = (struct driver_reading){.refs = 1, .number = 10, .gpus = n->gpus, .gpus_n = 3};
    for (uint32_t i = 0; i < NODE_UNITS; i++) {
        struct unit *u = &n->units[i];
        u->gpu = &n->gpus[i < 2 ? i : 2];
        u->mig = i < 2 ? NULL : &n->migs[i - 2];
        u->uuid = u->mig ? u->mig->uuid : u->gpu->uuid;
    }
    n->s = (struct inventory_snapshot){.refs = 1, .reading = &n->reading, .units = n->units, .units_n = NODE_UNITS, .owners = n->owners};
}

/* Linked by NVLink, as boards before Ampere: reset together. */
static inline void node_link(struct node *n, uint32_t a, uint32_t b)
{
    n->reading.links = n->links;
    n->links[a * 3 + b].nvlinks_n = n->links[b * 3 + a].nvlinks_n = 6;
    n->gpus[a].compute_major = n->gpus[b].compute_major = 7;
}

static inline struct driver_event node_xid(const char *uuid, uint32_t gi, uint32_t ci, uint64_t xid)
{
    struct driver_event e = {.gi = gi, .ci = ci, .kind = DRIVER_EVENT_XID, .data = xid};
    (void)snprintf(e.uuid, sizeof e.uuid, "%s", uuid);
    return e;
}

#endif
