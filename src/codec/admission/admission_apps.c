/* Deployment, ReplicaSet, StatefulSet, DaemonSet: selector and template must belong together. */
#include "codec/admission/admission_part.h"
#include "codec/kinds/queued_sets.h"

/* Does every label and expression of the selector hold for the labels? Expressions of unknown operators do not. */
static bool selector_holds(const struct json *selector, const struct json *labels)
{
    const struct json *all = json_get(selector, "matchLabels"), *expressions = json_get(selector, "matchExpressions");
    JSON_EACH (label, json_is(all, JSON_OBJECT) ? all : NULL)
        if (!json_get(labels, label->key) || !json_equal(json_get(labels, label->key), label))
            return false;
    JSON_EACH (v, admission_list_n(expressions) ? expressions : NULL) {
        const struct json *label = json_get(labels, json_get_text(v, "key", "")), *values = json_get(v, "values");
        struct bytes op = json_bytes(json_get(v, "operator"));
        bool listed = false;
        JSON_EACH (value, label && admission_list_n(values) ? values : NULL)
            listed |= json_equal(value, label);
        if (bytes_is(op, "In")       ? !listed
            : bytes_is(op, "NotIn")  ? listed
            : bytes_is(op, "Exists") ? !label
                                     : label != NULL)
            return false;
    }
    return true;
}

/* A set that names a queue is queued by its pods. A StatefulSet that another set has made is that one's. */
static void queue_pods(struct admission *x, const struct queued_set *s, struct json *spec)
{
    struct json *pod_template = json_get(spec, "template");
    const struct queued_set *by = queued_set_of_pod(pod_template);
    if (by && by != s)
        return;
    admission_set_default_queue(x);
    admission_set_template(x, s, pod_template, !s->in_groups);
    admission_set_rules(x);
    if (s->in_groups) {
        admission_set_shape(x, json_path(x->old, "spec", "template", NULL), pod_template, "spec.template");
        admission_set_replicas(x);
    }
    if (s->in_groups && admission_set_is_queued(x))
        admission_topology_annotations(x, json_path(pod_template, "metadata", "annotations", NULL), "spec.template.metadata.annotations",
                                       json_get_int64(spec, "replicas", 1));
}

void admission_apps(struct admission *x, const struct kind *k)
{
    struct json *spec = json_get(x->object, "spec");
    static const char *const kinds[] = {"deployments", "replicasets", "statefulsets", "daemonsets", NULL};
    size_t i = 0;
    while (kinds[i] && !text_equal(kinds[i], k->plural))
        i++;
    if (!kinds[i] || !json_is(spec, JSON_OBJECT))
        return;
    const struct queued_set *queued = queued_set_of("apps", k->plural);
    const struct json *selector = json_get(spec, "selector"),
                      *labels = json_path(spec, "template", "metadata", "labels", NULL);
    admission_not_negative(x, spec, "spec", "replicas");
    admission_not_negative(x, spec, "spec", "minReadySeconds");
    admission_not_negative(x, spec, "spec", "revisionHistoryLimit");
    bool empty = !json_is(json_get(selector, "matchLabels"), JSON_OBJECT) &&
                 admission_list_n(json_get(selector, "matchExpressions")) == 0;
    if (!selector)
        admission_error(x, FIELD_REQUIRED, "spec.selector", NULL, "%s", "");
    else if (empty)
        admission_error(x, FIELD_INVALID, "spec.selector", selector,
                        "empty selector is invalid: name a label of spec.template.metadata.labels");
    else if (!selector_holds(selector, labels))
        admission_error(x, FIELD_INVALID, "spec.template.metadata.labels", labels,
                        "`selector` does not match template `labels`");
    admission_label_selector(x, selector, "spec.selector");
    if (x->old)
        admission_immutable(x, "spec", "selector");
    if (i == 2)
        admission_immutable(x, "spec", "serviceName");
    admission_template(x, json_get(spec, "template"), "spec.template", ADMISSION_TEMPLATE_ALWAYS);
    if (!queued)
        admission_queue_unread(x, i == 1 ? "ReplicaSet" : "DaemonSet");
    else
        queue_pods(x, queued, spec); /* ORDER what its pods ask for is compared with its defaults */
}
