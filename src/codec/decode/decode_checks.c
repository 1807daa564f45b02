/* decode_checks.c - admission checks: what a ClusterQueue demands, what a Workload was answered, and what the answers add to its pods;
 * flavors that it passes over, and starts that are promised */
#include "base/clock.h"
#include "codec/decode/decode_part.h"
#include "codec/kinds/placement_names.h"
#include "codec/kinds/scale_up_names.h"
#include "codec/kinds/waiting_names.h"
#include "core/time/forecast.h"

static const struct json *list_of(const struct json *v)
{
    return json_is(v, JSON_ARRAY) ? v : NULL;
}

static struct queue_check check_of(const struct decoder *d, const struct json *check)
{
    const struct json *flavors = list_of(json_get(check, "onFlavors"));
    struct queue_check q = {.name = decode_name(d, json_is(check, JSON_STRING) ? check : json_get(check, "name"))};
    name_id *names = flavors && flavors->n ? arena_alloc(d->arena, flavors->n * sizeof *names) : NULL;
    JSON_EACH (flavor, names ? flavors : NULL)
        names[q.flavors_n++] = decode_name(d, flavor);
    q.flavors = names;
    return q;
}

void decode_queue_checks(const struct decoder *d, const struct json *spec, struct queue_record *q)
{
    const struct json *lists[] = {list_of(json_path(spec, "admissionChecksStrategy", "admissionChecks", NULL)),
                                  list_of(json_get(spec, "admissionChecks"))}; /* v1beta1 */
    struct queue_check *all = arena_zero(d->arena, (lists[0] ? lists[0]->n : 0) + (lists[1] ? lists[1]->n : 0) + 1u, sizeof *all);
    for (int i = 0; i < 2; i++)
        JSON_EACH (check, lists[i])
            all[q->checks_n++] = check_of(d, check);
    q->checks = all;
}

static enum check_state state_of(struct bytes text)
{
    return bytes_is(text, "Ready")      ? CHECK_READY
           : bytes_is(text, "Retry")    ? CHECK_RETRY
           : bytes_is(text, "Rejected") ? CHECK_REJECTED
                                        : CHECK_PENDING;
}

void decode_gang_checks(const struct decoder *d, const struct json *object, struct gang_record *g)
{
    const struct json *list = list_of(json_path(object, "status", "admissionChecks", NULL));
    struct gang_check *all = list && list->n ? arena_alloc(d->arena, list->n * sizeof *all) : NULL;
    JSON_EACH (check, all ? list : NULL)
        all[g->checks_n++] = (struct gang_check){decode_name(d, json_get(check, "name")), state_of(json_bytes(json_get(check, "state")))};
    g->checks = all;
}

/* Whoever reserved it says nothing of that: we leave word of what it waits for now, in the same write. */
bool decode_reserved_by_us(const struct json *object)
{
    const struct json *waits = decode_condition(object, OBJECT_WAITING);
    struct bytes why = json_bytes(json_get(waits, "reason"));
    return bytes_is(json_bytes(json_get(waits, "status")), "True") &&
           (bytes_is(why, OBJECT_AWAITS_CHECKS) || bytes_is(why, OBJECT_AWAITS_PLACES));
}

bool decode_waits_for_machines(const struct json *object)
{
    JSON_EACH (check, list_of(json_path(object, "status", "admissionChecks", NULL)))
        JSON_EACH (update, state_of(json_bytes(json_get(check, "state"))) == CHECK_READY ? list_of(json_get(check, "podSetUpdates")) : NULL)
            if (json_get(json_get(update, "annotations"), SCALE_UP_ANNOTATION))
                return true;
    return false;
}

/* ---- pod templates ---- */

static void add_members(struct arena *a, const struct json *from, struct json *parent, const char *key)
{
    struct json *to = json_is(from, JSON_OBJECT) && from->n ? json_ensure_object(a, parent, key) : NULL;
    JSON_EACH (member, to ? from : NULL)
        if (!json_get(to, member->key))
            json_set(a, to, arena_text(a, member->key), json_clone(a, member));
}

