/* endpoints_make.c - group pods by the ports they serve, then write the groups in both shapes */
#include "jobs/apps/endpoints_make.h"
#include "jobs/batch/pod_template.h"
#include "kube/object.h"

static bool has_ended(const struct json *pod)
{
    const char *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    return text_equal(phase, "Succeeded") || text_equal(phase, "Failed");
}

static void add_named_ports(struct arena *a, struct json *view, const struct json *containers)
{
    JSON_EACH (container, containers)
        JSON_EACH (port, json_get(container, "ports"))
            if (*json_get_text(port, "name", "")) {
                struct json *one = json_new(a, JSON_OBJECT);
                json_set_text(a, one, "name", json_get_text(port, "name", ""));
                json_set_int64(a, one, "containerPort", json_get_int64(port, "containerPort", 0));
                json_set_text(a, one, "protocol", json_get_text(port, "protocol", "TCP"));
                json_append(json_ensure_array(a, view, "ports"), one);
            }
}

struct json *endpoints_pod_view(struct arena *a, const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec"), *labels = json_path(pod, "metadata", "labels", NULL);
    const char *ip = json_text(json_path(pod, "status", "podIP", NULL), "");
    if (!*ip || has_ended(pod))
        return NULL;
    struct json *view = json_new(a, JSON_OBJECT);
    json_set_text(a, view, "namespace", object_meta(pod, "namespace"));
    json_set_text(a, view, "name", object_meta(pod, "name"));
    json_set_text(a, view, "uid", object_meta(pod, "uid"));
    json_set(a, view, "labels", json_is(labels, JSON_OBJECT) ? json_clone(a, labels) : json_new(a, JSON_OBJECT));
    json_set_text(a, view, "ip", ip);
    json_set_text(a, view, "node", json_get_text(spec, "nodeName", ""));
    json_set_text(a, view, "hostname", json_get_text(spec, "hostname", ""));
    json_set_text(a, view, "subdomain", json_get_text(spec, "subdomain", ""));
    json_set_bool(a, view, "ready", object_condition_true(pod, "Ready"));
    json_set_bool(a, view, "deleting", object_deleting(pod));
    add_named_ports(a, view, json_get(spec, "containers"));
    return view;
}

/* ---- groups ---- */

struct group {
    const struct json *ports; /* as in Endpoints */
    const struct json **views;
    uint32_t n;
};
struct groups {
    struct group *all;
    uint32_t n;
};

/* The number that a service's port is for this pod; 0: the pod has none of this name. */
static int64_t target_of(const struct json *port, const struct json *view)
{
    const struct json *target = json_get(port, "targetPort");
    if (json_is(target, JSON_NUMBER))
        return json_int64(target, 0);
    const char *name = json_text(target, "");
    if (!*name)
        return json_get_int64(port, "port", 0);
    JSON_EACH (named, json_get(view, "ports"))
        if (text_equal(json_get_text(named, "name", ""), name) &&
            text_equal(json_get_text(named, "protocol", ""), json_get_text(port, "protocol", "TCP")))
            return json_get_int64(named, "containerPort", 0);
    return 0;
}

static struct json *ports_of(struct arena *a, const struct json *service, const struct json *view)
{
    struct json *ports = json_new(a, JSON_ARRAY);
    JSON_EACH (port, json_path(service, "spec", "ports", NULL)) {
        int64_t number = target_of(port, view);
        if (number == 0)
            continue;
        struct json *one = json_new(a, JSON_OBJECT);
        if (*json_get_text(port, "name", ""))
            json_set_text(a, one, "name", json_get_text(port, "name", ""));
        json_set_int64(a, one, "port", number);
        json_set_text(a, one, "protocol", json_get_text(port, "protocol", "TCP"));
        if (*json_get_text(port, "appProtocol", ""))
            json_set_text(a, one, "appProtocol", json_get_text(port, "appProtocol", ""));
        json_append(ports, one);
    }
    return ports;
}

