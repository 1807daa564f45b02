/* schema_path.h - where a walk through an object stands, printed only when there is something to say
 *
 * SHAPE  a chain on the C stack from the value up to the root: a member name, or an index when name is NULL.
 */
#ifndef CODEC_SCHEMA_PATH_H
#define CODEC_SCHEMA_PATH_H
#include "base/arena.h"

struct schema_path {
    const struct schema_path *up; /* NULL at the root */
    const char *name;
    uint32_t index;
};
/* "spec.containers[0].image"; "" for the root. */
void schema_path_text(struct buf *out, const struct schema_path *at);
char *schema_path_copy(struct arena *a, const struct schema_path *at);

#endif
