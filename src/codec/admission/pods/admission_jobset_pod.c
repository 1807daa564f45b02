/* admission_jobset_pod.c - what the webhook of JobSets writes into their pods, where that operator is not: the embedded server has a
 * controller in its place (jobs/kubeflow/jobset.c)
 *
 * Jobs with alpha.jobset.sigs.k8s.io/exclusive-topology have a domain each: all pods stand by those of their Job, and by none of another
 * Job of the same priority. There, only the first pod is so bound, and the others get its domain as a node selector, when it has a node.
 *
 * SOURCE jobset v1alpha2, webhook of pods.
 */
#include "codec/admission/admission_part.h"

#define JOBSET(word) "jobset.sigs.k8s.io/" word

static void expect(struct admission *x, struct json *term, const char *key, const char *operator, const char *value)
{
    struct json *selector = json_ensure_object(x->arena, term, "labelSelector"), *one = json_new(x->arena, JSON_OBJECT);
    json_set_text(x->arena, one, "key", key);
    json_set_text(x->arena, one, "operator", operator);
    if (value)
        json_append(json_ensure_array(x->arena, one, "values"), json_new_text(x->arena, value));
    json_append(json_ensure_array(x->arena, selector, "matchExpressions"), one);
}

static struct json *add_term(struct admission *x, struct json *affinity, const char *which, const char *domain, bool everywhere)
{
    struct json *term = json_new(x->arena, JSON_OBJECT);
    json_append(json_ensure_array(x->arena, json_ensure_object(x->arena, affinity, which), "requiredDuringSchedulingIgnoredDuringExecution"), term);
    json_set_text(x->arena, term, "topologyKey", domain);
    if (everywhere)
        (void)json_ensure_object(x->arena, term, "namespaceSelector");
    return term;
}

void admission_keep_apart(struct admission *x, struct json *spec, const char *domain, const char *label, const char *value,
                          const char *priority)
{
    struct json *affinity = json_ensure_object(x->arena, spec, "affinity");
    expect(x, add_term(x, affinity, "podAffinity", domain, priority != NULL), label, "In", value);
    struct json *apart = add_term(x, affinity, "podAntiAffinity", domain, priority != NULL);
    expect(x, apart, label, "Exists", NULL);
    expect(x, apart, label, "NotIn", value);
    if (priority)
        expect(x, apart, JOBSET("priority"), "In", priority);
}

void admission_jobset_pod(struct admission *x, struct json *spec)
{
    const char *domain = admission_annotation(x->object, "alpha.jobset.sigs.k8s.io/exclusive-topology"),
               *key = admission_label(x->object, JOBSET("job-key"));
    if (!admission_annotation(x->object, JOBSET("jobset-name"))[0] ||
        json_path(x->object, "metadata", "annotations", "alpha.jobset.sigs.k8s.io/node-selector", NULL))
        return;
    const char *priority = AT(x, "%lld", (long long)json_get_int64(spec, "priority", 0));
    struct json *meta = json_ensure_object(x->arena, x->object, "metadata");
    json_set_text(x->arena, json_ensure_object(x->arena, meta, "labels"), JOBSET("priority"), priority);
    if (!domain[0] || !key[0])
        return;
    admission_keep_apart(x, spec, domain, JOBSET("job-key"), key, priority);
}
