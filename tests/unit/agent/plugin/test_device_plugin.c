/* The device plugin between a made-up table and a kubelet of our own words: registration, restarts, lists, answers, refusals. What other
 * gRPC implementations think of it: tests/kubelet. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/plugin/device_plugin.h"
#include "agent/plugin/device_plugin_message.h"
#include "net/grpc/grpc.h"
#include "reading.h"
#include "wire/protobuf.h"
#include "../folder.h"

enum { WAIT_MS = 5000 };

struct bench {
    struct loop *loop;
    char root[64], directory[96], kubelet_path[128];
    struct test_node *node;
    struct machine machine;
    struct inventory *inventory;
    struct device_plugin *plugin;
    struct grpc_server *kubelet;
    enum grpc_status kubelet_says;
    uint32_t registers_n, lists_n, ends_n, answers_n;
    char resource[128], endpoint[128], version[16];
    struct grpc_client *client;
    enum grpc_status status;
    bool unawaited; /* no pod waits, but for one that waits for awaited_slots */
    uint32_t awaited_slots;
    struct buf list, answer;
    char text[256];
    const char *steered;
    int admit;
    struct allocate_limits limits;
};

/* ---- the kubelet ---- */

static void copy_text(char *to, size_t n, struct bytes from)
{
    snprintf(to, n, "%.*s", (int)from.n, from.data);
}

static void kubelet_register(void *ctx, struct grpc_stream *s, struct bytes request)
{
    struct bench *b = ctx;
    struct protobuf_reader r = protobuf_reader(request);
    struct protobuf_field f;
    b->registers_n++;
    while (protobuf_next(&r, &f) > 0)
        if (f.number == 1)
            copy_text(b->version, sizeof b->version, f.bytes);
        else if (f.number == 2)
            copy_text(b->endpoint, sizeof b->endpoint, f.bytes);
        else if (f.number == 3)
            copy_text(b->resource, sizeof b->resource, f.bytes);
    if (b->kubelet_says)
        grpc_fail(s, b->kubelet_says, "not now");
    else
        grpc_reply(s, BYTES(""));
}

static const struct grpc_handler kubelet_handlers[] = {{"/v1beta1.Registration/Register", kubelet_register, NULL}};

static void kubelet_start(struct bench *b)
{
    assert_int_equal(grpc_server_new(b->loop, b->kubelet_path, kubelet_handlers, 1, b, &b->kubelet, NULL), 0);
}

static void kubelet_stop(struct bench *b)
{
    grpc_server_free(b->kubelet);
    b->kubelet = NULL;
}

/* ---- the bench ---- */

static void run(struct bench *b, int64_t ms)
{
    assert_int_equal(loop_run_for(b->loop, ms, NULL), 0);
}

static void run_until(struct bench *b, const uint32_t *counter, uint32_t n)
{
    int64_t end = loop_now_ms(b->loop) + WAIT_MS;
    while (*counter < n && loop_now_ms(b->loop) < end)
        run(b, 1);
    assert_true(*counter >= n);
}

static void run_until_registered(struct bench *b)
{
    int64_t end = loop_now_ms(b->loop) + WAIT_MS;
    while (!device_plugin_registered(b->plugin) && loop_now_ms(b->loop) < end)
        run(b, 1);
    assert_true(device_plugin_registered(b->plugin));
}

static void table_set(struct bench *b, const char *yaml)
{
    struct err e = {0};
    if (yaml)
        node_config(b->node, yaml);
    if (node_table(b->node, NULL, &e) < 0)
        fail_msg("%s", e.text);
    device_plugin_set(b->plugin, &b->node->snapshot, &b->node->config, &b->machine, &b->node->table);
}

static bool steer(void *ctx, struct arena *a, const struct resource *r, const char *const *available, uint32_t available_n, uint32_t size,
                  const char ***ret_slots)
{
    struct bench *b = ctx;
    if (!b->steered || size != 1)
        return false;
    *ret_slots = arena_alloc(a, sizeof **ret_slots);
    **ret_slots = b->steered;
    return true;
}

static int admit(void *ctx, const struct resource *r, const char *const *slots, uint32_t n, struct allocate_limits *ret_limits,
                 struct err *e)
{
    struct bench *b = ctx;
    *ret_limits = b->limits;
    return b->admit ? err_set(e, -b->admit, "%s: these are another pod's", r->name) : 0;
}

