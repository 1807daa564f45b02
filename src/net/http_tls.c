/* http_tls.c - see http_tls.h */
#include "net/http_tls.h"
#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <string.h>
#include "base/bytes.h"
#include "base/memory.h"

#define GROUPS_MAX 16 /* a requester of the API server takes no more */
#define NAMES_MAX 64

static gnutls_datum_t datum(const char *text)
{
    return (gnutls_datum_t){(unsigned char *)text, text ? (unsigned)strlen(text) : 0};
}

int http_tls_check(const char *cert_pem, const char *key_pem, const char *client_ca_pem, const char *priorities, struct err *e)
{
    gnutls_priority_t parsed;
    gnutls_certificate_credentials_t credentials;
    gnutls_datum_t cert = datum(cert_pem), key = datum(key_pem), ca = datum(client_ca_pem);
    if (!key_pem)
        return err_set(e, E_INVALID, "TLS: a certificate is given but no private key");
    if (gnutls_certificate_allocate_credentials(&credentials) < 0)
        return err_set(e, E_IO, "TLS: GnuTLS does not start");
    int r = gnutls_certificate_set_x509_key_mem(credentials, &cert, &key, GNUTLS_X509_FMT_PEM);
    if (r < 0)
        r = err_set(e, E_INVALID, "TLS: certificate and key cannot be used together: %s", gnutls_strerror(r));
    else if (client_ca_pem && gnutls_certificate_set_x509_trust_mem(credentials, &ca, GNUTLS_X509_FMT_PEM) < 1)
        r = err_set(e, E_INVALID, "TLS: the client CA is no PEM certificate");
    else if (priorities && gnutls_priority_init(&parsed, priorities, NULL) < 0)
        r = err_set(e, E_INVALID, "TLS: GnuTLS here cannot do %s", priorities);
    else
        r = 0;
    if (r == 0 && priorities)
        gnutls_priority_deinit(parsed);
    gnutls_certificate_free_credentials(credentials);
    return r;
}

/* Ends the handshake when the certificate is not of the CA. */
static int verify_peer(gnutls_session_t session)
{
    unsigned status = 0;
    return gnutls_certificate_verify_peers2(session, &status) < 0 || status != 0 ? -1 : 0;
}

static int verify_peer_if_given(gnutls_session_t session)
{
    unsigned n = 0;
    return gnutls_certificate_get_peers(session, &n) && n > 0 ? verify_peer(session) : 0;
}

void http_tls_client_auth(void *session, enum http_client_auth auth)
{
    if (auth == HTTP_CLIENT_AUTH_OPTIONAL)
        return;
    gnutls_certificate_server_set_request(session,
                                          auth == HTTP_CLIENT_AUTH_IF_GIVEN ? GNUTLS_CERT_REQUEST : GNUTLS_CERT_REQUIRE);
    if (auth != HTTP_CLIENT_AUTH_ANY)
        gnutls_session_set_verify_function(session, auth == HTTP_CLIENT_AUTH_IF_GIVEN ? verify_peer_if_given : verify_peer);
}

static char *peer_groups(gnutls_x509_crt_t certificate)
{
    struct buf out = {0};
    char name[256];
    buf_text(&out, "");
    for (unsigned i = 0; i < GROUPS_MAX; i++) {
        size_t size = sizeof name;
        int r = gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_ORGANIZATION_NAME, i, 0, name, &size);
        if (r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
            break;
        if (r == 0 && !memchr(name, '\n', size))
            buf_printf(&out, "%s%.*s", out.n ? "\n" : "", (int)size, name);
    }
    return buf_take(&out, NULL);
}

static char *peer_names(gnutls_x509_crt_t certificate)
{
    struct buf out = {0};
    char name[256], address[INET6_ADDRSTRLEN];
    buf_text(&out, "");
    for (unsigned i = 0; i < NAMES_MAX; i++) {
        size_t size = sizeof name;
        int kind = gnutls_x509_crt_get_subject_alt_name(certificate, i, name, &size, NULL);
        if (kind == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
            break;
        const char *text = NULL;
        if (kind == GNUTLS_SAN_DNSNAME || kind == GNUTLS_SAN_RFC822NAME || kind == GNUTLS_SAN_URI)
            text = size < sizeof name && !memchr(name, '\n', size) && !memchr(name, 0, size) ? name : NULL;
        else if (kind == GNUTLS_SAN_IPADDRESS && (size == 4 || size == 16))
            text = inet_ntop(size == 4 ? AF_INET : AF_INET6, name, address, sizeof address);
        if (text)
            buf_printf(&out, "%s%.*s", out.n ? "\n" : "", text == name ? (int)size : (int)sizeof address, text);
    }
    return buf_take(&out, NULL);
}

char *http_tls_peer_name(void *session, char **ret_groups, char **ret_names)
{
    unsigned status = 0, n = 0;
    const gnutls_datum_t *chain = session ? gnutls_certificate_get_peers(session, &n) : NULL;
    gnutls_x509_crt_t certificate;
    char name[256] = "";
    size_t size = sizeof name;
    *ret_groups = *ret_names = NULL;
    if (!chain || n == 0 || gnutls_certificate_verify_peers2(session, &status) < 0 || status != 0)
        return mem_text("");
    if (gnutls_x509_crt_init(&certificate) < 0)
        return mem_text("");
    if (gnutls_x509_crt_import(certificate, &chain[0], GNUTLS_X509_FMT_DER) < 0 ||
        gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &size) < 0)
        name[0] = 0;
    else
        *ret_groups = peer_groups(certificate);
    *ret_names = peer_names(certificate);
    gnutls_x509_crt_deinit(certificate);
    return mem_text(name);
}

void http_tls_bye(void *session)
{
    (void)gnutls_bye(session, GNUTLS_SHUT_WR); /* who does not take it sees the connection's end */
}
