/* provisioning_state.c - from the conditions of a ProvisioningRequest to the state of its admission check; see provisioning_request.h
 *
 *   Failed, or BookingExpired before the start     Retry while attempts are left, with the time to wait; then Rejected
 *   CapacityRevoked                                Rejected: its nodes are going away
 *   Provisioned                                    Ready, with what the pods need to be let onto the nodes
 *   else                                           Pending
 *
 * ORDER  as here: the first that holds.
 */
#include "jobs/provisioning/provisioning_request.h"
#include "base/clock.h"

#define CONSUME PROVISIONING_GROUP "/consume-provisioning-request"
#define CLASS PROVISIONING_GROUP "/provisioning-class-name"
enum { BACKOFF_LIMIT = 3, BACKOFF_BASE_S = 60, BACKOFF_MOST_S = 1800 }; /* where the config says nothing */

static const char *message_of(const struct provisioning_check *c, const char *type)
{
    return json_get_text(object_condition(c->request, type), "message", "");
}

static bool holds(const struct provisioning_check *c, const char *type)
{
    return object_condition_true(c->request, type);
}

/* The places were given up before they were used. */
static bool has_expired(const struct provisioning_check *c)
{
    return holds(c, "BookingExpired") && !object_condition_true(c->workload, "Admitted");
}

static int64_t tried_n(const struct provisioning_check *c)
{
    return json_get_int64(c->state, "retryCount", 0);
}

static int64_t strategy(const struct provisioning_check *c, const char *key, int64_t otherwise)
{
    return json_get_int64(json_path(c->config, "spec", "retryStrategy", NULL), key, otherwise);
}

/* base, twice that, four times ... at most `most`. */
static int64_t backoff_s(const struct provisioning_check *c)
{
    int64_t wait_s = strategy(c, "backoffBaseSeconds", BACKOFF_BASE_S), most_s = strategy(c, "backoffMaxSeconds", BACKOFF_MOST_S);
    for (int64_t n = 0; n < tried_n(c) && wait_s > 0 && wait_s < most_s; n++)
        wait_s *= 2;
    return wait_s < most_s ? wait_s : most_s;
}

static void set_state(struct arena *a, struct json *entry, const char *state, const char *message)
{
    json_set_text(a, entry, "state", state);
    json_set_text(a, entry, "message", message);
}

static void try_again(struct arena *a, const struct provisioning_check *c, struct json *entry, const char *type, const char *what)
{
    if (c->attempt > strategy(c, "backoffLimitCount", BACKOFF_LIMIT)) {
        set_state(a, entry, "Rejected", message_of(c, type));
        return;
    }
    json_set_text(a, entry, "message", arena_printf(a, "Retrying after %s: %s", what, message_of(c, type)));
    if (c->attempt <= tried_n(c))
        return; /* it has been said of this one */
    json_set_text(a, entry, "state", "Retry");
    json_set_int64(a, entry, "requeueAfterSeconds", backoff_s(c));
}

/* ---- what the pods get ---- */

static struct json *update_of(struct arena *a, const struct provisioning_check *c, const char *pod_set)
{
    struct json *update = json_new(a, JSON_OBJECT), *annotations = json_ensure_object(a, update, "annotations");
    json_set_text(a, update, "name", pod_set);
    json_set_text(a, annotations, CONSUME, object_meta(c->request, "name"));
    json_set_text(a, annotations, CLASS, json_get_text(json_get(c->request, "spec"), "provisioningClassName", ""));
    JSON_EACH (selector, json_path(c->config, "spec", "podSetUpdates", "nodeSelector", NULL)) {
        const char *detail = json_get_text(selector, "valueFromProvisioningClassDetail", "");
        const struct json *value = json_path(c->request, "status", "provisioningClassDetails", detail, NULL);
        if (value)
            json_set(a, json_ensure_object(a, update, "nodeSelector"), json_get_text(selector, "key", ""), json_clone(a, value));
    }
    return update;
}

static bool is_asked_for(struct arena *a, const struct json *request, const char *pod_set)
{
    const char *name = provisioning_template_name(a, object_meta(request, "name"), pod_set);
    JSON_EACH (asked, json_path(request, "spec", "podSets", NULL))
        if (strcmp(json_text(json_path(asked, "podTemplateRef", "name", NULL), ""), name) == 0)
            return true;
    return false;
}

/* WHY of all pod sets that are merged into one, where Kueue has only the first: the pods of all of them were asked for. */
static struct json *updates(struct arena *a, const struct provisioning_check *c)
{
    struct json *list = json_new(a, JSON_ARRAY);
    uint32_t n;
    const struct provisioning_set *sets = provisioning_sets(a, c->workload, c->config, &n);
    JSON_EACH (pod_set, json_path(c->workload, "spec", "podSets", NULL)) {
        const struct provisioning_set *set = provisioning_set_of(sets, n, c->config, pod_set);
        if (set && is_asked_for(a, c->request, set->name))
            json_append(list, update_of(a, c, json_get_text(pod_set, "name", "main")));
    }
    return list;
}

