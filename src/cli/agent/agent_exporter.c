/* agent_exporter.c - see agent_exporter.h */
#include "cli/agent/agent_exporter.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/log.h"

const char agent_exporter_help[] =
    "Metrics (on :9400, names, labels and options of dcgm-exporter):\n"
    "      --exporter=false          no metrics at all\n"
    "  -a, --address ADDRESS         where /metrics is served: :9400 (default), 127.0.0.1:9400, unix:/path ($DCGM_EXPORTER_LISTEN)\n"
    "  -c, --collect-interval MS     milliseconds, or a duration as 15s (default 15s; $DCGM_EXPORTER_INTERVAL)\n"
    "  -f, --collectors FILE         counters file; changes are noticed ($DCGM_EXPORTER_COLLECTORS; default: a built-in list)\n"
    "      --collectors-strict       a counters file with unknown names is refused\n"
    "      --web-config-file FILE    TLS and passwords as exporter-toolkit has them ($DCGM_EXPORTER_WEB_CONFIG_FILE)\n"
    "      --use-old-namespace, --no-hostname, --replace-blanks-in-model-name, --kubernetes-gpu-id-type uid|device-name,\n"
    "      --kubernetes-virtual-gpus, --kubernetes-enable-pod-labels, --kubernetes-pod-label-allowlist-regex REGEX,\n"
    "      --kubernetes-enable-pod-uid, --xid-count-window-size MS, --clock-events-count-window-size MS, --hpc-job-mapping-dir DIR\n"
    "                                as dcgm-exporter has them, with their environment variables\n"
    "  -r, --remote-hostengine-info ADDRESS  DCGM's host engine, which GPUs before Hopper need for DCGM_FI_PROF_*: localhost:5555 (default),\n"
    "                                unix:/path, or none ($DCGM_REMOTE_HOSTENGINE_INFO); --dcgm-library FILE (default libdcgm.so.4 or .so.3)\n"
    "      --dcgm-embedded           start an engine in this process when none answers; it takes the profiler from everybody else\n"
    "      --hostname-lower          the label is hostname, not Hostname\n"
    "      --dcgm-mig-repeat         values of a GPU on the row of each of its MIG devices, as dcgm-exporter does\n"
    "      --dcgm=false, --sessions=false, --process-series=false   without these families\n"
    "      --max-process-series N    processes with series of their own (default 2000); more are counted\n"
    "      --textfile PATH           write gpu_sessions.prom into this folder of node-exporter, or to this file; --textfile-keep at the end\n"
    "      --session-mig-label gi|index          label gpu of MIG devices: by GPU instance id (default) or MIG index\n"
    "      --session-memory-label sticky|live|off   label gpu_memory: changes seldom (default), always, or is not there\n"
    "      --influx-url URL          write each collection to InfluxDB; --influx-version 1|2, --influx-database, --influx-user,\n"
    "                                $INFLUX_PASSWORD; --influx-org, --influx-bucket, $INFLUX_TOKEN; --influx-keti: KETI's schema\n"
    "      --remote-write-url URL    push to Prometheus; --remote-write-user, $REMOTE_WRITE_PASSWORD, $REMOTE_WRITE_TOKEN,\n"
    "                                --remote-write-label NAME=VALUE (default job=capstan-agent and instance=NODE)\n"
    "      --feedback=false          do not tell the scheduler of activity and heat (annotation capstan.dev/gpu-feedback)\n\n";

