/* discovery.c - which resources there are: the legacy documents, one a group-version, and the aggregated ones
 *
 * WHY    both: kubectl up to 1.25, `auth can-i` of every version and most other clients read the legacy form; newer kubectl reads the
 *        aggregated one and believes it only under its exact Content-Type.
 */
#include "apiserver/serve/discovery.h"

#include "apiserver/request/accept.h"
#include "apiserver/request/status.h"
#include "apiserver/serve/documents.h"
#include "apiserver/verbs/subresource.h"
#include "base/limits.h"

static const char verbs_all[] =
    "[\"create\",\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"update\",\"watch\"]";
static const char verbs_read[] = "[\"get\",\"list\"]";
static const char verbs_create[] = "[\"create\"]";
static const char verbs_none[] = "[]";

static const char *kind_verbs(const struct kind *k)
{
    if (k->flags & KIND_PARENT)
        return verbs_none;
    return k->flags & KIND_REVIEW ? verbs_create : k->flags & KIND_READ_ONLY ? verbs_read : verbs_all;
}

/* Call fn for each subresource of k that is told of. */
typedef void (*subresource_fn)(struct buf *out, const struct kind *k, const char *version,
                               const struct subresource *sub, bool first);
static void subresources_each(struct buf *out, const struct kind *k, const char *version, subresource_fn fn)
{
    bool first = true;
    for (const struct subresource *sub = NULL; (sub = subresource_next(k, sub));)
        if (sub->verbs) {
            fn(out, k, version, sub, first);
            first = false;
        }
}

static void names_write(struct buf *out, const char *field, const char *const *names)
{
    if (!names || !names[0])
        return;
    buf_printf(out, ",\"%s\":[", field);
    for (size_t i = 0; names[i]; i++) {
        if (i)
            buf_char(out, ',');
        json_write_string(out, bytes_of(names[i]));
    }
    buf_char(out, ']');
}

/* ---- aggregated ---- */

static void aggregated_kind(struct buf *out, const char *group, const char *version, const char *kind)
{
    buf_printf(out, "\"responseKind\":{\"group\":\"%s\",\"version\":\"%s\",\"kind\":\"%s\"}", group, version, kind);
}

static void aggregated_subresource(struct buf *out, const struct kind *k, const char *version,
                                   const struct subresource *sub, bool first)
{
    buf_printf(out, "%s{\"subresource\":\"%s\",", first ? ",\"subresources\":[" : ",", sub->name);
    aggregated_kind(out, sub->kind_group ? sub->kind_group : k->group, sub->kind_version ? sub->kind_version : version,
                    sub->kind ? sub->kind : k->kind);
    buf_printf(out, ",\"verbs\":%s}", sub->verbs);
}

static void aggregated_resource(struct buf *out, const struct kind *k, const char *version)
{
    buf_printf(out, "{\"resource\":\"%s\",", k->plural);
    aggregated_kind(out, k->group, version, k->kind);
    buf_printf(out, ",\"scope\":\"%s\",\"singularResource\":\"%s\",\"verbs\":%s",
               k->flags & KIND_NAMESPACED ? "Namespaced" : "Cluster", k->singular, kind_verbs(k));
    names_write(out, "shortNames", k->short_names);
    names_write(out, "categories", k->categories);
    size_t before = out->n;
    subresources_each(out, k, version, aggregated_subresource);
    buf_text(out, out->n > before ? "]}" : "}");
}

static bool serves(const struct kind *k, const char *group, const char *version)
{
    const struct kind_version *v = strcmp(k->group, group) == 0 ? kind_version_find(k, version) : NULL;
    return v && v->served;
}

