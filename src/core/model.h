/* model.h - the state, laid out (inside core only; others use core/state.h)
 *
 *   queue ──heap──> gang ──members──> pod ──seat──┐
 *     │              └──seats (planned ahead)─────┤
 *   quota tree                                    └──> seat = room taken on one node, with its devices
 *
 * OWNER  the state owns all. Gangs and queues are pointers (heaps need that), the rest are slots in arrays; slot 0 = none.
 * ORDER  gangs: priority, creation, uid, key; members: creation, key. No list is ever walked in hash order.
 */
#ifndef CORE_MODEL_H
#define CORE_MODEL_H
#include "base/heap.h"
#include "core/decide.h"
#include "core/explain.h"
#include "core/quota.h"
#include "core/shape_table.h"
#include "core/state.h"

struct seat {
    uint32_t node;           /* 0: the slot is free */
    uint32_t next, prev;     /* on the node; next also links free slots */
    uint32_t shape, labels;
    uint32_t pod;            /* 0: held for a member that does not exist yet */
    uint32_t queue;          /* quota node charged with the seat's requests (queues without flavors), 0 = none */
    struct gang *gang;       /* NULL: a foreign pod */
    uint32_t pod_set;
    struct device_bits devices;
};

struct pod {
    name_id key, uid, pod_set, node_name, devices;
    int32_t priority;
    int64_t created_ms;
    uint32_t shape, labels;
    uint32_t seat;           /* 0: takes no room */
    uint32_t member_at;      /* index in gang->members */
    struct gang *gang;       /* NULL: foreign */
    uint8_t phase;           /* enum pod_phase */
    bool deleting, gated, ours;
    bool assumed;            /* we bound it; the API has not said so yet */
};

/* A pod set of a planned gang. */
struct gang_set {
    name_id name;
    uint32_t shape, labels;
    uint32_t placed_shape;   /* shape with the labels and tolerations of the chosen flavors; 0 before admission */
    int32_t count;
    int32_t done_n;          /* members that succeeded */
    int32_t reclaimed_n;     /* of count: the dialect says that they are over; at most count */
};
struct charge {
    name_id flavor, resource;
    int64_t amount;
};
enum park { PARK_NONE, PARK_SELF = 1, PARK_QUOTA = 2, PARK_NODES = 4, PARK_NEIGHBOURS = 8, PARK_QUEUE = 16, PARK_TIME = 32 };
#define PARK_SHAPES 6
struct gang {
    size_t heap_at, timer_at;
    const struct intern *names;
    name_id key, ns, local_queue, queue_name, uid, hold_text;
    enum gang_source source;
    int32_t priority, min_members;
    int64_t created_ms, not_before_ms, retry_ms;
    bool known;              /* a record came (or it is a lone pod); else only pods name it */
    bool planned, active, on_hold, finished;
    /* ours */
    bool admitted;           /* quota charged, places held */
    bool confirmed;          /* the API said so too */
    bool burst;              /* members were bound; later ones are bound one by one */
    bool evict_sent;
    bool say_again;          /* the ADMIT of a group that runs already was not written: hand it out again */
    uint8_t failures_n;      /* of its writes, in a row */
    struct queue *home;      /* whose heap it stands in */
    struct queue *queue;     /* that charges it while admitted; NULL = no quota */
    uint32_t admitted_at;    /* index in queue->admitted */
    uint32_t gang_at;        /* index in state.gangs */
    uint32_t work_at;        /* index + 1 in state.work, 0 = not in it */
    uint32_t parked_at;      /* index + 1 in state.parked, 0 = not parked */
    uint8_t park;            /* bits of enum park: what can wake it */
    uint8_t park_shapes_n;   /* PARK_SHAPES + 1: too many, any node wakes it */
    uint32_t park_shapes[PARK_SHAPES];
    struct gang_set *sets;
    uint32_t sets_n;
    struct amount *min_of_task;
    uint32_t min_of_task_n;
    uint32_t *members;       /* pod slots, unordered */
    uint32_t members_n, members_cap;
    uint32_t *seats;         /* planned: held for members to come */
    uint32_t seats_n, seats_cap;
    uint32_t bound_n;        /* members with a seat */
    struct flavor_choice *choices;
    uint32_t choices_n;
    struct charge *charges;
    uint32_t charges_n;
    struct reason *reason;   /* one block */
    uint64_t reason_hash;
    struct queue *counted_queue;
    uint32_t counted_local;  /* local queue slot, 0 = none */
    uint8_t counted;         /* enum counted */
};
enum counted { COUNTED_NOT, COUNTED_PENDING, COUNTED_ADMITTED };

