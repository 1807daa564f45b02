/* table_columns_object.c - Namespace, ConfigMap, Secret, ServiceAccount, roles, quotas, priority classes, leases,
 * budgets, CRDs */
#include "apiserver/tables/table_columns.h"

static uint32_t member_count(const struct json *object, const char *field)
{
    const struct json *v = json_get(object, field);
    return json_is(v, JSON_OBJECT) || json_is(v, JSON_ARRAY) ? v->n : 0;
}

static void namespace_cells(struct table_cells *c, const struct json *namespace)
{
    cell_name(c, namespace);
    cell_text(c, json_text(json_path(namespace, "status", "phase", NULL), "Active"));
    cell_age(c, namespace);
}
static const struct table_column namespace_columns[] = {
    COLUMN_NAME,
    {"Status", "string", "", 0, "Active or Terminating."},
    COLUMN_AGE,
};

static void config_map_cells(struct table_cells *c, const struct json *map)
{
    cell_name(c, map);
    cell_int(c, member_count(map, "data") + member_count(map, "binaryData"));
    cell_age(c, map);
}
static const struct table_column config_map_columns[] = {
    COLUMN_NAME,
    {"Data", "string", "", 0, "Number of entries."},
    COLUMN_AGE,
};

static void secret_cells(struct table_cells *c, const struct json *secret)
{
    cell_name(c, secret);
    cell_text(c, json_get_text(secret, "type", "Opaque"));
    cell_int(c, member_count(secret, "data"));
    cell_age(c, secret);
}
static const struct table_column secret_columns[] = {
    COLUMN_NAME,
    {"Type", "string", "", 0, "What the secret is for."},
    {"Data", "string", "", 0, "Number of entries."},
    COLUMN_AGE,
};

static void service_account_cells(struct table_cells *c, const struct json *account)
{
    cell_name(c, account);
    cell_int(c, member_count(account, "secrets"));
    cell_age(c, account);
}
static const struct table_column service_account_columns[] = {
    COLUMN_NAME,
    {"Secrets", "string", "", 0, "Number of secrets that its pods may use."},
    COLUMN_AGE,
};

static void priority_class_cells(struct table_cells *c, const struct json *class)
{
    cell_name(c, class);
    cell_int(c, json_get_int64(class, "value", 0));
    cell_json(c, json_new_bool(c->arena, json_get_bool(class, "globalDefault", false)));
    cell_age(c, class);
    cell_text(c, json_get_text(class, "preemptionPolicy", "PreemptLowerPriority"));
}
static const struct table_column priority_class_columns[] = {
    COLUMN_NAME,
    {"Value", "integer", "", 0, "Priority of its pods; higher goes first."},
    {"Global-Default", "boolean", "", 0, "Whether pods without a class get this one."},
    COLUMN_AGE,
    {"PreemptionPolicy", "string", "", 0, "Whether its pods may push out others."},
};

static void lease_cells(struct table_cells *c, const struct json *lease)
{
    cell_name(c, lease);
    cell_text(c, json_text(json_path(lease, "spec", "holderIdentity", NULL), ""));
    cell_age(c, lease);
}
static const struct table_column lease_columns[] = {
    COLUMN_NAME,
    {"Holder", "string", "", 0, "Who holds it."},
    COLUMN_AGE,
};

/* ---- quotas ---- */

static void quota_cells(struct table_cells *c, const struct json *quota)
{
    struct buf requests = {0}, limits = {0};
    const struct json *hard = json_path(quota, "status", "hard", NULL),
                      *used = json_path(quota, "status", "used", NULL);
    if (!hard)
        hard = json_path(quota, "spec", "hard", NULL);
    JSON_EACH (amount, hard) {
        struct buf *text = text_starts(amount->key, "limits.") ? &limits : &requests;
        buf_printf(text, "%s%s: %s/%s", text->n ? ", " : "", amount->key, json_get_text(used, amount->key, "0"),
                   json_text(amount, ""));
    }
    cell_name(c, quota);
    cell_text(c, requests.data);
    cell_text(c, limits.data);
    cell_age(c, quota);
    buf_free(&requests);
    buf_free(&limits);
}
static const struct table_column quota_columns[] = {
    COLUMN_NAME,
    {"Request", "string", "", 0, "Requests used and allowed."},
    {"Limit", "string", "", 0, "Limits used and allowed."},
    COLUMN_AGE,
};

static void budget_bound(struct table_cells *c, const struct json *bound)
{
    if (!bound || bound->type == JSON_NULL)
        cell_text(c, "N/A");
    else
        cell_text(c, bound->type == JSON_STRING || bound->type == JSON_NUMBER ? bound->text : "N/A");
}

