/* scheduler.c - capstan scheduler: the scheduler and the job controllers, on the cluster that a kubeconfig names */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "cli/cli.h"
#include "cli/configuration/configuration_file.h"
#include "cli/connect.h"
#include "codec/decode/decode.h"
#include "codec/groups/task_groups.h"
#include "jobs/jobs.h"
#include "sched/ahead/starts.h"
#include "sched/record/recorder.h"
#include "sched/hung/hung.h"
#include "sched/relayout/relayout.h"
#include "sched/sched.h"
#include "sched/serve/port.h"
#include "sched/serve/visibility_port.h"

enum { NAMES_MAX = 24, PROBE_MS = 2000, FAREWELL_MS = 5000, LEASE_MS = 200 };
struct run {
    struct scheduler_config scheduler;
    struct jobs_config jobs;
    const char *names[NAMES_MAX + 1];
    uint32_t names_n;
    struct configuration configuration;
    struct arena *arena; /* what the configuration holds */
    struct connection connection;
    struct jobs *controllers;
    int64_t forecast_ms;
    struct scheduler_port *port;
    struct visibility_port *visibility;
    struct visibility_port_config visibility_config;
    struct loop_timer *probe; /* until the server has answered */
    struct err unreached;     /* as it was said last */
};

/* The file that --config names. What stands on the command line wins over it. */
static int take_configuration(struct run *r, const struct options *o)
{
    const struct configuration *c = &r->configuration;
    int code = configuration_file_take(o, option_text(o, OPT_SCHEDULER_CONFIG), r->arena, &r->configuration);
    if (code != EXIT_OK)
        return code;
    r->scheduler.policy = c->policy;
    r->scheduler.policy.volcano_preempt = option_flag(o, OPT_SCHEDULER_VOLCANO_PREEMPT);
    r->scheduler.charge = &c->charge;
    r->scheduler.metrics = &c->metrics;
    if (c->leader_elect != CONFIGURATION_UNSET && !o->on_line[OPT_SCHEDULER_LEADER_ELECT])
        r->scheduler.leader_elect = c->leader_elect == CONFIGURATION_ON;
    r->jobs.says_ready = c->policy.ready.timeout_ms > 0;
    r->jobs.unqueued = c->unqueued;
    r->jobs.no_kueue_pods = c->no_pods;
    r->jobs.unqueued_sets = c->unqueued_sets;
    r->jobs.policy = &c->workloads;
    if (!r->scheduler.lease_ns)
        r->scheduler.lease_ns = c->lease_namespace;
    return EXIT_OK;
}

/* EXIT_OK, or it was said what is wrong. */
static int take_visibility(struct visibility_port_config *c, const struct options *o)
{
    c->address = option_text(o, OPT_SCHEDULER_VISIBILITY_ADDRESS);
    c->cert_file = option_text(o, OPT_SCHEDULER_TLS_CERT_FILE);
    c->key_file = option_text(o, OPT_SCHEDULER_TLS_PRIVATE_KEY_FILE);
    if (c->cert_file && !c->key_file)
        return options_wrong(o, "--tls-cert-file: give the certificate's key as well, with --tls-private-key-file");
    if (c->key_file && !c->cert_file)
        return options_wrong(o, "--tls-private-key-file: give the key's certificate as well, with --tls-cert-file");
    if (c->cert_file && !c->address)
        return options_wrong(o, "--tls-cert-file: there is no port that it is for: it goes with --visibility-address");
    return EXIT_OK;
}

