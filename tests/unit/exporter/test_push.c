/* Pushing: retries, refusals and bounds; remote-write's messages read back; InfluxDB's lines */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>
#include "base/memory.h"
#include "base/random.h"
#include "exporter/push/influx.h"
#include "exporter/push/remote_write.h"
#include "exporter/push/snappy.h"
#include "net/http_local.h"
#include "net/http_server.h"
#include "wire/protobuf.h"

/* A receiver that answers with the given statuses in turn, then 204, and keeps the last body. */
struct receiver {
    struct loop *loop;
    struct http_server *server;
    char url[64], path[128], query[128], header[64], authorization[64], version[16];
    int statuses[4], got_n;
    const char *retry_after; /* sent with the first answer */
    struct buf body;
};

static void keep_header(char *to, size_t n, const struct http_exchange *x, const char *name)
{
    const char *value = http_header(&x->request, name);
    snprintf(to, n, "%s", value ? value : "");
}

static void receive(void *ctx, struct http_exchange *x)
{
    struct receiver *r = ctx;
    int status = r->got_n < 4 && r->statuses[r->got_n] ? r->statuses[r->got_n] : 204;
    if (r->got_n == 0 && r->retry_after)
        http_set_header(x, "Retry-After", r->retry_after);
    r->got_n++;
    buf_clear(&r->body);
    buf_bytes(&r->body, x->request.body);
    snprintf(r->path, sizeof r->path, "%s", x->request.path);
    r->query[0] = '\0';
    for (uint32_t i = 0; i < x->request.query_n; i++)
        snprintf(r->query + strlen(r->query), sizeof r->query - strlen(r->query), "%s=%s;", x->request.query[i].key,
                 x->request.query[i].value);
    keep_header(r->header, sizeof r->header, x, "content-encoding");
    keep_header(r->authorization, sizeof r->authorization, x, "authorization");
    keep_header(r->version, sizeof r->version, x, "x-prometheus-remote-write-version");
    http_reply_text(x, status, "text/plain", "told");
}

static void receiver_start(struct receiver *r)
{
    r->loop = loop_new();
    assert_int_equal(
        http_server_new(r->loop, &(struct http_server_config){.listen = "127.0.0.1:0", .handler = receive, .ctx = r},
                        &r->server, NULL),
        0);
    snprintf(r->url, sizeof r->url, "http://127.0.0.1:%d/api/v1/write", http_server_port(r->server));
}

static void receiver_stop(struct receiver *r)
{
    http_server_free(r->server);
    loop_free(r->loop);
    buf_free(&r->body);
}

#define WAIT(r, condition)                                                                                             \
    do {                                                                                                               \
        for (int turn = 0; turn < 2000 && !(condition); turn++)                                                        \
            loop_run_for((r)->loop, 2, NULL);                                                                          \
        assert_true(condition);                                                                                        \
    } while (0)

static struct push *push_to(struct receiver *r, uint32_t queue_max)
{
    struct push *p = NULL;
    char server[64];
    snprintf(server, sizeof server, "http://127.0.0.1:%d", http_server_port(r->server));
    assert_int_equal(push_new(r->loop,
                              &(struct push_config){
                                  .url = server, .path = "/w", .content_type = "text/plain", .queue_max = queue_max},
                              &p, NULL),
                     0);
    return p;
}

static void tries_again_and_gives_up_where_it_should(void **state)
{
    struct receiver r = {.statuses = {503, 400}};
    receiver_start(&r);
    struct push *p = push_to(&r, 0);
    push_add(p, BYTES("one"));
    WAIT(&r, push_counts(p).retried_n == 1);
    assert_string_equal(push_counts(p).last_error, "HTTP 503 told");
    WAIT(&r, push_counts(p).refused_n == 1); /* the same body again; 400: never a third time */
    assert_int_equal(push_counts(p).queued_n, 0);
    push_add(p, BYTES("two"));
    WAIT(&r, push_counts(p).sent_n == 1);
    assert_string_equal(r.body.data, "two");
    assert_string_equal(push_counts(p).last_error, "");
    push_free(p);
    push_free(NULL);
    receiver_stop(&r);
}

