/* asked.h - an autoscaler that is asked for nodes, by the check "scaler" of queue q5: what it answers, and what others change meanwhile;
 * and that check of it which lets gangs start before their machines are there */
#ifndef CHAOS_ASKED_H
#define CHAOS_ASKED_H
#include "world.h"

struct asked;
/* ProvisioningRequestConfig "scaler" and the check of that name, ClusterQueue "q5" that demands it, LocalQueue "team5";
 * check "machines", ClusterQueue "q7" that demands it, LocalQueue "team7". */
const char *asked_seed(int at); /* objects, one after the other; NULL: no more */
struct asked *asked_new(struct world *w);
void asked_free(struct asked *s);
void asked_answer(struct world *w); /* the autoscaler says something of some request */
void asked_change(struct world *w); /* a request is deleted, the config or the check is another or gone, q5 demands another check too */
void asked_let_all(struct world *w); /* all is as it was, and all requests are answered with yes */
/* A pod of the queue has a node: it says for which request, as its Workload does. */
void asked_pod_starts(struct world *w, const char *pod, const struct json *metadata);
/* Nothing is asked for whose Workload is over or evicted, and no more often than the config says; what is asked for has its templates; who
 * waits for an answer has asked. */
bool asked_check(struct world *w);
/* Requests made; answered with yes; answered with no, or with a booking that ran out or was revoked; pods that started with one; Workloads
 * that gave up their quota since machines did not come. */
struct asked_counts {
    uint64_t made_n, provisioned_n, failed_n, pods_n, gave_up_n;
};
struct asked_counts asked_counts(const struct asked *s);

#endif
