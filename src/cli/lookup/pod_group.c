/* pod_group.c - see pod_group.h */
#include "cli/lookup/pod_group.h"
#include "codec/decode/decode.h"
#include "codec/groups/task_groups.h"
#include "kube/object.h"

#define KUEUE_GROUP "kueue.x-k8s.io/pod-group-name"

/* KAI's and YuniKorn's words count in pods of their schedulers' names, as the scheduler reads them (codec/decode/decode_pod.c). */
static bool is_for(const struct json *pod, const char *scheduler)
{
    return text_equal(json_text(json_path(pod, "spec", "schedulerName", NULL), ""), scheduler);
}

/* Volcano's, or of a task group of YuniKorn's. */
static const char *volcano_group(struct arena *a, const struct json *pod)
{
    const char *name = object_annotation(pod, DECODE_VOLCANO_GROUP_ANNOTATION);
    const char *application = application_of(object_label(pod, YUNIKORN_APP), object_annotation(pod, YUNIKORN_APP),
                                             object_label(pod, YUNIKORN_APP_LABEL), object_label(pod, YUNIKORN_SPARK_LABEL));
    if (*name || !*application || !is_for(pod, YUNIKORN_SCHEDULER) || !*object_annotation(pod, YUNIKORN_TASK_GROUP) ||
        strcmp(object_label(pod, SPARK_ROLE_LABEL), "driver") == 0)
        return name;
    return application_group(a, application);
}

const char *pod_group_name(struct arena *a, const struct json *pod, enum pod_group_maker maker)
{
    switch (maker) {
    case POD_GROUP_VOLCANO:
        return volcano_group(a, pod);
    case POD_GROUP_COSCHEDULING:
        return object_label(pod, "scheduling.x-k8s.io/pod-group");
    case POD_GROUP_NATIVE:
        return json_text(json_path(pod, "spec", "schedulingGroup", "podGroupName", NULL), "");
    case POD_GROUP_KAI:
        return is_for(pod, DECODE_KAI_SCHEDULER) ? object_annotation(pod, DECODE_KAI_GROUP_ANNOTATION) : "";
    case POD_GROUP_KUEUE: /* SOURCE Kueue: since 0.18 an annotation counts before the label */
        return *object_annotation(pod, KUEUE_GROUP) ? object_annotation(pod, KUEUE_GROUP) : object_label(pod, KUEUE_GROUP);
    case POD_GROUP_MAKERS_N:
        break;
    }
    return "";
}

const char *pod_group_first(struct arena *a, const struct json *pod, enum pod_group_maker *ret_maker)
{
    const char *name = "";
    for (int maker = 0; maker < POD_GROUP_MAKERS_N && !*name; maker++) {
        *ret_maker = (enum pod_group_maker)maker;
        name = pod_group_name(a, pod, *ret_maker);
    }
    return name;
}

bool pod_is_in_group(struct arena *a, const struct json *pod)
{
    enum pod_group_maker unused;
    return *pod_group_first(a, pod, &unused) || json_path(pod, "spec", "workloadRef", NULL);
}
