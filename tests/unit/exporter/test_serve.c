/* The metrics port: one rendering for many, formats, health, who may read */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include "../folder.h"
#include "exporter/pages/serve.h"
#include "net/http_client.h"
#include "net/http_server.h"

/* In place of exporter/collect/collect.c: what the port is told. */
static struct sample sample;
static bool has_sample;
static struct collect_state told;
const struct sample *collect_last(const struct collect *c)
{
    return has_sample ? &sample : NULL;
}
void collect_state(const struct collect *c, struct collect_state *ret_state)
{
    *ret_state = told;
}

struct world {
    struct loop *loop;
    struct serve *serve;
    struct http_client *client;
    char folder[64], web[96];
    int done_n, status;
    char type[128], encoding[32], allow[32], challenge[32];
    struct buf body;
};

static void on_answer(void *arg, const struct http_answer *answer)
{
    struct world *w = arg;
    w->done_n++;
    w->status = answer->status;
    w->type[0] = w->encoding[0] = w->allow[0] = w->challenge[0] = '\0';
    for (uint32_t i = 0; i < answer->headers_n; i++) {
        const struct http_param *h = &answer->headers[i];
        char *to = text_equal(h->key, "content-type") ? w->type : text_equal(h->key, "content-encoding") ? w->encoding : NULL;
        if (to)
            (void)snprintf(to, to == w->type ? sizeof w->type : sizeof w->encoding, "%s", h->value);
        if (text_equal(h->key, "allow"))
            (void)snprintf(w->allow, sizeof w->allow, "%s", h->value);
        if (text_equal(h->key, "www-authenticate"))
            (void)snprintf(w->challenge, sizeof w->challenge, "%s", h->value);
    }
    buf_clear(&w->body);
    buf_bytes(&w->body, answer->body);
}

static void send_call(struct world *w, const char *method, const char *path, const char *accept, const struct http_param *header)
{
    (void)http_client_send(w->client, &(struct http_call){.method = method,
                                                          .path = path,
                                                          .accept = accept ? accept : "*/*",
                                                          .headers = header,
                                                          .headers_n = header ? 1 : 0,
                                                          .timeout_ms = 5000,
                                                          .on_answer = on_answer,
                                                          .arg = w});
}

static void wait_for(struct world *w, int n)
{
    for (int turn = 0; turn < 3000 && w->done_n < n; turn++)
        (void)loop_run_for(w->loop, 2, NULL);
    assert_int_equal(w->done_n, n);
}

static int get(struct world *w, const char *path, const char *accept, const struct http_param *header)
{
    send_call(w, "GET", path, accept, header);
    wait_for(w, w->done_n + 1);
    return w->status;
}

static void world_open(struct world *w, const char *web_config)
{
    *w = (struct world){.loop = loop_new()};
    sample = (struct sample){.wall_s = 1000, .hostname = "n1"};
    has_sample = false;
    told = (struct collect_state){.driver_loaded = true};
    struct serve_config c = {.listen = "127.0.0.1:0", .period_ms = 1000};
    if (web_config) {
        folder_make(w->folder, sizeof w->folder, "serve");
        (void)snprintf(w->web, sizeof w->web, "%s/web.yml", w->folder);
        FILE *f = fopen(w->web, "we");
        assert_non_null(f);
        assert_true(fputs(web_config, f) >= 0);
        assert_int_equal(fclose(f), 0);
        c.web_config = w->web;
    }
    struct err e = {0};
    if (serve_new(w->loop, NULL, NULL, &c, &w->serve, &e) < 0)
        fail_msg("%s", e.text);
    char url[64];
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", serve_port(w->serve));
    assert_int_equal(http_client_new(w->loop, &(struct http_client_config){.base_url = url}, &w->client, NULL), 0);
}

static void world_close(struct world *w)
{
    http_client_free(w->client);
    serve_free(w->serve);
    loop_free(w->loop);
    buf_free(&w->body);
    if (w->folder[0]) {
        (void)unlink(w->web);
        assert_int_equal(rmdir(w->folder), 0);
    }
}

