/* crd.h - CustomResourceDefinitions: which kinds there are besides the built-in ones
 *
 * A kind exists from the moment that its definition is in the store until that is gone, and what the disk did not take never was: the kind
 * table follows the store's changes, nobody else changes it.
 */
#ifndef APISERVER_CRD_H
#define APISERVER_CRD_H
#include "apiserver/server.h"
#include "codec/schema/field_errors.h"

/* -E_INVALID: a stored definition cannot be read; the text says which. *ret_d is set all the same. */
int crds_new(struct apiserver *s, struct crds **ret_d, struct err *e);
void crds_free(struct crds *d);
/* A change of any object, the moment that the store has it; event NULL: those since the last commit were taken back. */
void crds_changed(struct crds *d, uint32_t kind, const struct store_event *event);

/* Before a definition is stored: can there be such a kind? Fills in its status. */
void crd_admit(struct apiserver *s, struct arena *a, const struct json *old, struct json *object, struct field_errors *errors);
/* What a definition or a webhook configuration asks for and does not get here, as a sentence; NULL = nothing. */
const char *crd_unsupported(const struct kind *k, const struct json *object);
/* The same of the rules in its schemas. */
const char *crd_rules_unsupported(const struct kind *k, const struct json *object);
/* A definition was removed: the objects of its kind go in the same turn. WHY no finalizer holds them: who would act on it no longer knows
 * the kind. */
void crd_gone(struct apiserver *s, const struct json *crd);

#endif
