/* id_map.h - from an interned name to a slot number
 *
 * SHAPE  open addressing over (key, value) pairs of u32, linear probing, at most 3/4 full. Key 0 is "empty" and never stored.
 * ORDER  never iterated, so slot order can reach no decision.
 */
#ifndef CORE_ID_MAP_H
#define CORE_ID_MAP_H
#include <stdint.h>

struct id_map {
    uint32_t *slots; /* key, value, key, value ... */
    uint32_t cap, n; /* cap: pairs, a power of two */
};
void id_map_fini(struct id_map *m);
uint32_t id_map_get(const struct id_map *m, uint32_t key); /* 0 when absent */
void id_map_put(struct id_map *m, uint32_t key, uint32_t value);
void id_map_remove(struct id_map *m, uint32_t key);

#endif
