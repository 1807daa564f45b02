#include "apiserver/lifecycle/rbac_roles.h"

#include "apiserver/apply/object_change.h"
#include "apiserver/lifecycle/rbac_aggregate.h"
#include "apiserver/store/object.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"
#define AGGREGATE RBAC_GROUP "/aggregate-to-"
#define GROUPS                                                                                                                             \
    "\"apiGroups\":[\"\",\"apps\",\"batch\",\"policy\",\"kueue.x-k8s.io\",\"batch.volcano.sh\",\"scheduling.volcano.sh\","                 \
    "\"scheduling.x-k8s.io\",\"scheduling.run.ai\",\"kai.scheduler\",\"trainer.kubeflow.org\",\"kubeflow.org\",\"coordination.k8s.io\"],"  \
    "\"resources\":[\"*\"]"

/* Rules as JSON. WHY secrets are not in view: who may read tokens may act as their owners. WHY admin names its verbs on roles: "escalate" and
 * "bind" among them would be all of the cluster. */
static const char all_rules[] = "[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]},{\"nonResourceURLs\":[\"*\"],\"verbs\":[\"*\"]}]";
static const char admin_rules[] =
    "[{" GROUPS ",\"verbs\":[\"*\"]},"
    "{\"apiGroups\":[\"rbac.authorization.k8s.io\"],\"resources\":[\"roles\",\"rolebindings\"],\"verbs\":[\"create\","
    "\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"update\",\"watch\"]}]";
static const char edit_rules[] = "[{" GROUPS ",\"verbs\":[\"*\"]}]";
static const char view_rules[] =
    "[{\"apiGroups\":[\"\"],\"resources\":[\"bindings\",\"configmaps\",\"endpoints\",\"events\",\"limitranges\",\"namespaces\","
    "\"namespaces/status\",\"persistentvolumeclaims\",\"pods\",\"pods/log\",\"pods/status\",\"replicationcontrollers\","
    "\"resourcequotas\",\"serviceaccounts\",\"services\"],\"verbs\":[\"get\",\"list\",\"watch\"]},"
    "{\"apiGroups\":[\"apps\",\"batch\",\"policy\",\"kueue.x-k8s.io\",\"batch.volcano.sh\",\"scheduling.volcano.sh\","
    "\"scheduling.x-k8s.io\",\"scheduling.run.ai\",\"kai.scheduler\",\"trainer.kubeflow.org\",\"kubeflow.org\"],\"resources\":[\"*\"],"
    "\"verbs\":[\"get\",\"list\",\"watch\"]}]";

/* SOURCE Kueue: who may view, may also see who waits. */
static const char pending_rules[] = "[{\"apiGroups\":[\"visibility.kueue.x-k8s.io\"],\"resources\":[\"clusterqueues/pendingworkloads\","
                                    "\"localqueues/pendingworkloads\"],\"verbs\":[\"get\"]}]";

static const struct role {
    const char *name;
    const char *rules;      /* its own; of an aggregate, what earlier versions of this server gave it */
    const char *aggregates; /* takes the rules of roles with this label; NULL = none */
    const char *label;      /* it has this one */
} roles[] = {
    {"cluster-admin", all_rules, NULL, NULL},
    {"system:aggregate-to-admin", admin_rules, NULL, AGGREGATE "admin"},
    {"system:aggregate-to-edit", edit_rules, NULL, AGGREGATE "edit"},
    {"system:aggregate-to-view", view_rules, NULL, AGGREGATE "view"},
    {"capstan-pending-workloads-viewer", pending_rules, NULL, AGGREGATE "view"},
    {"admin", admin_rules, AGGREGATE "admin", NULL},
    {"edit", edit_rules, AGGREGATE "edit", AGGREGATE "admin"},
    {"view", view_rules, AGGREGATE "view", AGGREGATE "edit"},
};

static struct json *rules_of(struct arena *a, const struct role *r)
{
    return json_parse(a, bytes_of(r->rules), NULL, NULL);
}

static void aggregation_put(struct arena *a, struct json *role, const struct role *r)
{
    struct json *labels = json_ensure_object(a, json_get(role, "metadata"), "labels"), *selector = json_new(a, JSON_OBJECT);
    json_set_text(a, labels, "kubernetes.io/bootstrapping", "rbac-defaults");
    if (r->label)
        json_set_text(a, labels, r->label, "true");
    if (!r->aggregates)
        return;
    json_set_text(a, json_ensure_object(a, selector, "matchLabels"), r->aggregates, "true");
    json_append(json_ensure_array(a, json_ensure_object(a, role, "aggregationRule"), "clusterRoleSelectors"), selector);
}

static int aggregation_add(void *arg, struct arena *a, struct json *role, struct err *e)
{
    aggregation_put(a, role, arg);
    return 0;
}

/* As an earlier version of this server made it: `admin` had every verb on roles at first. */
static bool is_as_made(struct arena *a, const struct role *r, const struct json *had)
{
    const struct json *rules = json_get(had, "rules");
    const struct json *groups = rules && rules->n == 1 ? json_get(rules->first, "apiGroups") : NULL;
    JSON_EACH (group, strcmp(r->name, "admin") == 0 ? groups : NULL)
        if (strcmp(json_text(group, ""), RBAC_GROUP) == 0)
            return true;
    return rules && json_equal(rules, rules_of(a, r));
}

static int role_make(struct apiserver *s, const struct kind *k, struct arena *a, const struct role *r, struct err *e)
{
    const struct json *had = object_read(s, a, k, "", r->name);
    if (had && r->aggregates && !json_get(had, "aggregationRule") && is_as_made(a, r, had))
        return object_modify(s, k, "", r->name, a, aggregation_add, (void *)r, WRITE_OWN, NULL, e);
    if (had)
        return 0;
    struct json *role = json_new(a, JSON_OBJECT);
    json_set_text(a, role, "kind", "ClusterRole");
    json_set_text(a, role, "apiVersion", RBAC_GROUP "/v1");
    json_set_text(a, json_ensure_object(a, role, "metadata"), "name", r->name);
    json_set(a, role, "rules", r->aggregates ? json_new(a, JSON_ARRAY) : rules_of(a, r));
    aggregation_put(a, role, r);
    return object_create(s, k, a, role, e);
}

int rbac_roles_seed(struct apiserver *s, struct arena *a, struct err *e)
{
    const struct kind *k = kind_find(s->kinds, RBAC_GROUP, "clusterroles");
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        int r = role_make(s, k, a, &roles[i], e);
        if (r < 0)
            return r;
    }
    rbac_aggregate(s);
    return 0;
}
