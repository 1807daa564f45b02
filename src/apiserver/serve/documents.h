/* documents.h - documents that are computed from the kind table, and kept until that changes */
#ifndef APISERVER_DOCUMENTS_H
#define APISERVER_DOCUMENTS_H
#include "apiserver/server.h"

struct document {
    struct blob *body;
    char etag[40];
};
struct documents {
    uint64_t generation;        /* of the kind table that they were made from */
    struct map *made;           /* path and form -> struct document */
    char v2_etags[2][24];       /* of the v2 document as JSON and as protobuf; "" = not made yet */
    struct map *openapi_hashes; /* "apis/batch/v1" -> struct openapi_hash */
};
struct documents *documents_new(void);
void documents_free(struct documents *all);
void documents_refresh(struct apiserver *s); /* forget those of an older kind table */

/* Answer with the kept document `key`, or make it. Honours If-None-Match. */
typedef void (*document_make_fn)(struct apiserver *s, const char *key, struct buf *out);
void documents_reply(struct apiserver *s, struct http_exchange *x, const char *content_type, const char *key, document_make_fn make);

#define GROUP_VERSIONS_MAX 128 /* LIMIT group-versions in discovery; CRDs beyond are served but not announced */
struct group_version {
    const char *group, *version;
};
/* Every served group-version once, in discovery order: groups by first kind, versions of a group together and preferred
 * first. */
uint32_t group_versions(const struct kind_table *t, struct group_version out[GROUP_VERSIONS_MAX]);

#endif
