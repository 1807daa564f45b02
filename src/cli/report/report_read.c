/* report_read.c - where a report's figures come from
 *
 *     --store PATH ─────────────────────────────▶ usage store
 *     --prometheus URL ─────────────────────────▶ Prometheus
 *     nothing: a store beside the kubeconfig, or where `capstan up` keeps its data ─▶ usage store
 *              none there: a Service of the cluster that is a Prometheus' ─▶ through the API server's proxy
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/history/usage_read.h"
#include "cli/report/report_parts.h"
#include "exporter/report/report_prometheus.h"

#define WEB_PORT 9090

struct report_source {
    struct usage_store *store;  /* NULL: Prometheus is asked */
    struct loop *loop;
    struct http_client *http;   /* of --prometheus: ours */
    struct connection connection;
    bool is_connected;
    struct buf name, prefix;
};

/* ---- a Prometheus of the cluster ---- */

/* A Service that may be one; the best, then the first by namespace and name. */
struct found {
    int score;
    struct buf path, name;
};

/* The port that is Prometheus' own page; NULL: it has none. */
static const struct json *web_port(const struct json *service)
{
    JSON_EACH (port, json_path(service, "spec", "ports", NULL)) {
        const char *name = json_get_text(port, "name", "");
        int64_t number = json_get_int64(port, "port", 0);
        if (number == WEB_PORT || text_equal(name, "web") || text_equal(name, "http-web") || (number == 80 && text_equal(name, "http")))
            return port;
    }
    return NULL;
}

/* SOURCE names and labels of prometheus-operator, kube-prometheus-stack, the chart `prometheus` and bare manifests. */
static int score_of(const struct json *service)
{
    const struct json *metadata = json_get(service, "metadata"), *labels = json_get(metadata, "labels");
    const char *name = json_get_text(metadata, "name", "");
    if (!web_port(service))
        return 0;
    if (text_equal(name, "prometheus-operated"))
        return 4;
    if (text_equal(name, "prometheus") || text_equal(name, "prometheus-server") || text_equal(name, "prometheus-k8s"))
        return 3;
    if (text_equal(json_get_text(labels, "app", ""), "kube-prometheus-stack-prometheus"))
        return 3;
    return text_equal(json_get_text(labels, "app.kubernetes.io/name", ""), "prometheus") ? 2 : 0;
}

static void on_service(void *arg, const struct json *service)
{
    struct found *f = arg;
    int score = score_of(service);
    if (score <= f->score)
        return;
    const struct json *metadata = json_get(service, "metadata");
    const char *ns = json_get_text(metadata, "namespace", ""), *name = json_get_text(metadata, "name", "");
    f->score = score;
    buf_clear(&f->path);
    buf_clear(&f->name);
    buf_text(&f->path, "/api/v1/namespaces/");
    http_escape(&f->path, ns);
    buf_text(&f->path, "/services/");
    http_escape(&f->path, name);
    buf_printf(&f->path, ":%lld/proxy", (long long)json_get_int64(web_port(service), "port", WEB_PORT));
    buf_printf(&f->name, "Prometheus %s/%s of the cluster", ns, name);
}

static bool has_kubeconfig(const struct report_options *o)
{
    struct kubeconfig *k = NULL;
    bool there = kubeconfig_load(o->kubeconfig, o->context, true, &k, NULL) == 0;
    kubeconfig_free(k);
    return there || o->kubeconfig || o->context;
}

