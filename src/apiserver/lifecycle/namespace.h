/* namespace.h - life of namespaces: the initial ones, what each gets, who may create in them, and how they end
 *
 * A namespace with deletionTimestamp takes nothing new and, two seconds later, is emptied step by step: every object in
 * it is deleted as DELETE would; when none is left the finalizer "kubernetes" goes and the namespace with it.
 */
#ifndef APISERVER_NAMESPACE_H
#define APISERVER_NAMESPACE_H
#include "apiserver/apply/object_write.h"

#define NAMESPACE_ROOT_CA "kube-root-ca.crt" /* ConfigMap: pods check this server's certificate by it */

/* default, kube-system, kube-public and kube-node-lease: made when absent. */
int namespace_seed(struct apiserver *s, struct err *e);
/* A namespace was stored: ServiceAccount default and ConfigMap kube-root-ca.crt. */
void namespace_created(struct apiserver *s, const char *name);
/* kube-root-ca.crt of every namespace: made again where it went, put right where somebody changed it. */
void namespace_roots_restore(struct apiserver *s);
/* May an object be created in w->ns? 404 when it does not exist, 403 when it ends. */
bool namespace_admit(struct object_write *w);

/* Of apply/kind_rules.h: its label and finalizer; the server's own stay; what holds it; it says that it ends. */
void namespace_settle(struct object_write *w);
int namespace_stays(struct apiserver *s, struct arena *a, const struct json *ns, struct err *e);
bool namespace_held(const struct json *ns);
void namespace_mark(struct arena *a, struct json *ns);
/* One pass over a terminating namespace. */
void namespace_finish(struct apiserver *s, const char *name);

#endif
