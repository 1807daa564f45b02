/* store.c - acknowledged writes of single objects: to the store alone, and as POST through the API server's handler
 *
 * Each write waits for its commit before the next one starts (store.write, store.create), or 64 share a turn as they do
 * when many clients write at once (store.create.64). The file is real: what is counted survives kill -9.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apiserver/apiserver.h"
#include "apiserver/store/store.h"
#include "base/clock.h"

enum { WRITES = 20000, BODY_BYTES = 2000, ARENA_ROUNDS = 64 };

static void fail(const struct err *e)
{
    fprintf(stderr, "bench_store: %s\n", e->text);
    exit(1);
}

static void print(const char *name, int writes_n, int64_t us)
{
    printf("{\"name\":\"%s\",\"value\":%.0f,\"unit\":\"1/s\"}\n", name, writes_n * 1e6 / (double)us);
    fflush(stdout);
}

static void count(void *arg, bool ok)
{
    *(int *)arg += ok;
}

static void turn(struct loop *l)
{
    struct err e = {0};
    if (loop_run_for(l, 0, &e) < 0)
        fail(&e);
}

static void measure_store(const char *dir)
{
    struct err e = {0};
    struct loop *l = loop_new();
    struct store *s;
    char body[BODY_BYTES];
    int done_n = 0;
    if (store_open(l, dir, &s, &e) < 0)
        fail(&e);
    uint32_t kind = store_kind(s, "", "pods");
    memset(body, 'x', sizeof body);
    body[0] = '{';
    int64_t start = clock_monotonic_us();
    for (int i = 0; i < WRITES; i++) {
        char name[32];
        snprintf(name, sizeof name, "pod-%05d", i);
        struct blob *blob = blob_new(body, sizeof body);
        if (store_create(s, kind, "default", name, store_next_rv(s), blob, &e) < 0)
            fail(&e);
        blob_unref(blob);
        store_when_durable(s, count, &done_n);
        while (done_n <= i)
            turn(l);
    }
    print("store.write", WRITES, clock_monotonic_us() - start);
    store_close(s);
    loop_free(l);
}

/* ---- through the handler ---- */

struct post {
    struct http_exchange x; /* first */
    int *done_n;
};

static void on_header(struct http_exchange *x, const char *name, const char *value)
{
}

static void on_reply(struct http_exchange *x, int status, const char *content_type, struct blob *body)
{
    struct post *p = (struct post *)x;
    if (status != 201) {
        fprintf(stderr, "bench_store: %d %s\n", status, body->data);
        exit(1);
    }
    blob_unref(body);
    arena_free(p->x.request.arena);
    (*p->done_n)++;
}

static const struct http_exchange_ops ops = {.header = on_header, .reply = on_reply};
static const struct http_param headers[] = {{"content-type", "application/json"}, {"user-agent", "bench/1"}};

static void post(struct apiserver *s, struct post *p, int i, int *done_n)
{
    struct arena *a = arena_new();
    const char *body = arena_printf(
        a,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod-%05d\",\"labels\":{\"app\":\"bench\"}},"
        "\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"busybox\",\"resources\":{\"limits\":{\"cpu\":\"1\","
        "\"memory\":\"1Gi\",\"nvidia.com/gpu\":\"1\"}}}]}}",
        i);
    *p = (struct post){.done_n = done_n};
    p->x.ops = &ops;
    p->x.request = (struct http_request){.method = "POST",
                                         .path = "/api/v1/namespaces/default/pods",
                                         .headers = headers,
                                         .headers_n = 2,
                                         .body = bytes_of(body),
                                         .arena = a,
                                         .user = ""};
    apiserver_handle(s, &p->x);
}

static void measure_create(const char *dir, const char *name, int parallel_n)
{
    struct err e = {0};
    struct loop *l = loop_new();
    struct apiserver *s;
    struct apiserver_config config = {.data_dir = dir};
    struct post *posts = calloc((size_t)parallel_n, sizeof *posts);
    int done_n = 0;
    if (apiserver_new(l, &config, &s, &e) < 0)
        fail(&e);
    turn(l);
    int64_t start = clock_monotonic_us();
    for (int i = 0; i < WRITES; i += parallel_n) {
        for (int j = 0; j < parallel_n; j++)
            post(s, &posts[j], i + j, &done_n);
        while (done_n < i + parallel_n)
            turn(l);
    }
    print(name, done_n, clock_monotonic_us() - start);
    apiserver_free(s);
    loop_free(l);
    free(posts);
}

static void with_directory(void (*fn)(const char *dir, const char *name, int n), const char *name, int n)
{
    char dir[] = "/tmp/capstan-bench-XXXXXX", path[64];
    static const char *const names[] = {"capstan.db", "capstan.db-wal", "capstan.db-shm", "lock"};
    if (!mkdtemp(dir))
        exit(1);
    fn(dir, name, n);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)unlink(path); /* may not exist */
    }
    (void)rmdir(dir);
}

static void store_only(const char *dir, const char *name, int n)
{
    measure_store(dir);
}

int main(void)
{
    with_directory(store_only, "", 0);
    with_directory(measure_create, "store.create", 1);
    with_directory(measure_create, "store.create.64", 64);
    return 0;
}
