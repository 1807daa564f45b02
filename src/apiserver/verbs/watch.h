/* watch.h - open watches: each is a cursor in the ring of its kind, a filter, and the chunk that is on its way
 *
 * WHY  an event is encoded once per (kind, version, form) and shared by all watchers: 200 watchers cost 200 copies to sockets, not 200
 *      encodings.
 */
#ifndef APISERVER_WATCH_H
#define APISERVER_WATCH_H
#include "apiserver/request/request.h"

struct watch_set *watch_set_new(struct apiserver *s);
void watch_set_free(struct watch_set *set); /* ends the streams that are still open */
void watch_set_tick(struct watch_set *set); /* about once a second: bookmarks, timeouts */

#endif
