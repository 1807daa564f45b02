#include "jobs/yunikorn/applications.h"
#include "base/clock.h"
#include "codec/groups/task_groups.h"

enum {
    GROUPS_COME_MS = 5000, /* for so long pods that name a task group wait for one that says what task groups there are */
    TOLD_MOST = 10000,     /* queues of namespaces. LIMIT  more are not told of */
};

struct applications {
    struct jobs *jobs;
    struct kube_cache *pods;   /* of YuniKorn's scheduler name; marked by the key of their PodGroup, "ns/yunikorn-app", or by none */
    struct kube_cache *groups; /* PodGroups that were made here */
    struct kube_cache *queues; /* Volcano's */
    struct workqueue *work;    /* keys of PodGroups */
    struct map *told;          /* "ns/queue" that a pod outside of task groups has named; "ns" of a ConfigMap */
    struct kube_watch *configs; /* its queues' configuration; NULL before there is a pod */
};

/* ---- pods ---- */

static const char *application_name(const struct json *pod)
{
    return application_of(object_label(pod, YUNIKORN_APP), object_annotation(pod, YUNIKORN_APP), object_label(pod, YUNIKORN_APP_LABEL),
                          object_label(pod, YUNIKORN_SPARK_LABEL));
}

static const char *queue_name(const struct json *pod)
{
    return application_queue(object_label(pod, YUNIKORN_QUEUE), object_annotation(pod, YUNIKORN_QUEUE),
                             object_label(pod, YUNIKORN_QUEUE_LABEL));
}

static bool has_task_groups(struct bytes pod)
{
    return memmem(pod.data, pod.n, YUNIKORN_TASK_GROUPS "\"", strlen(YUNIKORN_TASK_GROUPS) + 1) != NULL;
}

static bool is_older(const struct json *a, const struct json *b)
{
    int order = strcmp(object_meta(a, "creationTimestamp"), object_meta(b, "creationTimestamp"));
    return order ? order < 0 : strcmp(object_meta(a, "name"), object_meta(b, "name")) < 0;
}

static bool has_pods(const struct applications *x, const char *group)
{
    size_t at = 0;
    struct bytes key, raw;
    return kube_cache_next_of(x->pods, group, &at, &key, &raw);
}

struct pods {
    const struct json *originator; /* the oldest that has task groups; NULL: none */
    const struct json *oldest;     /* of all, where there is no originator */
};

static struct pods pods_of(const struct applications *x, struct work *w)
{
    struct pods found = {0};
    struct bytes key, raw;
    for (size_t at = 0; kube_cache_next_of(x->pods, w->key, &at, &key, &raw);) {
        bool has = has_task_groups(raw);
        if (found.originator && !has)
            continue;
        const struct json *pod = json_parse(w->arena, raw, NULL, NULL), **best = has ? &found.originator : &found.oldest;
        if (pod && (!*best || is_older(pod, *best)))
            *best = pod;
    }
    return found;
}

/* ---- their group ---- */

/* The task group whose pods are not waited for: who makes the others starts alone. "": none. */
static const char *makers_group(const struct json *pod)
{
    return strcmp(object_label(pod, SPARK_ROLE_LABEL), "driver") == 0 ? object_annotation(pod, YUNIKORN_TASK_GROUP) : "";
}

static struct json *spec_of(struct arena *a, const struct json *pod, const struct task_groups *groups, const char *queue)
{
    struct json *spec = json_new(a, JSON_OBJECT), *least = json_new(a, JSON_OBJECT);
    const char *apart = makers_group(pod), *class = json_text(json_path(pod, "spec", "priorityClassName", NULL), "");
    int64_t members = 0;
    for (uint32_t i = 0; i < groups->n; i++) {
        const struct task_group *g = &groups->all[i];
        if (strcmp(g->name, apart) == 0)
            continue;
        struct json *one = json_new(a, JSON_OBJECT), *container = json_new(a, JSON_OBJECT);
        json_set(a, json_ensure_object(a, container, "resources"), "requests", json_clone(a, g->min_resource));
        json_append(json_ensure_array(a, one, "containers"), container);
        job_requests_add(a, least, one, g->min_member);
        json_set_int64(a, json_ensure_object(a, spec, "minTaskMember"), g->name, g->min_member);
        members += g->min_member;
    }
    json_set_int64(a, spec, "minMember", members ? members : 1);
    json_set_text(a, spec, "queue", queue);
    if (*class)
        json_set_text(a, spec, "priorityClassName", class);
    if (least->n)
        json_set(a, spec, "minResources", least);
    return spec;
}

