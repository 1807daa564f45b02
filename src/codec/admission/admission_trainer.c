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

/* ---- what its runtime allows ---- */

static const struct json *runtime_of(struct admission *x, const char *kind, const char *name)
{
    bool cluster = text_equal(kind, "ClusterTrainingRuntime");
    const char *ns = json_text(json_path(x->object, "metadata", "namespace", NULL), "default");
    const char *plural = cluster ? "clustertrainingruntimes" : "trainingruntimes";
    return x->read ? x->read(x->ctx, "trainer.kubeflow.org", plural, cluster ? "" : ns, name) : NULL;
}

static const struct json *named(const struct json *list, const char *name)
{
    JSON_EACH (one, list)
        if (text_equal(json_get_text(one, "name", ""), name))
            return one;
    return NULL;
}

static const struct json *job_named(const struct json *runtime, const char *name)
{
    return named(json_path(runtime, "spec", "template", "spec", "replicatedJobs", NULL), name);
}

/* Variables by which its policy tells pods of each other. */
static void check_env(struct admission *x, const struct json *runtime, const struct json *env)
{
    static const struct {
        const char *policy, *names[6];
    } reserved[] = {{"torch", {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"}},
                    {"mpi", {"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_args", "OMPI_MCA_orte_keep_fqdn_hostnames",
                             "OMPI_MCA_orte_set_default_slots"}},
                    {"xgboost", {"DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER"}}};
    const struct json *ml = json_path(runtime, "spec", "mlPolicy", NULL);
    uint32_t i = 0;
    JSON_EACH (one, env) {
        for (size_t p = 0; p < sizeof reserved / sizeof *reserved; p++)
            for (size_t n = 0; json_get(ml, reserved[p].policy) && n < 6 && reserved[p].names[n]; n++)
                if (text_equal(json_get_text(one, "name", ""), reserved[p].names[n]))
                    admission_error(x, FIELD_INVALID, AT(x, "spec.trainer.env[%u].name", i), json_get(one, "name"),
                                    "must not have reserved envs: %s is what the %s runtime writes itself; leave it out",
                                    reserved[p].names[n], reserved[p].policy);
        i++;
    }
}

static void check_initializer(struct admission *x, const struct json *runtime, const char *which)
{
    const char *job = AT(x, "%s-initializer", which);
    if (json_path(x->object, "spec", "initializer", which, NULL) && !job_named(runtime, job))
        admission_error(x, FIELD_INVALID, AT(x, "spec.initializer.%s", which), NULL,
                        "must have %s job when trainJob is configured with input %sConfig: the runtime has no replicatedJob \"%s\"; name one "
                        "that has, or leave the initializer out", job, which, job);
}

/* Containers of a patch: of the runtime's job, and without variables where these are said elsewhere. */
static void check_containers(struct admission *x, const struct json *job, const struct json *spec, const char *list, const char *path)
{
    static const char *const said[][2] = {{"node", "spec.trainer.env"}, {"dataset-initializer", "spec.initializer.dataset.env"},
                                          {"model-initializer", "spec.initializer.model.env"}};
    const struct json *own = json_path(job, "template", "spec", "template", "spec", NULL);
    uint32_t i = 0;
    JSON_EACH (one, json_get(spec, list)) {
        const char *name = json_get_text(one, "name", ""), *at = AT(x, "%s.%s[%u]", path, list, i++);
        if (!named(json_get(own, "containers"), name) && !named(json_get(own, "initContainers"), name))
            admission_error(x, FIELD_INVALID, AT(x, "%s.name", at), json_get(one, "name"),
                            "must not have container that doesn't exist in the runtime job %s", json_get_text(job, "name", ""));
        for (size_t s = 0; s < sizeof said / sizeof *said; s++)
            if (text_equal(name, said[s][0]) && admission_list_n(json_get(one, "env")))
                admission_error(x, FIELD_INVALID, AT(x, "%s.env", at), NULL, "must not have envs for the %s container: write %s", name,
                                said[s][1]);
    }
}

static void check_patches(struct admission *x, const struct json *runtime, const struct json *patches)
{
    uint32_t i = 0;
    JSON_EACH (patch, patches) {
        const char *path = AT(x, "spec.runtimePatches[%u]", i++), *manager = json_get_text(patch, "manager", ""),
                   *slash = strchr(manager, '/');
        uint32_t j = 0;
        if (manager[0] && (!slash || slash == manager || !slash[1]))
            admission_error(x, FIELD_INVALID, AT(x, "%s.manager", path), json_get(patch, "manager"),
                            "must be a domain-prefixed path (such as \"acme.io/foo\")");
        JSON_EACH (job, json_path(patch, "trainingRuntimeSpec", "template", "spec", "replicatedJobs", NULL)) {
            const char *at = AT(x, "%s.trainingRuntimeSpec.template.spec.replicatedJobs[%u]", path, j++);
            const struct json *own = job_named(runtime, json_get_text(job, "name", "")),
                              *spec = json_path(job, "template", "spec", "template", "spec", NULL);
            if (!own) {
                admission_error(x, FIELD_INVALID, AT(x, "%s.name", at), json_get(job, "name"),
                                "must not have replicated job that doesn't exist in the runtime job template");
                continue;
            }
            check_containers(x, own, spec, "containers", AT(x, "%s.template.spec.template.spec", at));
            check_containers(x, own, spec, "initContainers", AT(x, "%s.template.spec.template.spec", at));
        }
    }
}

static bool same_patches(const struct admission *x)
{
    const struct json *was = json_path(x->old, "spec", "runtimePatches", NULL), *is = json_path(x->object, "spec", "runtimePatches", NULL);
    return was && is ? json_equal(was, is) : admission_list_n(was) == admission_list_n(is);
}

static void check_change(struct admission *x)
{
    static const char *const fixed[] = {"runtimeRef", "initializer", "trainer", "activeDeadlineSeconds"};
    const struct queued_kind *k = &queued_kinds[QUEUED_TRAINJOB];
    for (size_t i = 0; x->old && i < sizeof fixed / sizeof *fixed; i++)
        admission_immutable(x, "spec", fixed[i]);
    if (x->old && !same_patches(x) && !queued_kind_is_suspended(k, x->old) && !queued_kind_is_suspended(k, x->object))
        admission_error(x, FIELD_FORBIDDEN, "spec.runtimePatches", NULL,
                        "RuntimePatches can only be modified when the TrainJob is suspended before or after the update: write spec.suspend: true");
}

static void check_name(struct admission *x)
{
    const struct json *name = json_path(x->object, "metadata", "name", NULL);
    if (!x->old && name && !name_is_dns1035_label(json_bytes(name)))
        admission_error(x, FIELD_INVALID, "metadata.name", name, NAME_DNS1035_RULE);
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
    const struct json *runtime = runtime_of(x, kind, name), *trainer = json_get(spec, "trainer"), *nodes = json_get(trainer, "numNodes"),
                      *processes = json_get(trainer, "numProcPerNode");
    if (!text_equal(kind, "ClusterTrainingRuntime") && !text_equal(kind, "TrainingRuntime"))
        admission_error(x, FIELD_NOT_SUPPORTED, "spec.runtimeRef.kind", json_get(ref, "kind"),
                        "supported values: \"ClusterTrainingRuntime\", \"TrainingRuntime\"");
    else if (!x->old && x->read && !runtime) {
        const char *known = known_runtimes(x);
        admission_error(x, FIELD_NOT_FOUND, "spec.runtimeRef", json_get(ref, "name"),
                        "no %s has this name%s%s: create it first, or name another one", kind,
                        known ? "; there are " : "", known ? known : "");
    }
    check_name(x);
    if (nodes && json_int64(nodes, 0) < 1)
        admission_error(x, FIELD_INVALID, "spec.trainer.numNodes", nodes, "must be greater than or equal to 1");
    if (processes && json_int64(processes, 0) < 1)
        admission_error(x, FIELD_INVALID, "spec.trainer.numProcPerNode", processes, "must be greater than or equal to 1");
    if (runtime && !x->old) {
        check_env(x, runtime, json_get(trainer, "env"));
        check_initializer(x, runtime, "dataset");
        check_initializer(x, runtime, "model");
    }
    if (runtime && !same_patches(x))
        check_patches(x, runtime, json_get(spec, "runtimePatches"));
    admission_queue_name(x, spec);
    admission_managed_by(x, &queued_kinds[QUEUED_TRAINJOB], "trainer.kubeflow.org/trainjob-controller");
    admission_queue_rules(x, &queued_kinds[QUEUED_TRAINJOB]);
    check_change(x);
}

static void admit_runtime(struct admission *x)
{
    static const char *const policies[] = {"torch", "mpi", "jax", "xgboost", "flux"};
    const struct json *ml = json_path(x->object, "spec", "mlPolicy", NULL);
    const char *found = "";
    int n = 0;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (json_get(ml, policies[i])) {
            found = AT(x, "%s%s%s", found, n ? ", " : "", policies[i]);
            n++;
        }
    if (n > 1)
        admission_error(x, FIELD_INVALID, "spec.mlPolicy", NULL, "Only one of the policy can be configured: there are %s", found);
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
    else if (text_equal(k->plural, "trainingruntimes") || text_equal(k->plural, "clustertrainingruntimes"))
        admit_runtime(x);
    else if (text_equal(k->plural, "podgroups"))
        admit_pod_group(x);
}
