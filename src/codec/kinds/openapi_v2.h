/* openapi_v2.h - the OpenAPI v2 document: all kinds in one, as kubectl before 1.27 and older generators read it
 *
 * SHAPE  {"swagger": "2.0", "info", "paths": {path: {"patch": ...}}, "definitions": {name: type}}. Paths say only what kubectl asks for:
 *        that PATCH of a kind knows dryRun and fieldValidation.
 * SOURCE Swagger 2.0; definitions of custom kinds as apiextensions-apiserver publishes them; gnostic's openapi.v2 messages.
 */
#ifndef CODEC_OPENAPI_V2_H
#define CODEC_OPENAPI_V2_H
#include "codec/kinds/kind.h"

/* `definition_of` gives a stored CustomResourceDefinition in the arena, NULL when there is none. */
void openapi_v2(const struct kind_table *t, struct arena *a, const struct json *(*definition_of)(void *ctx, const struct kind *k),
                void *ctx, struct buf *out);
/* The same document as a protobuf message openapi.v2.Document. */
void openapi_v2_protobuf(const struct json *document, struct buf *out);

#endif
