/* admission_share.c - shares of GPUs that a pod or a template asks for: what is wrong is refused, what does nothing is said */
#include "codec/admission/admission_part.h"
#include "codec/share/share.h"

static void say(void *ctx, const char *text)
{
    admission_warn(ctx, "%s", text);
}

static const struct json *value_of(const struct json *container, const char *resource)
{
    const struct json *limit = json_path(container, "resources", "limits", resource, NULL);
    return limit ? limit : json_path(container, "resources", "requests", resource, NULL);
}

/* Annotations of KETI's scheduler, by which nothing is done here. They are words that others use as well: only of its own pods. */
static void warn_of_keti(struct admission *x, const struct json *annotations, const struct json *spec, const char *metadata_path)
{
    static const char *const said[][2] = {
        {"priority", "write spec.priorityClassName"},
        {"nodeName", "write spec.nodeSelector, with the node's label kubernetes.io/hostname"},
        {"clusterName", "pods stay in this cluster"},
    };
    bool is_keti = text_equal(json_get_text(spec, "schedulerName", ""), "gpu-scheduler");
    for (size_t i = 0; is_keti && i < sizeof said / sizeof *said; i++)
        if (json_get(annotations, said[i][0]))
            admission_warn(x, "%s.annotations[%s]: has no effect: %s", metadata_path, said[i][0], said[i][1]);
}

#define BY_PRODUCT "nodes are chosen by spec.affinity.nodeAffinity, with their label nvidia.com/gpu.product"
#define BY_NODE "which GPU of a node it gets is found with the node"
#define BY_POLICY "write capstan.dev/placement on its ClusterQueue, or a policy for all (docs/placement.md)"

/* Annotations of HAMi's scheduler: what it does by them is done otherwise here, or not. */
static void warn_of_hami(struct admission *x, const struct json *annotations, const char *metadata_path)
{
    static const char *const said[][2] = {
        {"nvidia.com/use-gputype", BY_PRODUCT},
        {"nvidia.com/nouse-gputype", BY_PRODUCT},
        {"nvidia.com/use-gpuuuid", BY_NODE},
        {"nvidia.com/nouse-gpuuuid", BY_NODE},
        {"nvidia.com/numa-bind", BY_NODE},
        {"nvidia.com/vgpu-mode", "a MIG instance is asked for by its resource, such as nvidia.com/mig-1g.5gb"},
        {"hami.io/node-scheduler-policy", BY_POLICY},
        {"hami.io/gpu-scheduler-policy", BY_POLICY},
    };
    for (size_t i = 0; annotations && i < sizeof said / sizeof *said; i++)
        if (json_get(annotations, said[i][0]))
            admission_warn(x, "%s.annotations[%s]: has no effect: %s", metadata_path, said[i][0], said[i][1]);
}

void admission_share(struct admission *x, const struct json *metadata, const struct json *spec, const char *metadata_path,
                     const char *spec_path)
{
    const struct json *annotations = json_get(metadata, "annotations");
    struct share_input in;
    struct share share = {.form = SHARE_NONE};
    struct share_fault fault;
    warn_of_keti(x, annotations, spec, metadata_path);
    warn_of_hami(x, annotations, metadata_path);
    share_input_of(annotations, spec, &in);
    if (share_read(&in, &share, &fault) >= 0) {
        share_unused(&in, &share, x->arena, AT(x, "%s.annotations", metadata_path), say, x);
        return;
    }
    if (fault.note) {
        admission_error(x, FIELD_INVALID, AT(x, "%s.annotations[%s]", metadata_path, fault.note), json_get(annotations, fault.note), "%s",
                        fault.text);
        return;
    }
    const char *at;
    const struct json *container = share_container_of(x->arena, spec, fault.resource, &at);
    bool limits = json_path(container, "resources", "limits", fault.resource, NULL) != NULL;
    admission_error(x, FIELD_INVALID, AT(x, "%s.%s.resources.%s[%s]", spec_path, at, limits ? "limits" : "requests", fault.resource),
                    value_of(container, fault.resource), "%s", fault.text);
}
