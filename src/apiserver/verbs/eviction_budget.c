#include "apiserver/verbs/eviction_budget.h"

#include "apiserver/store/selector.h"

#define POLICY_GROUP "policy"
#define BUDGETS "poddisruptionbudgets"

bool eviction_pod_ready(const struct json *pod)
{
    JSON_EACH (condition, json_path(pod, "status", "conditions", NULL)) {
        if (strcmp(json_get_text(condition, "type", ""), "Ready") == 0)
            return strcmp(json_get_text(condition, "status", ""), "True") == 0;
    }
    return false;
}

/* A bound: a number, or "30%" of total rounded up. */
static int64_t bound_of(const struct json *bound, int64_t total)
{
    struct bytes text = json_bytes(bound);
    int64_t value = 0;
    if (text.n && text.data[text.n - 1] == '%')
        return bytes_int64((struct bytes){text.data, text.n - 1}, &value) ? (total * value + 99) / 100 : 0;
    return bytes_int64(text, &value) ? value : 0;
}

static bool pod_ended(const struct json *pod)
{
    const char *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

void eviction_budget_count(struct apiserver *s, struct arena *a, const struct json *budget,
                           struct eviction_budget *ret_b)
{
    const struct json *spec = json_get(budget, "spec"), *least = json_get(spec, "minAvailable"),
                      *most = json_get(spec, "maxUnavailable");
    struct eviction_budget b = {.name = json_text(json_path(budget, "metadata", "name", NULL), "")};
    const char *ns = json_text(json_path(budget, "metadata", "namespace", NULL), "");
    struct store_cursor *c = store_list(s->store, store_kind(s->store, "", "pods"), ns, NULL);
    const struct store_object *o;
    while ((o = store_list_next(c))) {
        const struct json *pod = json_parse(a, (struct bytes){o->body->data, o->body->n}, NULL, NULL);
        if (pod_ended(pod) ||
            !selector_match_object(json_get(spec, "selector"), json_path(pod, "metadata", "labels", NULL)))
            continue;
        b.expected++;
        b.healthy += eviction_pod_ready(pod) && !json_path(pod, "metadata", "deletionTimestamp", NULL);
    }
    store_list_free(c);
    b.desired = least ? bound_of(least, b.expected) : b.expected - bound_of(most, b.expected);
    if (b.desired < 0)
        b.desired = 0;
    b.allowed = b.healthy > b.desired && b.expected > 0 ? b.healthy - b.desired : 0;
    *ret_b = b;
}

unsigned eviction_budgets_of(struct apiserver *s, struct arena *a, const struct json *pod,
                             const struct json **ret_budget)
{
    unsigned n = 0;
    const char *ns = json_text(json_path(pod, "metadata", "namespace", NULL), "");
    struct store_cursor *c = store_list(s->store, store_kind(s->store, POLICY_GROUP, BUDGETS), ns, NULL);
    const struct store_object *o;
    while ((o = store_list_next(c))) {
        const struct json *budget = json_parse(a, (struct bytes){o->body->data, o->body->n}, NULL, NULL);
        if (!selector_match_object(json_path(budget, "spec", "selector", NULL),
                                   json_path(pod, "metadata", "labels", NULL)))
            continue;
        if (n++ == 0)
            *ret_budget = budget;
    }
    store_list_free(c);
    return n;
}

static int status_put(void *arg, struct arena *a, struct json *budget, struct err *e)
{
    const struct eviction_budget *b = arg;
    struct json *status = json_ensure_object(a, budget, "status");
    json_set_int64(a, status, "currentHealthy", b->healthy);
    json_set_int64(a, status, "desiredHealthy", b->desired);
    json_set_int64(a, status, "disruptionsAllowed", b->allowed);
    json_set_int64(a, status, "expectedPods", b->expected);
    json_set_int64(a, status, "observedGeneration", json_int64(json_path(budget, "metadata", "generation", NULL), 1));
    return 0;
}

void eviction_budgets_refresh(struct apiserver *s, const char *ns)
{
    const struct kind *k = kind_find(s->kinds, POLICY_GROUP, BUDGETS);
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *budgets = json_new(a, JSON_ARRAY);
    if (!k || store_count(s->store, store_kind(s->store, POLICY_GROUP, BUDGETS)) == 0)
        return;
    struct store_cursor *c = store_list(s->store, store_kind(s->store, POLICY_GROUP, BUDGETS), ns, NULL);
    const struct store_object *o;
    while ((o = store_list_next(c)))
        json_append(budgets, json_parse(a, (struct bytes){o->body->data, o->body->n}, NULL, NULL));
    store_list_free(c);
    JSON_EACH (budget, budgets) {
        struct eviction_budget b;
        eviction_budget_count(s, a, budget, &b);
        /* A budget that is gone meanwhile needs no status. */
        (void)object_modify(s, k, json_text(json_path(budget, "metadata", "namespace", NULL), ""), b.name, a,
                            status_put, &b, false, NULL, NULL);
    }
}