static void waits_as_long_as_it_is_told(void **state)
{
    struct receiver r = {.statuses = {429}, .retry_after = "3"};
    receiver_start(&r);
    struct push *p = push_to(&r, 0);
    int64_t begin_ms = loop_now_ms(r.loop);
    push_add(p, BYTES("one"));
    WAIT(&r, push_counts(p).retried_n == 1);
    WAIT(&r, push_counts(p).sent_n == 1);
    assert_true(loop_now_ms(r.loop) - begin_ms >= 3000);
    push_free(p);
    receiver_stop(&r);
}

/* Down for as long as the queue holds: all arrives, in order. 413 and 400 cost their own body only. */
static void loses_nothing_while_there_is_room(void **state)
{
    struct receiver r = {.statuses = {500, 413, 400}};
    receiver_start(&r);
    struct push *p = push_to(&r, 0);
    for (int i = 0; i < 10; i++)
        push_add(p, (struct bytes){&"0123456789"[i], 1});
    WAIT(&r, push_counts(p).queued_n == 0);
    struct push_counts c = push_counts(p);
    assert_int_equal(c.retried_n, 1);
    assert_int_equal(c.refused_n, 2);
    assert_int_equal(c.sent_n, 8);
    assert_int_equal(c.dropped_n, 0);
    assert_int_equal(r.got_n, 11);
    assert_string_equal(r.body.data, "9");
    push_free(p);
    receiver_stop(&r);
}

static void is_bounded_in_bytes(void **state)
{
    struct receiver r = {0};
    receiver_start(&r);
    struct push *p = push_to(&r, 1000);
    _cleanup_buf_ struct buf large = {0};
    memset(buf_reserve(&large, 3u << 20), 'x', 3u << 20);
    large.n = 3u << 20;
    for (int i = 0; i < 5; i++)
        push_add(p, buf_view(&large));
    assert_int_equal(push_counts(p).queued_n, 2);
    assert_int_equal(push_counts(p).dropped_n, 3);
    push_add(p, BYTES("small"));
    assert_int_equal(push_counts(p).queued_n, 3);
    memset(buf_reserve(&large, PUSH_QUEUE_BYTES), 'x', PUSH_QUEUE_BYTES);
    large.n += PUSH_QUEUE_BYTES;
    push_add(p, buf_view(&large)); /* never fits */
    assert_int_equal(push_counts(p).queued_n, 0);
    assert_int_equal(push_counts(p).dropped_n, 7);
    push_free(p);
    receiver_stop(&r);
}

/* ---- ten minutes, on a virtual clock ---- */

#define MINUTE_MS (60 * 1000)

struct quiet {
    struct loop *loop;
    struct push *push;
    const char *retry_after; /* sent with a 503 */
    bool is_down;
    int got_n;
    struct buf bodies; /* of those that were taken */
};

static void quiet_receive(void *ctx, struct http_exchange *x)
{
    struct quiet *q = ctx;
    q->got_n++;
    if (q->is_down && q->retry_after)
        http_set_header(x, "Retry-After", q->retry_after);
    if (!q->is_down)
        buf_bytes(&q->bodies, x->request.body);
    http_reply_text(x, q->is_down ? 503 : 204, "text/plain", "");
}

static void quiet_start(struct quiet *q)
{
    q->is_down = true;
    buf_text(&q->bodies, "");
    q->loop = loop_new_virtual(1767225600000);
    q->push = push_wrap(q->loop, http_local_client_new(q->loop, quiet_receive, q, NULL, 1),
                        &(struct push_config){.path = "/w", .content_type = "text/plain"});
}

static void quiet_stop(struct quiet *q)
{
    push_free(q->push);
    loop_free(q->loop);
    buf_free(&q->bodies);
}

