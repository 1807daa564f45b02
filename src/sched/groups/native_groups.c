#include "sched/groups/native_groups.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/log.h"
#include "base/memory.h"
#include "kube/cache.h"

struct native_groups {
    struct native_groups_config config;
    struct kube_cache *workloads;
    struct map *gangs;       /* "ns/name" -> struct map *: gang key -> bool: it is told */
    struct arena *scratch;
};

static void tell_gone(struct native_groups *n, const char *gang_key, bool *told)
{
    if (!*told)
        return;
    *told = false;
    n->config.on_gone(n->config.arg, gang_key);
}

/* workload: NULL, there is none. */
static void follow(struct native_groups *n, const char *gang_key, bool *told, const struct json *workload)
{
    struct gang_record g;
    struct err e;
    int r = workload ? decode_native_group_of(n->config.decoder, workload, gang_key, &g, &e) : -E_NOTFOUND;
    if (r < 0) {
        if (workload)
            log_warning("pods name a group that their Workload does not have gang=%s error=\"%s\"", gang_key, e.text);
        tell_gone(n, gang_key, told);
        return;
    }
    *told = true;
    n->config.on_told(n->config.arg, &g);
}

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct native_groups *n = arg;
    struct map **gangs = map_find_text(n->gangs, key);
    arena_reset(n->scratch);
    const struct json *workload = gangs && event != KUBE_DELETED ? json_parse(n->scratch, object, NULL, NULL) : NULL;
    struct bytes gang;
    size_t at = 0;
    for (bool *told; gangs && (told = map_next(*gangs, &at, &gang));)
        follow(n, arena_text_n(n->scratch, gang.data, gang.n), told, workload);
}

static void on_list(void *arg)
{
    struct native_groups *n = arg;
    n->config.on_synced(n->config.arg);
}

struct native_groups *native_groups_new(struct kube_client *c, const struct native_groups_config *config)
{
    struct native_groups *n = mem_zero(1, sizeof *n);
    n->config = *config;
    n->gangs = map_new(sizeof(struct map *));
    n->scratch = arena_new();
    n->workloads = kube_cache_new(c, &(struct kube_cache_config){.watch = {.path = NATIVE_WORKLOADS_PATH, .optional = true},
                                                                 .on_change = on_change,
                                                                 .on_synced = on_list,
                                                                 .arg = n});
    return n;
}

void native_groups_free(struct native_groups *n)
{
    struct bytes key;
    size_t at = 0;
    if (!n)
        return;
    for (struct map **gangs; (gangs = map_next(n->gangs, &at, &key));)
        map_free(*gangs);
    map_free(n->gangs);
    kube_cache_free(n->workloads);
    arena_free(n->scratch);
    free(n);
}

bool native_groups_synced(const struct native_groups *n)
{
    return kube_cache_synced(n->workloads);
}

void native_groups_named(struct native_groups *n, const char *gang_key, bool anew)
{
    struct bytes key;
    bool is_new;
    if (!decode_native_workload(gang_key, &key))
        return;
    struct map **gangs = map_put(n->gangs, key, NULL);
    if (!*gangs)
        *gangs = map_new(sizeof(bool));
    bool *told = map_put(*gangs, bytes_of(gang_key), &is_new);
    if (!is_new && !anew)
        return;
    arena_reset(n->scratch);
    const char *slash = memchr(key.data, '/', key.n);
    follow(n, gang_key, told,
           kube_cache_get(n->workloads, arena_text_n(n->scratch, key.data, (size_t)(slash - key.data)),
                          arena_text_n(n->scratch, slash + 1, key.n - (size_t)(slash - key.data) - 1), n->scratch));
}

void native_groups_left(struct native_groups *n, const char *gang_key)
{
    struct bytes key;
    struct map **gangs = decode_native_workload(gang_key, &key) ? map_find(n->gangs, key) : NULL;
    bool *told = gangs ? map_find_text(*gangs, gang_key) : NULL;
    if (!told)
        return;
    tell_gone(n, gang_key, told);
    (void)map_remove(*gangs, bytes_of(gang_key)); /* just found */
    if (map_count(*gangs) > 0)
        return;
    map_free(*gangs);
    (void)map_remove(n->gangs, key);
}
