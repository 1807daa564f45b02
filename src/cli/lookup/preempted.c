#include "cli/lookup/preempted.h"
#include "kube/object.h"

/* SOURCE Kueue's message: "... a workload (UID: 1234, JobUID: ..." */
static bool names_uid(const char *message, const char *uid)
{
    const char *at = strstr(message, "(UID: ");
    size_t n = strlen(uid);
    return at && n && strncmp(at + 6, uid, n) == 0 && at[6 + n] == ',';
}

struct json *preempted_of(struct arena *a, const struct json *workload, const struct json *workloads)
{
    const struct json *condition = object_condition(workload, "Preempted");
    if (!object_condition_true(workload, "Preempted"))
        return NULL;
    struct json *out = json_new(a, JSON_OBJECT);
    const char *message = json_get_text(condition, "message", "");
    json_set_text(a, out, "reason", json_get_text(condition, "reason", "?"));
    json_set_text(a, out, "message", message);
    JSON_EACH (other, workloads) {
        if (!names_uid(message, object_meta(other, "uid")))
            continue;
        json_set_text(a, out, "namespace", object_meta(other, "namespace"));
        json_set_text(a, out, "name", object_meta(other, "name"));
    }
    return out;
}

const char *preempted_text(struct arena *a, const struct json *preempted)
{
    const char *reason = json_get_text(preempted, "reason", "?"), *name = json_get_text(preempted, "name", NULL);
    if (name)
        return arena_printf(a, "preempted for Workload %s/%s (%s)", json_get_text(preempted, "namespace", "?"), name, reason);
    return arena_printf(a, "preempted (%s): %s", reason, json_get_text(preempted, "message", ""));
}
