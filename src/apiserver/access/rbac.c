#include "apiserver/access/rbac.h"

#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "apiserver/store/selector.h"

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
        const struct json *binding = object_parse(a, o->body);
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

/* How a list of a rule is read: names of objects stand for themselves alone, paths may end in "*". */
enum list_of { LIST_OF_WORDS, LIST_OF_NAMES, LIST_OF_PATHS };

static bool word_covers(const char *word, const char *text, enum list_of what)
{
    size_t n = strlen(word);
    if (strcmp(word, text) == 0)
        return true;
    if (what == LIST_OF_NAMES)
        return false;
    return strcmp(word, "*") == 0 || (what == LIST_OF_PATHS && n && word[n - 1] == '*' && strncmp(word, text, n - 1) == 0);
}

static bool list_has(const struct json *list, const char *text, enum list_of what)
{
    JSON_EACH (item, list) {
        if (word_covers(json_text(item, ""), text, what))
            return true;
    }
    return false;
}

static bool resource_covered(const struct json *resources, const char *resource)
{
    const char *slash = strchr(resource, '/');
    if (list_has(resources, resource, LIST_OF_WORDS))
        return true;
    JSON_EACH (item, slash ? resources : NULL) /* "*" + "/scale": the subresource of all */
        if (text_starts(json_text(item, ""), "*/") && strcmp(json_text(item, "") + 1, slash) == 0)
            return true;
    return false;
}

bool rbac_rule_covers(const struct json *rule, const struct rbac_question *q)
{
    if (!list_has(json_get(rule, "verbs"), q->verb, LIST_OF_WORDS))
        return false;
    if (q->path)
        return list_has(json_get(rule, "nonResourceURLs"), q->path, LIST_OF_PATHS);
    const struct json *names = json_get(rule, "resourceNames");
    return resource_covered(json_get(rule, "resources"), q->resource) &&
           list_has(json_get(rule, "apiGroups"), q->group, LIST_OF_WORDS) &&
           (!names || names->n == 0 || list_has(names, q->name, LIST_OF_NAMES));
}

struct rbac_search {
    const struct rbac_question *q;
    bool found;
};

static void rule_try(void *arg, const struct json *rule)
{
    struct rbac_search *search = arg;
    search->found = search->found || rbac_rule_covers(rule, search->q);
}

/* path itself, or something below it. */
static bool is_below(const char *path, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(path, prefix, n) == 0 && (path[n] == 0 || path[n] == '/');
}

/* What everybody who is known may do: look at discovery, and ask about himself. */
static bool allowed_to_all(const struct rbac_question *q)
{
    static const char *const open[] = {"/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz"};
    for (size_t i = 0; q->path && i < sizeof open / sizeof *open; i++)
        if (is_below(q->path, open[i]) && (strcmp(q->verb, "get") == 0 || strcmp(q->verb, "head") == 0))
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

bool rbac_require(struct apiserver *s, struct http_exchange *x, const struct rbac_question *q)
{
    struct requester who;
    requester_of(s, &x->request, &who);
    if (rbac_allows(s, x->request.arena, &who, q))
        return true;
    if (q->path)
        status_reply(x, 403, "Forbidden", NULL, NULL, "forbidden: User \"%s\" cannot %s path \"%s\"", who.user, q->verb,
                     q->path);
    else
        status_reply(x, 403, "Forbidden", NULL, NULL,
                     "%s%s%s%s%s is forbidden: User \"%s\" cannot %s resource \"%s\" in API group \"%s\"%s%s%s: give "
                     "it a Role and a RoleBinding",
                     q->resource, *q->group ? "." : "", q->group, *q->name ? " " : "", q->name, who.user, q->verb, q->resource,
                     q->group, *q->ns ? " in the namespace \"" : " at the cluster scope", q->ns, *q->ns ? "\"" : "");
    return false;
}

static const char *const verb_names[] = {
    [VERB_GET] = "get",       [VERB_LIST] = "list",   [VERB_WATCH] = "watch",   [VERB_CREATE] = "create",
    [VERB_UPDATE] = "update", [VERB_PATCH] = "patch", [VERB_DELETE] = "delete", [VERB_DELETE_COLLECTION] = "deletecollection"};

/* A list or watch of what has one name asks for the object of that name.
 * SOURCE Kubernetes' RequestInfo: for list and watch alone, and for a name that could stand in a path. */
static const char *name_selected(const struct http_request *r)
{
    const char *fields = http_query(r, "fieldSelector"), *name = fields ? selector_name_of_text(r->arena, fields) : NULL;
    return name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strpbrk(name, "/%") ? name : "";
}

void rbac_question_of(const struct http_request *r, struct rbac_question *ret_q)
{
    struct request_path p;
    bool known;
    *ret_q = (struct rbac_question){.group = "", .resource = "", .ns = "", .name = ""};
    if (!request_path_parse(r->arena, r->path, &p)) {
        ret_q->verb = arena_text_lower(r->arena, r->method);
        ret_q->path = request_path_normal(r->arena, r->path);
        return;
    }
    enum verb verb = request_verb(r, &p, &known);
    ret_q->verb = known ? verb_names[verb] : "none";
    ret_q->group = p.group;
    ret_q->resource = *p.subresource ? arena_printf(r->arena, "%s/%s", p.plural, p.subresource) : p.plural;
    ret_q->name = !*p.name && known && (verb == VERB_LIST || verb == VERB_WATCH) ? name_selected(r) : p.name;
    ret_q->ns = !*p.group && strcmp(p.plural, "namespaces") == 0 ? p.name : p.ns; /* a namespace is in itself */
}
