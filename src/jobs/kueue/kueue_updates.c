/* kueue_updates.c - what admission checks add to the pods of a started job (status.admissionChecks[].podSetUpdates); see kueue_kind.h
 *
 * SOURCE Kueue: values are added, never changed. Two that contradict each other, or the pod's own, end the Workload as FailedToStart.
 */
#include "jobs/kueue/kueue_kind.h"

/* The first of `added` for which `own` has another value; NULL: none. */
static const struct json *contradicted(const struct json *own, const struct json *added)
{
    JSON_EACH (member, added) {
        const struct json *is = json_get(own, member->key);
        if (is && !json_equal(is, member))
            return member;
    }
    return NULL;
}

/* SOURCE Kueue, for the words. */
static const char *invalid_update(struct arena *a, const char *what, const struct json *own, const struct json *added)
{
    const struct json *member = contradicted(own, added);
    if (!member)
        return NULL;
    return arena_printf(a, "invalid admission check PodSetUpdate: conflict for %s: conflict for key=%s, value1=%s, value2=%s", what,
                        member->key, json_text(json_get(own, member->key), "?"), json_text(member, "?"));
}

/* WHY neither a flavor nor a check is named: a start has what both give, as one. */
static const char *impossible_start(struct arena *a, const char *what, const struct json *own, const struct json *added)
{
    const struct json *member = contradicted(own, added);
    if (!member)
        return NULL;
    return arena_printf(a, "%s %s=%s contradicts %s, which its flavors and admission checks give it", what, member->key,
                        json_text(json_get(own, member->key), "?"), json_text(member, "?"));
}

static void add_members(struct arena *a, struct json **to, const struct json *added)
{
    if (!json_is(added, JSON_OBJECT) || !added->n)
        return;
    if (!*to)
        *to = json_new(a, JSON_OBJECT);
    JSON_EACH (member, added)
        json_set(a, *to, arena_text(a, member->key), json_clone(a, member));
}

static void add_tolerations(struct arena *a, struct json *to, const struct json *added)
{
    JSON_EACH (toleration, json_is(added, JSON_ARRAY) ? added : NULL) {
        bool known = false;
        JSON_EACH (old, to)
            known = known || json_equal(old, toleration);
        if (!known)
            json_append(to, json_clone(a, toleration));
    }
}

/* What a start gives every pod has the first word. */
static void base(struct arena *a, const struct kueue_start *s, struct json **ret_labels, struct json **ret_annotations)
{
    *ret_labels = s->labels ? json_clone(a, s->labels) : json_new(a, JSON_OBJECT);
    *ret_annotations = s->annotations ? json_clone(a, s->annotations) : json_new(a, JSON_OBJECT);
    json_set_text(a, *ret_labels, KUEUE_PODSET_LABEL, s->pod_set);
    json_set_text(a, *ret_labels, KUEUE_CLUSTER_QUEUE_LABEL, s->cluster_queue);
    json_set_text(a, *ret_labels, KUEUE_LOCAL_QUEUE_LABEL, s->local_queue);
    json_set_text(a, *ret_annotations, KUEUE_WORKLOAD_ANNOTATION, s->workload);
}

static void add(struct arena *a, struct kueue_start *s, const char *check, const struct json *update)
{
    struct json *labels, *annotations;
    base(a, s, &labels, &annotations);
    const char *why = invalid_update(a, "annotations", annotations, json_get(update, "annotations"));
    if (!why)
        why = invalid_update(a, "labels", labels, json_get(update, "labels"));
    if (!why)
        why = invalid_update(a, "nodeSelector", s->node_labels, json_get(update, "nodeSelector"));
    if (why && !s->conflict)
        s->conflict = arena_printf(a, "in admission check \"%s\": %s", check, why);
    add_members(a, &s->labels, json_get(update, "labels"));
    add_members(a, &s->annotations, json_get(update, "annotations"));
    add_members(a, &s->node_labels, json_get(update, "nodeSelector"));
    add_tolerations(a, s->tolerations, json_get(update, "tolerations"));
}

void kueue_updates_add(struct arena *a, const struct json *workload, struct kueue_start *s)
{
    JSON_EACH (check, json_path(workload, "status", "admissionChecks", NULL))
        JSON_EACH (update, json_get(check, "podSetUpdates"))
            if (strcmp(json_get_text(update, "name", ""), s->pod_set) == 0)
                add(a, s, json_get_text(check, "name", ""), update);
}

const char *kueue_updates_conflict(struct arena *a, const struct kueue_start *s, const struct json *pod)
{
    const struct json *meta = json_get(pod, "metadata");
    const char *why = s->conflict;
    if (!why)
        why = impossible_start(a, "annotations", json_get(meta, "annotations"), s->annotations);
    if (!why)
        why = impossible_start(a, "labels", json_get(meta, "labels"), s->labels);
    return why ? why : impossible_start(a, "nodeSelector", json_path(pod, "spec", "nodeSelector", NULL), s->node_labels);
}

struct json *kueue_with_tolerations(struct arena *a, const struct json *spec, const struct kueue_start *start)
{
    const struct json *own = json_get(spec, "tolerations");
    struct json *all = json_is(own, JSON_ARRAY) ? json_clone(a, own) : json_new(a, JSON_ARRAY);
    add_tolerations(a, all, start->tolerations);
    return all;
}

void kueue_pod_start(struct arena *a, const struct json *pod, const struct kueue_start *s, struct json *patch)
{
    struct json *spec = json_ensure_object(a, patch, "spec"), *meta = json_ensure_object(a, patch, "metadata");
    if (s->node_labels->n)
        json_set(a, spec, "nodeSelector", json_clone(a, s->node_labels));
    if (s->tolerations->n)
        json_set(a, spec, "tolerations", kueue_with_tolerations(a, json_get(pod, "spec"), s));
    if (s->labels)
        json_set(a, meta, "labels", json_clone(a, s->labels));
    if (s->annotations)
        json_set(a, meta, "annotations", json_clone(a, s->annotations));
}
