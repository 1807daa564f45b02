#include "apiserver/access/rbac_aggregate.h"

#include "apiserver/apply/object_write.h"
#include "apiserver/store/selector.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"

static bool chosen(const struct json *selectors, const struct json *role)
{
    JSON_EACH (selector, selectors)
        if (selector_match_object(selector, json_path(role, "metadata", "labels", NULL)))
            return true;
    return false;
}

/* The rules of the chosen roles in the order of their names, each once. */
static struct json *rules_of(struct arena *a, const struct json *roles, const struct json *role)
{
    const struct json *selectors = json_path(role, "aggregationRule", "clusterRoleSelectors", NULL);
    struct json *all = json_new(a, JSON_ARRAY);
    JSON_EACH (other, roles) {
        if (other == role || !chosen(selectors, other))
            continue;
        JSON_EACH (rule, json_get(other, "rules")) {
            bool known = false;
            JSON_EACH (had, all)
                known = known || json_equal(had, rule);
            if (!known)
                json_append(all, json_copy(a, rule));
        }
    }
    return all;
}

static int rules_put(void *arg, struct arena *a, struct json *role, struct err *e)
{
    json_set(a, role, "rules", json_clone(a, arg));
    return 0;
}

/* WHY  again while something changes: a role that is chosen may itself be an aggregate. A circle ends, since rules only gather. */
void rbac_aggregate(struct apiserver *s)
{
    const struct kind *k = kind_find(s->kinds, RBAC_GROUP, "clusterroles");
    bool changed = true;
    for (int pass = 0; changed && pass < 8; pass++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct json *roles = json_new(a, JSON_ARRAY);
        struct store_cursor *c = store_list(s->store, store_kind(s->store, RBAC_GROUP, "clusterroles"), NULL, NULL);
        for (const struct store_object *o; (o = store_list_next(c));)
            json_append(roles, object_parse(a, o->body));
        store_list_free(c);
        changed = false;
        JSON_EACH (role, roles) {
            if (!json_get(role, "aggregationRule"))
                continue;
            struct json *rules = rules_of(a, roles, role), *had = json_get(role, "rules");
            if (had ? json_equal(had, rules) : !rules->n)
                continue;
            changed = true;
            (void)object_modify(s, k, "", json_text(json_path(role, "metadata", "name", NULL), ""), a, rules_put, rules, true, NULL,
                                NULL); /* one that is gone needs none */
        }
    }
}