static void formats(void **state)
{
    struct world w;
    world_open(&w, NULL);
    assert_int_equal(get(&w, "/metrics", NULL, NULL), 200);
    assert_string_equal(w.type, "text/plain; version=0.0.4; charset=utf-8");
    assert_non_null(strstr(w.body.data, "\ngpu_agent_driver_loaded 1\n"));
    assert_null(strstr(w.body.data, "# EOF"));
    assert_int_equal(get(&w, "/metrics", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5", NULL), 200);
    assert_string_equal(w.type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert_string_equal(w.body.data + w.body.n - 6, "# EOF\n");
    assert_int_equal(get(&w, "/metrics", "text/plain", &(struct http_param){"Accept-Encoding", "deflate, gzip;q=0"}), 200);
    assert_string_equal(w.encoding, "");
    world_close(&w);
}

static void gzip_is_the_same_page(void **state)
{
    struct world w;
    world_open(&w, NULL);
    assert_int_equal(get(&w, "/metrics", NULL, &(struct http_param){"Accept-Encoding", "br, gzip"}), 200);
    assert_string_equal(w.encoding, "gzip");
    struct bytes page = serve_page(w.serve, false);
    char *plain = calloc(1, page.n + 1);
    z_stream z = {.next_in = (unsigned char *)w.body.data,
                  .avail_in = (unsigned)w.body.n,
                  .next_out = (unsigned char *)plain,
                  .avail_out = (unsigned)page.n + 1};
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(inflateEnd(&z), Z_OK);
    assert_string_equal(plain, page.data);
    free(plain);
    world_close(&w);
}

static void one_rendering_for_many(void **state)
{
    struct world w;
    world_open(&w, NULL);
    serve_sampled(w.serve);
    assert_int_equal(serve_counts(w.serve).renderings_n, 0);
    for (int i = 0; i < 16; i++)
        send_call(&w, "GET", "/metrics", NULL, NULL);
    wait_for(&w, 16);
    assert_int_equal(serve_counts(w.serve).scrapes_n, 16);
    assert_int_equal(serve_counts(w.serve).renderings_n, 1);
    told.skipped_n++; /* something new is to be said */
    assert_int_equal(get(&w, "/metrics", NULL, NULL), 200);
    assert_int_equal(serve_counts(w.serve).renderings_n, 2);
    struct page_config other = {.no_hostname = true};
    serve_set_page(w.serve, &other);
    assert_int_equal(get(&w, "/metrics", NULL, NULL), 200);
    assert_int_equal(serve_counts(w.serve).renderings_n, 3);
    told.failures_n++;
    serve_sampled(w.serve); /* asked for before: made before it is asked for again */
    told.failures_n++;
    serve_sampled(w.serve); /* nobody asked */
    assert_int_equal(serve_counts(w.serve).renderings_n, 4);
    world_close(&w);
}

static void health(void **state)
{
    struct world w;
    world_open(&w, NULL);
    assert_int_equal(get(&w, "/healthz", NULL, NULL), 200);
    assert_int_equal(get(&w, "/readyz", NULL, NULL), 503);
    has_sample = true;
    struct inventory_snapshot inventory = {0};
    struct measure_reading measured = {0};
    sample.inventory = &inventory;
    sample.measured = &measured;
    told.last_success_s = (double)loop_wall_ms(w.loop) / 1000 - 1;
    assert_int_equal(get(&w, "/readyz", NULL, NULL), 200);
    assert_int_equal(get(&w, "/health", NULL, NULL), 200);
    told.last_success_s -= 3;
    assert_int_equal(get(&w, "/health", NULL, NULL), 503);
    assert_int_equal(get(&w, "/", NULL, NULL), 200);
    assert_string_equal(w.type, "text/html; charset=utf-8");
    assert_int_equal(get(&w, "/other", NULL, NULL), 404);
    send_call(&w, "DELETE", "/metrics", NULL, NULL);
    wait_for(&w, w.done_n + 1);
    assert_int_equal(w.status, 405);
    assert_string_equal(w.allow, "GET, HEAD");
    world_close(&w);
}

static void passwords(void **state)
{
    struct world w;
    world_open(&w, "basic_auth_users:\n  alice: $2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n");
    assert_int_equal(get(&w, "/metrics", NULL, NULL), 401);
    assert_string_equal(w.challenge, "Basic");
    assert_int_equal(get(&w, "/metrics", NULL, &(struct http_param){"Authorization", "Basic YWxpY2U6c2VjcmV0"}), 200);
    assert_int_equal(get(&w, "/healthz", NULL, NULL), 200);
    assert_int_equal(serve_counts(w.serve).refused_n, 1);
    FILE *f = fopen(w.web, "we"); /* opened to all */
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    int port = serve_port(w.serve);
    serve_reload(w.serve);
    assert_true(serve_port(w.serve) != 0 && port != 0);
    world_close(&w);
}

static void a_taken_port_is_no_end(void **state)
{
    struct world w, other;
    world_open(&w, NULL);
    struct loop *loop = loop_new();
    char listen[32];
    (void)snprintf(listen, sizeof listen, "127.0.0.1:%d", serve_port(w.serve));
    struct serve_config c = {.listen = listen, .period_ms = 1000};
    struct err e = {0};
    assert_int_equal(serve_new(loop, NULL, NULL, &c, &other.serve, &e), 0);
    assert_int_equal(serve_port(other.serve), 0);
    assert_true(serve_page(other.serve, false).n > 0);
    serve_free(other.serve);
    c.listen = "nonsense";
    assert_int_equal(serve_new(loop, NULL, NULL, &c, &other.serve, &e), -E_INVALID);
    c.listen = NULL;
    c.web_config = "/nonexistent/web.yml";
    assert_int_equal(serve_new(loop, NULL, NULL, &c, &other.serve, &e), -E_NOTFOUND);
    c.web_config = NULL;
    c.listen = ":0";
    assert_int_equal(serve_new(loop, NULL, NULL, &c, &other.serve, &e), 0);
    assert_true(serve_port(other.serve) > 0);
    serve_free(other.serve);
    loop_free(loop);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats), cmocka_unit_test(gzip_is_the_same_page), cmocka_unit_test(one_rendering_for_many),
        cmocka_unit_test(health),  cmocka_unit_test(passwords),             cmocka_unit_test(a_taken_port_is_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
