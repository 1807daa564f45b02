/* cache.c - a watch and a map of blobs */
#include "kube/cache.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "kube/object_meta.h"

struct entry {
    struct blob *object;
};

struct kube_cache {
    struct kube_watch *watch;
    struct kube_cache_config config;
    struct map *objects; /* key -> struct entry */
    struct object_meta meta;
    struct buf key, lean;
    struct loop *l;
    struct blob **old; /* replaced in this turn: views of them are still good */
    size_t old_n, old_cap;
};

static void old_drop(void *arg)
{
    struct kube_cache *k = arg;
    for (size_t i = 0; i < k->old_n; i++)
        blob_unref(k->old[i]);
    k->old_n = 0;
}

static void old_keep(struct kube_cache *k, struct blob *b)
{
    if (!b)
        return;
    if (k->old_n == 0)
        loop_defer(k->l, old_drop, k);
    MEM_RESERVE(k->old, k->old_cap, k->old_n + 1);
    k->old[k->old_n++] = b;
}

static void cache_event(void *arg, enum kube_event event, struct bytes object)
{
    struct kube_cache *k = arg;
    struct bytes now = object;
    if (!object_meta_read(object, &k->meta))
        return;
    object_meta_key(&k->meta, &k->key);
    if (event == KUBE_DELETED) {
        struct entry *en = map_find(k->objects, buf_view(&k->key));
        if (!en)
            return;
        now = (struct bytes){en->object->data, en->object->n};
        old_keep(k, en->object);
        (void)map_remove(k->objects, buf_view(&k->key)); /* just found */
    } else {
        struct entry *en = map_put(k->objects, buf_view(&k->key), NULL);
        old_keep(k, en->object);
        object_without_managed_fields(object, &k->lean);
        en->object = blob_new(k->lean.data, k->lean.n);
        now = (struct bytes){en->object->data, en->object->n};
    }
    if (k->config.on_change)
        k->config.on_change(k->config.arg, event, k->key.data, now);
}

static void cache_synced(void *arg)
{
    struct kube_cache *k = arg;
    if (k->config.on_synced)
        k->config.on_synced(k->config.arg);
}

struct kube_cache *kube_cache_new(struct kube_client *c, const struct kube_cache_config *config)
{
    struct kube_cache *k = mem_zero(1, sizeof *k);
    k->l = kube_client_loop(c);
    k->config = *config;
    k->objects = map_new(sizeof(struct entry));
    struct kube_watch_config watch = config->watch;
    watch.on_event = cache_event;
    watch.on_synced = cache_synced;
    watch.arg = k;
    k->watch = kube_watch_new(c, &watch);
    return k;
}

void kube_cache_free(struct kube_cache *k)
{
    if (!k)
        return;
    size_t at = 0;
    struct entry *en;
    struct bytes key;
    kube_watch_free(k->watch);
    loop_forget(k->l, old_drop, k);
    old_drop(k);
    while ((en = map_next(k->objects, &at, &key)))
        blob_unref(en->object);
    map_free(k->objects);
    object_meta_free(&k->meta);
    buf_free(&k->key);
    buf_free(&k->lean);
    free(k->old);
    free(k);
}

bool kube_cache_synced(const struct kube_cache *k)
{
    return kube_watch_synced(k->watch);
}

size_t kube_cache_count(const struct kube_cache *k)
{
    return map_count(k->objects);
}

struct bytes kube_cache_raw(const struct kube_cache *k, const char *ns, const char *name)
{
    _cleanup_buf_ struct buf key = {0};
    buf_printf(&key, "%s/%s", ns ? ns : "", name);
    const struct entry *en = map_find(k->objects, buf_view(&key));
    return en ? (struct bytes){en->object->data, en->object->n} : (struct bytes){0};
}

struct json *kube_cache_get(const struct kube_cache *k, const char *ns, const char *name, struct arena *a)
{
    struct bytes raw = kube_cache_raw(k, ns, name);
    return raw.n ? json_parse(a, raw, NULL, NULL) : NULL;
}

bool kube_cache_next(const struct kube_cache *k, size_t *at, struct bytes *ret_key, struct bytes *ret_raw)
{
    struct bytes key;
    const struct entry *en = map_next(k->objects, at, &key);
    if (!en)
        return false;
    *ret_key = key;
    *ret_raw = (struct bytes){en->object->data, en->object->n};
    return true;
}
