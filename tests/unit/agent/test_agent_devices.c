/* test_agent_devices.c - what the kubelet says that pods have becomes their annotation, in the whole agent with a kubelet's socket */
#include "agent_world.h"
#include "agent/agent_parts.h"
#include "net/grpc/grpc.h"
#include "wire/protobuf.h"

#define WAIT_MS 60000

/* The kubelet: which GPU each container has, by the GPU's index. */
static const struct given {
    const char *pod, *container, *resource;
    int gpu;
} lists[] = {
    {"bound", "a", "nvidia.com/gpu", 3}, {"bound", "b", "nvidia.com/gpu", 0}, {"bound", "b", "nvidia.com/hostdev", 0},
    {"ended", "a", "nvidia.com/gpu", 1}, {"differs", "a", "nvidia.com/gpu", 4}, {"differs", "b", "nvidia.com/gpu", 5},
    {"right", "a", "nvidia.com/gpu", 6}, {"partly", "a", "nvidia.com/gpu", 7}, {"copied", "a", "nvidia.com/gpu", 2},
    {"unknown", "a", "nvidia.com/gpu", 1},
};
static uint32_t asked_n;

static const char *gpu(struct world *w, int i)
{
    return arena_text(w->a, inventory_now(agent_inventory(w->agent))->reading->gpus[i].uuid);
}

static void call_list(void *ctx, struct grpc_stream *s, struct bytes request)
{
    struct world *w = ctx;
    (void)request;
    _cleanup_buf_ struct buf out = {0};
    bool known = w->agent && inventory_now(agent_inventory(w->agent))->reading->gpus_n == 8;
    for (size_t i = 0; known && i < sizeof lists / sizeof *lists; i++) {
        size_t pod = protobuf_begin(&out, 1);
        protobuf_text(&out, 1, lists[i].pod);
        protobuf_text(&out, 2, "default");
        size_t container = protobuf_begin(&out, 3);
        protobuf_text(&out, 1, lists[i].container);
        size_t devices = protobuf_begin(&out, 2);
        protobuf_text(&out, 1, lists[i].resource);
        protobuf_text_always(&out, 2, gpu(w, lists[i].gpu));
        protobuf_end(&out, devices);
        protobuf_end(&out, container);
        protobuf_end(&out, pod);
    }
    asked_n += known;
    grpc_reply(s, buf_view(&out));
}

/* more: container "b" and so on, as JSON behind that of "a". */
static void create_pod(struct world *w, const char *name, const char *devices, const char *more)
{
    const char *annotations = devices ? arena_printf(w->a, ",\"annotations\":{\"capstan.dev/devices\":\"%s\"}", devices) : "";
    world_create(w, arena_printf(w->a, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"%s},"
                                       "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"a\",\"image\":\"i\",\"resources\":{\"limits\":{"
                                       "\"nvidia.com/gpu\":1}}}%s]}}", name, annotations, more));
}

static const struct json *meta(struct world *w, const char *pod)
{
    return json_get(world_get(w, arena_printf(w->a, "/api/v1/namespaces/default/pods/%s", pod)), "metadata");
}

static const char *devices(struct world *w, const char *pod)
{
    return json_text(json_path(meta(w, pod), "annotations", "capstan.dev/devices", NULL), "(none)");
}

static void wait_for(struct world *w, const char *pod, const char *text)
{
    for (int64_t end = loop_now_ms(w->loop) + WAIT_MS; !text_equal(devices(w, pod), text) && loop_now_ms(w->loop) < end;)
        world_run(w, 50);
    assert_string_equal(devices(w, pod), text);
}

/* The kubelet has been asked anew. */
static void wait_for_list(struct world *w)
{
    uint32_t before = asked_n;
    agent_pods_kubelet_restarted(w->agent);
    for (int64_t end = loop_now_ms(w->loop) + WAIT_MS; asked_n == before && loop_now_ms(w->loop) < end;)
        world_run(w, 50);
    assert_int_not_equal(asked_n, before);
    world_run(w, 200);
}

static const struct grpc_handler handlers[] = {{"/v1.PodResourcesLister/List", call_list, NULL}};
#define GPU_OF(container) ",{\"name\":\"" container "\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":1"

