/* request.h - one request: what it asks of which kind, and from its path to that
 *
 *   /api/v1/..., /apis/GROUP/VERSION/...   [namespaces/NS/]PLURAL[/NAME[/SUBRESOURCE]]
 *
 * OWNER  request_info, and everything reached from it, lives in the request's arena.
 */
#ifndef APISERVER_REQUEST_H
#define APISERVER_REQUEST_H
#include "apiserver/server.h"

enum verb {
    VERB_GET,
    VERB_LIST,
    VERB_WATCH,
    VERB_CREATE,
    VERB_UPDATE,
    VERB_PATCH,
    VERB_DELETE,
    VERB_DELETE_COLLECTION
};
enum field_validation { VALIDATION_WARN, VALIDATION_STRICT, VALIDATION_IGNORE };
struct request_info {
    struct apiserver *server;
    enum verb verb;
    const char *group, *version, *plural;
    const char *ns, *name;   /* "" when absent */
    const char *subresource; /* "" when absent */
    const struct kind *kind;
    const struct kind_version *kind_version;
    uint32_t kind_id; /* in the store */
    bool dry_run;
    const char *field_manager; /* from the query, else the User-Agent's first word before '/' */
    bool field_manager_given;
    enum field_validation validation;
};

/* WHY  one parser for who executes a request and who judges it: what is not read alike can be asked for as one thing and done as
 * another. */
struct request_path {
    const char *group, *version, *plural;
    const char *ns, *name, *subresource; /* "" when absent */
    bool in_namespace;
};
#define REQUEST_SEGMENTS_MAX 12
/* "/apis/batch/v1/" is {"apis", "batch", "v1"}: empty segments are left out. How many, or -1: too many. */
int request_path_split(struct arena *a, const char *path, const char *segments[REQUEST_SEGMENTS_MAX]);
/* The path as its segments say it, however many: "//metrics/" is "/metrics". */
const char *request_path_normal(struct arena *a, const char *path);
bool request_path_parse(struct arena *a, const char *path, struct request_path *ret_p); /* false: no resource's path */
enum verb request_verb(const struct http_request *r, const struct request_path *p, bool *ret_known);
bool request_bool(const char *value); /* Go ParseBool: 1 t T true TRUE True */
/* request_info for a kind's own object, for writes that come from inside. */
void request_info_internal(struct apiserver *s, const struct kind *k, const char *ns, const char *name, struct request_info *ret_ri);

#endif
