/* subresource.h - what can be asked of one object besides itself: bind it, evict it, scale it, read its log */
#ifndef APISERVER_SUBRESOURCE_H
#define APISERVER_SUBRESOURCE_H
#include "apiserver/request/request.h"

/* Subresources other than "" and "status": binding, eviction, scale, token, log, finalize (namespaces), exec...;
 * pods/ephemeralcontainers and pods/resize too. ri->verb is from the method (CREATE for POST, UPDATE for PUT, ...). */
void subresource_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);
void binding_handle(struct apiserver *s, struct http_exchange *x,
                    const struct request_info *ri); /* POST pods/NAME/binding, bindings */
void eviction_handle(struct apiserver *s, struct http_exchange *x,
                     const struct request_info *ri); /* POST pods/NAME/eviction */
void scale_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);  /* GET, PUT, PATCH */
void logs_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);   /* GET pods/NAME/log */
void resize_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri); /* GET, PUT, PATCH */

#endif
