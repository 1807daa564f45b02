/* validate_suggest.h - corrections that a schema alone can make: misspelt fields, missing quotes, a value where a list belongs */
#ifndef CODEC_VALIDATE_SUGGEST_H
#define CODEC_VALIDATE_SUGGEST_H
#include "codec/schema/schema.h"

/* The field that was meant by the unknown one at the path (as schema_prune prints it), or NULL. */
const char *suggest_field(const struct schema *s, const struct json *object, const char *path);
/* Rename or remove the unknown field at path. */
void suggest_apply(struct arena *a, const struct schema *s, struct json *object, const char *path);
/* 8080 -> "8080" where a text belongs, "3" -> 3 where a number belongs, x -> [x] where a list belongs. */
void suggest_types(struct arena *a, const struct schema *s, struct json *v);
/* Edit distance, letters compared without case, cut at `most` + 1. */
size_t suggest_distance(const char *a, const char *b, size_t most);

#endif
