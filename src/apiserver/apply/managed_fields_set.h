/* managed_fields_set.h - sets of field paths, in the shape in which managedFields stores them
 *
 * SHAPE  a node is a JSON object; its members are path elements (see managed_fields.h). A node without members is one path that is in the
 *        set; a node with members is in the set itself only when it holds ".". NULL is the empty set.
 */
#ifndef APISERVER_MANAGED_FIELDS_SET_H
#define APISERVER_MANAGED_FIELDS_SET_H
#include "codec/schema/schema.h"

/* How server-side apply sees a value: by its members, by its items, or as one piece. */
enum field_shape { FIELD_LEAF, FIELD_MEMBERS, FIELD_KEYED, FIELD_SET };
enum field_shape field_shape(const struct schema *s, const struct json *v);
const struct schema *field_member_type(const struct schema *s, const struct json *member);
const struct schema *field_item_type(const struct schema *s);
/* `k:{"name":"main"}` of an item; NULL when it lacks a key that has no default. */
const char *field_item_key(struct arena *a, const struct schema *list, const struct json *item);
const char *field_set_key(struct arena *a, const struct json *item); /* `v:"x"` */
/* The path element of an item, of either kind; NULL: it has none. */
const char *field_item_element(struct arena *a, const struct schema *list, const struct json *item);
/* "f:" and the member's key. */
const char *field_member_element(struct arena *a, const struct json *member);

/* The items of a list by their path elements: of a long list by a table. */
struct field_items {
    struct json **items;
    const char **elements; /* NULL: this item has none */
    uint32_t n;
    struct map *table;
};
void field_items_init(struct field_items *x, struct arena *a, const struct schema *s, const struct json *list);
struct json *field_items_find(struct field_items *x, const char *element); /* the first of them, or NULL */
void field_items_free(struct field_items *x);
#define _cleanup_field_items_ _cleanup_(field_items_free)

/* All paths of an object that can be owned (not apiVersion, kind, metadata.name, ...). */
struct json *field_set_of(struct arena *a, const struct schema *s, const struct json *object);
/* Paths whose value is new or other in `now`, and paths that `before` had and `now` lacks. */
void field_set_compare(struct arena *a, const struct schema *s, const struct json *before, const struct json *now,
                       struct json **ret_changed, struct json **ret_removed);

struct json *field_set_union(struct arena *a, const struct json *x, const struct json *y);
struct json *field_set_minus(struct arena *a, const struct json *x, const struct json *y);
struct json *field_set_common(struct arena *a, const struct json *x, const struct json *y);
bool field_set_has(const struct json *node); /* the node itself is in the set */
/* Call fn for each path, as text: `.spec.containers[name="main"].image`. */
void field_set_each(struct arena *a, const struct json *set, void (*fn)(void *arg, const char *path), void *arg);

#endif