/* EXIT_OK, or it was said what is wrong. */
static int take(struct run *r, const struct options *o)
{
    bool yunikorn = false, kai = false;
    for (uint32_t i = 0; i < o->given_n; i++) {
        if (o->given[i].id != OPT_SCHEDULER_SCHEDULER_NAME)
            continue;
        yunikorn |= strcmp(o->given[i].text, YUNIKORN_SCHEDULER) == 0;
        kai |= strcmp(o->given[i].text, DECODE_KAI_SCHEDULER) == 0;
        if (r->names_n == NAMES_MAX)
            return options_wrong(o, "more than %d scheduler names", NAMES_MAX);
        r->names[r->names_n++] = o->given[i].text;
    }
    r->scheduler.default_scheduler = option_flag(o, OPT_SCHEDULER_DEFAULT_SCHEDULER);
    r->scheduler.hold = option_flag(o, OPT_SCHEDULER_HOLD);
    r->scheduler.leader_elect = option_flag(o, OPT_SCHEDULER_LEADER_ELECT);
    r->scheduler.lease_ns = option_text(o, OPT_SCHEDULER_LEASE_NAMESPACE);
    r->forecast_ms = option_number(o, OPT_SCHEDULER_FORECAST_SECONDS, 0) * 1000;
    r->jobs.no_kueue = option_flag(o, OPT_SCHEDULER_NO_KUEUE);
    r->jobs.no_yunikorn = r->names_n > 0 && !yunikorn;
    r->jobs.no_kai = r->names_n > 0 && !kai;
    r->jobs.no_volcano = option_flag(o, OPT_SCHEDULER_NO_VOLCANO);
    r->scheduler.groups_volcano = !r->jobs.no_volcano;
    r->jobs.run_trainjobs = option_flag(o, OPT_SCHEDULER_RUN_TRAINJOBS);
    (void)log_set_level_named(option_text(o, OPT_SCHEDULER_LOG_LEVEL)); /* it is one of the four */
    int code = take_visibility(&r->visibility_config, o);
    return code == EXIT_OK ? take_configuration(r, o) : code;
}

static void on_ungated(void *arg, const char *gate, const char *queue, bool is_group, double seconds)
{
    scheduler_pod_ungated(arg, gate, queue, is_group, seconds);
}

static enum job_waits job_waits(void *arg, const struct queued_kind *kind, const char *ns, const char *name, const char *uid)
{
    const struct run *r = arg;
    return jobs_wait(r->controllers, kind, ns, name, uid);
}

static bool grouping(void *arg, const struct json *pod)
{
    const struct run *r = arg;
    return jobs_groups(r->controllers, pod);
}

/* The job controllers write too: they start when this process leads. */
static void on_leading(void *arg)
{
    struct run *r = arg;
    r->controllers = jobs_new(r->connection.client, &r->jobs);
}

/* WHY  until it has read all that it needs it decides nothing, and who runs it sees no more than that. */
static void on_forbidden(void *arg, const char *path, const char *why)
{
    (void)arg;
    log_warning("may not be read path=%s error=\"%s\": it is waited for; the rules that the scheduler needs are those of deploy/scheduler.yaml",
                path, why);
}

/* Whether anybody listens there: said when it is known, and each new trouble once. */
static void on_version(void *arg, const struct kube_answer *answer)
{
    struct run *r = arg;
    const char *server = r->connection.config->server;
    if (answer->status) {
        log_info("connected server=%s", server);
        return;
    }
    if (strcmp(r->unreached.text, answer->error.text) != 0)
        log_warning("not connected server=%s error=\"%s\"", server, answer->error.text);
    r->unreached = answer->error;
    loop_timer_start(r->probe, PROBE_MS, 0);
}

static void probe(void *arg)
{
    struct run *r = arg;
    kube_get(r->connection.client, "/version", on_version, r);
}

static void on_signal(void *arg)
{
    loop_stop(arg);
}

/* Runs until all that was sent is answered, and told: all that was done is told, but not for longer than this. Returns what is left. */
static int wait_for_answers(const struct run *r, int ms, bool told)
{
    const struct kube_client *c = r->connection.client;
    for (; ms > 0 && (kube_client_unanswered_n(c) > 0 || (told && kube_client_untold_n(c) > 0)); ms -= 10)
        (void)loop_run_for(r->connection.loop, 10, NULL);
    return ms;
}

