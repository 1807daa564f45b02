/* Any bytes from a peer of gRPC: as a client to our server, or as a server to our client. Nothing but the connection may end, and both work
 * on with an honest peer. First byte: bit 0 which side, bit 1 the client's preface is put before the rest. */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "../fuzz.h"
#include "net/grpc/grpc.h"
#include "net/grpc/grpc_carrier.h"

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";

static struct {
    struct loop *loop;
    struct grpc_server *server;
    struct grpc_stream *watcher;
    char path[64], fake_path[64];
    int fake_fd; /* listens: a server that is the input */
    int answers_n;
    enum grpc_status status;
} world;

static void call_echo(void *ctx, struct grpc_stream *s, struct bytes request)
{
    for (size_t i = 0; i < request.n; i++) /* every byte can be read */
        world.answers_n += request.data[i] == 'x';
    grpc_reply(s, request);
}

static void call_watch(void *ctx, struct grpc_stream *s, struct bytes request)
{
    if (world.watcher) {
        grpc_fail(s, GRPC_RESOURCE_EXHAUSTED, "one is enough");
        return;
    }
    world.watcher = s;
    grpc_stream_replace(s, request);
}

static void call_watch_closed(void *ctx, struct grpc_stream *s)
{
    MUST_HOLD(s == world.watcher);
    world.watcher = NULL;
}

static const struct grpc_handler handlers[] = {{"/e", call_echo, NULL}, {"/w", call_watch, call_watch_closed}};

static void world_make(void)
{
    struct sockaddr_un address;
    world.loop = loop_new();
    snprintf(world.path, sizeof world.path, "/tmp/fuzz-grpc-%d.sock", (int)getpid());
    snprintf(world.fake_path, sizeof world.fake_path, "/tmp/fuzz-grpc-%d-fake.sock", (int)getpid());
    MUST_HOLD(grpc_server_new(world.loop, world.path, handlers, 2, NULL, &world.server, NULL) == 0);
    MUST_HOLD(grpc_address(world.fake_path, &address, NULL) == 0);
    world.fake_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    MUST_HOLD(bind(world.fake_fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(world.fake_fd, 8) == 0);
}

static void world_end(void)
{
    grpc_server_free(world.server);
    close(world.fake_fd);
    (void)unlink(world.fake_path);
    loop_free(world.loop);
}

static void on_answer(void *arg, enum grpc_status status, struct bytes message, const char *error_text)
{
    MUST_HOLD(strlen(error_text) < (1u << 20));
    world.status = status;
    (*(int *)arg)++;
}

static void on_message(void *arg, bool ended, enum grpc_status status, struct bytes message)
{
    *(int *)arg += ended;
}

static void run(int turns_n)
{
    for (int i = 0; i < turns_n; i++)
        MUST_HOLD(loop_run_for(world.loop, 0, NULL) == 0);
}

static void honest_call(void)
{
    struct grpc_client *c = grpc_client_new(world.loop, world.path);
    int answers_n = 0;
    (void)grpc_call(c, "/e", BYTES("hello"), 0, on_answer, &answers_n);
    for (int i = 0; i < 1000 && !answers_n; i++)
        run(1);
    MUST_HOLD(answers_n == 1 && world.status == GRPC_OK);
    grpc_client_free(c);
}

static void as_client(const uint8_t *data, size_t n, bool with_preface)
{
    struct sockaddr_un address;
    MUST_HOLD(grpc_address(world.path, &address, NULL) == 0);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    MUST_HOLD(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    if (with_preface)
        (void)!send(fd, preface, sizeof preface - 1, MSG_NOSIGNAL);
    (void)!send(fd, data, n, MSG_NOSIGNAL);
    run(4);
    close(fd);
    run(2);
}

static void as_server(const uint8_t *data, size_t n)
{
    struct grpc_client *c = grpc_client_new(world.loop, world.fake_path);
    int answers_n = 0, ends_n = 0;
    (void)grpc_call(c, "/e", BYTES("hello"), 0, on_answer, &answers_n);
    (void)grpc_watch(c, "/w", BYTES("hello"), on_message, &ends_n);
    run(2);
    int fd = accept4(world.fake_fd, NULL, NULL, SOCK_NONBLOCK);
    MUST_HOLD(fd >= 0);
    (void)!send(fd, preface + 24, sizeof preface - 25, MSG_NOSIGNAL); /* SETTINGS */
    (void)!send(fd, data, n, MSG_NOSIGNAL);
    run(4);
    close(fd);
    run(4);
    MUST_HOLD(answers_n == 1 && ends_n == 1);
    grpc_client_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!world.loop) {
        world_make();
        atexit(world_end);
    }
    if (n == 0 || n > (64u << 10))
        return 0;
    if (data[0] & 1)
        as_client(data + 1, n - 1, data[0] & 2);
    else
        as_server(data + 1, n - 1);
    honest_call();
    return 0;
}
