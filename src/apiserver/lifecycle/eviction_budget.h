/* eviction_budget.h - how many pods a PodDisruptionBudget lets go, and its status
 *
 * SOURCE policy/v1: desiredHealthy = minAvailable, or expectedPods - maxUnavailable (percentages of expectedPods,
 * rounded up); disruptionsAllowed = currentHealthy - desiredHealthy, at least 0. expectedPods is what the pods'
 * controllers should have; where minAvailable is a number, and for pods whose controllers have no scale, the pods there are.
 */
#ifndef APISERVER_EVICTION_BUDGET_H
#define APISERVER_EVICTION_BUDGET_H
#include "apiserver/lifecycle/pod_standing.h"
#include "apiserver/request/request.h"

struct eviction_budget {
    const char *name;
    int64_t expected, healthy, desired, allowed;
};
/* Counts the pods of budget (an object) now. */
void eviction_budget_count(struct apiserver *s, struct arena *a, const struct json *budget,
                           struct eviction_budget *ret_b);
/* Budgets whose selector takes pod: how many; the first one goes to ret_budget. */
unsigned eviction_budgets_of(struct apiserver *s, struct arena *a, const struct json *pod,
                             const struct json **ret_budget);
/* Bring the status of all budgets up to date. */
void eviction_budgets_refresh(struct apiserver *s, struct pod_standings *known);
bool eviction_pod_ready(const struct json *pod);

#endif
