/* amounts.h - a few resources and how much of each, as exact quantities: {"cpu": "500m", "pods": 3}
 *
 * SHAPE  rows in the arena, in the order in which they were added; a namespace's quota has a dozen of them, so finding is a walk.
 * OWNER  names and rows live in the arena given to amounts_init.
 */
#ifndef CODEC_AMOUNTS_H
#define CODEC_AMOUNTS_H
#include "base/quantity.h"
#include "wire/json.h"

struct amounts_row {
    const char *name;
    struct quantity q;
};
struct amounts {
    struct arena *arena;
    struct amounts_row *rows;
    uint32_t n, cap;
};
void amounts_init(struct amounts *x, struct arena *a);
void amounts_read(struct amounts *x, const struct json *map); /* adds a {name: quantity} object; what is no quantity is left out */
const struct quantity *amounts_find(const struct amounts *x, const char *name); /* NULL = not named */
void amounts_add(struct amounts *x, const char *name, struct quantity q);       /* to what is there */
void amounts_add_whole(struct amounts *x, const char *name, int64_t units);
void amounts_add_all(struct amounts *x, const struct amounts *other);
void amounts_raise(struct amounts *x, const struct amounts *other); /* the larger of both, name by name */
void amounts_set(struct amounts *x, const char *name, struct quantity q);
struct json *amounts_json(const struct amounts *x, struct arena *a);    /* {name: "text"}, sorted by name */
const char *amounts_text(const struct amounts *x, struct arena *a);     /* "cpu=1,pods=3", sorted by name */

#endif
