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

/* The last part of the path behind `label`. */
static const char *end_of_path(struct arena *a, const char *message, const char *label)
{
    const char *at = strstr(message, label);
    at = at ? at + strlen(label) : "";
    size_t n = strcspn(at, ";"), from = n;
    while (from > 0 && at[from - 1] != '/')
        from--;
    return arena_text_n(a, at + from, n - from);
}

bool preempted_by_shares(struct arena *a, const struct json *preempted, const char *ret_queues[2])
{
    const char *message = json_get_text(preempted, "message", "");
    ret_queues[0] = end_of_path(a, message, "preemptor path: ");
    ret_queues[1] = end_of_path(a, message, "preemptee path: ");
    return strcmp(json_get_text(preempted, "reason", ""), "InCohortFairSharing") == 0 && *ret_queues[0] && *ret_queues[1];
}

void preempted_add_share(struct arena *a, struct json *preempted, const char *queue, int64_t share)
{
    struct json *one = json_new(a, JSON_OBJECT);
    if (share < 0)
        return;
    json_set_text(a, one, "clusterQueue", queue);
    json_set_int64(a, one, "weightedShare", share);
    json_append(json_ensure_array(a, preempted, "shares"), one);
}

static const char *shares_text(struct arena *a, const struct json *preempted)
{
    const char *text = "";
    JSON_EACH (one, json_get(preempted, "shares")) {
        int64_t share = json_int64(json_get(one, "weightedShare"), 0);
        text = arena_printf(a, "%s%s ClusterQueue %s %s", text, *text ? "," : "; shares now:", json_get_text(one, "clusterQueue", "?"),
                            share == INT64_MAX ? "infinite" : arena_printf(a, "%lld", (long long)share));
    }
    return text;
}

const char *preempted_text(struct arena *a, const struct json *preempted)
{
    const char *reason = json_get_text(preempted, "reason", "?"), *name = json_get_text(preempted, "name", NULL);
    if (name)
        return arena_printf(a, "preempted for Workload %s/%s (%s)%s", json_get_text(preempted, "namespace", "?"), name, reason,
                            shares_text(a, preempted));
    return arena_printf(a, "preempted (%s): %s", reason, json_get_text(preempted, "message", ""));
}
