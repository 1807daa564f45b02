/* http_listen.h - inside the net room: a listening socket from "host:port", "[v6]:port", ":port" (all) or "unix:/path" */
#ifndef NET_HTTP_LISTEN_H
#define NET_HTTP_LISTEN_H
#include "base/err.h"

/* Returns the descriptor (non-blocking, close-on-exec); ret_port is 0 for unix sockets. -E_INVALID, -E_EXISTS (in use),
 * -E_DENIED, -E_IO. */
int http_listen(const char *address, int *ret_port, struct err *e);

#endif
