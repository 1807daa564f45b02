/* grpc_carrier.c - bytes between a unix socket and nghttp2, in bounded batches, and gRPC's frames within DATA */
#include "net/grpc/grpc_carrier.h"
#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/memory.h"
#include "net/grpc/grpc.h"

enum {
    READ_BYTES = 16 << 10,
    READS_PER_TURN = 8, /* then the loop's other work has its turn */
};

/* ---- messages in ---- */

int grpc_assembly_feed(struct grpc_assembly *a, const uint8_t *data, size_t n, size_t *ret_used)
{
    size_t used = 0;
    while (a->prefix_n < GRPC_PREFIX_BYTES) {
        if (used == n) {
            *ret_used = used;
            return 0;
        }
        a->prefix[a->prefix_n++] = data[used++];
        if (a->prefix[0])
            return -E_PROTO;
        if (a->prefix_n < GRPC_PREFIX_BYTES)
            continue;
        a->need = (uint32_t)a->prefix[1] << 24 | (uint32_t)a->prefix[2] << 16 | (uint32_t)a->prefix[3] << 8 | a->prefix[4];
        if (a->need > LIMIT_GRPC_MESSAGE)
            return -E_LIMIT;
    }
    size_t take = a->need - a->body.n < n - used ? a->need - a->body.n : n - used;
    if (take)
        buf_add(&a->body, data + used, take);
    *ret_used = used + take;
    return a->body.n == a->need;
}

void grpc_assembly_next(struct grpc_assembly *a)
{
    a->prefix_n = 0;
    a->need = 0;
    buf_free(&a->body);
}

bool grpc_assembly_between(const struct grpc_assembly *a)
{
    return a->prefix_n == 0;
}

void grpc_assembly_free(struct grpc_assembly *a)
{
    buf_free(&a->body);
}

/* ---- messages out ---- */

