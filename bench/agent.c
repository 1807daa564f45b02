/* agent.c - memory of a running agent: libnvsim below, a kubelet beside, the embedded API server above
 *
 *     agent.private.8gpu   8 GPUs, KB    agent.private.56mig   8 GPUs with 7 MIG devices each, KB: what the machine has less for this
 *     process agent.rss.8gpu       the same with the pages of files that it has mapped, which the page cache holds once for all
 *
 * What libnvidia-ml maps (its own pages and the simulated driver's state) is not counted. Measured after 40 s: registered, labelled,
 * watching.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/log.h"
#include "net/grpc/grpc.h"
#include "process.h"

#define SETTLE_MS 40000
#define WAIT_MS 20000

struct bench {
    struct loop *loop;
    const char *build, *root;
    struct grpc_server *kubelet;
    struct grpc_client *client;
    int registers_n, lists_n, port;
    bool mig;
};

/* ---- the kubelet ---- */

static void on_list(void *arg, bool ended, enum grpc_status status, struct bytes message)
{
    struct bench *b = arg;
    b->lists_n += !ended && status == GRPC_OK && message.n > 0;
}

/* The endpoint is field 2 of the request, its second text: one resource is all that is registered here. */
static void on_register(void *ctx, struct grpc_stream *s, struct bytes request)
{
    struct bench *b = ctx;
    const char *begin = memmem(request.data, request.n, "nvidia-", 7), *stop = begin ? memmem(begin, request.n, ".sock", 5) : NULL;
    must(begin && stop, "no socket in the registration");
    char name[128], path[256];
    (void)snprintf(name, sizeof name, "%.*s.sock", (int)(stop - begin), begin);
    (void)snprintf(path, sizeof path, "%s/plugins/%s", b->root, name);
    must(!strstr(name, "mig-") == !b->mig, "another resource than expected");
    grpc_reply(s, BYTES(""));
    b->registers_n++;
    grpc_client_free(b->client);
    b->client = grpc_client_new(b->loop, path);
    (void)grpc_watch(b->client, "/v1beta1.DevicePlugin/ListAndWatch", BYTES(""), on_list, b);
}
static const struct grpc_handler handlers[] = {{"/v1beta1.Registration/Register", on_register, NULL}};

/* ---- the API server ---- */

static void create_node(struct bench *b)
{
    static const char body[] = "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"bench\"}}";
    char text[512], answer[64] = "";
    int fd = -1;
    for (int i = 0; i < 200 && (fd = port_connect(b->port)) < 0; i++)
        (void)usleep(50000);
    must(fd >= 0, "the API server does not come up");
    int n = snprintf(text, sizeof text,
                     "POST /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     sizeof body - 1, body);
    must(write(fd, text, (size_t)n) == n && read(fd, answer, sizeof answer - 1) > 12 && strstr(answer, " 201 "),
         "the node was not created");
    (void)close(fd);
}

/* ---- the figure ---- */

static void print_memory(pid_t agent, const char *devices)
{
    long private_kb, resident_kb = process_resident_kb(agent, &private_kb);
    char name[64];
    (void)snprintf(name, sizeof name, "agent.private.%s", devices);
    figure(name, (double)private_kb, "KB");
    (void)snprintf(name, sizeof name, "agent.rss.%s", devices);
    figure(name, (double)resident_kb, "KB");
}

static void run_until(struct bench *b, const int *counter, int n, const char *what)
{
    for (int i = 0; i < WAIT_MS / 50 && *counter < n; i++)
        (void)loop_run_for(b->loop, 50, NULL);
    must(*counter >= n, what);
}

static void bench_one(struct bench *b, bool mig, const char *devices)
{
    const char *capstan = path_of(b->build, "capstan"), *node = path_of(b->root, "node");
    const char *library = path_of(b->build, "libnvsim/libnvidia-ml.so.1");
    char reset[700];
    (void)snprintf(reset, sizeof reset, "%s nvsim reset --gpu {index}", capstan);
    must(setenv("NVSIM_STATE", path_of(b->root, "node/state"), 1) == 0, "setenv");
    process_run((const char *const[]){"/bin/rm", "-rf", node, NULL});
    process_run((const char *const[]){capstan, "nvsim", "create", node, "--model", "a100-40gb", "--gpus", "8", "--node", "bench", NULL});
    if (mig)
        process_run(
            (const char *const[]){capstan, "mig", "apply", "-c", "all-1g.5gb", "--library", library, "--reset-command", reset, NULL});
    b->registers_n = b->lists_n = 0;
    b->mig = mig;
    pid_t agent = process_start((const char *const[]){capstan, "agent", "--node-name", "bench", "--library", library,
                                                      "--kubeconfig", path_of(b->root, "up/kubeconfig"),
                                                      "--plugin-dir", path_of(b->root, "plugins"),
                                                      "--state-dir", path_of(b->root, "state"),
                                                      "--pod-resources-socket", path_of(b->root, "pods.sock"),
                                                      "--cdi-dir", path_of(b->root, "cdi"),
                                                      "--device-list-strategy", "cdi-cri",
                                                      "--mig-strategy", mig ? "mixed" : "none",
                                                      "--root", path_of(b->root, "node/root"),
                                                      "--output-file", path_of(b->root, "features"), NULL});
    run_until(b, &b->lists_n, 1, "the agent does not register");
    (void)loop_run_for(b->loop, SETTLE_MS, NULL);
    print_memory(agent, devices);
    process_end(&agent);
    grpc_client_free(b->client);
    b->client = NULL;
}

int main(void)
{
    struct bench b = {.build = process_build(), .root = process_folder("agent")};
    struct err e = {0};
    log_set_level(LOG_ERROR);
    const char *capstan = path_of(b.build, "capstan");
    must(access(capstan, X_OK) == 0 && access(path_of(b.build, "libnvsim/libnvidia-ml.so.1"), F_OK) == 0,
         "build capstan and libnvsim first");
    b.loop = loop_new();
    b.port = port_free();
    char listen[32];
    (void)snprintf(listen, sizeof listen, "127.0.0.1:%d", b.port);
    pid_t up = process_start(
        (const char *const[]){capstan, "up", "--nodes", "1:t4", "--data-dir", path_of(b.root, "up"), "--listen", listen, NULL});
    create_node(&b);
    const char *plugins = path_of(b.root, "plugins");
    must(mkdir(plugins, 0700) == 0, "no plugins directory");
    must(grpc_server_new(b.loop, path_of(plugins, "kubelet.sock"), handlers, 1, &b, &b.kubelet, &e) == 0, e.text);
    bench_one(&b, false, "8gpu");
    bench_one(&b, true, "56mig");
    process_end(&up);
    grpc_server_free(b.kubelet);
    loop_free(b.loop);
    return 0;
}
