/* schema_table.h - the generated tables: built-in types and kinds
 *
 * SOURCE scripts/generate-schema, from data/schema/, data/kinds.tsv and data/kinds-columns.tsv.
 * ORDER  schema_roots by (group, version, kind); schema_kinds in discovery order.
 */
#ifndef CODEC_SCHEMA_TABLE_H
#define CODEC_SCHEMA_TABLE_H
#include "codec/kind.h"

struct schema_root {
    const char *group, *version, *kind;
    const struct schema *schema;
};
extern const struct schema_root schema_roots[];
extern const uint32_t schema_roots_n;
extern const struct kind schema_kinds[];
extern const uint32_t schema_kinds_n;

#endif
