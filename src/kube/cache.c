/* cache.c - a watch and a map of blobs
 *
 * SHAPE  marks: mark -> the keys that have it, a map of its own; each entry says its mark, so that it is found there.
 */
#include "kube/cache.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "kube/object_meta.h"

enum { KEY_ROOM = 160 };

struct entry {
    struct blob *object;
    char *mark; /* NULL = none */
};

struct kube_cache {
    struct kube_watch *watch;
    struct kube_cache_config config;
    struct map *objects; /* key -> struct entry */
    struct map *marks;   /* mark -> struct map *: its keys */
    struct buf key;
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

static void mark_leave(struct kube_cache *k, struct bytes key, struct entry *en)
{
    struct map **keys = en->mark ? map_find_text(k->marks, en->mark) : NULL;
    if (!keys)
        return;
    (void)map_remove(*keys, key); /* it is there: its entry says so */
    if (map_count(*keys) == 0) {
        map_free(*keys);
        (void)map_remove(k->marks, bytes_of(en->mark)); /* just found */
    }
    free(en->mark);
    en->mark = NULL;
}

static void mark_enter(struct kube_cache *k, struct bytes key, struct entry *en, const char *mark)
{
    struct map **keys = map_put(k->marks, bytes_of(mark), NULL);
    if (!*keys)
        *keys = map_new(0);
    (void)map_put(*keys, key, NULL); /* no value */
    en->mark = mem_text(mark);
}

static void cache_event(void *arg, enum kube_event event, struct bytes object)
{
    struct kube_cache *k = arg;
    struct bytes now = object;
    buf_clear(&k->key);
    buf_bytes(&k->key, kube_watch_key(k->watch));
    if (event != KUBE_DELETED && k->config.keeps && !k->config.keeps(k->config.arg, object))
        event = KUBE_DELETED;
    if (event == KUBE_DELETED) {
        struct entry *en = map_find(k->objects, buf_view(&k->key));
        if (!en)
            return;
        now = (struct bytes){en->object->data, en->object->n};
        old_keep(k, en->object);
        mark_leave(k, buf_view(&k->key), en);
        (void)map_remove(k->objects, buf_view(&k->key)); /* just found */
    } else {
        struct entry *en = map_put(k->objects, buf_view(&k->key), NULL);
        old_keep(k, en->object);
        en->object = object_without_managed_fields(object, kube_watch_body(k->watch, object));
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
    k->marks = map_new(sizeof(struct map *));
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
    while ((en = map_next(k->objects, &at, &key))) {
        mark_leave(k, key, en);
        blob_unref(en->object);
    }
    map_free(k->objects);
    map_free(k->marks);
    buf_free(&k->key);
    free(k->old);
    free(k);
}

bool kube_cache_synced(const struct kube_cache *k)
{
    return kube_watch_synced(k->watch);
}

bool kube_cache_served(const struct kube_cache *k)
{
    return kube_watch_served(k->watch);
}

const char *kube_cache_path(const struct kube_cache *k)
{
    return kube_watch_path(k->watch);
}

struct bytes kube_cache_version(const struct kube_cache *k)
{
    return kube_watch_version(k->watch);
}

/* "ns/name", in room where it fits there, as it mostly does; else in spare. */
static struct bytes key_of(char room[static KEY_ROOM], struct buf *spare, const char *ns, const char *name)
{
    size_t ns_n = ns ? strlen(ns) : 0, name_n = strlen(name), n = ns_n + 1 + name_n;
    char *key = n <= KEY_ROOM ? room : buf_reserve(spare, n);
    memcpy(key, ns ? ns : "", ns_n);
    key[ns_n] = '/';
    memcpy(key + ns_n + 1, name, name_n);
    return (struct bytes){key, n};
}

bool kube_cache_has_seen(const struct kube_cache *k, const char *ns, const char *name, const char *uid)
{
    char room[KEY_ROOM];
    _cleanup_buf_ struct buf spare = {0};
    return kube_watch_knows(k->watch, key_of(room, &spare, ns, name), uid);
}

size_t kube_cache_count(const struct kube_cache *k)
{
    return map_count(k->objects);
}

struct bytes kube_cache_raw(const struct kube_cache *k, const char *ns, const char *name)
{
    char room[KEY_ROOM];
    _cleanup_buf_ struct buf spare = {0};
    const struct entry *en = map_find(k->objects, key_of(room, &spare, ns, name));
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

void kube_cache_mark(struct kube_cache *k, const char *key, const char *mark)
{
    struct entry *en = map_find_text(k->objects, key);
    mark = mark ? mark : "";
    if (!en || strcmp(en->mark ? en->mark : "", mark) == 0)
        return;
    mark_leave(k, bytes_of(key), en);
    if (*mark)
        mark_enter(k, bytes_of(key), en, mark);
}

const char *kube_cache_marked(const struct kube_cache *k, const char *key)
{
    const struct entry *en = map_find_text(k->objects, key);
    return en && en->mark ? en->mark : "";
}

bool kube_cache_next_of(const struct kube_cache *k, const char *mark, size_t *at, struct bytes *ret_key, struct bytes *ret_raw)
{
    struct map **keys = map_find_text(k->marks, mark);
    struct bytes key;
    if (!keys || !map_next(*keys, at, &key))
        return false;
    const struct entry *en = map_find(k->objects, key);
    *ret_key = key;
    *ret_raw = (struct bytes){en->object->data, en->object->n};
    return true;
}
