/* web_config_tls.c - certificates, who has to show one, and versions, ciphers and curves as GnuTLS's priorities */
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "exporter/file_text.h"
#include "exporter/pages/web_config_parts.h"

#define SECTION "tls_server_config"

/* ---- what can be chosen: Go's names and GnuTLS's ---- */

enum key_exchange { ECDHE_ECDSA, ECDHE_RSA, KEY_EXCHANGES_N };
enum cipher { AES_128_GCM, AES_256_GCM, CHACHA20, AES_128_CBC, AES_256_CBC, CIPHERS_N };
static const char *const exchange_names[KEY_EXCHANGES_N] = {"ECDHE-ECDSA", "ECDHE-RSA"};
static const char *const cipher_names[CIPHERS_N] = {"AES-128-GCM", "AES-256-GCM", "CHACHA20-POLY1305", "AES-128-CBC",
                                                    "AES-256-CBC"};

static const struct {
    const char *name;
    enum key_exchange exchange;
    enum cipher cipher;
} suites[] = {{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", ECDHE_ECDSA, AES_128_GCM},
              {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", ECDHE_ECDSA, AES_256_GCM},
              {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", ECDHE_ECDSA, CHACHA20},
              {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", ECDHE_ECDSA, AES_128_CBC},
              {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", ECDHE_ECDSA, AES_256_CBC},
              {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", ECDHE_RSA, AES_128_GCM},
              {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", ECDHE_RSA, AES_256_GCM},
              {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", ECDHE_RSA, CHACHA20},
              {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", ECDHE_RSA, AES_128_CBC},
              {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", ECDHE_RSA, AES_256_CBC}};
enum { SUITES_N = sizeof suites / sizeof *suites };

/* Of TLS 1.3, where suites have no key exchange. Naming them chooses nothing in it, there and here. */
static const char *const suites_13[] = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"};

static const struct {
    const char *name, *gnutls;
} curves[] = {{"CurveP256", "SECP256R1"}, {"CurveP384", "SECP384R1"}, {"CurveP521", "SECP521R1"}, {"X25519", "X25519"}};

static const char *const versions[] = {"TLS10", "TLS11", "TLS12", "TLS13"};
static const char *const version_names[] = {"VERS-TLS1.0", "VERS-TLS1.1", "VERS-TLS1.2", "VERS-TLS1.3"};
enum { VERSIONS_N = 4, TLS12 = 2, TLS13 = 3 };

static const struct {
    const char *name;
    enum http_client_auth auth;
} auth_types[] = {{"", HTTP_CLIENT_AUTH_OPTIONAL},
                  {"NoClientCert", HTTP_CLIENT_AUTH_OPTIONAL},
                  {"RequestClientCert", HTTP_CLIENT_AUTH_OPTIONAL},
                  {"RequireAnyClientCert", HTTP_CLIENT_AUTH_ANY},
                  {"RequireClientCert", HTTP_CLIENT_AUTH_ANY}, /* its older name */
                  {"VerifyClientCertIfGiven", HTTP_CLIENT_AUTH_IF_GIVEN},
                  {"RequireAndVerifyClientCert", HTTP_CLIENT_AUTH_REQUIRED}};

struct tls_reading {
    struct web_reading *r;
    struct buf ciphers, curves; /* ":+NAME"... in their order */
    bool suites[SUITES_N];
    uint32_t suites_n;
    bool names_13; /* a suite of TLS 1.3 is named */
    int version_min, version_max;
    bool client_order; /* of ciphers: not the server's */
};

static int wrong(const struct tls_reading *t, struct err *e, const char *key, const char *what)
{
    return web_config_wrong(t->r, e, arena_printf(t->r->arena, SECTION ".%.64s", key), what);
}

/* ---- values ---- */

static int read_text(struct tls_reading *t, const struct json *item, char **to, struct err *e)
{
    (void)e;
    if (*to || !*item->text) /* a file goes before what stands here itself, as exporter-toolkit has it */
        return 0;
    *to = mem_text(item->text);
    t->r->c->hash = hash_bytes(item->text, item->n, t->r->c->hash);
    return 0;
}

static int read_file(struct tls_reading *t, const struct json *item, char **to, struct err *e)
{
    struct web_reading *r = t->r;
    if (!*item->text)
        return 0;
    struct buf text = {0};
    const char *file = item->text, *slash = strrchr(r->path, '/');
    bool is_relative = file[0] != '/' && slash;
    const char *path = is_relative ? arena_printf(r->arena, "%.*s%s", (int)(slash + 1 - r->path), r->path, file) : file;
    int code = file_text_read(path, LIMIT_WEB_CONFIG_BYTES, &text, e);
    if (code < 0) {
        buf_free(&text);
        (void)err_wrap(e, "%s: " SECTION ".%s", r->path, item->key);
        return code;
    }
    r->c->hash = hash_bytes(text.data, text.n, r->c->hash);
    free(*to);
    *to = buf_take(&text, NULL);
    return 0;
}

static int read_auth_type(struct tls_reading *t, const struct json *item, struct err *e)
{
    for (size_t i = 0; i < sizeof auth_types / sizeof *auth_types; i++)
        if (text_equal(item->text, auth_types[i].name)) {
            t->r->c->client_auth = auth_types[i].auth;
            return 0;
        }
    return wrong(t, e, item->key,
                 "use NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven or "
                 "RequireAndVerifyClientCert");
}

static int read_version(struct tls_reading *t, const struct json *item, int *to, struct err *e)
{
    for (int i = 0; i < VERSIONS_N; i++)
        if (text_equal(item->text, versions[i])) {
            *to = i;
            return 0;
        }
    return wrong(t, e, item->key, "use TLS10, TLS11, TLS12 or TLS13");
}

static int add_suite(struct tls_reading *t, const struct json *item, const char *name, struct err *e)
{
    for (size_t i = 0; i < sizeof suites_13 / sizeof *suites_13; i++)
        if (text_equal(name, suites_13[i])) {
            t->names_13 = true;
            return 0;
        }
    for (int i = 0; i < SUITES_N; i++)
        if (text_equal(name, suites[i].name)) {
            t->suites_n += !t->suites[i];
            t->suites[i] = true;
            buf_printf(&t->ciphers, ":+%s", cipher_names[suites[i].cipher]);
            return 0;
        }
    return wrong(t, e, item->key, "a suite that is not known, or not safe: TLS_ECDHE_{RSA,ECDSA}_WITH_{AES_128_GCM_SHA256,"
                                  "AES_256_GCM_SHA384,CHACHA20_POLY1305_SHA256,AES_128_CBC_SHA,AES_256_CBC_SHA} are");
}

static int add_curve(struct tls_reading *t, const struct json *item, const char *name, struct err *e)
{
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++)
        if (text_equal(name, curves[i].name)) {
            buf_printf(&t->curves, ":+GROUP-%s", curves[i].gnutls);
            return 0;
        }
    return wrong(t, e, item->key, "use CurveP256, CurveP384, CurveP521 and X25519");
}

static int add_san(struct tls_reading *t, const struct json *item, const char *name, struct err *e)
{
    struct web_config *c = t->r->c;
    if (c->sans_n == LIMIT_WEB_CONFIG_SANS)
        return wrong(t, e, item->key, "more than 64 names");
    c->sans[c->sans_n++] = mem_text(name);
    return 0;
}

static int read_list(struct tls_reading *t, const struct json *item,
                     int (*add)(struct tls_reading *t, const struct json *item, const char *name, struct err *e), struct err *e)
{
    if (!json_is(item, JSON_ARRAY))
        return wrong(t, e, item->key, "a list is expected");
    int code = 0;
    JSON_EACH(one, item)
        if (code == 0)
            code = json_is(one, JSON_STRING) ? add(t, item, one->text, e) : wrong(t, e, item->key, "a list of names is expected");
    return code;
}

static int read_item(struct tls_reading *t, const struct json *item, struct err *e)
{
    struct web_config *c = t->r->c;
    const char *key = item->key;
    if (json_is(item, JSON_NULL))
        return 0;
    if (text_equal(key, "cipher_suites"))
        return read_list(t, item, add_suite, e);
    if (text_equal(key, "curve_preferences"))
        return read_list(t, item, add_curve, e);
    if (text_equal(key, "client_allowed_sans"))
        return read_list(t, item, add_san, e);
    if (text_equal(key, "prefer_server_cipher_suites")) {
        t->client_order = !json_bool(item, true);
        return json_is(item, JSON_BOOL) ? 0 : wrong(t, e, key, "true or false is expected");
    }
    if (!json_is(item, JSON_STRING))
        return wrong(t, e, key, "a text is expected");
    if (text_equal(key, "client_auth_type"))
        return read_auth_type(t, item, e);
    if (text_equal(key, "min_version"))
        return read_version(t, item, &t->version_min, e);
    if (text_equal(key, "max_version"))
        return read_version(t, item, &t->version_max, e);
    const struct {
        const char *name;
        char **to;
        int (*read)(struct tls_reading *t, const struct json *item, char **to, struct err *e);
    } texts[] = {{"cert_file", &c->cert_pem, read_file},           {"cert", &c->cert_pem, read_text},
                 {"key_file", &c->key_pem, read_file},             {"key", &c->key_pem, read_text},
                 {"client_ca_file", &c->client_ca_pem, read_file}, {"client_ca", &c->client_ca_pem, read_text}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (text_equal(key, texts[i].name))
            return texts[i].read(t, item, texts[i].to, e);
    return wrong(t, e, key, "no key of exporter-toolkit's: see capstan-agent(1)");
}

/* ---- the whole ---- */

static int check(const struct tls_reading *t, struct err *e)
{
    const struct web_config *c = t->r->c;
    if (!c->cert_pem)
        return wrong(t, e, "cert_file", "missing, and no cert: TLS needs a certificate");
    if (!c->key_pem)
        return wrong(t, e, "key_file", "missing, and no key: TLS needs the certificate's key");
    if (c->client_ca_pem && c->client_auth == HTTP_CLIENT_AUTH_OPTIONAL)
        return wrong(t, e, "client_auth_type",
                     "client_ca_file is given, so say RequireAndVerifyClientCert (or VerifyClientCertIfGiven)");
    if (!c->client_ca_pem && c->client_auth == HTTP_CLIENT_AUTH_REQUIRED)
        return wrong(t, e, "client_ca_file", "missing: it says which client certificates are good");
    if (c->sans_n && c->client_auth != HTTP_CLIENT_AUTH_REQUIRED)
        return wrong(t, e, "client_allowed_sans", "names of certificates that are not required: say RequireAndVerifyClientCert");
    if (t->version_min > t->version_max)
        return wrong(t, e, "min_version", "is above max_version: no version is left");
    return 0;
}

static bool has_aead(const struct tls_reading *t)
{
    for (int i = 0; i < SUITES_N; i++)
        if (t->suites[i] && suites[i].cipher != AES_128_CBC && suites[i].cipher != AES_256_CBC)
            return true;
    return false;
}

/* SOURCE Go's crypto/tls: the list is of the versions up to 1.2; 1.3 has its own suites, all of them, always. */
static int settle_suites(struct tls_reading *t, struct err *e)
{
    if (t->names_13 && !t->suites_n) { /* so none is left to the older versions */
        if (t->version_max < TLS13)
            return wrong(t, e, "cipher_suites", "all of TLS 1.3, and max_version is below");
        t->version_min = TLS13;
    }
    if (t->version_min == TLS13)
        t->suites_n = 0;
    if (t->suites_n && t->version_max == TLS13 && !has_aead(t))
        return wrong(t, e, "cipher_suites",
                     "TLS 1.3 has none of these, and GnuTLS here has one list for all versions: list one with GCM or CHACHA20, too, or "
                     "say max_version: TLS12");
    return 0;
}

/* GnuTLS chooses key exchange and cipher apart: what they make together must be what was listed, and no more. */
static int add_suites(const struct tls_reading *t, struct buf *out, struct err *e)
{
    bool exchanges[KEY_EXCHANGES_N] = {0}, ciphers[CIPHERS_N] = {0};
    for (int i = 0; i < SUITES_N; i++) {
        exchanges[suites[i].exchange] |= t->suites[i];
        ciphers[suites[i].cipher] |= t->suites[i];
    }
    for (int i = 0; i < SUITES_N; i++)
        if (!t->suites[i] && exchanges[suites[i].exchange] && ciphers[suites[i].cipher])
            return wrong(t, e, "cipher_suites",
                         arena_printf(t->r->arena, "these cannot be had without %s: list it, too, or fewer", suites[i].name));
    buf_printf(out, ":-KX-ALL:-CIPHER-ALL%s:-MAC-ALL:+AEAD", t->ciphers.data);
    buf_text(out, ciphers[AES_128_CBC] || ciphers[AES_256_CBC] ? ":+SHA1" : "");
    for (int i = 0; i < KEY_EXCHANGES_N; i++)
        if (exchanges[i])
            buf_printf(out, ":+%s", exchange_names[i]);
    return 0;
}

static int set_priorities(const struct tls_reading *t, struct err *e)
{
    _cleanup_buf_ struct buf out = {0};
    buf_text(&out, "NORMAL:-VERS-ALL");
    for (int i = t->version_max; i >= t->version_min; i--)
        buf_printf(&out, ":+%s", version_names[i]);
    int code = t->suites_n ? add_suites(t, &out, e) : 0;
    if (t->curves.n)
        buf_printf(&out, ":-GROUP-ALL%s", t->curves.data);
    buf_text(&out, t->client_order ? "" : ":%SERVER_PRECEDENCE");
    if (code == 0)
        t->r->c->priorities = buf_take(&out, NULL);
    return code;
}

static bool has_values(const struct json *section)
{
    JSON_EACH(item, section)
        if (!json_is(item, JSON_NULL))
            return true;
    return false;
}

int web_config_read_tls(struct web_reading *r, const struct json *tls, struct err *e)
{
    struct tls_reading t = {.r = r, .version_min = TLS12, .version_max = TLS13};
    if (!has_values(tls))
        return 0;
    r->c->sans = mem_zero(LIMIT_WEB_CONFIG_SANS, sizeof *r->c->sans);
    int code = 0;
    JSON_EACH(item, tls)
        if (code == 0)
            code = read_item(&t, item, e);
    if (code == 0)
        code = check(&t, e);
    if (code == 0)
        code = settle_suites(&t, e);
    if (code == 0)
        code = set_priorities(&t, e);
    buf_free(&t.ciphers);
    buf_free(&t.curves);
    return code;
}
