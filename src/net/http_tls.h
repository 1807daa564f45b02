/* http_tls.h - inside the net room: certificates of the server side (GnuTLS) */
#ifndef NET_HTTP_TLS_H
#define NET_HTTP_TLS_H
#include "base/err.h"
#include "net/http_server.h"

/* -E_INVALID says which of the texts is unusable. The last two may be NULL. */
int http_tls_check(const char *cert_pem, const char *key_pem, const char *client_ca_pem, const char *priorities, struct err *e);
/* Common name of the peer's certificate when it is valid under the client CA, else ""; and its organisations, one a
 * line, which Kubernetes takes for the user's groups; and its subject alternative names, one a line. session: gnutls_session_t. Caller
 * frees all. */
char *http_tls_peer_name(void *session, char **ret_groups, char **ret_names);
/* Before the handshake of this connection; a client that does not have what is asked for does not get through it. */
void http_tls_client_auth(void *session, enum http_client_auth auth);
/* Says that nothing more comes, if that can be said at once. */
void http_tls_bye(void *session);

#endif
