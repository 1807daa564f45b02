/* slot_state.h - may a slot be handed out, and if not, why: one answer for the kubelet, the scheduler, the log, pages and people
 *
 * SHAPE  a state and, where there is more to say, a text. Whoever closes a slot calls slot_close; of several reasons the worst stands.
 * ORDER  by how long a slot stays closed: a daemon that starts, a change under way, containers that have to end, a fault.
 * What is open but taken by a container is the kubelet's knowledge (inventory.h has it as owners), not a state.
 */
#ifndef AGENT_SLOT_STATE_H
#define AGENT_SLOT_STATE_H
#include "agent/inventory/inventory.h"

/* Each line: state, its name in pages, annotation and metrics. */
#define SLOT_STATES(X)                                                                                 \
    X(OPEN, "Open")                                                                                    \
    X(MPS_STARTING, "MPSStarting") /* the MPS daemon of its resource does not answer yet */             \
    X(MIG_CHANGING, "MIGChanging") /* a MIG layout is changing its GPU */                               \
    X(OLD_SLICING, "OldSlicing")   /* containers hold its unit by an older slicing, or may hold it */   \
    X(PROBATION, "Probation")      /* its unit works again and has to prove it */                       \
    X(SUSPECT, "Suspect")          /* something was seen on its unit */                                 \
    X(DRAINING, "Draining")        /* its unit waits for a reset */                                     \
    X(LOST, "Lost")                /* its GPU does not answer */                                        \
    X(FAILED, "Failed")            /* its unit needs a reboot or a new board */
enum slot_state {
#define X(name, text) SLOT_##name,
    SLOT_STATES(X)
#undef X
    SLOT_STATES_N
};

struct slot {
    const char *id;        /* what the kubelet sees: "GPU-...", "MIG-...", with "::n" when shared. The index strategy is only of answers, as
                            * in NVIDIA's plugin: the kubelet always sees UUIDs */
    const char *why;       /* more about the state: "XID 79", "held as nvidia.com/gpu by team/pod"; NULL: nothing more */
    uint16_t unit;         /* index in snapshot->units */
    uint16_t replica;      /* 0.. */
    bool shared;           /* one of several of its unit (a resource may hold unshared units beside) */
    enum slot_state state; /* written by slot_close */
};

const char *slot_state_name(enum slot_state state);
bool slot_is_open(const struct slot *s);
/* `why` may be NULL and is kept by reference. True: the slot was open. */
bool slot_close(struct slot *s, enum slot_state state, const char *why);
/* By the health of its unit alone. `why` stands in `a`. */
void slot_close_unit(struct arena *a, struct slot *s, const struct unit *u);
/* "Draining (XID 79)" */
void slot_state_text(const struct slot *s, struct buf *out);
uint32_t slots_open(const struct slot *slots, uint32_t n);
/* "2 Draining (XID 79), 8 MPSStarting": the closed ones of the list, the same reasons together; nothing when all are open. Cut after
 * SLOTS_TEXT bytes or so. */
#define SLOTS_TEXT 400
void slots_closed_text(const struct slot *slots, uint32_t n, struct buf *out);

#endif
