/* check_list.h - status.admissionChecks of a Workload: which checks its queue demands, what they say, and the list as it should be
 *
 * Pure: JSON in, JSON out, times are arguments. SOURCE Kueue for what stands in an entry and when it is reset.
 */
#ifndef SCHED_CHECKS_CHECK_LIST_H
#define SCHED_CHECKS_CHECK_LIST_H
#include "wire/json.h"

/* Names of the checks that the ClusterQueue demands, sorted: of who was given the flavors of `admission`; NULL: of everybody. */
struct json *check_list_demanded(struct arena *a, const struct json *queue, const struct json *admission);
/* Are all of these ready? */
bool check_list_ready(const struct json *workload, const struct json *demanded);
/* The Workload's list with these and no others, new ones Pending; NULL: it is so already. */
struct json *check_list_synced(struct arena *a, const struct json *workload, const struct json *demanded, int64_t now_ms);
/* After an eviction: all Pending again, without what they added to pods; NULL: nothing to reset. */
struct json *check_list_reset(struct arena *a, const struct json *workload, int64_t now_ms);
/* It is let in again: of those that had been rejected before it is not said any more how often they were tried; NULL: of none it was. */
struct json *check_list_tried_anew(struct arena *a, const struct json *list);
/* Those in this state, as Kueue says it: AdmissionCheck in Retry state: "a" (no nodes yet). NULL: none is. */
const char *check_list_told(struct arena *a, const struct json *workload, const char *state);
/* When the last of those that ask for another try may be asked again; 0: none says when. */
int64_t check_list_retry_ms(const struct json *workload);

/* Does onFlavors of a check name every flavor of the queue with this spec, or none, which is the same? */
bool check_list_all_flavors(const struct json *flavors, const struct json *spec);
/* A name into its place in a sorted array of names, if it is new. */
void check_list_add(struct arena *a, struct json **list, const char *name);

#endif
