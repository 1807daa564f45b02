/* kind_table.h - the inside of struct kind_table, for kind.c and kind_crd.c
 *
 * SHAPE  customs: one record a CRD, with an arena that holds the kind, its texts and schemas.
 * OWNER  pointers to a kind are good as long as the table, also after its CRD was replaced or removed: open watches hold them. What is
 *        replaced is kept in `retired`.
 * LIMIT  KIND_CUSTOM_MAX CRDs.
 */
#ifndef CODEC_KIND_TABLE_H
#define CODEC_KIND_TABLE_H
#include "codec/kinds/kind.h"

#define KIND_CUSTOM_MAX 1000 /* CRDs; large clusters have about 300 */
#define KIND_KEY_MAX 640     /* "group/plural": two names of at most 253 bytes */

struct map;
struct kind_custom {
    struct arena *arena;
    struct kind *kind; /* in the arena */
};
struct kind_table {
    struct map *by_plural, *by_kind; /* "group/name" -> const struct kind * */
    struct kind_custom *customs;
    uint32_t customs_n, customs_cap;
    struct arena **retired;
    uint32_t retired_n, retired_cap;
    const struct kind **order;
    uint32_t order_n, order_cap;
    uint64_t generation;
};
/* The built-in kinds, in discovery order. SOURCE scripts/generate-schema, from data/kinds.tsv and data/kinds-columns.tsv. */
extern const struct kind schema_kinds[];
extern const uint32_t schema_kinds_n;

void kind_table_retire(struct kind_table *t, struct arena *a); /* takes it over; freed with the table */
void kind_table_index(struct kind_table *t); /* after a change: maps and order anew */

#endif
