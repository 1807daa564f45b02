/* Streams as messages of a WebSocket, through a server's socket and through TLS over it: what comes, what ends it, who is let go. */
#include "world.h"
#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "net/http_self_signed.h"

static struct scene {
    struct world *w;
    bool is_tls;
    char *cert_pem, *key_pem;
    gnutls_certificate_credentials_t trust;
} s;

struct client {
    int fd;
    gnutls_session_t tls;
    struct buf heard;
    bool ended;
};

static int open_scene(bool is_tls)
{
    s = (struct scene){.w = mem_zero(1, sizeof *s.w), .is_tls = is_tls};
    assert_int_equal(http_self_signed("here", &s.cert_pem, &s.key_pem, NULL), 0);
    struct http_server_config config = {.listen = "127.0.0.1:0", .handler = world_handler, .ctx = s.w, .idle_seconds = 2};
    if (is_tls) {
        config.tls_cert_pem = s.cert_pem;
        config.tls_key_pem = s.key_pem;
        gnutls_certificate_allocate_credentials(&s.trust);
    }
    s.w->l = loop_new();
    assert_int_equal(http_server_new(s.w->l, &config, &s.w->server, NULL), 0);
    return 0;
}

static int plain(void **state)
{
    (void)state;
    return open_scene(false);
}

static int ciphered(void **state)
{
    (void)state;
    return open_scene(true);
}

static int close_scene(void **state)
{
    (void)state;
    world_free(s.w);
    free(s.cert_pem);
    free(s.key_pem);
    if (s.trust)
        gnutls_certificate_free_credentials(s.trust);
    return 0;
}

static void turn(void)
{
    loop_run_for(s.w->l, 2, NULL);
}

static void shake_hands(struct client *c)
{
    int r = GNUTLS_E_AGAIN;
    gnutls_init(&c->tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK);
    gnutls_set_default_priority(c->tls);
    gnutls_credentials_set(c->tls, GNUTLS_CRD_CERTIFICATE, s.trust);
    gnutls_transport_set_int(c->tls, c->fd);
    for (int i = 0; i < 1000 && r < 0 && !gnutls_error_is_fatal(r); i++, turn())
        r = gnutls_handshake(c->tls);
    assert_int_equal(r, 0);
}

static void say(struct client *c, const char *data, size_t n)
{
    ssize_t r = -1;
    for (int i = 0; i < 1000 && r < 0; i++, turn())
        r = c->tls ? gnutls_record_send(c->tls, data, n) : send(c->fd, data, n, MSG_NOSIGNAL);
    assert_int_equal(r, (ssize_t)n);
}

/* Whatever is there now. */
static void hear(struct client *c)
{
    char data[4096];
    ssize_t n = 1;
    while (n > 0) {
        n = c->tls ? gnutls_record_recv(c->tls, data, sizeof data) : recv(c->fd, data, sizeof data, MSG_DONTWAIT);
        if (n > 0)
            buf_add(&c->heard, data, (size_t)n);
    }
    c->ended |= n == 0 || (n < 0 && (c->tls ? gnutls_error_is_fatal((int)n) : errno != EAGAIN));
}

static bool has_heard(struct client *c, const char *data, size_t n)
{
    hear(c);
    return c->heard.n >= n && memmem(c->heard.data, c->heard.n, data, n);
}
#define HEARS(c, text) WAIT(s.w, has_heard(c, text, sizeof text - 1))
#define SAY(c, text) say(c, text, sizeof text - 1)

static void client_open(struct client *c)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)http_server_port(s.w->server))};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *c = (struct client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)};
    assert_true(connect(c->fd, (struct sockaddr *)&at, sizeof at) == 0 || errno == EINPROGRESS);
    turn();
    if (s.is_tls)
        shake_hands(c);
    SAY(c, "GET /stream HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
    HEARS(c, "HTTP/1.1 101 ");
    HEARS(c, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n");
    HEARS(c, "\r\n\r\n");
}

static void client_close(struct client *c)
{
    if (c->tls)
        gnutls_deinit(c->tls);
    close(c->fd);
    buf_free(&c->heard);
}

static void feed(const char *text)
{
    buf_text(&s.w->feed, text);
    http_stream_wake(s.w->stream);
}

static void lines_come_as_messages(void **state)
{
    struct client c;
    (void)state;
    client_open(&c);
    feed("{\"a\":1}\n{\"b\":");
    HEARS(&c, "\x81\x07{\"a\":1}");
    feed("2}\n");
    HEARS(&c, "\x81\x07{\"b\":2}");
    SAY(&c, "\x89\x82\1\2\3\4ij"); /* hh under its mask */
    HEARS(&c, "\x8a\x02hh");
    SAY(&c, "\x88\x80\1\2\3\4");
    HEARS(&c, "\x88\x02\x03\xe8");
    WAIT(s.w, (hear(&c), c.ended));
    WAIT(s.w, s.w->closed_n == 1 && http_server_connections(s.w->server) == 0);
    client_close(&c);
}

static void the_end_of_a_stream_is_said(void **state)
{
    struct client c;
    (void)state;
    client_open(&c);
    s.w->feed_ends = true;
    feed("{}\n");
    HEARS(&c, "\x81\x02{}\x88\x02\x03\xe8");
    WAIT(s.w, (hear(&c), c.ended));
    WAIT(s.w, s.w->closed_n == 1);
    client_close(&c);
}

static void who_goes_without_a_word_is_gone(void **state)
{
    struct client c;
    (void)state;
    client_open(&c);
    client_close(&c);
    WAIT(s.w, s.w->closed_n == 1 && http_server_connections(s.w->server) == 0);
}

static void who_speaks_wrongly_is_told(void **state)
{
    struct client c;
    (void)state;
    client_open(&c);
    SAY(&c, "\x81\x01x"); /* no mask */
    HEARS(&c, "\x88\x02\x03\xea");
    WAIT(s.w, s.w->closed_n == 1);
    client_close(&c);
}

static void who_does_not_read_is_let_go(void **state)
{
    struct client c;
    (void)state;
    client_open(&c);
    char *line = mem_alloc(16 << 20);
    memset(line, 'x', 16 << 20);
    line[(16 << 20) - 1] = '\n';
    buf_add(&s.w->feed, line, 16 << 20);
    http_stream_wake(s.w->stream);
    free(line);
    for (int i = 0; i < 3000 && s.w->closed_n == 0; i++)
        turn();
    assert_int_equal(s.w->closed_n, 1);
    client_close(&c);
}

static void a_server_that_ends_ends_them(void **state)
{
    struct client many[5];
    (void)state;
    for (int i = 0; i < 5; i++)
        client_open(&many[i]);
    feed("{\"last\":1}\n");
    http_server_free(s.w->server);
    s.w->server = NULL;
    assert_int_equal(s.w->closed_n, 5);
    for (int i = 0; i < 5; i++) {
        WAIT(s.w, (hear(&many[i]), many[i].ended));
        client_close(&many[i]);
    }
}

#define BOTH(test)                                                                                                                         \
    {#test, test, plain, close_scene, NULL}, {#test " with TLS", test, ciphered, close_scene, NULL}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(lines_come_as_messages),     BOTH(the_end_of_a_stream_is_said), BOTH(who_goes_without_a_word_is_gone),
        BOTH(who_speaks_wrongly_is_told), BOTH(who_does_not_read_is_let_go), BOTH(a_server_that_ends_ends_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
