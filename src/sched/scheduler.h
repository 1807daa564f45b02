/* scheduler.h - inside the sched room: the scheduler's parts
 *
 *   main.c      the loop: drain, apply, decide, act
 *   sources.c   watches -> changes
 *   hypernode_source.c  HyperNodes -> the topology of tiers, and what their status says
 *   seen.c      pods and gangs as the API server last showed them (what reports need and core does not tell)
 *   act.c       plan -> writes; answers -> outcomes
 *   policy_source.c  ConfigMaps that say how nodes are chosen
 *   run_notes.c how long what is over ran; forecast/: by what it is remembered, limits of time, how a start is told
 *   ahead/      when those that wait start; would this start? asked of a scheduler that only looks
 *   record/     what is taken in and decided, kept in files; played back
 *   groups/     pod groups that have no object of their own, or are parts of larger ones
 *   hung/       gangs that run and compute nothing
 *   relayout/   MIG layouts of idle GPUs follow what waits
 *   names.c     names that nobody needs any more are given back
 *   bind.c      one pod to one node, asked until the answer is certain
 *   binding/    which binds wait until another pod has its devices
 *   telling     when a reason is told; pace.c: how often figures are written; group_tally.c: figures that are counted as they change
 *   machines/   NodePools and NodeClaims: what machines Karpenter can bring
 *   checks/     admission checks: the list in a Workload's status, what is wrong with those of a queue
 *   status_*.c  what people see: Workloads, queues, pod groups, pods
 *   serve/      what Prometheus sees, and where
 */
#ifndef SCHED_SCHEDULER_H
#define SCHED_SCHEDULER_H
#include "base/collections/map.h"
#include "codec/decode/decode.h"
#include "core/decide.h"
#include "core/explain/explain.h"
#include "core/state/state.h"
#include "kube/cache.h"
#include "kube/event.h"
#include "kube/lease.h"
#include "kube/object.h"
#include "kube/workqueue.h"
#include "loop/loop.h"
#include "sched/figures/group_tally.h"
#include "sched/figures/metrics.h"
#include "sched/groups/native_groups.h"
#include "sched/record/recorder.h"
#include "sched/telling/amount.h"
#include "sched/telling/pace.h"
#include "sched/sched.h"
#include "sched/telling/telling.h"

/* ---------------------------------------------------------------- seen.c --------------------------------------------------------- */

/* Reasons of a pod's condition PodScheduled=False. Autoscalers buy nodes for pods with the first, and for no others; the rest is Kueue's
 * reason of its gang. */
#define POD_UNSCHEDULABLE "Unschedulable"
#define POD_AWAITS_MEMBERS "WaitingForMembers"
#define POD_AWAITS_GROUP "PodGroupNotFound"
#define POD_GATED "SchedulingGated" /* SOURCE Kubernetes; what else it says of such a pod is no news to anybody */
/* It wants machines of Karpenter's: none of those would hold it; limits of NodePools let too few of them come. */
#define POD_NO_MACHINE "NoMachineFits"
#define POD_MACHINES_LIMITED "MachinesLimited"

