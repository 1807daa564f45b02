/* agent.c - capstan agent: the node agent as a process; and looks at a node without serving it (--print, --once, --status) */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/agent.h"
#include "agent/mps/mps_keeper.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/quantity.h"
#include "cli/agent/agent_print.h"
#include "cli/cli.h"

extern char **environ;

/* NULL where it is empty, too. */
static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

/* many: given twice means both. */
static void add_setting(struct agent_command *c, const char *path, const char *value, const char *from, bool many)
{
    struct config_setting *last = NULL;
    for (uint32_t i = c->environment_n; many && i < c->settings_n; i++)
        if (text_equal(c->settings[i].path, path))
            last = &c->settings[i];
    if (last) {
        last->value = arena_printf(c->arena, "%s,%s", last->value, value);
        return;
    }
    c->settings = mem_grow(c->settings, c->settings_n + 1, sizeof *c->settings);
    c->settings[c->settings_n++] = (struct config_setting){path, value, from};
}

/* NVIDIA's settings: those of the environment, then those of the command line, which win. */
static void take_settings(struct agent_command *c)
{
    const struct options *o = c->given;
    struct config_setting *found = NULL;
    c->environment_n = config_settings_of_environment(c->arena, environ, &found);
    for (uint32_t i = 0; i < c->environment_n; i++)
        add_setting(c, found[i].path, found[i].value, found[i].from, false);
    for (uint32_t i = 0; i < o->given_n; i++) {
        const struct option_row *row = &o->command->options[o->given[i].id];
        const char *path;
        if (row->role == OPTION_IS_SETTING && config_setting_of_flag(row->name, &path, NULL))
            add_setting(c, path, o->given[i].text, arena_printf(c->arena, "--%s", row->name), row->many);
    }
}

static void take(struct agent_command *c, const struct options *o)
{
    c->given = o;
    c->options = (struct agent_options){.node_name = option_text(o, OPT_AGENT_NODE_NAME),
                                        .config_file = option_text(o, OPT_AGENT_CONFIG_FILE),
                                        .config_map = option_text(o, OPT_AGENT_CONFIG_MAP),
                                        .config_default = option_text(o, OPT_AGENT_CONFIG_DEFAULT),
                                        .mig_config_file = option_text(o, OPT_AGENT_MIG_CONFIG_FILE),
                                        .mig_config_map = option_text(o, OPT_AGENT_MIG_CONFIG_MAP),
                                        .mig_busy = option_word(o, OPT_AGENT_MIG_BUSY) == 1 ? MIG_BUSY_EVICT : MIG_BUSY_REFUSE,
                                        .drain_evicts = option_word(o, OPT_AGENT_DRAIN) == 1,
                                        .plugin_dir = option_text(o, OPT_AGENT_PLUGIN_DIR),
                                        .pod_resources_socket = option_text(o, OPT_AGENT_POD_RESOURCES_SOCKET),
                                        .cdi_dir = option_text(o, OPT_AGENT_CDI_DIR),
                                        .state_dir = option_text(o, OPT_AGENT_STATE_DIR),
                                        .validations_dir = option_text(o, OPT_AGENT_VALIDATIONS_DIR),
                                        .root = option_text(o, OPT_AGENT_ROOT),
                                        .dev_root_here = option_text(o, OPT_AGENT_DEV_ROOT_CTR_PATH),
                                        .kernel_log = option_text(o, OPT_AGENT_KERNEL_LOG),
                                        .mps_root = option_text(o, OPT_AGENT_MPS_DIRECTORY),
                                        .mps_control_program = option_text(o, OPT_AGENT_MPS_CONTROL),
                                        .mps_kept = option_flag(o, OPT_AGENT_MPS_KEPT),
                                        .mps_keti_directory = option_text(o, OPT_AGENT_MPS_KETI_DIRECTORY),
                                        .read_period_ms = option_number(o, OPT_AGENT_READ_PERIOD, 0),
                                        /* by environment alone, as NVIDIA's plugin has it */
                                        .health_disable = variable("DP_DISABLE_HEALTHCHECKS"),
                                        .health_enable = variable("DP_ENABLE_HEALTHCHECKS")};
    c->nvml_path = option_text(o, OPT_AGENT_LIBRARY);
    c->reset_command = option_text(o, OPT_AGENT_RESET_COMMAND);
    c->kubeconfig = option_text(o, OPT_AGENT_KUBECONFIG);
    c->context = option_text(o, OPT_AGENT_CONTEXT);
    c->no_cluster = option_flag(o, OPT_AGENT_NO_CLUSTER);
    c->once = option_flag(o, OPT_AGENT_ONCE);
    c->format = output_format_of(o);
    take_settings(c);
    agent_exporter_take(&c->exporter, c->arena, o);
}