static void drops_what_is_ten_minutes_old(void **state)
{
    struct quiet q = {0};
    quiet_start(&q);
    push_add(q.push, BYTES("old,"));
    loop_run_for(q.loop, 9 * MINUTE_MS, NULL);
    push_add(q.push, BYTES("young,"));
    loop_run_for(q.loop, 30 * 1000, NULL);
    assert_int_equal(push_counts(q.push).queued_n, 2);
    loop_run_for(q.loop, 2 * MINUTE_MS, NULL);
    assert_int_equal(push_counts(q.push).queued_n, 1);
    assert_int_equal(push_counts(q.push).dropped_n, 1);
    q.is_down = false;
    loop_run_for(q.loop, 2 * MINUTE_MS, NULL);
    assert_int_equal(push_counts(q.push).sent_n, 1);
    assert_string_equal(q.bodies.data, "young,");
    quiet_stop(&q);
}

/* The last body grows too old while its next try is waited for: then nothing is there to try. */
static void sends_again_after_all_grew_too_old(void **state)
{
    struct quiet q = {0};
    quiet_start(&q);
    push_add(q.push, BYTES("lost,"));
    loop_run_for(q.loop, 20 * MINUTE_MS, NULL);
    assert_int_equal(push_counts(q.push).dropped_n, 1);
    assert_int_equal(push_counts(q.push).queued_n, 0);
    int got_n = q.got_n;
    q.is_down = false;
    loop_run_for(q.loop, 60 * MINUTE_MS, NULL);
    assert_int_equal(q.got_n, got_n); /* nothing to say */
    push_add(q.push, BYTES("new,"));
    loop_run_for(q.loop, 1000, NULL);
    assert_string_equal(q.bodies.data, "new,");
    assert_int_equal(push_counts(q.push).sent_n, 1);
    quiet_stop(&q);
}

/* A receiver that wants to be left alone for hours gets what is younger than ten minutes then. */
static void waits_no_longer_than_a_body_lives(void **state)
{
    struct quiet q = {.retry_after = "86400"};
    quiet_start(&q);
    push_add(q.push, BYTES("lost,"));
    loop_run_for(q.loop, 5 * MINUTE_MS, NULL);
    push_add(q.push, BYTES("kept,"));
    q.is_down = false;
    loop_run_for(q.loop, 4 * MINUTE_MS, NULL);
    assert_int_equal(q.got_n, 1);
    loop_run_for(q.loop, 2 * MINUTE_MS, NULL);
    assert_int_equal(push_counts(q.push).queued_n, 0);
    assert_true(text_ends(q.bodies.data, "kept,"));
    quiet_stop(&q);
}

static void keeps_passwords_out_of_urls(void **state)
{
    struct push *p = NULL;
    struct err e = {0};
    struct loop *l = loop_new();
    struct push_config c = {.url = "http://ada:secret@127.0.0.1:1", .path = "/", .content_type = "text/plain"};
    assert_int_equal(push_new(l, &c, &p, &e), -E_INVALID);
    assert_null(strstr(e.text, "secret"));
    c.url = "http://127.0.0.1:1/a@b";
    assert_int_equal(push_new(l, &c, &p, NULL), 0);
    push_free(p);
    loop_free(l);
}

static void drops_the_oldest(void **state)
{
    struct receiver r = {0};
    receiver_start(&r);
    struct push *p = push_to(&r, 2);
    for (int i = 0; i < 5; i++)
        push_add(p, (struct bytes){&"abcde"[i], 1});
    assert_int_equal(push_counts(p).dropped_n, 3);
    WAIT(&r, push_counts(p).sent_n == 2);
    assert_string_equal(r.body.data, "e");
    push_free(p);
    receiver_stop(&r);
}

/* ---- remote-write ---- */

