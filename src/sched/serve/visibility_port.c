#include "sched/serve/visibility_port.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/log.h"
#include "base/memory.h"
#include "kube/cache.h"
#include "net/http_self_signed.h"
#include "net/http_server.h"
#include "sched/serve/key_files.h"
#include "sched/serve/visibility.h"

enum { CONNECTIONS_MAX = 64, IDLE_SECONDS = 90, REQUEST_SECONDS = 10, SEGMENTS_MAX = 9, LOOK_MS = 5000 };
#define CONFIG_NS "kube-system"
#define CONFIG_NAME "extension-apiserver-authentication"

struct visibility_port {
    struct loop *loop;
    const struct scheduler *scheduler;
    struct http_server *server;
    struct kube_cache *config;  /* that one ConfigMap */
    char *address;              /* with the port that was found */
    const struct visibility_port_config *settings;
    struct key_pair pair;       /* that is served */
    uint64_t refused;           /* hash of the pair of the files that was no good; 0 none */
    struct err unread;          /* as it was said last */
    struct loop_timer *look;    /* at the files; NULL: the pair was made here */
    char *proxy_ca_pem;         /* NULL: not known */
    struct arena *names_arena;
    struct json *proxy_names;   /* who the front proxy may be; empty: whoever has a certificate of the CA; NULL: nobody, it is no list */
    struct json *user_headers;  /* in which it says for whom it asks */
};

/* ---- answers ---- */

static void reply_status(struct http_exchange *x, int code, const char *reason, const char *message)
{
    _cleanup_buf_ struct buf out = {0};
    buf_text(&out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":");
    json_write_string(&out, bytes_of(message));
    buf_printf(&out, ",\"reason\":\"%s\",\"code\":%d}\n", reason, code);
    http_reply(x, code, "application/json", blob_new(out.data, out.n));
}

static void reply_err(struct http_exchange *x, const struct err *e)
{
    if (e->code == E_NOTFOUND)
        reply_status(x, 404, "NotFound", e->text);
    else if (e->code == E_INVALID)
        reply_status(x, 400, "BadRequest", e->text);
    else
        reply_status(x, 503, "ServiceUnavailable", e->text);
}

#define VERSION(v) "{\"groupVersion\":\"" VISIBILITY_GROUP "/" v "\",\"version\":\"" v "\"}"
static const char group_document[] = "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"" VISIBILITY_GROUP "\",\"versions\":["
                                     VERSION("v1beta2") "," VERSION("v1beta1") "],\"preferredVersion\":" VERSION("v1beta2") "}\n";

/* WHY  empty: what has none is asked for again and again by the API server, with an error in its log each time. */
static const char openapi_document[] =
    "{\"swagger\":\"2.0\",\"info\":{\"title\":\"Capstan visibility API\",\"version\":\"" CAPSTAN_VERSION "\"},\"paths\":{},\"definitions\":{}}\n";

static void reply_resources(struct http_exchange *x, const char *version)
{
    static const struct {
        const char *plural, *kind;
        bool namespaced;
    } queues[] = {{"clusterqueues", "ClusterQueue", false}, {"localqueues", "LocalQueue", true}};
    _cleanup_buf_ struct buf out = {0};
    buf_printf(&out, "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"" VISIBILITY_GROUP "/%s\",\"resources\":[",
               version);
    for (int i = 0; i < 2; i++) {
        const char *namespaced = queues[i].namespaced ? "true" : "false";
        buf_printf(&out, "%s{\"name\":\"%s\",\"singularName\":\"%.*s\",\"namespaced\":%s,\"kind\":\"%s\",\"verbs\":[]},", i ? "," : "",
                   queues[i].plural, (int)strlen(queues[i].plural) - 1, queues[i].plural, namespaced, queues[i].kind);
        buf_printf(&out, "{\"name\":\"%s/pendingworkloads\",\"singularName\":\"\",\"namespaced\":%s,\"kind\":\"PendingWorkloadsSummary\","
                         "\"verbs\":[\"get\"]}", queues[i].plural, namespaced);
    }
    buf_text(&out, "]}\n");
    http_reply(x, 200, "application/json", blob_new(out.data, out.n));
}

