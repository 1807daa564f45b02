/* up.c - capstan up: an embedded cluster until Ctrl-C */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/configuration/configuration_file.h"
#include "cli/options.h"
#include "sim/cluster.h"
#include "sim/node/operator_values.h"

#define SHAPES_MAX 64
#define REAL_AGENTS_MAX 16
#define VALUES_MAX_BYTES (1u << 20)

struct up_options {
    struct cluster_config cluster;
    struct node_shape shapes[SHAPES_MAX];
    int32_t nodes_n[SHAPES_MAX];
    const char *real_agents[REAL_AGENTS_MAX];
    char *data_dir, *values;
    struct configuration configuration;
    struct arena *arena; /* what the configuration holds */
};

static void up_options_free(struct up_options *u)
{
    free(u->data_dir);
    free(u->values);
    arena_free(u->arena);
    free(u);
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

static int add_nodes(struct up_options *u, const struct options *o, const char *text)
{
    struct err e = {0};
    struct cluster_config *c = &u->cluster;
    if (c->shapes_n == SHAPES_MAX)
        return options_wrong(o, "--nodes: at most %d shapes", SHAPES_MAX);
    if (node_shape_parse(text, &u->nodes_n[c->shapes_n], &u->shapes[c->shapes_n], &e) < 0)
        return options_wrong(o, "--nodes: %s", e.text);
    c->shapes_n++;
    return EXIT_OK;
}

/* The file's text; what it asks for that is not served here is said. */
static int read_values(struct up_options *u, const struct options *o, const char *path)
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
    u->cluster.operator_values = u->values = buf_take(&text, NULL);
    if (r < 0)
        return options_wrong(o, "--operator-values: %s", e.text);
    char *save = NULL;
    for (char *line = warnings.n ? strtok_r(warnings.data, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
        fprintf(stderr, "capstan up: --operator-values: %s\n", line);
    return EXIT_OK;
}

static int add_real_agent(struct up_options *u, const struct options *o, const char *node)
{
    if (u->cluster.real_agents_n == REAL_AGENTS_MAX)
        return options_wrong(o, "--real-agent: at most %d", REAL_AGENTS_MAX);
    u->real_agents[u->cluster.real_agents_n++] = node;
    return EXIT_OK;
}

/* What may be given several times. */
static int take_given(struct up_options *u, const struct options *o)
{
    int code = EXIT_OK;
    for (uint32_t i = 0; i < o->given_n && code == EXIT_OK; i++)
        if (o->given[i].id == OPT_UP_NODES)
            code = add_nodes(u, o, o->given[i].text);
        else if (o->given[i].id == OPT_UP_REAL_AGENT)
            code = add_real_agent(u, o, o->given[i].text);
    for (uint32_t i = 0, n = u->cluster.shapes_n; code == EXIT_OK && n == 0 && i < cluster_default_nodes_n; i++)
        code = add_nodes(u, o, cluster_default_nodes[i]);
    return code;
}

/* Here is one scheduler: nobody is elected. */
static int take_configuration(struct up_options *u, const struct options *o)
{
    const char *path = option_text(o, OPT_UP_CONFIG);
    const struct configuration *c = &u->configuration;
    u->arena = arena_new();
    int code = configuration_file_take(o, path, u->arena, &u->configuration);
    if (code == EXIT_OK && (c->leader_elect != CONFIGURATION_UNSET || c->lease_namespace))
        fprintf(stderr, "capstan up: --config %s: leaderElection does nothing: this process has the only scheduler\n", path);
    if (code == EXIT_OK && (c->unqueued || c->no_pods))
        fprintf(stderr, "capstan up: --config %s: integrations.frameworks does nothing: all kinds are queued here\n",
                path);
    u->cluster.policy = c->policy;
    u->cluster.policy.volcano_preempt = option_flag(o, OPT_UP_VOLCANO_PREEMPT);
    u->cluster.workloads = &c->workloads;
    u->cluster.charge = &c->charge;
    u->cluster.metrics = &c->metrics;
    return code;
}

static int take(struct up_options *u, const struct options *o)
{
    const char *values = option_text(o, OPT_UP_OPERATOR_VALUES);
    u->cluster = (struct cluster_config){.data_dir = option_text(o, OPT_UP_DATA_DIR),
                                         .listen = option_text(o, OPT_UP_LISTEN),
                                         .mig_evicts = option_word(o, OPT_UP_MIG_BUSY) == 1,
                                         .tls = option_flag(o, OPT_UP_TLS),
                                         .strict_kueue = option_flag(o, OPT_UP_STRICT_KUEUE),
                                         .shapes = u->shapes,
                                         .nodes_n = u->nodes_n,
                                         .real_agents = u->real_agents};
    if (!u->cluster.data_dir)
        u->cluster.data_dir = u->data_dir = default_data_dir();
    (void)log_set_level_named(option_text(o, OPT_UP_LOG_LEVEL)); /* it is one of the four */
    if (!cluster_speed_parse(option_text(o, OPT_UP_SPEED), &u->cluster.speed))
        return options_wrong(o, "--speed: a number from 0.001 to 1000000");
    int code = take_configuration(u, o);
    if (code == EXIT_OK)
        code = take_given(u, o);
    return code == EXIT_OK && values ? read_values(u, o, values) : code;
}

static void on_signal(void *arg)
{
    loop_stop(arg);
}

int up_main(const struct options *o)
{
    struct up_options *u = mem_zero(1, sizeof *u);
    int r = take(u, o);
    if (r != EXIT_OK) {
        up_options_free(u);
        return r;
    }
    struct err e = {0};
    struct loop *l = loop_new();
    struct loop_signal *stop = loop_signal_new(l, SIGINT, on_signal, l),
                       *term = loop_signal_new(l, SIGTERM, on_signal, l);
    struct cluster *c = NULL;
    r = cluster_start(l, &u->cluster, &c, &e);
    if (r == 0) {
        printf(
            "cluster:     %s  (%u simulated nodes)\npage:        %s/ui/\nkubeconfig:  %s\n\n  export KUBECONFIG=%s\n  kubectl get nodes\n",
            cluster_url(c), cluster_nodes(c), cluster_url(c), cluster_kubeconfig(c), cluster_kubeconfig(c));
        fflush(stdout);
        r = loop_run(l, &e);
    }
    if (r < 0)
        fprintf(stderr, "capstan up: %s\n", e.text);
    cluster_stop(c);
    loop_signal_free(stop);
    loop_signal_free(term);
    loop_free(l);
    up_options_free(u);
    return r < 0 ? EXIT_USAGE : EXIT_OK;
}
