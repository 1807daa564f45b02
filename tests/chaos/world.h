/* world.h - the whole system on a virtual clock: API server in memory, scheduler, controllers and kubelets over a carrier with faults;
 * and a mirror of the pods, watched without faults, that checks each change against what must always hold */
#ifndef TESTS_CHAOS_WORLD_H
#define TESTS_CHAOS_WORLD_H
#include "apiserver/apiserver.h"
#include "base/collections/map.h"
#include "base/random.h"
#include "jobs/embedded.h"
#include "jobs/jobs.h"
#include "kube/watch.h"
#include "net/http_local.h"
#include "sched/sched.h"
#include "sim/kubelet/kubelets.h"
#include "sim/node/node_object.h"

#define WORLD_NODES 6
#define WORLD_GPUS 4
#define KINDS_N 5 /* of kinds.h */
/* resourceGroups of a queue with %d GPUs */
#define WORLD_QUOTA                                                                                                    \
    "[{\"coveredResources\":[\"cpu\",\"nvidia.com/"                                                                    \
    "gpu\"],\"flavors\":[{\"name\":\"any\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1000},"                   \
    "{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":%d}]}]}]"
/* Of a pod with %d GPUs */
#define POD_SPEC                                                                                                       \
    "\"containers\":[{\"name\":\"main\",\"image\":\"busybox\",\"resources\":{\"requests\":{\"cpu\":\"1\"},\"limits\":" \
    "{\"nvidia.com/gpu\":%d}}}]"

struct mirror_pod {
    char node[64], gang[96], devices[256], limits[16];
    int32_t gpus_n, priority;
    int64_t bound_ms;
    bool bound, over, failed, deleting, admitted, gated; /* over: Succeeded or Failed */
    bool held;               /* has the finalizer of Kueue's webhook */
    bool replaced;           /* the user made another in its place */
    bool spares;             /* it succeeded after that */
    bool preempted;          /* by a pod of higher priority */
};

struct asked;
struct charged;
struct checks;
struct made;
struct world {
    struct loop *loop;
    struct apiserver *server;
    struct http_faults faults;
    struct kube_client *client, *kubelet_client, *quiet_client, *onlooker_client; /* quiet: without faults */
    struct scheduler *scheduler;
    struct policy policy;    /* even seeds share fairly, three of five count what team0 and team4 have used of q0 */
    struct scheduler_counts counts; /* of schedulers before this one */
    struct jobs *jobs;
    struct embedded_controllers *controllers;
    struct kubelets *kubelets;
    struct kube_watch *pods_watch, *events_watch;
    struct map *pods; /* "ns/name" -> struct mirror_pod */
    struct checks *checks;
    struct made *made;
    struct asked *asked_for;
    struct charged *charged;
    uint64_t seed;       /* of four, three charge by rules of their own (charged.h) */
    struct map *spared; /* group of Kueue's -> int: replacements of members that succeeded all the same */
    struct random random;
    struct arena *arena;
    char fault[512]; /* the first broken rule, "" = none */
    bool asked;     /* an answer is awaited */
    char record_path[32];
    const char *record_dir; /* odd seeds: each scheduler is recorded there, and replayed when it has ended; NULL: none */
    uint64_t replayed_n;    /* changes */
    bool keeps_all; /* Workloads stay when they are over, and jobs without a queue run */
    uint64_t events_n, restarts_n, preemptions_n, late_n, groups_n, given_up_n; /* groups: Kueue's, made so far; given up: and deleted */
    uint64_t lone_n; /* pods of no queue that were preempted */
    uint64_t shared_left_n; /* steps after which a group of a Volcano queue was on its way out */
    uint64_t kinds_started_n[KINDS_N]; /* pods of theirs that got a node */
};
void world_broken(struct world *w, const char *format, ...) PRINTF_LIKE(2, 3); /* a rule: the first is kept */
void world_init(struct world *w, uint64_t seed);
void world_fini(struct world *w);
/* Write through the quiet client as a user would; the answer is ignored (names collide, things are gone: that is the point). */
void world_post(struct world *w, const char *path, const char *format, ...) PRINTF_LIKE(3, 4);
void world_delete(struct world *w, const char *path);
void world_patch(struct world *w, const char *path, const char *format, ...) PRINTF_LIKE(3, 4);
/* The items of a list, in `a`; NULL: none are there. */
const struct json *world_read(struct world *w, struct arena *a, const char *path);
/* A pod of a group of Kueue's. One that fails or is evicted is replaced at once, as the group's makers do, by one that does not fail. */
void world_create_member(struct world *w, const char *group, const char *name, int total, bool fails);
void world_delete_group(struct world *w, uint64_t number); /* and its Workload; those before it were deleted earlier */
void world_set_faults(struct world *w, bool on);
void world_let_bind(struct world *w); /* what the scheduler is about to do is done */
/* Every rule that must hold after each step. False: w->fault says which. */
bool world_check(struct world *w);
/* Rules of a world without faults: a scheduler that begins anew sees every gang as the one that ran through it all does, and would start,
 * bind or evict nothing. */
bool world_check_onlooker(struct world *w);
/* Rules of a world at rest: these, and no gang bound in part. */
bool world_check_rest(struct world *w);
/* The scheduler's process ends and another begins; what was under way is lost. */
void world_restart_scheduler(struct world *w);
struct scheduler_counts world_counts(const struct world *w); /* of all schedulers so far */

#endif
