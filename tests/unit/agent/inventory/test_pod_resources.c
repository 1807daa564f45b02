/* The kubelet's podresources: what is read out of its answers, and how one is asked. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>
#include "../folder.h"
#include "agent/inventory/pod_resources.h"
#include "base/random.h"
#include "wire/protobuf.h"

enum { WAIT_MS = 5000 };

static void add_devices(struct buf *out, const char *resource, const char *slot)
{
    size_t devices = protobuf_begin(out, 2);
    protobuf_text(out, 1, resource);
    protobuf_text_always(out, 2, slot);
    size_t topology = protobuf_begin(out, 3), node = protobuf_begin(out, 1);
    protobuf_end(out, node);
    protobuf_end(out, topology);
    protobuf_end(out, devices);
}

/* Two pods; the first's GPU is listed once for each NUMA node, and there are CPUs, memory and claims around it. */
static void add_list(struct buf *out)
{
    size_t pod = protobuf_begin(out, 1);
    protobuf_text(out, 1, "train-0");
    protobuf_text(out, 2, "ml");
    size_t container = protobuf_begin(out, 3);
    protobuf_text(out, 1, "worker");
    add_devices(out, "nvidia.com/gpu", "GPU-2");
    add_devices(out, "nvidia.com/gpu", "GPU-2");
    size_t cpus = protobuf_begin(out, 3);
    buf_add(out, "\x01\x02\x03", 3);
    protobuf_end(out, cpus);
    size_t claim = protobuf_begin(out, 5);
    protobuf_text(out, 2, "claim");
    protobuf_end(out, claim);
    protobuf_end(out, container);
    protobuf_uint(out, 4, 7);
    protobuf_end(out, pod);
    pod = protobuf_begin(out, 1);
    protobuf_text(out, 1, "infer");
    protobuf_text(out, 2, "web");
    container = protobuf_begin(out, 3);
    protobuf_text(out, 1, "a");
    add_devices(out, "nvidia.com/gpu", "GPU-1");
    add_devices(out, "example.com/nic", "eth1");
    protobuf_end(out, container);
    container = protobuf_begin(out, 3);
    protobuf_text(out, 1, "b");
    protobuf_end(out, container);
    protobuf_end(out, pod);
}

static void expect_owner(const struct slot_owner *o, const char *resource, const char *slot, const char *ns, const char *pod,
                         const char *container)
{
    assert_string_equal(o->resource, resource);
    assert_string_equal(o->slot, slot);
    assert_string_equal(o->ns, ns);
    assert_string_equal(o->pod, pod);
    assert_string_equal(o->container, container);
}

static void test_parse(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf list = {0};
    struct slot_owner *owners;
    uint32_t n;
    assert_int_equal(pod_resources_parse(a, BYTES(""), &owners, &n, NULL), 0);
    assert_int_equal(n, 0);
    add_list(&list);
    assert_int_equal(pod_resources_parse(a, buf_view(&list), &owners, &n, NULL), 0);
    assert_int_equal(n, 3);
    expect_owner(&owners[0], "example.com/nic", "eth1", "web", "infer", "a");
    expect_owner(&owners[1], "nvidia.com/gpu", "GPU-1", "web", "infer", "a");
    expect_owner(&owners[2], "nvidia.com/gpu", "GPU-2", "ml", "train-0", "worker");
}

/* Every cut and every changed byte: an answer or an error, never a read beyond. */
static void test_parse_damaged(void **state)
{
    _cleanup_buf_ struct buf list = {0};
    struct random random = {3};
    add_list(&list);
    for (size_t i = 0; i < list.n * 8; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct slot_owner *owners;
        uint32_t n;
        struct err e = {0};
        size_t keep = i < list.n ? i : list.n;
        char *part = mem_text_n(list.data, keep);
        if (i >= list.n)
            part[random_below(&random, keep)] = (char)random_next(&random);
        if (pod_resources_parse(a, (struct bytes){part, keep}, &owners, &n, &e) < 0)
            assert_string_equal(e.text, "podresources: the kubelet's answer is malformed");
        free(part);
    }
}

/* A kubelet out of its mind: what is too much is refused with a sentence, and costs no more than reading it. */
static void test_parse_too_many(void **state)
{
    for (int too_many = 0; too_many < 2; too_many++) {
        _cleanup_arena_ struct arena *a = arena_new();
        _cleanup_buf_ struct buf list = {0};
        struct slot_owner *owners;
        uint32_t n = 0;
        struct err e = {0};
        size_t pod = protobuf_begin(&list, 1), container = protobuf_begin(&list, 3);
        for (int i = 0; i < LIMIT_POD_RESOURCES + too_many; i++) {
            char slot[16];
            (void)snprintf(slot, sizeof slot, "GPU-%d", i);
            add_devices(&list, "nvidia.com/gpu", slot);
            add_devices(&list, "nvidia.com/gpu", slot); /* of another NUMA node: not counted */
        }
        protobuf_end(&list, container);
        protobuf_end(&list, pod);
        int r = pod_resources_parse(a, buf_view(&list), &owners, &n, &e);
        assert_int_equal(r, too_many ? -E_LIMIT : 0);
        assert_int_equal(n, too_many ? 0 : LIMIT_POD_RESOURCES);
        assert_true(!too_many || strstr(e.text, "4097 devices"));
    }
}

