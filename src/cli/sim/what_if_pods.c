/* what_if_pods.c - see what_if_pods.h */
#include "cli/sim/what_if_pods.h"
#include "base/limits.h"
#include "jobs/volcano/vcjob_pods.h"
#include "kube/object.h"

/* What a server adds. */
static void name_new(struct arena *a, struct json *object, const struct json *like)
{
    struct json *metadata = json_get(object, "metadata");
    json_set_text(a, metadata, "uid", arena_printf(a, "what-if-%s-%s", json_get_text(object, "kind", ""), object_meta(object, "name")));
    json_set_text(a, metadata, "creationTimestamp", object_meta(like, "creationTimestamp"));
}

static struct json *pod_new(struct arena *a, const struct json *like, const char *name, const struct json *pod_template)
{
    static const char *const parts[] = {"labels", "annotations"};
    struct json *pod = job_object(a, like, json_new(a, JSON_ARRAY), "v1", "Pod", name);
    for (int k = 0; k < 2; k++)
        if (json_path(pod_template, "metadata", parts[k], NULL))
            json_set(a, json_get(pod, "metadata"), parts[k], json_clone(a, json_path(pod_template, "metadata", parts[k], NULL)));
    json_set(a, pod, "spec", json_clone(a, json_get(pod_template, "spec")));
    name_new(a, pod, like);
    return pod;
}

void what_if_pods(struct arena *a, struct json *to, const struct json *like, const char *name, const struct json *pod_template, int64_t n)
{
    for (int64_t i = 0; i < n && i < LIMIT_GANG_MEMBERS; i++)
        json_append(to, pod_new(a, like, arena_printf(a, "%s-%lld", name, (long long)i), pod_template));
}

void what_if_vcjob(struct arena *a, struct json *to, const struct json *vcjob)
{
    struct vcjob_task *tasks;
    uint32_t n = vcjob_tasks(a, vcjob, &tasks);
    int64_t pods_n = 0;
    struct json *group = vcjob_pod_group(a, vcjob, tasks, n, 0);
    name_new(a, group, vcjob);
    json_append(to, group);
    for (uint32_t t = 0; t < n; t++)
        for (int64_t i = 0; i < tasks[t].replicas && pods_n < LIMIT_GANG_MEMBERS; i++, pods_n++) {
            struct json *pod = vcjob_pod(a, vcjob, &tasks[t], i, 0, 0);
            name_new(a, pod, vcjob);
            json_append(to, pod);
        }
}
