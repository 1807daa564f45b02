/* agent.c - resident memory of a running agent: libnvsim below, a kubelet beside, the embedded API server above
 *
 *     agent.rss.8gpu    8 GPUs, KB    agent.rss.56mig   8 GPUs with 7 MIG devices each, KB
 *     ....anon          of it, what belongs to this process alone
 *
 * What libnvidia-ml maps (its own pages and the simulated driver's state) is not counted. Measured after 40 s: registered, labelled, watching.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/log.h"
#include "net/grpc.h"

#define SETTLE_MS 40000
#define WAIT_MS 20000

extern char **environ;

struct bench {
    struct loop *loop;
    char build[512], root[64], text[16][640];
    struct grpc_server *kubelet;
    struct grpc_client *client;
    int registers_n, lists_n, port;
    bool mig;
    pid_t up, agent;
};

static void end(struct bench *b)
{
    for (int i = 0; i < 2; i++) {
        pid_t pid = i ? b->up : b->agent;
        if (pid > 0 && kill(pid, SIGTERM) == 0)
            (void)waitpid(pid, NULL, 0);
    }
    b->up = b->agent = 0;
}

static struct bench *running;

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bench agent: %s\n", what);
    end(running);
    exit(1);
}

static pid_t start(struct bench *b, const char *const argv[], bool wait)
{
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        (void)dup2(null, 0);
        (void)dup2(null, 1);
        if (!getenv("BENCH_LOG"))
            (void)dup2(null, 2);
        execve(argv[0], (char *const *)argv, environ);
        _exit(127);
    }
    int status = 0;
    if (wait) {
        must(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0, argv[2]);
        return 0;
    }
    (void)b;
    return pid;
}

static const char *path_of(struct bench *b, int at, const char *folder, const char *name)
{
    must(snprintf(b->text[at], sizeof b->text[at], "%s/%s", folder, name) < (int)sizeof b->text[at], "path too long");
    return b->text[at];
}

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

static int connect_to(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static void create_node(struct bench *b)
{
    static const char body[] = "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"bench\"}}";
    char text[512], answer[64] = "";
    int fd = -1;
    for (int i = 0; i < 200 && (fd = connect_to(b->port)) < 0; i++)
        (void)usleep(50000);
    must(fd >= 0, "the API server does not come up");
    int n = snprintf(text, sizeof text,
                     "POST /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     sizeof body - 1, body);
    must(write(fd, text, (size_t)n) == n && read(fd, answer, sizeof answer - 1) > 12 && strstr(answer, " 201 "), "the node was not created");
    (void)close(fd);
}

static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && getsockname(fd, (struct sockaddr *)&at, &n) == 0, "no port");
    (void)close(fd);
    return ntohs(at.sin_port);
}

/* ---- the figure ---- */

static void print_rss(struct bench *b, const char *figure)
{
    char path[64], line[512];
    bool counts = true;
    long rss = 0, anonymous = 0, kb;
    (void)snprintf(path, sizeof path, "/proc/%d/smaps", (int)b->agent);
    FILE *f = fopen(path, "re");
    must(f != NULL, "the agent is gone");
    while (fgets(line, sizeof line, f)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            counts = !strstr(line, "libnvidia-ml") && !strstr(line, "/node/state");
        else if (counts && sscanf(line, "Rss: %ld", &kb) == 1)
            rss += kb;
        else if (counts && sscanf(line, "Anonymous: %ld", &kb) == 1)
            anonymous += kb;
    }
    (void)fclose(f);
    printf("{\"name\":\"%s\",\"value\":%ld,\"unit\":\"KB\"}\n", figure, rss);
    printf("{\"name\":\"%s.anon\",\"value\":%ld,\"unit\":\"KB\"}\n", figure, anonymous);
}

static void run_until(struct bench *b, const int *counter, int n, const char *what)
{
    for (int i = 0; i < WAIT_MS / 50 && *counter < n; i++)
        (void)loop_run_for(b->loop, 50, NULL);
    must(*counter >= n, what);
}

static void remove_folder(struct bench *b, const char *path)
{
    const char *const argv[] = {"/bin/rm", "-rf", path, NULL};
    (void)start(b, argv, true);
}

