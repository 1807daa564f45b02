/* http.c - what one request costs: client and server in one process on one loop, over loopback
 *
 * Prints one line of JSON a figure: CPU time of the process a request (both ends), and requests per second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "base/clock.h"
#include "net/http_client.h"
#include "net/http_server.h"

enum { BODY_BYTES = 1500 };

struct run {
    struct loop *l;
    struct http_client *client;
    struct blob *body;
    int left_n, failed_n, done_n;
    bool is_post;
};

static void handler(void *ctx, struct http_exchange *x)
{
    struct run *r = ctx;
    http_reply(x, 200, "application/json", blob_ref(r->body));
}

static void send_one(struct run *r);

static void answered(void *arg, const struct http_answer *answer)
{
    struct run *r = arg;
    r->failed_n += answer->status != 200;
    r->done_n++;
    if (r->left_n > 0)
        send_one(r);
    else if (http_client_in_flight(r->client) == 0)
        loop_stop(r->l);
}

static void send_one(struct run *r)
{
    r->left_n--;
    http_client_send(r->client,
                     &(struct http_call){.method = r->is_post ? "POST" : "GET",
                                         .path = "/api/v1/namespaces/default/pods/name-0/binding",
                                         .content_type = r->is_post ? "application/json" : NULL,
                                         .body = r->is_post ? (struct bytes){r->body->data, 300} : (struct bytes){0},
                                         .on_answer = answered,
                                         .arg = r});
}

static double cpu_us(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void measure(struct run *r, const char *name, int requests_n, int parallel_n)
{
    r->left_n = requests_n;
    r->done_n = 0;
    double cpu = cpu_us();
    int64_t start_us = clock_monotonic_us();
    for (int i = 0; i < parallel_n; i++)
        send_one(r);
    loop_run(r->l, NULL);
    double wall = (double)(clock_monotonic_us() - start_us);
    if (!name)
        return;
    printf("{\"name\":\"net.request.%s\",\"value\":%.1f,\"unit\":\"us\"}\n", name, (cpu_us() - cpu) / r->done_n);
    printf("{\"name\":\"net.requests.%s\",\"value\":%.0f,\"unit\":\"1/s\"}\n", name, r->done_n / wall * 1e6);
}

int main(int argc, char **argv)
{
    struct run r = {.l = loop_new()};
    struct http_server *server;
    struct err e;
    char url[64], text[BODY_BYTES];
    int64_t n = 40000;
    struct http_server_config config = {.listen = "127.0.0.1:0", .handler = handler, .ctx = &r};
    if (argc > 1 && (!bytes_int64(bytes_of(argv[1]), &n) || n < 4 || n > 10000000)) {
        fprintf(stderr, "usage: bench_http [requests]\n");
        return 2;
    }
    memset(text, 'x', sizeof text);
    r.body = blob_new(text, sizeof text);
    if (http_server_new(r.l, &config, &server, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    snprintf(url, sizeof url, "http://127.0.0.1:%d", http_server_port(server));
    struct http_client_config client = {.base_url = url};
    if (http_client_new(r.l, &client, &r.client, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    measure(&r, NULL, 2000, 16); /* opens the connections */
    measure(&r, "loopback", (int)n, 16);
    r.is_post = true;
    measure(&r, "loopback.post", (int)n, 16);
    r.is_post = false;
    measure(&r, "loopback.serial", (int)n / 4, 1);
    http_client_free(r.client);
    http_server_free(server);
    loop_free(r.l);
    blob_unref(r.body);
    return r.failed_n != 0;
}