struct queue {
    name_id name;
    bool known, closed, unlimited, borrow_stops, has_groups, drained, flavors_missing;
    bool reclaims_any;       /* may take its nominal quota back from whoever borrowed it */
    bool preempts_to_borrow; /* borrowWithinCohort */
    enum queue_strategy strategy;
    enum stop_policy stop;
    struct selector namespaces;
    const struct resource_group *groups;
    uint32_t groups_n;
    const struct quota_record *quotas;
    uint32_t quotas_n;
    name_id cohort;
    void *block;
    uint32_t quota;          /* node of the tree */
    struct heap heap;        /* gangs to try */
    struct gang *blocked;    /* StrictFIFO: the head that did not fit; nothing behind it is tried */
    bool unexplained;        /* somebody came in behind the blocked head */
    uint32_t pending_n;
    struct gang **admitted;
    uint32_t admitted_n, admitted_cap;
};
struct local_queue {
    name_id key, ns, queue;
    enum stop_policy stop;
    bool known;
    uint32_t pending_n, admitted_n;
};
struct name_space {
    name_id name;
    struct label_list labels;
};
struct flavor {
    name_id name;
    bool known;
    struct label_list labels;
    const struct taint *taints;
    const struct toleration *tolerations;
    uint32_t taints_n, tolerations_n;
    void *block;
};

/* One try-and-take-back step. */
enum undo_kind { UNDO_SEAT_TAKE, UNDO_QUOTA };
struct undo_step {
    enum undo_kind kind;
    uint32_t id;             /* seat, or quota node */
    name_id flavor, resource;
    int64_t amount;
};
struct undo_log {
    struct undo_step *steps;
    uint32_t n, cap;
};

struct view_table;
struct state {
    struct intern *names;
    name_id name_pods, name_cpu, name_memory;
    int32_t column_cpu, column_memory;
    uint32_t device_columns[LIMIT_RESOURCES]; /* columns of extended resources */
    uint32_t device_columns_n, columns_seen_n;
    struct node_table nodes;
    struct shape_table shapes;
    struct view_table *views;
    struct quota quota;
    struct undo_log undo;
    struct seat *seats;
    uint32_t seats_n, seats_cap, seat_hole, seats_live_n;
    uint32_t anti_seats_n;   /* seats whose pods have required anti-affinity */
    bool neighbours_changed; /* a pod came or went since the last cycle */
    bool spread;             /* score of the last cycle */
    struct pod *pods;
    uint32_t pods_n, pods_cap, pod_hole, pods_live_n;
    struct id_map pod_by_key, gang_by_key, queue_by_name, local_queue_by_key, namespace_by_name, flavor_by_name;
    struct gang **gangs;
    uint32_t gangs_n, gangs_cap;
    struct queue **queues;   /* [0]: gangs without a queue */
    uint32_t queues_n, queues_cap;
    struct local_queue *local_queues;
    uint32_t local_queues_n, local_queues_cap;
    struct name_space *namespaces;
    uint32_t namespaces_n, namespaces_cap;
    struct flavor *flavors;
    uint32_t flavors_n, flavors_cap;
    struct gang **work;      /* admitted gangs with something to settle: late pods, lost places, evictions */
    uint32_t work_n, work_cap;
    struct gang **parked;
    uint32_t parked_n, parked_cap;
    struct heap timers;      /* gangs by retry_ms */
    bool queues_changed;     /* queue, cohort, flavor, namespace: wake all that wait in queues */
    int64_t now_ms;          /* of the last cycle */
    struct buf text;         /* scratch */
};

/* state.c */
struct gang *gang_find(const struct state *s, name_id key);
struct queue *queue_find(const struct state *s, name_id name);
struct flavor *flavor_find(const struct state *s, name_id name);
struct local_queue *local_queue_find(const struct state *s, name_id key);
struct label_list namespace_labels(const struct state *s, name_id ns);
/* The queue that a gang asks for; NULL with ret_missing = 0: needs no quota; NULL and a name: it does not exist. */
struct queue *gang_asks_queue(const struct state *s, const struct gang *g, name_id *ret_missing);

/* seat.c */
uint32_t seat_take(struct state *s, uint32_t node, uint32_t shape, uint32_t labels, struct gang *gang, uint32_t pod_set,
                   bool choose); /* devices from what is free; else none yet */
void seat_free(struct state *s, uint32_t seat);   /* for good: wakes who waits for the room */
void seat_untake(struct state *s, uint32_t seat); /* part of an undone search */
void seat_charge(struct state *s, uint32_t seat, uint32_t queue);

/* seat_devices.c */
void seat_choose_devices(struct state *s, struct seat *seat); /* all that it asks for; it has none */
void seat_take_told_devices(struct state *s, uint32_t seat);  /* what the API says of its pod, where that is something else */
void seats_count_devices(struct state *s, uint32_t node);     /* those in use, anew */
void seats_new_devices(struct state *s, uint32_t node);       /* the node's table is another one, seats have been translated */
bool seat_lacks_devices(const struct state *s, const struct seat *seat);
void seats_wake_holders(struct state *s, uint32_t node); /* gangs that hold places there must look whether they are still good */
void shape_release(struct state *s, uint32_t shape); /* view.c: unref, and drop its cached view with the last reference */

#endif
