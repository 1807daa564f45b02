#include "apiserver/serve/metrics.h"

#include <stdio.h>
#include <unistd.h>

#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "apiserver/store/selector.h"
#include "apiserver/tables/object_reply.h"
#include "apiserver/tables/table.h"
#include "base/clock.h"

#define WINDOW "20s"

static void usage_set(struct arena *a, struct json *object, int64_t cpu_milli, int64_t memory_bytes)
{
    struct json *usage = json_ensure_object(a, object, "usage");
    json_set_text(a, usage, "cpu", arena_printf(a, "%lldm", (long long)cpu_milli));
    json_set_text(a, usage, "memory", arena_printf(a, "%lldKi", (long long)(memory_bytes / 1024)));
}

static struct json *usage_new(struct apiserver *s, const struct request_info *ri, struct arena *a,
                              const struct json *object)
{
    char text[TIME_TEXT_MAX];
    struct json *usage = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, usage, "metadata");
    const struct json *source = json_get(object, "metadata"), *labels = json_get(source, "labels");
    json_set_text(a, metadata, "name", json_get_text(source, "name", ""));
    if (json_get(source, "namespace"))
        json_set_text(a, metadata, "namespace", json_get_text(source, "namespace", ""));
    if (labels)
        json_set(a, metadata, "labels", json_clone(a, labels));
    time_format(text, loop_wall_ms(s->loop));
    json_set_text(a, metadata, "creationTimestamp", text);
    json_set_text(a, usage, "timestamp", text);
    json_set_text(a, usage, "window", WINDOW);
    return usage;
}

/* All that is known of the pod goes to its first container: usage is measured per pod. */
static bool pod_usage(struct apiserver *s, struct arena *a, const struct json *pod, struct json *usage)
{
    int64_t cpu = 0, memory = 0;
    const struct json *metadata = json_get(pod, "metadata");
    const struct apiserver_node_ops *ops = s->config.nodes;
    if (!ops || !ops->pod_usage ||
        !ops->pod_usage(s->config.nodes_ctx, json_get_text(metadata, "namespace", ""),
                        json_get_text(metadata, "name", ""), &cpu, &memory))
        return false;
    struct json *containers = json_ensure_array(a, usage, "containers");
    JSON_EACH (container, json_path(pod, "spec", "containers", NULL)) {
        struct json *entry = json_new(a, JSON_OBJECT);
        json_set_text(a, entry, "name", json_get_text(container, "name", ""));
        usage_set(a, entry, cpu, memory);
        json_append(containers, entry);
        cpu = memory = 0;
    }
    return true;
}

static bool node_usage(struct apiserver *s, struct arena *a, const struct json *node, struct json *usage)
{
    int64_t cpu, memory;
    const struct apiserver_node_ops *ops = s->config.nodes;
    if (!ops || !ops->node_usage ||
        !ops->node_usage(s->config.nodes_ctx, json_text(json_path(node, "metadata", "name", NULL), ""), &cpu, &memory))
        return false;
    usage_set(a, usage, cpu, memory);
    return true;
}

/* The usage of one object, or NULL when it is not known. */
static struct json *usage_of(struct apiserver *s, const struct request_info *ri, struct arena *a,
                             const struct json *object)
{
    struct json *usage = usage_new(s, ri, a, object);
    bool known = strcmp(ri->plural, "nodes") == 0 ? node_usage(s, a, object, usage) : pod_usage(s, a, object, usage);
    return known ? usage : NULL;
}

static void list_reply(struct apiserver *s, struct http_exchange *x, const struct request_info *ri,
                       const struct selector *selector)
{
    struct arena *a = x->request.arena;
    struct buf out = {0};
    bool table = table_wanted(&x->request), first = true;
    struct store_cursor *c = store_list(s->store, store_kind(s->store, "", ri->plural), *ri->ns ? ri->ns : NULL, NULL);
    const struct store_object *o;
    if (table)
        table_begin(&out, ri, NULL, NULL, -1, true);
    else
        buf_printf(&out, "{\"kind\":\"%sList\",\"apiVersion\":\"metrics.k8s.io/%s\",\"metadata\":{},\"items\":[",
                   ri->kind->kind, ri->version);
    while ((o = store_list_next(c))) {
        struct bytes text = {o->body->data, o->body->n};
        if (!selector_match(selector, text))
            continue;
        const struct json *usage = usage_of(s, ri, a, json_parse(a, text, NULL, NULL));
        if (!usage)
            continue;
        if (table) {
            table_row(&out, ri, a, usage, http_query(&x->request, "includeObject"), first);
        } else {
            buf_text(&out, first ? "" : ",");
            json_write(&out, usage);
        }
        first = false;
    }
    store_list_free(c);
    if (table)
        table_end(&out);
    else
        buf_text(&out, "]}");
    http_reply(x, 200, "application/json", blob_new(out.data, out.n));
    buf_free(&out);
}

static void one_reply(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    struct arena *a = x->request.arena;
    const struct json *object = object_read_plural(s, a, "", ri->plural, ri->ns, ri->name);
    struct json *usage = object ? usage_of(s, ri, a, object) : NULL;
    if (!usage) {
        status_reply_not_found(x, ri, ri->name);
        return;
    }
    json_set_text(a, usage, "kind", ri->kind->kind);
    json_set_text(a, usage, "apiVersion", arena_printf(a, "metrics.k8s.io/%s", ri->version));
    object_reply(x, ri, 200, usage, false);
}

void metrics_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    struct err e = {0};
    struct selector selector;
    if (ri->verb == VERB_GET)
        one_reply(s, x, ri);
    else if (selector_parse(x->request.arena, http_query(&x->request, "labelSelector"),
                            http_query(&x->request, "fieldSelector"), &(struct selector_kind){"", ri->plural, NULL}, &selector, &e) < 0)
        status_reply_err(x, ri, &e);
    else
        list_reply(s, x, ri, &selector);
}

/* ---- /metrics: the server about itself, in Prometheus' text form ---- */

static long resident_bytes(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%*s %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

void metrics_text(struct apiserver *s, struct http_exchange *x)
{
    struct buf out = {0};
    buf_text(&out, "# HELP capstan_apiserver_requests_total Requests answered.\n# TYPE "
                   "capstan_apiserver_requests_total counter\n");
    buf_printf(&out, "capstan_apiserver_requests_total %llu\n", (unsigned long long)s->requests_n);
    buf_text(&out, "# HELP capstan_apiserver_resource_version Newest change.\n# TYPE "
                   "capstan_apiserver_resource_version counter\n");
    buf_printf(&out, "capstan_apiserver_resource_version %llu\n", (unsigned long long)store_rv(s->store));
    buf_text(&out, "# HELP capstan_apiserver_objects Stored objects.\n# TYPE capstan_apiserver_objects gauge\n");
    for (uint32_t i = 0; i < kind_count(s->kinds); i++) {
        const struct kind *k = kind_at(s->kinds, i);
        size_t n = k->flags & (KIND_REVIEW | KIND_READ_ONLY)
                       ? 0
                       : store_count(s->store, store_kind(s->store, k->group, k->plural));
        if (n)
            buf_printf(&out, "capstan_apiserver_objects{group=\"%s\",resource=\"%s\"} %zu\n", k->group, k->plural, n);
    }
    buf_text(&out,
             "# HELP process_resident_memory_bytes Resident memory.\n# TYPE process_resident_memory_bytes gauge\n");
    buf_printf(&out, "process_resident_memory_bytes %ld\n", resident_bytes());
    http_reply(x, 200, "text/plain; version=0.0.4; charset=utf-8", blob_new(out.data, out.n));
    buf_free(&out);
}
