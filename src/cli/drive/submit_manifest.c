/* submit_manifest.c - see submit_manifest.h */
#include "cli/drive/submit_manifest.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/random.h"
#include "jobs/kueue/kueue_kind.h"
#include "kube/object.h"

#define GROUP_LABEL "scheduling.x-k8s.io/pod-group"
enum { GPUS_MAX = 1000000, NAME_MAX_N = 40 };

static bool number_of(struct bytes text, int64_t least, int64_t most, int64_t *ret)
{
    return text.n && text.data[0] >= '0' && text.data[0] <= '9' && bytes_int64(text, ret) && *ret >= least && *ret <= most;
}

bool submission_gpus(const char *text, int64_t *ret_pods_n, int64_t *ret_gpus_n)
{
    const char *x = strchr(text, 'x');
    *ret_pods_n = 1;
    if (x && !number_of((struct bytes){(char *)text, (size_t)(x - text)}, 1, LIMIT_GANG_MEMBERS, ret_pods_n))
        return false;
    return number_of(bytes_of(x ? x + 1 : text), 0, GPUS_MAX, ret_gpus_n);
}

const char *submission_name(struct arena *a, const char *image, uint64_t seed)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    const char *slash = strrchr(image, '/'), *from = slash ? slash + 1 : image;
    char name[NAME_MAX_N + 1], tail[6];
    struct random random = {.state = seed};
    size_t n = 0;
    for (; *from && *from != ':' && *from != '@' && n < NAME_MAX_N; from++) {
        char c = *from >= 'A' && *from <= 'Z' ? (char)(*from + 'a' - 'A') : *from;
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (plain || (n && name[n - 1] != '-'))
            name[n++] = plain ? c : '-';
    }
    for (; n && name[n - 1] == '-'; n--)
        ;
    name[n] = '\0';
    for (int i = 0; i < 5; i++)
        tail[i] = letters[random_below(&random, sizeof letters - 1)];
    tail[5] = '\0';
    return arena_printf(a, "%s-%s", n ? name : "job", tail);
}

bool submission_is_group(const struct submission *s)
{
    return !s->queue && s->pods_n > 1;
}

/* "KEY=VALUE" of each that was given; `put` with both. */
typedef void (*pair_put)(struct arena *a, struct json *to, const char *key, const char *value);
static void each_pair(struct arena *a, const struct submission *s, uint32_t id, pair_put put, struct json *to)
{
    for (uint32_t i = 0; i < s->o->given_n; i++) {
        const char *text = s->o->given[i].text, *equals = s->o->given[i].id == id ? strchr(text, '=') : NULL;
        if (equals)
            put(a, to, arena_text_n(a, text, (size_t)(equals - text)), equals + 1);
    }
}

static void put_member(struct arena *a, struct json *to, const char *key, const char *value)
{
    json_set_text(a, to, key, value);
}

static void put_env(struct arena *a, struct json *to, const char *key, const char *value)
{
    struct json *one = json_new(a, JSON_OBJECT);
    json_set_text(a, one, "name", key);
    json_set_text(a, one, "value", value);
    json_append(to, one);
}

static struct json *container_of(struct arena *a, const struct submission *s)
{
    struct json *c = json_new(a, JSON_OBJECT);
    json_set_text(a, c, "name", "main");
    json_set_text(a, c, "image", s->image);
    for (int i = 0; s->command && s->command[i]; i++)
        json_append(json_ensure_array(a, c, "command"), json_new_text(a, s->command[i]));
    struct json *env = json_new(a, JSON_ARRAY);
    each_pair(a, s, OPT_SUBMIT_ENV, put_env, env);
    if (json_first(env))
        json_set(a, c, "env", env);
    struct json *resources = json_new(a, JSON_OBJECT);
    if (s->gpus_n)
        json_set_text(a, json_ensure_object(a, resources, "limits"), s->resource, arena_printf(a, "%lld", (long long)s->gpus_n));
    if (s->cpu)
        json_set_text(a, json_ensure_object(a, resources, "requests"), "cpu", s->cpu);
    if (s->memory)
        json_set_text(a, json_ensure_object(a, resources, "requests"), "memory", s->memory);
    if (json_first(resources))
        json_set(a, c, "resources", resources);
    return c;
}

static struct json *template_of(struct arena *a, const struct submission *s)
{
    struct json *template = json_new(a, JSON_OBJECT), *annotations = json_new(a, JSON_OBJECT);
    if (submission_is_group(s))
        json_set_text(a, json_ensure_object(a, json_ensure_object(a, template, "metadata"), "labels"), GROUP_LABEL, s->name);
    if (s->user)
        json_set_text(a, json_ensure_object(a, json_ensure_object(a, template, "metadata"), "labels"), "capstan.dev/user", s->user);
    each_pair(a, s, OPT_SUBMIT_ANNOTATION, put_member, annotations);
    if (json_first(annotations))
        json_set(a, json_ensure_object(a, template, "metadata"), "annotations", annotations);
    struct json *spec = json_ensure_object(a, template, "spec");
    if (submission_is_group(s))
        json_set_text(a, spec, "schedulerName", "capstan");
    if (s->priority_class && !s->queue)
        json_set_text(a, spec, "priorityClassName", s->priority_class);
    json_set_text(a, spec, "restartPolicy", "Never");
    json_append(json_ensure_array(a, spec, "containers"), container_of(a, s));
    return template;
}

