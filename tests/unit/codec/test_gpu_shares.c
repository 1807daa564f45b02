/* test_gpu_shares.c - shares of GPUs as pods ask for them, in each form; and as nodes offer them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/memory.h"
#include "codec/share/share.h"
#include "decoder_world.h"

/* "a=1 b=2", by name. */
static const char *text_of(struct world *w, const struct amount *all, uint32_t n)
{
    const char *out = "", *last = "";
    for (uint32_t k = 0; k < n; k++) {
        const struct amount *best = NULL;
        for (uint32_t i = 0; i < n; i++) {
            const char *name = intern_name(w->names, all[i].resource);
            if (strcmp(name, last) > 0 && (!best || strcmp(name, intern_name(w->names, best->resource)) < 0))
                best = &all[i];
        }
        last = intern_name(w->names, best->resource);
        out = arena_printf(w->arena, "%s%s%s=%lld", out, k ? " " : "", last, (long long)best->value);
    }
    return out;
}

static const char *pod_text(struct world *w, const char *notes, const char *limits, const char *node)
{
    return arena_printf(w->arena,
                        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"annotations\":{%s}},\"spec\":{\"nodeName\":\"%s\",\"containers\":"
                        "[{\"name\":\"c\",\"resources\":{\"limits\":{%s}}}]}}",
                        notes, node, limits);
}

/* What the node must hold, or what is wrong. */
static const char *read_pod(struct world *w, const char *notes, const char *limits, const char *node)
{
    struct pod_record p;
    struct err e = {0};
    if (decode_pod(&w->d, bytes_of(pod_text(w, notes, limits, node)), &p, &e) < 0)
        return arena_text(w->arena, e.text);
    assert_int_equal(p.shares, strstr(text_of(w, p.shape.requests, p.shape.requests_n), "capstan.dev/gpu-") != NULL);
    return text_of(w, p.shape.requests, p.shape.requests_n);
}

#define MILLI "capstan.dev/gpu-milli="
#define MEMORY "capstan.dev/gpu-memory="
#define OF_MEMORY "capstan.dev/gpu-memory-milli="
#define COUNT "capstan.dev/gpu-shares="
#define FRACTION "write a fraction between 0 and 1, as \"0.5\"; for whole GPUs the limit nvidia.com/gpu instead"
#define IN_MIB "write MiB of one GPU, as \"8192\""
#define NOTE(key, text) "metadata.annotations[" key "]: " text
#define LIMIT(key, text) "spec.containers[*].resources.limits[" key "]: " text
#define TOO_LARGE "more memory than any GPU has: "

