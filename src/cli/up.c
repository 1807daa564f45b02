/* up.c - capstan up: an embedded cluster until Ctrl-C */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "sim/cluster.h"
#include "sim/node/operator_values.h"

#define SHAPES_MAX 64
#define REAL_AGENTS_MAX 16
#define VALUES_MAX_BYTES (1u << 20)

static const char help[] =
    "Usage: capstan up [OPTIONS]\n"
    "Start a Kubernetes API server, the Capstan scheduler and simulated GPU nodes in this process. kubectl is the "
    "front door.\n\n"
    "      --data-dir DIR    where the cluster is kept (default: $XDG_DATA_HOME/capstan or ~/.local/share/capstan)\n"
    "      --listen ADDR     address (default 127.0.0.1:8080, where kubectl looks without a kubeconfig; port 0 = any "
    "free)\n"
    "      --nodes N:SHAPE   simulated nodes, may be repeated; shapes: cpu and GPU models (a100-40gb, h100-80gb, t4, "
    "l4, ...),\n"
    "                        or gpus=8,product=NVIDIA-B200,cpu=192,memory=2Ti; split with ,mig=1g.5gb ,mps=10 "
    ",replicas=4\n"
    "                        (default: 2:a100-40gb 4:t4 1:a100-40gb,gpus=2,mig=1g.5gb 1:t4,gpus=2,mps=10 1:cpu)\n"
    "      --operator-values FILE\n"
    "                        values.yaml of NVIDIA's GPU operator: which ConfigMap of namespace gpu-operator shares "
    "the GPUs, and the MIG strategy\n"
    "      --real-agent NODE a `capstan agent` process of its own serves this node (a100-40gb-0), on simulated GPUs "
    "behind\n"
    "                        libnvidia-ml.so.1; may be repeated\n"
    "      --mig-busy refuse|evict\n"
    "                        a MIG layout that needs GPUs in use fails (default), or evicts their pods as budgets "
    "allow\n"
    "      --speed X         simulated pods run X times faster (default 1)\n"
    "      --tls             serve HTTPS with certificates made in DIR/pki; needed when ADDR is not loopback\n"
    "      --strict-kueue    refuse what Kueue itself refuses, instead of a Warning\n"
    "      --log-level L     debug, info, warning (default) or error\n"
    "  -h, --help            this text\n\n"
    "Example:\n"
    "  capstan up --data-dir ./c1 --listen 127.0.0.1:6443 --nodes 100:h100-80gb &\n"
    "  export KUBECONFIG=./c1/kubeconfig\n"
    "  kubectl get nodes\n";

struct up_options {
    struct cluster_config cluster;
    struct node_shape shapes[SHAPES_MAX];
    int32_t nodes_n[SHAPES_MAX];
    const char *real_agents[REAL_AGENTS_MAX];
    char *data_dir, *values;
};

static int usage(const char *text)
{
    fprintf(stderr, "capstan up: %s\nSee capstan up --help\n", text);
    return EXIT_USAGE;
}

static char *default_data_dir(void)
{
    const char *base = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    struct buf path = {0};
    if (base && *base)
        buf_printf(&path, "%s/capstan", base);
    else
        buf_printf(&path, "%s/.local/share/capstan", home && *home ? home : ".");
    return buf_take(&path, NULL);
}

static int add_nodes(struct up_options *o, const char *text)
{
    struct err e = {0};
    struct cluster_config *c = &o->cluster;
    if (c->shapes_n == SHAPES_MAX)
        return usage("--nodes: at most 64 shapes");
    if (node_shape_parse(text, &o->nodes_n[c->shapes_n], &o->shapes[c->shapes_n], &e) < 0) {
        fprintf(stderr, "capstan up: --nodes: %s\n", e.text);
        return EXIT_USAGE;
    }
    c->shapes_n++;
    return EXIT_OK;
}

