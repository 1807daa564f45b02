/* endpoints.c - which pods belong to which service, kept up event by event; a pass writes one service */
#include "jobs/apps/endpoints.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "jobs/apps/endpoints_make.h"
#include "jobs/apps/endpoints_write.h"
#include "kube/cache.h"
#include "kube/object.h"
#include "kube/workqueue.h"

#define WAIT_MS 100

/* A service with a selector. */
struct member_list {
    char *pair;         /* "ns/key=value", the first of its selector: under this it is found */
    struct map *pods;   /* keys of its pods */
};
struct endpoints {
    struct kube_client *client;
    struct kube_cache *services;
    struct kube_cache *written, *slices; /* NULL, like pods: no service with a selector has been seen yet */
    struct kube_watch *pods;
    struct map *views;  /* pod key -> char *: view of endpoints_make.h, as text */
    struct map *lists;  /* service key -> struct member_list */
    struct map *pairs;  /* "ns/key=value" -> struct map * of service keys */
    struct workqueue *queue;
};

static bool is_synced(const struct endpoints *e)
{
    return e->pods && kube_cache_synced(e->services) && kube_cache_synced(e->written) && kube_cache_synced(e->slices) &&
           kube_watch_synced(e->pods);
}

static void ask(struct endpoints *e, const char *service_key)
{
    workqueue_add_after(e->queue, service_key, WAIT_MS);
}

/* ---- who belongs to whom ---- */

static char *pair_of(struct arena *a, const char *ns, const struct json *label)
{
    return arena_printf(a, "%s/%s=%s", ns, label->key, json_text(label, ""));
}

static bool selects(const struct json *service, const struct json *view)
{
    const struct json *labels = json_get(view, "labels");
    JSON_EACH (label, json_path(service, "spec", "selector", NULL))
        if (!json_equal(json_get(labels, label->key), label))
            return false;
    return view != NULL;
}

static void list_drop(struct endpoints *e, const char *service_key)
{
    struct member_list *list = map_find_text(e->lists, service_key);
    if (!list)
        return;
    struct map **of_pair = map_find_text(e->pairs, list->pair);
    map_remove(*of_pair, bytes_of(service_key));
    if (map_count(*of_pair) == 0) {
        map_free(*of_pair);
        map_remove(e->pairs, bytes_of(list->pair));
    }
    map_free(list->pods);
    free(list->pair);
    map_remove(e->lists, bytes_of(service_key));
}

static void list_fill(struct endpoints *e, struct member_list *list, const struct json *service)
{
    const char *ns = object_meta(service, "namespace");
    size_t at = 0, ns_n = strlen(ns);
    struct bytes key;
    for (char *const *text; (text = map_next(e->views, &at, &key));) {
        if (key.n <= ns_n || key.data[ns_n] != '/' || strncmp(key.data, ns, ns_n) != 0)
            continue;
        _cleanup_arena_ struct arena *a = arena_new();
        if (selects(service, json_parse(a, bytes_of(*text), NULL, NULL)))
            (void)map_put(list->pods, key, NULL);
    }
}

static void list_make(struct endpoints *e, struct arena *a, const char *service_key, const struct json *service)
{
    const char *pair = pair_of(a, object_meta(service, "namespace"), json_first(json_path(service, "spec", "selector", NULL)));
    struct map **of_pair = map_put(e->pairs, bytes_of(pair), NULL);
    if (!*of_pair)
        *of_pair = map_new(1);
    (void)map_put(*of_pair, bytes_of(service_key), NULL);
    struct member_list *list = map_put(e->lists, bytes_of(service_key), NULL);
    *list = (struct member_list){.pair = mem_text(pair), .pods = map_new(1)};
    list_fill(e, list, service);
}

/* A pod's labels are looked up among the first pairs of all services; `now` (NULL: gone) decides who has it. */
static void place_pod(struct endpoints *e, struct arena *a, const char *pod_key, const struct json *labels_of, const struct json *now)
{
    JSON_EACH (label, json_get(labels_of, "labels")) {
        struct map **of_pair = map_find_text(e->pairs, pair_of(a, json_get_text(labels_of, "namespace", ""), label));
        size_t at = 0;
        struct bytes key;
        while (of_pair && map_next(*of_pair, &at, &key)) {
            struct member_list *list = map_find(e->lists, key);
            const struct json *service = json_parse(
                a, kube_cache_raw(e->services, json_get_text(labels_of, "namespace", ""), strchr(key.data, '/') + 1), NULL, NULL);
            bool belonged = map_find_text(list->pods, pod_key) != NULL, belongs = selects(service, now);
            if (belongs)
                (void)map_put(list->pods, bytes_of(pod_key), NULL);
            else if (belonged)
                map_remove(list->pods, bytes_of(pod_key));
            if (belonged || belongs)
                ask(e, arena_text_n(a, key.data, key.n));
        }
    }
}

static void on_pod(void *arg, enum kube_event event, struct bytes object)
{
    struct endpoints *e = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf text = {0};
    const struct json *pod = json_parse(a, object, NULL, NULL);
    const char *key = arena_printf(a, "%s/%s", object_meta(pod, "namespace"), object_meta(pod, "name"));
    const struct json *now = event == KUBE_DELETED ? NULL : endpoints_pod_view(a, pod);
    char **place = map_find_text(e->views, key);
    if (now)
        json_write(&text, now);
    if (place ? now && text_equal(*place, text.data) : !now)
        return;
    const struct json *before = place ? json_parse(a, bytes_of(*place), NULL, NULL) : NULL;
    if (place)
        free(*place);
    if (now)
        *(char **)map_put(e->views, bytes_of(key), NULL) = mem_text(text.data);
    else
        map_remove(e->views, bytes_of(key));
    place_pod(e, a, key, before, now);
    place_pod(e, a, key, now, now);
}

