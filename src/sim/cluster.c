/* cluster.c - wire the parts together, write the kubeconfig */
#include "sim/cluster.h"
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "apiserver/apiserver.h"
#include "base/log.h"
#include "base/random.h"
#include "codec/admission/admission.h"
#include "jobs/embedded.h"
#include "jobs/jobs.h"
#include "net/http_local.h"
#include "net/http_server.h"
#include "sched/ahead/starts.h"
#include "sched/hung/hung.h"
#include "sched/relayout/relayout.h"
#include "sched/sched.h"
#include "sched/serve/port.h"
#include "sched/serve/visibility.h"
#include "sched/view/view.h"
#include "sim/certificates.h"
#include "sim/folder.h"
#include "sim/kubelet/kubelets.h"
#include "sim/node/config_maps.h"
#include "sim/node/node_object.h"
#include "sim/node/operator_values.h"
#include "sim/usage/node_answers.h"
#include "sim/usage/node_feedback.h"
#include "sim/usage/node_metrics.h"
#include "sim/usage/usage_sim.h"

enum { FORECAST_MS = 5000 }; /* WHY oftener than on a large cluster: it is small, and somebody looks */

const char *const cluster_default_nodes[] = {
    "2:a100-40gb", "4:t4", "1:a100-40gb,gpus=2,mig=1g.5gb", "1:t4,gpus=2,mps=10", "1:cpu",
};
const uint32_t cluster_default_nodes_n = sizeof cluster_default_nodes / sizeof *cluster_default_nodes;

struct cluster {
    struct loop *loop;
    struct apiserver *apiserver;
    struct http_server *server;
    struct certificates certificates;
    struct kube_client *client, *sim_client;
    struct scheduler *scheduler;
    struct starts *starts;
    struct relayout *relayout;
    struct hung *hung;
    struct view *view; /* the web page */
    struct jobs *jobs;
    struct embedded_controllers *controllers;
    struct kubelets *kubelets;
    struct node_measure *measure; /* NULL, like the two after it: there is no usage */
    struct node_metrics *metrics;
    struct node_feedback *feedback;
    struct usage_sim *usage; /* NULL: its store could not be opened */
    char *url, *kubeconfig_path;
    struct real_agent **agents;
    uint32_t agents_n;
    uint32_t nodes_n;
};

/* Host part of "127.0.0.1:8080", "[::1]:6443". Caller frees. */
static char *host_of(const char *listen)
{
    const char *colon = strrchr(listen, ':');
    size_t n = colon ? (size_t)(colon - listen) : strlen(listen);
    if (n > 2 && listen[0] == '[')
        return mem_text_n(listen + 1, n - 2);
    return mem_text_n(listen, n);
}

/* The host that clients on this machine connect to. */
static const char *host_to_call(const char *host)
{
    if (text_equal(host, "0.0.0.0"))
        return "127.0.0.1";
    return text_equal(host, "::") ? "::1" : host;
}

static bool is_loopback(const char *host)
{
    return text_equal(host, "localhost") || text_equal(host, "::1") || text_starts(host, "127.");
}

/* ---- kubeconfig ---- */

static void add_base64(struct buf *out, const char *key, const char *pem)
{
    buf_printf(out, "    %s: ", key);
    base64_encode(out, bytes_of(pem));
    buf_char(out, '\n');
}

/* SOURCE with plain http some clients refuse to connect unless insecure-skip-tls-verify is set; kubectl accepts it there. */
static void kubeconfig_text(struct buf *out, const struct cluster *c)
{
    const struct certificates *pki = &c->certificates;
    buf_printf(out, "apiVersion: v1\nkind: Config\nclusters:\n- name: capstan\n  cluster:\n    server: %s\n", c->url);
    if (pki->ca_pem)
        add_base64(out, "certificate-authority-data", pki->ca_pem);
    else
        buf_text(out, "    insecure-skip-tls-verify: true\n");
    buf_text(out, "users:\n- name: admin\n  user:");
    if (pki->admin_cert_pem) {
        buf_char(out, '\n');
        add_base64(out, "client-certificate-data", pki->admin_cert_pem);
        add_base64(out, "client-key-data", pki->admin_key_pem);
    } else {
        buf_text(out, " {}\n");
    }
    buf_text(out, "contexts:\n- name: capstan\n  context: {cluster: capstan, user: admin, namespace: "
                  "default}\ncurrent-context: capstan\n");
}

