/* revision.c - list those of the owner, compare templates, make the missing one, remove the oldest */
#include "jobs/apps/revision.h"
#include <stdlib.h>
#include "jobs/batch/claim.h"
#include "jobs/batch/pod_template.h"
#include "kube/object.h"

struct revisions {
    struct revisions_config config;
    struct kube_cache *cache;
};

static int64_t number_of(const struct json *revision)
{
    return json_get_int64(revision, "revision", 0);
}

static const struct json *template_in(const struct json *revision)
{
    return json_path(revision, "data", "spec", "template", NULL);
}

static struct json *plain_of(struct arena *a, const struct json *template)
{
    struct json *plain = pod_template_plain(a, template, NULL);
    (void)json_remove(plain, "$patch");
    return plain;
}

static const char *path_of(struct work *w, const char *name)
{
    return kube_path(w->arena, "apps", "v1", "controllerrevisions", w->ns, name, NULL);
}

static void list_add(struct revision_list *list, struct arena *a, const struct json *revision)
{
    if ((list->n & (list->n - 1)) == 0) { /* full: doubled */
        const struct json **all = arena_alloc(a, (list->n ? list->n * 2u : 1u) * sizeof *all);
        if (list->n)
            memcpy(all, list->all, list->n * sizeof *all);
        list->all = all;
    }
    list->all[list->n++] = revision;
}

/* Those of the owner; those without one that its selector takes are told that they have one now. */
static void list_read(struct revisions *r, struct work *w, const struct json *owner, struct revision_list *list)
{
    size_t at = 0;
    struct bytes key, raw;
    size_t ns_n = strlen(w->ns);
    while (kube_cache_next(r->cache, &at, &key, &raw)) {
        if (key.n <= ns_n || strncmp(key.data, w->ns, ns_n) != 0 || key.data[ns_n] != '/' ||
            !claim_may_concern(raw, object_meta(owner, "uid")))
            continue;
        struct json *revision = json_parse(w->arena, raw, NULL, NULL);
        enum claim claim = claim_of(owner, r->config.kind, json_path(owner, "spec", "selector", NULL), revision);
        if (claim == CLAIM_ADOPT)
            claim_adopt(w, path_of(w, object_meta(revision, "name")), "apps/v1", r->config.kind, owner, revision);
        if (claim == CLAIM_OURS || claim == CLAIM_RELEASE || claim == CLAIM_ADOPT)
            list_add(list, w->arena, revision);
    }
}

static struct json *revision_make(const struct revisions *r, struct work *w, const struct json *owner,
                                  const struct revision_list *list, int64_t number)
{
    struct arena *a = w->arena;
    const struct json *template = json_path(owner, "spec", "template", NULL), *labels = json_path(template, "metadata", "labels", NULL);
    struct json *revision = json_new(a, JSON_OBJECT), *metadata;
    json_set_text(a, revision, "apiVersion", "apps/v1");
    json_set_text(a, revision, "kind", "ControllerRevision");
    metadata = json_ensure_object(a, revision, "metadata");
    json_set_text(a, metadata, "name", list->update);
    json_set_text(a, metadata, "namespace", w->ns);
    json_set(a, metadata, "labels", labels ? json_clone(a, labels) : json_new(a, JSON_OBJECT));
    json_set_text(a, json_get(metadata, "labels"), r->config.hash_label, list->hash);
    /* what `kubectl rollout history` shows as the cause of the change */
    const char *cause = object_annotation(owner, "kubernetes.io/change-cause");
    if (*cause)
        json_set_text(a, json_ensure_object(a, metadata, "annotations"), "kubernetes.io/change-cause", cause);
    owner_reference_add(a, metadata, owner, "apps/v1", r->config.kind);
    struct json *spec = json_ensure_object(a, json_ensure_object(a, revision, "data"), "spec");
    json_set(a, spec, "template", json_clone(a, template));
    json_set_text(a, json_get(spec, "template"), "$patch", "replace");
    json_set_int64(a, revision, "revision", number);
    return revision;
}

