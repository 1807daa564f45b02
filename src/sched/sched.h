/* sched.h - the live scheduler: one per process, over HTTP, against any Kubernetes API server
 *
 * The same for `capstan scheduler` on a cluster and for the embedded cluster of `capstan up`.
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H
#include "codec/kinds/queued_kinds.h"
#include "core/policy.h"
#include "kube/client.h"

struct charge_policy;
struct metrics_policy;
struct recorder;
struct scheduler_config {
    const char *const *names;      /* values of spec.schedulerName that are served, NULL terminated; NULL = decode_scheduler_names */
    bool default_scheduler;        /* serve "default-scheduler" too: only where no kube-scheduler runs */
    bool leader_elect;             /* act only while holding the Lease capstan-scheduler */
    const char *lease_ns;          /* NULL = "kube-system", which is always there */
    const char *identity;          /* NULL = host name and process id */
    struct policy policy;          /* all zero: nobody waits for pods to be ready, queues do not share fairly */
    const struct charge_policy *charge; /* the caller's as long as the scheduler; NULL: quota counts what pods ask for */
    const struct metrics_policy *metrics; /* the same; NULL: all LocalQueues have their series */
    bool hold;                     /* let nobody in: show what waits, and look after what runs */
    bool look;                     /* never lead: read and keep up, for preview.h */
    struct recorder *recorder;     /* record/recorder.h: keeps what is taken in and decided; its own from now on. NULL: nobody */
    bool sweep_always;             /* for tests: names that nobody needs go in every turn, so that whoever still uses one is caught */
    /* May be NULL. Called once, when everything has been read and the Lease was won for the first time (at once without election). A lost
     * Lease halts the client, so that whoever shares it stops too, until it is won back. */
    void (*on_leading)(void *arg);
    job_waits_fn job_waits; /* pods of jobs that do are not bound (domains/unadmitted_pods.h). NULL: none does */
    bool (*grouping)(void *arg, const struct json *pod); /* nor are those on whom somebody is about to write their group. NULL: nobody is */
    bool groups_volcano;           /* so it is with Volcano's scheduler name, where there are PodGroups (domains/unadmitted_pods.h) */
    void *arg;
};

struct scheduler;
struct scheduler *scheduler_new(struct loop *l, struct kube_client *c, const struct scheduler_config *config);
/* Nothing is decided or sent any more, also by others that share the client of one that has led, but for Events about what was done (run
 * the loop until kube_client_untold_n is 0, if they are to arrive); what was sent is answered yet. */
void scheduler_stop(struct scheduler *s);
/* NULL-safe. The lease is given back if all is answered; else it runs out: whoever leads next must not decide before our last bind has
 * landed, of which it would not know. So stop it first, and run the loop until kube_client_unanswered_n is 0. */
void scheduler_free(struct scheduler *s);

struct scheduler_counts {
    uint64_t cycles_n, changes_n, binds_n, bind_failures_n, admits_n, evictions_n;
    uint64_t bind_waits_n; /* binds that were held back until another pod had its devices */
    bool synced, leading;
};
struct scheduler_counts scheduler_counts(const struct scheduler *s);
/* For its metrics: a pod has lost a scheduling gate, so long after its Workload was admitted. */
void scheduler_pod_ungated(struct scheduler *s, const char *gate, const char *queue, bool is_group, double seconds);
/* Its metrics as Prometheus reads them, appended. */
void scheduler_page(const struct scheduler *s, bool openmetrics, struct buf *out);
/* Nothing to decide and nothing in flight: what is pending waits for something else to change. */
bool scheduler_quiet(const struct scheduler *s);

/* For tests and soak runs. */
struct state;
struct state *scheduler_state(struct scheduler *s);

#endif
