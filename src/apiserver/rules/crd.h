/* crd.h - CustomResourceDefinitions: which kinds there are besides the built-in ones
 *
 * A kind exists from the moment that its definition is in the store until that is gone, and what the disk did not take never was: the kind
 * table follows the store's changes, nobody else changes it.
 */
#ifndef APISERVER_CRD_H
#define APISERVER_CRD_H
#include "apiserver/apply/object_write.h"

/* -E_INVALID: a stored definition cannot be read; the text says which. *ret_d is set all the same. */
int crds_new(struct apiserver *s, struct crds **ret_d, struct err *e);
void crds_free(struct crds *d); /* NULL: the server did not come so far */
/* A change of any object, the moment that the store has it; event NULL: those since the last commit were taken back. */
void crds_changed(struct crds *d, uint32_t kind, const struct store_event *event);

/* Of apply/kind_rules.h. Before a definition is stored: can there be such a kind? Fills in its status, and warns of what it asks for and
 * does not get here. */
void crd_admit(struct object_write *w);
/* Its deletion is asked for. Where finalizers hold objects of its kind, or itself, it stays until the last of them is gone: all are deleted
 * meanwhile, and none is made. SOURCE Kubernetes, its finalizer of definitions, whose name it has here, too. */
void crd_leave(struct apiserver *s, struct arena *a, struct json *crd);
/* May an object of w's kind be created? 405 while its definition leaves. */
bool crd_create_admit(struct object_write *w);
/* A definition was removed: the objects of its kind, which nothing holds, go in the same turn. */
void crd_gone(struct apiserver *s, const struct json *crd);

#endif