/* The ports that --address and --visibility-address name. EXIT_OK, or it was said what is wrong. */
static int open_ports(struct run *r, const struct options *o, struct scheduler *s)
{
    const char *address = option_text(o, OPT_SCHEDULER_ADDRESS);
    const struct visibility_port_config *visibility = &r->visibility_config;
    struct err e = {0};
    if (address && scheduler_port_new(r->connection.loop, s, address, &r->port, &e) < 0)
        return options_wrong(o, "--address: %s", e.text);
    if (address)
        log_info("metrics, healthz, readyz and (here) ui port=%d", scheduler_port_number(r->port));
    if (visibility->address && visibility_port_new(r->connection.loop, r->connection.client, s, visibility, &r->visibility, &e) < 0)
        return options_wrong(o, "--visibility-address: %s", e.text);
    if (visibility->address)
        log_info("visibility API port=%d", visibility_port_number(r->visibility));
    return EXIT_OK;
}

int scheduler_main(const struct options *o)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct run r = {.scheduler = {.on_leading = on_leading, .job_waits = job_waits, .grouping = grouping}, .arena = a};
    r.scheduler.arg = &r;
    int code = take(&r, o);
    if (code != EXIT_OK)
        return code;
    if (r.names_n > 0)
        r.scheduler.names = r.names;
    code = connection_open(&r.connection, o, false);
    if (code != EXIT_OK)
        return code;
    if (!r.scheduler.lease_ns && getenv("KUBERNETES_SERVICE_HOST"))
        r.scheduler.lease_ns = r.connection.config->default_namespace; /* in a pod: where its rights are */
    struct loop *l = r.connection.loop;
    struct loop_signal *interrupt = loop_signal_new(l, SIGINT, on_signal, l),
                       *terminate = loop_signal_new(l, SIGTERM, on_signal, l);
    const char *record = option_text(o, OPT_SCHEDULER_RECORD);
    struct err e = {0};
    if (record && recorder_new(l, record, option_number(o, OPT_SCHEDULER_RECORD_LIMIT, 0) << 20, &r.scheduler.recorder, &e) < 0)
        log_warning("nothing is recorded why=\"%s\"", e.text); /* WHY  who schedules is needed more than who remembers */
    kube_client_on_forbidden(r.connection.client, on_forbidden, NULL);
    struct scheduler *s = scheduler_new(l, r.connection.client, &r.scheduler);
    struct starts *starts = starts_new(s, r.forecast_ms);
    struct relayout *relayout = relayout_new(s);
    struct hung *hung = hung_new(s, option_number(o, OPT_SCHEDULER_HUNG_AFTER, 0) * 1000);
    r.jobs.on_ungated = on_ungated;
    r.jobs.arg = s;
    r.probe = loop_timer_new(l, probe, &r);
    probe(&r);
    code = open_ports(&r, o, s);
    if (code == EXIT_OK && loop_run(l, &e) < 0) {
        fprintf(stderr, "capstan scheduler: %s\n", e.text);
        code = EXIT_FAILED;
    }
    hung_free(hung);
    relayout_free(relayout);
    starts_free(starts);
    scheduler_stop(s);
    jobs_free(take_ptr(r.controllers)); /* pods that wait for their jobs are still looked at, until the last answer is there */
    int left_ms = wait_for_answers(&r, FAREWELL_MS, false);
    scheduler_port_free(r.port);
    visibility_port_free(r.visibility);
    scheduler_free(s);
    (void)wait_for_answers(&r, left_ms + LEASE_MS, true); /* the lease is given back while there is time; else it runs out */
    kube_client_forget(r.connection.client, on_version, &r);
    loop_timer_free(r.probe);
    loop_signal_free(interrupt);
    loop_signal_free(terminate);
    connection_close(&r.connection);
    return code;
}