static void test_annotation_follows_the_kubelet(void **state)
{
    struct world *w = *state;
    struct grpc_server *kubelet = NULL;
    char *socket = arena_printf(w->a, "%s/kubelet.sock", w->dir);
    assert_int_equal(grpc_server_new(w->loop, socket, handlers, 1, w, &kubelet, NULL), 0);
    w->options.pod_resources_socket = socket;
    world_start_agent(w, "a100-40gb", 8);
    create_pod(w, "ended", NULL, "");
    world_patch(w, "/api/v1/namespaces/default/pods/ended/status", "{\"status\":{\"phase\":\"Succeeded\"}}");
    create_pod(w, "partly", NULL, GPU_OF("b") "}}}"); /* the kubelet has not come to "b" yet */
    create_pod(w, "right", arena_printf(w->a, "nvidia.com/gpu=%s", gpu(w, 6)), "");
    create_pod(w, "copied", arena_printf(w->a, "nvidia.com/gpu=%s,%s;example.com/x=1;nvidia.com/gpu=%s", gpu(w, 2), gpu(w, 4), gpu(w, 6)),
               "");
    create_pod(w, "differs", arena_printf(w->a, "example.com/x=1;nvidia.com/gpu=%s,%s", gpu(w, 4), gpu(w, 1)), GPU_OF("b") "}}}");
    create_pod(w, "bound", NULL, GPU_OF("b") ",\"nvidia.com/hostdev\":1}}}");
    wait_for_list(w);
    wait_for(w, "differs", arena_printf(w->a, "example.com/x=1;nvidia.com/gpu=%s,%s", gpu(w, 4), gpu(w, 5)));
    wait_for(w, "copied", arena_printf(w->a, "nvidia.com/gpu=%s;example.com/x=1", gpu(w, 2)));
    wait_for(w, "bound", arena_printf(w->a, "nvidia.com/gpu=%s,%s", gpu(w, 3), gpu(w, 0)));
    assert_string_equal(devices(w, "ended"), "(none)");
    assert_string_equal(devices(w, "partly"), "(none)");
    assert_true(world_has_event(w, "DevicesDiffer", "container b: the kubelet gave"));
    assert_false(world_has_event(w, "DevicesDiffer", "container a"));
    assert_false(world_has_event(w, "DevicesDiffer", gpu(w, 0))); /* nothing was chosen for "bound" */
    const char *names[] = {"bound", "differs", "right", "copied"}, *versions[4];
    for (int i = 0; i < 4; i++)
        versions[i] = json_get_text(meta(w, names[i]), "resourceVersion", "");
    wait_for_list(w);
    wait_for_list(w);
    for (int i = 0; i < 4; i++) /* nothing is written twice, and what was written is no difference */
        assert_string_equal(json_get_text(meta(w, names[i]), "resourceVersion", ""), versions[i]);
    assert_false(world_has_event(w, "DevicesDiffer", gpu(w, 0)));
    grpc_server_free(kubelet);
}

static const char *steered(struct world *w, uint32_t n)
{
    const char *available[8], **slots = NULL;
    _cleanup_buf_ struct buf text = {0};
    const struct resource *r = resource_table_find(agent_table(w->agent), "nvidia.com/gpu");
    for (int i = 0; i < 8; i++)
        available[i] = gpu(w, i);
    assert_true(agent_pods_steer(w->agent, w->a, r, available, 8, n, &slots));
    for (uint32_t i = 0; i < n; i++)
        buf_printf(&text, "%s%s", i ? "," : "", slots[i]);
    return arena_text(w->a, text.data);
}

static void test_a_choice_may_stand_in_several_parts(void **state)
{
    struct world *w = *state;
    world_start_agent(w, "a100-40gb", 8);
    const char *devices = arena_printf(w->a, "nvidia.com/gpu=%s,%s;example.com/x=1;nvidia.com/gpu=%s", gpu(w, 6), gpu(w, 1), gpu(w, 3));
    create_pod(w, "parts", devices, ",{\"name\":\"b\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":2}}}");
    world_run(w, 1000);
    assert_string_equal(steered(w, 1), gpu(w, 6));
    assert_string_equal(steered(w, 2), arena_printf(w->a, "%s,%s", gpu(w, 1), gpu(w, 3)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_annotation_follows_the_kubelet, world_setup_live, world_teardown),
        cmocka_unit_test_setup_teardown(test_a_choice_may_stand_in_several_parts, world_setup_live, world_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
