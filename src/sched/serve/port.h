/* port.h - the scheduler's own port: /metrics, /healthz, /readyz, and for who is on this machine the web page, /ui/ (sched/view)
 *
 * SHAPE  /healthz: the process answers. /readyz: everything has been read; a replica that does not lead is ready, too.
 * LIMIT  few connections, short requests but for the page's: whoever reaches the port from elsewhere can read figures and names of queues,
 *        and nothing else.
 */
#ifndef SCHED_PORT_H
#define SCHED_PORT_H
#include "net/http.h"
#include "sched/sched.h"

struct scheduler_port;
/* address: ":8081", "127.0.0.1:0", "unix:/path". -E_INVALID, or -E_IO when it is taken. */
int scheduler_port_new(struct loop *l, struct scheduler *s, const char *address, struct scheduler_port **ret_p, struct err *e);
int scheduler_port_number(const struct scheduler_port *p); /* 0 for unix sockets */
void scheduler_port_free(struct scheduler_port *p); /* NULL-safe; before its scheduler */

/* The page alone, for servers with routes of their own. */
void scheduler_page_answer(const struct scheduler *s, struct http_exchange *x);

#endif