static void aggregated_version(struct buf *out, const struct kind_table *t, const struct group_version *gv)
{
    const char *comma = "";
    buf_printf(out, "{\"version\":\"%s\",\"freshness\":\"Current\",\"resources\":[", gv->version);
    for (uint32_t i = 0; i < kind_count(t); i++) {
        if (!serves(kind_at(t, i), gv->group, gv->version))
            continue;
        buf_text(out, comma);
        aggregated_resource(out, kind_at(t, i), gv->version);
        comma = ",";
    }
    buf_text(out, "]}");
}

/* key: "/api v2", "/apis v2beta1". */
static void aggregated_make(struct apiserver *s, const char *key, struct buf *out)
{
    struct group_version versions[GROUP_VERSIONS_MAX];
    uint32_t n = group_versions(s->kinds, versions);
    bool core = text_starts(key, "/api ");
    const char *open = NULL;
    buf_printf(
        out,
        "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/%s\",\"metadata\":{},\"items\":[",
        strchr(key, ' ') + 1);
    for (uint32_t i = 0; i < n; i++) {
        if ((*versions[i].group == 0) != core)
            continue;
        if (open && strcmp(open, versions[i].group) == 0) {
            buf_char(out, ',');
        } else {
            buf_printf(out, "%s{\"metadata\":{", open ? "]}," : "");
            if (!core)
                buf_printf(out, "\"name\":\"%s\",", versions[i].group);
            buf_text(out, "\"creationTimestamp\":null},\"versions\":[");
        }
        open = versions[i].group;
        aggregated_version(out, s->kinds, &versions[i]);
    }
    buf_text(out, open ? "]}]}" : "]}");
}

/* ---- legacy ---- */

static void legacy_versions_make(struct apiserver *s, const char *key, struct buf *out)
{
    buf_text(out, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":[]}");
}

