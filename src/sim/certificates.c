/* certificates.c - X.509 with GnuTLS */
#include "sim/certificates.h"
#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/bytes.h"
#include "base/file.h"
#include "base/memory.h"
#include "sim/folder.h"

#define YEAR_SECONDS (365 * 86400L)
#define PEM_MAX (64 << 10)

enum role { ROLE_CA, ROLE_SERVER, ROLE_ADMIN };

struct pair {
    gnutls_x509_crt_t cert;
    gnutls_x509_privkey_t key;
};

static int fail(struct err *e, const char *what, int code)
{
    return err_set(e, E_IO, "%s: %s", what, gnutls_strerror(code));
}

static void pair_fini(struct pair *p)
{
    if (p->cert)
        gnutls_x509_crt_deinit(p->cert);
    if (p->key)
        gnutls_x509_privkey_deinit(p->key);
}

static void path_of(struct buf *out, const char *dir, const char *name)
{
    buf_clear(out);
    buf_printf(out, "%s/pki/%s", dir, name);
}

static int file_write(const char *path, const gnutls_datum_t *text, struct err *e)
{
    return folder_write_file(path, 0600, (struct bytes){(const char *)text->data, text->size}, e);
}

/* The file's text or NULL. Caller frees. */
static char *pem_of(const char *path)
{
    struct buf text = {0};
    if (file_read(path, PEM_MAX, &text, NULL) == 0 && text.n > 0)
        return buf_take(&text, NULL);
    buf_free(&text);
    return NULL;
}

static void set_names(gnutls_x509_crt_t cert, const char *host)
{
    static const unsigned char loopback4[] = {127, 0, 0, 1}, loopback6[16] = {[15] = 1};
    unsigned char address[16];
    gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_DNSNAME, "localhost", 9, GNUTLS_FSAN_APPEND);
    gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_DNSNAME, "kubernetes.default.svc", 22, GNUTLS_FSAN_APPEND);
    gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_IPADDRESS, loopback4, sizeof loopback4, GNUTLS_FSAN_APPEND);
    gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_IPADDRESS, loopback6, sizeof loopback6, GNUTLS_FSAN_APPEND);
    if (inet_pton(AF_INET, host, address) == 1)
        gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_IPADDRESS, address, 4, GNUTLS_FSAN_APPEND);
    else if (inet_pton(AF_INET6, host, address) == 1)
        gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_IPADDRESS, address, 16, GNUTLS_FSAN_APPEND);
    else if (*host)
        gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_DNSNAME, host, (unsigned)strlen(host),
                                             GNUTLS_FSAN_APPEND);
}

static int pair_fill(struct pair *p, enum role role, const char *host, struct err *e)
{
    static const char *const names[] = {"capstan-ca", "capstan-server", CERTIFICATES_ADMIN};
    unsigned char serial[16];
    int r = gnutls_x509_privkey_generate(p->key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (r < 0)
        return fail(e, "make a key", r);
    gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);
    serial[0] &= 0x7f;
    time_t now = time(NULL);
    gnutls_x509_crt_set_version(p->cert, 3);
    gnutls_x509_crt_set_serial(p->cert, serial, sizeof serial);
    gnutls_x509_crt_set_key(p->cert, p->key);
    gnutls_x509_crt_set_activation_time(p->cert, now - 3600);
    gnutls_x509_crt_set_expiration_time(p->cert, now + (role == ROLE_CA ? 10 : 1) * YEAR_SECONDS);
    gnutls_x509_crt_set_dn_by_oid(p->cert, GNUTLS_OID_X520_COMMON_NAME, 0, names[role], (unsigned)strlen(names[role]));
    gnutls_x509_crt_set_ca_status(p->cert, role == ROLE_CA);
    gnutls_x509_crt_set_key_usage(p->cert, role == ROLE_CA ? GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN
                                                           : GNUTLS_KEY_DIGITAL_SIGNATURE);
    if (role == ROLE_SERVER)
        set_names(p->cert, host);
    if (role != ROLE_CA)
        gnutls_x509_crt_set_key_purpose_oid(
            p->cert, role == ROLE_SERVER ? GNUTLS_KP_TLS_WWW_SERVER : GNUTLS_KP_TLS_WWW_CLIENT, 0);
    if (role == ROLE_ADMIN)
        gnutls_x509_crt_set_dn_by_oid(p->cert, GNUTLS_OID_X520_ORGANIZATION_NAME, 0, CERTIFICATES_ADMIN_GROUP,
                                      sizeof CERTIFICATES_ADMIN_GROUP - 1);
    return 0;
}

