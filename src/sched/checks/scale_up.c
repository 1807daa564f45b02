#include "sched/checks/scale_up.h"
#include <string.h>
#include "base/clock.h"
#include "codec/kinds/scale_up_names.h"
#include "kube/object.h"
#include "sched/checks/passed_over.h"

#define TIMEOUT_TEXT "15m"
#define CAME_TEXT "the machines for its pods have come"
enum { LABEL_VALUE_MOST = 63, TIMEOUT_LEAST_MS = 1000, PAUSE_S = 60, PAUSE_MOST_S = 1800, SETTLE_MS = 1000 };
#define TIMEOUT_MOST_MS INT64_C(604800000) /* 7 days */

static const char *timeout_text(const struct json *check)
{
    const char *text = object_annotation(check, SCALE_UP_TIMEOUT);
    return *text ? text : TIMEOUT_TEXT;
}

/* 0: it says no time. */
static int64_t timeout_ms(const struct json *check)
{
    int64_t ms;
    return duration_parse(bytes_of(timeout_text(check)), &ms) && ms >= TIMEOUT_LEAST_MS && ms <= TIMEOUT_MOST_MS ? ms : 0;
}

const char *scale_up_wrong(struct arena *a, const struct json *check)
{
    if (json_get(json_get(check, "spec"), "parameters"))
        return "spec.parameters: " SCALE_UP_CONTROLLER " takes none; leave it out";
    if (!timeout_ms(check))
        return arena_printf(a, "metadata.annotations[" SCALE_UP_TIMEOUT "]: \"%s\" is no time from 1s to 168h; write one like 15m",
                            timeout_text(check));
    return NULL;
}

/* ---- one entry ---- */

static void set_state(struct arena *a, struct json *entry, const char *state, const char *message, int64_t now_ms)
{
    char since[TIME_TEXT_MAX];
    json_set_text(a, entry, "state", state);
    json_set_text(a, entry, "message", message);
    json_set_text(a, entry, "lastTransitionTime", arena_text(a, time_format(since, now_ms)));
}

const char *scale_up_holder(struct arena *a, const struct json *workload)
{
    const char *text = arena_printf(a, "%s.%s", object_meta(workload, "namespace"), object_meta(workload, "name"));
    return strlen(text) <= LABEL_VALUE_MOST ? text : object_meta(workload, "uid");
}

/* Of nodes that are held for it (held_nodes.h). */
static struct json *toleration(struct arena *a, const struct json *workload)
{
    struct json *t = json_new(a, JSON_OBJECT);
    json_set_text(a, t, "key", SCALE_UP_HELD);
    json_set_text(a, t, "operator", "Equal");
    json_set_text(a, t, "value", scale_up_holder(a, workload));
    json_set_text(a, t, "effect", "NoSchedule");
    return t;
}

/* The label in whose values all of its pods stand together; "": it asks for none, or has chosen a value. */
static const char *domain_key(const struct json *set)
{
    const char *key = json_text(json_path(set, "topologyRequest", "required", NULL), "");
    bool is_chosen = json_get(json_path(set, "template", "spec", "nodeSelector", NULL), key) != NULL;
    return is_chosen || strcmp(key, "kubernetes.io/hostname") == 0 ? "" : key;
}

/* What the pods of each set carry. WHY do-not-disrupt: an autoscaler that moves one member to a cheaper node ends all of them; who has
 * written the annotation himself has decided. The domain: an autoscaler buys pod by pod, in any of them. */
static struct json *updates(struct arena *a, const struct scale_up *x, const struct json *check)
{
    const struct json *workload = x->workload;
    struct json *list = json_new(a, JSON_ARRAY);
    JSON_EACH (set, json_path(workload, "spec", "podSets", NULL)) {
        const char *key = domain_key(set),
                   *domain = *key && x->domain ? x->domain(x->domain_ctx, key, passed_over_domains(a, workload, key), a) : NULL;
        struct json *update = json_new(a, JSON_OBJECT), *annotations = json_ensure_object(a, update, "annotations");
        json_set_text(a, update, "name", json_get_text(set, "name", "main"));
        json_set_text(a, annotations, SCALE_UP_ANNOTATION, timeout_text(check));
        if (!json_get(json_path(set, "template", "metadata", "annotations", NULL), MACHINE_KEEP))
            json_set_text(a, annotations, MACHINE_KEEP, "true");
        if (domain)
            json_set_text(a, json_ensure_object(a, update, "nodeSelector"), arena_text(a, key), domain);
        json_append(json_ensure_array(a, update, "tolerations"), toleration(a, workload));
        json_append(list, update);
    }
    return list;
}

static bool tolerates_holds(const struct json *entry, const char *holder)
{
    JSON_EACH (update, json_get(entry, "podSetUpdates"))
        JSON_EACH (toleration, json_get(update, "tolerations"))
            if (strcmp(json_get_text(toleration, "key", ""), SCALE_UP_HELD) == 0 &&
                strcmp(json_get_text(toleration, "value", ""), holder) == 0)
                return true;
    return false;
}

bool scale_up_waits(struct arena *a, const struct json *workload)
{
    if (object_deleting(workload) || !object_condition_true(workload, "Admitted") || object_condition_true(workload, "Evicted") ||
        object_condition_true(workload, "Finished"))
        return false;
    JSON_EACH (entry, json_path(workload, "status", "admissionChecks", NULL))
        if (strcmp(json_get_text(entry, "state", ""), "Ready") == 0 && strcmp(json_get_text(entry, "message", ""), CAME_TEXT) != 0 &&
            tolerates_holds(entry, scale_up_holder(a, workload)))
            return true;
    return false;
}

