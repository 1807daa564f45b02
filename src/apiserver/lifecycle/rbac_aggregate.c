#include "apiserver/lifecycle/rbac_aggregate.h"

#include "apiserver/apply/object_change.h"
#include "apiserver/store/object.h"
#include "codec/kinds/label_selector.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"

static bool chosen(const struct json *selectors, const struct json *role)
{
    JSON_EACH (selector, selectors)
        if (label_selector_matches(selector, json_path(role, "metadata", "labels", NULL)))
            return true;
    return false;
}

struct roles {
    const struct json **all; /* by name */
    uint32_t n;
};

/* Marks role `first`, those that it chooses, and those that the aggregates among them choose in turn. */
static void mark(struct arena *a, const struct roles *roles, uint32_t first, bool *marked)
{
    uint32_t *work = arena_alloc(a, roles->n * sizeof *work), n = 0;
    marked[first] = true;
    work[n++] = first;
    while (n) {
        const struct json *selectors = json_path(roles->all[work[--n]], "aggregationRule", "clusterRoleSelectors", NULL);
        for (uint32_t i = 0; selectors && i < roles->n; i++)
            if (!marked[i] && chosen(selectors, roles->all[i])) {
                marked[i] = true;
                work[n++] = i;
            }
    }
}

/* What aggregate `at` is to have: the rules of the plain roles that it reaches, in the order of their names, each once.
 * WHY  not the rules that other aggregates have now: in a circle those would go round for ever. */
static struct json *rules_of(struct arena *a, const struct roles *roles, uint32_t at)
{
    struct json *all = json_new(a, JSON_ARRAY);
    bool *marked = arena_zero(a, roles->n, sizeof *marked);
    mark(a, roles, at, marked);
    for (uint32_t i = 0; i < roles->n; i++) {
        JSON_EACH (rule, marked[i] && !json_get(roles->all[i], "aggregationRule") ? json_get(roles->all[i], "rules") : NULL) {
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

void rbac_aggregate(struct apiserver *s)
{
    const struct kind *k = kind_find(s->kinds, RBAC_GROUP, "clusterroles");
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *stored = object_list_plural(s, a, RBAC_GROUP, "clusterroles", NULL);
    struct roles roles = {arena_alloc(a, ((stored ? stored->n : 0) + 1) * sizeof *roles.all), 0};
    JSON_EACH (role, stored)
        roles.all[roles.n++] = role;
    for (uint32_t i = 0; i < roles.n; i++) {
        const struct json *role = roles.all[i], *had = json_get(role, "rules");
        if (!json_get(role, "aggregationRule"))
            continue;
        struct json *rules = rules_of(a, &roles, i);
        if (had ? json_equal(had, rules) : !rules->n)
            continue;
        (void)object_modify(s, k, "", json_text(json_path(role, "metadata", "name", NULL), ""), a, rules_put, rules, WRITE_OWN, NULL,
                            NULL); /* one that is gone needs none */
    }
}