/* A pod is to be deleted: its gang gives its places back. */
struct seen_removal {
    const char *event;           /* what is told of it, once it is done: "Preempted", "Evicted" */
    char *why;
    char *disruption;            /* before, its condition DisruptionTarget says this; NULL: it does not go for a pod of higher priority */
};
struct seen_pod {
    name_id key, uid, gang;      /* gang: always one, "pod/ns/name" for a lone pod */
    name_id part;                /* of a gang of several PodGroups: the key of its own, "native/ns/name"; 0 = of none */
    uint32_t gang_at;            /* its place in the gang's list */
    enum pod_phase phase;
    name_id node, device_asks, device_limits, scheduler; /* as in pod_record */
    name_id nominated, nominating; /* what its status names; what we have sent last */
    int64_t nominating_ms;       /* when; 0 = never */
    bool bound, admitted, ours, gated, deleting;
    bool shares, share_slots;    /* as in pod_record */
    int32_t limit_s, priority;   /* the same */
    struct seen_removal *removal; /* NULL: it stays */
    int64_t saved_ms;            /* what its annotation capstan.dev/checkpoint-time says; 0 = nothing */
    bool marking, marked;        /* the condition of its removal is sent; it is written */
    struct telling telling;
    char *told;                  /* what its condition says; NULL = nothing */
    bool told_unschedulable, told_awaits, told_machines; /* its reason is the one that autoscalers look for; that it awaits members; that
                                                          * no machine comes for it */
    uint64_t told_tree;          /* hash of the tree of reasons that we have sent last; 0 = none */
    uint8_t told_parts;          /* what of enum telling_parts that had */
};
struct seen_gang {
    name_id key, local_queue;
    enum gang_source source;
    name_id queue_title;         /* as in gang_record */
    enum queue_kind queue_kind;
    name_id *pods;               /* keys */
    uint32_t pods_n, pods_cap;
    int32_t priority;            /* the highest of its pods' */
    int32_t bound_n, running_n, succeeded_n, failed_n, pending_n;
    bool admitted;               /* core has let it in; cleared when it waits again */
    bool admit_sent;             /* we have written that it is admitted: an Event says so once the object shows it */
    bool completion_sent;        /* the same where its quota was told before */
    bool evict_sent;             /* we have written that it is evicted: it is counted once the object shows it */
    bool members_missing;        /* waits for pods that do not exist yet */
    bool of_task_missing;        /* those of one task, which has a minimum of its own */
    bool wants_nodes;            /* it might start if there were other nodes, or more */
    uint8_t machines;            /* enum machine_cause of what only Karpenter can bring: why that does not come; FITS: it may */
    uint64_t machines_hash;      /* of all that is told of machines that can come */
    struct {
        int64_t joined_ms, n;    /* of a Workload: pods of its first burst that did not exist, when its last member had come then */
        uint32_t pods_n;
    } unmade;
    name_id nominated;           /* a lone pod: the node that others leave for it */
    bool has_object;             /* Workload or pod group exists; not of a group that is a part of one (groups/native_groups.h) */
    int32_t fewest_n;            /* a pod group: so many have to start together */
    uint8_t shown;               /* a Workload: what its object said last (workload_metrics.c) */
    name_id charged_queue;       /* a Workload: in which ClusterQueue its object said last that it has quota; 0 = never */
    uint64_t kept_out;           /* a Volcano PodGroup: hash of why its queue keeps it out, as its status was last made; 0 = it does not */
    int64_t passing_ms;          /* a Volcano PodGroup: since when its status waits for what follows at once; 0 = it does not */
    bool is_inqueue;             /* a Volcano PodGroup: it said so when it was looked at last, or was about to */
    char *text, *code, *tree;    /* why it waits: sentence, Kueue's reason, tree; NULL = does not wait */
    struct telling telling;
    int64_t joined_ms;           /* when its last member came */
    int64_t placeless_ms;        /* a Workload: its checks are ready since then, and it has no place; 0 = not so */
    uint8_t placeless_n;         /* Events that said it since */
    int64_t bound_ms;            /* wall time when a pod of it was bound last; 0 = not seen */
    int64_t start_ms;            /* when it starts, as it is told (ahead/starts.h); 0 = not known */
    uint8_t start_basis;
    bool run_noted;              /* how long it ran is remembered */
    bool unused_told;            /* a KAI PodGroup: an Event has said what of it does nothing */
    uint64_t phase_sent;         /* the same: hash of its uid, phase and counts, as they were written last; 0 = never */
    uint64_t runs_as;            /* a Workload: hash of the name by which that is */
    int32_t bind_failures_n;
    char *refused;               /* what the API server said to our eviction; NULL: nothing against it */
    int64_t save_asked_ms;       /* since when it is asked to save before it is stopped (stop.c); 0 = it is not */
    bool stop_is_due;            /* that is over: its eviction is being written, or its pods deleted */
    char *stop_why;              /* a pod group: its stop waits for that, and why it is stopped; NULL: it does not */
};
struct seen_pod *seen_pod(struct scheduler *s, name_id key);
struct seen_gang *seen_gang(const struct scheduler *s, name_id key); /* NULL: neither its object nor a pod of it is there */
const char *seen_gang_object(const struct scheduler *s, const struct seen_gang *g); /* "ns/name" */
void seen_pod_apply(struct scheduler *s, const struct pod_record *p);
void seen_pod_told(struct seen_pod *p, struct bytes text, struct bytes reason); /* its condition PodScheduled; empty: there is none */
void seen_pod_object(struct scheduler *s, const struct pod_record *p, struct bytes object); /* what of it is looked for in its text */
/* The Volcano queue of a pod's group, as the core knows it; 0: none. */
name_id seen_volcano_queue_of(void *scheduler, name_id pod);
/* The pod is to be deleted; what it is removed for already stands. disruption may be NULL. */
void seen_pod_remove(struct seen_pod *p, const char *event, const char *why, const char *disruption);
void seen_pod_gone(struct scheduler *s, name_id key);
void seen_gang_apply(struct scheduler *s, const struct gang_record *g);
/* A group that has no priority of its own gets that of its pods. They may come after it: then it is told again. */
void seen_gang_rank(const struct scheduler *s, struct gang_record *g);
void seen_gang_gone(struct scheduler *s, name_id key);
void seen_read_alike(struct scheduler *s); /* Workloads of s->alike are told again, and it is empty */
void seen_mark_names(struct scheduler *s);
void seen_farewell(struct scheduler *s); /* it ends, and says what it has not said yet of what it did */
void seen_fini(struct scheduler *s);

