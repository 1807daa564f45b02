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
#include "cli/agent/agent_foreign.h"
#include "cli/agent/agent_print.h"
#include "cli/cli.h"

extern char **environ;

static const char help[] =
    "Usage: capstan agent [OPTION]...\n"
    "Serve the GPUs of this node to its kubelet, label the node, split GPUs, watch their health; until stopped.\n\n"
    "      --node-name NAME          this node (default: $NODE_NAME, the host's name)\n"
    "      --config-file FILE        NVIDIA's device plugin config, version v1 ($CONFIG_FILE); changes are noticed\n"
    "      --config-map NS/NAME      ConfigMap of such configs; the node label nvidia.com/device-plugin.config names the entry\n"
    "      --config-default KEY      its entry for nodes without the label ($DEFAULT_CONFIG)\n"
    "      --mig-config-file FILE    mig-parted layouts for the node label nvidia.com/mig.config ($MIG_PARTED_CONFIG_FILE)\n"
    "      --mig-config-map NS/NAME  the same from a ConfigMap, entry config.yaml\n"
    "      --mig-busy refuse|evict   a layout that needs a busy GPU (default refuse; evict respects PodDisruptionBudgets)\n"
    "      --drain wait|evict        pods of a GPU that is out of use (default wait; evict: one every 5s, respects PodDisruptionBudgets)\n"
    "      --plugin-dir DIR          kubelet's device plugins (default /var/lib/kubelet/device-plugins); also --kubelet-socket FILE\n"
    "      --pod-resources-socket F  (default /var/lib/kubelet/pod-resources/kubelet.sock)\n"
    "      --cdi-dir DIR             CDI specifications (default /var/run/cdi)\n"
    "      --state-dir DIR           journal and status (default /var/lib/capstan)\n"
    "      --validations-dir DIR     driver-ready, plugin-ready and toolkit-ready for pods that wait for them (default\n"
    "                                /run/nvidia/validations, where that is; none: not written)\n"
    "      --library FILE            libnvidia-ml.so.1 to use (default: searched in the driver's and the system's folders)\n"
    "      --root DIR                where this process sees the host's / (default none: it is on the host); driver, device nodes, /proc and\n"
    "                                /sys are looked for below\n"
    "      --dev-root-ctr-path DIR   where this process sees --nvidia-dev-root ($DEV_ROOT_CTR_PATH; default: below --root)\n"
    "      --kernel-log FILE         XIDs that the driver does not tell itself (default /dev/kmsg below --root; none: not read)\n"
    "      --mps-directory DIR       where this process sees the directory that --mps-root names on the host\n"
    "      --mps-control PROGRAM     (default nvidia-cuda-mps-control)\n"
    "      --mps-kept                MPS daemons are run by a keeper beside this process and go on when it ends\n"
    "      --mps-keep                be that keeper, and nothing else; the same --mps-directory and --mps-control\n"
    "      --mps-shm-size BYTES      shared memory of MPS, a tmpfs that the keeper makes (default 64Mi; 0: the machine's /dev/shm)\n"
    "      --mps-keti-directory DIR  where this process sees the /tmp/nvidia-mps of the host, which pods with keti.com/mpsgpu mount\n"
    "      --reset-command TEXT      what resets a GPU; {index}, {uuid} and {bus} are filled in (default: nvidia-smi --gpu-reset -i {uuid})\n"
    "      --read-period DURATION    how often the driver is read without an event (default 10s)\n"
    "      --kubeconfig FILE         cluster to label the node in (default: $KUBECONFIG, in a pod its own, ~/.kube/config)\n"
    "      --context NAME            context of the kubeconfig\n"
    "      --no-cluster              no API server: serve the kubelet only\n"
    "      --print                   print GPUs, resources and labels as they would be now, and end\n"
    "      --once                    write the labels (node, features file) once, and end; also --oneshot\n"
    "      --status                  print what the running agent says of itself, and end (0: ready)\n"
    "  -o, --output FORMAT           of --print and --status: table, json or yaml\n"
    "      --log-level LEVEL         debug, info, warning or error (default info)\n"
    "  -h, --help                    this text\n\n";
