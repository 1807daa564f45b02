/* schema_openapi.h - the component part of OpenAPI documents, for several types that share what they refer to */
#ifndef CODEC_SCHEMA_OPENAPI_H
#define CODEC_SCHEMA_OPENAPI_H
#include "codec/schema/schema.h"

struct map;
struct schema_openapi {
    struct buf *out;
    struct map *seen;             /* names of components that are printed or queued -> bool: printed as a kind */
    const struct schema **queue;
    uint32_t queue_n, queue_cap, queue_at;
    bool comma;
    bool v2; /* definitions of OpenAPI v2: scalars stand where they are used */
};
void schema_openapi_begin(struct schema_openapi *x, struct buf *out);
/* A kind: its component carries x-kubernetes-group-version-kind. */
void schema_openapi_kind(struct schema_openapi *x, const struct schema *s, const char *group, const char *version, const char *kind);
/* Everything that was referred to and is not printed yet; frees x. */
void schema_openapi_end(struct schema_openapi *x);

#endif