static void budget_cells(struct table_cells *c, const struct json *budget)
{
    cell_name(c, budget);
    budget_bound(c, json_path(budget, "spec", "minAvailable", NULL));
    budget_bound(c, json_path(budget, "spec", "maxUnavailable", NULL));
    cell_int(c, json_int64(json_path(budget, "status", "disruptionsAllowed", NULL), 0));
    cell_age(c, budget);
}
static const struct table_column budget_columns[] = {
    COLUMN_NAME,
    {"Min Available", "string", "", 0, "Pods that must stay available."},
    {"Max Unavailable", "string", "", 0, "Pods that may be unavailable."},
    {"Allowed Disruptions", "integer", "", 0, "Pods that may be evicted now."},
    COLUMN_AGE,
};

/* ---- rbac ---- */

static void created_cells(struct table_cells *c, const struct json *object)
{
    cell_name(c, object);
    cell_text(c, json_text(json_path(object, "metadata", "creationTimestamp", NULL), "<unknown>"));
}
static const struct table_column created_columns[] = {COLUMN_NAME, COLUMN_CREATED};

static void subjects_cell(struct table_cells *c, const struct json *binding, const char *kind)
{
    struct buf text = {0};
    JSON_EACH (subject, json_get(binding, "subjects")) {
        if (strcmp(json_get_text(subject, "kind", ""), kind) != 0)
            continue;
        const char *ns = json_get_text(subject, "namespace", "");
        buf_printf(&text, "%s%s%s%s", text.n ? ", " : "", ns, *ns ? "/" : "", json_get_text(subject, "name", ""));
    }
    cell_text(c, text.data);
    buf_free(&text);
}

static void binding_cells(struct table_cells *c, const struct json *binding)
{
    const struct json *role = json_get(binding, "roleRef");
    cell_name(c, binding);
    cell_printf(c, "%s/%s", json_get_text(role, "kind", ""), json_get_text(role, "name", ""));
    cell_age(c, binding);
    subjects_cell(c, binding, "User");
    subjects_cell(c, binding, "Group");
    subjects_cell(c, binding, "ServiceAccount");
}
static const struct table_column binding_columns[] = {
    COLUMN_NAME,
    {"Role", "string", "", 0, "Role that is given."},
    COLUMN_AGE,
    {"Users", "string", "", 1, "Users who get it."},
    {"Groups", "string", "", 1, "Groups that get it."},
    {"ServiceAccounts", "string", "", 1, "Service accounts that get it."},
};

static void runtime_class_cells(struct table_cells *c, const struct json *class)
{
    cell_name(c, class);
    cell_text(c, json_get_text(class, "handler", ""));
    cell_age(c, class);
}
static const struct table_column runtime_class_columns[] = {
    COLUMN_NAME,
    {"Handler", "string", "", 0, "Configuration of the container runtime."},
    COLUMN_AGE,
};

static void composite_cells(struct table_cells *c, const struct json *group)
{
    const struct json *spec = json_get(group, "spec"), *policy = json_get(spec, "schedulingPolicy");
    cell_name(c, group);
    cell_text(c, json_get(policy, "gang") ? "Gang" : json_get(policy, "basic") ? "Basic" : "");
    cell_text(c, json_text(json_path(spec, "workloadRef", "workloadName", NULL), ""));
    cell_age(c, group);
}
static const struct table_column composite_columns[] = {
    COLUMN_NAME,
    {"Policy", "string", "", 0, "How the groups below it start: all at once, or each by itself."},
    {"Workload", "string", "", 0, "Workload that it was made from."},
    COLUMN_AGE,
};

const struct table_layout table_layouts_object[] = {
    {"", "Namespace", TABLE_COLUMNS(namespace_columns), namespace_cells},
    {"", "ConfigMap", TABLE_COLUMNS(config_map_columns), config_map_cells},
    {"", "Secret", TABLE_COLUMNS(secret_columns), secret_cells},
    {"", "ServiceAccount", TABLE_COLUMNS(service_account_columns), service_account_cells},
    {"", "ResourceQuota", TABLE_COLUMNS(quota_columns), quota_cells},
    {"", "LimitRange", TABLE_COLUMNS(created_columns), created_cells},
    {"scheduling.k8s.io", "PriorityClass", TABLE_COLUMNS(priority_class_columns), priority_class_cells},
    {"scheduling.k8s.io", "CompositePodGroup", TABLE_COLUMNS(composite_columns), composite_cells},
    {"coordination.k8s.io", "Lease", TABLE_COLUMNS(lease_columns), lease_cells},
    {"policy", "PodDisruptionBudget", TABLE_COLUMNS(budget_columns), budget_cells},
    {"rbac.authorization.k8s.io", "Role", TABLE_COLUMNS(created_columns), created_cells},
    {"rbac.authorization.k8s.io", "ClusterRole", TABLE_COLUMNS(created_columns), created_cells},
    {"rbac.authorization.k8s.io", "RoleBinding", TABLE_COLUMNS(binding_columns), binding_cells},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding", TABLE_COLUMNS(binding_columns), binding_cells},
    {"apiextensions.k8s.io", "CustomResourceDefinition", TABLE_COLUMNS(created_columns), created_cells},
    {"node.k8s.io", "RuntimeClass", TABLE_COLUMNS(runtime_class_columns), runtime_class_cells},
    {0},
};
