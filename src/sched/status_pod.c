/* status_pod.c - a pod that waits says why: condition PodScheduled=False, event FailedScheduling
 *
 * LIMIT  telling.h, without its budget: whoever makes nodes for pods reads the condition. Ten thousand waiting pods are ten thousand writes
 *        once, but not each time that one node changes.
 */
#include "base/clock.h"
#include "sched/scheduler.h"

static void tell(struct scheduler *s, struct work *w, const struct seen_pod *p, const char *reason, const char *text, const char *tree)
{
    struct arena *a = w->arena;
    char now[TIME_TEXT_MAX];
    struct json *condition = json_new(a, JSON_OBJECT), *patch = json_new(a, JSON_OBJECT);
    json_set_text(a, condition, "type", "PodScheduled");
    json_set_text(a, condition, "status", "False");
    json_set_text(a, condition, "reason", reason);
    json_set_text(a, condition, "message", text);
    json_set_text(a, condition, "lastTransitionTime", time_format(now, loop_wall_ms(s->loop)));
    json_append(json_ensure_array(a, json_ensure_object(a, patch, "status"), "conditions"), condition);
    /* The precondition: not a successor of the same name. */
    struct json *meta = json_ensure_object(a, patch, "metadata");
    json_set_text(a, meta, "uid", intern_name(s->names, p->uid));
    if (tree) /* the status of a pod takes annotations along */
        json_set_text(a, json_ensure_object(a, meta, "annotations"), OBJECT_REASON, tree);
    work_patch(w, KUBE_PATCH_STRATEGIC, kube_path(a, "", "v1", "pods", w->ns, w->name, "status"), patch);
}

void status_pod(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    name_id key = intern_find(s->names, bytes_of(w->key));
    struct seen_pod *p = key ? seen_pod(s, key) : NULL;
    if (!s->leading || !p || p->bound || p->deleting || p->gated || !p->ours)
        return;
    const struct seen_gang *g = seen_gang(s, p->gang);
    if (!g || !g->text)
        return;
    int64_t now_ms = loop_now_ms(s->loop);
    bool is_news = !p->told || telling_cause(p->told) != telling_cause(g->text);
    int64_t wait_ms = telling_wait_ms(&p->telling, NULL, g->text, p->told, g->members_missing ? TELLING_MEMBERS_MS : TELLING_SETTLE_MS,
                                      g->members_missing ? g->joined_ms : 0, now_ms);
    if (wait_ms > 0)
        work_again(w, wait_ms);
    if (wait_ms != 0)
        return;
    tell(s, w, p, "Unschedulable", g->text, g->source == GANG_POD ? g->tree : NULL);
    telling_sent(&p->telling, now_ms);
    struct kube_object_ref about = {"v1", "Pod", w->ns, w->name, intern_name(s->names, p->uid)};
    if (is_news)
        kube_event(s->events, &about, "Warning", "FailedScheduling", "%s", g->text);
}
