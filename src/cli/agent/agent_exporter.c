/* agent_exporter.c - see agent_exporter.h */
#include "cli/agent/agent_exporter.h"
#include <stdlib.h>
#include "base/clock.h"
#include "base/log.h"

/* NULL where it is empty, too. WHY by environment alone: a command line is everybody's to read. */
static const char *secret(const char *variable)
{
    const char *text = getenv(variable);
    return text && *text ? text : NULL;
}

/* NULL, or what is wrong with it. */
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

/* What may be given several times. */
static void take_lists(struct agent_exporter_command *c, struct arena *a, const struct options *o)
{
    const char *allow = NULL;
    for (uint32_t i = 0; i < o->given_n; i++) {
        const char *text = o->given[i].text;
        if (o->given[i].id == OPT_AGENT_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX)
            allow = allow ? arena_printf(a, "%s,%s", allow, text) : text;
        else if (o->given[i].id == OPT_AGENT_REMOTE_WRITE_LABEL && !c->wrong_label)
            c->wrong_label = take_label(c, a, text);
    }
    c->label_allow = allow ? allow : option_text(o, OPT_AGENT_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX);
}

static struct page_config page_of(const struct options *o)
{
    static const enum page_memory memories[] = {PAGE_MEMORY_STICKY, PAGE_MEMORY_LIVE, PAGE_MEMORY_OFF};
    return (struct page_config){.sessions = option_flag(o, OPT_AGENT_SESSIONS),
                                .processes = option_flag(o, OPT_AGENT_PROCESS_SERIES),
                                .dcgm = option_flag(o, OPT_AGENT_DCGM),
                                .old_namespace = option_flag(o, OPT_AGENT_USE_OLD_NAMESPACE),
                                .pod_uid = option_flag(o, OPT_AGENT_KUBERNETES_ENABLE_POD_UID),
                                .virtual_gpus = option_flag(o, OPT_AGENT_KUBERNETES_VIRTUAL_GPUS),
                                .no_hostname = option_flag(o, OPT_AGENT_NO_HOSTNAME),
                                .hostname_lower = option_flag(o, OPT_AGENT_HOSTNAME_LOWER),
                                .replace_blanks = option_flag(o, OPT_AGENT_REPLACE_BLANKS_IN_MODEL_NAME),
                                .jobs_directory = option_text(o, OPT_AGENT_HPC_JOB_MAPPING_DIR),
                                .repeat_boards = option_flag(o, OPT_AGENT_DCGM_MIG_REPEAT),
                                .gpu_id_device_name = option_word(o, OPT_AGENT_KUBERNETES_GPU_ID_TYPE) == 1,
                                .session_memory_label = memories[option_word(o, OPT_AGENT_SESSION_MEMORY_LABEL)]};
}

static void take_pushes(struct exporter_options *e, const struct options *o)
{
    int version = option_word(o, OPT_AGENT_INFLUX_VERSION);
    e->influx.url = option_text(o, OPT_AGENT_INFLUX_URL);
    e->influx.database = option_text(o, OPT_AGENT_INFLUX_DATABASE);
    e->influx.user = option_text(o, OPT_AGENT_INFLUX_USER);
    e->influx.password = secret("INFLUX_PASSWORD");
    e->influx.org = option_text(o, OPT_AGENT_INFLUX_ORG);
    e->influx.bucket = option_text(o, OPT_AGENT_INFLUX_BUCKET);
    e->influx.token = secret("INFLUX_TOKEN");
    e->influx.keti = option_flag(o, OPT_AGENT_INFLUX_KETI);
    e->influx.version = version >= 0 ? version + 1 : e->influx.token ? 2 : 1;
    e->remote_write.url = option_text(o, OPT_AGENT_REMOTE_WRITE_URL);
    e->remote_write.user = option_text(o, OPT_AGENT_REMOTE_WRITE_USER);
    e->remote_write.password = secret("REMOTE_WRITE_PASSWORD");
    e->remote_write.bearer_token = secret("REMOTE_WRITE_TOKEN");
}

void agent_exporter_take(struct agent_exporter_command *c, struct arena *a, const struct options *o)
{
    *c = (struct agent_exporter_command){
        .given = o,
        .is_on = option_flag(o, OPT_AGENT_EXPORTER),
        .dcgm = {.address = option_text(o, OPT_AGENT_REMOTE_HOSTENGINE_INFO),
                 .path = option_text(o, OPT_AGENT_DCGM_LIBRARY),
                 .embedded = option_flag(o, OPT_AGENT_DCGM_EMBEDDED)},
        .options = {.listen = option_text(o, OPT_AGENT_ADDRESS),
                    .counters_file = option_text(o, OPT_AGENT_COLLECTORS),
                    .counters_strict = option_flag(o, OPT_AGENT_COLLECTORS_STRICT),
                    .period_ms = EXPORTER_PERIOD_MS,
                    .processes_max = (uint32_t)option_number(o, OPT_AGENT_MAX_PROCESS_SERIES, EXPORTER_PROCESSES_MAX),
                    .web_config = option_text(o, OPT_AGENT_WEB_CONFIG_FILE),
                    .textfile = option_text(o, OPT_AGENT_TEXTFILE),
                    .textfile_keep = option_flag(o, OPT_AGENT_TEXTFILE_KEEP),
                    .session_label_index = option_word(o, OPT_AGENT_SESSION_MIG_LABEL) == 1,
                    .feedback = option_flag(o, OPT_AGENT_FEEDBACK),
                    .page = page_of(o)}};
    take_lists(c, a, o);
    take_pushes(&c->options, o);
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
    struct exporter_options *o = &c->options;
    const struct {
        uint32_t id;
        int64_t *ms;
    } times[] = {{OPT_AGENT_COLLECT_INTERVAL, &o->period_ms},
                 {OPT_AGENT_XID_COUNT_WINDOW_SIZE, &o->xid_window_ms},
                 {OPT_AGENT_CLOCK_EVENTS_COUNT_WINDOW_SIZE, &o->clock_window_ms}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const char *bad = settle_time(option_text(c->given, times[i].id), times[i].ms);
        *ret_option = c->given->command->options[times[i].id].name;
        if (bad)
            return bad;
    }
    *ret_option = "remote-write-label";
    return c->wrong_label;
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
    const char *devices = option_text(c->given, OPT_AGENT_DEVICES), *config_map = option_text(c->given, OPT_AGENT_CONFIGMAP_DATA),
               *bad = settle_times(c, ret_option);
    if (bad)
        return bad;
    if (devices && !text_equal(devices, "f"))
        log_warning("all GPUs are measured, and all MIG devices where MIG is on option=--devices=%s", devices);
    if (config_map && !text_equal(config_map, "none"))
        log_warning("counters are not read from it: mount the ConfigMap and name its file with --collectors option=--configmap-data=%s",
                    config_map);
    if (!option_flag(c->given, OPT_AGENT_KUBERNETES))
        log_warning("pods are named whenever the kubelet tells them option=--kubernetes=false");
    if (option_flag(c->given, OPT_AGENT_KUBERNETES_ENABLE_POD_LABELS))
        o->pod_label_allow = c->label_allow && *c->label_allow ? alternatives(a, c->label_allow) : ".*";
    settle_pushes(c);
    return NULL;
}
