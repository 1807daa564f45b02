/* device_plugin.c - what the kubelet waits for: Allocate over the socket, and registration after its socket has appeared
 *
 *     agent.allocate     one Allocate of 2 of 8 GPUs with a journal, client and server in this process: both sides are in it
 *     agent.prefer       one GetPreferredAllocation of 4 of 8 GPUs over the socket
 *     agent.register     from the appearance of kubelet.sock to the Register call, the slowest of 200 restarts
 *     agent.list.56      from a change to the list at the kubelet, 56 MIG devices
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../tests/unit/agent/reading.h"
#include "agent/plugin/device_plugin.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/grpc/grpc.h"
#include "process.h"
#include "wire/protobuf.h"

#define LEAST_US 1000000
#define RESTARTS 200

struct bench {
    struct loop *loop;
    char root[64], directory[96], kubelet_path[128], journal[96], socket[128];
    struct test_node *node;
    struct machine machine;
    struct inventory *inventory;
    struct device_plugin *plugin;
    struct grpc_server *kubelet;
    struct grpc_client *client;
    uint64_t answers_n, lists_n, registers_n;
};

static void call_register(void *ctx, struct grpc_stream *s, struct bytes request)
{
    ((struct bench *)ctx)->registers_n++;
    grpc_reply(s, BYTES(""));
}
static const struct grpc_handler handlers[] = {{"/v1beta1.Registration/Register", call_register, NULL}};

static void run_until(struct bench *b, const uint64_t *counter, uint64_t n)
{
    int64_t start = clock_monotonic_us();
    while (*counter < n) {
        (void)loop_run_for(b->loop, *counter + 1 < n ? 1 : 0, NULL); /* its only failures are of virtual loops */
        must(clock_monotonic_us() - start < 10000000, "nothing happens for 10 s");
    }
}

static void on_answer(void *arg, enum grpc_status status, struct bytes message, const char *error_text)
{
    must(status == GRPC_OK && message.n > 10, error_text);
    ((struct bench *)arg)->answers_n++;
}

static void on_list(void *arg, bool ended, enum grpc_status status, struct bytes message)
{
    ((struct bench *)arg)->lists_n++;
}

/* `claim`: before each call the slots are another pod's, so that the journal has something to write. */
static void measure_calls(struct bench *b, const char *name, const char *method, struct bytes request, const char *const *claim)
{
    int64_t end = clock_monotonic_us() + LEAST_US, us = 0;
    uint64_t n = 0;
    b->answers_n = 0;
    while (clock_monotonic_us() < end) {
        if (claim)
            must(inventory_claim(b->inventory, "nvidia.com/gpu", claim, 2, "ns", "before", "c", NULL) == 0, "claim");
        int64_t start = clock_monotonic_us();
        (void)grpc_call(b->client, method, request, 0, on_answer, b);
        run_until(b, &b->answers_n, ++n);
        us += clock_monotonic_us() - start;
    }
    figure(name, (double)us / (double)n, "us");
}

static void measure_allocate(struct bench *b)
{
    const struct resource *r = &b->node->table.resources[0];
    struct buf request = {0};
    size_t mark = protobuf_begin(&request, 1);
    protobuf_text(&request, 1, r->slots[2].id);
    protobuf_text(&request, 1, r->slots[5].id);
    protobuf_end(&request, mark);
    measure_calls(b, "agent.allocate", "/v1beta1.DevicePlugin/Allocate", buf_view(&request),
                  (const char *[]){r->slots[2].id, r->slots[5].id});
    buf_clear(&request);
    mark = protobuf_begin(&request, 1);
    for (uint32_t i = 0; i < r->slots_n; i++)
        protobuf_text(&request, 1, r->slots[i].id);
    protobuf_int(&request, 3, 4);
    protobuf_end(&request, mark);
    measure_calls(b, "agent.prefer", "/v1beta1.DevicePlugin/GetPreferredAllocation", buf_view(&request), NULL);
    buf_free(&request);
}