static struct json *group_of(struct work *w, const struct json *pod, struct json *spec)
{
    struct arena *a = w->arena;
    struct json *group = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, group, "metadata");
    json_set_text(a, group, "apiVersion", "scheduling.volcano.sh/v1beta1");
    json_set_text(a, group, "kind", "PodGroup");
    json_set_text(a, metadata, "name", w->name);
    json_set_text(a, metadata, "namespace", w->ns);
    const struct json *owner = object_controlling_owner(pod); /* WHY  lists show its job alone */
    if (owner)
        json_append(json_ensure_array(a, metadata, "ownerReferences"), json_clone(a, owner));
    json_set_text(a, json_ensure_object(a, metadata, "labels"), YUNIKORN_APP, object_label(pod, YUNIKORN_APP));
    json_set_text(a, json_ensure_object(a, metadata, "annotations"), YUNIKORN_APP, application_name(pod));
    json_set(a, group, "spec", spec);
    json_set_text(a, json_ensure_object(a, group, "status"), "phase", "Pending");
    return group;
}

/* Volcano's Queue for it. ret_missing: it names one that there is none of. */
static const char *queue_of(const struct applications *x, const struct json *pod, bool *ret_missing)
{
    const char *name = queue_name(pod), *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
    const char *const tries[] = {last, name};
    for (size_t i = 0; i < 2; i++)
        if (*tries[i] && kube_cache_raw(x->queues, "", tries[i]).n)
            return tries[i];
    *ret_missing = is_queue_meant(name);
    return "default";
}

/* ---- what is written ---- */

static void warn(struct applications *x, struct work *w, const struct json *pod, const char *text)
{
    job_event_then(x->jobs, w, pod, "v1", "Pod", "Warning", "TaskGroupsIgnored", "%s", text);
}

static void write_group(struct applications *x, struct work *w, const struct json *pod, const struct task_groups *groups, bool is_there)
{
    struct arena *a = w->arena;
    bool queue_missing = false;
    const char *parameters = scheduling_parameters_unused(a, object_annotation(pod, YUNIKORN_PARAMETERS));
    struct json *spec = spec_of(a, pod, groups, queue_of(x, pod, &queue_missing));
    if (queue_missing)
        warn(x, w, pod, arena_printf(a, "queue %.200s: there is no Queue of Volcano's of its last part's name: it counts in the queue default",
                                     queue_name(pod)));
    if (groups->unused)
        warn(x, w, pod, arena_printf(a, "annotation " YUNIKORN_TASK_GROUPS ": %s: without effect, for there are no placeholders: what the pods "
                                     "say themselves counts", groups->unused));
    if (parameters)
        warn(x, w, pod, arena_printf(a, "annotation " YUNIKORN_PARAMETERS ": without effect: %s", parameters));
    if (!groups->n)
        warn(x, w, pod, arena_printf(a, "no pod of application %.200s has the annotation " YUNIKORN_TASK_GROUPS ": its pods start one by one",
                                     application_name(pod)));
    if (!is_there) {
        work_create(w, kube_path(a, "scheduling.volcano.sh", "v1beta1", "podgroups", w->ns, NULL, NULL), group_of(w, pod, spec));
        return;
    }
    struct json *patch = json_new(a, JSON_OBJECT);
    json_set(a, patch, "spec", spec);
    work_patch(w, KUBE_PATCH_MERGE, kube_path(a, "scheduling.volcano.sh", "v1beta1", "podgroups", w->ns, w->name, NULL), patch);
}

