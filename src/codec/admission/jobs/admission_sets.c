/* admission_sets.c - what is written into, and demanded of, sets that are queued by their pods (codec/kinds/queued_sets.h); see
 * admission_part.h
 *
 * SOURCE Kueue's webhooks of Deployments, StatefulSets and LeaderWorkerSets.
 */
#include "codec/admission/admission_part.h"
#include "codec/kinds/queued_sets.h"

#define CLASS_LABEL "kueue.x-k8s.io/priority-class"
#define QUEUE_PATH "metadata.labels[" QUEUE_NAME_LABEL "]"
#define CLASS_PATH "metadata.labels[" CLASS_LABEL "]"

static struct json *marks_of(struct admission *x, struct json *pod_template, const char *which)
{
    return json_ensure_object(x->arena, json_ensure_object(x->arena, pod_template, "metadata"), which);
}

bool admission_set_is_queued(const struct admission *x)
{
    return admission_label(x->object, QUEUE_NAME_LABEL)[0] != '\0';
}

/* A namespace's LocalQueue "default" takes those that name none. */
void admission_set_default_queue(struct admission *x)
{
    const char *ns = json_text(json_path(x->object, "metadata", "namespace", NULL), "default");
    bool owned = admission_list_n(json_path(x->object, "metadata", "ownerReferences", NULL)) > 0;
    if (x->old || owned || admission_set_is_queued(x) || !x->read || !x->read(x->ctx, "kueue.x-k8s.io", "localqueues", ns, "default"))
        return;
    json_set_text(x->arena, json_ensure_object(x->arena, json_ensure_object(x->arena, x->object, "metadata"), "labels"), QUEUE_NAME_LABEL,
                  "default");
}

void admission_set_template(struct admission *x, const struct queued_set *s, struct json *pod_template, bool names_queue)
{
    static const char *const labels[] = {QUEUE_NAME_LABEL, CLASS_LABEL};
    if (s->in_groups && !admission_set_is_queued(x) && admission_label(pod_template, QUEUE_NAME_LABEL)[0] && !x->old)
        admission_warn(x, "metadata.labels[" QUEUE_NAME_LABEL "]: without it pods are queued one by one, by the label in their template: "
                          "write it here, too, and they wait for each other");
    if (!admission_set_is_queued(x) || !json_is(pod_template, JSON_OBJECT))
        return;
    json_set_text(x->arena, marks_of(x, pod_template, "annotations"), QUEUED_SET_ANNOTATION, s->framework);
    for (size_t i = 0; names_queue && i < sizeof labels / sizeof *labels; i++)
        if (admission_label(x->object, labels[i])[0])
            json_set_text(x->arena, marks_of(x, pod_template, "labels"), labels[i], admission_label(x->object, labels[i]));
}

void admission_queue_unread(struct admission *x, const char *kind)
{
    const char *text = x->status_only ? NULL : unheld_text(x->arena, kind, x->object);
    if (text)
        admission_warn(x, QUEUE_PATH ": %s", text);
}

static void check_class(struct admission *x, bool waits)
{
    const char *was = admission_label(x->old, CLASS_LABEL), *is = admission_label(x->object, CLASS_LABEL);
    if (!waits && !was[0] && is[0])
        admission_error_text(x, FIELD_INVALID, CLASS_PATH, bytes_of(is), "WorkloadPriorityClass cannot be added to a non-suspended workload");
    if (was[0] && !is[0])
        admission_error_text(x, FIELD_INVALID, CLASS_PATH, bytes_of(is), "WorkloadPriorityClass cannot be removed from a workload");
}

