/* GPU-seconds that simulated nodes had: physical GPUs once, until they change or go */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "sim/usage/usage_capacity.h"

static const struct json *node_of(struct arena *a, const char *product, const char *devices)
{
    struct json *node = json_new(a, JSON_OBJECT), *metadata = json_new(a, JSON_OBJECT), *labels = json_new(a, JSON_OBJECT),
                *annotations = json_new(a, JSON_OBJECT);
    json_set_text(a, labels, "nvidia.com/gpu.product", product);
    json_set_text(a, annotations, "capstan.dev/devices", devices);
    json_set(a, metadata, "labels", labels);
    json_set(a, metadata, "annotations", annotations);
    json_set(a, node, "metadata", metadata);
    return node;
}

#define DEVICE(id, gpu) "{\"r\":\"nvidia.com/gpu\",\"id\":\"" id "\",\"gpu\":" gpu "}"

static double since_start(struct usage_store *u, struct arena *a, const char *node, const char *model)
{
    struct usage_capacity *rows;
    uint32_t n;
    assert_int_equal(usage_capacity_since(u, a, 0, 1e6, &rows, &n, NULL), 0);
    for (uint32_t i = 0; i < n; i++)
        if (text_equal(rows[i].node, node) && text_equal(rows[i].model, model))
            return rows[i].gpu_s;
    return 0;
}

static void nodes_have_what_they_list(void **state)
{
    (void)state;
    char path[] = "/tmp/usage-capacity-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    _cleanup_arena_ struct arena *a = arena_new();
    struct usage_store *u;
    assert_int_equal(usage_open(path, &u, NULL), 0);
    struct usage_capacity_book *b = usage_capacity_book_new(10); /* ten times as fast */
    /* Two GPUs, one of them shared by two: two. */
    const struct json *two = node_of(a, "Tesla-T4-SHARED", "[" DEVICE("GPU-a::0", "0") "," DEVICE("GPU-a::1", "0") "," DEVICE("GPU-b", "1") "]");
    const struct json *slices = node_of(a, "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "[" DEVICE("MIG-a", "0") "," DEVICE("MIG-b", "0") "]");
    usage_capacity_book_node(b, "n1", two, 1000);
    usage_capacity_book_node(b, "n2", slices, 1000);
    usage_capacity_book_node(b, "cpu", node_of(a, "", ""), 1000);
    assert_int_equal(usage_capacity_book_nodes_n(b), 2);
    assert_int_equal(usage_capacity_book_write(b, u, 3000, 0, NULL), 0);
    assert_float_equal(since_start(u, a, "n1", "Tesla-T4"), 2 * 2 * 10, 1e-9);
    assert_float_equal(since_start(u, a, "n2", "NVIDIA-A100-SXM4-40GB"), 2 * 10, 1e-9);
    usage_capacity_book_node(b, "n1", NULL, 4000); /* a second more, and gone */
    assert_int_equal(usage_capacity_book_write(b, u, 9000, 0, NULL), 0);
    assert_float_equal(since_start(u, a, "n1", "Tesla-T4"), 40 + 20, 1e-9);
    assert_float_equal(since_start(u, a, "n2", "NVIDIA-A100-SXM4-40GB"), 8 * 10, 1e-9);
    usage_capacity_book_node(b, "n2", two, 9500); /* other GPUs */
    assert_int_equal(usage_capacity_book_write(b, u, 10000, 0, NULL), 0);
    assert_float_equal(since_start(u, a, "n2", "NVIDIA-A100-SXM4-40GB"), 85, 1e-9);
    assert_float_equal(since_start(u, a, "n2", "Tesla-T4"), 0.5 * 2 * 10, 1e-9);
    usage_capacity_book_free(b);
    usage_close(u);
    char more[64];
    snprintf(more, sizeof more, "%s-wal", path);
    unlink(more);
    snprintf(more, sizeof more, "%s-shm", path);
    unlink(more);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nodes_have_what_they_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
