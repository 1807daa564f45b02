/* pod_owner.c - see pod_owner.h */
#include "exporter/collect/pod_owner.h"

/* The first of `names`, up to NULL, that is a label or an annotation. */
static const char *first_of(const struct json *metadata, const char *const *names)
{
    const struct json *labels = json_get(metadata, "labels"), *annotations = json_get(metadata, "annotations");
    for (; *names; names++) {
        const char *text = json_get_text(labels, *names, "");
        if (!*text)
            text = json_get_text(annotations, *names, "");
        if (*text)
            return text;
    }
    return "";
}

static const char *owner_name(struct arena *a, const struct json *metadata)
{
    const char *name = json_get_text(json_item(json_get(metadata, "ownerReferences"), 0), "name", ""),
               *hash = json_get_text(json_get(metadata, "labels"), "pod-template-hash", "");
    const char *tail = arena_printf(a, "-%s", hash);
    return *hash && text_ends(name, tail) ? arena_text_n(a, name, strlen(name) - strlen(tail)) : name;
}

const char *pod_owner_user(const struct json *metadata)
{
    static const char *const users[] = {"capstan.dev/user", "notebooks.kubeflow.org/creator", NULL};
    return first_of(metadata, users);
}

const char *pod_owner_queue(const struct json *metadata)
{
    /* Kueue's label, its name for pods of jobs, Volcano's in its several places. */
    static const char *const queues[] = {"kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/local-queue-name",
                                         "scheduling.volcano.sh/queue-name", "volcano.sh/queue-name", NULL};
    return first_of(metadata, queues);
}

struct pod_owner pod_owner_of(struct arena *a, const struct json *metadata)
{
    /* ORDER those of makers first that have the Jobs or sets of others make their pods. */
    static const char *const jobs[] = {"jobset.sigs.k8s.io/jobset-name",
                                       "leaderworkerset.sigs.k8s.io/name",
                                       "training.kubeflow.org/job-name",
                                       "volcano.sh/job-name",
                                       "batch.kubernetes.io/job-name",
                                       "job-name",
                                       NULL};
    struct pod_owner o = {pod_owner_queue(metadata), first_of(metadata, jobs), pod_owner_user(metadata)};
    if (!*o.job)
        o.job = owner_name(a, metadata);
    return o;
}