/* ---- a pass ---- */

static int order(const void *x, const void *y)
{
    const struct json *a = *(const struct json *const *)x, *b = *(const struct json *const *)y;
    return strcmp(json_get_text(a, "name", ""), json_get_text(b, "name", ""));
}

static uint32_t views_of(const struct endpoints *e, struct work *w, const struct json ***ret_views)
{
    const struct member_list *list = map_find_text(e->lists, w->key);
    const struct json **views = arena_alloc(w->arena, ((list ? map_count(list->pods) : 0) + 1) * sizeof *views);
    size_t at = 0;
    struct bytes key;
    uint32_t n = 0;
    while (list && map_next(list->pods, &at, &key)) {
        char *const *text = map_find(e->views, key);
        if (text)
            views[n++] = json_parse(w->arena, bytes_of(*text), NULL, NULL);
    }
    qsort(views, n, sizeof *views, order);
    *ret_views = views;
    return n;
}

static void reconcile(void *arg, struct work *w)
{
    struct endpoints *e = arg;
    if (!is_synced(e))
        return; /* all keys are added again when it is */
    const struct json *service = kube_cache_get(e->services, w->ns, w->name, w->arena), **views;
    if (!service || object_deleting(service) || !map_find_text(e->lists, w->key))
        return; /* what was written is garbage with the Service, or the user's from now on */
    uint32_t n = views_of(e, w, &views);
    endpoints_write(w, kube_cache_get(e->written, w->ns, w->name, w->arena), endpoints_make(w->arena, service, views, n),
                    kube_path(w->arena, "", "v1", "endpoints", w->ns, NULL, NULL),
                    kube_path(w->arena, "", "v1", "endpoints", w->ns, w->name, NULL));
    endpoints_write_slices(w, e->slices, endpoints_make_slices(w->arena, service, views, n));
}

/* ---- changes ---- */

static void look_at_all(void *arg)
{
    struct endpoints *e = arg;
    if (!is_synced(e))
        return;
    size_t at = 0;
    struct bytes key;
    while (map_next(e->lists, &at, &key))
        workqueue_add(e->queue, key.data);
}

/* Somebody changed what we wrote. */
static void on_written(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct endpoints *e = arg;
    (void)event;
    (void)object;
    if (map_find_text(e->lists, key))
        ask(e, key);
}

static void on_slice(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct endpoints *e = arg;
    (void)event;
    (void)key;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *slice = json_parse(a, object, NULL, NULL);
    const char *service = arena_printf(a, "%s/%s", object_meta(slice, "namespace"), object_label(slice, "kubernetes.io/service-name"));
    if (map_find_text(e->lists, service))
        ask(e, service);
}

/* WHY  without a Service that selects pods there is nothing to write, and no reason to watch them all. */
static void watch_rest(struct endpoints *e)
{
    if (e->pods)
        return;
    e->written = kube_cache_new(e->client, &(struct kube_cache_config){.watch = {.path = "/api/v1/endpoints"},
                                                                       .on_change = on_written,
                                                                       .on_synced = look_at_all,
                                                                       .arg = e});
    e->slices = kube_cache_new(
        e->client, &(struct kube_cache_config){.watch = {.path = "/apis/discovery.k8s.io/v1/endpointslices",
                                                         .label_selector = ENDPOINTS_SLICE_MANAGED_LABEL "=" ENDPOINTS_SLICE_MANAGER},
                                               .on_change = on_slice,
                                               .on_synced = look_at_all,
                                               .arg = e});
    e->pods = kube_watch_new(e->client, &(struct kube_watch_config){
                                            .path = "/api/v1/pods", .on_event = on_pod, .on_synced = look_at_all, .arg = e});
}

static void on_service(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct endpoints *e = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *service = json_parse(a, object, NULL, NULL);
    list_drop(e, key);
    if (event == KUBE_DELETED || !json_first(json_path(service, "spec", "selector", NULL)) ||
        text_equal(json_text(json_path(service, "spec", "type", NULL), ""), "ExternalName"))
        return;
    watch_rest(e);
    list_make(e, a, key, service);
    ask(e, key);
}

struct endpoints *endpoints_new(struct kube_client *c)
{
    struct endpoints *e = mem_zero(1, sizeof *e);
    e->client = c;
    e->views = map_new(sizeof(char *));
    e->lists = map_new(sizeof(struct member_list));
    e->pairs = map_new(sizeof(struct map *));
    e->queue = workqueue_new(c, reconcile, e);
    e->services = kube_cache_new(c, &(struct kube_cache_config){.watch = {.path = "/api/v1/services"},
                                                                .on_change = on_service,
                                                                .on_synced = look_at_all,
                                                                .arg = e});
    return e;
}

void endpoints_free(struct endpoints *e)
{
    if (!e)
        return;
    workqueue_free(e->queue);
    kube_cache_free(e->services);
    kube_cache_free(e->written);
    kube_cache_free(e->slices);
    kube_watch_free(e->pods);
    size_t at = 0;
    for (char **text; (text = map_next(e->views, &at, NULL));)
        free(*text);
    at = 0;
    for (struct member_list *list; (list = map_next(e->lists, &at, NULL));) {
        free(list->pair);
        map_free(list->pods);
    }
    at = 0;
    for (struct map **m; (m = map_next(e->pairs, &at, NULL));)
        map_free(*m);
    map_free(e->views);
    map_free(e->lists);
    map_free(e->pairs);
    free(e);
}
