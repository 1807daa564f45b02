/* status_check.c - the admission checks that the scheduler answers itself (checks/scale_up.h): their condition Active, and what they say of
 * Workloads with quota */
#include "sched/checks/scale_up.h"
#include "sched/scheduler.h"
#include "codec/kinds/scale_up_names.h"

void status_check(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    struct arena *a = w->arena;
    const struct json *check = s->leading ? kube_cache_get(s->sources[SOURCE_CHECKS].cache, "", w->name, a) : NULL;
    if (!check || object_deleting(check) ||
        strcmp(json_get_text(json_get(check, "spec"), "controllerName", ""), SCALE_UP_CONTROLLER) != 0)
        return;
    const char *wrong = scale_up_wrong(a, check);
    struct json *conditions = object_conditions_copy(a, check), *status = json_new(a, JSON_OBJECT);
    if (!object_condition_set(a, conditions, "Active", !wrong, wrong ? "BadParameters" : "Active",
                              wrong ? wrong : "The admission check is active", loop_wall_ms(s->loop), object_generation_of(check)))
        return;
    json_set(a, status, "conditions", conditions);
    work_patch_status(w, kube_path(a, "kueue.x-k8s.io", "v1beta2", "admissionchecks", NULL, w->name, "status"), check, status);
}

const struct json *status_find_check(void *ctx, const char *name, struct arena *a)
{
    const struct scheduler *s = ctx;
    return kube_cache_get(s->sources[SOURCE_CHECKS].cache, "", name, a);
}

struct json *status_checks_answered(struct scheduler *s, const struct seen_gang *g, const struct json *workload, const struct json *list,
                                    struct arena *a, int64_t *ret_again_ms)
{
    struct gang_look look = {0};
    bool known = g && state_gang_look(s->state, g->key, &look);
    const struct scale_up x = {.workload = workload,
                               .stands = look.bound_n > 0,
                               .bound_ms = g ? g->bound_ms : 0,
                               .is_settled = known && s->incoming_at == s->incoming_n,
                               .now_ms = loop_wall_ms(s->loop),
                               .find = status_find_check,
                               .ctx = s};
    return scale_up_followed(a, &x, list ? list : json_path(workload, "status", "admissionChecks", NULL), ret_again_ms);
}