/* Pods that serve none of the ports of a service are in no group. */
static struct groups groups_of(struct arena *a, const struct json *service, const struct json *const *views, uint32_t n)
{
    struct groups g = {.all = arena_zero(a, n + 1, sizeof *g.all)};
    bool has_ports = json_first(json_path(service, "spec", "ports", NULL)) != NULL;
    for (uint32_t i = 0; i < n; i++) {
        const struct json *ports = ports_of(a, service, views[i]);
        uint32_t at = 0;
        if (has_ports && !json_first(ports))
            continue;
        while (at < g.n && !json_equal(g.all[at].ports, ports))
            at++;
        if (at == g.n)
            g.all[g.n++] = (struct group){.ports = ports, .views = arena_alloc(a, (n + 1) * sizeof(void *))};
        g.all[at].views[g.all[at].n++] = views[i];
    }
    return g;
}

/* ---- both shapes ---- */

static bool is_headless(const struct json *service)
{
    return text_equal(json_text(json_path(service, "spec", "clusterIP", NULL), ""), "None");
}

static bool takes_unready(const struct json *service)
{
    return json_bool(json_path(service, "spec", "publishNotReadyAddresses", NULL), false);
}

static struct json *target_ref(struct arena *a, const struct json *view)
{
    struct json *ref = json_new(a, JSON_OBJECT);
    json_set_text(a, ref, "kind", "Pod");
    json_set_text(a, ref, "namespace", json_get_text(view, "namespace", ""));
    json_set_text(a, ref, "name", json_get_text(view, "name", ""));
    json_set_text(a, ref, "uid", json_get_text(view, "uid", ""));
    return ref;
}

/* hostname and nodeName; a host name counts in the domain of the service only. */
static void add_place(struct arena *a, struct json *to, const struct json *service, const struct json *view)
{
    if (*json_get_text(view, "hostname", "") && text_equal(json_get_text(view, "subdomain", ""), object_meta(service, "name")))
        json_set_text(a, to, "hostname", json_get_text(view, "hostname", ""));
    if (*json_get_text(view, "node", ""))
        json_set_text(a, to, "nodeName", json_get_text(view, "node", ""));
    json_set(a, to, "targetRef", target_ref(a, view));
}

static struct json *object_for(struct arena *a, const struct json *service, const char *api_version, const char *kind,
                               const char *name)
{
    struct json *object = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, object, "metadata");
    const struct json *labels = json_path(service, "metadata", "labels", NULL);
    json_set_text(a, object, "apiVersion", api_version);
    json_set_text(a, object, "kind", kind);
    json_set_text(a, metadata, "name", name);
    json_set_text(a, metadata, "namespace", object_meta(service, "namespace"));
    json_set(a, metadata, "labels", json_is(labels, JSON_OBJECT) ? json_clone(a, labels) : json_new(a, JSON_OBJECT));
    if (is_headless(service))
        json_set_text(a, json_get(metadata, "labels"), "service.kubernetes.io/headless", "");
    owner_reference_add(a, metadata, service, "v1", "Service");
    return object;
}

/* ---- Endpoints ---- */

static struct json *subset_of(struct arena *a, const struct json *service, const struct group *g, uint32_t *left_n)
{
    struct json *subset = json_new(a, JSON_OBJECT);
    for (uint32_t i = 0; i < g->n; i++) {
        bool is_ready = json_get_bool(g->views[i], "ready", false) || takes_unready(service);
        if ((json_get_bool(g->views[i], "deleting", false) && !takes_unready(service)) || *left_n == 0)
            continue;
        struct json *address = json_new(a, JSON_OBJECT);
        json_set_text(a, address, "ip", json_get_text(g->views[i], "ip", ""));
        add_place(a, address, service, g->views[i]);
        json_append(json_ensure_array(a, subset, is_ready ? "addresses" : "notReadyAddresses"), address);
        (*left_n)--;
    }
    if (!json_first(subset))
        return NULL;
    if (json_first(g->ports))
        json_set(a, subset, "ports", json_clone(a, g->ports));
    return subset;
}

