/* http_easy.c - the options of a libcurl handle
 *
 * What a client's calls have in common is set once, when the handle is made; a call only sets URL, method, headers and
 * body.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/log.h"
#include "net/http_curl.h"

enum { CONNECT_TIMEOUT_MS = 10 * 1000, KEEPALIVE_S = 30, CALL_BUFFER_BYTES = 16 << 10, STREAM_BUFFER_BYTES = 64 << 10 };

static void memory_file_option(CURL *easy, CURLoption option, int fd)
{
    char path[40];
    if (fd < 0)
        return;
    /* WHY  This libcurl (GnuTLS) cannot take PEM from memory; a sealed memory file has a name without touching a disk.
     */
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    curl_easy_setopt(easy, option, path);
}

static void tls_options(const struct curl_client *c, CURL *easy)
{
    memory_file_option(easy, CURLOPT_CAINFO, c->ca_fd);
    if (c->ca_fd >= 0) /* WHY  libcurl would trust, and load, every certificate of the system beside it */
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    memory_file_option(easy, CURLOPT_SSLCERT, c->cert_fd);
    memory_file_option(easy, CURLOPT_SSLKEY, c->key_fd);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, c->insecure_skip_verify ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, c->insecure_skip_verify ? 0L : 2L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
}

void http_easy_create(struct curl_call *k)
{
    const struct curl_client *c = k->c;
    CURL *easy = k->easy = curl_easy_init();
    if (!easy) {
        log_error("out of memory for an HTTP request"); /* as base/memory.c does */
        exit(70);
    }
    curl_easy_setopt(easy, CURLOPT_PRIVATE, k);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, k->curl_text);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)(k->on_chunk ? STREAM_BUFFER_BYTES : CALL_BUFFER_BYTES));
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_S);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    if (c->unix_path)
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, c->unix_path);
    if (c->proxy_url)
        curl_easy_setopt(easy, CURLOPT_PROXY, c->proxy_url);
    if (c->connect_to)
        curl_easy_setopt(easy, CURLOPT_CONNECT_TO, c->connect_to);
    if (c->is_tls)
        tls_options(c, easy);
}

static size_t text_add(struct curl_call *k, const char *a, const char *b)
{
    size_t at = k->texts.n;
    buf_text(&k->texts, a);
    buf_text(&k->texts, b);
    buf_char(&k->texts, 0);
    return at;
}

static void header_end(struct curl_call *k, size_t at)
{
    for (char *c = k->texts.data + at; *c; c++)
        if (*c == '\r' || *c == '\n')
            *c = ' ';
    k->header_at[k->headers_n++] = at;
}

static void header_add(struct curl_call *k, const char *name, const char *value)
{
    header_end(k, text_add(k, name, value));
}

void http_easy_prepare(struct curl_call *k, const struct http_call *call)
{
    const struct curl_client *c = k->c;
    buf_clear(&k->texts);
    buf_clear(&k->body);
    k->headers_n = 0;
    k->url_at = text_add(k, c->base_url, call->path);
    k->method_at = text_add(k, call->method, "");
    header_add(k, "Accept: ", call->accept ? call->accept : "application/json");
    header_add(k, "User-Agent: ", c->user_agent);
    header_add(k, "Expect:", ""); /* WHY  no round trip before a body; the server reads up to its limit anyway */
    if (call->content_type)
        header_add(k, "Content-Type: ", call->content_type);
    if (c->host_header)
        header_add(k, "Host: ", c->host_header);
    assert(call->headers_n <= HTTP_CALL_HEADERS_MAX);
    for (uint32_t i = 0; i < call->headers_n; i++) {
        size_t at = k->texts.n;
        buf_printf(&k->texts, "%s: %s", call->headers[i].key, call->headers[i].value);
        buf_char(&k->texts, 0);
        header_end(k, at);
    }
    buf_bytes(&k->body, call->body);
}

void http_easy_apply(struct curl_call *k)
{
    CURL *easy = k->easy;
    const char *authorization = k->c->authorization ? k->c->authorization(k->c->authorization_ctx) : NULL;
    if (authorization && *authorization)
        header_add(k, "Authorization: ", authorization);
    for (uint32_t i = 0; i < k->headers_n; i++)
        k->headers[i] =
            (struct curl_slist){k->texts.data + k->header_at[i], i + 1 < k->headers_n ? &k->headers[i + 1] : NULL};
    const char *method = k->texts.data + k->method_at;
    bool is_get = strcmp(method, "GET") == 0;
    if (strcmp(method, "HEAD") == 0) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    } else if (is_get && k->body.n == 0) {
        curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    } else {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, k->body.n ? k->body.data : "");
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)k->body.n);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, is_get && k->body.n == 0 ? NULL : method);
    curl_easy_setopt(easy, CURLOPT_URL, k->texts.data + k->url_at);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, k->headers);
}
