/* web_config.c - see web_config.h */
#include "exporter/pages/web_config.h"
#include <crypt.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/memory.h"
#include "exporter/file_text.h"
#include "exporter/pages/web_config_parts.h"
#include "wire/yaml.h"

#define REFILL_MS 1000
#define PASSWORD_MAX 512 /* what libcrypt takes */
#define RATE_BURST_MAX 1000000
#define RATE_MS_MAX (24 * 3600 * 1000)

/* ---- basic_auth_users ---- */

/* "$2y$10$" and 53 characters. */
static bool is_bcrypt(const char *hash, int *ret_cost)
{
    if (strlen(hash) != 60 || hash[0] != '$' || hash[1] != '2' || !strchr("aby", hash[2]) || hash[3] != '$')
        return false;
    if (hash[4] < '0' || hash[4] > '3' || hash[5] < '0' || hash[5] > '9' || hash[6] != '$')
        return false;
    *ret_cost = (hash[4] - '0') * 10 + hash[5] - '0';
    return true;
}

static int read_users(struct web_reading *r, const struct json *users, struct err *e)
{
    struct web_config *c = r->c;
    if (users->n > LIMIT_WEB_CONFIG_USERS)
        return err_set(e, E_LIMIT, "%s: basic_auth_users: at most %d", r->path, LIMIT_WEB_CONFIG_USERS);
    c->users = mem_zero(users->n + 1, sizeof *c->users);
    JSON_EACH(item, users)
    {
        int cost = 0;
        const char *where = arena_printf(r->arena, "basic_auth_users.%.64s", item->key);
        if (!json_is(item, JSON_STRING) || !is_bcrypt(item->text, &cost))
            return web_config_wrong(r, e, where, "no bcrypt hash; make one with: htpasswd -nBC 10 ''");
        if (cost < 4 || cost > WEB_CONFIG_COST_MAX)
            return err_set(e, E_LIMIT, "%s: %s: bcrypt of cost %d; use one between 4 and %d", r->path, where, cost,
                           WEB_CONFIG_COST_MAX);
        c->users[c->users_n++] = (struct web_config_user){mem_text(item->key), mem_text(item->text), NULL};
    }
    return 0;
}

/* ---- http_server_config ---- */

/* Headers that may be set, and the values that they may have; none listed: any. */
static const struct {
    const char *name, *values[2];
} headers_known[WEB_CONFIG_HEADERS_MAX] = {{"Strict-Transport-Security", {0}},
                                           {"X-Content-Type-Options", {"nosniff"}},
                                           {"X-Frame-Options", {"deny", "sameorigin"}},
                                           {"X-XSS-Protection", {0}},
                                           {"Content-Security-Policy", {0}}};

static int read_header(struct web_reading *r, const struct json *item, struct err *e)
{
    const char *where = arena_printf(r->arena, "http_server_config.headers.%.64s", item->key);
    struct bytes value = json_bytes(item);
    for (int i = 0; i < WEB_CONFIG_HEADERS_MAX; i++) {
        const char *const *values = headers_known[i].values;
        if (!text_equal(item->key, headers_known[i].name))
            continue;
        if (json_is(item, JSON_NULL) || (json_is(item, JSON_STRING) && value.n == 0))
            return 0;
        if (!json_is(item, JSON_STRING) && !json_is(item, JSON_NUMBER))
            return web_config_wrong(r, e, where, "a text is expected");
        if (values[0] && !bytes_equal(value, bytes_of(values[0])) && !(values[1] && bytes_equal(value, bytes_of(values[1]))))
            return web_config_wrong(r, e, where, values[1] ? "use deny or sameorigin" : "use nosniff");
        r->c->headers[r->c->headers_n++] = (struct http_param){headers_known[i].name, mem_text_n(value.data, value.n)};
        return 0;
    }
    return web_config_wrong(r, e, where,
                            "not to be set here: Strict-Transport-Security, X-Content-Type-Options, X-Frame-Options, X-XSS-Protection "
                            "and Content-Security-Policy are");
}