static void reply_pending(const struct visibility_port *p, struct http_exchange *x, struct visibility_question q)
{
    _cleanup_buf_ struct buf out = {0};
    struct err e = {0};
    if (visibility_query(&x->request, &q, &e) < 0 || visibility_answer(p->scheduler, x->request.arena, &q, &out, &e) < 0)
        reply_err(x, &e);
    else
        http_reply(x, 200, "application/json", blob_new(out.data, out.n));
}

/* ---- who asks ---- */

static bool lists(const struct json *names, const char *name)
{
    JSON_EACH (one, names)
        if (text_equal(json_text(one, ""), name))
            return true;
    return false;
}

static const char *user_of(const struct visibility_port *p, const struct http_request *r)
{
    JSON_EACH (header, p->user_headers) {
        const char *user = http_header(r, json_text(header, ""));
        if (user && *user)
            return user;
    }
    return NULL;
}

/* False: it was answered. */
static bool comes_from_proxy(const struct visibility_port *p, struct http_exchange *x)
{
    const char *peer = x->request.user;
    if (!p->proxy_ca_pem) {
        reply_status(x, 503, "ServiceUnavailable", "the CA of the front proxy is not known: ConfigMap " CONFIG_NS "/" CONFIG_NAME
                                                   " was not read, or has no requestheader-client-ca-file");
        return false;
    }
    bool known = peer && *peer && p->proxy_names && (!p->proxy_names->n || lists(p->proxy_names, peer));
    if (known && user_of(p, &x->request))
        return true;
    reply_status(x, 401, "Unauthorized", known ? "Unauthorized: the front proxy does not say for whom it asks"
                                               : "Unauthorized: only the API server's front proxy is answered here");
    return false;
}

/* ---- paths ---- */

/* WHY  empty segments are no segments here, nor left out: the API server has judged the path as it stands. */
static uint32_t split(struct arena *a, const char *path, const char *segments[SEGMENTS_MAX])
{
    uint32_t n = 0;
    while (*path == '/' && n < SEGMENTS_MAX) {
        size_t length = strcspn(++path, "/");
        segments[n++] = arena_text_n(a, path, length);
        path += length;
    }
    return n;
}

static bool is(const char *const *segments, uint32_t n, uint32_t wanted_n, const char *queues, const char *last)
{
    return n == wanted_n && text_equal(segments[n - 3], queues) && *segments[n - 2] && text_equal(segments[n - 1], last);
}

/* No request here has a body: none is kept, whoever sends it. */
static bool takes_body(void *ctx, const struct http_exchange *x)
{
    return false;
}

