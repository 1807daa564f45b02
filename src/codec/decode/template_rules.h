/* template_rules.h - what the API server will make of a pod template when pods are made from it
 *
 * A template has no overhead yet, and none of the amounts that LimitRanges of its namespace put where nothing is written: the pods ask
 * for more than the template says. And what a LimitRange refuses, or a request above its limit, is refused only then, pod by pod.
 * SOURCE core/v1 LimitRange (container: default, defaultRequest, min, max; pod: min, max), node.k8s.io/v1 RuntimeClass overhead.podFixed;
 *        a request that is not written is the container's own limit, else defaultRequest, else the default limit.
 */
#ifndef CODEC_TEMPLATE_RULES_H
#define CODEC_TEMPLATE_RULES_H
#include "base/arena.h"
#include "codec/decode/decode.h"
#include "wire/json.h"

struct template_rules {
    const struct json *limit_ranges;  /* array of LimitRange objects; NULL = none */
    const struct json *runtime_class; /* the RuntimeClass that the template names; NULL = none */
};
/* The template as pods will have it: itself, or a copy in the arena. */
const struct json *template_rules_apply(struct arena *a, const struct json *pod_template, const struct template_rules *rules);
/* A sentence that says why no pod can be made of the (applied) template, or NULL. `path`: of the template, "spec.podSets[0].template". */
const char *template_rules_broken(struct arena *a, const struct json *pod_template, const char *path, const struct template_rules *rules);
/* The same of a whole pod, whose shape is known. */
const char *template_rules_pod_broken(const struct decoder *d, const struct shape *shape, const char *path,
                                      const struct template_rules *rules);

#endif
