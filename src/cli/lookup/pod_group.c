/* pod_group.c - see pod_group.h */
#include "cli/lookup/pod_group.h"
#include "codec/decode/decode.h"
#include "kube/object.h"

#define KUEUE_GROUP "kueue.x-k8s.io/pod-group-name"

const char *pod_group_name(const struct json *pod, enum pod_group_maker maker)
{
    switch (maker) {
    case POD_GROUP_VOLCANO:
        return object_annotation(pod, DECODE_VOLCANO_GROUP_ANNOTATION);
    case POD_GROUP_COSCHEDULING:
        return object_label(pod, "scheduling.x-k8s.io/pod-group");
    case POD_GROUP_NATIVE:
        return json_text(json_path(pod, "spec", "schedulingGroup", "podGroupName", NULL), "");
    case POD_GROUP_KUEUE: /* SOURCE Kueue: since 0.18 an annotation counts before the label */
        return *object_annotation(pod, KUEUE_GROUP) ? object_annotation(pod, KUEUE_GROUP) : object_label(pod, KUEUE_GROUP);
    case POD_GROUP_MAKERS_N:
        break;
    }
    return "";
}
