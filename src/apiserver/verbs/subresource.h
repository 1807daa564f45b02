/* subresource.h - what can be asked of one object besides itself: its status, scale or log, to bind it, to evict it
 *
 * One table says which there are: what discovery tells of and what is served cannot differ.
 */
#ifndef APISERVER_SUBRESOURCE_H
#define APISERVER_SUBRESOURCE_H
#include "apiserver/request/request.h"

struct subresource {
    const char *group, *plural;                   /* NULL: of all kinds with `flag` */
    uint32_t flag;                                /* KIND_SCALE, KIND_STATUS; 0 else */
    const char *name;
    const char *verbs;                            /* as discovery tells of them; NULL: it does not */
    const char *kind_group, *kind_version, *kind; /* of what is sent and answered; NULL: the object's own */
    /* ri->verb is from the method: CREATE for POST, UPDATE for PUT, ... */
    void (*handle)(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);
};
/* Those of k in discovery's order, one after the other; `after` NULL begins. NULL: no more. */
const struct subresource *subresource_next(const struct kind *k, const struct subresource *after);
void subresource_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);

/* Of the table. */
void binding_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri); /* bindings, too */
void eviction_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);
void logs_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);
void pending_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);
void resize_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);
void scale_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);

#endif
