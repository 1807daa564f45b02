/* pod_counts.c - see pod_counts.h */
#include "cli/lookup/pod_counts.h"
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/memory.h"
#include "exporter/collect/pod_owner.h"
#include "kube/object.h"

struct entry {
    struct pod_count count;
    bool told;
    const char **keys; /* of a pod by its uid: what else it counts under; NULL at the end */
};
struct pod_counts {
    struct map *entries; /* "UID", "MAKER/NS/NAME": struct entry */
    struct arena *arena, *scratch;
};
enum { KEYS_MAX = 2 + POD_GROUP_MAKERS_N };

struct pod_counts *pod_counts_new(void)
{
    struct pod_counts *p = mem_zero(1, sizeof *p);
    p->entries = map_new(sizeof(struct entry));
    p->arena = arena_new();
    p->scratch = arena_new();
    return p;
}

void pod_counts_free(struct pod_counts *p)
{
    if (!p)
        return;
    map_free(p->entries);
    arena_free(p->arena);
    arena_free(p->scratch);
    free(p);
}

void pod_counts_sum(struct arena *a, struct pod_count *sum, struct pod_count more)
{
    if (more.all_n && (!sum->all_n || more.priority > sum->priority))
        sum->priority = more.priority;
    sum->all_n += more.all_n;
    sum->running_n += more.running_n;
    sum->waiting_n += more.waiting_n;
    sum->ended_n += more.ended_n;
    sum->failed_n += more.failed_n;
    accelerators_add(&sum->asked, 1, more.asked);
    if (more.bound_ms && (!sum->bound_ms || more.bound_ms < sum->bound_ms))
        sum->bound_ms = more.bound_ms;
    sum->message = sum->message ? sum->message : arena_text(a, more.message);
    sum->user = sum->user ? sum->user : arena_text(a, more.user);
    if (more.nodes && !sum->nodes)
        sum->nodes = json_new(a, JSON_OBJECT);
    JSON_EACH (node, more.nodes)
        json_set_bool(a, sum->nodes, node->key, true);
}

static struct pod_count count_of(struct arena *a, const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec"), *scheduled = object_condition(pod, "PodScheduled");
    const char *phase = json_text(json_path(pod, "status", "phase", NULL), ""), *node = json_get_text(spec, "nodeName", ""),
               *user = pod_owner_user(json_get(pod, "metadata")), *time;
    struct pod_count one = {.user = *user ? user : NULL};
    if (text_equal(json_get_text(scheduled, "status", ""), "True")) {
        time = json_get_text(scheduled, "lastTransitionTime", "");
        if (!time_parse(bytes_of(time), &one.bound_ms))
            one.bound_ms = 0;
    }
    one.failed_n = text_equal(phase, "Failed");
    one.ended_n = one.failed_n || text_equal(phase, "Succeeded");
    if (one.ended_n)
        return one;
    one.all_n = 1;
    one.running_n = text_equal(phase, "Running");
    one.waiting_n = !*node;
    one.asked = accelerators_of(a, pod);
    one.priority = json_get_int64(spec, "priority", 0);
    if (one.waiting_n) {
        one.message = json_get_text(scheduled, "message", NULL);
    } else {
        one.nodes = json_new(a, JSON_OBJECT);
        json_set_bool(a, one.nodes, node, true);
    }
    return one;
}

static const char *group_key(struct arena *a, enum pod_group_maker maker, const char *ns, const char *name)
{
    return arena_printf(a, "%d/%s/%s", (int)maker, ns, name);
}

/* Returns how many: its own uid, that of its controller, its groups. */
static uint32_t keys_of(struct arena *a, const struct json *pod, const char *keys[KEYS_MAX])
{
    uint32_t n = 0;
    keys[n++] = object_meta(pod, "uid");
    if (*object_controller(pod, "uid"))
        keys[n++] = object_controller(pod, "uid");
    for (int maker = 0; maker < POD_GROUP_MAKERS_N; maker++) {
        const char *group = pod_group_name(a, pod, (enum pod_group_maker)maker);
        if (*group)
            keys[n++] = group_key(a, (enum pod_group_maker)maker, object_meta(pod, "namespace"), group);
    }
    return n;
}

void pod_counts_add(struct pod_counts *p, const struct json *pod)
{
    if (object_deleting(pod))
        return; /* it ends, whoever it was of */
    const char *keys[KEYS_MAX];
    arena_reset(p->scratch);
    struct pod_count one = count_of(p->scratch, pod);
    uint32_t keys_n = keys_of(p->scratch, pod, keys);
    for (uint32_t i = 0; i < keys_n; i++) {
        struct entry *entry = map_put(p->entries, bytes_of(keys[i]), NULL);
        pod_counts_sum(p->arena, &entry->count, one);
        if (i > 0 || keys_n == 1)
            continue;
        entry->keys = arena_zero(p->arena, keys_n, sizeof *entry->keys);
        for (uint32_t k = 1; k < keys_n; k++)
            entry->keys[k - 1] = arena_text(p->arena, keys[k]);
    }
}

static struct pod_count found(struct pod_counts *p, const char *key)
{
    struct entry *entry = map_find_text(p->entries, key);
    if (!entry)
        return (struct pod_count){0};
    entry->told = true;
    return entry->count;
}

struct pod_count pod_counts_of(struct pod_counts *p, const char *uid)
{
    return found(p, uid);
}

struct pod_count pod_counts_of_group(struct pod_counts *p, enum pod_group_maker maker, const char *ns, const char *name)
{
    return found(p, group_key(p->arena, maker, ns, name));
}

struct pod_count pod_counts_one(const struct pod_counts *p, const char *uid)
{
    const struct entry *entry = map_find_text(p->entries, uid);
    return entry ? entry->count : (struct pod_count){0};
}

bool pod_counts_told(const struct pod_counts *p, const char *uid)
{
    const struct entry *pod = map_find_text(p->entries, uid);
    for (const char **key = pod ? pod->keys : NULL; key && *key; key++) {
        const struct entry *entry = map_find_text(p->entries, *key);
        if (entry && entry->told)
            return true;
    }
    return pod && pod->told;
}
