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
/* Print as block YAML (kubectl -o yaml). What is no UTF-8 is written as U+FFFD. */
void yaml_write(struct buf *out, const struct json *v);

#endif
