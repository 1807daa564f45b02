/* TLS both ways: a made certificate authority, server names, client certificates. */
#include "world.h"
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <time.h>

struct pair {
    gnutls_x509_crt_t crt;
    gnutls_x509_privkey_t key;
    gnutls_datum_t crt_pem, key_pem;
};

/* A key and a certificate for `name`, signed by `issuer` (NULL: by itself, as an authority). */
static struct pair pair_make(const char *name, const struct pair *issuer)
{
    struct pair p;
    static unsigned char serial;
    serial++;
    gnutls_x509_privkey_init(&p.key);
    gnutls_x509_privkey_generate(p.key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    gnutls_x509_crt_init(&p.crt);
    gnutls_x509_crt_set_version(p.crt, 3);
    gnutls_x509_crt_set_serial(p.crt, &serial, 1);
    gnutls_x509_crt_set_activation_time(p.crt, time(NULL) - 3600);
    gnutls_x509_crt_set_expiration_time(p.crt, time(NULL) + 3600);
    gnutls_x509_crt_set_dn_by_oid(p.crt, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned)strlen(name));
    gnutls_x509_crt_set_subject_alt_name(p.crt, GNUTLS_SAN_DNSNAME, name, (unsigned)strlen(name), GNUTLS_FSAN_SET);
    gnutls_x509_crt_set_key(p.crt, p.key);
    gnutls_x509_crt_set_basic_constraints(p.crt, issuer ? 0 : 1, -1);
    gnutls_x509_crt_set_key_usage(p.crt, issuer ? GNUTLS_KEY_DIGITAL_SIGNATURE : GNUTLS_KEY_KEY_CERT_SIGN);
    assert_int_equal(
        gnutls_x509_crt_sign2(p.crt, issuer ? issuer->crt : p.crt, issuer ? issuer->key : p.key, GNUTLS_DIG_SHA256, 0),
        0);
    gnutls_x509_crt_export2(p.crt, GNUTLS_X509_FMT_PEM, &p.crt_pem);
    gnutls_x509_privkey_export2(p.key, GNUTLS_X509_FMT_PEM, &p.key_pem);
    return p;
}

static void pair_free(struct pair *p)
{
    gnutls_x509_crt_deinit(p->crt);
    gnutls_x509_privkey_deinit(p->key);
    gnutls_free(p->crt_pem.data);
    gnutls_free(p->key_pem.data);
}

static const char *pem(gnutls_datum_t d)
{
    return (const char *)d.data;
}

static struct pair ca, server_pair, client_pair, stranger;

static int setup(void **state)
{
    ca = pair_make("test-ca", NULL);
    server_pair = pair_make("api.test", &ca);
    client_pair = pair_make("alice", &ca);
    stranger = pair_make("mallory", NULL);
    return 0;
}

static int teardown(void **state)
{
    pair_free(&ca);
    pair_free(&server_pair);
    pair_free(&client_pair);
    pair_free(&stranger);
    return 0;
}

static void fetch(struct world *w, struct got *g, struct http_client_config config)
{
    char url[64];
    struct err e = {0};
    snprintf(url, sizeof url, "https://127.0.0.1:%d", http_server_port(w->server));
    config.base_url = url;
    if (http_client_new(w->l, &config, &w->client, &e) < 0)
        fail_msg("%s", e.text);
    call(w, g, (struct http_call){.method = "POST", .path = "/body", .body = BYTES("over tls"), .timeout_ms = 5000});
    http_client_free(w->client);
    w->client = NULL;
}

static struct world *tls_world(const char *client_ca)
{
    struct world *w = mem_zero(1, sizeof *w);
    struct err e = {0};
    w->l = loop_new();
    struct http_server_config config = {.listen = "127.0.0.1:0",
                                        .handler = world_handler,
                                        .ctx = w,
                                        .tls_cert_pem = pem(server_pair.crt_pem),
                                        .tls_key_pem = pem(server_pair.key_pem),
                                        .tls_client_ca_pem = client_ca};
    if (http_server_new(w->l, &config, &w->server, &e) < 0)
        fail_msg("%s", e.text);
    return w;
}

static void test_round_trip_and_user(void **state)
{
    struct world *w = tls_world(pem(ca.crt_pem));
    struct got g;
    fetch(w, &g, (struct http_client_config){.ca_pem = pem(ca.crt_pem), .tls_server_name = "api.test"});
    assert_int_equal(g.status, 200);
    assert_string_equal(g.body.data, "over tls");
    assert_string_equal(w->last_user, "");
    buf_free(&g.body);
    fetch(w, &g,
          (struct http_client_config){.ca_pem = pem(ca.crt_pem),
                                      .tls_server_name = "api.test",
                                      .client_cert_pem = pem(client_pair.crt_pem),
                                      .client_key_pem = pem(client_pair.key_pem)});
    assert_int_equal(g.status, 200);
    assert_string_equal(w->last_user, "alice");
    buf_free(&g.body);
    fetch(w, &g,
          (struct http_client_config){.insecure_skip_verify = true,
                                      .client_cert_pem = pem(stranger.crt_pem),
                                      .client_key_pem = pem(stranger.key_pem)});
    if (g.status == 200) /* the handshake may refuse it as well */
        assert_string_equal(w->last_user, "");
    buf_free(&g.body);
    world_free(w);
}

static void test_wrong_authority_and_name(void **state)
{
    struct world *w = tls_world(NULL);
    struct got g;
    fetch(w, &g, (struct http_client_config){.ca_pem = pem(stranger.crt_pem), .tls_server_name = "api.test"});
    assert_int_equal(g.status, 0);
    assert_int_equal(g.error.code, E_DENIED);
    assert_non_null(strstr(g.error.text, "certificate"));
    fetch(w, &g, (struct http_client_config){.ca_pem = pem(ca.crt_pem)}); /* 127.0.0.1 is not in the certificate */
    assert_int_equal(g.status, 0);
    fetch(w, &g, (struct http_client_config){.insecure_skip_verify = true});
    assert_int_equal(g.status, 200);
    buf_free(&g.body);
    assert_int_equal(w->handled_n, 1);
    world_free(w);
}

static void test_bad_server_certificates(void **state)
{
    struct loop *l = loop_new();
    struct http_server *s = NULL;
    struct err e = {0};
    struct http_server_config config = {
        .listen = "127.0.0.1:0", .handler = world_handler, .tls_cert_pem = pem(server_pair.crt_pem)};
    assert_int_equal(http_server_new(l, &config, &s, &e), -E_INVALID);
    config.tls_key_pem = pem(ca.key_pem);
    assert_int_equal(http_server_new(l, &config, &s, &e), -E_INVALID);
    config.tls_key_pem = "rubbish";
    assert_int_equal(http_server_new(l, &config, &s, &e), -E_INVALID);
    config.tls_key_pem = pem(server_pair.key_pem);
    config.tls_client_ca_pem = "rubbish";
    assert_int_equal(http_server_new(l, &config, &s, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "client CA"));
    loop_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip_and_user),
        cmocka_unit_test(test_wrong_authority_and_name),
        cmocka_unit_test(test_bad_server_certificates),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
