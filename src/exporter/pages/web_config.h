/* web_config.h - exporter-toolkit's web.config.yml: TLS of the metrics port and who may read it
 *
 *     tls_server_config:  { cert_file | cert, key_file | key, client_ca_file | client_ca, client_auth_type, client_allowed_sans,
 *                           min_version, max_version, cipher_suites, prefer_server_cipher_suites, curve_preferences }
 *     http_server_config: { http2, headers: { X-Frame-Options: deny, ... } }
 *     basic_auth_users:   { name: "$2y$10$..." }                                        bcrypt
 *     rate_limit:         { interval: 1s, burst: 5 }
 *
 * Paths are relative to the file's folder. All keys of exporter-toolkit are kept; others are refused, as there. Refused here and taken
 * there: client certificates that are required, without a client CA (public authorities do not count here), bcrypt of more than
 * WEB_CONFIG_COST_MAX, a set of ciphers that GnuTLS cannot keep exactly, names of certificates that are not required, a rate limit that
 * lets nothing through. HTTP/2 is not served.
 * LIMIT  wrong passwords cost a bcrypt each: after WEB_CONFIG_TRIES in a row one a second is looked at, others are told to come again.
 * SOURCE exporter-toolkit, "Web configuration"
 */
#ifndef EXPORTER_WEB_CONFIG_H
#define EXPORTER_WEB_CONFIG_H
#include "net/http_server.h"

#define WEB_CONFIG_TRIES 5
#define WEB_CONFIG_COST_MAX 14     /* of bcrypt: about a second of the agent's one thread */
#define LIMIT_WEB_CONFIG_USERS 64
#define LIMIT_WEB_CONFIG_SANS 64
#define WEB_CONFIG_HEADERS_MAX 5
#define LIMIT_WEB_CONFIG_BYTES (256u << 10)

struct web_config_user {
    char *name, *hash;
    char *accepted; /* the Authorization header that was right last; NULL: none yet */
};
struct web_config {
    char *cert_pem, *key_pem, *client_ca_pem; /* NULL: plain HTTP, no client CA */
    enum http_client_auth client_auth;
    char *priorities;   /* GnuTLS's; NULL: no TLS */
    char **sans;        /* subject alternative names, of which a client's certificate must have one */
    uint32_t sans_n;
    struct http_param headers[WEB_CONFIG_HEADERS_MAX]; /* of every answer */
    uint32_t headers_n;
    int64_t rate_ms, burst; /* one request each rate_ms, and so many at once; 0: no limit */
    int64_t let_in_ms;  /* until when the requests that were let in take up the time, monotonic */
    struct web_config_user *users;
    uint32_t users_n;
    uint64_t hash;   /* of all that was read */
    int64_t tries;   /* wrong ones that are still free */
    int64_t refill_ms;
};
/* path NULL: nothing is configured. Errors name the file and the key: -E_NOTFOUND, -E_INVALID, -E_LIMIT, -E_DENIED, -E_IO. */
int web_config_read(const char *path, struct web_config **ret_c, struct err *e);
void web_config_free(struct web_config *c); /* NULL-safe */
/* Is there room for a request now (rate_limit)? */
bool web_config_admits(struct web_config *c, int64_t now_ms);
/* Has the client's certificate a name that is allowed? names: one a line. */
bool web_config_knows(const struct web_config *c, const char *names);
/* May a request with this Authorization header (NULL: none) read? 1 yes, 0 no, -E_AGAIN too many wrong ones. now_ms: monotonic. */
int web_config_allows(struct web_config *c, const char *authorization, int64_t now_ms);

#endif
