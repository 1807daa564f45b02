/* Kubeflow TrainJob and the coscheduling PodGroup. */
#include "codec/admission/admission_part.h"
#include "codec/decode/decode.h"

/* Names of runtimes that Kubeflow ships: the ones that exist here are offered to who forgot to name one. */
static const char *known_runtimes(struct admission *x)
{
    static const char *const names[] = {"torch-distributed", "deepspeed-distributed", "mpi-distributed",
                                        "jax-distributed",   "mlx-distributed",       "plainml-distributed"};
    _cleanup_buf_ struct buf found = {0};
    for (size_t i = 0; x->read && i < sizeof names / sizeof names[0]; i++)
        if (x->read(x->ctx, "trainer.kubeflow.org", "clustertrainingruntimes", "", names[i]))
            buf_printf(&found, "%s%s", found.n ? ", " : "", names[i]);
    return found.n ? arena_text(x->arena, found.data) : NULL;
}

static void refuse_without_runtime(struct admission *x)
{
    const char *known = known_runtimes(x),
               *first = known ? arena_text_n(x->arena, known, strcspn(known, ",")) : "torch-distributed";
    admission_error(x, FIELD_REQUIRED, "spec.runtimeRef", NULL,
                    "a TrainJob says how it is run by naming a runtime%s%s%s; add:\n"
                    "spec:\n"
                    "  runtimeRef:\n"
                    "    apiGroup: trainer.kubeflow.org\n"
                    "    kind: ClusterTrainingRuntime\n"
                    "    name: %s\n"
                    "  trainer:\n"
                    "    numNodes: 2\n"
                    "    resourcesPerNode:\n"
                    "      limits:\n"
                    "        nvidia.com/gpu: 1\n",
                    known     ? " (in this cluster: "
                    : x->read ? " (create a ClusterTrainingRuntime first: none of the usual ones is here)"
                              : "",
                    known ? known : "", known ? ")" : "", first);
}

/* The lines that refuse_without_runtime shows, put in. */
struct json *admission_trainer_fix(struct admission *x, const struct kind *k)
{
    if (!text_equal(k->plural, "trainjobs") || json_path(x->object, "spec", "runtimeRef", "name", NULL))
        return NULL;
    struct json *fixed = json_clone(x->arena, x->object), *spec = json_ensure_object(x->arena, fixed, "spec");
    struct json *ref = json_ensure_object(x->arena, spec, "runtimeRef");
    json_set_text(x->arena, ref, "apiGroup", "trainer.kubeflow.org");
    json_set_text(x->arena, ref, "kind", "ClusterTrainingRuntime");
    json_set_text(x->arena, ref, "name", "torch-distributed");
    if (json_get(spec, "trainer"))
        return fixed;
    struct json *trainer = json_ensure_object(x->arena, spec, "trainer");
    json_set_int64(x->arena, trainer, "numNodes", 2);
    struct json *limits =
        json_ensure_object(x->arena, json_ensure_object(x->arena, trainer, "resourcesPerNode"), "limits");
    json_set_int64(x->arena, limits, "nvidia.com/gpu", 1);
    return fixed;
}

static void admit_train_job(struct admission *x)
{
    struct json *spec = json_get(x->object, "spec"), *ref = json_get(spec, "runtimeRef");
    const char *name = json_get_text(ref, "name", "");
    if (!name[0]) {
        refuse_without_runtime(x);
        return;
    }
    admission_default_text(x, ref, "apiGroup", "trainer.kubeflow.org");
    admission_default_text(x, ref, "kind", "ClusterTrainingRuntime");
    const char *kind = json_get_text(ref, "kind", "");
    bool cluster = text_equal(kind, "ClusterTrainingRuntime");
    const char *ns = json_text(json_path(x->object, "metadata", "namespace", NULL), "default");
    if (!cluster && !text_equal(kind, "TrainingRuntime"))
        admission_error(x, FIELD_NOT_SUPPORTED, "spec.runtimeRef.kind", json_get(ref, "kind"),
                        "supported values: \"ClusterTrainingRuntime\", \"TrainingRuntime\"");
    else if (!x->old && x->read &&
             !x->read(x->ctx, "trainer.kubeflow.org", cluster ? "clustertrainingruntimes" : "trainingruntimes",
                      cluster ? "" : ns, name)) {
        const char *known = known_runtimes(x);
        admission_error(x, FIELD_NOT_FOUND, "spec.runtimeRef", json_get(ref, "name"),
                        "no %s has this name%s%s: create it first, or name another one", kind,
                        known ? "; there are " : "", known ? known : "");
    }
    const struct json *nodes = json_path(spec, "trainer", "numNodes", NULL);
    if (nodes && json_int64(nodes, 0) < 1)
        admission_error(x, FIELD_INVALID, "spec.trainer.numNodes", nodes, "must be greater than or equal to 1");
    admission_queue_name(x, spec);
    admission_queue_rules(x, &queued_kinds[QUEUED_TRAINJOB]);
    if (x->old && !json_get_bool(json_get(x->old, "spec"), "suspend", false)) {
        admission_immutable(x, "spec", "runtimeRef");
        admission_immutable(x, "spec", "trainer");
    }
}

static void admit_pod_group(struct admission *x)
{
    const struct json *spec = json_get(x->object, "spec"), *fewest = json_get(spec, "minMember"),
                      *amounts = json_get(spec, "minResources");
    struct quantity q;
    if (!fewest)
        admission_error(x, FIELD_REQUIRED, "spec.minMember", NULL, "how many pods must start together");
    else if (json_int64(fewest, 0) < 1)
        admission_error(x, FIELD_INVALID, "spec.minMember", fewest, "should be greater than or equal to 1");
    JSON_EACH (amount, json_is(amounts, JSON_OBJECT) ? amounts : NULL) {
        const char *path = AT(x, "spec.minResources[%s]", amount->key);
        (void)admission_quantity(x, amount, path, &q); /* only its form */
        if (decode_is_no_floor((struct bytes){amount->key, amount->key_n}) && !json_equal(spec, json_get(x->old, "spec")))
            admission_warn(x, "%s: has no effect: places for minMember pods are found one by one", path);
    }
    admission_not_negative(x, spec, "spec", "scheduleTimeoutSeconds");
}

void admission_trainer(struct admission *x, const struct kind *k)
{
    if (text_equal(k->plural, "trainjobs"))
        admit_train_job(x);
    else if (text_equal(k->plural, "podgroups"))
        admit_pod_group(x);
}
