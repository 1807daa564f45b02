/* vcjob_ssh.c - the key pair of one job's ssh plugin */
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include "jobs/volcano/vcjob_plugins.h"

static void wire_u32(struct buf *out, uint32_t n)
{
    const unsigned char text[4] = {(unsigned char)(n >> 24), (unsigned char)(n >> 16), (unsigned char)(n >> 8),
                                   (unsigned char)n};
    buf_add(out, text, 4);
}

/* SOURCE RFC 4251 mpint: big endian, shortest, a zero byte in front when the top bit is set. */
static void wire_mpint(struct buf *out, const gnutls_datum_t *number)
{
    const unsigned char *at = number->data;
    uint32_t n = number->size;
    while (n > 0 && *at == 0) {
        at++;
        n--;
    }
    bool pad = n > 0 && (*at & 0x80);
    wire_u32(out, n + pad);
    if (pad)
        buf_char(out, '\0');
    buf_add(out, at, n);
}

/* SOURCE RFC 4253 6.6: string "ssh-rsa", mpint e, mpint n. */
static char *public_line(struct arena *a, gnutls_x509_privkey_t key)
{
    gnutls_datum_t m = {0}, e = {0};
    if (gnutls_x509_privkey_export_rsa_raw2(key, &m, &e, NULL, NULL, NULL, NULL, NULL, NULL) < 0)
        return NULL;
    _cleanup_buf_ struct buf wire;
    _cleanup_buf_ struct buf line;
    buf_init(&wire);
    buf_init(&line);
    wire_u32(&wire, 7);
    buf_text(&wire, "ssh-rsa");
    wire_mpint(&wire, &e);
    wire_mpint(&wire, &m);
    buf_text(&line, "ssh-rsa ");
    base64_encode(&line, buf_view(&wire));
    buf_char(&line, '\n');
    gnutls_free(m.data);
    gnutls_free(e.data);
    return arena_text_n(a, line.data, line.n);
}

int vcjob_ssh_key(struct arena *a, char **ret_private_pem, char **ret_public_line, struct err *e)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_datum_t pem = {0};
    int r = gnutls_x509_privkey_init(&key);
    if (r >= 0)
        r = gnutls_x509_privkey_generate(key, GNUTLS_PK_RSA, 2048, 0);
    if (r >= 0)
        r = gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem);
    char *line = r >= 0 ? public_line(a, key) : NULL;
    char *text = line ? arena_text_n(a, (const char *)pem.data, pem.size) : NULL;
    gnutls_free(pem.data);
    gnutls_x509_privkey_deinit(key);
    if (!text)
        return err_set(e, E_IO, "RSA key for ssh: %s", r < 0 ? gnutls_strerror(r) : "cannot be exported");
    *ret_private_pem = text;
    *ret_public_line = line;
    return 0;
}
