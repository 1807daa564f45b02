/* agent_page.h - the metrics page of an agent, fetched from its socket for who asked the API server for it */
#ifndef SIM_AGENT_PAGE_H
#define SIM_AGENT_PAGE_H
#include "loop/loop.h"
#include "net/http.h"

struct agent_page;
/* socket: a path; nobody needs to listen there yet. */
int agent_page_new(struct loop *l, const char *socket, struct agent_page **ret_p, struct err *e);
void agent_page_free(struct agent_page *p); /* NULL-safe; who waits gets 503 */
/* x is answered later: with the page, in the format that it accepts; 503 when the agent does not answer. */
void agent_page_get(struct agent_page *p, struct http_exchange *x);

#endif