/* Nobody says what task groups there are, yet. 0: nobody will. */
static int64_t groups_come_ms(const struct applications *x, const struct json *pod)
{
    int64_t made_ms = 0, now_ms = loop_wall_ms(x->jobs->loop);
    if (!time_parse(bytes_of(object_meta(pod, "creationTimestamp")), &made_ms) || made_ms > now_ms)
        made_ms = now_ms - 1;
    return made_ms + GROUPS_COME_MS > now_ms ? made_ms + GROUPS_COME_MS - now_ms : 0;
}

static void reconcile(void *arg, struct work *w)
{
    struct applications *x = arg;
    struct err e;
    struct task_groups groups = {0};
    if (!kube_cache_synced(x->pods) || !kube_cache_synced(x->groups) || !kube_cache_synced(x->queues))
        return;
    const struct json *group = kube_cache_get(x->groups, w->ns, w->name, w->arena);
    bool is_made = json_path(group, "spec", "minTaskMember", NULL) != NULL;
    if (is_made && has_pods(x, w->key)) /* WHY  before the pods are read: those of a template all have task groups, and change often */
        return;
    struct pods pods = pods_of(x, w);
    const struct json *pod = pods.originator ? pods.originator : pods.oldest;
    if (!pod) {
        if (group)
            work_delete(w, kube_path(w->arena, "scheduling.volcano.sh", "v1beta1", "podgroups", w->ns, w->name, NULL),
                        object_meta(group, "uid"), NULL);
        return;
    }
    int64_t wait_ms = group || pods.originator ? 0 : groups_come_ms(x, pod);
    if (wait_ms > 0) {
        work_again(w, wait_ms);
        return;
    }
    if (group && !pods.originator)
        return;
    if (pods.originator && task_groups_read(w->arena, bytes_of(object_annotation(pod, YUNIKORN_TASK_GROUPS)), &groups, &e) < 0) {
        job_event(x->jobs, pod, "v1", "Pod", "Warning", "TaskGroupsError",
                  "metadata.annotations[" YUNIKORN_TASK_GROUPS "]: %s. No pod of a task group of application %.200s starts before", e.text,
                  application_name(pod));
        return;
    }
    if (*work_failure(w))
        job_event(x->jobs, pod, "v1", "Pod", "Warning", "TaskGroupsError", "PodGroup %.200s cannot be written: %.400s", w->name,
                  work_failure(w));
    write_group(x, w, pod, &groups, group != NULL);
}

/* ---- watching ---- */

/* A pod outside of task groups names a queue, and counts in none: told once for each queue of a namespace. */
static void tell_queue(struct applications *x, struct arena *a, const struct json *pod)
{
    const char *queue = queue_name(pod);
    bool is_bound = *json_text(json_path(pod, "spec", "nodeName", NULL), ""), is_new = false;
    if (!is_queue_meant(queue) || is_bound || map_count(x->told) >= TOLD_MOST)
        return;
    (void)map_put(x->told, bytes_of(arena_printf(a, "%s/%s", object_meta(pod, "namespace"), queue)), &is_new);
    if (is_new)
        job_event(x->jobs, pod, "v1", "Pod", "Warning", "QueueIgnored", "queue %.200s: has no effect: of YuniKorn's pods those of task groups count "
                  "in a queue, and this one is of none", queue);
}

static void on_configs(void *arg, enum kube_event event, struct bytes object)
{
    struct applications *x = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *map = event != KUBE_DELETED ? json_parse(a, object, NULL, NULL) : NULL;
    bool is_new = false;
    if (!json_get(json_get(map, "data"), YUNIKORN_QUEUES_FILE) || map_count(x->told) >= TOLD_MOST)
        return;
    (void)map_put(x->told, bytes_of(object_meta(map, "namespace")), &is_new);
    if (is_new)
        job_event(x->jobs, map, "v1", "ConfigMap", "Warning", "QueuesIgnored", "data[" YUNIKORN_QUEUES_FILE "]: " YUNIKORN_QUEUES_UNUSED);
}

