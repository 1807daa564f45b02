/* admission_kubeflow.c - the kinds of Kubeflow's training and MPI operators: what their webhooks refuse; see admission_part.h
 *
 * SOURCE training-operator 1.9 and mpi-operator 0.8, for what is refused; the roles stand in codec/kinds/queued_kinds.c.
 */
#include <ctype.h>
#include "codec/admission/admission_part.h"

/* A role that is spelled in other cases is meant all the same. */
static void name_roles(struct admission *x, const struct queued_kind *k, struct json *roles)
{
    for (const char *const *name = k->roles; *name; name++)
        JSON_EACH (role, json_is(roles, JSON_OBJECT) && !json_get(roles, *name) ? roles : NULL) {
            size_t n = 0;
            while (role->key[n] && tolower((unsigned char)role->key[n]) == tolower((unsigned char)(*name)[n]))
                n++;
            if (role->key[n] || (*name)[n])
                continue;
            struct json *same = json_clone(x->arena, role);
            (void)json_remove(roles, role->key);
            json_set(x->arena, roles, *name, same);
            break;
        }
}

static bool is_role(const struct queued_kind *k, const char *name)
{
    for (const char *const *role = k->roles; *role; role++)
        if (text_equal(*role, name))
            return true;
    return false;
}

static const char *roles_text(struct admission *x, const struct queued_kind *k)
{
    const char *text = k->roles[0];
    for (const char *const *role = k->roles + 1; *role; role++)
        text = AT(x, "%s, %s", text, *role);
    return text;
}

static void check_template(struct admission *x, const struct queued_kind *k, const struct json *template, const char *path,
                           int64_t count)
{
    const struct json *containers = json_path(template, "spec", "containers", NULL);
    const char *at = AT(x, "%s.spec.containers", path);
    bool named = k->container == NULL;
    uint32_t i = 0;
    if (!admission_list_n(containers)) {
        admission_error(x, FIELD_REQUIRED, at, NULL, "the pods of this role need a container");
        return;
    }
    JSON_EACH (container, containers) {
        named = named || text_equal(json_get_text(container, "name", ""), k->container);
        if (!json_get_text(container, "image", "")[0])
            admission_error(x, FIELD_REQUIRED, AT(x, "%s[%u].image", at, i), NULL, "the image that the pods of this role run");
        i++;
    }
    if (!named)
        admission_error(x, FIELD_INVALID, AT(x, "%s[0].name", at), json_get(json_first(containers), "name"),
                        "a %s runs its program in the container \"%s\": write name: %s", k->kind, k->container, k->container);
    if (admission_label(x->object, QUEUE_NAME_LABEL)[0])
        admission_topology_annotations(x, json_path(template, "metadata", "annotations", NULL), AT(x, "%s.metadata.annotations", path),
                                       count);
}

/* Roles of which there is one pod, those that must be there, and those that exclude each other. */
static void check_counts(struct admission *x, const struct queued_kind *k, const struct json *roles)
{
    static const struct {
        enum queued_kind_id kind;
        const char *role;
        bool needed;
    } single[] = {{QUEUED_PYTORCHJOB, "Master", false}, {QUEUED_XGBOOSTJOB, "Master", true}, {QUEUED_MPIJOB, "Launcher", true},
                  {QUEUED_TFJOB, "Chief", false}, {QUEUED_TFJOB, "Master", false}};
    for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
        const struct json *role = json_get(roles, single[i].role);
        if (&queued_kinds[single[i].kind] != k)
            continue;
        const char *path = AT(x, "spec.%s[%s]", k->replicas, single[i].role);
        if (!role && single[i].needed)
            admission_error(x, FIELD_REQUIRED, path, NULL, "a %s has one", k->kind);
        if (role && json_get_int64(role, "replicas", 1) != 1)
            admission_error(x, FIELD_INVALID, AT(x, "%s.replicas", path), json_get(role, "replicas"), "must be 1");
    }
    if (k == &queued_kinds[QUEUED_TFJOB] && json_get(roles, "Chief") && json_get(roles, "Master"))
        admission_error(x, FIELD_FORBIDDEN, "spec.tfReplicaSpecs[Master]", NULL, "Chief is the same: leave one of them out");
}