static void add_update(struct arena *a, const struct json *update, struct json *pod_template)
{
    struct json *spec = json_ensure_object(a, pod_template, "spec");
    const struct json *tolerations = list_of(json_get(update, "tolerations"));
    add_members(a, json_get(update, "labels"), json_ensure_object(a, pod_template, "metadata"), "labels");
    add_members(a, json_get(update, "nodeSelector"), spec, "nodeSelector");
    struct json *to = tolerations && tolerations->n ? json_ensure_array(a, spec, "tolerations") : NULL;
    JSON_EACH (toleration, to ? tolerations : NULL)
        json_append(to, json_clone(a, toleration));
}

/* WHY  its pods will be made with what the checks add, so places are looked for with that; only once it has quota, as flavors are chosen
 * without it. */
const struct json *decode_updated_template(const struct decoder *d, const struct json *object, const char *set,
                                           const struct json *pod_template)
{
    struct json *updated = NULL;
    if (!decode_condition_true(object, "QuotaReserved"))
        return pod_template;
    JSON_EACH (check, list_of(json_path(object, "status", "admissionChecks", NULL)))
        JSON_EACH (update, list_of(json_get(check, "podSetUpdates"))) {
            if (!bytes_equal(json_bytes(json_get(update, "name")), bytes_of(set)))
                continue;
            if (!updated)
                updated = json_is(pod_template, JSON_OBJECT) ? json_clone(d->arena, pod_template) : json_new(d->arena, JSON_OBJECT);
            add_update(d->arena, update, updated);
        }
    return updated ? updated : pod_template;
}

/* ---- flavors that are passed over ----
 *
 *   Workload  condition capstan.dev/PassedOver, as sched/checks/passed_over.h writes it:
 *             {"until":"2026-01-31T12:00:00Z","flavors":{"spot":{"karpenter.sh/nodepool":"spot"}}}
 *
 * SHAPE  node affinity: of each term there is, one more for each label of a flavor, with that label NotIn its value.
 * LIMIT  TERMS_MOST; what would need more is left as it is: the flavor is tried again, no more.
 */

enum { TERMS_MOST = 64 };
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"

static bool is_given(const struct json *object, const struct json *flavors)
{
    JSON_EACH (set, json_path(object, "status", "admission", "podSetAssignments", NULL))
        JSON_EACH (flavor, json_get(set, "flavors"))
            if (json_get_n(flavors, json_bytes(flavor)))
                return true;
    return false;
}

static struct json *not_in(struct arena *a, const struct json *label)
{
    struct json *e = json_new(a, JSON_OBJECT);
    json_set_text(a, e, "key", label->key);
    json_set_text(a, e, "operator", "NotIn");
    json_append(json_ensure_array(a, e, "values"), json_clone(a, label));
    return e;
}

/* TERMS, each without one of the labels; NULL: they would be too many. */
static struct json *terms_without(struct arena *a, const struct json *terms, const struct json *labels)
{
    struct json *all = json_new(a, JSON_ARRAY);
    if ((uint64_t)terms->n * labels->n > TERMS_MOST)
        return NULL;
    JSON_EACH (term, terms)
        JSON_EACH (label, labels) {
            struct json *copy = json_clone(a, term);
            json_append(json_ensure_array(a, copy, "matchExpressions"), not_in(a, label));
            json_append(all, copy);
        }
    return all;
}

