#include "apiserver/rules/rbac_grant.h"

#include "apiserver/access/rbac.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"
#define GRANT_PARTS_MAX 20000

struct grant {
    struct arena *arena;
    const struct json **rules; /* of who asks */
    size_t rules_n, rules_cap, parts_n;
};

static void rule_keep(void *arg, const struct json *rule)
{
    struct grant *g = arg;
    if (g->rules_n == g->rules_cap) {
        size_t cap = g->rules_cap ? g->rules_cap * 2 : 16;
        const struct json **more = arena_alloc(g->arena, cap * sizeof *more);
        if (g->rules_n)
            memcpy(more, g->rules, g->rules_n * sizeof *more);
        g->rules = more;
        g->rules_cap = cap;
    }
    g->rules[g->rules_n++] = rule;
}

static bool part_covered(struct grant *g, const struct rbac_question *q)
{
    if (g->parts_n++ >= GRANT_PARTS_MAX)
        return false;
    for (size_t i = 0; i < g->rules_n; i++)
        if (rbac_rule_covers(g->rules[i], q))
            return true;
    return false;
}

/* One verb on one group and resource, with each of the names. */
static bool names_covered(struct grant *g, struct rbac_question *q, const struct json *names)
{
    q->name = "";
    if (!names || names->n == 0)
        return part_covered(g, q);
    JSON_EACH (name, names) {
        q->name = json_text(name, "");
        if (!part_covered(g, q))
            return false;
    }
    return true;
}

static bool verb_covered(struct grant *g, const struct json *rule, const char *verb)
{
    struct rbac_question q = {.verb = verb, .group = "", .resource = "", .ns = "", .name = ""};
    JSON_EACH (path, json_get(rule, "nonResourceURLs")) {
        q.path = json_text(path, "");
        if (!part_covered(g, &q))
            return false;
    }
    q.path = NULL;
    JSON_EACH (group, json_get(rule, "apiGroups")) {
        JSON_EACH (resource, json_get(rule, "resources")) {
            q.group = json_text(group, "");
            q.resource = json_text(resource, "");
            if (!names_covered(g, &q, json_get(rule, "resourceNames")))
                return false;
        }
    }
    return true;
}

static bool rules_covered(struct grant *g, const struct json *rules)
{
    JSON_EACH (rule, rules) {
        JSON_EACH (verb, json_get(rule, "verbs")) {
            if (!verb_covered(g, rule, json_text(verb, "")))
                return false;
        }
    }
    return true;
}

static bool same_at(const struct object_write *w, const char *key)
{
    const struct json *was = json_get(w->old, key), *is = json_get(w->object, key);
    return w->old && (was && is ? json_equal(was, is) : was == is);
}

/* The rules that the object gives away; *ret_plural and *ret_name say whose. False: none that were not given before. */
static bool given_away(struct object_write *w, const struct json **ret_rules, const char **ret_plural, const char **ret_name)
{
    if (text_ends(w->kind->plural, "bindings")) {
        const struct json *ref = json_get(w->object, "roleRef");
        bool cluster = strcmp(json_get_text(ref, "kind", ""), "ClusterRole") == 0;
        *ret_plural = cluster ? "clusterroles" : "roles";
        *ret_name = json_get_text(ref, "name", "");
        *ret_rules = json_get(object_read_plural(w->server, w->arena, RBAC_GROUP, *ret_plural, w->ns, *ret_name), "rules");
        return !(same_at(w, "roleRef") && same_at(w, "subjects"));
    }
    *ret_plural = w->kind->plural;
    *ret_name = json_text(json_path(w->object, "metadata", "name", NULL), "");
    *ret_rules = json_get(w->object, "rules");
    if (!json_get(w->object, "aggregationRule") || same_at(w, "aggregationRule"))
        return !same_at(w, "rules");
    /* WHY  a selector may choose any role, those too that are made later. */
    *ret_rules = json_parse(w->arena, bytes_of("[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}]"), NULL, NULL);
    return true;
}

void rbac_grant_admit(struct object_write *w)
{
    struct apiserver *s = w->server;
    const struct json *rules;
    const char *plural, *name;
    if (w->errors.n || !w->who || !s->config.authenticate || requester_in(w->who, "system:masters") ||
        !given_away(w, &rules, &plural, &name))
        return;
    bool binds = text_ends(w->kind->plural, "bindings");
    struct rbac_question q = {.verb = binds ? "bind" : "escalate", .group = RBAC_GROUP, .resource = plural, .ns = w->ns, .name = name};
    if (rbac_allows(s, w->arena, w->who, &q))
        return;
    struct grant g = {.arena = w->arena};
    rbac_rules_each(s, w->arena, w->who, w->ns, rule_keep, &g);
    if ((!binds || rules) && rules_covered(&g, rules))
        return;
    (void)object_write_fail(w, 403, "Forbidden",
                            "%s \"%s\" is forbidden: user \"%s\" is attempting to grant permissions that it does not have: "
                            "who gives them must have them, or the verb \"%s\" on %s \"%s\"",
                            status_resource(w->arena, w->kind), json_text(json_path(w->object, "metadata", "name", NULL), ""),
                            w->who->user, q.verb, plural, name);
}
