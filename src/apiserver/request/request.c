#include "apiserver/request/request.h"

bool request_bool(const char *value)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True", NULL};
    for (size_t i = 0; value && yes[i]; i++)
        if (strcmp(value, yes[i]) == 0)
            return true;
    return false;
}

int request_path_split(struct arena *a, const char *path, const char *segments[REQUEST_SEGMENTS_MAX])
{
    int n = 0;
    for (char *at = arena_text(a, path), *slash; at; at = slash ? slash + 1 : NULL) {
        slash = strchr(at, '/');
        if (slash)
            *slash = '\0';
        if (!*at)
            continue;
        if (n == REQUEST_SEGMENTS_MAX)
            return -1;
        segments[n++] = at;
    }
    return n;
}

const char *request_path_normal(struct arena *a, const char *path)
{
    _cleanup_buf_ struct buf out = {0};
    while (*path) {
        size_t n = strcspn(path, "/");
        if (n) {
            buf_char(&out, '/');
            buf_bytes(&out, (struct bytes){path, n});
        }
        path += n + (path[n] == '/');
    }
    return out.n ? arena_text_n(a, out.data, out.n) : "/";
}

/* The segments after the version: which resource, object and subresource. */
static bool resource_parse(struct request_path *p, const char **at, int n)
{
    p->ns = p->name = p->subresource = "";
    p->in_namespace = false;
    if (n >= 3 && strcmp(at[0], "namespaces") == 0 && strcmp(at[2], "status") != 0 && strcmp(at[2], "finalize") != 0) {
        p->ns = at[1];
        p->in_namespace = true;
        at += 2;
        n -= 2;
    }
    if (n < 1 || (n > 3 && strcmp(at[2], "proxy") != 0)) /* only what is passed on may go on */
        return false;
    p->plural = at[0];
    p->name = n > 1 ? at[1] : "";
    p->subresource = n > 2 ? at[2] : "";
    return true;
}

bool request_path_parse(struct arena *a, const char *path, struct request_path *ret_p)
{
    const char *segments[REQUEST_SEGMENTS_MAX];
    int n = request_path_split(a, path, segments), skip = 0;
    *ret_p = (struct request_path){0};
    if (n > 2 && strcmp(segments[0], "api") == 0) {
        ret_p->group = "";
        ret_p->version = segments[1];
        skip = 2;
    } else if (n > 3 && strcmp(segments[0], "apis") == 0) {
        ret_p->group = segments[1];
        ret_p->version = segments[2];
        skip = 3;
    }
    return skip && resource_parse(ret_p, segments + skip, n - skip);
}

enum verb request_verb(const struct http_request *r, const struct request_path *p, bool *ret_known)
{
    static const struct {
        const char *method;
        enum verb named, collection;
    } table[] = {
        {"GET", VERB_GET, VERB_LIST},       {"HEAD", VERB_GET, VERB_LIST},     {"POST", VERB_CREATE, VERB_CREATE},
        {"PUT", VERB_UPDATE, VERB_UPDATE},  {"PATCH", VERB_PATCH, VERB_PATCH}, {"DELETE", VERB_DELETE, VERB_DELETE_COLLECTION},
    };
    bool named = *p->name != 0;
    *ret_known = false;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(r->method, table[i].method) != 0)
            continue;
        *ret_known = true;
        bool watches = i < 2 && !*p->subresource && request_bool(http_query(r, "watch"));
        return watches ? VERB_WATCH : named ? table[i].named : table[i].collection;
    }
    return VERB_GET;
}

void request_info_internal(struct apiserver *s, const struct kind *k, const char *ns, const char *name,
                         struct request_info *ret_ri)
{
    *ret_ri = (struct request_info){
        .server = s,
        .group = k->group,
        .version = k->versions[k->storage].version,
        .plural = k->plural,
        .ns = ns,
        .name = name,
        .subresource = "",
        .kind = k,
        .kind_version = &k->versions[k->storage],
        .kind_id = store_kind(s->store, kind_stored(k)->group, k->plural),
        .field_manager = "capstan",
        .validation = VALIDATION_IGNORE,
    };
}