static const struct {
    const char *notes, *limits, *want;
} pods[] = {
    {"", "", ""},
    {"", "\"nvidia.com/gpu\":2", "nvidia.com/gpu=2"},
    /* KAI */
    {"\"gpu-fraction\":\"0.5\"", "", OF_MEMORY "500 " MILLI "500"},
    {"\"gpu-fraction\":\"0.3333\"", "", OF_MEMORY "334 " MILLI "334"},
    {"\"gpu-fraction\":\"0.25\",\"gpu-fraction-num-devices\":\"3\"", "", OF_MEMORY "750 " MILLI "750 " COUNT "3"},
    {"\"gpu-memory\":\"2048\"", "", MEMORY "2147483648"},
    {"\"gpu-fraction\":\"0.5\"", "\"nvidia.com/gpu\":1", OF_MEMORY "500 " MILLI "500 nvidia.com/gpu=1"},
    {"\"gpu-fraction\":\"1\"", "", NOTE("gpu-fraction", FRACTION)},
    {"\"gpu-fraction\":\"0\"", "", NOTE("gpu-fraction", FRACTION)},
    {"\"gpu-fraction\":\"-0.5\"", "", NOTE("gpu-fraction", FRACTION)},
    {"\"gpu-fraction\":\"1.0001\"", "", NOTE("gpu-fraction", FRACTION)},
    {"\"gpu-fraction\":\"0.9999\"", "", NOTE("gpu-fraction", FRACTION)},
    {"\"gpu-fraction\":\"9223372036854775807\"", "", NOTE("gpu-fraction", FRACTION)},
    {"\"gpu-fraction\":\"half\"", "", NOTE("gpu-fraction", FRACTION)},
    {"\"gpu-fraction\":\"500m\"", "", NOTE("gpu-fraction", FRACTION)},
    {"\"gpu-fraction\":\"1e-1\"", "", NOTE("gpu-fraction", FRACTION)},
    {"\"gpu-fraction\":\".\"", "", NOTE("gpu-fraction", FRACTION)},
    {"\"gpu-memory\":\"0\"", "", NOTE("gpu-memory", IN_MIB)},
    {"\"gpu-memory\":\"-1\"", "", NOTE("gpu-memory", IN_MIB)},
    {"\"gpu-memory\":\"4Gi\"", "", NOTE("gpu-memory", IN_MIB)},
    {"\"gpu-memory\":\"9223372036854775807\"", "", NOTE("gpu-memory", IN_MIB)},
    {"\"gpu-memory\":\"9223372036854775808\"", "", NOTE("gpu-memory", IN_MIB)},
    {"\"gpu-memory\":\"1\",\"gpu-fraction\":\"0.5\"", "",
     NOTE("gpu-memory", "gpu-fraction is there as well, and is one of the memory too: write one of the two")},
    {"\"gpu-fraction-num-devices\":\"2\"", "",
     NOTE("gpu-fraction-num-devices", "write gpu-fraction or gpu-memory as well: what the pod has of each GPU")},
    {"\"gpu-fraction\":\"0.5\",\"gpu-fraction-num-devices\":\"0\"", "", NOTE("gpu-fraction-num-devices", "write the number of GPUs, 1 to 64")},
    {"\"gpu-fraction\":\"0.5\",\"gpu-fraction-num-devices\":\"9223372036854775807\"", "",
     NOTE("gpu-fraction-num-devices", "write the number of GPUs, 1 to 64")},
    {"\"gpu-fraction\":\"0.5\"", "\"nvidia.com/gpu\":2",
     NOTE("gpu-fraction", "the containers ask for 2 of nvidia.com/gpu, and the shares are of 1: write the same number, or no limit")},
    /* HAMi */
    {"", "\"nvidia.com/gpu\":1,\"nvidia.com/gpumem\":3000,\"nvidia.com/gpucores\":30", MEMORY "3145728000 " MILLI "300 nvidia.com/gpu=1"},
    {"", "\"nvidia.com/gpu\":2,\"nvidia.com/gpumem-percentage\":50", OF_MEMORY "1000 " COUNT "2 nvidia.com/gpu=2"},
    {"", "\"nvidia.com/gpu\":1,\"nvidia.com/gpucores\":30", OF_MEMORY "1000 " MILLI "300 nvidia.com/gpu=1"}, /* no word of memory: all */
    {"", "\"nvidia.com/gpumem\":\"1\"", MEMORY "1048576"},
    {"", "\"nvidia.com/gpumem\":1,\"nvidia.com/gpumem-percentage\":5", MEMORY "1048576"},
    {"", "\"nvidia.com/gpumem\":9223372036854775807", LIMIT("nvidia.com/gpumem", TOO_LARGE "it is in MiB, 8192 for 8 GiB")},
    {"", "\"nvidia.com/gpumem-percentage\":101", LIMIT("nvidia.com/gpumem-percentage", "more than the memory of one GPU: write 1 to 100")},
    {"", "\"nvidia.com/gpucores\":101",
     LIMIT("nvidia.com/gpucores", "more than one GPU: write 1 to 100, and the number of GPUs into nvidia.com/gpu")},
    {"", "\"nvidia.com/gpucores\":1,\"nvidia.com/gpu\":9223372036854775807", LIMIT("nvidia.com/gpu", "a pod has shares of at most 64 GPUs")},
    {"\"gpu-fraction\":\"0.5\"", "\"nvidia.com/gpucores\":1",
     NOTE("gpu-fraction", "the pod asks for a share by resources of its containers as well: write one of the two")},
    /* KETI */
    {"\"GPUrequest\":\"4Gi\"", "\"keti.com/mpsgpu\":2", MEMORY "4294967296 keti.com/mpsgpu=2"},
    {"\"GPUrequest\":\"4G\",\"GPUlimits\":\"4096\"", "\"keti.com/mpsgpu\":1", MEMORY "4294967296 keti.com/mpsgpu=1"},
    {"\"GPUrequest\":\"4Gi\"", "", ""}, /* of no GPU */
    {"\"GPUlimits\":\"4Gi\"", "\"keti.com/mpsgpu\":1", "keti.com/mpsgpu=1"},
    {"\"GPUrequest\":\"lots\"", "\"keti.com/mpsgpu\":1", NOTE("GPUrequest", "write the memory of one GPU, as \"4Gi\"")},
    {"\"GPUrequest\":\"-4Gi\"", "\"keti.com/mpsgpu\":1", NOTE("GPUrequest", "write the memory of one GPU, as \"4Gi\"")},
    {"\"GPUrequest\":\"8Ei\"", "\"keti.com/mpsgpu\":1", NOTE("GPUrequest", "write the memory of one GPU, as \"4Gi\"")},
    {"\"GPUrequest\":\"4Gi\",\"GPUlimits\":\"2Gi\"", "\"keti.com/mpsgpu\":1", NOTE("GPUlimits", "less than GPUrequest: write at least as much")},
    /* our own */
    {"", "\"capstan.dev/gpu-milli\":500", MILLI "500"},
    {"", "\"capstan.dev/gpu-milli\":500,\"capstan.dev/gpu-memory\":\"8Gi\",\"nvidia.com/gpu\":1", MEMORY "8589934592 " MILLI "500 nvidia.com/gpu=1"},
    {"", "\"capstan.dev/gpu-milli\":1500,\"capstan.dev/gpu-shares\":2", MILLI "1500 " COUNT "2"},
    {"", "\"capstan.dev/gpu-milli\":1001",
     LIMIT("capstan.dev/gpu-milli", "more than one GPU: write 1 to 1000, or for whole GPUs nvidia.com/gpu alone")},
    {"", "\"capstan.dev/gpu-milli\":\"9223372036854775807\"",
     LIMIT("capstan.dev/gpu-milli", "more than one GPU: write 1 to 1000, or for whole GPUs nvidia.com/gpu alone")},
    {"", "\"capstan.dev/gpu-memory\":\"9223372036854775807\"", LIMIT("capstan.dev/gpu-memory", TOO_LARGE "write what one share needs, as 8Gi")},
    {"", "\"capstan.dev/gpu-memory-milli\":1001", LIMIT("capstan.dev/gpu-memory-milli", "more than the memory of one GPU: write 1 to 1000")},
    {"", "\"capstan.dev/gpu-shares\":2",
     LIMIT("capstan.dev/gpu-shares", "write what each share is of: capstan.dev/gpu-milli, capstan.dev/gpu-memory or both")},
    {"", "\"capstan.dev/gpu-milli\":1,\"nvidia.com/gpumem\":1",
     LIMIT("capstan.dev/gpu-milli", "the pod asks for a share by nvidia.com/gpumem or gpucores as well: write one of the two")},
};

