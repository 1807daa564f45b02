/* kueue_scope.c - see kueue_scope.h; the cache of namespaces marks those whose jobs are queued */
#include "jobs/kueue/kueue_scope.h"
#include <stdio.h>
#include "codec/kinds/label_selector.h"
#include "jobs/kueue/kueue_kind.h"

#define INSIDE "inside"

struct kueue_scope {
    struct jobs *jobs;
    struct kube_cache *namespaces;
};

static bool is_inside(const struct kueue_scope *k, const char *ns)
{
    char key[256];
    (void)snprintf(key, sizeof key, "/%s", ns); /* a name of a namespace has 63 letters */
    return *kube_cache_marked(k->namespaces, key);
}

bool kueue_scope_has(const struct jobs *j, const struct json *job)
{
    bool named = *object_label(job, KUEUE_QUEUE_LABEL) != '\0';
    return (named || j->policy.all_jobs) && (!j->kueue_scope || is_inside(j->kueue_scope, object_meta(job, "namespace")));
}

bool kueue_scope_ready(const struct kueue_scope *k)
{
    return !k || kube_cache_synced(k->namespaces);
}

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct kueue_scope *k = arg;
    struct arena *a = arena_new();
    const struct json *ns = event == KUBE_DELETED ? NULL : json_parse(a, object, NULL, NULL);
    const struct json *selector = k->jobs->policy.namespaces;
    bool was = *kube_cache_marked(k->namespaces, key),
         is = ns && (!selector || label_selector_matches(selector, json_path(ns, "metadata", "labels", NULL)));
    if (was != is && ns) {
        kube_cache_mark(k->namespaces, key, is ? INSIDE : "");
        if (k->jobs->workloads) { /* else everybody is looked at when all is read */
            kueue_kinds_naming(k->jobs->kueue, object_meta(ns, "name"));
            kueue_sets_naming(k->jobs->kueue_sets, object_meta(ns, "name"));
        }
    }
    arena_free(a);
}

static void on_synced(void *arg)
{
    struct kueue_scope *k = arg;
    kueue_read_all(k->jobs);
}

struct kueue_scope *kueue_scope_new(struct jobs *j)
{
    if (!j->policy.all_jobs && !j->policy.namespaces)
        return NULL;
    struct kueue_scope *k = mem_zero(1, sizeof *k);
    k->jobs = j;
    struct kube_cache_config config = {.watch = {.path = "/api/v1/namespaces"}, .on_change = on_change, .on_synced = on_synced, .arg = k};
    k->namespaces = kube_cache_new(j->client, &config);
    return k;
}

void kueue_scope_free(struct kueue_scope *k)
{
    if (!k)
        return;
    kube_cache_free(k->namespaces);
    free(k);
}