/* ---------------------------------------------------------------- the whole ------------------------------------------------------ */

enum source_id {
    SOURCE_TOPOLOGIES,
    SOURCE_FLAVORS,
    SOURCE_COHORTS,
    SOURCE_QUEUES,
    SOURCE_LOCAL_QUEUES,
    SOURCE_CHECKS,
    SOURCE_HYPERNODES,
    SOURCE_COMPOSITES,
    SOURCE_WORKLOADS,
    SOURCE_VOLCANO_QUEUES,
    SOURCE_VOLCANO_GROUPS,
    SOURCE_COSCHEDULING,
    SOURCE_NATIVE,
    SOURCE_KAI,
    SOURCES_N
};
struct source {
    struct scheduler *scheduler;
    enum source_id id;
    struct kube_cache *cache;
    struct map *specs; /* key -> uint64_t: hash of uid and generation (queues), of its text (PodGroups) that the core last got */
    struct map *held;  /* keys of queues with a stopPolicy */
    struct map *demands; /* keys of queues with admission checks -> uint64_t: hash of these */
};

struct template_sources;
struct hypernode_source;
struct machine_source;
struct run_times;
struct policy_source;
struct scheduler {
    struct scheduler_config config;
    struct loop *loop;
    struct kube_client *client;
    struct kube_recorder *events;
    struct kube_lease *lease;
    uint64_t term;            /* of the lease when we led last; 0 without one */
    uint64_t consumption_ticks; /* of the core that have been told to the status of LocalQueues */
    struct err lease_trouble; /* last told */
    struct loop_timer *wake;

    struct state *state;
    struct intern *names;
    name_id scheduler_names[32];
    uint32_t scheduler_names_n;
    struct decoder decoder;
    name_id queue_name_label;

    /* changes on their way in: records stand in incoming_arena */
    struct change *incoming;
    uint32_t incoming_n, incoming_at, incoming_cap;
    struct arena *incoming_arena, *scratch, *report, *cycle;
    bool turn_asked, leading, told_leading, synced, closing;
    bool look_at_all; /* we lead again, or for the first time: what happened meanwhile is to be told */

