#include "apiserver/rules/pod.h"

#include "base/clock.h"
#include "base/limits.h"

#define POD_GRACE_SECONDS 30

void pod_tell_gates(struct object_write *w)
{
    struct arena *a = w->arena;
    const struct json *gates = json_path(w->object, "spec", "schedulingGates", NULL);
    if (w->old || !gates || !gates->n)
        return;
    struct json *status = json_ensure_object(a, w->object, "status");
    if (json_get(status, "conditions"))
        return;
    char now[TIME_TEXT_MAX];
    struct json *gated = json_new(a, JSON_OBJECT);
    json_set_text(a, gated, "type", "PodScheduled");
    json_set_text(a, gated, "status", "False");
    json_set_text(a, gated, "reason", "SchedulingGated");
    json_set_text(a, gated, "message", "Scheduling is blocked due to non-empty scheduling gates");
    json_set_text(a, gated, "lastTransitionTime", time_format(now, loop_wall_ms(w->server->loop)));
    json_append(json_ensure_array(a, status, "conditions"), gated);
}

int64_t pod_grace(const struct json *pod, int64_t wanted)
{
    const struct json *spec = json_get(pod, "spec");
    const char *phase = json_get_text(json_get(pod, "status"), "phase", "");
    if (!*json_get_text(spec, "nodeName", "") || strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
        return 0;
    int64_t grace = wanted >= 0 ? wanted : json_get_int64(spec, "terminationGracePeriodSeconds", POD_GRACE_SECONDS);
    return grace < LIMIT_GRACE_SECONDS ? grace : LIMIT_GRACE_SECONDS;
}
