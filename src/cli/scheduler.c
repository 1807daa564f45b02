/* scheduler.c - capstan scheduler: the scheduler and the job controllers, on the cluster that a kubeconfig names */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/log.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "jobs/jobs.h"
#include "sched/sched.h"

static const char help[] =
    "Usage: capstan scheduler [OPTION]...\n"
    "Schedule gangs, queues and pods on the cluster that a kubeconfig names, until stopped.\n\n"
    "      --kubeconfig FILE      cluster to work on (default: $KUBECONFIG, in a pod its own, ~/.kube/config)\n"
    "      --context NAME         context of the kubeconfig\n"
    "      --scheduler-name NAME  serve pods with this schedulerName; may be given several times\n"
    "                             (default: capstan, volcano, gpu-scheduler, coscheduling, "
    "scheduler-plugins-scheduler, kai-scheduler)\n"
    "      --default-scheduler    serve default-scheduler too: only where no kube-scheduler runs\n"
    "      --leader-elect=BOOL    act only while holding the Lease capstan-scheduler (default true)\n"
    "      --lease-namespace NS   where that Lease is (default kube-system; in a pod its own)\n"
    "      --no-kueue             leave kueue.x-k8s.io/queue-name alone: Kueue itself is installed\n"
    "      --no-volcano           leave Volcano Jobs alone: Volcano's controllers are installed\n"
    "      --run-trainjobs        create the jobs of TrainJobs: only where no trainer operator runs\n"
    "      --log-level LEVEL      debug, info, warning or error (default info)\n"
    "  -h, --help                 this text\n\n"
    "Example: capstan scheduler --kubeconfig ./c1/kubeconfig --leader-elect=false\n";

enum { OPT_NAME = 2000, OPT_DEFAULT, OPT_ELECT, OPT_LEASE_NS, OPT_NO_KUEUE, OPT_NO_VOLCANO, OPT_TRAIN, OPT_LOG };
static const struct option options[] = {
    {"kubeconfig", required_argument, NULL, 1000},
    {"context", required_argument, NULL, 1001},
    {"scheduler-name", required_argument, NULL, OPT_NAME},
    {"default-scheduler", no_argument, NULL, OPT_DEFAULT},
    {"leader-elect", optional_argument, NULL, OPT_ELECT},
    {"lease-namespace", required_argument, NULL, OPT_LEASE_NS},
    {"no-kueue", no_argument, NULL, OPT_NO_KUEUE},
    {"no-volcano", no_argument, NULL, OPT_NO_VOLCANO},
    {"run-trainjobs", no_argument, NULL, OPT_TRAIN},
    {"log-level", required_argument, NULL, OPT_LOG},
    {"help", no_argument, NULL, 'h'},
    {0},
};

enum { NAMES_MAX = 24, PROBE_MS = 2000, FAREWELL_MS = 5000 };
struct run {
    struct connect_options connect;
    struct scheduler_config scheduler;
    struct jobs_config jobs;
    const char *names[NAMES_MAX + 1];
    uint32_t names_n;
    struct connection connection;
    struct jobs *controllers;
    struct loop_timer *probe; /* until the server has answered */
    struct err unreached;     /* as it was said last */
};

static bool set_elect(struct run *r, const char *text)
{
    r->scheduler.leader_elect = true;
    if (!text || text_bool(text, &r->scheduler.leader_elect))
        return true;
    fprintf(stderr, "capstan scheduler: --leader-elect=%s: use true or false\n", text);
    return false;
}

/* False: wrong, and said. */
static bool take(struct run *r, int c)
{
    switch (c) {
    case OPT_NAME:
        if (r->names_n == NAMES_MAX) {
            fprintf(stderr, "capstan scheduler: more than %d scheduler names\n", NAMES_MAX);
            return false;
        }
        r->names[r->names_n++] = optarg;
        return true;
    case OPT_DEFAULT:
        r->scheduler.default_scheduler = true;
        return true;
    case OPT_ELECT:
        return set_elect(r, optarg);
    case OPT_LEASE_NS:
        r->scheduler.lease_ns = optarg;
        return true;
    case OPT_NO_KUEUE:
        r->jobs.no_kueue = true;
        return true;
    case OPT_NO_VOLCANO:
        r->jobs.no_volcano = true;
        return true;
    case OPT_TRAIN:
        r->jobs.run_trainjobs = true;
        return true;
    case OPT_LOG:
        if (log_set_level_named(optarg))
            return true;
        fprintf(stderr, "capstan scheduler: --log-level %s: use debug, info, warning or error\n", optarg);
        return false;
    default:
        return connect_option(&r->connect, c, optarg) == 1;
    }
}

/* The job controllers write too: they start when this process leads. */
static void on_leading(void *arg)
{
    struct run *r = arg;
    r->controllers = jobs_new(r->connection.client, &r->jobs);
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

int scheduler_main(int argc, char **argv)
{
    struct run r = {.scheduler = {.leader_elect = true, .on_leading = on_leading}};
    r.scheduler.arg = &r;
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (c == 'h') {
            fputs(help, stdout);
            return EXIT_OK;
        }
        if (!take(&r, c)) {
            fputs("Try 'capstan scheduler --help'.\n", stderr);
            return EXIT_USAGE;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "capstan scheduler: unexpected argument %s\nTry 'capstan scheduler --help'.\n", argv[optind]);
        return EXIT_USAGE;
    }
    if (r.names_n > 0)
        r.scheduler.names = r.names;
    int code = connection_open(&r.connection, &r.connect);
    if (code != EXIT_OK)
        return code;
    if (!r.scheduler.lease_ns && getenv("KUBERNETES_SERVICE_HOST"))
        r.scheduler.lease_ns = r.connection.config->default_namespace; /* in a pod: where its rights are */
    struct loop *l = r.connection.loop;
    struct loop_signal *interrupt = loop_signal_new(l, SIGINT, on_signal, l),
                       *terminate = loop_signal_new(l, SIGTERM, on_signal, l);
    struct scheduler *s = scheduler_new(l, r.connection.client, &r.scheduler);
    r.probe = loop_timer_new(l, probe, &r);
    probe(&r);
    struct err e = {0};
    if (loop_run(l, &e) < 0) {
        fprintf(stderr, "capstan scheduler: %s\n", e.text);
        code = EXIT_FAILED;
    }
    scheduler_stop(s);
    for (int ms = 0; ms < FAREWELL_MS && kube_client_unanswered_n(r.connection.client) > 0; ms += 10)
        (void)loop_run_for(l, 10, NULL);
    jobs_free(r.controllers);
    scheduler_free(s);
    (void)loop_run_for(l, 200, NULL); /* the lease is given back while there is time; else it runs out */
    kube_client_forget(r.connection.client, on_version, &r);
    loop_timer_free(r.probe);
    loop_signal_free(interrupt);
    loop_signal_free(terminate);
    connection_close(&r.connection);
    return code;
}
