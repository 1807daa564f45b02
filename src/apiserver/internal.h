/* internal.h - what the files of this room share: the server, one request, answers
 *
 *   apiserver_handle -> own routes of others -> route_parse -> struct request_info -> verb_*() or subresource_handle()
 *
 * ORDER  a write changes the store in memory at once; its answer waits for the commit (reply_durable). Whoever answers a write must
 *        therefore use object_reply(..., true), status_success or reply_durable, never http_reply.
 * OWNER  request_info, and everything reached from it, lives in the request's arena.
 */
#ifndef APISERVER_INTERNAL_H
#define APISERVER_INTERNAL_H
#include "apiserver/apiserver.h"
#include "apiserver/store/store.h"
#include "base/collections/map.h"
#include "base/random.h"
#include "codec/admission/admission.h"
#include "codec/kinds/kind.h"
#include "codec/schema/field_errors.h"

struct garbage;
struct quotas;
struct watch_set;
struct apiserver_route {
    char *prefix;
    bool (*fn)(void *ctx, struct http_exchange *x);
    void *ctx;
};
struct apiserver {
    struct loop *loop;
    struct apiserver_config config; /* texts are owned copies */
    struct store *store;
    struct kind_table *kinds;
    struct random random; /* uids and generated names */
    uint64_t uid_stamp;   /* of the last uid: milliseconds << 12 | number within them */
    struct apiserver_route *routes;
    size_t routes_n, routes_cap;
    struct garbage *garbage;   /* owner index, namespace life cycle, event TTL */
    struct quotas *quotas;     /* what the ResourceQuotas of each namespace have left */
    struct watch_set *watches; /* open watches, and encoded events that they share */
    struct loop_timer *tick;   /* once a second: bookmarks, TTLs */
    struct buf text; /* what is being written: its memory is used again */
    uint64_t requests_n;
    uint64_t tokens_n;
    void *view; /* caches of discovery and OpenAPI documents: apiserver/serve/view.h */
};

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

/* ---- route.c ---- */
bool route_bool(const char *value); /* Go ParseBool: 1 t T true TRUE True */

/* ---- status.c: answers that are no object ---- */
/* Failure. `reason` as Kubernetes ("NotFound"); details.name/group/kind from ri (may be NULL); causes may be NULL. */
void status_reply(struct http_exchange *x, int http, const char *reason, const struct request_info *ri,
                  const struct field_errors *causes, const char *format, ...) PRINTF_LIKE(6, 7);
/* From an error of this room: code gives status and reason, text the message. */
void status_reply_err(struct http_exchange *x, const struct request_info *ri, const struct err *e);
/* The Status object as a tree (watch ERROR events, special causes). */
struct json *status_json(struct arena *a, int http, const char *reason, const struct request_info *ri,
                         const struct field_errors *causes, const char *message);
void status_reply_json(struct http_exchange *x, int http, struct json *status);
/* 422 Invalid: `Pod "p1" is invalid: <errors>`. */
void status_reply_invalid(struct http_exchange *x, const struct request_info *ri, const char *name,
                          const struct field_errors *causes);
void status_reply_not_found(struct http_exchange *x, const struct request_info *ri, const char *name);
/* Success Status, after the commit. uid may be NULL. */
void status_success(struct http_exchange *x, const struct request_info *ri, int http, const char *uid);
void status_warn(struct http_exchange *x, const char *text); /* Warning: 299 - "text" */
/* `jobs.batch`, `pods`: plural with group. In the arena. */
const char *status_resource(struct arena *a, const struct kind *k);

/* ---- object.c: bodies in, objects out ---- */
/* Read the request body as one object: JSON, YAML or protobuf by Content-Type; fills apiVersion and kind from the URL when absent, refuses
 * others. False: answered already. `expect` NULL: any object (DeleteOptions, reviews: apiVersion and kind are left alone). An empty body
 * gives NULL in *ret_object when `expect` is NULL, else 400. */
bool object_read_body(struct http_exchange *x, const struct request_info *ri, const struct kind *expect,
                      struct json **ret_object);
/* Answer with one object. `object` is in storage version: converted to the URL's version here, then printed, as Table
 * when asked. durable: after the commit of this turn's writes. */
void object_reply(struct http_exchange *x, const struct request_info *ri, int http, struct json *object, bool durable);
/* Answer with any body after the commit (500 when the commit failed). Takes over the reference. */
void reply_durable(struct apiserver *s, struct http_exchange *x, int http, const char *content_type, struct blob *body);

/* A custom kind whose schema has defaults: it may have got them after an object was stored, so they are filled in when it is read. */
bool object_defaults_late(const struct kind *k, const char *version);
/* A stored object as a request for `version` sees it, in place. */
void object_show(struct arena *a, const struct kind *k, struct json *object, const char *version);

