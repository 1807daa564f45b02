/* schema_protobuf_crd.h - inside schema_protobuf: the schemas of CustomResourceDefinitions, which are messages on the wire and JSON
 * Schema in JSON
 *
 * SOURCE apiextensions.k8s.io/v1, JSONSchemaProps: field numbers, and the JSON forms of its unions (a schema or a bool, a schema or a list,
 *        a schema or names).
 * LIMIT  nodes counts on up to LIMIT_JSON_NODES; depth_max messages inside each other.
 */
#ifndef CODEC_SCHEMA_PROTOBUF_CRD_H
#define CODEC_SCHEMA_PROTOBUF_CRD_H
#include "wire/json.h"

/* Returns 0 and the schema, or -E_INVALID, -E_LIMIT. */
int schema_decode_json_schema(struct arena *a, struct bytes message, uint32_t *nodes, uint32_t depth_max, struct json **ret_schema,
                              struct err *e);
/* UTF-8 without NUL. */
bool schema_protobuf_is_text(struct bytes b);

#endif