static int read_http(struct web_reading *r, const struct json *http, struct err *e)
{
    int code = 0;
    JSON_EACH(item, http)
    {
        if (text_equal(item->key, "http2") && !json_is(item, JSON_BOOL)) /* nothing to keep: clients agree on HTTP/1.1 */
            code = web_config_wrong(r, e, "http_server_config.http2", "true or false is expected");
        else if (text_equal(item->key, "headers"))
            JSON_EACH(header, item)
                code = code == 0 ? read_header(r, header, e) : code;
        else if (!text_equal(item->key, "http2"))
            code = web_config_wrong(r, e, arena_printf(r->arena, "http_server_config.%.64s", item->key), "use http2 and headers");
        if (code < 0)
            return code;
    }
    return 0;
}

/* ---- rate_limit ---- */

static int read_rate(struct web_reading *r, const struct json *rate, struct err *e)
{
    struct web_config *c = r->c;
    JSON_EACH(item, rate)
    {
        struct bytes text = json_bytes(item);
        if (text_equal(item->key, "burst")) {
            if (!json_is(item, JSON_NUMBER) || !bytes_int64(text, &c->burst) || c->burst < 0 || c->burst > RATE_BURST_MAX)
                return web_config_wrong(r, e, "rate_limit.burst", "a number from 0 to 1000000 is expected");
        } else if (text_equal(item->key, "interval")) {
            bool is_off = json_is(item, JSON_NUMBER) && bytes_equal(text, BYTES("0"));
            bool is_good = is_off || (json_is(item, JSON_STRING) && duration_parse(text, &c->rate_ms));
            if (!is_good || c->rate_ms < 0 || c->rate_ms > RATE_MS_MAX)
                return web_config_wrong(r, e, "rate_limit.interval", "0, or a duration from 1ms to 24h is expected");
        } else {
            return web_config_wrong(r, e, arena_printf(r->arena, "rate_limit.%.64s", item->key), "use interval and burst");
        }
    }
    if (c->rate_ms > 0 && c->burst == 0)
        return web_config_wrong(r, e, "rate_limit.burst", "0 at once is never one: use 1 or more");
    return 0;
}

/* ---- the file ---- */

static int read_document(struct web_reading *r, struct bytes text, struct err *e)
{
    struct json *docs = NULL;
    struct json_parse_info info = {0};
    int code = yaml_parse(r->arena, text, &docs, &info, e);
    if (code < 0) {
        (void)err_wrap(e, "%s", r->path);
        return code;
    }
    if (info.duplicate_n)
        return web_config_wrong(r, e, info.duplicate[0], "stands twice");
    if (docs->n > 1 || (docs->n == 1 && !json_is(docs->first, JSON_OBJECT)))
        return err_set(e, E_INVALID, "%s: one mapping of sections is expected, as tls_server_config and basic_auth_users", r->path);
    static const struct {
        const char *name;
        int (*read)(struct web_reading *r, const struct json *section, struct err *e);
    } sections[] = {{"tls_server_config", web_config_read_tls}, {"http_server_config", read_http}, {"basic_auth_users", read_users},
                    {"rate_limit", read_rate}};
    enum { SECTIONS_N = sizeof sections / sizeof *sections };
    JSON_EACH(item, docs->first)
    {
        int i = 0;
        while (i < SECTIONS_N && !text_equal(item->key, sections[i].name))
            i++;
        const char *key = arena_printf(r->arena, "%.64s", item->key);
        if (i == SECTIONS_N)
            return web_config_wrong(r, e, key,
                                    "no section of exporter-toolkit's: use tls_server_config, http_server_config, basic_auth_users, "
                                    "rate_limit");
        if (json_is(item, JSON_NULL))
            continue;
        code = json_is(item, JSON_OBJECT) ? sections[i].read(r, item, e) : web_config_wrong(r, e, key, "a mapping is expected");
        if (code < 0)
            return code;
    }
    return 0;
}

int web_config_read(const char *path, struct web_config **ret_c, struct err *e)
{
    struct web_config *c = mem_zero(1, sizeof *c);
    c->tries = WEB_CONFIG_TRIES;
    if (!path || !*path) {
        *ret_c = c;
        return 0;
    }
    _cleanup_buf_ struct buf text = {0};
    _cleanup_arena_ struct arena *arena = arena_new();
    struct web_reading r = {.c = c, .arena = arena, .path = path};
    int code = file_text_read(path, LIMIT_WEB_CONFIG_BYTES, &text, e);
    if (code == 0) {
        c->hash = hash_bytes(text.data, text.n, 1);
        code = read_document(&r, buf_view(&text), e);
    }
    if (code < 0) {
        web_config_free(c);
        return code;
    }
    *ret_c = c;
    return 0;
}

