/* managed_fields.h - who owns which field of an object, and server-side apply
 *
 * SHAPE  a set of paths is a tree in the shape of FieldsV1: members "f:NAME" (field or map key), `k:{"key":"value"}` (item of a keyed
 *        list), `v:VALUE` (item of a set), "." (the thing itself). A path without children below it ends in {}.
 * SOURCE structured-merge-diff as documented in "Server-Side Apply"; schema (list type, keys, atomic) from codec/schema/schema.h. Values
 *        without schema are merged as maps, lists without schema are atomic.
 */
#ifndef APISERVER_MANAGED_FIELDS_H
#define APISERVER_MANAGED_FIELDS_H
#include "codec/schema/schema.h"

struct managed_writer {
    const char *manager, *api_version, *subresource, *time;
};
/* What a write did to an object, as sets of paths. */
struct managed_change {
    struct json *changed, *removed;
};
struct managed_change managed_fields_compare(struct arena *a, const struct schema *s, const struct json *old, const struct json *object);
/* What changed belongs to the writer and to nobody else. */
void managed_fields_own(struct arena *a, struct json *object, struct managed_change change, const struct managed_writer *writer);
/* The same for who has only a status to own, which nobody has yet: his entry, to follow the others, which stay the text that they are.
 * NULL: they have to be looked at. */
struct json *managed_fields_added(struct arena *a, struct bytes entries, struct managed_change change, const struct managed_writer *writer);
/* Both, after a write that is no apply: what changed between old (NULL = created) and object. */
void managed_fields_update(struct arena *a, const struct schema *s, const struct json *old, struct json *object,
                           const struct managed_writer *writer);

struct managed_conflict {
    const char *manager, *operation, *api_version, *subresource, *path;
    struct managed_conflict *next;
};
/* Merge `config` into `live` (NULL = the object is new). Without force, fields that others own with another value are
 * conflicts: 1 and *ret_conflicts. 0: *ret_object is the result with its managedFields. -E_INVALID: config has two
 * items with one key, or lacks a key. */
int managed_fields_apply(struct arena *a, const struct schema *s, const struct json *live, const struct json *config,
                         bool force, const struct managed_writer *writer, struct json **ret_object,
                         struct managed_conflict **ret_conflicts, struct err *e);

#endif
