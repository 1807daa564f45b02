/* http_client.c - calls over libcurl: a queue in front of at most connections_max running ones, streams beside them
 *
 * ORDER  calls start in the order of http_client_send, at the end of the turn. Nothing is called back inside http_client_send.
 * WHY    The queue is ours: libcurl's own waiting list is walked as a whole after each finished request.
 */
#include "net/http_client.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/log.h"
#include "base/memory.h"
#include "net/http_curl.h"

enum {
    CONNECTIONS_DEFAULT = 16,
    TIMEOUT_MS = 60 * 1000,
    ANSWER_MAX_BYTES = 64 << 20,
    ANSWER_HEADERS_BYTES = 64 << 10,
    SPARE_MAX = 64,
    SPARE_KEEP_BYTES = 256 << 10,
    STREAM_CONNECTIONS = 128, /* idle connections kept beside those of calls */
};

static void client_kick(struct curl_client *c);

static void list_add(struct curl_calls *list, struct curl_call *k)
{
    k->next = NULL;
    k->previous = list->last;
    *(list->last ? &list->last->next : &list->first) = k;
    list->last = k;
    list->n++;
}

static void list_remove(struct curl_calls *list, struct curl_call *k)
{
    *(k->previous ? &k->previous->next : &list->first) = k->next;
    *(k->next ? &k->next->previous : &list->last) = k->previous;
    list->n--;
}

static struct curl_calls *list_of(struct curl_call *k)
{
    if (k->on_chunk)
        return k->is_active ? &k->c->streams : &k->c->stream_queue;
    return k->is_active ? &k->c->active : &k->c->queue;
}

static void call_destroy(struct curl_call *k)
{
    if (k->easy)
        curl_easy_cleanup(k->easy);
    buf_free(&k->texts);
    buf_free(&k->body);
    buf_free(&k->answer);
    buf_free(&k->header_lines);
    free(k);
}

/* WHY  A stream's handle has a large buffer and lives long: it is made for it and goes with it. */
static struct curl_call *call_new(struct curl_client *c, bool is_stream)
{
    struct curl_call *k = c->spare;
    if (k && !is_stream) {
        c->spare = k->next;
        c->spare_n--;
    } else {
        k = mem_zero(1, sizeof *k);
        k->c = c;
    }
    k->id = ++c->last_id;
    k->is_busy = k->is_cancelled = false;
    k->status = 0;
    k->failure = 0;
    k->header_n = 0;
    buf_clear(&k->answer);
    buf_clear(&k->header_lines);
    return k;
}

static void call_release(struct curl_call *k)
{
    struct curl_client *c = k->c;
    if (k->answer.cap > SPARE_KEEP_BYTES)
        buf_free(&k->answer);
    if (k->body.cap > SPARE_KEEP_BYTES)
        buf_free(&k->body);
    if (c->is_freed || k->on_chunk || c->spare_n >= SPARE_MAX) {
        call_destroy(k);
        return;
    }
    k->next = c->spare;
    c->spare = k;
    c->spare_n++;
}

/* Take k out of its list and out of libcurl. Not inside libcurl's callbacks. early: it is not over. */
static void call_unlink(struct curl_call *k, bool early)
{
    list_remove(list_of(k), k);
    if (k->is_active)
        curl_multi_remove_handle(k->c->multi, k->easy);
    if (k->is_active && early)
        http_socket_sweep(k->c);
    k->is_active = false;
}

static uint32_t headers_parse(struct curl_call *k, struct http_param *params)
{
    const char *at = k->header_lines.data;
    for (uint32_t i = 0; i < k->header_n; i++) {
        params[i].key = at;
        params[i].value = at + strlen(at) + 1;
        at = params[i].value + strlen(params[i].value) + 1;
    }
    return k->header_n;
}

