/* web_config.h - exporter-toolkit's web.config.yml: TLS of the metrics port and who may read it
 *
 *     tls_server_config: { cert_file, key_file, client_ca_file, client_auth_type }      paths are relative to the file's folder
 *     basic_auth_users:  { name: "$2y$10$..." }                                         bcrypt
 *
 * Keys of exporter-toolkit that are not here are refused: a setting that is read and not kept would be a hole.
 * LIMIT  wrong passwords cost a bcrypt each: after WEB_CONFIG_TRIES in a row one a second is looked at, others are told to come again.
 * SOURCE exporter-toolkit docs/web-configuration.md; monitoring.md 1.1, 7.2
 */
#ifndef EXPORTER_WEB_CONFIG_H
#define EXPORTER_WEB_CONFIG_H
#include "net/http_server.h"

#define WEB_CONFIG_TRIES 5
#define WEB_CONFIG_COST_MAX 14     /* of bcrypt: about a second of the agent's one thread */
#define LIMIT_WEB_CONFIG_USERS 64
#define LIMIT_WEB_CONFIG_BYTES (256u << 10)

struct web_config_user {
    char *name, *hash;
    char *accepted; /* the Authorization header that was right last; NULL: none yet */
};
struct web_config {
    char *cert_pem, *key_pem, *client_ca_pem; /* NULL: plain HTTP, no client CA */
    enum http_client_auth client_auth;
    struct web_config_user *users;
    uint32_t users_n;
    uint64_t hash;   /* of all that was read */
    int64_t tries;   /* wrong ones that are still free */
    int64_t refill_ms;
};
/* path NULL: nothing is configured. Errors name the file and the key: -E_NOTFOUND, -E_INVALID, -E_LIMIT, -E_DENIED, -E_IO. */
int web_config_read(const char *path, struct web_config **ret_c, struct err *e);
void web_config_free(struct web_config *c); /* NULL-safe */
/* May a request with this Authorization header (NULL: none) read? 1 yes, 0 no, -E_AGAIN too many wrong ones. now_ms: monotonic. */
int web_config_allows(struct web_config *c, const char *authorization, int64_t now_ms);

#endif
