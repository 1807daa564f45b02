/* json_index.h - look for many members of one object without walking it each time
 *
 * SHAPE  a cursor: who asks in the object's own order finds the next member at once. Who does not, walks small objects and
 *        uses a table, made then, for large ones.
 * OWNER  the object must not change while it is indexed. Free with json_index_free (or _cleanup_json_index_).
 */
#ifndef WIRE_JSON_INDEX_H
#define WIRE_JSON_INDEX_H
#include "wire/json.h"

struct json_index {
    const struct json *object; /* anything else than an object has no members */
    const struct json *next;   /* after the one found last */
    struct map *table;
};
static inline struct json_index json_index_of(const struct json *object)
{
    return (struct json_index){.object = object};
}
struct json *json_index_find(struct json_index *x, struct bytes key);
void json_index_free(struct json_index *x);
#define _cleanup_json_index_ _cleanup_(json_index_free)

#endif
