/* web.config.yml: what is taken, what is refused and how, passwords and how many may be wrong */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/memory.h"
#include "exporter/pages/web_config.h"

#define HASH "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW" /* bcrypt of "secret" */

struct folder {
    char path[64], file[96], other[96];
};

static void folder_make(struct folder *f)
{
    (void)snprintf(f->path, sizeof f->path, "/tmp/web-config-XXXXXX");
    assert_non_null(mkdtemp(f->path));
    (void)snprintf(f->file, sizeof f->file, "%s/web.config.yml", f->path);
    (void)snprintf(f->other, sizeof f->other, "%s/cert.pem", f->path);
}

static void folder_end(struct folder *f)
{
    (void)unlink(f->file);
    (void)unlink(f->other);
    assert_int_equal(rmdir(f->path), 0);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static struct web_config *good(struct folder *f, const char *text)
{
    struct web_config *c = NULL;
    struct err e = {0};
    write_text(f->file, text);
    if (web_config_read(f->file, &c, &e) < 0)
        fail_msg("%s", e.text);
    return c;
}

static void bad(struct folder *f, const char *text, int code, const char *part)
{
    struct web_config *c = NULL;
    struct err e = {0};
    write_text(f->file, text);
    assert_int_equal(web_config_read(f->file, &c, &e), -code);
    if (!strstr(e.text, part))
        fail_msg("'%s' does not say '%s'", e.text, part);
    assert_null(c);
}

static void nothing_means_open(void **state)
{
    struct folder f;
    folder_make(&f);
    struct web_config *c = NULL;
    assert_int_equal(web_config_read(NULL, &c, NULL), 0);
    assert_int_equal(web_config_allows(c, NULL, 0), 1);
    web_config_free(c);
    c = good(&f, "");
    assert_null(c->cert_pem);
    assert_int_equal(web_config_allows(c, "Basic eA==", 0), 1);
    web_config_free(c);
    web_config_free(NULL);
    assert_int_equal(web_config_read("/nonexistent/web.yml", &c, NULL), -E_NOTFOUND);
    folder_end(&f);
}

static void reads_tls_relative_to_the_file(void **state)
{
    struct folder f;
    folder_make(&f);
    write_text(f.other, "PEM");
    struct web_config *c = good(&f, "tls_server_config:\n  cert_file: cert.pem\n  key_file: cert.pem\n  client_ca_file: "
                                    "cert.pem\n  client_auth_type: RequireAndVerifyClientCert\n");
    assert_string_equal(c->cert_pem, "PEM");
    assert_string_equal(c->client_ca_pem, "PEM");
    assert_int_equal(c->client_auth, HTTP_CLIENT_AUTH_REQUIRED);
    uint64_t hash = c->hash;
    web_config_free(c);
    write_text(f.other, "RENEWED"); /* the same file names another certificate */
    c = good(&f, "tls_server_config: {cert_file: cert.pem, key_file: cert.pem}\n");
    assert_true(c->hash != hash);
    assert_int_equal(c->client_auth, HTTP_CLIENT_AUTH_OPTIONAL);
    web_config_free(c);
    folder_end(&f);
}

static void refuses_with_the_path(void **state)
{
    struct folder f;
    folder_make(&f);
    write_text(f.other, "PEM");
    bad(&f, "tls_config: {}\n", E_INVALID, "tls_config: no section");
    bad(&f, "tls_server_config: {cert_file: cert.pem}\n", E_INVALID, "tls_server_config.key_file: missing");
    bad(&f, "tls_server_config: {cert_file: absent.pem, key_file: cert.pem}\n", E_NOTFOUND, "tls_server_config.cert_file");
    bad(&f, "basic_auth_users: {alice: plain}\n", E_INVALID, "basic_auth_users.alice: no bcrypt hash");
    bad(&f, "basic_auth_users: {alice: 3}\n", E_INVALID, "basic_auth_users.alice");
    bad(&f, "basic_auth_users: {alice: $2y$31$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW}\n", E_LIMIT,
        "cost 31");
    bad(&f, "basic_auth_users: [a]\n", E_INVALID, "basic_auth_users: a mapping");
    bad(&f, "[1, 2]\n", E_INVALID, "one mapping");
    bad(&f, "a: [\n", E_INVALID, "web.config.yml");
    folder_end(&f);
}

/* What exporter-toolkit takes and refuses, key by key, in a file that has a certificate and a key. said: a part of the error, or of
 * GnuTLS's priorities where the key is one of them; "": nothing of them. */
static const struct {
    const char *lines;
    bool is_good;
    const char *said;
} tls_keys[] = {
    {"", true, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE"},
    {"client_auth_type: NoClientCert", true, ""},
    {"client_auth_type: RequestClientCert", true, ""},
    {"client_auth_type: RequireAnyClientCert", true, ""},
    {"client_auth_type: RequireClientCert", true, ""},
    {"client_auth_type: VerifyClientCertIfGiven", true, ""},
    {"{client_auth_type: VerifyClientCertIfGiven, client_ca_file: cert.pem}", true, ""},
    {"{client_auth_type: RequireAndVerifyClientCert, client_ca: PEM}", true, ""},
    {"client_auth_type: requireandverifyclientcert", false, "client_auth_type: use"},
    {"client_auth_type: RequireAndVerifyClientCert", false, "client_ca_file: missing"},
    {"client_ca_file: cert.pem", false, "client_auth_type: client_ca_file is given"},
    {"{client_ca: PEM, client_auth_type: NoClientCert}", false, "client_auth_type: client_ca_file is given"},
    {"client_ca_file: somefile", false, "client_ca_file"},
    {"client_ca_file: ''", true, ""},
    {"client_ca_file: ~", true, ""},
    {"{client_auth_type: RequireAndVerifyClientCert, client_ca: PEM, client_allowed_sans: [one, two]}", true, ""},
    {"{client_auth_type: VerifyClientCertIfGiven, client_ca: PEM, client_allowed_sans: [one]}", false, "client_allowed_sans"},
    {"client_allowed_sans: one", false, "client_allowed_sans: a list"},
    {"min_version: TLS13", true, "-VERS-ALL:+VERS-TLS1.3:%"},
    {"max_version: TLS12", true, "-VERS-ALL:+VERS-TLS1.2:%"},
    {"min_version: TLS10", true, "+VERS-TLS1.3:+VERS-TLS1.2:+VERS-TLS1.1:+VERS-TLS1.0"},
    {"{min_version: TLS13, max_version: TLS12}", false, "min_version: is above"},
    {"min_version: TLS111", false, "min_version: use"},
    {"max_version: 1.2", false, "max_version: a text"},
    {"cipher_suites: []", true, "+VERS-TLS1.2:%"},
    {"cipher_suites: [TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]", true,
     ":-KX-ALL:-CIPHER-ALL:+AES-256-GCM:+AES-128-GCM:-MAC-ALL:+AEAD:+ECDHE-RSA:%SERVER_PRECEDENCE"},
    {"{max_version: TLS12, cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA], prefer_server_cipher_suites: false}", true,
     ":+AES-128-CBC:-MAC-ALL:+AEAD:+SHA1:+ECDHE-ECDSA"},
    {"cipher_suites: [TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA]", true,
     "-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:-CIPHER-ALL:+AES-256-GCM:+AES-128-CBC:-MAC-ALL:+AEAD:+SHA1:+ECDHE-RSA"},
    {"cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA]", false, "max_version: TLS12"},
    {"{min_version: TLS13, cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA]}", true, "-VERS-ALL:+VERS-TLS1.3:%"},
    {"cipher_suites: [TLS_AES_128_GCM_SHA256]", true, "-VERS-ALL:+VERS-TLS1.3:%"},
    {"cipher_suites: [TLS_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]", true,
     ":+VERS-TLS1.2:-KX-ALL:-CIPHER-ALL:+AES-128-GCM:-"},
    {"{max_version: TLS12, cipher_suites: [TLS_AES_128_GCM_SHA256]}", false, "all of TLS 1.3"},
    {"cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA2048]", false, "cipher_suites: a suite"},
    {"cipher_suites: [TLS_RSA_WITH_AES_128_GCM_SHA256]", false, "cipher_suites: a suite"},
    {"cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]", false,
     "without TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
    {"cipher_suites: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", false, "cipher_suites: a list"},
    {"prefer_server_cipher_suites: 1", false, "true or false"},
    {"curve_preferences: [CurveP521, X25519]", true, ":-GROUP-ALL:+GROUP-SECP521R1:+GROUP-X25519"},
    {"curve_preferences: [CurveP257]", false, "curve_preferences: use"},
    {"cert_filse: server.crt", false, "cert_filse: no key"},
    {"{cert: PEM, key: PEM}", true, ""}, /* files go first */
};

static void takes_the_keys_of_exporter_toolkit(void **state)
{
    struct folder f;
    folder_make(&f);
    write_text(f.other, "PEM");
    for (size_t i = 0; i < sizeof tls_keys / sizeof *tls_keys; i++) {
        char text[512];
        const char *lines = tls_keys[i].lines;
        int n = (int)strlen(lines);
        bool is_flow = lines[0] == '{'; /* several keys */
        (void)snprintf(text, sizeof text, "tls_server_config: {cert_file: cert.pem, key_file: cert.pem%s%.*s}\n", n ? ", " : "",
                       is_flow ? n - 2 : n, is_flow ? lines + 1 : lines);
        if (!tls_keys[i].is_good) {
            bad(&f, text, strstr(text, "somefile") ? E_NOTFOUND : E_INVALID, tls_keys[i].said);
            continue;
        }
        struct web_config *c = good(&f, text);
        if (!strstr(c->priorities, tls_keys[i].said))
            fail_msg("%s: '%s' without '%s'", lines, c->priorities, tls_keys[i].said);
        web_config_free(c);
    }
    static const char *const without[] = {"{cert: '', key_file: cert.pem}", "{cert_file: '', key_file: cert.pem}",
                                          "{cert_file: cert.pem, key: ''}", "{client_auth_type: NoClientCert}"};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "tls_server_config: %s\n", without[i]);
        bad(&f, text, E_INVALID, "missing, and no");
    }
    struct web_config *c = good(&f, "tls_server_config: {cert: A, key: B}\n");
    assert_string_equal(c->cert_pem, "A");
    assert_string_equal(c->key_pem, "B");
    web_config_free(c);
    c = good(&f, "tls_server_config:\nbasic_auth_users: {}\nhttp_server_config:\n"); /* sections without values */
    assert_null(c->priorities);
    assert_int_equal(web_config_allows(c, NULL, 0), 1);
    web_config_free(c);
    folder_end(&f);
}

static void headers_of_answers(void **state)
{
    struct folder f;
    folder_make(&f);
    struct web_config *c = good(&f, "http_server_config:\n  http2: false\n  headers:\n    X-Frame-Options: deny\n    X-XSS-Protection: 1\n"
                                    "    X-Content-Type-Options: nosniff\n    Content-Security-Policy: ''\n"
                                    "    Strict-Transport-Security: max-age=31536000; includeSubDomains\n");
    assert_int_equal(c->headers_n, 4);
    assert_string_equal(c->headers[1].key, "X-XSS-Protection");
    assert_string_equal(c->headers[1].value, "1");
    web_config_free(c);
    bad(&f, "http_server_config: {headers: {X-Content-Type-Options: sniff}}\n", E_INVALID, "use nosniff");
    bad(&f, "http_server_config: {headers: {X-Frame-Options: foo}}\n", E_INVALID, "use deny or sameorigin");
    bad(&f, "http_server_config: {headers: {Content-Type: foo}}\n", E_INVALID, "headers.Content-Type: not to be set");
    bad(&f, "http_server_config: {headers: {X-XSS-Protection: [1]}}\n", E_INVALID, "a text is expected");
    bad(&f, "http_server_config: {http2: maybe}\n", E_INVALID, "http_server_config.http2");
    bad(&f, "http_server_config: {http3: true}\n", E_INVALID, "http_server_config.http3");
    folder_end(&f);
}

static void a_rate_is_kept(void **state)
{
    struct folder f;
    folder_make(&f);
    struct web_config *c = good(&f, "rate_limit: {interval: 1s, burst: 3}\n");
    for (int i = 0; i < 3; i++)
        assert_true(web_config_admits(c, 5000));
    assert_false(web_config_admits(c, 5000));
    assert_false(web_config_admits(c, 5999));
    assert_true(web_config_admits(c, 6000));
    assert_false(web_config_admits(c, 6000));
    for (int i = 0; i < 3; i++)
        assert_true(web_config_admits(c, 100000));
    assert_false(web_config_admits(c, 100000));
    web_config_free(c);
    c = good(&f, "rate_limit: {interval: 0, burst: 0}\n");
    for (int i = 0; i < 1000; i++)
        assert_true(web_config_admits(c, 0));
    web_config_free(c);
    bad(&f, "rate_limit: {interval: 1s, burst: 0}\n", E_INVALID, "rate_limit.burst");
    bad(&f, "rate_limit: {interval: 5, burst: 1}\n", E_INVALID, "rate_limit.interval");
    bad(&f, "rate_limit: {interval: soon, burst: 1}\n", E_INVALID, "rate_limit.interval");
    bad(&f, "rate_limit: {burst: -1}\n", E_INVALID, "rate_limit.burst");
    bad(&f, "rate_limit: {every: 1s}\n", E_INVALID, "rate_limit.every");
    folder_end(&f);
}

static void certificates_have_names(void **state)
{
    struct folder f;
    folder_make(&f);
    struct web_config *c = good(&f, "tls_server_config: {cert: A, key: B, client_ca: C, client_auth_type: RequireAndVerifyClientCert, "
                                    "client_allowed_sans: [prometheus.example, 10.0.0.1]}\n");
    assert_true(web_config_knows(c, "other\n10.0.0.1"));
    assert_true(web_config_knows(c, "prometheus.example"));
    assert_false(web_config_knows(c, "prometheus.example.org\nother"));
    assert_false(web_config_knows(c, ""));
    assert_false(web_config_knows(c, NULL));
    web_config_free(c);
    c = good(&f, "");
    assert_true(web_config_knows(c, NULL));
    web_config_free(c);
    folder_end(&f);
}

static void too_long_and_too_many(void **state)
{
    struct folder f;
    folder_make(&f);
    struct buf text = {0};
    buf_text(&text, "basic_auth_users:\n");
    for (int i = 0; i <= LIMIT_WEB_CONFIG_USERS; i++)
        buf_printf(&text, "  u%d: %s\n", i, HASH);
    bad(&f, text.data, E_LIMIT, "at most 64");
    while (text.n <= LIMIT_WEB_CONFIG_BYTES)
        buf_text(&text, "# filling\n");
    bad(&f, text.data, E_LIMIT, "longer than");
    buf_free(&text);
    folder_end(&f);
}

static const char *header(struct buf *out, const char *pair)
{
    buf_clear(out);
    buf_text(out, "Basic ");
    base64_encode(out, bytes_of(pair));
    return out->data;
}

static void passwords(void **state)
{
    struct folder f;
    folder_make(&f);
    struct web_config *c = good(&f, "basic_auth_users:\n  alice: " HASH "\n");
    struct buf h = {0};
    assert_int_equal(web_config_allows(c, NULL, 0), 0);
    assert_int_equal(web_config_allows(c, "Bearer x", 0), 0);
    assert_int_equal(web_config_allows(c, "Basic !!!", 0), 0);
    assert_int_equal(web_config_allows(c, header(&h, "alice"), 0), 0);
    assert_int_equal(web_config_allows(c, header(&h, "alice:secret"), 0), 1);
    assert_int_equal(web_config_allows(c, header(&h, "alice:Secret"), 0), 0);
    assert_int_equal(web_config_allows(c, header(&h, "bob:secret"), 0), 0);
    for (int i = 2; i < WEB_CONFIG_TRIES; i++)
        assert_int_equal(web_config_allows(c, header(&h, "alice:guess"), 0), 0);
    assert_int_equal(web_config_allows(c, header(&h, "alice:guess"), 999), -E_AGAIN);
    assert_int_equal(web_config_allows(c, header(&h, "alice:secret"), 999), 1); /* known: costs nothing */
    assert_int_equal(web_config_allows(c, header(&h, "alice:guess"), 1000), 0);
    assert_int_equal(web_config_allows(c, header(&h, "alice:guess"), 1001), -E_AGAIN);
    buf_free(&h);
    web_config_free(c);
    folder_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_means_open),    cmocka_unit_test(reads_tls_relative_to_the_file),
        cmocka_unit_test(refuses_with_the_path), cmocka_unit_test(too_long_and_too_many),
        cmocka_unit_test(passwords),             cmocka_unit_test(takes_the_keys_of_exporter_toolkit),
        cmocka_unit_test(headers_of_answers),    cmocka_unit_test(a_rate_is_kept),
        cmocka_unit_test(certificates_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