static int write_kubeconfig(struct cluster *c, const char *dir, struct err *e)
{
    _cleanup_buf_ struct buf text = {0}, path = {0}, temporary = {0};
    kubeconfig_text(&text, c);
    buf_printf(&path, "%s/kubeconfig", dir);
    buf_printf(&temporary, "%s.new", path.data);
    int r = folder_write_file(temporary.data, 0600, buf_view(&text), e);
    if (r < 0)
        return r;
    if (rename(temporary.data, path.data) < 0)
        return err_errno(e, errno, "write %s", path.data);
    c->kubeconfig_path = buf_take(&path, NULL);
    return 0;
}

/* ---- start ---- */

/* Shapes that make the same names go on counting. */
static int32_t first_of_names(const struct cluster_config *config, uint32_t i)
{
    int32_t first = 0;
    for (uint32_t k = 0; k < i; k++)
        if (text_equal(config->shapes[k].name, config->shapes[i].name) &&
            text_equal(node_shape_kind(&config->shapes[k]), node_shape_kind(&config->shapes[i])))
            first += config->nodes_n[k];
    return first;
}

static void on_real_changed(void *arg, const char *node)
{
    struct cluster *c = arg;
    kubelets_gpus_changed(c->kubelets, node);
}

/* The shape whose nodes have this name; NULL: none. */
static const struct node_shape *shape_of_node(const struct cluster_config *config, const char *name)
{
    _cleanup_arena_ struct arena *a = arena_new();
    for (uint32_t i = 0; i < config->shapes_n; i++) {
        struct node_kind kind;
        node_kind_init(&kind, &config->shapes[i]);
        for (int32_t n = 0, first = first_of_names(config, i); n < config->nodes_n[i]; n++)
            if (text_equal(node_object_name(a, &kind, first + n), name))
                return &config->shapes[i];
    }
    return NULL;
}

static int start_real_agent(struct cluster *c, const struct cluster_config *config,
                            const struct operator_values *values, const char *name, struct err *e)
{
    _cleanup_buf_ struct buf dir = {0};
    struct real_agent *r = NULL;
    const struct node_shape *shape = shape_of_node(config, name);
    if (!shape || shape->gpus_n == 0)
        return err_set(e, E_NOTFOUND,
                       "--real-agent %s: there is no GPU node of this name (kubectl get nodes lists them)", name);
    buf_printf(&dir, "%s/agents/%s", config->data_dir, name);
    struct real_agent_config real = {.client = c->sim_client,
                                     .dir = dir.data,
                                     .node_name = name,
                                     .kubeconfig = c->kubeconfig_path,
                                     .shape = shape,
                                     .config_map = values->device_plugin.name,
                                     .config_default = values->device_plugin.preset,
                                     .mig_config_map = values->mig.name,
                                     .mig_evicts = config->mig_evicts,
                                     .changed = on_real_changed,
                                     .arg = c};
    for (uint32_t i = 0; i < values->settings_n; i++)
        if (text_equal(values->settings[i].path, "flags.migStrategy"))
            real.mig_strategy = values->settings[i].value;
    int code = real_agent_new(c->loop, &real, &r, e);
    if (code < 0)
        return code;
    kubelets_set_real(c->kubelets, r);
    c->agents = mem_grow(c->agents, c->agents_n + 1, sizeof *c->agents);
    c->agents[c->agents_n++] = r;
    return 0;
}

static int start_real_agents(struct cluster *c, const struct cluster_config *config, struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct operator_values values;
    const char *text = config->operator_values ? config->operator_values : "";
    int r = operator_values_parse(a, bytes_of(text), &values, NULL, e);
    for (uint32_t i = 0; r == 0 && i < config->real_agents_n; i++)
        r = start_real_agent(c, config, &values, config->real_agents[i], e);
    return r;
}

static bool is_real(const struct cluster_config *config, const char *node)
{
    for (uint32_t i = 0; i < config->real_agents_n; i++)
        if (text_equal(config->real_agents[i], node))
            return true;
    return false;
}

static int register_shape(struct cluster *c, const struct cluster_config *config, uint32_t i, struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct node_kind kind;
    int r = 0;
    node_kind_init(&kind, &config->shapes[i]);
    kind.configs = config_cache_new();
    for (int32_t n = 0, first = first_of_names(config, i); r == 0 && n < config->nodes_n[i]; n++, c->nodes_n++) {
        const char *name = node_object_name(a, &kind, first + n);
        struct json *node =
            node_object_make(a, &kind, first + n, (int32_t)c->nodes_n, loop_wall_ms(c->loop), is_real(config, name));
        r = apiserver_create(c->apiserver, a, node, e);
        if (r == -E_EXISTS)
            r = 0;
        arena_reset(a);
    }
    config_cache_free(kind.configs);
    return r < 0 ? err_wrap(e, "register node") : 0;
}