static struct json *object_of(struct arena *a, const char *api, const char *kind, const char *ns, const char *name)
{
    struct json *o = json_new(a, JSON_OBJECT);
    json_set_text(a, o, "apiVersion", api);
    json_set_text(a, o, "kind", kind);
    struct json *metadata = json_ensure_object(a, o, "metadata");
    json_set_text(a, metadata, "name", name);
    json_set_text(a, metadata, "namespace", ns);
    return o;
}

struct json *submission_job(struct arena *a, const struct submission *s)
{
    struct json *job = object_of(a, "batch/v1", "Job", s->ns, s->name), *metadata = json_get(job, "metadata");
    if (s->queue)
        json_set_text(a, json_ensure_object(a, metadata, "labels"), KUEUE_QUEUE_LABEL, s->queue);
    if (s->queue && s->priority_class)
        json_set_text(a, json_ensure_object(a, metadata, "labels"), KUEUE_PRIORITY_LABEL, s->priority_class);
    if (s->user)
        json_set_text(a, json_ensure_object(a, metadata, "labels"), "capstan.dev/user", s->user);
    struct json *spec = json_ensure_object(a, job, "spec");
    if (s->queue)
        json_set_bool(a, spec, "suspend", true);
    json_set_int64(a, spec, "parallelism", s->pods_n);
    json_set_int64(a, spec, "completions", s->pods_n);
    if (s->pods_n > 1)
        json_set_text(a, spec, "completionMode", "Indexed");
    if (s->limit_s)
        json_set_int64(a, spec, "activeDeadlineSeconds", s->limit_s);
    json_set(a, spec, "template", template_of(a, s));
    return job;
}

struct json *submission_group(struct arena *a, const struct submission *s, const struct json *job)
{
    struct json *group = object_of(a, "scheduling.x-k8s.io/v1alpha1", "PodGroup", s->ns, s->name);
    if (job) { /* it goes with its Job */
        struct json *owner = json_new(a, JSON_OBJECT);
        json_set_text(a, owner, "apiVersion", "batch/v1");
        json_set_text(a, owner, "kind", "Job");
        json_set_text(a, owner, "name", object_meta(job, "name"));
        json_set_text(a, owner, "uid", object_meta(job, "uid"));
        json_set_bool(a, owner, "controller", true);
        json_append(json_ensure_array(a, json_get(group, "metadata"), "ownerReferences"), owner);
    }
    json_set_int64(a, json_ensure_object(a, group, "spec"), "minMember", s->pods_n);
    return group;
}

static struct json *append_new(struct arena *a, struct json *list, struct json *object, int64_t now_ms)
{
    char time[TIME_TEXT_MAX];
    struct json *metadata = json_get(object, "metadata");
    json_set_text(a, metadata, "uid", arena_printf(a, "preview-%s", json_get_text(metadata, "name", "")));
    json_set_text(a, metadata, "creationTimestamp", time_format(time, now_ms));
    json_append(list, object);
    return object;
}

static struct json *pod_of(struct arena *a, const struct submission *s, const struct json *template, const char *name, int64_t priority)
{
    struct json *pod = object_of(a, "v1", "Pod", s->ns, name);
    static const char *const parts[] = {"labels", "annotations"};
    for (int i = 0; i < 2; i++) {
        const struct json *part = json_get(json_get(template, "metadata"), parts[i]);
        if (part)
            json_set(a, json_get(pod, "metadata"), parts[i], json_clone(a, part));
    }
    json_set(a, pod, "spec", json_clone(a, json_get(template, "spec")));
    json_set_int64(a, json_get(pod, "spec"), "priority", priority);
    return pod;
}

struct json *submission_objects(struct arena *a, const struct submission *s, const struct json *job, int64_t priority, int64_t now_ms)
{
    struct json *list = json_new(a, JSON_ARRAY);
    const struct json *template = json_path(job, "spec", "template", NULL);
    if (s->queue) {
        struct json *workload = object_of(a, "kueue.x-k8s.io/v1beta2", "Workload", s->ns, arena_printf(a, "job-%s-preview", s->name)),
                    *spec = json_ensure_object(a, workload, "spec");
        json_set_text(a, spec, "queueName", s->queue);
        json_set_int64(a, spec, "priority", priority);
        json_append(json_ensure_array(a, spec, "podSets"), kueue_pod_set(a, "main", s->pods_n, template, KUEUE_JOB_INDEX_LABEL));
        append_new(a, list, workload, now_ms);
        return list;
    }
    if (submission_is_group(s))
        append_new(a, list, submission_group(a, s, NULL), now_ms);
    for (int64_t i = 0; i < s->pods_n; i++)
        append_new(a, list, pod_of(a, s, template, arena_printf(a, "%s-%lld-preview", s->name, (long long)i), priority), now_ms);
    return list;
}