static void forget_secret(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void web_config_free(struct web_config *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; i < c->users_n; i++) {
        free(c->users[i].name);
        free(c->users[i].hash);
        forget_secret(c->users[i].accepted);
    }
    free(c->users);
    free(c->cert_pem);
    forget_secret(c->key_pem);
    free(c->client_ca_pem);
    free(c->priorities);
    for (uint32_t i = 0; i < c->sans_n; i++)
        free(c->sans[i]);
    free(c->sans);
    for (uint32_t i = 0; i < c->headers_n; i++)
        free((char *)c->headers[i].value);
    free(c);
}

/* ---- requests ---- */

/* The time that requests take up, a rate_ms each, may lie `burst` of them ahead. */
bool web_config_admits(struct web_config *c, int64_t now_ms)
{
    if (c->rate_ms == 0)
        return true;
    int64_t from_ms = c->let_in_ms > now_ms ? c->let_in_ms : now_ms;
    if (from_ms + c->rate_ms - now_ms > c->rate_ms * c->burst)
        return false;
    c->let_in_ms = from_ms + c->rate_ms;
    return true;
}

bool web_config_knows(const struct web_config *c, const char *names)
{
    for (const char *at = names ? names : ""; *at && c->sans_n;) {
        struct bytes name = {at, strcspn(at, "\n")};
        for (uint32_t i = 0; i < c->sans_n; i++)
            if (bytes_equal(name, bytes_of(c->sans[i])))
                return true;
        at += name.n + (at[name.n] == '\n');
    }
    return c->sans_n == 0;
}

/* Takes as long for texts that differ early as for others. */
static bool same_secret(const char *a, const char *b)
{
    size_t n = strlen(a);
    unsigned char differ = 0;
    if (strlen(b) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        differ |= (unsigned char)(a[i] ^ b[i]);
    return differ == 0;
}

static bool password_is(const char *password, const char *hash)
{
    struct crypt_data *data = mem_zero(1, sizeof *data);
    /* WHY  not crypt_r: sanitizers put their own in front of it, and libcrypt is then not linked */
    const char *made = crypt_rn(password, hash, data, (int)sizeof *data);
    bool same = made && same_secret(made, hash);
    explicit_bzero(data, sizeof *data);
    free(data);
    return same;
}

static bool may_try(struct web_config *c, int64_t now_ms)
{
    int64_t more = (now_ms - c->refill_ms) / REFILL_MS;
    if (more > 0) {
        c->tries = c->tries + more > WEB_CONFIG_TRIES ? WEB_CONFIG_TRIES : c->tries + more;
        c->refill_ms += more * REFILL_MS;
    }
    if (c->tries <= 0)
        return false;
    c->tries--;
    return true;
}

int web_config_allows(struct web_config *c, const char *authorization, int64_t now_ms)
{
    if (c->users_n == 0)
        return 1;
    if (!authorization || strncasecmp(authorization, "Basic ", 6) != 0)
        return 0;
    for (uint32_t i = 0; i < c->users_n; i++)
        if (c->users[i].accepted && same_secret(c->users[i].accepted, authorization))
            return 1;
    _cleanup_buf_ struct buf pair = {0};
    struct bytes encoded = bytes_of(authorization + 6);
    char *colon = NULL;
    if (encoded.n <= PASSWORD_MAX * 2 && base64_decode(&pair, encoded))
        colon = pair.n ? memchr(pair.data, ':', pair.n) : NULL;
    if (!colon || strlen(pair.data) != pair.n || strlen(colon + 1) >= PASSWORD_MAX)
        return 0;
    if (!may_try(c, now_ms))
        return -E_AGAIN;
    *colon = '\0';
    struct web_config_user *user = NULL;
    for (uint32_t i = 0; i < c->users_n; i++)
        if (text_equal(c->users[i].name, pair.data))
            user = &c->users[i];
    /* WHY  an unknown name takes as long as a wrong password: names cannot be found out */
    bool right = password_is(colon + 1, user ? user->hash : c->users[0].hash) && user;
    explicit_bzero(pair.data, pair.n);
    if (!right)
        return 0;
    c->tries = c->tries < WEB_CONFIG_TRIES ? c->tries + 1 : c->tries;
    forget_secret(user->accepted);
    user->accepted = mem_text(authorization);
    return 1;
}