/* snappy's block format read back; assertions for what a reader would refuse. */
static void unpack(struct buf *out, struct bytes in)
{
    const unsigned char *b = (const unsigned char *)in.data;
    size_t at = 0, n = 0;
    for (int shift = 0;; shift += 7) {
        unsigned char c = (unsigned char)in.data[at++];
        n |= (size_t)(c & 0x7f) << shift;
        if (!(c & 0x80))
            break;
    }
    while (at < in.n) {
        size_t tag = b[at++], length = (tag >> 2) + 1, distance = 0;
        if ((tag & 3) == 0) {
            size_t more = length > 60 ? length - 60 : 0;
            assert_in_range(more, 0, 2);
            length = more == 0 ? length : more == 1 ? b[at] + 1u : (b[at] | (size_t)b[at + 1] << 8) + 1;
            buf_add(out, in.data + at + more, length);
            at += more + length;
            continue;
        }
        assert_in_range(tag & 3, 1, 2);
        distance = (tag & 3) == 1 ? (tag >> 5) << 8 | b[at] : b[at] | (size_t)b[at + 1] << 8;
        length = (tag & 3) == 1 ? (tag >> 2 & 7) + 4 : length;
        at += tag & 3;
        assert_in_range(distance, 1, out->n);
        for (; length > 0; length--)
            buf_char(out, out->data[out->n - distance]);
    }
    assert_int_equal(at, in.n);
    assert_int_equal(out->n, n);
}

/* "name{a=b,...} value@ms" a line. */
static void describe_series(struct buf *out, struct bytes series)
{
    struct protobuf_reader r = protobuf_reader(series);
    for (struct protobuf_field f; protobuf_next(&r, &f) > 0;) {
        struct protobuf_reader inner = protobuf_reader(f.bytes);
        for (struct protobuf_field g; protobuf_next(&inner, &g) > 0;) {
            double value;
            memcpy(&value, &g.value, sizeof value);
            if (f.number == 1)
                buf_printf(out, g.number == 1 ? "%.*s=" : "%.*s,", (int)g.bytes.n, g.bytes.data);
            else if (g.number == 1 && g.value == 0x7ff0000000000002u)
                buf_text(out, " stale");
            else if (g.number == 1)
                buf_printf(out, " %g", value);
            else
                buf_printf(out, "@%llu\n", (unsigned long long)g.value);
        }
    }
}

static void describe(struct buf *out, struct bytes packed)
{
    _cleanup_buf_ struct buf message = {0};
    unpack(&message, packed);
    struct protobuf_reader r = protobuf_reader(buf_view(&message));
    for (struct protobuf_field f; protobuf_next(&r, &f) > 0;)
        describe_series(out, f.bytes);
}

static void pushes_the_page_and_what_is_gone(void **state)
{
    struct receiver r = {0};
    struct remote_write *w = NULL;
    _cleanup_buf_ struct buf text = {0}, second = {0};
    receiver_start(&r);
    struct prometheus_label external[] = {{"instance", "n1"}, {"gpu", "not this one"}};
    assert_int_equal(
        remote_write_new(
            r.loop,
            &(struct remote_write_config){
                .url = r.url, .user = "ada", .password = "secret", .external_labels = external, .external_labels_n = 2},
            &w, NULL),
        0);
    remote_write_send(
        w, BYTES("# HELP up x\n# TYPE up gauge\nup 1\ntemp{gpu=\"0\",c=\"a\\\"b c\\\\d\",pod=\"\"} 55.5\n"), 1000);
    WAIT(&r, remote_write_counts(w).sent_n == 1);
    assert_string_equal(r.path, "/api/v1/write");
    assert_string_equal(r.header, "snappy");
    assert_string_equal(r.version, "0.1.0");
    assert_string_equal(r.authorization, "Basic YWRhOnNlY3JldA==");
    describe(&text, buf_view(&r.body));
    assert_string_equal(text.data, "__name__=up,gpu=not this one,instance=n1, 1@1000\n"
                                   "__name__=temp,c=a\"b c\\d,gpu=0,instance=n1, 55.5@1000\n");
    remote_write_send(w, BYTES("up 0\n"), 900); /* the clock went back */
    WAIT(&r, remote_write_counts(w).sent_n == 2);
    describe(&second, buf_view(&r.body));
    assert_string_equal(second.data, "__name__=up,gpu=not this one,instance=n1, 0@1001\n"
                                     "__name__=temp,c=a\"b c\\d,gpu=0,instance=n1, stale@1001\n");
    remote_write_free(w);
    remote_write_free(NULL);
    receiver_stop(&r);
}

