/* queued_sets.c - see queued_sets.h */
#include "codec/kinds/queued_sets.h"
#include "base/bytes.h"

enum { TEMPLATES_MOST = 2 }; /* of one object: those of a LeaderWorkerSet */
#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"

const struct queued_set queued_sets[QUEUED_SETS_N] = {
    [QUEUED_DEPLOYMENT] = {.group = "apps", .version = "v1", .plural = "deployments", .kind = "Deployment", .framework = "deployment"},
    [QUEUED_STATEFULSET] = {.group = "apps", .version = "v1", .plural = "statefulsets", .kind = "StatefulSet", .framework = "statefulset",
                            .in_groups = true},
    [QUEUED_LEADERWORKERSET] = {.group = "leaderworkerset.x-k8s.io", .version = "v1", .plural = "leaderworkersets",
                                .kind = "LeaderWorkerSet", .framework = "leaderworkerset.x-k8s.io/leaderworkerset", .in_groups = true},
};

const struct queued_set *queued_set_of(const char *group, const char *plural)
{
    for (size_t i = 0; i < QUEUED_SETS_N; i++)
        if (text_equal(queued_sets[i].group, group) && text_equal(queued_sets[i].plural, plural))
            return &queued_sets[i];
    return NULL;
}

const struct queued_set *queued_set_named(const char *kind)
{
    for (size_t i = 0; i < QUEUED_SETS_N; i++)
        if (text_equal(queued_sets[i].kind, kind))
            return &queued_sets[i];
    return NULL;
}

const struct queued_set *queued_set_of_pod(const struct json *pod)
{
    const char *by = json_text(json_path(pod, "metadata", "annotations", QUEUED_SET_ANNOTATION, NULL), "");
    for (size_t i = 0; i < QUEUED_SETS_N; i++)
        if (queued_sets[i].in_groups && text_equal(queued_sets[i].framework, by))
            return &queued_sets[i];
    return NULL;
}

/* ---- who names a queue in vain ---- */

const struct unheld_kind unheld_kinds[UNHELD_KINDS_N] = {
    [UNHELD_DEPLOYMENT] = {"apps", "v1", "deployments", "Deployment"},
    [UNHELD_REPLICASET] = {"apps", "v1", "replicasets", "ReplicaSet"},
    [UNHELD_DAEMONSET] = {"apps", "v1", "daemonsets", "DaemonSet"},
    [UNHELD_CRONJOB] = {"batch", "v1", "cronjobs", "CronJob"},
};

static const char *label_of(const struct json *object)
{
    return json_text(json_path(object, "metadata", "labels", QUEUE_LABEL, NULL), "");
}

static bool is_made(const struct json *object)
{
    JSON_EACH (owner, json_path(object, "metadata", "ownerReferences", NULL))
        if (json_get_bool(owner, "controller", false))
            return true;
    return false;
}

/* Where its pods, or its Jobs, are described. */
struct place {
    const char *path;
    const struct json *template;
};

static bool waits(const struct queued_set *in_groups, const struct json *template)
{
    return in_groups ? queued_set_of_pod(template) != NULL : *label_of(template) != '\0';
}

/* The first whose pods nobody holds; path NULL: there is none. */
static struct place unheld_place(const char *kind, const struct json *object, const struct queued_set **ret_in_groups)
{
    const struct queued_set *set = queued_set_named(kind), *in_groups = set && set->in_groups ? set : NULL;
    const struct json *spec = json_get(object, "spec"), *groups = json_get(spec, "leaderWorkerTemplate");
    bool known = set != NULL;
    for (int i = 0; i < UNHELD_KINDS_N; i++)
        known |= text_equal(unheld_kinds[i].kind, kind);
    *ret_in_groups = in_groups;
    if (!known || !*label_of(object) || is_made(object))
        return (struct place){0};
    const struct place all[] = {
        {"spec.template", json_get(spec, "template")},
        {"spec.jobTemplate", json_get(spec, "jobTemplate")},
        {"spec.leaderWorkerTemplate.workerTemplate", json_get(groups, "workerTemplate")},
        {"spec.leaderWorkerTemplate.leaderTemplate", json_get(groups, "leaderTemplate")},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (json_is(all[i].template, JSON_OBJECT) && !waits(in_groups, all[i].template))
            return all[i];
    return (struct place){0};
}

const char *unheld_text(struct arena *a, const char *kind, const struct json *object)
{
    const struct queued_set *in_groups;
    const char *path = unheld_place(kind, object, &in_groups).path, *queue = label_of(object);
    if (!path)
        return NULL;
    const char *whose = text_equal(kind, "CronJob") ? "Jobs" : "pods",
               *by = queued_set_named(kind) ? "; from Kubernetes 1.36 on deploy/kueue-defaults.yaml does that" : "";
    if (in_groups)
        return arena_printf(a, "its pods do not wait for quota: write into %s.metadata the annotation " QUEUED_SET_ANNOTATION
                            ": %s and the label " QUEUE_LABEL ": %s%s", path, in_groups->framework, queue, by);
    return arena_printf(a, "its %s do not wait for quota, and its label " QUEUE_LABEL " does nothing: write it into %s.metadata.labels, too, as "
                        QUEUE_LABEL ": %s%s", whose, path, queue, by);
}

bool unheld_mend(struct arena *a, const char *kind, struct json *object)
{
    const struct queued_set *in_groups;
    bool any = false;
    for (int i = 0; i < TEMPLATES_MOST; i++) {
        struct place place = unheld_place(kind, object, &in_groups);
        if (!place.path)
            return any;
        struct json *metadata = json_ensure_object(a, (struct json *)(uintptr_t)place.template, "metadata"); /* it is in `object` */
        json_set_text(a, json_ensure_object(a, metadata, "labels"), QUEUE_LABEL, label_of(object));
        if (in_groups)
            json_set_text(a, json_ensure_object(a, metadata, "annotations"), QUEUED_SET_ANNOTATION, in_groups->framework);
        any = true;
    }
    return any;
}
