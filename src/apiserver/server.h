/* server.h - the server as its parts see it
 *
 *   apiserver_handle -> access_check -> own routes of others -> paths_handle -> route_handle: path -> struct request_info -> a verb
 *
 * ORDER  a write changes the store in memory at once; its answer waits for the commit (request/status.h, reply_durable).
 */
#ifndef APISERVER_SERVER_H
#define APISERVER_SERVER_H
#include "apiserver/apiserver.h"
#include "apiserver/store/store.h"
#include "base/collections/map.h"
#include "base/random.h"
#include "codec/kinds/kind.h"

struct crds;
struct documents;
struct garbage;
struct questions;
struct quotas;
struct refresh;
struct watch_set;
struct write_rules;
struct apiserver_route {
    char *prefix;
    bool (*fn)(void *ctx, struct http_exchange *x);
    void *ctx;
};
struct apiserver {
    struct loop *loop;
    struct apiserver_config config; /* texts are owned copies */
    const struct write_rules *rules; /* what the server itself decides of objects: apply/kind_rules.h */
    struct store *store;
    struct kind_table *kinds;
    struct random random; /* uids and generated names */
    uint64_t uid_stamp;   /* of the last uid: milliseconds << 12 | number within them */
    struct apiserver_route *routes;
    size_t routes_n, routes_cap;
    apiserver_pending_fn pending; /* may be NULL */
    void *pending_ctx;
    struct crds *crds;         /* which kinds there are besides the built-in ones */
    struct garbage *garbage;   /* owner index, namespace life cycle, event TTL */
    struct refresh *refresh;   /* what follows from other objects */
    struct quotas *quotas;     /* what the ResourceQuotas of each namespace have left */
    struct questions *questions; /* of watchers; answered when an object is written */
    struct watch_set *watches; /* open watches, and encoded events that they share */
    struct loop_timer *tick;   /* once a second: bookmarks, TTLs */
    struct buf text; /* what is being written: its memory is used again */
    uint64_t requests_n;
    uint64_t tokens_n;
    struct map *given_tokens; /* hash of a token that apiserver_add_token made known -> user (char *) */
    struct documents *documents; /* of discovery and OpenAPI */
};

#endif
