/* websocket.c - see websocket.h */
#include "net/websocket/websocket.h"
#include <errno.h>
#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include "base/memory.h"

enum {
    PULL_BYTES = 16 << 10,
    READ_BYTES = 4 << 10,
    PULLS_MAX = 64, /* in one turn of the loop */
    CONTROL_MAX = 125,
};
enum opcode { TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };
enum farewell { FAREWELL_NORMAL = 1000, FAREWELL_PROTOCOL = 1002, FAREWELL_TOO_BIG = 1009 };

struct websocket {
    struct websocket_config config;
    struct loop_poll *poll;
    struct buf in, line, out;
    size_t sent;        /* of out */
    uint64_t skip;      /* bytes that still come of a message that nobody reads */
    bool woken, ending; /* ending: over when `out` is sent */
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

/* A message, whole: it is not masked, since a server sends it.
 * SHAPE  u8 0x80 | opcode   u8 length, or 126 and u16, or 127 and u64   bytes */
static void send_frame(struct websocket *w, enum opcode opcode, struct bytes b)
{
    unsigned char head[10] = {(unsigned char)(0x80 | opcode)};
    size_t n = b.n < 126 ? 0 : b.n <= 0xffff ? 2 : 8;
    head[1] = (unsigned char)(n == 0 ? b.n : n == 2 ? 126 : 127);
    for (size_t i = 0; i < n; i++)
        head[2 + i] = (unsigned char)((uint64_t)b.n >> (8 * (n - 1 - i)));
    buf_add(&w->out, head, 2 + n);
    buf_add(&w->out, b.data, b.n);
}

static void farewell(struct websocket *w, enum farewell code)
{
    const char text[2] = {(char)(code >> 8), (char)(code & 0xff)};
    if (!w->ending)
        send_frame(w, CLOSE, (struct bytes){text, sizeof text});
    w->ending = true;
}

static void take_lines(struct websocket *w)
{
    size_t from = 0;
    const char *end;
    while (from < w->line.n && (end = memchr(w->line.data + from, '\n', w->line.n - from))) {
        size_t n = (size_t)(end - w->line.data) - from;
        if (n > 0)
            send_frame(w, TEXT, (struct bytes){w->line.data + from, n});
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
        send_frame(w, BINARY, (struct bytes){data, n});
    } else {
        _cleanup_buf_ struct buf text = {0};
        base64_encode(&text, (struct bytes){data, n});
        send_frame(w, TEXT, buf_view(&text));
    }
}

/* One control frame. False: more of it must come. `head` bytes lie before its `n`. */
static bool take_control(struct websocket *w, unsigned char first, size_t head, size_t n)
{
    char text[CONTROL_MAX];
    if (w->in.n < head + n)
        return false;
    for (size_t i = 0; i < n; i++)
        text[i] = (char)(w->in.data[head + i] ^ w->in.data[head - 4 + i % 4]);
    if ((first & 0x0f) == PING)
        send_frame(w, PONG, (struct bytes){text, n});
    else if ((first & 0x0f) == CLOSE)
        farewell(w, FAREWELL_NORMAL);
    return true;
}

/* One frame of the client's, which masks them. Returns the bytes that are done with, 0: more must come. */
static size_t take_frame(struct websocket *w)
{
    const unsigned char *p = (const unsigned char *)w->in.data;
    if (w->in.n < 2)
        return 0;
    size_t more = (p[1] & 0x7f) == 126 ? 2 : (p[1] & 0x7f) == 127 ? 8 : 0, head = 2 + more + 4;
    bool control = p[0] & 0x08;
    if ((p[0] & 0x70) || !(p[1] & 0x80) || (control && (more > 0 || !(p[0] & 0x80)))) {
        farewell(w, FAREWELL_PROTOCOL);
        return w->in.n;
    }
    if (w->in.n < head)
        return 0;
    uint64_t n = more ? 0 : p[1] & 0x7f;
    for (size_t i = 0; i < more; i++)
        n = n << 8 | p[2 + i];
    if (control)
        return take_control(w, p[0], head, (size_t)n) ? head + (size_t)n : 0;
    if (n > INT64_MAX)
        farewell(w, FAREWELL_TOO_BIG);
    w->skip = n;
    return head;
}

static void drop(struct buf *b, size_t n)
{
    memmove(b->data, b->data + n, b->n - n);
    b->n -= n;
}

static void take_input(struct websocket *w)
{
    size_t n;
    while (w->in.n > 0 && !w->ending) {
        if (w->skip > 0) {
            n = w->skip < w->in.n ? (size_t)w->skip : w->in.n;
            w->skip -= n;
        } else if ((n = take_frame(w)) == 0) {
            return;
        }
        drop(&w->in, n);
    }
}

/* Send what is there. Returns false: the client does not take more now, or is gone. */
static bool send_out(struct websocket *w, bool *ret_gone)
{
    *ret_gone = false;
    while (w->sent < w->out.n) {
        ssize_t n = send(w->config.fd, w->out.data + w->sent, w->out.n - w->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            *ret_gone = errno != EAGAIN;
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

static void turn(void *arg)
{
    struct websocket *w = arg;
    if (!go_on(w))
        w->config.over(w->config.owner);
}

static void ready(void *arg, int events)
{
    struct websocket *w = arg;
    char data[READ_BYTES];
    if (events & LOOP_READ && !websocket_is_blocked(w)) {
        ssize_t n = recv(w->config.fd, data, sizeof data, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            w->config.over(w->config.owner);
            return;
        }
        if (n > 0) {
            buf_add(&w->in, data, (size_t)n);
            take_input(w);
        }
    }
    turn(w);
}

struct websocket *websocket_new(const struct websocket_config *config, struct bytes first)
{
    struct websocket *w = mem_zero(1, sizeof *w);
    w->config = *config;
    w->poll = loop_poll_new(config->loop, config->fd, ready, w);
    buf_add(&w->in, first.data, first.n);
    take_input(w);
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
    buf_free(&w->in);
    buf_free(&w->line);
    buf_free(&w->out);
    free(w);
}
