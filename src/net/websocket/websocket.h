/* websocket.h - a stream (net/http.h) as messages of a WebSocket, RFC 6455, for clients in a browser and those that speak as one
 *
 * SHAPE  what `pull` gives becomes messages: lines of JSON one a message; other text as its protocol says, see websocket_form_of.
 * OWNER  descriptor and session are the owner's: they are closed by whoever is told that the socket is over.
 * LIMIT  nothing is read while the client does not take what is there for it; what it sends is looked at for pings and its farewell only.
 * SOURCE kube-apiserver: watches and logs, its subprotocols
 */
#ifndef NET_WEBSOCKET_WEBSOCKET_H
#define NET_WEBSOCKET_WEBSOCKET_H
#include <sys/types.h>
#include "base/arena.h"
#include "base/bytes.h"
#include "loop/loop.h"

struct websocket;

enum websocket_form {
    WEBSOCKET_LINES,  /* a text message a line */
    WEBSOCKET_BINARY, /* bytes as they come */
    WEBSOCKET_BASE64, /* the same as text, in base64 */
};

struct websocket_config {
    struct loop *loop;
    int fd;            /* not blocking */
    void *tls_session; /* gnutls_session_t over it; NULL: none */
    enum websocket_form form;
    ssize_t (*pull)(void *arg, char *out, size_t max); /* http_pull_fn */
    void *pull_arg;
    void (*progress)(void *owner); /* the client took something */
    void (*over)(void *owner);     /* nothing more comes or goes: free it */
    void *owner;
};

/* Of a request's headers, NULL where one is absent: is a WebSocket asked for? (Only a stream is answered with one.) */
bool websocket_is_asked(const char *method, const char *connection, const char *upgrade);
/* Sec-WebSocket-Accept for its key. NULL: its key or version is none that this speaks. */
const char *websocket_accept(struct arena *a, const char *key, const char *version);
/* What messages of this content type are made of, and the subprotocol of those asked for that is answered (NULL: none). */
enum websocket_form websocket_form_of(const char *protocols, const char *content_type, const char **ret_protocol);

/* `head`: what is sent before all, the answer to the request. It begins in the loop's next turn. */
struct websocket *websocket_new(const struct websocket_config *config, struct bytes head);
void websocket_wake(struct websocket *w); /* more may be there: pull again */
/* Something is there that the client does not take. */
bool websocket_is_blocked(const struct websocket *w);
void websocket_free(struct websocket *w);

#endif