    struct kube_watch *pods_watch, *nodes_watch, *namespaces_watch, *classes_watch, *budgets_watch;
    struct source sources[SOURCES_N];
    struct lift *lifts;          /* queues whose hold was lifted a moment ago (sources.c) */
    struct template_sources *template_sources; /* template_sources.c */
    struct hypernode_source *hypernodes; /* hypernode_source.c */
    struct machine_source *machines; /* machines/machine_source.h; NULL: it only looks */
    struct map *classes;         /* PriorityClass name -> int32_t */
    struct group_tally *tally;   /* of Volcano PodGroups */

    struct map *pods, *gangs;    /* key text -> struct seen_pod *, struct seen_gang * */
    uint32_t waiting_n;          /* of these gangs: are told why they wait */
    struct run_times *run_times; /* run_notes.c */
    uint64_t *alike;             /* runs_as of Workloads that are read again, since others of that name ran longer than was known */
    uint32_t alike_n, alike_cap;
    bool counts_runs;            /* some queue promises starts: how long Workloads run counts */
    enum placement placement;    /* by which nodes are chosen now */
    struct policy_source *policies; /* policy_source.c */
    /* May be NULL. A node is about to be taken in: its object and record, which may be changed yet; both empty: it is gone. */
    void (*on_node)(void *arg, const char *name, struct bytes object, struct node_record *record);
    void *on_node_arg;
    struct workqueue *workload_work, *queue_work, *cohort_work, *local_queue_work, *volcano_queue_work, *group_work, *coscheduling_work,
        *native_work, *composite_work, *kai_work, *pod_work, *delete_work, *check_work;
    struct binding *binds;       /* sent, or to be sent again (bind.c) */
    uint32_t binds_in_flight_n;
    struct bind_gate *gate;      /* NULL until a pod with limits was seen (bind.c) */
    struct loop_timer *gate_timer;
    bool gate_timer_on;
    struct bucket tellings;      /* of gangs (telling.h) */
    struct pace *pace;           /* of objects whose figures change all the time; keys "clusterqueues/...", "podgroups/..." */
    struct scheduler_counts counts;
    struct metrics *metrics;
    struct held_nodes *held;     /* checks/held_nodes.h */
    struct gated_pods *gated;
    struct queue_gates *queue_gates; /* binding/queue_gates.h */
    struct stray_pods *strays;
    struct unadmitted_pods *unadmitted;
    struct kept_pods *kept;      /* machines/kept_pods.h */
    struct native_groups *natives; /* groups/native_groups.h */
    struct composites *composites; /* groups/composites.h */
    struct kai_queue_source *kai_queues; /* groups/kai_queue_source.h */
};

/* sources.c */
void sources_start(struct scheduler *s);
/* The core is told of the object once more: something that it is made of beside itself is another one. No-op where it is not there. */
void source_read_again(struct scheduler *s, enum source_id id, const char *key);
void sources_stop(struct scheduler *s);
bool sources_synced(const struct scheduler *s);
/* Where an incoming change is put; the caller fills it, records in s->incoming_arena. Asks for a turn. */
struct change *sources_push(struct scheduler *s);
void sources_tell_local_queues(struct scheduler *s); /* the core, all of them anew */
void sources_hold_changed(void *arg, struct bytes node, const char *holder); /* a held_changed_fn */
/* Next change or NULL; its records are good until sources_drained. */
const struct change *sources_next(struct scheduler *s);
void sources_drained(struct scheduler *s);
struct json *source_get(const struct scheduler *s, enum source_id id, const char *key, struct arena *a); /* key "ns/name" */

