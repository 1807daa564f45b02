/* yaml.h - YAML text to JSON trees and back, as kubectl reads and writes it
 *
 * YAML 1.1 scalars (yes/no/on/off/y/n, 0x1f, 010, 1_000, .5, ~) become what kubectl would send; quoted scalars stay text.
 * LIMIT LIMIT_YAML_ALIASES, LIMIT_YAML_DOCUMENTS, LIMIT_JSON_DEPTH, LIMIT_JSON_NODES.
 */
#ifndef WIRE_YAML_H
#define WIRE_YAML_H
#include "wire/json.h"

/* All documents of text (JSON text is accepted too). ret_docs is a JSON array whose items are the documents; empty ones are left out.
 * Errors carry line and column. info may be NULL (duplicate keys are found here as well). */
int yaml_parse(struct arena *a, struct bytes text, struct json **ret_docs, struct json_parse_info *info, struct err *e);
/* Where values stand in the text, from 1, for those who find fault with what they mean. */
struct yaml_place {
    uint32_t line, column;         /* of the value; 0: it came by << */
    uint32_t key_line, key_column; /* of the key before it; 0: it has none */
};
struct yaml_places;
struct yaml_places *yaml_places_new(void);
void yaml_places_free(struct yaml_places *p); /* NULL-safe */
/* v: a value of what was parsed with them, as it was returned; others stand nowhere (all 0). */
struct yaml_place yaml_place_of(const struct yaml_places *p, const struct json *v);
/* As yaml_parse, and notes the places of all values; JSON text is read as the YAML that it nearly is. */
int yaml_parse_places(struct arena *a, struct bytes text, struct json **ret_docs, struct json_parse_info *info, struct yaml_places *places,
                      struct err *e);
/* Print as block YAML (kubectl -o yaml). What is no UTF-8 is written as U+FFFD. */
void yaml_write(struct buf *out, const struct json *v);

#endif