/* What follows from the options together. */
static int settle(struct agent_command *c)
{
    struct agent_options *o = &c->options;
    const char *socket = option_text(c->given, OPT_AGENT_KUBELET_SOCKET);
    if (socket) {
        const char *slash = strrchr(socket, '/');
        if (!slash || strcmp(slash, "/kubelet.sock") != 0)
            return options_wrong(c->given, "--kubelet-socket '%s': must end in /kubelet.sock", socket);
        o->plugin_dir = arena_text_n(c->arena, socket, (size_t)(slash - socket));
    }
    if (strcmp(o->validations_dir, "none") == 0)
        o->validations_dir = NULL;
    if (!o->kernel_log)
        o->kernel_log = arena_printf(c->arena, "%s/dev/kmsg", o->root ? o->root : "");
    else if (strcmp(o->kernel_log, "none") == 0)
        o->kernel_log = NULL;
    if (o->config_file && !*o->config_file) /* as charts write it when there is none */
        o->config_file = NULL;
    if (!o->node_name && gethostname(c->host_name, sizeof c->host_name - 1) == 0)
        o->node_name = c->host_name;
    if (!o->node_name || !*o->node_name)
        return options_wrong(c->given, "the node has no name: give --node-name");
    const char *option = NULL, *bad = NULL;
    c->exporter.options.node_name = o->node_name;
    c->exporter.options.root = o->root;
    c->exporter.options.state_dir = o->state_dir;
    bad = agent_exporter_settle(&c->exporter, c->arena, &option);
    if (bad)
        return options_wrong(c->given, "--%s: %s", option, bad);
    bool oneshot = false;
    for (uint32_t i = 0; i < c->settings_n; i++) /* the environment's first: the last one counts */
        if (text_equal(c->settings[i].path, "flags.gfd.oneshot"))
            (void)text_bool(c->settings[i].value, &oneshot); /* what is wrong with it is said with the other settings */
    c->once = c->once || oneshot;
    o->settings = c->settings;
    o->settings_n = c->settings_n;
    return EXIT_OK;
}

/* ---- running ---- */

struct run {
    struct agent_command *command;
    struct loop *loop;
    struct kubeconfig *config;
    struct kube_client *client;
    struct agent *agent;
    struct exporter *exporter;
    bool stopping;
};

static void on_stopped(void *arg)
{
    struct run *r = arg;
    loop_stop(r->loop);
}

/* A second signal does not wait. */
static void on_stop(void *arg)
{
    struct run *r = arg;
    if (r->stopping)
        loop_stop(r->loop);
    else
        agent_stop(r->agent, on_stopped, r);
    r->stopping = true;
}

static void on_reload(void *arg)
{
    struct run *r = arg;
    log_info("reading config and driver again");
    agent_reload(r->agent);
    if (r->exporter)
        exporter_reload(r->exporter);
}

static void on_offer(void *arg, const struct resource_table *t)
{
    struct run *r = arg;
    exporter_resources(r->exporter, t);
}

static void on_event(void *arg, const struct driver_event *event)
{
    struct run *r = arg;
    exporter_event(r->exporter, event);
}

static int start_exporter(struct run *r)
{
    const struct agent_command *c = r->command;
    struct err e = {0};
    if (!c->exporter.is_on || c->once)
        return EXIT_OK;
    if (exporter_new(r->loop, agent_driver(r->agent), agent_inventory(r->agent), r->client, &c->exporter.options, &r->exporter, &e) < 0) {
        fprintf(stderr, "capstan agent: %s; without metrics: --exporter=false\n", e.text);
        return EXIT_USAGE;
    }
    agent_observe(r->agent, &(struct agent_observer){.resources = on_offer, .event = on_event, .arg = r});
    return EXIT_OK;
}