/* The file's text; what it asks for that is not served here is said. */
static int read_values(struct up_options *o, const char *path)
{
    struct err e = {0};
    struct operator_values values;
    struct buf text = {0};
    _cleanup_buf_ struct buf warnings = {0};
    _cleanup_arena_ struct arena *a = arena_new();
    int r = file_read(path, VALUES_MAX_BYTES, &text, &e);
    if (r == 0) {
        r = operator_values_parse(a, buf_view(&text), &values, &warnings, &e);
        if (r < 0)
            err_wrap(&e, "%s", path);
    }
    free(o->values);
    o->cluster.operator_values = o->values = buf_take(&text, NULL);
    if (r < 0) {
        fprintf(stderr, "capstan up: --operator-values: %s\n", e.text);
        return EXIT_USAGE;
    }
    char *save = NULL;
    for (char *line = strtok_r(warnings.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        fprintf(stderr, "capstan up: --operator-values: %s\n", line);
    return EXIT_OK;
}

static int set_mig_busy(struct up_options *o, const char *text)
{
    o->cluster.mig_evicts = text_equal(text, "evict");
    return o->cluster.mig_evicts || text_equal(text, "refuse") ? EXIT_OK : usage("--mig-busy: use refuse or evict");
}

static int add_real_agent(struct up_options *o, const char *node)
{
    if (o->cluster.real_agents_n == REAL_AGENTS_MAX)
        return usage("--real-agent: at most 16");
    o->real_agents[o->cluster.real_agents_n++] = node;
    return EXIT_OK;
}

/* -1: the help was asked for. */
static int take_option(struct up_options *o, int c)
{
    switch (c) {
    case 'd':
        o->cluster.data_dir = optarg;
        return EXIT_OK;
    case 'l':
        o->cluster.listen = optarg;
        return EXIT_OK;
    case 'n':
        return add_nodes(o, optarg);
    case 'r':
        return add_real_agent(o, optarg);
    case 'o':
        return read_values(o, optarg);
    case 's':
        return cluster_speed_parse(optarg, &o->cluster.speed) ? EXIT_OK
                                                              : usage("--speed: a number from 0.001 to 1000000");
    case 'm':
        return set_mig_busy(o, optarg);
    case 't':
        o->cluster.tls = true;
        return EXIT_OK;
    case 'k':
        o->cluster.strict_kueue = true;
        return EXIT_OK;
    case 'v':
        return log_set_level_named(optarg) ? EXIT_OK : usage("--log-level: use debug, info, warning or error");
    case 'h':
        fputs(help, stdout);
        return -1;
    default:
        return usage("unknown option");
    }
}

static int parse(int argc, char **argv, struct up_options *o)
{
    static const struct option options[] = {{"data-dir", required_argument, NULL, 'd'},
                                            {"listen", required_argument, NULL, 'l'},
                                            {"nodes", required_argument, NULL, 'n'},
                                            {"operator-values", required_argument, NULL, 'o'},
                                            {"real-agent", required_argument, NULL, 'r'},
                                            {"mig-busy", required_argument, NULL, 'm'},
                                            {"speed", required_argument, NULL, 's'},
                                            {"tls", no_argument, NULL, 't'},
                                            {"strict-kueue", no_argument, NULL, 'k'},
                                            {"log-level", required_argument, NULL, 'v'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    o->cluster = (struct cluster_config){.listen = "127.0.0.1:8080",
                                         .speed = 1,
                                         .shapes = o->shapes,
                                         .nodes_n = o->nodes_n,
                                         .real_agents = o->real_agents};
    int r = EXIT_OK;
    for (int c; r == EXIT_OK && (c = getopt_long(argc, argv, "h", options, NULL)) != -1;)
        r = take_option(o, c);
    if (r == EXIT_OK && optind < argc)
        return usage("no arguments are expected after the options");
    for (uint32_t i = 0, n = o->cluster.shapes_n; r == EXIT_OK && n == 0 && i < cluster_default_nodes_n; i++)
        r = add_nodes(o, cluster_default_nodes[i]);
    if (!o->cluster.data_dir)
        o->cluster.data_dir = o->data_dir = default_data_dir();
    return r;
}

static void on_signal(void *arg)
{
    loop_stop(arg);
}

int up_main(int argc, char **argv)
{
    struct up_options *o = mem_zero(1, sizeof *o);
    log_set_level(LOG_WARNING);
    int r = parse(argc, argv, o);
    if (r != EXIT_OK) {
        free(o->data_dir);
        free(o->values);
        free(o);
        return r < 0 ? EXIT_OK : r;
    }
    struct err e = {0};
    struct loop *l = loop_new();
    struct loop_signal *stop = loop_signal_new(l, SIGINT, on_signal, l),
                       *term = loop_signal_new(l, SIGTERM, on_signal, l);
    struct cluster *c = NULL;
    r = cluster_start(l, &o->cluster, &c, &e);
    if (r == 0) {
        printf(
            "cluster:     %s  (%u simulated nodes)\nkubeconfig:  %s\n\n  export KUBECONFIG=%s\n  kubectl get nodes\n",
            cluster_url(c), cluster_nodes(c), cluster_kubeconfig(c), cluster_kubeconfig(c));
        fflush(stdout);
        r = loop_run(l, &e);
    }
    if (r < 0)
        fprintf(stderr, "capstan up: %s\n", e.text);
    cluster_stop(c);
    loop_signal_free(stop);
    loop_signal_free(term);
    loop_free(l);
    free(o->data_dir);
    free(o->values);
    free(o);
    return r < 0 ? EXIT_USAGE : EXIT_OK;
}
