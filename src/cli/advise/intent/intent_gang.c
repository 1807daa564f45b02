/* intent_gang.c - by which dialect the pods of a workload start together, if they need each other */
#include "cli/advise/intent/intent.h"
#include "kube/object.h"

static struct json *pod_group_new(struct intent *p, const struct intent_work *w)
{
    struct json *group = json_new(p->x->a, JSON_OBJECT), *metadata;
    json_set_text(p->x->a, group, "apiVersion", "scheduling.x-k8s.io/v1alpha1");
    json_set_text(p->x->a, group, "kind", "PodGroup");
    metadata = json_ensure_object(p->x->a, group, "metadata");
    json_set_text(p->x->a, metadata, "name", w->name);
    if (*object_meta(w->object, "namespace"))
        json_set_text(p->x->a, metadata, "namespace", w->ns);
    json_set_int64(p->x->a, json_ensure_object(p->x->a, group, "spec"), "minMember", w->pods_n);
    return group;
}

/* Of all its templates; "" they name none. */
static const char *group_of(const struct intent_work *w)
{
    return w->pods ? object_label(w->pods->pod, INTENT_GROUP_LABEL) : "";
}

static const char *all_of_them(struct intent *p, const struct intent_work *w)
{
    return arena_printf(p->x->a, "all %lld pods or none", (long long)w->pods_n);
}

/* Those who stand in no queue: what is theirs, where they have it, else a PodGroup. */
static void hold_together(struct intent *p, struct intent_work *w)
{
    struct arena *a = p->x->a;
    if (w->queued == &queued_kinds[QUEUED_TRAINJOB]) {
        (void)advise_find(p->x, w->about, "a queue, or podGroupPolicy.coscheduling in its runtime",
                          "its pods start as they come, unless its runtime has a podGroupPolicy");
        return;
    }
    bool kubeflow = w->queued && w->queued->replicas;
    struct advise_finding *f = advise_find(
        p->x, w->about,
        kubeflow ? arena_printf(a, "runPolicy.schedulingPolicy.minAvailable: %lld (the operator's gang scheduler has to be on)",
                                (long long)w->pods_n)
                 : arena_printf(a, "a PodGroup %s with minMember: %lld, and the label of its pods", w->name, (long long)w->pods_n),
        "its %lld pods need each other, and nothing starts them together: some would hold GPUs and wait for the others",
        (long long)w->pods_n);
    advise_evidence(p->x, f, arena_printf(a, "%s, spec", w->about), "%lld pods, no queue and no group", (long long)w->pods_n);
    if (kubeflow) {
        json_set_int64(a, json_ensure_object(a, queued_kind_policy(a, w->queued, w->object), "schedulingPolicy"), "minAvailable",
                       w->pods_n);
        intent_changed(p, w, f, NULL);
        return;
    }
    for (struct intent_pods *pods = w->pods; pods; pods = pods->next)
        intent_label(p, pods->pod, INTENT_GROUP_LABEL, w->name);
    intent_changed(p, w, f, pod_group_new(p, w));
}

/* It names a group: is it there, and does it wait for as many as there are? */
static void look_at_group(struct intent *p, struct intent_work *w, struct json *group, const char *name)
{
    int64_t least_n = json_int64(json_path(group, "spec", "minMember", NULL), 1);
    if (!group) {
        struct advise_finding *f =
            advise_find(p->x, w->about, arena_printf(p->x->a, "PodGroup %s with minMember: %lld", name, (long long)w->pods_n),
                        "its pods name PodGroup %s, which is not there: they wait for it", name);
        struct json *added = pod_group_new(p, w);
        json_set_text(p->x->a, json_get(added, "metadata"), "name", name);
        intent_changed(p, w, f, added);
    } else if (least_n > w->pods_n && intent_document(p, "PodGroup", w->ns, name)) {
        struct advise_finding *f = advise_find(p->x, w->about, arena_printf(p->x->a, "minMember: %lld", (long long)w->pods_n),
                                               "PodGroup %s waits for %lld pods, and there are %lld: it never starts", name,
                                               (long long)least_n, (long long)w->pods_n);
        json_set_int64(p->x->a, json_get(group, "spec"), "minMember", w->pods_n);
        intent_changed(p, w, f, NULL);
        f->changes = group;
    } else {
        (void)advise_find(p->x, w->about, INTENT_NOTHING, "PodGroup %s starts %lld of its %lld pods together", name, (long long)least_n,
                          (long long)w->pods_n);
    }
}

static void vcjob_gang(struct intent *p, const struct intent_work *w)
{
    int64_t least_n = json_int64(json_path(w->object, "spec", "minAvailable", NULL), w->pods_n);
    (void)advise_find(p->x, w->about, INTENT_NOTHING, "Volcano's Job starts %s",
                      least_n >= w->pods_n ? all_of_them(p, w)
                                           : arena_printf(p->x->a, "%lld of its %lld pods together, the others as they find room",
                                                          (long long)least_n, (long long)w->pods_n));
}

void intent_gang(struct intent *p, struct intent_work *w)
{
    const char *name = group_of(w);
    struct json *cluster = NULL;
    if (*name && !intent_document(p, "PodGroup", w->ns, name))
        cluster = (struct json *)(uintptr_t)advise_get(/* it is only read */
                                                       p->x, kube_path(p->x->a, "scheduling.x-k8s.io", "v1alpha1", "podgroups", w->ns, name,
                                                                       NULL));
    if (w->kind == INTENT_VCJOB)
        vcjob_gang(p, w);
    else if (*name && w->kind != INTENT_POD)
        look_at_group(p, w, cluster ? cluster : intent_document(p, "PodGroup", w->ns, name), name);
    else if (w->pods_n <= 1)
        (void)advise_find(p->x, w->about, INTENT_NOTHING, "one pod: it waits for nobody");
    else if (!intent_needs_all(w))
        (void)advise_find(p->x, w->about, INTENT_NOTHING, "its %lld pods do not need each other", (long long)w->pods_n);
    else if (*intent_queue_of(w))
        (void)advise_find(p->x, w->about, INTENT_NOTHING, "its queue starts %s", all_of_them(p, w));
    else if (w->queued && w->queued->replicas &&
             json_int64(json_path(w->object, "spec", "runPolicy", "schedulingPolicy", "minAvailable", NULL), 0) > 0)
        (void)advise_find(p->x, w->about, INTENT_NOTHING, "its schedulingPolicy starts its pods together");
    else
        hold_together(p, w);
}
