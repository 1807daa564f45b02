#include "apiserver/request/accept.h"

/* Value of parameter `key` of a media type clause ("application/json;as=Table;v=v1"). */
static struct bytes clause_param(struct bytes clause, const char *key)
{
    size_t key_n = strlen(key);
    for (const char *p = clause.data, *end = clause.data + clause.n; p < end;) {
        const char *stop = memchr(p, ';', (size_t)(end - p));
        if (!stop)
            stop = end;
        while (p < stop && *p == ' ')
            p++;
        if ((size_t)(stop - p) > key_n && memcmp(p, key, key_n) == 0 && p[key_n] == '=')
            return (struct bytes){p + key_n + 1, (size_t)(stop - p) - key_n - 1};
        p = stop + 1;
    }
    return (struct bytes){"", 0};
}

static struct bytes clause_type(struct bytes clause)
{
    while (clause.n && *clause.data == ' ')
        clause.data++, clause.n--;
    const char *stop = clause.n ? memchr(clause.data, ';', clause.n) : NULL;
    if (stop)
        clause.n = (size_t)(stop - clause.data);
    while (clause.n && clause.data[clause.n - 1] == ' ')
        clause.n--;
    return clause;
}

bool accept_as(const struct http_request *r, const char *as, const char *group, struct bytes *ret_version)
{
    const char *accept = http_header(r, "accept");
    if (!accept || !strstr(accept, as))
        return false;
    for (const char *p = accept; *p;) {
        struct bytes clause = {p, strcspn(p, ",")}, type = clause_type(clause), clause_as = clause_param(clause, "as");
        p += clause.n + (p[clause.n] == ',');
        bool json = bytes_is(type, "application/json") || bytes_is(type, "*/*") || bytes_is(type, "application/*");
        if (json && clause_as.n == 0)
            return false;
        if (!json || !bytes_is(clause_as, as) || !bytes_is(clause_param(clause, "g"), group))
            continue;
        if (ret_version)
            *ret_version = clause_param(clause, "v");
        return true;
    }
    return false;
}

bool accept_no_plain(const struct http_request *r)
{
    const char *accept = http_header(r, "accept");
    for (const char *p = accept ? accept : ""; *p;) {
        struct bytes clause = {p, strcspn(p, ",")}, as = clause_param(clause, "as");
        if (as.n == 0)
            return false;
        p += clause.n + (p[clause.n] == ',');
    }
    return accept && *accept;
}

bool accept_partial(const struct http_request *r)
{
    return accept_as(r, "PartialObjectMetadata", "meta.k8s.io", NULL) ||
           accept_as(r, "PartialObjectMetadataList", "meta.k8s.io", NULL);
}

void accept_partial_write(struct buf *out, const struct json *object)
{
    const struct json *metadata = json_get(object, "metadata");
    buf_text(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":");
    if (metadata)
        json_write(out, metadata);
    else
        buf_text(out, "{}");
    buf_char(out, '}');
}