/* A ClusterQueue's spec, as its admission checks are: array of what is wrong with them (checks/queue_checks.h). */
struct json *sources_checks_wrong(const struct scheduler *s, const struct json *spec, struct arena *a);
/* Workloads of a namespace (empty: of all) are read again: what they ask for may have changed. */
void sources_read_workloads(struct scheduler *s, struct bytes ns);
/* template_sources.c */
void template_sources_start(struct scheduler *s);
void template_sources_stop(struct scheduler *s);
bool template_sources_synced(const struct scheduler *s);

/* These pod groups are read again: another tier is called by a name that they use, or there is a queue that they name. */
void sources_read_groups(struct scheduler *s, enum source_id id);
/* The core is told of the node once more, as this object shows it. */
void sources_pod_again(void *arg, struct bytes object); /* of a scheduler: as if it had changed */
void sources_node_again(struct scheduler *s, struct bytes object);
/* hypernode_source.c */
void hypernodes_start(struct scheduler *s);
void hypernodes_stop(struct scheduler *s);
void hypernodes_follow(struct scheduler *s); /* the core gets what they are by now */
void hypernodes_on_change(void *arg, enum kube_event event, const char *key, struct bytes object); /* arg: their source */
void composites_on_change(void *arg, enum kube_event event, const char *key, struct bytes object); /* the same of CompositePodGroups */
void composites_on_denied(void *arg);
void hypernodes_tell_all(struct scheduler *s); /* what their status has to say */
bool hypernodes_synced(const struct scheduler *s); /* what else it reads (KAI's Topologies) has been listed */
void hypernodes_gang_gone(struct scheduler *s, name_id gang); /* it asks for no domain of labels any more */
bool hypernode_tier_of(void *ctx, const char *tier_name, int64_t *ret_tier); /* decoder.tier_of */

/* scheduler.c */
void scheduler_synced(struct scheduler *s); /* a source has delivered its first list */
bool scheduler_may_act(const struct scheduler *s); /* it leads, by the clock too */

/* main.c */
/* The core takes a change in. */
static inline void scheduler_apply(struct scheduler *s, const struct change *c)
{
    recorder_change(s->config.recorder, c);
    state_apply(s->state, c);
}
void scheduler_ask_turn(struct scheduler *s);
struct decide_config scheduler_decide_config(const struct scheduler *s);

/* policy_source.c */
struct policy_source *policy_source_new(struct scheduler *s, void (*on_read)(struct scheduler *s)); /* on_read: a map has been read */
void policy_source_free(struct policy_source *p);
bool policy_source_synced(const struct policy_source *p);
void policy_source_expect(struct scheduler *s); /* pods that may come are like those that are there, where the policy looks at that */
void policy_source_follow_queues(struct scheduler *s); /* the core has taken in what queues say of their own */
/* What is wrong with the queue's own, once by an Event for as long as it is so; NULL: nothing, or it is no concern of ours any more. */
void policy_source_tell(struct scheduler *s, const struct kube_object_ref *queue, const char *wrong);
void policy_source_led(struct scheduler *s); /* it leads: what it has to say of the maps is told */

/* run_notes.c. How long it ran is remembered, once it is over: a Workload, as it came by the watch; a gang of pods when one changed. */
void run_note_workload(struct scheduler *s, struct seen_gang *g, const struct json *workload);
void run_note_pods(struct scheduler *s, struct seen_gang *g);
/* How long a Workload runs at most, as far as is known, for the core: its limit, or its longest run by its name. */
void run_notes_expect(struct scheduler *s, const struct json *workload, struct gang_record *g);
void run_named(struct seen_gang *g, const struct json *workload);
/* By what it is remembered (forecast/run_times.h); the Workload, where it is one. In the arena. */
const char *run_name(const struct scheduler *s, struct arena *a, const struct seen_gang *g, const struct json *workload);
int64_t run_began_ms(const struct json *workload); /* it was admitted then; 0: it is not */