static void bench_one(struct bench *b, bool mig, const char *figure)
{
    const char *capstan = path_of(b, 0, b->build, "capstan"), *node = path_of(b, 1, b->root, "node"), *state = path_of(b, 2, b->root, "node/state");
    const char *library = path_of(b, 3, b->build, "libnvsim/libnvidia-ml.so.1");
    char reset[700];
    (void)snprintf(reset, sizeof reset, "%s nvsim reset --gpu {index}", capstan);
    must(setenv("NVSIM_STATE", state, 1) == 0, "setenv");
    remove_folder(b, node);
    const char *const create[] = {capstan, "nvsim", "create", node, "--model", "a100-40gb", "--gpus", "8", "--node", "bench", NULL};
    (void)start(b, create, true);
    const char *const split[] = {capstan, "mig", "apply", "-c", "all-1g.5gb", "--library", library, "--reset-command", reset, NULL};
    if (mig)
        (void)start(b, split, true);
    b->registers_n = b->lists_n = 0;
    b->mig = mig;
    const char *const agent[] = {capstan, "agent", "--node-name", "bench", "--library", library, "--kubeconfig", path_of(b, 4, b->root, "up/kubeconfig"),
                                 "--plugin-dir", path_of(b, 5, b->root, "plugins"), "--state-dir", path_of(b, 6, b->root, "state"),
                                 "--pod-resources-socket", path_of(b, 7, b->root, "pods.sock"), "--cdi-dir", path_of(b, 8, b->root, "cdi"),
                                 "--device-list-strategy", "cdi-cri", "--mig-strategy", mig ? "mixed" : "none", "--root",
                                 path_of(b, 9, b->root, "node/root"), "--output-file", path_of(b, 10, b->root, "features"), NULL};
    b->agent = start(b, agent, false);
    run_until(b, &b->lists_n, 1, "the agent does not register");
    (void)loop_run_for(b->loop, SETTLE_MS, NULL);
    print_rss(b, figure);
    (void)kill(b->agent, SIGTERM);
    (void)waitpid(b->agent, NULL, 0);
    b->agent = 0;
    grpc_client_free(b->client);
    b->client = NULL;
}

int main(void)
{
    static struct bench b;
    struct err e = {0};
    running = &b;
    log_set_level(LOG_ERROR);
    ssize_t n = readlink("/proc/self/exe", b.build, sizeof b.build - 1);
    must(n > 0, "where am I?");
    for (int i = 0; i < 2; i++) /* .../bench/bench_agent */
        *strrchr(b.build, '/') = '\0';
    if (access(path_of(&b, 0, b.build, "capstan"), X_OK) != 0 || access(path_of(&b, 0, b.build, "libnvsim/libnvidia-ml.so.1"), F_OK) != 0) {
        fprintf(stderr, "bench agent: build capstan and libnvsim first\n");
        return 1;
    }
    (void)snprintf(b.root, sizeof b.root, "%.30s/bench-agent-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    must(mkdtemp(b.root) != NULL, "no directory");
    b.loop = loop_new();
    b.port = free_port();
    char listen[32], plugins[128];
    (void)snprintf(listen, sizeof listen, "127.0.0.1:%d", b.port);
    const char *const up[] = {path_of(&b, 0, b.build, "capstan"), "up", "--nodes", "1:t4", "--data-dir", path_of(&b, 1, b.root, "up"), "--listen", listen, NULL};
    b.up = start(&b, up, false);
    create_node(&b);
    (void)snprintf(plugins, sizeof plugins, "%s/plugins", b.root);
    must(mkdir(plugins, 0700) == 0, "no plugins directory");
    char kubelet[160];
    (void)snprintf(kubelet, sizeof kubelet, "%s/kubelet.sock", plugins);
    must(grpc_server_new(b.loop, kubelet, handlers, 1, &b, &b.kubelet, &e) == 0, e.text);
    bench_one(&b, false, "agent.rss.8gpu");
    bench_one(&b, true, "agent.rss.56mig");
    end(&b);
    grpc_server_free(b.kubelet);
    loop_free(b.loop);
    remove_folder(&b, b.root);
    return 0;
}
