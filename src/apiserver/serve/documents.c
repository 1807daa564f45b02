#include "apiserver/serve/documents.h"

#include <stdio.h>
#include <stdlib.h>

struct documents *documents_new(void)
{
    struct documents *all = mem_zero(1, sizeof *all);
    all->made = map_new(sizeof(struct document));
    return all;
}

static void documents_clear(struct documents *all)
{
    size_t at = 0;
    struct document *d;
    struct bytes key;
    while ((d = map_next(all->made, &at, &key)))
        blob_unref(d->body);
    map_clear(all->made);
    map_free(all->openapi_hashes);
    all->v2_etags[0][0] = all->v2_etags[1][0] = 0;
    all->openapi_hashes = NULL;
}

void documents_free(struct documents *all)
{
    if (!all)
        return;
    documents_clear(all);
    map_free(all->made);
    free(all);
}

void documents_refresh(struct apiserver *s)
{
    struct documents *all = s->documents;
    if (all->generation == kind_table_generation(s->kinds))
        return;
    documents_clear(all);
    all->generation = kind_table_generation(s->kinds);
}

void documents_reply(struct apiserver *s, struct http_exchange *x, const char *content_type, const char *key,
                document_make_fn make)
{
    struct documents *all = s->documents;
    struct document *d = map_find_text(all->made, key);
    if (!d) {
        struct buf out = {0};
        make(s, key, &out);
        d = map_put(all->made, bytes_of(key), NULL);
        d->body = blob_new(out.data, out.n);
        snprintf(d->etag, sizeof d->etag, "\"%016llx\"", (unsigned long long)hash_bytes(out.data, out.n, 1));
        buf_free(&out);
    }
    const char *known = http_header(&x->request, "if-none-match");
    http_set_header(x, "Vary", "Accept");
    http_set_header(x, "ETag", d->etag);
    if (known && strcmp(known, d->etag) == 0)
        http_reply(x, 304, content_type, NULL);
    else
        http_reply(x, 200, content_type, blob_ref(d->body));
}

static bool version_known(const struct group_version *out, uint32_t n, const char *group, const char *version)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(out[i].group, group) == 0 && strcmp(out[i].version, version) == 0)
            return true;
    return false;
}

static bool group_known(const struct group_version *out, uint32_t n, const char *group)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(out[i].group, group) == 0)
            return true;
    return false;
}

static uint32_t group_add(const struct kind_table *t, struct group_version *out, uint32_t n, const char *group)
{
    for (uint32_t i = 0; i < kind_count(t); i++) {
        const struct kind *k = kind_at(t, i);
        for (uint32_t j = 0; strcmp(k->group, group) == 0 && j < k->versions_n && n < GROUP_VERSIONS_MAX; j++)
            if (k->versions[j].served && !version_known(out, n, group, k->versions[j].version))
                out[n++] = (struct group_version){k->group, k->versions[j].version};
    }
    return n;
}

uint32_t group_versions(const struct kind_table *t, struct group_version out[GROUP_VERSIONS_MAX])
{
    /* WHY metrics last: its pods and nodes must lose against core's when a client resolves the bare names. */
    static const char last[] = "metrics.k8s.io";
    uint32_t n = 0;
    for (uint32_t i = 0; i < kind_count(t); i++) {
        const struct kind *k = kind_at(t, i);
        if (strcmp(k->group, last) != 0 && !group_known(out, n, k->group))
            n = group_add(t, out, n, k->group);
    }
    return group_add(t, out, n, last);
}