/* names.c. Whoever keeps a name_id from one turn to the next marks it there (intern_mark). */
void names_sweep(struct scheduler *s); /* when it is time to */

/* act.c */
void act_submit(struct scheduler *s, const struct plan *plan);
void act_outcome(struct scheduler *s, enum effect effect, name_id gang, name_id pod, int code);
/* Other machines can come than a moment ago (machines/machine_source.h): all that wait for nodes are told, where that is news to them. */
void act_machines_changed(void *arg); /* arg: the scheduler */
void act_delete_pod(void *arg, struct work *w); /* work_fn: a pod that is to be removed, until it is gone or on its way */
/* Others have led: what was decided about Workloads and not written yet may be untrue, and the core decides anew. */
void act_forget_admissions(struct scheduler *s);

void act_bound(struct scheduler *s, name_id gang, name_id pod, name_id uid, name_id node);
void act_bind_failed(struct scheduler *s, name_id gang, name_id pod, name_id node, const struct kube_answer *answer);
void pod_key_split(const char *key, char ns[256], const char **ret_name); /* "ns/name" */

/* bind.c */
void bind_pod(struct scheduler *s, const struct plan_entry *entry);
/* After each change of a pod; when it is gone, or another pod has taken its name. */
void bind_pod_seen(struct scheduler *s, const struct seen_pod *p);
void bind_pod_gone(struct scheduler *s, name_id uid);
void binds_go_on(struct scheduler *s); /* the lease was won back: what was held is sent, or given up where others have led (s->term) */
void binds_mark_names(struct scheduler *s);
void binds_abandon(struct scheduler *s); /* the scheduler goes: no answer may find it */

/* status_workload.c, status_queue.c, status_group.c, status_pod.c, status_check.c: work_fn */
void status_workload(void *arg, struct work *w);
void status_cluster_queue(void *arg, struct work *w);
void status_cohort(void *arg, struct work *w);
void status_local_queue(void *arg, struct work *w);
/* status_queue_ready.c: reason and message of a ClusterQueue's condition Active; problem is core's, NULL when it admits. */
void status_queue_ready(struct scheduler *s, struct arena *a, const struct json *queue, const struct reason *problem,
                        const char **ret_reason, const char **ret_message);
void status_volcano_queue(void *arg, struct work *w);
void status_volcano_group(void *arg, struct work *w);
/* A PodGroup of Volcano's is of this queue and in this phase. */
void status_group_count(struct source *source, const char *key, const char *queue, const char *phase);
/* It is as the core got it last, but for its status, and is counted. To be asked once for each event of it. */
bool status_group_is_echo(struct source *source, const char *key, struct bytes object);
void status_coscheduling_group(void *arg, struct work *w);
void status_native_group(void *arg, struct work *w);
void status_composite_group(void *arg, struct work *w);
void status_kai_group(void *arg, struct work *w);
void status_pod(void *arg, struct work *w);
void status_check(void *arg, struct work *w);
/* The gang's state or reason changed: whatever shows it is written soon. */
void status_gang_changed(struct scheduler *s, struct seen_gang *g);
/* Milliseconds until the gang's reason may be written to the object that says `said`; 0: now (say telling_sent then); -1: nothing to
 * write. */
int64_t status_telling_wait_ms(struct scheduler *s, struct seen_gang *g, const char *text, const char *said, enum telling_rest rest);
/* A Workload that has quota, ready checks and no place, as seen now. */
void status_placeless(struct scheduler *s, struct work *w, struct seen_gang *g, struct kube_object_ref about);
/* status_check.c: a check_finder (checks/queue_checks.h); ctx is the scheduler. */
const struct json *status_find_check(void *ctx, const char *name, struct arena *a);
const struct json *status_find_flavor(void *ctx, const char *name, struct arena *a); /* the same, of ResourceFlavors */
/* LIST (NULL: that of the Workload, which has quota) with what the scheduler's own checks say; NULL: as it is. With another list conditions
 * may be others, too. */
