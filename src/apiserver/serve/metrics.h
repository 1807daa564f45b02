/* metrics.h - metrics.k8s.io: what nodes and pods use now, as who runs them tells; and the figures of the server itself */
#ifndef APISERVER_METRICS_H
#define APISERVER_METRICS_H
#include "apiserver/request/request.h"

/* GET of nodes or pods of metrics.k8s.io, one or a list. */
void metrics_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);
void metrics_text(struct apiserver *s, struct http_exchange *x); /* GET /metrics */

#endif
