#include "net/http_self_signed.h"
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <string.h>
#include <time.h>
#include "base/memory.h"

#define TEN_YEARS_S (3650 * 86400L)

static int fill(gnutls_x509_crt_t cert, gnutls_x509_privkey_t key, const char *name)
{
    unsigned char serial[16];
    time_t now = time(NULL);
    int r = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (r < 0)
        return r;
    gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);
    serial[0] &= 0x7f;
    gnutls_x509_crt_set_version(cert, 3);
    gnutls_x509_crt_set_serial(cert, serial, sizeof serial);
    gnutls_x509_crt_set_key(cert, key);
    gnutls_x509_crt_set_activation_time(cert, now - 3600);
    gnutls_x509_crt_set_expiration_time(cert, now + TEN_YEARS_S);
    gnutls_x509_crt_set_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned)strlen(name));
    gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_DNSNAME, "localhost", 9, GNUTLS_FSAN_APPEND);
    gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_DNSNAME, name, (unsigned)strlen(name), GNUTLS_FSAN_APPEND);
    gnutls_x509_crt_set_key_usage(cert, GNUTLS_KEY_DIGITAL_SIGNATURE);
    gnutls_x509_crt_set_key_purpose_oid(cert, GNUTLS_KP_TLS_WWW_SERVER, 0);
    return gnutls_x509_crt_sign2(cert, cert, key, GNUTLS_DIG_SHA256, 0);
}

static char *text_of(gnutls_datum_t *pem)
{
    char *text = mem_text_n((const char *)pem->data, pem->size);
    gnutls_free(pem->data);
    return text;
}

int http_self_signed(const char *name, char **ret_cert_pem, char **ret_key_pem, struct err *e)
{
    gnutls_x509_crt_t cert = NULL;
    gnutls_x509_privkey_t key = NULL;
    gnutls_datum_t cert_pem = {0}, key_pem = {0};
    int r = gnutls_x509_crt_init(&cert);
    if (r >= 0)
        r = gnutls_x509_privkey_init(&key);
    if (r >= 0)
        r = fill(cert, key, name);
    if (r >= 0)
        r = gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_PEM, &cert_pem);
    if (r >= 0)
        r = gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, 0, &key_pem);
    if (cert)
        gnutls_x509_crt_deinit(cert);
    if (key)
        gnutls_x509_privkey_deinit(key);
    if (r < 0) {
        gnutls_free(cert_pem.data);
        return err_set(e, E_IO, "make a certificate: %s", gnutls_strerror(r));
    }
    *ret_cert_pem = text_of(&cert_pem);
    *ret_key_pem = text_of(&key_pem);
    return 0;
}