struct json *status_checks_answered(struct scheduler *s, const struct seen_gang *g, const struct json *workload, const struct json *list,
                                    struct work *w, struct json *conditions);
/* Of one that waits: the time is over for which it passed flavors over. True: conditions say so. */
bool status_passed_over_ended(struct scheduler *s, struct work *w, const struct json *workload, struct json *conditions);
/* It ends: what it wrote to a Workload and has not looked at since is told, as far as the object shows it. */
void status_workload_farewell(struct scheduler *s, struct seen_gang *g);
/* stop.c */
struct gang_object_kind {        /* where the objects of gangs are */
    enum source_id source;
    const char *group, *version, *plural, *kind, *api_version;
};
/* Not of lone pods. Strings for ever. */
struct gang_object_kind gang_object_kind(const struct scheduler *s, enum gang_source source);
const struct native_version *native_version(const struct scheduler *s); /* in which PodGroups of scheduling.k8s.io are read and written */
struct stopped_gang {
    struct seen_gang *g;
    struct seen_pod *const *pods;
    uint32_t pods_n;
    const struct json *object;   /* NULL: it has none */
    const struct reason *why;    /* it must go */
};
enum stop { STOP_NOW, STOP_WAITS, STOP_NEVER };
/* May it be stopped? WAITS: it saves, look again after *ret_wait_ms. NEVER: it need not go any more. */
enum stop stop_look(struct scheduler *s, const struct stopped_gang *x, int64_t *ret_wait_ms);
/* act.c: of a Workload: its eviction is not to be written, now or at all. The work comes again. */
bool act_stop_waits(struct scheduler *s, struct work *w, struct seen_gang *g, const struct json *object, const struct reason *why);
/* act.c: of a pod group whose stop waits; else a no-op. */
void act_stop_group(struct scheduler *s, struct work *w, struct seen_gang *g, const struct json *group);

const char *status_evicted_reason(const struct reason *why); /* of condition Evicted */
/* The server refused that this gang is evicted, and said so; "": it did not, or not any more. why: it goes. */
void status_refused_note(struct scheduler *s, struct seen_gang *victim, const struct reason *why, const char *refused);
/* `text`, and how many of those whom `why` waits for were to be evicted in vain. In the arena. */
const char *status_refused_text(const struct scheduler *s, struct arena *a, const struct reason *why, const char *text);
/* Its waiting members are told why. */
void status_members_changed(struct scheduler *s, const struct seen_gang *g);
/* The pod waits, and its pod group does not exist: it is told so, if that is still so when a controller would have made one. */
void status_pod_awaits_group(struct scheduler *s, const struct seen_pod *p, const struct seen_gang *g);
void status_queues_changed(struct scheduler *s); /* all of them */
void status_local_queues_changed(struct scheduler *s); /* all LocalQueues */
void status_local_queues_of(struct scheduler *s, const char *cluster_queue); /* what they say of it may have changed */
void status_cluster_queue_of(struct scheduler *s, const struct json *local_queue);
void status_all_changed(struct scheduler *s);    /* every gang and waiting pod */
void status_volcano_queue_changed(struct scheduler *s, const char *queue); /* "": none */
/* Volcano PodGroups that wait to be let into this queue, of which the core knows these rows: those that may become Inqueue now. */
void status_groups_kept_out_by(struct scheduler *s, struct arena *a, const char *queue, name_id name, const struct queue_usage *rows,
                               uint32_t n);
/* status_promised.c. What OBJECT_PROMISED says of a Workload; NULL: it is promised nothing, or too much to be said. */
const char *status_promised_text(struct scheduler *s, struct arena *a, name_id gang, const struct json *workload);
/* OBJECT_REASON in a patch of an object, where it differs; tree NULL removes it. Returns whether it does. */
bool status_annotate(struct arena *a, struct json *patch, const struct json *object, const char *tree);

#endif
