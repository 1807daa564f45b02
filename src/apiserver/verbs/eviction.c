/* eviction.c - delete a pod unless its disruption budget forbids it */
#include "apiserver/apply/object_change.h"
#include "apiserver/lifecycle/eviction_budget.h"
#include "apiserver/request/body.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "apiserver/verbs/subresource.h"
#include "base/clock.h"

static bool pod_is(const struct json *pod, const char *phase)
{
    return strcmp(json_text(json_path(pod, "status", "phase", NULL), ""), phase) == 0;
}

/* 429 in the form that `kubectl drain` waits on. No Retry-After header: clients would retry by themselves, silently. */
static void budget_refuse(struct http_exchange *x, const struct request_info *ri, const struct eviction_budget *b)
{
    struct arena *a = x->request.arena;
    struct json *status = status_json(a, 429, "TooManyRequests", ri, NULL,
                                      "Cannot evict pod as it would violate the pod's disruption budget.");
    struct json *details = json_ensure_object(a, status, "details"), *cause = json_new(a, JSON_OBJECT);
    json_set_text(a, cause, "reason", "DisruptionBudget");
    json_set_text(a, cause, "message",
                  arena_printf(a, "The disruption budget %s needs %lld healthy pods and has %lld currently", b->name,
                               (long long)b->desired, (long long)b->healthy));
    json_append(json_ensure_array(a, details, "causes"), cause);
    status_reply_json(x, 429, status);
}

/* False: answered. */
static bool budget_allows(struct apiserver *s, struct http_exchange *x, const struct request_info *ri,
                          const struct json *pod)
{
    struct eviction_budget b;
    const struct json *budget = NULL;
    struct arena *a = x->request.arena;
    if (pod_is(pod, "Succeeded") || pod_is(pod, "Failed") || pod_is(pod, "Pending") ||
        json_path(pod, "metadata", "deletionTimestamp", NULL))
        return true;
    unsigned n = eviction_budgets_of(s, a, pod, &budget);
    if (n > 1) {
        status_reply(
            x, 500, "InternalError", ri, NULL,
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
        return false;
    }
    if (n == 0)
        return true;
    eviction_budget_count(s, a, budget, &b);
    bool always =
        strcmp(json_text(json_path(budget, "spec", "unhealthyPodEvictionPolicy", NULL), ""), "AlwaysAllow") == 0;
    if (!eviction_pod_ready(pod) && (always || (b.healthy >= b.desired && b.desired > 0)))
        return true;
    if (b.allowed > 0)
        return true;
    budget_refuse(x, ri, &b);
    return false;
}

static int disruption_mark(void *arg, struct arena *a, struct json *pod, struct err *e)
{
    char text[TIME_TEXT_MAX];
    struct apiserver *s = arg;
    struct json *condition = json_new(a, JSON_OBJECT);
    struct json *conditions = json_ensure_array(a, json_ensure_object(a, pod, "status"), "conditions");
    JSON_EACH (old, conditions) {
        if (strcmp(json_get_text(old, "type", ""), "DisruptionTarget") == 0)
            return 0;
    }
    json_set_text(a, condition, "type", "DisruptionTarget");
    json_set_text(a, condition, "status", "True");
    json_set_text(a, condition, "reason", "EvictionByEvictionAPI");
    json_set_text(a, condition, "message", "Eviction API: evicting");
    json_set_text(a, condition, "lastTransitionTime", time_format(text, loop_wall_ms(s->loop)));
    json_append(conditions, condition);
    return 0;
}

void eviction_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    struct arena *a = x->request.arena;
    struct json *body = NULL;
    struct err e = {0};
    if (ri->verb != VERB_CREATE) {
        status_reply(x, 405, "MethodNotAllowed", ri, NULL, "an eviction can only be created: use POST");
        return;
    }
    if (!body_read(x, ri, NULL, &body))
        return;
    const struct json *pod = object_read(s, a, ri->kind, ri->ns, ri->name);
    if (!pod) {
        status_reply_not_found(x, ri, ri->name);
        return;
    }
    if (!budget_allows(s, x, ri, pod))
        return;
    struct delete_options how;
    delete_options_of(json_get(body, "deleteOptions"), ri->dry_run, &how);
    bool gone, is_meant = !how.precondition_uid || strcmp(how.precondition_uid, json_get_text(json_get(pod, "metadata"), "uid", "")) == 0;
    struct json *object;
    if (!how.dry_run && !how.precondition_rv && is_meant) /* the mark is information only: a failure here shows again in the deletion */
        (void)object_modify(s, ri->kind, ri->ns, ri->name, a, disruption_mark, s, WRITE_OWN_STATUS, NULL, NULL);
    int r = object_delete(s, ri->kind, ri->ns, ri->name, a, &how, &gone, &object, &e);
    if (r == -E_NOTFOUND)
        status_reply_not_found(x, ri, ri->name);
    else if (r < 0)
        status_reply_err(x, ri, &e);
    else
        status_success(x, ri, 201, NULL);
}
