/* What a RuntimeClass brings to the pods that name it. SOURCE kube-apiserver's RuntimeClass plugin, its order and its words. */
#include "codec/admission/admission_part.h"

static void take_overhead(struct admission *x, struct json *spec, const struct json *fixed)
{
    const struct json *own = json_get(spec, "overhead");
    if (json_first(own) && !json_first(fixed))
        admission_refuse(x, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
    else if (json_first(own) && !json_equal(own, fixed))
        admission_refuse(x, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
    else if (json_first(fixed))
        json_set(x->arena, spec, "overhead", json_clone(x->arena, fixed));
}

static void take_scheduling(struct admission *x, struct json *spec, const struct json *scheduling)
{
    JSON_EACH (want, json_get(scheduling, "nodeSelector")) {
        struct json *selector = json_ensure_object(x->arena, spec, "nodeSelector");
        const char *had = json_get_text(selector, want->key, NULL);
        if (had && !text_equal(had, json_text(want, "")))
            admission_refuse(x, AT(x, "conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", want->key,
                                   json_text(want, ""), want->key, had));
        json_set(x->arena, selector, want->key, json_clone(x->arena, want));
    }
    JSON_EACH (want, json_get(scheduling, "tolerations")) {
        struct json *list = json_ensure_array(x->arena, spec, "tolerations");
        bool known = false;
        JSON_EACH (had, list)
            known = known || json_equal(had, want);
        if (!known)
            json_append(list, json_clone(x->arena, want));
    }
}

void admission_runtime_class(struct admission *x, struct json *spec)
{
    const char *name = json_get_text(spec, "runtimeClassName", "");
    if (!x->read)
        return; /* nobody to ask */
    const struct json *class = *name ? x->read(x->ctx, "node.k8s.io", "runtimeclasses", "", name) : NULL;
    if (*name && !class) {
        admission_refuse(x, AT(x, "pod rejected: RuntimeClass \"%s\" not found", name));
        return;
    }
    take_overhead(x, spec, json_path(class, "overhead", "podFixed", NULL));
    take_scheduling(x, spec, json_get(class, "scheduling"));
}
