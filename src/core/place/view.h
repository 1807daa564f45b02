/* view.h - for each shape: where it fits, how often, and the best node, kept up to date by looking only at touched nodes
 *
 * SHAPE  per shape a tournament over node slots: of each VIEW_FAN scores the winner, of each VIEW_FAN winners the winner, and so on; the
 *        last is the best node. WHY so many: few steps up, and each reads what stands side by side.
 *        Where it is asked for domains of a topology, it keeps the sums of rooms in each of them, too.
 *        Rooms are the same whatever policy nodes are chosen by, scores are not: where queues have policies of their own, a shape has
 *        a view for each that was asked for.
 *        `seq` says up to which journal position of the node table it is right; view_sync repairs the nodes touched since.
 * LIMIT  as many shapes as fit into VIEWS_BYTES are cached, VIEWS_MIN at least; the least recently used one gives way. Each has 10
 *        bytes a node, and 8 a domain of the largest topology.
 * ORDER  greater score, then the node's name.
 */
#ifndef CORE_VIEW_H
#define CORE_VIEW_H
#include "core/state/model.h"

#define VIEW_FAN_BITS 4u
#define VIEW_FAN (1u << VIEW_FAN_BITS)
#define VIEW_LEVELS 9u /* of up to 2^32 nodes, and one */
#define VIEWS_MIN 192u /* SOURCE openb, which has 151 kinds of pods: on 100,000 nodes all of them stay */
#define VIEWS_MAX 4096u
#define VIEWS_BYTES (64u << 20) /* 1,000 shapes on 5,000 nodes; 600 where these are leaves of a topology */
struct view {
    uint32_t shape;          /* 0: unused */
    uint32_t next;           /* place + 1 of another one of the shape, by another policy; 0: there is none */
    enum placement by;
    uint64_t seq, used_tick;
    uint64_t meaning;        /* of its scores (score_meaning) */
    uint32_t n, leaves;      /* node slots looked at; leaves: it is good for so many, 0: it is forgotten */
    uint32_t space;          /* there is memory for so many; behind n all is 0, and no node is known */
    uint32_t *score, *room;
    uint64_t *keys;          /* of winners, those of leaves first: score, then rank, first names being greater */
    uint32_t *winners, root; /* their slots; where the last one stands */
    uint64_t ranked_n;       /* of the nodes, as it was then */
    uint8_t *cause;          /* enum fit_cause */
    uint32_t fits_n;         /* nodes with room */
    uint64_t room_n;         /* sum of room: how many pods of the shape the cluster holds now */
    uint32_t topology;       /* whose domains room_in has; 0: none */
    uint64_t built;          /* its tree, as it was then */
    uint64_t *room_in;       /* by domain: sum of room */
    uint64_t diagnosed_seq;  /* diagnosis below is right for this journal position */
    bool diagnosed_as_is;
    struct diagnosis *diagnosis;
};
struct view_table {
    struct view *views;
    uint32_t *holes;         /* places in `views` whose shape is gone */
    uint32_t n, cap, holes_n, holes_cap;
    uint64_t tick;
};
struct view_table *view_table_new(void);
void view_table_free(struct view_table *t);
/* The view of a shape, up to date. The pointer is good until the next call. Its scores are by any policy; */
struct view *view_sync(struct state *s, uint32_t shape);
struct view *view_scored(struct state *s, uint32_t shape, enum placement by); /* by this one */
/* How many of the shape each domain of the topology holds, by domain; up to date as v is. */
const uint64_t *view_domains(struct state *s, struct view *v, uint32_t topology);
uint32_t view_best(const struct view *v); /* 0: nowhere */
void view_table_forget(struct state *s);  /* scores changed their meaning: all are rebuilt on use */
void view_forget_shape(struct state *s, uint32_t shape); /* its demands are counted anew */

/* Why nodes do not hold (one more of) the shape. */
struct lack {
    name_id name;            /* resource or taint key */
    uint32_t nodes_n;
    int64_t most, need;      /* most free on one matching node */
};
#define LACKS_MAX 16
struct diagnosis {
    uint32_t nodes_n, not_ready_n, unschedulable_n, selector_n, ports_n, devices_n;
    struct lack resources[LACKS_MAX], taints[LACKS_MAX];
    uint32_t resources_n, taints_n;
};
/* As if the nodes were filled up with the shape as far as they go; `as_is`: as they stand, nodes with room are left out. Cached until
 * a node is touched. */
const struct diagnosis *view_diagnose(struct state *s, struct view *v, bool as_is);

#endif
