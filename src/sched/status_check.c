/* status_check.c - the admission checks that the scheduler answers itself (checks/scale_up.h): their condition Active, and what they say of
 * Workloads with quota */
#include "sched/checks/passed_over.h"
#include "sched/checks/scale_up.h"
#include "sched/machines/machine_source.h"
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

const struct json *status_find_flavor(void *ctx, const char *name, struct arena *a)
{
    const struct scheduler *s = ctx;
    return kube_cache_get(s->sources[SOURCE_FLAVORS].cache, "", name, a);
}

/* Of pods that only Karpenter's machines will do for; limits may be less in the way soon. */
static const char *hopeless(struct scheduler *s, const struct seen_gang *g, struct arena *a)
{
    struct machine_look look = machine_source_look(g ? s->machines : NULL, g ? g->key : 0, a);
    enum machine_cause cause = look.only ? look.verdict.cause : MACHINE_FITS;
    return cause == MACHINE_FITS || cause == MACHINE_LIMITED || cause == MACHINE_UNREADY ? NULL : look.verdict.text;
}

struct of_gang {
    struct scheduler *s;
    const struct seen_gang *gang;
};

static const char *find_domain(void *ctx, const char *key, const struct json *left_out, struct arena *a)
{
    const struct of_gang *x = ctx;
    return machine_source_domain(x->s->machines, x->gang->key, key, left_out, a);
}

struct json *status_checks_answered(struct scheduler *s, const struct seen_gang *g, const struct json *workload, const struct json *list,
                                    struct work *w, struct json *conditions)
{
    struct arena *a = w->arena;
    const struct json *said_list = list ? list : json_path(workload, "status", "admissionChecks", NULL);
    struct gang_look look = {0};
    bool known = g && state_gang_look(s->state, g->key, &look);
    const char *queue = json_text(json_path(workload, "status", "admission", "clusterQueue", NULL), "");
    struct of_gang of_gang = {s, g};
    const struct scale_up x = {.workload = workload,
                               .stands = look.bound_n > 0,
                               .bound_ms = g ? g->bound_ms : 0,
                               .hopeless = known && look.bound_n == 0 && json_first(said_list) ? hopeless(s, g, a) : NULL,
                               .is_settled = known && s->incoming_at == s->incoming_n,
                               .now_ms = loop_wall_ms(s->loop),
                               .queue = *queue ? kube_cache_get(s->sources[SOURCE_QUEUES].cache, "", queue, a) : NULL,
                               .find = status_find_check,
                               .find_flavor = status_find_flavor,
                               .ctx = s,
                               .domain = known ? find_domain : NULL,
                               .domain_ctx = &of_gang};
    struct scale_up_said said = scale_up_followed(a, &x, said_list);
    if (said.again_ms)
        work_again(w, said.again_ms);
    if (said.is_retried && said.passed_over) {
        _cleanup_buf_ struct buf text = {0};
        json_write(&text, said.passed_over);
        (void)object_condition_set(a, conditions, OBJECT_PASSED_OVER, true, "InsufficientCapacity", text.data, x.now_ms,
                                   object_generation_of(workload));
    } else if (said.is_retried && object_condition(workload, OBJECT_PASSED_OVER))
        (void)object_condition_set(a, conditions, OBJECT_PASSED_OVER, false, "AllTried", "no other flavor is left", x.now_ms,
                                   object_generation_of(workload));
    return said.list;
}

bool status_passed_over_ended(struct scheduler *s, struct work *w, const struct json *workload, struct json *conditions)
{
    int64_t until_ms = passed_over_until_ms(w->arena, workload), now_ms = loop_wall_ms(s->loop);
    if (until_ms > now_ms)
        work_again(w, until_ms - now_ms);
    return until_ms && until_ms <= now_ms &&
           object_condition_set(w->arena, conditions, OBJECT_PASSED_OVER, false, "TimeOver", "they are tried again", now_ms,
                                object_generation_of(workload));
}