void admission_set_rules(struct admission *x)
{
    const char *queue = admission_label(x->object, QUEUE_NAME_LABEL);
    admission_as_webhook(x, true);
    if (queue[0] && !name_is_dns_subdomain(bytes_of(queue)))
        admission_error_text(x, FIELD_INVALID, QUEUE_PATH, bytes_of(queue), NAME_DNS_SUBDOMAIN_RULE);
    if (x->old && !x->status_only) {
        const char *was = admission_label(x->old, QUEUE_NAME_LABEL);
        bool waits = json_int64(json_path(x->old, "status", "readyReplicas", NULL), 0) == 0;
        if ((!waits || !queue[0]) && !text_equal(was, queue))
            admission_error_text(x, FIELD_INVALID, QUEUE_PATH, bytes_of(queue),
                                 was[0] ? IMMUTABLE ": scale to 0 to move it to another queue, or make a set of another name"
                                        : IMMUTABLE " while it has pods that are ready: scale to 0 first");
        check_class(x, waits);
    }
    admission_as_webhook(x, false);
}

/* ---- what its pods ask for ---- */

#define FIXED IMMUTABLE " of a set that is queued: make a set of another name"

static void check_same(struct admission *x, const struct json *was, const struct json *is, const char *path)
{
    if (json_is(was, JSON_NULL))
        was = NULL;
    if (json_is(is, JSON_NULL))
        is = NULL;
    bool none = (!was || (was->type >= JSON_ARRAY && !was->n)) && (!is || (is->type >= JSON_ARRAY && !is->n));
    if (!none && !(was && is && json_equal(was, is)))
        admission_error(x, FIELD_INVALID, path, is, FIXED);
}

static void check_containers(struct admission *x, const struct json *was, const struct json *is, const char *path)
{
    const struct json *old = json_item(was, 0);
    uint32_t at = 0;
    if (admission_list_n(was) != admission_list_n(is)) {
        admission_error(x, FIELD_INVALID, path, NULL, FIXED);
        return;
    }
    JSON_EACH (container, admission_list_n(is) ? is : NULL) {
        check_same(x, json_path(old, "resources", "requests", NULL), json_path(container, "resources", "requests", NULL),
                   AT(x, "%s[%u].resources.requests", path, at));
        check_same(x, json_get(old, "ports"), json_get(container, "ports"), AT(x, "%s[%u].ports", path, at++));
        old = old ? old->next : NULL;
    }
}

void admission_set_shape(struct admission *x, const struct json *was, const struct json *is, const char *path)
{
    static const char *const fixed[] = {"nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority",
                                        "topologySpreadConstraints", "overhead", "resourceClaims"};
    if (!x->old || x->status_only || !admission_set_is_queued(x))
        return;
    admission_as_webhook(x, true);
    if (!was != !is)
        admission_error(x, FIELD_INVALID, path, is, FIXED);
    const struct json *old = json_get(was, "spec"), *new = json_get(is, "spec");
    for (size_t i = 0; old && new && i < sizeof fixed / sizeof *fixed; i++)
        check_same(x, json_get(old, fixed[i]), json_get(new, fixed[i]), AT(x, "%s.spec.%s", path, fixed[i]));
    if (old && new) {
        check_containers(x, json_get(old, "initContainers"), json_get(new, "initContainers"), AT(x, "%s.spec.initContainers", path));
        check_containers(x, json_get(old, "containers"), json_get(new, "containers"), AT(x, "%s.spec.containers", path));
    }
    admission_as_webhook(x, false);
}

void admission_set_replicas(struct admission *x)
{
    const struct json *value = json_path(x->object, "spec", "replicas", NULL);
    int64_t was = json_int64(json_path(x->old, "spec", "replicas", NULL), 1), is = json_int64(value, 1);
    if (!x->old || x->status_only || !admission_set_is_queued(x) || was == is)
        return;
    admission_as_webhook(x, true);
    if (was != 0 && is != 0)
        admission_error(x, FIELD_INVALID, "spec.replicas", value,
                        IMMUTABLE " of a set that is queued, but for 0: its pods have quota together. Scale to 0, then to %lld",
                        (long long)is);
    else if (was == 0 && json_int64(json_path(x->object, "status", "replicas", NULL), 0) > 0)
        admission_error(x, FIELD_FORBIDDEN, "spec.replicas", NULL, "scaling down is still in progress: try again when status.replicas is 0");
    admission_as_webhook(x, false);
}