static void error_text(struct curl_call *k, CURLcode result, struct err *e)
{
    const char *method = k->texts.data + k->method_at, *url = k->texts.data + k->url_at;
    const char *what = k->curl_text[0] ? k->curl_text : curl_easy_strerror(result);
    if (k->failure == E_AGAIN)
        (void)err_set(e, E_AGAIN, "%s %s: timed out", method, url);
    else if (k->failure == E_LIMIT)
        (void)err_set(e, E_LIMIT, "%s %s: the answer is larger than %zu bytes", method, url, k->answer_max_bytes);
    else if (k->failure)
        (void)err_set(e, k->failure, "%s %s: closed", method, url);
    else if (result == CURLE_COULDNT_CONNECT || result == CURLE_COULDNT_RESOLVE_HOST)
        (void)err_set(e, E_IO, "%s %s: %s; is the server running, and is this its address?", method, url, what);
    else if (result == CURLE_PEER_FAILED_VERIFICATION)
        (void)err_set(e, E_DENIED, "%s %s: %s; the certificate authority in the configuration is not the server's",
                      method, url, what);
    else if (result == CURLE_OPERATION_TIMEDOUT)
        (void)err_set(e, E_AGAIN, "%s %s: %s", method, url, what);
    else
        (void)err_set(e, result == CURLE_WEIRD_SERVER_REPLY ? E_PROTO : E_IO, "%s %s: %s", method, url, what);
}

/* The call is over: tell, keep for reuse. result is libcurl's; a failure of our own stands in k. */
static void call_end(struct curl_call *k, CURLcode result)
{
    struct curl_client *c = k->c;
    struct http_param headers[ANSWER_HEADERS_MAX];
    struct http_answer answer = {0};
    bool closed_by_user = k->on_chunk && result == CURLE_WRITE_ERROR && !k->failure;
    call_unlink(k, k->failure || result != CURLE_OK);
    if (result == CURLE_OK && !k->failure && k->status == 0)
        result = CURLE_WEIRD_SERVER_REPLY;
    if (k->failure || (result != CURLE_OK && !closed_by_user)) {
        error_text(k, result, &answer.error);
    } else {
        answer.status = k->status;
        answer.body = buf_view(&k->answer);
        answer.headers = headers;
        answer.headers_n = headers_parse(k, headers);
    }
    c->inside++;
    if (!k->is_cancelled && k->on_answer)
        k->on_answer(k->arg, &answer);
    c->inside--;
    call_release(k);
}

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
    struct curl_call *k = arg;
    size_t line_n = size * n, key_n = 0;
    if (line_n > 12 && memcmp(line, "HTTP/", 5) == 0) { /* also after "100 Continue" */
        const char *space = memchr(line, ' ', line_n);
        int64_t status = 0;
        if (space && space + 4 <= line + line_n)
            (void)bytes_int64((struct bytes){space + 1, 3}, &status); /* three digits, or 0 */
        k->status = (int)status;
        k->header_n = 0;
        buf_clear(&k->header_lines);
        return line_n;
    }
    const char *colon = memchr(line, ':', line_n);
    if (!colon || k->header_n == ANSWER_HEADERS_MAX || k->header_lines.n + line_n > ANSWER_HEADERS_BYTES)
        return line_n;
    key_n = (size_t)(colon - line);
    char *out = buf_reserve(&k->header_lines, line_n + 2);
    for (size_t i = 0; i < key_n; i++)
        out[i] = (char)(line[i] >= 'A' && line[i] <= 'Z' ? line[i] | 0x20 : line[i]);
    out[key_n] = 0;
    const char *value = colon + 1, *end = line + line_n;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' '))
        end--;
    memcpy(out + key_n + 1, value, (size_t)(end - value));
    out[key_n + 1 + (size_t)(end - value)] = 0;
    k->header_lines.n += key_n + (size_t)(end - value) + 2;
    k->header_n++;
    return line_n;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    struct curl_call *k = arg;
    n *= size;
    if (k->is_cancelled)
        return 0;
    if (k->on_chunk) {
        if (k->silence_ms > 0)
            k->deadline_ms = loop_now_ms(k->c->base.l) + k->silence_ms;
        k->is_busy = true;
        bool more = k->on_chunk(k->arg, k->status, (struct bytes){data, n});
        k->is_busy = false;
        return more && !k->is_cancelled ? n : 0;
    }
    if (k->answer.n + n > k->answer_max_bytes) {
        k->failure = E_LIMIT;
        return 0;
    }
    buf_add(&k->answer, data, n);
    return n;
}

