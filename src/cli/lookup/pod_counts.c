/* pod_counts.c - see pod_counts.h */
#include "cli/lookup/pod_counts.h"
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/memory.h"
#include "kube/object.h"

struct pod_counts {
    struct map *counts; /* "UID", "MAKER/NS/NAME": struct pod_count */
    struct arena *arena;
};

struct pod_counts *pod_counts_new(void)
{
    struct pod_counts *p = mem_zero(1, sizeof *p);
    p->counts = map_new(sizeof(struct pod_count));
    p->arena = arena_new();
    return p;
}

void pod_counts_free(struct pod_counts *p)
{
    if (!p)
        return;
    map_free(p->counts);
    arena_free(p->arena);
    free(p);
}

void pod_counts_sum(struct pod_count *sum, struct pod_count more)
{
    sum->all_n += more.all_n;
    sum->running_n += more.running_n;
    sum->waiting_n += more.waiting_n;
    if (more.bound_ms && (!sum->bound_ms || more.bound_ms < sum->bound_ms))
        sum->bound_ms = more.bound_ms;
    sum->message = sum->message ? sum->message : more.message;
}

static struct pod_count count_of(const struct json *pod)
{
    const char *phase = json_text(json_path(pod, "status", "phase", NULL), ""), *time;
    const struct json *scheduled = object_condition(pod, "PodScheduled");
    struct pod_count one = {0};
    if (object_condition_true(pod, "PodScheduled")) {
        time = json_get_text(scheduled, "lastTransitionTime", "");
        if (!time_parse(bytes_of(time), &one.bound_ms))
            one.bound_ms = 0;
    }
    if (text_equal(phase, "Succeeded") || text_equal(phase, "Failed"))
        return one;
    one.all_n = 1;
    one.running_n = text_equal(phase, "Running");
    one.waiting_n = !json_path(pod, "spec", "nodeName", NULL);
    if (one.waiting_n)
        one.message = json_get_text(scheduled, "message", NULL);
    return one;
}

static void count_add(struct pod_counts *p, const char *key, struct pod_count one)
{
    pod_counts_sum(map_put(p->counts, bytes_of(key), NULL), one);
}

static const char *group_key(struct arena *a, enum pod_group_maker maker, const char *ns, const char *name)
{
    return arena_printf(a, "%d/%s/%s", (int)maker, ns, name);
}

void pod_counts_add(struct pod_counts *p, const struct json *pod)
{
    if (object_deleting(pod))
        return; /* it ends, whoever it was of */
    struct pod_count one = count_of(pod);
    const char *owner = object_controller(pod, "uid");
    count_add(p, object_meta(pod, "uid"), one);
    if (*owner)
        count_add(p, owner, one);
    for (int maker = 0; maker < POD_GROUP_MAKERS_N; maker++) {
        const char *group = pod_group_name(pod, (enum pod_group_maker)maker);
        if (*group)
            count_add(p, group_key(p->arena, (enum pod_group_maker)maker, object_meta(pod, "namespace"), group), one);
    }
}

static struct pod_count found(const struct pod_counts *p, const char *key)
{
    const struct pod_count *count = map_find_text(p->counts, key);
    return count ? *count : (struct pod_count){0};
}

struct pod_count pod_counts_of(const struct pod_counts *p, const char *uid)
{
    return found(p, uid);
}

struct pod_count pod_counts_of_group(const struct pod_counts *p, enum pod_group_maker maker, const char *ns, const char *name)
{
    return found(p, group_key(p->arena, maker, ns, name));
}