enum kind { TEXT, FLAG };
struct exporter_option {
    const char *name, *variable; /* variable: NULL none */
    enum kind kind;
    size_t offset;
};
#define AT(field) offsetof(struct agent_exporter_command, field)
static const struct exporter_option table[] = {
    {"exporter", "CAPSTAN_EXPORTER", FLAG, AT(is_on)},
    {"address", "DCGM_EXPORTER_LISTEN", TEXT, AT(options.listen)},
    {"collectors", "DCGM_EXPORTER_COLLECTORS", TEXT, AT(options.counters_file)},
    {"collectors-strict", NULL, FLAG, AT(options.counters_strict)},
    {"collect-interval", "DCGM_EXPORTER_INTERVAL", TEXT, AT(period)},
    {"xid-count-window-size", "DCGM_EXPORTER_XID_COUNT_WINDOW_SIZE", TEXT, AT(xid_window)},
    {"clock-events-count-window-size", "DCGM_EXPORTER_CLOCK_EVENTS_COUNT_WINDOW_SIZE", TEXT, AT(clock_window)},
    {"kubernetes", "DCGM_EXPORTER_KUBERNETES", FLAG, AT(kubernetes)},
    {"use-old-namespace", "DCGM_EXPORTER_USE_OLD_NAMESPACE", FLAG, AT(options.page.old_namespace)},
    {"kubernetes-gpu-id-type", "DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE", TEXT, AT(gpu_id_type)},
    {"kubernetes-enable-pod-uid", "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID", FLAG, AT(options.page.pod_uid)},
    {"kubernetes-enable-pod-labels", "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS", FLAG, AT(pod_labels)},
    {"kubernetes-pod-label-allowlist-regex", "DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX", TEXT, AT(label_allow)},
    {"kubernetes-virtual-gpus", "KUBERNETES_VIRTUAL_GPUS", FLAG, AT(options.page.virtual_gpus)},
    {"no-hostname", "DCGM_EXPORTER_NO_HOSTNAME", FLAG, AT(options.page.no_hostname)},
    {"hostname-lower", NULL, FLAG, AT(options.page.hostname_lower)},
    {"web-config-file", "DCGM_EXPORTER_WEB_CONFIG_FILE", TEXT, AT(options.web_config)},
    {"replace-blanks-in-model-name", "DCGM_EXPORTER_REPLACE_BLANKS_IN_MODEL_NAME", FLAG, AT(options.page.replace_blanks)},
    {"hpc-job-mapping-dir", "DCGM_HPC_JOB_MAPPING_DIR", TEXT, AT(options.page.jobs_directory)},
    {"devices", "DCGM_EXPORTER_DEVICES_STR", TEXT, AT(devices)},
    {"configmap-data", "DCGM_EXPORTER_CONFIGMAP_DATA", TEXT, AT(config_map)},
    {"remote-hostengine-info", "DCGM_REMOTE_HOSTENGINE_INFO", TEXT, AT(dcgm.address)},
    {"dcgm-library", NULL, TEXT, AT(dcgm.path)},
    {"dcgm-embedded", NULL, FLAG, AT(dcgm.embedded)},
    {"dcgm-mig-repeat", NULL, FLAG, AT(options.page.repeat_boards)},
    {"dcgm", NULL, FLAG, AT(options.page.dcgm)},
    {"sessions", NULL, FLAG, AT(options.page.sessions)},
    {"process-series", NULL, FLAG, AT(options.page.processes)},
    {"max-process-series", NULL, TEXT, AT(processes_max)},
    {"textfile", NULL, TEXT, AT(options.textfile)},
    {"textfile-keep", NULL, FLAG, AT(options.textfile_keep)},
    {"session-mig-label", NULL, TEXT, AT(mig_label)},
    {"session-memory-label", NULL, TEXT, AT(memory_label)},
    {"influx-url", "INFLUX_URL", TEXT, AT(options.influx.url)},
    {"influx-version", NULL, TEXT, AT(influx_version)},
    {"influx-database", "INFLUX_DATABASE", TEXT, AT(options.influx.database)},
    {"influx-user", "INFLUX_USER", TEXT, AT(options.influx.user)},
    {"influx-org", "INFLUX_ORG", TEXT, AT(options.influx.org)},
    {"influx-bucket", "INFLUX_BUCKET", TEXT, AT(options.influx.bucket)},
    {"influx-keti", NULL, FLAG, AT(options.influx.keti)},
    {"remote-write-url", "REMOTE_WRITE_URL", TEXT, AT(options.remote_write.url)},
    {"remote-write-user", "REMOTE_WRITE_USER", TEXT, AT(options.remote_write.user)},
    {"feedback", NULL, FLAG, AT(feedback)},
    /* secrets: a command line is everybody's to read */
    {NULL, "INFLUX_PASSWORD", TEXT, AT(options.influx.password)},
    {NULL, "INFLUX_TOKEN", TEXT, AT(options.influx.token)},
    {NULL, "REMOTE_WRITE_PASSWORD", TEXT, AT(options.remote_write.password)},
    {NULL, "REMOTE_WRITE_TOKEN", TEXT, AT(options.remote_write.bearer_token)},
};
#define REMOTE_WRITE_LABEL "remote-write-label" /* may stand several times */
#define LABEL_ALLOW "kubernetes-pod-label-allowlist-regex" /* likewise */
#define TABLE_N (sizeof table / sizeof *table)