static void packs(const struct buf *in, size_t packed_max)
{
    _cleanup_buf_ struct buf packed = {0}, out = {0};
    snappy_add(&packed, buf_view(in));
    unpack(&out, buf_view(&packed));
    assert_int_equal(out.n, in->n);
    if (in->n)
        assert_memory_equal(out.data, in->data, in->n);
    assert_in_range(packed.n, 1, packed_max);
}

/* Of one letter, of letters at random out of 1 to 256, and lines as a page has them. */
static void packs_any_text(void **state)
{
    static const size_t sizes[] = {0, 1, 3, 4, 5, 60, 61, 64, 65, 127, 128, 256, 257, 300, 65535, 65536, 65537, 65540, 200000};
    struct random random = {5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t letters = 1; letters <= 256; letters *= 2) {
            _cleanup_buf_ struct buf in = {0};
            for (size_t n = 0; n < sizes[i]; n++)
                buf_char(&in, (char)random_below(&random, letters));
            packs(&in, letters == 1 && sizes[i] > 60 ? sizes[i] / 15 + 20 : sizes[i] + sizes[i] / 6 + 32);
        }
    _cleanup_buf_ struct buf page = {0};
    for (int i = 0; i < 3000; i++)
        buf_printf(&page, "gpu_process_memory_bytes{gpu=\"%d\",pid=\"%d\",namespace=\"ml\",pod=\"train-%d\"} %d\n", i % 8, 1000 + i, i % 50,
                   i * 77);
    packs(&page, page.n / 3);
}

/* ---- InfluxDB ---- */

static struct sample a_sample(void)
{
    static struct driver_gpu gpu = {.index = 0, .uuid = "GPU-x", .name = "Tesla \"T4\""};
    static struct measure_values values;
    static struct measure_process measured = {.pid = 42, .memory_bytes = 1 << 20};
    static struct sample_unit unit = {
        .gpu = &gpu, .values = &values, .board = &values, .session_label = "0", .activity = 0.5, .sessions_n = 1};
    static struct sample_container container = {.ns = "ml", .pod = "p 1", .container = "c", .pod_uid = "u"};
    static struct sample_process process = {.measured = &measured, .command = "py,thon=x"};
    measure_set(&values, MEASURE_FB_TOTAL_MIB, 15360);
    measure_set(&values, MEASURE_TEMPERATURE, 33);
    measure_set(&values, MEASURE_POWER_MW, 51000);
    return (struct sample){.wall_s = 1700000000.7,
                           .units = &unit,
                           .units_n = 1,
                           .containers = &container,
                           .containers_n = 1,
                           .processes = &process,
                           .processes_n = 1};
}

static void writes_lines(void **state)
{
    struct sample s = a_sample();
    _cleanup_buf_ struct buf ours = {0}, keti = {0}, pods = {0};
    struct influx_config config = {.version = 1, .database = "d", .node_name = "n1"};
    influx_lines(&config, &s, false, &ours);
    assert_string_equal(ours.data,
                        "gpu,UUID=GPU-x,gpu=0,host=n1 "
                        "activity=0.5,memory_total=16106127360i,power=51,temperature=33i,sessions=1i 1700000000\n"
                        "gpu_process,UUID=GPU-x,command=py\\,thon\\=x,container=c,host=n1,namespace=ml,pod=p\\ 1,process=42 "
                        "pid=42i,memory=1048576i 1700000000\n");
    config.keti = true;
    influx_lines(&config, &s, false, &keti);
    assert_string_equal(keti.data, "gpumetric,UUID=GPU-x,node=n1 Index=0i,GPUName=\"Tesla "
                                   "\\\"T4\\\"\",memory(total)=16106127360i,Power=51000i,temperature=33i,"
                                   "utilization=50i,Podnum=1i 1700000000\n"
                                   "multimetric,node=n1 Count=1i,NodeName=\"n1\",uuid=\"[GPU-x]\" 1700000000\n");
    influx_lines(&config, &s, true, &pods);
    assert_string_equal(
        pods.data,
        "podmetric,UUID=GPU-x,node=n1,pid=42 gpu_mps_process=\"py,thon=x\",gpu_mps_pid=42i,gpu_mps_memory=1048576i,"
        "gpu_mps_pod=\"p 1\",gpu_mps_uid=\"u\" 1700000000\n");
}

