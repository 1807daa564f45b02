#include "sched/checks/check_list.h"
#include <string.h>
#include "base/clock.h"

static const struct json *states_of(const struct json *workload)
{
    const struct json *list = json_path(workload, "status", "admissionChecks", NULL);
    return json_is(list, JSON_ARRAY) ? list : NULL;
}

static const char *name_of(const struct json *state)
{
    return json_get_text(state, "name", "");
}

static bool is_in(const struct json *state, const char *which)
{
    return strcmp(json_get_text(state, "state", "Pending"), which) == 0;
}

/* ---- what is demanded ---- */

static bool lists(const struct json *texts, const char *text)
{
    JSON_EACH (one, texts)
        if (strcmp(json_text(one, ""), text) == 0)
            return true;
    return false;
}

static bool is_for_given(const struct json *flavors, const struct json *admission)
{
    JSON_EACH (set, json_get(admission, "podSetAssignments"))
        JSON_EACH (flavor, json_get(set, "flavors"))
            if (!flavors || !flavors->n || lists(flavors, json_text(flavor, "")))
                return true;
    return false;
}

bool check_list_all_flavors(const struct json *flavors, const struct json *spec)
{
    JSON_EACH (group, flavors && flavors->n ? json_get(spec, "resourceGroups") : NULL)
        JSON_EACH (flavor, json_get(group, "flavors"))
            if (!lists(flavors, name_of(flavor)))
                return false;
    return true;
}

void check_list_add(struct arena *a, struct json **list, const char *name)
{
    struct json *sorted = json_new(a, JSON_ARRAY);
    bool added = lists(*list, name);
    JSON_EACH (one, *list) {
        if (!added && strcmp(name, json_text(one, "")) < 0) {
            json_append(sorted, json_new_text(a, name));
            added = true;
        }
        json_append(sorted, json_clone(a, one));
    }
    if (!added)
        json_append(sorted, json_new_text(a, name));
    *list = sorted;
}

struct json *check_list_demanded(struct arena *a, const struct json *queue, const struct json *admission)
{
    struct json *names = json_new(a, JSON_ARRAY);
    const struct json *spec = json_get(queue, "spec");
    JSON_EACH (check, json_path(spec, "admissionChecksStrategy", "admissionChecks", NULL)) {
        const struct json *flavors = json_get(check, "onFlavors");
        if (admission ? is_for_given(flavors, admission) : check_list_all_flavors(flavors, spec))
            check_list_add(a, &names, name_of(check));
    }
    JSON_EACH (check, json_get(spec, "admissionChecks")) /* v1beta1 */
        if (!admission || is_for_given(NULL, admission))
            check_list_add(a, &names, json_text(check, ""));
    return names;
}

/* ---- what they say ---- */

static const struct json *state_named(const struct json *workload, const char *name)
{
    JSON_EACH (state, states_of(workload))
        if (strcmp(name_of(state), name) == 0)
            return state;
    return NULL;
}

bool check_list_ready(const struct json *workload, const struct json *demanded)
{
    JSON_EACH (name, demanded) {
        const struct json *state = state_named(workload, json_text(name, ""));
        if (!state || !is_in(state, "Ready"))
            return false;
    }
    return true;
}

const char *check_list_told(struct arena *a, const struct json *workload, const char *state)
{
    struct json *names = json_new(a, JSON_ARRAY);
    JSON_EACH (one, states_of(workload))
        if (is_in(one, state))
            check_list_add(a, &names, name_of(one));
    const char *text = arena_printf(a, "AdmissionCheck%s in %s state: ", names->n > 1 ? "s" : "", state);
    JSON_EACH (name, names) {
        const char *message = json_get_text(state_named(workload, json_text(name, "")), "message", "");
        text = arena_printf(a, "%s%s\"%s\"", text, name == json_first(names) ? "" : "; ", json_text(name, ""));
        if (*message)
            text = arena_printf(a, "%s (%s)", text, message);
    }
    return names->n ? text : NULL;
}

int64_t check_list_retry_ms(const struct json *workload)
{
    int64_t last_ms = 0, since_ms;
    JSON_EACH (one, states_of(workload)) {
        int64_t after_s = json_get_int64(one, "requeueAfterSeconds", -1);
        if (!is_in(one, "Retry") || after_s < 0 || !time_parse(bytes_of(json_get_text(one, "lastTransitionTime", "")), &since_ms))
            continue;
        last_ms = since_ms + after_s * 1000 > last_ms ? since_ms + after_s * 1000 : last_ms;
    }
    return last_ms;
}

/* ---- as it should be ---- */

static struct json *pending(struct arena *a, const char *name, const char *message, int64_t now_ms)
{
    char since[TIME_TEXT_MAX];
    struct json *state = json_new(a, JSON_OBJECT);
    json_set_text(a, state, "name", name);
    json_set_text(a, state, "state", "Pending");
    json_set_text(a, state, "lastTransitionTime", arena_text(a, time_format(since, now_ms)));
    json_set_text(a, state, "message", message);
    return state;
}

struct json *check_list_synced(struct arena *a, const struct json *workload, const struct json *demanded, int64_t now_ms)
{
    struct json *list = json_new(a, JSON_ARRAY);
    const struct json *old = states_of(workload);
    bool same = (old ? old->n : 0) == demanded->n;
    JSON_EACH (name, demanded) {
        const struct json *state = state_named(workload, json_text(name, ""));
        same &= state != NULL;
        json_append(list, state ? json_clone(a, state) : pending(a, json_text(name, ""), "", now_ms));
    }
    return same ? NULL : list;
}

#define RESET_TEXT "Reset to Pending after eviction. Previously: "

/* SOURCE Kueue, for the count of one that was rejected, too. */
static struct json *reset(struct arena *a, const struct json *state, int64_t now_ms)
{
    const char *was = json_get_text(state, "state", "");
    const struct json *after = json_get(state, "requeueAfterSeconds");
    struct json *fresh = pending(a, name_of(state), arena_printf(a, RESET_TEXT "%s", was), now_ms);
    if (after)
        json_set(a, fresh, "requeueAfterSeconds", json_clone(a, after));
    int64_t tried_n = json_get_int64(state, "retryCount", 0) + is_in(state, "Retry");
    if (tried_n > 0 && (is_in(state, "Retry") || is_in(state, "Rejected")))
        json_set_int64(a, fresh, "retryCount", tried_n);
    return fresh;
}

struct json *check_list_tried_anew(struct arena *a, const struct json *list)
{
    struct json *anew = json_clone(a, list);
    bool same = true;
    JSON_EACH (state, anew)
        if (strcmp(json_get_text(state, "message", ""), RESET_TEXT "Rejected") == 0)
            same &= !json_remove(state, "retryCount");
    return same ? NULL : anew;
}

struct json *check_list_reset(struct arena *a, const struct json *workload, int64_t now_ms)
{
    struct json *list = json_new(a, JSON_ARRAY);
    bool same = true;
    JSON_EACH (state, states_of(workload)) {
        same &= is_in(state, "Pending");
        json_append(list, is_in(state, "Pending") ? json_clone(a, state) : reset(a, state, now_ms));
    }
    return same ? NULL : list;
}
