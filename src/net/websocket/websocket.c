/* websocket.c - see websocket.h */
#include "net/websocket/websocket.h"
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include "base/memory.h"
#include "net/websocket/frame.h"

enum {
    PULL_BYTES = 16 << 10,
    READ_BYTES = 4 << 10,
    PULLS_MAX = 64, /* in one turn of the loop */
    READS_MAX = 16,
};
enum farewell { FAREWELL_NORMAL = 1000, FAREWELL_PROTOCOL = 1002, FAREWELL_TOO_BIG = 1009 };

struct websocket {
    struct websocket_config config;
    struct loop_poll *poll;
    struct frame_reader in;
    struct buf line, out;
    size_t sent;        /* of out */
    bool woken, ending; /* ending: over when `out` is sent */
    bool unread;        /* something may be there that no event will tell of: it was not read to its end, or TLS has it */
};

/* Does this list, with commas between its words, have the word? */
static bool list_has(const char *list, const char *word)
{
    size_t n = strlen(word);
    while (list && *list) {
        list += strspn(list, ", \t");
        size_t here = strcspn(list, ", \t");
        if (here == n && strncasecmp(list, word, n) == 0)
            return true;
        list += here;
    }
    return false;
}

bool websocket_is_asked(const char *method, const char *connection, const char *upgrade)
{
    return strcmp(method, "GET") == 0 && list_has(connection, "upgrade") && list_has(upgrade, "websocket");
}