static void forms(void **state)
{
    struct world *w = *state;
    for (size_t i = 0; i < sizeof pods / sizeof *pods; i++) {
        const char *have = read_pod(w, pods[i].notes, pods[i].limits, "");
        if (strcmp(have, pods[i].want))
            fail_msg("{%s} {%s}: \"%s\" instead of \"%s\"", pods[i].notes, pods[i].limits, have, pods[i].want);
    }
}

/* Whoever bound it: nobody else gets anything of its GPU. */
static void what_is_wrong_and_runs_counts_as_a_gpu(void **state)
{
    struct world *w = *state;
    for (size_t i = 0; i < sizeof pods / sizeof *pods; i++) {
        const char *have = read_pod(w, pods[i].notes, pods[i].limits, "n0");
        if (strstr(pods[i].want, "]: "))
            assert_non_null(strstr(have, OF_MEMORY "1000 " MILLI "1000"));
        else
            assert_string_equal(have, pods[i].want);
    }
}

static void one_container_asks(void **state)
{
    struct world *w = *state;
    struct pod_record p;
    struct err e = {0};
    static const char text[] =
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":1,\"nvidia.com/gpumem\":1}}},"
        "{\"resources\":{\"limits\":{\"nvidia.com/gpu\":1,\"nvidia.com/gpumem\":1}}}]}}";
    assert_int_equal(decode_pod(&w->d, bytes_of(text), &p, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "2 containers of the pod ask for shares of GPUs: write them into one container"));
}

/* Quota counts what the form's dialect counts. */
static void what_quota_counts(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *notes, *limits, *want;
    } sets[] = {
        {"", "\"nvidia.com/gpu\":1,\"nvidia.com/gpumem\":3000", "nvidia.com/gpu=1 nvidia.com/gpumem=3000"},
        {"\"gpu-fraction\":\"0.5\",\"gpu-fraction-num-devices\":\"2\"", "", MILLI "1000"},
        {"\"gpu-memory\":\"1024\"", "", MEMORY "1073741824"},
        {"\"GPUrequest\":\"4Gi\"", "\"keti.com/mpsgpu\":2", "keti.com/mpsgpu=2"},
        {"", "\"capstan.dev/gpu-milli\":500,\"nvidia.com/gpu\":1", MILLI "500 nvidia.com/gpu=1"},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct gang_record g;
        struct err e = {0};
        const char *text = arena_printf(w->arena,
                                        "{\"metadata\":{\"name\":\"w\",\"namespace\":\"ns\"},\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":1,"
                                        "\"template\":{\"metadata\":{\"annotations\":{%s}},\"spec\":{\"containers\":[{\"resources\":{\"limits\":{%s}}}]}}}]}}",
                                        sets[i].notes, sets[i].limits);
        assert_int_equal(decode_workload(&w->d, tree(w, text), &g, &e), 0);
        assert_true(g.pod_sets[0].is_charged);
        assert_string_equal(text_of(w, g.pod_sets[0].charged, g.pod_sets[0].charged_n), sets[i].want);
        assert_non_null(strstr(text_of(w, g.pod_sets[0].shape.requests, g.pod_sets[0].shape.requests_n), "capstan.dev/gpu-m"));
        assert_false(g.on_hold);
    }
}