const struct json *decode_passed_over(const struct decoder *d, const struct json *object, const struct json *pod_template)
{
    const struct json *said = decode_condition(object, OBJECT_PASSED_OVER);
    if (!said || !bytes_is(json_bytes(json_get(said, "status")), "True") || !json_is(pod_template, JSON_OBJECT))
        return pod_template;
    const struct json *flavors = json_get(json_parse(d->arena, json_bytes(json_get(said, "message")), NULL, NULL), "flavors");
    if (!json_is(flavors, JSON_OBJECT) || !flavors->n || (decode_condition_true(object, "QuotaReserved") && is_given(object, flavors)))
        return pod_template;
    const struct json *was = json_path(pod_template, "spec", "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms", NULL);
    struct json *terms = json_new(d->arena, JSON_ARRAY);
    JSON_EACH (term, json_is(was, JSON_ARRAY) ? was : NULL)
        if (json_is(term, JSON_OBJECT) && term->n) /* one that says nothing matches no node */
            json_append(terms, json_clone(d->arena, term));
    if (!json_is(was, JSON_ARRAY))
        json_append(terms, json_new(d->arena, JSON_OBJECT));
    JSON_EACH (labels, flavors) {
        struct json *more = json_is(labels, JSON_OBJECT) && labels->n ? terms_without(d->arena, terms, labels) : NULL;
        terms = more ? more : terms;
    }
    if (!terms->n || !json_first(terms)->n)
        return pod_template; /* there is no term that matches a node, or no flavor had a label */
    struct json *copy = json_clone(d->arena, pod_template), *node = json_ensure_object(d->arena, copy, "spec");
    static const char *const path[] = {"affinity", "nodeAffinity", REQUIRED};
    for (size_t i = 0; i < sizeof path / sizeof *path; i++)
        node = json_ensure_object(d->arena, node, path[i]);
    json_set(d->arena, node, "nodeSelectorTerms", terms);
    return copy;
}

/* ---- starts that are promised ----
 *
 *   ClusterQueue  metadata.annotations[capstan.dev/backfill]: easy | conservative | none
 *   Workload      condition capstan.dev/Promised, as status_promised.c writes it:
 *                 {"start":"2026-01-31T12:00:00Z","from":["limits","runs"],"borrows":true,
 *                  "nodes":{"main":{"gpu-1":2,"gpu-2":1}},"quota":{"a100":{"cpu":"8","nvidia.com/gpu":"3"}}}
 *
 * What is not as it is written there is no promise: the scheduler finds another one.
 */

bool decode_backfill(struct bytes text, enum queue_backfill *ret_backfill)
{
    *ret_backfill = bytes_is(text, "easy") ? BACKFILL_EASY : bytes_is(text, "conservative") ? BACKFILL_CONSERVATIVE : BACKFILL_NONE;
    return *ret_backfill != BACKFILL_NONE || bytes_is(text, "none");
}

/* ---- who may be moved ----
 *
 *   ClusterQueue   metadata.annotations[capstan.dev/move-cost-seconds]: GPU-seconds for each GPU; 0 as if it were not there
 *   job, Workload  metadata.annotations[capstan.dev/movable]: "false"
 */

bool decode_move_cost(struct bytes text, int32_t *ret_s)
{
    int64_t seconds;
    bool read = bytes_int64(text, &seconds) && seconds >= 0 && seconds <= DECODE_MOVE_COST_MOST_S;
    *ret_s = read ? (int32_t)seconds : 0;
    return read;
}

/* ---- how nodes are chosen for a queue ----
 *
 *   ClusterQueue, Volcano's Queue  metadata.annotations[capstan.dev/placement]: a policy by its name
 *   ClusterQueue                   condition capstan.dev/Placement, as status_queue.c writes it: "... fgd"
 */

bool decode_placement(const struct json *name, enum placement *ret_placement)
{
    struct bytes text = json_bytes(name);
    char word[16];
    if (!text.n || text.n >= sizeof word)
        return false;
    memcpy(word, text.data, text.n);
    word[text.n] = '\0';
    return placement_named(word, ret_placement);
}