static void check_roles(struct admission *x, const struct queued_kind *k, struct json *roles)
{
    const char *at = AT(x, "spec.%s", k->replicas);
    if (!json_is(roles, JSON_OBJECT) || !roles->n) {
        admission_error(x, FIELD_REQUIRED, at, NULL, "number and template of the pods of each role: %s", roles_text(x, k));
        return;
    }
    JSON_EACH (role, roles) {
        const char *path = AT(x, "%s[%s]", at, role->key);
        if (!is_role(k, role->key))
            admission_error_text(x, FIELD_NOT_SUPPORTED, at, bytes_of(role->key), AT(x, "supported values: %s", roles_text(x, k)));
        else
            check_template(x, k, json_get(role, "template"), AT(x, "%s.template", path), json_get_int64(role, "replicas", 1));
        admission_not_negative(x, role, path, "replicas");
        if (json_get_int64(role, "replicas", 1) > LIMIT_GANG_MEMBERS)
            admission_error(x, FIELD_INVALID, AT(x, "%s.replicas", path), json_get(role, "replicas"), "must be at most %d: the most of one gang",
                            LIMIT_GANG_MEMBERS);
    }
    check_counts(x, k, roles);
}

static void check_policy(struct admission *x, const struct queued_kind *k, const struct json *policy)
{
    static const char *const keys[] = {"ttlSecondsAfterFinished", "backoffLimit", "activeDeadlineSeconds"};
    const struct json *fewest = json_path(policy, "schedulingPolicy", "minAvailable", NULL);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        admission_not_negative(x, policy, "spec.runPolicy", keys[i]);
    if (fewest && json_int64(fewest, 0) < 0)
        admission_error(x, FIELD_INVALID, "spec.runPolicy.schedulingPolicy.minAvailable", fewest, "must be greater than or equal to 0");
    admission_managed_by(x, k, k == &queued_kinds[QUEUED_MPIJOB] ? "kubeflow.org/mpi-operator" : "kubeflow.org/training-operator");
}

/* Fewer pods than asked for are there than are to start together: its operator would let them wait for ever. */
static void check_gang(struct admission *x, const struct queued_kind *k, const struct json *roles, const struct json *policy)
{
    const struct json *fewest = json_path(policy, "schedulingPolicy", "minAvailable", NULL);
    int64_t all = 0;
    JSON_EACH (role, json_is(roles, JSON_OBJECT) ? roles : NULL)
        all += json_get_int64(role, "replicas", 1);
    if (fewest && json_int64(fewest, 0) > all && all > 0)
        admission_warn(x, "spec.%s.schedulingPolicy.minAvailable: %lld, and there are %lld pods: taken as that; write at most so many",
                          k->policy, (long long)json_int64(fewest, 0), (long long)all);
}

static void check_elastic(struct admission *x, const struct json *policy)
{
    const struct json *least = json_get(policy, "minReplicas"), *most = json_get(policy, "maxReplicas");
    if (least && most && json_int64(least, 0) > json_int64(most, 0))
        admission_error(x, FIELD_INVALID, "spec.elasticPolicy.minReplicas", least, "must not be greater than maxReplicas (%lld): torchrun takes "
                        "them as --nnodes MIN:MAX", (long long)json_int64(most, 0));
}

/* What names the pods must be a host name with the longest suffix, too. */
static void check_name(struct admission *x)
{
    const struct json *name = json_path(x->object, "metadata", "name", NULL);
    if (!x->old && name && !name_is_dns1035_label(json_bytes(name)))
        admission_error(x, FIELD_INVALID, "metadata.name", name, "pods and Services are named after it: " NAME_DNS1035_RULE);
}

void admission_kubeflow(struct admission *x, const struct kind *kind)
{
    const struct queued_kind *k = queued_kind_of(kind->group, kind->plural);
    struct json *spec = json_get(x->object, "spec");
    if (!k || !json_is(spec, JSON_OBJECT))
        return;
    struct json *roles = json_get(spec, k->replicas);
    name_roles(x, k, roles);
    admission_queue_name(x, queued_kind_policy(x->arena, k, x->object));
    check_name(x);
    check_roles(x, k, roles);
    check_policy(x, k, json_get(spec, k->policy));
    check_gang(x, k, roles, json_get(spec, k->policy));
    check_elastic(x, json_get(spec, "elasticPolicy"));
    admission_queue_rules(x, k);
}
