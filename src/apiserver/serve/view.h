/* view.h - documents that are computed from the kind table and kept until the table changes */
#ifndef APISERVER_VIEW_H
#define APISERVER_VIEW_H
#include "apiserver/request/request.h"

int view_new(struct apiserver *s);
void view_free(struct apiserver *s);
/* Everything that is no resource: "/api", "/apis...", "/openapi/...", "/metrics". False when the path is none of these. */
bool view_handle(struct apiserver *s, struct http_exchange *x);

struct view {
    uint64_t generation;        /* of the kind table that the caches were made from */
    struct map *documents;      /* path and form -> struct view_document */
    char v2_etags[2][24];       /* of the v2 document as JSON and as protobuf; "" = not made yet */
    struct map *openapi_hashes; /* "apis/batch/v1" -> struct openapi_hash */
    struct loop_timer *budgets; /* a while after pods or budgets changed */
    struct loop_timer *roles;   /* a while after ClusterRoles changed: the aggregated ones */
    struct loop_timer *roots;   /* a while after somebody touched a kube-root-ca.crt */
    uint32_t map_kind, pod_kind, budget_kind, role_kind;
    struct map *tokens; /* hash of a token that apiserver_add_token made known -> user (char *) */
};
struct view_document {
    struct blob *body;
    char etag[40];
};

#define GROUP_VERSIONS_MAX 128 /* LIMIT group-versions in discovery; CRDs beyond are served but not announced */
struct group_version {
    const char *group, *version;
};
/* Every served group-version once, in discovery order: groups by first kind, versions of a group together and preferred
 * first. */
uint32_t group_versions(const struct kind_table *t, struct group_version out[GROUP_VERSIONS_MAX]);

/* Answer with the cached document `key`, or make it. Honours If-None-Match. */
typedef void (*view_make_fn)(struct apiserver *s, const char *key, struct buf *out);
void view_reply(struct apiserver *s, struct http_exchange *x, const char *content_type, const char *key,
                view_make_fn make);

/* Path segments: "/apis/batch/v1/" is {"apis", "batch", "v1"}. Each answers, or returns false for paths that are not
 * its own. */
bool discovery_handle(struct apiserver *s, struct http_exchange *x, char **segments, unsigned n);
bool openapi_handle(struct apiserver *s, struct http_exchange *x, char **segments, unsigned n);
void metrics_text(struct apiserver *s, struct http_exchange *x);

#endif
