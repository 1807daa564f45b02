/* rbac_grant.h - nobody gives away more than he has
 *
 * A role may be written only by who has all that it allows, or the verb `escalate` on it; a binding only by who has all that the role
 * allows which it refers to, or the verb `bind` on that.
 * SOURCE Kubernetes, "Privilege escalation prevention and bootstrapping".
 * LIMIT  a rule is looked at as its verbs x groups x resources x names, GRANT_PARTS_MAX in all.
 */
#ifndef APISERVER_RBAC_GRANT_H
#define APISERVER_RBAC_GRANT_H
#include "apiserver/apply/object_write.h"

/* Of apply/kind_rules.h, for the four kinds of RBAC. */
void rbac_grant_admit(struct object_write *w);

#endif