void revisions_find(struct revisions *r, struct work *w, const struct json *owner, struct revision_list *ret_list)
{
    struct arena *a = w->arena;
    struct revision_list list = {0};
    const struct json *found = NULL, *wanted = plain_of(a, json_path(owner, "spec", "template", NULL));
    int64_t newest = 0;
    list_read(r, w, owner, &list);
    for (uint32_t i = 0; i < list.n; i++) {
        newest = number_of(list.all[i]) > newest ? number_of(list.all[i]) : newest;
        if (json_equal(plain_of(a, template_in(list.all[i])), wanted) && (!found || number_of(list.all[i]) > number_of(found)))
            found = list.all[i];
    }
    list.hash = found ? object_label(found, r->config.hash_label) : "";
    if (!*list.hash) /* none yet, or one that somebody wrote by hand */
        list.hash = pod_template_hash(a, wanted);
    list.update = found ? object_meta(found, "name") : arena_printf(a, "%.*s-%s", 52, w->name, list.hash);
    if (!found) {
        struct json *made = revision_make(r, w, owner, &list, newest + 1);
        work_create(w, kube_path(a, "apps", "v1", "controllerrevisions", w->ns, NULL, NULL), made);
        list_add(&list, a, made);
    } else if (number_of(found) < newest) {
        const char *text = arena_printf(a, "{\"revision\":%lld}", (long long)newest + 1);
        work_patch(w, KUBE_PATCH_MERGE, path_of(w, list.update), json_parse(a, bytes_of(text), NULL, NULL));
    }
    *ret_list = list;
}

const struct json *revision_template(const struct revision_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (text_equal(object_meta(list->all[i], "name"), name))
            return template_in(list->all[i]);
    return NULL;
}

void revisions_trim(struct work *w, const struct json *owner, const struct revision_list *list,
                    bool (*is_used)(void *arg, const char *name), void *arg)
{
    int64_t keep = json_int64(json_path(owner, "spec", "revisionHistoryLimit", NULL), 10);
    const struct json **old = arena_alloc(w->arena, (list->n + 1) * sizeof *old);
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        const char *name = object_meta(list->all[i], "name");
        if (!text_equal(name, list->update) && !is_used(arg, name))
            old[n++] = list->all[i];
    }
    for (; n > keep; n--) {
        uint32_t oldest = 0;
        for (uint32_t i = 1; i < n; i++)
            if (number_of(old[i]) < number_of(old[oldest]))
                oldest = i;
        work_delete(w, path_of(w, object_meta(old[oldest], "name")), object_meta(old[oldest], "uid"), "Background");
        old[oldest] = old[n - 1];
    }
}

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct revisions *r = arg;
    (void)event;
    (void)key;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *revision = json_parse(a, object, NULL, NULL);
    if (text_equal(object_controller(revision, "kind"), r->config.kind))
        r->config.on_change(r->config.arg, arena_printf(a, "%s/%s", object_meta(revision, "namespace"),
                                                        object_controller(revision, "name")));
}

static void on_synced(void *arg)
{
    struct revisions *r = arg;
    r->config.on_synced(r->config.arg);
}

struct revisions *revisions_new(struct kube_client *c, const struct revisions_config *config)
{
    struct revisions *r = mem_zero(1, sizeof *r);
    r->config = *config;
    r->cache = kube_cache_new(c, &(struct kube_cache_config){.watch = {.path = "/apis/apps/v1/controllerrevisions"},
                                                             .on_change = on_change,
                                                             .on_synced = on_synced,
                                                             .arg = r});
    return r;
}

void revisions_free(struct revisions *r)
{
    if (!r)
        return;
    kube_cache_free(r->cache);
    free(r);
}

bool revisions_synced(const struct revisions *r)
{
    return kube_cache_synced(r->cache);
}
