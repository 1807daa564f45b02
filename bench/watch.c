/* watch.c - what it costs to deliver one event to many watchers, over real sockets
 *
 * A child process opens 200 watches on ConfigMaps and reads all it gets; the parent is the server. Counted is the CPU
 * time of the server alone (user and system) from the first event to the last byte, divided by events times watchers.
 * An event is about 6 KB. watch.fanout.200: ten events in a turn, as a job's pods come; watch.fanout.200.single: one at
 * a time, each a system call of its own to each watcher.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apiserver/apiserver.h"
#include "net/http_server.h"

enum { WATCHERS = 200, EVENTS = 500, BODY_BYTES = 5600 };

static void fail(const char *what)
{
    fprintf(stderr, "bench_watch: %s\n", what);
    exit(1);
}

/* ---- the child ---- */

static int watch_connect(int port)
{
    static const char request[] =
        "GET /api/v1/namespaces/bench/secrets?watch=1 HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench/1\r\n\r\n";
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        write(fd, request, sizeof request - 1) < 0)
        fail("connect");
    return fd;
}

/* Counts lines' ends: one an event. A byte on `ready` when all watches answered, one when all events are there. */
static void watchers_run(int port, int ready)
{
    static struct pollfd fds[WATCHERS];
    static char chunk[1 << 18];
    int events_n = 0, headers_n = 0;
    for (int i = 0; i < WATCHERS; i++)
        fds[i] = (struct pollfd){watch_connect(port), POLLIN, 0};
    bool told = false;
    while (events_n < WATCHERS * EVENTS) {
        if (poll(fds, WATCHERS, 30000) <= 0)
            fail("no more events");
        for (int i = 0; i < WATCHERS; i++) {
            ssize_t n = fds[i].revents ? read(fds[i].fd, chunk, sizeof chunk) : 0;
            if (fds[i].revents && n <= 0)
                fail("closed");
            headers_n += n > 4 && memcmp(chunk, "HTTP", 4) == 0;
            for (const char *p = chunk; (p = memmem(p, (size_t)(chunk + n - p), "}}\n", 3)); p += 3)
                events_n++;
        }
        if (!told && headers_n == WATCHERS && write(ready, "r", 1) == 1)
            told = true;
    }
    if (write(ready, "d", 1) != 1)
        fail("pipe");
    _exit(0);
}

/* ---- the server ---- */

static double cpu_us(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

struct run {
    struct loop *l;
    struct apiserver *s;
    struct loop_poll *poll;
    struct loop_timer *timer;
    int pipe_fd, events_n, burst_n;
    const char *name;
    char *text;
    double start_us;
};

static void create(struct run *r, const char *kind, const char *name, const char *rest)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct err e = {0};
    const char *text =
        arena_printf(a, "{\"apiVersion\":\"v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\"%s}", kind, name, rest);
    if (apiserver_create(r->s, a, json_parse(a, bytes_of(text), NULL, &e), &e) < 0)
        fail(e.text);
}

static void burst(void *arg)
{
    struct run *r = arg;
    for (int i = 0; i < r->burst_n && r->events_n < EVENTS; i++) {
        char name[32];
        snprintf(name, sizeof name, "m%d", r->events_n++);
        create(r, "Secret", name, r->text);
    }
    if (r->events_n < EVENTS)
        loop_timer_start(r->timer, 2, 0);
}

static void child_said(void *arg, int events)
{
    struct run *r = arg;
    char c = 0;
    if (read(r->pipe_fd, &c, 1) != 1)
        fail("the watchers died");
    if (c == 'd') {
        printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"us\"}\n", r->name,
               (cpu_us() - r->start_us) / ((double)EVENTS * WATCHERS));
        fflush(stdout);
        loop_stop(r->l);
        return;
    }
    r->start_us = cpu_us();
    burst(r);
}

static char *rest_of_body(void)
{
    struct buf out = {0};
    buf_text(&out, ",\"namespace\":\"bench\"},\"stringData\":{\"k\":\"");
    memset(buf_reserve(&out, BODY_BYTES * 3 / 4), 'x', BODY_BYTES * 3 / 4);
    out.n += BODY_BYTES * 3 / 4;
    buf_text(&out, "\"}");
    return buf_take(&out, NULL);
}

static void measure(const char *name, int burst_n)
{
    struct err e = {0};
    struct run r = {.l = loop_new(), .text = rest_of_body(), .name = name, .burst_n = burst_n};
    struct apiserver_config config = {0};
    struct http_server *server;
    int ends[2];
    if (pipe(ends) < 0 || apiserver_new(r.l, &config, &r.s, &e) < 0)
        fail(e.text);
    struct http_server_config listen = {.listen = "127.0.0.1:0", .handler = apiserver_handle, .ctx = r.s};
    if (http_server_new(r.l, &listen, &server, &e) < 0)
        fail(e.text);
    create(&r, "Namespace", "bench", "}");
    int port = http_server_port(server);
    pid_t child = fork();
    if (child == 0)
        watchers_run(port, ends[1]);
    r.pipe_fd = ends[0];
    r.poll = loop_poll_new(r.l, r.pipe_fd, child_said, &r);
    r.timer = loop_timer_new(r.l, burst, &r);
    loop_poll_set(r.poll, LOOP_READ);
    if (loop_run(r.l, &e) < 0)
        fail(e.text);
    waitpid(child, NULL, 0);
    loop_poll_free(r.poll);
    loop_timer_free(r.timer);
    http_server_free(server);
    apiserver_free(r.s);
    loop_free(r.l);
    free(r.text);
    (void)close(ends[0]); /* nothing is in them any more */
    (void)close(ends[1]);
}

int main(void)
{
    measure("watch.fanout.200", 10);
    measure("watch.fanout.200.single", 1);
    return 0;
}
