/* schema_table.h - the generated table of built-in types; that of kinds is in kinds/kind_table.h
 *
 * SOURCE scripts/generate-schema, from data/schema/ and data/kinds.tsv.
 * ORDER  schema_roots by (group, version, kind).
 */
#ifndef CODEC_SCHEMA_TABLE_H
#define CODEC_SCHEMA_TABLE_H
#include "codec/schema/schema.h"

struct schema_root {
    const char *group, *version, *kind;
    const struct schema *schema;
};
extern const struct schema_root schema_roots[];
extern const uint32_t schema_roots_n;

#endif