static void on_configs_denied(void *arg)
{
    (void)arg; /* nobody is told then */
}

/* WHY  only once there is a pod of YuniKorn's: before, nobody asks for what it says. */
static void watch_configs(struct applications *x)
{
    if (!x->configs)
        x->configs = kube_watch_new(x->jobs->client, &(struct kube_watch_config){.path = "/api/v1/configmaps",
                                                                                 .field_selector = "metadata.name=" YUNIKORN_CONFIGS,
                                                                                 .on_event = on_configs, .on_denied = on_configs_denied,
                                                                                 .arg = x});
}

/* "ns/yunikorn-app"; "": it is of no application, or has no part in its gang. */
static const char *key_of(struct arena *a, const struct json *pod)
{
    const char *application = application_name(pod);
    bool takes_part = *object_annotation(pod, YUNIKORN_TASK_GROUP) || *object_annotation(pod, YUNIKORN_TASK_GROUPS);
    return takes_part && *application
               ? arena_printf(a, "%s/%s", object_meta(pod, "namespace"), application_group(a, application))
               : "";
}

static void on_pod(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct applications *x = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    static const char queue[] = "\"" YUNIKORN_QUEUE_LABEL "\"";
    bool is_new = event == KUBE_ADDED && memmem(object.data, object.n, queue, sizeof queue - 1);
    watch_configs(x);
    if (!is_new && !memmem(object.data, object.n, YUNIKORN, strlen(YUNIKORN)))
        return;
    const struct json *pod = json_parse(a, object, NULL, NULL);
    const char *group = key_of(a, pod);
    if (event == KUBE_ADDED && !*group)
        tell_queue(x, a, pod);
    if (event != KUBE_DELETED)
        kube_cache_mark(x->pods, key, group);
    if (*group && (event != KUBE_MODIFIED || has_task_groups(object)))
        workqueue_add(x->work, group);
}

static void on_group(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct applications *x = arg;
    (void)object;
    if (event == KUBE_DELETED)
        workqueue_add(x->work, key);
}

/* What was made before this process, of pods that are gone meanwhile, too. */
static void on_synced(void *arg)
{
    struct applications *x = arg;
    struct bytes key, raw;
    workqueue_add_all(x->work, x->groups, "");
    for (size_t at = 0; kube_cache_next(x->pods, &at, &key, &raw);)
        if (*kube_cache_marked(x->pods, key.data))
            workqueue_add(x->work, kube_cache_marked(x->pods, key.data));
}

struct applications *applications_new(struct jobs *j)
{
    struct applications *x = mem_zero(1, sizeof *x);
    x->jobs = j;
    x->work = workqueue_new(j->client, reconcile, x);
    x->told = map_new(1);
    x->queues = kube_cache_new(j->client, &(struct kube_cache_config){
                                              .watch = {.path = "/apis/scheduling.volcano.sh/v1beta1/queues", .optional = true},
                                              .on_synced = on_synced, .arg = x});
    x->groups = kube_cache_new(j->client, &(struct kube_cache_config){.watch = {.path = "/apis/scheduling.volcano.sh/v1beta1/podgroups",
                                                                                .label_selector = YUNIKORN_APP, .optional = true},
                                                                      .on_change = on_group, .on_synced = on_synced, .arg = x});
    x->pods = kube_cache_new(j->client, &(struct kube_cache_config){.watch = {.path = "/api/v1/pods",
                                                                              .field_selector = "spec.schedulerName=" YUNIKORN_SCHEDULER},
                                                                    .on_change = on_pod, .on_synced = on_synced, .arg = x});
    return x;
}

void applications_free(struct applications *x)
{
    if (!x)
        return;
    kube_watch_free(x->configs);
    kube_cache_free(x->pods);
    kube_cache_free(x->groups);
    kube_cache_free(x->queues);
    workqueue_free(x->work);
    map_free(x->told);
    free(x);
}