static void measure_register(struct bench *b)
{
    int64_t worst_us = 0;
    for (uint64_t i = 1; i <= RESTARTS; i++) {
        int64_t start = clock_monotonic_us(), us;
        must(grpc_server_new(b->loop, b->kubelet_path, handlers, 1, b, &b->kubelet, NULL) == 0, "the kubelet cannot listen");
        run_until(b, &b->registers_n, i);
        us = clock_monotonic_us() - start;
        worst_us = us > worst_us ? us : worst_us;
        (void)loop_run_for(b->loop, 2, NULL); /* the answer arrives */
        grpc_server_free(b->kubelet);
        (void)loop_run_for(b->loop, 1, NULL);
    }
    b->kubelet = NULL;
    figure("agent.register", (double)worst_us / 1000, "ms");
}

static void table_set(struct bench *b)
{
    struct err e = {0};
    must(node_table(b->node, NULL, &e) == 0, e.text);
    device_plugin_set(b->plugin, &b->node->snapshot, &b->node->config, &b->machine, &b->node->table);
}

static void measure_list(struct bench *b)
{
    char path[160];
    struct grpc_client *client;
    for (uint32_t i = 0; i < 8; i++)
        node_mig(b->node, i, "1g.5gb", 0, 7);
    node_config(b->node, "flags: {migStrategy: mixed}");
    table_set(b);
    snprintf(path, sizeof path, "%s/nvidia-mig-1g.5gb.sock", b->directory);
    client = grpc_client_new(b->loop, path);
    (void)grpc_watch(client, "/v1beta1.DevicePlugin/ListAndWatch", BYTES(""), on_list, b);
    run_until(b, &b->lists_n, 1);
    int64_t start = clock_monotonic_us();
    uint64_t n = 1;
    for (; n < 2000; n++) {
        struct slot *slot = &b->node->table.resources[0].slots[n % 56];
        slot->state = slot_is_open(slot) ? SLOT_SUSPECT : SLOT_OPEN;
        device_plugin_set(b->plugin, &b->node->snapshot, &b->node->config, &b->machine, &b->node->table);
        run_until(b, &b->lists_n, n + 1);
    }
    figure("agent.list.56", (double)(clock_monotonic_us() - start) / (double)n, "us");
    grpc_client_free(client);
}

static void start(struct bench *b)
{
    const char *tmp = getenv("TMPDIR");
    struct err e = {0};
    snprintf(b->root, sizeof b->root, "%s/plugin-XXXXXX", tmp && strlen(tmp) < 30 ? tmp : "/tmp");
    must(mkdtemp(b->root) != NULL, "no directory");
    snprintf(b->directory, sizeof b->directory, "%s/d", b->root);
    snprintf(b->kubelet_path, sizeof b->kubelet_path, "%s/kubelet.sock", b->directory);
    snprintf(b->journal, sizeof b->journal, "%s/journal", b->root);
    snprintf(b->socket, sizeof b->socket, "%s/nvidia-gpu.sock", b->directory);
    must(mkdir(b->directory, 0700) == 0, "no directory");
    b->loop = loop_new();
    b->node = node_new("a100-40gb", 8);
    b->machine = (struct machine){.dev_root = "/"};
    must(inventory_open(b->loop, b->journal, &b->inventory, &e) == 0, e.text);
    b->plugin = device_plugin_new(b->loop, b->inventory, &(struct device_plugin_config){.directory = b->directory});
    table_set(b);
    (void)loop_run_for(b->loop, 5, NULL);
    b->client = grpc_client_new(b->loop, b->socket);
}

int main(void)
{
    struct bench b = {0};
    struct buf lock = {0};
    log_set_level(LOG_WARNING);
    start(&b);
    measure_allocate(&b);
    measure_register(&b);
    measure_list(&b);
    grpc_client_free(b.client);
    device_plugin_free(b.plugin);
    inventory_close(b.inventory);
    node_free(b.node);
    loop_free(b.loop);
    (void)unlink(b.journal);
    buf_text(&lock, b.journal);
    buf_text(&lock, ".lock");
    (void)unlink(lock.data);
    buf_free(&lock);
    (void)rmdir(b.directory);
    (void)rmdir(b.root);
    return 0;
}