static bool awaited(void *ctx, const struct resource *r, uint32_t n)
{
    const struct bench *b = ctx;
    return !b->unawaited || n == b->awaited_slots;
}

static void plugin_start(struct bench *b)
{
    struct device_plugin_config c = {.directory = b->directory, .steer = steer, .admit = admit, .awaited = awaited, .ctx = b};
    b->plugin = device_plugin_new(b->loop, b->inventory, &c);
}

static int setup(void **state)
{
    struct bench *b = mem_zero(1, sizeof *b);
    folder_make(b->root, sizeof b->root, "plugin");
    snprintf(b->directory, sizeof b->directory, "%s/d", b->root);
    snprintf(b->kubelet_path, sizeof b->kubelet_path, "%s/kubelet.sock", b->directory);
    assert_int_equal(mkdir(b->directory, 0700), 0);
    b->loop = loop_new();
    b->node = node_new("a100-40gb", 8);
    b->machine = (struct machine){.dev_root = "/"};
    assert_int_equal(inventory_open(b->loop, NULL, &b->inventory, NULL), 0);
    plugin_start(b);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    grpc_client_free(b->client);
    device_plugin_free(b->plugin);
    grpc_server_free(b->kubelet);
    inventory_close(b->inventory);
    node_free(b->node);
    loop_free(b->loop);
    assert_int_equal(rmdir(b->directory), 0);
    assert_int_equal(rmdir(b->root), 0);
    buf_free(&b->list);
    buf_free(&b->answer);
    free(b);
    return 0;
}

static char *socket_path(struct bench *b, const char *endpoint)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", b->directory, endpoint);
    return path;
}

static void client_start(struct bench *b, const char *endpoint)
{
    grpc_client_free(b->client);
    b->client = grpc_client_new(b->loop, socket_path(b, endpoint));
}

static void on_list(void *arg, bool ended, enum grpc_status status, struct bytes message)
{
    struct bench *b = arg;
    if (ended) {
        b->ends_n++;
        return;
    }
    b->lists_n++;
    buf_clear(&b->list);
    buf_bytes(&b->list, message);
}

static void watch_start(struct bench *b)
{
    (void)grpc_watch(b->client, "/v1beta1.DevicePlugin/ListAndWatch", BYTES(""), on_list, b);
    run_until(b, &b->lists_n, 1);
}

static void on_answer(void *arg, enum grpc_status status, struct bytes message, const char *error_text)
{
    struct bench *b = arg;
    b->answers_n++;
    b->status = status;
    buf_clear(&b->answer);
    buf_bytes(&b->answer, message);
    snprintf(b->text, sizeof b->text, "%s", error_text);
}

static enum grpc_status ask(struct bench *b, const char *method, const struct buf *request)
{
    char path[96];
    uint32_t before = b->answers_n;
    snprintf(path, sizeof path, "/v1beta1.DevicePlugin/%s", method);
    (void)grpc_call(b->client, path, request ? buf_view(request) : BYTES(""), WAIT_MS, on_answer, b);
    run_until(b, &b->answers_n, before + 1);
    return b->status;
}

static void add_ids(struct buf *out, uint32_t number, const char *ids)
{
    while (*ids) {
        char id[128];
        size_t n = strcspn(ids, " ");
        snprintf(id, sizeof id, "%.*s", (int)n, ids);
        protobuf_text_always(out, number, id);
        ids += n + (ids[n] == ' ');
    }
}

static void add_container(struct buf *request, const char *ids)
{
    size_t mark = protobuf_begin(request, 1);
    add_ids(request, 1, ids);
    protobuf_end(request, mark);
}

/* ids with spaces between; more: of a second container, NULL none */
static enum grpc_status allocate_both(struct bench *b, const char *ids, const char *more)
{
    _cleanup_buf_ struct buf request = {0};
    add_container(&request, ids);
    if (more)
        add_container(&request, more);
    return ask(b, "Allocate", &request);
}

static enum grpc_status allocate(struct bench *b, const char *ids)
{
    return allocate_both(b, ids, NULL);
}

static enum grpc_status prefer(struct bench *b, const char *available, const char *must, int32_t size)
{
    _cleanup_buf_ struct buf request = {0};
    size_t mark = protobuf_begin(&request, 1);
    add_ids(&request, 1, available);
    add_ids(&request, 2, must);
    protobuf_int(&request, 3, size);
    protobuf_end(&request, mark);
    return ask(b, "GetPreferredAllocation", &request);
}