/* Stored state of an object as a tree in the arena (storage version), NULL when absent. */
struct json *object_read(struct apiserver *s, struct arena *a, const struct kind *k, const char *ns, const char *name);
struct json *object_read_plural(struct apiserver *s, struct arena *a, const char *group, const char *plural,
                                const char *ns, const char *name);
/* All objects of a kind in ns (NULL: everywhere), in the order of their names, as an array; NULL when there are none. */
struct json *object_list_plural(struct apiserver *s, struct arena *a, const char *group, const char *plural, const char *ns);
/* The kind whose objects the store keeps under this id; NULL: its definition has gone. */
const struct kind *object_kind(struct apiserver *s, uint32_t kind_id);
/* Read, let fn change the tree, write what changed (no write when nothing did). No validation: for the server's own
 * changes and for subresources that checked already. Skips metadata.{uid,name,...}; bumps generation only if
 * spec_change. fn returns 0 to go on, or a negative code (err set) to give up. ret_object may be NULL. -E_NOTFOUND when
 * absent. */
typedef int (*object_modify_fn)(void *arg, struct arena *a, struct json *object, struct err *e);
int object_modify(struct apiserver *s, const struct kind *k, const char *ns, const char *name, struct arena *a,
                  object_modify_fn fn, void *arg, bool spec_change, struct json **ret_object, struct err *e);
/* Whole write path for a new state of an existing object with all checks, as PUT does: for handlers such as scale that
 * build the whole object. Answers on failure and returns false. */
bool object_write_checked(struct http_exchange *x, const struct request_info *ri, struct json *old, struct json *object,
                          struct json **ret_object);
/* Delete as DELETE would with these options (eviction). Returns 0 or -E_* ; *ret_gone false when it is only marked. */
struct delete_options {
    int64_t grace_seconds;                          /* -1 = not given */
    const char *propagation;                        /* "" = default (Background) */
    const char *precondition_uid, *precondition_rv; /* NULL = none */
    bool dry_run;
};
int object_delete(struct apiserver *s, const struct kind *k, const char *ns, const char *name, struct arena *a,
                  const struct delete_options *options, bool *ret_gone, struct json **ret_object, struct err *e);
int object_create(struct apiserver *s, const struct kind *k, struct arena *a, struct json *object,
                  struct err *e);                    /* storage version, with all checks */
void object_uid(struct apiserver *s, char text[37]); /* a new UUIDv7 */

/* ---- what is served beside objects: folders serve and tables, access/review.c ---- */
int view_new(struct apiserver *s);
void view_free(struct apiserver *s);
/* Everything that is no resource: "/api", "/apis...", "/openapi/...", "/metrics". False when the path is none of these.
 */
bool view_handle(struct apiserver *s, struct http_exchange *x);
/* Host and Origin checks, authentication. False: answered already. Called first for every request. */
bool guard_check(struct apiserver *s, struct http_exchange *x);
/* Subresources other than "" and "status": binding, eviction, scale, token, log, finalize (namespaces), exec...;
 * pods/ephemeralcontainers and pods/resize too. ri->verb is from the method (CREATE for POST, UPDATE for PUT, ...). */
void subresource_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);
/* Kinds with KIND_REVIEW (POST) and KIND_READ_ONLY (GET, LIST). */
void review_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);
/* Accept asks for a Table of meta.k8s.io before plain JSON. */
bool table_wanted(const struct http_request *r);
/* A Table: begin, rows, end. Objects are in the URL's version. rv, continue_token: NULL or "" leaves out; remaining < 0
 * leaves out. columns false: no columnDefinitions (2nd and later events of a watch). include: query includeObject
 * ("Metadata" when NULL). */
void table_begin(struct buf *out, const struct request_info *ri, const char *rv, const char *continue_token,
                 int64_t remaining, bool columns);
void table_row(struct buf *out, const struct request_info *ri, struct arena *a, const struct json *object,
               const char *include, bool first);
void table_end(struct buf *out);
/* After a CustomResourceDefinition was created, changed or deleted (object NULL = deleted): kind table and conditions.
 * crd_name always set. Called from the write path before storing (object may be changed: status), errors refuse the
 * write. */
int crd_admit(struct apiserver *s, struct arena *a, const struct json *old, struct json *object,
              struct field_errors *errors);
/* What a definition or a webhook configuration asks for and does not get here, as a sentence; NULL = nothing. */
const char *crd_unsupported(const struct kind *k, const struct json *object);
/* The same of the rules in its schemas. */
const char *crd_rules_unsupported(const struct kind *k, const struct json *object);
void crd_removed(struct apiserver *s, const struct json *crd);
/* At the start: the kinds of the stored definitions. -E_INVALID: one of them cannot be read; the text says which. */
int crd_load(struct apiserver *s, struct err *e);

#endif
