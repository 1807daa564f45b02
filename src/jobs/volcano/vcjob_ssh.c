/* vcjob_ssh.c - the key pair of one job */
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include "jobs/volcano/vcjob_plugins.h"

static void wire_u32(struct buf *out, uint32_t n)
{
    const unsigned char text[4] = {(unsigned char)(n >> 24), (unsigned char)(n >> 16), (unsigned char)(n >> 8),
                                   (unsigned char)n};
    buf_add(out, text, 4);
}

static void wire_text(struct buf *out, struct bytes text)
{
    wire_u32(out, (uint32_t)text.n);
    buf_bytes(out, text);
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
    wire_text(&wire, bytes_of("ssh-rsa"));
    wire_mpint(&wire, &e);
    wire_mpint(&wire, &m);
    buf_text(&line, "ssh-rsa ");
    base64_encode(&line, buf_view(&wire));
    buf_char(&line, '\n');
    gnutls_free(m.data);
    gnutls_free(e.data);
    return arena_text_n(a, line.data, line.n);
}

/* To the end of `field`, without the zeros in front. False: it is longer. */
static bool number_put(char *field, size_t n, const gnutls_datum_t *number)
{
    size_t zeros = 0;
    while (zeros < number->size && number->data[zeros] == 0)
        zeros++;
    size_t rest = number->size - zeros;
    if (rest > n)
        return false;
    bytes_copy(field + n - rest, (const char *)number->data + zeros, rest);
    return true;
}

/* SOURCE RFC 5656 3.1: string "ecdsa-sha2-nistp521", string "nistp521", string Q: 4, x, y, each of as many bytes as the curve has. */
static char *public_line_of_curve(struct arena *a, gnutls_x509_privkey_t key)
{
    enum { CURVE_BYTES = 66 };
    gnutls_datum_t x = {0}, y = {0}, k = {0};
    gnutls_ecc_curve_t curve;
    char point[1 + 2 * CURVE_BYTES] = {4}, *text = NULL;
    _cleanup_buf_ struct buf wire = {0};
    _cleanup_buf_ struct buf line = {0};
    if (gnutls_x509_privkey_export_ecc_raw(key, &curve, &x, &y, &k) < 0)
        return NULL;
    if (curve == GNUTLS_ECC_CURVE_SECP521R1 && number_put(point + 1, CURVE_BYTES, &x) &&
        number_put(point + 1 + CURVE_BYTES, CURVE_BYTES, &y)) {
        wire_text(&wire, bytes_of("ecdsa-sha2-nistp521"));
        wire_text(&wire, bytes_of("nistp521"));
        wire_text(&wire, (struct bytes){point, sizeof point});
        buf_text(&line, "ecdsa-sha2-nistp521 ");
        base64_encode(&line, buf_view(&wire));
        buf_char(&line, '\n');
        text = arena_text_n(a, line.data, line.n);
    }
    gnutls_free(x.data);
    gnutls_free(y.data);
    gnutls_free(k.data);
    return text;
}

int vcjob_ssh_key_given(struct arena *a, const char *private_key, const char *public_key, char **ret_private_pem, char **ret_public_line)
{
    gnutls_x509_privkey_t key = NULL;
    const gnutls_datum_t pem = {(unsigned char *)(uintptr_t)private_key, (unsigned int)strlen(private_key)};
    char *line = public_key ? arena_text(a, public_key) : NULL;
    if (!line && gnutls_x509_privkey_init(&key) >= 0 && gnutls_x509_privkey_import2(key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0) >= 0)
        line = gnutls_x509_privkey_get_pk_algorithm(key) == GNUTLS_PK_RSA ? public_line(a, key) : public_line_of_curve(a, key);
    gnutls_x509_privkey_deinit(key);
    *ret_private_pem = arena_text(a, private_key);
    *ret_public_line = line ? line : arena_text(a, "");
    return 0;
}

static int key_make(struct arena *a, gnutls_pk_algorithm_t algorithm, unsigned bits,
                    char *(*public_line_of)(struct arena *a, gnutls_x509_privkey_t key), char **ret_private_pem, char **ret_public_line,
                    struct err *e)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_datum_t pem = {0};
    int r = gnutls_x509_privkey_init(&key);
    if (r >= 0)
        r = gnutls_x509_privkey_generate(key, algorithm, bits, 0);
    if (r >= 0)
        r = gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem);
    char *line = r >= 0 ? public_line_of(a, key) : NULL;
    char *text = line ? arena_text_n(a, (const char *)pem.data, pem.size) : NULL;
    gnutls_free(pem.data);
    gnutls_x509_privkey_deinit(key);
    if (!text)
        return err_set(e, E_IO, "key for ssh: %s", r < 0 ? gnutls_strerror(r) : "cannot be exported");
    *ret_private_pem = text;
    *ret_public_line = line;
    return 0;
}

int vcjob_ssh_key(struct arena *a, char **ret_private_pem, char **ret_public_line, struct err *e)
{
    return key_make(a, GNUTLS_PK_RSA, 2048, public_line, ret_private_pem, ret_public_line, e);
}

int vcjob_ssh_key_short(struct arena *a, char **ret_private_pem, char **ret_public_line, struct err *e)
{
    return key_make(a, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP521R1), public_line_of_curve, ret_private_pem,
                    ret_public_line, e);
}