static void message_frame(struct buf *out, struct bytes message)
{
    uint32_t n = (uint32_t)message.n;
    char prefix[GRPC_PREFIX_BYTES] = {0, (char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n};
    buf_clear(out);
    buf_add(out, prefix, sizeof prefix);
    buf_bytes(out, message);
}

void grpc_outgoing_put(struct grpc_outgoing *o, struct bytes message)
{
    assert(message.n <= LIMIT_GRPC_MESSAGE);
    if (o->sent == 0) { /* none, or one of which nothing has gone out */
        message_frame(&o->now, message);
    } else {
        message_frame(&o->next, message);
        o->next_waits = true;
    }
}

size_t grpc_outgoing_take(struct grpc_outgoing *o, uint8_t *into, size_t n)
{
    size_t take = o->now.n - o->sent < n ? o->now.n - o->sent : n;
    if (take)
        memcpy(into, o->now.data + o->sent, take);
    o->sent += take;
    if (o->sent < o->now.n)
        return take;
    buf_free(&o->now); /* WHY  streams are idle for days: nothing is kept between messages */
    o->sent = 0;
    if (o->next_waits) {
        o->now = o->next;
        buf_init(&o->next);
        o->next_waits = false;
    }
    return take;
}

bool grpc_outgoing_empty(const struct grpc_outgoing *o)
{
    return o->now.n == 0;
}

void grpc_outgoing_free(struct grpc_outgoing *o)
{
    buf_free(&o->now);
    buf_free(&o->next);
}

/* ---- connection ---- */

static void carrier_destroy(struct grpc_carrier *c)
{
    nghttp2_session_del(c->session);
    buf_free(&c->out);
    free(c);
}

static void carrier_release(struct grpc_carrier *c)
{
    if (--c->held == 0 && c->gone)
        carrier_destroy(c);
}

/* 1: the socket took all; 0: it is full; -1: broken. */
static int out_write(struct grpc_carrier *c)
{
    while (c->out_at < c->out.n) {
        ssize_t n = send(c->fd, c->out.data + c->out_at, c->out.n - c->out_at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
        c->out_at += (size_t)n;
    }
    buf_free(&c->out);
    c->out_at = 0;
    return 1;
}

/* Frames that belong together go out in one write. */
static ssize_t frames_collect(struct grpc_carrier *c)
{
    const uint8_t *data;
    ssize_t n;
    while (c->out.n < READ_BYTES && (n = nghttp2_session_mem_send(c->session, &data)) != 0) {
        if (n < 0)
            return -1;
        buf_add(&c->out, data, (size_t)n);
    }
    return (ssize_t)c->out.n;
}

static bool carrier_flush(struct grpc_carrier *c)
{
    int written = out_write(c);
    while (written == 1) {
        ssize_t n = frames_collect(c);
        if (n < 0)
            return false;
        if (n == 0)
            break;
        written = out_write(c);
    }
    if (written < 0)
        return false;
    loop_poll_set(c->poll, LOOP_READ | (written ? 0 : LOOP_WRITE));
    return nghttp2_session_want_read(c->session) || nghttp2_session_want_write(c->session) || !written;
}

static bool carrier_read(struct grpc_carrier *c)
{
    uint8_t data[READ_BYTES];
    for (int i = 0; i < READS_PER_TURN && !c->gone; i++) {
        ssize_t n = recv(c->fd, data, sizeof data, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        if (n == 0)
            return false;
        if (nghttp2_session_mem_recv(c->session, data, (size_t)n) < 0)
            return false;
        if ((size_t)n < sizeof data)
            break;
    }
    return true;
}

static void carrier_step(struct grpc_carrier *c, bool readable)
{
    c->held++;
    bool alive = !readable || carrier_read(c);
    if (!c->gone && readable && c->settled)
        c->settled(c->owner);
    if (!c->gone && !(carrier_flush(c) && alive))
        c->lost(c->owner);
    carrier_release(c);
}

static void carrier_ready(void *arg, int events)
{
    carrier_step(arg, events & LOOP_READ);
}

static void carrier_turn_ends(void *arg)
{
    carrier_step(arg, false);
}

void grpc_carrier_flush_soon(struct grpc_carrier *c)
{
    if (!c->gone && !c->held) /* while held, whoever holds it flushes at the end */
        loop_at_turn_end(c->loop, carrier_turn_ends, c);
}

nghttp2_session_callbacks *grpc_callbacks_new(void)
{
    nghttp2_session_callbacks *k;
    int r = nghttp2_session_callbacks_new(&k);
    assert(r == 0 && "memory is out");
    (void)r;
    return k;
}

struct grpc_carrier *grpc_carrier_new(struct loop *l, int fd, const struct grpc_carrier_config *config)
{
    struct grpc_carrier *c = mem_zero(1, sizeof *c);
    c->loop = l;
    c->fd = fd;
    c->settled = config->settled;
    c->lost = config->lost;
    c->owner = config->owner;
    nghttp2_option *option;
    int r = nghttp2_option_new(&option);
    assert(r == 0 && "memory is out");
    /* WHY  A kubelet before Kubernetes PR 112597 sends its socket's path as :authority, which HTTP semantics forbid. What matters of
     * them is checked by the server and the client themselves. */
    nghttp2_option_set_no_http_messaging(option, 1);
    r = config->server ? nghttp2_session_server_new2(&c->session, config->callbacks, c, option)
                       : nghttp2_session_client_new2(&c->session, config->callbacks, c, option);
    assert(r == 0 && "memory is out");
    nghttp2_option_del(option);
    r = nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, config->settings, config->settings_n);
    assert(r == 0 && "our own settings are legal");
    (void)r;
    c->poll = loop_poll_new(l, fd, carrier_ready, c);
    loop_poll_set(c->poll, LOOP_READ);
    grpc_carrier_flush_soon(c);
    return c;
}

void grpc_carrier_free(struct grpc_carrier *c)
{
    if (!c || c->gone)
        return;
    c->gone = true;
    loop_forget(c->loop, carrier_turn_ends, c);
    loop_poll_free(c->poll);
    close(c->fd);
    if (!c->held)
        carrier_destroy(c);
}

void grpc_carrier_farewell(struct grpc_carrier *c)
{
    if (c->gone || c->held)
        return;
    c->held++;
    (void)carrier_flush(c);                                                /* answers, as much as the socket takes at once */
    (void)nghttp2_session_terminate_session(c->session, NGHTTP2_NO_ERROR); /* the connection closes anyway */
    (void)carrier_flush(c);
    carrier_release(c);
}

nghttp2_nv grpc_header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}