const char *websocket_accept(struct arena *a, const char *key, const char *version)
{
    static const char tail[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* SOURCE RFC 6455, 1.3 */
    _cleanup_buf_ struct buf nonce = {0}, text = {0}, accept = {0};
    unsigned char sum[20];
    if (!key || !version || strcmp(version, "13") != 0 || !base64_decode(&nonce, bytes_of(key)) || nonce.n != 16)
        return NULL;
    buf_printf(&text, "%s%s", key, tail);
    if (gnutls_hash_fast(GNUTLS_DIG_SHA1, text.data, text.n, sum) < 0)
        return NULL;
    base64_encode(&accept, (struct bytes){(const char *)sum, sizeof sum});
    return arena_text_n(a, accept.data, accept.n);
}

enum websocket_form websocket_form_of(const char *protocols, const char *content_type, const char **ret_protocol)
{
    static const char base64[] = "base64.binary.k8s.io", binary[] = "binary.k8s.io";
    bool is_base64 = list_has(protocols, base64);
    *ret_protocol = is_base64 ? base64 : list_has(protocols, binary) ? binary : NULL;
    if (content_type && strncmp(content_type, "application/json", strlen("application/json")) == 0)
        return WEBSOCKET_LINES; /* SOURCE kube-apiserver: watches are text whatever the protocol */
    return is_base64 ? WEBSOCKET_BASE64 : WEBSOCKET_BINARY;
}

static void farewell(struct websocket *w, enum farewell code)
{
    const char text[2] = {(char)(code >> 8), (char)(code & 0xff)};
    if (!w->ending)
        frame_write(&w->out, FRAME_CLOSE, (struct bytes){text, sizeof text});
    w->ending = true;
}

static void take_lines(struct websocket *w)
{
    size_t from = 0;
    const char *end;
    while (from < w->line.n && (end = memchr(w->line.data + from, '\n', w->line.n - from))) {
        size_t n = (size_t)(end - w->line.data) - from;
        if (n > 0)
            frame_write(&w->out, FRAME_TEXT, (struct bytes){w->line.data + from, n});
        from += n + 1;
    }
    memmove(w->line.data, w->line.data + from, w->line.n - from);
    w->line.n -= from;
}

static void take(struct websocket *w, const char *data, size_t n)
{
    if (w->config.form == WEBSOCKET_LINES) {
        buf_add(&w->line, data, n);
        take_lines(w);
    } else if (w->config.form == WEBSOCKET_BINARY) {
        frame_write(&w->out, FRAME_BINARY, (struct bytes){data, n});
    } else {
        _cleanup_buf_ struct buf text = {0};
        base64_encode(&text, (struct bytes){data, n});
        frame_write(&w->out, FRAME_TEXT, buf_view(&text));
    }
}

static void take_input(struct websocket *w)
{
    struct bytes text;
    while (!w->ending) {
        switch (frame_reader_next(&w->in, &text)) {
        case FRAME_ASKS_NOTHING:
            return;
        case FRAME_ASKS_PONG:
            frame_write(&w->out, FRAME_PONG, text);
            break;
        case FRAME_ASKS_CLOSE:
            farewell(w, FAREWELL_NORMAL);
            break;
        case FRAME_IS_WRONG:
            farewell(w, FAREWELL_PROTOCOL);
            break;
        case FRAME_IS_TOO_BIG:
            farewell(w, FAREWELL_TOO_BIG);
            break;
        }
    }
}

/* ---- the wire: -E_AGAIN when it takes or has nothing now, another error when the client is gone ---- */

static ssize_t wire_result(struct websocket *w, ssize_t n)
{
    if (n >= 0)
        return n;
    bool again = w->config.tls_session ? n == GNUTLS_E_AGAIN : errno == EAGAIN;
    return again ? -EAGAIN : -EPIPE;
}

static bool was_interrupted(struct websocket *w, ssize_t n)
{
    return n < 0 && (w->config.tls_session ? n == GNUTLS_E_INTERRUPTED : errno == EINTR);
}

static ssize_t wire_send(struct websocket *w, const char *data, size_t size)
{
    ssize_t n;
    do {
        n = w->config.tls_session ? gnutls_record_send(w->config.tls_session, data, size)
                                  : send(w->config.fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (was_interrupted(w, n));
    return wire_result(w, n);
}

static ssize_t wire_receive(struct websocket *w, char *data, size_t size)
{
    ssize_t n;
    do {
        n = w->config.tls_session ? gnutls_record_recv(w->config.tls_session, data, size) : recv(w->config.fd, data, size, MSG_DONTWAIT);
    } while (was_interrupted(w, n));
    return wire_result(w, n);
}

/* Send what is there. Returns false: the client does not take more now, or is gone. */
static bool send_out(struct websocket *w, bool *ret_gone)
{
    *ret_gone = false;
    while (w->sent < w->out.n) {
        ssize_t n = wire_send(w, w->out.data + w->sent, w->out.n - w->sent);
        if (n < 0) {
            *ret_gone = n != -EAGAIN;
            return false;
        }
        w->sent += (size_t)n;
        w->config.progress(w->config.owner);
    }
    buf_clear(&w->out);
    w->sent = 0;
    return true;
}

/* Pull as long as it is taken. Returns false: the socket is over. */
static bool go_on(struct websocket *w)
{
    char data[PULL_BYTES];
    bool gone;
    for (int i = 0; i < PULLS_MAX; i++) {
        if (!send_out(w, &gone)) {
            loop_poll_set(w->poll, LOOP_WRITE);
            return !gone;
        }
        if (w->ending)
            return false;
        w->woken = false;
        ssize_t n = w->config.pull(w->config.pull_arg, data, sizeof data);
        if (n > 0)
            take(w, data, (size_t)n);
        else if (n < 0)
            farewell(w, FAREWELL_NORMAL);
        else if (!w->woken) { /* RACE something came while we were told that there is nothing */
            loop_poll_set(w->poll, LOOP_READ);
            return true;
        }
    }
    loop_poll_set(w->poll, LOOP_READ | LOOP_WRITE); /* others have their turn; this one comes again as soon as it can send */
    return true;
}

/* Read what the client says, while it takes what it is told. Returns false: it is gone. */
static bool listen_to(struct websocket *w)
{
    char data[READ_BYTES];
    w->unread = true;
    for (int i = 0; i < READS_MAX && !websocket_is_blocked(w) && !w->ending; i++) {
        ssize_t n = wire_receive(w, data, sizeof data);
        if (n == -EAGAIN) {
            w->unread = false;
            return true;
        }
        if (n <= 0)
            return false;
        frame_reader_add(&w->in, data, (size_t)n);
        take_input(w);
    }
    return true;
}

static void turn(void *arg)
{
    struct websocket *w = arg;
    if ((w->unread && !listen_to(w)) || !go_on(w)) {
        w->config.over(w->config.owner);
        return;
    }
    if (w->unread && !websocket_is_blocked(w)) /* others have their turn; then the rest */
        loop_defer(w->config.loop, turn, w);
}

static void ready(void *arg, int events)
{
    struct websocket *w = arg;
    w->unread |= (events & LOOP_READ) != 0;
    turn(w);
}

struct websocket *websocket_new(const struct websocket_config *config, struct bytes head)
{
    struct websocket *w = mem_zero(1, sizeof *w);
    w->config = *config;
    w->poll = loop_poll_new(config->loop, config->fd, ready, w);
    w->unread = true;
    buf_add(&w->out, head.data, head.n);
    loop_defer(config->loop, turn, w);
    return w;
}

void websocket_wake(struct websocket *w)
{
    if (!w->woken && !websocket_is_blocked(w))
        loop_defer(w->config.loop, turn, w);
    w->woken = true;
}

bool websocket_is_blocked(const struct websocket *w)
{
    return w->sent < w->out.n;
}

void websocket_free(struct websocket *w)
{
    if (!w)
        return;
    loop_forget(w->config.loop, turn, w);
    loop_poll_free(w->poll);
    frame_reader_free(&w->in);
    buf_free(&w->line);
    buf_free(&w->out);
    free(w);
}