/* One group: from versions[at] on; returns the index after it. */
static uint32_t legacy_group(struct buf *out, const struct group_version *versions, uint32_t n, uint32_t at, bool alone)
{
    const struct group_version *first = &versions[at];
    buf_char(out, '{');
    if (alone)
        buf_text(out, "\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
    buf_printf(out, "\"name\":\"%s\",\"versions\":[", first->group);
    for (uint32_t i = at; at < n && strcmp(versions[at].group, first->group) == 0; at++)
        buf_printf(out, "%s{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}", at > i ? "," : "", first->group,
                   versions[at].version, versions[at].version);
    buf_printf(out, "],\"preferredVersion\":{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}}", first->group,
               first->version, first->version);
    return at;
}

static void legacy_groups_make(struct apiserver *s, const char *key, struct buf *out)
{
    struct group_version versions[GROUP_VERSIONS_MAX];
    uint32_t n = group_versions(s->kinds, versions);
    const char *comma = "";
    buf_text(out, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
    for (uint32_t i = 0; i < n;) {
        if (*versions[i].group == 0) {
            i++;
            continue;
        }
        buf_text(out, comma);
        i = legacy_group(out, versions, n, i, false);
        comma = ",";
    }
    buf_text(out, "]}");
}

static void legacy_group_make(struct apiserver *s, const char *key, struct buf *out)
{
    struct group_version versions[GROUP_VERSIONS_MAX];
    uint32_t n = group_versions(s->kinds, versions);
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(versions[i].group, key + strlen("/apis/")) == 0) {
            legacy_group(out, versions, n, i, true);
            return;
        }
}

static void legacy_subresource(struct buf *out, const struct kind *k, const char *version,
                               const struct subresource *sub, bool first)
{
    buf_printf(out, ",{\"name\":\"%s/%s\",\"singularName\":\"\",\"namespaced\":%s,", k->plural, sub->name,
               k->flags & KIND_NAMESPACED ? "true" : "false");
    if (sub->kind_group)
        buf_printf(out, "\"group\":\"%s\",\"version\":\"%s\",", sub->kind_group, sub->kind_version);
    buf_printf(out, "\"kind\":\"%s\",\"verbs\":%s}", sub->kind ? sub->kind : k->kind, sub->verbs);
}

static void legacy_resources(struct apiserver *s, const char *group, const char *version, struct buf *out)
{
    const char *comma = "";
    buf_printf(out, "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"%s%s%s\",\"resources\":[",
               group, *group ? "/" : "", version);
    for (uint32_t i = 0; i < kind_count(s->kinds); i++) {
        const struct kind *k = kind_at(s->kinds, i);
        if (!serves(k, group, version))
            continue;
        buf_printf(out, "%s{\"name\":\"%s\",\"singularName\":\"%s\",\"namespaced\":%s,\"kind\":\"%s\",\"verbs\":%s",
                   comma, k->plural, k->singular, k->flags & KIND_NAMESPACED ? "true" : "false", k->kind,
                   kind_verbs(k));
        names_write(out, "shortNames", k->short_names);
        names_write(out, "categories", k->categories);
        buf_char(out, '}');
        subresources_each(out, k, version, legacy_subresource);
        comma = ",";
    }
    buf_text(out, "]}");
}

/* key: "/api/v1" or "/apis/GROUP/VERSION". */
static void legacy_resources_make(struct apiserver *s, const char *key, struct buf *out)
{
    if (text_starts(key, "/api/")) {
        legacy_resources(s, "", key + strlen("/api/"), out);
        return;
    }
    const char *group = key + strlen("/apis/"), *slash = strchr(group, '/');
    char name[LIMIT_NAME + 1];
    size_t n = (size_t)(slash - group);
    if (n >= sizeof name)
        return;
    memcpy(name, group, n);
    name[n] = 0;
    legacy_resources(s, name, slash + 1, out);
}

static void index_reply(struct apiserver *s, struct http_exchange *x, bool core)
{
    struct bytes version;
    struct arena *a = x->request.arena;
    if (!accept_as(&x->request, "APIGroupDiscoveryList", "apidiscovery.k8s.io", &version)) {
        documents_reply(s, x, "application/json", core ? "/api" : "/apis", core ? legacy_versions_make : legacy_groups_make);
        return;
    }
    const char *form = bytes_is(version, "v2beta1") ? "v2beta1" : "v2";
    documents_reply(s, x, arena_printf(a, "application/json;g=apidiscovery.k8s.io;v=%s;as=APIGroupDiscoveryList", form),
               arena_printf(a, "/api%s %s", core ? "" : "s", form), aggregated_make);
}

static bool version_exists(struct apiserver *s, const char *group, const char *version)
{
    struct group_version versions[GROUP_VERSIONS_MAX];
    uint32_t n = group_versions(s->kinds, versions);
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(versions[i].group, group) == 0 && (!version || strcmp(versions[i].version, version) == 0))
            return true;
    return false;
}

bool discovery_handle(struct apiserver *s, struct http_exchange *x, const char *const *segments, int n)
{
    bool core = strcmp(segments[0], "api") == 0;
    struct arena *a = x->request.arena;
    if ((!core && strcmp(segments[0], "apis") != 0) || n > (core ? 2 : 3))
        return false;
    if (strcmp(x->request.method, "GET") != 0 && strcmp(x->request.method, "HEAD") != 0)
        status_reply_method(x, NULL);
    else if (n == 1)
        index_reply(s, x, core);
    else if (!version_exists(s, core ? "" : segments[1], core ? segments[1] : n == 3 ? segments[2] : NULL))
        status_reply(x, 404, "NotFound", NULL, NULL, "the server could not find the requested resource");
    else if (core)
        documents_reply(s, x, "application/json", arena_printf(a, "/api/%s", segments[1]), legacy_resources_make);
    else if (n == 2)
        documents_reply(s, x, "application/json", arena_printf(a, "/apis/%s", segments[1]), legacy_group_make);
    else
        documents_reply(s, x, "application/json", arena_printf(a, "/apis/%s/%s", segments[1], segments[2]),
                   legacy_resources_make);
    return true;
}