/* no_store: what is wrong with the store that was looked for first. */
static int open_cluster(struct report_source *s, const struct report_options *o, const char *no_store)
{
    struct err e = {0};
    struct found f = {0};
    if (!has_kubeconfig(o)) {
        fprintf(stderr, "capstan report: %s, or a --prometheus\n", no_store);
        return EXIT_NOT_FOUND;
    }
    int code = connection_open(&s->connection, o->given, false);
    s->is_connected = code == EXIT_OK;
    if (code != EXIT_OK)
        return code;
    int r = connection_each(&s->connection, "/api/v1/services", on_service, &f, &e);
    if (r == 0 && !f.score) {
        fprintf(stderr, "capstan report: %s; and no Service of the cluster is a Prometheus' that is known by its name: say where with --prometheus\n",
                no_store);
        code = EXIT_NOT_FOUND;
    } else if (r == 0) {
        buf_bytes(&s->name, buf_view(&f.name));
        buf_bytes(&s->prefix, buf_view(&f.path));
    } else {
        err_wrap(&e, "%s; looking for a Prometheus in the cluster", no_store);
        code = connection_fail("report", &e);
    }
    buf_free(&f.path);
    buf_free(&f.name);
    return code;
}

/* ---- opening ---- */

static int open_prometheus(struct report_source *s, const char *url)
{
    struct err e = {0};
    struct http_client_config config = {.base_url = url};
    s->loop = loop_new();
    buf_text(&s->name, url);
    return http_client_new(s->loop, &config, &s->http, &e) < 0 ? connection_fail("report", &e) : EXIT_OK;
}

static int open_store(struct report_source *s, const struct report_options *o, struct arena *a)
{
    struct err e = {0};
    const char *from = "";
    int r = usage_read_open(o->store, o->kubeconfig, a, &s->store, &from, &e);
    buf_text(&s->name, from);
    if (r == 0)
        return EXIT_OK;
    if (r == -E_NOTFOUND && !o->store) {
        buf_clear(&s->name);
        return open_cluster(s, o, e.text);
    }
    fprintf(stderr, "capstan report: %s%s\n", e.text, r == -E_NOTFOUND ? ", or a --prometheus" : "");
    return r == -E_NOTFOUND ? EXIT_NOT_FOUND : EXIT_FAILED;
}

int report_source_open(const struct report_options *o, struct arena *a, struct report_source **ret_s)
{
    struct report_source *s = mem_zero(1, sizeof *s);
    int code = o->prometheus ? open_prometheus(s, o->prometheus) : open_store(s, o, a);
    if (code == EXIT_OK)
        *ret_s = s;
    else
        report_source_close(s);
    return code;
}

void report_source_close(struct report_source *s)
{
    if (!s)
        return;
    usage_close(s->store);
    http_client_free(s->http);
    loop_free(s->loop);
    if (s->is_connected)
        connection_close(&s->connection);
    buf_free(&s->name);
    buf_free(&s->prefix);
    free(s);
}

const char *report_source_name(const struct report_source *s)
{
    return s->name.data;
}

bool report_source_keeps_hours(const struct report_source *s)
{
    return s->store != NULL;
}

bool report_source_begin(struct report_source *s, double *ret_s)
{
    return s->store && usage_begin(s->store, ret_s);
}

/* ---- reading ---- */

int report_source_read(struct report_source *s, const struct report_options *o, double since_s, double until_s, struct arena *a,
                       struct report_input *ret_input)
{
    struct err e = {0};
    struct report_input in = {0};
    int r;
    if (s->store) {
        r = usage_since(s->store, a, since_s, until_s, &in.records, &in.records_n, &e);
        if (r == 0)
            r = usage_capacity_since(s->store, a, since_s, until_s, &in.capacity, &in.capacity_n, &e);
        if (r < 0)
            fprintf(stderr, "capstan report: %s\n", e.text);
    } else {
        struct http_client *http = s->is_connected ? kube_client_http(s->connection.client) : s->http;
        r = report_prometheus_read(http, s->prefix.n ? s->prefix.data : "", since_s, until_s, a, &in, &e);
        if (r < 0)
            return connection_fail("report", &e);
    }
    if (r < 0)
        return EXIT_FAILED;
    report_settle_models(&in);
    report_filter(&in, o->ns, o->queue, o->user);
    *ret_input = in;
    return EXIT_OK;
}