static void a_wrong_template_waits(void **state)
{
    struct world *w = *state;
    struct gang_record g;
    struct err e = {0};
    static const char text[] = "{\"metadata\":{\"name\":\"w\",\"namespace\":\"ns\"},\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":"
                               "{\"metadata\":{\"annotations\":{\"gpu-fraction\":\"2\"}},\"spec\":{\"containers\":[{}]}}}]}}";
    assert_int_equal(decode_workload(&w->d, tree(w, text), &g, &e), 0);
    assert_true(g.on_hold && g.hold_is_fault);
    assert_string_equal(intern_name(w->names, g.hold_text), "spec.podSets[0].template.metadata.annotations[gpu-fraction]: " FRACTION);
}

#define DEVICE(resource, id, gpu, healthy) \
    "{\\\"r\\\":\\\"" resource "\\\",\\\"id\\\":\\\"" id "\\\",\\\"gpu\\\":" gpu ",\\\"healthy\\\":" healthy "}"

static void nodes_offer_parts(void **state)
{
    struct world *w = *state;
    static const char text[] = "{\"metadata\":{\"name\":\"n\",\"labels\":{\"nvidia.com/gpu.memory\":\"15360\"},\"annotations\":{\"capstan.dev/devices\":\"["
        DEVICE("nvidia.com/gpu", "GPU-a::0", "0", "false") "," DEVICE("nvidia.com/gpu", "GPU-a::1", "0", "true") ","
        DEVICE("nvidia.com/gpu", "GPU-b", "1", "false") "," DEVICE("nvidia.com/mig-1g.5gb", "MIG-c", "2", "true") ","
        DEVICE("nvidia.com/gpu", "nvidia0/vgpu2", "3", "true") "]\"}},"
        "\"status\":{\"allocatable\":{\"nvidia.com/gpu\":\"3\",\"capstan.dev/gpu-milli\":\"999999\"}}}";
    struct node_record n;
    struct err e = {0};
    assert_int_equal(decode_node(&w->d, bytes_of(text), &n, &e), 0);
    assert_string_equal(text_of(w, n.allocatable, n.allocatable_n),
                        MEMORY "32212254720 " OF_MEMORY "2000 " MILLI "2000 " COUNT "2000 nvidia.com/gpu=3");
    assert_int_equal(n.devices_n, 7);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(intern_name(w->names, n.devices[i].resource), "capstan.dev/gpu-milli");
        assert_string_equal(intern_name(w->names, n.devices[i].id), i ? "GPU-b" : "GPU-a");
        assert_int_equal(n.devices[i].gpu, i);
        assert_int_equal(n.devices[i].parts, 1000);
        assert_int_equal(n.devices[i].memory_mib, 15360);
        assert_int_equal(n.devices[i].healthy, !i);
    }
    assert_int_equal(n.devices[2].parts, 0);
}

/* The same is read from the tree, by the API server and the agent. */
static void trees_say_the_same(void **state)
{
    struct world *w = *state;
    for (size_t i = 0; i < sizeof pods / sizeof *pods; i++) {
        const struct json *pod = tree(w, pod_text(w, pods[i].notes, pods[i].limits, ""));
        struct share_input in;
        struct share share = {.form = SHARE_NONE};
        struct share_fault fault;
        share_input_of(json_path(pod, "metadata", "annotations", NULL), json_get(pod, "spec"), &in);
        int r = share_read(&in, &share, &fault);
        assert_int_equal(r < 0, strstr(pods[i].want, "]: ") != NULL);
        assert_int_equal(r > 0, !strstr(pods[i].want, "]: ") && strstr(pods[i].want, "capstan.dev/gpu-"));
        if (r < 0)
            assert_non_null(strstr(pods[i].want, fault.text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(forms, world_open, world_close),
        cmocka_unit_test_setup_teardown(what_is_wrong_and_runs_counts_as_a_gpu, world_open, world_close),
        cmocka_unit_test_setup_teardown(one_container_asks, world_open, world_close),
        cmocka_unit_test_setup_teardown(what_quota_counts, world_open, world_close),
        cmocka_unit_test_setup_teardown(a_wrong_template_waits, world_open, world_close),
        cmocka_unit_test_setup_teardown(nodes_offer_parts, world_open, world_close),
        cmocka_unit_test_setup_teardown(trees_say_the_same, world_open, world_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
