/* crd.h - CustomResourceDefinitions: which kinds there are besides the built-in ones */
#ifndef APISERVER_CRD_H
#define APISERVER_CRD_H
#include "apiserver/server.h"
#include "codec/schema/field_errors.h"

/* After a CustomResourceDefinition was created, changed or deleted (object NULL = deleted): kind table and conditions.
 * crd_name always set. Called from the write path before storing (object may be changed: status), errors refuse the
 * write. */
int crd_admit(struct apiserver *s, struct arena *a, const struct json *old, struct json *object,
              struct field_errors *errors);
/* What a definition or a webhook configuration asks for and does not get here, as a sentence; NULL = nothing. */
const char *crd_unsupported(const struct kind *k, const struct json *object);
/* The same of the rules in its schemas. */
const char *crd_rules_unsupported(const struct kind *k, const struct json *object);
void crd_removed(struct apiserver *s, const struct json *crd);
/* At the start: the kinds of the stored definitions. -E_INVALID: one of them cannot be read; the text says which. */
int crd_load(struct apiserver *s, struct err *e);

#endif