struct json *endpoints_make(struct arena *a, const struct json *service, const struct json *const *views, uint32_t n)
{
    struct json *endpoints = object_for(a, service, "v1", "Endpoints", object_meta(service, "name"));
    struct json *metadata = json_get(endpoints, "metadata"), *subsets = json_ensure_array(a, endpoints, "subsets");
    struct groups g = groups_of(a, service, views, n);
    uint32_t left_n = ENDPOINTS_MAX;
    json_set_text(a, json_get(metadata, "labels"), ENDPOINTS_MANAGED_LABEL, ENDPOINTS_MANAGER);
    if (n > ENDPOINTS_MAX)
        json_set_text(a, json_ensure_object(a, metadata, "annotations"), "endpoints.kubernetes.io/over-capacity", "truncated");
    for (uint32_t i = 0; i < g.n; i++) {
        struct json *subset = subset_of(a, service, &g.all[i], &left_n);
        if (subset)
            json_append(subsets, subset);
    }
    return endpoints;
}

/* ---- EndpointSlices ---- */

static struct json *endpoint_of(struct arena *a, const struct json *service, const struct json *view)
{
    struct json *endpoint = json_new(a, JSON_OBJECT), *conditions;
    bool is_ready = json_get_bool(view, "ready", false), is_deleting = json_get_bool(view, "deleting", false);
    json_append(json_ensure_array(a, endpoint, "addresses"), json_new_text(a, json_get_text(view, "ip", "")));
    conditions = json_ensure_object(a, endpoint, "conditions");
    json_set_bool(a, conditions, "ready", takes_unready(service) || (is_ready && !is_deleting));
    json_set_bool(a, conditions, "serving", is_ready);
    json_set_bool(a, conditions, "terminating", is_deleting);
    add_place(a, endpoint, service, view);
    return endpoint;
}

static struct json *slice_new(struct arena *a, const struct json *service, const struct json *ports, struct json *slices)
{
    const char *place = arena_printf(a, "%s/%u", object_meta(service, "uid"), slices->n);
    const char *name = arena_printf(a, "%.*s-%.5s", 57, object_meta(service, "name"), pod_template_hash(a, json_new_text(a, place)));
    struct json *slice = object_for(a, service, "discovery.k8s.io/v1", "EndpointSlice", name);
    struct json *labels = json_path(slice, "metadata", "labels", NULL), *list;
    json_set_text(a, labels, "kubernetes.io/service-name", object_meta(service, "name"));
    json_set_text(a, labels, ENDPOINTS_SLICE_MANAGED_LABEL, ENDPOINTS_SLICE_MANAGER);
    json_set_text(a, slice, "addressType", "IPv4");
    json_ensure_array(a, slice, "endpoints");
    list = json_ensure_array(a, slice, "ports");
    JSON_EACH (port, ports) {
        struct json *one = json_clone(a, port);
        if (!json_get(one, "name"))
            json_set_text(a, one, "name", "");
        json_append(list, one);
    }
    json_append(slices, slice);
    return slice;
}

struct json *endpoints_make_slices(struct arena *a, const struct json *service, const struct json *const *views, uint32_t n)
{
    struct json *slices = json_new(a, JSON_ARRAY);
    struct groups g = groups_of(a, service, views, n);
    for (uint32_t i = 0; i < g.n; i++) {
        struct json *slice = NULL;
        for (uint32_t k = 0; k < g.all[i].n; k++) {
            if (k % ENDPOINTS_A_SLICE == 0)
                slice = slice_new(a, service, g.all[i].ports, slices);
            json_append(json_get(slice, "endpoints"), endpoint_of(a, service, g.all[i].views[k]));
        }
    }
    if (slices->n == 0)
        (void)slice_new(a, service, NULL, slices);
    return slices;
}