/* The namespace that guides put the ConfigMaps of GPUs into: it is there, as where the operator runs. */
static int register_namespace(struct cluster *c, struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    static const char text[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"" CONFIG_MAPS_NAMESPACE "\"}}";
    int r = apiserver_create(c->apiserver, a, json_parse(a, bytes_of(text), NULL, NULL), e);
    return r < 0 && r != -E_EXISTS ? err_wrap(e, "make namespace") : 0;
}

static struct json *values_object(struct arena *a, const char *text)
{
    struct json *map = json_new(a, JSON_OBJECT);
    json_set_text(a, map, "apiVersion", "v1");
    json_set_text(a, map, "kind", "ConfigMap");
    struct json *metadata = json_ensure_object(a, map, "metadata");
    json_set_text(a, metadata, "name", CONFIG_MAPS_VALUES);
    json_set_text(a, metadata, "namespace", CONFIG_MAPS_NAMESPACE);
    json_set_text(a, json_ensure_object(a, map, "data"), "values.yaml", text);
    return map;
}

static void on_object_written(void *arg, const struct kube_answer *answer)
{
    (void)arg;
    if (answer->code < 0)
        log_warning("object of the start not written error=\"%s\"", answer->error.text);
}

/* What an earlier start wrote is replaced. */
static int register_object(struct cluster *c, struct arena *a, struct json *object, const char *path, const char *what, struct err *e)
{
    _cleanup_buf_ struct buf body = {0};
    json_write(&body, object);
    int r = apiserver_create(c->apiserver, a, object, e);
    if (r != -E_EXISTS)
        return r < 0 ? err_wrap(e, "%s", what) : 0;
    kube_update(c->client, path, buf_view(&body), on_object_written, NULL);
    return 0;
}

static int register_values(struct cluster *c, const char *text, struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    return register_object(c, a, values_object(a, text),
                           kube_path(a, "", "v1", "configmaps", CONFIG_MAPS_NAMESPACE, CONFIG_MAPS_VALUES, NULL),
                           "--operator-values", e);
}

/* Where the Service "kubernetes" leads: to this process. Slices are made from it as from all Endpoints without a selector. */
static int register_endpoints(struct cluster *c, const char *host, struct err *e)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct in6_addr address;
    const char *ip = text_equal(host, "localhost") ? "127.0.0.1" : host;
    if (inet_pton(AF_INET, ip, &address) != 1 && inet_pton(AF_INET6, ip, &address) != 1)
        return 0; /* a name is no endpoint */
    const char *text = arena_printf(a,
                                    "{\"apiVersion\":\"v1\",\"kind\":\"Endpoints\",\"metadata\":{\"name\":\"kubernetes\",\"namespace\":"
                                    "\"default\"},\"subsets\":[{\"addresses\":[{\"ip\":\"%s\"}],\"ports\":[{\"name\":\"https\",\"port\":%d,"
                                    "\"protocol\":\"TCP\"}]}]}",
                                    ip, http_server_port(c->server));
    return register_object(c, a, json_parse(a, bytes_of(text), NULL, NULL),
                           kube_path(a, "", "v1", "endpoints", "default", "kubernetes", NULL), "endpoints of the API server", e);
}

static int register_nodes(struct cluster *c, const struct cluster_config *config, struct err *e)
{
    int r = register_namespace(c, e);
    for (uint32_t i = 0; r == 0 && i < config->shapes_n; i++)
        r = register_shape(c, config, i, e);
    return r;
}

static unsigned shares_of(const struct policy *p)
{
    return (p->fair.on ? ADMISSION_FAIR_SHARES : 0) | (p->consumption.on ? ADMISSION_USAGE_SHARES : 0);
}

