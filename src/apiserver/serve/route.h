/* route.h - from a request's path to the function that answers it
 *
 *   /api/v1/..., /apis/GROUP/VERSION/...   [namespaces/NS/]PLURAL[/NAME[/SUBRESOURCE]]
 */
#ifndef APISERVER_ROUTE_H
#define APISERVER_ROUTE_H
#include "apiserver/internal.h"

/* WHY  one parser for who executes a request and who judges it: what is not read alike can be asked for as one thing and done as
 * another. */
struct route_path {
    const char *group, *version, *plural;
    const char *ns, *name, *subresource; /* "" when absent */
    bool in_namespace;
};
bool route_path_parse(struct arena *a, const char *path, struct route_path *ret_p); /* false: no resource's path */
enum verb route_verb(const struct http_request *r, const struct route_path *p, bool *ret_known);

void route_handle(struct apiserver *s, struct http_exchange *x);
/* request_info for a kind's own object, for writes that come from inside. */
void route_info_internal(struct apiserver *s, const struct kind *k, const char *ns, const char *name,
                         struct request_info *ret_ri);

void get_handle(struct http_exchange *x, const struct request_info *ri);
void list_handle(struct http_exchange *x, const struct request_info *ri);
void watch_handle(struct http_exchange *x, const struct request_info *ri);
void create_handle(struct http_exchange *x, struct request_info *ri);
void update_handle(struct http_exchange *x, const struct request_info *ri);
void patch_handle(struct http_exchange *x, const struct request_info *ri);
void delete_handle(struct http_exchange *x, const struct request_info *ri);
void delete_collection_handle(struct http_exchange *x, const struct request_info *ri);

#endif
