/* cache.h - the objects of one resource as this process last saw them (for controllers; hot paths decode to records)
 *
 * SHAPE  key "namespace/name" (cluster scope: "/name") -> raw JSON of the object, without metadata.managedFields.
 *        An object may have a mark: those of one mark are found without looking at the others.
 */
#ifndef KUBE_CACHE_H
#define KUBE_CACHE_H
#include "kube/watch.h"

struct kube_cache;
struct kube_cache_config {
    struct kube_watch_config watch; /* on_event/on_synced/arg are the cache's own; leave NULL */
    /* Those for which it says no are as if they were not there: who becomes one of them is deleted. NULL: all are kept. WHY  a selector of
     * labels cannot say "with this label, or owned by one of these kinds". */
    bool (*keeps)(void *arg, struct bytes object);
    /* Called after the cache has changed. `object` is the new (deleted: last) object as raw JSON. */
    void (*on_change)(void *arg, enum kube_event event, const char *key, struct bytes object);
    void (*on_synced)(void *arg);
    void *arg;
};
struct kube_cache *kube_cache_new(struct kube_client *c, const struct kube_cache_config *config);
void kube_cache_free(struct kube_cache *k);
bool kube_cache_synced(const struct kube_cache *k);
bool kube_cache_served(const struct kube_cache *k); /* as kube_watch_served */
const char *kube_cache_path(const struct kube_cache *k); /* as kube_watch_path */
/* resourceVersion of the object of which on_change is being told that it is there. */
struct bytes kube_cache_version(const struct kube_cache *k);
/* As kube_watch_knows: also one that is not kept. */
bool kube_cache_has_seen(const struct kube_cache *k, const char *ns, const char *name, const char *uid);
size_t kube_cache_count(const struct kube_cache *k);
/* Raw object or empty. Good until the next loop turn. */
struct bytes kube_cache_raw(const struct kube_cache *k, const char *ns, const char *name);
/* Parsed into the arena, or NULL. */
struct json *kube_cache_get(const struct kube_cache *k, const char *ns, const char *name, struct arena *a);
/* Iterate all: size_t at = 0; while (kube_cache_next(k, &at, &key, &raw)). */
bool kube_cache_next(const struct kube_cache *k, size_t *at, struct bytes *ret_key, struct bytes *ret_raw);
/* From now on the object of this key is found by this mark (NULL or "": by none); on_change says it, for each object that has one. What is
 * deleted has lost its mark before on_change is told. Ignored when there is no such object. */
void kube_cache_mark(struct kube_cache *k, const char *key, const char *mark);
const char *kube_cache_marked(const struct kube_cache *k, const char *key); /* "" = no mark; good until it has another one */
/* Iterate those of a mark, in the order in which they got it. No mark may change meanwhile. */
bool kube_cache_next_of(const struct kube_cache *k, const char *mark, size_t *at, struct bytes *ret_key, struct bytes *ret_raw);

#endif
