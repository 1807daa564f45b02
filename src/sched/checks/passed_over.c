#include "sched/checks/passed_over.h"
#include <string.h>
#include "base/clock.h"
#include "kube/object.h"

static const struct json *note_of(struct arena *a, const struct json *workload)
{
    const struct json *said = object_condition_true(workload, OBJECT_PASSED_OVER) ? object_condition(workload, OBJECT_PASSED_OVER) : NULL;
    const struct json *note = json_parse(a, bytes_of(json_get_text(said, "message", "")), NULL, NULL);
    return json_is(note, JSON_OBJECT) ? note : NULL;
}

int64_t passed_over_until_ms(struct arena *a, const struct json *workload)
{
    int64_t ms;
    if (!object_condition_true(workload, OBJECT_PASSED_OVER))
        return 0;
    return time_parse(json_bytes(json_get(note_of(a, workload), "until")), &ms) && ms > 0 ? ms : 1; /* what is no note is over */
}

static bool lists(const struct json *texts, const char *text)
{
    JSON_EACH (one, texts)
        if (strcmp(json_text(one, ""), text) == 0)
            return true;
    return false;
}

/* Is the check demanded of who was given this flavor? */
static bool is_checked(const struct passed_over *x, const char *flavor)
{
    const struct json *spec = json_get(x->queue, "spec");
    JSON_EACH (check, json_path(spec, "admissionChecksStrategy", "admissionChecks", NULL)) {
        const struct json *on = json_get(check, "onFlavors");
        if (strcmp(json_get_text(check, "name", ""), x->check) == 0 && (!on || !on->n || lists(on, flavor)))
            return true;
    }
    return lists(json_get(spec, "admissionChecks"), x->check); /* v1beta1 */
}

static bool is_given(const struct json *workload, const char *flavor)
{
    JSON_EACH (set, json_path(workload, "status", "admission", "podSetAssignments", NULL))
        if (lists(json_get(set, "flavors"), flavor))
            return true;
    return false;
}

static const struct json *labels_of(const struct passed_over *x, const char *flavor, struct arena *a)
{
    const struct json *labels = json_path(x->flavor(x->ctx, flavor, a), "spec", "nodeLabels", NULL);
    return json_is(labels, JSON_OBJECT) && labels->n ? labels : NULL;
}

/* Flavors of one resource group: those given are added to `flavors`, if another one is left. */
static bool pass_over(struct arena *a, const struct passed_over *x, const struct json *group, struct json *flavors)
{
    bool is_left = false, any = false;
    JSON_EACH (one, json_get(group, "flavors")) {
        const char *name = json_get_text(one, "name", "");
        bool failed = is_given(x->workload, name) && is_checked(x, name);
        is_left |= !failed && !json_get(flavors, name) && x->flavor(x->ctx, name, a);
    }
    JSON_EACH (one, is_left ? json_get(group, "flavors") : NULL) {
        const char *name = json_get_text(one, "name", "");
        const struct json *labels = is_given(x->workload, name) && is_checked(x, name) ? labels_of(x, name, a) : NULL;
        if (labels)
            json_set(a, flavors, arena_text(a, name), json_clone(a, labels));
        any |= labels != NULL;
    }
    return any;
}

struct json *passed_over_more(struct arena *a, const struct passed_over *x)
{
    const struct json *were = json_get(note_of(a, x->workload), "flavors");
    struct json *note = json_new(a, JSON_OBJECT), *flavors = json_is(were, JSON_OBJECT) ? json_clone(a, were) : json_new(a, JSON_OBJECT);
    char until[TIME_TEXT_MAX];
    bool any = false;
    JSON_EACH (group, json_path(x->queue, "spec", "resourceGroups", NULL))
        any |= pass_over(a, x, group, flavors);
    json_set_text(a, note, "until", time_format(until, x->until_ms));
    json_set(a, note, "flavors", flavors);
    return any ? note : NULL;
}

const struct json *passed_over_domains(struct arena *a, const struct json *workload, const char *key)
{
    const struct json *list = json_path(note_of(a, workload), "domains", key, NULL);
    return json_is(list, JSON_ARRAY) ? list : NULL;
}

struct json *passed_over_domain(struct arena *a, const struct json *workload, const char *key, const char *value, int64_t until_ms)
{
    const struct json *was = note_of(a, workload), *flavors = json_get(was, "flavors"), *domains = json_get(was, "domains");
    struct json *note = json_new(a, JSON_OBJECT);
    char until[TIME_TEXT_MAX];
    json_set_text(a, note, "until", time_format(until, until_ms));
    json_set(a, note, "flavors", json_is(flavors, JSON_OBJECT) ? json_clone(a, flavors) : json_new(a, JSON_OBJECT));
    json_set(a, note, "domains", json_is(domains, JSON_OBJECT) ? json_clone(a, domains) : json_new(a, JSON_OBJECT));
    json_append(json_ensure_array(a, json_get(note, "domains"), arena_text(a, key)), json_new_text(a, value));
    return note;
}

const char *passed_over_told(struct arena *a, const struct json *workload, const char *sentence)
{
    const struct json *note = note_of(a, workload), *flavors = json_get(note, "flavors");
    const char *names = "";
    JSON_EACH (flavor, json_is(flavors, JSON_OBJECT) ? flavors : NULL)
        names = arena_printf(a, "%s%s%s", names, *names ? ", " : "", flavor->key);
    return *names ? arena_printf(a, "%s (no machines of flavor %s came in time: left out until %s)", sentence, names,
                                 json_get_text(note, "until", ""))
                  : sentence;
}
