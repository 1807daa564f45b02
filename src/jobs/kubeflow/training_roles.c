/* training_roles.c - a job's roles, and how they are named; see training.h */
#include "base/limits.h"
#include "codec/decode/decode.h"
#include "jobs/kubeflow/training.h"

#define OPERATOR "kubeflow.org/training-operator"
const struct training_kind training_kinds[] = {
    {&queued_kinds[QUEUED_PYTORCHJOB], OPERATOR, "pytorchjob-controller", "pytorchjob-port", 23456, "OnFailure"},
    {&queued_kinds[QUEUED_TFJOB], OPERATOR, "tfjob-controller", "tfjob-port", 2222, "Never"},
    {&queued_kinds[QUEUED_XGBOOSTJOB], OPERATOR, "xgboostjob-controller", "xgboostjob-port", 9999, "Never"},
    {&queued_kinds[QUEUED_JAXJOB], OPERATOR, "jaxjob-controller", "jaxjob-port", 6666, "Never"},
    {&queued_kinds[QUEUED_PADDLEJOB], OPERATOR, "paddlejob-controller", "master", 36543, "OnFailure"},
    {&queued_kinds[QUEUED_MPIJOB], "kubeflow.org/mpi-operator", "mpi-operator", NULL, 0, "Never"},
};
const size_t training_kinds_n = sizeof training_kinds / sizeof *training_kinds;

static const char *lower(struct arena *a, const char *name)
{
    char *text = arena_text(a, name);
    for (char *c = text; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    return text;
}

/* LIMIT  a job of more pods than a gang may have is made as far as that. */
void training_read(struct arena *a, const struct training_kind *k, const struct json *job, struct training *ret_t)
{
    struct training t = {.kind = k, .job = job, .name = object_meta(job, "name"), .ns = object_meta(job, "namespace")};
    const struct json *roles = json_path(job, "spec", k->of->replicas, NULL);
    for (const char *const *name = k->of->roles; *name && t.roles_n < TRAINING_ROLES_MOST; name++) {
        const struct json *spec = json_get(roles, *name);
        if (!json_is(spec, JSON_OBJECT))
            continue;
        int64_t replicas = json_get_int64(spec, "replicas", 1);
        replicas = replicas < 0 ? 0 : replicas > LIMIT_GANG_MEMBERS ? LIMIT_GANG_MEMBERS : replicas;
        t.roles[t.roles_n++] = (struct training_role){
            .name = *name, .lower = lower(a, *name), .replicas = replicas, .spec = spec,
            .pods = arena_zero(a, (size_t)replicas + 1, sizeof *t.roles[0].pods)};
        t.pods_n += replicas;
    }
    const struct json *first = t.roles_n ? json_path(t.roles[0].spec, "template", "spec", "schedulerName", NULL) : NULL;
    bool by_kai = strcmp(json_text(first, ""), DECODE_KAI_SCHEDULER) == 0 && k->of != &queued_kinds[QUEUED_PADDLEJOB];
    t.gang = !*object_label(job, "kueue.x-k8s.io/queue-name") && !by_kai; /* those kai/pod_grouper.c groups, or KAI's own */
    *ret_t = t;
}

const struct training_role *training_role_named(const struct training *t, const char *name)
{
    for (uint32_t i = 0; i < t->roles_n; i++)
        if (strcmp(t->roles[i].name, name) == 0)
            return &t->roles[i];
    return NULL;
}

bool training_is_mpi(const struct training *t)
{
    return t->kind->of == &queued_kinds[QUEUED_MPIJOB];
}

bool training_waits_for_workers(const struct training *t)
{
    return strcmp(json_get_text(json_get(t->job, "spec"), "launcherCreationPolicy", ""), "WaitForWorkersReady") == 0;
}

const char *training_api_version(struct arena *a, const struct training *t)
{
    return arena_printf(a, "%s/%s", t->kind->of->group, t->kind->of->version);
}

const char *training_pod_name(struct arena *a, const struct training *t, const struct training_role *role, int64_t i)
{
    return arena_printf(a, "%s-%s-%lld", t->name, role->lower, (long long)i);
}

const char *training_selector(struct arena *a, const struct training *t, const struct training_role *role)
{
    return arena_printf(a, TRAINING_JOB_LABEL "=%s," TRAINING_OPERATOR_LABEL "=%s," TRAINING_ROLE_LABEL "=%s", t->name,
                        t->kind->operator_name, role->lower);
}

const char *training_restarts(const struct training *t, const struct training_role *role)
{
    const char *said = json_get_text(role->spec, "restartPolicy", "");
    return strcmp(said, "ExitCode") == 0 ? "Never" : *said ? said : t->kind->restarts;
}
