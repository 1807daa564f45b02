/* list_stream.h - a large list, sent as the client reads it
 *
 * WHY    a list that is written out whole and then waits for a client that does not read costs its size for each such client, and everybody
 *        waits while it is written. Here a client costs a reference for each object, and reads the first ones while the last are written.
 */
#ifndef APISERVER_LIST_STREAM_H
#define APISERVER_LIST_STREAM_H
#include "apiserver/request/fields.h"
#include "apiserver/request/request.h"

#define LIST_STREAM_BYTES (1u << 20) /* smaller lists are sent whole: one write instead of many */

/* Answer head, the items with commas between them, "]}\n". Takes items (n references and the array, n > 0). fields: what is shown of each
 * item, its names those of the request; NULL: all. */
void list_stream_reply(struct apiserver *s, struct http_exchange *x, struct bytes head, struct blob **items, size_t n,
                       const struct fields *fields);

#endif
