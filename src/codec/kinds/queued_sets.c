/* queued_sets.c - see queued_sets.h */
#include "codec/kinds/queued_sets.h"
#include <string.h>

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
