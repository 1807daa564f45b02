/* http.c - what all carriers share: looking into a request, answering through the carrier, percent encoding */
#include "net/http.h"
#include <assert.h>
#include "net/http_request.h"

static const char *param_find(const struct http_param *params, uint32_t n, const char *key)
{
    for (uint32_t i = 0; i < n; i++)
        if (params[i].key[0] == key[0] && strcmp(params[i].key, key) == 0) /* most differ there */
            return params[i].value;
    return NULL;
}

const char *http_query(const struct http_request *r, const char *key)
{
    return param_find(r->query, r->query_n, key);
}

const char *http_header(const struct http_request *r, const char *name)
{
    return param_find(r->headers, r->headers_n, name);
}

void http_set_header(struct http_exchange *x, const char *name, const char *value)
{
    x->ops->header(x, name, value);
}

void http_reply(struct http_exchange *x, int status, const char *content_type, struct blob *body)
{
    x->ops->reply(x, status, content_type, body);
}

void http_reply_text(struct http_exchange *x, int status, const char *content_type, const char *text)
{
    x->ops->reply(x, status, content_type, blob_new(text, strlen(text)));
}

void http_stream(struct http_exchange *x, int status, const char *content_type, http_pull_fn pull,
                 void (*closed)(void *arg), void *arg)
{
    assert(pull && closed);
    x->ops->stream(x, status, content_type, pull, closed, arg);
}

void http_stream_events(struct http_exchange *x, int status, const char *content_type, http_pull_event_fn pull,
                        void (*closed)(void *arg), void *arg)
{
    assert(pull && closed && x->request.takes_events);
    x->ops->stream_events(x, status, content_type, pull, closed, arg);
}

void http_stream_wake(struct http_exchange *x)
{
    x->ops->wake(x);
}

/* Host without port: "[::1]:8080" -> "[::1]". */
static struct bytes host_of(const char *authority)
{
    size_t n = *authority == '[' ? strcspn(authority, "]") + 1 : strcspn(authority, ":");
    size_t all = strlen(authority);
    return (struct bytes){authority, n < all ? n : all};
}

bool http_host_is(const char *authority, const char *name)
{
    struct bytes host = host_of(authority);
    return host.n == strlen(name) && strncasecmp(host.data, name, host.n) == 0;
}

bool http_host_is_loopback(const char *authority)
{
    return http_host_is(authority, "localhost") || http_host_is(authority, "127.0.0.1") || http_host_is(authority, "[::1]");
}

bool http_origin_is_own(const struct http_request *r)
{
    const char *origin = http_header(r, "origin"), *host = http_header(r, "host"), *authority = origin ? strstr(origin, "://") : NULL;
    return !origin || (authority && host && strcmp(authority + 3, host) == 0);
}

bool http_from_here(const struct http_exchange *x)
{
    return !x->ops->from_here || x->ops->from_here(x);
}

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

