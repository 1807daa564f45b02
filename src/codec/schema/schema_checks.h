/* schema_checks.h - what a custom kind's schema demands of a value beyond its type: pattern, lengths, numbers, oneOf and their like
 *
 * SHAPE  beside the type (schema.h), and only where there is something to check: most types of most definitions have nothing.
 * LIMIT  those of schema_pattern.c: what it cannot understand or would take too long over is not enforced.
 * SOURCE JSON schema as apiextensions.k8s.io/v1 takes it; the words are kube-openapi's.
 */
#ifndef CODEC_SCHEMA_CHECKS_H
#define CODEC_SCHEMA_CHECKS_H
#include "codec/schema/field_errors.h"
#include "wire/json.h"

struct schema_checks;
/* NULL: nothing to check at this place. */
const struct schema_checks *schema_checks_read(struct arena *a, const struct json *schema);
/* Appends what is wrong at `path`; below it, only what oneOf, anyOf, allOf and not say. */
void schema_checks_run(const struct schema_checks *c, const struct json *v, const char *path, struct field_errors *errors);
/* Does the text hold a match of an RE2 pattern? True when the pattern cannot be understood. */
bool schema_pattern_matches(const char *pattern, const char *text);
/* The same of many texts. False: it cannot be understood, and nothing is said of any. */
bool schema_pattern_finds(const char *pattern, const char *const *texts, uint32_t n, bool *ret_matches);

#endif
