/* grpc.h - gRPC over unix sockets: server and client on our loop (nghttp2, cleartext HTTP/2 with prior knowledge)
 *
 *     message on the wire:  u8 compressed (must be 0) | u32 length, big endian, <= LIMIT_GRPC_MESSAGE | protobuf
 *
 * ORDER  callbacks in the loop's turn; a stream's messages in order. One outgoing message per stream is buffered beyond what the peer's
 *        window takes; a newer full-state message replaces a waiting one (grpc_stream_replace): updates coalesce.
 * LIMIT  a server has LIMIT_GRPC_CONNECTIONS (the oldest without a call gives way to a new one) with LIMIT_GRPC_STREAMS calls each;
 *        requests that are not yet whole take at most LIMIT_GRPC_UNREAD bytes of a connection.
 * BAD INPUT  anything malformed ends its stream (status 13 INTERNAL or 3) or its connection, never the process. A peer may send a socket
 *        path as :authority (kubelets before kubernetes #112597): accepted.
 */
#ifndef NET_GRPC_H
#define NET_GRPC_H
#include "loop/loop.h"
#include "base/bytes.h"

#define LIMIT_GRPC_MESSAGE (4u << 20) /* grpc-go's own limit for received messages */
#define LIMIT_GRPC_CONNECTIONS 16     /* of one socket: a kubelet has one, two while it restarts */
#define LIMIT_GRPC_STREAMS 100        /* calls at a time on one connection */
#define LIMIT_GRPC_UNREAD (8u << 20)  /* bytes of requests on one connection that are not yet answered */
#define LIMIT_GRPC_HEADERS (16u << 10) /* names and values of one call's headers */

enum grpc_status {
    GRPC_OK = 0,
    GRPC_CANCELLED = 1,
    GRPC_UNKNOWN = 2,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_PERMISSION_DENIED = 7,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_FAILED_PRECONDITION = 9,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14
};

/* ---- server ---- */
struct grpc_server;
struct grpc_stream; /* one call that is being answered */
struct grpc_handler {
    const char *path; /* "/v1beta1.DevicePlugin/Allocate" */
    /* Unary and server-streaming calls alike: `request` is the one message of the client, good during the call. Answer with grpc_reply
     * (once, unary) or grpc_stream_replace and, some day, grpc_stream_end. `s` is the handler's until it answers with grpc_reply, grpc_fail
     * or grpc_stream_end, or until `closed`; a handler without `closed` answers within the call. */
    void (*call)(void *ctx, struct grpc_stream *s, struct bytes request);
    /* The peer has gone, its grpc-timeout has passed, or the server is freed, before an answer was given. May be NULL. */
    void (*closed)(void *ctx, struct grpc_stream *s);
};
/* Replaces a stale socket file; the new one has mode 0600. handlers: array, kept by reference. -E_EXISTS: another process answers on this
 * socket, or the file is no socket; -E_LIMIT: the path is longer than a socket's may be; -E_NOTFOUND: no such directory; -E_DENIED,
 * -E_IO. */
int grpc_server_new(struct loop *l, const char *socket_path, const struct grpc_handler *handlers, uint32_t handlers_n, void *ctx,
                    struct grpc_server **ret_s, struct err *e);
void grpc_server_free(struct grpc_server *s); /* NULL-safe; ends all streams; removes the socket file if it is still ours */
bool grpc_server_socket_is_ours(const struct grpc_server *s); /* false: the file was removed or replaced (kubelet restart) */
void grpc_reply(struct grpc_stream *s, struct bytes message);
void grpc_fail(struct grpc_stream *s, enum grpc_status status, const char *text);
void grpc_stream_replace(struct grpc_stream *s, struct bytes message); /* send; a message that still waits is replaced by this one */
void grpc_stream_end(struct grpc_stream *s);

/* ---- client ---- */
struct grpc_client;
struct grpc_client *grpc_client_new(struct loop *l, const char *socket_path); /* connects at the first call, again after errors */
void grpc_client_free(struct grpc_client *c); /* NULL-safe, also inside callbacks; calls end without a callback */
/* Exactly one callback, never inside the call. status GRPC_UNAVAILABLE: nobody listens, or the peer has gone; a status of the peer that is
 * not in the enum is passed on as its number. message is good during the call. timeout_ms 0: none. error_text is never NULL. Returns an id
 * for grpc_cancel, never 0. */
typedef void (*grpc_answer_fn)(void *arg, enum grpc_status status, struct bytes message, const char *error_text);
uint64_t grpc_call(struct grpc_client *c, const char *path, struct bytes request, int64_t timeout_ms, grpc_answer_fn fn, void *arg);
/* Server streaming: fn per message (status OK), at the end once with `ended` true. Returns an id for grpc_cancel, never 0. */
typedef void (*grpc_message_fn)(void *arg, bool ended, enum grpc_status status, struct bytes message);
uint64_t grpc_watch(struct grpc_client *c, const char *path, struct bytes request, grpc_message_fn fn, void *arg);
void grpc_cancel(struct grpc_client *c, uint64_t id); /* no further callback; unknown ids are nothing */

#endif