/* ---- the entry ---- */

static bool is_over(const struct json *workload)
{
    return object_condition_true(workload, "Finished") || !json_get_bool(json_get(workload, "spec"), "active", true);
}

/* What the request says, onto the entry. */
static void follow(struct arena *a, const struct provisioning_check *c, struct json *entry)
{
    if (holds(c, "Failed")) {
        try_again(a, c, entry, "Failed", "failure");
    } else if (holds(c, "CapacityRevoked")) {
        if (!is_over(c->workload))
            set_state(a, entry, "Rejected", message_of(c, "CapacityRevoked"));
    } else if (holds(c, "BookingExpired")) {
        if (has_expired(c))
            try_again(a, c, entry, "BookingExpired", "booking expired");
    } else if (holds(c, "Provisioned")) {
        if (strcmp(json_get_text(entry, "state", ""), "Ready") == 0)
            return;
        set_state(a, entry, "Ready", message_of(c, "Provisioned"));
        json_set(a, entry, "podSetUpdates", updates(a, c));
    } else if (!holds(c, "Accepted")) {
        set_state(a, entry, "Pending", "");
    } else if (object_condition(c->request, "Provisioned")) {
        set_state(a, entry, "Pending", message_of(c, "Provisioned")); /* when it expects to be done */
    }
}

struct json *provisioning_state(struct arena *a, const struct provisioning_check *c, int64_t now_ms)
{
    char since[TIME_TEXT_MAX];
    struct json *entry = json_clone(a, c->state);
    const char *was = json_get_text(c->state, "state", "");
    if (!c->config) {
        set_state(a, entry, "Pending", "the check is not active");
    } else if (!provisioning_is_needed(c->workload, c->config)) {
        if (strcmp(was, "Ready") == 0)
            return NULL;
        set_state(a, entry, "Ready", "the provisioning request is not needed");
        (void)json_remove(entry, "podSetUpdates");
    } else if (c->request) {
        follow(a, c, entry);
    } else if (c->failure) {
        json_set_text(a, entry, "message", c->failure);
    }
    if (json_equal(entry, c->state))
        return NULL;
    if (strcmp(was, json_get_text(entry, "state", "")) != 0)
        json_set_text(a, entry, "lastTransitionTime", arena_text(a, time_format(since, now_ms)));
    return entry;
}

int64_t provisioning_due(const struct provisioning_check *c)
{
    bool is_pending = strcmp(json_get_text(c->state, "state", "Pending"), "Pending") == 0;
    if (!c->config || !is_pending || !provisioning_is_needed(c->workload, c->config))
        return 0;
    if (!c->request)
        return tried_n(c) + 1;
    return holds(c, "Failed") || has_expired(c) ? c->attempt + 1 : 0;
}

/* ---- the check itself ---- */

#define KUEUE_GROUP "kueue.x-k8s.io"
#define CONFIG_KIND "ProvisioningRequestConfig"

static bool is_of(const struct json *parameters, const char *key, const char *wanted)
{
    return strcmp(json_get_text(parameters, key, ""), wanted) == 0;
}

const char *provisioning_config_name(const struct json *check)
{
    const struct json *parameters = json_path(check, "spec", "parameters", NULL);
    bool ours = is_of(parameters, "apiGroup", KUEUE_GROUP) && is_of(parameters, "kind", CONFIG_KIND);
    return ours ? json_get_text(parameters, "name", "") : "";
}

const char *provisioning_parameters_wrong(struct arena *a, const struct json *check, const struct json *config)
{
    const struct json *parameters = json_path(check, "spec", "parameters", NULL);
    if (!json_is(parameters, JSON_OBJECT))
        return "missing parameters reference";
    if (!*json_get_text(parameters, "name", ""))
        return "empty name: bad parameters reference";
    if (!is_of(parameters, "apiGroup", KUEUE_GROUP))
        return arena_printf(a, "wrong group \"%s\", expecting \"" KUEUE_GROUP "\": bad parameters reference",
                            json_get_text(parameters, "apiGroup", ""));
    if (!is_of(parameters, "kind", CONFIG_KIND))
        return arena_printf(a, "wrong kind \"%s\", expecting \"" CONFIG_KIND "\": bad parameters reference",
                            json_get_text(parameters, "kind", ""));
    return config ? NULL : arena_printf(a, CONFIG_KIND "." KUEUE_GROUP " \"%s\" not found", json_get_text(parameters, "name", ""));
}