static const char help_end[] =
    "All options of NVIDIA's device plugin and GPU Feature Discovery and their environment variables work too: --mig-strategy\n"
    "($MIG_STRATEGY), --device-list-strategy, --device-id-strategy, --pass-device-specs, --mps-root, --output-file, ... An option wins over\n"
    "the environment, that over the file. SIGHUP reads the config again, SIGTERM ends.\n\n"
    "Example: capstan agent --no-cluster --library ./libnvidia-ml.so.1 --print\n";

struct own_option {
    const char *name, *variable; /* variable: NULL none */
    bool is_flag;
    size_t offset;
};
#define AT(field) offsetof(struct agent_command, field)
static const struct own_option own_options[] = {
    {"node-name", "NODE_NAME", false, AT(options.node_name)},
    {NULL, "GFD_CONFIG_FILE", false, AT(options.config_file)},
    {"config-file", "CONFIG_FILE", false, AT(options.config_file)},
    {"config-map", "CONFIG_MAP", false, AT(options.config_map)},
    {"config-default", "DEFAULT_CONFIG", false, AT(options.config_default)},
    {"mig-config-file", "MIG_PARTED_CONFIG_FILE", false, AT(options.mig_config_file)},
    {"mig-config-map", "MIG_CONFIG_MAP", false, AT(options.mig_config_map)},
    {"mig-busy", "MIG_BUSY", false, AT(mig_busy)},
    {"drain", "GPU_DRAIN", false, AT(drain)},
    {"plugin-dir", NULL, false, AT(options.plugin_dir)},
    {"kubelet-socket", "KUBELET_SOCKET", false, AT(kubelet_socket)},
    {"pod-resources-socket", NULL, false, AT(options.pod_resources_socket)},
    {"pod-resources-kubelet-socket", "DCGM_POD_RESOURCES_KUBELET_SOCKET", false, AT(options.pod_resources_socket)},
    {"cdi-dir", NULL, false, AT(options.cdi_dir)},
    {"state-dir", NULL, false, AT(options.state_dir)},
    {"validations-dir", "VALIDATIONS_DIR", false, AT(options.validations_dir)},
    {"library", NULL, false, AT(nvml_path)},
    {"root", NULL, false, AT(options.root)},
    {"dev-root-ctr-path", "DEV_ROOT_CTR_PATH", false, AT(options.dev_root_here)},
    {"kernel-log", "KERNEL_LOG", false, AT(options.kernel_log)},
    {"mps-directory", NULL, false, AT(options.mps_root)},
    {"mps-control", NULL, false, AT(options.mps_control_program)},
    {"mps-kept", NULL, true, AT(options.mps_kept)},
    {"mps-keep", NULL, true, AT(mps_keep)},
    {"mps-shm-size", "MPS_SHM_SIZE", false, AT(mps_shm_size)},
    {"mps-keti-directory", NULL, false, AT(options.mps_keti_directory)},
    {"reset-command", NULL, false, AT(reset_command)},
    {"read-period", NULL, false, AT(read_period)},
    {"kubeconfig", NULL, false, AT(kubeconfig)},
    {"context", NULL, false, AT(context)},
    {"output", NULL, false, AT(output)},
    {"log-level", "LOG_LEVEL", false, AT(log_level)},
    {"no-cluster", NULL, true, AT(no_cluster)},
    {"print", NULL, true, AT(print)},
    {"once", NULL, true, AT(once)},
    {"status", NULL, true, AT(status)},
    {"help", NULL, true, AT(help)},
    /* not --config-file's: health checks are told by environment alone, as NVIDIA's plugin has it */
    {NULL, "DP_DISABLE_HEALTHCHECKS", false, AT(options.health_disable)},
    {NULL, "DP_ENABLE_HEALTHCHECKS", false, AT(options.health_enable)},
};
static int wrong(const char *format, const char *what)
{
    fputs("capstan agent: ", stderr);
    fprintf(stderr, format, what);
    fputs("\nTry 'capstan agent --help'.\n", stderr);
    return EXIT_USAGE;
}

