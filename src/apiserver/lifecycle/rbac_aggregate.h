/* rbac_aggregate.h - ClusterRoles with an aggregationRule: their rules are those of all roles that its selectors choose, and of those that
 * the aggregates among them choose
 *
 * SOURCE Kubernetes' clusterrole-aggregation controller. Runs a moment after any ClusterRole changed.
 */
#ifndef APISERVER_RBAC_AGGREGATE_H
#define APISERVER_RBAC_AGGREGATE_H
#include "apiserver/request/request.h"

void rbac_aggregate(struct apiserver *s);

#endif
