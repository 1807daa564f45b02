/* plugin_server.c - the device plugin without the rest of the agent, for kubelets that are not ours
 *
 *     plugin_server DIRECTORY STATE_DIRECTORY MODEL GPUS [CONFIG.yaml [RESOURCES_SOCKET]]
 *
 * Words on standard input, one a line: `config FILE`, `unhealthy N`, `healthy N` (unit), `mig GPU PROFILE COUNT`, `owners` (ask
 * podresources and print), `counts`, `rss`, `quit`. Each is answered by one line on standard output.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "../unit/agent/reading.h"
#include "agent/inventory/pod_resources.h"
#include "agent/plugin/device_plugin.h"

struct server {
    struct loop *loop;
    struct test_node *node;
    struct machine machine;
    struct inventory *inventory;
    struct device_plugin *plugin;
    struct pod_resources *pods;
    struct loop_poll *input;
    struct buf line;
    int healths[1024]; /* by unit: enum unit_health */
    struct resource_table tables[2];
};

static int file_read(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "rb");
    size_t n;
    if (!f)
        return -1;
    while ((n = fread(buf_reserve(out, 4096), 1, 4096, f)) > 0)
        out->n += n;
    buf_char(out, 0);
    out->n--;
    (void)fclose(f);
    return 0;
}

static void table_set(struct server *s)
{
    struct err e = {0};
    const struct inventory_snapshot *snapshot = node_done(s->node);
    for (uint32_t i = 0; i < snapshot->units_n && i < 1024; i++)
        snapshot->units[i].health = (enum unit_health)s->healths[i];
    struct resource_table table;
    if (resource_table_make(s->node->arena, snapshot, &s->node->config, &table, NULL, &e) < 0) {
        printf("error %s\n", e.text);
        return;
    }
    s->node->table = table;
    device_plugin_set(s->plugin, &s->node->snapshot, &s->node->config, &s->machine, &s->node->table);
    printf("ok");
    for (uint32_t i = 0; i < table.resources_n; i++)
        printf(" %s=%u", table.resources[i].name, table.resources[i].slots_n);
    printf("\n");
}

static void config_read(struct server *s, const char *path)
{
    _cleanup_buf_ struct buf text = {0};
    struct err e = {0};
    if (file_read(path, &text) < 0) {
        printf("error %s: %s\n", path, strerror(errno));
    } else if (agent_config_parse(s->node->arena, buf_view(&text), NULL, 0, &s->node->config, NULL, &e) < 0) {
        printf("error %s\n", e.text);
    } else {
        table_set(s);
    }
}

static void owners_print(void *arg, int code, const struct slot_owner *owners, uint32_t n, const struct err *e)
{
    printf("owners %d %u", code, n);
    for (uint32_t i = 0; i < n; i++)
        printf(" %s=%s:%s/%s/%s", owners[i].resource, owners[i].slot, owners[i].ns, owners[i].pod, owners[i].container);
    printf("\n");
    (void)fflush(stdout);
}

static long rss_kb(void)
{
    char text[256] = "";
    long pages_n = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fgets(text, sizeof text, f))
        (void)sscanf(text, "%*d %ld", &pages_n);
    if (f)
        (void)fclose(f);
    return pages_n * (sysconf(_SC_PAGESIZE) / 1024);
}

static int fds_count(void)
{
    int n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void word_do(struct server *s, char *line)
{
    char word[32] = "", argument[512] = "", profile[64] = "";
    unsigned count = 1;
    (void)sscanf(line, "%31s %511s %63s %u", word, argument, profile, &count);
    unsigned number = (unsigned)strtoul(argument, NULL, 10) % 1024;
    struct device_plugin_counts n = device_plugin_counts(s->plugin);
    if (text_equal(word, "config")) {
        config_read(s, argument);
    } else if (text_equal(word, "unhealthy") || text_equal(word, "healthy")) {
        s->healths[number] = text_equal(word, "healthy") ? UNIT_HEALTHY : UNIT_SUSPECT;
        table_set(s);
    } else if (text_equal(word, "mig")) {
        node_mig(s->node, number, profile, 0, count);
        table_set(s);
    } else if (text_equal(word, "owners")) {
        pod_resources_list(s->pods, owners_print, s);
    } else if (text_equal(word, "counts")) {
        printf("counts registrations=%lu failures=%lu allocations=%lu refusals=%lu lists=%lu registered=%d owners=%u\n",
               (unsigned long)n.registrations_n, (unsigned long)n.registration_failures_n, (unsigned long)n.allocations_n,
               (unsigned long)n.refusals_n, (unsigned long)n.lists_n, device_plugin_registered(s->plugin),
               inventory_now(s->inventory)->owners_n);
    } else if (text_equal(word, "rss")) {
        printf("rss %ld fds %d\n", rss_kb(), fds_count());
    } else {
        loop_stop(s->loop);
    }
    (void)fflush(stdout);
}

static void input_ready(void *arg, int events)
{
    struct server *s = arg;
    char data[512];
    ssize_t n = read(STDIN_FILENO, data, sizeof data);
    if (n <= 0) {
        loop_stop(s->loop);
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        if (data[i] != '\n') {
            buf_char(&s->line, data[i]);
            continue;
        }
        word_do(s, s->line.data ? s->line.data : (char[]){""});
        buf_clear(&s->line);
    }
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        (void)fprintf(stderr, "usage: plugin_server DIRECTORY STATE_DIRECTORY MODEL GPUS [CONFIG.yaml [RESOURCES_SOCKET]]\n");
        return 2;
    }
    struct server s = {.loop = loop_new(), .machine = {.dev_root = "/", .has_ctl = true, .has_uvm = true, .has_uvm_tools = true}};
    struct err e = {0};
    char journal[512];
    (void)snprintf(journal, sizeof journal, "%s/journal", argv[2]);
    s.node = node_new(argv[3], (uint32_t)strtoul(argv[4], NULL, 10));
    if (inventory_open(s.loop, journal, &s.inventory, &e) < 0) {
        (void)fprintf(stderr, "plugin_server: %s\n", e.text);
        return 1;
    }
    s.plugin = device_plugin_new(s.loop, s.inventory, &(struct device_plugin_config){.directory = argv[1]});
    s.pods = pod_resources_new(s.loop, argc > 6 ? argv[6] : "/var/lib/kubelet/pod-resources/kubelet.sock");
    if (argc > 5 && argv[5][0])
        config_read(&s, argv[5]);
    else
        table_set(&s);
    (void)fflush(stdout);
    s.input = loop_poll_new(s.loop, STDIN_FILENO, input_ready, &s);
    loop_poll_set(s.input, LOOP_READ);
    int r = loop_run(s.loop, &e);
    loop_poll_free(s.input);
    pod_resources_free(s.pods);
    device_plugin_free(s.plugin);
    inventory_close(s.inventory);
    node_free(s.node);
    loop_free(s.loop);
    buf_free(&s.line);
    return r < 0;
}
