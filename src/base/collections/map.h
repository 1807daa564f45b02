/* map.h - hash over a dense array: text keys to a value of fixed size, iterated in insertion order
 *
 * SHAPE  entries stand in one dense array in insertion order; a separate open-addressing table of u32 indexes finds them.
 *        Removing leaves a hole that iteration skips; holes are squeezed out when half the array is holes (on insert only).
 * ORDER  iteration order = insertion order, never hash order.
 * OWNER  keys are copied into the map. Values are `value_size` bytes inside the map: pointers to them are good until the next insert.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/bytes.h"

struct map;
struct map *map_new(size_t value_size);
void map_free(struct map *m); /* NULL-safe; does not look into values */
void map_clear(struct map *m);
size_t map_count(const struct map *m);
void *map_find(const struct map *m, struct bytes key);             /* value or NULL */
void *map_put(struct map *m, struct bytes key, bool *ret_is_new);   /* value (zeroed when new); ret_is_new may be NULL */
bool map_remove(struct map *m, struct bytes key);                   /* false when absent */
struct bytes map_key(const void *value);                            /* of a value in a map: the map's own, until it is removed */
/* Iterate: size_t at = 0; while ((value = map_next(m, &at, &key))) ... Removing during iteration is allowed, inserting is not. */
void *map_next(const struct map *m, size_t *at, struct bytes *ret_key);
static inline void *map_find_text(const struct map *m, const char *key)
{
    return map_find(m, bytes_of(key));
}
/* Where a text stands in a table of this process. WHY keyed: names and keys come from outside, and whoever knew the hash could
 * choose thousands that all stand in one place. Set the key before the first table is made; nothing that is seen depends on it. */
uint32_t hash_for_table(struct bytes text);
void hash_key_set(uint64_t first, uint64_t second);
/* Stable 64-bit hash (same on every machine): of contents. */
uint64_t hash_bytes(const void *data, size_t n, uint64_t seed);

#endif