struct queue_placement decode_queue_placement(const struct json *object, struct arena *a)
{
    const struct json *note = json_path(object, "metadata", "annotations", DECODE_PLACEMENT_ANNOTATION, NULL);
    struct queue_placement p = {0};
    if (!note || (json_is(note, JSON_STRING) && !json_bytes(note).n))
        return p;
    p.own = decode_placement(note, &p.by);
    if (p.own)
        return p;
    struct bytes kept = json_bytes(json_get(decode_condition(object, QUEUE_PLACEMENT), "message"));
    const char *text = arena_text_n(a, kept.data, kept.n), *last = strrchr(text, ' ');
    p.own = last && placement_named(last + 1, &p.by);
    p.unread = true;
    return p;
}

static uint32_t members_n(const struct json *objects)
{
    uint32_t n = 0;
    JSON_EACH (one, json_is(objects, JSON_OBJECT) ? objects : NULL)
        n += json_is(one, JSON_OBJECT) ? one->n : 0;
    return n;
}

static int32_t set_of(const struct decoder *d, const struct gang_record *g, const char *name)
{
    name_id id = intern_find(d->names, bytes_of(name));
    for (uint32_t i = 0; i < g->pod_sets_n; i++)
        if (id && g->pod_sets[i].name == id)
            return (int32_t)i;
    return -1;
}

static bool decode_places(const struct decoder *d, const struct json *nodes, const struct gang_record *g, struct booking_record *b)
{
    struct booked_place *all = arena_alloc(d->arena, (members_n(nodes) + 1) * sizeof *all);
    b->places = all;
    JSON_EACH (set, json_is(nodes, JSON_OBJECT) ? nodes : NULL) {
        int32_t at = set_of(d, g, set->key);
        int64_t left = at < 0 ? 0 : g->pod_sets[at].count;
        JSON_EACH (node, json_is(set, JSON_OBJECT) ? set : NULL) {
            int64_t n = json_int64(node, 0);
            if (n <= 0 || n > left)
                return false;
            left -= n;
            all[b->places_n++] = (struct booked_place){(uint16_t)at, intern_text_id(d->names, node->key), (int32_t)n};
        }
    }
    return true;
}

static bool decode_quota(const struct decoder *d, const struct json *flavors, struct booking_record *b)
{
    struct booked_quota *all = arena_alloc(d->arena, (members_n(flavors) + 1) * sizeof *all);
    b->quota = all;
    JSON_EACH (flavor, json_is(flavors, JSON_OBJECT) ? flavors : NULL) {
        const struct amount *amounts;
        uint32_t n;
        struct err unused;
        if (!json_is(flavor, JSON_OBJECT) || decode_amounts(d, flavor, "", &amounts, &n, &unused) < 0)
            return false;
        for (uint32_t i = 0; i < n; i++)
            all[b->quota_n++] = (struct booked_quota){intern_text_id(d->names, flavor->key), amounts[i].resource, amounts[i].value};
    }
    return b->quota_n > 0;
}

void decode_booking(const struct decoder *d, const struct json *object, struct gang_record *g)
{
    const struct json *said = decode_condition(object, OBJECT_PROMISED);
    struct booking_record b = {0};
    if (!said || !bytes_is(json_bytes(json_get(said, "status")), "True"))
        return;
    const struct json *note = json_parse(d->arena, json_bytes(json_get(said, "message")), NULL, NULL);
    if (!json_is(note, JSON_OBJECT) || !time_parse(json_bytes(json_get(note, "start")), &b.start_ms) || b.start_ms <= 0 ||
        !decode_places(d, json_get(note, "nodes"), g, &b) || !decode_quota(d, json_get(note, "quota"), &b))
        return;
    b.borrows = json_get_bool(note, "borrows", false);
    JSON_EACH (from, json_is(json_get(note, "from"), JSON_ARRAY) ? json_get(note, "from") : NULL)
        b.basis |= bytes_is(json_bytes(from), "limits") ? END_BY_LIMIT : bytes_is(json_bytes(from), "runs") ? END_BY_RUNS : 0;
    struct booking_record *kept = arena_alloc(d->arena, sizeof *kept);
    *kept = b;
    g->booking = kept;
}
