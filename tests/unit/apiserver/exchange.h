/* exchange.h - one request with its headers and the whole answer as text: for answers that are no objects (discovery,
 * logs, refusals) */
#ifndef TEST_EXCHANGE_H
#define TEST_EXCHANGE_H
#include "api.h"

struct exchange {
    struct http_exchange x; /* first */
    struct arena *arena;
    struct http_param headers[8], query[8];
    int status;
    char type[200], etag[64];
    struct buf text;
    http_pull_fn pull;
    void (*closed)(void *arg);
    void *arg;
    bool ended;
};
/* Headers: "name: value" texts, NULL terminated. Runs until the answer is complete, or has begun to stream. */
void exchange_open(struct exchange *e, struct api *api, const char *method, const char *target, const char *body, ...)
    __attribute__((sentinel));
void exchange_pull(struct exchange *e); /* take what the stream has now */
void exchange_close(struct exchange *e);

#endif