static void asks_for_what_a_version_needs(void **state)
{
    static const struct influx_config bad[] = {{.version = 3},
                                               {.version = 2, .org = "o"},
                                               {.version = 1},
                                               {.version = 2, .org = "o", .bucket = "b", .token = "t", .keti = true}};
    struct influx *i;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_int_equal(influx_new(NULL, &bad[k], &i, NULL), -E_INVALID);
    struct receiver r = {0};
    struct sample s = a_sample();
    receiver_start(&r);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", http_server_port(r.server));
    assert_int_equal(influx_new(r.loop,
                                &(struct influx_config){.url = url, .version = 1, .keti = true, .node_name = "n1"}, &i,
                                NULL),
                     0);
    influx_send(i, &s);
    WAIT(&r, influx_counts(i).sent_n == 2);
    assert_string_equal(r.path, "/write");
    influx_free(i);
    influx_free(NULL);
    receiver_stop(&r);
}

/* What InfluxDB 2 gets: where, whose, and that the lines come out of the gzip as they went in. */
static void speaks_as_version_2_expects(void **state)
{
    struct receiver r = {0};
    struct sample s = a_sample();
    struct influx *i;
    char url[64], plain[2048] = "";
    receiver_start(&r);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", http_server_port(r.server));
    struct influx_config config = {.url = url, .version = 2, .org = "my org", .bucket = "gpu/30d", .token = "t==", .node_name = "n1"};
    assert_int_equal(influx_new(r.loop, &config, &i, NULL), 0);
    influx_send(i, &s);
    WAIT(&r, influx_counts(i).sent_n == 1);
    assert_string_equal(r.path, "/api/v2/write");
    assert_string_equal(r.query, "precision=s;org=my org;bucket=gpu/30d;");
    assert_string_equal(r.authorization, "Token t==");
    assert_string_equal(r.header, "gzip");
    z_stream z = {.next_in = (unsigned char *)r.body.data,
                  .avail_in = (unsigned)r.body.n,
                  .next_out = (unsigned char *)plain,
                  .avail_out = sizeof plain - 1};
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(inflateEnd(&z), Z_OK);
    _cleanup_buf_ struct buf lines = {0};
    influx_lines(&config, &s, false, &lines);
    assert_string_equal(plain, lines.data);
    influx_free(i);
    receiver_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tries_again_and_gives_up_where_it_should),
        cmocka_unit_test(waits_as_long_as_it_is_told),
        cmocka_unit_test(loses_nothing_while_there_is_room),
        cmocka_unit_test(is_bounded_in_bytes),
        cmocka_unit_test(drops_what_is_ten_minutes_old),
        cmocka_unit_test(sends_again_after_all_grew_too_old),
        cmocka_unit_test(waits_no_longer_than_a_body_lives),
        cmocka_unit_test(keeps_passwords_out_of_urls),
        cmocka_unit_test(drops_the_oldest),
        cmocka_unit_test(pushes_the_page_and_what_is_gone),
        cmocka_unit_test(packs_any_text),
        cmocka_unit_test(writes_lines),
        cmocka_unit_test(asks_for_what_a_version_needs),
        cmocka_unit_test(speaks_as_version_2_expects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
