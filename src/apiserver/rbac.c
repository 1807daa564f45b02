#include "apiserver/rbac.h"

#include "apiserver/route.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"

static bool subject_is(const struct json *subject, const struct requester *who)
{
    const char *kind = json_get_text(subject, "kind", ""), *name = json_get_text(subject, "name", "");
    if (strcmp(kind, "User") == 0)
        return strcmp(name, who->user) == 0;
    if (strcmp(kind, "Group") == 0)
        return requester_in(who, name);
    const char *ns = json_get_text(subject, "namespace", ""), *rest = who->user + strlen("system:serviceaccount:");
    size_t n = strlen(ns);
    return strcmp(kind, "ServiceAccount") == 0 && text_starts(who->user, "system:serviceaccount:") &&
           strncmp(rest, ns, n) == 0 && rest[n] == ':' && strcmp(rest + n + 1, name) == 0;
}

static void binding_rules(struct apiserver *s, struct arena *a, const struct requester *who, const struct json *binding,
                          const char *ns, rbac_rule_fn fn, void *arg)
{
    const struct json *ref = json_get(binding, "roleRef");
    bool cluster = strcmp(json_get_text(ref, "kind", ""), "ClusterRole") == 0, bound = false;
    JSON_EACH (subject, json_get(binding, "subjects")) {
        bound = bound || subject_is(subject, who);
    }
    if (!bound)
        return;
    const struct json *role = object_read_plural(s, a, RBAC_GROUP, cluster ? "clusterroles" : "roles",
                                                 cluster ? "" : ns, json_get_text(ref, "name", ""));
    JSON_EACH (rule, json_get(role, "rules")) {
        fn(arg, rule);
    }
}

static void bindings_each(struct apiserver *s, struct arena *a, const struct requester *who, const char *plural,
                          const char *ns, rbac_rule_fn fn, void *arg)
{
    struct store_cursor *c = store_list(s->store, store_kind(s->store, RBAC_GROUP, plural), ns, NULL);
    const struct store_object *o;
    while ((o = store_list_next(c))) {
        const struct json *binding = json_parse(a, (struct bytes){o->body->data, o->body->n}, NULL, NULL);
        binding_rules(s, a, who, binding, ns ? ns : "", fn, arg);
    }
    store_list_free(c);
}

void rbac_rules_each(struct apiserver *s, struct arena *a, const struct requester *who, const char *ns, rbac_rule_fn fn,
                     void *arg)
{
    bindings_each(s, a, who, "clusterrolebindings", NULL, fn, arg);
    if (*ns)
        bindings_each(s, a, who, "rolebindings", ns, fn, arg);
}

static bool list_has(const struct json *list, const char *text, bool empty_is_all)
{
    if (!list || list->n == 0)
        return empty_is_all;
    JSON_EACH (item, list) {
        const char *value = json_text(item, "");
        size_t n = strlen(value);
        if (strcmp(value, "*") == 0 || strcmp(value, text) == 0)
            return true;
        if (*text == '/' && n && value[n - 1] == '*' && strncmp(value, text, n - 1) == 0)
            return true;
    }
    return false;
}

struct rbac_search {
    const struct rbac_question *q;
    bool found;
};

static void rule_try(void *arg, const struct json *rule)
{
    struct rbac_search *search = arg;
    const struct rbac_question *q = search->q;
    if (!list_has(json_get(rule, "verbs"), q->verb, false))
        return;
    if (q->path) {
        search->found = search->found || list_has(json_get(rule, "nonResourceURLs"), q->path, false);
        return;
    }
    const char *slash = strchr(q->resource, '/');
    const struct json *resources = json_get(rule, "resources");
    bool resource = list_has(resources, q->resource, false);
    JSON_EACH (item, resources) /* "*" + "/scale": the subresource of all */
    {
        resource = resource ||
                   (slash && text_starts(json_text(item, ""), "*/") && strcmp(json_text(item, "") + 1, slash) == 0);
    }
    if (resource && list_has(json_get(rule, "apiGroups"), q->group, false) &&
        list_has(json_get(rule, "resourceNames"), q->name, true))
        search->found = true;
}

/* What everybody who is known may do: look at discovery, and ask about himself. */
static bool allowed_to_all(const struct rbac_question *q)
{
    static const char *const open[] = {"/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz"};
    for (size_t i = 0; q->path && i < sizeof open / sizeof *open; i++)
        if (text_starts(q->path, open[i]))
            return true;
    return !q->path && strcmp(q->verb, "create") == 0 &&
           (text_starts(q->resource, "selfsubject") &&
            (strcmp(q->group, "authorization.k8s.io") == 0 || strcmp(q->group, "authentication.k8s.io") == 0));
}

bool rbac_allows(struct apiserver *s, struct arena *a, const struct requester *who, const struct rbac_question *q)
{
    struct rbac_search search = {.q = q};
    if (!s->config.authenticate || requester_in(who, "system:masters") || allowed_to_all(q))
        return true;
    rbac_rules_each(s, a, who, q->path ? "" : q->ns, rule_try, &search);
    return search.found;
}

static const char *verb_name(const struct http_request *r, bool named)
{
    const char *m = r->method;
    if (strcmp(m, "GET") == 0 || strcmp(m, "HEAD") == 0)
        return route_bool(http_query(r, "watch")) ? "watch" : named ? "get" : "list";
    if (strcmp(m, "DELETE") == 0)
        return named ? "delete" : "deletecollection";
    return strcmp(m, "POST") == 0    ? "create"
           : strcmp(m, "PUT") == 0   ? "update"
           : strcmp(m, "PATCH") == 0 ? "patch"
                                     : "none";
}

void rbac_question_of(const struct http_request *r, struct rbac_question *ret_q)
{
    const char *segment[8] = {0};
    int n = 0;
    for (const char *p = r->path + strspn(r->path, "/"); *p && n < 8; p += strspn(p, "/")) {
        size_t length = strcspn(p, "/");
        segment[n++] = arena_text_n(r->arena, p, length);
        p += length;
    }
    bool core = n > 2 && strcmp(segment[0], "api") == 0, grouped = n > 3 && strcmp(segment[0], "apis") == 0;
    *ret_q = (struct rbac_question){
        .verb = verb_name(r, true), .group = "", .resource = "", .ns = "", .name = "", .path = r->path};
    if (!core && !grouped)
        return;
    int at = core ? 2 : 3;
    ret_q->path = NULL;
    ret_q->group = core ? "" : segment[1];
    if (strcmp(segment[at], "namespaces") == 0 && n > at + 1)
        ret_q->ns = segment[at + 1];
    if (*ret_q->ns && n > at + 2 && strcmp(segment[at + 2], "status") != 0 && strcmp(segment[at + 2], "finalize") != 0)
        at += 2;
    ret_q->name = n > at + 1 ? segment[at + 1] : "";
    ret_q->resource = n > at + 2 ? arena_printf(r->arena, "%s/%s", segment[at], segment[at + 2]) : segment[at];
    ret_q->verb = verb_name(r, *ret_q->name != 0);
}
