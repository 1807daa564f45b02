/* web.config.yml: what is taken, what is refused and how, passwords and how many may be wrong */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/memory.h"
#include "exporter/web_config.h"

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
    bad(&f, "tls_config: {}\n", E_INVALID, "tls_config: not supported here");
    bad(&f, "http_server_config: {http2: false}\n", E_INVALID, "http_server_config");
    bad(&f, "tls_server_config: {cert_file: cert.pem}\n", E_INVALID, "key_file are both needed");
    bad(&f, "tls_server_config: {cert_file: cert.pem, key_file: cert.pem, min_version: TLS12}\n", E_INVALID,
        "tls_server_config.min_version: not supported");
    bad(&f, "tls_server_config: {cert_file: cert.pem, key_file: cert.pem, cipher_suites: [a]}\n", E_INVALID,
        "tls_server_config.cipher_suites");
    bad(&f, "tls_server_config: {cert_file: cert.pem, key_file: cert.pem, client_ca_file: cert.pem}\n", E_INVALID,
        "client_auth_type");
    bad(&f, "tls_server_config: {cert_file: cert.pem, key_file: cert.pem, client_auth_type: Yes}\n", E_INVALID,
        "client_auth_type");
    bad(&f,
        "tls_server_config: {cert_file: cert.pem, key_file: cert.pem, client_auth_type: RequireAndVerifyClientCert}\n",
        E_INVALID, "client_ca_file: missing");
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
        cmocka_unit_test(passwords),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
