/* rbac_roles.h - the ClusterRoles that are there without anybody having made them: cluster-admin, admin, edit, view
 *
 * admin, edit and view are aggregates as in Kubernetes: a role with the label rbac.authorization.k8s.io/aggregate-to-edit adds to edit, and
 * thereby to admin.
 */
#ifndef APISERVER_RBAC_ROLES_H
#define APISERVER_RBAC_ROLES_H
#include "apiserver/request/request.h"

/* Made when absent; those of earlier versions of this server are brought to this form, unless somebody changed them. */
int rbac_roles_seed(struct apiserver *s, struct arena *a, struct err *e);

#endif
