/* object.h - stored objects as trees: in storage version, in an arena of the caller */
#ifndef APISERVER_OBJECT_H
#define APISERVER_OBJECT_H
#include "apiserver/server.h"
#include "apiserver/store/apart.h"
#include "wire/json.h"

/* Stored state of an object, NULL when absent. */
struct json *object_read(struct apiserver *s, struct arena *a, const struct kind *k, const char *ns, const char *name);
/* The same without managedFields: to be looked at, not written back. */
struct json *object_read_plural(struct apiserver *s, struct arena *a, const char *group, const char *plural,
                                const char *ns, const char *name);
/* All objects of a kind in ns (NULL: everywhere), in the order of their names, as an array; NULL when there are none. */
struct json *object_list_plural(struct apiserver *s, struct arena *a, const char *group, const char *plural, const char *ns);
/* The kind whose objects the store keeps under this id; NULL: its definition has gone. */
const struct kind *object_kind(struct apiserver *s, uint32_t kind_id);
/* The kind that an object, or a reference to one, names with its apiVersion and kind; NULL: the server has none of that name. */
const struct kind *object_kind_named(struct apiserver *s, struct arena *a, const struct json *named);
bool object_kind_is(const struct kind *k, const char *group, const char *plural);
const char *object_api_version(struct arena *a, const struct kind *k, const char *version); /* "batch/v1", "v1" */

/* of our own store: never fails; what an older program stored deeper than we read is left out */
struct json *object_parse(struct arena *a, const struct blob *body);
struct blob *object_text(struct apiserver *s, const struct json *object); /* as the store keeps it */
struct blob *object_text_apart(struct apiserver *s, const struct json *object, const struct apart *apart);
/* apiVersion, kind and metadata first, as people expect to read them; fills in the first two. */
struct json *object_ordered(struct arena *a, struct json *object, const char *api_version, const char *kind);
bool object_terminating(const struct json *object);
bool object_text_terminating(const struct blob *text); /* the same of a stored text. WHY  a look before the parse: most live */
/* A custom kind whose schema has defaults: it may have got them after an object was stored, so they are filled in when it is read. */
bool object_defaults_late(const struct kind *k, const char *version);
/* A stored object as a request for `version` sees it, in place. */
void object_show(struct arena *a, const struct kind *k, struct json *object, const char *version);

#endif