static void on_request(void *ctx, struct http_exchange *x)
{
    const struct visibility_port *p = ctx;
    const char *s[SEGMENTS_MAX];
    uint32_t n = split(x->request.arena, x->request.path, s);
    if (!comes_from_proxy(p, x))
        return;
    bool ours = n >= 2 && text_equal(s[0], "apis") && text_equal(s[1], VISIBILITY_GROUP);
    bool served = ours && n >= 3 && (text_equal(s[2], "v1beta2") || text_equal(s[2], "v1beta1"));
    if (!text_equal(x->request.method, "GET"))
        reply_status(x, 405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
    else if (n == 2 && text_equal(s[0], "openapi") && text_equal(s[1], "v2"))
        http_reply_text(x, 200, "application/json", openapi_document);
    else if (ours && n == 2)
        http_reply_text(x, 200, "application/json", group_document);
    else if (served && n == 3)
        reply_resources(x, s[2]);
    else if (served && is(s, n, 6, "clusterqueues", "pendingworkloads"))
        reply_pending(p, x, (struct visibility_question){.version = s[2], .ns = "", .name = s[4]});
    else if (served && is(s, n, 8, "localqueues", "pendingworkloads") && text_equal(s[3], "namespaces") && *s[4])
        reply_pending(p, x, (struct visibility_question){.version = s[2], .ns = s[4], .name = s[6]});
    else
        reply_status(x, 404, "NotFound", "the server could not find the requested resource");
}

/* ---- the certificates that count ---- */

static int serve(struct visibility_port *p, struct err *e)
{
    struct http_server_config config = {.listen = p->address,
                                        .tls_cert_pem = p->pair.cert_pem,
                                        .tls_key_pem = p->pair.key_pem,
                                        .tls_client_ca_pem = p->proxy_ca_pem,
                                        .handler = on_request,
                                        .head = takes_body,
                                        .ctx = p,
                                        .connections_max = CONNECTIONS_MAX,
                                        .idle_seconds = IDLE_SECONDS,
                                        .request_seconds = REQUEST_SECONDS};
    http_server_free(p->server);
    p->server = NULL;
    return http_server_new(p->loop, &config, &p->server, e);
}

/* Its lists are JSON in texts; NULL: this one is none. Header names lower-cased, as requests have them. */
static struct json *list_of(struct visibility_port *p, const struct json *data, const char *key, const char *otherwise)
{
    const char *text = json_get_text(data, key, "");
    char *copy = arena_text(p->names_arena, *text ? text : otherwise);
    for (char *c = copy; text_starts(key, "requestheader-username") && *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 'a' - 'A') : *c;
    struct json *list = json_parse(p->names_arena, bytes_of(copy), NULL, NULL);
    if (json_is(list, JSON_ARRAY))
        return list;
    log_warning("visibility API: " CONFIG_NS "/" CONFIG_NAME ": %s is no JSON list: nobody is answered", key);
    return NULL;
}

static void on_config(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct visibility_port *p = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    struct err e = {0};
    const struct json *data = event == KUBE_DELETED ? NULL : json_get(json_parse(a, object, NULL, NULL), "data");
    const char *ca = json_get_text(data, "requestheader-client-ca-file", "");
    (void)key; /* there is one */
    arena_reset(p->names_arena);
    p->proxy_names = list_of(p, data, "requestheader-allowed-names", "[]");
    p->user_headers = list_of(p, data, "requestheader-username-headers", "[\"X-Remote-User\"]");
    if (text_equal(p->proxy_ca_pem ? p->proxy_ca_pem : "", ca))
        return;
    free(p->proxy_ca_pem);
    p->proxy_ca_pem = *ca ? mem_text(ca) : NULL;
    if (serve(p, &e) == 0)
        return;
    log_warning("visibility API: " CONFIG_NS "/" CONFIG_NAME ": error=\"%s\"", e.text);
    free(p->proxy_ca_pem);
    p->proxy_ca_pem = NULL;
    if (serve(p, &e) < 0)
        log_error("visibility API is not served error=\"%s\"", e.text);
}

/* ---- our own certificate ---- */

static uint64_t hash_of(const struct key_pair *pair)
{
    uint64_t hash = hash_bytes(pair->cert_pem, strlen(pair->cert_pem), 1);
    return hash_bytes(pair->key_pem, strlen(pair->key_pem), hash);
}

/* From now on this one; that before, when it is no good. What is no fault of the pair is tried again: no descriptor was left, say. */
static void take_pair(struct visibility_port *p, struct key_pair *pair)
{
    struct err e = {0};
    struct key_pair before = p->pair;
    p->pair = *pair;
    int r = serve(p, &e);
    if (r == 0) {
        log_info("visibility API: certificate read anew file=%s", p->settings->cert_file);
        p->refused = 0;
        key_pair_free(&before);
        return;
    }
    log_warning("visibility API: the certificate before stays in use file=%s error=\"%s\"", p->settings->cert_file, e.text);
    p->refused = r == -E_INVALID ? hash_of(pair) : 0;
    key_pair_free(&p->pair);
    p->pair = before;
    if (serve(p, &e) < 0)
        log_error("visibility API is not served error=\"%s\"", e.text);
}

static void look_at_files(void *arg)
{
    struct visibility_port *p = arg;
    struct key_pair pair = {0};
    struct err e = {0};
    if (key_files_read(p->settings->cert_file, p->settings->key_file, &pair, &e) < 0) {
        if (!text_equal(e.text, p->unread.text))
            log_warning("visibility API: the certificate before stays in use error=\"%s\"", e.text);
        p->unread = e;
        return;
    }
    p->unread = (struct err){0};
    uint64_t found = hash_of(&pair);
    bool is_served = found == hash_of(&p->pair);
    if (!is_served && found != p->refused) {
        take_pair(p, &pair);
        return;
    }
    p->refused = is_served ? 0 : p->refused;
    key_pair_free(&pair);
    if (!p->server && serve(p, &e) == 0)
        log_info("visibility API is served again");
}

/* What serves first: of the files, or made here. */
static int first_pair(struct visibility_port *p, struct err *e)
{
    if (!p->settings->cert_file)
        return http_self_signed("capstan-visibility.capstan-system.svc", &p->pair.cert_pem, &p->pair.key_pem, e);
    int r = key_files_read(p->settings->cert_file, p->settings->key_file, &p->pair, e);
    if (r < 0) {
        (void)err_wrap(e, "certificate and key");
        return r;
    }
    p->look = loop_timer_new(p->loop, look_at_files, p);
    loop_timer_start(p->look, LOOK_MS, LOOK_MS);
    return 0;
}

/* ---- making ---- */

int visibility_port_new(struct loop *l, struct kube_client *c, const struct scheduler *s, const struct visibility_port_config *config,
                        struct visibility_port **ret_p, struct err *e)
{
    struct visibility_port *p = mem_zero(1, sizeof *p);
    const char *address = config->address, *colon = strrchr(address, ':');
    p->loop = l;
    p->settings = config;
    p->scheduler = s;
    p->address = mem_text(address);
    p->names_arena = arena_new();
    int r = !colon || text_starts(address, "unix:") ? err_set(e, E_INVALID, "%s: write HOST:PORT or :PORT", address) : 0;
    if (r == 0)
        r = first_pair(p, e);
    if (r == 0)
        r = serve(p, e);
    if (r == -E_INVALID && p->look && e && text_starts(e->text, "TLS"))
        (void)err_wrap(e, "%s, %s", config->cert_file, config->key_file);
    if (r < 0) {
        visibility_port_free(p);
        return r;
    }
    _cleanup_buf_ struct buf found = {0}; /* WHY  it is opened again when the CA is known, on the same port */
    buf_printf(&found, "%.*s:%d", (int)(colon - address), address, http_server_port(p->server));
    free(p->address);
    p->address = buf_take(&found, NULL);
    struct kube_cache_config watched = {.watch = {.path = "/api/v1/namespaces/" CONFIG_NS "/configmaps",
                                                  .field_selector = "metadata.name=" CONFIG_NAME,
                                                  .optional = true},
                                        .on_change = on_config,
                                        .arg = p};
    p->config = kube_cache_new(c, &watched);
    *ret_p = p;
    return 0;
}

int visibility_port_number(const struct visibility_port *p)
{
    return p->server ? http_server_port(p->server) : 0;
}

void visibility_port_free(struct visibility_port *p)
{
    if (!p)
        return;
    loop_timer_free(p->look);
    if (p->config)
        kube_cache_free(p->config);
    http_server_free(p->server);
    arena_free(p->names_arena);
    free(p->address);
    key_pair_free(&p->pair);
    free(p->proxy_ca_pem);
    free(p);
}
