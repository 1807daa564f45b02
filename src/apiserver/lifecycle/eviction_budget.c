#include "apiserver/lifecycle/eviction_budget.h"

#include "apiserver/apply/object_change.h"
#include "apiserver/store/object.h"
#include "apiserver/store/selector.h"
#include "apiserver/tables/table_path.h"
#include "base/collections/map.h"
#include "codec/kinds/label_selector.h"

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

static const char *budget_namespace(const struct json *budget)
{
    return json_text(json_path(budget, "metadata", "namespace", NULL), "");
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

/* ---- how many pods there should be ---- */

struct scales {
    struct json *seen; /* uid of a controller -> its spec.replicas */
    int64_t expected;
};

static const struct json *controller_of(const struct json *object)
{
    JSON_EACH (owner, json_path(object, "metadata", "ownerReferences", NULL))
        if (json_get_bool(owner, "controller", false))
            return owner;
    return NULL;
}

/* The object that says how many, and how many: the controller, or the Deployment above its ReplicaSet. NULL: it says nothing of the
 * kind. */
static const struct json *scale_find(struct apiserver *s, struct arena *a, const char *ns, const struct json *object,
                                     int64_t *ret_replicas)
{
    const struct json *found = NULL, *owner;
    for (int level = 0; level < 2 && (owner = controller_of(object)); level++) {
        const struct kind *k = object_kind_named(s, a, owner);
        object = k && (k->flags & KIND_SCALE) ? object_read(s, a, k, ns, json_get_text(owner, "name", "")) : NULL;
        const char *uid = json_text(json_path(object, "metadata", "uid", NULL), "");
        if (!object || strcmp(uid, json_get_text(owner, "uid", "")) != 0)
            break;
        found = object;
        *ret_replicas = json_int64(table_path_find(object, k->scale_spec_path ? k->scale_spec_path : ".spec.replicas"), 1);
    }
    return found;
}

/* One more pod that the budget selects: it counts alone, or its controller counts once for all that it should have. WHY  a pod that has
 * gone and is not replaced yet would make the share of those that may be away larger. */
static void scales_add(struct scales *scales, struct apiserver *s, struct arena *a, const struct store_object *o,
                       const struct pod_standing *p)
{
    const char *uid = p->controller;
    bool owner = p->has_controller;
    if (owner && json_get(scales->seen, uid)) {
        scales->expected += json_get_int64(scales->seen, uid, 0) < 0;
        return;
    }
    int64_t replicas = -1;
    const struct json *scale = owner ? scale_find(s, a, o->ns, object_parse(a, o->body), &replicas) : NULL;
    const char *top = json_text(json_path(scale, "metadata", "uid", NULL), "");
    bool is_known = scale && json_get(scales->seen, top); /* another ReplicaSet of the same Deployment */
    if (owner)
        json_set_int64(a, scales->seen, arena_text(a, uid), scale ? 0 : -1);
    if (scale)
        json_set_int64(a, scales->seen, top, 0);
    scales->expected += is_known ? 0 : scale ? replicas : 1;
}

/* ---- counting ---- */

struct tally {
    const struct json *budget;
    struct selector selected;
    bool selects_any, by_scale;
    struct scales scales;
    int64_t expected, healthy;
};

static void tally_begin(struct tally *t, struct arena *a, const struct json *budget)
{
    const struct json *spec = json_get(budget, "spec"), *least = json_get(spec, "minAvailable");
    struct bytes text = json_bytes(least);
    *t = (struct tally){.budget = budget, .scales = {.seen = json_new(a, JSON_OBJECT)}};
    t->selects_any = selector_of_object(a, json_get(spec, "selector"), &t->selected);
    t->by_scale = !least || (text.n && text.data[text.n - 1] == '%');
}

static bool tally_selects(const struct tally *t, struct bytes labelled)
{
    return t->selects_any && selector_match(&t->selected, labelled);
}

static void tally_add(struct tally *t, struct apiserver *s, struct arena *a, const struct store_object *o, const struct pod_standing *pod)
{
    if (pod->has_ended)
        return;
    if (t->by_scale)
        scales_add(&t->scales, s, a, o, pod);
    t->expected++;
    t->healthy += pod->is_ready && !pod->is_leaving;
}

static struct eviction_budget tally_end(const struct tally *t)
{
    const struct json *spec = json_get(t->budget, "spec"), *least = json_get(spec, "minAvailable"), *most = json_get(spec, "maxUnavailable");
    struct eviction_budget b = {.name = json_text(json_path(t->budget, "metadata", "name", NULL), ""),
                                .expected = t->by_scale ? t->scales.expected : t->expected,
                                .healthy = t->healthy};
    b.desired = least ? bound_of(least, b.expected) : b.expected - bound_of(most, b.expected);
    if (b.desired < 0)
        b.desired = 0;
    b.allowed = b.healthy > b.desired && b.expected > 0 ? b.healthy - b.desired : 0;
    return b;
}

void eviction_budget_count(struct apiserver *s, struct arena *a, const struct json *budget,
                           struct eviction_budget *ret_b)
{
    struct tally t;
    struct store_cursor *c = store_list(s->store, store_kind(s->store, "", "pods"), budget_namespace(budget), NULL);
    const struct store_object *o;
    tally_begin(&t, a, budget);
    while ((o = store_list_next(c))) {
        struct bytes body = {o->body->data, o->body->n};
        if (!tally_selects(&t, body))
            continue;
        const struct pod_standing pod = pod_standing_read(body);
        tally_add(&t, s, a, o, &pod);
    }
    store_list_free(c);
    *ret_b = tally_end(&t);
}

unsigned eviction_budgets_of(struct apiserver *s, struct arena *a, const struct json *pod,
                             const struct json **ret_budget)
{
    unsigned n = 0;
    const char *ns = json_text(json_path(pod, "metadata", "namespace", NULL), "");
    struct store_cursor *c = store_list(s->store, store_kind(s->store, POLICY_GROUP, BUDGETS), ns, NULL);
    const struct store_object *o;
    while ((o = store_list_next(c))) {
        const struct json *budget = object_parse(a, o->body);
        if (!label_selector_matches(json_path(budget, "spec", "selector", NULL),
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

enum { ANSWERS_KEPT = 64 };

/* Which of the budgets select it: a bit each of the first. */
static uint64_t answer_of(struct pod_seen *pod, const struct tally *tallies, size_t n, uint64_t question)
{
    if (pod->question != question) {
        pod->question = question;
        pod->answer = 0;
        for (size_t i = 0; i < n && i < ANSWERS_KEPT; i++)
            pod->answer |= (uint64_t)tally_selects(&tallies[i], pod->labels) << i;
    }
    return pod->answer;
}

/* What the budgets ask for: their uids, and the generation, which changes with the spec. */
static uint64_t question_of(const struct tally *tallies, size_t n)
{
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++) {
        const struct json *metadata = json_get(tallies[i].budget, "metadata");
        int64_t generation = json_get_int64(metadata, "generation", 0);
        struct bytes uid = json_bytes(json_get(metadata, "uid"));
        hash = hash_bytes(uid.data, uid.n, hash_bytes(&generation, sizeof generation, hash));
    }
    return hash;
}

/* Those of one namespace, one look at each of its pods for all of them. */
static void tallies_fill(struct apiserver *s, struct arena *a, struct pod_standings *known, struct tally *tallies, size_t n)
{
    struct store_cursor *c = store_list(s->store, store_kind(s->store, "", "pods"), budget_namespace(tallies->budget), NULL);
    const struct store_object *o;
    uint64_t question = question_of(tallies, n);
    while ((o = store_list_next(c))) {
        struct pod_seen *pod = pod_standings_of(known, o);
        uint64_t answer = answer_of(pod, tallies, n, question);
        for (size_t i = 0; i < n; i++)
            if (i < ANSWERS_KEPT ? answer >> i & 1 : tally_selects(&tallies[i], pod->labels))
                tally_add(&tallies[i], s, a, o, &pod->standing);
    }
    store_list_free(c);
}

void eviction_budgets_refresh(struct apiserver *s, struct pod_standings *known)
{
    const struct kind *k = kind_find(s->kinds, POLICY_GROUP, BUDGETS);
    _cleanup_arena_ struct arena *a = arena_new();
    size_t n = 0, most = k ? store_count(s->store, store_kind(s->store, POLICY_GROUP, BUDGETS)) : 0;
    struct tally *tallies = arena_zero(a, most, sizeof *tallies);
    if (most == 0)
        return;
    struct store_cursor *c = store_list(s->store, store_kind(s->store, POLICY_GROUP, BUDGETS), NULL, NULL);
    const struct store_object *o;
    while (n < most && (o = store_list_next(c)))
        tally_begin(&tallies[n++], a, object_parse(a, o->body));
    store_list_free(c);
    pod_standings_begin(known);
    for (size_t first = 0, next; first < n; first = next) { /* ORDER by namespace */
        const char *ns = budget_namespace(tallies[first].budget);
        for (next = first + 1; next < n && strcmp(budget_namespace(tallies[next].budget), ns) == 0;)
            next++;
        tallies_fill(s, a, known, &tallies[first], next - first);
    }
    pod_standings_end(known);
    for (size_t i = 0; i < n; i++) {
        struct eviction_budget b = tally_end(&tallies[i]);
        /* A budget that is gone meanwhile needs no status. */
        (void)object_modify(s, k, budget_namespace(tallies[i].budget), b.name, a, status_put, &b, WRITE_OWN_STATUS, NULL, NULL);
    }
}