/* ---- asking ---- */

struct bench {
    struct loop *loop;
    char directory[64], path[96];
    struct grpc_server *server;
    struct pod_resources *p;
    uint32_t calls_n, old_calls_n, told_n, owners_n;
    int code;
    bool junk, free_in_callback, ask_in_callback;
    char text[ERR_TEXT_MAX];
};

static void call_list(void *ctx, struct grpc_stream *s, struct bytes request)
{
    struct bench *b = ctx;
    _cleanup_buf_ struct buf list = {0};
    b->calls_n++;
    add_list(&list);
    if (b->junk)
        list.n -= 3;
    grpc_reply(s, buf_view(&list));
}

static const struct grpc_handler new_api[] = {{"/v1.PodResourcesLister/List", call_list, NULL}};
static const struct grpc_handler old_api[] = {{"/v1alpha1.PodResourcesLister/List", call_list, NULL}};

static void on_list(void *arg, int code, const struct slot_owner *owners, uint32_t n, const struct err *e)
{
    struct bench *b = arg;
    b->told_n++;
    b->code = code;
    b->owners_n = n;
    snprintf(b->text, sizeof b->text, "%s", e->text);
    if (b->ask_in_callback) {
        b->ask_in_callback = false;
        pod_resources_list(b->p, on_list, b);
    }
    if (b->free_in_callback) {
        pod_resources_free(b->p);
        b->p = NULL;
    }
}

static int setup(void **state)
{
    struct bench *b = mem_zero(1, sizeof *b);
    folder_make(b->directory, sizeof b->directory, "podres");
    snprintf(b->path, sizeof b->path, "%s/s", b->directory);
    b->loop = loop_new();
    b->p = pod_resources_new(b->loop, b->path);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    pod_resources_free(b->p);
    grpc_server_free(b->server);
    loop_free(b->loop);
    assert_int_equal(rmdir(b->directory), 0);
    free(b);
    return 0;
}

static void serve(struct bench *b, const struct grpc_handler *handlers)
{
    grpc_server_free(b->server);
    assert_int_equal(grpc_server_new(b->loop, b->path, handlers, 1, b, &b->server, NULL), 0);
}

static int list(struct bench *b, uint32_t told_n)
{
    int64_t end = loop_now_ms(b->loop) + WAIT_MS;
    while (b->told_n < told_n && loop_now_ms(b->loop) < end)
        assert_int_equal(loop_run_for(b->loop, 1, NULL), 0);
    assert_int_equal(b->told_n, told_n);
    return b->code;
}

static void test_list(void **state)
{
    struct bench *b = *state;
    serve(b, new_api);
    for (int i = 0; i < 3; i++)
        pod_resources_list(b->p, on_list, b);
    assert_int_equal(list(b, 3), 0);
    assert_int_equal(b->calls_n, 1); /* one call for all who ask at the same time */
    assert_int_equal(b->owners_n, 3);
    b->ask_in_callback = true;
    pod_resources_list(b->p, on_list, b);
    assert_int_equal(list(b, 5), 0);
    assert_int_equal(b->calls_n, 3);
}

static void test_no_kubelet(void **state)
{
    struct bench *b = *state;
    pod_resources_list(b->p, on_list, b);
    assert_int_equal(list(b, 1), -E_AGAIN);
    assert_int_equal(b->owners_n, 0);
    serve(b, new_api);
    pod_resources_list(b->p, on_list, b);
    assert_int_equal(list(b, 2), 0);
}

static void test_old_kubelet(void **state)
{
    struct bench *b = *state;
    serve(b, old_api);
    pod_resources_list(b->p, on_list, b);
    assert_int_equal(list(b, 1), 0);
    assert_int_equal(b->owners_n, 3);
    serve(b, new_api); /* upgraded meanwhile: one call fails, the next finds the new API */
    assert_int_equal(loop_run_for(b->loop, 5, NULL), 0);
    pod_resources_list(b->p, on_list, b);
    (void)list(b, 2);
    pod_resources_list(b->p, on_list, b);
    assert_int_equal(list(b, 3), 0);
}

static void test_junk(void **state)
{
    struct bench *b = *state;
    serve(b, new_api);
    b->junk = true;
    pod_resources_list(b->p, on_list, b);
    assert_int_equal(list(b, 1), -E_PROTO);
    assert_non_null(strstr(b->text, "malformed"));
}

static void test_freed_in_callback(void **state)
{
    struct bench *b = *state;
    serve(b, new_api);
    b->free_in_callback = true;
    pod_resources_list(b->p, on_list, b);
    pod_resources_list(b->p, on_list, b);
    assert_int_equal(list(b, 1), 0);
    assert_null(b->p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse), cmocka_unit_test(test_parse_damaged),
        cmocka_unit_test(test_parse_too_many), TEST(test_list), TEST(test_no_kubelet),
        TEST(test_old_kubelet), TEST(test_junk), TEST(test_freed_in_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
