#include "apiserver/lifecycle/eviction_budget.h"

#include <stdio.h>
#include "apiserver/apply/object_change.h"
#include "apiserver/store/object.h"
#include "apiserver/store/selector.h"
#include "codec/kinds/label_selector.h"
#include "wire/json_reader.h"

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

/* ---- what budgets ask of a stored pod, read from its text. WHY each pod of the namespace is asked, again and again ---- */

struct standing {
    bool has_ended, is_ready, is_leaving;
    bool has_controller;
    char controller[64]; /* its uid */
};

static void read_owners(struct json_reader *r, struct buf *scratch, struct standing *p)
{
    if (!json_reader_array(r))
        return;
    while (json_reader_item(r)) {
        struct bytes key, uid = {0};
        bool controls = false;
        if (!json_reader_object(r))
            continue;
        while (json_reader_key(r, &key)) {
            if (bytes_is(key, "uid"))
                (void)json_reader_string(r, scratch, &uid);
            else if (bytes_is(key, "controller"))
                (void)json_reader_bool(r, &controls);
            else
                json_reader_skip(r);
        }
        if (!controls || p->has_controller)
            continue;
        p->has_controller = true;
        (void)snprintf(p->controller, sizeof p->controller, "%.*s", (int)(uid.n < 63 ? uid.n : 63), uid.n ? uid.data : "");
    }
}

static void read_conditions(struct json_reader *r, struct buf *scratch, struct standing *p)
{
    bool known = false;
    if (!json_reader_array(r))
        return;
    while (json_reader_item(r)) {
        struct bytes key, text;
        bool is_ready = false, holds = false;
        if (!json_reader_object(r))
            continue;
        while (json_reader_key(r, &key)) {
            if (bytes_is(key, "type"))
                is_ready = json_reader_string(r, scratch, &text) && bytes_is(text, "Ready");
            else if (bytes_is(key, "status"))
                holds = json_reader_string(r, scratch, &text) && bytes_is(text, "True");
            else
                json_reader_skip(r);
        }
        if (is_ready && !known)
            p->is_ready = holds;
        known |= is_ready;
    }
}

static void read_metadata(struct json_reader *r, struct buf *scratch, struct standing *p)
{
    struct bytes key;
    if (!json_reader_object(r))
        return;
    while (json_reader_key(r, &key)) {
        if (bytes_is(key, "ownerReferences")) {
            read_owners(r, scratch, p);
            continue;
        }
        if (bytes_is(key, "deletionTimestamp"))
            p->is_leaving = json_reader_peek(r) == JSON_STRING;
        json_reader_skip(r);
    }
}

static void read_status(struct json_reader *r, struct buf *scratch, struct standing *p)
{
    struct bytes key, phase;
    if (!json_reader_object(r))
        return;
    while (json_reader_key(r, &key)) {
        if (bytes_is(key, "phase"))
            p->has_ended = json_reader_string(r, scratch, &phase) && (bytes_is(phase, "Succeeded") || bytes_is(phase, "Failed"));
        else if (bytes_is(key, "conditions"))
            read_conditions(r, scratch, p);
        else
            json_reader_skip(r);
    }
}

static struct standing standing_of(struct bytes body)
{
    struct standing p = {0};
    struct json_reader r;
    struct bytes key;
    _cleanup_buf_ struct buf scratch = {0};
    json_reader_init(&r, body);
    if (!json_reader_object(&r))
        return p;
    while (json_reader_key(&r, &key)) {
        if (bytes_is(key, "metadata"))
            read_metadata(&r, &scratch, &p);
        else if (bytes_is(key, "status"))
            read_status(&r, &scratch, &p);
        else
            json_reader_skip(&r);
    }
    return p;
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

/* The object that says how many: the controller, or the Deployment above its ReplicaSet. NULL: it says nothing of the kind. */
static const struct json *scale_find(struct apiserver *s, struct arena *a, const char *ns, const struct json *object)
{
    const struct json *found = NULL, *owner;
    for (int level = 0; level < 2 && (owner = controller_of(object)); level++) {
        const struct kind *k = object_kind_named(s, a, owner);
        object = k && (k->flags & KIND_SCALE) ? object_read(s, a, k, ns, json_get_text(owner, "name", "")) : NULL;
        const char *uid = json_text(json_path(object, "metadata", "uid", NULL), "");
        if (!object || strcmp(uid, json_get_text(owner, "uid", "")) != 0)
            break;
        found = object;
    }
    return found;
}

/* One more pod that the budget selects: it counts alone, or its controller counts once for all that it should have. WHY  a pod that has
 * gone and is not replaced yet would make the share of those that may be away larger. */
static void scales_add(struct scales *scales, struct apiserver *s, struct arena *a, const struct store_object *o, const struct standing *p)
{
    const char *uid = p->controller;
    bool owner = p->has_controller;
    if (owner && json_get(scales->seen, uid)) {
        scales->expected += json_get_int64(scales->seen, uid, 0) < 0;
        return;
    }
    const struct json *scale = owner ? scale_find(s, a, o->ns, object_parse(a, o->body)) : NULL;
    int64_t replicas = scale ? json_int64(json_path(scale, "spec", "replicas", NULL), 1) : -1;
    const char *top = json_text(json_path(scale, "metadata", "uid", NULL), "");
    bool is_known = scale && json_get(scales->seen, top); /* another ReplicaSet of the same Deployment */
    if (owner)
        json_set_int64(a, scales->seen, arena_text(a, uid), scale ? 0 : -1);
    if (scale)
        json_set_int64(a, scales->seen, top, 0);
    scales->expected += is_known ? 0 : scale ? replicas : 1;
}

void eviction_budget_count(struct apiserver *s, struct arena *a, const struct json *budget,
                           struct eviction_budget *ret_b)
{
    const struct json *spec = json_get(budget, "spec"), *least = json_get(spec, "minAvailable"),
                      *most = json_get(spec, "maxUnavailable");
    struct eviction_budget b = {.name = json_text(json_path(budget, "metadata", "name", NULL), "")};
    const char *ns = json_text(json_path(budget, "metadata", "namespace", NULL), "");
    struct scales scales = {.seen = json_new(a, JSON_OBJECT)};
    struct bytes text = json_bytes(least);
    struct selector selected;
    bool selects_any = selector_of_object(a, json_get(spec, "selector"), &selected);
    bool by_scale = !least || (text.n && text.data[text.n - 1] == '%');
    struct store_cursor *c = store_list(s->store, store_kind(s->store, "", "pods"), ns, NULL);
    const struct store_object *o;
    while ((o = store_list_next(c))) {
        struct bytes body = {o->body->data, o->body->n};
        if (!selects_any || !selector_match(&selected, body))
            continue;
        const struct standing pod = standing_of(body);
        if (pod.has_ended)
            continue;
        if (by_scale)
            scales_add(&scales, s, a, o, &pod);
        b.expected++;
        b.healthy += pod.is_ready && !pod.is_leaving;
    }
    store_list_free(c);
    if (by_scale)
        b.expected = scales.expected;
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
        json_append(budgets, object_parse(a, o->body));
    store_list_free(c);
    JSON_EACH (budget, budgets) {
        struct eviction_budget b;
        eviction_budget_count(s, a, budget, &b);
        /* A budget that is gone meanwhile needs no status. */
        (void)object_modify(s, k, json_text(json_path(budget, "metadata", "namespace", NULL), ""), b.name, a,
                            status_put, &b, WRITE_OWN_STATUS, NULL, NULL);
    }
}
