/* job_watches.h - one list of what tells how jobs go: their pods, jobs of every kind, why they wait, what queues borrow
 *
 *     API server ──pods, jobs of all dialects, Workloads, pod groups, ClusterQueues──▶ four receivers
 */
#ifndef SIM_JOB_WATCHES_H
#define SIM_JOB_WATCHES_H
#include "codec/kinds/queued_kinds.h"
#include "kube/watch.h"

typedef void job_watches_receive(void *arg, enum kube_event event, struct bytes object);
struct job_receivers {
    job_watches_receive *on_job, *on_pod, *on_reason, *on_queue; /* on_reason: Workloads and pod groups; on_queue: ClusterQueues */
};
enum { JOB_WATCHES_MAX = 12 + QUEUED_KINDS_N };
struct job_watches {
    struct kube_client *client;
    void *arg; /* of all receivers */
    struct kube_watch *list[JOB_WATCHES_MAX];
    uint32_t n;
};

void job_watches_init(struct job_watches *w, struct kube_client *client, void *arg);
/* All of the list: 7, and one for each of the queued kinds. */
void job_watches_add_all(struct job_watches *w, const struct job_receivers *to);
/* One more, of a kind that the list does not have. */
void job_watches_add(struct job_watches *w, const char *path, job_watches_receive *on_event);
void job_watches_end(struct job_watches *w); /* also of one that is all zero */

#endif
