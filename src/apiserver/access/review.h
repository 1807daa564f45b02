/* review.h - questions about users and their rights: kinds with KIND_REVIEW, of which nothing is stored */
#ifndef APISERVER_REVIEW_H
#define APISERVER_REVIEW_H
#include "apiserver/request/request.h"

void review_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri);

#endif
