/* verbs.h - what a request does to the objects of a kind, one function a verb; each answers */
#ifndef APISERVER_VERBS_H
#define APISERVER_VERBS_H
#include "apiserver/request/request.h"

void get_handle(struct http_exchange *x, const struct request_info *ri);
void list_handle(struct http_exchange *x, const struct request_info *ri);
void watch_handle(struct http_exchange *x, const struct request_info *ri);
void create_handle(struct http_exchange *x, struct request_info *ri);
void update_handle(struct http_exchange *x, const struct request_info *ri);
void patch_handle(struct http_exchange *x, const struct request_info *ri);
void delete_handle(struct http_exchange *x, const struct request_info *ri);
void delete_collection_handle(struct http_exchange *x, const struct request_info *ri);

#endif