static int start_server(struct cluster *c, const struct cluster_config *config, struct err *e)
{
    _cleanup_free_ char *host = host_of(config->listen);
    const char *call = host_to_call(host);
    if (!strchr(config->listen, ':') || !*host)
        return err_set(e, E_INVALID, "--listen %s: write HOST:PORT, for example 127.0.0.1:8080 or [::1]:8080",
                       config->listen);
    if (!config->tls && !is_loopback(host))
        return err_set(
            e, E_INVALID,
            "--listen %s is reachable from other machines: add --tls (certificates are made), or listen on 127.0.0.1",
            config->listen);
    int r = config->tls ? certificates_open(config->data_dir, call, &c->certificates, e) : 0;
    if (r < 0)
        return r;
    struct apiserver_config api = {.data_dir = config->data_dir,
                                   .strict_kueue = config->strict_kueue,
                                   .shares = shares_of(&config->policy),
                                   .runs_queues = true,
                                   .check_host = !config->tls,
                                   .listen_host = call,
                                   .authenticate = config->tls,
                                   .ca_pem = c->certificates.ca_pem};
    if ((r = apiserver_new(c->loop, &api, &c->apiserver, e)) < 0)
        return r;
    struct http_server_config http = {.listen = config->listen,
                                      .tls_cert_pem = c->certificates.server_cert_pem,
                                      .tls_key_pem = c->certificates.server_key_pem,
                                      .tls_client_ca_pem = c->certificates.ca_pem,
                                      .handler = apiserver_handle,
                                      .head = apiserver_head,
                                      .ctx = c->apiserver};
    /* ORDER  a start that cannot listen leaves no nodes behind; requests are answered once the loop runs */
    if ((r = http_server_new(c->loop, &http, &c->server, e)) < 0 || (r = register_nodes(c, config, e)) < 0)
        return r;
    _cleanup_buf_ struct buf url = {0};
    buf_printf(&url, strchr(call, ':') ? "%s://[%s]:%d" : "%s://%s:%d", config->tls ? "https" : "http", call,
               http_server_port(c->server));
    c->url = buf_take(&url, NULL);
    return 0;
}

/* A cluster without accounts is better than none. */
static void start_usage(struct cluster *c, const struct cluster_config *config)
{
    _cleanup_buf_ struct buf path = {0};
    struct err e = {0};
    buf_printf(&path, "%s/usage.db", config->data_dir);
    if (usage_sim_new(c->sim_client, path.data, config->speed, &c->usage, &e) < 0)
        log_warning("GPU-hours are not counted error=\"%s\"", e.text);
    if (!c->usage)
        return;
    kubelets_on_pod(c->kubelets, usage_sim_pod, c->usage);
    c->measure = node_measure_new(c->loop, c->kubelets, c->usage);
    c->metrics = node_metrics_new(c->loop, c->apiserver, c->kubelets, c->measure);
    c->feedback = node_feedback_new(c->loop, c->sim_client, c->measure);
}

/* WHY  the scheduler speaks to this server as to any other, but what both sides have in one process need not pass a socket. */
static struct kube_client *client_inside(struct cluster *c, const char *user_agent)
{
    struct http_local_config config = {.handler = apiserver_handle, .ctx = c->apiserver, .user_agent = user_agent};
    if (c->certificates.ca_pem) {
        config.user = CERTIFICATES_ADMIN;
        config.groups = CERTIFICATES_ADMIN_GROUP;
    }
    struct kube_client *client = kube_client_wrap(c->loop, http_local_client_as(c->loop, &config));
    kube_client_server_is_here(client);
    return client;
}

static void on_stray(void *arg, const char *node)
{
    struct cluster *c = arg;
    embedded_controllers_look_at_node(c->controllers, node);
}

static void on_ungated(void *arg, const char *gate, const char *queue, bool is_group, double seconds)
{
    struct cluster *c = arg;
    scheduler_pod_ungated(c->scheduler, gate, queue, is_group, seconds);
}

static enum job_waits job_waits(void *arg, const struct queued_kind *kind, const char *ns, const char *name, const char *uid)
{
    const struct cluster *c = arg;
    return jobs_wait(c->jobs, kind, ns, name, uid);
}

static bool grouping(void *arg, const struct json *pod)
{
    const struct cluster *c = arg;
    return jobs_groups(c->jobs, pod);
}

/* GET /metrics/scheduler: what `capstan scheduler --address` serves. */
static bool on_scheduler_page(void *ctx, struct http_exchange *x)
{
    const struct cluster *c = ctx;
    if (!text_equal(x->request.path, "/metrics/scheduler") || !text_equal(x->request.method, "GET"))
        return false;
    scheduler_page_answer(c->scheduler, x);
    return true;
}

/* The visibility API: positions are the scheduler's. */
static int on_pending(void *ctx, const struct http_request *r, const char *version, const char *ns, const char *name, struct buf *out,
                      struct err *e)
{
    const struct cluster *c = ctx;
    struct visibility_question q = {.version = version, .ns = ns, .name = name};
    int code = visibility_query(r, &q, e);
    return code < 0 ? code : visibility_answer(c->scheduler, r->arena, &q, out, e);
}