static void easy_create(struct curl_call *k)
{
    http_easy_create(k);
    http_socket_easy(k);
    curl_easy_setopt(k->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(k->easy, CURLOPT_HEADERDATA, k);
    curl_easy_setopt(k->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(k->easy, CURLOPT_WRITEDATA, k);
}

static void call_start(struct curl_call *k)
{
    list_remove(list_of(k), k);
    k->is_active = true;
    list_add(list_of(k), k);
    if (!k->easy)
        easy_create(k);
    k->curl_text[0] = 0;
    http_easy_apply(k);
    if (curl_multi_add_handle(k->c->multi, k->easy) != CURLM_OK) {
        k->failure = E_IO;
        k->deadline_ms = 1; /* the sweep ends it */
    }
}

static void queue_start(struct curl_client *c)
{
    while (c->stream_queue.first)
        call_start(c->stream_queue.first);
    while (c->queue.first && c->active.n < c->connections_max)
        call_start(c->queue.first);
}

static void progress(struct curl_client *c);

static void client_turn(void *arg)
{
    struct curl_client *c = arg;
    int running = 0;
    queue_start(c);
    c->inside++;
    (void)curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0,
                                   &running); /* starts what was added; errors per call */
    c->inside--;
    progress(c);
}

static void client_kick(struct curl_client *c)
{
    if (!c->is_freed)
        loop_at_turn_end(c->base.l, client_turn, c);
}

static void progress(struct curl_client *c)
{
    int left = 0;
    CURLMsg *m;
    bool any = false;
    while ((m = curl_multi_info_read(c->multi, &left))) {
        struct curl_call *k = NULL;
        if (m->msg != CURLMSG_DONE)
            continue;
        CURLcode result = m->data.result;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &k);
        call_end(k, result);
        any = true;
    }
    if (any && c->queue.n)
        client_kick(c);
}

static void sweep_list(struct curl_calls *list, int64_t now_ms, int64_t *next_ms)
{
    for (struct curl_call *k = list->first, *next; k; k = next) {
        next = k->next;
        if (k->deadline_ms <= 0)
            continue;
        if (k->deadline_ms > now_ms) {
            *next_ms = *next_ms == 0 || k->deadline_ms < *next_ms ? k->deadline_ms : *next_ms;
            continue;
        }
        k->failure = k->failure ? k->failure : E_AGAIN;
        call_end(k, CURLE_OK);
        next = list->first; /* the callback may have changed the list */
    }
}

static void sweep(void *arg)
{
    struct curl_client *c = arg;
    int64_t now_ms = loop_now_ms(c->base.l), next_ms = 0;
    c->inside++;
    sweep_list(&c->queue, now_ms, &next_ms);
    sweep_list(&c->stream_queue, now_ms, &next_ms);
    sweep_list(&c->active, now_ms, &next_ms);
    sweep_list(&c->streams, now_ms, &next_ms);
    c->inside--;
    c->sweep_due_ms = next_ms;
    if (next_ms)
        loop_timer_start(c->sweep, next_ms - now_ms, 0);
    client_kick(c);
}

static void deadline_set(struct curl_call *k, int64_t timeout_ms)
{
    struct curl_client *c = k->c;
    k->deadline_ms = timeout_ms > 0 ? loop_now_ms(c->base.l) + timeout_ms : 0;
    if (k->deadline_ms && (c->sweep_due_ms == 0 || k->deadline_ms < c->sweep_due_ms)) {
        c->sweep_due_ms = k->deadline_ms;
        loop_timer_start(c->sweep, timeout_ms, 0);
    }
}

