/* intent_gang.c - by which dialect the pods of a workload start together, if they need each other */
#include "base/amount.h"
#include "cli/advise/intent/intent.h"
#include "cli/lookup/job_find.h"
#include "codec/decode/decode.h"
#include "kube/object.h"

/* In the namespace that the file names, if it names one. */
static struct json *pod_group_new(struct intent *p, const struct intent_work *w, const char *name)
{
    return advise_pod_group_new(p->x->a, *object_meta(w->document, "namespace") ? w->ns : "", name, w->pods_n);
}

/* So many of its pods start together; of subgroups, all that each wants. */
static int64_t least_of(const struct json *group)
{
    const struct json *spec = json_get(group, "spec");
    int64_t least_n = 0;
    JSON_EACH (part, json_get(spec, "subGroups"))
        least_n = amount_plus(least_n, json_get_int64(part, "minMember", 0));
    return least_n > 0 ? least_n
                       : json_int64(json_path(spec, "schedulingPolicy", "gang", "minCount", NULL), json_get_int64(spec, "minMember", 1));
}

/* Where it says so, but for subgroups. False: those say it. */
static bool least_set(struct intent *p, struct json *group, int64_t n)
{
    struct json *spec = json_get(group, "spec"), *gang = json_path(spec, "schedulingPolicy", "gang", NULL);
    if (json_first(json_get(spec, "subGroups")))
        return false;
    json_set_int64(p->x->a, gang ? gang : spec, gang ? "minCount" : "minMember", n);
    return true;
}

static const char *all_of_them(struct intent *p, const struct intent_work *w)
{
    if (w->each)
        return arena_printf(p->x->a, "each %s as a whole: all %lld pods or none", w->each, (long long)w->together_n);
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
    if (w->each) { /* a PodGroup would be that of all of them */
        (void)advise_find(p->x, w->about, arena_printf(a, "a queue: it starts each %s as a whole", w->each),
                          "the %lld pods of a %s need each other, and nothing starts them together: some would hold GPUs and wait for the "
                          "others", (long long)w->together_n, w->each);
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
    intent_changed(p, w, f, pod_group_new(p, w, w->name));
}

/* It names a group that is not there. Made here is coscheduling's alone, for all of a workload: another maker's says more than how many. */
static void no_group(struct intent *p, struct intent_work *w, enum pod_group_maker maker, const char *name)
{
    bool ours = maker == POD_GROUP_COSCHEDULING && w->kind != INTENT_POD;
    const char *of = job_kinds[JOB_KIND_VOLCANO_GROUP + maker].group;
    struct advise_finding *f =
        advise_find(p->x, w->about,
                    ours ? arena_printf(p->x->a, "PodGroup %s with minMember: %lld", name, (long long)w->pods_n)
                         : arena_printf(p->x->a, "make PodGroup %s (%s), or name none", name, of),
                    "its pods name PodGroup %s, which is not there: they wait for it", name);
    if (ours)
        intent_changed(p, w, f, pod_group_new(p, w, name));
}

/* It names a group: is it there, and does it wait for as many as there are? */
static void look_at_group(struct intent *p, struct intent_work *w, enum pod_group_maker maker, const char *name)
{
    struct json *own = intent_document(p, "PodGroup", w->ns, name);
    const struct json *group = own ? own : advise_pod_group(p->x, maker, w->ns, name);
    int64_t least_n = least_of(group);
    if (!group) {
        no_group(p, w, maker, name);
    } else if (least_n > w->pods_n && own) {
        struct advise_finding *f = advise_find(p->x, w->about, arena_printf(p->x->a, "a minimum of %lld", (long long)w->pods_n),
                                               "PodGroup %s waits for %lld pods, and there are %lld: it never starts", name,
                                               (long long)least_n, (long long)w->pods_n);
        if (least_set(p, own, w->pods_n)) {
            intent_changed(p, w, f, NULL);
            f->changes = own;
        }
    } else if (least_n > w->pods_n) {
        (void)advise_find(p->x, w->about, INTENT_NOTHING, "PodGroup %s starts %lld pods together, of which %lld %s in the file", name,
                          (long long)least_n, (long long)w->pods_n, w->pods_n == 1 ? "is" : "are");
    } else {
        (void)advise_find(p->x, w->about, INTENT_NOTHING, "PodGroup %s starts %lld of its %lld pods together", name, (long long)least_n,
                          (long long)w->pods_n);
    }
}

/* Groups that are no objects of whoever writes the file. */
static bool is_no_object(const struct intent_work *w, enum pod_group_maker maker)
{
    const struct json *pod = w->pods->pod;
    bool of_task_groups = maker == POD_GROUP_VOLCANO && !*object_annotation(pod, DECODE_VOLCANO_GROUP_ANNOTATION);
    return maker == POD_GROUP_KUEUE || of_task_groups;
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
    enum pod_group_maker maker = POD_GROUP_MAKERS_N;
    const char *name = w->pods ? pod_group_first(p->x->a, w->pods->pod, &maker) : "";
    if (w->kind == INTENT_VCJOB)
        vcjob_gang(p, w);
    else if (*name && is_no_object(w, maker))
        (void)advise_find(p->x, w->about, INTENT_NOTHING, "starts together with all that is of %s",
                          maker == POD_GROUP_KUEUE ? arena_printf(p->x->a, "pod group %s", name) : "the task groups of its application");
    else if (*name)
        look_at_group(p, w, maker, name);
    else if (w->pods && pod_is_in_group(p->x->a, w->pods->pod))
        (void)advise_find(p->x, w->about, INTENT_NOTHING, "its workloadRef names what starts with it");
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