static int pair_save(const struct pair *p, const char *dir, const char *name, struct err *e)
{
    _cleanup_buf_ struct buf path = {0};
    gnutls_datum_t text;
    char file[64];
    for (int is_key = 0; is_key < 2; is_key++) {
        int r = is_key ? gnutls_x509_privkey_export2_pkcs8(p->key, GNUTLS_X509_FMT_PEM, NULL, 0, &text)
                       : gnutls_x509_crt_export2(p->cert, GNUTLS_X509_FMT_PEM, &text);
        if (r < 0)
            return fail(e, "print a certificate", r);
        snprintf(file, sizeof file, "%s.%s", name, is_key ? "key" : "crt");
        path_of(&path, dir, file);
        r = file_write(path.data, &text, e);
        gnutls_free(text.data);
        if (r < 0)
            return r;
    }
    return 0;
}

static int pair_make(const char *dir, const char *name, enum role role, const char *host, struct pair *ca,
                     struct pair *ret_pair, struct err *e)
{
    gnutls_x509_crt_init(&ret_pair->cert);
    gnutls_x509_privkey_init(&ret_pair->key);
    int r = pair_fill(ret_pair, role, host, e);
    if (r < 0)
        return r;
    struct pair *signer = role == ROLE_CA ? ret_pair : ca;
    r = gnutls_x509_crt_sign2(ret_pair->cert, signer->cert, signer->key, GNUTLS_DIG_SHA256, 0);
    return r < 0 ? fail(e, "sign a certificate", r) : pair_save(ret_pair, dir, name, e);
}

/* True when both files are there, read well, and the certificate is good for another week (and names the host). */
static bool pair_load(const char *dir, const char *name, const char *host, struct pair *p)
{
    _cleanup_buf_ struct buf path = {0};
    char file[64];
    gnutls_x509_crt_init(&p->cert);
    gnutls_x509_privkey_init(&p->key);
    bool good = true;
    for (int is_key = 0; is_key < 2; is_key++) {
        snprintf(file, sizeof file, "%s.%s", name, is_key ? "key" : "crt");
        path_of(&path, dir, file);
        _cleanup_free_ char *text = pem_of(path.data);
        gnutls_datum_t datum = {(unsigned char *)text, text ? (unsigned)strlen(text) : 0};
        good = good && text &&
               (is_key ? gnutls_x509_privkey_import(p->key, &datum, GNUTLS_X509_FMT_PEM)
                       : gnutls_x509_crt_import(p->cert, &datum, GNUTLS_X509_FMT_PEM)) == 0;
    }
    good = good && gnutls_x509_crt_get_expiration_time(p->cert) > time(NULL) + 7 * 86400;
    return good && (!host || !*host || gnutls_x509_crt_check_hostname(p->cert, host));
}

static int pair_open(const char *dir, const char *name, enum role role, const char *host, struct pair *ca,
                     bool ca_is_new, struct pair *ret_pair, struct err *e)
{
    if (!ca_is_new && pair_load(dir, name, role == ROLE_SERVER ? host : NULL, ret_pair))
        return 0;
    pair_fini(ret_pair);
    *ret_pair = (struct pair){0};
    return pair_make(dir, name, role, host, ca, ret_pair, e) < 0 ? -E_IO : 1;
}

static char *pem_read(const char *dir, const char *file)
{
    _cleanup_buf_ struct buf path = {0};
    path_of(&path, dir, file);
    return pem_of(path.data);
}

int certificates_open(const char *dir, const char *host, struct certificates *ret_c, struct err *e)
{
    _cleanup_buf_ struct buf path = {0};
    buf_printf(&path, "%s/pki", dir);
    int r = folder_make(path.data, 0700, e);
    if (r < 0)
        return r;
    struct pair ca = {0}, server = {0}, admin = {0};
    int made = pair_open(dir, "ca", ROLE_CA, NULL, NULL, false, &ca, e);
    r = made;
    if (r >= 0)
        r = pair_open(dir, "server", ROLE_SERVER, host, &ca, made > 0, &server, e);
    if (r >= 0)
        r = pair_open(dir, "admin", ROLE_ADMIN, NULL, &ca, made > 0, &admin, e);
    pair_fini(&ca);
    pair_fini(&server);
    pair_fini(&admin);
    if (r < 0)
        return r;
    *ret_c = (struct certificates){pem_read(dir, "ca.crt"), pem_read(dir, "server.crt"), pem_read(dir, "server.key"),
                                   pem_read(dir, "admin.crt"), pem_read(dir, "admin.key")};
    return 0;
}

void certificates_fini(struct certificates *c)
{
    free(c->ca_pem);
    free(c->server_cert_pem);
    free(c->server_key_pem);
    free(c->admin_cert_pem);
    free(c->admin_key_pem);
    *c = (struct certificates){0};
}