static bool answer_has(const struct bench *b, const char *text)
{
    return b->answer.n && memmem(b->answer.data, b->answer.n, text, strlen(text));
}

static uint32_t devices_count(const struct buf *list, const char *health)
{
    struct protobuf_reader r = protobuf_reader(buf_view(list)), inner;
    struct protobuf_field f, g;
    uint32_t n = 0;
    while (protobuf_next(&r, &f) > 0) {
        inner = protobuf_reader(f.bytes);
        while (protobuf_next(&inner, &g) > 0)
            n += g.number == 2 && bytes_is(g.bytes, health);
    }
    return n;
}

/* ---- registration ---- */

static void test_registers(void **state)
{
    struct bench *b = *state;
    assert_false(device_plugin_registered(b->plugin));
    table_set(b, NULL);
    kubelet_start(b);
    run_until_registered(b);
    assert_int_equal(b->registers_n, 1);
    assert_string_equal(b->version, "v1beta1");
    assert_string_equal(b->endpoint, "nvidia-gpu.sock");
    assert_string_equal(b->resource, "nvidia.com/gpu");
    struct stat st;
    assert_int_equal(stat(socket_path(b, "nvidia-gpu.sock"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

static void test_registers_within_20_ms_of_the_socket(void **state)
{
    struct bench *b = *state;
    table_set(b, NULL);
    run(b, 50);
    assert_false(device_plugin_registered(b->plugin));
    kubelet_start(b);
    int64_t start = loop_now_ms(b->loop);
    run_until(b, &b->registers_n, 1);
    assert_in_range(loop_now_ms(b->loop) - start, 0, 20);
}

static void test_kubelet_refuses(void **state)
{
    struct bench *b = *state;
    b->kubelet_says = GRPC_UNKNOWN;
    kubelet_start(b);
    table_set(b, NULL);
    run_until(b, &b->registers_n, 4);
    assert_false(device_plugin_registered(b->plugin));
    uint32_t before = b->registers_n;
    run(b, 100);
    assert_in_range(b->registers_n - before, 0, 4); /* it waits longer and longer */
    b->kubelet_says = GRPC_OK;
    run_until_registered(b);
    struct device_plugin_counts n = device_plugin_counts(b->plugin);
    assert_int_equal(n.registrations_n, 1);
    assert_true(n.registration_failures_n >= 4);
}

static void test_kubelet_restarts_with_a_new_socket(void **state)
{
    struct bench *b = *state;
    table_set(b, NULL);
    for (uint32_t i = 1; i <= 5; i++) {
        kubelet_start(b);
        run_until(b, &b->registers_n, i);
        run_until_registered(b);
        kubelet_stop(b);
    }
}

/* As the kubelet does at its start: every socket of the directory is deleted, then its own is made. */
static void test_kubelet_restarts_and_deletes_all(void **state)
{
    struct bench *b = *state;
    table_set(b, NULL);
    for (uint32_t i = 1; i <= 5; i++) {
        (void)unlink(socket_path(b, "nvidia-gpu.sock"));
        kubelet_start(b);
        run_until(b, &b->registers_n, i);
        run_until_registered(b);
        client_start(b, "nvidia-gpu.sock");
        assert_int_equal(ask(b, "GetDevicePluginOptions", NULL), GRPC_OK);
        kubelet_stop(b);
    }
}

/* Only our socket goes: the kubelet is there all the time. */
static void test_own_socket_deleted(void **state)
{
    struct bench *b = *state;
    table_set(b, NULL);
    kubelet_start(b);
    run_until_registered(b);
    for (uint32_t i = 2; i <= 5; i++) {
        assert_int_equal(unlink(socket_path(b, "nvidia-gpu.sock")), 0);
        run_until(b, &b->registers_n, i);
        client_start(b, "nvidia-gpu.sock");
        assert_int_equal(ask(b, "GetDevicePluginOptions", NULL), GRPC_OK);
    }
}

static void test_directory_comes_later(void **state)
{
    struct bench *b = *state;
    device_plugin_free(b->plugin);
    assert_int_equal(rmdir(b->directory), 0);
    plugin_start(b);
    table_set(b, NULL);
    run(b, 50);
    assert_int_equal(mkdir(b->directory, 0700), 0);
    kubelet_start(b);
    run_until_registered(b);
    /* and goes, with the kubelet, and comes again */
    kubelet_stop(b);
    (void)unlink(socket_path(b, "nvidia-gpu.sock"));
    assert_int_equal(rmdir(b->directory), 0);
    run(b, 20);
    assert_false(device_plugin_registered(b->plugin));
    assert_int_equal(mkdir(b->directory, 0700), 0);
    kubelet_start(b);
    run_until(b, &b->registers_n, 2);
    run_until_registered(b);
}

/* Another agent of the same node waits until the first has gone; so does one that finds another plugin's socket alive. */
static void test_two_agents(void **state)
{
    struct bench *b = *state;
    table_set(b, NULL);
    kubelet_start(b);
    run_until_registered(b);
    struct device_plugin *first = b->plugin;
    plugin_start(b);
    device_plugin_set(b->plugin, &b->node->snapshot, &b->node->config, &b->machine, &b->node->table);
    run(b, 50);
    assert_false(device_plugin_registered(b->plugin));
    assert_int_equal(b->registers_n, 1);
    device_plugin_free(first);
    run_until_registered(b);
    assert_int_equal(b->registers_n, 2);
}

static void test_another_plugin_has_the_socket(void **state)
{
    struct bench *b = *state;
    struct grpc_server *other;
    assert_int_equal(grpc_server_new(b->loop, socket_path(b, "nvidia-gpu.sock"), kubelet_handlers, 1, b, &other, NULL), 0);
    table_set(b, NULL);
    kubelet_start(b);
    run(b, 50);
    assert_int_equal(b->registers_n, 0);
    grpc_server_free(other);
    run_until_registered(b);
}

static void test_socket_names(void **state)
{
    struct bench *b = *state;
    static const char *const names[] = {"a.example.com/gpu", "a.example.org/gpu", "keti.com/mpsgpu", "nvidia.com/mig-1g.5gb"};
    static const char *const endpoints[] = {"nvidia-a-gpu.sock", "nvidia-a.example.org-gpu.sock", "nvidia-keti-mpsgpu.sock",
                                            "nvidia-mig-1g.5gb.sock"};
    struct resource resources[4] = {0};
    struct resource_table table = {resources, 4};
    for (int i = 0; i < 4; i++)
        resources[i].name = names[i];
    device_plugin_set(b->plugin, node_done(b->node), &b->node->config, &b->machine, &table);
    run(b, 10);
    for (int i = 0; i < 4; i++)
        assert_int_equal(access(socket_path(b, endpoints[i]), F_OK), 0);
    table.resources_n = 0;
    device_plugin_set(b->plugin, &b->node->snapshot, &b->node->config, &b->machine, &table);
    for (int i = 0; i < 4; i++)
        assert_int_equal(access(socket_path(b, endpoints[i]), F_OK), -1);
}

/* ---- lists ---- */

static void test_list(void **state)
{
    struct bench *b = *state;
    table_set(b, NULL);
    run(b, 5);
    client_start(b, "nvidia-gpu.sock");
    watch_start(b);
    assert_int_equal(devices_count(&b->list, "Healthy"), 8);
    /* GPU 0 on NUMA node 0, GPU 7 on node 1: the messages to the byte */
    static const char first[] = "\x0a\x37\x0a\x28GPU-00000000-1111-4222-8333-000000000000\x12\x07Healthy\x1a\x02\x0a\x00";
    assert_memory_equal(b->list.data, first, sizeof first - 1);
    static const char last[] = "\x0a\x39\x0a\x28GPU-00000007-1111-4222-8333-000000000007\x12\x07Healthy\x1a\x04\x0a\x02\x08\x01";
    assert_memory_equal(b->list.data + b->list.n - (sizeof last - 1), last, sizeof last - 1);
}

static void test_list_changes(void **state)
{
    struct bench *b = *state;
    table_set(b, NULL);
    run(b, 5);
    client_start(b, "nvidia-gpu.sock");
    watch_start(b);
    b->node->table.resources[0].slots[3].state = SLOT_SUSPECT;
    for (int i = 0; i < 5; i++) /* the same again is not sent again */
        device_plugin_set(b->plugin, &b->node->snapshot, &b->node->config, &b->machine, &b->node->table);
    run_until(b, &b->lists_n, 2);
    assert_int_equal(devices_count(&b->list, "Unhealthy"), 1);
    run(b, 10);
    assert_int_equal(b->lists_n, 2);
    for (uint32_t i = 0; i < 8; i++) { /* several changes in one turn are one message */
        b->node->table.resources[0].slots[i].state = SLOT_SUSPECT;
        device_plugin_set(b->plugin, &b->node->snapshot, &b->node->config, &b->machine, &b->node->table);
    }
    run_until(b, &b->lists_n, 3);
    run(b, 10);
    assert_int_equal(b->lists_n, 3);
    assert_int_equal(devices_count(&b->list, "Unhealthy"), 8);
}

static void test_resource_ends(void **state)
{
    struct bench *b = *state;
    table_set(b, NULL);
    run(b, 5);
    client_start(b, "nvidia-gpu.sock");
    watch_start(b);
    table_set(b, "version: v1\nsharing:\n  timeSlicing:\n    renameByDefault: true\n    resources:\n"
                 "      - name: nvidia.com/gpu\n        replicas: 4\n");
    run_until(b, &b->ends_n, 1);
    run(b, 5);
    assert_int_equal(devices_count(&b->list, "Healthy") + devices_count(&b->list, "Unhealthy"), 0); /* so is the kubelet's capacity */
    assert_int_equal(access(socket_path(b, "nvidia-gpu.sock"), F_OK), -1);
    client_start(b, "nvidia-gpu.shared.sock");
    b->lists_n = 0;
    watch_start(b);
    assert_int_equal(devices_count(&b->list, "Healthy"), 32);
}

/* A table that is longer than a message may be is cut, not fatal. */
static void test_list_too_long(void **state)
{
    struct bench *b = *state;
    enum { SLOTS = 70000 };
    struct slot *slots = mem_zero(SLOTS, sizeof *slots);
    struct resource resource = {.name = "nvidia.com/gpu", .slots = slots, .slots_n = SLOTS};
    struct resource_table table = {&resource, 1};
    for (int i = 0; i < SLOTS; i++)
        slots[i] = (struct slot){.id = "GPU-00000007-1111-4222-8333-000000000007::12345"};
    device_plugin_set(b->plugin, node_done(b->node), &b->node->config, &b->machine, &table);
    run(b, 5);
    client_start(b, "nvidia-gpu.sock");
    watch_start(b);
    assert_in_range(b->list.n, LIMIT_GRPC_MESSAGE / 2, LIMIT_GRPC_MESSAGE);
    table.resources_n = 0;
    device_plugin_set(b->plugin, &b->node->snapshot, &b->node->config, &b->machine, &table);
    free(slots);
}

/* ---- calls ---- */

#define GPU(n) "GPU-0000000" n "-1111-4222-8333-00000000000" n

static void calls_start(struct bench *b, const char *yaml, const char *endpoint)
{
    table_set(b, yaml);
    run(b, 5);
    client_start(b, endpoint);
}

static void test_options(void **state)
{
    struct bench *b = *state;
    calls_start(b, NULL, "nvidia-gpu.sock");
    assert_int_equal(ask(b, "GetDevicePluginOptions", NULL), GRPC_OK);
    assert_true(b->answer.n == 2 && memcmp(b->answer.data, "\x10\x01", 2) == 0);
    assert_int_equal(ask(b, "PreStartContainer", NULL), GRPC_OK);
    assert_int_equal(b->answer.n, 0);
    assert_int_equal(ask(b, "Nothing", NULL), GRPC_UNIMPLEMENTED);
}

static void test_allocate(void **state)
{
    struct bench *b = *state;
    calls_start(b, NULL, "nvidia-gpu.sock");
    assert_int_equal(allocate(b, GPU("2") " " GPU("5")), GRPC_OK);
    assert_true(answer_has(b, "NVIDIA_VISIBLE_DEVICES"));
    assert_true(answer_has(b, GPU("2") "," GPU("5")));
    assert_int_equal(device_plugin_counts(b->plugin).allocations_n, 1);
    const struct inventory_snapshot *s = inventory_now(b->inventory);
    assert_int_equal(s->owners_n, 2);
    assert_string_equal(s->owners[0].slot, GPU("2"));
    assert_string_equal(s->owners[0].resource, "nvidia.com/gpu");
    assert_int_equal(allocate(b, GPU("1") " " GPU("3") " " GPU("1")), GRPC_OK);
    assert_true(answer_has(b, GPU("1") "," GPU("3")));
    assert_false(answer_has(b, GPU("3") "," GPU("1")));
    assert_int_equal(allocate_both(b, GPU("4"), GPU("6")), GRPC_OK);
    assert_int_equal(inventory_now(b->inventory)->owners_n, 6);
}

static void test_allocate_refused(void **state)
{
    struct bench *b = *state;
    calls_start(b, NULL, "nvidia-gpu.sock");
    assert_int_equal(allocate(b, GPU("9")), GRPC_NOT_FOUND);
    assert_non_null(strstr(b->text, GPU("9")));
    assert_int_equal(allocate_both(b, GPU("1"), GPU("2") " " GPU("1")), GRPC_INVALID_ARGUMENT);
    assert_non_null(strstr(b->text, "two containers"));
    assert_int_equal(inventory_now(b->inventory)->owners_n, 0);
    assert_int_equal(allocate(b, ""), GRPC_INVALID_ARGUMENT);
    b->node->table.resources[0].slots[1].state = SLOT_SUSPECT;
    assert_int_equal(allocate(b, GPU("1")), GRPC_FAILED_PRECONDITION);
    b->admit = -E_CONFLICT;
    assert_int_equal(allocate(b, GPU("2")), GRPC_FAILED_PRECONDITION);
    assert_non_null(strstr(b->text, "another pod's"));
    struct buf junk = {0};
    buf_add(&junk, "\x0a\x7f", 2);
    assert_int_equal(ask(b, "Allocate", &junk), GRPC_INVALID_ARGUMENT);
    buf_clear(&junk);
    size_t mark = protobuf_begin(&junk, 1);
    buf_add(&junk, "\x0a\x03g\0u", 5); /* a NUL in a name */
    protobuf_end(&junk, mark);
    assert_int_equal(ask(b, "Allocate", &junk), GRPC_INVALID_ARGUMENT);
    buf_free(&junk);
    assert_int_equal(inventory_now(b->inventory)->owners_n, 0);
    assert_int_equal(device_plugin_counts(b->plugin).refusals_n, 7);
}

/* One container of several cannot have its device: none gets one. */
static void test_allocate_all_or_none(void **state)
{
    struct bench *b = *state;
    _cleanup_buf_ struct buf request = {0};
    calls_start(b, NULL, "nvidia-gpu.sock");
    static const char *const containers[] = {GPU("1"), GPU("9")};
    for (int i = 0; i < 2; i++) {
        size_t mark = protobuf_begin(&request, 1);
        add_ids(&request, 1, containers[i]);
        protobuf_end(&request, mark);
    }
    assert_int_equal(ask(b, "Allocate", &request), GRPC_NOT_FOUND);
    assert_int_equal(inventory_now(b->inventory)->owners_n, 0);
}

static void test_shared_one_only(void **state)
{
    struct bench *b = *state;
    calls_start(b, "version: v1\nsharing:\n  timeSlicing:\n    failRequestsGreaterThanOne: true\n    resources:\n"
                   "      - name: nvidia.com/gpu\n        replicas: 4\n", "nvidia-gpu.sock");
    assert_int_equal(allocate(b, GPU("1") "::0"), GRPC_OK);
    assert_true(answer_has(b, GPU("1")));
    assert_int_equal(allocate(b, GPU("1") "::1 " GPU("2") "::1"), GRPC_FAILED_PRECONDITION);
    assert_non_null(strstr(b->text, "a container can have 1 share"));
}

static void test_preferred(void **state)
{
    struct bench *b = *state;
    calls_start(b, NULL, "nvidia-gpu.sock");
    assert_int_equal(prefer(b, GPU("0") " " GPU("4") " " GPU("5"), "", 2), GRPC_OK);
    assert_true(answer_has(b, GPU("4")) && answer_has(b, GPU("5"))); /* of one NUMA node */
    assert_int_equal(prefer(b, GPU("0") " " GPU("4") " " GPU("1"), GPU("4"), 2), GRPC_OK);
    assert_true(answer_has(b, GPU("4")));
    assert_int_equal(prefer(b, GPU("0"), "", 2), GRPC_INVALID_ARGUMENT);
    assert_int_equal(prefer(b, GPU("0"), "", -1), GRPC_INVALID_ARGUMENT);
    assert_int_equal(prefer(b, GPU("0"), GPU("9"), 1), GRPC_NOT_FOUND);
    b->steered = GPU("3");
    assert_int_equal(prefer(b, GPU("0") " " GPU("3"), "", 1), GRPC_OK);
    assert_true(answer_has(b, GPU("3")) && !answer_has(b, GPU("0")));
    assert_int_equal(prefer(b, GPU("0") " " GPU("3"), GPU("0"), 1), GRPC_OK); /* the kubelet's own demand comes first */
    assert_true(answer_has(b, GPU("0")) && !answer_has(b, GPU("3")));
}

/* ---- held back ---- */

static void ask_later(struct bench *b, const char *method, const char *ids, int32_t size)
{
    char path[96];
    _cleanup_buf_ struct buf request = {0};
    size_t mark = protobuf_begin(&request, 1);
    add_ids(&request, 1, ids);
    if (size)
        protobuf_int(&request, 3, size);
    protobuf_end(&request, mark);
    snprintf(path, sizeof path, "/v1beta1.DevicePlugin/%s", method);
    (void)grpc_call(b->client, path, buf_view(&request), WAIT_MS, on_answer, b);
}

/* The plugin ends with a question that is held back. */
static void ask_later_and_end(struct bench *b)
{
    client_start(b, "nvidia-gpu.sock");
    ask_later(b, "Allocate", GPU("4"), 0);
    run(b, 20);
    device_plugin_free(b->plugin);
    b->plugin = NULL;
}

static void test_held_until_the_pod_is_known(void **state)
{
    struct bench *b = *state;
    calls_start(b, NULL, "nvidia-gpu.sock");
    b->unawaited = true;
    ask_later(b, "GetPreferredAllocation", GPU("0") " " GPU("3"), 1);
    run(b, 50);
    assert_int_equal(b->answers_n, 0);
    device_plugin_pods_changed(b->plugin); /* another pod */
    assert_int_equal(b->answers_n, 0);
    b->steered = GPU("3");
    b->awaited_slots = 1;
    device_plugin_pods_changed(b->plugin);
    run_until(b, &b->answers_n, 1);
    assert_int_equal(b->status, GRPC_OK);
    assert_true(answer_has(b, GPU("3")));
    struct device_plugin_counts n = device_plugin_counts(b->plugin);
    assert_int_equal(n.held_n, 1);
    assert_true(n.held_ms >= 40 && n.held_max_ms == n.held_ms && n.held_ms < PLUGIN_HOLD_MS);
    b->awaited_slots = 2;
    ask_later(b, "Allocate", GPU("3"), 0);
    run(b, 20);
    assert_int_equal(b->answers_n, 1);
    b->unawaited = false;
    device_plugin_pods_changed(b->plugin);
    run_until(b, &b->answers_n, 2);
    assert_int_equal(inventory_now(b->inventory)->owners_n, 1);
}

static void test_held_no_longer_than_the_bound(void **state)
{
    struct bench *b = *state;
    calls_start(b, NULL, "nvidia-gpu.sock");
    b->unawaited = true;
    int64_t began_ms = loop_now_ms(b->loop);
    assert_int_equal(prefer(b, GPU("0") " " GPU("3"), "", 1), GRPC_OK);
    assert_true(loop_now_ms(b->loop) - began_ms >= PLUGIN_HOLD_MS);
    began_ms = loop_now_ms(b->loop);
    assert_int_equal(allocate(b, GPU("3")), GRPC_OK); /* the same container: once is enough */
    assert_true(loop_now_ms(b->loop) - began_ms < PLUGIN_HOLD_MS / 2);
    assert_int_equal(device_plugin_counts(b->plugin).unawaited_n, 1);
    ask_later(b, "Allocate", GPU("4"), 0);
    run(b, 20);
    grpc_client_free(b->client); /* the kubelet ends */
    b->client = NULL;
    run(b, 20);
    device_plugin_pods_changed(b->plugin);
    ask_later_and_end(b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_registers), TEST(test_registers_within_20_ms_of_the_socket), TEST(test_kubelet_refuses),
        TEST(test_kubelet_restarts_with_a_new_socket), TEST(test_kubelet_restarts_and_deletes_all), TEST(test_own_socket_deleted),
        TEST(test_directory_comes_later), TEST(test_two_agents), TEST(test_another_plugin_has_the_socket), TEST(test_socket_names),
        TEST(test_list), TEST(test_list_changes), TEST(test_resource_ends), TEST(test_list_too_long), TEST(test_options),
        TEST(test_allocate), TEST(test_allocate_refused), TEST(test_allocate_all_or_none), TEST(test_shared_one_only),
        TEST(test_preferred), TEST(test_held_until_the_pod_is_known), TEST(test_held_no_longer_than_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
