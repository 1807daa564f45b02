/* endpoints_mirror.c - a Service without a selector and Endpoints of its name that are not ours -> slices */
#include "jobs/apps/endpoints_mirror.h"
#include <stdlib.h>
#include "jobs/apps/endpoints_make.h"
#include "jobs/apps/endpoints_write.h"
#include "jobs/batch/pod_template.h"
#include "kube/object.h"

#define MANAGER "endpointslicemirroring-controller.k8s.io"

struct endpoints_mirror {
    struct kube_cache *services, *endpoints, *slices;
    struct workqueue *queue;
};

/* ---- slices ---- */

static void add_addresses(struct arena *a, struct json *slice, const struct json *addresses, bool is_ready)
{
    bool is_v6 = text_equal(json_get_text(slice, "addressType", ""), "IPv6");
    JSON_EACH (address, addresses) {
        const char *ip = json_get_text(address, "ip", "");
        static const char *const copied[] = {"hostname", "nodeName", "targetRef"};
        if ((strchr(ip, ':') != NULL) != is_v6)
            continue;
        struct json *endpoint = json_new(a, JSON_OBJECT);
        json_append(json_ensure_array(a, endpoint, "addresses"), json_new_text(a, ip));
        json_set_bool(a, json_ensure_object(a, endpoint, "conditions"), "ready", is_ready);
        for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
            if (json_get(address, copied[i]))
                json_set(a, endpoint, copied[i], json_clone(a, json_get(address, copied[i])));
        json_append(json_get(slice, "endpoints"), endpoint);
    }
}

static struct json *slice_new(struct arena *a, const struct json *endpoints, const char *type, uint32_t place)
{
    struct json *slice = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, slice, "metadata");
    const struct json *labels = json_path(endpoints, "metadata", "labels", NULL);
    const char *seed = arena_printf(a, "%s/%u/%s", object_meta(endpoints, "uid"), place, type);
    json_set_text(a, slice, "apiVersion", "discovery.k8s.io/v1");
    json_set_text(a, slice, "kind", "EndpointSlice");
    json_set_text(a, metadata, "name",
                  arena_printf(a, "%.*s-%.5s", 57, object_meta(endpoints, "name"), pod_template_hash(a, json_new_text(a, seed))));
    json_set_text(a, metadata, "namespace", object_meta(endpoints, "namespace"));
    json_set(a, metadata, "labels", json_is(labels, JSON_OBJECT) ? json_clone(a, labels) : json_new(a, JSON_OBJECT));
    json_set_text(a, json_get(metadata, "labels"), "kubernetes.io/service-name", object_meta(endpoints, "name"));
    json_set_text(a, json_get(metadata, "labels"), ENDPOINTS_SLICE_MANAGED_LABEL, MANAGER);
    owner_reference_add(a, metadata, endpoints, "v1", "Endpoints");
    json_set_text(a, slice, "addressType", type);
    json_ensure_array(a, slice, "endpoints");
    json_ensure_array(a, slice, "ports");
    return slice;
}

struct json *endpoints_mirror_make(struct arena *a, const struct json *endpoints)
{
    static const char *const types[] = {"IPv4", "IPv6"};
    struct json *slices = json_new(a, JSON_ARRAY);
    uint32_t place = 0;
    JSON_EACH (subset, json_get(endpoints, "subsets")) {
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            struct json *slice = slice_new(a, endpoints, types[i], place);
            add_addresses(a, slice, json_get(subset, "addresses"), true);
            add_addresses(a, slice, json_get(subset, "notReadyAddresses"), false);
            JSON_EACH (port, json_get(subset, "ports")) {
                struct json *one = json_clone(a, port);
                if (!json_get(one, "name"))
                    json_set_text(a, one, "name", "");
                json_append(json_get(slice, "ports"), one);
            }
            if (json_get(slice, "endpoints")->n)
                json_append(slices, slice);
        }
        place++;
    }
    return slices;
}

/* ---- a pass ---- */

static bool is_mirrored(const struct json *service, const struct json *endpoints)
{
    return service && !json_first(json_path(service, "spec", "selector", NULL)) &&
           !text_equal(object_label(endpoints, "endpointslice.kubernetes.io/skip-mirror"), "true") &&
           !*object_annotation(endpoints, "control-plane.alpha.kubernetes.io/leader");
}

static bool is_synced(const struct endpoints_mirror *m)
{
    return m->services && m->endpoints && m->slices && kube_cache_synced(m->services) && kube_cache_synced(m->endpoints) &&
           kube_cache_synced(m->slices);
}

static void reconcile(void *arg, struct work *w)
{
    struct endpoints_mirror *m = arg;
    if (!is_synced(m))
        return; /* all keys are added again when it is */
    const struct json *endpoints = kube_cache_get(m->endpoints, w->ns, w->name, w->arena);
    bool is_wanted = endpoints && !object_deleting(endpoints) &&
                     is_mirrored(kube_cache_get(m->services, w->ns, w->name, w->arena), endpoints);
    endpoints_write_slices(w, m->slices, is_wanted ? endpoints_mirror_make(w->arena, endpoints) : json_new(w->arena, JSON_ARRAY));
}

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct endpoints_mirror *m = arg;
    (void)event;
    (void)object;
    workqueue_add(m->queue, key);
}

/* A service counts where there are Endpoints of users. */
static void on_service(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct endpoints_mirror *m = arg;
    const char *slash = strchr(key, '/');
    _cleanup_arena_ struct arena *a = arena_new();
    if (m->endpoints && kube_cache_raw(m->endpoints, arena_text_n(a, key, (size_t)(slash - key)), slash + 1).n)
        on_change(arg, event, key, object);
}

static void on_synced(void *arg)
{
    struct endpoints_mirror *m = arg;
    if (!is_synced(m))
        return;
    workqueue_add_all(m->queue, m->endpoints, NULL);
}

struct endpoints_mirror *endpoints_mirror_new(struct kube_client *c)
{
    struct endpoints_mirror *m = mem_zero(1, sizeof *m);
    m->queue = workqueue_new(c, reconcile, m);
    m->services = kube_cache_new(c, &(struct kube_cache_config){
                                        .watch = {.path = "/api/v1/services"}, .on_change = on_service, .on_synced = on_synced, .arg = m});
    m->endpoints =
        kube_cache_new(c, &(struct kube_cache_config){.watch = {.path = "/api/v1/endpoints",
                                                                .label_selector = ENDPOINTS_MANAGED_LABEL "!=" ENDPOINTS_MANAGER},
                                                      .on_change = on_change,
                                                      .on_synced = on_synced,
                                                      .arg = m});
    m->slices = kube_cache_new(c, &(struct kube_cache_config){.watch = {.path = "/apis/discovery.k8s.io/v1/endpointslices",
                                                                        .label_selector = ENDPOINTS_SLICE_MANAGED_LABEL "=" MANAGER},
                                                              .on_synced = on_synced,
                                                              .arg = m});
    return m;
}

void endpoints_mirror_free(struct endpoints_mirror *m)
{
    if (!m)
        return;
    workqueue_free(m->queue);
    kube_cache_free(m->services);
    kube_cache_free(m->endpoints);
    kube_cache_free(m->slices);
    free(m);
}