static int open_cluster(struct run *r)
{
    struct agent_command *c = r->command;
    struct err e = {0};
    if (c->no_cluster)
        return EXIT_OK;
    if (kubeconfig_load(c->kubeconfig, c->context, true, &r->config, &e) < 0 ||
        kube_client_new(r->loop, r->config, "capstan-agent/" CAPSTAN_VERSION, &r->client, &e) < 0) {
        fprintf(stderr, "capstan agent: %s; without a cluster: --no-cluster\n", e.text);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

/* Labels once: wait until they stand where they should. */
static int wait_for_labels(struct run *r)
{
    for (int i = 0; i < 300; i++) {
        (void)loop_run_for(r->loop, 100, NULL);
        if (agent_labels_written(r->agent))
            return EXIT_OK;
    }
    fputs("capstan agent: the labels could not be written within 30 s; see the log above\n", stderr);
    return EXIT_FAILED;
}

static int serve(struct run *r)
{
    struct loop *l = r->loop;
    struct loop_signal *signals[] = {loop_signal_new(l, SIGINT, on_stop, r), loop_signal_new(l, SIGTERM, on_stop, r),
                                     loop_signal_new(l, SIGHUP, on_reload, r)};
    struct err e = {0};
    int code = EXIT_OK;
    if (loop_run(l, &e) < 0) {
        fprintf(stderr, "capstan agent: %s\n", e.text);
        code = EXIT_FAILED;
    }
    for (size_t i = 0; i < 3; i++)
        loop_signal_free(signals[i]);
    return code;
}

static int run_agent(struct agent_command *c)
{
    struct run r = {.command = c, .loop = loop_new()};
    struct err e = {0};
    int code = open_cluster(&r);
    if (c->once) {
        c->options.plugin_dir = c->options.pod_resources_socket = c->options.cdi_dir = c->options.state_dir = NULL;
        c->options.validations_dir = NULL;
        if (c->no_cluster)
            c->options.config_map = NULL;
    }
    if (code == EXIT_OK) {
        struct driver *d = agent_command_driver(c, r.loop);
        if (agent_new(r.loop, d, r.client, &c->options, &r.agent, &e) < 0) {
            fprintf(stderr, "capstan agent: %s\n", e.text);
            code = e.code == E_INVALID ? EXIT_USAGE : EXIT_FAILED;
        }
    }
    if (code == EXIT_OK)
        code = start_exporter(&r);
    if (code == EXIT_OK) {
        log_info("agent started node=%s version=%s cluster=%s", c->options.node_name, CAPSTAN_VERSION,
                 r.config ? r.config->server : "none");
        code = c->once ? wait_for_labels(&r) : serve(&r);
        log_info("agent stopped node=%s", c->options.node_name);
    }
    if (r.exporter)
        agent_observe(r.agent, NULL);
    exporter_stop(r.exporter);
    exporter_free(r.exporter);
    agent_free(r.agent);
    kube_client_free(r.client);
    kubeconfig_free(r.config);
    loop_free(r.loop);
    return code;
}

/* ---- the keeper of MPS daemons ---- */

static void on_keeper_stop(void *arg)
{
    loop_stop(arg);
}

static int run_keeper(const struct agent_command *c)
{
    struct quantity size = {0};
    struct err e = {0};
    const char *program = c->options.mps_control_program ? c->options.mps_control_program : "nvidia-cuda-mps-control";
    const char *root = c->options.mps_root ? c->options.mps_root : "/run/nvidia/mps", *text = option_text(c->given, OPT_AGENT_MPS_SHM_SIZE);
    if (quantity_parse(bytes_of(text), &size, &e) < 0 || quantity_whole(size) < 0)
        return options_wrong(c->given, "--mps-shm-size: %s is no size, such as 64Mi", text);
    struct loop *l = loop_new();
    struct mps_keeper *k = NULL;
    struct loop_signal *signals[] = {loop_signal_new(l, SIGINT, on_keeper_stop, l), loop_signal_new(l, SIGTERM, on_keeper_stop, l)};
    int code = mps_keeper_new(l, root, program, (uint64_t)quantity_whole(size), &k, &e) < 0 ? EXIT_FAILED : EXIT_OK;
    if (code == EXIT_OK) {
        log_info("keeper of MPS daemons started root=%s shm=%s version=%s", root, text, CAPSTAN_VERSION);
        code = loop_run(l, &e) < 0 ? EXIT_FAILED : EXIT_OK;
    }
    if (code != EXIT_OK)
        fprintf(stderr, "capstan agent: %s\n", e.text);
    mps_keeper_free(k);
    for (size_t i = 0; i < 2; i++)
        loop_signal_free(signals[i]);
    loop_free(l);
    return code;
}

int agent_main(const struct options *o)
{
    struct agent_command c = {.arena = arena_new()};
    (void)log_set_level_named(option_text(o, OPT_AGENT_LOG_LEVEL)); /* it is one of the four */
    take(&c, o);
    int code = settle(&c);
    if (code == EXIT_OK)
        code = option_flag(o, OPT_AGENT_MPS_KEEP) ? run_keeper(&c)
               : option_flag(o, OPT_AGENT_STATUS) ? agent_print_status(&c)
               : option_flag(o, OPT_AGENT_PRINT)  ? agent_print(&c)
                                                  : run_agent(&c);
    free(c.settings);
    arena_free(c.arena);
    return code;
}
