/* stop.c - who must be stopped for others, and asks for it, is asked to save before
 *
 *   EVICT ──▶ capstan.dev/checkpoint-requested on its object and its pods
 *               ├─ capstan.dev/checkpoint-time at that time or later, on its object or on each pod that runs ──▶ it is stopped
 *               ├─ so many seconds as capstan.dev/checkpoint-within-seconds says are over, or none of its pods runs ──▶ it is stopped
 *               └─ nobody waits for its end any more ──▶ the eviction is refused: it runs on
 *
 * WHY here and not in the core: there it is LEAVING until its eviction is answered, what it will leave is promised, and nobody else is
 *        told.
 * UNIT   times are wall milliseconds; those on objects are whole seconds.
 * ORDER  a scheduler that begins anew decides the same eviction again, and counts on from the time on the object. What is older than the
 *        time allowed and STALE_MS is of another stop.
 */
#include <assert.h>
#include "base/clock.h"
#include "base/log.h"
#include "sched/scheduler.h"

enum { LOOK_MS = 1000, STALE_MS = 600000 };

static const struct gang_object_kind kinds[] = {
    [GANG_WORKLOAD] = {SOURCE_WORKLOADS, "kueue.x-k8s.io", "v1beta2", "workloads", "Workload", "kueue.x-k8s.io/v1beta2"},
    [GANG_VOLCANO] = {SOURCE_VOLCANO_GROUPS, "scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup", "scheduling.volcano.sh/v1beta1"},
    [GANG_COSCHEDULING] = {SOURCE_COSCHEDULING, "scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup", "scheduling.x-k8s.io/v1alpha1"},
    [GANG_KAI] = {SOURCE_KAI, "scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup", "scheduling.run.ai/v2alpha2"},
    [GANG_COMPOSITE] = {SOURCE_COMPOSITES, "scheduling.k8s.io", COMPOSITES_VERSION, "compositepodgroups", "CompositePodGroup",
                        COMPOSITES_API},
};

const struct native_version *native_version(const struct scheduler *s)
{
    return native_version_at(kube_cache_path(s->sources[SOURCE_NATIVE].cache));
}

struct gang_object_kind gang_object_kind(const struct scheduler *s, enum gang_source source)
{
    const struct native_version *v = native_version(s);
    assert(source != GANG_POD);
    return source != GANG_NATIVE ? kinds[source]
                                 : (struct gang_object_kind){SOURCE_NATIVE, "scheduling.k8s.io", v->version, "podgroups", "PodGroup",
                                                             v->api_version};
}

/* ---- written ---- */

static void on_written(void *unused, const struct kube_answer *answer)
{
    (void)unused;
    if (answer->code < 0 && answer->code != -E_NOTFOUND)
        log_warning("who is to be stopped is not asked to save status=%d error=\"%s\"", answer->status, answer->error.text);
}

/* asked_ms 0: it is not asked any more. */
static void write_asked(struct scheduler *s, struct arena *a, const char *path, int64_t asked_ms)
{
    struct json *patch = json_new(a, JSON_OBJECT),
                *annotations = json_ensure_object(a, json_ensure_object(a, patch, "metadata"), "annotations");
    char text[TIME_TEXT_MAX];
    if (asked_ms)
        json_set_text(a, annotations, DECODE_CHECKPOINT_ASKED_ANNOTATION, time_format(text, asked_ms));
    else
        json_set(a, annotations, DECODE_CHECKPOINT_ASKED_ANNOTATION, json_new(a, JSON_NULL));
    _cleanup_buf_ struct buf body = {0};
    json_write(&body, patch);
    kube_patch(s->client, KUBE_PATCH_MERGE, path, buf_view(&body), on_written, NULL);
}

static bool runs(const struct seen_pod *p)
{
    return p->phase == POD_RUNNING && !p->deleting;
}

/* On its object, and where `pods` on those that run: what they mount of their annotations says so. */
static void write_all(struct scheduler *s, const struct stopped_gang *x, int64_t asked_ms, bool pods)
{
    struct gang_object_kind kind = gang_object_kind(s, x->g->source);
    _cleanup_arena_ struct arena *a = arena_new();
    write_asked(s, a, kube_path(a, kind.group, kind.version, kind.plural, object_meta(x->object, "namespace"),
                                object_meta(x->object, "name"), NULL), asked_ms);
    for (uint32_t i = 0; i < x->pods_n && pods; i++) {
        const char *slash = strchr(intern_name(s->names, x->pods[i]->key), '/');
        if (slash && runs(x->pods[i]))
            write_asked(s, a, kube_path(a, "", "v1", "pods", object_meta(x->object, "namespace"), slash + 1, NULL), asked_ms);
    }
}

