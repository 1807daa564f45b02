/* list.h - a list answer: objects are collected first, because the header of a list tells whether more follow */
#ifndef APISERVER_LIST_H
#define APISERVER_LIST_H
#include "apiserver/request/request.h"

struct list_writer {
    struct http_exchange *x;
    const struct request_info *ri;
    struct blob **items; /* references */
    size_t items_n, items_cap;
    const char *continue_token;
    int64_t remaining;
    uint64_t rv;
};
void list_writer_begin(struct list_writer *w, struct http_exchange *x, const struct request_info *ri,
                       const char *continue_token, int64_t remaining);
void list_writer_add(struct list_writer *w, struct blob *body); /* takes its own reference */
void list_writer_reply(struct list_writer *w);                  /* answers and frees */
void list_writer_drop(struct list_writer *w);                   /* frees only */

/* What is stored is not what the request is shown: another version, or defaults to fill in. Of all that is written now; of this text, which
 * may have been written when another version was stored; of the object that the request names. */
bool list_kind_converts(const struct request_info *ri);
bool list_converts(const struct request_info *ri, const struct blob *body);
bool list_stored_converts(const struct request_info *ri);
/* The stored text of one object in the URL's version, appended; partial: only its metadata. */
void list_object_write(struct buf *out, const struct request_info *ri, const struct blob *body, bool partial);
/* Parse resourceVersion of the query; "" and absent give 0. False: answered. */
bool list_rv_parse(struct http_exchange *x, const struct request_info *ri, uint64_t *ret_rv);

#endif