static int start_clients(struct cluster *c, const struct cluster_config *config, struct err *e)
{
    c->client = client_inside(c, "capstan/" CAPSTAN_VERSION);
    c->sim_client = client_inside(c, "capstan-simulation/" CAPSTAN_VERSION);
    _cleanup_free_ char *host = host_of(config->listen);
    int r = register_endpoints(c, host_to_call(host), e);
    if (r == 0 && config->operator_values)
        r = register_values(c, config->operator_values, e);
    if (r < 0)
        return r;
    uint64_t seed = random_seed_from_system();
    c->scheduler = scheduler_new(
        c->loop, c->client,
        &(struct scheduler_config){.default_scheduler = true, .policy = config->policy, .charge = config->charge,
                                    .metrics = config->metrics, .job_waits = job_waits, .grouping = grouping,
                                    .groups_volcano = true, .arg = c});
    c->starts = starts_new(c->scheduler, FORECAST_MS);
    c->relayout = relayout_new(c->scheduler);
    c->hung = hung_new(c->scheduler, HUNG_AFTER_S * 1000);
    apiserver_add_route(c->apiserver, "/metrics/scheduler", on_scheduler_page, c);
    apiserver_set_pending(c->apiserver, on_pending, c);
    c->view = view_new(c->loop, c->scheduler);
    apiserver_add_route(c->apiserver, "/", view_handle, c->view); /* / itself, and /ui */
    c->jobs = jobs_new(c->client, &(struct jobs_config){.embedded = true, .policy = config->workloads,
                                                        .says_ready = config->policy.ready.timeout_ms > 0,
                                                        .on_ungated = on_ungated, .arg = c});
    c->controllers = embedded_controllers_new(c->client, config->speed, seed);
    c->kubelets = kubelets_new(
        c->sim_client,
        &(struct kubelets_config){
            .speed = config->speed, .mig_evicts = config->mig_evicts, .heartbeat = true, .stray = on_stray, .arg = c});
    apiserver_set_nodes(c->apiserver, &kubelets_node_ops, c->kubelets);
    start_usage(c, config);
    return start_real_agents(c, config, e);
}

int cluster_start(struct loop *l, const struct cluster_config *config, struct cluster **ret_c, struct err *e)
{
    struct cluster *c = mem_zero(1, sizeof *c);
    c->loop = l;
    int r = *config->data_dir ? folder_make(config->data_dir, 0700, e) : err_set(e, E_INVALID, "--data-dir is empty");
    if (r < 0 || (r = start_server(c, config, e)) < 0 || (r = write_kubeconfig(c, config->data_dir, e)) < 0 ||
        (r = start_clients(c, config, e)) < 0) {
        cluster_stop(c);
        return r;
    }
    *ret_c = c;
    return 0;
}

void cluster_stop(struct cluster *c)
{
    if (!c)
        return;
    if (c->apiserver)
        apiserver_set_nodes(c->apiserver, NULL, NULL);
    node_measure_free(c->measure);
    node_metrics_free(c->metrics);
    node_feedback_free(c->feedback);
    if (c->kubelets)
        kubelets_on_pod(c->kubelets, NULL, NULL);
    usage_sim_free(c->usage);
    for (uint32_t i = 0; i < c->agents_n; i++)
        real_agent_end(c->agents[i]); /* all at once */
    for (uint32_t i = 0; i < c->agents_n; i++)
        real_agent_free(c->agents[i]); /* before the kubelets: their answers come in there */
    kubelets_free(c->kubelets);
    free(c->agents);
    embedded_controllers_free(c->controllers);
    jobs_free(c->jobs);
    view_free(c->view);
    hung_free(c->hung);
    relayout_free(c->relayout);
    starts_free(c->starts);
    scheduler_free(c->scheduler);
    kube_client_free(c->sim_client);
    kube_client_free(c->client);
    http_server_free(c->server);
    apiserver_free(c->apiserver);
    certificates_fini(&c->certificates);
    free(c->url);
    free(c->kubeconfig_path);
    free(c);
}

bool cluster_speed_parse(const char *text, double *ret_speed)
{
    char *end;
    *ret_speed = strtod(text, &end);
    return !*end && end != text && isfinite(*ret_speed) && *ret_speed >= 0.001 && *ret_speed <= 1e6;
}

const char *cluster_url(const struct cluster *c)
{
    return c->url;
}
const char *cluster_kubeconfig(const struct cluster *c)
{
    return c->kubeconfig_path;
}
struct kube_client *cluster_client(struct cluster *c)
{
    return c->client;
}
uint32_t cluster_nodes(const struct cluster *c)
{
    return c->nodes_n;
}
