/* certificates.h - the certificates of an embedded cluster in --tls mode: a CA, the server's, an administrator's
 *
 * OWNER  made once per data directory (DIR/pki/{ca,server,admin}.{crt,key}, mode 0600) and read again at the next start. ECDSA P-256, CA
 *        ten years, the others one year; a server certificate that does not name the host any more or has less than a week left is made
 *        anew.
 */
#ifndef SIM_CERTIFICATES_H
#define SIM_CERTIFICATES_H
#include "base/err.h"

#define CERTIFICATES_ADMIN "kubernetes-admin"     /* whom the administrator's certificate names */
#define CERTIFICATES_ADMIN_GROUP "system:masters" /* and the group that may do everything */

struct certificates {
    char *ca_pem, *server_cert_pem, *server_key_pem, *admin_cert_pem, *admin_key_pem;
};
/* host: name or address that clients will use besides localhost, 127.0.0.1, ::1. */
int certificates_open(const char *dir, const char *host, struct certificates *ret_c, struct err *e);
void certificates_fini(struct certificates *c);

#endif
