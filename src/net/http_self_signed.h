/* http_self_signed.h - a certificate for a TLS port whose clients do not ask who signed it */
#ifndef NET_HTTP_SELF_SIGNED_H
#define NET_HTTP_SELF_SIGNED_H
#include "base/err.h"

/* For localhost and this name, ten years from now; the caller frees both texts. -E_IO: GnuTLS cannot. */
int http_self_signed(const char *name, char **ret_cert_pem, char **ret_key_pem, struct err *e);

#endif
