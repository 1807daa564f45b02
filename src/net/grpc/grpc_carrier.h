/* grpc_carrier.h - inside the net room: one HTTP/2 connection on the loop, and what gRPC puts into its streams
 *
 *     socket ─▶ nghttp2 (callbacks of server or client only note what came) ─▶ settled(owner): act ─▶ flush ─▶ socket
 *
 * OWNER  the server's connection or the client owns its carrier. grpc_carrier_free is allowed everywhere, also in callbacks of nghttp2 and
 *        in `settled`: the memory goes when the last of them has returned; until then `gone` is true.
 */
#ifndef NET_GRPC_CARRIER_H
#define NET_GRPC_CARRIER_H
#include <nghttp2/nghttp2.h>
#include <sys/un.h>
#include "base/bytes.h"
#include "loop/loop.h"

enum { GRPC_PREFIX_BYTES = 5 };

/* Messages out of DATA frames, wherever those are cut. */
struct grpc_assembly {
    uint8_t prefix[GRPC_PREFIX_BYTES];
    uint8_t prefix_n;
    uint32_t need;   /* bytes of the body */
    struct buf body; /* grows as the bytes come, not as the prefix promises */
};
/* Take bytes of `data`. 1: a->body is a message (grpc_assembly_next before the next call); 0: all taken, more is needed; -E_LIMIT too
 * long; -E_PROTO compressed. *ret_used is set on success. */
int grpc_assembly_feed(struct grpc_assembly *a, const uint8_t *data, size_t n, size_t *ret_used);
void grpc_assembly_next(struct grpc_assembly *a);
bool grpc_assembly_between(const struct grpc_assembly *a); /* no message is half here */
void grpc_assembly_free(struct grpc_assembly *a);

/* Messages that wait for the peer's window: one on its way, one behind it. */
struct grpc_outgoing {
    struct buf now, next;
    size_t sent;
    bool next_waits;
};
void grpc_outgoing_put(struct grpc_outgoing *o, struct bytes message); /* replaces the one that waits behind */
size_t grpc_outgoing_take(struct grpc_outgoing *o, uint8_t *into, size_t n);
bool grpc_outgoing_empty(const struct grpc_outgoing *o);
void grpc_outgoing_free(struct grpc_outgoing *o);

struct grpc_carrier {
    struct loop *loop;
    int fd;
    struct loop_poll *poll;
    nghttp2_session *session;
    struct buf out; /* bytes of nghttp2 that the socket did not take */
    size_t out_at;
    unsigned held;
    bool gone;
    void (*settled)(void *owner); /* after a batch of input; may be NULL */
    void (*lost)(void *owner);    /* the peer has gone, or both sides are done: free the carrier */
    void *owner;
};
struct grpc_carrier_config {
    bool server;
    const nghttp2_session_callbacks *callbacks; /* their user_data is the carrier */
    const nghttp2_settings_entry *settings;
    size_t settings_n;
    void (*settled)(void *owner);
    void (*lost)(void *owner);
    void *owner;
};
nghttp2_session_callbacks *grpc_callbacks_new(void); /* none set yet; running out of memory ends the program */
struct grpc_carrier *grpc_carrier_new(struct loop *l, int fd, const struct grpc_carrier_config *config); /* takes fd over */
void grpc_carrier_free(struct grpc_carrier *c); /* NULL-safe */
void grpc_carrier_flush_soon(struct grpc_carrier *c); /* at the end of this turn */
void grpc_carrier_farewell(struct grpc_carrier *c);   /* GOAWAY and what can still be written at once; free it after */

/* Header values: pointers stay good during nghttp2_submit_*, which copies. */
nghttp2_nv grpc_header(const char *name, const char *value);

int grpc_address(const char *path, struct sockaddr_un *ret_address, struct err *e); /* -E_LIMIT: too long for a socket */

/* ---- texts of headers (grpc_text.c) ---- */
/* grpc-message: bytes outside 0x20..0x7e and '%' as %XX. */
void grpc_text_encode(struct buf *out, const char *text);
void grpc_text_decode(struct buf *out, struct bytes text); /* malformed escapes stay as they are */
/* grpc-timeout "30S", "250m": milliseconds rounded up; -1 malformed. Units H M S m u n, at most 8 digits. */
int64_t grpc_timeout_parse(struct bytes text);
void grpc_timeout_print(int64_t timeout_ms, char *out, size_t n);

#endif