static void tell(struct scheduler *s, const struct stopped_gang *x, const char *type, const char *reason, const char *text)
{
    struct gang_object_kind kind = gang_object_kind(s, x->g->source);
    struct kube_object_ref about = {kind.api_version, kind.kind, object_meta(x->object, "namespace"), object_meta(x->object, "name"),
                                    object_meta(x->object, "uid")};
    kube_event(s->events, &about, type, reason, "%s", text);
}

/* ---- said ---- */

static int64_t time_said(const struct json *object, const char *annotation)
{
    int64_t ms;
    return decode_checkpoint(bytes_of(object_annotation(object, annotation)), &ms) ? ms : 0;
}

static bool has_saved(const struct stopped_gang *x)
{
    bool all = true;
    uint32_t n = 0;
    if (time_said(x->object, DECODE_CHECKPOINT_ANNOTATION) >= x->g->save_asked_ms)
        return true;
    for (uint32_t i = 0; i < x->pods_n && all; i++) {
        all = !runs(x->pods[i]) || x->pods[i]->saved_ms >= x->g->save_asked_ms;
        n += runs(x->pods[i]);
    }
    return all && n;
}

static void ask(struct scheduler *s, const struct stopped_gang *x, int64_t now_ms, int32_t within_s)
{
    struct seen_gang *g = x->g;
    char until[TIME_TEXT_MAX];
    _cleanup_buf_ struct buf text = {0};
    g->save_asked_ms = now_ms - now_ms % 1000;
    write_all(s, x, g->save_asked_ms, true);
    buf_printf(&text, "it is asked to save, and stopped once " DECODE_CHECKPOINT_ANNOTATION " says that it has, at %s at the latest: ",
               time_format(until, g->save_asked_ms + (int64_t)within_s * 1000));
    explain_sentence(&text, x->why, s->names);
    tell(s, x, "Normal", "CheckpointRequested", text.data);
}

/* ---- a look ---- */

/* WHY  whoever ends for another reason has no use for the wait: its owner ends it, or it does not work. */
static bool is_for_others(const struct reason *why)
{
    return why && (why->code == REASON_PREEMPTED || why->code == REASON_STOPPED_QUEUE);
}

static enum stop finish(struct scheduler *s, const struct stopped_gang *x, const char *type, const char *reason, const char *text)
{
    bool stays = strcmp(reason, "CheckpointNotNeeded") == 0;
    tell(s, x, type, reason, text);
    write_all(s, x, 0, stays);
    x->g->save_asked_ms = 0;
    x->g->stop_is_due = !stays; /* WHY  its object has changed by what was just written: its eviction may be refused and written again */
    return stays ? STOP_NEVER : STOP_NOW;
}

enum stop stop_look(struct scheduler *s, const struct stopped_gang *x, int64_t *ret_wait_ms)
{
    struct seen_gang *g = x->g;
    const struct json *object = x->object;
    const struct reason *why = x->why;
    int64_t now_ms = loop_wall_ms(s->loop);
    int32_t within_s;
    if (!g || !object || g->stop_is_due || !is_for_others(why) ||
        !decode_checkpoint_within(bytes_of(object_annotation(object, DECODE_CHECKPOINT_WITHIN_ANNOTATION)), &within_s))
        return STOP_NOW;
    int64_t within_ms = (int64_t)within_s * 1000, before_ms = time_said(object, DECODE_CHECKPOINT_ASKED_ANNOTATION);
    if (!g->save_asked_ms && before_ms && before_ms <= now_ms && now_ms - before_ms < within_ms + STALE_MS)
        g->save_asked_ms = before_ms;
    if (why->code == REASON_PREEMPTED && g->save_asked_ms && !state_gang_is_awaited(s->state, g->key))
        return finish(s, x, "Normal", "CheckpointNotNeeded", "nobody waits for its end any more: it runs on");
    if (!g->save_asked_ms && g->running_n > 0)
        ask(s, x, now_ms, within_s);
    if (!g->running_n)
        return g->save_asked_ms ? finish(s, x, "Normal", "CheckpointSaved", "none of its pods runs any more") : STOP_NOW;
    if (has_saved(x))
        return finish(s, x, "Normal", "CheckpointSaved", "it has saved, and is stopped");
    if (now_ms >= g->save_asked_ms + within_ms)
        return finish(s, x, "Warning", "CheckpointLate", "it has not said in time that it has saved, and is stopped");
    int64_t left_ms = g->save_asked_ms + within_ms - now_ms;
    *ret_wait_ms = left_ms < LOOK_MS ? left_ms : LOOK_MS;
    return STOP_WAITS;
}
