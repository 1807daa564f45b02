/* web_config.c - see web_config.h */
#include "exporter/web_config.h"
#include <crypt.h>
#include <stdlib.h>
#include "base/map.h"
#include "base/memory.h"
#include "exporter/file_text.h"
#include "wire/yaml.h"

#define REFILL_MS 1000
#define PASSWORD_MAX 512 /* what libcrypt takes */

struct reading {
    struct web_config *c;
    struct arena *arena;
    const char *path;
};

static int wrong(const struct reading *r, struct err *e, const char *key, const char *what)
{
    return err_set(e, E_INVALID, "%s: %s: %s", r->path, key, what);
}

/* ---- tls_server_config ---- */

static int read_pem(struct reading *r, const char *key, const char *file, char **ret_pem, struct err *e)
{
    struct buf text = {0};
    const char *slash = strrchr(r->path, '/');
    bool relative = file[0] != '/' && slash;
    const char *path = relative ? arena_printf(r->arena, "%.*s%s", (int)(slash + 1 - r->path), r->path, file) : file;
    int code = file_text_read(path, LIMIT_WEB_CONFIG_BYTES, &text, e);
    if (code < 0) {
        buf_free(&text);
        (void)err_wrap(e, "%s: tls_server_config.%s", r->path, key);
        return code;
    }
    r->c->hash = hash_bytes(text.data, text.n, r->c->hash);
    *ret_pem = buf_take(&text, NULL);
    return 0;
}

static int read_auth_type(const struct reading *r, const char *text, enum http_client_auth *ret_auth, struct err *e)
{
    static const struct {
        const char *name;
        enum http_client_auth auth;
    } types[] = {{"", HTTP_CLIENT_AUTH_OPTIONAL},
                 {"NoClientCert", HTTP_CLIENT_AUTH_OPTIONAL},
                 {"RequestClientCert", HTTP_CLIENT_AUTH_OPTIONAL},
                 {"RequireAnyClientCert", HTTP_CLIENT_AUTH_ANY},
                 {"VerifyClientCertIfGiven", HTTP_CLIENT_AUTH_IF_GIVEN},
                 {"RequireAndVerifyClientCert", HTTP_CLIENT_AUTH_REQUIRED}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (text_equal(text, types[i].name)) {
            *ret_auth = types[i].auth;
            return 0;
        }
    return wrong(r, e, "tls_server_config.client_auth_type",
                 "use NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven or "
                 "RequireAndVerifyClientCert");
}

static int check_tls(const struct reading *r, struct err *e)
{
    const struct web_config *c = r->c;
    if (!c->cert_pem || !c->key_pem)
        return wrong(r, e, "tls_server_config", "cert_file and key_file are both needed");
    if (c->client_ca_pem && c->client_auth == HTTP_CLIENT_AUTH_OPTIONAL)
        return wrong(r, e, "tls_server_config.client_auth_type",
                     "client_ca_file is given, so say RequireAndVerifyClientCert (or VerifyClientCertIfGiven)");
    if (!c->client_ca_pem && c->client_auth >= HTTP_CLIENT_AUTH_IF_GIVEN)
        return wrong(r, e, "tls_server_config.client_ca_file", "missing: it says which client certificates are good");
    return 0;
}

static int read_tls(struct reading *r, const struct json *tls, struct err *e)
{
    struct web_config *c = r->c;
    int code = 0;
    if (!json_is(tls, JSON_OBJECT))
        return wrong(r, e, "tls_server_config", "a mapping is expected");
    JSON_EACH(item, tls)
    {
        const char *key = item->key, *where = arena_printf(r->arena, "tls_server_config.%.64s", key);
        if (!json_is(item, JSON_STRING))
            return wrong(r, e, where, "not supported here, or no text: leave it out");
        if (text_equal(key, "cert_file") && !c->cert_pem)
            code = read_pem(r, key, item->text, &c->cert_pem, e);
        else if (text_equal(key, "key_file") && !c->key_pem)
            code = read_pem(r, key, item->text, &c->key_pem, e);
        else if (text_equal(key, "client_ca_file") && !c->client_ca_pem)
            code = item->n ? read_pem(r, key, item->text, &c->client_ca_pem, e) : 0;
        else if (text_equal(key, "client_auth_type"))
            code = read_auth_type(r, item->text, &c->client_auth, e);
        else
            return wrong(r, e, where, "not supported here: use cert_file, key_file, client_ca_file, client_auth_type");
        if (code < 0)
            return code;
    }
    return check_tls(r, e);
}

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

static int read_users(struct reading *r, const struct json *users, struct err *e)
{
    struct web_config *c = r->c;
    if (!json_is(users, JSON_OBJECT))
        return wrong(r, e, "basic_auth_users", "a mapping of names to bcrypt hashes is expected");
    if (users->n > LIMIT_WEB_CONFIG_USERS)
        return err_set(e, E_LIMIT, "%s: basic_auth_users: at most %d", r->path, LIMIT_WEB_CONFIG_USERS);
    c->users = mem_zero(users->n + 1, sizeof *c->users);
    JSON_EACH(item, users)
    {
        int cost = 0;
        const char *where = arena_printf(r->arena, "basic_auth_users.%.64s", item->key);
        if (!json_is(item, JSON_STRING) || !is_bcrypt(item->text, &cost))
            return wrong(r, e, where, "no bcrypt hash; make one with: htpasswd -nBC 10 ''");
        if (cost < 4 || cost > WEB_CONFIG_COST_MAX)
            return err_set(e, E_LIMIT, "%s: %s: bcrypt of cost %d; use one between 4 and %d", r->path, where, cost,
                           WEB_CONFIG_COST_MAX);
        c->users[c->users_n++] = (struct web_config_user){mem_text(item->key), mem_text(item->text), NULL};
    }
    return 0;
}

/* ---- the file ---- */

static int read_document(struct reading *r, struct bytes text, struct err *e)
{
    struct json *docs = NULL;
    struct json_parse_info info = {0};
    int code = yaml_parse(r->arena, text, &docs, &info, e);
    if (code < 0) {
        (void)err_wrap(e, "%s", r->path);
        return code;
    }
    if (info.duplicate_n)
        return wrong(r, e, info.duplicate[0], "stands twice");
    if (docs->n > 1 || (docs->n == 1 && !json_is(docs->first, JSON_OBJECT)))
        return err_set(e, E_INVALID, "%s: one mapping with tls_server_config and basic_auth_users is expected", r->path);
    JSON_EACH(item, docs->first)
    {
        if (text_equal(item->key, "tls_server_config"))
            code = read_tls(r, item, e);
        else if (text_equal(item->key, "basic_auth_users"))
            code = read_users(r, item, e);
        else
            code = wrong(r, e, arena_printf(r->arena, "%.64s", item->key),
                         "not supported here: use tls_server_config and basic_auth_users");
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
    struct reading r = {.c = c, .arena = arena, .path = path};
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
    free(c);
}

/* ---- requests ---- */

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
    if (!c->users)
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
    if (!colon || strlen(pair.data) != pair.n || strlen(colon + 1) >= PASSWORD_MAX || c->users_n == 0)
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