static const struct own_option *find_own(const char *name)
{
    for (size_t i = 0; i < sizeof own_options / sizeof *own_options; i++)
        if (own_options[i].name && strcmp(own_options[i].name, name) == 0)
            return &own_options[i];
    return NULL;
}

/* A list option that is given twice means both. */
static void add_setting(struct agent_command *c, const char *path, const char *value, const char *from)
{
    struct config_setting *last = NULL;
    bool is_list = text_ends(path, "deviceListStrategy") || text_ends(path, "channelIDs");
    for (uint32_t i = c->environment_n; i < c->settings_n; i++)
        if (is_list && text_equal(c->settings[i].path, path))
            last = &c->settings[i];
    if (last) {
        last->value = arena_printf(c->arena, "%s,%s", last->value, value);
        return;
    }
    c->settings = mem_grow(c->settings, c->settings_n + 1, sizeof *c->settings);
    c->settings[c->settings_n++] = (struct config_setting){path, value, from};
}

static int wrong_exporter(struct agent_command *c, const char *name, const char *what)
{
    return wrong("%s", arena_printf(c->arena, "--%s: %s", name, what));
}

static int take_exporter(struct agent_command *c, const char *name, const char *value)
{
    const char *bad = agent_exporter_take(&c->exporter, c->arena, name, value);
    return bad ? wrong_exporter(c, name, bad) : EXIT_OK;
}

static int take_own(struct agent_command *c, const struct own_option *own, const char *value)
{
    void *field = (char *)c + own->offset;
    if (!own->is_flag)
        *(const char **)field = value;
    else if (!text_bool(value, field))
        return wrong("--%s: only true or false", own->name);
    return EXIT_OK;
}

/* One "--name[=value]", or "-f FILE" or "-f=FILE" of dcgm-exporter's short ones; *at moves on over a value of its own. */
static int take_option(struct agent_command *c, int argc, char **argv, int *at)
{
    bool is_long = text_starts(argv[*at], "--");
    const char *argument = argv[*at] + (is_long ? 2 : 1), *equal = strchr(argument, '=');
    const char *name = equal ? arena_text_n(c->arena, argument, (size_t)(equal - argument)) : argument;
    const char *value = equal ? equal + 1 : NULL, *path = NULL, *why = NULL;
    const char *long_name = agent_exporter_short(name);
    if (long_name)
        name = long_name;
    else if (!is_long)
        return wrong("unexpected argument %s", argv[*at]);
    const struct own_option *own = find_own(name);
    bool is_flag = own && own->is_flag, is_exporter = !own && agent_exporter_knows(name, &is_flag);
    bool is_plugin = !own && !is_exporter && config_setting_of_flag(name, &path, &is_flag);
    if (!own && !is_exporter && !is_plugin && !(why = agent_foreign_why(name, &is_flag)))
        return wrong("unknown option --%s", name);
    if (!is_flag && !value) {
        if (*at + 1 >= argc)
            return wrong("--%s: a value is missing", name);
        value = argv[++*at];
    }
    if (!value)
        value = "true";
    if (own)
        return take_own(c, own, value);
    if (is_exporter)
        return take_exporter(c, name, value);
    if (is_plugin)
        add_setting(c, path, value, arena_printf(c->arena, "--%s", name));
    else
        log_warning("option has no effect option=--%s reason=\"%s\"", name, why);
    return EXIT_OK;
}

static void take_environment(struct agent_command *c)
{
    for (size_t i = 0; i < sizeof own_options / sizeof *own_options; i++) {
        const char *value = own_options[i].variable ? getenv(own_options[i].variable) : NULL;
        if (value && *value)
            *(const char **)((char *)c + own_options[i].offset) = value;
    }
    agent_exporter_environment(&c->exporter);
    struct config_setting *found = NULL;
    c->environment_n = config_settings_of_environment(c->arena, environ, &found);
    for (uint32_t i = 0; i < c->environment_n; i++)
        add_setting(c, found[i].path, found[i].value, found[i].from);
}