static uint64_t curl_send(struct http_client *base, const struct http_call *call)
{
    struct curl_client *c = (struct curl_client *)base;
    struct curl_call *k = call_new(c, call->on_chunk != NULL);
    k->on_chunk = call->on_chunk;
    k->on_answer = call->on_answer;
    k->arg = call->arg;
    k->answer_max_bytes = call->answer_max_bytes ? call->answer_max_bytes : ANSWER_MAX_BYTES;
    k->silence_ms = call->on_chunk ? call->timeout_ms : 0;
    http_easy_prepare(k, call);
    list_add(list_of(k), k);
    deadline_set(k, call->timeout_ms > 0 || call->on_chunk ? call->timeout_ms : TIMEOUT_MS);
    client_kick(c);
    return k->id;
}

static struct curl_call *call_find(struct curl_client *c, uint64_t id)
{
    struct curl_calls *lists[] = {&c->streams, &c->active, &c->queue, &c->stream_queue};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (struct curl_call *k = lists[i]->first; k; k = k->next)
            if (k->id == id)
                return k;
    return NULL;
}

static void curl_cancel(struct http_client *base, uint64_t id)
{
    struct curl_client *c = (struct curl_client *)base;
    struct curl_call *k = call_find(c, id);
    if (!k || k->is_cancelled)
        return;
    k->is_cancelled = true;
    if (c->inside && k->is_active) { /* libcurl is on the stack: the sweep ends it */
        k->failure = E_IO;
        k->deadline_ms = 1;
        c->sweep_due_ms = 1;
        loop_timer_start(c->sweep, 0, 0);
        return;
    }
    call_unlink(k, true);
    call_release(k);
    client_kick(c);
}

static uint32_t curl_in_flight(const struct http_client *base)
{
    const struct curl_client *c = (const struct curl_client *)base;
    return c->queue.n + c->stream_queue.n + c->active.n + c->streams.n;
}

static void calls_close(struct curl_calls *list, bool quietly)
{
    while (list->first) {
        struct curl_call *k = list->first;
        k->is_cancelled = k->is_cancelled || quietly;
        k->failure = E_IO;
        call_end(k, CURLE_OK);
    }
}

static void client_destroy(void *arg)
{
    struct curl_client *c = arg;
    bool quietly = c->is_freed;
    c->is_freed = true; /* nothing is started or kept any more */
    struct curl_calls *lists[] = {&c->streams, &c->active, &c->queue, &c->stream_queue};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        calls_close(lists[i], quietly);
    while (c->spare) {
        struct curl_call *k = c->spare;
        c->spare = k->next;
        call_destroy(k);
    }
    if (c->multi)
        curl_multi_cleanup(c->multi);
    loop_forget(c->base.l, client_turn, c);
    http_socket_fini(c);
    loop_timer_free(c->sweep);
    curl_slist_free_all(c->connect_to);
    fd_close_p(&c->ca_fd);
    fd_close_p(&c->cert_fd);
    fd_close_p(&c->key_fd);
    free(c->base_url);
    free(c->unix_path);
    free(c->host_header);
    free(c->user_agent);
    free(c->proxy_url);
    free(c);
}

static void curl_free_client(struct http_client *base)
{
    struct curl_client *c = (struct curl_client *)base;
    if (!c->inside) {
        client_destroy(c);
        return;
    }
    /* Freed by one of its own callbacks: calls end without theirs, the rest when the stack is empty. */
    c->is_freed = true;
    loop_timer_stop(c->timer);
    loop_timer_stop(c->sweep);
    for (struct curl_call *k = c->active.first; k; k = k->next)
        k->is_cancelled = true;
    for (struct curl_call *k = c->streams.first; k; k = k->next)
        k->is_cancelled = true;
    loop_defer(base->l, client_destroy, c);
}

static const struct http_carrier_ops curl_ops = {curl_send, curl_cancel, curl_in_flight, curl_free_client};

/* A memory file with the text, or -1 without one. */
static int memory_file(const char *name, const char *text)
{
    if (!text)
        return -1;
    int fd = memfd_create(name, MFD_CLOEXEC);
    size_t n = strlen(text);
    if (fd < 0 || write(fd, text, n) != (ssize_t)n) {
        log_error("memory file for %s cannot be made", name);
        exit(70);
    }
    return fd;
}

