/* node_table.h - all nodes, the way decisions read them
 *
 * SHAPE  hot part as arrays by slot: flags, and two dense matrices (slot x resource column) of allocatable and free amounts. Cold part
 *        (labels, taints, devices, seats) in `struct node`. A slot is reused after its node is gone and its last seat is free.
 *        Column 0 is "pods".
 * ORDER  slots are given in order of arrival, which differs from one start of the program to the next; wherever equal nodes must be told
 *        apart, `rank` does it: it orders the nodes as their names do.
 * LIMIT  LIMIT_RESOURCES columns, made for what nodes have, never for what pods ask for; a resource without a column fits nowhere.
 */
#ifndef CORE_NODE_TABLE_H
#define CORE_NODE_TABLE_H
#include "core/place/device_table.h"
#include "core/state/id_map.h"
#include "core/state/selector.h"

enum node_flag { NODE_KNOWN = 1, NODE_READY = 2, NODE_UNSCHEDULABLE = 4, NODE_GAINED = 8, NODE_TAINTED = 16 };
struct node_feedback {       /* as in node_record */
    int64_t at_ms, period_ms, network_bps;
    uint32_t n;
    struct device_feedback all[];
};
struct node_load {           /* what follows from it (core/score/load.h) */
    int64_t from_ms, until_ms;
    uint32_t n;
    uint8_t strain[];        /* by device: enum load_strain */
};
struct node {
    name_id name;
    uint32_t labels_n, taints_n;
    uint32_t first_seat;     /* list through seat.next */
    const struct label *labels;
    const struct taint *taints;
    uint64_t record_seq;     /* journal position of the last change of the record itself */
    struct device_table devices;
    struct node_feedback *feedback; /* NULL: none */
    struct node_load *load;  /* NULL: all of its devices are calm */
    uint32_t seats_n, port_seats_n;
    uint32_t promised_n;     /* lone pods that wait for others to leave it (preempt/lone.h) */
    int32_t promised_highest; /* their highest priority, as the cycle began */
    bool has_devices_twice;  /* the API has named one device for two pods */
    uint32_t twins;          /* the same number as others that can give the same (core/score/twins.h); 0: not taken in yet */
};
#define NODE_JOURNAL 16384u
#define TWINS_UNKNOWN UINT32_MAX
struct node_table {
    struct node *nodes;      /* slot 0 is never used: 0 = no node */
    uint8_t *flags;
    int64_t *allocatable, *free;
    uint32_t n, cap, known_n;
    uint32_t *holes;
    uint32_t holes_n, holes_cap;
    struct id_map by_name;
    const struct intern *names;
    uint32_t *rank;          /* by slot: rank[a] < rank[b] exactly when the name of a sorts before that of b */
    uint64_t ranked_n;       /* times that all have got other ranks, in the same order */
    uint32_t *sorted;        /* slots by name */
    uint32_t sorted_n;
    uint32_t stride, columns_n;
    name_id columns[LIMIT_RESOURCES];
    uint64_t labels_seq;     /* changes of labels so far, nodes that come or go among them */
    uint64_t seq;            /* touches so far; of the last NODE_JOURNAL `journal` has the slots, 0 where the node was touched since */
    uint32_t *journal;
    uint64_t *touched;       /* by slot: the journal position after its last touch */
    uint64_t *eased;         /* the same of its last touch after which it may hold more, or others, than before */
    uint32_t *idle_twins;    /* by slot: what twins_idle (core/score/twins.h) has found since; TWINS_UNKNOWN: it has not looked */
    uint32_t *gained;        /* nodes with more room or a better record since the last cycle */
    uint32_t gained_n, gained_cap;
};
void node_table_init(struct node_table *t, name_id pods, const struct intern *names);
void node_table_fini(struct node_table *t);
/* Is the slot this node's still, and not that of another which came after it was gone? */
static inline bool node_table_has(const struct node_table *t, uint32_t slot, name_id name)
{
    return slot < t->n && t->nodes[slot].name == name;
}
uint32_t node_table_slot(struct node_table *t, name_id name); /* makes an unknown node (no room, not ready) when new */
uint32_t node_table_find(const struct node_table *t, name_id name);
int32_t node_table_column(struct node_table *t, name_id resource);            /* makes it when new; -1: too many */
int32_t node_table_find_column(const struct node_table *t, name_id resource); /* -1: no node has had it yet */
int64_t node_table_total(const struct node_table *t, name_id resource);       /* what all nodes that are ready have; NO_END at most */
/* False: the record says what is known already (heartbeats), nothing was touched. */
bool node_table_set(struct node_table *t, uint32_t slot, const struct node_record *r);
void node_table_gone(struct node_table *t, uint32_t slot);
void node_table_drop_if_unused(struct node_table *t, uint32_t slot);
void node_table_touch(struct node_table *t, uint32_t slot);
void node_table_taken(struct node_table *t, uint32_t slot); /* touch: a pod took some of it, and nothing else is new */
void node_table_gain(struct node_table *t, uint32_t slot); /* touch, and remember that somebody who waits may fit now */
void node_table_gained_clear(struct node_table *t);

static inline int64_t *node_free(const struct node_table *t, uint32_t slot)
{
    return &t->free[(size_t)slot * t->stride];
}
static inline int64_t *node_allocatable(const struct node_table *t, uint32_t slot)
{
    return &t->allocatable[(size_t)slot * t->stride];
}
static inline struct label_list node_labels(const struct node_table *t, uint32_t slot)
{
    return (struct label_list){t->nodes[slot].labels, t->nodes[slot].labels_n};
}

#endif