void http_escape(struct buf *out, const char *text)
{
    static const char hex[] = "0123456789ABCDEF";
    for (;; text++) {
        const char *from = text;
        while (is_unreserved(*text))
            text++;
        buf_add(out, from, (size_t)(text - from));
        unsigned char c = (unsigned char)*text;
        if (!c)
            return;
        buf_char(out, '%');
        buf_char(out, hex[c >> 4]);
        buf_char(out, hex[c & 15]);
    }
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool text_is_utf8(const char *at, const char *end)
{
    while (at < end) {
        size_t n = (signed char)*at >= 0 ? 1 : utf8_length(at, end);
        if (n == 0)
            return false;
        at += n;
    }
    return true;
}

/* Decode n bytes into out (room for n + 1). Returns -E_INVALID for a broken escape, a NUL or bytes that are no text. */
/* Nothing to decode or to check, as mostly. */
static bool is_plain(const char *text, size_t n)
{
    unsigned char special = 0;
    for (size_t i = 0; i < n; i++) /* WHY to the end, without a branch: many at once */
        special |= (unsigned char)((text[i] == '%') | (text[i] == '+') | ((signed char)text[i] <= 0));
    return !special;
}

static int percent_decode(char *out, const char *text, size_t n, bool plus_is_space, struct err *e)
{
    const char *start = out;
    if (is_plain(text, n)) {
        memcpy(out, text, n);
        out[n] = 0;
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (c == '+' && plus_is_space) {
            c = ' ';
        } else if (c == '%') {
            int high = i + 2 < n ? hex_value(text[i + 1]) : -1;
            int low = i + 2 < n ? hex_value(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return err_set(e, E_INVALID, "URL: \"%.*s\" is not a percent escape; write %%25 for a percent sign",
                               (int)(n - i < 3 ? n - i : 3), text + i);
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (c == 0)
            return err_set(e, E_INVALID, "URL: contains a NUL byte (%%00)");
        *out++ = c;
    }
    *out = 0;
    /* WHY  names of the URL stand in answers and in objects, which are JSON */
    if (!text_is_utf8(start, out))
        return err_set(e, E_INVALID, "URL: is not valid UTF-8; escapes name the bytes of UTF-8, for example %%C3%%A9");
    return 0;
}

static int query_parse(struct http_request *r, const char *text, size_t n, struct err *e)
{
    if (n == 0)
        return 0;
    uint32_t params_n = 1;
    for (size_t i = 0; i < n; i++)
        params_n += text[i] == '&';
    if (params_n > LIMIT_QUERY_PARAMS)
        return err_set(e, E_INVALID, "URL: %u query parameters, at most %d are taken", params_n, LIMIT_QUERY_PARAMS);
    struct http_param *params = arena_alloc(r->arena, params_n * sizeof *params);
    const char *end = text + n;
    params_n = 0;
    while (text < end) {
        const char *stop = memchr(text, '&', (size_t)(end - text));
        stop = stop ? stop : end;
        const char *equals = memchr(text, '=', (size_t)(stop - text));
        const char *key_end = equals ? equals : stop, *value = equals ? equals + 1 : stop;
        if (stop > text) {
            char *key = arena_alloc(r->arena, (size_t)(stop - text) + 2), *decoded = key + (key_end - text) + 1;
            int rc = percent_decode(key, text, (size_t)(key_end - text), true, e);
            if (rc == 0)
                rc = percent_decode(decoded, value, (size_t)(stop - value), true, e);
            if (rc < 0)
                return rc;
            params[params_n++] = (struct http_param){key, decoded};
        }
        text = stop + 1;
    }
    r->query = params;
    r->query_n = params_n;
    return 0;
}

int http_request_set_url(struct http_request *r, const char *url, size_t n, struct err *e)
{
    if (n == 0 || url[0] != '/')
        return err_set(e, E_INVALID, "URL: must start with \"/\"");
    const char *question = memchr(url, '?', n);
    size_t path_n = question ? (size_t)(question - url) : n;
    char *path = arena_alloc(r->arena, path_n + 1);
    int rc = percent_decode(path, url, path_n, false, e);
    if (rc < 0)
        return rc;
    r->path = path;
    r->query = NULL;
    r->query_n = 0;
    return question ? query_parse(r, question + 1, n - path_n - 1, e) : 0;
}

char *http_header_clean(struct arena *a, const char *value)
{
    char *copy = arena_text(a, value);
    for (char *c = copy; *c; c++)
        if (*c == '\r' || *c == '\n')
            *c = ' ';
    return copy;
}

void http_header_repair(char *value, size_t n)
{
    if (text_is_utf8(value, value + n))
        return;
    for (char *c = value; c < value + n; c++)
        if ((signed char)*c < 0)
            *c = '?';
}

static void json_text_add(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_printf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
            buf_printf(out, "\\u%04x", (unsigned char)*text);
        else
            buf_char(out, *text);
    }
}

struct blob *http_status_blob(int status, const char *reason, const char *message)
{
    _cleanup_buf_ struct buf out = {0};
    buf_text(&out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"");
    json_text_add(&out, message);
    buf_printf(&out, "\",\"reason\":\"%s\",\"code\":%d}\n", reason, status);
    return blob_new(out.data, out.n);
}