void agent_exporter_defaults(struct agent_exporter_command *c)
{
    *c = (struct agent_exporter_command){
        .is_on = true,
        .kubernetes = true,
        .feedback = true,
        .options = {.listen = ":9400",
                    .period_ms = EXPORTER_PERIOD_MS,
                    .processes_max = EXPORTER_PROCESSES_MAX,
                    .page = {.sessions = true, .processes = true, .dcgm = true, .session_memory_label = PAGE_MEMORY_STICKY}}};
}

static const struct exporter_option *find(const char *name)
{
    for (size_t i = 0; i < TABLE_N; i++)
        if (table[i].name && text_equal(table[i].name, name))
            return &table[i];
    return NULL;
}

bool agent_exporter_knows(const char *name, bool *ret_is_flag)
{
    const struct exporter_option *o = find(name);
    *ret_is_flag = o && o->kind == FLAG;
    return o || text_equal(name, REMOTE_WRITE_LABEL);
}

const char *agent_exporter_short(const char *name)
{
    static const char *const pairs[][2] = {
        {"a", "address"},        {"c", "collect-interval"}, {"d", "devices"},     {"f", "collectors"},
        {"k", "kubernetes"},     {"m", "configmap-data"},   {"n", "no-hostname"}, {"p", "cpu-devices"},
        {"s", "switch-devices"}, {"r", "remote-hostengine-info"}, {"rbmn", "replace-blanks-in-model-name"}, {"x", "xid-count-window-size"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (text_equal(name, pairs[i][0]))
            return pairs[i][1];
    return NULL;
}

static bool put(struct agent_exporter_command *c, const struct exporter_option *o, const char *value)
{
    if (o->kind == FLAG)
        return text_bool(value, (bool *)((char *)c + o->offset));
    *(const char **)((char *)c + o->offset) = value;
    return true;
}

void agent_exporter_environment(struct agent_exporter_command *c)
{
    for (size_t i = 0; i < TABLE_N; i++) {
        const char *value = table[i].variable ? getenv(table[i].variable) : NULL;
        if (value && *value && !put(c, &table[i], value))
            log_warning("environment variable is neither true nor false, left out name=%s", table[i].variable);
    }
}

static const char *take_label(struct agent_exporter_command *c, struct arena *a, const char *text)
{
    const char *equal = strchr(text, '=');
    if (!equal || equal == text)
        return "NAME=VALUE is expected, as cluster=east";
    if (c->labels_n == sizeof c->labels / sizeof *c->labels)
        return "at most 16 labels";
    _cleanup_buf_ struct buf clean = {0};
    prometheus_label_name(&clean, (struct bytes){text, (size_t)(equal - text)});
    c->labels[c->labels_n++] = (struct prometheus_label){arena_text_n(a, clean.data, clean.n), equal + 1};
    return NULL;
}

const char *agent_exporter_take(struct agent_exporter_command *c, struct arena *a, const char *name, const char *value)
{
    const struct exporter_option *o = find(name);
    if (!o)
        return take_label(c, a, value);
    if (text_equal(name, LABEL_ALLOW)) { /* a list: given twice it means both */
        if (c->label_allow_given)
            value = arena_printf(a, "%s,%s", c->label_allow, value);
        c->label_allow_given = true;
    }
    return put(c, o, value) ? NULL : "only true or false";
}

/* Expressions by commas as one: what any of them allows. */
static const char *alternatives(struct arena *a, const char *list)
{
    char *one = arena_text(a, list);
    for (char *c = one; *c; c++)
        if (*c == ',')
            *c = '|';
    return one;
}

const struct dcgm_options *agent_exporter_dcgm(const struct agent_exporter_command *c)
{
    bool is_off = !c->is_on || text_equal(c->dcgm.address, "none");
    return is_off ? NULL : &c->dcgm;
}

/* One of the words of `list`, which ends with NULL: its index, or -1. */
static int word_index(const char *text, const char *const list[])
{
    for (int i = 0; list[i]; i++)
        if (text_equal(text, list[i]))
            return i;
    return -1;
}

static const char *settle_time(const char *text, int64_t *ret_ms)
{
    int64_t ms;
    if (!text)
        return NULL;
    if (!bytes_int64(bytes_of(text), &ms) && !duration_parse(bytes_of(text), &ms))
        return "milliseconds are expected, or a duration as 15s";
    if (ms < EXPORTER_PERIOD_MIN_MS || ms > 24 * 3600 * 1000)
        return "at least 100 (it is milliseconds) and at most a day";
    *ret_ms = ms;
    return NULL;
}

static const char *settle_times(struct agent_exporter_command *c, const char **ret_option)
{
    *ret_option = "collect-interval";
    const char *bad = settle_time(c->period, &c->options.period_ms);
    if (bad)
        return bad;
    *ret_option = "xid-count-window-size";
    bad = settle_time(c->xid_window, &c->options.xid_window_ms);
    if (bad)
        return bad;
    *ret_option = "clock-events-count-window-size";
    return settle_time(c->clock_window, &c->options.clock_window_ms);
}

static const char *settle_words(struct agent_exporter_command *c, const char **ret_option)
{
    static const char *const ids[] = {"uid", "device-name", NULL}, *const migs[] = {"gi", "index", NULL},
                             *const memories[] = {"sticky", "live", "off", NULL}, *const versions[] = {"1", "2", NULL};
    int id = c->gpu_id_type ? word_index(c->gpu_id_type, ids) : 0, mig = c->mig_label ? word_index(c->mig_label, migs) : 0,
        memory = c->memory_label ? word_index(c->memory_label, memories) : 0,
        version = c->influx_version ? word_index(c->influx_version, versions) : c->options.influx.token ? 1 : 0;
    *ret_option = "kubernetes-gpu-id-type";
    if (id < 0)
        return "use uid or device-name";
    *ret_option = "session-mig-label";
    if (mig < 0)
        return "use gi or index";
    *ret_option = "session-memory-label";
    if (memory < 0)
        return "use sticky, live or off";
    *ret_option = "influx-version";
    if (version < 0)
        return "use 1 or 2";
    c->options.page.gpu_id_device_name = id == 1;
    c->options.session_label_index = mig == 1;
    c->options.page.session_memory_label = memory == 0 ? PAGE_MEMORY_STICKY : memory == 1 ? PAGE_MEMORY_LIVE : PAGE_MEMORY_OFF;
    c->options.influx.version = version + 1;
    return NULL;
}

static void settle_pushes(struct agent_exporter_command *c)
{
    struct exporter_options *o = &c->options;
    o->influx.node_name = o->node_name;
    if (c->labels_n == 0) {
        c->labels[c->labels_n++] = (struct prometheus_label){"job", "capstan-agent"};
        c->labels[c->labels_n++] = (struct prometheus_label){"instance", o->node_name};
    }
    o->remote_write.external_labels = c->labels;
    o->remote_write.external_labels_n = c->labels_n;
}

const char *agent_exporter_settle(struct agent_exporter_command *c, struct arena *a, const char **ret_option)
{
    struct exporter_options *o = &c->options;
    int64_t n = EXPORTER_PROCESSES_MAX;
    const char *bad = settle_times(c, ret_option);
    if (!bad)
        bad = settle_words(c, ret_option);
    if (bad)
        return bad;
    *ret_option = "max-process-series";
    if (c->processes_max && (!bytes_int64(bytes_of(c->processes_max), &n) || n < 0 || n > LIMIT_MEASURE_PROCESSES))
        return "a number from 0 to 20000";
    if (c->devices && !text_equal(c->devices, "f"))
        log_warning("all GPUs are measured, and all MIG devices where MIG is on option=--devices=%s", c->devices);
    if (c->config_map && !text_equal(c->config_map, "none"))
        log_warning("counters are not read from it: mount the ConfigMap and name its file with --collectors option=--configmap-data=%s",
                    c->config_map);
    if (!c->kubernetes)
        log_warning("pods are named whenever the kubelet tells them option=--kubernetes=false");
    o->processes_max = (uint32_t)n;
    o->feedback = c->feedback;
    if (c->pod_labels)
        o->pod_label_allow = c->label_allow && *c->label_allow ? alternatives(a, c->label_allow) : ".*";
    settle_pushes(c);
    return NULL;
}