/* Since when it has waited for machines, if it does; 0: it does not, or they have come. */
static int64_t waits_since_ms(const struct scale_up *x, const struct json *entry)
{
    int64_t ms;
    const struct json *admitted = object_condition(x->workload, "Admitted");
    if (strcmp(json_get_text(entry, "state", ""), "Ready") != 0 || strcmp(json_get_text(entry, "message", ""), CAME_TEXT) == 0 ||
        !object_condition_true(x->workload, "Admitted") || !time_parse(bytes_of(json_get_text(admitted, "lastTransitionTime", "")), &ms))
        return 0;
    return ms > x->bound_ms ? ms : x->bound_ms;
}

static int64_t pause_s(const struct json *entry)
{
    int64_t tried = json_get_int64(entry, "retryCount", 0);
    int64_t s = tried >= 0 && tried < 5 ? PAUSE_S << tried : PAUSE_MOST_S;
    return s < PAUSE_MOST_S ? s : PAUSE_MOST_S;
}

/* The domain whose machines did not come is left out, if there is another of this flavor; NULL: there is none. */
static struct json *next_domain(struct arena *a, const struct scale_up *x, const struct json *entry, int64_t until_ms)
{
    JSON_EACH (update, x->domain ? json_get(entry, "podSetUpdates") : NULL) {
        const struct json *held = json_first(json_get(update, "nodeSelector"));
        struct json *note = held ? passed_over_domain(a, x->workload, held->key, json_text(held, ""), until_ms) : NULL;
        if (note && x->domain(x->domain_ctx, held->key, json_path(note, "domains", held->key, NULL), a))
            return note;
    }
    return NULL;
}

/* It gives its quota back, and comes again at once for another domain or flavor, or for this one after a pause. */
static void retry(struct arena *a, const struct scale_up *x, const struct json *check, struct json *entry, struct scale_up_said *said)
{
    const struct passed_over p = {.workload = x->workload, .queue = x->queue, .check = object_meta(check, "name"), .flavor = x->find_flavor,
                                  .ctx = x->ctx, .until_ms = x->now_ms + pause_s(entry) * 1000};
    struct json *next = next_domain(a, x, entry, p.until_ms), *more = next ? next : passed_over_more(a, &p);
    said->passed_over = more ? more : said->passed_over;
    said->is_retried = true;
    const char *why = x->hopeless ? arena_printf(a, "no machines can come for its pods: %s", x->hopeless)
                                  : arena_printf(a, "the machines for its pods did not come within %s", timeout_text(check));
    set_state(a, entry, "Retry", arena_printf(a, "%s%s", why, next ? "; another domain is tried now" : more ? "; the other flavors of its queue are tried first now" : ""),
              x->now_ms);
    if (!more)
        json_set_int64(a, entry, "requeueAfterSeconds", pause_s(entry));
}

/* True: the entry was changed. */
static bool follow(struct arena *a, const struct scale_up *x, const struct json *check, struct json *entry, struct scale_up_said *said)
{
    const char *is = json_get_text(entry, "state", "Pending");
    bool is_pending = strcmp(is, "Pending") == 0;
    bool is_hopeless = x->hopeless && !x->stands && (is_pending || waits_since_ms(x, entry));
    if (is_hopeless && !json_path(x->workload, "status", "admission", NULL))
        return false; /* which flavors it was given is said first: those are left out then */
    if (is_hopeless) {
        retry(a, x, check, entry, said);
        return true;
    }
    if (is_pending) {
        set_state(a, entry, "Ready", arena_printf(a, "machines for its pods have %s to come", timeout_text(check)), x->now_ms);
        json_set(a, entry, "podSetUpdates", updates(a, x, check));
        return true;
    }
    int64_t since_ms = waits_since_ms(x, entry), left_ms = since_ms + timeout_ms(check) - x->now_ms;
    if (!since_ms)
        return false;
    left_ms = left_ms <= 0 && !x->is_settled ? SETTLE_MS : left_ms;
    if (left_ms > 0) {
        said->again_ms = said->again_ms && said->again_ms < left_ms ? said->again_ms : left_ms;
        return false;
    }
    if (x->stands) { /* WHY written: a scheduler that starts anew may not see them at first, or meet them while one is replaced */
        json_set_text(a, entry, "message", CAME_TEXT);
        return true;
    }
    retry(a, x, check, entry, said);
    return true;
}

struct scale_up_said scale_up_followed(struct arena *a, const struct scale_up *x, const struct json *list)
{
    struct scale_up_said said = {0};
    struct json *now = json_new(a, JSON_ARRAY);
    bool changed = false;
    JSON_EACH (state, json_is(list, JSON_ARRAY) ? list : NULL) {
        const struct json *check = x->find(x->ctx, json_get_text(state, "name", ""), a);
        struct json *entry = json_clone(a, state);
        if (check && strcmp(json_get_text(json_get(check, "spec"), "controllerName", ""), SCALE_UP_CONTROLLER) == 0 && timeout_ms(check))
            changed |= follow(a, x, check, entry, &said);
        json_append(now, entry);
    }
    said.list = changed ? now : NULL;
    return said;
}
