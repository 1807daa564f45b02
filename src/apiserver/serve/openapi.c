/* openapi.c - /openapi/v2 (all kinds in one document) and /openapi/v3 (an index, and one document a group-version)
 *
 * WHY v2 as protobuf has a Content-Type with dots where the requested name has '@': kubectl before 1.28 cannot read the other, and
 * a JSON body where protobuf is asked for makes apply and create fail. WHY documents are made per request: clients keep
 * them for ever by the content hash in their URL or by ETag; all together would cost megabytes.
 */
#include "apiserver/serve/openapi.h"

#include <stdio.h>

#include "apiserver/request/status.h"
#include "apiserver/serve/documents.h"
#include "apiserver/store/object.h"
#include "codec/kinds/openapi_v2.h"

struct openapi_hash {
    char text[33];
};

static void group_version_path(struct buf *out, const struct group_version *gv)
{
    if (*gv->group)
        buf_printf(out, "apis/%s/%s", gv->group, gv->version);
    else
        buf_printf(out, "api/%s", gv->version);
}

static void hashes_make(struct apiserver *s)
{
    struct documents *all = s->documents;
    struct group_version versions[GROUP_VERSIONS_MAX];
    uint32_t n = group_versions(s->kinds, versions);
    _cleanup_buf_ struct buf document = {0};
    _cleanup_buf_ struct buf path = {0};
    all->openapi_hashes = map_new(sizeof(struct openapi_hash));
    for (uint32_t i = 0; i < n; i++) {
        buf_clear(&document);
        buf_clear(&path);
        kind_openapi(s->kinds, versions[i].group, versions[i].version, &document);
        group_version_path(&path, &versions[i]);
        struct openapi_hash *hash = map_put(all->openapi_hashes, buf_view(&path), NULL);
        snprintf(hash->text, sizeof hash->text, "%016llX%016llX",
                 (unsigned long long)hash_bytes(document.data, document.n, 2),
                 (unsigned long long)hash_bytes(document.data, document.n, 3));
    }
}

static struct map *hashes(struct apiserver *s)
{
    struct documents *all = s->documents;
    if (!all->openapi_hashes)
        hashes_make(s);
    return all->openapi_hashes;
}

static void index_make(struct apiserver *s, const char *key, struct buf *out)
{
    size_t at = 0;
    struct bytes path;
    const struct openapi_hash *hash;
    const char *comma = "";
    buf_text(out, "{\"paths\":{");
    while ((hash = map_next(hashes(s), &at, &path))) {
        buf_printf(out, "%s\"%.*s\":{\"serverRelativeURL\":\"/openapi/v3/%.*s?hash=%s\"}", comma, (int)path.n,
                   path.data, (int)path.n, path.data, hash->text);
        comma = ",";
    }
    buf_text(out, "}}");
}

static void document_reply(struct apiserver *s, struct http_exchange *x, const char *path,
                           const struct group_version *gv)
{
    const struct openapi_hash *hash = map_find_text(hashes(s), path);
    if (!hash) {
        status_reply(x, 404, "NotFound", NULL, NULL, "the server could not find the requested resource");
        return;
    }
    const char *asked = http_query(&x->request, "hash"), *known = http_header(&x->request, "if-none-match");
    const char *etag = arena_printf(x->request.arena, "\"%s\"", hash->text);
    http_set_header(x, "ETag", etag);
    http_set_header(x, "Vary", "Accept");
    if (asked && strcmp(asked, hash->text) == 0) {
        http_set_header(x, "Cache-Control", "public, immutable, max-age=31536000");
        http_set_header(x, "Expires", "Thu, 31 Dec 2099 23:59:59 GMT");
    } else {
        http_set_header(x, "Cache-Control", "no-cache, private");
    }
    if (known && strcmp(known, etag) == 0) {
        http_reply(x, 304, "application/json", NULL);
        return;
    }
    struct buf document = {0};
    kind_openapi(s->kinds, gv->group, gv->version, &document);
    http_reply(x, 200, "application/json", blob_new(document.data, document.n));
    buf_free(&document);
}

/* ---- v2 ---- */

struct definitions {
    struct apiserver *server;
    struct arena *arena;
};

static const struct json *definition_of(void *ctx, const struct kind *k)
{
    const struct definitions *d = ctx;
    const char *name = arena_printf(d->arena, "%s.%s", k->plural, k->group);
    return kind_is_built_in(k) ? NULL
                               : object_read_plural(d->server, d->arena, "apiextensions.k8s.io", "customresourcedefinitions", "", name);
}

static void v2_write(struct apiserver *s, bool protobuf, struct buf *out)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf document = {0};
    struct definitions d = {s, a};
    openapi_v2(s->kinds, a, definition_of, &d, protobuf ? &document : out);
    if (protobuf)
        openapi_v2_protobuf(json_parse(a, buf_view(&document), NULL, NULL), out);
}

static void v2_reply(struct apiserver *s, struct http_exchange *x)
{
    struct documents *all = s->documents;
    const char *accept = http_header(&x->request, "accept"), *known = http_header(&x->request, "if-none-match");
    bool protobuf = accept && strstr(accept, "protobuf");
    const char *type = protobuf ? "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" : "application/json";
    char *etag = all->v2_etags[protobuf];
    struct buf out = {0};
    http_set_header(x, "Vary", "Accept");
    if (!*etag || !known || strcmp(known, etag) != 0) {
        v2_write(s, protobuf, &out);
        snprintf(etag, sizeof all->v2_etags[0], "\"%016llX\"", (unsigned long long)hash_bytes(out.data, out.n, 2));
    }
    http_set_header(x, "ETag", etag);
    if (known && strcmp(known, etag) == 0)
        http_reply(x, 304, type, NULL);
    else
        http_reply(x, 200, type, blob_new(out.data, out.n));
    buf_free(&out);
}

bool openapi_handle(struct apiserver *s, struct http_exchange *x, const char *const *segments, int n)
{
    struct arena *a = x->request.arena;
    if (strcmp(segments[0], "openapi") != 0 || n < 2)
        return false;
    if (strcmp(segments[1], "v2") == 0 && n == 2)
        v2_reply(s, x);
    else if (strcmp(segments[1], "v3") == 0 && n == 2)
        documents_reply(s, x, "application/json", "/openapi/v3", index_make);
    else if (strcmp(segments[1], "v3") == 0 && n == 4 && strcmp(segments[2], "api") == 0)
        document_reply(s, x, arena_printf(a, "api/%s", segments[3]), &(struct group_version){"", segments[3]});
    else if (strcmp(segments[1], "v3") == 0 && n == 5 && strcmp(segments[2], "apis") == 0)
        document_reply(s, x, arena_printf(a, "apis/%s/%s", segments[3], segments[4]),
                       &(struct group_version){segments[3], segments[4]});
    else
        return false;
    return true;
}
