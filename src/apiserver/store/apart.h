/* apart.h - parts of a stored object that stay text while the rest is changed as a tree
 *
 * WHY    managedFields are a third of a pod and more than half of its values, its spec is half of the rest: most of a write has no use
 *        for the one, and who writes a status cannot change the other.
 * SHAPE  what is apart is not in the object's tree; a text is as it was stored, {NULL, 0} when it is in the tree or there is none. In the
 *        text of an object managedFields stand last in metadata, and spec right behind it.
 */
#ifndef APISERVER_APART_H
#define APISERVER_APART_H
#include "base/arena.h"
#include "wire/json.h"

struct apart {
    struct bytes managed; /* metadata.managedFields, an array ... */
    struct json *entries; /* ... or, for who will look at them, a tree of their own: to be joined before the object is printed */
    struct bytes spec;    /* an object */
};
enum {
    APART_MANAGED = 1, /* managedFields stay text; else they are a tree of their own */
    APART_SPEC = 2,    /* spec stays text, where it stands right behind metadata; else it is in the tree */
};
/* The tree without managedFields, parts: what of it stays text. *ret_apart refers to the body. NULL: the text is not one that we read
 * whole. */
struct json *apart_split(struct arena *a, struct bytes body, unsigned parts, struct apart *ret_apart);
/* Back into the tree; what cannot be read is left out. */
void apart_join_managed(struct arena *a, struct json *object, struct apart *x);
void apart_join(struct arena *a, struct json *object, struct apart *x);
/* Print the object with what is apart. */
void apart_write(struct buf *out, const struct json *object, const struct apart *x);

#endif
