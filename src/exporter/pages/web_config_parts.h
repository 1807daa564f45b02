/* web_config_parts.h - inside web_config: what its files share while they read */
#ifndef EXPORTER_WEB_CONFIG_PARTS_H
#define EXPORTER_WEB_CONFIG_PARTS_H
#include "exporter/pages/web_config.h"
#include "wire/json.h"

struct web_reading {
    struct web_config *c;
    struct arena *arena;
    const char *path;
};
/* -E_INVALID "PATH: KEY: WHAT". */
static inline int web_config_wrong(const struct web_reading *r, struct err *e, const char *key, const char *what)
{
    return err_set(e, E_INVALID, "%s: %s: %s", r->path, key, what);
}
/* tls_server_config. A section without values is none. */
int web_config_read_tls(struct web_reading *r, const struct json *tls, struct err *e);

#endif