/* WHY  A proxy from the environment is for the world outside; client-go leaves loopback out as well. */
static bool host_is_loopback(const char *host)
{
    return strcmp(host, "localhost") == 0 || text_starts(host, "127.") || strcmp(host, "[::1]") == 0;
}

/* With a TLS server name the URL carries that name, and libcurl connects to the real host. */
static void server_name_set(struct curl_client *c, const char *name, const char *scheme, const char *host,
                            const char *port, const char *path)
{
    _cleanup_buf_ struct buf text = {0};
    buf_printf(&text, "%s:%s:%s:%s", name, port, host, port);
    c->connect_to = curl_slist_append(NULL, text.data);
    buf_clear(&text);
    buf_printf(&text, "%s:%s", host, port);
    c->host_header = mem_text(text.data);
    buf_clear(&text);
    buf_printf(&text, "%s://%s:%s%s", scheme, name, port, path);
    c->base_url = buf_take(&text, NULL);
}

static int base_url_set(struct curl_client *c, const struct http_client_config *config, struct err *e)
{
    const char *url = config->base_url ? config->base_url : "";
    char *scheme = NULL, *host = NULL, *port = NULL, *path = NULL;
    if (text_starts(url, "unix:/")) {
        c->unix_path = mem_text(url + strlen("unix:"));
        c->base_url = mem_text("http://localhost");
        c->proxy_url = mem_text("");
        return 0;
    }
    CURLU *u = curl_url();
    bool ok = (text_starts(url, "http://") || text_starts(url, "https://")) && u &&
              curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
              curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
              curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
              curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
              curl_url_get(u, CURLUPART_PATH, &path, 0) == CURLUE_OK;
    if (ok) {
        size_t n = strlen(path);
        while (n > 0 && path[n - 1] == '/')
            path[--n] = 0;
        c->is_tls = strcmp(scheme, "https") == 0;
        if (c->is_tls && config->tls_server_name && config->tls_server_name[0]) {
            server_name_set(c, config->tls_server_name, scheme, host, port, path);
        } else {
            c->base_url = mem_text(url);
            for (n = strlen(c->base_url); n > 0 && c->base_url[n - 1] == '/'; n--)
                c->base_url[n - 1] = 0;
        }
        if (config->proxy_url || host_is_loopback(host))
            c->proxy_url = mem_text(config->proxy_url ? config->proxy_url : "");
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(path);
    curl_url_cleanup(u);
    return ok ? 0
              : err_set(e, E_INVALID, "server address \"%s\": write http://HOST:PORT, https://HOST:PORT or unix:/path",
                        url);
}

int http_client_new(struct loop *l, const struct http_client_config *config, struct http_client **ret_c, struct err *e)
{
    int r = curl_library_open(e);
    if (r < 0)
        return err_wrap(e, "HTTP client");
    struct curl_client *c = mem_zero(1, sizeof *c);
    c->base.ops = &curl_ops;
    c->base.l = l;
    c->ca_fd = c->cert_fd = c->key_fd = -1;
    c->sweep = loop_timer_new(l, sweep, c);
    c->multi = curl_multi_init();
    if (!c->multi) {
        log_error("out of memory for the HTTP client"); /* as base/memory.c does */
        exit(70);
    }
    c->progressed = progress;
    http_socket_init(c);
    r = base_url_set(c, config, e);
    if (r < 0) {
        client_destroy(c);
        return r;
    }
    c->connections_max = config->connections_max ? config->connections_max : CONNECTIONS_DEFAULT;
    c->insecure_skip_verify = config->insecure_skip_verify;
    c->authorization = config->authorization;
    c->authorization_ctx = config->authorization_ctx;
    c->user_agent = mem_text(config->user_agent ? config->user_agent : "capstan/" CAPSTAN_VERSION);
    c->ca_fd = memory_file("ca", config->ca_pem);
    c->cert_fd = memory_file("client-cert", config->client_cert_pem);
    c->key_fd = memory_file("client-key", config->client_key_pem);
    curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, (long)c->connections_max + STREAM_CONNECTIONS);
    *ret_c = &c->base;
    return 0;
}
