/* admission_event.c - Events, core/v1 in form
 *
 * Those that are written as core/v1 have always been taken as they came: only what has an eventTime, as newer clients write it, must say
 * who acted how. events.k8s.io/v1 demands that, wants no field of old, and lets only the series change later.
 * SOURCE Kubernetes, validation of core: ValidateEventCreate, ValidateEventUpdate.
 */
#include "codec/admission/admission_part.h"

#define NAME_MAX_BYTES 128 /* of action, reason and reportingInstance */
#define MESSAGE_MAX_BYTES 1024
#define UNMATCHED "does not match event.namespace"

static const char *text_of(const struct admission *x, const char *key)
{
    return json_get_text(x->object, key, "");
}

/* Times, numbers and objects that say nothing count as absent. */
static bool is_set(const struct json *v)
{
    return !admission_absent(v) && (v->type < JSON_ARRAY || v->n) && (v->type != JSON_NUMBER || json_int64(v, 1) != 0);
}

static bool is_events_group(const struct admission *x)
{
    return x->asked && *x->asked->group;
}

static void check_length(struct admission *x, const char *key, size_t most)
{
    if (strlen(text_of(x, key)) > most)
        admission_error_text(x, FIELD_INVALID, key, bytes_of(""), AT(x, "can have at most %zu characters", most));
}

static void check_actor(struct admission *x)
{
    static const char *const required[] = {"reportingInstance", "action", "reason"};
    const char *reporter = text_of(x, "reportingComponent"), *name = is_events_group(x) ? "reportingController" : "reportingComponent";
    if (!*reporter)
        admission_error(x, FIELD_REQUIRED, name, NULL, "%s", "");
    else if (!name_is_qualified(bytes_of(reporter)))
        admission_error_text(x, FIELD_INVALID, name, bytes_of(reporter), NAME_QUALIFIED_RULE);
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        if (!*text_of(x, required[i]))
            admission_error(x, FIELD_REQUIRED, required[i], NULL, "%s", "");
        check_length(x, required[i], NAME_MAX_BYTES);
    }
    check_length(x, "message", MESSAGE_MAX_BYTES);
}

/* What has no namespace is told of in "default". */
static void check_namespace(struct admission *x, bool is_new)
{
    const char *ns = json_text(json_path(x->object, "metadata", "namespace", NULL), "");
    const char *target = json_text(json_path(x->object, "involvedObject", "namespace", NULL), "");
    bool is_default = text_equal(ns, "default");
    bool fits = *target ? is_new || text_equal(ns, target) : is_default || (is_new && text_equal(ns, "kube-system"));
    if (!fits)
        admission_error_text(x, FIELD_INVALID, "involvedObject.namespace", bytes_of(target), UNMATCHED);
}

static void check_series(struct admission *x)
{
    const struct json *series = json_get(x->object, "series");
    if (!json_is(series, JSON_OBJECT))
        return;
    if (json_get_int64(series, "count", 0) < 2)
        admission_error_text(x, FIELD_INVALID, "series.count", bytes_of(""), "should be at least 2");
    admission_require(x, series, "series", "lastObservedTime", "");
}

static void check_new(struct admission *x)
{
    static const char *const old_fields[] = {"firstTimestamp", "lastTimestamp", "count", "source"};
    const char *type = text_of(x, "type");
    check_series(x);
    if (!is_set(json_get(x->object, "eventTime")))
        admission_error(x, FIELD_REQUIRED, "eventTime", NULL, "%s", "");
    if (!text_equal(type, "Normal") && !text_equal(type, "Warning"))
        admission_error_text(x, FIELD_INVALID, "type", bytes_of(""), AT(x, "has invalid value: %s", type));
    for (size_t i = 0; i < sizeof old_fields / sizeof *old_fields; i++)
        if (is_set(json_get(x->object, old_fields[i])))
            admission_error_text(x, FIELD_INVALID, old_fields[i], bytes_of(""), "needs to be unset");
}

static void check_changed(struct admission *x)
{
    static const char *const kept[] = {"involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type",
                                       "eventTime", "action", "related", "reportingComponent", "reportingInstance"};
    const struct json *was = json_get(x->old, "series"), *is = json_get(x->object, "series");
    if (is && !(was && json_equal(was, is)))
        check_series(x);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (is_set(json_get(x->old, kept[i])) || is_set(json_get(x->object, kept[i])))
            admission_immutable(x, NULL, kept[i]);
}

void admission_event(struct admission *x, const struct kind *k)
{
    if (!text_equal(k->plural, "events"))
        return;
    bool is_new = is_set(json_get(x->object, "eventTime"));
    check_namespace(x, is_new);
    if (is_new)
        check_actor(x);
    if (is_events_group(x) && x->old)
        check_changed(x);
    else if (is_events_group(x))
        check_new(x);
}
