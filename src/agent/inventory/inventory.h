/* inventory.h - the one model of the node's devices: GPU -> GPU instance -> compute instance -> slot -> pod
 *
 * SHAPE  `units` are what can be handed to containers: every GPU whose MIG mode is off, and every compute instance. Slots are the shares
 *        of units that a resource offers (agent/inventory/resource.h): a projection, not stored here but for who has them.
 * OWNER  one writer (this file); everybody else holds counted, immutable snapshots.
 * Everything that must survive a restart (health and why, who was given which slot, MIG intents) is in the journal.
 */
#ifndef AGENT_INVENTORY_H
#define AGENT_INVENTORY_H
#include "agent/driver/driver.h"

/* Each line: state, its name, may it be handed out. SOURCE docs/design/0003-agent.md */
#define UNIT_HEALTHS(X)                                                                                                          \
    X(HEALTHY, "Healthy", true)                                                                                                  \
    X(SUSPECT, "Suspect", false)     /* something was seen; watched, not handed out */                                           \
    X(DRAINING, "Draining", false)   /* pods have to leave before a reset */                                                     \
    X(PROBATION, "Probation", false) /* works again, proving it */                                                               \
    X(FAILED, "Failed", false)       /* needs a reboot or a new board */
enum unit_health {
#define X(name, text, usable) UNIT_##name,
    UNIT_HEALTHS(X)
#undef X
};

struct unit {
    const struct driver_gpu *gpu; /* of snapshot->reading */
    const struct driver_mig *mig; /* NULL: the whole GPU */
    const char *uuid;
    enum unit_health health; /* the worse of the GPU's and the instance's own; on a lost GPU at least UNIT_SUSPECT */
    uint32_t xid;        /* last critical one; 0 none */
    int64_t since_ms;    /* wall time of the last change of health */
    uint32_t generation; /* counts changes of this unit: identity, health */
};
/* Who has a slot, as far as is known: from Allocate (no pod yet), from podresources, from the journal. */
struct slot_owner {
    const char *resource, *slot;
    const char *ns, *pod, *container; /* "" while unknown */
};
struct inventory_snapshot {
    uint32_t refs;
    uint64_t generation;
    const struct driver_reading *reading; /* never NULL: while the driver is missing it has no GPUs */
    struct unit *units; /* by (gpu index, gi, ci) */
    uint32_t units_n;
    struct slot_owner *owners; /* by (resource, slot) */
    uint32_t owners_n;
    bool owners_known;  /* the last list of podresources was whole: what has no owner is nobody's */
    /* A kubelet is asked who has what, and its answer is short, or there is none: what has no owner in it may be somebody's. What would
     * destroy (MIG, another slicing, a reset) waits. Without a kubelet this is false. */
    bool owners_unsure;
    struct arena *arena; /* NULL: the snapshot is one block of memory */
};
const struct inventory_snapshot *inventory_snapshot_ref(const struct inventory_snapshot *s);
void inventory_snapshot_unref(const struct inventory_snapshot *s); /* NULL-safe */
const struct unit *inventory_snapshot_unit(const struct inventory_snapshot *s, const char *uuid); /* NULL: none */

struct inventory;
const char *unit_health_name(enum unit_health health);
bool unit_health_usable(enum unit_health health); /* may be handed out */

/* journal_path NULL: nothing is kept (simulated nodes). A torn tail is cut off (inventory_cut_bytes says how much); anything else damaged
 * is -E_INVALID; another agent on the same journal is -E_CONFLICT. */
int inventory_open(struct loop *l, const char *journal_path, struct inventory **ret_i, struct err *e);
void inventory_close(struct inventory *i); /* NULL-safe */
uint64_t inventory_cut_bytes(const struct inventory *i);
const struct inventory_snapshot *inventory_now(struct inventory *i); /* borrowed: good until the next change; never NULL */
/* Called (once per turn, however many changes) after a change. Several listeners. */
void inventory_listen(struct inventory *i, void (*fn)(void *arg, const struct inventory_snapshot *s), void *arg);
void inventory_unlisten(struct inventory *i, void (*fn)(void *arg, const struct inventory_snapshot *s), void *arg); /* not inside a call */

/* NULL: the driver is missing, nothing is known (health and owners are kept for when it is back). */
void inventory_set_reading(struct inventory *i, const struct driver_reading *r);
/* gi, ci 0xffffffff: the whole GPU with all its instances. */
void inventory_set_health(struct inventory *i, const char *gpu_uuid, uint32_t gi, uint32_t ci, enum unit_health health, uint32_t xid);
/* The kubelet was promised these slots; ns and pod "" when it did not say for whom. Written to the journal before it returns. */
int inventory_claim(struct inventory *i, const char *resource, const char *const *slots, uint32_t n, const char *ns, const char *pod,
                    const char *container, struct err *e);
/* A list of podresources. What it names is so. What it does not name stays: an owner with a pod until `gone` says so (missing_ms: for how
 * long lists that were whole have not named it), a claim until lists have been whole for ten seconds since, and this one is complete: the
 * kubelet names a pod only after its Allocate has been answered. */
struct owners_seen {
    const struct slot_owner *owners;
    uint32_t n;
    bool whole;    /* the kubelet has all of the pods that it has ever begun: agent/inventory/pod_absence.h */
    bool complete; /* and all that are to come: no claim is of one that it does not name */
    bool (*gone)(void *ctx, const struct slot_owner *o, int64_t missing_ms); /* NULL: what is not named is gone */
    void *ctx;
};
void inventory_see_owners(struct inventory *i, const struct owners_seen *seen);
void inventory_set_owners(struct inventory *i, const struct slot_owner *owners, uint32_t n); /* the whole truth, from who knows it */
void inventory_owners_unknown(struct inventory *i, bool unsure); /* podresources does not answer: the owners stay, until it does */
/* Free-form intents of transactions (MIG): one record per key, latest wins; value "" removes. */
int inventory_intent_set(struct inventory *i, const char *key, const char *value, struct err *e);
const char *inventory_intent(const struct inventory *i, const char *key); /* NULL: none */

#endif