/* What follows from the options together. */
static int settle(struct agent_command *c)
{
    struct agent_options *o = &c->options;
    if (!log_set_level_named(c->log_level))
        return wrong("--log-level %s: use debug, info, warning or error", c->log_level);
    if (c->output) {
        int format = output_format_find(c->output);
        if (format < 0 || format == OUTPUT_WIDE || format == OUTPUT_CSV)
            return wrong("--output %s: use table, json or yaml", c->output);
        c->format = (enum output_format)format;
    }
    if (c->mig_busy && strcmp(c->mig_busy, "refuse") != 0 && strcmp(c->mig_busy, "evict") != 0)
        return wrong("--mig-busy %s: use refuse or evict", c->mig_busy);
    o->mig_busy = c->mig_busy && strcmp(c->mig_busy, "evict") == 0 ? MIG_BUSY_EVICT : MIG_BUSY_REFUSE;
    if (c->drain && strcmp(c->drain, "wait") != 0 && strcmp(c->drain, "evict") != 0)
        return wrong("--drain %s: use wait or evict", c->drain);
    o->drain_evicts = c->drain && strcmp(c->drain, "evict") == 0;
    if (c->read_period && (!duration_parse(bytes_of(c->read_period), &o->read_period_ms) || o->read_period_ms < 100))
        return wrong("--read-period %s: a duration of at least 100ms, as 10s", c->read_period);
    if (c->kubelet_socket) {
        const char *slash = strrchr(c->kubelet_socket, '/');
        if (!slash || strcmp(slash, "/kubelet.sock") != 0)
            return wrong("--kubelet-socket '%s': must end in /kubelet.sock", c->kubelet_socket);
        o->plugin_dir = arena_text_n(c->arena, c->kubelet_socket, (size_t)(slash - c->kubelet_socket));
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
        return wrong("%s", "the node has no name: give --node-name");
    const char *option = NULL, *bad = NULL;
    c->exporter.options.node_name = o->node_name;
    c->exporter.options.root = o->root;
    c->exporter.options.state_dir = o->state_dir;
    bad = agent_exporter_settle(&c->exporter, c->arena, &option);
    if (bad)
        return wrong_exporter(c, option, bad);
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
    const char *root = c->options.mps_root ? c->options.mps_root : "/run/nvidia/mps", *text = c->mps_shm_size ? c->mps_shm_size : "64Mi";
    if (quantity_parse(bytes_of(text), &size, &e) < 0 || quantity_whole(size) < 0)
        return wrong("--mps-shm-size: %s is no size, such as 64Mi", text);
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

int agent_main(int argc, char **argv)
{
    struct agent_command c = {.options = {.plugin_dir = "/var/lib/kubelet/device-plugins",
                                          .pod_resources_socket = "/var/lib/kubelet/pod-resources/kubelet.sock",
                                          .cdi_dir = "/var/run/cdi",
                                          .state_dir = "/var/lib/capstan",
                                          .validations_dir = "/run/nvidia/validations",
                                          .read_period_ms = 10000},
                              .log_level = "info",
                              .format = OUTPUT_TABLE,
                              .arena = arena_new()};
    agent_exporter_defaults(&c.exporter);
    take_environment(&c);
    int code = EXIT_OK;
    for (int i = 1; i < argc && code == EXIT_OK && !c.help; i++) {
        if (strcmp(argv[i], "-h") == 0)
            c.help = true;
        else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
            c.output = argv[++i];
        else if (text_starts(argv[i], "-"))
            code = take_option(&c, argc, argv, &i);
        else
            code = wrong("unexpected argument %s", argv[i]);
    }
    if (code == EXIT_OK && c.help)
        printf("%s%s%s", help, agent_exporter_help, help_end);
    else if (code == EXIT_OK)
        code = settle(&c);
    if (code == EXIT_OK && !c.help)
        code = c.mps_keep ? run_keeper(&c) : c.status ? agent_print_status(&c) : c.print ? agent_print(&c) : run_agent(&c);
    free(c.settings);
    arena_free(c.arena);
    return code;
}
