/* admission_task_groups.c - what YuniKorn's users write on pods and templates: what is wrong, or does nothing, is said
 *
 * WHY  not refused: YuniKorn does not, and the first pod of an application that says it well is followed.
 */
#include "codec/admission/admission_part.h"
#include "codec/groups/task_groups.h"

static void check_own(struct admission *x, const struct task_groups *groups, const char *own, const char *path)
{
    for (uint32_t i = 0; i < groups->n; i++)
        if (strcmp(groups->all[i].name, own) == 0)
            return;
    admission_warn(x, "%s.annotations[" YUNIKORN_TASK_GROUP "]: no task group has this name: write one of " YUNIKORN_TASK_GROUPS, path);
}

void admission_task_groups(struct admission *x, const struct json *metadata, const struct json *spec, const char *path)
{
    const struct json *annotations = json_get(metadata, "annotations"), *labels = json_get(metadata, "labels"),
                      *text = json_get(annotations, YUNIKORN_TASK_GROUPS);
    const char *own = json_get_text(annotations, YUNIKORN_TASK_GROUP, "");
    struct task_groups groups = {0};
    struct err e;
    if (x->old || strcmp(json_get_text(spec, "schedulerName", ""), YUNIKORN_SCHEDULER) != 0)
        return;
    const char *unused = scheduling_parameters_unused(x->arena, json_get_text(annotations, YUNIKORN_PARAMETERS, ""));
    if (unused)
        admission_warn(x, "%s.annotations[" YUNIKORN_PARAMETERS "]: has no effect: %s", path, unused);
    const char *queue = application_queue(json_get_text(labels, YUNIKORN_QUEUE, ""), json_get_text(annotations, YUNIKORN_QUEUE, ""),
                                          json_get_text(labels, YUNIKORN_QUEUE_LABEL, ""));
    bool is_grouped = json_is(text, JSON_STRING) && text->n;
    if (is_queue_meant(queue) && !*own && !is_grouped)
        admission_warn(x, "%s: queue %.200s: has no effect: of YuniKorn's pods those of task groups count in a queue (annotation "
                       YUNIKORN_TASK_GROUPS ")", path, queue);
    if (!is_grouped)
        return;
    if (task_groups_read(x->arena, json_bytes(text), &groups, &e) < 0) {
        admission_warn(x, "%s.annotations[" YUNIKORN_TASK_GROUPS "]: %s: no pod of a task group starts before", path, e.text);
        return;
    }
    if (groups.unused)
        admission_warn(x, "%s.annotations[" YUNIKORN_TASK_GROUPS "]: %s: no effect, for there are no placeholders: write it into the pods", path,
                       groups.unused);
    if (*own)
        check_own(x, &groups, own, path);
}
