/* status_pod.c - a pod that waits says why: condition PodScheduled=False, event FailedScheduling
 *
 * LIMIT  the first sentence is written at once, later ones at most every ten seconds: ten thousand waiting pods must
 * not become ten thousand writes each time that one node changes.
 */
#include "base/clock.h"
#include "sched/scheduler.h"

enum { REPEAT_MS = 10000 };

static void tell(struct scheduler *s, struct work *w, const struct seen_pod *p, const char *reason, const char *text)
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
    json_set_text(a, json_ensure_object(a, patch, "metadata"), "uid", intern_name(s->names, p->uid));
    work_patch(w, KUBE_PATCH_STRATEGIC, kube_path(a, "", "v1", "pods", w->ns, w->name, "status"), patch);
}

static void annotate(struct work *w, const char *tree)
{
    struct json *patch = json_new(w->arena, JSON_OBJECT);
    json_set_text(w->arena,
                  json_ensure_object(w->arena, json_ensure_object(w->arena, patch, "metadata"), "annotations"),
                  REASON_ANNOTATION, tree);
    work_patch(w, KUBE_PATCH_MERGE, kube_path(w->arena, "", "v1", "pods", w->ns, w->name, NULL), patch);
}

void status_pod(void *arg, struct work *w)
{
    struct scheduler *s = arg;
    name_id key = intern_find(s->names, bytes_of(w->key));
    struct seen_pod *p = key ? seen_pod(s, key) : NULL;
    if (!s->leading || !p || p->bound || p->deleting || p->gated || !p->ours)
        return;
    const struct seen_gang *g = seen_gang(s, p->gang, false);
    const char *text = g ? g->text : NULL;
    if (!text)
        return;
    uint64_t hash = hash_bytes(text, strlen(text), 1);
    if (hash == p->told)
        return;
    int64_t now_ms = loop_now_ms(s->loop);
    if (p->told_ms && now_ms - p->told_ms < REPEAT_MS) {
        work_again(w, REPEAT_MS - (now_ms - p->told_ms));
        return;
    }
    p->told = hash;
    p->told_ms = now_ms ? now_ms : 1;
    tell(s, w, p, "Unschedulable", text);
    const char *object;
    if (seen_gang_split(intern_name(s->names, p->gang), &object) == GANG_POD && g->tree)
        annotate(w, g->tree);
    struct kube_object_ref about = {"v1", "Pod", w->ns, w->name, intern_name(s->names, p->uid)};
    kube_event(s->events, &about, "Warning", "FailedScheduling", "%s", text);
}
