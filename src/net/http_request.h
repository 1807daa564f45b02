/* http_request.h - inside the net room: what every server carrier does with a request line
 *
 * LIMIT  LIMIT_URL_BYTES is the caller's to check; LIMIT_QUERY_PARAMS here.
 */
#ifndef NET_HTTP_REQUEST_H
#define NET_HTTP_REQUEST_H
#include "base/err.h"
#include "net/http.h"

enum { LIMIT_QUERY_PARAMS = 256 };

/* Fill path and query of r from "/path?query" (percent-encoded), in r->arena. -E_INVALID says what is wrong with it. */
int http_request_set_url(struct http_request *r, const char *url, size_t n, struct err *e);
/* A Kubernetes Status object about a request that never reached the handler. */
struct blob *http_status_blob(int status, const char *reason, const char *message);
/* Header value with CR, LF and NUL made harmless, in the arena. */
char *http_header_clean(struct arena *a, const char *value);
/* Bytes that are no UTF-8 text become '?': header values end up in answers, and as manager names in objects. */
void http_header_repair(char *value, size_t n);

#endif
