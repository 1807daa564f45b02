/* apart.h - parts of a stored object that stay text while the rest is changed as a tree
 *
 * WHY    managedFields are a third of a pod and more than half of its values, its spec is half of the rest: most of a write has no use
 *        for the one, and who writes a status cannot change the other.
 * SHAPE  what is apart is not in the object's tree; a text is as it was stored, {NULL, 0} when it is in the tree or there is none. In the
 *        text of an object managedFields stand last in metadata, and spec right behind it. Who adds to a text reads none of it: what he
 *        adds is printed before its closing bracket.
 */
#ifndef APISERVER_APART_H
#define APISERVER_APART_H
#include "base/arena.h"
#include "wire/json.h"

struct apart {
    struct bytes managed; /* metadata.managedFields, an array */
    struct bytes spec;    /* an object */
    struct json *managed_added, *spec_added; /* an entry and members that are to follow those in the text; NULL = none */
};
/* The tree without managedFields, and without spec where that is wanted and spec stands right behind metadata. *ret_apart refers to the
 * body. NULL: the text is not one that we read whole. */
struct json *apart_split(struct arena *a, const struct blob *body, bool without_spec, struct apart *ret_apart);
/* A member of spec, be it in the tree or apart. NULL: there is none. */
const struct json *apart_spec_get(struct arena *a, const struct json *object, const struct apart *x, const char *key);
/* Put one there. */
void apart_spec_add(struct arena *a, struct json *object, struct apart *x, const char *key, struct json *v);
/* Back into the tree; what cannot be read is left out. */
void apart_join_managed(struct arena *a, struct json *object, struct apart *x);
void apart_join(struct arena *a, struct json *object, struct apart *x);
/* The text of the object with what is apart. scratch: emptied first. It says where its parts stand (blob.has_parts). */
struct blob *apart_write(struct buf *scratch, const struct json *object, const struct apart *x);

#endif
